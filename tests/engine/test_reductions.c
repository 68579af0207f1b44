/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, scans, order, softmax: every type, layout and dimension against the references, values against PyTorch's. */
#include "engine/call_kit.h"

#include <math.h>

/* Valid input values, then eager against the reference. */
static void check(kit *k, const char *name, const arg *args, int n) {
    op_call call = kit_call(k, name, args, n);
    error err = {0};
    assert_int_equal(op_fill_inputs(&call, k->seed, &err), ASSAY_OK);
    kit_check(k, name, args, n);
}

/* A shape with odd sizes in several layouts; the last three have gaps, or repeat what they have, some or all of it. */
enum { N_LAYOUTS = 7 };
static const int64_t shape[4] = {3, 5, 18, 21};
static const int64_t layouts[N_LAYOUTS][4] = {{1890, 378, 21, 1}, {1890, 1, 105, 5},    {1, 3, 15, 270},
                                              {1890, 378, 1, 18}, {9000, 1800, 100, 3}, {0, 21, 0, 1},
                                              {0, 0, 0, 0}};
static const dtype real_types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16};
static const dtype all_types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16, ASSAY_I8,  ASSAY_I16,
                                  ASSAY_I32, ASSAY_I64, ASSAY_U8,   ASSAY_B8,  ASSAY_C64, ASSAY_C128};

static void check_dims(kit *k, arg self) {
    static const int64_t dims[][3] = {{0}, {1}, {2}, {3}, {2, 3}, {0, 3}, {1, 3}, {0, 2, 3}, {-1, 0, 1}};
    static const int n_dims[] = {1, 1, 1, 1, 2, 2, 2, 3, 3};
    bool is_number = dtype_category_of(self.tensor->dtype) >= CATEGORY_FLOATING;
    for (size_t i = 0; i < countof(n_dims); i++) {
        arg list = arg_ints(dims[i], n_dims[i]), keep = arg_bool(i % 2 == 0), none = {.kind = ARG_NONE};
        check(k, "sum.dim_IntList", (arg[]){self, list, keep}, 3);
        if (n_dims[i] == 1) {
            check(k, "any.dim", (arg[]){self, arg_int(dims[i][0]), keep}, 3);
            check(k, "all.dim", (arg[]){self, arg_int(dims[i][0]), keep}, 3);
        }
        if (is_number) {
            check(k, "norm.ScalarOpt_dim", (arg[]){self, arg_number(number_of_double(1)), list, keep}, 4);
            check(k, "mean.dim", (arg[]){self, list, keep}, 3);
            check(k, "var_mean.correction", (arg[]){self, list, arg_number(number_of_int(0)), keep}, 4);
            check(k, "std.correction", (arg[]){self, list, none, keep}, 4);
            check(k, "norm.ScalarOpt_dim", (arg[]){self, none, list, keep}, 4);
        }
    }
}

static void test_dims(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(all_types); t++) {
        for (int l = 0; l < N_LAYOUTS; l++) {
            check_dims(k, arg_tensor(kit_tensor(k, all_types[t], 4, shape, layouts[l])));
            kit_reset(k);
        }
    }
}

static void check_whole(kit *k, arg self) {
    dtype t = self.tensor->dtype;
    check(k, "sum", &self, 1);
    check(k, "any", &self, 1);
    check(k, "all", &self, 1);
    if (dtype_category_of(t) >= CATEGORY_FLOATING) {
        check(k, "mean", &self, 1);
        check(k, "norm.Scalar", &self, 1);
        for (int p = 0; p < 4; p++) {
            check(k, "norm.Scalar", (arg[]){self, arg_number(number_of_double(p + 0.5 * (p == 3)))}, 2);
        }
        check(k, "norm.Scalar", (arg[]){self, arg_number(number_of_double(INFINITY))}, 2);
        check(k, "norm.Scalar", (arg[]){self, arg_number(number_of_double(-INFINITY))}, 2);
    }
    if (!dtype_is_complex(t)) {
        check(k, "max", &self, 1);
        check(k, "min", &self, 1);
    }
}

static void test_whole(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(all_types); t++) {
        for (int l = 0; l < N_LAYOUTS; l++) {
            check_whole(k, arg_tensor(kit_tensor(k, all_types[t], 4, shape, layouts[l])));
        }
        /* Enough for threads to share one sum, and one column's. */
        check_whole(k, arg_tensor(kit_tensor(k, all_types[t], 1, (int64_t[]){200003}, NULL)));
        arg tall = arg_tensor(kit_tensor(k, all_types[t], 2, (int64_t[]){40001, 3}, NULL));
        check(k, "sum.dim_IntList", (arg[]){tall, INTS(0)}, 2);
        kit_reset(k);
    }
}

