/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, views, pads, folds: every type and layout against the references. */
#include "engine/call_kit.h"

#include <math.h>

/* The same 4-dimensional shape, laid out in several ways; the last two have gaps, or repeat what they have. */
enum { N_LAYOUTS = 6 };
static const int64_t shape[4] = {2, 3, 18, 21};
static const int64_t layouts[N_LAYOUTS][4] = {{1134, 378, 21, 1}, {1134, 1, 63, 3},   {1, 2, 6, 108},
                                              {1134, 378, 1, 18}, {3000, 900, 50, 2}, {0, 21, 0, 1}};

static tensor *laid_out(kit *k, dtype t, int layout) {
    return kit_tensor(k, t, 4, shape, layouts[layout]);
}

static void check_movers(kit *k, tensor *x) {
    arg self = arg_tensor(x);
    kit_check(k, "clone", &self, 1);
    kit_check(k, "lift_fresh_copy", &self, 1);
    kit_check(k, "flip", (arg[]){self, INTS(1, 3)}, 2);
    kit_check(k, "flip", (arg[]){self, INTS(-2)}, 2);
    kit_check(k, "roll", (arg[]){self, INTS(5, -1), INTS(3, 1)}, 3);
    kit_check(k, "roll", (arg[]){self, INTS(-1000)}, 2);
    kit_check(k, "tril", (arg[]){self, arg_int(-2)}, 2);
    kit_check(k, "triu", (arg[]){self, arg_int(3)}, 2);
    kit_check(k, "triu", (arg[]){self, arg_int(INT64_MIN)}, 2);
    kit_check(k, "tril", (arg[]){self, arg_int(INT64_MAX)}, 2);
    kit_check(k, "repeat", (arg[]){self, INTS(2, 1, 2, 1, 3)}, 2);
    kit_check(k, "repeat", (arg[]){self, INTS(1, 0, 1, 1)}, 2);
    kit_check(k, "constant_pad_nd", (arg[]){self, INTS(1, 2, 0, 3, 1, 0), arg_number(number_of_int(1))}, 3);
    kit_check(k, "constant_pad_nd", (arg[]){self, INTS(-1, 2, 3, -4)}, 2);
    kit_check(k, "constant_pad_nd", (arg[]){self, INTS(-1, -2, -3, 0)}, 2);
    kit_check(k, "constant_pad_nd", (arg[]){self, INTS(0, 0, -18, 2)}, 2);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 3, 40, 21), arg_int(2), arg_int(1), arg_int(36), arg_int(2)},
              6);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 3, 18, 43), arg_int(3), arg_int(1), arg_int(43), arg_int(2)}, 6);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 3, 18, 64), arg_int(3), arg_int(1), arg_int(64), arg_int(3)}, 6);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 8, 18, 21), arg_int(1), arg_int(2), arg_int(8), arg_int(2)}, 6);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 9, 18, 21), arg_int(1), arg_int(1), arg_int(8), arg_int(3)}, 6);
    kit_check(k, "slice_backward",
              (arg[]){self, INTS(2, 3, 18, 30), arg_int(-1), arg_int(-21), arg_int(INT64_MAX), arg_int(1)}, 6);
    kit_check(k, "slice_backward", (arg[]){self, INTS(2, 3, 18, 21), arg_int(0), arg_int(0), arg_int(2), arg_int(1)},
              6);
    /* a gradient that is broadcast: one row of whole ones for each of the slice */
    arg once = arg_tensor(kit_tensor(k, x->dtype, 4, (const int64_t[]){2, 1, 18, 21}, NULL));
    kit_check(k, "slice_backward", (arg[]){once, INTS(2, 9, 18, 21), arg_int(1), arg_int(1), arg_int(8), arg_int(3)}, 6);
    kit_check(k, "slice_backward", (arg[]){once, INTS(2, 3, 18, 21), arg_int(1), arg_int(0), arg_int(3), arg_int(1)}, 6);
    kit_check(k, "select_backward", (arg[]){self, INTS(2, 3, 4, 18, 21), arg_int(2), arg_int(-1)}, 4);
    tensor *three[] = {x, laid_out(k, x->dtype, 0), x};
    kit_check(k, "cat", (arg[]){arg_tensors(three, 3), arg_int(1)}, 2);
    kit_check(k, "cat", (arg[]){arg_tensors(three, 3), arg_int(-1)}, 2);
    kit_check(k, "stack", (arg[]){arg_tensors(three, 3), arg_int(0)}, 2);
    kit_check(k, "stack", (arg[]){arg_tensors(three, 3), arg_int(-1)}, 2);
}

