/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops that numbers of every computing type have. The file that includes this first defines
     value  the computing type,        wide    what its sums run up in (double or int64_t),
     VALUE_BYTES  its size,
     WIDE   the row_wide member,       place_t the type of places kept by columns,
     ADD    a sum that may not overflow into undefined behaviour, PACK_ADD the same of packs,
     PACK_WRAPS  where packs must not be added up by +,
     PACK_IS_NAN a mask of what is NaN in a pack, PACK_UNORDERED a mask of where one of two packs is, if one step tells it,
     PACK_NAN a NaN where the type has one,
     PLACE, SCAN its own loops for these, or place_of_extreme and scan.
   `omp simd` lets the compiler reorder sums; nothing else licenses it to. */
#include "device/caches.h"
#include "engine/kernels/cpu/isa/registers.h"
#include "engine/kernels/cpu/isa/stream_edge.h"
#include "engine/kernels/cpu/row_loops.h"

#include <stdbool.h>
#include <string.h>

#define IS_NAN(x) ((x) != (x))

static inline value larger(value a, value b) {
    return ((a > b) | IS_NAN(a)) ? a : b; /* the one that is NaN, the first when both are */
}

static inline value smaller(value a, value b) {
    return ((a < b) | IS_NAN(a)) ? a : b;
}

static inline value identity(value x) {
    return x;
}

static inline value square(value x) {
    return x * x;
}

static inline value size_of_value(value x) {
    return x < 0 ? -x : x;
}

/* A register of numbers. */
typedef value pack __attribute__((vector_size(REGISTER_BYTES)));
enum { PACK = REGISTER_BYTES / sizeof(value) };
_Static_assert(sizeof(value) == VALUE_BYTES, "value has VALUE_BYTES bytes");

static inline pack pack_at(const value *x) {
    pack p;
    memcpy(&p, x, sizeof p);
    return p;
}

/* One number of a pack, by halves: one step after another would take longer than the rest of a short row. The loops'
   constant bounds let them unroll. */
static inline __attribute__((always_inline)) value pack_fold(pack p, value (*f)(value, value)) {
    value part[PACK];
    memcpy(part, &p, sizeof part);
    for (int i = 0; i < PACK / 2; i++) {
        part[i] = f(part[i], part[i + PACK / 2]);
    }
    for (int i = 0; i < PACK / 4; i++) {
        part[i] = f(part[i], part[i + PACK / 4]);
    }
    for (int i = 0; i < PACK / 8; i++) {
        part[i] = f(part[i], part[i + PACK / 8]);
    }
    for (int i = 0; i < PACK / 16; i++) {
        part[i] = f(part[i], part[i + PACK / 16]);
    }
    return part[0];
}

static inline value plus(value total, value x) {
    return ADD(total, x);
}

typedef __typeof__((pack){0} < (pack){0}) pack_mask;

static inline pack pack_choose(pack_mask mask, pack a, pack b) {
    return (pack)((mask & (pack_mask)a) | (~mask & (pack_mask)b));
}

/* NaN on the right is taken, so that it may be lost: one instruction of most sets, where a choice takes three. */
static inline __attribute__((always_inline)) pack pack_extreme(pack a, pack b, bool smallest) {
    value x[PACK], y[PACK];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
#pragma omp simd
    for (int i = 0; i < PACK; i++) {
        x[i] = (smallest ? x[i] < y[i] : x[i] > y[i]) ? x[i] : y[i];
    }
    return pack_at(x);
}

static inline pack pack_most(pack a, pack b) {
    return pack_extreme(a, b, false);
}

static inline pack pack_least(pack a, pack b) {
    return pack_extreme(a, b, true);
}

static inline bool pack_any(pack_mask mask) {
    uint64_t word[sizeof mask / 8], any = 0; /* by numbers the compiler would look at one after the other */
    memcpy(word, &mask, sizeof word);
    for (size_t i = 0; i < sizeof mask / 8; i++) {
        any |= word[i];
    }
    return any != 0;
}

static inline pack pack_identity(pack x) {
    return x;
}

static inline pack pack_square(pack x) {
    return x * x;
}

#include "engine/kernels/cpu/isa/row_loops_sums.h"

