/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a tensor, as views: slices, single indices, pieces. */
#include "engine/ops/rows.h"
#include "engine/ops/view.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

/* Output: n indices of dimension dim from `from` in steps. */
static status push_part(const op_call *call, outputs *out, int dim, int64_t from, int64_t n, int64_t step, error *err) {
    const tensor *self = call_tensor(call, 0);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
    memcpy(strides, self->strides, (size_t)self->ndim * sizeof *strides);
    sizes[dim] = n;
    if (!mul_i64(strides[dim], step, &strides[dim])) {
        return fail(err, ASSAY_TOO_LARGE, "%s: a step of %" PRId64 " is too large", call->op->signature.full, step);
    }
    return view_push(call, out, self->ndim, sizes, strides, from * self->strides[dim], err);
}

static int64_t part_term(ref_ctx *ctx, int out, int64_t flat, int dim, int64_t from, int64_t step, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    sizes_unravel(t->ndim, t->sizes, flat, index);
    index[dim] = from + index[dim] * step;
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

/* Python's rule for a slice's end: counted from the back when negative, held inside [0, size]. */
static int64_t slice_bound(const op_call *call, int i, int64_t size, int64_t if_none) {
    int64_t bound = call_is_none(call, i) ? if_none : call_int(call, i);
    bound = bound < 0 ? bound + size : bound;
    return bound < 0 ? 0 : bound > size ? size : bound;
}

/* slice.Tensor(self, dim, start, end, step) */
static status slice_infer(const op_call *call, outputs *out, error *err) {
    int dim;
    TRY(view_take_dim(call, 1, &dim, err));
    int64_t size = call_tensor(call, 0)->sizes[dim], step = call_int(call, 4);
    if (step <= 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a step of 1 or more, got %" PRId64, call->op->signature.full,
                    step);
    }
    int64_t start = slice_bound(call, 2, size, 0), end = slice_bound(call, 3, size, INT64_MAX);
    int64_t n = end > start ? (end - start - 1) / step + 1 : 0;
    return push_part(call, out, dim, start, n, step, err);
}

static int64_t slice_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0);
    int dim = view_wrapped(call_int(ctx->call, 1), self->ndim);
    (void)k;
    return part_term(ctx, out, flat, dim, slice_bound(ctx->call, 2, self->sizes[dim], 0), call_int(ctx->call, 4), term);
}

/* One index of a dimension, which goes. */
static status push_one(const op_call *call, outputs *out, int dim, int64_t at, error *err) {
    const tensor *self = call_tensor(call, 0);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    for (int d = 0; d + 1 < self->ndim; d++) {
        sizes[d] = self->sizes[d + (d >= dim)];
        strides[d] = self->strides[d + (d >= dim)];
    }
    return view_push(call, out, self->ndim - 1, sizes, strides, at * self->strides[dim], err);
}

static int64_t one_term(ref_ctx *ctx, int out, int64_t flat, int dim, int64_t at, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    sizes_unravel(t->ndim, t->sizes, flat, index);
    memmove(index + dim + 1, index + dim, (size_t)(t->ndim - dim) * sizeof *index);
    index[dim] = at;
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

/* select.int(self, dim, index) */
static status select_infer(const op_call *call, outputs *out, error *err) {
    int dim;
    TRY(view_take_dim(call, 1, &dim, err));
    int64_t size = call_tensor(call, 0)->sizes[dim], at = call_int(call, 2);
    if (at < -size || at >= size) {
        return fail(err, ASSAY_INVALID, "%s: expected an index from %" PRId64 " to %" PRId64 ", got %" PRId64,
                    call->op->signature.full, -size, size - 1, at);
    }
    return push_one(call, out, dim, at < 0 ? at + size : at, err);
}

static int64_t select_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0);
    int dim = view_wrapped(call_int(ctx->call, 1), self->ndim);
    int64_t at = call_int(ctx->call, 2);
    (void)k;
    return one_term(ctx, out, flat, dim, at < 0 ? at + self->sizes[dim] : at, term);
}

