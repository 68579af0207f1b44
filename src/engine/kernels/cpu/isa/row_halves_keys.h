/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_halves_template.h: the largest and smallest elements of rows, and their places. */

/* Halves as whole numbers, a register of them, are compared without being widened. (gcc 12 compares vectors longer than a register one
   number after another.) */
#if defined(__AVX512BW__)
typedef int16_t keys __attribute__((vector_size(64)));
#elif defined(__AVX2__)
typedef int16_t keys __attribute__((vector_size(32)));
#else
typedef int16_t keys __attribute__((vector_size(16)));
#endif
enum { KEYS = sizeof(keys) / 2, KEY_NAN = INT16_MAX };
enum { HALF_INFINITY = HALF_TYPE == ASSAY_F16 ? 0x7c00 : 0x7f80, HALF_SIGN = 0x8000 };

ALWAYS_INLINE keys keys_at(const void *x) {
    keys k;
    memcpy(&k, x, sizeof k);
    return k;
}

ALWAYS_INLINE keys keys_all(int64_t key) {
    return (keys){0} + (int16_t)key;
}

/* The first n <= KEYS elements, and the first in place of those behind them. */
ALWAYS_INLINE keys keys_first(const uint16_t *x, int64_t n) {
#if defined(__AVX512BW__)
    return (keys)_mm512_mask_loadu_epi16((__m512i)keys_all(x[0]), (__mmask32)(((uint64_t)1 << n) - 1), x);
#else
    keys k = keys_all(x[0]);
    memcpy(&k, x, (size_t)n * sizeof *x);
    return k;
#endif
}

/* x where a > b, elsewhere y. */
ALWAYS_INLINE keys keys_choose(keys a, keys b, keys x, keys y) {
#if defined(__AVX512BW__)
    return (keys)_mm512_mask_blend_epi16(_mm512_cmpgt_epi16_mask((__m512i)a, (__m512i)b), (__m512i)y, (__m512i)x);
#else
    keys more = a > b;
    return (more & x) | (~more & y);
#endif
}

ALWAYS_INLINE keys keys_most(keys a, keys b) {
#if defined(__AVX512BW__)
    return (keys)_mm512_max_epi16((__m512i)a, (__m512i)b);
#else
    return keys_choose(a, b, a, b);
#endif
}

/* Keys of numbers that are sought for the largest or the smallest: NaN has the highest. By the sign a number's bits are turned round;
   zeros of either sign may have one key. */
ALWAYS_INLINE keys keys_of(keys x, bool smallest, bool joins_zeros) {
    keys size = x & INT16_MAX, turn = smallest ? ~(x >> 15) : x >> 15;
    keys k = joins_zeros ? (size ^ turn) - turn : size ^ turn;
    return keys_choose(size, keys_all(HALF_INFINITY), keys_all(KEY_NAN), k);
}

ALWAYS_INLINE float float_of_half(uint16_t bits) {
    if (HALF_TYPE == ASSAY_BF16) {
        return float_of_bits((uint32_t)bits << 16);
    }
#if defined(__F16C__)
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
#else
    return f16_to_float(bits);
#endif
}

/* Which number has a key, where zeros have two. */
ALWAYS_INLINE double number_of_key(int16_t key, bool smallest) {
    uint16_t size = (uint16_t)(key < 0 ? ~key : key), bits = (key < 0) == smallest ? size : size | HALF_SIGN;
    return key == KEY_NAN ? (double)NAN : (double)float_of_half(bits);
}

/* The largest of them. */
ALWAYS_INLINE int16_t keys_best(keys k) {
#if defined(__SSE4_1__)
    __m128i part[KEYS / 8], most;
    memcpy(part, &k, sizeof k);
    most = part[0];
    for (int i = 1; i < KEYS / 8; i++) {
        most = _mm_max_epi16(most, part[i]);
    }
    /* One instruction finds the least of eight without a sign. */
    return (int16_t)(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(most, _mm_set1_epi16(INT16_MAX)))) ^ INT16_MAX);
#else
    int16_t best = k[0];
    for (int i = 1; i < KEYS; i++) {
        best = k[i] > best ? k[i] : best;
    }
    return best;
#endif
}

