/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's bias where no product takes it along: added behind it, and its gradient. */
#include "engine/kernels/cpu/conv_bias.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/row_loops.h"

#include <stdalign.h>

/* One channel's: i where the outputs are integers, f elsewhere. */
typedef union bias_value {
    double f;
    int64_t i;
} bias_value;

static void load_values(const tensor *bias, dtype t, int64_t from, int64_t n, bias_value *values) {
    const int64_t step = bias->strides[0] * (int64_t)dtype_size(bias->dtype);
    const char *at = tensor_data(bias) + from * step;
    for (int64_t i = 0; i < n; i++, at += step) {
        values[i] = dtype_is_integral(t) ? (bias_value){.i = element_load_int(bias->dtype, at)} : (bias_value){.f = element_load(bias->dtype, at)};
    }
}

/* n elements `step` apart, each plus values[i * value_step]. */
static void add_values(dtype t, char *at, int64_t step, const bias_value *values, int64_t value_step, int64_t n) {
    for (int64_t i = 0; t == ASSAY_F32 && i < n; i++) {
        ((float *)(void *)at)[i * step] += (float)values[i * value_step].f;
    }
    for (int64_t i = 0; t == ASSAY_F64 && i < n; i++) {
        ((double *)(void *)at)[i * step] += values[i * value_step].f;
    }
    for (int64_t i = 0; t == ASSAY_I32 && i < n; i++) {
        ((uint32_t *)(void *)at)[i * step] += (uint32_t)values[i * value_step].i;
    }
    for (int64_t i = 0; t == ASSAY_I64 && i < n; i++) {
        ((uint64_t *)(void *)at)[i * step] += (uint64_t)values[i * value_step].i;
    }
    const bool is_computed_in = t == ASSAY_F32 || t == ASSAY_F64 || t == ASSAY_I32 || t == ASSAY_I64;
    for (int64_t i = 0; !is_computed_in && i < n; i++) { /* of what has no sums: they are all there is */
        char *to = at + i * step * (int64_t)dtype_size(t);
        const bias_value by = values[i * value_step];
        if (dtype_is_integral(t)) {
            element_store_int(t, to, (int64_t)((uint64_t)element_load_int(t, to) + (uint64_t)by.i));
        } else {
            element_store(t, to, element_load(t, to) + by.f);
        }
    }
}

/* Where position r of an image's rows of the last dimension, or of all positions, begins: [N, C, spatial...], the channel apart. */
static int64_t position_at(const tensor *t, int64_t r, int last) {
    int64_t at = 0;
    for (int d = last; d >= 2; d--) {
        at += r % t->sizes[d] * t->strides[d];
        r /= t->sizes[d];
    }
    return at + r * t->strides[0];
}

/* Position after position where those of all channels lie together, which threads share, else row after row of each channel: these are
   shared. */
void conv_add_bias(const tensor *out, char *data, const tensor *bias) {
    enum { BLOCK = 256 };
    const int64_t size = (int64_t)dtype_size(out->dtype), channels = out->sizes[1];
    const int last = out->ndim - 1;
    const bool together = channels > 1 && out->strides[1] == 1;
    int64_t rows = out->sizes[0];
    for (int d = 2; d < last + together; d++) {
        rows *= out->sizes[d];
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(2 * (double)tensor_numel(out) * (double)size))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(together ? rows : channels, 1, &from, &to);
        const int64_t first_row = together ? from : 0, last_row = together ? to : rows, last_channel = together ? channels : to;
        for (int64_t c = together ? 0 : from; c < last_channel; c += BLOCK) {
            bias_value values[BLOCK];
            const int64_t n = last_channel - c < BLOCK ? last_channel - c : BLOCK;
            load_values(bias, out->dtype, c, n, values);
            for (int64_t r = first_row; r < last_row; r++) {
                char *at = data + (position_at(out, r, last - !together) + c * out->strides[1]) * size;
                if (together) {
                    add_values(out->dtype, at, 1, values, 1, n);
                }
                for (int64_t i = 0; !together && i < n; i++, at += out->strides[1] * size) {
                    add_values(out->dtype, at, out->strides[last], &values[i], 0, out->sizes[last]);
                }
            }
        }
        parallel_leave(watch);
    }
}

