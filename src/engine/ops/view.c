/* SPDX-License-Identifier: Apache-2.0 */
/* Views: another shape or other strides over the same memory. Nothing is computed. Parts of a tensor are in slice.c. */
#include "engine/ops/rows.h"
#include "engine/ops/view.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

status view_push(const op_call *call, outputs *out, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                 error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor layout, *t;
    TRY(tensor_init_strided(&layout, self->dtype, ndim, sizes, strides, err));
    TRY(outputs_next(out, &t, err));
    tensor_share(t, self);
    t->is_wrapped_number = false;
    t->ndim = ndim;
    t->offset = self->offset + offset;
    memcpy(t->sizes, layout.sizes, (size_t)ndim * sizeof *t->sizes);
    memcpy(t->strides, layout.strides, (size_t)ndim * sizeof *t->strides);
    return ASSAY_OK;
}

status view_take_dim(const op_call *call, int i, int *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    if (self->ndim == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a tensor with dimensions, got one without",
                    call->op->signature.full);
    }
    return dim_wrap(call_int(call, i), self->ndim, out, err);
}

int view_wrapped(int64_t dim, int ndim) {
    return (int)(dim < 0 ? dim + (ndim > 0 ? ndim : 1) : dim);
}

/* Reference of views that keep the row-major order of the elements. */
static int64_t same_place(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)k;
    ref_take(term, call_tensor(ctx->call, 0), flat);
    return 1;
}

/* --- another shape
 * ------------------------------------------------------------------------------------------------------ */

/* Sizes as asked, with a -1 worked out. */
static status resolve_sizes(const op_call *call, int *ndim, int64_t *sizes, error *err) {
    const tensor *self = call_tensor(call, 0);
    const int64_t *asked = call_ints(call, 1, ndim);
    int64_t n = 1;
    int unknown = -1;
    if (*ndim > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_TOO_LARGE, "%s: expected at most %d dimensions, got %d", call->op->signature.full,
                    TENSOR_MAX_DIMS, *ndim);
    }
    for (int d = 0; d < *ndim; d++) {
        sizes[d] = asked[d];
        if (asked[d] == -1 && unknown < 0) {
            unknown = d;
        } else if (asked[d] < 0 || !mul_i64(n, asked[d], &n)) {
            return fail(err, ASSAY_INVALID, "%s: expected sizes of 0 or more and at most one -1, got %" PRId64,
                        call->op->signature.full, asked[d]);
        }
    }
    int64_t have = tensor_numel(self);
    if (unknown >= 0 && n != 0 && have % n == 0) {
        sizes[unknown] = have / n;
        return ASSAY_OK;
    }
    if (unknown >= 0 || n != have) {
        return fail(err, ASSAY_INVALID,
                    "%s: %" PRId64 " elements do not fit the shape asked for, which holds %s%" PRId64,
                    call->op->signature.full, have, unknown >= 0 ? "multiples of " : "", n);
    }
    return ASSAY_OK;
}

/* Strides under which the new sizes visit the same elements in the same order: each run of old dimensions that lie like
   one must be a product of new ones (ATen's computeStride). False when no strides do. */
static bool view_strides(const tensor *self, int ndim, const int64_t *sizes, int64_t *strides) {
    int d = ndim - 1;
    int64_t run = 1, view_run = 1, base = self->ndim > 0 ? self->strides[self->ndim - 1] : 1;
    for (int s = self->ndim - 1; s >= 0; s--) {
        run *= self->sizes[s];
        bool ends = s == 0 || (self->sizes[s - 1] != 1 && self->strides[s - 1] != run * base);
        if (!ends) {
            continue;
        }
        while (d >= 0 && (view_run < run || sizes[d] == 1)) {
            strides[d] = view_run * base;
            view_run *= sizes[d];
            d--;
        }
        if (view_run != run) {
            return false;
        }
        if (s > 0) {
            base = self->strides[s - 1];
            run = 1;
            view_run = 1;
        }
    }
    for (; d >= 0; d--) { /* of a tensor without dimensions */
        strides[d] = 1;
    }
    return true;
}

