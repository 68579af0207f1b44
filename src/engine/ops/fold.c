/* SPDX-License-Identifier: Apache-2.0 */
/* Windows laid out as columns, and the sums that undo it: im2col, col2im, unfold_backward. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

/* An image and the windows that slide over it, in both dimensions (0: height, 1: width). */
typedef struct windows {
    int64_t image[2];
    int64_t kernel[2];
    int64_t dilation[2];
    int64_t padding[2];
    int64_t stride[2];
    int64_t count[2]; /* windows along the dimension */
} windows;

enum { MAX_EXTENT = INT32_MAX }; /* of any window parameter: products and sums of two stay inside 64 bits */

/* Reads kernel_size, dilation, padding, stride from arguments first .. first + 3; image is set already. */
static status read_windows(const op_call *call, int first, windows *w, error *err) {
    for (int i = 1; i < first + 4; i++) {
        TRY(call_check_count(call, i, 2, err)); /* the image's sizes, too, where they are given */
    }
    for (int d = 0; d < 2; d++) {
        w->kernel[d] = call_int_at(call, first, d, 0);
        w->dilation[d] = call_int_at(call, first + 1, d, 0);
        w->padding[d] = call_int_at(call, first + 2, d, -1);
        w->stride[d] = call_int_at(call, first + 3, d, 0);
        if (w->kernel[d] < 1 || w->dilation[d] < 1 || w->padding[d] < 0 || w->stride[d] < 1 ||
            w->kernel[d] > MAX_EXTENT || w->dilation[d] > MAX_EXTENT || w->padding[d] > MAX_EXTENT ||
            w->stride[d] > MAX_EXTENT || w->image[d] > MAX_EXTENT) {
            return fail(err, ASSAY_INVALID,
                        "%s: expected a kernel, dilation and stride of 1 or more and padding of 0 or more, got %" PRId64
                        ", %" PRId64 ", %" PRId64 " and %" PRId64,
                        call->op->signature.full, w->kernel[d], w->dilation[d], w->stride[d], w->padding[d]);
        }
        int64_t room = w->image[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
        if (room < 0 || w->image[d] < 1) {
            return fail(err, ASSAY_INVALID,
                        "%s: no window of %" PRId64 " (dilation %" PRId64 ") fits %" PRId64 " with padding %" PRId64,
                        call->op->signature.full, w->kernel[d], w->dilation[d], w->image[d], w->padding[d]);
        }
        w->count[d] = room / w->stride[d] + 1;
    }
    return ASSAY_OK;
}

/* Booleans have columns, but no sum of them. */
static status check_floating(const op_call *call, const tensor *t, bool takes_bool, error *err) {
    dtype_category category = dtype_category_of(t->dtype);
    if (category >= CATEGORY_FLOATING || (takes_bool && category == CATEGORY_BOOLEAN)) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INVALID, "%s: expected a floating-point or complex tensor, got %s",
                call->op->signature.full, assay_dtype_name(t->dtype));
}

/* --- image to columns
 * -------------------------------------------------------------------------------------------------- */

static status im2col_windows(const op_call *call, windows *w, error *err) {
    const tensor *image = call_tensor(call, 0);
    if ((image->ndim != 3 && image->ndim != 4) || image->sizes[image->ndim - 3] == 0) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected an image [N, C, H, W] or [C, H, W], got %.160s",
                    call->op->signature.full, tensor_describe(text, image));
    }
    memcpy(w->image, image->sizes + image->ndim - 2, sizeof w->image);
    return read_windows(call, 1, w, err);
}

/* im2col(self [N, C, H, W], kernel_size, dilation, padding, stride) -> [N, C * kernel, windows] */
static status im2col_infer(const op_call *call, outputs *out, error *err) {
    const tensor *image = call_tensor(call, 0);
    windows w;
    int64_t sizes[3];
    TRY(im2col_windows(call, &w, err));
    TRY(check_floating(call, image, true, err));
    int batch = image->ndim == 4;
    sizes[0] = image->sizes[0];
    if (!mul_i64(image->sizes[batch], w.kernel[0] * w.kernel[1], &sizes[batch])) {
        return fail(err, ASSAY_TOO_LARGE, "%s: the columns are too long", call->op->signature.full);
    }
    sizes[batch + 1] = w.count[0] * w.count[1];
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init(t, image->dtype, batch + 2, sizes, err);
}

