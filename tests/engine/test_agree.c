/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison behind every verdict: what it must accept, and what it must not. */
#include "engine/tensor/agree.h"
#include "base/rng.h"

#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

static void make(tensor *t, dtype type) {
    assert_int_equal(tensor_init(t, type, 1, (const int64_t[]){N}, NULL), ASSAY_OK);
    assert_int_equal(tensor_allocate(t, &device_cpu, NULL), ASSAY_OK);
}

static void fill(tensor *t, const double *values) {
    for (int i = 0; i < N; i++) {
        element_store(t->dtype, tensor_data(t) + (size_t)i * dtype_size(t->dtype), values[i]);
    }
}

static agreement compare(const tensor *t, const double *expected, double reduction) {
    agreement a;
    agree_compare(t, NULL, N, expected, NULL, &(agree_rule){.reduction = reduction, .roundings = 1}, &a);
    return a;
}

/* Exact values rounded once to their type agree, in every floating type. */
static void accepts_one_rounding(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64};
    rng r = rng_make(1);
    double expected[N];
    for (size_t k = 0; k < countof(types); k++) {
        tensor t;
        make(&t, types[k]);
        for (int i = 0; i < N; i++) {
            expected[i] = rng_normal(&r);
        }
        fill(&t, expected);
        agreement a = compare(&t, expected, 1);
        assert_true(a.agrees);
        assert_true(a.worst_ulp <= 0.5 + 1e-9);
        assert_int_equal(a.checked, N);
        tensor_clear(&t);
    }
}

/* One element off by 32 units in the last place is seen, and named. */
static void names_the_bad_element(void **state) {
    (void)state;
    tensor t;
    double expected[N];
    make(&t, ASSAY_F32);
    for (int i = 0; i < N; i++) {
        expected[i] = 1 + i % 7;
    }
    fill(&t, expected);
    ((float *)tensor_data(&t))[123] *= 1 + 32 * FLT_EPSILON;
    agreement a = compare(&t, expected, 1);
    assert_false(a.agrees);
    assert_int_equal(a.bad, 1);
    assert_int_equal(a.worst, 123);
    assert_true(a.worst_ulp > 15);
    tensor_clear(&t);
}

/* A float sum of K terms, taken in the plain order, stays inside; a sum that leaves out one term of it does not. */
static void follows_the_length_of_sums(void **state) {
    (void)state;
    enum { K = 4096 };
    rng r = rng_make(2);
    tensor t;
    double expected[N], short_by_one[N], norm[N];
    float sums[N];
    make(&t, ASSAY_F32);
    for (int i = 0; i < N; i++) {
        float sum = 0;
        expected[i] = norm[i] = 0;
        for (int k = 0; k < K; k++) {
            float x = (float)rng_normal(&r);
            sum += x;
            short_by_one[i] = expected[i];
            expected[i] += x;
            norm[i] += (double)x * x;
        }
        norm[i] = sqrt(norm[i]);
        sums[i] = sum;
    }
    memcpy(tensor_data(&t), sums, sizeof sums);
    agreement a;
    agree_rule rule = {.reduction = K, .roundings = 1};
    agree_compare(&t, NULL, N, expected, norm, &rule, &a);
    assert_true(a.agrees);
    fill(&t, short_by_one);
    agree_compare(&t, NULL, N, expected, norm, &rule, &a);
    assert_true(a.bad > N / 2);
    tensor_clear(&t);
}

/* A sum that is rounded to f16 at each step is accepted from those who say that they do so, and from nobody else; one that
   leaves out a term is accepted from nobody. */
static void follows_what_a_kernel_says_of_its_sums(void **state) {
    (void)state;
    enum { K = 64 };
    rng r = rng_make(3);
    tensor t;
    double expected[N], short_by_one[N], norm[N];
    make(&t, ASSAY_F16);
    for (int i = 0; i < N; i++) {
        char *sum = (char *)tensor_data(&t) + 2 * i;
        element_store(ASSAY_F16, sum, 0);
        expected[i] = norm[i] = 0;
        for (int k = 0; k < K; k++) {
            double x = 1 + (double)rng_range(&r, 0, 1024) / 1024;
            element_store(ASSAY_F16, sum, element_load(ASSAY_F16, sum) + x);
            short_by_one[i] = expected[i];
            expected[i] += x;
            norm[i] += x * x;
        }
        norm[i] = sqrt(norm[i]);
    }
    agreement a;
    agree_rule wide = {.reduction = K, .roundings = 1}, steps = wide, sums = wide;
    steps.rounds_steps = sums.rounds_steps = sums.rounds_sums = true;
    agree_compare(&t, NULL, N, expected, norm, &wide, &a);
    assert_true(a.bad > 0);
    agree_compare(&t, NULL, N, expected, norm, &sums, &a);
    assert_true(a.agrees);
    fill(&t, short_by_one);
    agree_compare(&t, NULL, N, expected, norm, &steps, &a);
    assert_true(a.bad > N / 2);
    tensor_clear(&t);
    make(&t, ASSAY_F32); /* in f32 the words mean nothing */
    fill(&t, expected);
    ((float *)tensor_data(&t))[5] *= 1 + 512 * FLT_EPSILON;
    agree_compare(&t, NULL, N, expected, norm, &sums, &a);
    assert_int_equal(a.bad, 1);
    tensor_clear(&t);
}

