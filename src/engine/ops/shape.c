/* SPDX-License-Identifier: Apache-2.0 */
/* Elements brought to other places: pads, repeats, rolls, triangles, and the backwards of slices and selections. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

static int wrapped(int64_t dim, int ndim) {
    return (int)(dim < 0 ? dim + (ndim > 0 ? ndim : 1) : dim);
}

/* The element of src that stands at index (of ndim dimensions) once src is broadcast there. */
static void take_broadcast(ref_term *term, const tensor *src, int ndim, const int64_t *index) {
    int64_t from[TENSOR_MAX_DIMS];
    for (int d = 0; d < src->ndim; d++) {
        from[d] = src->sizes[d] == 1 ? 0 : index[d + ndim - src->ndim];
    }
    ref_take(term, src, sizes_ravel(src->ndim, src->sizes, from));
}

static status check_broadcasts(const op_call *call, const tensor *src, int ndim, const int64_t *sizes, error *err) {
    int64_t joined[TENSOR_MAX_DIMS];
    int joined_ndim = ndim;
    memcpy(joined, sizes, (size_t)ndim * sizeof *sizes);
    if (sizes_broadcast(&joined_ndim, joined, src->ndim, src->sizes, err) != ASSAY_OK || joined_ndim != ndim ||
        memcmp(joined, sizes, (size_t)ndim * sizeof *sizes) != 0) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        tensor part = {.dtype = src->dtype, .ndim = ndim};
        memcpy(part.sizes, sizes, (size_t)ndim * sizeof *sizes);
        sizes_contiguous_strides(ndim, sizes, part.strides);
        return fail(err, ASSAY_INVALID, "%s: expected a gradient that broadcasts to %.160s, got %.160s",
                    call->op->signature.full, tensor_describe(needs, &part), tensor_describe(has, src));
    }
    return ASSAY_OK;
}

/* A contiguous output of the sizes in list argument i. */
static status push_of_sizes(const op_call *call, int i, outputs *out, tensor **t, error *err) {
    int ndim;
    const int64_t *sizes = call_ints(call, i, &ndim);
    TRY(outputs_next(out, t, err));
    return tensor_init(*t, call_tensor(call, 0)->dtype, ndim, sizes, err);
}

/* --- backwards of slice and select
 * --------------------------------------------------------------------------------------- */

static int64_t clamp_bound(int64_t bound, int64_t size) {
    bound = bound < 0 ? bound + size : bound;
    return bound < 0 ? 0 : bound > size ? size : bound;
}

/* slice_backward(grad_output, input_sizes, dim, start, end, step) */
static status slice_backward_infer(const op_call *call, outputs *out, error *err) {
    tensor *t;
    int dim;
    int64_t sizes[TENSOR_MAX_DIMS], step = call_int(call, 5);
    TRY(push_of_sizes(call, 1, out, &t, err));
    TRY(dim_wrap(call_int(call, 2), t->ndim, &dim, err));
    if (t->ndim == 0 || step <= 0) {
        return fail(err, ASSAY_INVALID,
                    "%s: expected sizes of at least one dimension and a step of 1 or more, got step %" PRId64,
                    call->op->signature.full, step);
    }
    memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    int64_t start = clamp_bound(call_int(call, 3), sizes[dim]), end = clamp_bound(call_int(call, 4), sizes[dim]);
    sizes[dim] = end > start ? (end - start - 1) / step + 1 : 0;
    return check_broadcasts(call, call_tensor(call, 0), t->ndim, sizes, err);
}

static int64_t slice_backward_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS], step = call_int(ctx->call, 5);
    int dim = wrapped(call_int(ctx->call, 2), t->ndim);
    int64_t start = clamp_bound(call_int(ctx->call, 3), t->sizes[dim]);
    int64_t end = clamp_bound(call_int(ctx->call, 4), t->sizes[dim]);
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int64_t at = index[dim] - start;
    if (at >= 0 && index[dim] < end && at % step == 0) {
        index[dim] = at / step;
        take_broadcast(term, call_tensor(ctx->call, 0), t->ndim, index);
    }
    return 1;
}

