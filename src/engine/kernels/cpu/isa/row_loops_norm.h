/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of norms and their gradients, in `value`: a part of row_loops_real.h. */

/* The sum of (x - c)^2 over one block, which is near: memory is asked for what lies `ahead` bytes on. */
static inline value block_distances(const value *x, value c, int64_t n, uintptr_t ahead) {
    partial_sums s = {.rest = 0};
    int64_t i = 0;
    for (; i + 4 * PACK <= n; i += 4 * PACK) {
        for (size_t at = 0; at < 4 * sizeof(pack); at += STREAM_LINE_BYTES) {
            __builtin_prefetch((const char *)((uintptr_t)(x + i) + ahead + at)); /* it may lie outside */
        }
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

/* Intel's processors read ahead within a page only, and a Zen 5 not far enough (device/caches.h); asked for what lies 2 KiB further on they are
   faster than a plain loop over memory: variances by channels of
   [256, 64, 56, 56] take 5.9 ms instead of 8.0 (two cores of a Granite Rapids). Others are asked for what is read anyway. */
enum { SUMS_AHEAD = 2048 };

/* Adds the sums of x - c and of its squares over one block. ahead: bytes, at which memory is asked for. */
static inline void block_sums_about(const value *x, int64_t n, value c, uintptr_t ahead, double *sum, double *squares) {
    partial_sums s = {.rest = 0}, t = {.rest = 0};
    int64_t i = 0;
    for (; i + 4 * PACK <= n; i += 4 * PACK) {
        for (size_t at = 0; at < 4 * sizeof(pack); at += STREAM_LINE_BYTES) {
            __builtin_prefetch((const char *)((uintptr_t)(x + i) + ahead + at)); /* it may lie outside */
        }
        pack p = pack_at(x + i) - c, q = pack_at(x + i + PACK) - c;
        pack r = pack_at(x + i + 2 * PACK) - c, u = pack_at(x + i + 3 * PACK) - c;
        s.a += p;
        s.b += q;
        s.c += r;
        s.d += u;
        t.a += p * p;
        t.b += q * q;
        t.c += r * r;
        t.d += u * u;
    }
    for (; i + PACK <= n; i += PACK) {
        pack p = pack_at(x + i) - c;
        s.a += p;
        t.a += p * p;
    }
    if (PACK_PARTS && i < n) {
        pack p = pack_keep(pack_start(x + i, n - i) - c, n - i);
        s.b += p;
        t.b += p * p;
    }
    for (; !PACK_PARTS && i < n; i++) {
        s.rest += x[i] - c;
        t.rest += (x[i] - c) * (x[i] - c);
    }
    *sum += (double)sums_total(&s);
    *squares += (double)sums_total(&t);
}

static void sums_about(const void *row, int64_t n, double centre, double *sum, double *squares) {
    const value *x = row;
    const uintptr_t ahead = cpu_asks_along() ? SUMS_AHEAD : 0;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        block_sums_about(x + from, n - from < SUM_BLOCK ? n - from : SUM_BLOCK, (value)centre, ahead, sum, squares);
    }
}

/* Two passes over what the caller keeps in cache: the second is about the mean, so nothing cancels. */
static void moments(const void *row, int64_t n, double *mean, double *m2) {
    const value *x = row;
    row_wide sum = {.WIDE = 0};
    fold_values(&sum, x, n);
    double average = n > 0 ? sum.WIDE / (double)n : 0, squares = 0;
    value c = (value)average;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        squares += (double)block_distances(x + from, c, n - from < SUM_BLOCK ? n - from : SUM_BLOCK, (uintptr_t)n * sizeof(value));
    }
    double rest = average - (double)c; /* what rounding took off the mean */
    squares -= (double)n * rest * rest;
    *mean = average;
    *m2 = squares < 0 ? 0 : squares; /* NaN stays */
}

#include "engine/kernels/cpu/isa/row_loops_norm_short.h"

/* --- rings: see ring_step ------------------------------------------------------------------------------------------------- */

#include "engine/kernels/cpu/isa/row_loops_ring.h"

/* --- moments by columns ----------------------------------------------------------------------------------------------------- */