/* The best key of n > 0 elements. What is left at their end is looked at together with some before it. */
ALWAYS_INLINE int16_t row_best(const uint16_t *x, int64_t n, bool smallest) {
    if (n < KEYS) {
        return keys_best(keys_of(keys_first(x, n), smallest, false));
    }
    const along to = asks_along(n);
    keys a = keys_of(keys_at(x + n - KEYS), smallest, false), b = a;
    int64_t i = 0;
    for (; i + 2 * KEYS <= n; i += 2 * KEYS) {
        ask_along(x + i, 2 * KEYS * sizeof *x, to);
        a = keys_most(a, keys_of(keys_at(x + i), smallest, false));
        b = keys_most(b, keys_of(keys_at(x + i + KEYS), smallest, false));
    }
    if (i + KEYS <= n) {
        a = keys_most(a, keys_of(keys_at(x + i), smallest, false));
    }
    return keys_best(keys_most(a, b));
}

/* NaN stays. */
ALWAYS_INLINE double better(double before, double x, bool smallest) {
    bool beats = smallest ? x < before : x > before;
    return (beats || x != x) ? x : before;
}

ALWAYS_INLINE void fold_extreme(row_wide *total, const uint16_t *x, int64_t n, bool smallest) {
    enum { FEW = 8 }; /* to bring vectors together would take longer */
    if (n >= FEW) {
        total->f = better(total->f, number_of_key(row_best(x, n, smallest), smallest), smallest);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        total->f = better(total->f, (double)float_of_half(x[i]), smallest);
    }
}

static void fold_largest(row_wide *total, const void *x, int64_t n) {
    fold_extreme(total, x, n, false);
}

static void fold_smallest(row_wide *total, const void *x, int64_t n) {
    fold_extreme(total, x, n, true);
}

/* Keys that are the best of their lanes, and the vectors of a row that they were first in. */
typedef struct lanes {
    keys best, place;
} lanes;

ALWAYS_INLINE void lanes_add(lanes *l, keys k, int64_t place) {
    l->place = keys_choose(k, l->best, keys_all(place), l->place);
    l->best = keys_most(l->best, k);
}

/* Of those lanes whose best is `wanted`, the first one's place in the row, as its complement; INT16_MIN: there is none. */
ALWAYS_INLINE keys lanes_first(const lanes *l, int16_t wanted) {
    int16_t lane[KEYS];
    for (int i = 0; i < KEYS; i++) {
        lane[i] = (int16_t)i;
    }
    return keys_choose(keys_all(wanted), l->best, keys_all(INT16_MIN), ~(l->place * (int16_t)KEYS + keys_at(lane)));
}

/* Places are found with the keys: to look for a key afterwards waits for it, and the CPU guesses wrong where it will be found. */
ALWAYS_INLINE int64_t place_of(int16_t *best, const uint16_t *x, int64_t n, bool smallest, bool asks) {
    enum { ASK_BYTES = 16 << 10 };
#if defined(__AVX512BW__)
    if (n > 0 && n <= KEYS) { /* one vector: beside a call for few elements the rest would show */
        keys k = keys_of(keys_first(x, n), smallest, true);
        int16_t most = keys_best(k);
        if (most <= *best) {
            return -1;
        }
        *best = most;
        return __builtin_ctz(_mm512_cmpeq_epi16_mask((__m512i)k, (__m512i)keys_all(most)));
    }
#endif
    lanes a = {keys_all(HALF_KEY_WORST), {0}}, b = a;
    int64_t i = 0;
    for (; i + 2 * KEYS <= n; i += 2 * KEYS) {
        if (asks && i % PAIR == 0) {
            __builtin_prefetch((const char *)((uintptr_t)(x + i) + ASK_BYTES), 0, 2); /* it may lie outside */
            __builtin_prefetch((const char *)((uintptr_t)(x + i + KEYS) + ASK_BYTES), 0, 2);
        }
        lanes_add(&a, keys_of(keys_at(x + i), smallest, true), i / KEYS);
        lanes_add(&b, keys_of(keys_at(x + i + KEYS), smallest, true), i / KEYS + 1);
    }
    for (; i < n; i += KEYS) {
        lanes_add(&a, keys_of(n - i < KEYS ? keys_first(x + i, n - i) : keys_at(x + i), smallest, true), i / KEYS);
    }
    int16_t wanted = keys_best(keys_most(a.best, b.best));
    if (wanted <= *best) {
        return -1;
    }
    *best = wanted;
    return (int16_t)~keys_best(keys_most(lanes_first(&a, wanted), lanes_first(&b, wanted)));
}