static void test_result_types(void **state) {
    kit *k = *state;
    static const dtype results[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_I32, ASSAY_B8, ASSAY_C64};
    for (size_t t = 0; t < countof(all_types); t++) {
        for (size_t r = 0; r < countof(results); r++) {
            arg self = arg_tensor(kit_tensor(k, all_types[t], 2, (int64_t[]){7, 130}, NULL));
            check(k, "sum", (arg[]){self, arg_dtype(results[r])}, 2);
            check(k, "sum.dim_IntList", (arg[]){self, INTS(0), arg_bool(true), arg_dtype(results[r])}, 4);
        }
        kit_reset(k);
    }
}

/* Lines for each way to the largest: few of some by rounds, few of many by a heap, many of many by a selection; and long
   enough for sums by columns. */
static void test_long_lines(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(all_types); t++) {
        if (dtype_is_complex(all_types[t]) || all_types[t] == ASSAY_B8) {
            continue;
        }
        static const int64_t lengths[] = {2900, 6000}, many[] = {1, 7, 300, 2900};
        for (size_t n = 0; n < countof(lengths); n++) {
            arg self = arg_tensor(kit_tensor(k, all_types[t], 2, (int64_t[]){3, lengths[n]}, NULL));
            for (size_t i = 0; i < countof(many); i++) {
                check(k, "topk", (arg[]){self, arg_int(many[i]), arg_int(1), arg_bool(i % 2 == 0)}, 4);
            }
            check(k, "cumsum", (arg[]){self, arg_int(0)}, 2);
        }
        kit_reset(k);
    }
}

/* Many rows far shorter than a page, which threads take in parts: as many as no number of threads divides, dense and with gaps. */
static void test_sums_of_parts(void **state) {
    kit *k = *state;
    static const dtype types[] = {ASSAY_I64, ASSAY_F64, ASSAY_F32, ASSAY_I32};
    static const int64_t sizes[][2] = {{701, 40}, {2050, 9}, {90, 512}, {300, 130}};
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(sizes); i++) {
            int64_t apart[] = {sizes[i][1] + 3, 1};
            check(k, "cumsum", (arg[]){arg_tensor(kit_tensor(k, types[t], 2, sizes[i], NULL)), arg_int(0)}, 2);
            check(k, "cumsum", (arg[]){arg_tensor(kit_tensor(k, types[t], 2, sizes[i], apart)), arg_int(0)}, 2);
        }
        kit_reset(k);
    }
}

/* Short lines one behind the other, of which blocks do not hold a whole number; some go past the caches. */
static void test_sums_of_short_lines(void **state) {
    kit *k = *state;
    static const int64_t lengths[] = {1, 2, 7, 8, 9, 20, 31, 32, 33, 40, 64, 100, 300, 512, 513};
    for (size_t t = 0; t < countof(all_types); t++) {
        for (size_t i = 0; i < countof(lengths); i++) {
            arg self = arg_tensor(kit_tensor(k, all_types[t], 2, (int64_t[]){301, lengths[i]}, NULL));
            check(k, "cumsum", (arg[]){self, arg_int(1)}, 2);
            if (dtype_category_of(all_types[t]) == CATEGORY_FLOATING) {
                check(k, "cumsum", (arg[]){self, arg_int(1), arg_dtype(ASSAY_F32)}, 3);
            }
        }
        kit_reset(k);
    }
    static const dtype streamed[] = {ASSAY_F32, ASSAY_BF16, ASSAY_I64};
    for (size_t t = 0; t < countof(streamed); t++) {
        int64_t lines = (33 << 20) / 13 / (int64_t)dtype_size(streamed[t]);
        check(k, "cumsum", (arg[]){arg_tensor(kit_tensor(k, streamed[t], 2, (int64_t[]){lines, 13}, NULL)), arg_int(1)}, 2);
        kit_reset(k);
    }
    const int64_t down[] = {(33 << 20) / 96 / 8, 96}; /* into 8 bytes each, from 4 */
    check(k, "cumsum", (arg[]){arg_tensor(kit_tensor(k, ASSAY_I32, 2, down, NULL)), arg_int(0)}, 2);
    check(k, "cumsum", (arg[]){arg_tensor(kit_tensor(k, ASSAY_F32, 2, down, NULL)), arg_int(0), arg_dtype(ASSAY_F64)}, 3);
    kit_reset(k);
}

/* Rows of bytes and of i32 of every length about a register, and longer than sums of 16 bits hold, apart and one behind the other; each number
   as large as its type has. */