static void test_every_type_and_layout(void **state) {
    kit *k = *state;
    for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
        for (int layout = 0; layout < N_LAYOUTS; layout++) {
            check_movers(k, laid_out(k, (dtype)t, layout));
            kit_reset(k);
        }
    }
}

/* Gaps of every length between short rows; planes of padding alone; rows without planes; enough for several threads. */
static void test_short_rows_are_padded(void **state) {
    kit *k = *state;
    for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
        for (int64_t gap = 1; gap < 20; gap++) {
            tensor *x = kit_tensor(k, (dtype)t, 3, (const int64_t[]){5, 7, 9}, (const int64_t[]){63, 1, 7});
            tensor *y = kit_tensor(k, (dtype)t, 4, (const int64_t[]){3, 2, 5, 6}, (const int64_t[]){90, 400, 7, 1});
            tensor *line = kit_tensor(k, (dtype)t, 1, (const int64_t[]){11}, NULL);
            tensor *narrow = kit_tensor(k, (dtype)t, 3, (const int64_t[]){5, 43, gap % 3 + 1}, (const int64_t[]){0, 7, 2});
            int64_t rest = gap / 3;
            kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(narrow), INTS(gap % 2, gap / 4 + 1), arg_number(number_of_int(1))}, 3);
            kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(x), INTS(gap - rest, rest), arg_number(number_of_int(1))}, 3);
            kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(y), INTS(rest, gap - rest, 1, rest, 2, 1)}, 2);
            kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(y), INTS(gap, -1, -2, 1, -1, 0, 1, 0)}, 2);
            kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(line), INTS(rest, gap)}, 2);
            kit_reset(k);
        }
        tensor *large = kit_tensor(k, (dtype)t, 4, (const int64_t[]){5, 17, 40, 30}, NULL);
        kit_check(k, "constant_pad_nd", (arg[]){arg_tensor(large), INTS(1, 2, 3, 0, 0, 1), arg_number(number_of_int(1))}, 3);
        kit_reset(k);
    }
}

static void test_casts_between_all_types(void **state) {
    kit *k = *state;
    for (int from = 0; from < ASSAY_DTYPE_COUNT; from++) {
        for (int to = 0; to < ASSAY_DTYPE_COUNT; to++) {
            for (int layout = 0; layout < N_LAYOUTS; layout++) {
                tensor *x = laid_out(k, (dtype)from, layout), *y = laid_out(k, (dtype)to, (layout + 1) % 5);
                kit_check(k, "_to_copy", (arg[]){arg_tensor(x), arg_dtype((dtype)to)}, 2);
                kit_check(k, "copy", (arg[]){arg_tensor(y), arg_tensor(x)}, 2);
                kit_check(k, "copy_", (arg[]){arg_tensor(y), arg_tensor(x)}, 2);
                kit_reset(k);
            }
        }
    }
}

/* Rounds to nearest even, keeps NaN, infinities and signed zeros. */
static void test_half_casts_are_exact(void **state) {
    kit *k = *state;
    static const double from[] = {1.00390625, 1.01171875, -0.0, INFINITY, 65520, 65519, 5.9604644775390625e-8, 3.0e-8};
    static const double as_bf16[] = {
        1, 1.015625, -0.0, INFINITY, 65536, 65536, 5.9604644775390625e-8, 3.003515303134918e-8};
    static const double as_f16[] = {
        1.00390625, 1.01171875, -0.0, INFINITY, INFINITY, 65504, 5.9604644775390625e-8, 5.9604644775390625e-8};
    tensor *x = kit_values(k, ASSAY_F32, 1, (const int64_t[]){8}, from);
    kit_expect(k, "_to_copy", (arg[]){arg_tensor(x), arg_dtype(ASSAY_BF16)}, 2, as_bf16, 8, NULL);
    kit_expect(k, "_to_copy", (arg[]){arg_tensor(x), arg_dtype(ASSAY_F16)}, 2, as_f16, 8, NULL);
    tensor *nan =
        kit_values(k, ASSAY_F32, 1, (const int64_t[]){40}, (const double[40]){[0] = NAN, [17] = NAN, [39] = -NAN});
    kit_check(k, "_to_copy", (arg[]){arg_tensor(nan), arg_dtype(ASSAY_BF16)}, 2);
    kit_check(k, "_to_copy", (arg[]){arg_tensor(nan), arg_dtype(ASSAY_F16)}, 2);
    kit_check(k, "_to_copy", (arg[]){arg_tensor(nan), arg_dtype(ASSAY_B8)}, 2);
}

