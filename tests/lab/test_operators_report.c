/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' table, CSV and summaries from records whose figures are known by hand. */
#include "lab/report/operators_csv.h"
#include "lab/report/operators_report.h"
#include "lab/report/terminal.h"

#include "base/csv.h"
#include "base/json_tree.h"
#include "report_deck.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void the_csv_is_the_seeds_own(void **state) {
    (void)state;
    deck d;
    arena a = {0};
    operators_group g;
    text out = {0};
    make_deck(&d);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    assert_string_equal(out.data, "operator,fast 20th,fast 50th,fast 80th,elapsed,eager abs,fast abs\r\n"
                                  "aten.a,1.800000,3.000000,4.200000,1.250000,0.0000003000,0.0000001543\r\n"
                                  "\"aten.b, \"\"quoted\"\"\",,,,0.500000,0.000004000,\r\n");
    text_clear(&out);
    arena_clear(&a);
}

static void nanoseconds_keep_their_digits(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    deal(&d, "aten.a", 0, "eager", 12.43, 1);
    deal(&d, "aten.a", 0, "slow", 4.3e8, 1);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    const char *row = strchr(out.data, '\n') + 1;
    assert_string_equal(row, "aten.a,0.00000002891,0.00000002891,0.00000002891,0.250000,0.00000001243,0.43000000\r\n");
    text_clear(&out);
    arena_clear(&a);
}

static void the_report_says_what_was_measured(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    for (int i = 0; i < 2; i++) {
        deal(&d, "aten.x", i, "eager", 1000, 1);
        d.records[i].dtype = i == 0 ? "f32" : "as-recorded";
        d.records[i].cache = "warm";
        d.records[i].threads = 2;
    }
    assert_int_equal(operators_group_make(&a, d.records, 1, &g, NULL), ASSAY_OK);
    operators_report_options shown = {.source = "suite embedded", .checked = true};
    assert_int_equal(operators_report(&a, &g, &shown, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\nSuite embedded, f32, 2 threads, warm caches, every result checked\nTimes are medians"));
    text_reset(&out);
    d.records[0].threads = 1;
    d.records[0].channels_last = true;
    assert_int_equal(operators_group_make(&a, d.records, 2, &g, NULL), ASSAY_OK);
    shown = (operators_report_options){.source = "inputs a\x1b.txt"};
    assert_int_equal(operators_report(&a, &g, &shown, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\nInputs a?.txt, f32 and as-recorded, 1 thread, warm caches, channels last, results not checked\nTimes are"));
    text_clear(&out);
    arena_clear(&a);
}

static void the_table_tells_all(void **state) {
    (void)state;
    deck d;
    arena a = {0};
    operators_group g;
    text out = {0};
    make_deck(&d);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    print_message("%s", out.data);
    static const char *const expected[] = {
        "share of\n", "steps [%]", "aten.a", "geometric mean over operators", "eager: 6 ok, 1 skipped\n",
        "    skipped, 1 x: needs 9 GiB\n", "fast: 5 ok, 1 failed\n    failed, 1 x: killed by SIGSEGV\n", "in 2 models.\n"};
    for (size_t i = 0; i < countof(expected); i++) {
        assert_non_null(strstr(out.data, expected[i]));
    }
    text_clear(&out);
    arena_clear(&a);
}

/* Three inputs made ready in 2 us, 40 ms and 12.7 s; one of which nothing is known. */
static void preparation_is_told(void **state) {
    (void)state;
    static const double prepared_ns[] = {4e7, 2e3, NAN, 1.27e10};
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    for (size_t i = 0; i < countof(prepared_ns); i++) {
        deal(&d, "aten.x", (int64_t)i, "eager", 100, 1);
        d.records[d.n - 1].prepare_ns = prepared_ns[i];
    }
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "eager: 4 ok; prepared in 40 ms (median), 13 s at most\n"));
    text_clear(&out);
    arena_clear(&a);
}

/* Each input above ten seconds is counted and the slowest are named, whatever became of it; no time is doubtful for that. */
static void slow_compiles_are_told(void **state) {
    (void)state;
    static const double prepared_ns[] = {9.9e9, 1.12e10, 2.5e10, NAN, 1.3e10, 6.1e10};
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    for (size_t i = 0; i < countof(prepared_ns); i++) {
        deal(&d, "aten.x", (int64_t)i, "eager", 100, 1);
        d.records[d.n - 1].prepare_ns = prepared_ns[i];
        assert_int_equal(record_warn_of_compile(&a, &d.records[d.n - 1], NULL), ASSAY_OK);
        assert_int_equal(d.records[d.n - 1].n_warnings, prepared_ns[i] > 1e10 ? 1 : 0);
    }
    assert_string_equal(d.records[1].warnings[0], "slow_compile: preparing took 11.2 s");
    assert_int_equal(operators_group_make(&a, d.records, 3, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\n    slow compile, 2 x: aten.x[2] in 25 s, aten.x[1] in 11.2 s\n"));
    assert_null(strstr(out.data, "doubtful"));
    text_reset(&out);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "slow compile, 4 x: aten.x[5] in 61 s, aten.x[2] in 25 s, aten.x[4] in 13 s, others in the records\n"));
    text_clear(&out);
    arena_clear(&a);
}

static void many_reasons_are_counted_not_dropped(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    static char reasons[12][24];
    for (int i = 0; i < 12; i++) {
        snprintf(reasons[i], sizeof reasons[i], "reason %02d", i);
        for (int k = 0; k <= i % 3; k++) {
            deal_failure(&d, "aten.x", 10 * i + k, "eager", RECORD_UNSUPPORTED, reasons[i]);
        }
    }
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){.top_reasons = 4}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "eager: 0 ok, 24 unsupported\n    unsupported, 3 x: reason 02\n"));
    assert_non_null(strstr(out.data, "    unsupported, 12 x: 8 other reasons, in the records\n"));
    text_clear(&out);
    arena_clear(&a);
}

