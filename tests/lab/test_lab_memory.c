/* SPDX-License-Identifier: Apache-2.0 */
/* What stats, measure, record and report do when memory runs out, at each allocation in turn. */
#include "lab/measure/ceilings.h"
#include "lab/measure/machine.h"
#include "lab/measure/sample.h"
#include "lab/measure/worker.h"
#include "lab/record/store.h"
#include "lab/report/operators_csv.h"
#include "lab/report/operators_report.h"
#include "lab/report/table.h"
#include "lab/stats/summary.h"

#include "unit.h"

#include "alloc_fault.h"

#include <string.h>
#include <unistd.h>

static status use_stats(void *arg, error *err) {
    (void)arg;
    static const double samples[] = {3, 1, 2, 5, 4};
    stats_summary summary;
    record_speedup speedup;
    record r = RECORD_EMPTY;
    r.samples_ns = samples;
    r.n_samples = 5;
    TRY(stats_summarise(samples, 5, &summary, err));
    return record_compare(&r, &r, &speedup, err);
}

static status tick(void *arg, error *err) {
    (void)err;
    clock_fake_advance(arg, 1000);
    return ASSAY_OK;
}

/* Thousands of samples, so that the arena needs more than one block, and few clock steps, so that there are warnings. */
static status use_sample(void *arg, error *err) {
    (void)arg;
    fake_clock clock = {.step_ns = 100};
    sample_subject subjects[2] = {{.name = "a", .run = tick, .arg = &clock, .restores_each_run = true},
                                  {.name = "b", .run = tick, .arg = &clock}};
    sample_options options = {.repeats = 3000, .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    cache_evictor evictor = {0};
    status result = sample_all(&a, subjects, 2, &options, series, err);
    if (result == ASSAY_OK) {
        assert_true(series[0].n_warnings > 0);
        result = cache_evictor_init(&evictor, 1 << 16, 64, err);
    }
    cache_evictor_clear(&evictor);
    arena_clear(&a);
    return result;
}

static status use_machine(void *arg, error *err) {
    (void)arg;
    arena a = {0};
    machine_facts facts;
    bandwidth rates;
    fake_clock clock = {.step_ns = 1000000};
    lab_clock ticking = clock_fake(&clock);
    status result = machine_read(&a, "", &facts, err);
    if (result == ASSAY_OK) {
        result = ceilings_bandwidth(4096, 1, 0, &ticking, &rates, err);
    }
    arena_clear(&a);
    return result;
}

enum { N_RECORDS = 60 };

static void make_records(record *records, const machine_facts *machine) {
    static const double samples[] = {10, 11, 12, 13, 14, 15};
    static const char *const models[] = {"one.txt", "two.txt"};
    for (int i = 0; i < N_RECORDS; i++) {
        records[i] = RECORD_EMPTY;
        records[i].operator_name = i < N_RECORDS / 2 ? "aten.one" : "aten.two";
        records[i].input = "((), {})";
        records[i].sample_index = i / 3;
        records[i].backend = i % 3 == 0 ? "eager" : i % 3 == 1 ? "fast" : "slow";
        records[i].baseline = i % 3 == 0;
        records[i].status = i % 7 == 3 ? RECORD_FAILED : RECORD_OK;
        records[i].reason = i % 7 == 3 ? "killed" : NULL;
        records[i].samples_ns = samples;
        records[i].n_samples = 6;
        records[i].models = models;
        records[i].n_models = 2;
        records[i].machine = machine;
        assert_int_equal(record_summarise(&records[i], NULL), ASSAY_OK);
    }
}

static status use_store(void *arg, error *err) {
    const record *written = arg;
    arena a = {0};
    record_store store = {0};
    const record *records = NULL;
    size_t n = 0;
    bool cut = false;
    status result = store_open(&store, "memory-test.jsonl", err);
    for (int i = 0; i < N_RECORDS && result == ASSAY_OK; i++) {
        result = store_append(&store, &written[i], err);
    }
    if (result == ASSAY_OK) {
        result = store_finish(&store, err);
    }
    if (result == ASSAY_OK) {
        result = store_read(&a, "memory-test.jsonl", true, &records, &n, &cut, err);
    }
    if (result == ASSAY_OK) {
        assert_int_equal(n, N_RECORDS);
        assert_false(cut);
    }
    store_abandon(&store);
    unlink("memory-test.jsonl");
    unlink("memory-test.jsonl.partial");
    arena_clear(&a);
    return result;
}

static status report_all(arena *a, const record *records, text *out, error *err) {
    operators_group group;
    TRY(operators_group_make(a, records, N_RECORDS, &group, err));
    TRY(operators_report(a, &group, &(operators_report_options){.color = true, .max_width = 60}, out, err));
    TRY(operators_csv(a, &group, out, err));
    return operators_summary_lines(a, &group, out, err);
}

static status use_report(void *arg, error *err) {
    arena a = {0};
    text out = {0};
    status result = report_all(&a, arg, &out, err);
    text_clear(&out);
    arena_clear(&a);
    return result;
}

/* The supervisor's side alone allocates here; the worker's is another process. */
static status talk(worker_link *link, void *arg, error *err) {
    (void)arg;
    static char big[1 << 20];
    alloc_fault_at = 0;
    TRY(worker_send(link, "hello", 5, err));
    return worker_send(link, big, sizeof big, err);
}

static status use_worker(void *arg, error *err) {
    (void)arg;
    worker_outcome outcome;
    TRY(worker_run(&(worker_options){.timeout_s = 60}, talk, NULL, &outcome, err));
    assert_int_equal(outcome.end, WORKER_END_OK);
    return ASSAY_OK;
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    static record records[N_RECORDS];
    arena a = {0};
    machine_facts machine;
    assert_int_equal(machine_read(&a, "", &machine, NULL), ASSAY_OK);
    make_records(records, &machine);
    assert_true(alloc_fault_everywhere("stats", use_stats, NULL) >= 2);
    assert_true(alloc_fault_everywhere("sample", use_sample, NULL) >= 5);
    assert_true(alloc_fault_everywhere("machine", use_machine, NULL) >= 2);
    assert_true(alloc_fault_everywhere("store", use_store, records) >= 20);
    assert_true(alloc_fault_everywhere("report", use_report, records) >= 20);
    assert_true(alloc_fault_everywhere("worker", use_worker, NULL) >= 2);
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_may_run_out_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
