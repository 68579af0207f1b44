/* SPDX-License-Identifier: Apache-2.0 */
/* Random operators: what the kernels draw passes the rows' checks, and what is wrong does not. */
#include "engine/call_kit.h"

#include "base/philox.h"
#include "engine/kernels/cpu/isa/random_loops.h"

#include <math.h>
#include <omp.h>

enum { SEED = 99 };

static const dtype floats[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64};

/* The known answer that comes with the generator's reference implementation (Random123, kat_vectors). */
static void test_philox_known_answer(void **state) {
    static const uint32_t expected[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    uint32_t block[4];
    (void)state;
    philox_block(0, 0, block);
    assert_memory_equal(block, expected, sizeof block);
    assert_int_equal(philox_word(0, 2), expected[2]);
}

static void test_every_instruction_set_gives_one_stream(void **state) {
    enum { BLOCKS = 53 };
    static const uint64_t starts[] = {0, UINT32_MAX - 20, UINT64_C(0x123456789abcdef)};
    uint32_t made[4 * BLOCKS], expected[4];
    (void)state;
#if defined(__x86_64__)
    const random_loops *const sets[] = {&random_loops_baseline, &random_loops_avx2, &random_loops_avx512};
#else
    const random_loops *const sets[] = {&random_loops_baseline};
#endif
    for (int set = 0; set <= (int)isa_best(); set++) {
        for (size_t s = 0; s < countof(starts); s++) {
            sets[set]->words(made, UINT64_C(0xfedcba9876543210), starts[s], BLOCKS);
            for (uint64_t i = 0; i < BLOCKS; i++) {
                philox_block(UINT64_C(0xfedcba9876543210), starts[s] + i, expected);
                assert_memory_equal(made + 4 * i, expected, sizeof expected);
            }
        }
    }
}

static void expect_possible(kit *k, const char *name, const arg *args, int n) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    error err = {0};
    kit_run(k, &call, &out);
    if (call.op->row->check(&call, &out, &err) != ASSAY_OK) {
        print_error("%s: %s\n", name, err.message);
        assert_true(false);
    }
    outputs_clear(&out);
}

static tensor *laid_out(kit *k, dtype t, int layout) {
    static const int64_t sizes[] = {37, 1030, 3};
    static const int64_t strides[][3] = {{3090, 3, 1}, {1, 111, 37}, {9000, 7, 2}};
    return kit_tensor(k, t, 3, sizes, strides[layout]);
}

static void test_draws_are_possible(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(floats); t++) {
        for (int layout = 0; layout < 3; layout++) {
            arg x = arg_tensor(laid_out(k, floats[t], layout));
            tensor *p = kit_tensor(k, ASSAY_F32, 2, (const int64_t[]){1030, 1}, NULL);
            rng r = rng_make(SEED);
            fill_uniform(p, &r, 0, 1);
            static const double chances[] = {0, 0.02, 0.5, 0.9782608691602945, 1};
            for (size_t i = 0; i < countof(chances); i++) {
                expect_possible(k, "bernoulli_.float", (arg[]){x, arg_float(chances[i])}, 2);
                expect_possible(k, "bernoulli.p", (arg[]){x, arg_float(chances[i])}, 2);
                expect_possible(k, "native_dropout", (arg[]){x, arg_float(chances[i]), arg_bool(true)}, 3);
            }
            expect_possible(k, "native_dropout", (arg[]){x, arg_float(0.3), arg_bool(false)}, 3);
            expect_possible(k, "native_dropout", (arg[]){x, arg_float(0.3), {.kind = ARG_NONE}}, 3);
            expect_possible(k, "bernoulli_.Tensor", (arg[]){x, arg_tensor(p)}, 2);
            expect_possible(k, "uniform_", (arg[]){x, arg_float(-2), arg_float(3)}, 3);
            expect_possible(k, "normal_", (arg[]){x, arg_float(1), arg_float(0.5)}, 3);
            expect_possible(k, "normal_", (arg[]){x, arg_float(-200), arg_float(0.01)}, 3);
            expect_possible(k, "normal_", (arg[]){x, arg_float(1.3), arg_float(0)}, 3);
            expect_possible(k, "uniform_", (arg[]){x, arg_float(1000), arg_float(1001)}, 3);
            expect_possible(k, "uniform_", (arg[]){x, arg_float(7), arg_float(7)}, 3);
            tensor *chance = laid_out(k, floats[t], layout);
            fill_uniform(chance, &r, 0, 1);
            expect_possible(k, "bernoulli", (arg[]){arg_tensor(chance)}, 1);
            kit_reset(k);
        }
    }
    for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
        if (!dtype_is_complex((dtype)t)) {
            expect_possible(k, "bernoulli_.float", (arg[]){arg_tensor(laid_out(k, (dtype)t, 1)), arg_float(0.3)}, 2);
        }
    }
}