static int64_t im2col_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *image = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    windows w;
    int64_t index[TENSOR_MAX_DIMS], from[TENSOR_MAX_DIMS];
    int batch = image->ndim == 4;
    (void)k;
    if (im2col_windows(ctx->call, &w, NULL) != ASSAY_OK) {
        return 1;
    }
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int64_t row = index[batch], window = index[batch + 1];
    int64_t y = window / w.count[1] * w.stride[0] - w.padding[0] + row / w.kernel[1] % w.kernel[0] * w.dilation[0];
    int64_t x = window % w.count[1] * w.stride[1] - w.padding[1] + row % w.kernel[1] * w.dilation[1];
    from[0] = index[0];
    from[batch] = row / (w.kernel[0] * w.kernel[1]);
    from[batch + 1] = y;
    from[batch + 2] = x;
    if (y >= 0 && y < w.image[0] && x >= 0 && x < w.image[1]) {
        ref_take(term, image, sizes_ravel(image->ndim, image->sizes, from));
    }
    return 1;
}

/* --- columns to image
 * -------------------------------------------------------------------------------------------------- */

static status col2im_windows(const op_call *call, windows *w, error *err) {
    const tensor *columns = call_tensor(call, 0);
    int batch = columns->ndim == 3;
    for (int d = 0; d < 2; d++) {
        w->image[d] = call_int_at(call, 1, d, 0);
    }
    TRY(read_windows(call, 2, w, err));
    if ((columns->ndim != 2 && columns->ndim != 3) || columns->sizes[batch] == 0 ||
        columns->sizes[batch] % (w->kernel[0] * w->kernel[1]) != 0 ||
        columns->sizes[batch + 1] != w->count[0] * w->count[1]) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: expected columns [N, a multiple of %" PRId64 ", %" PRId64 "], or without N, got %.160s",
                    call->op->signature.full, w->kernel[0] * w->kernel[1], w->count[0] * w->count[1],
                    tensor_describe(text, columns));
    }
    return ASSAY_OK;
}

/* col2im(self [N, C * kernel, windows], output_size, kernel_size, dilation, padding, stride) -> [N, C, H, W] */
static status col2im_infer(const op_call *call, outputs *out, error *err) {
    const tensor *columns = call_tensor(call, 0);
    windows w;
    TRY(col2im_windows(call, &w, err));
    TRY(check_floating(call, columns, false, err));
    int batch = columns->ndim == 3;
    int64_t sizes[4] = {columns->sizes[0]};
    sizes[batch] = columns->sizes[batch] / (w.kernel[0] * w.kernel[1]);
    sizes[batch + 1] = w.image[0];
    sizes[batch + 2] = w.image[1];
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init(t, columns->dtype, batch + 3, sizes, err);
}

/* The window that shows position x at place k of its kernel, or -1. */
static int64_t window_showing(const windows *w, int d, int64_t x, int64_t k) {
    int64_t at = x + w->padding[d] - k * w->dilation[d];
    return at >= 0 && at % w->stride[d] == 0 && at / w->stride[d] < w->count[d] ? at / w->stride[d] : -1;
}

static int64_t col2im_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *columns = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    windows w;
    int64_t index[TENSOR_MAX_DIMS], from[3];
    int batch = columns->ndim == 3;
    if (col2im_windows(ctx->call, &w, NULL) != ASSAY_OK) {
        return 1;
    }
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int64_t ky = k / w.kernel[1], kx = k % w.kernel[1];
    int64_t wy = window_showing(&w, 0, index[batch + 1], ky), wx = window_showing(&w, 1, index[batch + 2], kx);
    from[0] = index[0];
    from[batch] = (index[batch] * w.kernel[0] + ky) * w.kernel[1] + kx;
    from[batch + 1] = wy * w.count[1] + wx;
    if (wy >= 0 && wx >= 0) {
        ref_take(term, columns, sizes_ravel(columns->ndim, columns->sizes, from));
    }
    return w.kernel[0] * w.kernel[1];
}

static void col2im_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *columns = call_tensor(call, 0);
    *cost = (op_cost){.flops = (double)tensor_numel(columns),
                      .bytes = tensor_bytes(columns) + tensor_bytes(&out->items[0]),
                      .reduction = (double)call_int_at(call, 2, 0, 1) * (double)call_int_at(call, 2, 1, 1)};
}

/* --- unfold_backward
 * ------------------------------------------------------------------------------------------------------ */

/* unfold_backward(grad_in [..., windows at dim, ..., size], input_sizes, dim, size, step) */
static status unfold_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0);
    int ndim, dim;
    const int64_t *sizes = call_ints(call, 1, &ndim);
    int64_t size = call_int(call, 3), step = call_int(call, 4);
    tensor *t;
    TRY(outputs_next(out, &t, err));
    TRY(tensor_init(t, grad->dtype, ndim, sizes, err));
    TRY(dim_wrap(call_int(call, 2), ndim, &dim, err));
    const int64_t length = ndim > 0 ? sizes[dim] : 1; /* a number unfolds as one element, whose window is all there is */
    bool agrees = step > 0 && size >= 0 && size <= length && grad->ndim == ndim + 1 && grad->sizes[ndim] == size &&
                  (ndim == 0 || grad->sizes[dim] == (length - size) / step + 1);
    for (int d = 0; agrees && d < ndim; d++) {
        agrees = d == dim || grad->sizes[d] == sizes[d];
    }
    if (!agrees) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: %.160s is not the gradient of %.160s unfolded in dimension %d by windows of %" PRId64
                    " and steps of %" PRId64,
                    call->op->signature.full, tensor_describe(has, grad), tensor_describe(needs, t), dim, size, step);
    }
    return ASSAY_OK;
}