static void test_narrow_sums(void **state) {
    kit *k = *state;
    static const dtype narrow[] = {ASSAY_U8, ASSAY_B8, ASSAY_I32, ASSAY_I8};
    static const int64_t lengths[] = {1, 31, 32, 33, 63, 64, 65, 127, 129, 300, 8191, 8193, 16500, 70001};
    for (size_t i = 0; i < countof(narrow) * countof(lengths) * 2; i++) {
        dtype t = narrow[i % countof(narrow)];
        int64_t n = lengths[i / countof(narrow) % countof(lengths)], size = (int64_t)dtype_size(t);
        int64_t apart = i / countof(narrow) / countof(lengths) * 3, sizes[] = {5, n}, strides[] = {n + apart, 1};
        tensor *x = kit_tensor(k, t, 2, sizes, strides);
        int64_t most = t == ASSAY_U8 ? 255 : t == ASSAY_B8 ? 1 : t == ASSAY_I32 ? INT32_MIN : -128;
        for (int64_t r = 0; r < 5; r++) {
            for (int64_t j = 0; j < n; j++) {
                element_store_int(t, tensor_data(x) + (r * strides[0] + j) * size, j == r ? 0 : most);
            }
        }
        outputs rows, all;
        op_call call = kit_call(k, "sum.dim_IntList", (arg[]){arg_tensor(x), arg_ints((int64_t[]){1}, 1), arg_bool(false)}, 3);
        kit_run(k, &call, &rows);
        op_call whole = kit_call(k, "sum", (arg[]){arg_tensor(x)}, 1);
        kit_run(k, &whole, &all);
        int64_t total = 0;
        for (int64_t r = 0; r < 5; r++) {
            int64_t wanted = (n - (r < n)) * most;
            total += wanted;
            assert_int_equal(((const int64_t *)(const void *)tensor_data(&rows.items[0]))[r], wanted);
        }
        assert_int_equal(*(const int64_t *)(const void *)tensor_data(&all.items[0]), total);
        outputs_clear(&rows);
        outputs_clear(&all);
        kit_reset(k);
    }
}

/* Columns of narrow integers, each number as large as its type has, of as many rows as partial sums hold and more, together or apart. */
static void test_narrow_columns(void **state) {
    kit *k = *state;
    static const dtype narrow[] = {ASSAY_U8, ASSAY_B8, ASSAY_I8, ASSAY_I16, ASSAY_I32};
    static const int64_t rows[] = {1, 3, 5, 255, 257, 700, 33001}, columns[] = {2, 33, 64, 1030};
    for (size_t i = 0; i < countof(narrow) * countof(rows) * countof(columns); i++) {
        dtype t = narrow[i % countof(narrow)];
        int64_t m = rows[i / countof(narrow) % countof(rows)], n = columns[i / countof(narrow) / countof(rows)];
        if (m * n > 3 << 20) {
            continue;
        }
        int64_t size = (int64_t)dtype_size(t), sizes[] = {m, n}, strides[] = {n + (int64_t)(i % 3), 1};
        tensor *x = kit_tensor(k, t, 2, sizes, strides);
        const int64_t bits = 8 * size - 1, most = t == ASSAY_U8 ? 255 : t == ASSAY_B8 ? 1 : -(INT64_C(1) << bits);
        for (int64_t r = 0; r < m; r++) {
            for (int64_t j = 0; j < n; j++) {
                element_store_int(t, tensor_data(x) + (r * strides[0] + j) * size, j % m == r ? 0 : most);
            }
        }
        outputs sums;
        op_call call = kit_call(k, "sum.dim_IntList", (arg[]){arg_tensor(x), arg_ints((int64_t[]){0}, 1), arg_bool(false)}, 3);
        kit_run(k, &call, &sums);
        for (int64_t j = 0; j < n; j++) {
            assert_int_equal(((const int64_t *)(const void *)tensor_data(&sums.items[0]))[j], (m - 1) * most);
        }
        outputs_clear(&sums);
        kit_reset(k);
    }
}

/* One byte of a row or column of n that is not 0, or that is: wherever it lies, and none. */
static void check_truth(kit *k, dtype t, int64_t n, int64_t at, bool is_zero, int dim) {
    int64_t others[] = {5, 70}, sizes[2], strides[2];
    sizes[dim] = n;
    sizes[1 - dim] = others[1 - dim];
    strides[1] = 1;
    strides[0] = sizes[1] + at % 3;
    tensor *x = kit_tensor(k, t, 2, sizes, strides);
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++) {
        const int64_t r = i / sizes[1], c = i % sizes[1], along = dim == 0 ? r : c, across = dim == 0 ? c : r;
        const bool is_odd = along == at && across % 2 == 0;
        element_store_int(t, tensor_data(x) + r * strides[0] + c, is_odd != is_zero ? (t == ASSAY_B8 ? 1 : -128) : 0);
    }
    outputs truths;
    op_call call = kit_call(k, is_zero ? "all.dim" : "any.dim", (arg[]){arg_tensor(x), arg_int(dim), arg_bool(false)}, 3);
    kit_run(k, &call, &truths);
    for (int64_t i = 0; i < sizes[1 - dim]; i++) {
        const bool has_odd = at < n && i % 2 == 0;
        assert_int_equal(tensor_data(&truths.items[0])[i], has_odd != is_zero);
    }
    outputs_clear(&truths);
    kit_reset(k);
}

