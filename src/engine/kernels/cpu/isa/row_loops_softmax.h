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

/* --- short rows ----------------------------------------------------------------------------------------------------------------

   SHORT_ROWS of them are taken together, each in packs of its own, the last of which reaches into the row behind it. A pack is only
   folded to sixteen bytes by itself: the rest of the way to rows' largest numbers and sums goes by vectors with a lane for each row, and
   so do reciprocals and logarithms. Nothing waits for one row's number then. */
enum { SHORT_ROWS = 16, SHORT_PACKS = SOFTMAX_SHORT_BYTES / sizeof(pack) };

typedef struct short_rows {
    value part[SHORT_ROWS][FEW], largest[SHORT_ROWS], factor[SHORT_ROWS];
    pack made[SHORT_ROWS / 2 * SHORT_PACKS]; /* exponentials */
} short_rows;

static inline value most(value a, value b) {
    return a > b ? a : b; /* NaN may be lost: the sum of exponentials has it too */
}

/* As pack_few, the largest. */
static inline __attribute__((always_inline)) void short_few_most(value *to, pack p) {
    value x[PACK];
    memcpy(x, &p, sizeof x);
#pragma omp simd
    for (int i = 0; i < PACK / 2; i++) {
        x[i] = (int)PACK > (int)FEW ? most(x[i], x[i + PACK / 2]) : x[i];
    }
#pragma omp simd
    for (int i = 0; i < FEW; i++) {
        to[i] = (int)PACK > 2 * (int)FEW ? most(x[i], x[i + FEW]) : x[i];
    }
}

/* Of a row's last pack, what is its own. */
static inline __attribute__((always_inline)) pack_mask short_own(int64_t n) {
    value place[PACK];
    for (int k = 0; k < PACK; k++) {
        place[k] = (value)k;
    }
    return pack_at(place) < (value)n;
}

/* rows <= SHORT_ROWS of n elements, in `packs` packs each; y may be x. past: a constant; the packs are whole and lie on lines of memory.
   Behind the last row as many elements as the packs reach into are read, and kept in place or, where y is not x, written over by what stands
   in x. */
static inline __attribute__((always_inline)) void softmax_some(short_rows *s, value *y, const value *x, int64_t rows, int64_t n, int64_t packs,
                                                               bool logarithm, bool past) {
    enum { FAR_BYTES = 16 << 10, LEAST_BYTES = 256 }; /* softmax of [262144, 128] floats takes 6.1 ms so, and 8.8 (two cores of a Zen 4, 2026-11) */
    const bool asks_far = n * (int64_t)sizeof *x >= LEAST_BYTES && !cpu_is_intel(); /* [1048576, 32] 9.6, and 6.2 */
    const int64_t last = (packs - 1) * PACK;
    const pack_mask own = short_own(n - last);
    for (int64_t r = 0; r < rows; r++) {
        const value *at = x + r * n;
        pack p = pack_choose(own, pack_at(at + last), (pack){0} - (value)INFINITY);
        for (int64_t k = 0; k < last; k += PACK) {
            p = pack_most(p, pack_at(at + k));
        }
        short_few_most(s->part[r], p);
    }
    for (int r = 0; r < SHORT_ROWS; r++) {
        const value *q = s->part[r];
        s->largest[r] = FEW == 4 ? most(most(q[0], q[1]), most(q[FEW - 2], q[FEW - 1])) : most(q[0], q[1]);
    }
    for (int64_t r = 0; r < rows; r++) {
        const value *at = x + r * n;
        pack *made = s->made + r * packs;
        pack less = (pack){0} + s->largest[r], e = exp_shifted_pack(pack_at(at + last) - less);
        e = pack_choose(own, e, (pack){0});
        made[packs - 1] = e;
        for (int64_t k = 0; k < packs; k++) { /* while exponentials are made, the rows behind these come; they may lie outside */
            if (asks_far) {
                __builtin_prefetch((const char *)((uintptr_t)(at + k * PACK) + FAR_BYTES), 0, 2);
            } else {
                __builtin_prefetch((const char *)((uintptr_t)(at + k * PACK) + (uintptr_t)(rows * n) * sizeof(value)));
            }
        }
        for (int64_t k = 0; k < packs - 1; k++) {
            pack more = exp_shifted_pack(pack_at(at + k * PACK) - less);
            if (!logarithm) {
                made[k] = more;
            }
            e += more;
        }
        few sums = pack_few(e);
        memcpy(s->part[r], &sums, sizeof sums);
    }
#pragma omp simd
    for (int r = 0; r < SHORT_ROWS; r++) {
        value sum = few_sum(s->part[r]);
        s->factor[r] = logarithm ? log_of(sum) : 1 / sum;
    }
    for (int64_t r = 0; r < rows; r++) {
        const value *at = x + r * n;
        const pack *made = s->made + r * packs;
        pack factor = (pack){0} + s->factor[r], less = (pack){0} + s->largest[r];
        for (int64_t k = 0; k < packs; k++) {
            pack from = pack_at(at + k * PACK), p = logarithm ? (from - less) - factor : made[k] * factor;
            p = !past && k == packs - 1 ? pack_choose(own, p, from) : p;
            if (past) {
                stream_registers(y + r * n + k * PACK, &p, sizeof p);
            } else {
                memcpy(y + r * n + k * PACK, &p, sizeof p);
            }
        }
    }
}