/* view(self, size) */
static status view_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    TRY(resolve_sizes(call, &ndim, sizes, err));
    if (tensor_numel(self) == 0) {
        bool same = ndim == self->ndim && memcmp(sizes, self->sizes, (size_t)ndim * sizeof *sizes) == 0;
        tensor layout;
        TRY(tensor_init(&layout, self->dtype, ndim, sizes, err)); /* sizes beside a 0 may be too large all the same */
        sizes_contiguous_strides(ndim, sizes, strides);
        return view_push(call, out, ndim, sizes, same ? self->strides : strides, 0, err);
    }
    if (!view_strides(self, ndim, sizes, strides)) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: %.200s has no strides for the shape asked for; it needs a copy",
                    call->op->signature.full, tensor_describe(text, self));
    }
    return view_push(call, out, ndim, sizes, strides, 0, err);
}

/* expand(self, size, *, implicit): new dimensions in front, size 1 to any size. */
static status expand_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int ndim;
    const int64_t *asked = call_ints(call, 1, &ndim);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int lead = ndim - self->ndim;
    if (lead < 0 || ndim > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_INVALID, "%s: expected %d to %d sizes, got %d", call->op->signature.full, self->ndim,
                    TENSOR_MAX_DIMS, ndim);
    }
    for (int d = 0; d < ndim; d++) {
        int64_t has = d >= lead ? self->sizes[d - lead] : 1;
        sizes[d] = asked[d] == -1 && d >= lead ? has : asked[d];
        if (sizes[d] < 0 || (sizes[d] != has && has != 1)) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d has size %" PRId64 " and cannot become %" PRId64,
                        call->op->signature.full, d, has, asked[d]);
        }
        if (d >= lead && sizes[d] == has) {
            strides[d] = self->strides[d - lead];
        } else if (d < lead && sizes[d] == 1) {
            strides[d] = d + 1 < ndim ? -1 : 1; /* as if the dimension behind it ended there; known below */
        } else {
            strides[d] = 0;
        }
    }
    for (int d = lead - 1; d >= 0; d--) {
        if (strides[d] == -1) {
            strides[d] = sizes[d + 1] * strides[d + 1];
        }
    }
    return view_push(call, out, ndim, sizes, strides, 0, err);
}

static int64_t expand_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < self->ndim; d++) {
        int64_t at = index[d + t->ndim - self->ndim];
        index[d] = self->sizes[d] == 1 ? 0 : at;
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

static status alias_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    return view_push(call, out, self->ndim, self->sizes, self->strides, 0, err);
}

/* unsqueeze(self, dim) */
static status unsqueeze_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int64_t sizes[TENSOR_MAX_DIMS + 1], strides[TENSOR_MAX_DIMS + 1];
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim + 1, &dim, err));
    for (int d = 0; d < self->ndim; d++) {
        sizes[d + (d >= dim)] = self->sizes[d];
        strides[d + (d >= dim)] = self->strides[d];
    }
    sizes[dim] = 1;
    strides[dim] = dim < self->ndim ? self->sizes[dim] * self->strides[dim] : 1;
    return view_push(call, out, self->ndim + 1, sizes, strides, 0, err);
}

/* squeeze.dim(self, dim): the dimension goes if its size is 1. */
static status squeeze_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int dim, kept = 0;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    for (int d = 0; d < self->ndim; d++) {
        if (d != dim || self->sizes[d] != 1) {
            sizes[kept] = self->sizes[d];
            strides[kept++] = self->strides[d];
        }
    }
    return view_push(call, out, kept, sizes, strides, 0, err);
}

/* --- another order of dimensions
 * -------------------------------------------------------------------------------------------- */