/* What differs in the bytes alone is one reason, with the least and the most of them. */
static void reasons_of_memory_are_one(void **state) {
    (void)state;
    static const char *const reasons[] = {"needs about 1006632960 bytes (960 MiB) of memory, the limit is 300 MB (--max-memory)",
                                          "needs about 4294967296 bytes (4 GiB) of memory, the limit is 300 MB (--max-memory)",
                                          "needs about 2147483648 bytes (2 GiB) of memory, the limit is 300 MB (--max-memory)"};
    static const char other[] = "needs about 3 bytes (3 B) of memory, the limit is 2 B (what this machine has free)";
    deck d = {.n = 0};
    arena a = {0};
    text out = {0};
    for (int i = 0; i < 3; i++) {
        deal_failure(&d, "aten.x", i, "eager", RECORD_SKIPPED, reasons[i]);
    }
    deal_failure(&d, "aten.x", 3, "eager", RECORD_SKIPPED, other);
    operators_group g;
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    print_message("%s", out.data);
    assert_non_null(strstr(out.data, "    skipped, 3 x: need about 960 MiB to 4"));
    assert_non_null(strstr(out.data, " GiB of memory, the limit is 300 MB (--max-memory)\n    skipped, 1 x: needs about 3 bytes (3 B) of memory, the"));
    text_clear(&out);
    arena_clear(&a);
}

/* The same crash in workers that had different amounts in use. */
static void reasons_of_death_are_one(void **state) {
    (void)state;
    static const char *const reasons[] = {"killed by SIGSEGV with 4.59 MiB of memory in use while checking on x",
                                          "killed by SIGSEGV with 4.6 GiB of memory in use while checking on x",
                                          "killed by SIGBUS with 4.6 GiB of memory in use while checking on x",
                                          "killed by the kernel for want of memory, with 1 GiB in use while preparing on x",
                                          "killed by the kernel for want of memory, with 2 GiB in use while preparing on x"};
    deck d = {.n = 0};
    arena a = {0};
    text out = {0};
    for (int i = 0; i < 5; i++) {
        deal_failure(&d, "aten.x", i, "eager", RECORD_FAILED, reasons[i]);
    }
    operators_group g;
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "    failed, 2 x: killed by SIGSEGV while checking on x\n"));
    assert_non_null(strstr(out.data, "    failed, 2 x: killed by the kernel for want of memory while preparing on x\n"));
    assert_non_null(strstr(out.data, "    failed, 1 x: killed by SIGBUS with 4.6 GiB of memory in use while checking on x\n"));
    text_clear(&out);
    arena_clear(&a);
}

