/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of softmax, norms and losses, in `value` (float or double). Included after row_loops_common.h and
     exp_of(x)          the exponential,
     exp_shifted_of(x)  the same for x <= 0, where tiny results may flush. */
#include <math.h>

/* Sums of products in blocks, as fold_sum makes them. */
static double dot(const void *left, const void *right, int64_t n) {
    const value *x = left, *y = right;
    double sum = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t to = from + ROW_BLOCK < n ? from + ROW_BLOCK : n, i = from;
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

/* The sum of (x - c)^2 over one block. */
static inline value block_distances(const value *x, value c, int64_t n) {
    pack a = {0}, b = {0};
    value rest = 0;
    int64_t i = 0;
    for (; i + 2 * PACK <= n; i += 2 * PACK) {
        pack p = pack_at(x + i) - c, q = pack_at(x + i + PACK) - c;
        a += p * p;
        b += q * q;
    }
    for (; i < n; i++) {
        rest += (x[i] - c) * (x[i] - c);
    }
    return n >= 2 * PACK ? pack_sum(a + b) + rest : rest;
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

/* Asks for memory RING_AHEAD elements on: of this row, or of the one after it. */
static inline __attribute__((always_inline)) void ring_ask(const value *next, const value *after, int64_t i, int64_t n) {
    const value *ahead = i + RING_AHEAD < n ? next + i + RING_AHEAD : after + (i + RING_AHEAD - n);
    for (int k = 0; k < RING_BLOCK; k += PACK) {
        __builtin_prefetch(ahead + k);
    }
}

/* Elements up to the first 64-byte boundary. */
static inline int64_t ring_head(const void *to, int64_t n) {
    int64_t head = (int64_t)((size_t)(-(uintptr_t)to & (STREAM_LINE - 1)) / sizeof(value));
    return head < n ? head : n;
}

static void ring_forward(ring_step *s) {
    value *kept = s->kept, *to = s->to, factor = (value)s->factor, offset = (value)s->plus, centre = (value)s->centre;
    const value *next = s->next;
    pack a = {0}, b = {0}, c = {0}, d = {0};
    /* What is finished runs ahead of what is read over it, to where lines begin. */
    int64_t head = to != NULL ? ring_head(to, s->n) : 0, i = 0, whole = (s->n - head) / RING_BLOCK * RING_BLOCK;
    for (int64_t k = 0; k < head; k++) {
        to[k] = kept[k] * factor + offset;
    }
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PACK) {
            pack p = pack_at(kept + head + i + k) * factor + offset;
            stream_line(to + head + i + k, &p);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(next, s->after, i, s->n);
        for (int k = 0; k < RING_BLOCK; k += 2 * PACK) {
            pack p = pack_at(next + i + k), q = pack_at(next + i + k + PACK);
            memcpy(kept + i + k, &p, sizeof p);
            memcpy(kept + i + k + PACK, &q, sizeof q);
            p -= centre;
            q -= centre;
            a += p;
            b += q;
            c += p * p;
            d += q * q;
        }
    }
    int64_t rest = head + whole;
    for (; to != NULL && rest + PACK <= s->n; rest += PACK) {
        pack p = pack_at(kept + rest) * factor + offset;
        memcpy(to + rest, &p, sizeof p);
    }
    for (; to != NULL && rest < s->n; rest++) {
        to[rest] = kept[rest] * factor + offset;
    }
    for (; next != NULL && i + PACK <= s->n; i += PACK) {
        pack p = pack_at(next + i);
        memcpy(kept + i, &p, sizeof p);
        p -= centre;
        a += p;
        c += p * p;
    }
    value sum = 0, squares = 0;
    for (; next != NULL && i < s->n; i++) {
        value x = next[i] - centre;
        kept[i] = next[i];
        sum += x;
        squares += x * x;
    }
    s->sum = (double)sum + (double)pack_sum(a + b);
    s->products = (double)squares + (double)pack_sum(c + d);
}

static void ring_backward(ring_step *s) {
    value *kept = s->kept, *kept_dy = s->kept_dy, *to = s->to, centre = (value)s->centre;
    value mean = (value)s->mean, fa = (value)s->a, fb = (value)s->b, fc = (value)s->c;
    const value *next = s->next, *next_dy = s->next_dy;
    pack a = {0}, b = {0}, c = {0}, d = {0};
    int64_t head = to != NULL ? ring_head(to, s->n) : 0, i = 0, whole = (s->n - head) / RING_BLOCK * RING_BLOCK;
    for (int64_t k = 0; k < head; k++) {
        to[k] = kept_dy[k] * fa + ((kept[k] - mean) * fb + fc);
    }
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PACK) {
            pack p = pack_at(kept_dy + head + i + k) * fa + ((pack_at(kept + head + i + k) - mean) * fb + fc);
            stream_line(to + head + i + k, &p);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(next, s->after, i, s->n);
        ring_ask(next_dy, s->after_dy, i, s->n);
        for (int k = 0; k < RING_BLOCK; k += 2 * PACK) {
            pack p = pack_at(next + i + k), q = pack_at(next + i + k + PACK);
            pack u = pack_at(next_dy + i + k), v = pack_at(next_dy + i + k + PACK);
            memcpy(kept + i + k, &p, sizeof p);
            memcpy(kept + i + k + PACK, &q, sizeof q);
            memcpy(kept_dy + i + k, &u, sizeof u);
            memcpy(kept_dy + i + k + PACK, &v, sizeof v);
            a += u;
            b += v;
            c += u * (p - centre);
            d += v * (q - centre);
        }
    }
    int64_t rest = head + whole;
    for (; to != NULL && rest + PACK <= s->n; rest += PACK) {
        pack p = pack_at(kept_dy + rest) * fa + ((pack_at(kept + rest) - mean) * fb + fc);
        memcpy(to + rest, &p, sizeof p);
    }
    for (; to != NULL && rest < s->n; rest++) {
        to[rest] = kept_dy[rest] * fa + ((kept[rest] - mean) * fb + fc);
    }
    for (; next != NULL && i + PACK <= s->n; i += PACK) {
        pack p = pack_at(next + i), u = pack_at(next_dy + i);
        memcpy(kept + i, &p, sizeof p);
        memcpy(kept_dy + i, &u, sizeof u);
        a += u;
        c += u * (p - centre);
    }
    value sum = 0, products = 0;
    for (; next != NULL && i < s->n; i++) {
        kept[i] = next[i];
        kept_dy[i] = next_dy[i];
        sum += next_dy[i];
        products += next_dy[i] * (next[i] - centre);
    }
    s->sum = (double)sum + (double)pack_sum(a + b);
    s->products = (double)products + (double)pack_sum(c + d);
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
        mean[i] += delta * share;
        m2[i] += (double)m2_of[i] + delta * delta * weight;
    }
}