/* unbind.int(self, dim) */
static status unbind_infer(const op_call *call, outputs *out, error *err) {
    int dim;
    TRY(view_take_dim(call, 1, &dim, err));
    for (int64_t i = 0; i < call_tensor(call, 0)->sizes[dim]; i++) {
        TRY(push_one(call, out, dim, i, err));
    }
    return ASSAY_OK;
}

static int64_t unbind_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)k;
    return one_term(ctx, out, flat, view_wrapped(call_int(ctx->call, 1), call_tensor(ctx->call, 0)->ndim), out, term);
}

/* split.Tensor(self, split_size, dim): the last piece may be shorter. */
static status split_infer(const op_call *call, outputs *out, error *err) {
    int dim;
    TRY(view_take_dim(call, 2, &dim, err));
    int64_t size = call_tensor(call, 0)->sizes[dim], piece = call_int(call, 1);
    if (piece < 0 || (piece == 0 && size != 0)) {
        return fail(err, ASSAY_INVALID, "%s: a dimension of %" PRId64 " cannot be split into pieces of %" PRId64,
                    call->op->signature.full, size, piece);
    }
    if (size == 0) {
        return push_part(call, out, dim, 0, 0, 1, err);
    }
    for (int64_t from = 0; from < size; from += piece) {
        TRY(push_part(call, out, dim, from, size - from < piece ? size - from : piece, 1, err));
        if (size - from <= piece) { /* from + piece may not fit */
            break;
        }
    }
    return ASSAY_OK;
}

static int64_t split_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    int dim = view_wrapped(call_int(ctx->call, 2), call_tensor(ctx->call, 0)->ndim);
    (void)k;
    return part_term(ctx, out, flat, dim, out == 0 ? 0 : out * call_int(ctx->call, 1), 1, term);
}

/* split_with_sizes(self, split_sizes, dim) */
static status split_with_sizes_infer(const op_call *call, outputs *out, error *err) {
    int dim, n;
    TRY(view_take_dim(call, 2, &dim, err));
    const int64_t *pieces = call_ints(call, 1, &n);
    int64_t size = call_tensor(call, 0)->sizes[dim], from = 0;
    for (int i = 0; i < n; i++) {
        if (pieces[i] < 0 || pieces[i] > size - from) {
            return fail(err, ASSAY_INVALID, "%s: piece %d of %" PRId64 " does not fit a dimension of %" PRId64,
                        call->op->signature.full, i, pieces[i], size);
        }
        TRY(push_part(call, out, dim, from, pieces[i], 1, err));
        from += pieces[i];
    }
    return from == size ? ASSAY_OK
                        : fail(err, ASSAY_INVALID, "%s: the pieces add up to %" PRId64 ", the dimension is %" PRId64,
                               call->op->signature.full, from, size);
}

static int64_t split_with_sizes_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    int n;
    const int64_t *pieces = call_ints(ctx->call, 1, &n);
    int64_t from = 0;
    (void)k;
    for (int i = 0; i < out; i++) {
        from += pieces[i];
    }
    return part_term(ctx, out, flat, view_wrapped(call_int(ctx->call, 2), call_tensor(ctx->call, 0)->ndim), from, 1, term);
}

static const op_family family_view = {.name = "view"};

static const op_row rows[] = {
    {.signature =
         "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
     .doc = "Every step-th index of one dimension, from start to before end.",
     .family = &family_view,
     .infer = slice_infer,
     .reference_moves = slice_moves,
     .is_view = true},
    {.signature = "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .doc = "One index of one dimension, which goes.",
     .family = &family_view,
     .infer = select_infer,
     .reference_moves = select_moves,
     .is_view = true},
    {.signature = "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
     .doc = "One output for every index of a dimension.",
     .family = &family_view,
     .infer = unbind_infer,
     .reference_moves = unbind_moves,
     .is_view = true},
    {.signature = "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
     .doc = "Pieces of one length along a dimension; the last may be shorter.",
     .family = &family_view,
     .infer = split_infer,
     .reference_moves = split_moves,
     .is_view = true},
    {.signature = "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     .doc = "Pieces of the given lengths along a dimension.",
     .family = &family_view,
     .infer = split_with_sizes_infer,
     .reference_moves = split_with_sizes_moves,
     .is_view = true},
};

const op_rows rows_slice = {rows, countof(rows)};
