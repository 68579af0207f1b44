/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: kernels against references in every type and layout, known answers, bad input. */
#include "engine/image_kit.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static void max_pools_agree(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(pools) * countof(floats) * 2; i++) {
        const pool_case *p = &pools[i / 2 / countof(floats)];
        const int *order = i % 2 ? channels_last : NULL;
        arg x = check_tensor(&k, floats[i / 2 % countof(floats)], 4, p->sizes, order);
        arg args[6] = {x, check_ints(1, &p->kernel), check_ints(1, &p->stride), check_ints(1, &p->pad),
                       check_ints(1, &p->dilation), a_bool(p->ceil_mode)};
        check_agrees(&k, "max_pool2d_with_indices", args, false);
        arg grad = gradient_of(&k, "max_pool2d_with_indices", args, order);
        arg indices = check_tensor(&k, ASSAY_I64, 4, grad.tensor->sizes, order);
        check_agrees(&k, "max_pool2d_with_indices_backward",
                     (const arg[]){grad, x, args[1], args[2], args[3], args[4], args[5], indices}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void average_pools_agree(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(pools) * countof(floats) * 8; i++) {
        const pool_case *p = &pools[i / 8 / countof(floats)];
        arg x = check_tensor(&k, floats[i / 8 % countof(floats)], 4, p->sizes, i % 2 ? channels_last : NULL);
        arg divisor = i & 4 ? (arg){.kind = ARG_INT, .i = 7} : (arg){.kind = ARG_NONE};
        arg args[7] = {x, check_ints(1, &p->kernel), check_ints(1, &p->stride), check_ints(1, &p->pad),
                       a_bool(p->ceil_mode), a_bool(i & 2), divisor};
        check_agrees(&k, "avg_pool2d", args, false);
        arg grad = gradient_of(&k, "avg_pool2d", args, NULL);
        check_agrees(&k, "avg_pool2d_backward",
                     (const arg[]){grad, x, args[1], args[2], args[3], args[4], args[5], args[6]}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void adaptive_pools_agree(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {3, 4}, {7, 20}, {13, 11}, {26, 22}, {1, 11}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(sizes) * countof(floats) * 2; i++) {
        arg x = check_tensor(&k, floats[i / 2 % countof(floats)], 4, pools[0].sizes, i % 2 ? channels_last : NULL);
        arg args[2] = {x, check_ints(2, sizes[i / 2 / countof(floats)])};
        check_agrees(&k, "_adaptive_avg_pool2d", args, false);
        arg grad = gradient_of(&k, "_adaptive_avg_pool2d", args, NULL);
        check_agrees(&k, "_adaptive_avg_pool2d_backward", (const arg[]){grad, x}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* PyTorch's answers: the last NaN of a window wins, the first of equals, and minus infinity has an index as well. */
static void maxima_of_odd_values(void **state) {
    (void)state;
    static const float values[][4] = {{1, NAN, NAN, 5}, {NAN, NAN, NAN, NAN}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                      {2, 3, 3, 1}};
    static const int64_t index[] = {2, 3, 0, 1};
    const int64_t two = 2, one = 1, zero = 0;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(values); i++) {
        arg args[6] = {check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){1, 1, 2, 2}, NULL), check_ints(1, &two),
                       check_ints(0, NULL), check_ints(1, &zero), check_ints(1, &one), a_bool(false)};
        memcpy(tensor_data(args[0].tensor), values[i], sizeof values[i]);
        op_call call = check_call(&k, "max_pool2d_with_indices", args);
        outputs out;
        arena memory = {0};
        assert_int_equal(run_kernel(&k, &call, &out, &memory), ASSAY_OK);
        assert_int_equal(*(int64_t *)tensor_data(&out.items[1]), index[i]);
        outputs_clear(&out);
        arena_clear(&memory);
    }
    check_close(&k);
}

/* Windows full of equals, infinities and NaN: the index that a loop over each window would find. */
static void maxima_of_few_values(void **state) {
    (void)state;
    static const float values[] = {0, 1, 1, -INFINITY, NAN, 1, 0, -INFINITY};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(pools) * 4; i++) {
        const pool_case *p = &pools[i / 4];
        arg x = check_tensor(&k, ASSAY_F32, 4, p->sizes, i % 2 ? channels_last : NULL);
        arg args[6] = {x, check_ints(1, &p->kernel), check_ints(1, &p->stride), check_ints(1, &p->pad),
                       check_ints(1, &p->dilation), a_bool(p->ceil_mode)};
        uint32_t random = 12345 + (uint32_t)i, with_nan = i & 2;
        for (int64_t j = 0; j < tensor_numel(x.tensor); j++) {
            random = random * 1664525 + 1013904223;
            float value = values[random >> 29];
            ((float *)tensor_data(x.tensor))[j] = isnan(value) && !with_nan ? 1 : value;
        }
        check_agrees(&k, "max_pool2d_with_indices", args, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* An index outside the plane is reported and touches nothing. */
static void bad_index_is_reported(void **state) {
    (void)state;
    static const int64_t bad[] = {-1, 16, INT64_MAX, INT64_MIN};
    const int64_t two = 2, one = 1, zero = 0;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(bad); i++) {
        arg x = check_tensor(&k, ASSAY_F32, 3, (const int64_t[]){1, 4, 4}, NULL);
        arg grad = check_tensor(&k, ASSAY_F32, 3, (const int64_t[]){1, 2, 2}, NULL);
        arg indices = check_tensor(&k, ASSAY_I64, 3, (const int64_t[]){1, 2, 2}, NULL);
        arg args[8] = {grad, x, check_ints(1, &two), check_ints(1, &two), check_ints(1, &zero), check_ints(1, &one),
                       a_bool(false), indices};
        op_call call = check_call(&k, "max_pool2d_with_indices_backward", args);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        ((int64_t *)tensor_data(indices.tensor))[3] = bad[i];
        outputs out;
        arena memory = {0};
        assert_int_equal(run_kernel(&k, &call, &out, &memory), ASSAY_INVALID);
        outputs_clear(&out);
        arena_clear(&memory);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void bad_pools(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    static const int64_t kernels[] = {3, 0, 9, 3, 3}, strides[] = {2, 2, 2, 0, 2}, pads[] = {2, 0, 0, 0, -1};
    const int64_t one = 1;
    for (size_t i = 0; i < countof(kernels); i++) {
        arg args[6] = {check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){1, 1, 5, 5}, NULL), check_ints(1, &kernels[i]),
                       check_ints(1, &strides[i]), check_ints(1, &pads[i]), check_ints(1, &one), a_bool(false)};
        check_refused(&k, "max_pool2d_with_indices", args);
    }
    check_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pools_agree),
        cmocka_unit_test(average_pools_agree),
        cmocka_unit_test(adaptive_pools_agree),
        cmocka_unit_test(maxima_of_odd_values),
        cmocka_unit_test(maxima_of_few_values),
        cmocka_unit_test(bad_index_is_reported),
        cmocka_unit_test(bad_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
