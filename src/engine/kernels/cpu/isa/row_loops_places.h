/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_f32.c: the largest and smallest floats of rows and columns, and their places, a register at a time. NaN, which
   is before all else, is left to the loops of row_loops_common.h: these say that there is one. */

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float lanes_f32 __attribute__((vector_size(LANES * 4)));
typedef int32_t lanes_i32 __attribute__((vector_size(LANES * 4)));

static inline __attribute__((always_inline)) lanes_f32 lanes_at(const float *x) {
    lanes_f32 v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* The best elements so far, and the places of those. */
typedef struct lanes_best {
    lanes_f32 value;
    lanes_i32 place;
} lanes_best;

/* b where that beats a, or where it is equal and comes first: `checks` whether it does, else it does not. */
static inline __attribute__((always_inline)) lanes_best lanes_better(lanes_best a, lanes_best b, bool smallest, bool checks) {
#if defined(__AVX512F__)
    __m512 x = (__m512)a.value, y = (__m512)b.value;
    __m512i p = (__m512i)a.place, q = (__m512i)b.place;
    __mmask16 beats = smallest ? _mm512_cmp_ps_mask(y, x, _CMP_LT_OQ) : _mm512_cmp_ps_mask(y, x, _CMP_GT_OQ);
    if (checks) {
        beats |= _mm512_mask_cmplt_epi32_mask(_mm512_cmp_ps_mask(y, x, _CMP_EQ_OQ), q, p);
    }
    return (lanes_best){(lanes_f32)_mm512_mask_blend_ps(beats, x, y), (lanes_i32)_mm512_mask_blend_epi32(beats, p, q)};
#else
    lanes_i32 beats = smallest ? b.value < a.value : b.value > a.value;
    if (checks) {
        beats |= (b.value == a.value) & (b.place < a.place);
    }
    return (lanes_best){(lanes_f32)((beats & (lanes_i32)b.value) | (~beats & (lanes_i32)a.value)), (beats & b.place) | (~beats & a.place)};
#endif
}

/* Where either is NaN: not 0. */
#if defined(__AVX512F__)
typedef __mmask16 lanes_mask;

static inline __attribute__((always_inline)) lanes_mask lanes_nan(lanes_f32 a, lanes_f32 b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}

static inline bool lanes_any(lanes_mask m) {
    return m != 0;
}
#else
typedef lanes_i32 lanes_mask;

static inline __attribute__((always_inline)) lanes_mask lanes_nan(lanes_f32 a, lanes_f32 b) {
    return (a != a) | (b != b);
}

static inline bool lanes_any(lanes_mask m) {
    int32_t lane[LANES], any = 0;
    memcpy(lane, &m, sizeof lane);
    for (int i = 0; i < LANES; i++) {
        any |= lane[i];
    }
    return any != 0;
}
#endif

/* --- rows ------------------------------------------------------------------------------------------------------------------- */

/* The first of the best of all lanes. */
#if defined(__AVX512F__)
static inline int32_t lanes_first(lanes_best l, bool smallest) {
    const lanes_i32 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int32_t step = LANES / 2; step > 0; step /= 2) {
        const __m512i at = (__m512i)(lane ^ step);
        const lanes_best others = {(lanes_f32)_mm512_permutexvar_ps(at, (__m512)l.value),
                                   (lanes_i32)_mm512_permutexvar_epi32(at, (__m512i)l.place)};
        l = lanes_better(l, others, smallest, true);
    }
    return l.place[0];
}
#else
static inline int32_t lanes_first(lanes_best l, bool smallest) {
    float best[LANES];
    int32_t place[LANES];
    memcpy(best, &l.value, sizeof best);
    memcpy(place, &l.place, sizeof place);
    for (int step = LANES / 2; step > 0; step /= 2) {
        for (int i = 0; i < step; i++) {
            bool beats = smallest ? best[i + step] < best[i] : best[i + step] > best[i];
            beats |= best[i + step] == best[i] && place[i + step] < place[i];
            best[i] = beats ? best[i + step] : best[i];
            place[i] = beats ? place[i + step] : place[i];
        }
    }
    return place[0];
}
#endif

