/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics on values and distributions whose figures are known. */
#include "lab/stats/interval.h"
#include "lab/stats/stopping.h"
#include "lab/stats/summary.h"

#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static const uint64_t seed = 71;

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}

static void quantiles_are_numpys(void **state) {
    (void)state;
    static const double sorted[] = {1, 2, 4, 8, 16};
    /* numpy.quantile([1, 2, 4, 8, 16], q) */
    static const double cases[][2] = {{0, 1}, {0.2, 1.8}, {0.25, 2}, {0.5, 4}, {0.8, 9.6}, {0.99, 15.68}, {1, 16}};
    for (size_t i = 0; i < countof(cases); i++) {
        assert_true(near(stats_quantile_sorted(sorted, 5, cases[i][0]), cases[i][1]));
    }
    const double open[] = {-INFINITY, 1, 2, INFINITY, INFINITY}; /* no rank between two of them is not a number, nor that of one of them */
    assert_true(stats_quantile_sorted(open, 5, 0.5) == 2 && stats_quantile_sorted(open, 5, 0.25) == 1);
    assert_true(isinf(stats_quantile_sorted(open, 5, 0.55)) && isinf(stats_quantile_sorted(open, 5, 0.7)));
    assert_true(isinf(stats_quantile_sorted(open, 5, 0.8)) && isinf(stats_quantile_sorted(open, 5, 0.75)));
    assert_true(stats_quantile_sorted(open, 5, 0) == -INFINITY && stats_quantile_sorted(open, 5, 0.2) == -INFINITY);
    assert_true(stats_quantile_sorted(sorted, 1, 0.8) == 1);
    assert_true(isnan(stats_quantile_sorted(sorted, 0, 0.5)));
    static const double equal[] = {0.1, 0.1, 0.1};
    assert_true(stats_quantile_sorted(equal, 3, 0.7) == 0.1); /* exactly: no rounding out of the range */
}

static void weighted_quantiles_are_those_of_equal_weights(void **state) {
    (void)state;
    size_t order[8];
    double values[] = {5, 1, 3, 2}, weights[] = {1, 1, 1, 1};
    assert_true(near(stats_quantile_weighted(values, weights, 4, 0.5, order), 2.5));
    weights[3] = 3; /* of 1, 2, 3, 5 with 1, 3, 1, 1 the middle half: two thirds of it are the 2 */
    assert_true(near(stats_quantile_weighted(values, weights, 4, 0.5, order), (2 * (4.0 / 6 - 1.0 / 3) + 3 * (2.0 / 3 - 4.0 / 6)) * 3));
    weights[3] = 1e6; /* nearly all */
    assert_true(fabs(stats_quantile_weighted(values, weights, 4, 0.2, order) - 2) < 1e-5);
    weights[0] = weights[3] = weights[2] = 0;
    assert_true(stats_quantile_weighted(values, weights, 4, 0.9, order) == 1);
    weights[1] = 0;
    assert_true(isnan(stats_quantile_weighted(values, weights, 4, 0.5, order)));
    rng r = rng_make(seed);
    for (int round = 0; round < 500; round++) {
        double v[8], w[8], sorted[8], weight = (double)rng_range(&r, 1, 50) / 7, q = (double)rng_range(&r, 0, 11) / 10;
        size_t n = (size_t)rng_range(&r, 1, 9);
        for (size_t i = 0; i < n; i++) {
            sorted[i] = v[i] = (double)rng_range(&r, 0, 5);
            w[i] = weight;
        }
        stats_sort(sorted, n);
        assert_true(near(stats_quantile_weighted(v, w, n, q, order), stats_quantile_sorted(sorted, n, q)));
        w[0] *= 3; /* heavier, it draws the median nearer, and nothing leaves the range */
        double found = stats_quantile_weighted(v, w, n, 0.5, order), before = stats_quantile_sorted(sorted, n, 0.5);
        assert_true(fabs(found - v[0]) <= fabs(before - v[0]) + 1e-12 && found >= sorted[0] && found <= sorted[n - 1]);
    }
}