static void test_truths_of_bytes(void **state) {
    kit *k = *state;
    static const dtype bytes[] = {ASSAY_B8, ASSAY_U8, ASSAY_I8};
    static const int64_t lengths[] = {1, 7, 8, 9, 15, 63, 64, 65, 100, 129, 700};
    for (size_t i = 0; i < countof(bytes) * countof(lengths) * 4; i++) {
        const int64_t n = lengths[i / countof(bytes) % countof(lengths)];
        const size_t how = i / countof(bytes) / countof(lengths);
        for (int64_t at = 0; at <= n; at += n < 20 ? 1 : n / 13) {
            check_truth(k, bytes[i % countof(bytes)], n, at, how % 2 == 1, how / 2 == 1);
        }
        check_truth(k, bytes[i % countof(bytes)], n, n - 1, how % 2 == 1, how / 2 == 1);
    }
}

static void test_one_dim(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(all_types); t++) {
        for (int l = 0; l < N_LAYOUTS; l++) {
            arg self = arg_tensor(kit_tensor(k, all_types[t], 4, shape, layouts[l]));
            bool is_complex = dtype_is_complex(all_types[t]);
            for (int d = 0; d < 4; d++) {
                check(k, "any.dim", (arg[]){self, arg_int(d)}, 2);
                check(k, "all.dim", (arg[]){self, arg_int(d), arg_bool(true)}, 3);
                check(k, "cumsum", (arg[]){self, arg_int(d)}, 2);
                if (!is_complex) {
                    check(k, "max.dim", (arg[]){self, arg_int(d)}, 2);
                    check(k, "min.dim", (arg[]){self, arg_int(d - 4), arg_bool(true)}, 3);
                }
                if (!is_complex && all_types[t] != ASSAY_B8) {
                    check(k, "topk", (arg[]){self, arg_int(3), arg_int(d)}, 3);
                    check(k, "topk", (arg[]){self, arg_int(shape[d]), arg_int(d), arg_bool(false)}, 4);
                }
            }
            kit_reset(k);
        }
    }
}

static void test_softmax(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(real_types); t++) {
        for (int l = 0; l < N_LAYOUTS - 1; l++) {
            for (int d = 0; d < 4; d++) {
                arg x = arg_tensor(kit_tensor(k, real_types[t], 4, shape, layouts[l]));
                arg y = arg_tensor(kit_tensor(k, real_types[t], 4, shape, layouts[l % 2]));
                arg type = arg_dtype(real_types[t]);
                check(k, "_softmax", (arg[]){x, arg_int(d), arg_bool(l == 1)}, 3);
                check(k, "_log_softmax", (arg[]){x, arg_int(d - 4), arg_bool(false)}, 3);
                check(k, "_softmax_backward_data", (arg[]){x, y, arg_int(d), type}, 4);
                check(k, "_log_softmax_backward_data", (arg[]){x, y, arg_int(d), type}, 4);
                kit_reset(k);
            }
        }
        /* Longer than what is gone over in cache; and many columns of one line. */
        arg lengthy = arg_tensor(kit_tensor(k, real_types[t], 2, (int64_t[]){2, 70001}, NULL));
        arg tall = arg_tensor(kit_tensor(k, real_types[t], 2, (int64_t[]){40001, 3}, NULL));
        check(k, "_softmax", (arg[]){lengthy, arg_int(1), arg_bool(false)}, 3);
        check(k, "_log_softmax", (arg[]){lengthy, arg_int(1), arg_bool(false)}, 3);
        check(k, "_softmax", (arg[]){tall, arg_int(0), arg_bool(false)}, 3);
        check(k, "_log_softmax", (arg[]){tall, arg_int(0), arg_bool(false)}, 3);
        kit_reset(k);
    }
}

static void check_gradients(kit *k, dtype t, int ndim, const int64_t *sizes, int d) {
    arg g = arg_tensor(kit_tensor(k, t, ndim, sizes, NULL)), y = arg_tensor(kit_tensor(k, t, ndim, sizes, NULL));
    check(k, "_softmax_backward_data", (arg[]){g, y, arg_int(d), arg_dtype(t)}, 4);
    check(k, "_log_softmax_backward_data", (arg[]){g, y, arg_int(d), arg_dtype(t)}, 4);
    kit_reset(k);
}