static void moments_columns_twice(value *mean, value *m2, const value *x, int64_t rows, int64_t row_stride, int64_t n) {
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

/* Adds distances from `centre`, and their squares, of rows row_stride apart: 1, 4 or 8, a constant. Eight are asked for a page ahead: beside
   what sums take up of L1, the CPU by itself does not fetch them in time (512 rows of 4 KiB on two cores of a Zen 4: 84% of a loop that only reads,
   76% with four rows, 81% where none are asked for). */
static inline __attribute__((always_inline)) void distances_into(value *sums, value *squares, const value *centre, const value *x,
                                                                 int64_t rows, int64_t row_stride, int64_t n) {
    enum { PAGE = 4096 };
    int64_t i = 0;
    for (; i + PACK <= n; i += PACK) {
        pack c = pack_at(centre + i), s = {0}, q = {0};
        for (int64_t r = 0; r < rows; r++) {
            const value *at = x + r * row_stride + i;
            if (rows == 8) {
                __builtin_prefetch((const char *)((uintptr_t)at + PAGE), 0, 2); /* it may lie outside */
            }
            pack d = pack_at(at) - c;
            s += d;
            q += d * d;
        }
        s += pack_at(sums + i);
        q += pack_at(squares + i);
        memcpy(sums + i, &s, sizeof s);
        memcpy(squares + i, &q, sizeof q);
    }
    for (; i < n; i++) {
        for (int64_t r = 0; r < rows; r++) {
            value d = x[r * row_stride + i] - centre[i];
            sums[i] += d;
            squares[i] += d * d;
        }
    }
}

/* In one pass, about the mean of some rows, of columns whose squares are not mostly what that mean adds to them. Rows one behind the
   other by quarters or, of large ones, by eighths, as far as there are: a row of each in turn (add_rows). */
static bool moments_columns_once(value *mean, value *m2, const value *x, int64_t rows, int64_t row_stride, int64_t n) {
    enum { MOST = 1024, NEAR = 16, LEAST = 4 * NEAR, LARGE_BYTES = 512 << 10 };
    _Alignas(64) value centre[MOST];
    if (rows < LEAST || n > MOST) {
        return false;
    }
    int64_t parts = rows * n * (int64_t)sizeof *x >= LARGE_BYTES ? 8 : 4, part = row_stride == n ? rows / parts : 0;
    int64_t done = parts * part, bad = 0;
    memset(centre, 0, (size_t)n * sizeof *centre);
    for (int64_t r = 0; r < NEAR; r += 4) { /* those that are read first: none is fetched out of turn */
        const value *from = part > 0 ? x + (r % parts * part + r / parts) * n : x + r * row_stride;
        rows_into(centre, from, 4, part > 0 ? part * n : row_stride, n, false, identity);
    }
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(m2, 0, (size_t)n * sizeof *m2);
    for (int64_t i = 0; i < n; i++) {
        centre[i] *= (value)1 / NEAR;
    }
    for (int64_t r = 0; r < part && parts == 8; r++) {
        distances_into(mean, m2, centre, x + r * n, 8, part * n, n);
    }
    for (int64_t r = 0; r < part && parts == 4; r++) {
        distances_into(mean, m2, centre, x + r * n, 4, part * n, n);
    }
    for (; done + 4 <= rows; done += 4) {
        ask_for_rows((const value *)((uintptr_t)x + (uintptr_t)((done + 4) * row_stride) * sizeof *x), row_stride, n);
        distances_into(mean, m2, centre, x + done * row_stride, 4, row_stride, n);
    }
    for (; done < rows; done++) {
        distances_into(mean, m2, centre, x + done * row_stride, 1, row_stride, n);
    }
    const value share = 1 / (value)rows;
#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) {
        value rest = mean[i] * share, about = m2[i] - mean[i] * rest;
        bad |= !(about >= m2[i] / 16); /* NaN is bad */
        mean[i] = centre[i] + rest;
        m2[i] = about;
    }
    return !bad;
}

static void moments_columns(const void *x, int64_t rows, int64_t row_stride, int64_t n, void *mean, void *m2) {
    if (!moments_columns_once(mean, m2, x, rows, row_stride, n)) {
        moments_columns_twice(mean, m2, x, rows, row_stride, n);
    }
}