/* The last rows, whose packs would reach behind all of them, in a place with room. */
static inline __attribute__((always_inline)) void softmax_last(short_rows *s, value *y, const value *x, int64_t rows, int64_t n, int64_t packs,
                                                               bool logarithm) {
    value room[(SHORT_PACKS + 1) * PACK * 2] = {0};
    memcpy(room, x, (size_t)(rows * n) * sizeof *x);
    softmax_some(s, room, room, rows, n, packs, logarithm, false);
    memcpy(y, room, (size_t)(rows * n) * sizeof *y);
}

static inline __attribute__((always_inline)) void softmax_packs(value *y, const value *x, int64_t rows, int64_t n, int64_t packs, bool logarithm,
                                                                bool past) {
    short_rows s;
    memset(s.part, 0, sizeof s.part); /* what stands there for rows that are not is computed with */
    int64_t beyond = packs * PACK - n, ending = (beyond + n - 1) / n, whole = rows > ending ? rows - ending : 0;
    int64_t together = packs <= SHORT_PACKS / 2 ? SHORT_ROWS : SHORT_ROWS / 2;
    for (int64_t r = 0; r < whole; r += together) {
        softmax_some(&s, y + r * n, x + r * n, whole - r < together ? whole - r : together, n, packs, logarithm, past);
    }
    if (whole < rows) {
        softmax_last(&s, y + whole * n, x + whole * n, rows - whole, n, packs, logarithm);
    }
}

/* A row that is not so short. */
static inline __attribute__((always_inline)) void softmax_row(value *y, const value *x, int64_t n, bool logarithm) {
    row_wide largest = {.WIDE = (wide)-INFINITY};
    fold_largest(&largest, x, n);
    value m = (value)largest.WIDE, sum = 0;
    if (logarithm) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            sum += exp_shifted_of(x[i] - m);
        }
        subtract(y, x, (double)m, log((double)sum), n);
        return;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        value e = exp_shifted_of(x[i] - m);
        y[i] = e;
        sum += e;
    }
    scale(y, y, 1 / (double)sum, 0, n);
}

/* Many short rows one behind the other; to may be x. */
static void softmax_short(void *to, const void *at, int64_t rows, int64_t n, bool logarithm) {
    value *y = to;
    const value *x = at;
    int64_t packs = (n + PACK - 1) / PACK;
    if (packs == 1) {
        logarithm ? softmax_packs(y, x, rows, n, 1, true, false) : softmax_packs(y, x, rows, n, 1, false, false);
    } else if (packs == 2) {
        logarithm ? softmax_packs(y, x, rows, n, 2, true, false) : softmax_packs(y, x, rows, n, 2, false, false);
    } else if (packs <= SHORT_PACKS) {
        logarithm ? softmax_packs(y, x, rows, n, packs, true, false) : softmax_packs(y, x, rows, n, packs, false, false);
    } else {
        for (int64_t r = 0; r < rows; r++) {
            softmax_row(y + r * n, x + r * n, n, logarithm);
        }
    }
}