static int64_t unfold_backward_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *grad = call_tensor(ctx->call, 0), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS + 1], size = call_int(ctx->call, 3), step = call_int(ctx->call, 4);
    int64_t dim = call_int(ctx->call, 2);
    if (t->ndim == 0) {
        if (size > 0) {
            ref_take(term, grad, 0);
        }
        return size;
    }
    dim = dim < 0 ? dim + t->ndim : dim;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int64_t at = index[dim], last = at / step, first = at < size ? 0 : (at - size) / step + 1;
    last = last < grad->sizes[dim] ? last : grad->sizes[dim] - 1;
    if (first + k <= last) {
        index[dim] = first + k;
        index[t->ndim] = at - index[dim] * step;
        ref_take(term, grad, sizes_ravel(grad->ndim, grad->sizes, index));
    }
    return last < first ? 0 : last - first + 1;
}

static void unfold_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *grad = call_tensor(call, 0);
    int64_t size = call_int(call, 3), step = call_int(call, 4);
    *cost = (op_cost){.flops = size > step ? (double)tensor_numel(grad) : 0,
                      .bytes = tensor_bytes(grad) + tensor_bytes(&out->items[0]),
                      .reduction = size > step ? (double)((size - 1) / step + 1) : 1};
}

static const op_family family_fold = {.name = "fold"};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static index_sum plus(dag *g, index_sum a, index_sum b) {
    return index_add(&g->indices, a, b);
}

/* Appends a bound unless it always holds. */
static void keep_within(view_map *map, view_bound *bounds, index_sum at, int64_t low, int64_t high) {
    int64_t least, most;
    index_range(at, &least, &most);
    if (least < low || most > high) {
        bounds[map->n_bounds++] = (view_bound){at, low, high};
    }
}