static void test_integers_beyond_doubles(void **state) {
    kit *k = *state;
    tensor *x = kit_tensor(k, ASSAY_I64, 2, (const int64_t[]){3, 5}, (const int64_t[]){1, 3});
    int64_t *values = (int64_t *)(void *)tensor_data(x);
    for (int i = 0; i < 15; i++) {
        values[i] = INT64_MAX - i;
    }
    op_call call = kit_call(k, "lift_fresh_copy", (arg[]){arg_tensor(x)}, 1);
    outputs out;
    kit_run(k, &call, &out);
    const int64_t *copied = (const int64_t *)(const void *)tensor_data(&out.items[0]);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(copied[i], INT64_MAX - (i / 5 + i % 5 * 3));
    }
    outputs_clear(&out);
}

static void test_large_tiles_and_threads(void **state) {
    kit *k = *state;
    static const dtype types[] = {ASSAY_U8, ASSAY_BF16, ASSAY_F32, ASSAY_F64, ASSAY_C128};
    for (size_t t = 0; t < countof(types); t++) {
        tensor *x = kit_tensor(k, types[t], 3, (const int64_t[]){3, 301, 173}, (const int64_t[]){52073, 1, 301});
        arg self = arg_tensor(x);
        kit_check(k, "lift_fresh_copy", &self, 1);
        kit_check(k, "flip", (arg[]){self, INTS(0, 2)}, 2);
        kit_check(k, "_to_copy", (arg[]){self, arg_dtype(ASSAY_F16)}, 2);
        kit_check(k, "copy",
                  (arg[]){arg_tensor(kit_tensor(k, ASSAY_BF16, 3, (const int64_t[]){3, 301, 173}, NULL)), self}, 2);
        kit_reset(k);
    }
}

/* Rows of a few elements within longer ones, of either side. */
static void test_short_rows_are_cast(void **state) {
    kit *k = *state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64, ASSAY_I64, ASSAY_U8, ASSAY_B8};
    for (size_t t = 0; t < countof(types) * countof(types); t++) {
        for (int64_t n = 1; n < 40; n += n < 6 ? 1 : 9) {
            const int64_t sizes[] = {3, 401, n}, strides[] = {401 * 85, 85, 1};
            tensor *within = kit_tensor(k, types[t % countof(types)], 3, sizes, strides);
            tensor *dense = kit_tensor(k, types[t / countof(types)], 3, sizes, NULL);
            kit_check(k, "copy", (arg[]){arg_tensor(within), arg_tensor(dense)}, 2);
            kit_check(k, "copy", (arg[]){arg_tensor(dense), arg_tensor(within)}, 2);
            kit_reset(k);
        }
    }
}

/* Results too large for caches, with gaps of whole lines and of others, between rows and between planes. */
static void test_large_gaps(void **state) {
    kit *k = *state;
    for (int64_t odd = 0; odd < 2; odd++) {
        const int64_t sizes[] = {4, 1031, 64 + odd}, whole[] = {4, 1031, 1024}, planes[] = {4, 17, 1031, 64 + odd};
        arg self = arg_tensor(kit_tensor(k, ASSAY_F64, 3, sizes, NULL));
        kit_check(k, "slice_backward", (arg[]){self, arg_ints(whole, 3), arg_int(2), arg_int(128), arg_int(192 + odd), arg_int(1)}, 6);
        kit_check(k, "constant_pad_nd", (arg[]){self, INTS(64, 896, 3, 5), arg_number(number_of_int(1))}, 3);
        kit_check(k, "select_backward", (arg[]){self, arg_ints(planes, 4), arg_int(1), arg_int(-1)}, 4);
        kit_reset(k);
    }
}