/* select_backward(grad_output, input_sizes, dim, index) */
static status select_backward_infer(const op_call *call, outputs *out, error *err) {
    tensor *t;
    int dim;
    int64_t sizes[TENSOR_MAX_DIMS], at = call_int(call, 3);
    TRY(push_of_sizes(call, 1, out, &t, err));
    TRY(dim_wrap(call_int(call, 2), t->ndim, &dim, err));
    if (t->ndim == 0 || at < -t->sizes[dim] || at >= t->sizes[dim]) {
        return fail(err, ASSAY_INVALID, "%s: index %" PRId64 " is outside a dimension of %" PRId64,
                    call->op->signature.full, at, t->ndim == 0 ? 0 : t->sizes[dim]);
    }
    for (int d = 0; d + 1 < t->ndim; d++) {
        sizes[d] = t->sizes[d + (d >= dim)];
    }
    return check_broadcasts(call, call_tensor(call, 0), t->ndim - 1, sizes, err);
}

static int64_t select_backward_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS], at = call_int(ctx->call, 3);
    int dim = wrapped(call_int(ctx->call, 2), t->ndim);
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    if (index[dim] == (at < 0 ? at + t->sizes[dim] : at)) {
        memmove(index + dim, index + dim + 1, (size_t)(t->ndim - dim - 1) * sizeof *index);
        take_broadcast(term, call_tensor(ctx->call, 0), t->ndim - 1, index);
    }
    return 1;
}

/* --- pads
 * ------------------------------------------------------------------------------------------------------------------ */

/* Pads in front of and behind dimension d of ndim: the list names pairs from the last dimension on. */
static int64_t pad_before(const op_call *call, int ndim, int d, int64_t *after) {
    int n;
    const int64_t *pads = call_ints(call, 1, &n);
    int pair = ndim - 1 - d;
    *after = 2 * pair + 1 < n ? pads[2 * pair + 1] : 0;
    return 2 * pair + 1 < n ? pads[2 * pair] : 0;
}

/* constant_pad_nd(self, pad, value): negative pads crop. When no pad is positive ATen clones the part that stays. */
static status constant_pad_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n;
    call_ints(call, 1, &n);
    if (n % 2 != 0 || n > 2 * self->ndim) {
        return fail(err, ASSAY_INVALID, "%s: expected pairs of pads for at most %d dimensions, got %d numbers",
                    call->op->signature.full, self->ndim, n);
    }
    tensor *t, part;
    bool grows = false;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(tensor_init_strided(&part, self->dtype, self->ndim, self->sizes, self->strides, err));
    for (int d = 0; d < self->ndim; d++) {
        int64_t after, before = pad_before(call, self->ndim, d, &after), size = self->sizes[d], kept = 0;
        grows = grows || before > 0 || after > 0;
        bool fits = add_i64(size, before < 0 ? before : 0, &kept) && kept >= 0 &&
                    add_i64(kept, after < 0 ? after : 0, &kept) && kept >= 0;
        if (!fits || !add_i64(size, before, &sizes[d]) || !add_i64(sizes[d], after, &sizes[d]) || sizes[d] < 0) {
            return fail(err, ASSAY_INVALID, "%s: pads %" PRId64 " and %" PRId64 " do not fit dimension %d of %" PRId64,
                        call->op->signature.full, before, after, d, size);
        }
        part.sizes[d] = kept;
    }
    TRY(outputs_next(out, &t, err));
    if (!grows) {
        return tensor_init_like(t, self->dtype, &part, err);
    }
    return tensor_suggests_channels_last(self) ? tensor_init_channels_last(t, self->dtype, self->ndim, sizes, err)
                                               : tensor_init(t, self->dtype, self->ndim, sizes, err);
}

static int64_t constant_pad_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS], after;
    bool inside = true;
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < t->ndim; d++) {
        index[d] -= pad_before(ctx->call, t->ndim, d, &after);
        inside = inside && index[d] >= 0 && index[d] < self->sizes[d];
    }
    term->number = call_number(ctx->call, 2);
    if (inside) {
        ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    }
    return 1;
}