static void fold_nonzero(row_wide *total, const void *row, int64_t n) {
    const value *x = row;
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) {
        found |= x[i] != 0;
    }
    total->WIDE = found ? 1 : total->WIDE;
}

static void fold_zero(row_wide *total, const void *row, int64_t n) {
    const value *x = row;
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) {
        found |= x[i] == 0;
    }
    total->WIDE = found ? 1 : total->WIDE;
}

static inline value plus_square(value total, value x) {
    return ADD(total, square(x));
}

static inline value plus_size(value total, value x) {
    return ADD(total, size_of_value(x));
}

static inline value or_nonzero(value total, value x) {
    return x != 0 ? 1 : total;
}

static inline value or_zero(value total, value x) {
    return x == 0 ? 1 : total;
}

static inline __attribute__((always_inline)) void into_with(void *totals, const void *row, int64_t n,
                                                            value (*f)(value, value)) {
    value *total = totals;
    const value *x = row;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        total[i] = f(total[i], x[i]);
    }
}

#if defined(PACK_UNORDERED)
typedef __mmask64 pack_seen;

static inline bool pack_has(pack_seen seen) {
    return seen != 0;
}
#else
typedef pack_mask pack_seen;
#define PACK_UNORDERED(a, b) (PACK_IS_NAN(a) | PACK_IS_NAN(b))

static inline bool pack_has(pack_seen seen) {
    return pack_any(seen);
}
#endif

/* Four packs of running extremes, so that none waits for its last comparison. They lose NaN, which is looked for beside them: a
   choice that keeps it takes twice the time. */
static inline __attribute__((always_inline)) void fold_extreme(row_wide *total, const value *x, int64_t n,
                                                               pack (*f)(pack, pack), value (*g)(value, value)) {
    value best = (value)total->WIDE;
    int64_t i = 0;
    if (n >= PACK) {
        pack a = pack_at(x), b = a, c = a, d = a;
        pack_seen nan = PACK_UNORDERED(a, a), nan_too = nan;
        for (; i + 4 * PACK <= n; i += 4 * PACK) {
            const pack p = pack_at(x + i), q = pack_at(x + i + PACK), r = pack_at(x + i + 2 * PACK), s = pack_at(x + i + 3 * PACK);
            nan |= PACK_UNORDERED(p, q);
            nan_too |= PACK_UNORDERED(r, s);
            a = f(a, p);
            b = f(b, q);
            c = f(c, r);
            d = f(d, s);
        }
        for (; i + PACK <= n; i += PACK) {
            const pack p = pack_at(x + i);
            nan |= PACK_UNORDERED(p, p);
            a = f(a, p);
        }
        best = g(best, pack_has(nan | nan_too) ? (value)PACK_NAN : pack_fold(f(f(a, b), f(c, d)), g));
    }
    for (; i < n; i++) {
        best = g(best, x[i]);
    }
    total->WIDE = (wide)best;
}

static void fold_largest(row_wide *total, const void *x, int64_t n) {
    fold_extreme(total, x, n, pack_most, larger);
}

static void fold_smallest(row_wide *total, const void *x, int64_t n) {
    fold_extreme(total, x, n, pack_least, smaller);
}

static void into_values(void *total, const void *x, int64_t n) {
    into_with(total, x, n, plus);
}

static void into_squares(void *total, const void *x, int64_t n) {
    into_with(total, x, n, plus_square);
}

static void into_sizes(void *total, const void *x, int64_t n) {
    into_with(total, x, n, plus_size);
}

static void into_largest(void *total, const void *x, int64_t n) {
    into_with(total, x, n, larger);
}

static void into_smallest(void *total, const void *x, int64_t n) {
    into_with(total, x, n, smaller);
}

static void into_nonzero(void *total, const void *x, int64_t n) {
    into_with(total, x, n, or_nonzero);
}

static void into_zero(void *total, const void *x, int64_t n) {
    into_with(total, x, n, or_zero);
}

