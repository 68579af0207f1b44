/* SPDX-License-Identifier: Apache-2.0 */
/* reflection_pad2d_backward as sums of rows, each output row by one thread, so that nothing is added by two at once and the
   order of the sum is fixed. Accumulators are f32 (f16, bf16, f32) or f64. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/row_sum.h"

#include <string.h>

/* A row is W groups of G elements: one each in row-major images, all channels in channels-last ones. */
typedef struct mirror {
    row_sum sum;
    const tensor *grad, *dst;
    int64_t groups;  /* G */
    int64_t pads[2]; /* left, top */
    int64_t n_rows;
    bool is_straight;
    double bytes;
} mirror;

/* Adds n of the gradient row's positions from o on to positions x, x + direction, ... */
static void add_positions(const mirror *k, void *acc, const char *row, int64_t o, int64_t x, int direction, int64_t n) {
    const tensor *grad = k->grad;
    int w = grad->ndim - 1, c = grad->ndim - 3;
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2, across = grad->strides[w] * size, channel = grad->strides[c] * size;
    row += o * across;
    if (n <= 0) {
        return;
    }
    if (k->groups == 1) {
        row_sum_add(&k->sum, acc, x, direction, row, across, n);
    } else if (direction == 1 && channel == size && across == k->groups * size) {
        row_sum_add(&k->sum, acc, x * k->groups, 1, row, size, n * k->groups);
    } else {
        for (int64_t i = 0; i < n; i++) {
            row_sum_add(&k->sum, acc, (x + i * direction) * k->groups, 1, row + i * across, channel, k->groups);
        }
    }
}

/* Adds row oy of the padded gradient to the accumulators of the input row it shows. */
static void add_padded_row(const mirror *k, void *acc, const char *row) {
    int64_t width = k->dst->sizes[k->dst->ndim - 1], padded = k->grad->sizes[k->grad->ndim - 1], left = k->pads[0];
    int64_t from = left > 0 ? left : 0, end = left + width < padded ? left + width : padded;
    add_positions(k, acc, row, 0, left, -1, from);
    add_positions(k, acc, row, from, from - left, 1, end - from);
    add_positions(k, acc, row, end, width - 2, -1, padded - end);
}

/* A padded row onto an output row of the type that sums run in, which holds nothing yet where it is the first. */
static void add_straight(const mirror *k, char *to, const char *row, bool is_first) {
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    int64_t width = k->dst->sizes[k->dst->ndim - 1], left = k->pads[0], right = k->grad->sizes[k->grad->ndim - 1] - left - width;
    const char *middle = row + left * size, *behind = middle + width * size;
    if (is_first) {
        memcpy(to, middle, (size_t)(width * size));
    }
    if (k->sum.is_f64) {
        double *sums = (double *)(void *)to;
        k->sum.add->f64(sums, 1, (const double *)(const void *)middle, is_first ? 0 : width);
        k->sum.add->f64(sums + left, -1, (const double *)(const void *)row, left);
        k->sum.add->f64(sums + width - 2, -1, (const double *)(const void *)behind, right);
    } else {
        float *sums = (float *)(void *)to;
        k->sum.add->f32(sums, 1, (const float *)(const void *)middle, is_first ? 0 : width);
        k->sum.add->f32(sums + left, -1, (const float *)(const void *)row, left);
        k->sum.add->f32(sums + width - 2, -1, (const float *)(const void *)behind, right);
    }
}

/* Where sums run in the output's rows themselves: each shows at least its own row of the gradient. */
static bool is_straight(const mirror *k) {
    const tensor *grad = k->grad, *dst = k->dst;
    int h = dst->ndim - 2, w = dst->ndim - 1;
    return k->groups == 1 && (dst->dtype == ASSAY_F32 || dst->dtype == ASSAY_F64) && grad->strides[w] == 1 &&
           k->pads[0] >= 0 && k->pads[1] >= 0 && grad->sizes[w] >= k->pads[0] + dst->sizes[w] &&
           grad->sizes[h] >= k->pads[1] + dst->sizes[h];
}

static void mirror_row(const mirror *k, int64_t index) {
    const tensor *grad = k->grad, *dst = k->dst;
    int h = dst->ndim - 2, w = dst->ndim - 1, c = dst->ndim - 3;
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    int64_t height = dst->sizes[h], padded = grad->sizes[h], y = index % height, plane = index / height;
    int64_t channels = k->groups == 1 ? dst->sizes[c] : 1, channel = plane % channels, batch = plane / channels;
    int64_t from = channel * grad->strides[c] + (c > 0 ? batch * grad->strides[0] : 0);
    int64_t to = channel * dst->strides[c] + (c > 0 ? batch * dst->strides[0] : 0) + y * dst->strides[h];
    int64_t shown[3] = {y + k->pads[1], y > 0 ? k->pads[1] - y : -1,
                        y < height - 1 ? k->pads[1] + 2 * (height - 1) - y : -1};
    if (k->is_straight) { /* first the row that is sure to be there */
        const char *rows = tensor_data(grad) + from * size;
        add_straight(k, tensor_data(dst) + to * size, rows + shown[0] * grad->strides[h] * size, true);
        for (int i = 1; i < 3; i++) {
            if (shown[i] >= 0 && shown[i] < padded) {
                add_straight(k, tensor_data(dst) + to * size, rows + shown[i] * grad->strides[h] * size, false);
            }
        }
        return;
    }
    void *acc = row_sum_start(&k->sum, dst->sizes[w] * k->groups);
    for (int i = 0; i < 3; i++) {
        if (shown[i] >= 0 && shown[i] < padded) {
            add_padded_row(k, acc, tensor_data(grad) + (from + shown[i] * grad->strides[h]) * size);
        }
    }
    /* A row of the output is contiguous in either layout. */
    row_sum_store(&k->sum, acc, tensor_data(dst) + to * size, size, dst->sizes[w] * k->groups);
}

static status run_mirror(kernel_plan *plan) {
    const mirror *k = plan->state;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(row_sum_threads(&k->sum, k->bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(k->n_rows, 1, &from, &to);
        for (int64_t i = from; i < to; i++) {
            mirror_row(k, i);
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

static status prepare_mirror(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    mirror *k = arena_make(plan->memory, 1, sizeof *k);
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *k = (mirror){
        .grad = grad, .dst = dst, .pads = {call_int_at(plan->call, 2, 0, 0), call_int_at(plan->call, 2, 2, 0)}};
    int w = dst->ndim - 1, c = dst->ndim - 3;
    k->groups = tensor_is_channels_last(dst) ? dst->sizes[c] : 1;
    int64_t widest = dst->sizes[w] > grad->sizes[w] ? dst->sizes[w] : grad->sizes[w], capacity = 0;
    if (!mul_i64(widest, k->groups, &capacity)) {
        return fail(err, ASSAY_TOO_LARGE, "%s: rows are too long", plan->call->op->signature.full);
    }
    TRY(row_sum_make(&k->sum, dst->dtype, capacity, plan->memory, err));
    k->is_straight = is_straight(k);
    k->n_rows = tensor_numel(dst) / (dst->sizes[w] * k->groups);
    k->bytes = (double)dtype_size(dst->dtype) * (double)(tensor_numel(grad) + tensor_numel(dst));
    plan->state = k;
    plan->run = run_mirror;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"reflection_pad2d_backward.default", prepare_mirror, NULL},
};

const kernel_rows kernels_reflect_back = {rows, countof(rows)};