/* What is cropped away is not read. */
static void constant_pad_cost(const op_call *call, const outputs *out, op_cost *cost) {
    double read = tensor_bytes(call_tensor(call, 0)), written = tensor_bytes(&out->items[0]);
    cost->bytes = written + (read < written ? read : written);
}

/* Sizes of the padded image; [left, right, top, bottom]. */
static status reflection_sizes(const op_call *call, int padding_arg, const tensor *image, int64_t *sizes, error *err) {
    TRY(call_check_count(call, padding_arg, 4, err));
    if ((image->ndim != 3 && image->ndim != 4) || dtype_category_of(image->dtype) == CATEGORY_BOOLEAN) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected an image of 3 or 4 dimensions, not of booleans, got %.160s",
                    call->op->signature.full, tensor_describe(text, image));
    }
    memcpy(sizes, image->sizes, (size_t)image->ndim * sizeof *sizes);
    for (int axis = 0; axis < 2; axis++) {
        int d = image->ndim - 1 - axis;
        int64_t before = call_int_at(call, padding_arg, 2 * axis, 0),
                after = call_int_at(call, padding_arg, 2 * axis + 1, 0);
        if (before >= sizes[d] || after >= sizes[d] || before <= -sizes[d] || after <= -sizes[d] ||
            sizes[d] + before + after < 1) {
            return fail(err, ASSAY_INVALID,
                        "%s: expected pads of dimension %d between %" PRId64 " and %" PRId64
                        ", and elements left, got %" PRId64 " and %" PRId64 " for %" PRId64 " elements",
                        call->op->signature.full, d, 1 - sizes[d], sizes[d] - 1, before, after, sizes[d]);
        }
        sizes[d] += before + after;
    }
    for (int d = image->ndim - 3; d < image->ndim; d++) {
        if (image->sizes[d] == 0) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d is empty", call->op->signature.full, d);
        }
    }
    return ASSAY_OK;
}

static status init_as_suggested(tensor *t, const tensor *like, const int64_t *sizes, error *err) {
    return like->ndim == 4 && tensor_suggests_channels_last(like)
               ? tensor_init_channels_last(t, like->dtype, like->ndim, sizes, err)
               : tensor_init(t, like->dtype, like->ndim, sizes, err);
}

/* reflection_pad2d(self, padding) */
static status reflection_pad_infer(const op_call *call, outputs *out, error *err) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *t;
    TRY(reflection_sizes(call, 1, call_tensor(call, 0), sizes, err));
    TRY(outputs_next(out, &t, err));
    return init_as_suggested(t, call_tensor(call, 0), sizes, err);
}

static int64_t reflect(int64_t x, int64_t size) {
    return x < 0 ? -x : x >= size ? 2 * (size - 1) - x : x;
}

static int64_t reflection_pad_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int axis = 0; axis < 2; axis++) {
        int d = t->ndim - 1 - axis;
        index[d] = reflect(index[d] - call_int_at(ctx->call, 1, 2 * axis, 0), self->sizes[d]);
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

/* reflection_pad2d_backward(grad_output, self, padding) */
static status reflection_pad_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *self = call_tensor(call, 1);
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *t;
    TRY(reflection_sizes(call, 2, self, sizes, err));
    if (grad->dtype != self->dtype || grad->ndim != self->ndim ||
        memcmp(grad->sizes, sizes, (size_t)self->ndim * sizeof *sizes) != 0) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: %.160s is not the gradient of %.160s padded so", call->op->signature.full,
                    tensor_describe(has, grad), tensor_describe(needs, self));
    }
    TRY(outputs_next(out, &t, err));
    return init_as_suggested(t, self, self->sizes, err);
}

/* The padded positions that show position i: itself and its mirror images at either end; -1 where there is none. */
static int64_t mirror(int which, int64_t i, int64_t size, int64_t before, int64_t padded) {
    int64_t x = which == 0 ? i : which == 1 ? -i : 2 * (size - 1) - i;
    bool exists = which == 0 || (which == 1 && x < 0) || (which == 2 && x >= size);
    x += before;
    return exists && x >= 0 && x < padded ? x : -1;
}