static void check_sums(kit *k, dtype t) {
    for (int layout = 0; layout < N_LAYOUTS; layout++) {
        tensor *x = laid_out(k, t, layout);
        arg self = arg_tensor(x);
        kit_check(k, "reflection_pad2d", (arg[]){self, INTS(3, 4, 5, 6)}, 2);
        kit_check(k, "reflection_pad2d", (arg[]){self, INTS(20, -5, -3, 17)}, 2);
        kit_check(
            k, "reflection_pad2d_backward",
            (arg[]){self, arg_tensor(kit_tensor(k, t, 4, (const int64_t[]){2, 3, 10, 16}, NULL)), INTS(2, 3, 5, 3)}, 3);
        kit_check(
            k, "reflection_pad2d_backward",
            (arg[]){self,
                    arg_tensor(kit_tensor(k, t, 4, (const int64_t[]){2, 3, 10, 16}, (const int64_t[]){480, 1, 48, 3})),
                    INTS(2, 3, 5, 3)},
            3);
        kit_check(
            k, "reflection_pad2d_backward",
            (arg[]){self, arg_tensor(kit_tensor(k, t, 4, (const int64_t[]){2, 3, 15, 19}, NULL)), INTS(-2, 4, 5, -2)},
            3);
        kit_check(k, "im2col", (arg[]){self, INTS(3, 2), INTS(1, 2), INTS(1, 1), INTS(2, 1)}, 5);
        kit_check(k, "col2im_backward", (arg[]){self, INTS(4, 4), INTS(2, 2), INTS(3, 3), INTS(5, 5)}, 5);
        kit_reset(k);
    }
    /* [2, 4 * 6, 8 * 4] from windows of 3 by 2 over 9 by 9, in two layouts */
    static const int64_t sizes[] = {2, 24, 32}, turned[] = {1, 2, 48};
    for (int i = 0; i < 2; i++) {
        tensor *columns = kit_tensor(k, t, 3, sizes, i == 0 ? NULL : turned);
        arg args[] = {arg_tensor(columns), INTS(9, 9), INTS(3, 2), INTS(1, 2), INTS(0, 0), INTS(1, 2)};
        columns->sizes[2] = 7 * 4;
        kit_check(k, "col2im", args, 6);
        kit_check(k, "im2col_backward", args, 6);
        args[5] = INTS(2, 2);
        args[4] = INTS(1, 0);
        columns->sizes[2] = 5 * 4;
        kit_check(k, "col2im", args, 6);
    }
    tensor *windows = kit_tensor(k, t, 4, (const int64_t[]){3, 7, 5, 6}, (const int64_t[]){210, 6, 42, 1});
    kit_check(k, "unfold_backward", (arg[]){arg_tensor(windows), INTS(3, 19, 5), arg_int(1), arg_int(6), arg_int(2)},
              5);
    kit_check(k, "unfold_backward", (arg[]){arg_tensor(windows), INTS(3, 50, 5), arg_int(1), arg_int(6), arg_int(7)},
              5);
    kit_check(k, "unfold_backward", (arg[]){arg_tensor(windows), INTS(3, 42, 5), arg_int(-2), arg_int(6), arg_int(6)},
              5);
    kit_reset(k);
}

static void test_sums_of_moves(void **state) {
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64, ASSAY_C64, ASSAY_C128};
    for (size_t i = 0; i < countof(types); i++) {
        check_sums(*state, types[i]);
    }
}