static void test_small_and_empty(void **state) {
    kit *k = *state;
    static const int64_t sizes[] = {0, 1, 3, 5};
    for (size_t i = 0; i < countof(sizes); i++) {
        arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 1, &sizes[i], NULL));
        expect_possible(k, "bernoulli_.float", (arg[]){x, arg_float(0.5)}, 2);
        expect_possible(k, "native_dropout", (arg[]){x, arg_float(0.5), arg_bool(true)}, 3);
        expect_possible(k, "normal_", (arg[]){x}, 1);
    }
    expect_possible(k, "uniform_", (arg[]){arg_tensor(kit_tensor(k, ASSAY_F64, 0, NULL, NULL))}, 1);
}

/* The same seed gives the same values, however many threads share the work; another seed gives others. */
static void test_threads_do_not_change_values(void **state) {
    kit *k = *state;
    int64_t n = 300000;
    tensor *x = kit_tensor(k, ASSAY_F32, 1, &n, NULL);
    float *first = malloc((size_t)n * sizeof *first);
    op_call call = kit_call(k, "uniform_", (arg[]){arg_tensor(x)}, 1);
    int most = omp_get_max_threads();
    outputs out;
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        kit_run(k, &call, &out);
        outputs_clear(&out);
        if (threads == 1) {
            memcpy(first, tensor_data(x), (size_t)n * sizeof *first);
        }
        assert_memory_equal(tensor_data(x), first, (size_t)n * sizeof *first);
    }
    omp_set_num_threads(most);
    call.seed++;
    kit_run(k, &call, &out);
    outputs_clear(&out);
    assert_memory_not_equal(tensor_data(x), first, 64);
    free(first);
}

static void expect_impossible(kit *k, const char *name, const arg *args, int n, double (*value)(int64_t)) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    error err = {0};
    kit_run(k, &call, &out);
    tensor *t = &out.items[0];
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        element_store(t->dtype, tensor_data(t) + (size_t)i * dtype_size(t->dtype), value(i));
    }
    assert_int_equal(call.op->row->check(&call, &out, &err), ASSAY_INTERNAL);
    assert_true(err.message[0] != '\0');
    outputs_clear(&out);
}

static double ones(int64_t i) {
    (void)i;
    return 1;
}

static double halves(int64_t i) {
    (void)i;
    return 0.5;
}

static double alternating(int64_t i) {
    return (double)(i % 2);
}

static double in_pairs(int64_t i) {
    return (double)(i / 2 % 2);
}

/* Signs of which as many neighbours agree as do not. */
static double fair_sign(int64_t i) {
    static const double signs[] = {1, 1, 1, -1, -1, -1, -1, 1};
    return signs[i % 8];
}

/* Mean and variance of a uniform value, from two values. */
static double two_points(int64_t i) {
    return 0.5 + fair_sign(i) * sqrt(1.0 / 12);
}

/* As many everywhere, in their order: 10000 of them. */
static double ramp(int64_t i) {
    return ((double)i + 0.5) / 10000;
}

static double too_wide(int64_t i) {
    return (double)(i % 3);
}

static double normal_ramp(int64_t i) {
    double low = -8, high = 8;
    for (int step = 0; step < 50; step++) {
        double middle = (low + high) / 2, *end = 0.5 * erfc(-middle / sqrt(2)) < ramp(i) ? &low : &high;
        *end = middle;
    }
    return low;
}

static double no_number(int64_t i) {
    return i == 77 ? NAN : normal_ramp(i);
}

static double infinite(int64_t i) {
    (void)i;
    return INFINITY;
}

/* One too large for standard values, and infinite ones of which most are above 0. */
static double one_infinite(int64_t i) {
    return i == 77 ? INFINITY : fair_sign(i);
}

static double mostly_above(int64_t i) {
    return i % 4 == 0 ? -INFINITY : INFINITY;
}