static double exp_shifted(void *to, const void *row, double shift, int64_t n) {
    value *y = to;
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            value e = exp_shifted_of(x[i] - s);
            y[i] = e;
            sum += e;
        }
        total += (double)sum;
    }
    return total;
}

static double sum_exp(const void *row, double shift, int64_t n) {
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            sum += exp_shifted_of(x[i] - s);
        }
        total += (double)sum;
    }
    return total;
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

/* Many short rows one behind the other; to may be x. */
static void softmax_short(void *to, const void *at, int64_t rows, int64_t n, bool logarithm) {
    value *y = to;
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        row_wide largest = {.WIDE = (wide)-INFINITY};
        fold_largest(&largest, x, n);
        value m = (value)largest.WIDE, sum = 0;
        if (logarithm) {
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < n; i++) {
                sum += exp_shifted_of(x[i] - m);
            }
            subtract(y, x, (double)m, log((double)sum), n);
            continue;
        }
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(x[i] - m);
            y[i] = e;
            sum += e;
        }
        scale(y, y, 1 / (double)sum, 0, n);
    }
}

/* Four packs of a finished line to a 64-byte boundary. */
static inline __attribute__((always_inline)) void finish_block(value *to, const value *from, const softmax_step *s) {
    value factor = (value)s->factor, largest = (value)s->finish_largest;
    for (int k = 0; k < 4 * PACK; k += PACK) {
        pack p = pack_at(from + k);
        p = s->logarithm ? (p - largest) - factor : p * factor;
        stream_line(to + k, &p);
    }
}

