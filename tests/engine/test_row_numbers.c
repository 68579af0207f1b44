/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that each have one number for their second operand: rows long enough for loops of their own, tiles of several rows, the
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
        cmocka_unit_test(large_results_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