static void means_are_means(void **state) {
    (void)state;
    static const double values[] = {1, 4, 16}, weights[] = {0, 1, 1}, bad[] = {1, 0, 2};
    assert_true(near(stats_mean(values, 3), 7));
    assert_true(near(stats_geomean(values, NULL, 3), 4));
    assert_true(near(stats_geomean(values, weights, 3), 8));
    assert_true(isnan(stats_geomean(bad, NULL, 3)));
    assert_true(isnan(stats_geomean(values, NULL, 0)) && isnan(stats_mean(values, 0)));
}

static void summaries_add_up(void **state) {
    (void)state;
    static const double samples[] = {3, 1, 2, 5, 4, 100, 3, 3, 2};
    stats_summary s;
    assert_int_equal(stats_summarise(samples, countof(samples), &s, NULL), ASSAY_OK);
    assert_true(s.min == 1 && s.max == 100 && s.median == 3 && s.mad == 1 && near(s.mean, 123.0 / 9));
    assert_int_equal(s.n_outliers, 1);
    assert_int_equal(s.n_far, 1);
    assert_true(fabs(s.standard_deviation - 32.39598740) < 1e-6); /* numpy.std(samples, ddof=1) */
    assert_int_equal(stats_summarise(samples, 1, &s, NULL), ASSAY_OK);
    assert_true(s.median == 3 && s.mad == 0 && isnan(s.standard_deviation));
    static const double holes[] = {1, NAN};
    s.n = 77;
    assert_int_equal(stats_summarise(holes, 2, &s, NULL), ASSAY_INVALID);
    assert_int_equal(stats_summarise(holes, 0, &s, NULL), ASSAY_INVALID);
    assert_int_equal(s.n, 77);
}

static void sorting_puts_nan_last(void **state) {
    (void)state;
    double values[] = {NAN, 2, -INFINITY, NAN, INFINITY, 1};
    stats_sort(values, countof(values));
    assert_true(values[0] == -INFINITY && values[1] == 1 && values[2] == 2 && values[3] == INFINITY);
    assert_true(isnan(values[4]) && isnan(values[5]));
}

/* Ranks and coverages of the sign test's interval, as tables of order statistics give them. */
static void median_intervals_are_the_tables(void **state) {
    (void)state;
    static const struct {
        size_t n, low, high;
        double coverage;
    } cases[] = {{1, 0, 0, 0},          {2, 0, 1, 0.5},           {5, 0, 4, 0.9375},
                 {6, 0, 5, 0.96875},    {10, 1, 8, 0.978515625},  {25, 7, 17, 0.9567147493362427}};
    double sorted[1000];
    for (size_t i = 0; i < countof(sorted); i++) {
        sorted[i] = (double)i;
    }
    for (size_t i = 0; i < countof(cases); i++) {
        stats_interval interval = stats_median_interval(sorted, cases[i].n, 0.95);
        assert_true(interval.low == (double)cases[i].low && interval.high == (double)cases[i].high);
        assert_true(fabs(interval.confidence - cases[i].coverage) < 1e-9);
    }
    stats_interval wide = stats_median_interval(sorted, 1000, 0.95);
    assert_true(wide.low == 468 && wide.high == 531 && wide.confidence >= 0.95); /* 500 +- 1.96 sqrt(1000) / 2 */
}

/* An interval of 95% holds the true value at least 95 times in 100, whatever the distribution: here skewed. */
static void median_intervals_cover(void **state) {
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    rng r = rng_make(seed);
    int covered = 0, rounds = 4000;
    for (int round = 0; round < rounds; round++) {
        double samples[15];
        for (size_t i = 0; i < countof(samples); i++) {
            samples[i] = -log(1 - rng_uniform(&r));
        }
        stats_sort(samples, countof(samples));
        stats_interval interval = stats_median_interval(samples, countof(samples), 0.95);
        covered += interval.low <= M_LN2 && M_LN2 <= interval.high;
    }
    /* 0.9648 by the binomial; four standard deviations of 4000 rounds are 0.012 */
    assert_true(fabs((double)covered / rounds - 0.96484375) < 0.012);
}