/* The same past the caches, of rows of whole lines, of SOFTMAX_SHORT_BYTES at most; `to` is where a line begins. */
static void softmax_lines(void *to, const void *x, int64_t rows, int64_t n, bool logarithm) {
    const int64_t packs = n / PACK;
    logarithm ? softmax_packs(to, x, rows, n, packs, true, true) : softmax_packs(to, x, rows, n, packs, false, true);
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

/* As softmax_some, which see: sums of rows <= SHORT_ROWS, then their gradients. Behind the last row as many elements as the packs reach into are
   read, and written over. */
static inline __attribute__((always_inline)) void softmax_back_some(value *to, const value *g, const value *y, int64_t rows, int64_t n, int64_t packs,
                                                                    bool logarithm) {
    value part[SHORT_ROWS][FEW] = {{0}}, sum[SHORT_ROWS];
    const int64_t last = (packs - 1) * PACK;
    const pack_mask own = short_own(n - last);
    for (int64_t r = 0; r < rows; r++) {
        const value *grad = g + r * n, *of = y + r * n;
        pack p = pack_at(grad + last);
        p = pack_choose(own, logarithm ? p : p * pack_at(of + last), (pack){0});
        for (int64_t k = 0; k < last; k += PACK) {
            p += logarithm ? pack_at(grad + k) : pack_at(grad + k) * pack_at(of + k);
        }
        few q = pack_few(p);
        memcpy(part[r], &q, sizeof q);
    }
#pragma omp simd
    for (int r = 0; r < SHORT_ROWS; r++) {
        sum[r] = few_sum(part[r]);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = 0; k < packs * PACK; k += PACK) {
            pack grad = pack_at(g + r * n + k), of = pack_at(y + r * n + k);
            grad = logarithm ? grad - exp_pack(of) * sum[r] : (grad - sum[r]) * of;
            memcpy(to + r * n + k, &grad, sizeof grad);
        }
    }
}

/* The last rows, in a place with room. */
static __attribute__((noinline)) void softmax_back_last(value *to, const value *g, const value *y, int64_t rows, int64_t n, int64_t packs,
                                                        bool logarithm) {
    value room[3][(SHORT_PACKS + 1) * PACK * 2] = {{0}};
    const size_t bytes = (size_t)(rows * n) * sizeof *g;
    memcpy(room[0], g, bytes);
    memcpy(room[1], y, bytes);
    softmax_back_some(room[2], room[0], room[1], rows, n, packs, logarithm);
    memcpy(to, room[2], bytes);
}

static inline __attribute__((always_inline)) void softmax_back_packs(value *to, const value *g, const value *y, int64_t rows, int64_t n,
                                                                     int64_t packs, bool logarithm) {
    const int64_t beyond = packs * PACK - n, ending = (beyond + n - 1) / n, whole = rows > ending ? rows - ending : 0;
    for (int64_t r = 0; r < whole; r += SHORT_ROWS) {
        softmax_back_some(to + r * n, g + r * n, y + r * n, whole - r < SHORT_ROWS ? whole - r : SHORT_ROWS, n, packs, logarithm);
    }
    if (whole < rows) {
        softmax_back_last(to + whole * n, g + whole * n, y + whole * n, rows - whole, n, packs, logarithm);
    }
}

