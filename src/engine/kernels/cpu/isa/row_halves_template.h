/* SPDX-License-Identifier: Apache-2.0 */
/* Template: the loops of row_halves.h for one type. The file that includes this first defines HALF_TYPE. */
#include "device/caches.h"
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/row_halves.h"
#include "engine/kernels/cpu/isa/scan_lines.h"
#include "engine/kernels/cpu/isa/stream.h"

#include <math.h>
#include <stdbool.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef float_pack pack;
typedef float_pair pair;
enum { PACK = HALF_PAIR / 2, PAIR = HALF_PAIR };

/* --- sums ------------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE half_bits bits_at(const uint16_t *x) {
    half_bits bits;
    memcpy(&bits, x, sizeof bits);
    return bits;
}

/* The first n <= PAIR elements, and zeros behind them. */
ALWAYS_INLINE half_bits bits_first(const uint16_t *x, int64_t n) {
#if defined(__AVX512BW__)
    return (half_bits)_mm512_maskz_loadu_epi16((__mmask32)(((uint64_t)1 << n) - 1), x);
#else
    uint16_t some[PAIR] = {0};
    memcpy(some, x, (size_t)n * sizeof *x);
    return bits_at(some);
#endif
}

/* The next pair of n >= 1 elements, with zeros behind the last. */
ALWAYS_INLINE pair pair_first(const uint16_t *x, int64_t n) {
    return n < PAIR ? float_pair_of(HALF_TYPE, bits_first(x, n)) : float_pair_at(HALF_TYPE, x);
}

ALWAYS_INLINE pack value_of(pack x) {
    return x;
}

ALWAYS_INLINE pack square_of(pack x) {
    return x * x;
}

ALWAYS_INLINE pack size_of(pack x) {
    return (pack)((half_bits)x & 0x7fffffff);
}

/* By halves: number by number the compiler takes each out of the pack. */
ALWAYS_INLINE float pack_sum(pack p) {
    four_floats four = fours_sum(p);
    return (four[0] + four[1]) + (four[2] + four[3]);
}

/* How far on memory is asked for by loops that go along rows of n, in bytes; 0: the CPU reads on by itself, or the question takes as long as
   the row. Intel's processors have it come to L2, as few lines may be under way to L1: variances of [256, 64, 56, 56] by channels reach 0.89
   of what a plain loop reads so, 0.83 otherwise (medians, two cores of an Emerald Rapids, 2026-11). */
typedef struct along {
    uintptr_t ahead;
    bool to_l2;
} along;

ALWAYS_INLINE along asks_along(int64_t n) {
    enum { AHEAD_BYTES = 4096, LEAST = 128 /* elements */ };
    return (along){n >= LEAST && cpu_asks_along() ? AHEAD_BYTES : 0, cpu_is_intel()};
}

/* So many bytes so far on; 0 asks for what is read anyway. */
ALWAYS_INLINE void ask_along(const uint16_t *x, size_t bytes, along to) {
    for (size_t at = 0; at < bytes; at += STREAM_LINE) {
        const char *const line = (const char *)((uintptr_t)x + to.ahead + at); /* it may lie outside */
        if (to.to_l2) {
            __builtin_prefetch(line, 0, 2);
        } else {
            __builtin_prefetch(line);
        }
    }
}

/* Four sums side by side, since one alone would wait for each addition. */
ALWAYS_INLINE float block_sum(const uint16_t *x, int64_t n, pack (*f)(pack), along to) {
    pack a = {0}, b = {0}, c = {0}, d = {0};
    int64_t i = 0;
    for (; i + 2 * PAIR <= n; i += 2 * PAIR) {
        ask_along(x + i, 2 * PAIR * sizeof *x, to);
        pair p = float_pair_at(HALF_TYPE, x + i), q = float_pair_at(HALF_TYPE, x + i + PAIR);
        a += f(p.a);
        b += f(p.b);
        c += f(q.a);
        d += f(q.b);
    }
    for (; i < n; i += PAIR) {
        pair p = pair_first(x + i, n - i);
        a += f(p.a);
        b += f(p.b);
    }
    return pack_sum((a + b) + (c + d));
}