/* -1: there is a NaN. Places are found with the values: to look for one afterwards takes a second pass, which ends where the CPU does not
   expect it. asks: for memory a page further on, which takes half as long again on a Zen 4 (32768 rows of 4 KiB, two cores). */
static inline __attribute__((always_inline)) int64_t place_in_lanes(const float *x, int64_t n, bool smallest, bool asks) {
    enum { PAGE = 4096 };
    lanes_i32 first, step = (lanes_i32){0} + 2 * LANES;
    int32_t lane[LANES];
    for (int i = 0; i < LANES; i++) {
        lane[i] = i;
    }
    memcpy(&first, lane, sizeof first);
    lanes_best a = {lanes_at(x), first}, b = {lanes_at(x + LANES), first + LANES};
    lanes_mask odd = lanes_nan(a.value, b.value);
    lanes_best p = a, q = b;
    int64_t i = 2 * LANES;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        p = (lanes_best){lanes_at(x + i), p.place + step};
        q = (lanes_best){lanes_at(x + i + LANES), q.place + step};
        for (size_t at = 0; asks && at < 2 * sizeof p.value; at += STREAM_LINE) {
            __builtin_prefetch((const char *)((uintptr_t)(x + i) + PAGE + at)); /* it may lie outside */
        }
        odd |= lanes_nan(p.value, q.value);
        a = lanes_better(a, p, smallest, false);
        b = lanes_better(b, q, smallest, false);
    }
    for (; i < n; i += LANES) { /* what is left is looked at together with some before it */
        int64_t at = n - i < LANES ? n - LANES : i;
        p = (lanes_best){lanes_at(x + at), first + (int32_t)at};
        odd |= lanes_nan(p.value, p.value);
        a = lanes_better(a, p, smallest, true);
    }
    return lanes_any(odd) ? -1 : lanes_first(lanes_better(a, b, smallest, true), smallest);
}

static __attribute__((noinline)) int64_t place_of_many(const float *x, int64_t n, bool smallest) {
    if (cpu_asks_along()) {
        return smallest ? place_in_lanes(x, n, true, true) : place_in_lanes(x, n, false, true);
    }
    return smallest ? place_in_lanes(x, n, true, false) : place_in_lanes(x, n, false, false);
}

static int64_t place_of_float(const void *x, int64_t n, bool smallest) {
    int64_t at = n >= 2 * LANES ? place_of_many(x, n, smallest) : -1;
    return at >= 0 ? at : place_of_extreme(x, n, smallest);
}

/* The lanes of x that are y, a bit each. */
static inline __attribute__((always_inline)) uint32_t lanes_same(lanes_f32 x, lanes_f32 y) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_EQ_OQ);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)(x == y));
#else
    int32_t lane[LANES];
    lanes_i32 equal = x == y;
    uint32_t same = 0;
    memcpy(lane, &equal, sizeof lane);
    for (uint32_t i = 0; i < LANES; i++) {
        same |= (uint32_t)(lane[i] & 1) << i;
    }
    return same;
#endif
}

static inline __attribute__((always_inline)) lanes_f32 lanes_most(lanes_f32 a, lanes_f32 b, bool smallest) {
#if defined(__AVX512F__)
    return (lanes_f32)(smallest ? _mm512_min_ps((__m512)a, (__m512)b) : _mm512_max_ps((__m512)a, (__m512)b));
#else
    lanes_i32 beats = smallest ? b < a : b > a;
    return (lanes_f32)((beats & (lanes_i32)b) | (~beats & (lanes_i32)a));
#endif
}

/* The most of a's neighbours, and of b's. */
static inline __attribute__((always_inline)) lanes_f32 lanes_pairs(lanes_f32 a, lanes_f32 b, bool smallest) {
    _Static_assert((int)LANES == (int)PACK, "a pack is as many lanes");
    return lanes_most((lanes_f32)pack_firsts((pack)a, (pack)b), (lanes_f32)pack_seconds((pack)a, (pack)b), smallest);
}

/* The most of each of LANES packs: two to one until one is left, as row_loops_short.h does for sums, and without loops as there. */
static inline __attribute__((always_inline)) lanes_f32 lanes_most_of_4(const lanes_f32 *p, bool smallest) {
    return lanes_pairs(lanes_pairs(p[0], p[1], smallest), lanes_pairs(p[2], p[3], smallest), smallest);
}