/* Gradients of short lines, several of which go together, of every length about a register; and of few lines across memory. */
static void test_short_gradients(void **state) {
    kit *k = *state;
    static const int64_t lengths[] = {2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65, 127, 129, 255, 256, 257}, rows[] = {1, 2, 15, 17, 40};
    static const int64_t across[][3] = {{3, 4, 300}, {2, 8, 77}, {1, 31, 65}, {2, 32, 1030}, {2, 33, 130}};
    for (size_t t = 0; t < countof(real_types); t++) {
        for (size_t i = 0; i < countof(lengths) * countof(rows); i++) {
            check_gradients(k, real_types[t], 2, (int64_t[]){rows[i % countof(rows)], lengths[i / countof(rows)]}, 1);
        }
        for (size_t i = 0; i < countof(across); i++) {
            check_gradients(k, real_types[t], 3, across[i], 1);
            arg x = arg_tensor(kit_tensor(k, real_types[t], 3, across[i], NULL));
            check(k, "_log_softmax", (arg[]){x, arg_int(1), arg_bool(false)}, 3);
            kit_reset(k);
        }
    }
}

static void test_empty_and_scalar(void **state) {
    kit *k = *state;
    arg none = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){0, 3}, NULL));
    arg one = arg_tensor(kit_tensor(k, ASSAY_F32, 0, NULL, NULL));
    static const char *const whole[] = {"sum", "mean", "any", "all", "norm.Scalar"};
    for (size_t i = 0; i < countof(whole); i++) {
        check(k, whole[i], &none, 1);
        check(k, whole[i], &one, 1);
    }
    for (int d = 0; d < 2; d++) {
        check(k, "sum.dim_IntList", (arg[]){none, arg_ints((int64_t[]){d}, 1)}, 2);
        check(k, "var_mean.correction", (arg[]){none, arg_ints((int64_t[]){d}, 1)}, 2);
        check(k, "cumsum", (arg[]){none, arg_int(d)}, 2);
        check(k, "_softmax", (arg[]){none, arg_int(d), arg_bool(false)}, 3);
    }
    check(k, "max.dim", (arg[]){none, arg_int(1)}, 2);
    check(k, "max.dim", (arg[]){one, arg_int(-1)}, 2);
    check(k, "topk", (arg[]){one, arg_int(1)}, 2);
    check(k, "topk", (arg[]){arg_tensor(kit_tensor(k, ASSAY_F32, 1, (int64_t[]){4}, NULL)), arg_int(0)}, 2);
    check(k, "cumsum", (arg[]){one, arg_int(0)}, 2);
    check(k, "_log_softmax", (arg[]){one, arg_int(0), arg_bool(false)}, 3);
    kit_reset(k);
}

static void near(kit *k, const char *name, const arg *args, int n, int output, const double *expected, int n_expected) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    kit_run(k, &call, &out);
    const tensor *t = &out.items[output];
    assert_int_equal(tensor_numel(t), n_expected);
    for (int i = 0; i < n_expected; i++) {
        double value = element_load(t->dtype, tensor_data(t) + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype));
        bool same = isnan(expected[i]) ? isnan(value) : value == expected[i] || fabs(value - expected[i]) < 2e-6;
        if (!same) {
            print_error("%s, output %d: element %d is %.9g, expected %.9g\n", name, output, i, value, expected[i]);
            assert_true(false);
        }
    }
    outputs_clear(&out);
}