static void test_creation(void **state) {
    kit *k = *state;
    for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
        arg self = arg_tensor(laid_out(k, (dtype)t, 4)), value = arg_tensor(kit_tensor(k, ASSAY_I64, 0, NULL, NULL));
        kit_check(k, "new_zeros", (arg[]){self, INTS(4, 5)}, 2);
        kit_check(k, "new_ones", (arg[]){self, INTS(4, 0)}, 2);
        kit_check(k, "new_full", (arg[]){self, INTS(300, 7), arg_number(number_of_double(2.7))}, 3);
        kit_check(k, "fill.Scalar", (arg[]){self, arg_number(number_of_int(1))}, 2);
        kit_check(k, "fill_.Scalar", (arg[]){self, arg_number(number_of_double(3.5))}, 2);
        kit_check(k, "fill_.Tensor", (arg[]){self, value}, 2);
        kit_check(k, "fill_.Scalar", (arg[]){arg_tensor(laid_out(k, (dtype)t, 5)), arg_number(number_of_int(1))}, 2);
        kit_check(k, "fill_.Tensor", (arg[]){self, arg_tensor(kit_tensor(k, (dtype)t, 0, NULL, NULL))}, 2);
        outputs out;
        assert_int_equal(kit_infer(k, "new_empty_strided", (arg[]){self, INTS(2, 3), INTS(1, 2), arg_dtype(ASSAY_I8)},
                                   4, &out, NULL),
                         ASSAY_OK);
        assert_int_equal(out.items[0].dtype, ASSAY_I8);
        assert_int_equal(out.items[0].strides[1], 2);
        outputs_clear(&out);
        kit_reset(k);
    }
}

static void test_empty_and_numbers(void **state) {
    kit *k = *state;
    tensor *none = kit_tensor(k, ASSAY_F32, 3, (const int64_t[]){2, 0, 3}, NULL);
    tensor *zero_dim = kit_tensor(k, ASSAY_F32, 0, NULL, NULL),
           *skipped = kit_tensor(k, ASSAY_I64, 1, (const int64_t[]){0}, NULL);
    arg empty = arg_tensor(none), scalar = arg_tensor(zero_dim);
    kit_check(k, "clone", &empty, 1);
    kit_check(k, "clone", &scalar, 1);
    kit_check(k, "flip", (arg[]){empty, INTS(0)}, 2);
    kit_check(k, "flip", (arg[]){scalar, arg_ints(NULL, 0)}, 2);
    kit_check(k, "roll", (arg[]){scalar, INTS(3)}, 2);
    kit_check(k, "roll", (arg[]){empty, INTS(3), INTS(1)}, 3);
    kit_check(k, "tril", (arg[]){empty}, 1);
    kit_check(k, "repeat", (arg[]){scalar, INTS(3, 2)}, 2);
    kit_check(k, "constant_pad_nd", (arg[]){empty, INTS(0, 1, 2, 0)}, 2);
    kit_check(k, "stack", (arg[]){arg_tensors((tensor *[]){zero_dim, zero_dim}, 2), arg_int(0)}, 2);
    tensor *row = kit_tensor(k, ASSAY_F32, 2, (const int64_t[]){1, 4}, NULL);
    kit_check(k, "cat", (arg[]){arg_tensors((tensor *[]){skipped, row, skipped, row}, 4), arg_int(1)}, 2);
    kit_check(k, "cat", (arg[]){arg_tensors((tensor *[]){skipped, skipped}, 2), arg_int(0)}, 2);
    kit_check(k, "select_backward", (arg[]){scalar, INTS(3), arg_int(0), arg_int(1)}, 4);
    kit_check(k, "fill_.Scalar", (arg[]){empty, arg_number(number_of_int(1))}, 2);
}

/* A source that shares memory with its destination is read before it is overwritten. */
static void test_copy_between_overlapping_views(void **state) {
    kit *k = *state;
    static const double values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    tensor *x = kit_values(k, ASSAY_F32, 2, (const int64_t[]){3, 3}, values);
    outputs view;
    assert_int_equal(kit_infer(k, "t", (arg[]){arg_tensor(x)}, 1, &view, NULL), ASSAY_OK);
    kit_expect(k, "copy_", (arg[]){arg_tensor(x), arg_tensor(&view.items[0])}, 2,
               (const double[]){0, 3, 6, 1, 4, 7, 2, 5, 8}, 9, NULL);
    outputs_clear(&view);
}

/* --- views
 * ------------------------------------------------------------------------------------------------------------------ */