ALWAYS_INLINE void fold_sum(row_wide *total, const uint16_t *x, int64_t n, pack (*f)(pack)) {
    const along to = asks_along(n);
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        total->f += (double)block_sum(x + from, n - from < SUM_BLOCK ? n - from : SUM_BLOCK, f, to);
    }
}

static void fold_values(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, value_of);
}

static void fold_squares(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, square_of);
}

static void fold_sizes(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, size_of);
}

ALWAYS_INLINE void fold_short(row_wide *totals, const uint16_t *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on,
                             pack (*f)(pack)) {
    for (int64_t r = 0; r < rows; r++) {
        totals[r].f = goes_on ? totals[r].f : 0;
        fold_sum(&totals[r], x + r * row_stride, n, f);
    }
}

static void fold_short_values(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, value_of);
}

static void fold_short_squares(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, square_of);
}

static void fold_short_sizes(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, size_of);
}

/* --- sums by columns -------------------------------------------------------------------------------------------------------- */

/* Rows gone over together: sums are then loaded and stored once for all of them. */
enum { TOGETHER = 4 };

ALWAYS_INLINE pair pair_at(const float *x) {
    pair p;
    memcpy(&p.a, x, sizeof p.a);
    memcpy(&p.b, x + PACK, sizeof p.b);
    return p;
}

ALWAYS_INLINE void pair_set(float *to, pair p) {
    memcpy(to, &p.a, sizeof p.a);
    memcpy(to + PACK, &p.b, sizeof p.b);
}

/* Columns' next pair, of which m >= 1 are left: bf16 by even and odd places where one instruction brings sums into that order and one
   back, else in order. */
#if defined(__AVX512F__)
ALWAYS_INLINE pair columns_pair(const uint16_t *x, int64_t m) {
    return pair_first(x, m);
}

ALWAYS_INLINE pair pair_turned(pair p, __m512i first, __m512i second) {
    return (pair){(pack)_mm512_permutex2var_ps((__m512)p.a, first, (__m512)p.b),
                  (pack)_mm512_permutex2var_ps((__m512)p.a, second, (__m512)p.b)};
}

/* Numbers in the order of columns, and back. */
ALWAYS_INLINE pair sums_pair(const float *x) {
    pair p = pair_at(x);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return HALF_TYPE == ASSAY_F16 ? p : pair_turned(p, even, _mm512_add_epi32(even, _mm512_set1_epi32(1)));
}

ALWAYS_INLINE void sums_set(float *to, pair p) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    pair_set(to, HALF_TYPE == ASSAY_F16 ? p : pair_turned(p, low, _mm512_add_epi32(low, _mm512_set1_epi32(8))));
}
#else
ALWAYS_INLINE pair columns_pair(const uint16_t *x, int64_t m) {
    return float_pair_in_order(HALF_TYPE, m < PAIR ? bits_first(x, m) : bits_at(x));
}

ALWAYS_INLINE pair sums_pair(const float *x) {
    return pair_at(x);
}

ALWAYS_INLINE void sums_set(float *to, pair p) {
    pair_set(to, p);
}
#endif

/* Asks for memory in the order it lies in, while rows before it are gone over several at a time: the CPU reads ahead by itself where rows
   come one by one only. Into L2: what goes to L1 itself is waited for, as it has room for a few lines under way (32768 rows of 2 KiB on
   one core of a Zen 4: sums 2.1 ns a line instead of 2.7, moments 2.0 instead of 3.6; so far ahead, rather than 8 or 16 KiB). */
typedef struct walk {
    uintptr_t row; /* which may lie outside; 0: none is asked for */
    int64_t at, row_stride, n;
} walk;

/* How many rows on, of so many; 0: none is asked for. */
ALWAYS_INLINE int64_t walk_ahead(int64_t rows, int64_t n) {
    enum { AHEAD = (32 << 10) / sizeof(uint16_t), LEAST = 512 /* elements */ };
    int64_t ahead = n < LEAST ? 0 : n < AHEAD / TOGETHER ? AHEAD / n : TOGETHER;
    return rows > ahead ? ahead : 0;
}