/* The image seen as [..., kernel, kernel, windows, windows], in the columns' shape. */
static void im2col_parts(dag *g, const op_call *call, const outputs *out) {
    windows w;
    val x = v_raw(g, call, 0);
    if (im2col_windows(call, &w, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    int lead = v_ndim(g, x) - 2;
    int64_t sizes[TENSOR_MAX_DIMS];
    index_sum at[TENSOR_MAX_DIMS];
    view_bound bounds[2];
    view_map map = {.n_at = lead + 2, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    memcpy(sizes, v_sizes(g, x), (size_t)lead * sizeof *sizes);
    for (int d = 0; d < 2; d++) {
        sizes[lead + d] = w.kernel[d];
        sizes[lead + 2 + d] = w.count[d];
    }
    for (int d = 0; d < lead; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum start = v_line(g, v_dim(g, sizes, lead + 2 + d), w.stride[d], -w.padding[d]);
        at[lead + d] = plus(g, start, v_line(g, v_dim(g, sizes, lead + d), w.dilation[d], 0));
        keep_within(&map, bounds, at[lead + d], 0, w.image[d] - 1);
    }
    val columns = v_view(g, x, lead + 4, sizes, &map);
    v_result(g, 0, v_reshape(g, columns, out->items[0].ndim, out->items[0].sizes));
}

/* Columns seen as [..., kernel, kernel, windows, windows]. Without dilation tap k is the k-th window before the last that can
   cover a place, else the k-th place of a window, whether or not that window exists. */
typedef struct folding {
    windows w;
    val from;
    int64_t taps[2];
} folding;

static val col2im_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const folding *f = self;
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[6];
    int lead = v_ndim(g, f->from) - 4;
    view_map map = {.n_at = lead + 4, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    for (int d = 0; d < lead; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        const windows *w = &f->w;
        index_sum y = v_line(g, v_dim(g, sizes, lead + d), 1, w->padding[d]), place, window;
        if (w->dilation[d] == 1) {
            window = plus(g, index_quotient(&g->indices, y, w->stride[d]), v_line(g, k[d], -1, 0));
            place = plus(g, index_remainder(&g->indices, y, w->stride[d]), v_line(g, k[d], w->stride[d], 0));
            keep_within(&map, bounds, place, 0, w->kernel[d] - 1);
        } else {
            index_sum start = plus(g, y, v_line(g, k[d], -w->dilation[d], 0));
            place = k[d];
            window = index_quotient(&g->indices, start, w->stride[d]);
            keep_within(&map, bounds, index_remainder(&g->indices, start, w->stride[d]), 0, 0);
        }
        keep_within(&map, bounds, window, 0, w->count[d] - 1);
        at[lead + d] = place;
        at[lead + 2 + d] = window;
    }
    return v_view(g, f->from, ndim, sizes, &map);
}

static void col2im_parts(dag *g, const op_call *call, const outputs *out) {
    folding f = {.from = v_arg(g, call, 0)};
    const tensor *t = &out->items[0];
    int64_t sizes[TENSOR_MAX_DIMS];
    if (col2im_windows(call, &f.w, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    int lead = t->ndim - 2;
    memcpy(sizes, t->sizes, (size_t)lead * sizeof *sizes);
    for (int d = 0; d < 2; d++) {
        sizes[lead + d] = f.w.kernel[d];
        sizes[lead + 2 + d] = f.w.count[d];
        f.taps[d] = f.w.dilation[d] == 1 ? (f.w.kernel[d] - 1) / f.w.stride[d] + 1 : f.w.kernel[d];
    }
    f.from = v_reshape(g, f.from, lead + 4, sizes);
    v_result(g, 0, v_sum_of_taps(g, t->ndim, t->sizes, f.taps[0], f.taps[1], col2im_tap, &f));
}

/* One dimension of windows. */
typedef struct unfolding {
    val from;
    int dim;
    int64_t size, step, count;
} unfolding;

static val unfold_backward_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const unfolding *u = self;
    index_sum at[TENSOR_MAX_DIMS];
    view_bound bounds[2];
    int n = v_ndim(g, u->from);
    view_map map = {.n_at = n, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    (void)row;
    for (int d = 0; d + 1 < n; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    index_sum y = at[u->dim];
    at[u->dim] = plus(g, index_quotient(&g->indices, y, u->step), v_line(g, column, -1, 0));
    at[n - 1] = plus(g, index_remainder(&g->indices, y, u->step), v_line(g, column, u->step, 0));
    keep_within(&map, bounds, at[u->dim], 0, u->count - 1);
    keep_within(&map, bounds, at[n - 1], 0, u->size - 1);
    return v_view(g, u->from, ndim, sizes, &map);
}

static void unfold_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    unfolding u = {.from = v_arg(g, call, 0), .size = call_int(call, 3), .step = call_int(call, 4)};
    if (u.size == 0 || dim_wrap(call_int(call, 2), t->ndim, &u.dim, NULL) != ASSAY_OK) {
        v_refuse(g, "windows of nothing");
        return;
    }
    if (t->ndim == 0) {
        v_result(g, 0, v_reshape(g, u.from, 0, NULL));
        return;
    }
    u.count = v_size(g, u.from, u.dim);
    v_result(g, 0, v_sum_of_taps(g, t->ndim, t->sizes, 1, (u.size - 1) / u.step + 1, unfold_backward_tap, &u));
}

static const op_row rows[] = {
    {.signature = "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .doc = "Every window of an image as a column.",
     .family = &family_fold,
     .infer = im2col_infer,
     .decompose = im2col_parts,
     .reference_moves = im2col_moves},
    {.signature = "im2col_backward(Tensor grad_output, int[2] input_size, int[2] kernel_size, int[2] dilation, "
                  "int[2] padding, int[2] stride) -> Tensor",
     .doc = "The gradient of im2col, which is col2im; a name that ATen has since dropped.",
     .family = &family_fold,
     .infer = col2im_infer,
     .decompose = col2im_parts,
     .cost = col2im_cost,
     .reference_moves = col2im_moves},
    {.signature = "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
                  "int[2] stride) -> Tensor",
     .doc = "An image from the columns of its windows, added up where they overlap.",
     .family = &family_fold,
     .infer = col2im_infer,
     .decompose = col2im_parts,
     .cost = col2im_cost,
     .reference_moves = col2im_moves},
    {.signature =
         "col2im_backward(Tensor grad_output, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
         "-> Tensor",
     .doc = "The gradient of col2im, which is im2col; a name that ATen has since dropped.",
     .family = &family_fold,
     .infer = im2col_infer,
     .decompose = im2col_parts,
     .reference_moves = im2col_moves},
    {.signature = "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
     .doc = "The gradients of all windows of a dimension added up where the windows overlap.",
     .family = &family_fold,
     .infer = unfold_backward_infer,
     .decompose = unfold_backward_parts,
     .cost = unfold_backward_cost,
     .reference_moves = unfold_backward_moves},
};

const op_rows rows_fold = {rows, countof(rows)};