static int64_t place_of_extreme(const void *row, int64_t n, bool smallest) {
    const value *x = row;
    row_wide best = {.WIDE = (wide)x[0]};
    (smallest ? fold_smallest : fold_largest)(&best, x, n);
    value wanted = (value)best.WIDE;
    const pack sought = (pack){0} + wanted;
    int64_t i = 0;
    for (; i + 4 * PACK <= n; i += 4 * PACK) { /* packs without it are passed over */
        pack a = pack_at(x + i), b = pack_at(x + i + PACK), c = pack_at(x + i + 2 * PACK), d = pack_at(x + i + 3 * PACK);
        if (pack_any((a == sought) | (b == sought) | (c == sought) | (d == sought) | PACK_IS_NAN(a) | PACK_IS_NAN(b) |
                     PACK_IS_NAN(c) | PACK_IS_NAN(d))) {
            break;
        }
    }
    for (; i < n; i++) {
        if (x[i] == wanted || IS_NAN(x[i])) {
            return i;
        }
    }
    return 0;
}

static void place_into(void *best_at, void *where_at, const void *row, int64_t at, int64_t n, bool smallest) {
    value *best = best_at;
    place_t *where = where_at;
    const value *x = row;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        int beats = ((smallest ? x[i] < best[i] : x[i] > best[i]) | IS_NAN(x[i])) & !IS_NAN(best[i]);
        best[i] = beats ? x[i] : best[i];
        where[i] = beats ? (place_t)at : where[i];
    }
}

/* Whole lines, past the caches; how many elements that is. */
static __attribute__((noinline)) int64_t scan_past(value *y, const value *x, row_wide *total, int64_t n) {
    enum { LINE = STREAM_LINE / sizeof(value) };
    wide sum = total->WIDE;
    int64_t i = 0;
    for (; i + LINE <= n; i += LINE) {
        value made[LINE];
        for (int k = 0; k < LINE; k++) {
            sum = ADD(sum, (wide)x[i + k]);
            made[k] = (value)sum;
        }
        stream_line(y + i, made);
    }
    total->WIDE = sum;
    return i;
}

static void scan(void *to, const void *row, row_wide *total, int64_t n, bool past) {
    value *y = to;
    const value *x = row;
    int64_t i = past ? scan_past(y, x, total, n) : 0;
    wide sum = total->WIDE;
    for (; i < n; i++) {
        sum = ADD(sum, (wide)x[i]);
        y[i] = (value)sum;
    }
    total->WIDE = sum;
}

static inline void scan_each_line(void *to, const void *x, int64_t n, int64_t lines) {
    for (int64_t i = 0; i < lines; i++) {
        row_wide total = {.WIDE = 0};
        scan((value *)to + i * n, (const value *)x + i * n, &total, n, false);
    }
}

static void fill(void *to, double constant, int64_t n) {
    value *y = to;
    for (int64_t i = 0; i < n; i++) {
        y[i] = (value)constant;
    }
}

static void stream_row(void *to, const void *from, size_t bytes) {
    stream_bytes(to, from, bytes);
}

static void settle(void) {
    stream_settle();
}

#define COMMON_ROW_LOOPS                                                                                                  \
    .size = sizeof(value), .least_together = PACK_PARTS ? 1 : 8, .load = load, .store = store, .fill = fill, .stream = stream_row, .settle = settle,            \
    .fold = {fold_values, fold_squares, fold_sizes, fold_largest, fold_smallest, fold_nonzero, fold_zero},                \
    .fold_short = {[ROW_SUM] = fold_short_values, [ROW_SQUARES] = fold_short_squares, [ROW_SIZES] = fold_short_sizes},      \
    .fold_runs = {[ROW_SUM] = fold_value_runs, [ROW_SQUARES] = fold_square_runs, [ROW_SIZES] = fold_size_runs},            \
    .into = {into_values, into_squares, into_sizes, into_largest, into_smallest, into_nonzero, into_zero},                \
    .add_rows = {[ROW_SUM] = add_rows, [ROW_SQUARES] = add_rows_squares, [ROW_SIZES] = add_rows_sizes},                     \
    .place = PLACE, .place_into = place_into, .sum_rows = sum_rows,                                                       \
    .scan = SCAN, .scan_lines = SCAN_LINES, .scan_columns = scan_columns, .scan_four_rows = scan_four_rows
