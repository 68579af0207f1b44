/* SPDX-License-Identifier: Apache-2.0 */
/* What the backends of a run call themselves, and which of them is the baseline. */
#include "lab/experiment/operators.h"

#include "base/text.h"
#include "engine/backend/backend.h"
#include "lab/measure/worker.h"

#include <string.h>
#include <sys/stat.h>

typedef struct probe {
    arena *memory;
    const operators_options *options;
    operators_backend *found;
    size_t n;
} probe;

static const char *file_of(const operators_options *o, size_t b) {
    return o->backend_files != NULL ? o->backend_files[b] : o->backends[b];
}

static status probe_body(worker_link *link, void *self, error *err) {
    probe *p = self;
    op_table *table = NULL;
    TRY(op_table_new(&table, err));
    for (size_t b = 0; b < p->options->n_backends; b++) {
        backend *opened = NULL;
        TRY(worker_begin(link, (int64_t)b, err));
        TRY(backend_open(table, file_of(p->options, b), &opened, err));
        TRY(worker_send(link, opened->name, strlen(opened->name), err));
        TRY(worker_send(link, opened->doc, strlen(opened->doc), err));
        opened->close(opened);
    }
    op_table_free(table);
    return ASSAY_OK;
}

static status take_probe(void *self, const worker_message *message, error *err) {
    probe *p = self;
    if (message->kind != WORKER_DATA) {
        return ASSAY_OK;
    }
    const char *kept = arena_text(p->memory, message->data, message->n);
    if (kept == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for backends");
    }
    operators_backend *b = &p->found[p->n / 2];
    *(p->n % 2 == 0 ? &b->name : &b->doc) = kept;
    p->n++;
    return ASSAY_OK;
}

/* --- names --------------------------------------------------------------------------------------------------------------------- */

bool operators_is_same_backend(const char *a, const char *b) {
    struct stat of_a, of_b;
    if (strcmp(a, b) == 0) {
        return true;
    }
    return strchr(a, '/') != NULL && strchr(b, '/') != NULL && stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static status check_twins(const operators_options *o, const operators_backend *found, error *err) {
    for (size_t b = 0; b < o->n_backends; b++) {
        for (size_t c = 0; c < b; c++) {
            if (strcmp(found[b].name, found[c].name) == 0) {
                return fail(err, ASSAY_INVALID, "two backends call themselves '%s' (%s and %s)", found[b].name,
                            o->backends[c], o->backends[b]);
            }
        }
    }
    return ASSAY_OK;
}

/* The one that is named so, else the one that was asked for by those words. NULL: none. */
static operators_backend *find_baseline(const operators_options *o, operators_backend *found) {
    for (size_t b = 0; b < o->n_backends; b++) {
        if (strcmp(found[b].name, o->baseline) == 0) {
            return &found[b];
        }
    }
    for (size_t b = 0; b < o->n_backends; b++) {
        if (operators_is_same_backend(o->backends[b], o->baseline)) {
            return &found[b];
        }
    }
    return NULL;
}

/* The names that would have done, those of built-in backends besides: these need no --backend. */
static status fail_no_baseline(const operators_options *o, const operators_backend *found, error *err) {
    enum { MOST_NAMES = 96 };
    const char *names[MOST_NAMES];
    size_t n = 0, n_built_in;
    const char *const *built_in = backend_names(&n_built_in);
    text there = {0};
    for (size_t b = 0; b < o->n_backends && n < MOST_NAMES; b++) {
        names[n++] = found[b].name;
        text_addf(&there, "%s%s", b > 0 ? ", " : "", found[b].name);
    }
    for (size_t i = 0; i < n_built_in && n < MOST_NAMES; i++) {
        names[n++] = built_in[i];
    }
    const char *near = text_nearest(o->baseline, names, n);
    status result = fail(err, ASSAY_INVALID, "--baseline: expected one of this run's backends (%.600s), got '%.200s'%s%s%s", text_get(&there),
                         o->baseline, near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
    text_clear(&there);
    return result;
}

status operators_probe(arena *memory, const operators_options *options, const operators_backend **backends, error *err) {
    probe p = {.memory = memory, .options = options};
    p.found = arena_make(memory, options->n_backends, sizeof *p.found);
    if (p.found == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for backends");
    }
    worker_options w = {.timeout_s = options->timeout_s, .on_message = take_probe, .callback_arg = &p};
    worker_outcome outcome;
    TRY(worker_run(&w, probe_body, &p, &outcome, err));
    if (outcome.end != WORKER_END_OK) {
        size_t at = outcome.last_point >= 0 ? (size_t)outcome.last_point : 0;
        return fail(err, outcome.err.code, "backend '%s': %s", options->backends[at], outcome.err.message);
    }
    TRY(check_twins(options, p.found, err));
    operators_backend *baseline = find_baseline(options, p.found);
    if (baseline == NULL) {
        return fail_no_baseline(options, p.found, err);
    }
    baseline->is_baseline = true;
    for (size_t b = 0; b < options->n_backends; b++) {
        p.found[b].argument = options->backends[b];
    }
    *backends = p.found;
    return ASSAY_OK;
}