/* order[d]: which of self's dimensions stands at place d of the output. */
static status push_permuted(const op_call *call, outputs *out, const int *order, error *err) {
    const tensor *self = call_tensor(call, 0);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    for (int d = 0; d < self->ndim; d++) {
        sizes[d] = self->sizes[order[d]];
        strides[d] = self->strides[order[d]];
    }
    return view_push(call, out, self->ndim, sizes, strides, 0, err);
}

static int64_t permuted_term(ref_ctx *ctx, int out, int64_t flat, const int *order, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS], from[TENSOR_MAX_DIMS];
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < t->ndim; d++) {
        from[order[d]] = index[d];
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, from));
    return 1;
}

/* permute(self, dims) */
static status permute_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n, order[TENSOR_MAX_DIMS];
    const int64_t *dims = call_ints(call, 1, &n);
    uint32_t seen = 0;
    if (n != self->ndim) {
        return fail(err, ASSAY_INVALID, "%s: expected %d dimensions, got %d", call->op->signature.full, self->ndim, n);
    }
    for (int d = 0; d < n; d++) {
        TRY(dim_wrap(dims[d], n, &order[d], err));
        if ((seen >> order[d] & 1) != 0) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d is named twice", call->op->signature.full, order[d]);
        }
        seen |= UINT32_C(1) << order[d];
    }
    return push_permuted(call, out, order, err);
}

static int64_t permute_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    int n, order[TENSOR_MAX_DIMS];
    const int64_t *dims = call_ints(ctx->call, 1, &n);
    (void)k;
    for (int d = 0; d < n; d++) {
        order[d] = view_wrapped(dims[d], n);
    }
    return permuted_term(ctx, out, flat, order, term);
}

static void swap_order(int *order, int ndim, int a, int b) {
    for (int d = 0; d < ndim; d++) {
        order[d] = d == a ? b : d == b ? a : d;
    }
}

/* transpose.int(self, dim0, dim1) */
static status transpose_infer(const op_call *call, outputs *out, error *err) {
    int a, b, order[TENSOR_MAX_DIMS], ndim = call_tensor(call, 0)->ndim;
    TRY(dim_wrap(call_int(call, 1), ndim, &a, err));
    TRY(dim_wrap(call_int(call, 2), ndim, &b, err));
    swap_order(order, ndim, a, b);
    return push_permuted(call, out, order, err);
}

static int64_t transpose_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    int order[TENSOR_MAX_DIMS] = {0}, ndim = call_tensor(ctx->call, 0)->ndim;
    (void)k;
    swap_order(order, ndim, view_wrapped(call_int(ctx->call, 1), ndim), view_wrapped(call_int(ctx->call, 2), ndim));
    return permuted_term(ctx, out, flat, order, term);
}

/* t(self): at most two dimensions. */
static status t_infer(const op_call *call, outputs *out, error *err) {
    int order[TENSOR_MAX_DIMS] = {0}, ndim = call_tensor(call, 0)->ndim;
    if (ndim > 2) {
        return fail(err, ASSAY_INVALID, "%s: expected at most 2 dimensions, got %d", call->op->signature.full, ndim);
    }
    swap_order(order, ndim, 0, ndim - 1);
    return push_permuted(call, out, order, err);
}

static int64_t t_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    int order[TENSOR_MAX_DIMS] = {0}, ndim = call_tensor(ctx->call, 0)->ndim;
    (void)k;
    swap_order(order, ndim, 0, ndim - 1);
    return permuted_term(ctx, out, flat, order, term);
}