static int64_t place(int16_t *best, const void *x, int64_t n, bool smallest, bool asks) {
    return smallest ? place_of(best, x, n, true, asks) : place_of(best, x, n, false, asks);
}

/* Rows from `at` on, as many as a constant says, TOGETHER at most. */
ALWAYS_INLINE void place_some(int16_t *best, int16_t *where, const uint16_t *x, int64_t at, int64_t rows, int64_t row_stride, int64_t n,
                              int64_t ahead, bool smallest) {
    walk next = walk_from(x + at * row_stride, ahead, row_stride, n);
    for (int64_t i = 0; i < n; i += KEYS) {
        keys most = keys_at(best + i), place = keys_at(where + i);
        if (i % PAIR == 0) {
            walk_on(&next, rows);
        }
        for (int64_t r = at; r < at + rows; r++) {
            const uint16_t *from = x + r * row_stride + i;
            keys k = keys_of(n - i < KEYS ? keys_first(from, n - i) : keys_at(from), smallest, true);
            place = keys_choose(k, most, keys_all(r), place);
            most = keys_most(most, k);
        }
        memcpy(best + i, &most, sizeof most);
        memcpy(where + i, &place, sizeof place);
    }
}

/* As lanes_add, but of equals that of the lower place stays, which may come later. No place is known yet where `place` is negative. */
ALWAYS_INLINE void lanes_join(lanes *l, keys k, int64_t place) {
#if defined(__AVX512BW__)
    __m512i best = (__m512i)l->best, none = _mm512_set1_epi16(INT16_MAX);
    __m512i known = _mm512_mask_mov_epi16((__m512i)l->place, _mm512_cmpgt_epi16_mask((__m512i)k, best), none);
    l->place = (keys)_mm512_mask_min_epi16(known, _mm512_cmpge_epi16_mask((__m512i)k, best), known, (__m512i)keys_all(place));
#else
    keys at = keys_all(place), earlier = (k == l->best) & (at < l->place);
    l->place = keys_choose(k, l->best, at, (earlier & at) | (~earlier & l->place));
#endif
    l->best = keys_most(l->best, k);
}

/* Rows by quarters, one of each in turn (quarter_of), as they come from memory: in caches what equals cost shows. */
ALWAYS_INLINE void place_quarters(int16_t *best, int16_t *where, const uint16_t *x, int64_t quarter, int64_t n, bool smallest) {
    for (int64_t r = 0; r < quarter; r++) {
        for (int64_t i = 0; i < n; i += KEYS) {
            lanes l = {keys_at(best + i), keys_at(where + i)};
            for (int64_t at = r; at < TOGETHER * quarter; at += quarter) {
                const uint16_t *from = x + at * n + i;
                lanes_join(&l, keys_of(n - i < KEYS ? keys_first(from, n - i) : keys_at(from), smallest, true), at);
            }
            memcpy(best + i, &l.best, sizeof l.best);
            memcpy(where + i, &l.place, sizeof l.place);
        }
    }
}

ALWAYS_INLINE void place_rows_of(int16_t *best, int16_t *where, const uint16_t *x, int64_t rows, int64_t row_stride, int64_t n,
                                 bool smallest, bool asks) {
    /* A Zen 5 takes 2.2 ms by quarters for [64, 512, 1024] over the middle, and 1.4 in order (two cores, 2026-11). */
    const bool in_order = cpu_asks_along() && !cpu_is_intel();
    int64_t ahead = walk_ahead(rows, n), quarter = asks && !in_order ? quarter_of(rows, row_stride, n) : 0;
    int64_t r = quarter * TOGETHER;
    if (quarter > 0) {
        place_quarters(best, where, x, quarter, n, smallest);
    }
    for (; r + TOGETHER <= rows; r += TOGETHER) {
        place_some(best, where, x, r, TOGETHER, row_stride, n, ahead, smallest);
    }
    for (; r < rows; r++) {
        place_some(best, where, x, r, 1, row_stride, n, 0, smallest);
    }
}

static void place_rows(int16_t *best, int16_t *where, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool smallest, bool asks) {
    if (smallest) {
        place_rows_of(best, where, x, rows, row_stride, n, true, asks);
    } else {
        place_rows_of(best, where, x, rows, row_stride, n, false, asks);
    }
}