static void test_views_show_what_they_should(void **state) {
    kit *k = *state;
    for (int layout = 0; layout < N_LAYOUTS; layout++) {
        arg self = arg_tensor(laid_out(k, ASSAY_F32, layout));
        kit_check(k, "permute", (arg[]){self, INTS(3, -4, 2, 1)}, 2);
        kit_check(k, "transpose.int", (arg[]){self, arg_int(-1), arg_int(1)}, 3);
        kit_check(k, "slice.Tensor", (arg[]){self, arg_int(2), arg_int(-15), arg_int(16), arg_int(4)}, 5);
        kit_check(k, "slice.Tensor", (arg[]){self, arg_int(3), arg_int(30)}, 3);
        kit_check(k, "select.int", (arg[]){self, arg_int(1), arg_int(-1)}, 3);
        kit_check(k, "unsqueeze", (arg[]){self, arg_int(-2)}, 2);
        kit_check(k, "unsqueeze_", (arg[]){self, arg_int(0)}, 2);
        kit_check(k, "squeeze.dim", (arg[]){self, arg_int(0)}, 2);
        kit_check(k, "unbind.int", (arg[]){self, arg_int(2)}, 2);
        kit_check(k, "split.Tensor", (arg[]){self, arg_int(5), arg_int(-1)}, 3);
        kit_check(k, "split_with_sizes", (arg[]){self, INTS(1, 0, 17), arg_int(2)}, 3);
        kit_check(k, "expand", (arg[]){self, INTS(4, 1, -1, 3, -1, -1)}, 2);
        kit_check(k, "alias", &self, 1);
        kit_check(k, "as_strided", (arg[]){self, INTS(3, 4), INTS(2, 3), arg_int(1)}, 4);
        kit_check(k, "as_strided_", (arg[]){self, INTS(2, 2, 2), INTS(0, 1, 1)}, 3);
        kit_reset(k);
    }
    arg self = arg_tensor(laid_out(k, ASSAY_F32, 0));
    kit_check(k, "_unsafe_view", (arg[]){self, INTS(6, -1, 7)}, 2);
    kit_check(k, "view", (arg[]){self, INTS(2, 1, 54, 3, 7, 1)}, 2);
}

/* A view of a view keeps its place in the storage; the parts of a split cover it. */
static void test_views_share_memory(void **state) {
    kit *k = *state;
    tensor *x = laid_out(k, ASSAY_F32, 0);
    outputs part, inner;
    assert_int_equal(kit_infer(k, "select.int", (arg[]){arg_tensor(x), arg_int(1), arg_int(2)}, 3, &part, NULL),
                     ASSAY_OK);
    assert_int_equal(
        kit_infer(k, "slice.Tensor", (arg[]){arg_tensor(&part.items[0]), arg_int(1), arg_int(3)}, 3, &inner, NULL),
        ASSAY_OK);
    assert_ptr_equal(tensor_data(&inner.items[0]), tensor_data(x) + (2 * 378 + 3 * 21) * 4);
    outputs_clear(&part);
    outputs_clear(&inner);
    assert_int_equal(x->storage->refs, 1);
}

static void test_shapes_without_memory(void **state) {
    kit *k = *state;
    tensor x;
    outputs out;
    assert_int_equal(tensor_init(&x, ASSAY_F16, 2, (const int64_t[]){1 << 20, 1 << 20}, NULL), ASSAY_OK);
    assert_int_equal(kit_infer(k, "t", (arg[]){arg_tensor(&x)}, 1, &out, NULL), ASSAY_OK);
    assert_null(out.items[0].storage);
    outputs_clear(&out);
    assert_int_equal(kit_infer(k, "repeat", (arg[]){arg_tensor(&x), INTS(4, 4)}, 2, &out, NULL), ASSAY_OK);
    outputs_clear(&out);
    kit_refuses(k, "repeat", (arg[]){arg_tensor(&x), INTS(1 << 20, 4)}, 2, ASSAY_TOO_LARGE);
    kit_refuses(k, "as_strided", (arg[]){arg_tensor(&x), INTS(2), INTS(INT64_C(1) << 40)}, 3, ASSAY_INVALID);
}

