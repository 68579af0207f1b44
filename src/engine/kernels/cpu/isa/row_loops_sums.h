/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of values, squares and sizes: a part of row_loops_common.h. */

/* What is less than a pack goes by one load where memory can be read by parts of a register, else one by one. */
#if defined(__AVX512BW__)
#include <immintrin.h>

enum { PACK_PARTS = 1 };

static inline __mmask64 pack_part(int64_t n) {
    return n == PACK ? ~(__mmask64)0 : ((__mmask64)1 << (n * (int64_t)sizeof(value))) - 1;
}

/* The first n <= PACK numbers, then zeros. */
static inline pack pack_start(const value *x, int64_t n) {
    return (pack)_mm512_maskz_loadu_epi8(pack_part(n), x);
}

static inline pack pack_keep(pack p, int64_t n) {
    return (pack)_mm512_maskz_mov_epi8(pack_part(n), (__m512i)p);
}
#else
enum { PACK_PARTS = 0 };

static inline pack pack_start(const value *x, int64_t n) {
    (void)x, (void)n;
    return (pack){0};
}

static inline pack pack_keep(pack p, int64_t n) {
    (void)n;
    return p;
}
#endif

#if defined(PACK_WRAPS) /* whole numbers, whose vectors the compiler adds up well */
static inline value pack_sum(pack p) {
    return pack_fold(p, plus);
}
#else
/* A pack folded to sixteen bytes: number by number the compiler would take each out of it. */
typedef value few __attribute__((vector_size(16)));
enum { FEW = 16 / sizeof(value) };

static inline __attribute__((always_inline)) few pack_few(pack p) {
#if REGISTER_BYTES == 64
    typedef value half_pack __attribute__((vector_size(32)));
    half_pack half[2];
    few part[2];
    memcpy(half, &p, sizeof p);
    half[0] += half[1];
    memcpy(part, &half[0], sizeof part);
    return part[0] + part[1];
#elif REGISTER_BYTES == 32
    few part[2];
    memcpy(part, &p, sizeof p);
    return part[0] + part[1];
#else
    return p;
#endif
}

static inline __attribute__((always_inline)) value few_sum(const value part[FEW]) {
    return FEW == 4 ? (part[0] + part[1]) + (part[FEW - 2] + part[FEW - 1]) : part[0] + part[1];
}

static inline value pack_sum(pack p) {
    few q = pack_few(p);
    value part[FEW];
    memcpy(part, &q, sizeof part);
    return few_sum(part);
}
#endif

static inline pack pack_size(pack p) {
    return pack_choose(p < 0, -p, p);
}

/* Four sums side by side, since one alone would wait for each addition, and what is left of runs, less than a pack each. */
typedef struct partial_sums {
    pack a, b, c, d;
    value rest;
} partial_sums;

static inline __attribute__((always_inline)) void sums_add(partial_sums *s, const value *x, int64_t n, pack (*f)(pack), value (*g)(value)) {
    int64_t i = 0;
    for (; i + 4 * PACK <= n; i += 4 * PACK) {
        s->a = PACK_ADD(s->a, f(pack_at(x + i)));
        s->b = PACK_ADD(s->b, f(pack_at(x + i + PACK)));
        s->c = PACK_ADD(s->c, f(pack_at(x + i + 2 * PACK)));
        s->d = PACK_ADD(s->d, f(pack_at(x + i + 3 * PACK)));
    }
    if (i + 2 * PACK <= n) {
        s->a = PACK_ADD(s->a, f(pack_at(x + i)));
        s->b = PACK_ADD(s->b, f(pack_at(x + i + PACK)));
        i += 2 * PACK;
    }
    if (i + PACK <= n) {
        s->c = PACK_ADD(s->c, f(pack_at(x + i)));
        i += PACK;
    }
    if (PACK_PARTS && i < n) {
        s->d = PACK_ADD(s->d, f(pack_start(x + i, n - i)));
    }
    for (; !PACK_PARTS && i < n; i++) {
        s->rest = ADD(s->rest, g(x[i]));
    }
}

static inline __attribute__((always_inline)) value sums_total(const partial_sums *s) {
    return ADD(pack_sum(PACK_ADD(PACK_ADD(s->a, s->b), PACK_ADD(s->c, s->d))), s->rest);
}

/* One block's sum. */
static inline __attribute__((always_inline)) value block_sum(const value *x, int64_t n, pack (*f)(pack), value (*g)(value)) {
    partial_sums s = {.rest = 0};
    sums_add(&s, x, n, f, g);
    return sums_total(&s);
}

static inline __attribute__((always_inline)) void fold_sum(row_wide *total, const value *x, int64_t n, pack (*f)(pack),
                                                           value (*g)(value)) {
    wide sum = total->WIDE;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        sum = ADD(sum, (wide)block_sum(x + from, n - from < SUM_BLOCK ? n - from : SUM_BLOCK, f, g));
    }
    total->WIDE = sum;
}

#if !defined(PACK_WRAPS)
#include "engine/kernels/cpu/isa/row_loops_short.h"
#endif

