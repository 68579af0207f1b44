/* SPDX-License-Identifier: Apache-2.0 */
/* What calls must compute and move at least (op_cost), counted by hand. */
#include "engine/literal/bind.h"
#include "engine/literal/literal_parse.h"

#include "unit.h"

#include <string.h>

typedef struct expectation {
    const char *op, *input; /* as recorded */
    double flops, bytes;
} expectation;

static op_table *operators;

/* Shapes alone: nothing has memory. */
static op_cost cost_of(const char *name, const char *input) {
    arena a = {0};
    error err = {0};
    const literal *whole;
    const op *o = op_table_find(operators, name);
    bound_call b;
    outputs out;
    op_cost cost = {0};
    assert_non_null(o);
    status result = literal_parse(&a, input, strlen(input), 1, 1, &whole, &err);
    result = result == ASSAY_OK ? bind_call(&a, o, &whole->list.items[0], &whole->list.items[1], &(bind_options){0}, &b, &err) : result;
    if (result == ASSAY_OK) {
        result = op_infer(&b.call, &out, &err);
        if (result == ASSAY_OK) {
            op_cost_of(&b.call, &out, &cost);
            outputs_clear(&out);
        }
        bound_clear(&b);
    }
    if (result != ASSAY_OK) {
        print_error("%s %s: %s\n", name, input, err.message);
    }
    assert_int_equal(result, ASSAY_OK);
    arena_clear(&a);
    return cost;
}

