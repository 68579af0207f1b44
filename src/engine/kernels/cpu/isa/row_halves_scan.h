/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_halves_template.h: running sums. They run in float over a block, which begins with what is summed up in double before
   it; a block's own sum goes there. Where a sum on the way is not finite, the block has no result: beyond float a sum in double may be. */

/* The first n elements of a pair. line: all of them, past the caches, to where whole lines go. */
ALWAYS_INLINE void scan_set(uint16_t *to, half_bits made, int64_t n, bool line) {
    if (line) {
        stream_registers(to, &made, sizeof made);
    } else if (n >= PAIR) {
        memcpy(to, &made, sizeof made);
    } else {
#if defined(__AVX512BW__)
        _mm512_mask_storeu_epi16(to, (__mmask32)(((uint64_t)1 << n) - 1), (__m512i)made);
#else
        memcpy(to, &made, (size_t)n * sizeof *to);
#endif
    }
}

/* What columns_pair took apart. */
ALWAYS_INLINE half_bits columns_bits(pair p) {
#if defined(__AVX512F__)
    return half_bits_of(HALF_TYPE, p);
#else
    if (HALF_TYPE == ASSAY_F16) {
        return half_bits_of(HALF_TYPE, p);
    }
    half_words words[] = {__builtin_convertvector(bf16_places(p.a) >> 16, half_words),
                          __builtin_convertvector(bf16_places(p.b) >> 16, half_words)};
    half_bits made;
    memcpy(&made, words, sizeof made);
    return made;
#endif
}

/* Not 0 in any lane where a number is not finite. */
ALWAYS_INLINE half_bits not_finite(half_bits before, pair p) {
    const half_bits inf = (half_bits){0} + 0x7f800000u;
    return before | (half_bits)(((half_bits)p.a & inf) == inf) | (half_bits)(((half_bits)p.b & inf) == inf);
}

ALWAYS_INLINE bool any_bit(half_bits bits) {
    uint64_t part[sizeof bits / 8], all = 0;
    memcpy(part, &bits, sizeof part);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        all |= part[i];
    }
    return all != 0;
}

/* --- by columns ------------------------------------------------------------------------------------------------------------- */

/* Rows of columns side by side: where they come from and go to, in elements, and whether whole lines go past the caches. */
typedef struct scanned {
    const uint16_t *x;
    uint16_t *to;
    int64_t x_stride, to_stride, n;
    bool past;
} scanned;

/* rows <= TOGETHER: a constant. run: sums so far; own: of this block alone. */
ALWAYS_INLINE void scan_rows_into(float *run, float *own, const scanned *s, int64_t rows, int64_t ahead) {
    walk next = walk_from(s->x, ahead, s->x_stride, s->n);
    for (int64_t i = 0; i < s->n; i += PAIR) {
        pair sum = pair_at(run + i), more = {{0}, {0}};
        half_bits made[TOGETHER];
        walk_on(&next, rows);
        for (int64_t r = 0; r < rows; r++) {
            pair p = columns_pair(s->x + r * s->x_stride + i, s->n - i);
            sum = (pair){sum.a + p.a, sum.b + p.b};
            more = (pair){more.a + p.a, more.b + p.b};
            made[r] = columns_bits(sum);
        }
        for (int64_t r = 0; r < rows; r++) {
            scan_set(s->to + r * s->to_stride + i, made[r], s->n - i, s->past && s->n - i >= PAIR);
        }
        pair before = pair_at(own + i);
        pair_set(run + i, sum);
        pair_set(own + i, (pair){before.a + more.a, before.b + more.b});
    }
}

static bool scan_columns(void *to, int64_t to_stride, const void *x, int64_t x_stride, double *totals, int64_t rows, int64_t n, bool past) {
    enum { APART_AHEAD = 2 * TOGETHER };
    _Alignas(64) float run[ROW_HALVES_COLUMNS], own[ROW_HALVES_COLUMNS];
    const int64_t ahead = x_stride > n ? APART_AHEAD : walk_ahead(INT64_MAX, n), room = (n + PAIR - 1) / PAIR * PAIR;
    scanned s = {.x = x, .to = to, .x_stride = x_stride, .to_stride = to_stride, .n = n, .past = past};
    memset(own, 0, (size_t)room * sizeof *own);
    memset(run + n, 0, (size_t)(room - n) * sizeof *run);
    for (int64_t i = 0; i < n; i++) {
        run[i] = (float)totals[i];
    }
    for (int64_t i = 0; i < n; i += PAIR) {
        pair_set(run + i, sums_pair(run + i));
    }
    int64_t r = 0;
    for (; r + TOGETHER <= rows; r += TOGETHER, s.x += TOGETHER * x_stride, s.to += TOGETHER * to_stride) {
        scan_rows_into(run, own, &s, TOGETHER, ahead);
    }
    for (; r < rows; r++, s.x += x_stride, s.to += to_stride) {
        scan_rows_into(run, own, &s, 1, 0);
    }
    half_bits bad = {0};
    for (int64_t i = 0; i < n; i += PAIR) {
        bad = not_finite(not_finite(bad, pair_at(run + i)), pair_at(own + i));
        sums_set(own + i, pair_at(own + i));
    }
    if (any_bit(bad)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        totals[i] += (double)own[i];
    }
    return true;
}