#define NEAR(k, name, args, n, output, ...) \
    near(k, name, args, n, output, (double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

/* What PyTorch 2.15 answers on the CPU. */
static void test_known_values(void **state) {
    kit *k = *state;
    arg x = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 3}, (double[]){1, -2, 3.5, 0.5, 4, -1}));
    arg g = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, -1, 0.5, 2}));
    const double y[] = {0.0755727664, 0.00376254646, 0.920664728, 0.0291217621, 0.964380324, 0.00649794331};
    const double log_y[] = {-2.58265924, -5.58265924, -0.0826593563, -3.53626966, -0.0362695642, -5.03626966};
    near(k, "_softmax", (arg[]){x, arg_int(1), arg_bool(false)}, 3, 0, y, 6);
    near(k, "_log_softmax", (arg[]){x, arg_int(1), arg_bool(false)}, 3, 0, log_y, 6);
    NEAR(k, "_softmax", ((arg[]){x, arg_int(0), arg_bool(false)}), 3, 0, 0.622459352, 0.00247262325, 0.989013076, 0.377540678,
         0.997527421, 0.0109869428);
    arg output = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 3}, y));
    arg log_output = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 3}, log_y));
    NEAR(k, "_softmax_backward_data", ((arg[]){g, output, arg_int(1), arg_dtype(ASSAY_F32)}), 4, 0, -0.139438704,
         -0.00317969802, 0.142618284, -0.0426943786, 0.0327269174, 0.00996742677);
    NEAR(k, "_log_softmax_backward_data", ((arg[]){g, log_output, arg_int(1), arg_dtype(ASSAY_F32)}), 4, 0, 0.546563387,
         1.97742474, -2.52398825, -1.04368269, -0.946570516, 1.99025309);
    NEAR(k, "std.correction", ((arg[]){x, INTS(1)}), 2, 0, 2.75378537, 2.56580067);
    NEAR(k, "var.correction", ((arg[]){x, INTS(1), arg_number(number_of_int(0))}), 3, 0, 5.05555534, 4.38888884);
    NEAR(k, "norm.ScalarOpt_dim", ((arg[]){x, arg_number(number_of_int(3)), INTS(1)}), 3, 0, 3.72951818, 4.0233016);
    NEAR(k, "norm.Scalar", &x, 1, 0, 5.87367010);
}

static void test_not_a_number(void **state) {
    kit *k = *state;
    arg x = arg_tensor(kit_values(k, ASSAY_F32, 1, (int64_t[]){5}, (double[]){1, NAN, 3, NAN, 3}));
    NEAR(k, "max", &x, 1, 0, NAN);
    NEAR(k, "max.dim", ((arg[]){x, arg_int(0)}), 2, 0, NAN);
    NEAR(k, "max.dim", ((arg[]){x, arg_int(0)}), 2, 1, 1);
    NEAR(k, "topk", ((arg[]){x, arg_int(4)}), 2, 0, NAN, NAN, 3, 3);
    NEAR(k, "topk", ((arg[]){x, arg_int(4), arg_int(-1), arg_bool(false)}), 4, 0, 1, 3, 3, NAN);
    arg masked = arg_tensor(
        kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 3}, (double[]){0, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY}));
    NEAR(k, "_softmax", ((arg[]){masked, arg_int(1), arg_bool(false)}), 3, 0, 0.5, 0, 0.5, NAN, NAN, NAN);
    arg one = arg_tensor(kit_values(k, ASSAY_F32, 1, (int64_t[]){1}, (double[]){7}));
    NEAR(k, "std.correction", &one, 1, 0, NAN);
    arg three = arg_tensor(kit_values(k, ASSAY_F32, 1, (int64_t[]){3}, (double[]){1, 2, 4}));
    NEAR(k, "var.correction", ((arg[]){three, INTS(0), arg_number(number_of_int(5))}), 3, 0, INFINITY);
}

/* A mean far from 0 costs no digits: (x - mean)^2 is summed about the mean. */
static void test_far_mean(void **state) {
    kit *k = *state;
    enum { N = 5000 };
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){N, 2}, NULL));
    for (int i = 0; i < 2 * N; i++) {
        ((float *)(void *)tensor_data(x.tensor))[i] = 10000 + (float)(i / 2 % 2);
    }
    NEAR(k, "var.correction", ((arg[]){x, INTS(0), arg_number(number_of_int(0))}), 3, 0, 0.25, 0.25);
    arg row = arg_tensor(kit_tensor(k, ASSAY_F32, 1, (int64_t[]){2 * N}, NULL));
    memcpy(tensor_data(row.tensor), tensor_data(x.tensor), 2 * N * sizeof(float));
    NEAR(k, "var.correction", ((arg[]){row, INTS(0), arg_number(number_of_int(0))}), 3, 0, 0.25);
}

/* Of equal elements the mean's own rounding is left, in any number of them. */
static void test_equal_elements(void **state) {
    kit *k = *state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16, ASSAY_C64, ASSAY_C128};
    static const int64_t lengths[] = {1, 2, 7, 100, 1134, 40000}, strides[] = {1, 0};
    for (size_t i = 0; i < countof(types) * countof(lengths); i++) {
        int64_t n = lengths[i % countof(lengths)];
        arg x = arg_tensor(kit_tensor(k, types[i / countof(lengths)], 2, (int64_t[]){3, n}, strides));
        arg none = {.kind = ARG_NONE}, zero = arg_number(number_of_int(0)), keep = arg_bool(true);
        check(k, "var_mean.correction", (arg[]){x, INTS(1), zero, keep}, 4);
        check(k, "var_mean.correction", (arg[]){x, INTS(1), none, keep}, 4);
        check(k, "std.correction", (arg[]){x, INTS(1), zero, keep}, 4);
    }
}