static double sign(int64_t i) {
    return i % 2 == 0 ? -1 : 1;
}

static void test_checks_notice(void **state) {
    kit *k = *state;
    int64_t n = 10000;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 1, &n, NULL));
    expect_impossible(k, "bernoulli_.float", (arg[]){x, arg_float(0.9)}, 2, ones);
    expect_impossible(k, "bernoulli_.float", (arg[]){x, arg_float(0)}, 2, ones);
    expect_impossible(k, "bernoulli_.float", (arg[]){x, arg_float(0.5)}, 2, halves);
    expect_impossible(k, "bernoulli_.float", (arg[]){x, arg_float(0.5)}, 2, alternating);
    expect_impossible(k, "bernoulli_.float", (arg[]){x, arg_float(0.5)}, 2, in_pairs);
    expect_impossible(k, "uniform_", (arg[]){x}, 1, halves);
    expect_impossible(k, "uniform_", (arg[]){x}, 1, too_wide);
    expect_impossible(k, "uniform_", (arg[]){x}, 1, two_points);
    expect_impossible(k, "uniform_", (arg[]){x}, 1, ramp);
    expect_impossible(k, "normal_", (arg[]){x}, 1, ones);
    expect_impossible(k, "normal_", (arg[]){x}, 1, sign);
    expect_impossible(k, "normal_", (arg[]){x}, 1, fair_sign);
    expect_impossible(k, "normal_", (arg[]){x}, 1, normal_ramp);
    expect_impossible(k, "normal_", (arg[]){x, arg_float(3), arg_float(0)}, 3, ones);
    expect_impossible(k, "normal_", (arg[]){x}, 1, alternating);
    expect_impossible(k, "native_dropout", (arg[]){x, arg_float(0.5), arg_bool(true)}, 3, ones);
    arg y = arg_tensor(kit_tensor(k, ASSAY_F32, 1, &n, NULL)); /* left infinite */
    expect_impossible(k, "normal_", (arg[]){y}, 1, no_number);
    expect_impossible(k, "normal_", (arg[]){y}, 1, one_infinite);
    expect_impossible(k, "normal_", (arg[]){y, arg_float(0), arg_float(1e38)}, 3, infinite);
    expect_impossible(k, "normal_", (arg[]){y, arg_float(0), arg_float(1e300)}, 3, mostly_above);
    expect_impossible(k, "normal_", (arg[]){y, arg_float(0), arg_float(INFINITY)}, 3, mostly_above);
    expect_impossible(k, "normal_", (arg[]){y, arg_float(-INFINITY), arg_float(0)}, 3, infinite);
}

static void test_bad_arguments(void **state) {
    kit *k = *state;
    int64_t n = 4;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 1, &n, NULL)),
        whole = arg_tensor(kit_tensor(k, ASSAY_I64, 1, &n, NULL));
    kit_refuses(k, "bernoulli_.float", (arg[]){x, arg_float(1.5)}, 2, ASSAY_INVALID);
    kit_refuses(k, "bernoulli_.float", (arg[]){x, arg_float((double)NAN)}, 2, ASSAY_INVALID);
    kit_refuses(k, "bernoulli_.Tensor", (arg[]){x, whole}, 2, ASSAY_INVALID);
    kit_refuses(k, "bernoulli", (arg[]){whole}, 1, ASSAY_INVALID);
    kit_refuses(k, "uniform_", (arg[]){x, arg_float(2), arg_float(1)}, 3, ASSAY_INVALID);
    kit_refuses(k, "uniform_", (arg[]){whole}, 1, ASSAY_INVALID);
    kit_refuses(k, "normal_", (arg[]){x, arg_float(0), arg_float(-1)}, 3, ASSAY_INVALID);
    kit_refuses(k, "native_dropout", (arg[]){whole, arg_float(0.5), arg_bool(true)}, 3, ASSAY_INVALID);
}

static uint64_t seed = SEED;

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answer),
        cmocka_unit_test(test_every_instruction_set_gives_one_stream),
        KIT_TEST(test_draws_are_possible, &seed),
        KIT_TEST(test_small_and_empty, &seed),
        KIT_TEST(test_threads_do_not_change_values, &seed),
        KIT_TEST(test_checks_notice, &seed),
        KIT_TEST(test_bad_arguments, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