ALWAYS_INLINE walk walk_from(const uint16_t *x, int64_t ahead, int64_t row_stride, int64_t n) {
    uintptr_t row = (uintptr_t)x + (uintptr_t)(ahead * row_stride) * sizeof *x;
    return (walk){ahead > 0 ? row : 0, 0, row_stride, n};
}

/* As many pairs as `pairs` says, which are whole lines. */
ALWAYS_INLINE void walk_on(walk *w, int64_t pairs) {
    enum { LINE = STREAM_LINE / sizeof(uint16_t) };
    for (int64_t k = 0; w->row != 0 && k < pairs * PAIR; k += LINE) {
        __builtin_prefetch((const char *)(w->row + (uintptr_t)(w->at + k) * sizeof(uint16_t)), 0, 2);
    }
    w->at += pairs * PAIR;
    if (w->at >= w->n) {
        w->at = 0;
        w->row += w->row != 0 ? (uintptr_t)w->row_stride * sizeof(uint16_t) : 0;
    }
}

/* rows <= TOGETHER: a constant. */
ALWAYS_INLINE void rows_into(float *sums, const uint16_t *x, int64_t rows, int64_t row_stride, int64_t n, int64_t ahead,
                             pack (*f)(pack)) {
    walk next = walk_from(x, ahead, row_stride, n);
    for (int64_t i = 0; i < n; i += PAIR) {
        pack a = {0}, b = {0};
        walk_on(&next, rows);
        for (int64_t r = 0; r < rows; r++) {
            pair p = columns_pair(x + r * row_stride + i, n - i);
            a += f(p.a);
            b += f(p.b);
        }
        pair p = sums_pair(sums + i);
        sums_set(sums + i, (pair){p.a + a, p.b + b});
    }
}

/* Rows that lie one behind the other are taken by quarters, a row of each in turn: four places that memory is read from straight on, as
   the CPU reads ahead by itself. It does not where four neighbours go together (32768 rows of 2 KiB on two cores of a Zen 4: 94 to 99% of
   a loop that only reads; four neighbours asked for in order 70 to 90%, one row at a time 77 to 91%). Not on Intel's processors: neighbours
   asked for in order have 86 to 90% there, and quarters 79 (Emerald Rapids). */
ALWAYS_INLINE int64_t quarter_of(int64_t rows, int64_t row_stride, int64_t n) {
    enum { LEAST_QUARTER = (32 << 10) / sizeof(uint16_t) };
    int64_t quarter = rows / TOGETHER;
    return row_stride == n && quarter * n >= LEAST_QUARTER && !cpu_is_intel() ? quarter : 0;
}

ALWAYS_INLINE void add_rows(float *sums, const uint16_t *x, int64_t rows, int64_t row_stride, int64_t n, pack (*f)(pack)) {
    int64_t r = 0, ahead = walk_ahead(rows, n), quarter = quarter_of(rows, row_stride, n);
    for (; r < quarter * TOGETHER; r += TOGETHER) {
        rows_into(sums, x + r / TOGETHER * n, TOGETHER, quarter * n, n, 0, f);
    }
    for (; r + TOGETHER <= rows; r += TOGETHER) {
        rows_into(sums, x + r * row_stride, TOGETHER, row_stride, n, ahead, f);
    }
    for (; r < rows; r++) {
        rows_into(sums, x + r * row_stride, 1, row_stride, n, 0, f);
    }
}

static void add_values(float *sums, const void *x, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows(sums, x, rows, row_stride, n, value_of);
}

static void add_squares(float *sums, const void *x, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows(sums, x, rows, row_stride, n, square_of);
}

static void add_sizes(float *sums, const void *x, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows(sums, x, rows, row_stride, n, size_of);
}

/* --- truth ------------------------------------------------------------------------------------------------------------------ */

