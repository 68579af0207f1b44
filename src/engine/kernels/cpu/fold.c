/* SPDX-License-Identifier: Apache-2.0 */
/* Windows to columns as moves; columns to images and unfold_backward as sums of rows, each
   output row by one thread, so that nothing is added by two at once and the order of the sum is fixed. Accumulators are
   f32 (f16, bf16, f32) or f64. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/row_sum.h"

#include <string.h>

/* One dimension (0: height, 1: width) of windows over an image; validated by the row's infer. */
typedef struct windows {
    int64_t image[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
} windows;

static void read_windows(const op_call *call, int first, windows *w) {
    for (int d = 0; d < 2; d++) {
        w->kernel[d] = call_int_at(call, first, d, 1);
        w->dilation[d] = call_int_at(call, first + 1, d, 1);
        w->padding[d] = call_int_at(call, first + 2, d, 0);
        w->stride[d] = call_int_at(call, first + 3, d, 1);
        w->count[d] = (w->image[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1) / w->stride[d] + 1;
    }
}

/* The windows [first, first + n) whose place k lies inside the image. */
static void inside(const windows *w, int d, int64_t k, int64_t *first, int64_t *n) {
    int64_t shift = w->padding[d] - k * w->dilation[d], stride = w->stride[d];
    int64_t from = shift > 0 ? (shift + stride - 1) / stride : 0;
    int64_t end = w->image[d] + shift > 0 ? (w->image[d] + shift - 1) / stride + 1 : 0;
    end = end < w->count[d] ? end : w->count[d];
    *first = from < end ? from : 0;
    *n = from < end ? end - from : 0;
}

/* --- im2col
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* For each place of the kernel one box [N, C, windows down, windows across], and what padding leaves around it. */
static status prepare_im2col(kernel_plan *plan, error *err) {
    const tensor *image = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int lead = image->ndim - 3; /* 1 with a batch */
    windows w;
    memcpy(w.image, image->sizes + lead + 1, sizeof w.image);
    read_windows(plan->call, 1, &w);
    int64_t places = w.kernel[0] * w.kernel[1], row = dst->strides[lead], moves = 0;
    move_plan *p;
    if (!mul_i64(places, 9, &moves)) {
        return fail(err, ASSAY_TOO_LARGE, "%s: the kernel is too large", plan->call->op->signature.full);
    }
    TRY(move_plan_start(plan, moves, &p, err));
    for (int64_t place = 0; place < places; place++) {
        int64_t ky = place / w.kernel[1], kx = place % w.kernel[1], from[4] = {0}, sizes[4];
        box whole = {.ndim = 4,
                     .sizes = {lead ? image->sizes[0] : 1, image->sizes[lead], w.count[0], w.count[1]},
                     .dst_strides = {lead ? dst->strides[0] : 0, row * places, w.count[1], 1},
                     .src_strides = {lead ? image->strides[0] : 0, image->strides[lead],
                                     image->strides[lead + 1] * w.stride[0], image->strides[lead + 2] * w.stride[1]},
                     .dst_offset = row * place};
        box part = whole;
        memcpy(sizes, whole.sizes, sizeof sizes);
        inside(&w, 0, ky, &from[2], &sizes[2]);
        inside(&w, 1, kx, &from[3], &sizes[3]);
        part.src_offset = (ky * w.dilation[0] - w.padding[0]) * image->strides[lead + 1] +
                          (kx * w.dilation[1] - w.padding[1]) * image->strides[lead + 2];
        for (int d = 2; d < 4; d++) {
            box_cut(&part, d, from[d], sizes[d]);
        }
        move_plan_copy(p, &part, dst, image);
        move_plan_fill_around(p, &whole, from, sizes, dst, number_of_int(0));
    }
    p->together = true;
    return ASSAY_OK;
}

/* --- col2im
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* Work is cut into bands of output rows: small enough for L1, large enough that every place of the kernel adds many
   rows at once. */
enum { BAND_ELEMENTS = 4096 };

typedef struct col2im {
    windows w;
    row_sum sum;
    int64_t channels;
    int64_t band;    /* rows */
    int64_t bands;   /* of an image's channel */
    int64_t n_items; /* bands of all images and channels */
    const char *columns;
    ptrdiff_t strides[3]; /* bytes: batch, row of columns, window */
    char *image;          /* contiguous */
    double bytes;
} col2im;

/* The windows [first, last) whose row ky falls into output rows [from, to). */
static void windows_in_band(const windows *w, int64_t ky, int64_t from, int64_t to, int64_t *first, int64_t *last) {
    int64_t shift = w->padding[0] - ky * w->dilation[0], low = from + shift, high = to + shift;
    *first = low > 0 ? (low + w->stride[0] - 1) / w->stride[0] : 0;
    *last = high > 0 ? (high - 1) / w->stride[0] + 1 : 0;
    *last = *last < w->count[0] ? *last : w->count[0];
}

/* A band of one image's channel: every place of the kernel adds the windows that show it there. */
static void col2im_band(const col2im *k, int64_t item) {
    const windows *w = &k->w;
    int64_t plane = item / k->bands, top = item % k->bands * k->band;
    int64_t end = top + k->band < w->image[0] ? top + k->band : w->image[0], width = w->image[1];
    const char *columns = k->columns + plane / k->channels * k->strides[0] +
                          plane % k->channels * w->kernel[0] * w->kernel[1] * k->strides[1];
    void *acc = row_sum_start(&k->sum, (end - top) * width);
    for (int64_t place = 0; place < w->kernel[0] * w->kernel[1]; place++) {
        int64_t ky = place / w->kernel[1], kx = place % w->kernel[1], first, n, down, up;
        windows_in_band(w, ky, top, end, &down, &up);
        inside(w, 1, kx, &first, &n);
        if (n == 0 || down >= up) {
            continue;
        }
        const char *from = columns + place * k->strides[1] + down * w->count[1] * k->strides[2];
        const void *loaded = row_sum_load(&k->sum, from, k->strides[2], (up - down) * w->count[1]);
        int64_t y = down * w->stride[0] - w->padding[0] + ky * w->dilation[0] - top;
        int64_t x = first * w->stride[1] - w->padding[1] + kx * w->dilation[1];
        row_sum_add_rows(&k->sum, acc, y * width + x, w->stride[0] * width, w->stride[1], loaded, first, w->count[1], n,
                         up - down);
    }
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    row_sum_store(&k->sum, acc, k->image + (plane * w->image[0] + top) * width * size, size, (end - top) * width);
}

static status run_col2im(kernel_plan *plan) {
    const col2im *k = plan->state;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(row_sum_threads(&k->sum, k->bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(k->n_items, 1, &from, &to);
        for (int64_t i = from; i < to; i++) {
            col2im_band(k, i);
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

static status prepare_col2im(kernel_plan *plan, error *err) {
    const tensor *columns = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int lead = columns->ndim - 2;
    ptrdiff_t size = (ptrdiff_t)dtype_size(dst->dtype);
    col2im *k = arena_make(plan->memory, 1, sizeof *k);
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    memcpy(k->w.image, dst->sizes + lead + 1, sizeof k->w.image);
    read_windows(plan->call, 2, &k->w);
    int64_t height = k->w.image[0], width = k->w.image[1];
    k->band = width < BAND_ELEMENTS ? BAND_ELEMENTS / width : 1;
    k->band = k->band < height ? k->band : height;
    k->bands = (height + k->band - 1) / k->band;
    int64_t loaded = (k->band / k->w.stride[0] + 2) * k->w.count[1];
    TRY(row_sum_make(&k->sum, dst->dtype, k->band * width > loaded ? k->band * width : loaded, plan->memory, err));
    k->channels = dst->sizes[lead];
    k->n_items = tensor_numel(dst) / (height * width) * k->bands;
    k->columns = tensor_data(columns);
    k->strides[0] = lead ? columns->strides[0] * size : 0;
    k->strides[1] = columns->strides[lead] * size;
    k->strides[2] = columns->strides[lead + 1] * size;
    k->image = tensor_data(dst);
    k->bytes = (double)size * (double)(tensor_numel(columns) + tensor_numel(dst));
    plan->state = k;
    plan->run = run_col2im;
    return ASSAY_OK;
}

/* --- unfold_backward
 * ------------------------------------------------------------------------------------------------------------ */

/* Windows that do not overlap: their elements, the gaps between them, what lies behind the last. */
static status prepare_apart(kernel_plan *plan, int dim, int64_t size, int64_t step, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int64_t n = grad->sizes[dim], stride = dst->strides[dim], end = (n - 1) * step + size;
    move_plan *p;
    box part, gaps, tail;
    TRY(move_plan_start(plan, 3, &p, err));
    box_of(&part, grad);
    memcpy(part.src_strides, grad->strides, (size_t)grad->ndim * sizeof *grad->strides);
    memcpy(part.dst_strides, dst->strides, (size_t)dst->ndim * sizeof *dst->strides);
    part.dst_strides[dim] = stride * step;
    part.dst_strides[dst->ndim] = stride;
    gaps = part;
    move_plan_copy(p, &part, dst, grad);
    gaps.sizes[dim] = n - 1;
    gaps.sizes[dst->ndim] = step - size;
    gaps.dst_offset = size * stride;
    move_plan_fill(p, &gaps, dst, number_of_int(0));
    box_of(&tail, dst);
    box_cut(&tail, dim, end, dst->sizes[dim] - end);
    move_plan_fill(p, &tail, dst, number_of_int(0));
    p->together = true;
    return ASSAY_OK;
}

/* Elements of windows that are loaded at a time: what L1 and L2 hold. */
enum { TOGETHER_MOST = 1 << 15 };

typedef struct unfold {
    row_sum sum;
    const tensor *grad, *dst;
    int dim;
    int64_t size, step, n_lines;
    bool is_native; /* windows lie as they are added */
    bool is_dense;  /* or one behind the other, to be loaded together */
    double bytes;
} unfold;

/* One line along dim: all its windows added up. */
static void unfold_line(const unfold *k, int64_t line) {
    const tensor *grad = k->grad, *dst = k->dst;
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    int64_t from = 0, to = 0, length = dst->sizes[k->dim];
    for (int d = dst->ndim - 1; d >= 0; d--) {
        if (d != k->dim) {
            from += line % dst->sizes[d] * grad->strides[d];
            to += line % dst->sizes[d] * dst->strides[d];
            line /= dst->sizes[d];
        }
    }
    void *acc = row_sum_start(&k->sum, length);
    const char *first = tensor_data(grad) + from * size;
    int64_t n = grad->sizes[k->dim], next = grad->strides[k->dim];
    if (k->is_native || k->is_dense) { /* all windows at once */
        const void *loaded = k->is_native ? first : row_sum_load(&k->sum, first, size, n * k->size);
        row_sum_add_rows(&k->sum, acc, 0, k->step, 1, loaded, 0, next, k->size, n);
    }
    for (int64_t window = k->is_native || k->is_dense ? n : 0; window < n; window++) {
        row_sum_add(&k->sum, acc, window * k->step, 1, first + window * next * size, grad->strides[dst->ndim] * size, k->size);
    }
    row_sum_store(&k->sum, acc, tensor_data(dst) + to * size, dst->strides[k->dim] * size, length);
}

static status run_unfold(kernel_plan *plan) {
    const unfold *k = plan->state;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(row_sum_threads(&k->sum, k->bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(k->n_lines, 1, &from, &to);
        for (int64_t i = from; i < to; i++) {
            unfold_line(k, i);
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

static status prepare_unfold(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int64_t dim = call_int(plan->call, 2), size = call_int(plan->call, 3), step = call_int(plan->call, 4);
    dim = dim < 0 ? dim + dst->ndim : dim;
    if (size <= step) {
        return prepare_apart(plan, (int)dim, size, step, err);
    }
    unfold *k = arena_make(plan->memory, 1, sizeof *k);
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *k = (unfold){.grad = grad, .dst = dst, .dim = (int)dim, .size = size, .step = step};
    int64_t n = grad->sizes[dim], together = 0, room = dst->sizes[dim];
    bool is_run = grad->strides[dst->ndim] == 1 || size == 1;
    k->is_native = is_run && (dst->dtype == ASSAY_F32 || dst->dtype == ASSAY_F64);
    k->is_dense = is_run && grad->strides[dim] == size && mul_i64(n, size, &together) && together <= TOGETHER_MOST;
    TRY(row_sum_make(&k->sum, dst->dtype, k->is_dense && together > room ? together : room, plan->memory, err));
    k->n_lines = dst->sizes[dim] > 0 ? tensor_numel(dst) / dst->sizes[dim] : 0;
    k->bytes = (double)dtype_size(dst->dtype) * (double)(tensor_numel(grad) + tensor_numel(dst));
    plan->state = k;
    plan->run = run_unfold;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"im2col.default", prepare_im2col, NULL},          {"col2im_backward.default", prepare_im2col, NULL},
    {"col2im.default", prepare_col2im, NULL},          {"im2col_backward.default", prepare_col2im, NULL},
    {"unfold_backward.default", prepare_unfold, NULL},
};

const kernel_rows kernels_fold = {rows, countof(rows)};
