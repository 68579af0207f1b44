/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers element by element, where straight code would lose what infinities, NaN and the ends of the range become. */
#include "engine/call_kit.h"

#include <complex.h>
#include <math.h>

enum { PARTS = 9, NUMBERS = PARTS * PARTS };

static const double parts[PARTS] = {0, -0.0, 1, -2.5, 1e-30, -3e18, INFINITY, -INFINITY, NAN};
/* Gradients are made in the type itself, as PyTorch's are: products of three of these stay in it. */
static const double near_one[PARTS] = {0, -0.0, 1, -2.5, 0.25, -0.75, INFINITY, -INFINITY, NAN};

/* Every pair of numbers of these parts: the first operand, and the second. */
static void make_pairs(kit *k, dtype t, const double *from, tensor **x, tensor **y) {
    static const int64_t size = (int64_t)NUMBERS * NUMBERS;
    *x = kit_tensor(k, t, 1, &size, NULL);
    *y = kit_tensor(k, t, 1, &size, NULL);
    for (int64_t i = 0; i < size; i++) {
        const size_t at = (size_t)i * dtype_size(t);
        const int64_t first = i / NUMBERS, second = i % NUMBERS;
        element_store_complex(t, tensor_data(*x) + at, CMPLX(from[first / PARTS], from[first % PARTS]));
        element_store_complex(t, tensor_data(*y) + at, CMPLX(from[second / PARTS], from[second % PARTS]));
    }
}

static void test_odd_numbers(void **state) {
    static const char *const of_one[] = {"reciprocal", "rsqrt", "abs", "sgn", "logical_not", "isnan", "isinf"};
    static const char *const of_two[] = {"mul.Tensor", "div.Tensor", "eq.Tensor"}, *const gradients[] = {"tanh_backward", "sigmoid_backward", "silu_backward"};
    static const dtype types[] = {ASSAY_C64, ASSAY_C128};
    for (size_t t = 0; t < countof(types); t++) {
        tensor *x, *y;
        make_pairs(*state, types[t], parts, &x, &y);
        for (size_t i = 0; i < countof(of_one); i++) {
            kit_check(*state, of_one[i], (const arg[]){arg_tensor(x)}, 1);
        }
        for (size_t i = 0; i < countof(of_two); i++) {
            kit_check(*state, of_two[i], (const arg[]){arg_tensor(x), arg_tensor(y)}, 2);
        }
        make_pairs(*state, types[t], near_one, &x, &y);
        for (size_t i = 0; i < countof(gradients); i++) {
            kit_check(*state, gradients[i], (const arg[]){arg_tensor(x), arg_tensor(y)}, 2);
        }
    }
}

/* Of the numbers with an ending, those that are one and those whose squares leave float. */
static void test_ends_of_the_range(void **state) {
    static const double large[] = {3e38, -1e38, 2e-38, 1e-40, 1};
    enum { LARGE = countof(large), ALL = LARGE * LARGE };
    tensor *x = kit_tensor(*state, ASSAY_C64, 2, (const int64_t[]){ALL, ALL}, NULL);
    tensor *y = kit_tensor(*state, ASSAY_C64, 2, (const int64_t[]){ALL, ALL}, NULL);
    for (int i = 0; i < ALL * ALL; i++) {
        ((float *)(void *)tensor_data(x))[2 * i] = (float)large[i / ALL / LARGE];
        ((float *)(void *)tensor_data(x))[2 * i + 1] = (float)large[i / ALL % LARGE];
        ((float *)(void *)tensor_data(y))[2 * i] = (float)large[i % ALL / LARGE];
        ((float *)(void *)tensor_data(y))[2 * i + 1] = (float)large[i % LARGE];
    }
    kit_check(*state, "div.Tensor", (const arg[]){arg_tensor(x), arg_tensor(y)}, 2);
    kit_check(*state, "reciprocal", (const arg[]){arg_tensor(x)}, 1);
    kit_check(*state, "abs", (const arg[]){arg_tensor(x)}, 1);
}

/* From and to real types: runs, columns, rows that repeat, more than a block of them. */
static void test_conversions(void **state) {
    static const dtype real[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_BF16, ASSAY_I64, ASSAY_I32, ASSAY_I8, ASSAY_B8};
    static const dtype wide[] = {ASSAY_C64, ASSAY_C128, ASSAY_C32};
    static const int64_t sizes[] = {7, 3000}, layouts[][2] = {{3000, 1}, {1, 7}, {0, 1}, {6001, 2}};
    kit *k = *state;
    for (size_t i = 0; i < countof(real) * countof(wide) * countof(layouts); i++) {
        const dtype r = real[i % countof(real)], c = wide[i / countof(real) % countof(wide)];
        const int64_t *strides = layouts[i / countof(real) / countof(wide)];
        tensor *narrow = kit_tensor(k, r, 2, sizes, strides), *numbers = kit_tensor(k, c, 2, sizes, strides);
        kit_check(k, "_to_copy", (const arg[]){arg_tensor(narrow), arg_dtype(c)}, 2);
        kit_check(k, "_to_copy", (const arg[]){arg_tensor(numbers), arg_dtype(r)}, 2);
        kit_reset(k);
    }
}

/* A number of no dimensions is as narrow as what it meets: 0 in c64. */
static void test_numbers_beyond_the_type(void **state) {
    static const double far[] = {1e-300, -1e300};
    tensor *x = kit_tensor(*state, ASSAY_C64, 1, (const int64_t[]){3}, NULL), *y = kit_tensor(*state, ASSAY_C128, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        element_store_complex(ASSAY_C64, tensor_data(x) + (size_t)i * dtype_size(ASSAY_C64), CMPLX(i + 1, 2 - i));
    }
    for (size_t i = 0; i < countof(far); i++) {
        element_store_complex(ASSAY_C128, tensor_data(y), CMPLX(far[i], far[i]));
        kit_check(*state, "div.Tensor", (const arg[]){arg_tensor(x), arg_tensor(y)}, 2);
        kit_check(*state, "add.Tensor", (const arg[]){arg_tensor(x), arg_tensor(y)}, 2);
    }
}

int main(void) {
    static uint64_t seed = 31;
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_odd_numbers, &seed),
        KIT_TEST(test_ends_of_the_range, &seed),
        KIT_TEST(test_numbers_beyond_the_type, &seed),
        KIT_TEST(test_conversions, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
