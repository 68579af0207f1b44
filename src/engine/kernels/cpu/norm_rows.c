/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm with channels apart in memory (NCHW and any other layout but channels-last): a channel's positions
   are rows. A block of channels, or a group, is gone over for its statistics and again for its output, while it is in the
   cache if it fits. Accumulators: rows in float (double for f64) by blocks, rows together in double. */
#include "engine/kernels/cpu/norm_rows.h"

#include "engine/kernels/cpu/norm_neighbours.h"
#include "engine/kernels/cpu/norm_group.h"
#include "engine/kernels/cpu/norm_ring.h"
#include "engine/kernels/cpu/norm_short.h"
#include "engine/kernels/cpu/norm_twice.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------------------------------------- */

/* A walk over the blocks of one channel's positions. */
typedef struct row_walk {
    const channel_norm *s;
    int64_t runs_left, done, n; /* of the run at hand: elements gone over; n: of the block */
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    char *at[NORM_OPERANDS];
} row_walk;

static row_walk walk_start(const channel_norm *s, int64_t n, int64_t c) {
    row_walk w;
    w.s = s;
    w.runs_left = nest_runs(&s->positions);
    w.done = w.n = 0;
    memset(w.index, 0, (size_t)s->positions.ndim * sizeof w.index[0]);
    for (int k = 0; k < s->positions.n_operands; k++) {
        w.offset[k] = n * s->n_stride[k] + c * s->c_stride[k];
    }
    return w;
}

static bool walk_next(row_walk *w) {
    const channel_norm *s = w->s;
    const loop *l = &s->positions;
    w->done += w->n;
    if (w->done == l->sizes[0]) {
        w->runs_left--;
        w->done = 0;
        nest_next(l, w->index, w->offset);
    }
    if (w->runs_left <= 0) {
        return false;
    }
    w->n = l->sizes[0] - w->done < ROW_BLOCK ? l->sizes[0] - w->done : ROW_BLOCK;
    for (int k = 0; k < l->n_operands; k++) {
        w->at[k] = s->data[k] != NULL ? s->data[k] + w->offset[k] + w->done * l->strides[k][0] : NULL;
    }
    return true;
}

static const void *fetch(const row_walk *w, int k, void *buffer) {
    return row_fetch(w->s->l, buffer, w->at[k], w->s->type[k], w->s->positions.strides[k][0], w->n);
}

static void *target(const row_walk *w, void *buffer) {
    return row_target(w->s->l, buffer, w->at[NORM_OUT], w->s->type[NORM_OUT], w->s->positions.strides[NORM_OUT][0]);
}

static void put(const row_walk *w, const void *from) {
    row_put(w->s->l, w->at[NORM_OUT], w->s->type[NORM_OUT], w->s->positions.strides[NORM_OUT][0], from, w->n);
}

/* A block that goes past the caches is made of operand k and stored piece by piece, and each piece asks for as much of the unit behind
   this one, `ahead` bytes further on: so the memory reads while it writes. */
static void stream_scaled(const row_walk *w, int k, double factor, double plus, int64_t ahead, char *made) {
    const row_loops *l = w->s->l;
    int64_t size = (int64_t)l->size;
    for (int64_t at = 0; at < w->n; at += STREAM_PIECE) {
        int64_t n = w->n - at < STREAM_PIECE ? w->n - at : STREAM_PIECE;
        const char *x = w->at[k] + at * size;
        fetch_soon(x + ahead, (size_t)(n * size));
        l->scale(made, x, factor, plus, n);
        l->stream(w->at[NORM_OUT] + at * size, made, (size_t)(n * size));
    }
}

static void put_scaled(const row_walk *w, int k, double factor, double plus, int64_t ahead, char *buffer) {
    const channel_norm *s = w->s;
    if (s->streams) {
        stream_scaled(w, k, factor, plus, ahead, buffer);
        return;
    }
    if (s->halves != NULL && w->s->type[k] == s->type[NORM_OUT] && s->positions.strides[k][0] == s->positions.strides[NORM_OUT][0]) {
        s->halves->scale(w->at[NORM_OUT], w->at[k], factor, plus, w->n);
        return;
    }
    void *to = target(w, buffer);
    s->l->scale(to, fetch(w, k, buffer), factor, plus, w->n);
    put(w, to);
}

