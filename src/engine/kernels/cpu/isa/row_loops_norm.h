/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of norms and their gradients, in `value`: a part of row_loops_real.h. */

/* The sum of (x - c)^2 over one block. */
static inline value block_distances(const value *x, value c, int64_t n) {
    partial_sums s = {.rest = 0};
    int64_t i = 0;
    for (; i + 4 * PACK <= n; i += 4 * PACK) {
        pack p = pack_at(x + i) - c, q = pack_at(x + i + PACK) - c;
        pack r = pack_at(x + i + 2 * PACK) - c, t = pack_at(x + i + 3 * PACK) - c;
        s.a += p * p;
        s.b += q * q;
        s.c += r * r;
        s.d += t * t;
    }
    for (; i + PACK <= n; i += PACK) {
        pack p = pack_at(x + i) - c;
        s.a += p * p;
    }
    if (PACK_PARTS && i < n) {
        pack p = pack_keep(pack_start(x + i, n - i) - c, n - i);
        s.b += p * p;
    }
    for (; !PACK_PARTS && i < n; i++) {
        s.rest += (x[i] - c) * (x[i] - c);
    }
    return sums_total(&s);
}

/* Two passes over what the caller keeps in cache: the second is about the mean, so nothing cancels. */
static void moments(const void *row, int64_t n, double *mean, double *m2) {
    const value *x = row;
    row_wide sum = {.WIDE = 0};
    fold_values(&sum, x, n);
    double average = n > 0 ? sum.WIDE / (double)n : 0, squares = 0;
    value c = (value)average;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        squares += (double)block_distances(x + from, c, n - from < ROW_BLOCK ? n - from : ROW_BLOCK);
    }
    double rest = average - (double)c; /* what rounding took off the mean */
    squares -= (double)n * rest * rest;
    *mean = average;
    *m2 = squares < 0 ? 0 : squares; /* NaN stays */
}

/* The same of many short rows (of one block at most) that lie one behind the other. */
static void moments_short(const void *at, int64_t rows, int64_t n, double *mean, double *m2) {
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n) {
        double average = (double)block_sum(x, n, pack_identity, identity) / (double)n;
        value c = (value)average;
        double rest = average - (double)c, squares = (double)block_distances(x, c, n) - (double)n * rest * rest;
        mean[r] = average;
        m2[r] = squares < 0 ? 0 : squares;
    }
}

/* Row r of n: to = x * factor[r] + plus[r]. */
static void scale_short(void *to, const void *at, const double *factor, const double *offset, int64_t rows, int64_t n) {
    value *y = to;
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        value f = (value)factor[r], p = (value)offset[r];
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i] * f + p;
        }
    }
}

/* Of row r: adds sum(dy) and sum(dy (x - mean[r])). */
static void channel_sums_short(const void *grads, const void *at, const double *mean, int64_t rows, int64_t n, double *sums,
                               double *products) {
    const value *dy = grads, *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, dy += n) {
        value c = (value)mean[r], s = 0, p = 0;
        pack a = {0}, b = {0};
        int64_t i = 0;
        for (; i + PACK <= n; i += PACK) {
            pack g = pack_at(dy + i);
            a += g;
            b += g * (pack_at(x + i) - c);
        }
        for (; i < n; i++) {
            s += dy[i];
            p += dy[i] * (x[i] - c);
        }
        sums[r] += (double)(s + pack_sum(a));
        products[r] += (double)(p + pack_sum(b));
    }
}

/* Row r: to = dy * a[r] + (x - mean[r]) * b[r] + c[r]. */
static void channel_grad_short(void *to, const void *grads, const void *at, const double *mean, const double *a,
                               const double *b, const double *c, int64_t rows, int64_t n) {
    value *out = to;
    const value *dy = grads, *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, dy += n, out += n) {
        value m = (value)mean[r], fa = (value)a[r], fb = (value)b[r], fc = (value)c[r];
        for (int64_t i = 0; i < n; i++) {
            out[i] = dy[i] * fa + ((x[i] - m) * fb + fc);
        }
    }
}

/* --- rings: see ring_step ------------------------------------------------------------------------------------------------- */

enum { RING_BLOCK = 4 * PACK, RING_AHEAD = 2048 / sizeof(value) }; /* the CPU itself reads ahead within a page only */

#include "engine/kernels/cpu/isa/row_loops_ring.h"