/* An infinite element makes the mean infinite, in whichever block it lies. */
static void test_infinite_mean(void **state) {
    kit *k = *state;
    enum { N = 40000 };
    for (int i = 0; i < 24; i++) {
        bool is_row = i % 2 == 0;
        double least = i / 2 % 3 == 2 ? NAN : -INFINITY;
        arg x = arg_tensor(kit_tensor(k, real_types[i / 6], 2, is_row ? (int64_t[]){1, N} : (int64_t[]){N, 3}, NULL));
        for (int64_t j = 0; j < tensor_numel(x.tensor); j++) {
            element_store(x.tensor->dtype, tensor_data(x.tensor) + j * (int64_t)dtype_size(x.tensor->dtype), 1);
        }
        int64_t at = i / 2 % 3 == 0 ? 0 : tensor_numel(x.tensor) / 2 / 3 * 3;
        element_store(x.tensor->dtype, tensor_data(x.tensor) + at * (int64_t)dtype_size(x.tensor->dtype), least);
        kit_check(k, "var_mean.correction", (arg[]){x, INTS(is_row ? 1 : 0)}, 2);
    }
}

/* Halves are folded where they lie: rows and columns past blocks of them, shared among threads or not, from any place on. */
static void test_halves(void **state) {
    kit *k = *state;
    static const int64_t shapes[][3] = {{1, 700, 130},  {4, 40, 1100}, {1, 20000, 5},  {2, 300, 1500}, {1, 3, 5000},
                                        {1, 900, 128}, {1, 40, 2049}, {3, 9, 4100}, {1, 131, 1}};
    static const dtype types[] = {ASSAY_BF16, ASSAY_F16};
    arg none = {.kind = ARG_NONE}, keep = arg_bool(true);
    for (size_t i = 0; i < countof(types) * countof(shapes) * 2; i++) {
        const int64_t *sizes = shapes[i / 2 % countof(shapes)], row = sizes[2] + (int64_t)(i % 2) * 3;
        arg self = arg_tensor(kit_tensor(k, types[i / 2 / countof(shapes)], 3, sizes, (int64_t[]){sizes[1] * row, row, 1}));
        for (int64_t d = 1; d < 3; d++) {
            arg dims = arg_ints(&d, 1);
            check(k, "sum.dim_IntList", (arg[]){self, dims, keep}, 3);
            check(k, "mean.dim", (arg[]){self, dims, keep}, 3);
            check(k, "norm.ScalarOpt_dim", (arg[]){self, none, dims, keep}, 4);
            check(k, "norm.ScalarOpt_dim", (arg[]){self, arg_number(number_of_int(1)), dims, keep}, 4);
            check(k, "var_mean.correction", (arg[]){self, dims, arg_number(number_of_int(0)), keep}, 4);
            check(k, "any.dim", (arg[]){self, arg_int(d)}, 2);
            check(k, "max.dim", (arg[]){self, arg_int(d)}, 2);
            check(k, "min.dim", (arg[]){self, arg_int(d)}, 2);
        }
        check_whole(k, self);
        kit_reset(k);
    }
}

/* Of equals the first counts, and NaN before all else, in whichever thread's rows they lie. */
static void test_places_of_halves(void **state) {
    kit *k = *state;
    enum { ROWS = 700, COLUMNS = 100 };
    static const dtype types[] = {ASSAY_BF16, ASSAY_F16, ASSAY_F32};
    static const double numbers[] = {2, NAN, INFINITY, -INFINITY, -0.0, -2};
    static const int64_t at[][2] = {{0, 699}, {300, 301}, {10, 600}, {699, 699}, {349, 350}};
    for (size_t i = 0; i < countof(types) * countof(numbers) * countof(at); i++) {
        dtype t = types[i % countof(types)];
        const int64_t *row = at[i / countof(types) % countof(at)];
        double special = numbers[i / countof(types) / countof(at)];
        bool in_rows = i % 2 == 1;
        arg x = arg_tensor(kit_tensor(k, t, 2, (int64_t[]){ROWS, COLUMNS}, in_rows ? (int64_t[]){1, ROWS} : (int64_t[]){COLUMNS, 1}));
        for (int64_t e = 0; e < ROWS * COLUMNS; e++) {
            int64_t r = in_rows ? e % ROWS : e / COLUMNS, c = in_rows ? e / ROWS : e % COLUMNS;
            bool is_there = (r == row[0] || r == row[1]) && c % 3 == 1;
            element_store(t, tensor_data(x.tensor) + e * (int64_t)dtype_size(t), is_there ? special : c % 3 == 2 ? NAN : (double)(r % 2));
        }
        kit_check(k, "max.dim", (arg[]){x, arg_int(0)}, 2);
        kit_check(k, "min.dim", (arg[]){x, arg_int(0)}, 2);
        kit_reset(k);
    }
}