static void fold_nonzero(row_wide *total, const void *row, int64_t n) {
    const uint16_t *x = row;
    uint16_t found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) {
        found |= x[i];
    }
    total->f = (found & 0x7fff) != 0 ? 1 : total->f;
}

static void fold_zero(row_wide *total, const void *row, int64_t n) {
    const uint16_t *x = row;
    uint16_t found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) {
        found |= (x[i] & 0x7fff) == 0;
    }
    total->f = found ? 1 : total->f;
}

#include "engine/kernels/cpu/isa/row_halves_keys.h"

/* --- moments ---------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE pair distances(pair p, pack c) {
    return (pair){p.a - c, p.b - c};
}

/* The same of the first m elements, and zeros behind them. */
ALWAYS_INLINE pair distances_first(const uint16_t *x, int64_t m, pack c) {
    uint16_t ones[PAIR];
    memset(ones, 0x3c, sizeof ones); /* any number but 0 */
    pair p = distances(pair_first(x, m), c), there = float_pair_of(HALF_TYPE, bits_first(ones, m));
    return (pair){(pack)((half_bits)p.a & (half_bits)(there.a != 0)), (pack)((half_bits)p.b & (half_bits)(there.b != 0))};
}

/* The sum of (x - c)^2 over one block. */
ALWAYS_INLINE float block_distances(const uint16_t *x, int64_t n, float centre) {
    pack a = {0}, b = {0}, c = {0}, d = {0}, from = (pack){0} + centre;
    int64_t i = 0;
    for (; i + 2 * PAIR <= n; i += 2 * PAIR) {
        pair p = distances(float_pair_at(HALF_TYPE, x + i), from), q = distances(float_pair_at(HALF_TYPE, x + i + PAIR), from);
        a += p.a * p.a;
        b += p.b * p.b;
        c += q.a * q.a;
        d += q.b * q.b;
    }
    for (; i < n; i += PAIR) {
        pair p = n - i < PAIR ? distances_first(x + i, n - i, from) : distances(float_pair_at(HALF_TYPE, x + i), from);
        a += p.a * p.a;
        b += p.b * p.b;
    }
    return pack_sum((a + b) + (c + d));
}

/* The same with the sum of x - c. */
ALWAYS_INLINE float block_sums_of_distances(const uint16_t *x, int64_t n, float centre, float *squares, along to) {
    pack a = {0}, b = {0}, aa = {0}, bb = {0}, c = {0}, d = {0}, cc = {0}, dd = {0}, from = (pack){0} + centre;
    int64_t i = 0;
    for (; i + 2 * PAIR <= n; i += 2 * PAIR) {
        ask_along(x + i, 2 * PAIR * sizeof *x, to);
        pair p = distances(float_pair_at(HALF_TYPE, x + i), from), q = distances(float_pair_at(HALF_TYPE, x + i + PAIR), from);
        a += p.a;
        b += p.b;
        c += q.a;
        d += q.b;
        aa += p.a * p.a;
        bb += p.b * p.b;
        cc += q.a * q.a;
        dd += q.b * q.b;
    }
    for (; i < n; i += PAIR) {
        pair p = n - i < PAIR ? distances_first(x + i, n - i, from) : distances(float_pair_at(HALF_TYPE, x + i), from);
        a += p.a;
        b += p.b;
        aa += p.a * p.a;
        bb += p.b * p.b;
    }
    *squares = pack_sum((aa + bb) + (cc + dd));
    return pack_sum((a + b) + (c + d));
}

static void sums_about(const void *at, int64_t n, double centre, double *sum, double *squares) {
    const uint16_t *x = at;
    const along to = asks_along(n);
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        float own;
        *sum += (double)block_sums_of_distances(x + from, n - from < SUM_BLOCK ? n - from : SUM_BLOCK, (float)centre, &own, to);
        *squares += (double)own;
    }
}