static void stream_gradient(const row_walk *w, channel_factors f, int64_t ahead, char *made) {
    const row_loops *l = w->s->l;
    int64_t size = (int64_t)l->size;
    for (int64_t at = 0; at < w->n; at += STREAM_PIECE) {
        int64_t n = w->n - at < STREAM_PIECE ? w->n - at : STREAM_PIECE;
        const char *x = w->at[NORM_X] + at * size, *dy = w->at[NORM_DY] + at * size;
        if (!w->s->v.is_batch) { /* two channels of a batch, twice, are more than L2 holds */
            fetch_soon(x + ahead, (size_t)(n * size));
            fetch_soon(dy + ahead, (size_t)(n * size));
        }
        l->channel_grad(made, dy, x, f.mean, f.a, f.b, f.c, n);
        l->stream(w->at[NORM_OUT] + at * size, made, (size_t)(n * size));
    }
}

/* --- by rows ------------------------------------------------------------------------------------------------------------------------ */

static int64_t unit_count(const channel_norm *s) {
    return s->v.is_batch ? (s->C + s->block - 1) / s->block : s->N * s->groups;
}

/* A group whose channels lie one behind the other is one row. */
static void group_moments(const channel_norm *s, int64_t n, int64_t c, char *buffer) {
    channel_moment *m = &s->moments[channel_stat(s, n, c)];
    int64_t size = (int64_t)dtype_size(s->type[NORM_X]);
    const char *at = channel_at(s, NORM_X, n, c);
    for (int64_t done = 0; done < s->v.per_stat; done += ROW_BLOCK) {
        int64_t count = s->v.per_stat - done < ROW_BLOCK ? s->v.per_stat - done : ROW_BLOCK;
        double mean, m2;
        s->l->moments(row_fetch(s->l, buffer, at + done * size, s->type[NORM_X], size, count), count, &mean, &m2);
        channel_merge(m, (double)count, mean, m2);
    }
}

static void unit_moments(const channel_norm *s, channel_unit u, char *buffer) {
    int64_t first = channel_stat(s, u.n_from, u.c_from), last = channel_stat(s, u.n_to - 1, u.c_to - 1);
    memset(&s->moments[first], 0, (size_t)(last - first + 1) * sizeof *s->moments);
    if (s->short_rows && !s->v.is_batch) {
        group_moments(s, u.n_from, u.c_from, buffer);
        channel_finish_stat(s, first);
        return;
    }
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_moments(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment *m = &s->moments[channel_stat(s, n, c)];
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                double mean, m2;
                s->l->moments(fetch(&w, NORM_X, buffer), w.n, &mean, &m2);
                channel_merge(m, (double)w.n, mean, m2);
            }
        }
    }
    for (int64_t i = first; i <= last; i++) {
        channel_finish_stat(s, i);
    }
}

static void unit_forward(const channel_norm *s, channel_unit u, char *buffer) {
    if (s->v.trains) {
        unit_moments(s, u, buffer);
    }
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_forward(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            int64_t i = channel_stat(s, n, c);
            double factor = s->weights[c] * s->rstd[i], plus = s->biases[c] - s->mean[i] * factor;
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                put_scaled(&w, NORM_X, factor, plus, (u.c_to - u.c_from) * s->c_stride[NORM_X], buffer);
            }
        }
    }
}

static void unit_sums(const channel_norm *s, channel_unit u, char *buffer) {
    char *more = buffer + ROW_BLOCK * s->l->size;
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from; c < u.c_to && (n == u.n_from || !s->v.is_batch); c++) {
            s->moments[channel_sum(s, n, c)] = (channel_moment){0};
        }
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_sums(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment *m = &s->moments[channel_sum(s, n, c)];
            double mean = s->mean[channel_stat(s, n, c)];
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                const void *dy = fetch(&w, NORM_DY, buffer);
                row_wide sum = {.f = 0};
                s->l->fold[ROW_SUM](&sum, dy, w.n);
                m->mean += sum.f;
                m->m2 += s->l->dot_centred(dy, fetch(&w, NORM_X, more), mean, w.n);
            }
        }
    }
}