/* Both subjects of a round are slow in the same rounds, by up to twice, and differ by 3% besides. */
static void paired_ratios_see_through_drift(void **state) {
    (void)state;
    rng r = rng_make(seed);
    int covered = 0, distinct = 0, rounds = 2000;
    double a[25], b[25], scratch[25];
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < countof(a); i++) {
            double slow = 1 + rng_uniform(&r);
            a[i] = 3 * slow * exp(0.01 * rng_normal(&r));
            b[i] = slow * 1.03 * exp(0.01 * rng_normal(&r));
        }
        stats_ratio found = stats_paired_ratio(a, b, countof(a), 0.95, scratch);
        assert_true(found.interval.low <= found.median && found.median <= found.interval.high);
        assert_true(found.interval.confidence >= 0.95);
        covered += found.interval.low <= 3 / 1.03 && 3 / 1.03 <= found.interval.high;
        distinct += found.interval.high < 3;
    }
    assert_true(fabs((double)covered / rounds - 0.9567) < 0.019); /* by the binomial; four standard deviations */
    assert_true(distinct > 0.95 * rounds);
}

static void paired_ratios_of_little_are_told_apart(void **state) {
    (void)state;
    double a[] = {2, 6, 9}, b[] = {1, 2, 4.5}, zero[] = {1, 0, 1}, broken[] = {1, NAN, 1}, scratch[3];
    stats_ratio found = stats_paired_ratio(a, b, 3, 0.95, scratch);
    assert_true(found.median == 2 && found.interval.low == 2 && found.interval.high == 3 && found.interval.confidence == 0.75);
    found = stats_paired_ratio(a, b, 1, 0.95, scratch);
    assert_true(found.median == 2 && found.interval.confidence == 0);
    assert_true(isnan(stats_paired_ratio(a, b, 0, 0.95, scratch).median));
    assert_true(isnan(stats_paired_ratio(a, zero, 3, 0.95, scratch).median));
    assert_true(isnan(stats_paired_ratio(zero, a, 3, 0.95, scratch).median));
    assert_true(isnan(stats_paired_ratio(a, broken, 3, 0.95, scratch).interval.low));
}

static void digits_follow_the_noise(void **state) {
    (void)state;
    assert_int_equal(stats_digits(12345, 1, 9), 5);
    assert_int_equal(stats_digits(12345, 99, 9), 4);
    assert_int_equal(stats_digits(12345, 100, 9), 3);
    assert_int_equal(stats_digits(12345, 5e5, 9), 1);
    assert_int_equal(stats_digits(0.00123, 0.00001, 9), 3);
    assert_int_equal(stats_digits(-12345, 1, 4), 4);
    assert_int_equal(stats_digits(5, 0, 6), 6);
    assert_int_equal(stats_digits(5, NAN, 6), 6);
}

static void stopping_waits_for_narrowness(void **state) {
    (void)state;
    double steady[20], loose[20], scratch[20];
    for (int i = 0; i < 20; i++) {
        steady[i] = 100 + 0.1 * (i % 3);
        loose[i] = 100 + 30 * (i % 3);
    }
    stop_rule rule = stop_when_narrow(0.95, 0.01);
    assert_false(rule.enough(&rule, steady, 5, scratch)); /* too few for 95% */
    assert_true(rule.enough(&rule, steady, 6, scratch));
    assert_false(rule.enough(&rule, loose, 20, scratch));
    assert_false(rule.enough(&rule, loose, 0, scratch));
    rule = stop_at_once();
    assert_true(rule.enough(&rule, loose, 1, scratch));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_numpys),
        cmocka_unit_test(weighted_quantiles_are_those_of_equal_weights),
        cmocka_unit_test(means_are_means),
        cmocka_unit_test(summaries_add_up),
        cmocka_unit_test(sorting_puts_nan_last),
        cmocka_unit_test(median_intervals_are_the_tables),
        cmocka_unit_test(median_intervals_cover),
        cmocka_unit_test(paired_ratios_see_through_drift),
        cmocka_unit_test(paired_ratios_of_little_are_told_apart),
        cmocka_unit_test(digits_follow_the_noise),
        cmocka_unit_test(stopping_waits_for_narrowness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