static inline __attribute__((always_inline)) lanes_f32 lanes_most_of_each(const lanes_f32 *p, bool smallest) {
    lanes_f32 a = lanes_most_of_4(p, smallest);
    if (LANES >= 8) {
        a = lanes_pairs(a, lanes_most_of_4(p + 4 % LANES, smallest), smallest);
    }
    if (LANES >= 16) {
        lanes_f32 b = lanes_pairs(lanes_most_of_4(p + 8 % LANES, smallest), lanes_most_of_4(p + 12 % LANES, smallest), smallest);
        a = lanes_pairs(a, b, smallest);
    }
    return a;
}

/* A row of n > 0 elements, LANES at most, and behind them its last once more. */
static inline __attribute__((always_inline)) lanes_f32 lanes_of_row(const float *x, int64_t n) {
#if defined(__AVX512F__)
    return (lanes_f32)_mm512_mask_loadu_ps(_mm512_set1_ps(x[n - 1]), (__mmask16)((1U << n) - 1), x);
#else
    float lane[LANES];
    for (int64_t i = 0; i < LANES; i++) {
        lane[i] = x[i < n ? i : n - 1];
    }
    return lanes_at(lane);
#endif
}

/* What is most in each place of a row of n >= LANES, the last of which are looked at with some before them. */
static inline __attribute__((always_inline)) lanes_f32 row_most(const float *x, int64_t n, bool smallest, lanes_mask *odd) {
    lanes_f32 most = lanes_at(x + n - LANES);
    *odd |= lanes_nan(most, most);
    for (int64_t i = 0; i < n - LANES; i += LANES) {
        lanes_f32 these = lanes_at(x + i);
        *odd |= lanes_nan(these, these);
        most = lanes_most(most, these, smallest);
    }
    return most;
}

/* Where the first `sought` is in a row that has one: so many at a time that short rows ask nothing whose answer the CPU cannot
   expect. */
static inline __attribute__((always_inline)) int32_t row_find(const float *x, int64_t n, float sought) {
    enum { TOGETHER = 64 };
    const lanes_f32 most = (lanes_f32){0} + sought;
    if (n < LANES) {
        return __builtin_ctz(lanes_same(lanes_of_row(x, n), most));
    }
    for (int64_t from = 0;; from += TOGETHER) {
        uint64_t same = 0;
        for (int64_t i = from; i < n && i < from + TOGETHER; i += LANES) {
            int64_t at = n - i < LANES ? n - LANES : i;
            same |= (uint64_t)(lanes_same(lanes_at(x + at), most) >> (i - at)) << (i - from);
        }
        if (same != 0) {
            return (int32_t)from + __builtin_ctzll(same);
        }
    }
}

/* Rows of n > 0 elements, as many together as there are lanes: what is largest first, then where. */
static inline __attribute__((always_inline)) void place_rows_together(int32_t *places, const float *x, int64_t rows, int64_t row_stride,
                                                                      int64_t n, bool smallest) {
    lanes_f32 p[LANES] = {0};
    lanes_mask odd = lanes_nan(p[0], p[0]);
    float most[LANES];
    for (int64_t r = 0; r < rows && n < LANES; r++) {
        p[r] = lanes_of_row(x + r * row_stride, n);
        odd |= lanes_nan(p[r], p[r]);
    }
    for (int64_t r = 0; r < rows && n >= LANES; r++) {
        p[r] = row_most(x + r * row_stride, n, smallest, &odd);
    }
    lanes_f32 best = lanes_most_of_each(p, smallest);
    memcpy(most, &best, sizeof most);
    bool has_nan = lanes_any(odd);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * row_stride;
        places[r] = has_nan ? (int32_t)place_of_extreme(row, n, smallest) : row_find(row, n, most[r]);
    }
}

static inline __attribute__((always_inline)) void place_shorts(int32_t *places, const float *x, int64_t rows, int64_t row_stride, int64_t n,
                                                               bool smallest) {
    for (int64_t r = 0; r < rows; r += LANES) {
        place_rows_together(places + r, x + r * row_stride, rows - r < LANES ? rows - r : LANES, row_stride, n, smallest);
    }
}

