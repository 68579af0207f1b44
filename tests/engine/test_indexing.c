/* SPDX-License-Identifier: Apache-2.0 */
/* Indexing, scattering and embeddings: kernels against references in every type and layout, known answers, bad indices. */
#include "engine/call_kit.h"

#include "engine/backend/backend.h"
#include "engine/graph/graph.h"

static const dtype types[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16, ASSAY_F64, ASSAY_I64, ASSAY_I32, ASSAY_U8, ASSAY_C64};
static const dtype floats[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16, ASSAY_F64};
static const int64_t box_sizes[] = {2, 5, 3, 4};
static const int64_t turned_strides[] = {60, 1, 20, 5}; /* the same sizes, laid out in another order */

/* As kit_check, with inputs from the row. */
static void filled_check(kit *k, const char *name, const arg *args, int n) {
    op_call call = kit_call(k, name, args, n);
    error err = {0};
    assert_int_equal(op_fill_inputs(&call, k->seed, &err), ASSAY_OK);
    kit_check(k, name, args, n);
}

static tensor *indices(kit *k, dtype t, int ndim, const int64_t *sizes) {
    return kit_tensor(k, t, ndim, sizes, NULL);
}

static void reads_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 71);
    for (size_t i = 0; i < 2 * countof(types); i++) {
        tensor *self = kit_tensor(&k, types[i / 2], 4, box_sizes, i % 2 ? turned_strides : NULL);
        tensor *a = indices(&k, ASSAY_I64, 2, (const int64_t[]){3, 7}), *b = indices(&k, ASSAY_I32, 1, (const int64_t[]){7});
        tensor *mask = indices(&k, ASSAY_B8, 2, (const int64_t[]){5, 3}), *none = NULL;
        filled_check(&k, "index.Tensor", (const arg[]){arg_tensor(self), arg_tensors(&a, 1)}, 2);
        filled_check(&k, "index.Tensor", (const arg[]){arg_tensor(self), arg_tensors((tensor *[]){none, a, b}, 3)}, 2);
        filled_check(&k, "index.Tensor", (const arg[]){arg_tensor(self), arg_tensors((tensor *[]){b, none, none, a}, 4)}, 2);
        filled_check(&k, "index.Tensor", (const arg[]){arg_tensor(self), arg_tensors((tensor *[]){none, mask}, 2)}, 2);
        for (int dim = -1; dim < 4; dim++) {
            filled_check(&k, "index_select", (const arg[]){arg_tensor(self), arg_int(dim), arg_tensor(b)}, 3);
            tensor *places = indices(&k, ASSAY_I64, 4, (const int64_t[]){2, 3, 3, 4});
            filled_check(&k, "gather", (const arg[]){arg_tensor(self), arg_int(dim), arg_tensor(places)}, 3);
        }
        kit_check(&k, "nonzero", (const arg[]){arg_tensor(self)}, 1);
        kit_check(&k, "nonzero", (const arg[]){arg_tensor(kit_tensor(&k, self->dtype, 1, (const int64_t[]){0}, NULL))}, 1);
        kit_check(&k, "nonzero", (const arg[]){arg_tensor(kit_tensor(&k, self->dtype, 2, (const int64_t[]){3, 0}, NULL))}, 1);
        kit_reset(&k);
    }
    kit_close(&k);
}

