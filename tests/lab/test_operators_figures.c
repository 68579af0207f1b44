/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of an operator on a backend, from records that say what they have to be. */
#include "lab/report/operators_csv.h"
#include "lab/report/operators_report.h"

#include "report_deck.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static void figures_are_right(void **state) {
    (void)state;
    deck d;
    arena a = {0};
    operators_group g;
    operators_figures f;
    make_deck(&d);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(g.n_backends, 2);
    assert_string_equal(g.backends[0], "eager");
    assert_int_equal(g.n_rows, 2);
    assert_int_equal(g.n_models, 2);
    assert_int_equal(g.rows[0].n_samples, 5);
    assert_int_equal(g.rows[1].n_samples, 2);
    assert_true(fabs(g.rows[0].elapsed_s - 1.25) < 1e-12);
    assert_int_equal(g.counts[0][RECORD_OK], 6);
    assert_int_equal(g.counts[1][RECORD_FAILED], 1);
    assert_int_equal(operators_figures_of(&a, &g.rows[0], 1, 0, &f, NULL), ASSAY_OK);
    /* speed-ups 1 2 3 4 5 */
    assert_true(fabs(f.speedup[0] - 1.8) < 1e-12 && fabs(f.speedup[1] - 3) < 1e-12 && fabs(f.speedup[2] - 4.2) < 1e-12);
    /* weights 1 1 1 1 6 on 1 2 3 4 5 (the fourth input, with speed-up 5, is called six times), worth 2.5 inputs: means from 0.12, 0.3, 0.48 on */
    assert_true(fabs(f.weighted[0] - 3.65) < 1e-12 && fabs(f.weighted[1] - 4.75) < 1e-12 && fabs(f.weighted[2] - 5) < 1e-12);
    assert_true(f.median_ns == 75);
    double own = 50 + 200.0 / 3 + 75 + 6 * 80 + 500, base = 100 + 200 + 300 + 6 * 400 + 500;
    assert_true(fabs(f.step_speedup - base / own) < 1e-12);
    assert_true(fabs(f.step_ns - own) < 1e-9);
    assert_int_equal(operators_figures_of(&a, &g.rows[1], 1, 0, &f, NULL), ASSAY_OK);
    assert_int_equal(f.n_ok, 0);
    assert_true(isnan(f.speedup[1]) && isnan(f.median_ns) && isnan(f.step_speedup));
    operators_totals t;
    assert_int_equal(operators_totals_of(&a, &g, 1, &t, NULL), ASSAY_OK);
    assert_int_equal(t.n_operators, 1);
    assert_true(fabs(t.geomean - 3) < 1e-12);
    assert_true(fabs(t.weighted_geomean - pow(2 * 3 * 4 * pow(5, 6) * 1, 1.0 / 10)) < 1e-12);
    arena_clear(&a);
}

/* Four operators, rounds growing ninefold all the while: alike, faster, a little slower, much slower. */
static void verdicts_follow_the_rounds(void **state) {
    (void)state;
    static const char *const names[] = {"aten.alike", "aten.faster", "aten.slower", "aten.slow"};
    static const double times[] = {100.5, 90, 103, 130};
    static const operators_verdict verdicts[] = {OPERATORS_ALIKE, OPERATORS_FASTER, OPERATORS_SLOWER, OPERATORS_SLOWER};
    static double samples[8][9];
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    operators_figures f;
    operators_totals totals;
    text out = {0};
    for (size_t i = 0; i < countof(names); i++) {
        deal_rounds(&d, names[i], "eager", 100, samples[2 * i]);
        deal_rounds(&d, names[i], "p", times[i], samples[2 * i + 1]);
    }
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(names); i++) {
        assert_int_equal(operators_figures_of(&a, &g.rows[i], 1, 0, &f, NULL), ASSAY_OK);
        assert_true(f.low[1] <= f.speedup[1] && f.speedup[1] <= f.high[1] && f.high[1] / f.low[1] < 1.03);
        assert_true(fabs(f.speedup[1] - 100 / times[i]) < 1e-9);
        assert_int_equal(operators_verdict_of(&f), verdicts[i]);
    }
    assert_int_equal(operators_totals_of(&a, &g, 1, &totals, NULL), ASSAY_OK);
    assert_int_equal(totals.n_faster, 1);
    assert_int_equal(totals.n_slower, 2);
    assert_int_equal(totals.n_much_slower, 1);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    print_message("%s", out.data);
    assert_non_null(strstr(out.data, " ~0.995 "));
    assert_non_null(strstr(out.data, "of 4 operators 1 is beyond doubt faster than eager, 2 slower, 1 of these by more than 5%\n"));
    text_clear(&out);
    arena_clear(&a);
}