/* Two passes, the second about the mean: an infinite mean stays one, and squares are infinite only where they have to be. */
static void moments_twice(const uint16_t *x, int64_t n, double *mean, double *m2) {
    double average = (double)block_sum(x, n, value_of, (along){0, false}) / (double)n;
    float c = (float)average;
    double rest = average - (double)c; /* what rounding took off the mean */
    *mean = average;
    *m2 = (double)block_distances(x, n, c) - (double)n * rest * rest;
}

/* In one pass, about the mean of some: what is taken off squares for the mean lying elsewhere is at most n / NEAR m2, since those are among
   them, and of the digits that sums in float have halves need few. */
static void moments(const void *at, int64_t rows, int64_t n, double *mean, double *m2) {
    enum { NEAR = 64 };
    const uint16_t *x = at;
    for (int64_t r = 0; r < rows; r++, x += n) {
        int64_t near = n < NEAR ? n : NEAR;
        float c = block_sum(x, near, value_of, (along){0, false}) / (float)near;
        double sum = 0, squares = 0;
        sums_about(x, n, (double)c, &sum, &squares);
        double rest = sum / (double)n;
        mean[r] = (double)c + rest;
        m2[r] = squares - sum * rest;
        if (!isfinite(mean[r]) || !isfinite(m2[r])) {
            moments_twice(x, n, &mean[r], &m2[r]);
        }
        m2[r] = m2[r] < 0 ? 0 : m2[r]; /* NaN stays */
    }
}

/* Sums of distances from `centre` and of their squares, all as columns_pair has them. rows <= TOGETHER: a constant. */
ALWAYS_INLINE void distances_into(float *sums, float *squares, const float *centre, const uint16_t *x, int64_t rows, int64_t row_stride,
                                  int64_t n, int64_t ahead) {
    walk next = walk_from(x, ahead, row_stride, n);
    for (int64_t i = 0; i < n; i += PAIR) {
        pair c = pair_at(centre + i), s = pair_at(sums + i), q = pair_at(squares + i);
        walk_on(&next, rows);
        pair more = {{0}, {0}}, before = {{0}, {0}};
        for (int64_t r = 0; r < rows; r++) {
            pair p = columns_pair(x + r * row_stride + i, n - i);
            pack a = p.a - c.a, b = p.b - c.b;
            q.a += a * a;
            q.b += b * b;
            if (r % 2 == 0) {
                before = (pair){a, b};
            } else {
                more.a += before.a + a;
                more.b += before.b + b;
                before = (pair){{0}, {0}};
            }
        }
        s.a += more.a + before.a; /* first among themselves: columns' sums, which grow, lose digits of each */
        s.b += more.b + before.b;
        pair_set(sums + i, s);
        pair_set(squares + i, q);
    }
}

/* The mean of some of the rows: of those that are read first, so that none is fetched out of turn. */
ALWAYS_INLINE void centre_of(float *centre, const uint16_t *x, int64_t rows, int64_t row_stride, int64_t n, int64_t quarter) {
    enum { NEAR = 16, LEAST = 4 * NEAR };
    int64_t near = rows < TOGETHER ? rows : rows < LEAST ? TOGETHER : NEAR, k = 0, m;
    for (; k < near; k += m) {
        const uint16_t *at = quarter > 0 ? x + k / TOGETHER * n : x + k * row_stride;
        m = near - k < TOGETHER ? 1 : TOGETHER;
        for (int64_t i = 0; i < n; i += PAIR) {
            pair c = k > 0 ? pair_at(centre + i) : (pair){{0}, {0}};
            for (int64_t r = 0; r < m; r++) {
                pair p = columns_pair(at + r * (quarter > 0 ? quarter * n : row_stride) + i, n - i);
                c.a += p.a;
                c.b += p.b;
            }
            pair_set(centre + i, c);
        }
    }
    float share = 1 / (float)near;
    for (int64_t i = 0; i < n; i += PAIR) {
        pair c = pair_at(centre + i);
        pair_set(centre + i, (pair){c.a * share, c.b * share});
    }
}