/* --- rows of layer norm that go past the caches ---------------------------------------------------------------------------- */

/* What finishes a row: beside the step, so that the compiler need not read it anew after each store. */
typedef struct layer_finish {
    const value *from, *weight, *bias;
    value mean, rstd;
} layer_finish;

static inline __attribute__((always_inline)) pack layer_pack(const layer_finish *f, int64_t i) {
    pack p = (pack_at(f->from + i) - f->mean) * f->rstd;
    p = f->weight != NULL ? p * pack_at(f->weight + i) : p;
    return f->bias != NULL ? p + pack_at(f->bias + i) : p;
}

/* What the blocks leave of the row that is finished: less than a line, or from where one begins. */
static void layer_rest(value *to, const layer_finish *f, int64_t i, int64_t end) {
    for (; i + PACK <= end; i += PACK) {
        pack p = layer_pack(f, i);
        stream_line(to + i, &p);
    }
    for (; i < end; i++) {
        value x = (f->from[i] - f->mean) * f->rstd * (f->weight != NULL ? f->weight[i] : 1);
        to[i] = f->bias != NULL ? x + f->bias[i] : x;
    }
}

/* Block by block in turns: memory reads the one row while it writes the other, and the CPU does not wait for a row's mean or
   distances before it goes on. Each row goes by lines of its own; what lies before the first and behind the last block of
   any comes last. Inlined with constants for what steps have in common. */
static inline __attribute__((always_inline)) void layer_with(layer_step *s, bool reads, bool measures, bool stores, bool weighs,
                                                             bool shifts) {
    const value *next = s->next, *x = s->x;
    value *to = s->to, c = (value)s->centre;
    const layer_finish f = {s->from, weighs ? s->weight : NULL, shifts ? s->bias : NULL, (value)s->mean, (value)s->rstd};
    const int64_t n = s->n; /* rows of the computing type */
    int64_t next_head = ring_head(row_native, next, n), x_head = ring_head(row_native, x, n), to_head = ring_head(row_native, to, n);
    int64_t most_head = next_head > x_head ? next_head : x_head, end;
    most_head = to_head > most_head ? to_head : most_head;
    end = (n - most_head) / RING_BLOCK * RING_BLOCK;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < ROW_BLOCK ? end : i + ROW_BLOCK;
        pack total = {0}, more = {0}, distance_sum = {0}, more_distance = {0};
        for (; i < stop; i += RING_BLOCK) {
            for (int k = 0; measures && k < RING_BLOCK; k += 2 * PACK) {
                const value *at = x + x_head + i + k;
                pack p = pack_at(at) - c, q = pack_at(at + PACK) - c;
                distance_sum += p * p;
                more_distance += q * q;
            }
            for (int k = 0; reads && k < RING_BLOCK; k += 2 * PACK) {
                const value *at = next + next_head + i + k;
                __builtin_prefetch(at + RING_AHEAD);
                __builtin_prefetch(at + RING_AHEAD + PACK);
                total += pack_at(at);
                more += pack_at(at + PACK);
            }
            for (int k = 0; stores && k < RING_BLOCK; k += PACK) {
                pack p = layer_pack(&f, to_head + i + k);
                stream_line(to + to_head + i + k, &p);
            }
        }
        sum += (double)pack_sum(total + more);
        squares += (double)pack_sum(distance_sum + more_distance);
    }
    if (stores) {
        layer_rest(to, &f, 0, to_head);
        layer_rest(to, &f, to_head + end, n);
    }
    if (measures) {
        squares += (double)block_distances(x, c, x_head);
        squares += (double)block_distances(x + x_head + end, c, n - x_head - end);
    }
    if (reads) {
        sum += (double)block_sum(next, next_head, pack_identity, identity);
        sum += (double)block_sum(next + next_head + end, n - next_head - end, pack_identity, identity);
    }
    s->sum = sum;
    s->squares = squares;
}

static void layer_stream(layer_step *s) {
    bool reads = s->next != NULL, measures = s->x != NULL, stores = s->to != NULL;
    if (reads && measures && stores && s->weight != NULL && s->bias != NULL) {
        layer_with(s, true, true, true, true, true);
    } else {
        layer_with(s, reads, measures, stores, s->weight != NULL, s->bias != NULL);
    }
}