/* as_strided(self, size, stride, storage_offset): any layout over self's storage, of which it must stay inside. */
static status as_strided_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int ndim, n_strides;
    const int64_t *sizes = call_ints(call, 1, &ndim), *strides = call_ints(call, 2, &n_strides);
    int64_t offset = call_is_none(call, 3) ? self->offset : call_int(call, 3);
    if (ndim != n_strides || offset < 0) {
        return fail(
            err, ASSAY_INVALID,
            "%s: expected as many strides as sizes and no negative offset, got %d sizes, %d strides, offset %" PRId64,
            call->op->signature.full, ndim, n_strides, offset);
    }
    tensor layout;
    TRY(tensor_init_strided(&layout, self->dtype, ndim, sizes, strides, err));
    int64_t span = tensor_span(&layout), have = self->offset + tensor_span(self), end = 0;
    if (self->storage != NULL) {
        have = (int64_t)(self->storage->size_bytes / dtype_size(self->dtype));
    }
    if (!add_i64(offset, span, &end) || (span > 0 && end > have) || end > TENSOR_MAX_SPAN) {
        return fail(err, ASSAY_INVALID,
                    "%s: the layout reaches %" PRId64 " elements behind offset %" PRId64 ", the storage has %" PRId64,
                    call->op->signature.full, span, offset, have);
    }
    return view_push(call, out, ndim, sizes, strides, offset - self->offset, err);
}

static int64_t as_strided_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int ndim;
    const int64_t *strides = call_ints(ctx->call, 2, &ndim);
    int64_t index[TENSOR_MAX_DIMS];
    int64_t at = call_is_none(ctx->call, 3) ? self->offset : call_int(ctx->call, 3);
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < ndim; d++) {
        at += index[d] * strides[d];
    }
    term->dtype = self->dtype;
    term->at = tensor_data(self) + (at - self->offset) * (int64_t)dtype_size(self->dtype);
    return 1;
}

static const op_family family_view = {.name = "view"};

static const op_row rows[] = {
    {.signature = "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
     .doc = "The elements of self, in order, under another shape; one size may be -1.",
     .family = &family_view,
     .infer = view_infer,
     .reference_moves = same_place,
     .is_view = true},
    {.signature = "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
     .doc = "The elements of self, in order, under another shape; one size may be -1.",
     .family = &family_view,
     .infer = view_infer,
     .reference_moves = same_place,
     .is_view = true},
    {.signature = "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     .doc = "Repeats dimensions of size 1 without a copy, through strides of 0.",
     .family = &family_view,
     .infer = expand_infer,
     .reference_moves = expand_moves,
     .is_view = true},
    {.signature = "detach(Tensor(a) self) -> Tensor(a)",
     .doc = "self, cut off from the record that gradients are computed from.",
     .family = &family_view,
     .infer = alias_infer,
     .reference_moves = same_place,
     .is_view = true,
     .has_in_place = true},
    {.signature = "alias(Tensor(a) self) -> Tensor(a)",
     .doc = "self under a second name.",
     .family = &family_view,
     .infer = alias_infer,
     .reference_moves = same_place,
     .is_view = true},
    {.signature = "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
     .doc = "A dimension of size 1 more, at place dim.",
     .family = &family_view,
     .infer = unsqueeze_infer,
     .reference_moves = same_place,
     .is_view = true,
     .has_in_place = true},
    {.signature = "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
     .doc = "Dimension dim goes if its size is 1.",
     .family = &family_view,
     .infer = squeeze_infer,
     .reference_moves = same_place,
     .is_view = true,
     .has_in_place = true},
    {.signature = "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
     .doc = "The dimensions in another order.",
     .family = &family_view,
     .infer = permute_infer,
     .reference_moves = permute_moves,
     .is_view = true},
    {.signature = "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     .doc = "Two dimensions change places.",
     .family = &family_view,
     .infer = transpose_infer,
     .reference_moves = transpose_moves,
     .is_view = true,
     .has_in_place = true,
     .in_place_overload = "default"},
    {.signature = "t(Tensor(a) self) -> Tensor(a)",
     .doc = "The transpose of a matrix; vectors and numbers stay as they are.",
     .family = &family_view,
     .infer = t_infer,
     .reference_moves = t_moves,
     .is_view = true,
     .has_in_place = true},
    {.signature =
         "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
     .doc = "Any shape and strides over the memory that self lives in.",
     .family = &family_view,
     .infer = as_strided_infer,
     .reference_moves = as_strided_moves,
     .sees_storage = true,
     .is_view = true,
     .has_in_place = true},
};

const op_rows rows_view = {rows, countof(rows)};