static void test_sparse_shares_its_parts(void **state) {
    kit *k = *state;
    tensor *indices = kit_tensor(k, ASSAY_I64, 2, (const int64_t[]){1, 6}, NULL);
    tensor *values = kit_tensor(k, ASSAY_F16, 2, (const int64_t[]){6, 4}, NULL);
    arg args[] = {arg_int(1), arg_int(1), INTS(9, 4), arg_tensor(indices), arg_tensor(values), arg_dtype(ASSAY_F16)};
    op_call call = kit_call(k, "_sparse_coo_tensor_with_dims_and_tensors", args, 6);
    assert_int_equal(op_fill_inputs(&call, k->seed, NULL), ASSAY_OK);
    for (int64_t i = 0; i < 6; i++) {
        assert_in_range(((const int64_t *)(const void *)tensor_data(indices))[i], 0, 8);
    }
    outputs out;
    kit_run(k, &call, &out);
    tensor second;
    tensor_share(&second, &out.items[0]);
    outputs_clear(&out);
    assert_ptr_equal(tensor_data(&second.sparse->values), tensor_data(values));
    assert_int_equal(second.sizes[0], 9);
    tensor_clear(&second);
    assert_int_equal(values->storage->refs, 1);
    args[1] = arg_int(2);
    kit_refuses(k, "_sparse_coo_tensor_with_dims_and_tensors", args, 6, ASSAY_INVALID);
    args[1] = arg_int(1);
    args[5] = arg_dtype(ASSAY_F32);
    kit_refuses(k, "_sparse_coo_tensor_with_dims_and_tensors", args, 6, ASSAY_INVALID);
}