/* --- along rows ------------------------------------------------------------------------------------------------------------- */

#if defined(__AVX512BW__)
/* Sums so far, of this block alone, and 0, or NaN where a sum was not finite: in all places. */
typedef struct scan_state {
    __m512 run, own, bad;
} scan_state;

/* x of the places before, so many of them, and zeros. n: a constant. */
#define places_before(x, n) _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(x), _mm512_setzero_si512(), 16 - (n)))

/* To each number the sum of those before it. */
ALWAYS_INLINE __m512 sums_of(__m512 p) {
    p = _mm512_add_ps(p, places_before(p, 1));
    p = _mm512_add_ps(p, places_before(p, 2));
    p = _mm512_add_ps(p, places_before(p, 4));
    return _mm512_add_ps(p, places_before(p, 8));
}

/* Adds what came before to sums p. */
ALWAYS_INLINE __m512 scan_on(scan_state *s, __m512 p) {
    __m512 all = _mm512_permutexvar_ps(_mm512_set1_epi32(15), p), made = _mm512_add_ps(p, s->run);
    s->run = _mm512_add_ps(s->run, all);
    s->own = _mm512_add_ps(s->own, all);
    s->bad = _mm512_fmadd_ps(made, _mm512_setzero_ps(), s->bad);
    return made;
}

/* One line. Of bf16 one scan, of the sums of even and odd places, serves both. */
ALWAYS_INLINE pair scan_line(pair p, scan_state *s) {
    if (HALF_TYPE == ASSAY_BF16) {
        __m512 both = sums_of((__m512)(p.a + p.b));
        p.a = (pack)_mm512_add_ps(_mm512_add_ps((__m512)p.a, places_before(both, 1)), s->run);
        s->bad = _mm512_fmadd_ps((__m512)p.a, _mm512_setzero_ps(), s->bad);
        p.b = (pack)scan_on(s, both);
        return p;
    }
    p.a = (pack)scan_on(s, sums_of((__m512)p.a));
    p.b = (pack)scan_on(s, sums_of((__m512)p.b));
    return p;
}

/* Where two lines of halves, one behind the other, come from, to lie as in scan_many, two vectors a line as float_pair_of takes it apart;
   and where the lines come from when they are put together again. */
static const uint16_t turned_from[2][4][PAIR] = {
    /* f16 */
    {{0, 16, 32, 48, 4, 20, 36, 52, 8, 24, 40, 56, 12, 28, 44, 60, 1, 17, 33, 49, 5, 21, 37, 53, 9, 25, 41, 57, 13, 29, 45, 61},
     {2, 18, 34, 50, 6, 22, 38, 54, 10, 26, 42, 58, 14, 30, 46, 62, 3, 19, 35, 51, 7, 23, 39, 55, 11, 27, 43, 59, 15, 31, 47, 63},
     {0, 16, 32, 48, 4, 20, 36, 52, 8, 24, 40, 56, 12, 28, 44, 60, 1, 17, 33, 49, 5, 21, 37, 53, 9, 25, 41, 57, 13, 29, 45, 61},
     {2, 18, 34, 50, 6, 22, 38, 54, 10, 26, 42, 58, 14, 30, 46, 62, 3, 19, 35, 51, 7, 23, 39, 55, 11, 27, 43, 59, 15, 31, 47, 63}},
    /* bf16 */
    {{0, 1, 16, 17, 32, 33, 48, 49, 4, 5, 20, 21, 36, 37, 52, 53, 8, 9, 24, 25, 40, 41, 56, 57, 12, 13, 28, 29, 44, 45, 60, 61},
     {2, 3, 18, 19, 34, 35, 50, 51, 6, 7, 22, 23, 38, 39, 54, 55, 10, 11, 26, 27, 42, 43, 58, 59, 14, 15, 30, 31, 46, 47, 62, 63},
     {0, 1, 32, 33, 8, 9, 40, 41, 16, 17, 48, 49, 24, 25, 56, 57, 2, 3, 34, 35, 10, 11, 42, 43, 18, 19, 50, 51, 26, 27, 58, 59},
     {4, 5, 36, 37, 12, 13, 44, 45, 20, 21, 52, 53, 28, 29, 60, 61, 6, 7, 38, 39, 14, 15, 46, 47, 22, 23, 54, 55, 30, 31, 62, 63}}};

