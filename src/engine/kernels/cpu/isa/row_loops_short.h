/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of many short rows, as many of them together as a register has numbers: a part of row_loops_sums.h. Each row's packs are added up as
   always; what is left, a pack a row, goes by sums of neighbours, two packs to one, until one is left that has a number for each row.
   Added up row by row, the last few additions take longer than all the others. */

/* The longest row that goes this way. */
enum { SHORT_MOST = 16 * PACK };

/* Places of numbers in two packs, as many as a pack has: every second one from `at` on, and each one from `at` on twice. gcc and clang both
   take them as constants only. */
#define SECONDS_2(at) (at), (at) + 2
#define SECONDS_4(at) SECONDS_2(at), SECONDS_2((at) + 4)
#define SECONDS_8(at) SECONDS_4(at), SECONDS_4((at) + 8)
#define TWICE_2(at) (at), (at)
#define TWICE_4(at) TWICE_2(at), TWICE_2((at) + 1)
#define TWICE_8(at) TWICE_4(at), TWICE_4((at) + 2)
#if REGISTER_BYTES / VALUE_BYTES == 2
#define SECONDS(at) SECONDS_2(at)
#define TWICE(at) TWICE_2(at)
#elif REGISTER_BYTES / VALUE_BYTES == 4
#define SECONDS(at) SECONDS_4(at)
#define TWICE(at) TWICE_4(at)
#elif REGISTER_BYTES / VALUE_BYTES == 8
#define SECONDS(at) SECONDS_8(at)
#define TWICE(at) TWICE_8(at)
#else
#define SECONDS(at) SECONDS_8(at), SECONDS_8((at) + 16)
#define TWICE(at) TWICE_8(at), TWICE_8((at) + 4)
#endif

/* Of a's numbers, and then of b's, every second one, from the first or from the second on. */
static inline __attribute__((always_inline)) pack pack_firsts(pack a, pack b) {
    return __builtin_shufflevector(a, b, SECONDS(0));
}

static inline __attribute__((always_inline)) pack pack_seconds(pack a, pack b) {
    return __builtin_shufflevector(a, b, SECONDS(1));
}

/* The sums of a's neighbours, and of b's. */
static inline __attribute__((always_inline)) pack pack_pairs(pack a, pack b) {
    return pack_firsts(a, b) + pack_seconds(a, b);
}

/* What a row holds: so many packs, the last of which may not be a whole one; or a pack, be there what may. */
typedef enum short_length { SHORT_WHOLE, SHORT_ONE, SHORT_TWO, SHORT_THREE, SHORT_FOUR } short_length;

/* Memory is read in the order of these: the compiler would have any, and the CPU then does not read on by itself. */
#if defined(__AVX512F__)
#define IN_ORDER(p) __asm__ volatile("" : "+v"(p))
#else
#define IN_ORDER(p) (void)(p)
#endif

/* What each number of a pack is taken less: c[0], or, where a pack has `parts` rows, the first of c for the first row's and so on; c has PACK
   numbers then. */
static inline __attribute__((always_inline)) pack pack_of_parts(const value *c, int parts) {
    if (parts == 1) {
        return (pack){0} + c[0];
    }
    pack p = pack_at(c);
    p = parts <= PACK / 2 ? __builtin_shufflevector(p, p, TWICE(0)) : p; /* no loop: see below */
    p = parts <= PACK / 4 ? __builtin_shufflevector(p, p, TWICE(0)) : p;
    return parts <= PACK / 8 ? __builtin_shufflevector(p, p, TWICE(0)) : p;
}

