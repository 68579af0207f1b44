/* SPDX-License-Identifier: Apache-2.0 */
/* Records whose figures are known by hand, for the tests of what is reported of them. */
#ifndef LAB_REPORT_DECK_H
#define LAB_REPORT_DECK_H

#include "lab/record/record.h"
#include "unit.h"

#include <string.h>

typedef struct deck {
    record records[256];
    double times[256];
    size_t n;
} deck;

static inline void deal(deck *d, const char *op, int64_t index, const char *backend, double time_ns, int64_t calls) {
    static const char *const model_names[] = {"m1.txt", "m2.txt"};
    record *r = &d->records[d->n];
    *r = RECORD_EMPTY;
    r->operator_name = op;
    r->input = "((), {})";
    r->sample_index = index;
    r->backend = backend;
    r->baseline = strcmp(backend, "eager") == 0;
    r->calls = calls;
    r->models = model_names;
    r->n_models = 2;
    r->status = RECORD_OK;
    r->elapsed_s = 0.25;
    d->times[d->n] = time_ns;
    r->samples_ns = &d->times[d->n];
    r->n_samples = 1;
    assert_int_equal(record_summarise(r, NULL), ASSAY_OK);
    d->n++;
}

static inline void deal_failure(deck *d, const char *op, int64_t index, const char *backend, record_status s, const char *why) {
    deal(d, op, index, backend, 1, 1);
    d->records[d->n - 1].status = s;
    d->records[d->n - 1].reason = why;
}

/* aten.a: eager 100, 200, 300, 400, 500 ns; fast takes a half, a third, a quarter, a fifth and all of it.
   aten.b, "quoted": eager alone; fast failed. */
static inline void make_deck(deck *d) {
    static const double parts[] = {2, 3, 4, 5, 1};
    d->n = 0;
    for (int i = 0; i < 5; i++) {
        deal(d, "aten.a", i, "fast", 100 * (i + 1) / parts[i], i == 3 ? 6 : 1); /* before its baseline: order is no matter */
        deal(d, "aten.a", i, "eager", 100 * (i + 1), i == 3 ? 6 : 1);
    }
    deal(d, "aten.b, \"quoted\"", 0, "eager", 4000, 1);
    deal_failure(d, "aten.b, \"quoted\"", 0, "fast", RECORD_FAILED, "killed by SIGSEGV");
    deal_failure(d, "aten.b, \"quoted\"", 1, "eager", RECORD_SKIPPED, "needs 9 GiB");
}

/* Nine rounds of an operator on a backend: time_ns, a percent more or less by the round. */
static inline void deal_rounds(deck *d, const char *op, const char *backend, double time_ns, double *samples) {
    deal(d, op, 0, backend, time_ns, 1);
    record *r = &d->records[d->n - 1];
    for (int i = 0; i < 9; i++) {
        samples[i] = time_ns * (strcmp(backend, "eager") == 0 ? 1 + i : (1 + i) * (1 + 0.01 * (i % 3 - 1)));
    }
    r->samples_ns = samples;
    r->n_samples = 9;
    assert_int_equal(record_summarise(r, NULL), ASSAY_OK);
}

#endif