static void nan_and_infinity_keep_their_places(void **state) {
    (void)state;
    tensor t;
    double expected[N] = {[3] = NAN, [4] = INFINITY, [5] = -INFINITY};
    make(&t, ASSAY_F32);
    fill(&t, expected);
    assert_true(compare(&t, expected, 1).agrees);
    static const int places[] = {3, 4, 5, 6};
    static const float wrong[] = {0, NAN, INFINITY, NAN};
    for (size_t k = 0; k < countof(places); k++) {
        fill(&t, expected);
        ((float *)tensor_data(&t))[places[k]] = wrong[k];
        assert_false(compare(&t, expected, 1).agrees);
    }
    tensor_clear(&t);
}

/* What is too large for the type is infinite in it; half of it is not. */
static void overflow_is_infinite(void **state) {
    (void)state;
    tensor t;
    double expected[N] = {[7] = 1e6};
    make(&t, ASSAY_F16);
    fill(&t, expected);
    assert_true(isinf(element_load(ASSAY_F16, tensor_data(&t) + 14)));
    assert_true(compare(&t, expected, 1).agrees);
    element_store(ASSAY_F16, tensor_data(&t) + 14, 30000);
    assert_false(compare(&t, expected, 1).agrees);
    tensor_clear(&t);
}

/* Near the largest number what a graph's errors may do reaches to either side of it. */
static void overflow_has_a_tolerance(void **state) {
    (void)state;
    static const struct {
        double expected, slack, actual;
        bool agrees;
    } cases[] = {{65504.5, 300, 65248, true},    {65504.5, 100, 65248, false},    {65504.5, 300, -65504, false}, {64000, 2000, INFINITY, true},
                 {64000, 200, INFINITY, false},  {-64000, 2000, INFINITY, false}, {1e6, 2000, 65248, false},     {1e6, 2000, INFINITY, true},
                 {INFINITY, 300, 65248, false}};
    for (size_t i = 0; i < countof(cases); i++) {
        tensor t;
        agreement a;
        double expected[N] = {[7] = cases[i].expected}, slack[N] = {[7] = cases[i].slack};
        const agree_rule rule = {.reduction = 1, .roundings = 1, .slack = slack};
        make(&t, ASSAY_F16);
        fill(&t, expected);
        element_store(ASSAY_F16, tensor_data(&t) + 14, cases[i].actual);
        agree_compare(&t, NULL, N, expected, NULL, &rule, &a);
        assert_true(a.agrees == cases[i].agrees);
        tensor_clear(&t);
    }
}

/* Nothing written: every element is seen, whatever the type and whatever was expected. */
static void poison_is_seen(void **state) {
    (void)state;
    double expected[N];
    for (int type = 0; type < ASSAY_DTYPE_COUNT; type++) {
        tensor t;
        make(&t, (dtype)type);
        double pairs[2 * N] = {0};
        for (int i = 0; i < N; i++) {
            expected[i] = i % 2;
        }
        agree_poison(&t);
        agreement a = compare(&t, dtype_is_complex((dtype)type) ? pairs : expected, 1);
        assert_int_equal(a.bad, N);
        tensor_clear(&t);
    }
}

static void integers_are_exact(void **state) {
    (void)state;
    tensor t;
    double expected[N];
    make(&t, ASSAY_I32);
    for (int i = 0; i < N; i++) {
        expected[i] = i * 1000003 % 65537;
    }
    fill(&t, expected);
    assert_true(compare(&t, expected, 1e6).agrees);
    ((int32_t *)tensor_data(&t))[N - 1]++;
    agreement a = compare(&t, expected, 1e6);
    assert_int_equal(a.bad, 1);
    assert_int_equal(a.worst, N - 1);
    tensor_clear(&t);
}

/* A subset of a strided tensor: indices are row-major positions, whatever the memory looks like. */
static void follows_strides_and_subsets(void **state) {
    (void)state;
    tensor t;
    assert_int_equal(tensor_init_strided(&t, ASSAY_F32, 2, (const int64_t[]){4, 5}, (const int64_t[]){1, 4}, NULL), ASSAY_OK);
    assert_int_equal(tensor_allocate(&t, &device_cpu, NULL), ASSAY_OK);
    for (int i = 0; i < 20; i++) {
        ((float *)tensor_data(&t))[tensor_offset_of(&t, i)] = (float)i;
    }
    agreement a;
    const int64_t flat[] = {0, 7, 19};
    agree_compare(&t, flat, 3, (const double[]){0, 7, 19}, NULL, &(agree_rule){.reduction = 1, .roundings = 1}, &a);
    assert_true(a.agrees);
    agree_compare(&t, flat, 3, (const double[]){0, 8, 19}, NULL, &(agree_rule){.reduction = 1, .roundings = 1}, &a);
    assert_int_equal(a.worst, 7);
    tensor_clear(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_one_rounding),     cmocka_unit_test(names_the_bad_element),
        cmocka_unit_test(follows_the_length_of_sums), cmocka_unit_test(nan_and_infinity_keep_their_places),
        cmocka_unit_test(overflow_is_infinite),
        cmocka_unit_test(overflow_has_a_tolerance),     cmocka_unit_test(poison_is_seen),
        cmocka_unit_test(integers_are_exact),       cmocka_unit_test(follows_strides_and_subsets),
        cmocka_unit_test(follows_what_a_kernel_says_of_its_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