/* Too few samples to say anything: neither faster nor slower, however far apart. */
static void few_samples_prove_nothing(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    operators_figures f;
    deal(&d, "aten.x", 0, "eager", 100, 1);
    deal(&d, "aten.x", 0, "p", 1000, 1);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_figures_of(&a, &g.rows[0], 1, 0, &f, NULL), ASSAY_OK);
    assert_true(f.speedup[1] == 0.1 && f.low[1] == 0 && isinf(f.high[1]));
    assert_int_equal(operators_verdict_of(&f), OPERATORS_ALIKE);
    record_speedup s;
    assert_int_equal(record_compare(&d.records[1], &d.records[0], &s, NULL), ASSAY_OK);
    assert_true(s.ratio == 0.1 && s.low == 0.1 && s.high == 0.1 && s.confidence == 0);
    arena_clear(&a);
}

/* Of three inputs two have samples enough and are slower beyond doubt, one has a single sample: the median of their bounds is a number. */
static void one_input_of_few_samples_hides_no_verdict(void **state) {
    (void)state;
    static double samples[4][9];
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    operators_figures f;
    for (int64_t i = 0; i < 3; i++) {
        for (size_t b = 0; b < 2; b++) {
            const char *backend = b == 0 ? "eager" : "p";
            if (i == 2) {
                deal(&d, "aten.x", i, backend, b == 0 ? 100 : 1000, 1);
            } else {
                deal_rounds(&d, "aten.x", backend, b == 0 ? 100 : 130, samples[2 * i + (int64_t)b]);
                d.records[d.n - 1].sample_index = i;
            }
        }
    }
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(g.rows[0].n_samples, 3);
    assert_int_equal(operators_figures_of(&a, &g.rows[0], 1, 0, &f, NULL), ASSAY_OK);
    assert_true(f.low[1] > 0.7 && f.high[1] < 0.8);
    assert_true(f.low[0] < 0.7 && isinf(f.high[2]));
    assert_int_equal(operators_verdict_of(&f), OPERATORS_SLOWER);
    assert_int_equal(operators_figures_of(&a, &g.rows[0], 0, 0, &f, NULL), ASSAY_OK);
    for (size_t q = 0; q < 3; q++) { /* the baseline's own */
        assert_true(f.speedup[q] == 1 && f.low[q] == 1 && f.high[q] == 1);
    }
    arena_clear(&a);
}

static void means_are_over_common_inputs(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    deal(&d, "aten.x", 0, "eager", 1e9, 1);
    deal(&d, "aten.x", 0, "p", 1e9, 1);
    deal(&d, "aten.x", 1, "eager", 9e9, 1);
    deal_failure(&d, "aten.x", 1, "p", RECORD_TIMEOUT, "no progress");
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, ",1.00000000,1.00000000\r\n"));
    text_clear(&out);
    arena_clear(&a);
}

/* Of three inputs one is refused by p, another by q: what stands in one row is of the third. */
static void times_of_a_row_are_of_the_same_inputs(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    for (int i = 0; i < 3; i++) {
        deal(&d, "aten.x", i, "eager", 1000 * pow(10, i), 1);
        i == 0 ? deal_failure(&d, "aten.x", i, "p", RECORD_UNSUPPORTED, "no") : deal(&d, "aten.x", i, "p", 2000 * pow(10, i), 1);
        i == 1 ? deal_failure(&d, "aten.x", i, "q", RECORD_UNSUPPORTED, "no") : deal(&d, "aten.x", i, "q", 4000 * pow(10, i), 1);
    }
    deal(&d, "aten.y", 0, "eager", 1000, 1);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    static const double expected[] = {1e5, 2e5, 4e5};
    for (size_t b = 0; b < 3; b++) {
        double median_ns;
        assert_int_equal(operators_common_median_ns(&a, &g, &g.rows[0], b, &median_ns, NULL), ASSAY_OK);
        assert_true(median_ns == expected[b]);
    }
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    print_message("%s", out.data);
    assert_non_null(strstr(out.data, "aten.x                                    1/3    100   200   400 "));
    assert_non_null(strstr(out.data, "aten.y                                      1    1.0     - "));
    assert_non_null(strstr(out.data, "Times are medians over an operator's inputs that ran on all backends; "));
    text_clear(&out);
    arena_clear(&a);
}