/* Many short rows: totals[r] is row r's sum, or goes on by it. Of longer ones a few additions do not show, and are made while the next row is read. */
static inline __attribute__((always_inline)) void fold_short(row_wide *totals, const value *x, int64_t rows,
                                                             int64_t row_stride, int64_t n, bool goes_on,
                                                             pack (*f)(pack), value (*g)(value)) {
#if !defined(PACK_WRAPS)
    if (n <= SHORT_MOST) {
        fold_short_rows(totals, x, rows, row_stride, n, goes_on, f, g);
        return;
    }
#endif
    for (int64_t r = 0; r < rows; r++, x += row_stride) {
        totals[r].WIDE = goes_on ? totals[r].WIDE : 0;
        fold_sum(&totals[r], x, n, f, g);
    }
}

/* Short runs share their partial sums, a block's worth of elements at a time. */
static inline __attribute__((always_inline)) void fold_runs(row_wide *total, const value *x, int64_t runs, int64_t run_stride,
                                                            int64_t n, pack (*f)(pack), value (*g)(value)) {
    int64_t together = n == 0 ? runs : n < SUM_BLOCK ? SUM_BLOCK / n : 1;
    wide sum = total->WIDE;
    for (int64_t from = 0; from < runs; from += together) {
        int64_t to = runs - from < together ? runs : from + together;
        partial_sums s = {.rest = 0};
        int64_t r = from;
        for (; (n == PACK || (PACK_PARTS && n < PACK)) && r + 4 <= to; r += 4) { /* nothing to be asked of each */
            const value *at = x + r * run_stride;
            s.a = PACK_ADD(s.a, f(n == PACK ? pack_at(at) : pack_start(at, n)));
            s.b = PACK_ADD(s.b, f(n == PACK ? pack_at(at + run_stride) : pack_start(at + run_stride, n)));
            s.c = PACK_ADD(s.c, f(n == PACK ? pack_at(at + 2 * run_stride) : pack_start(at + 2 * run_stride, n)));
            s.d = PACK_ADD(s.d, f(n == PACK ? pack_at(at + 3 * run_stride) : pack_start(at + 3 * run_stride, n)));
        }
        for (; r < to; r++) {
            sums_add(&s, x + r * run_stride, n, f, g);
        }
        sum = ADD(sum, (wide)sums_total(&s));
    }
    total->WIDE = sum;
}

static void fold_short_values(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, pack_identity, identity);
}

static void fold_short_squares(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, pack_square, square);
}

static void fold_short_sizes(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on) {
    fold_short(totals, x, rows, row_stride, n, goes_on, pack_size, size_of_value);
}

static void fold_value_runs(row_wide *total, const void *x, int64_t runs, int64_t run_stride, int64_t n) {
    fold_runs(total, x, runs, run_stride, n, pack_identity, identity);
}

static void fold_square_runs(row_wide *total, const void *x, int64_t runs, int64_t run_stride, int64_t n) {
    fold_runs(total, x, runs, run_stride, n, pack_square, square);
}

static void fold_size_runs(row_wide *total, const void *x, int64_t runs, int64_t run_stride, int64_t n) {
    fold_runs(total, x, runs, run_stride, n, pack_size, size_of_value);
}

static void fold_values(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, pack_identity, identity);
}

static void fold_squares(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, pack_square, square);
}

static void fold_sizes(row_wide *total, const void *x, int64_t n) {
    fold_sum(total, x, n, pack_size, size_of_value);
}

/* Four rows at a time, as g has them: the sums are loaded and stored once for all four. Not before the first, where there are none yet. */
static inline __attribute__((always_inline)) void rows_into(value *sums, const value *x, int64_t rows, int64_t row_stride, int64_t n,
                                                            bool is_first, value (*g)(value)) {
    const value *a = x, *b = a + row_stride, *c = b + row_stride, *d = c + row_stride;
    switch (rows) {
    case 1:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sums[i] = is_first ? ADD(0, g(a[i])) : ADD(sums[i], g(a[i]));
        }
        return;
    case 2:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value more = ADD(g(a[i]), g(b[i]));
            sums[i] = is_first ? more : ADD(sums[i], more);
        }
        return;
    case 3:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value more = ADD(ADD(g(a[i]), g(b[i])), g(c[i]));
            sums[i] = is_first ? more : ADD(sums[i], more);
        }
        return;
    default:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value more = ADD(ADD(g(a[i]), g(b[i])), ADD(g(c[i]), g(d[i])));
            sums[i] = is_first ? more : ADD(sums[i], more);
        }
    }
}

/* The first lines of the four rows from x on: the CPU itself reads ahead within a page only, and only once it has seen some of it
   read. (32768 rows of 4 KiB on one core: 5.9 ms instead of 7.5, on Zen 4; with all lines asked for 7.6.) */
static inline void ask_for_rows(const value *x, int64_t row_stride, int64_t n) {
    enum { LEAST_BYTES = 1024, FIRST_BYTES = 192 };
    for (int64_t r = 0; n * (int64_t)sizeof *x >= LEAST_BYTES && r < 4; r++) {
        for (uintptr_t k = 0; k < FIRST_BYTES; k += 64) {
            __builtin_prefetch((const char *)((uintptr_t)x + (uintptr_t)(r * row_stride) * sizeof *x + k)); /* it may lie outside */
        }
    }
}