static void moments_columns(const void *at, int64_t rows, int64_t row_stride, int64_t n, void *means, void *squares) {
    value *mean = means, *m2 = squares;
    const value *x = at;
    value scale = 1 / (value)rows;
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(m2, 0, (size_t)n * sizeof *m2);
    add_rows(mean, x, rows, row_stride, n);
    for (int64_t i = 0; i < n; i++) {
        mean[i] *= scale;
    }
    for (int64_t r = 0; r < rows; r++) {
        const value *row = x + r * row_stride;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            m2[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
        }
    }
}

static void moments_merge(double *mean, double *m2, const void *mean_new, const void *m2_new, double n_before,
                          double n_new, int64_t n) {
    const value *mean_of = mean_new, *m2_of = m2_new;
    double share = n_new / (n_before + n_new), weight = n_before * share;
    for (int64_t i = 0; i < n; i++) {
        double delta = (double)mean_of[i] - mean[i];
        mean[i] += fabs(delta) <= DBL_MAX ? delta * share : (double)mean_of[i]; /* an infinite mean stays one */
        m2[i] += (double)m2_of[i] + delta * delta * weight;
    }
}

static void centre(void *to, const void *row, double mean, double rstd, const void *weights, const void *biases, int64_t n) {
    value *y = to;
    const value *x = row, *weight = weights, *bias = biases;
    value m = (value)mean, r = (value)rstd;
    if (weight != NULL && bias != NULL) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - m) * r * weight[i] + bias[i];
        }
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = (x[i] - m) * r * (weight != NULL ? weight[i] : 1) + (bias != NULL ? bias[i] : 0);
    }
}

static void affine(void *to, const void *row, const void *factors, const void *pluses, int64_t n) {
    value *y = to;
    const value *x = row, *factor = factors, *p = pluses;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * factor[i] + p[i];
    }
}

static void layer_sums(const void *grad, const void *row, const void *weights, double mean, double rstd, int64_t n,
                       double *g, double *gx) {
    const value *dy = grad, *x = row, *weight = weights;
    value m = (value)mean, r = (value)rstd;
    double total = 0, total_x = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t to = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value s = 0, t = 0;
#pragma omp simd reduction(+ : s, t)
        for (int64_t i = from; i < to; i++) {
            value term = weight != NULL ? dy[i] * weight[i] : dy[i];
            s += term;
            t += term * ((x[i] - m) * r);
        }
        total += (double)s;
        total_x += (double)t;
    }
    *g = total;
    *gx = total_x;
}

static void layer_grad(void *to, const void *grad, const void *row, const void *weights, double mean, double rstd, double g,
                       double gx, int64_t n) {
    value *out = to;
    const value *dy = grad, *x = row, *weight = weights;
    value m = (value)mean, r = (value)rstd, a = (value)(g / (double)n), b = (value)(gx / (double)n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        value term = weight != NULL ? dy[i] * weight[i] : dy[i];
        out[i] = r * (term - a - (x[i] - m) * r * b);
    }
}

static void layer_params(void *weight_sums, void *bias_sums, const void *grad, const void *row, double mean, double rstd,
                         int64_t n) {
    value *ws = weight_sums, *bs = bias_sums;
    const value *dy = grad, *x = row;
    value m = (value)mean, r = (value)rstd;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        ws[i] += dy[i] * ((x[i] - m) * r);
        bs[i] += dy[i];
    }
}

static void channel_grad(void *to, const void *grad, const void *row, double mean, double a, double b, double c, int64_t n) {
    value *out = to;
    const value *dy = grad, *x = row;
    value m = (value)mean, fa = (value)a, fb = (value)b, fc = (value)c;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = dy[i] * fa + ((x[i] - m) * fb + fc);
    }
}

static void channel_grad_columns(void *to, const void *grad, const void *row, const void *means, const void *as,
                                 const void *bs, const void *cs, int64_t n) {
    value *out = to;
    const value *dy = grad, *x = row, *mean = means, *a = as, *b = bs, *c = cs;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = dy[i] * a[i] + ((x[i] - mean[i]) * b[i] + c[i]);
    }
}

static void channel_sums_columns(void *sums, void *products, const void *grad, const void *row, const void *means, int64_t n) {
    value *s = sums, *p = products;
    const value *dy = grad, *x = row, *mean = means;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        s[i] += dy[i];
        p[i] += dy[i] * (x[i] - mean[i]);
    }
}