/* A row's numbers, less c unless that is NULL, as f has them, added up place by place. Or those of several rows that a pack holds. */
static inline __attribute__((always_inline)) pack short_row(const value *x, int64_t n, short_length length, const value *c, int parts,
                                                            pack (*f)(pack)) {
    const bool is_whole = length == SHORT_WHOLE || !PACK_PARTS;
    const int before = length == SHORT_WHOLE ? 0 : (int)length - 1;
    const pack about = c != NULL ? pack_of_parts(c, parts) : (pack){0};
    pack sums = {0}, p;
    for (int k = 0; k < before; k++) {
        p = pack_at(x + k * PACK);
        IN_ORDER(p);
        p = c != NULL ? f(p - about) : f(p);
        sums = k == 0 ? p : sums + p;
    }
    const int64_t last = n - before * PACK;
    p = is_whole ? pack_at(x + before * PACK) : pack_start(x + before * PACK, last);
    IN_ORDER(p);
    p = c != NULL ? f(p - about) : f(p);
    p = c != NULL && !is_whole ? pack_keep(p, last) : p;
    return before > 0 ? sums + p : p;
}

/* Many packs' worth of rows, which lie `stride` numbers apart and have `parts` rows each. */
typedef struct packed_rows {
    const value *x, *c;
    int64_t stride, n;
    pack (*f)(pack);
    short_length length;
    int parts;
} packed_rows;

/* Of those from `first` on the sums of two packs' numbers, of four, and so on. No loops: gcc 12 keeps packs that it loops over in memory. */
static inline __attribute__((always_inline)) pack sums_of_1(packed_rows s, int first) {
    return short_row(s.x + first * s.stride, s.n, s.length, s.c != NULL ? s.c + first * s.parts : NULL, s.parts, s.f);
}

static inline __attribute__((always_inline)) pack sums_of_2(packed_rows s, int first) {
    pack a = sums_of_1(s, first), b = sums_of_1(s, first + 1);
    return pack_pairs(a, b);
}

static inline __attribute__((always_inline)) pack sums_of_4(packed_rows s, int first) {
    pack a = sums_of_2(s, first), b = sums_of_2(s, first + 2);
    return pack_pairs(a, b);
}

static inline __attribute__((always_inline)) pack sums_of_8(packed_rows s, int first) {
    pack a = sums_of_4(s, first), b = sums_of_4(s, first + 4);
    return pack_pairs(a, b);
}

/* Sums of PACK rows; s.parts is a constant. */
static inline __attribute__((always_inline)) pack sums_of_pack(packed_rows s) {
    const int count = PACK / s.parts;
    if (count <= 4) {
        return count == 2 ? sums_of_2(s, 0) : sums_of_4(s, 0);
    }
    pack a = sums_of_8(s, 0);
    return count == 8 ? a : pack_pairs(a, sums_of_8(s, 8));
}

/* Whether rows of n are no more than `packs` packs, which are read whole or by parts. */
static inline bool short_fits(int64_t n, int64_t packs) {
    return PACK_PARTS ? n > (packs - 1) * PACK && n <= packs * PACK : n == packs * PACK;
}

/* A longer row's numbers, added up place by place. */
static inline __attribute__((always_inline)) pack long_row(const value *x, int64_t n, const value *c, pack (*f)(pack), value (*g)(value)) {
    pack a = {0}, b = {0};
    int64_t i = 0;
    for (; i + 2 * PACK <= n; i += 2 * PACK) {
        a += short_row(x + i, PACK, SHORT_WHOLE, c, 1, f);
        b += short_row(x + i + PACK, PACK, SHORT_WHOLE, c, 1, f);
    }
    if (i + PACK <= n) {
        a += short_row(x + i, PACK, SHORT_WHOLE, c, 1, f);
        i += PACK;
    }
    if (PACK_PARTS && i < n) {
        b += short_row(x + i, n - i, SHORT_ONE, c, 1, f);
    }
    value rest = 0;
    for (; !PACK_PARTS && i < n; i++) {
        rest += g(c != NULL ? x[i] - *c : x[i]);
    }
    a += b;
    a[0] += PACK_PARTS ? 0 : rest;
    return a;
}

