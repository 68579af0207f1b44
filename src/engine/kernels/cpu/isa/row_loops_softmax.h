/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of softmax and its gradients, in `value`: a part of row_loops_real.h. */

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

/* What finishes a line: beside the step, so that the compiler need not read it anew after each store. */
typedef struct softmax_finish {
    const value *from;
    value largest, factor;
    bool logarithm;
} softmax_finish;

static inline __attribute__((always_inline)) void finish_pack(value *to, const softmax_finish *f, int64_t i) {
    pack p = pack_at(f->from + i);
    p = f->logarithm ? (p - f->largest) - f->factor : p * f->factor;
    stream_line(to + i, &p);
}

/* What the blocks leave of the line that is finished: less than a line of memory, or from where one begins. Even a few
   ordinary stores among those past the caches cost much: they read their lines first. */
static void finish_rest(value *to, const softmax_finish *f, int64_t i, int64_t end) {
    for (; i + PACK <= end; i += PACK) {
        finish_pack(to, f, i);
    }
    for (; i < end; i++) {
        to[i] = f->logarithm ? (f->from[i] - f->largest) - f->factor : f->from[i] * f->factor;
    }
}

/* The same of the line whose exponentials are taken: their sum. */
static value exp_ends(value *made, const value *x, value shift, int64_t i, int64_t end) {
    pack sum = {0};
    for (; i < end; i += PACK) {
        size_t bytes = (size_t)(end - i < PACK ? end - i : PACK) * sizeof(value);
        value e[PACK];
        for (int k = 0; k < PACK; k++) {
            e[k] = (value)-INFINITY; /* adds nothing */
        }
        memcpy(e, x + i, bytes);
        pack p = exp_shifted_pack(pack_at(e) - shift);
        memcpy(e, &p, sizeof p);
        sum += p;
        if (made != NULL) {
            memcpy(made + i, e, bytes);
        }
    }
    return pack_sum(sum);
}

/* Elements up to the first line of memory. */
static inline int64_t softmax_head(const void *at) {
    return (int64_t)((size_t)(-(uintptr_t)at & (STREAM_LINE - 1)) / sizeof(value));
}

/* Maximum and exponentials of one line and finishing of another, block by block in turns: while one waits for memory the CPU goes
   on with the other. Each goes by lines of memory of its own; what lies before the first and behind the last block of either
   comes last. NaN need not reach the maximum: its exponential makes the sum NaN. */
static inline __attribute__((always_inline)) void step_with(const softmax_step *s, bool logarithm) {
    enum { BLOCK = 4 * PACK, AHEAD = 2048 / sizeof(value) }; /* the CPU itself reads ahead within a page only */
    const softmax_finish f = {s->from, (value)s->finish_largest, (value)s->factor, logarithm};
    const value *x = s->x;
    value *made = logarithm ? NULL : s->made, *to = s->to, shift = (value)s->shift;
    int64_t n = s->n, x_head = softmax_head(x), to_head = softmax_head(to);
    int64_t end = (n - (to_head > x_head ? to_head : x_head)) / BLOCK * BLOCK;
    pack most = pack_at(x);
    double sum = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < ROW_BLOCK ? end : i + ROW_BLOCK;
        pack a = {0}, b = {0};
        for (; i < stop; i += BLOCK) {
            for (int k = 0; k < BLOCK; k += 2 * PACK) {
                pack p = pack_at(x + x_head + i + k), q = pack_at(x + x_head + i + k + PACK);
                pack e = exp_shifted_pack(p - shift), e2 = exp_shifted_pack(q - shift);
                __builtin_prefetch(x + x_head + i + k + AHEAD);
                __builtin_prefetch(x + x_head + i + k + PACK + AHEAD);
                most = pack_most(pack_most(most, p), q);
                a += e;
                b += e2;
                if (!logarithm) {
                    memcpy(made + x_head + i + k, &e, sizeof e);
                    memcpy(made + x_head + i + k + PACK, &e2, sizeof e2);
                }
            }
            for (int k = 0; k < BLOCK; k += PACK) {
                finish_pack(to, &f, to_head + i + k);
            }
        }
        sum += (double)pack_sum(a + b);
    }
    finish_rest(to, &f, 0, to_head);
    finish_rest(to, &f, to_head + end, n);
    sum += (double)exp_ends(made, x, shift, 0, x_head);
    sum += (double)exp_ends(made, x, shift, x_head + end, n);
    for (int64_t i = x_head + end; i < n; i += PACK) {
        most = pack_most(most, pack_at(x + (i + PACK <= n ? i : n - PACK))); /* seen twice does no harm */
    }
    *s->sum = sum;
    *s->largest = (double)pack_fold(most, larger);
}

static void softmax_stream(const softmax_step *s) {
    if (s->logarithm) {
        step_with(s, true);
    } else {
        step_with(s, false);
    }
}

static inline __attribute__((always_inline)) pack back_pack(const value *g, const value *y, value sum, bool logarithm) {
    return logarithm ? pack_at(g) - exp_pack(pack_at(y)) * sum : (pack_at(g) - sum) * pack_at(y);
}

static inline value back_of(value g, value y, value sum, bool logarithm) {
    return logarithm ? g - exp_of(y) * sum : (g - sum) * y;
}

/* What a line is read for comes before what is finished in each turn: lines a page apart would have loads wait for stores. */
static inline __attribute__((always_inline)) void back_step_with(softmax_back_step *s, bool logarithm) {
    enum { BLOCK = 4 * PACK, AHEAD = 2048 / sizeof(value) };
    const value *g = s->g, *y = s->y, *from_g = s->from_g, *from_y = s->from_y;
    value *to = s->to, finish_sum = (value)s->finish_sum, rest = 0;
    int64_t n = s->n, head = softmax_head(to), end = (n - head) / BLOCK * BLOCK;
    double sum = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < ROW_BLOCK ? end : i + ROW_BLOCK;
        pack a = {0}, b = {0};
        for (; i < stop; i += BLOCK) {
            for (int k = 0; k < BLOCK; k += 2 * PACK) {
                for (int ahead = 0; ahead < 2 * PACK; ahead += PACK) {
                    __builtin_prefetch(g + i + k + ahead + AHEAD);
                    __builtin_prefetch(y + i + k + ahead + AHEAD);
                }
                a += logarithm ? pack_at(g + i + k) : pack_at(g + i + k) * pack_at(y + i + k);
                b += logarithm ? pack_at(g + i + k + PACK) : pack_at(g + i + k + PACK) * pack_at(y + i + k + PACK);
            }
            for (int64_t k = head + i; k < head + i + BLOCK; k += PACK) {
                pack p = back_pack(from_g + k, from_y + k, finish_sum, logarithm);
                stream_line(to + k, &p);
            }
        }
        sum += (double)pack_sum(a + b);
    }
    for (int64_t i = end; i < n; i++) {
        rest += logarithm ? g[i] : g[i] * y[i];
    }
    for (int64_t i = 0; i < head; i++) {
        to[i] = back_of(from_g[i], from_y[i], finish_sum, logarithm);
    }
    int64_t i = head + end;
    for (; i + PACK <= n; i += PACK) {
        pack p = back_pack(from_g + i, from_y + i, finish_sum, logarithm);
        stream_line(to + i, &p);
    }
    for (; i < n; i++) {
        to[i] = back_of(from_g[i], from_y[i], finish_sum, logarithm);
    }
    s->sum = sum + (double)rest;
}

static void softmax_back_stream(softmax_back_step *s) {
    if (s->logarithm) {
        back_step_with(s, true);
    } else {
        back_step_with(s, false);
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