/* Columns whose rows fill pages, some of them equal: the first counts. With NaN in one column, and without. */
static void test_places_of_long_rows(void **state) {
    kit *k = *state;
    static const int64_t shapes[][3] = {{2, 39, 1024}, {1, 43, 1030}, {2, 70, 2048}, {1, 5, 4099}, {3, 3, 1024}};
    for (size_t i = 0; i < countof(shapes) * 2; i++) {
        const int64_t *sizes = shapes[i / 2], n = sizes[0] * sizes[1] * sizes[2];
        arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 3, sizes, NULL));
        for (int64_t e = 0; e < n; e++) {
            const bool is_nan = i % 2 == 1 && e == n / 2;
            element_store(ASSAY_F32, tensor_data(x.tensor) + e * 4, is_nan ? (double)NAN : (double)(e * 7919 / 31 % 9) - 4);
        }
        kit_check(k, "max.dim", (arg[]){x, arg_int(1)}, 2);
        kit_check(k, "min.dim", (arg[]){x, arg_int(1)}, 2);
        kit_reset(k);
    }
}

static void test_refused(void **state) {
    kit *k = *state;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){2, 3}, NULL)), off = arg_bool(false);
    arg ints = arg_tensor(kit_tensor(k, ASSAY_I64, 2, (int64_t[]){2, 3}, NULL));
    arg complex_one = arg_tensor(kit_tensor(k, ASSAY_C64, 1, (int64_t[]){3}, NULL));
    arg none = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){0, 3}, NULL));
    kit_refuses(k, "sum.dim_IntList", (arg[]){x, INTS(2)}, 2, ASSAY_INVALID);
    kit_refuses(k, "sum.dim_IntList", (arg[]){x, INTS(0, -2)}, 2, ASSAY_INVALID);
    kit_refuses(k, "mean", &ints, 1, ASSAY_INVALID);
    kit_refuses(k, "std.correction", &ints, 1, ASSAY_INVALID);
    kit_refuses(k, "norm.Scalar", &ints, 1, ASSAY_INVALID);
    kit_refuses(k, "max", &complex_one, 1, ASSAY_INVALID);
    kit_refuses(k, "max", &none, 1, ASSAY_INVALID);
    kit_refuses(k, "max.dim", (arg[]){none, arg_int(0)}, 2, ASSAY_INVALID);
    kit_refuses(k, "topk", (arg[]){x, arg_int(4)}, 2, ASSAY_INVALID);
    kit_refuses(k, "topk", (arg[]){x, arg_int(-1)}, 2, ASSAY_INVALID);
    kit_refuses(k, "cumsum", (arg[]){x, arg_int(-3)}, 2, ASSAY_INVALID);
    kit_refuses(k, "_softmax", (arg[]){ints, arg_int(0), off}, 3, ASSAY_INVALID);
    kit_refuses(k, "_softmax", (arg[]){x, arg_int(2), off}, 3, ASSAY_INVALID);
    kit_refuses(k, "_softmax_backward_data", (arg[]){x, none, arg_int(0), arg_dtype(ASSAY_F32)}, 4, ASSAY_INVALID);
    kit_refuses(k, "_softmax_backward_data", (arg[]){x, x, arg_int(0), arg_dtype(ASSAY_I64)}, 4, ASSAY_INVALID);
}

static uint64_t seed = 20261122;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_dims, &seed),
        KIT_TEST(test_whole, &seed),
        KIT_TEST(test_result_types, &seed),
        KIT_TEST(test_sums_of_short_lines, &seed),
        KIT_TEST(test_sums_of_parts, &seed),
        KIT_TEST(test_narrow_sums, &seed),
        KIT_TEST(test_narrow_columns, &seed),
        KIT_TEST(test_truths_of_bytes, &seed),
        KIT_TEST(test_one_dim, &seed),
        KIT_TEST(test_long_lines, &seed),
        KIT_TEST(test_softmax, &seed),
        KIT_TEST(test_short_gradients, &seed),
        KIT_TEST(test_empty_and_scalar, &seed),
        KIT_TEST(test_known_values, &seed),
        KIT_TEST(test_not_a_number, &seed),
        KIT_TEST(test_far_mean, &seed),
        KIT_TEST(test_equal_elements, &seed),
        KIT_TEST(test_infinite_mean, &seed),
        KIT_TEST(test_halves, &seed),
        KIT_TEST(test_places_of_halves, &seed),
        KIT_TEST(test_places_of_long_rows, &seed),
        KIT_TEST(test_refused, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