static int64_t reflection_pad_backward_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *grad = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int w = t->ndim - 1, h = t->ndim - 2;
    index[w] = mirror((int)(k % 3), index[w], t->sizes[w], call_int_at(ctx->call, 2, 0, 0), grad->sizes[w]);
    index[h] = mirror((int)(k / 3), index[h], t->sizes[h], call_int_at(ctx->call, 2, 2, 0), grad->sizes[h]);
    if (index[w] >= 0 && index[h] >= 0) {
        ref_take(term, grad, sizes_ravel(grad->ndim, grad->sizes, index));
    }
    return 9;
}

static void reflection_pad_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *grad = call_tensor(call, 0);
    *cost = (op_cost){.flops = (double)(tensor_numel(grad) - tensor_numel(&out->items[0])),
                      .reduction = 9,
                      .bytes = tensor_bytes(grad) + tensor_bytes(&out->items[0])};
    cost->flops = cost->flops < 0 ? 0 : cost->flops;
}

/* --- repeat, flip, roll
 * ------------------------------------------------------------------------------------------------------ */

/* repeat(self, repeats) */
static status repeat_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n;
    const int64_t *repeats = call_ints(call, 1, &n);
    int64_t sizes[TENSOR_MAX_DIMS];
    int lead = n - self->ndim;
    if (lead < 0 || n > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_INVALID, "%s: expected %d to %d repeats, got %d", call->op->signature.full, self->ndim,
                    TENSOR_MAX_DIMS, n);
    }
    for (int d = 0; d < n; d++) {
        if (repeats[d] < 0 || !mul_i64(d >= lead ? self->sizes[d - lead] : 1, repeats[d], &sizes[d])) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d cannot be repeated %" PRId64 " times",
                        call->op->signature.full, d, repeats[d]);
        }
    }
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init(t, self->dtype, n, sizes, err);
}

static int64_t repeat_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < self->ndim; d++) {
        index[d] = index[d + t->ndim - self->ndim] % self->sizes[d];
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

/* flip(self, dims) */
static status flip_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n, dim;
    const int64_t *dims = call_ints(call, 1, &n);
    uint32_t seen = 0;
    for (int i = 0; i < n; i++) {
        TRY(dim_wrap(dims[i], self->ndim, &dim, err));
        if ((seen >> dim & 1) != 0) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d is named twice", call->op->signature.full, dim);
        }
        seen |= UINT32_C(1) << dim;
    }
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init_like(t, self->dtype, self, err);
}