/* One column in two passes, as moments_twice. */
static void column_twice(const uint16_t *x, int64_t rows, int64_t row_stride, float *mean, float *m2) {
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < rows; r++) {
        sum += element_load(HALF_TYPE, x + r * row_stride);
    }
    const double average = sum / (double)rows;
    for (int64_t r = 0; r < rows; r++) {
        const double d = element_load(HALF_TYPE, x + r * row_stride) - average;
        squares += d * d;
    }
    *mean = (float)average;
    *m2 = (float)squares;
}

/* In one pass, about the mean of some rows: as `moments`. */
static void moments_columns(const void *at, int64_t rows, int64_t row_stride, int64_t n, float *mean, float *m2) {
    enum { MOST = ROW_HALVES_COLUMNS };
    const uint16_t *x = at;
    _Alignas(64) float centre[MOST], sums[MOST], squares[MOST];
    float share = 1 / (float)rows;
    int64_t r = 0, ahead = walk_ahead(rows, n), quarter = quarter_of(rows, row_stride, n);
    size_t room = (size_t)((n + PAIR - 1) / PAIR * PAIR) * sizeof *sums;
    memset(sums, 0, room);
    memset(squares, 0, room);
    centre_of(centre, x, rows, row_stride, n, quarter);
    for (; r < quarter * TOGETHER; r += TOGETHER) {
        distances_into(sums, squares, centre, x + r / TOGETHER * n, TOGETHER, quarter * n, n, 0);
    }
    for (; r + TOGETHER <= rows; r += TOGETHER) {
        distances_into(sums, squares, centre, x + r * row_stride, TOGETHER, row_stride, n, ahead);
    }
    for (; r < rows; r++) {
        distances_into(sums, squares, centre, x + r * row_stride, 1, row_stride, n, 0);
    }
    for (int64_t i = 0; i < n; i += PAIR) {
        pair c = pair_at(centre + i), s = pair_at(sums + i), q = pair_at(squares + i);
        pair rest = {s.a * share, s.b * share};
        sums_set(mean + i, (pair){c.a + rest.a, c.b + rest.b});
        sums_set(m2 + i, (pair){q.a - s.a * rest.a, q.b - s.b * rest.b});
    }
    for (int64_t i = 0; i < n; i++) {
        m2[i] = m2[i] < 0 ? 0 : m2[i]; /* NaN stays */
        if (!isfinite(m2[i])) {
            column_twice(x + i, rows, row_stride, &mean[i], &m2[i]);
        }
    }
}

ALWAYS_INLINE half_bits scaled(pair p, float factor, float plus) {
    return half_bits_of(HALF_TYPE, (pair){p.a * factor + plus, p.b * factor + plus});
}

static void scale(void *to, const void *row, double factor, double plus, int64_t n) {
    const uint16_t *x = row;
    uint16_t *y = to;
    if (n < PAIR) {
        half_bits made = scaled(pair_first(x, n), (float)factor, (float)plus);
        memcpy(y, &made, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t at = 0; at < n; at += PAIR) {
        int64_t i = at + PAIR <= n ? at : n - PAIR; /* the last ones overlap those before */
        half_bits made = scaled(float_pair_at(HALF_TYPE, x + i), (float)factor, (float)plus);
        memcpy(y + i, &made, sizeof made);
    }
}

#include "engine/kernels/cpu/isa/row_halves_scan.h"
#include "engine/kernels/cpu/isa/row_halves_softmax.h"

#define ROW_HALVES_LOOPS                                                                                          \
    .fold = {fold_values, fold_squares, fold_sizes, fold_largest, fold_smallest, fold_nonzero, fold_zero},        \
    .fold_short = {fold_short_values, fold_short_squares, fold_short_sizes},                                      \
    .add_rows = {add_values, add_squares, add_sizes},                                                             \
    .place = place, .place_rows = place_rows, .moments = moments, .moments_columns = moments_columns, \
    .sums_about = sums_about, .scale = scale, .softmax_back = softmax_back,                                                                                     \
    .scan = {SCAN_ROW, SCAN_ROW_BY_INSTRUCTION}, .scan_columns = scan_columns