static void unit_backward(const channel_norm *s, channel_unit u, char *buffer) {
    char *more = buffer + ROW_BLOCK * s->l->size;
    double g = 0, gx = 0; /* group norm: over the whole unit */
    if (s->v.trains || s->wants_params) {
        unit_sums(s, u, buffer);
    }
    for (int64_t c = u.c_from; !s->v.is_batch && c < u.c_to; c++) {
        g += s->weights[c] * s->moments[channel_sum(s, u.n_from, c)].mean;
        gx += s->weights[c] * s->moments[channel_sum(s, u.n_from, c)].m2;
    }
    for (int64_t n = u.n_from; s->wants_input && n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_backward(s, n, c, rows, g, gx, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment m = s->moments[channel_sum(s, n, c)];
            double own_g = s->v.is_batch ? s->weights[c] * m.mean : g;
            double own_gx = s->v.is_batch ? s->weights[c] * m.m2 : gx;
            channel_factors f = channel_gradient(s, n, c, own_g, own_gx);
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                if (!s->v.trains) {
                    put_scaled(&w, NORM_DY, f.a, 0, (u.c_to - u.c_from) * s->c_stride[NORM_DY], buffer);
                    continue;
                }
                if (s->streams) {
                    stream_gradient(&w, f, (u.c_to - u.c_from) * s->c_stride[NORM_X], buffer);
                    continue;
                }
                void *to = target(&w, buffer);
                s->l->channel_grad(to, fetch(&w, NORM_DY, buffer), fetch(&w, NORM_X, more), f.mean, f.a, f.b, f.c, w.n);
                put(&w, to);
            }
        }
    }
}

/* Rows by running statistics belong to no unit: sample by sample, so that memory is gone through from one end to the other, and what lies further
   on comes to L2 meanwhile. [64, 512, 32, 32] floats take 5.0 ms so, and 7.9 channel by channel (two cores of a Zen 4 whose memory copies at
   53 GB/s, 2026-11). */
static void run_in_order(const channel_norm *s, char *buffer) {
    enum { FAR_BYTES = 16 << 10, MOST_ROWS = 64 };
    const int64_t row_bytes = s->S * (int64_t)dtype_size(s->type[NORM_X]);
    double factor[MOST_ROWS], plus[MOST_ROWS];
    row_edge edge = {.line = NULL};
    int64_t from, to;
    parallel_share(s->N * s->C, 1, &from, &to);
    for (int64_t i = from, rows; i < to; i += rows) {
        int64_t n = i / s->C, c = i % s->C, end = to - i < s->C - c ? c + to - i : s->C;
        if (!s->scales_rows) {
            rows = s->short_rows ? channel_short_count(s, c, end) : 1;
            for (int64_t at = 0; at < rows * row_bytes; at += STREAM_LINE_BYTES) {
                __builtin_prefetch((const char *)((uintptr_t)channel_at(s, NORM_X, n, c) + (uintptr_t)(FAR_BYTES + at)), 0, 2);
            }
            unit_forward(s, (channel_unit){.n_from = n, .n_to = n + 1, .c_from = c, .c_to = c + rows}, buffer);
            continue;
        }
        rows = end - c < MOST_ROWS ? end - c : MOST_ROWS;
        for (int64_t k = 0; k < rows; k++) {
            factor[k] = s->weights[c + k] * s->rstd[c + k];
            plus[k] = s->biases[c + k] - s->mean[c + k] * factor[k];
        }
        s->l->scale_rows(&(scaled_rows){.type = s->type[NORM_X], .n = s->S, .rows = rows, .x = channel_at(s, NORM_X, n, c),
                                        .to = channel_at(s, NORM_OUT, n, c), .past = s->scales_past, .edge = &edge, .factor = factor,
                                        .plus = plus});
    }
    if (s->scales_past) {
        row_edge_flush(&edge);
    }
}

static void share_units(const void *context) {
    const channel_norm *s = context;
    alignas(64) char buffer[2 * ROW_BLOCK * sizeof(double)];
    int64_t from, to;
    parallel_share(unit_count(s), 1, &from, &to);
    if (s->in_order) {
        run_in_order(s, buffer);
        from = to;
    } else if (s->by_groups && s->ring != NULL) {
        channel_group_run(s, from, to, s->ring + omp_get_thread_num() * s->ring_bytes);
        from = to;
    } else if (s->twice) {
        channel_twice_run(s, from, to);
        from = to;
    } else if (s->takes_neighbours && s->ring != NULL && (!s->shares_units || omp_get_num_threads() == s->threads)) {
        channel_neighbours_run(s);
        from = to;
    } else if (s->takes_neighbours) {
        /* without memory for a ring, or with fewer threads than were planned for: unit by unit, as below */
    } else if (s->ring != NULL && s->shares_units && omp_get_num_threads() == s->threads) {
        channel_ring_share(s, s->ring + omp_get_thread_num() * s->ring_bytes);
        from = to;
    } else if (s->ring != NULL && !s->shares_units) {
        channel_ring_run(s, from, to, s->ring + omp_get_thread_num() * s->ring_bytes);
        from = to;
    }
    for (int64_t u = from; u < to; u++) {
        (s->is_backward ? unit_backward : unit_forward)(s, channel_unit_at(s, u), buffer);
    }
    s->l->settle();
}

void channel_rows_run(const channel_norm *s) {
    parallel_run(s->threads, share_units, s);
}