static void moments_merge(double *mean, double *m2, const void *mean_new, const void *m2_new, double n_before,
                          double n_new, int64_t n) {
    const value *mean_of = mean_new, *m2_of = m2_new;
    double share = n_new / (n_before + n_new), weight = n_before * share;
    for (int64_t i = 0; n_before == 0 && i < n; i++) { /* a mean's square may be more than there is */
        mean[i] = (double)mean_of[i];
        m2[i] = (double)m2_of[i];
    }
    for (int64_t i = 0; n_before != 0 && i < n; i++) {
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

static void centre_short(void *to, const void *at, const double *mean, const double *rstd, const void *weights, const void *biases,
                         int64_t rows, int64_t n) {
    value *y = to;
    const value *x = at, *weight = weights, *bias = biases;
    for (int64_t k = 0; k < rows; k++, x += n, y += n) {
        const value m = (value)mean[k], r = (value)rstd[k];
        if (weight != NULL && bias != NULL) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                y[i] = (x[i] - m) * r * weight[i] + bias[i];
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                y[i] = (x[i] - m) * r * (weight != NULL ? weight[i] : 1) + (bias != NULL ? bias[i] : 0);
            }
        }
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

/* Two short rows at a time: sums over rows are loaded and stored once for both. What they come to is wanted when those of some rows are
   known: nothing waits for one row's. Rows of 64 f32 take 0.7 of the time of one after the other, each gone over three times (Zen 4,
   2026-11). */
enum { ROWS_OF_SUMS = 64 };

typedef struct layer_row_sums {
    value g[ROWS_OF_SUMS], gx[ROWS_OF_SUMS];
} layer_row_sums;

/* Rows k and k + 1 of those that begin at dy and at x. */
static inline __attribute__((always_inline)) void layer_sums_of_two(layer_row_sums *sums, int64_t k, const value *dy, const value *x,
                                                                    const value *weight, const double *mean, const double *rstd,
                                                                    value *ws, value *bs, int64_t n, bool weighs, bool adds) {
    const value *dy0 = dy + k * n, *x0 = x + k * n, *dy1 = dy0 + n, *x1 = x0 + n;
    value m0 = (value)mean[k], r0 = (value)rstd[k], m1 = (value)mean[k + 1], r1 = (value)rstd[k + 1], s0 = 0, t0 = 0, s1 = 0, t1 = 0;
#pragma omp simd reduction(+ : s0, t0, s1, t1)
    for (int64_t i = 0; i < n; i++) {
        value p0 = dy0[i] * ((x0[i] - m0) * r0), p1 = dy1[i] * ((x1[i] - m1) * r1), w = weighs ? weight[i] : 1;
        if (adds) {
            ws[i] += p0 + p1;
            bs[i] += dy0[i] + dy1[i];
        }
        s0 += dy0[i] * w;
        t0 += p0 * w;
        s1 += dy1[i] * w;
        t1 += p1 * w;
    }
    sums->g[k] = s0;
    sums->gx[k] = t0;
    sums->g[k + 1] = s1;
    sums->gx[k + 1] = t1;
}

/* An even number of rows, ROWS_OF_SUMS at most. */
static inline __attribute__((always_inline)) void layer_back_rows(value *out, const value *dy, const value *x, const value *weight,
                                                                  const double *mean, const double *rstd, value *ws, value *bs,
                                                                  int64_t rows, int64_t n, bool weighs, bool adds) {
    layer_row_sums sums;
    for (int64_t k = 0; k < rows; k += 2) {
        layer_sums_of_two(&sums, k, dy, x, weight, mean, rstd, ws, bs, n, weighs, adds);
    }
    const value share = 1 / (value)n;
    for (int64_t k = 0; k < rows && out != NULL; k++) {
        const value a = sums.g[k] * share, b = sums.gx[k] * share, m = (value)mean[k], r = (value)rstd[k];
        const value *g = dy + k * n, *y = x + k * n;
        value *to = out + k * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = r * ((weighs ? g[i] * weight[i] : g[i]) - a - (y[i] - m) * r * b);
        }
    }
}

static void layer_back_short(void *to, const void *grad, const void *row, const void *weights, const double *mean, const double *rstd,
                             void *weight_sums, void *bias_sums, int64_t rows, int64_t n) {
    value *out = to;
    const value *dy = grad, *x = row;
    const int64_t pairs = rows / 2 * 2;
    for (int64_t k = 0; k < pairs; k += ROWS_OF_SUMS) {
        const int64_t some = pairs - k < ROWS_OF_SUMS ? pairs - k : ROWS_OF_SUMS, at = k * n;
        value *made = out != NULL ? out + at : NULL;
        if (weights != NULL && weight_sums != NULL) {
            layer_back_rows(made, dy + at, x + at, weights, mean + k, rstd + k, weight_sums, bias_sums, some, n, true, true);
        } else if (weights != NULL) {
            layer_back_rows(made, dy + at, x + at, weights, mean + k, rstd + k, NULL, NULL, some, n, true, false);
        } else {
            layer_back_rows(made, dy + at, x + at, NULL, mean + k, rstd + k, weight_sums, bias_sums, some, n, false, weight_sums != NULL);
        }
    }
    for (int64_t k = pairs; k < rows; k++) {
        double g, gx;
        if (weight_sums != NULL) {
            layer_params(weight_sums, bias_sums, dy + k * n, x + k * n, mean[k], rstd[k], n);
        }
        if (out != NULL) {
            layer_sums(dy + k * n, x + k * n, weights, mean[k], rstd[k], n, &g, &gx);
            layer_grad(out + k * n, dy + k * n, x + k * n, weights, mean[k], rstd[k], g, gx, n);
        }
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

static void channel_squares_columns(void *sums, void *squares, const void *row, const void *centres, int64_t n) {
    value *s = sums, *q = squares;
    const value *x = row, *centre = centres;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        value off = x[i] - centre[i];
        s[i] += off;
        q[i] += off * off;
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