static void writes_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 72);
    for (size_t i = 0; i < 2 * countof(types); i++) {
        dtype t = types[i / 2];
        tensor *self = kit_tensor(&k, t, 4, box_sizes, i % 2 ? turned_strides : NULL), *none = NULL;
        tensor *b = indices(&k, ASSAY_I64, 1, (const int64_t[]){9}), *one = indices(&k, ASSAY_I64, 1, (const int64_t[]){2});
        tensor *rows = kit_tensor(&k, t, 4, (const int64_t[]){2, 9, 3, 4}, NULL);
        tensor *scalar = kit_tensor(&k, t, 0, NULL, NULL), *last = kit_tensor(&k, t, 4, (const int64_t[]){2, 5, 3, 9}, NULL);
        arg by_b = arg_tensors((tensor *[]){none, b}, 2), by_one = arg_tensors((tensor *[]){none, one}, 2);
        arg by_two = arg_tensors((tensor *[]){none, b, none, b}, 4);
        filled_check(&k, "index_put", (const arg[]){arg_tensor(self), by_b, arg_tensor(rows), arg_bool(true)}, 4);
        filled_check(&k, "index_put", (const arg[]){arg_tensor(self), by_one, arg_tensor(scalar), arg_bool(false)}, 4);
        filled_check(&k, "_index_put_impl", (const arg[]){arg_tensor(self), by_two, arg_tensor(scalar), arg_bool(true)}, 4);
        filled_check(&k, "index_add", (const arg[]){arg_tensor(self), arg_int(1), arg_tensor(b), arg_tensor(rows)}, 4);
        filled_check(&k, "index_add", (const arg[]){arg_tensor(self), arg_int(-1), arg_tensor(b), arg_tensor(last),
                                                    arg_number(number_of_int(2))}, 5);
        for (int dim = 0; dim < 4; dim++) {
            int64_t sizes[] = {2, 2, 2, 2};
            tensor *places = indices(&k, ASSAY_I64, 4, sizes), *src = kit_tensor(&k, t, 4, box_sizes, NULL);
            filled_check(&k, "scatter.src", (const arg[]){arg_tensor(self), arg_int(dim), arg_tensor(places), arg_tensor(src)}, 4);
            filled_check(&k, "scatter.value", (const arg[]){arg_tensor(self), arg_int(dim), arg_tensor(places),
                                                            arg_number(number_of_int(3))}, 4);
            filled_check(&k, "scatter_add", (const arg[]){arg_tensor(self), arg_int(dim), arg_tensor(places), arg_tensor(src)}, 4);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* One mask and one value are masked_fill: the value's type may be another, but no complex one for real numbers. */
static void masks_take_values_of_other_types(void **state) {
    (void)state;
    static const dtype values[] = {ASSAY_B8, ASSAY_I8, ASSAY_I64, ASSAY_BF16, ASSAY_F64, ASSAY_C64};
    kit k;
    kit_open(&k, 80);
    for (size_t i = 0; i < countof(types) * countof(values); i++) {
        dtype t = types[i / countof(values)], given = values[i % countof(values)];
        tensor *self = kit_tensor(&k, t, 4, box_sizes, i % 2 ? turned_strides : NULL), *none = NULL;
        tensor *one = kit_tensor(&k, given, 0, NULL, NULL), *line = kit_tensor(&k, given, 1, (const int64_t[]){1}, NULL);
        tensor *mask = indices(&k, ASSAY_B8, 2, (const int64_t[]){5, 3}), *place = indices(&k, ASSAY_I64, 1, (const int64_t[]){1});
        const arg s = arg_tensor(self), m = arg_tensors((tensor *[]){none, mask}, 2);
        op_call higher = kit_call(&k, "index_put", (const arg[]){s, m, arg_tensor(one)}, 3);
        error err = {0};
        if (dtype_is_complex(given) && !dtype_is_complex(t)) {
            outputs out;
            assert_int_equal(op_infer(&higher, &out, &err), ASSAY_INVALID);
            kit_reset(&k);
            continue;
        }
        filled_check(&k, "index_put", (const arg[]){s, m, arg_tensor(one)}, 3);
        filled_check(&k, "_index_put_impl", (const arg[]){s, m, arg_tensor(line), arg_bool(false), arg_bool(true)}, 5);
        if (given != t) {
            outputs out;
            op_call added = kit_call(&k, "index_put", (const arg[]){s, m, arg_tensor(one), arg_bool(true)}, 4);
            op_call placed = kit_call(&k, "index_put", (const arg[]){s, arg_tensors(&place, 1), arg_tensor(one)}, 3);
            assert_int_equal(op_infer(&added, &out, &err), ASSAY_INVALID);
            assert_int_equal(op_infer(&placed, &out, &err), ASSAY_INVALID);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Booleans that meet are true, small integers wrap. */
static void small_types_add_up(void **state) {
    (void)state;
    static const dtype small[] = {ASSAY_B8, ASSAY_I8, ASSAY_U8};
    kit k;
    kit_open(&k, 77);
    for (size_t i = 0; i < countof(small); i++) {
        tensor *self = kit_tensor(&k, small[i], 2, (const int64_t[]){3, 4}, NULL);
        tensor *rows = kit_tensor(&k, small[i], 2, (const int64_t[]){90, 4}, NULL);
        tensor *one = kit_tensor(&k, small[i], 1, (const int64_t[]){90}, NULL);
        tensor *a = indices(&k, ASSAY_I64, 1, (const int64_t[]){90}), *b = indices(&k, ASSAY_I64, 1, (const int64_t[]){90});
        tensor *places = indices(&k, ASSAY_I64, 2, (const int64_t[]){90, 4});
        const arg s = arg_tensor(self), r = arg_tensor(rows);
        filled_check(&k, "index_put", (const arg[]){s, arg_tensors(&a, 1), r, arg_bool(true)}, 4);
        filled_check(&k, "index_put", (const arg[]){s, arg_tensors((tensor *[]){a, b}, 2), arg_tensor(one), arg_bool(true)}, 4);
        filled_check(&k, "index_add", (const arg[]){s, arg_int(0), arg_tensor(a), r}, 4);
        filled_check(&k, "scatter_add", (const arg[]){s, arg_int(0), arg_tensor(places), r}, 4);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Few of very many places, some of them named more than once; what a plan takes goes with those that are named. */
static void few_places_of_many(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 79);
    for (size_t i = 0; i < countof(types); i++) {
        tensor *self = kit_tensor(&k, types[i], 2, (const int64_t[]){5000, 3}, NULL), *turned = kit_tensor(&k, types[i], 2, (const int64_t[]){2, 5000}, NULL);
        tensor *a = indices(&k, ASSAY_I64, 1, (const int64_t[]){300}), *b = indices(&k, ASSAY_I64, 1, (const int64_t[]){300});
        tensor *rows = kit_tensor(&k, types[i], 2, (const int64_t[]){300, 3}, NULL), *columns = kit_tensor(&k, types[i], 2, (const int64_t[]){2, 300}, NULL);
        tensor *one = kit_tensor(&k, types[i], 1, (const int64_t[]){300}, NULL), *grid = kit_tensor(&k, types[i], 2, (const int64_t[]){90, 80}, NULL);
        const arg s = arg_tensor(self), t = arg_tensor(turned), in_rows = arg_tensors(&a, 1), in_both = arg_tensors((tensor *[]){a, b}, 2);
        filled_check(&k, "index_put", (const arg[]){s, in_rows, arg_tensor(rows), arg_bool(true)}, 4);
        filled_check(&k, "index_put", (const arg[]){s, in_rows, arg_tensor(rows), arg_bool(false)}, 4);
        filled_check(&k, "index_put", (const arg[]){arg_tensor(grid), in_both, arg_tensor(one), arg_bool(true)}, 4);
        filled_check(&k, "index_add", (const arg[]){s, arg_int(0), arg_tensor(a), arg_tensor(rows)}, 4);
        filled_check(&k, "index_add", (const arg[]){t, arg_int(1), arg_tensor(a), arg_tensor(columns)}, 4);
        tensor *line = kit_tensor(&k, types[i], 1, (const int64_t[]){1 << 20}, NULL), *three = kit_tensor(&k, types[i], 1, (const int64_t[]){3}, NULL);
        tensor *at = indices(&k, ASSAY_I64, 1, (const int64_t[]){3});
        const arg args[] = {arg_tensor(line), arg_tensors(&at, 1), arg_tensor(three), arg_bool(false)};
        filled_check(&k, "index_put", args, 4);
        op_call call = kit_call(&k, "index_put", args, 4);
        outputs out;
        arena memory = {0};
        kernel_plan planned = {.call = &call, .out = &out, .memory = &memory};
        assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
        assert_int_equal(tensor_allocate(&out.items[0], &device_cpu, NULL), ASSAY_OK);
        assert_int_equal(kernel_find_cpu(k.kernels, call.op)->prepare(&planned, NULL), ASSAY_OK);
        assert_true(memory.used_bytes < 1 << 16);
        arena_clear(&memory);
        outputs_clear(&out);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Long enough for several threads and blocks. */
static void long_ones_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 73);
    for (size_t i = 0; i < countof(floats); i++) {
        dtype t = floats[i];
        tensor *line = kit_tensor(&k, t, 1, (const int64_t[]){965}, NULL), *n = indices(&k, ASSAY_I64, 1, (const int64_t[]){30011});
        tensor *source = kit_tensor(&k, t, 1, (const int64_t[]){30011}, NULL);
        filled_check(&k, "gather", (const arg[]){arg_tensor(line), arg_int(0), arg_tensor(n)}, 3);
        filled_check(&k, "scatter_add", (const arg[]){arg_tensor(line), arg_int(0), arg_tensor(n), arg_tensor(source)}, 4);
        filled_check(&k, "index_add", (const arg[]){arg_tensor(line), arg_int(0), arg_tensor(n), arg_tensor(source)}, 4);
        tensor *rows = kit_tensor(&k, t, 2, (const int64_t[]){53, 70}, NULL), *added = kit_tensor(&k, t, 2, (const int64_t[]){400, 64}, NULL);
        tensor *slices = kit_tensor(&k, ASSAY_I64, 2, (const int64_t[]){400, 64}, (const int64_t[]){1, 0}); /* one for each row */
        filled_check(&k, "scatter_add", (const arg[]){arg_tensor(rows), arg_int(0), arg_tensor(slices), arg_tensor(added)}, 4);
        static const dtype counted[] = {ASSAY_B8, ASSAY_I64, ASSAY_F32, ASSAY_BF16};
        kit_check(&k, "nonzero", (const arg[]){arg_tensor(kit_tensor(&k, counted[i % 4], 2, (const int64_t[]){9, 1300}, NULL))}, 1);
        tensor *table = kit_tensor(&k, t, 2, (const int64_t[]){97, 130}, NULL), *ids = indices(&k, ASSAY_I64, 2, (const int64_t[]){40, 50});
        tensor *grad = kit_tensor(&k, t, 3, (const int64_t[]){40, 50, 130}, NULL);
        filled_check(&k, "embedding", (const arg[]){arg_tensor(table), arg_tensor(ids), arg_int(3)}, 3);
        filled_check(&k, "embedding_dense_backward",
                     (const arg[]){arg_tensor(grad), arg_tensor(ids), arg_int(97), arg_int(3), arg_bool(i % 2)}, 5);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* A gradient that no cache holds: rows that nobody names, alone and many together, of no whole lines of memory. */
static void large_gradients_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 76);
    for (size_t i = 0; i < 2; i++) {
        const int64_t rows = i == 0 ? 9001 : 20001, width = i == 0 ? 933 : 843;
        dtype t = i == 0 ? ASSAY_F32 : ASSAY_BF16;
        tensor *ids = kit_tensor(&k, ASSAY_I64, 1, (const int64_t[]){600}, NULL), *grad = kit_tensor(&k, t, 2, (const int64_t[]){600, width}, NULL);
        for (int64_t j = 0; j < 600; j++) {
            ((int64_t *)tensor_data(ids))[j] = j < 300 ? j % 97 * 2 : j * 7919 % rows;
        }
        filled_check(&k, "embedding_dense_backward",
                     (const arg[]){arg_tensor(grad), arg_tensor(ids), arg_int(rows), arg_int(4), arg_bool(false)}, 5);
        kit_reset(&k);
    }
    kit_close(&k);
}

static void bags_agree(void **state) {
    (void)state;
    static const int64_t widths[] = {70, 64, 400, 200, 330}; /* columns by the hundred, and what is left of them */
    kit k;
    kit_open(&k, 74);
    for (size_t i = 0; i < countof(floats) * 3 * 2 * 2; i++) {
        dtype t = floats[i % countof(floats)];
        int64_t mode = (int64_t)(i / countof(floats) % 3), padding = i / 12 % 2 ? 2 : -1;
        bool last = i / 24 % 2;
        int64_t width = widths[i % countof(widths)], step = 1 + (int64_t)(i / 4 % 2);
        tensor *table = kit_tensor(&k, t, 2, (const int64_t[]){17, width}, NULL), *ids = indices(&k, ASSAY_I64, 1, (const int64_t[]){300});
        tensor *offsets = indices(&k, ASSAY_I64, 1, (const int64_t[]){11}), *by = kit_tensor(&k, t, 1, (const int64_t[]){300}, &step);
        arg scale = mode == 0 ? arg_tensor(by) : (arg){.kind = ARG_NONE};
        filled_check(&k, "_embedding_bag", (const arg[]){arg_tensor(table), arg_tensor(ids), arg_tensor(offsets), arg_bool(false),
                                                         arg_int(mode), arg_bool(false), scale, arg_bool(last), arg_int(padding)}, 9);
        tensor *grad = kit_tensor(&k, t, 2, (const int64_t[]){11, width}, NULL), *bags = indices(&k, ASSAY_I64, 1, (const int64_t[]){300});
        filled_check(&k, "_embedding_bag_per_sample_weights_backward",
                     (const arg[]){arg_tensor(grad), arg_tensor(table), arg_tensor(ids), arg_tensor(offsets), arg_tensor(bags),
                                   arg_int(0), arg_int(padding)}, 7);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Hundreds of bags of a few rows each, shared out among threads. */
static void many_bags_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 75);
    for (size_t i = 0; i < countof(floats) * 4; i++) {
        dtype t = floats[i % countof(floats)];
        int64_t mode = (int64_t)(i / countof(floats) % 2), padding = i / 8 % 2 ? 2 : -1;
        tensor *table = kit_tensor(&k, t, 2, (const int64_t[]){31, 192}, NULL), *ids = indices(&k, ASSAY_I64, 1, (const int64_t[]){3000});
        tensor *offsets = indices(&k, ASSAY_I64, 1, (const int64_t[]){417}), *by = kit_tensor(&k, t, 1, (const int64_t[]){3000}, NULL);
        arg scale = mode == 0 ? arg_tensor(by) : (arg){.kind = ARG_NONE};
        filled_check(&k, "_embedding_bag", (const arg[]){arg_tensor(table), arg_tensor(ids), arg_tensor(offsets), arg_bool(false),
                                                         arg_int(mode), arg_bool(false), scale, arg_bool(false), arg_int(padding)}, 9);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Indices that no bag holds count as the first's; offset2bag is written all the same. */
static void indices_without_bags(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 76);
    for (int64_t mode = 0; mode < 6; mode++) {
        bool last = mode > 2; /* one offset, which is the end of no bag */
        tensor *table = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){7, 5}, NULL);
        tensor *ids = indices(&k, ASSAY_I64, 1, (const int64_t[]){40}), *offsets = indices(&k, ASSAY_I64, 1, (const int64_t[]){last});
        filled_check(&k, "_embedding_bag", (const arg[]){arg_tensor(table), arg_tensor(ids), arg_tensor(offsets), arg_bool(false),
                                                         arg_int(mode % 3), arg_bool(false), {.kind = ARG_NONE}, arg_bool(last),
                                                         arg_int(-1)}, 9);
        kit_reset(&k);
    }
    kit_close(&k);
}

static void expect_values(const tensor *t, const double *expected) {
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        const char *at = tensor_data(t) + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype);
        assert_true(element_load(t->dtype, at) == expected[i]);
    }
}

/* Values and layouts as PyTorch 2.15 gives them on the CPU. */
static void known_answers(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 75);
    outputs out;
    double counting[12];
    for (int i = 0; i < 12; i++) {
        counting[i] = i;
    }
    tensor *table = kit_values(&k, ASSAY_F32, 2, (const int64_t[]){4, 3}, counting);
    tensor *ids = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){6}, (const double[]){0, 1, 2, 3, 1, 0});
    tensor *offsets = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){4}, (const double[]){0, 2, 2, 5});
    op_call call = kit_call(&k, "_embedding_bag", (const arg[]){arg_tensor(table), arg_tensor(ids), arg_tensor(offsets),
                                                                arg_bool(false), arg_int(2)}, 5);
    kit_run(&k, &call, &out);
    expect_values(&out.items[0], (const double[]){3, 4, 5, 0, 0, 0, 9, 10, 11, 0, 1, 2});
    expect_values(&out.items[1], (const double[]){0, 0, 2, 2, 2, 3});
    expect_values(&out.items[2], (const double[]){2, 0, 3, 1});
    expect_values(&out.items[3], (const double[]){1, 1, 1, 0, 0, 0, 3, 3, 3, 0, 0, 0});
    outputs_clear(&out);
    tensor *self = kit_tensor(&k, ASSAY_F32, 4, (const int64_t[]){2, 4, 5, 3}, (const int64_t[]){60, 5, 1, 20});
    tensor *j = kit_values(&k, ASSAY_I64, 2, (const int64_t[]){3, 2}, (const double[]){0, 1, 0, -1, 1, 1});
    call = kit_call(&k, "index.Tensor", (const arg[]){arg_tensor(self), arg_tensors((tensor *[]){NULL, NULL, j}, 3)}, 2);
    kit_run(&k, &call, &out);
    const int64_t strides[] = {72, 1, 8, 4, 24};
    assert_int_equal(out.items[0].ndim, 5);
    assert_memory_equal(out.items[0].strides, strides, sizeof strides);
    outputs_clear(&out);
    kit_close(&k);
}