static int64_t flip_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    int n;
    const int64_t *dims = call_ints(ctx->call, 1, &n);
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int i = 0; i < n && t->ndim > 0; i++) {
        int d = wrapped(dims[i], t->ndim);
        index[d] = t->sizes[d] - 1 - index[d];
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

/* How far round a shift goes, in [0, size). */
static int64_t shift_in(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* One dimension's roll in ATen joins the two parts with cat, whose layout depends on what both parts look like. */
static status roll_layout(tensor *t, int dim, int64_t shift, error *err) {
    if (tensor_numel(t) == 0) {
        tensor kept = *t;
        return tensor_init_like(t, kept.dtype, &kept, err);
    }
    tensor head = *t, tail = *t;
    head.sizes[dim] = shift_in(shift, t->sizes[dim]);
    tail.sizes[dim] -= head.sizes[dim];
    bool channels_last = tensor_suggests_channels_last(&head) && tensor_suggests_channels_last(&tail);
    tensor made;
    TRY(channels_last ? tensor_init_channels_last(&made, t->dtype, t->ndim, t->sizes, err)
                      : tensor_init(&made, t->dtype, t->ndim, t->sizes, err));
    *t = made;
    return ASSAY_OK;
}

/* roll(self, shifts, dims): without dims, over the elements in row-major order. */
static status roll_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n, n_dims, dim;
    const int64_t *shifts = call_ints(call, 1, &n), *dims = call_ints(call, 2, &n_dims);
    tensor layout, *t;
    if (n == 0 || (n_dims != n && !(n == 1 && n_dims == 0)) || (n_dims > 0 && self->ndim == 0)) {
        return fail(err, ASSAY_INVALID, "%s: expected as many shifts as dimensions, got %d and %d",
                    call->op->signature.full, n, n_dims);
    }
    TRY(outputs_next(out, &t, err));
    if (n_dims == 0) {
        return tensor_init(t, self->dtype, self->ndim, self->sizes, err);
    }
    TRY(tensor_init_strided(&layout, self->dtype, self->ndim, self->sizes, self->strides, err));
    for (int i = 0; i < n; i++) {
        TRY(dim_wrap(dims[i], self->ndim, &dim, err));
        TRY(roll_layout(&layout, dim, shifts[i], err));
    }
    *t = layout;
    return ASSAY_OK;
}

static int64_t roll_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int n, n_dims;
    const int64_t *shifts = call_ints(ctx->call, 1, &n), *dims = call_ints(ctx->call, 2, &n_dims);
    int64_t index[TENSOR_MAX_DIMS];
    (void)k;
    if (n_dims == 0) {
        int64_t size = tensor_numel(self);
        ref_take(term, self, shift_in(flat - shift_in(shifts[0], size), size));
        return 1;
    }
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int i = 0; i < n; i++) {
        int d = wrapped(dims[i], t->ndim);
        index[d] = shift_in(index[d] - shift_in(shifts[i], t->sizes[d]), t->sizes[d]);
    }
    ref_take(term, self, sizes_ravel(self->ndim, self->sizes, index));
    return 1;
}

static const op_family family_move = {.name = "move"};

static const op_row rows[] = {
    {.signature =
         "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) "
         "-> Tensor",
     .doc = "grad_output put back where the slice came from, zeros elsewhere.",
     .family = &family_move,
     .infer = slice_backward_infer,
     .decompose = slice_backward_parts,
     .reference_moves = slice_backward_moves},
    {.signature = "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
     .doc = "grad_output put back at the index selected, zeros elsewhere.",
     .family = &family_move,
     .infer = select_backward_infer,
     .decompose = select_backward_parts,
     .reference_moves = select_backward_moves},
    {.signature = "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     .doc = "self with a constant around it; pairs of pads from the last dimension on, negative ones crop.",
     .family = &family_move,
     .fits_output = 1 << 2,
     .infer = constant_pad_infer,
     .decompose = constant_pad_parts,
     .cost = constant_pad_cost,
     .reference_moves = constant_pad_moves},
    {.signature = "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     .doc = "Images with mirror images of themselves around, the edge not repeated.",
     .family = &family_move,
     .infer = reflection_pad_infer,
     .decompose = reflection_pad_parts,
     .reference_moves = reflection_pad_moves},
    {.signature = "reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
     .doc = "The sum of the gradients of all places that show a pixel.",
     .family = &family_move,
     .infer = reflection_pad_backward_infer,
     .decompose = reflection_pad_backward_parts,
     .cost = reflection_pad_backward_cost,
     .reference_moves = reflection_pad_backward_moves},
    {.signature = "repeat(Tensor self, SymInt[] repeats) -> Tensor",
     .doc = "self side by side with itself, as often as asked in each dimension.",
     .family = &family_move,
     .infer = repeat_infer,
     .decompose = repeat_parts,
     .reference_moves = repeat_moves},
    {.signature = "flip(Tensor self, int[] dims) -> Tensor",
     .doc = "The order of the given dimensions' indices reversed.",
     .family = &family_move,
     .infer = flip_infer,
     .decompose = flip_parts,
     .reference_moves = flip_moves},
    {.signature = "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     .doc = "Indices shifted round, what leaves at one end comes in at the other.",
     .family = &family_move,
     .infer = roll_infer,
     .decompose = roll_parts,
     .reference_moves = roll_moves},
};

const op_rows rows_shape = {rows, countof(rows)};
