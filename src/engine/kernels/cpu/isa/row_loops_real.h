/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of softmax, norms and losses, in `value` (float or double). Included after row_loops_common.h and
     exp_of(x)          the exponential,
     exp_shifted_of(x)  the same for x <= 0, where tiny results may flush,
     PACK_EXP           where there are exp_pack(p) and exp_shifted_pack(p), the same of packs. */
#include "device/caches.h"

#include <float.h>
#include <math.h>

#if !defined(PACK_EXP)
static inline __attribute__((always_inline)) pack exp_pack(pack p) {
    value e[PACK];
    memcpy(e, &p, sizeof e);
#pragma omp simd
    for (int k = 0; k < PACK; k++) {
        e[k] = exp_of(e[k]);
    }
    return pack_at(e);
}

/* What lies far above what was taken off, as behind a row's masked beginning, comes out beyond SOFTMAX_REACH and is taken anew. */
static inline __attribute__((always_inline)) pack exp_shifted_pack(pack p) {
    value e[PACK];
    memcpy(e, &p, sizeof e);
#pragma omp simd
    for (int k = 0; k < PACK; k++) {
        e[k] = exp_shifted_of(e[k] > 80 ? 80 : e[k]);
    }
    return pack_at(e);
}
#endif

/* Sums of products in blocks, as fold_sum makes them. */
static double dot(const void *left, const void *right, int64_t n) {
    const value *x = left, *y = right;
    double sum = 0;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        int64_t to = from + SUM_BLOCK < n ? from + SUM_BLOCK : n, i = from;
        pack a = {0}, b = {0};
        value rest = 0;
        for (; i + 2 * PACK <= to; i += 2 * PACK) {
            a += pack_at(x + i) * pack_at(y + i);
            b += pack_at(x + i + PACK) * pack_at(y + i + PACK);
        }
        for (; i < to; i++) {
            rest += x[i] * y[i];
        }
        sum += (double)(pack_sum(a + b) + rest);
    }
    return sum;
}

static double dot_centred(const void *left, const void *right, double mean, int64_t n) {
    const value *x = left, *y = right;
    value m = (value)mean;
    double sum = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t to = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value s = 0;
#pragma omp simd reduction(+ : s)
        for (int64_t i = from; i < to; i++) {
            s += x[i] * (y[i] - m);
        }
        sum += (double)s;
    }
    return sum;
}

static double distance(const void *left, const void *right, int64_t n) {
    const value *x = left, *y = right;
    double sum = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t to = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value s = 0;
#pragma omp simd reduction(+ : s)
        for (int64_t i = from; i < to; i++) {
            s += (x[i] - y[i]) * (x[i] - y[i]);
        }
        sum += (double)s;
    }
    return sum;
}

static void scale(void *to, const void *row, double factor, double offset, int64_t n) {
    value *y = to;
    const value *x = row;
    value f = (value)factor, p = (value)offset;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * f + p;
    }
}

static void subtract(void *to, const void *row, double less, double more, int64_t n) {
    value *y = to;
    const value *x = row;
    value a = (value)less, b = (value)more;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = (x[i] - a) - b;
    }
}

static void square_difference(void *to, const void *left, const void *right, int64_t n) {
    value *out = to;
    const value *x = left, *y = right;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = (x[i] - y[i]) * (x[i] - y[i]);
    }
}

static void scaled_difference(void *to, const void *grad, const void *left, const void *right, double factor, int64_t n) {
    value *out = to;
    const value *g = grad, *x = left, *y = right;
    value f = (value)factor;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = g != NULL ? f * (x[i] - y[i]) * g[i] : f * (x[i] - y[i]);
    }
}

#include "engine/kernels/cpu/isa/row_loops_pairs.h"
#include "engine/kernels/cpu/isa/row_loops_distance.h"
#include "engine/kernels/cpu/isa/row_loops_norm.h"
#include "engine/kernels/cpu/isa/row_loops_layer.h"
#include "engine/kernels/cpu/isa/row_loops_group.h"
#include "engine/kernels/cpu/isa/row_loops_layer_lines.h"
#include "engine/kernels/cpu/isa/row_loops_scaled.h"
#include "engine/kernels/cpu/isa/row_loops_softmax.h"
#include "engine/kernels/cpu/isa/row_loops_softmax_stream.h"
#include "engine/kernels/cpu/isa/row_loops_chunks.h"
#include "engine/kernels/cpu/isa/row_loops_columns.h"

#define REAL_ROW_LOOPS                                                                                                       \
    .start = {{.f = 0}, {.f = 0}, {.f = 0}, {.f = -(double)INFINITY}, {.f = (double)INFINITY}, {.f = 0}, {.f = 0}},          \
    .moments_short = moments_short, .centre_short = centre_short, .layer_back_short = layer_back_short, .scale_short = scale_short, .channel_sums_short = channel_sums_short,                    \
    .channel_grad_short = channel_grad_short, .softmax_short = softmax_short, .softmax_lines = softmax_lines, \
    .softmax_back_short = softmax_back_short,                                                \
    .finish = finish, .dot = dot, .dot_centred = dot_centred, .distance = distance, .moments = moments, .sums_about = sums_about, .moments_columns = moments_columns,    \
    .moments_merge = moments_merge, .exp_shifted = exp_shifted, .sum_exp = sum_exp, .scale = scale, .subtract = subtract,    \
    .ring_forward = ring_forward, .ring_backward = ring_backward,                                                            \
    .softmax_back = softmax_back, .log_softmax_back = log_softmax_back, .softmax_columns = softmax_columns,                  \
    .softmax_stream = softmax_stream, .softmax_back_stream = softmax_back_stream,                                             \
    .columns_stream = columns_stream, .columns_scale = columns_scale, .log_beyond_1 = log_beyond_1,                                                        \
    .softmax_back_columns = softmax_back_columns, .centre = centre, .affine = affine, .layer_sums = layer_sums,              \
    .layer_stream = layer_stream, .group_stream = group_stream, .layer_lines = layer_lines_run, .layer_back_lines = layer_back_lines_run, .scale_rows = scale_rows, .layer_back_stream = layer_back_stream,  \
    .layer_grad = layer_grad, .layer_params = layer_params, .channel_grad = channel_grad,                                   \
    .channel_grad_columns = channel_grad_columns, .channel_sums_columns = channel_sums_columns, .channel_squares_columns = channel_squares_columns,                              \
    .square_difference = square_difference, .scaled_difference = scaled_difference,                                         \
    .distance_of = distance_of, .difference_stream = difference_stream