/* Many short rows one behind the other, of SOFTMAX_SHORT_BYTES at most. */
static void softmax_back_short(void *to, const void *grad, const void *output, int64_t rows, int64_t n, bool logarithm) {
    const int64_t packs = (n + PACK - 1) / PACK;
    if (packs == 1) {
        logarithm ? softmax_back_packs(to, grad, output, rows, n, 1, true) : softmax_back_packs(to, grad, output, rows, n, 1, false);
    } else if (packs == 2) {
        logarithm ? softmax_back_packs(to, grad, output, rows, n, 2, true) : softmax_back_packs(to, grad, output, rows, n, 2, false);
    } else {
        logarithm ? softmax_back_packs(to, grad, output, rows, n, packs, true) : softmax_back_packs(to, grad, output, rows, n, packs, false);
    }
}

static void log_beyond_1(void *to, const void *from, int64_t n) {
    value *y = to;
    const value *x = from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = log_beyond_1_of(x[i]);
    }
}

/* What columns of rows abreast come to, in each of those rows. */
static void largest_of_abreast(value *largest, int64_t n, int64_t abreast) {
    for (int64_t k = 1; k < abreast; k++) {
        into_largest(largest, largest + k * n, n);
    }
    for (int64_t k = 1; k < abreast; k++) {
        memcpy(largest + k * n, largest, (size_t)n * sizeof *largest);
    }
}

static void sum_of_abreast(value *sum, int64_t n, int64_t abreast) {
    for (int64_t k = 1; k < abreast; k++) {
        for (int64_t i = 0; i < n; i++) {
            sum[i] += sum[k * n + i];
        }
    }
    for (int64_t k = 1; k < abreast; k++) {
        memcpy(sum + k * n, sum, (size_t)n * sizeof *sum);
    }
}

/* Rows abreast count as one; behind them lies a part of one. */
static void softmax_columns(const softmax_box *b) {
    const int64_t n = b->n * b->abreast, rows = b->rows / b->abreast, rest = (b->rows - rows * b->abreast) * b->n;
    const int64_t x_stride = b->abreast > 1 ? n : b->x_stride, to_stride = b->abreast > 1 ? n : b->to_stride;
    const bool logarithm = b->logarithm;
    const value *from = b->x;
    value *made = b->made, *largest = b->work, *sum = largest + n;
    memcpy(largest, from, (size_t)n * sizeof *from);
    for (int64_t r = 1; r < rows; r++) {
        into_largest(largest, from + r * x_stride, n);
    }
    into_largest(largest, from + rows * x_stride, rest);
    largest_of_abreast(largest, b->n, b->abreast);
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r <= rows; r++) {
        const int64_t m = r < rows ? n : rest;
        const value *x = from + r * x_stride;
        value *y = made + r * n;
#pragma omp simd
        for (int64_t i = 0; i < m; i++) {
            value e = exp_shifted_of(x[i] - largest[i]);
            sum[i] += e;
            y[i] = logarithm ? x[i] : e;
        }
    }
    sum_of_abreast(sum, b->n, b->abreast);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        sum[i] = logarithm ? log_of(sum[i]) : 1 / sum[i];
    }
    for (int64_t r = 0; r <= rows; r++) {
        const int64_t m = r < rows ? n : rest;
        const value *y = made + r * n;
        value *to = (value *)b->to + r * to_stride;
#pragma omp simd
        for (int64_t i = 0; i < m; i++) {
            to[i] = logarithm ? (y[i] - largest[i]) - sum[i] : y[i] * sum[i];
        }
    }
}

static void softmax_back_columns(const softmax_box *b) {
    const int64_t n = b->n;
    value *sum = b->work;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r < b->rows; r++) {
        const value *g = (const value *)b->x + r * b->x_stride, *y = (const value *)b->y + r * b->y_stride;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sum[i] += b->logarithm ? g[i] : g[i] * y[i];
        }
    }
    for (int64_t r = 0; r < b->rows; r++) {
        const value *g = (const value *)b->x + r * b->x_stride, *y = (const value *)b->y + r * b->y_stride;
        value *to = (value *)b->to + r * b->to_stride;
        if (b->logarithm) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                to[i] = g[i] - exp_of(y[i]) * sum[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (g[i] - sum[i]) * y[i];
        }
    }
}