static status prepare_and_run(kit *k, const char *name, const arg *args, int n, error *err) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    if (op_infer(&call, &out, err) != ASSAY_OK) {
        return err->code;
    }
    for (int i = 0; i < out.n; i++) {
        if (out.items[i].storage == NULL) {
            assert_int_equal(tensor_allocate(&out.items[i], &device_cpu, err), ASSAY_OK);
        }
    }
    arena memory = {0};
    kernel_plan ready = {.call = &call, .out = &out, .err = err, .memory = &memory};
    status result = kernel_find_cpu(k->kernels, call.op)->prepare(&ready, err);
    result = result == ASSAY_OK ? ready.run(&ready) : result;
    arena_clear(&memory);
    outputs_clear(&out);
    return result;
}

static void bad_indices_are_named(void **state) {
    (void)state;
    kit k;
    error err = {0};
    kit_open(&k, 76);
    tensor *self = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){4, 3}, NULL), *bad = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){2}, (const double[]){1, 7});
    tensor *square = kit_values(&k, ASSAY_I64, 2, (const int64_t[]){1, 2}, (const double[]){-9, 0});
    tensor *rows = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){2, 3}, NULL), *halves = kit_tensor(&k, ASSAY_F16, 2, (const int64_t[]){2, 3}, NULL);
    const arg s = arg_tensor(self), b = arg_tensor(bad), q = arg_tensor(square), r = arg_tensor(rows);
    assert_int_equal(prepare_and_run(&k, "index.Tensor", (const arg[]){s, arg_tensors(&bad, 1)}, 2, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "index 7"));
    assert_int_equal(prepare_and_run(&k, "index_select", (const arg[]){s, arg_int(0), b}, 3, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "gather", (const arg[]){s, arg_int(1), q}, 3, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "index -9"));
    assert_int_equal(prepare_and_run(&k, "scatter_add", (const arg[]){s, arg_int(1), q, r}, 4, &err), ASSAY_INVALID);
    double many[200] = {[177] = 10}; /* to few places, whose sums threads have for themselves */
    tensor *ten = kit_tensor(&k, ASSAY_F32, 1, (const int64_t[]){10}, NULL), *added = kit_tensor(&k, ASSAY_F32, 1, (const int64_t[]){200}, NULL);
    tensor *few = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){200}, many);
    assert_int_equal(prepare_and_run(&k, "scatter_add", (const arg[]){arg_tensor(ten), arg_int(0), arg_tensor(few), arg_tensor(added)}, 4, &err),
                     ASSAY_INVALID);
    assert_non_null(strstr(err.message, "index 10"));
    assert_int_equal(prepare_and_run(&k, "index_add", (const arg[]){s, arg_int(0), b, r}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_put", (const arg[]){s, arg_tensors(&bad, 1), r, arg_bool(true)}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "embedding", (const arg[]){s, b}, 2, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "_embedding_bag", (const arg[]){s, b, b}, 3, &err), ASSAY_INVALID);
    /* shapes and types are refused before anything runs */
    assert_int_equal(prepare_and_run(&k, "index_add", (const arg[]){s, arg_int(0), b, arg_tensor(halves)}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_select", (const arg[]){s, arg_int(2), b}, 3, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index.Tensor", (const arg[]){s, arg_tensors((tensor *[]){NULL, NULL, bad}, 3)}, 2, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "gather", (const arg[]){s, arg_int(0), b}, 3, &err), ASSAY_INVALID);
    kit_close(&k);
}

/* In place, each write would change what later ones read. */
static void values_in_the_memory_written_to_are_refused(void **state) {
    (void)state;
    kit k;
    error err = {0};
    kit_open(&k, 79);
    tensor *self = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){4, 4}, NULL), *at = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){4}, (const double[]){1, 0, 3, 2});
    tensor *square = kit_tensor(&k, ASSAY_I64, 2, (const int64_t[]){4, 4}, NULL), *other = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){4, 4}, NULL);
    fill_from(square, (const double[16]){0});
    const arg s = arg_tensor(self), a = arg_tensor(at), q = arg_tensor(square), o = arg_tensor(other);
    assert_int_equal(prepare_and_run(&k, "index_add_", (const arg[]){s, arg_int(0), a, s}, 4, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "clone them first"));
    assert_int_equal(prepare_and_run(&k, "scatter_add_", (const arg[]){s, arg_int(0), q, s}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "scatter_.src", (const arg[]){s, arg_int(0), q, s}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_put_", (const arg[]){s, arg_tensors(&at, 1), s}, 3, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_add_", (const arg[]){s, arg_int(0), a, o}, 4, &err), ASSAY_OK);
    assert_int_equal(prepare_and_run(&k, "index_add", (const arg[]){s, arg_int(0), a, s}, 4, &err), ASSAY_OK);
    self->strides[0] = 0; /* several elements in one place */
    assert_int_equal(prepare_and_run(&k, "index_add_", (const arg[]){s, arg_int(0), a, o}, 4, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "in one place"));
    assert_int_equal(prepare_and_run(&k, "scatter_add_", (const arg[]){s, arg_int(0), q, o}, 4, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_put_", (const arg[]){s, arg_tensors(&at, 1), o}, 3, &err), ASSAY_INVALID);
    assert_int_equal(prepare_and_run(&k, "index_add", (const arg[]){s, arg_int(0), a, o}, 4, &err), ASSAY_OK);
    kit_close(&k);
}

/* Shapes hang on how many elements of a mask are true: a plan is for as many as there were when it was prepared. */
static void masks_of_other_counts_are_refused(void **state) {
    (void)state;
    static const char *const backends[] = {"eager", "compiled"}, *const names[] = {"index.Tensor", "index_put", "index_put_"};
    kit k;
    kit_open(&k, 78);
    for (size_t i = 0; i < 4 * countof(backends) * countof(names); i++) {
        int n_true = (int)(i % 4);
        print_message("%s %s, %d true\n", backends[i / 4 / countof(names)], names[i / 4 % countof(names)], n_true);
        tensor *self = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){6, 3}, NULL), *value = kit_tensor(&k, ASSAY_F32, 0, NULL, NULL);
        tensor *mask = kit_values(&k, ASSAY_B8, 1, (const int64_t[]){6}, (const double[]){n_true > 2, n_true > 1, 0, 0, n_true > 0, 0});
        const char *name = names[i / 4 % countof(names)];
        op_call call = kit_call(&k, name, (const arg[]){arg_tensor(self), arg_tensors(&mask, 1), arg_tensor(value)},
                                strcmp(name, "index.Tensor") == 0 ? 2 : 3);
        outputs out;
        graph g;
        backend *b;
        plan *p;
        error err = {0};
        assert_int_equal(op_infer(&call, &out, &err), ASSAY_OK);
        assert_int_equal(graph_of_call(&k.memory, &call, &out, &g, &err), ASSAY_OK);
        assert_int_equal(backend_open(k.table, backends[i / 4 / countof(names)], &b, &err), ASSAY_OK);
        assert_int_equal(b->prepare(b, &g, &p, &err), ASSAY_OK);
        assert_int_equal(p->run(p, &err), ASSAY_OK);
        unsigned char *marks = (unsigned char *)tensor_data(mask);
        marks[5] = 1;
        assert_int_equal(p->run(p, &err), ASSAY_INVALID);
        if (n_true > 0) {
            marks[5] = marks[4] = 0;
            assert_int_equal(p->run(p, &err), ASSAY_INVALID);
            marks[2] = 1; /* as many, elsewhere */
            assert_int_equal(p->run(p, &err), ASSAY_OK);
        }
        p->release(p);
        b->close(b);
        outputs_clear(&out);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* A mask without dimensions is one of all of self, alone, and left out beside others, as in ATen. */
static void masks_of_all(void **state) {
    (void)state;
    static const char *const names[] = {"index_put", "index_put_", "_index_put_impl", "_index_put_impl_"};
    kit k;
    kit_open(&k, 79);
    for (size_t i = 0; i < 2 * countof(names); i++) {
        const bool holds = i % 2 == 0;
        tensor *mask = kit_values(&k, ASSAY_B8, 0, NULL, (const double[]){holds}), *none = NULL;
        tensor *at = kit_values(&k, ASSAY_I64, 1, (const int64_t[]){1}, (const double[]){1});
        tensor *value = kit_values(&k, ASSAY_F32, 0, NULL, (const double[]){9});
        const double was[] = {1, 2, 3, 4};
        const double *set = holds ? (const double[]){9, 9, 9, 9} : was;
        const double *sum = holds ? (const double[]){10, 11, 12, 13} : was;
#define SELF arg_tensor(kit_values(&k, ASSAY_F32, 2, (const int64_t[]){2, 2}, was))
        const char *name = names[i / 2];
        const arg alone = arg_tensors(&mask, 1), last = arg_tensors((tensor *[]){none, mask}, 2), beside = arg_tensors((tensor *[]){mask, at}, 2);
        kit_expect(&k, name, (const arg[]){SELF, alone, arg_tensor(value), arg_bool(false)}, 4, set, 4, 0);
        kit_expect(&k, name, (const arg[]){SELF, last, arg_tensor(value), arg_bool(false)}, 4, set, 4, 0);
        kit_expect(&k, name, (const arg[]){SELF, alone, arg_tensor(value), arg_bool(true)}, 4, sum, 4, 0);
        kit_expect(&k, name, (const arg[]){SELF, beside, arg_tensor(value), arg_bool(false)}, 4, (const double[]){1, 2, 9, 9}, 4, 0);
        kit_check(&k, name, (const arg[]){SELF, alone, arg_tensor(value), arg_bool(false)}, 4);
        kit_check(&k, name, (const arg[]){SELF, beside, arg_tensor(value), arg_bool(true)}, 4);
        kit_check(&k, "index.Tensor", (const arg[]){SELF, last}, 2);
        kit_expect(&k, "index.Tensor", (const arg[]){SELF, alone}, 2, was, holds ? 4 : 0, 0);
        kit_expect(&k, "index.Tensor", (const arg[]){SELF, beside}, 2, (const double[]){3, 4}, 2, 0);
        kit_refuses(&k, "index.Tensor", (const arg[]){SELF, arg_tensors((tensor *[]){at, mask, at}, 3)}, 2, ASSAY_INVALID);
        kit_refuses(&k, name, (const arg[]){arg_tensor(value), alone, arg_tensor(value), arg_bool(false)}, 4, ASSAY_INVALID);
#undef SELF
        kit_reset(&k);
    }
    kit_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_of_all), cmocka_unit_test(few_places_of_many),
        cmocka_unit_test(reads_agree),   cmocka_unit_test(writes_agree),  cmocka_unit_test(long_ones_agree),
        cmocka_unit_test(masks_take_values_of_other_types), cmocka_unit_test(small_types_add_up),
        cmocka_unit_test(large_gradients_agree),
        cmocka_unit_test(bags_agree), cmocka_unit_test(many_bags_agree), cmocka_unit_test(indices_without_bags),    cmocka_unit_test(known_answers), cmocka_unit_test(bad_indices_are_named),
        cmocka_unit_test(masks_of_other_counts_are_refused),
        cmocka_unit_test(values_in_the_memory_written_to_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