static void expect_costs(const expectation *rows, size_t n) {
    int n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        op_cost cost = cost_of(rows[i].op, rows[i].input);
        if (cost.flops != rows[i].flops || cost.bytes != rows[i].bytes) {
            print_error("%s %s: %.0f flops and %.0f bytes, expected %.0f and %.0f\n", rows[i].op, rows[i].input, cost.flops, cost.bytes,
                        rows[i].flops, rows[i].bytes);
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
}

/* One addition, and one multiplication by each of alpha and beta that is not 1; with beta 0 self is not there. */
static void products(void **state) {
    (void)state;
    enum { FACTORS = 2 * 64 * 8 * 4, SQUARE = 64 * 64 * 4, PRODUCT = 2 * 64 * 64 * 8, N = 64 * 64 };
#define FACTORS_TEXT "T([64, 8], f32), T([8, 64], f32)"
    static const expectation rows[] = {
        {"mm", "((" FACTORS_TEXT "), {})", PRODUCT, FACTORS + SQUARE},
        {"addmm", "((T([64, 64], f32), " FACTORS_TEXT "), {})", PRODUCT + N, FACTORS + 2 * SQUARE},
        {"addmm", "((T([64], f32), " FACTORS_TEXT "), {'alpha': 2})", PRODUCT + 2 * N, FACTORS + SQUARE + 64 * 4},
        {"addmm", "((T([64, 64], f32), " FACTORS_TEXT "), {'alpha': 2, 'beta': 3})", PRODUCT + 3 * N, FACTORS + 2 * SQUARE},
        {"addmm", "((T([64, 64], f32), " FACTORS_TEXT "), {'beta': 0})", PRODUCT, FACTORS + SQUARE},
        {"addmm_", "((T([64, 64], f32), " FACTORS_TEXT "), {'beta': 0})", PRODUCT, FACTORS + SQUARE},
        {"baddbmm", "((T([16, 64, 64], f32), T([16, 64, 8], f32), T([16, 8, 64], f32)), {'beta': 0, 'alpha': 0.5})",
         16 * (PRODUCT + N), 16 * (FACTORS + SQUARE)},
        {"addmv", "((T([64], f32), T([64, 8], f32), T([8], f32)), {})", 2 * 64 * 8 + 64, (64 + 64 * 8 + 8 + 64) * 4},
        {"addmm", "((T([4, 4], c64), T([4, 2], c64), T([2, 4], c64)), {'alpha': 2})", 8 * 4 * 4 * 2 + 4 * 16, (16 + 8 + 8 + 16) * 8},
    };
    expect_costs(rows, countof(rows));
}

/* As many additions as elements lie under windows. */
static void pools(void **state) {
    (void)state;
    static const expectation rows[] = {
        {"_adaptive_avg_pool2d", "((T([16, 64, 28, 28], f32), [7, 7]), {})", 802816, (802816 + 16 * 64 * 49) * 4},
        {"_adaptive_avg_pool2d", "((T([8, 64, 7, 7], f32), [1, 1]), {})", 25088, (25088 + 512) * 4},
        {"_adaptive_avg_pool2d", "((T([8, 64, 8, 8], f32), [8, 8]), {})", 32768, 2 * 32768 * 4},
        {"_adaptive_avg_pool2d", "((T([1, 1, 7, 5], f32), [3, 10]), {})", 9 * 10, (35 + 30) * 4}, /* rows [0, 3) [2, 5) [4, 7) */
        {"_adaptive_avg_pool2d_backward", "((T([1, 1, 3, 10], f32), T([1, 1, 7, 5], f32)), {})", 9 * 10, (35 + 30) * 4},
        {"avg_pool2d", "((T([8, 64, 7, 7], f32), [7, 7]), {})", 25088, (25088 + 512) * 4},
        {"avg_pool2d", "((T([1, 2, 4, 4], f32), [3, 3], [1, 1], [1, 1]), {})", 2 * 10 * 10, 2 * 2 * 16 * 4}, /* 2 + 3 + 3 + 2 */
        {"avg_pool2d", "((T([1, 1, 5, 5], f32), [2, 2], [2, 2], [0, 0], True), {})", 25, (25 + 9) * 4},
        {"avg_pool2d_backward", "((T([1, 2, 4, 4], f32), T([1, 2, 4, 4], f32), [3, 3], [1, 1], [1, 1], False, True, None), {})",
         2 * 10 * 10, 2 * 2 * 16 * 4},
    };
    expect_costs(rows, countof(rows));
}

/* Complex numbers count as the real ones that they are made of; a factor of 1 is none, comparisons are free. */
static void elements(void **state) {
    (void)state;
    static const expectation rows[] = {
        {"add.Tensor", "((T([4], c64), T([4], c64)), {})", 4 * 2, 3 * 32},
        {"add.Tensor", "((T([4], f32), T([4], f32)), {'alpha': 2})", 4 * 2, 3 * 16},
        {"sub.Tensor", "((T([4], c64), T([4], c64)), {'alpha': 2})", 4 * 4, 3 * 32},
        {"mul.Tensor", "((T([4], c64), T([4], c64)), {})", 4 * 6, 3 * 32},
        {"div.Tensor", "((T([4], c64), T([4], c64)), {})", 4 * 11, 3 * 32},
        {"addcmul", "((T([4], f32), T([4], f32), T([4], f32)), {})", 4 * 2, 4 * 16},
        {"addcmul", "((T([4], f32), T([4], f32), T([4], f32)), {'value': 3})", 4 * 3, 4 * 16},
        {"abs", "((T([4], c64),), {})", 4 * 4, 32 + 16},
        {"pow.Tensor_Scalar", "((T([4], f32), 2), {})", 4, 32},
        {"pow.Tensor_Scalar", "((T([4], f32), 2.5), {})", 4 * 20, 32},
        {"sum", "((T([4], f32),), {})", 4, 20},
        {"sum", "((T([4], c64),), {})", 8, 40},
        {"cumsum", "((T([4], c64), 0), {})", 8, 64},
        {"max", "((T([4], f32),), {})", 0, 20},
        {"maximum", "((T([4], f32), T([4], f32)), {})", 0, 48},
        {"norm.Scalar", "((T([4], f32),), {})", 8, 20},
        {"mse_loss", "((T([4], f32), T([4], f32), 0), {})", 8, 48},
        {"mse_loss", "((T([4], f32), T([4], f32)), {})", 12, 36},
    };
    expect_costs(rows, countof(rows));
}

/* The mask leaves out outputs, and what they alone would read. */
static void masks(void **state) {
    (void)state;
    enum { GRAD = 8 * 36 * 4, INPUT = 8 * 64 * 4, WEIGHT = 8 * 8 * 9 * 4, SUM = 2 * 8 * 36 * 8 * 9 };
#define CONVOLUTION "((T([1, 8, 6, 6], f32), T([1, 8, 8, 8], f32), T([8, 8, 3, 3], f32), [8], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, "
#define LAYER_NORM "((T([4, 8], f32), T([4, 8], f32), [8], T([4, 1], f32), T([4, 1], f32), T([8], f32), T([8], f32), "
    static const expectation rows[] = {
        {"convolution_backward", CONVOLUTION "[True, True, True]), {})", 2 * SUM + 8 * 36, GRAD + 2 * INPUT + 2 * WEIGHT + 32},
        {"convolution_backward", CONVOLUTION "[True, False, False]), {})", SUM, GRAD + INPUT + WEIGHT},
        {"convolution_backward", CONVOLUTION "[False, True, False]), {})", SUM, GRAD + INPUT + WEIGHT},
        {"convolution_backward", CONVOLUTION "[False, False, True]), {})", 8 * 36, GRAD + 32},
        {"native_layer_norm_backward", LAYER_NORM "[True, True, True]), {})", 12 * 32, (3 * 32 + 2 * 4 + 3 * 8) * 4},
        {"native_layer_norm_backward", LAYER_NORM "[True, False, False]), {})", 9 * 32, (3 * 32 + 2 * 4 + 8) * 4},
        {"native_layer_norm_backward", LAYER_NORM "[False, False, True]), {})", 32, (32 + 8) * 4},
    };
    expect_costs(rows, countof(rows));
}

/* No more is read than indices name, no more written in place, and a tensor given twice is read once. */
static void reads(void **state) {
    (void)state;
    static const expectation rows[] = {
        {"gather", "((T([100, 8], f32), 0, T([10, 8], i64)), {})", 0, 80 * (4 + 8 + 4)},
        {"index_select", "((T([2, 8], f32), 0, T([10], i64)), {})", 0, 16 * 4 + 80 + 80 * 4},
        {"embedding", "((T([100, 16], f32), T([4, 2], i64)), {})", 0, 8 * 8 + 2 * 8 * 16 * 4},
        {"scatter_.src", "((T([100, 8], f32), 0, T([10, 8], i64), T([20, 8], f32)), {})", 0, 80 * (8 + 4 + 4)},
        {"scatter_add_", "((T([100, 8], f32), 0, T([10, 8], i64), T([20, 8], f32)), {})", 80, 80 * (8 + 4 + 4 + 4)},
        {"tril", "((T([3, 4, 4], f32),), {})", 0, 3 * (10 + 16) * 4},
        {"triu", "((T([2, 3], f32), -1), {})", 0, (6 + 6) * 4},
        {"tril_", "((T([3, 4, 4], f32), -1), {})", 0, 3 * 10 * 4},
        {"upsample_nearest2d.vec", "((T([1, 1, 8, 8], f32), [2, 2], None), {})", 0, 2 * 4 * 4},
        {"view", "((T([4, 4], f32), [16]), {})", 0, 0},
        {"relu_", "((T([4, 4], f32),), {})", 0, 2 * 16 * 4},
        {"add.Tensor", "((T([4, 4], f32), T([4], f32)), {})", 16, (16 + 4 + 16) * 4},
        {"copy_", "((T([4, 4], f32), T([4], f32)), {})", 0, (4 + 16) * 4},
    };
    expect_costs(rows, countof(rows));
}

static void a_tensor_given_twice_is_read_once(void **state) {
    (void)state;
    tensor x;
    outputs out;
    op_cost cost;
    error err = {0};
    assert_int_equal(tensor_init(&x, ASSAY_F32, 1, (int64_t[]){16}, &err), ASSAY_OK);
    arg args[] = {{.kind = ARG_TENSOR, .tensor = &x}, {.kind = ARG_TENSOR, .tensor = &x}};
    const op_call call = {.op = op_table_find(operators, "mul.Tensor"), .args = args};
    assert_int_equal(op_infer(&call, &out, &err), ASSAY_OK);
    op_cost_of(&call, &out, &cost);
    assert_true(cost.bytes == 2 * 16 * 4);
    outputs_clear(&out);
}

static int make_table(void **state) {
    (void)state;
    return op_table_new(&operators, NULL) != ASSAY_OK;
}

static int free_table(void **state) {
    (void)state;
    op_table_free(operators);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products), cmocka_unit_test(pools), cmocka_unit_test(masks),
        cmocka_unit_test(reads),    cmocka_unit_test(elements), cmocka_unit_test(a_tensor_given_twice_is_read_once),
    };
    return cmocka_run_group_tests(tests, make_table, free_table);
}
