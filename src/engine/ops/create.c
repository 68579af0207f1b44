/* SPDX-License-Identifier: Apache-2.0 */
/* New tensors: empty, zeros, ones, one value everywhere. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <string.h>

/* Type and layout from keyword arguments dtype_arg and the one behind it; self says what they leave open. */
static status push_new(const op_call *call, int dtype_arg, const int64_t *strides, outputs *out, error *err) {
    int ndim;
    const int64_t *sizes = call_ints(call, 1, &ndim);
    const char *layout = call_str(call, dtype_arg + 1);
    dtype type = call_dtype(call, dtype_arg, call_tensor(call, 0)->dtype);
    if (layout != NULL && strcmp(layout, "strided") != 0) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: expected a strided layout, got %.40s", call->op->signature.full,
                    layout);
    }
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return strides != NULL ? tensor_init_strided(t, type, ndim, sizes, strides, err)
                           : tensor_init(t, type, ndim, sizes, err);
}

/* new_zeros(self, size, *, dtype, layout, device, pin_memory), and new_empty and new_ones. */
static status new_infer(const op_call *call, outputs *out, error *err) {
    return push_new(call, 2, NULL, out, err);
}

/* new_empty_strided(self, size, stride, *, ...) */
static status new_strided_infer(const op_call *call, outputs *out, error *err) {
    static const int64_t none[1];
    int n_sizes, n_strides;
    call_ints(call, 1, &n_sizes);
    const int64_t *strides = call_ints(call, 2, &n_strides);
    if (n_sizes != n_strides) {
        return fail(err, ASSAY_INVALID, "%s: expected as many strides as sizes, got %d sizes and %d strides",
                    call->op->signature.full, n_sizes, n_strides);
    }
    return push_new(call, 3, n_strides > 0 ? strides : none, out, err);
}

/* new_full(self, size, fill_value, *, ...) */
static status new_full_infer(const op_call *call, outputs *out, error *err) {
    return push_new(call, 3, NULL, out, err);
}

static int64_t zero_term(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)ctx, (void)out, (void)flat, (void)k, (void)term;
    return 1;
}

static int64_t one_term(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)ctx, (void)out, (void)flat, (void)k;
    term->number = number_of_int(1);
    return 1;
}

static int64_t new_full_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)flat, (void)k;
    term->number = call_number(ctx->call, 2);
    return 1;
}

/* Whatever lies in new memory is right. */
static status anything(const op_call *call, const outputs *actual, error *err) {
    (void)call, (void)actual, (void)err;
    return ASSAY_OK;
}

static status fill_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init_like(t, self->dtype, self, err);
}

/* fill.Scalar(self, value) */
static status fill_scalar_infer(const op_call *call, outputs *out, error *err) {
    if (call_number(call, 1).category == CATEGORY_COMPLEX && !dtype_is_complex(call_tensor(call, 0)->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: a complex number cannot fill a tensor of %s", call->op->signature.full,
                    assay_dtype_name(call_tensor(call, 0)->dtype));
    }
    return fill_infer(call, out, err);
}

static int64_t fill_scalar_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)flat, (void)k;
    term->number = call_number(ctx->call, 1);
    return 1;
}

/* fill.Tensor(self, value): value has no dimensions. */
static status fill_tensor_infer(const op_call *call, outputs *out, error *err) {
    if (call_tensor(call, 1)->ndim != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a value without dimensions, got one with %d",
                    call->op->signature.full, call_tensor(call, 1)->ndim);
    }
    return fill_infer(call, out, err);
}

static int64_t fill_tensor_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)flat, (void)k;
    ref_take(term, call_tensor(ctx->call, 1), 0);
    return 1;
}

/* self gives its shape or type and is not read. */
static void write_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)call;
    cost->bytes = tensor_bytes(&out->items[0]);
}

static void no_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)call, (void)out;
    cost->bytes = 0;
}

static const op_family family_create = {.name = "creation", .infer = new_infer, .cost = write_cost};
static const op_family family_fill = {.name = "fill", .infer = fill_infer, .cost = write_cost, .has_in_place = true};

#define NEW_KEYWORDS                                                                                                   \
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static void empty_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call;
    v_result(g, 0, v_undefined(g, out->items[0].dtype));
}

static void number_parts(dag *g, const outputs *out, number n) {
    v_result(g, 0, v_constant(g, out->items[0].dtype, n));
}

static void zeros_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call;
    number_parts(g, out, number_of_int(0));
}

static void ones_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call;
    number_parts(g, out, number_of_int(1));
}

static void full_parts(dag *g, const op_call *call, const outputs *out) {
    number_parts(g, out, call_number(call, 2));
}

static void fill_scalar_parts(dag *g, const op_call *call, const outputs *out) {
    number_parts(g, out, call_number(call, 1));
}

static void fill_tensor_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    v_result(g, 0, v_raw(g, call, 1));
}

static const op_row rows[] = {
    {.signature = "new_empty(Tensor self, SymInt[] size, " NEW_KEYWORDS,
     .doc = "Memory for a tensor of the given sizes, contents undefined.",
     .family = &family_create,
     .cost = no_cost,
     .decompose = empty_parts,
     .check = anything},
    {.signature = "new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, " NEW_KEYWORDS,
     .doc = "Memory for a tensor of the given sizes and strides, contents undefined.",
     .family = &family_create,
     .infer = new_strided_infer,
     .cost = no_cost,
     .decompose = empty_parts,
     .check = anything},
    {.signature = "new_zeros(Tensor self, SymInt[] size, " NEW_KEYWORDS,
     .doc = "Zeros.",
     .family = &family_create,
     .decompose = zeros_parts,
     .reference_moves = zero_term},
    {.signature = "new_ones(Tensor self, SymInt[] size, " NEW_KEYWORDS,
     .doc = "Ones.",
     .family = &family_create,
     .decompose = ones_parts,
     .reference_moves = one_term},
    {.signature = "new_full(Tensor self, SymInt[] size, Scalar fill_value, " NEW_KEYWORDS,
     .doc = "One value everywhere.",
     .family = &family_create,
     .fits_output = 1 << 2,
     .infer = new_full_infer,
     .decompose = full_parts,
     .reference_moves = new_full_moves},
    {.signature = "fill.Scalar(Tensor self, Scalar value) -> Tensor",
     .doc = "A number in place of every element of self.",
     .family = &family_fill,
     .fits_output = 1 << 1,
     .infer = fill_scalar_infer,
     .writes_one_value = true,
     .decompose = fill_scalar_parts,
     .reference_moves = fill_scalar_moves},
    {.signature = "fill.Tensor(Tensor self, Tensor value) -> Tensor",
     .doc = "The one element of value in place of every element of self.",
     .family = &family_fill,
     .infer = fill_tensor_infer,
     .decompose = fill_tensor_parts,
     .reference_moves = fill_tensor_moves},
};

const op_rows rows_create = {rows, countof(rows)};