static void place_short(int32_t *places, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool smallest) {
    if (smallest) {
        place_shorts(places, x, rows, row_stride, n, true);
    } else {
        place_shorts(places, x, rows, row_stride, n, false);
    }
}

/* --- columns ---------------------------------------------------------------------------------------------------------------- */

/* Four rows of n >= LANES columns, `apart` elements from each other, the places of which begin at `at` and lie `on` from each other. asks:
   for the four behind them. */
static inline __attribute__((always_inline)) void place_four_rows(float *best, int32_t *where, const float *x, int64_t apart, int64_t n,
                                                                  int32_t at, int32_t on, bool smallest, bool asks, lanes_mask *odd) {
    lanes_i32 none = {0}, first = none + at, second = none + (at + on), third = none + (at + 2 * on), last = none + (at + 3 * on);
    lanes_mask any = *odd;
    for (int64_t from = 0; from < n; from += LANES) {
        int64_t i = n - from < LANES ? n - LANES : from; /* some are looked at twice: it does no harm */
        lanes_best so_far = {lanes_at(best + i), none};
        memcpy(&so_far.place, where + i, sizeof so_far.place);
        lanes_best a = {lanes_at(x + i), first}, b = {lanes_at(x + apart + i), second};
        lanes_best c = {lanes_at(x + 2 * apart + i), third}, d = {lanes_at(x + 3 * apart + i), last};
        for (int64_t k = 4; asks && k < 8; k++) {
            __builtin_prefetch((const char *)((uintptr_t)x + (uintptr_t)(k * apart + i) * sizeof *x)); /* it may lie outside */
        }
        any |= lanes_nan(a.value, b.value) | lanes_nan(c.value, d.value);
        a = lanes_better(lanes_better(a, b, smallest, false), lanes_better(c, d, smallest, false), smallest, false);
        so_far = lanes_better(so_far, a, smallest, true);
        memcpy(best + i, &so_far.value, sizeof so_far.value);
        memcpy(where + i, &so_far.place, sizeof so_far.place);
    }
    *odd = any;
}

/* Rows one behind the other, by quarters (quarter_rows): places do not come in order, so that an equal one further up counts. Others as they
   come, four at a time, those behind them asked for; and so are long ones on Intel's processors, which read several pages ahead at once:
   [64, 512, 1024] takes 5.1 ms, and 5.9 by quarters (two cores of an Emerald Rapids, 2026-11). */
static inline __attribute__((always_inline)) bool place_fours(float *best, int32_t *where, const float *x, int64_t rows, int64_t stride,
                                                              int64_t n, bool smallest) {
    enum { PAGE = 4096, MOST = 2 * PAGE };
    const int64_t fours = rows / 4, bytes = n * (int64_t)sizeof *x;
    const bool by_pages = stride == n && bytes >= PAGE && bytes <= MOST && cpu_is_intel(), by_quarters = stride == n && !by_pages;
    lanes_mask odd = lanes_nan(lanes_at(x), lanes_at(x));
    for (int64_t r = 0; r < fours && by_quarters; r++) {
        place_four_rows(best, where, x + r * n, fours * n, n, (int32_t)r, (int32_t)fours, smallest, false, &odd);
    }
    for (int64_t r = 0; r < 4 * fours && by_pages; r += 4) {
        place_four_rows(best, where, x + r * n, n, n, (int32_t)r, 1, smallest, true, &odd);
    }
    for (int64_t r = 0; r < 4 * fours && stride != n; r += 4) {
        ask_for_rows((const float *)((uintptr_t)x + (uintptr_t)((r + 4) * stride) * sizeof *x), stride, n);
        place_four_rows(best, where, x + r * stride, stride, n, (int32_t)r, 1, smallest, false, &odd);
    }
    return !lanes_any(odd);
}

static bool place_rows(void *best, void *where, const void *x, int64_t rows, int64_t stride, int64_t n, bool smallest) {
    return smallest ? place_fours(best, where, x, rows, stride, n, true) : place_fours(best, where, x, rows, stride, n, false);
}