static void two_backends_are_compared_with_each_other(void **state) {
    (void)state;
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    text out = {0};
    deal(&d, "aten.x", 0, "eager", 8e9, 1);
    deal(&d, "aten.x", 0, "p", 4e9, 1);
    deal(&d, "aten.x", 0, "q", 1e9, 1);
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    assert_string_equal(out.data,
                        "operator,p 20th,p 50th,p 80th,q 20th,q 50th,q 80th,p/q 20th,p/q 50th,p/q 80th,elapsed,eager abs,"
                        "p abs,q abs\r\n"
                        "aten.x,2.000000,2.000000,2.000000,8.000000,8.000000,8.000000,4.000000,4.000000,4.000000,0.250000,"
                        "8.00000000,4.00000000,1.00000000\r\n");
    text_clear(&out);
    arena_clear(&a);
}

/* The same three inputs in the records of one worker, and with the second measured in a worker for each backend: that one is timed and in
   no speed-up, neither over the baseline nor of one backend over the other, however far apart. */
static void what_was_measured_apart_is_not_compared(void **state) {
    (void)state;
    static const char *const backends[] = {"eager", "p", "q"};
    static double samples[9][9];
    deck d = {.n = 0};
    arena a = {0};
    operators_group g;
    operators_figures f;
    operators_totals totals;
    text out = {0};
    for (int64_t i = 0; i < 3; i++) {
        for (size_t b = 0; b < 3; b++) {
            double time_ns = (i == 1 ? 1000 : 100) / (double)(b + 1);
            deal_rounds(&d, "aten.x", backends[b], i == 1 && b == 1 ? 1 : time_ns, samples[3 * (size_t)i + b]);
            d.records[d.n - 1].sample_index = i;
            d.records[d.n - 1].worker = i == 1 ? 1 + (int)b : i == 2 ? -1 : 0; /* of the last one nothing is known */
        }
    }
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    for (size_t b = 0; b < 3; b++) {
        for (size_t other = 0; other < 3; other++) {
            assert_int_equal(operators_figures_of(&a, &g.rows[0], b, other, &f, NULL), ASSAY_OK);
            assert_int_equal(f.n_ok, 3);
            assert_int_equal(f.n_pairs, b == other ? 3 : 2);
            double expected = (double)(b + 1) / (double)(other + 1);
            for (size_t q = 0; q < 3; q++) {
                assert_true(fabs(f.speedup[q] - expected) < 1e-9 && fabs(f.weighted[q] - expected) < 1e-9);
            }
            assert_true(fabs(f.step_speedup - expected) < 0.02 * expected); /* medians of rounds, which differ by a percent */
        }
    }
    assert_true(fabs(g.rows[0].elapsed_s - 5 * 0.25) < 1e-9); /* one worker, three of them, one that is not known */
    assert_int_equal(operators_totals_of(&a, &g, 1, &totals, NULL), ASSAY_OK);
    assert_true(fabs(totals.weighted_geomean - 2) < 0.04 && fabs(totals.step_speedup - 2) < 0.04);
    assert_int_equal(operators_report(&a, &g, &(operators_report_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "    1 input was measured apart from eager and in no speed-up\n    of 1 operator 1 is beyond doubt faster"));
    text_clear(&out);
    d.n = 0;
    deal_rounds(&d, "aten.x", "eager", 100, samples[0]);
    deal_rounds(&d, "aten.x", "p", 1, samples[1]);
    d.records[0].worker = 0;
    d.records[1].worker = 1;
    assert_int_equal(operators_group_make(&a, d.records, d.n, &g, NULL), ASSAY_OK);
    assert_int_equal(operators_totals_of(&a, &g, 1, &totals, NULL), ASSAY_OK);
    assert_int_equal(totals.n_operators, 0);
    assert_true(isnan(totals.geomean) && isnan(totals.weighted_geomean) && isnan(totals.step_speedup));
    assert_int_equal(operators_csv(&a, &g, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\r\naten.x,,,,0.500000,"));
    text_clear(&out);
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_right),
        cmocka_unit_test(verdicts_follow_the_rounds),
        cmocka_unit_test(few_samples_prove_nothing),
        cmocka_unit_test(one_input_of_few_samples_hides_no_verdict),
        cmocka_unit_test(means_are_over_common_inputs),
        cmocka_unit_test(times_of_a_row_are_of_the_same_inputs),
        cmocka_unit_test(two_backends_are_compared_with_each_other),
        cmocka_unit_test(what_was_measured_apart_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
