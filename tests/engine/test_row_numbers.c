/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that each have one number for one of their operands, or for all of them: rows long enough for loops of their own, tiles of several rows, the
   last of them smaller, results past the caches; NaN and infinity among the numbers. */
#include "engine/call_kit.h"

#include <math.h>

static const char *const names[] = {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor",  "add_.Tensor",
                                    "mul_.Tensor", "div_.Tensor", "maximum", "pow.Tensor_Tensor"};

static void numbers_agree(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16, ASSAY_I64};
    static const int64_t shapes[][2] = {{67, 512}, {3, 1025}, {40, 2049}, {5, 9000}, {70, 300}, {1, 4096}};
    kit k;
    kit_open(&k, 91);
    for (size_t i = 0; i < countof(names) * countof(shapes) * countof(types); i++) {
        const char *name = names[i % countof(names)];
        const int64_t *shape = shapes[i / countof(names) % countof(shapes)];
        dtype t = types[i / countof(names) / countof(shapes)];
        if (t == ASSAY_I64 && name[0] != 'a' && name[0] != 's') {
            continue;
        }
        arg rows = arg_tensor(kit_tensor(&k, t, 2, shape, NULL)), turned = arg_tensor(kit_tensor(&k, t, 2, shape, (const int64_t[]){1, shape[0]}));
        tensor *column = kit_tensor(&k, t, 2, (const int64_t[]){shape[0], 1}, (const int64_t[]){3, 1});
        kit_check(&k, name, (const arg[]){rows, arg_tensor(column)}, 2);
        kit_check(&k, name, (const arg[]){turned, arg_tensor(column)}, 2);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* One number of a row is not to touch another. */
static void odd_numbers_keep_to_their_rows(void **state) {
    (void)state;
    enum { ROWS = 8, COLUMNS = 700 };
    static const double numbers[ROWS] = {NAN, 2, INFINITY, -0.0, -INFINITY, 0.5, 0, 3};
    kit k;
    kit_open(&k, 92);
    tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){ROWS, COLUMNS}, NULL);
    tensor *column = kit_values(&k, ASSAY_F32, 2, (const int64_t[]){ROWS, 1}, numbers);
    fill_constant(x, 4);
    outputs out;
    op_call call = kit_call(&k, "div.Tensor", (const arg[]){arg_tensor(x), arg_tensor(column)}, 2);
    kit_run(&k, &call, &out);
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        float expected = 4 / (float)numbers[i / COLUMNS], got = ((const float *)(const void *)tensor_data(&out.items[0]))[i];
        assert_true(isnan(expected) ? isnan(got) : got == expected);
    }
    outputs_clear(&out);
    kit_close(&k);
}

/* The number on either side, comparisons, numbers of another type than the rows', and scalars. */
static void either_side_agrees(void **state) {
    (void)state;
    static const char *const both[] = {"add.Tensor", "sub.Tensor", "mul.Tensor", "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor",
                                       "gt.Tensor", "ge.Tensor"};
    static const char *const scalars[] = {"sub.Scalar", "eq.Scalar", "gt.Scalar", "le.Scalar"};
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_I64, ASSAY_I32, ASSAY_I8, ASSAY_U8, ASSAY_B8};
    static const dtype others[] = {ASSAY_F32, ASSAY_I32, ASSAY_U8};
    static const int64_t shapes[][2] = {{67, 512}, {5, 130}, {9, 40}, {3, 5000}};
    kit k;
    kit_open(&k, 94);
    for (size_t i = 0; i < countof(both) * countof(types) * countof(shapes); i++) {
        const char *name = both[i % countof(both)];
        const int64_t *shape = shapes[i / countof(both) % countof(shapes)];
        dtype t = types[i / countof(both) / countof(shapes)];
        if (t == ASSAY_B8 && name[0] == 's') {
            continue;
        }
        arg rows = arg_tensor(kit_tensor(&k, t, 2, shape, NULL));
        arg column = arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){shape[0], 1}, (const int64_t[]){3, 1}));
        arg other = arg_tensor(kit_tensor(&k, others[i % countof(others)], 2, (const int64_t[]){shape[0], 1}, NULL));
        kit_check(&k, name, (const arg[]){rows, column}, 2);
        kit_check(&k, name, (const arg[]){column, rows}, 2);
        kit_check(&k, name, (const arg[]){rows, other}, 2);
        kit_check(&k, name, (const arg[]){other, rows}, 2);
        if (t != ASSAY_B8) {
            kit_check(&k, scalars[i % countof(scalars)], (const arg[]){rows, arg_number(number_of_int(1))}, 2);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Rows of one number each, and elements that do not lie side by side. */
static void repeated_and_strided_rows_agree(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_I64, ASSAY_I16, ASSAY_U8, ASSAY_C64};
    static const int64_t sizes[] = {3, 5, 14, 14}, strides[][4] = {{5, 1, 0, 0}, {0, 1, 0, 0}, {980, 196, 0, 0}};
    static const int64_t flat[] = {16, 513}, apart[][2] = {{2052, 4}, {1539, 3}, {2, 32}};
    kit k;
    kit_open(&k, 95);
    for (size_t i = 0; i < countof(types); i++) {
        arg dense = arg_tensor(kit_tensor(&k, types[i], 4, sizes, NULL));
        arg twice = arg_number(number_of_int(2));
        for (size_t s = 0; s < countof(strides); s++) {
            arg repeated = arg_tensor(kit_tensor(&k, types[i], 4, sizes, strides[s]));
            kit_check(&k, "mul.Scalar", (const arg[]){repeated, twice}, 2);
            kit_check(&k, "add.Tensor", (const arg[]){repeated, repeated}, 2);
            kit_check(&k, "eq.Tensor", (const arg[]){repeated, repeated}, 2);
            kit_check(&k, "sub.Tensor", (const arg[]){dense, repeated}, 2);
            kit_check(&k, "neg", (const arg[]){repeated}, 1);
        }
        for (size_t s = 0; s < countof(apart); s++) {
            arg x = arg_tensor(kit_tensor(&k, types[i], 2, flat, apart[s])), y = arg_tensor(kit_tensor(&k, types[i], 2, flat, apart[0]));
            kit_check(&k, "sub.Tensor", (const arg[]){x, y}, 2);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Over 32 MiB: results go past the caches. */
static void large_results_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 93);
    for (int64_t width = 1024; width <= 1030; width += 6) {
        arg rows = arg_tensor(kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){8300, width}, NULL));
        arg column = arg_tensor(kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){8300, 1}, NULL));
        kit_check(&k, "sub.Tensor", (const arg[]){rows, column}, 2);
        kit_reset(&k);
    }
    kit_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_agree),
        cmocka_unit_test(odd_numbers_keep_to_their_rows),
        cmocka_unit_test(either_side_agrees),
        cmocka_unit_test(repeated_and_strided_rows_agree),
        cmocka_unit_test(large_results_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