/* What the blocks leave of the line that is finished: up to its first 64-byte boundary, and behind its last block. */
static void finish_rest(value *to, const value *from, const softmax_step *s, int64_t first, int64_t last) {
    value factor = (value)s->factor, largest = (value)s->finish_largest;
    for (int64_t i = first; i < last; i++) {
        to[i] = s->logarithm ? (from[i] - largest) - factor : from[i] * factor;
    }
}

/* Maximum, exponentials and finishing of three lines, block by block in turns: while one waits for memory the CPU goes on
   with the others. NaN need not reach the maximum: its exponential makes the sum NaN. */
static inline __attribute__((always_inline)) void step_with(const softmax_step *s, bool logarithm) {
    enum { BLOCK = 4 * PACK, AHEAD = 2048 / sizeof(value) }; /* the CPU itself reads ahead within a page only */
    const value *next = s->next, *x = s->x, *from = s->from;
    value *made = s->made, *to = s->to, shift = (value)s->largest;
    int64_t head = (int64_t)((size_t)(-(uintptr_t)to & (STREAM_LINE - 1)) / sizeof(value)), i = 0;
    head = head < s->n ? head : s->n;
    pack most = (pack){0} + (value)*s->next_largest, a = {0}, b = {0};
    for (; i + BLOCK <= s->n; i += BLOCK) {
        value block[BLOCK], *e = logarithm ? block : made + i;
#pragma omp simd
        for (int k = 0; k < BLOCK; k++) {
            e[k] = exp_shifted_of(x[i + k] - shift);
        }
        for (int k = 0; k < BLOCK; k += PACK) {
            __builtin_prefetch(next + i + k + AHEAD);
            pack p = pack_at(next + i + k);
            most = pack_choose(most > p, most, p);
        }
        for (int k = 0; k < BLOCK; k += 2 * PACK) {
            a += pack_at(e + k);
            b += pack_at(e + k + PACK);
        }
        if (head + i + BLOCK <= s->n) {
            finish_block(to + head + i, from + head + i, s);
        }
    }
    int64_t blocks = s->n - head < 0 ? 0 : (s->n - head) / BLOCK * BLOCK;
    finish_rest(to, from, s, 0, head);
    finish_rest(to, from, s, head + blocks, s->n);
    value sum = pack_sum(a + b), largest = pack_fold(most, larger);
    for (; i < s->n; i++) {
        value e = exp_shifted_of(x[i] - shift);
        sum += e;
        largest = larger(largest, next[i]);
        if (!logarithm) {
            made[i] = e;
        }
    }
    *s->sum += (double)sum;
    *s->next_largest = (double)largest;
}

static void softmax_stream(const softmax_step *s) {
    if (s->logarithm) {
        step_with(s, true);
    } else {
        step_with(s, false);
    }
}

static void softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = (g[i] - s) * y[i];
    }
}

static void log_softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = g[i] - exp_of(y[i]) * s;
    }
}

static void softmax_columns(void *block, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *x = block, *largest = work, *sum = largest + n;
    memcpy(largest, x, (size_t)n * sizeof *x);
    for (int64_t r = 1; r < rows; r++) {
        into_largest(largest, x + r * n, n);
    }
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(row[i] - largest[i]);
            sum[i] += e;
            row[i] = logarithm ? row[i] : e;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        sum[i] = logarithm ? (value)log((double)sum[i]) : 1 / sum[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            row[i] = logarithm ? (row[i] - largest[i]) - sum[i] : row[i] * sum[i];
        }
    }
}

static void columns_read(void *to, void *largest_at, const void *at, int64_t stride, int64_t rows, int64_t n) {
    value *largest = largest_at;
    for (int64_t r = 0; r < rows; r++) {
        const value *x = (const value *)at + r * stride;
        value *y = (value *)to + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i];
            largest[i] = x[i] > largest[i] ? x[i] : largest[i]; /* NaN makes the sum NaN */
        }
    }
}

static void columns_exp(void *at, const void *largest_at, void *sum_at, int64_t rows, int64_t n, bool keep) {
    value *sum = sum_at;
    const value *largest = largest_at;
    for (int64_t r = 0; r < rows; r++) {
        value *x = (value *)at + r * n;
        if (keep) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                sum[i] += exp_shifted_of(x[i] - largest[i]);
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(x[i] - largest[i]);
            sum[i] += e;
            x[i] = e;
        }
    }
}