static void test_bad_arguments(void **state) {
    kit *k = *state;
    tensor *x = laid_out(k, ASSAY_F32, 1), *row = kit_tensor(k, ASSAY_F32, 1, (const int64_t[]){3}, NULL);
    tensor *zero_dim = kit_tensor(k, ASSAY_F32, 0, NULL, NULL);
    arg self = arg_tensor(x), scalar = arg_tensor(zero_dim), line = arg_tensor(row);
    const struct {
        const char *op;
        arg args[6];
        int n;
    } cases[] = {
        {"view", {self, INTS(2, 3)}, 2},
        {"view", {self, INTS(-1, -1)}, 2},
        {"view", {self, INTS(6, 378)}, 2}, /* needs a copy */
        {"view", {self, INTS(INT64_C(1) << 62, 4, -1)}, 2},
        {"permute", {self, INTS(0, 1, 2)}, 2},
        {"permute", {self, INTS(0, 1, 2, 2)}, 2},
        {"transpose.int", {self, arg_int(4), arg_int(0)}, 3},
        {"t", {self}, 1},
        {"expand", {self, INTS(3, 18, 21)}, 2},
        {"expand", {line, INTS(-1, 3)}, 2},
        {"slice.Tensor", {scalar}, 1},
        {"slice.Tensor", {self, arg_int(0), arg_int(0), arg_int(1), arg_int(0)}, 5},
        {"select.int", {self, arg_int(0), arg_int(2)}, 3},
        {"unsqueeze", {self, arg_int(5)}, 2},
        {"unbind.int", {scalar}, 1},
        {"split.Tensor", {self, arg_int(0)}, 2},
        {"split.Tensor", {self, arg_int(-1)}, 2},
        {"split_with_sizes", {self, INTS(1, 2)}, 2},
        {"split_with_sizes", {self, INTS(3, -1)}, 2},
        {"as_strided", {line, INTS(4), INTS(1)}, 3},
        {"as_strided", {line, INTS(2), INTS(1), arg_int(2)}, 4},
        {"as_strided", {line, INTS(2), INTS(-1)}, 3},
        {"as_strided", {line, INTS(2), INTS(1), arg_int(INT64_MAX)}, 4},
        {"copy_", {line, self}, 2},
        {"copy_", {arg_tensor(laid_out(k, ASSAY_F32, 5)), self}, 2},
        {"cat", {arg_tensors(NULL, 0)}, 1},
        {"cat", {arg_tensors((tensor *[]){x, row}, 2)}, 1},
        {"cat", {arg_tensors((tensor *[]){zero_dim}, 1)}, 1},
        {"cat", {arg_tensors((tensor *[]){x}, 1), arg_int(4)}, 2},
        {"stack", {arg_tensors((tensor *[]){x, row}, 2)}, 1},
        {"slice_backward", {self, INTS(2, 3, 40, 21), arg_int(2), arg_int(0), arg_int(20), arg_int(1)}, 6},
        {"select_backward", {line, INTS(4, 3), arg_int(0), arg_int(4)}, 4},
        {"constant_pad_nd", {self, INTS(1)}, 2},
        {"constant_pad_nd", {line, INTS(0, 0, 1, 1)}, 2},
        {"constant_pad_nd", {line, INTS(-4, 0)}, 2},
        {"constant_pad_nd", {line, INTS(5, -4)}, 2},
        {"constant_pad_nd", {line, INTS(INT64_MAX, INT64_MAX)}, 2},
        {"reflection_pad2d", {self, INTS(21, 0, 0, 0)}, 2},
        {"reflection_pad2d", {line, INTS(1, 1, 1, 1)}, 2},
        {"reflection_pad2d_backward", {self, self, INTS(1, 0, 0, 0)}, 3},
        {"repeat", {self, INTS(1, 2)}, 2},
        {"repeat", {line, INTS(-1)}, 2},
        {"repeat", {line, INTS(INT64_MAX)}, 2},
        {"flip", {self, INTS(1, -3)}, 2},
        {"roll", {self, INTS(1, 2), INTS(1)}, 3},
        {"tril", {line}, 1},
        {"im2col", {line, INTS(1, 1), INTS(1, 1), INTS(0, 0), INTS(1, 1)}, 5},
        {"im2col", {self, INTS(0, 0), INTS(1, 1), INTS(0, 0), INTS(1, 1)}, 5},
        {"im2col", {self, INTS(30, 30), INTS(1, 1), INTS(0, 0), INTS(1, 1)}, 5},
        {"im2col", {self, INTS(INT64_MAX, INT64_MAX), INTS(INT64_MAX, INT64_MAX), INTS(0, 0), INTS(1, 1)}, 5},
        {"col2im", {self, INTS(3, 3), INTS(1, 1), INTS(1, 1), INTS(0, 0), INTS(1, 1)}, 6},
        {"unfold_backward", {line, INTS(3), arg_int(0), arg_int(1), arg_int(1)}, 5},
        {"unfold_backward", {line, arg_ints(NULL, 0), arg_int(0), arg_int(3), arg_int(1)}, 5},
        {"new_zeros", {line, INTS(-1)}, 2},
        {"new_empty_strided", {line, INTS(2), INTS(1, 1)}, 3},
        {"fill.Tensor", {line, line}, 2},
        {"fill_.Scalar", {line, arg_number(number_of_complex(1, 1))}, 2},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        print_message("%s, case %zu\n", cases[i].op, i);
        kit_refuses(k, cases[i].op, cases[i].args, cases[i].n, ASSAY_INVALID);
    }
    arg args[] = {arg_tensor(kit_tensor(k, ASSAY_I32, 3, (const int64_t[]){1, 4, 4}, NULL)), INTS(2, 2), INTS(1, 1),
                  INTS(0, 0), INTS(1, 1)};
    kit_refuses(k, "im2col", args, 5, ASSAY_INVALID);
    kit_refuses(k, "new_zeros", (arg[]){line, INTS(INT64_C(1) << 40, INT64_C(1) << 40)}, 2, ASSAY_TOO_LARGE);
}

static uint64_t seed = 20261121;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_every_type_and_layout, &seed), KIT_TEST(test_short_rows_are_padded, &seed),
        KIT_TEST(test_casts_between_all_types, &seed), KIT_TEST(test_short_rows_are_cast, &seed),
        KIT_TEST(test_half_casts_are_exact, &seed),
        KIT_TEST(test_integers_beyond_doubles, &seed),
        KIT_TEST(test_large_tiles_and_threads, &seed),
        KIT_TEST(test_large_gaps, &seed),
        KIT_TEST(test_sums_of_moves, &seed),
        KIT_TEST(test_creation, &seed),
        KIT_TEST(test_empty_and_numbers, &seed),
        KIT_TEST(test_copy_between_overlapping_views, &seed),
        KIT_TEST(test_views_show_what_they_should, &seed),
        KIT_TEST(test_views_share_memory, &seed),
        KIT_TEST(test_shapes_without_memory, &seed),
        KIT_TEST(test_sparse_shares_its_parts, &seed),
        KIT_TEST(test_bad_arguments, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