ALWAYS_INLINE half_bits turned(half_bits a, half_bits b, int layout, int which) {
    return (half_bits)_mm512_permutex2var_epi16((__m512i)a, _mm512_loadu_si512(turned_from[layout][which]), (__m512i)b);
}

/* Numbers of two vectors one behind the other, as f16 has them. by_instruction: of bf16, by the instruction for it, which takes denormals
   for 0. */
ALWAYS_INLINE half_bits scan_narrowed(__m512 a, __m512 b, bool by_instruction) {
    half_bits made;
    if (!by_instruction) {
        return half_bits_of(HALF_TYPE, (pair){(pack)a, (pack)b});
    }
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(made) : "v"(a), "v"(b));
    return made;
}

/* SCAN_MANY elements; line: they go past the caches. Of f16 no sum is beyond float. */
ALWAYS_INLINE void scan_some(uint16_t *to, const uint16_t *x, scan_state *s, bool line, bool by_instruction) {
    const int back = by_instruction || HALF_TYPE == ASSAY_F16 ? 0 : 1;
    scan_many m;
    __m512 before[SCAN_GROUPS], sum[SCAN_GROUPS];
    SCAN_EACH(g) {
        half_bits a = bits_at(x + g * SCAN_GROUP), b = bits_at(x + g * SCAN_GROUP + PAIR);
        const int layout = HALF_TYPE == ASSAY_BF16;
        pair p = float_pair_of(HALF_TYPE, turned(a, b, layout, 0)), q = float_pair_of(HALF_TYPE, turned(a, b, layout, 1));
        m.p[g][0] = (__m512)p.a;
        m.p[g][1] = (__m512)p.b;
        m.p[g][2] = (__m512)q.a;
        m.p[g][3] = (__m512)q.b;
    }
    scan_fours(&m, before, sum);
    SCAN_EACH(g) {
        before[g] = _mm512_add_ps(before[g], s->run);
        s->run = _mm512_add_ps(s->run, sum[g]);
        s->own = _mm512_add_ps(s->own, sum[g]);
    }
    SCAN_EACH(g) {
        for (int k = 0; k < 4; k++) {
            m.p[g][k] = scan_plus(m.p[g][k], before[g]);
            bool shows = HALF_TYPE == ASSAY_BF16 && k >= 2; /* in the last of four shows what is in the first two */
            s->bad = shows ? _mm512_fmadd_ps(m.p[g][k], _mm512_setzero_ps(), s->bad) : s->bad;
        }
        half_bits a = scan_narrowed(m.p[g][0], m.p[g][1], by_instruction), b = scan_narrowed(m.p[g][2], m.p[g][3], by_instruction);
        scan_set(to + g * SCAN_GROUP, turned(a, b, back, 2), PAIR, line);
        scan_set(to + g * SCAN_GROUP + PAIR, turned(a, b, back, 3), PAIR, line);
    }
}

ALWAYS_INLINE bool scan_row_by(void *at, const void *row, double *total, int64_t n, bool past, bool by_instruction) {
    const uint16_t *x = row;
    uint16_t *to = at;
    scan_state s = {.run = _mm512_set1_ps((float)*total), .own = _mm512_setzero_ps(), .bad = _mm512_setzero_ps()};
    int64_t i = 0;
    for (; past && i + SCAN_MANY <= n; i += SCAN_MANY) {
        scan_some(to + i, x + i, &s, true, by_instruction);
    }
    for (; i + SCAN_MANY <= n; i += SCAN_MANY) {
        scan_some(to + i, x + i, &s, false, by_instruction);
    }
    for (; i < n; i += PAIR) {
        pair p = scan_line(pair_first(x + i, n - i), &s);
        scan_set(to + i, half_bits_of(HALF_TYPE, p), n - i, past && n - i >= PAIR);
    }
    float added = _mm512_cvtss_f32(s.own);
    if (_mm512_cmp_ps_mask(s.bad, s.bad, _CMP_UNORD_Q) != 0 || !isfinite(added) || !isfinite(_mm512_cvtss_f32(s.run))) {
        return false;
    }
    *total += (double)added;
    return true;
}

static bool scan_row(void *at, const void *row, double *total, int64_t n, bool past) {
    return scan_row_by(at, row, total, n, past, false);
}

/* Where the CPU has AVX512_BF16. */
static bool scan_row_by_instruction(void *at, const void *row, double *total, int64_t n, bool past) {
    return scan_row_by(at, row, total, n, past, HALF_TYPE == ASSAY_BF16);
}
#define SCAN_ROW                scan_row
#define SCAN_ROW_BY_INSTRUCTION scan_row_by_instruction
#else
#define SCAN_ROW                NULL
#define SCAN_ROW_BY_INSTRUCTION NULL
#endif