/* Rows one behind the other are taken by quarters, a row of each in turn: four places that memory is read from straight on, as the CPU reads
   ahead by itself (row_halves_template.h). How many rows that is, if any; not on Intel's processors, where nothing was measured. */
static inline int64_t quarter_rows(int64_t rows, int64_t row_stride, int64_t n) {
    enum { LEAST_BYTES = 32 << 10 };
    int64_t quarter = rows / 4;
    return row_stride == n && quarter * n * (int64_t)sizeof(value) >= LEAST_BYTES && !cpu_is_intel() ? quarter : 0;
}

static inline __attribute__((always_inline)) void add_rows_as(void *totals, const void *rows_at, int64_t rows, int64_t row_stride, int64_t n,
                                                              value (*g)(value)) {
    int64_t r = 0, quarter = quarter_rows(rows, row_stride, n);
    for (; r < 4 * quarter; r += 4) {
        rows_into(totals, (const value *)rows_at + r / 4 * n, 4, quarter * n, n, false, g);
    }
    for (; r < rows; r += 4) {
        ask_for_rows((const value *)((uintptr_t)rows_at + (uintptr_t)((r + 4) * row_stride) * sizeof(value)), row_stride, n);
        rows_into(totals, (const value *)rows_at + r * row_stride, rows - r, row_stride, n, false, g);
    }
}

static void add_rows(void *totals, const void *rows_at, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows_as(totals, rows_at, rows, row_stride, n, identity);
}

static void add_rows_squares(void *totals, const void *rows_at, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows_as(totals, rows_at, rows, row_stride, n, square);
}

static void add_rows_sizes(void *totals, const void *rows_at, int64_t rows, int64_t row_stride, int64_t n) {
    add_rows_as(totals, rows_at, rows, row_stride, n, size_of_value);
}

static void sum_rows(void *to, const void *rows_at, int64_t rows, int64_t row_stride, int64_t n) {
    const value *x = rows_at;
    int64_t quarter = quarter_rows(rows, row_stride, n), done = quarter > 0 ? 4 * quarter : 4;
    rows_into(to, x, rows, quarter > 0 ? quarter * n : row_stride, n, true, identity);
    for (int64_t r = 1; r < quarter; r++) {
        rows_into(to, x + r * n, 4, quarter * n, n, false, identity);
    }
    add_rows(to, x + done * row_stride, rows - done, row_stride, n);
}

static inline __attribute__((always_inline)) void scan_rows_part(value *y, int64_t y_stride, const value *x, int64_t x_stride,
                                                                 row_wide *totals, int64_t n) {
    const value *a = x, *b = a + x_stride, *c = b + x_stride, *d = c + x_stride;
    value *p = y, *q = p + y_stride, *r = q + y_stride, *s = r + y_stride;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        wide first = ADD(totals[i].WIDE, (wide)a[i]), second = ADD(first, (wide)b[i]);
        wide third = ADD(second, (wide)c[i]), fourth = ADD(third, (wide)d[i]);
        p[i] = (value)first;
        q[i] = (value)second;
        r[i] = (value)third;
        s[i] = (value)fourth;
        totals[i].WIDE = fourth;
    }
}

/* Between four rows the sums stay in registers. past: a constant. */
static inline __attribute__((always_inline)) void scan_four_as(value *y, int64_t y_stride, const value *x, int64_t x_stride,
                                                               row_wide *totals, int64_t n, const void *far, bool past) {
    enum { LINE = STREAM_LINE / sizeof(value) };
    value made[SCAN_ROWS * LINE];
    const int64_t step = past ? LINE : PACK;
    int64_t i = 0;
    for (; i + step <= n; i += step) {
        for (int64_t r = 0; far != NULL && r < SCAN_ROWS; r++) {
            __builtin_prefetch((const char *)((uintptr_t)far + (uintptr_t)(r * x_stride + i) * sizeof *x), 0, 2); /* it may lie outside */
        }
        scan_rows_part(past ? made : y + i, past ? LINE : y_stride, x + i, x_stride, totals + i, step);
        for (int64_t r = 0; past && r < SCAN_ROWS; r++) {
            stream_lines(y + r * y_stride + i, made + r * LINE, sizeof made / SCAN_ROWS);
        }
    }
    if (i < n) {
        scan_rows_part(y + i, y_stride, x + i, x_stride, totals + i, n - i);
    }
}

static void scan_four_rows(void *to, int64_t to_stride, const void *rows, int64_t row_stride, row_wide *totals, int64_t n, const void *far,
                           bool past) {
    if (past) {
        scan_four_as(to, to_stride, rows, row_stride, totals, n, far, true);
    } else {
        scan_four_as(to, to_stride, rows, row_stride, totals, n, far, false);
    }
}

static void scan_columns(void *to, const void *row, row_wide *totals, int64_t n) {
    value *y = to;
    const value *x = row;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        wide sum = ADD(totals[i].WIDE, (wide)x[i]);
        totals[i].WIDE = sum;
        y[i] = (value)sum;
    }
}