static void report_of(arena *a, const deck *d, int width, text *out) {
    operators_group g;
    text_reset(out);
    assert_int_equal(operators_group_make(a, d->records, d->n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(a, &g, &(operators_report_options){.max_width = width}, out, NULL), ASSAY_OK);
}

/* The lines of the table, down to its third rule or the empty line below it, are no wider than the terminal. */
static void a_table_fits_its_terminal(void **state) {
    (void)state;
    static const char *const backends[] = {"eager", "compiled", "compiled:autotune", "inductor:max-autotune", "torch", "a_plugin_of_a_long_name"};
    arena a = {0};
    text out = {0};
    for (size_t n = 1; n <= countof(backends); n++) {
        deck d = {.n = 0};
        for (size_t b = 0; b < n; b++) {
            deal(&d, "aten._scaled_dot_product_flash_attention_for_cpu.default", 0, backends[b], 123456789.0 * (double)(b + 1), 3);
            deal(&d, "aten.add.Tensor", 0, backends[b], 1234.0 / (double)(b + 1), 3);
        }
        for (int width = 60; width <= 200; width++) {
            report_of(&a, &d, width, &out);
            size_t widest = 0;
            for (const char *at = out.data; *at != '\n'; at += strcspn(at, "\n") + 1) {
                size_t columns = text_columns(at, strcspn(at, "\n"));
                widest = columns > widest ? columns : widest;
            }
            if (widest > (size_t)width) {
                print_error("%zu backends at %d columns:\n%s", n, width, out.data);
            }
            assert_true(widest <= (size_t)width);
            assert_non_null(strstr(out.data, width > 190 && n < 3 ? "aten.add.Tensor" : "add.Tensor"));
        }
    }
    report_of(&a, &(deck){.n = 0}, 60, &out);
    text_clear(&out);
    arena_clear(&a);
}

/* What is left out is told, and what is not there is not explained. */
static void columns_that_are_there_are_explained(void **state) {
    (void)state;
    arena a = {0};
    text out = {0};
    deck d;
    make_deck(&d);
    report_of(&a, &d, 40, &out);
    assert_non_null(strstr(out.data, "The terminal is too narrow for: inputs, x 20th, x 80th, x steps, share of steps; --jsonl keeps all figures.\n"));
    assert_non_null(strstr(out.data, "x is the speed-up over eager, ~ where that may be 1.\n"));
    assert_null(strstr(out.data, "steps weigh"));
    report_of(&a, &d, 0, &out);
    assert_null(strstr(out.data, "too narrow"));
    assert_non_null(strstr(out.data, "; steps weigh each input by its calls in 2 models.\n"));
    d.n = 0;
    deal(&d, "aten.a", 0, "eager", 100, 1);
    report_of(&a, &d, 0, &out);
    assert_non_null(strstr(out.data, "\nTimes are medians over an operator's inputs; steps weigh each input by its calls in 2 models.\neager: 1 ok"));
    d.records[0].n_samples = 0;
    d.records[0].median_ns = NAN;
    report_of(&a, &d, 0, &out);
    assert_null(strstr(out.data, "Times are"));
    assert_non_null(strstr(out.data, "\naten.a         1 ")); /* not timed, but it ran */
    text_clear(&out);
    arena_clear(&a);
}

static void doubts_are_counted(void **state) {
    (void)state;
    static const char *const spread[] = {"spread: a", "drift: b"}, *const outliers[] = {"outliers: 1 of 9"};
    const machine_noise noise[] = {{.name = "hypervisor"}, {.name = "load"}};
    const machine_facts quiet = {.noise = noise, .n_noise = 1, .load_average = 6.6, .usable_cpus = 2};
    machine_facts loaded = quiet;
    loaded.n_noise = 2;
    arena a = {0};
    text out = {0};
    deck d;
    make_deck(&d);
    for (size_t i = 0; i < d.n; i++) {
        d.records[i].machine = &quiet;
    }
    report_of(&a, &d, 0, &out);
    assert_null(strstr(out.data, "doctor"));
    for (size_t i = 0; i < d.n; i++) {
        d.records[i].warnings = spread;
        d.records[i].n_warnings = i < 3 ? 1 + (i == 0) : i > 10; /* the last ones have failed */
    }
    d.records[4].warnings = outliers; /* do not move a median */
    d.records[4].n_warnings = 1;
    report_of(&a, &d, 0, &out);
    assert_non_null(strstr(out.data, "\n3 of 11 measurements are doubtful (spread 3, drift 1): see assay doctor\n"));
    d.records[4].machine = &loaded;
    report_of(&a, &d, 0, &out);
    assert_non_null(strstr(out.data, "\n3 of 11 measurements are doubtful (spread 3, drift 1); load 6.6 on 2 CPUs: see assay doctor\n"));
    d.records[0].n_warnings = d.records[1].n_warnings = d.records[2].n_warnings = 0;
    report_of(&a, &d, 0, &out);
    assert_non_null(strstr(out.data, "\nLoad 6.6 on 2 CPUs: see assay doctor\n"));
    text_clear(&out);
    arena_clear(&a);
}

static void summaries_are_json(void **state) {
    (void)state;
    deck d;
    arena a = {0};
    operators_group g;
    text out = {0};
    make_deck(&d);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_summary_lines(&a, &g, &out, NULL), ASSAY_OK);
    int lines = 0;
    for (char *at = out.data; *at != '\0'; lines++) {
        size_t n = strcspn(at, "\n");
        const json_value *json = NULL;
        assert_int_equal(json_parse(&a, at, n, &json, NULL), ASSAY_OK);
        record_reader reader = {.memory = &a};
        record r;
        assert_int_equal(record_read(&reader, at, n, &r, NULL), ASSAY_NOT_FOUND); /* no measurement */
        if (strcmp(json_find(json, "kind")->text, "run_summary") == 0 && !json_find(json, "baseline")->truth) {
            assert_int_equal(json_find(json_find(json, "counts"), "failed")->integer, 1);
            assert_true(fabs(json_find(json, "geomean_speedup")->number - 3) < 1e-12);
        }
        at += n + 1;
    }
    assert_int_equal(lines, 2 * (2 + 1));
    text_clear(&out);
    arena_clear(&a);
}

static void no_records_are_no_error(void **state) {
    (void)state;
    arena a = {0};
    operators_group g;
    text out = {0};
    assert_int_equal(operators_group_make(&a, NULL, 0, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    assert_string_equal(out.data, "operator,elapsed\r\n");
    text_clear(&out);
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_csv_is_the_seeds_own),
        cmocka_unit_test(nanoseconds_keep_their_digits),
        cmocka_unit_test(the_report_says_what_was_measured),
        cmocka_unit_test(the_table_tells_all),
        cmocka_unit_test(preparation_is_told),
        cmocka_unit_test(slow_compiles_are_told),
        cmocka_unit_test(many_reasons_are_counted_not_dropped),
        cmocka_unit_test(reasons_of_memory_are_one),
        cmocka_unit_test(reasons_of_death_are_one),
        cmocka_unit_test(a_table_fits_its_terminal),
        cmocka_unit_test(columns_that_are_there_are_explained),
        cmocka_unit_test(doubts_are_counted),
        cmocka_unit_test(summaries_are_json),
        cmocka_unit_test(no_records_are_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