static void columns_finish(void *to, const void *from, const void *largest_at, const void *factor_at, int64_t rows,
                           int64_t n) {
    const value *largest = largest_at, *factor = factor_at;
    for (int64_t r = 0; r < rows; r++) {
        const value *x = (const value *)from + r * n;
        value *y = (value *)to + r * n;
        if (largest == NULL) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                y[i] = x[i] * factor[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - largest[i]) - factor[i];
        }
    }
}

/* One row of each of three blocks, as softmax_stream's three lines. */
static inline __attribute__((always_inline)) void columns_step_with(const softmax_columns_step *s, int64_t r, bool logarithm) {
    enum { BLOCK = 4 * PACK };
    const value *next = (const value *)s->next + r * s->next_stride, *largest = s->largest;
    const value *from = (const value *)s->from + r * s->n, *factor = s->factor, *less = s->finish_largest;
    value *copy = (value *)s->next_to + r * s->n, *most = s->next_largest, *x = (value *)s->x + r * s->n, *sum = s->sum;
    value *to = (value *)s->to + r * s->to_stride;
    for (int64_t i = 0; i < s->n; i += BLOCK) {
#pragma omp simd
        for (int64_t k = i; k < i + BLOCK; k++) {
            value e = exp_shifted_of(x[k] - largest[k]);
            sum[k] += e;
            x[k] = logarithm ? x[k] : e;
        }
        for (int64_t k = i; k < i + BLOCK; k += PACK) {
            __builtin_prefetch(next + s->ahead + k);
            pack p = pack_at(next + k), m = pack_at(most + k);
            m = pack_choose(m > p, m, p);
            memcpy(copy + k, &p, sizeof p);
            memcpy(most + k, &m, sizeof m);
        }
        for (int64_t k = i; k < i + BLOCK; k += PACK) {
            pack p = pack_at(from + k);
            p = logarithm ? (p - pack_at(less + k)) - pack_at(factor + k) : p * pack_at(factor + k);
            stream_line(to + k, &p);
        }
    }
}

static void columns_stream(const softmax_columns_step *s) {
    for (int64_t r = 0; r < s->rows; r++) {
        if (s->logarithm) {
            columns_step_with(s, r, true);
        } else {
            columns_step_with(s, r, false);
        }
    }
}

static void softmax_back_columns(void *grad, const void *output, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *g = grad, *sum = work;
    const value *y = output;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t at = 0; at < rows * n; at += n) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sum[i] += logarithm ? g[at + i] : g[at + i] * y[at + i];
        }
    }
    for (int64_t at = 0; at < rows * n; at += n) {
        if (logarithm) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                g[at + i] = g[at + i] - exp_of(y[at + i]) * sum[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            g[at + i] = (g[at + i] - sum[i]) * y[at + i];
        }
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

#define REAL_ROW_LOOPS                                                                                                       \
    .start = {{.f = 0}, {.f = 0}, {.f = 0}, {.f = -(double)INFINITY}, {.f = (double)INFINITY}, {.f = 0}, {.f = 0}},          \
    .moments_short = moments_short, .scale_short = scale_short, .channel_sums_short = channel_sums_short,                    \
    .channel_grad_short = channel_grad_short, .softmax_short = softmax_short,                                                \
    .dot = dot, .dot_centred = dot_centred, .distance = distance, .moments = moments, .moments_columns = moments_columns,    \
    .moments_merge = moments_merge, .exp_shifted = exp_shifted, .sum_exp = sum_exp, .scale = scale, .subtract = subtract,    \
    .ring_forward = ring_forward, .ring_backward = ring_backward,                                                            \
    .softmax_back = softmax_back, .log_softmax_back = log_softmax_back, .softmax_columns = softmax_columns,                  \
    .softmax_stream = softmax_stream, .columns_stream = columns_stream, .columns_read = columns_read, .columns_exp = columns_exp, .columns_finish = columns_finish,                        \
    .softmax_back_columns = softmax_back_columns, .centre = centre, .affine = affine, .layer_sums = layer_sums,              \
    .layer_grad = layer_grad, .layer_params = layer_params, .channel_grad = channel_grad,                                    \
    .channel_grad_columns = channel_grad_columns, .channel_sums_columns = channel_sums_columns,                              \
    .square_difference = square_difference, .scaled_difference = scaled_difference