/* The sums of `rows` rows, PACK at most, of n numbers, SHORT_MOST at most, less c[row] unless c is NULL. */
static inline __attribute__((always_inline)) pack sums_of_rows(const value *x, int64_t rows, int64_t stride, int64_t n, const value *c,
                                                               pack (*f)(pack), value (*g)(value)) {
    if (rows == PACK && short_fits(n, 1)) {
        return sums_of_pack((packed_rows){x, c, stride, n, f, SHORT_ONE, 1});
    }
    if (rows == PACK && short_fits(n, 2)) {
        return sums_of_pack((packed_rows){x, c, stride, n, f, SHORT_TWO, 1});
    }
    if (rows == PACK && short_fits(n, 3)) {
        return sums_of_pack((packed_rows){x, c, stride, n, f, SHORT_THREE, 1});
    }
    if (rows == PACK && short_fits(n, 4)) {
        return sums_of_pack((packed_rows){x, c, stride, n, f, SHORT_FOUR, 1});
    }
    pack p[PACK];
    for (int64_t r = 0; r < rows; r++) {
        p[r] = long_row(x + r * stride, n, c != NULL ? c + r : NULL, f, g);
    }
    for (int64_t r = rows; r < PACK; r++) {
        p[r] = (pack){0};
    }
    return sums_of_pack((packed_rows){(const value *)(const void *)p, NULL, PACK, PACK, pack_identity, SHORT_WHOLE, 1});
}

/* Of rows that lie one behind the other, less than a pack holds and a power of two, packs have several rows each. c has 2 PACK numbers. */
static inline __attribute__((always_inline)) pack sums_in_line(const value *x, int64_t rows, int64_t n, const value *c, pack (*f)(pack),
                                                               value (*g)(value)) {
    if (rows == PACK && n == 2 && PACK > 2) {
        return sums_of_pack((packed_rows){x, c, PACK, PACK, f, SHORT_WHOLE, PACK > 2 ? PACK / 2 : 1});
    }
    if (rows == PACK && n == 4 && PACK > 4) {
        return sums_of_pack((packed_rows){x, c, PACK, PACK, f, SHORT_WHOLE, PACK > 4 ? PACK / 4 : 1});
    }
    if (rows == PACK && n == 8 && PACK > 8) {
        return sums_of_pack((packed_rows){x, c, PACK, PACK, f, SHORT_WHOLE, PACK > 8 ? PACK / 8 : 1});
    }
    return sums_of_rows(x, rows, n, n, c, f, g);
}

/* n <= PACK numbers: a copy of as many as are known, where that is all of them, is no call. */
static inline __attribute__((always_inline)) void copy_few(double *to, const double *from, int64_t n) {
    if (n == PACK) {
        memcpy(to, from, PACK * sizeof *to);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        to[k] = from[k];
    }
}

/* Of PACK short rows at x that lie one behind the other, as many bytes further on are asked for where that is faster: sums of [1048576, 32]
   take 3.0 ms so, and 4.5, deviations 4.0 and 8.3 (two cores of a Zen 5). */
static inline void short_ask(const value *x, int64_t n, bool asks) {
    enum { PAGE = 4096 };
    const uintptr_t bytes = asks ? (uintptr_t)(PACK * n) * sizeof *x : 0;
    for (uintptr_t at = 0; at < bytes; at += STREAM_LINE_BYTES) {
        __builtin_prefetch((const char *)((uintptr_t)x + PAGE + at)); /* it may lie outside */
    }
}

/* Totals of short rows, each of which is a row's sum, or goes on by it. */
static inline __attribute__((always_inline)) void fold_short_rows(row_wide *totals, const value *x, int64_t rows, int64_t stride,
                                                                  int64_t n, bool goes_on, pack (*f)(pack), value (*g)(value)) {
    const bool asks = stride == n && cpu_asks_along();
    for (int64_t r = 0; r < rows; r += PACK) {
        int64_t some = rows - r < PACK ? rows - r : PACK;
        const value *at = x + r * stride;
        short_ask(at, n, asks);
        pack p = stride == n ? sums_in_line(at, some, n, NULL, f, g) : sums_of_rows(at, some, stride, n, NULL, f, g);
        value sums[PACK];
        double total[PACK] = {0};
        memcpy(sums, &p, sizeof sums);
        if (goes_on) {
            copy_few(total, &totals[r].f, some);
        }
        for (int k = 0; k < PACK; k++) {
            total[k] += (double)sums[k];
        }
        copy_few(&totals[r].f, total, some);
    }
}