/* Adds to total the n elements `stride` bytes apart: blocks in the computing type, the blocks in f64 (row_loops.h). */
static void sum_run_of(const row_loops *l, const char *from, dtype t, int64_t stride, int64_t n, double *total) {
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    row_wide sum = l->start[ROW_SUM];
    for (int64_t i = 0; i < n; i += ROW_BLOCK) {
        int64_t part = n - i < ROW_BLOCK ? n - i : ROW_BLOCK;
        l->fold[ROW_SUM](&sum, row_fetch(l, buffer, from + i * stride, t, stride, part), part);
    }
    *total += l->type == ASSAY_I64 ? (double)sum.i : sum.f;
}

/* One channel of a gradient [N, C, spatial...], whose spatial dimensions are joined where memory allows it. */
static double sum_channel(const tensor *grad, int64_t c) {
    const row_loops *l = row_loops_for(grad->dtype);
    int64_t size = (int64_t)dtype_size(grad->dtype);
    int last = grad->ndim - 1;
    int64_t run = grad->sizes[last], joined = last;
    while (joined > 2 && grad->strides[joined - 1] == grad->strides[last] * run) {
        run *= grad->sizes[--joined];
    }
    int64_t rows = 1;
    for (int d = 2; d < joined; d++) {
        rows *= grad->sizes[d];
    }
    double total = 0;
    for (int64_t i = 0; i < grad->sizes[0] * rows; i++) {
        int64_t rest = i % rows, at = i / rows * grad->strides[0] + c * grad->strides[1];
        for (int d = (int)joined - 1; d >= 2; d--) {
            at += rest % grad->sizes[d] * grad->strides[d];
            rest /= grad->sizes[d];
        }
        sum_run_of(l, tensor_data(grad) + at * size, grad->dtype, grad->strides[last] * size, run, &total);
    }
    return total;
}

/* Channels that lie together: rows of up to ROW_BLOCK channels are added in the computing type, a few hundred rows at a
   time, and those in f64. */
static void sum_channels_together(const tensor *grad, const tensor *out, int64_t from, int64_t n) {
    enum { ROWS_AT_ONCE = 256 };
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)], sums[ROW_BLOCK * sizeof(double)];
    double totals[ROW_BLOCK] = {0};
    const row_loops *l = row_loops_for(grad->dtype);
    int64_t size = (int64_t)dtype_size(grad->dtype), rows = tensor_numel(grad) / grad->sizes[1];
    for (int64_t first = 0; first < rows; first += ROWS_AT_ONCE) {
        int64_t to = first + ROWS_AT_ONCE < rows ? first + ROWS_AT_ONCE : rows;
        l->fill(sums, 0, n);
        for (int64_t i = first; i < to; i++) {
            const char *at = tensor_data(grad) + (i * grad->sizes[1] + from) * size;
            l->into[ROW_SUM](sums, row_fetch(l, buffer, at, grad->dtype, size, n), n);
        }
        for (int64_t c = 0; c < n; c++) {
            totals[c] += element_load(l->type, sums + c * (int64_t)l->size);
        }
    }
    for (int64_t c = 0; c < n; c++) {
        element_store(out->dtype, tensor_data(out) + (from + c) * (int64_t)dtype_size(out->dtype), totals[c]);
    }
}

void conv_sum_bias(const tensor *grad, const tensor *out) {
    size_t size = dtype_size(out->dtype);
    int64_t channels = grad->sizes[1];
    if (channels == 0) {
        return;
    }
    int threads = parallel_threads(tensor_bytes(grad));
    bool together = tensor_is_channels_last(grad);
    int64_t block = together ? (channels + threads - 1) / threads : 1;
    block = block > ROW_BLOCK ? ROW_BLOCK : block;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
#pragma omp for schedule(static) nowait
        for (int64_t c = 0; c < channels; c += block) {
            if (together) {
                sum_channels_together(grad, out, c, c + block < channels ? block : channels - c);
            } else {
                element_store(out->dtype, tensor_data(out) + c * (int64_t)size, sum_channel(grad, c));
            }
        }
        parallel_leave(watch);
    }
}
