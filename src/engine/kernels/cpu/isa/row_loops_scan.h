/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_f32.c: running sums along a row, in double, of 8 elements at a time: three steps add to each the sum of those
   1, 2 and 4 places before it, and but one addition of each 8 waits for those before. Several 8 go side by side, and some sums are
   made by fused multiplications, which other parts of the CPU do than those that add and turn. */

#if defined(__AVX512F__)
enum { SCAN_EIGHTS = 4, SCAN_SOME = 8 * SCAN_EIGHTS, SCAN_AHEAD = 2048 /* bytes: the CPU reads ahead by itself within a page */ };

/* x of the places before, so many of them, and zeros. n: a constant. */
#define doubles_before(x, n) _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(x), _mm512_setzero_si512(), 8 - (n)))

static inline __attribute__((always_inline)) __m512d doubles_plus(__m512d a, __m512d b) {
    return _mm512_fmadd_pd(a, _mm512_set1_pd(1), b);
}

/* Running sums of 8 from *before on, the sum of those before them in all places, and then theirs as well. */
static inline __attribute__((always_inline)) __m256 scan_eight(__m512d p, __m512d *before) {
    p = doubles_plus(p, doubles_before(p, 1));
    p = doubles_plus(p, doubles_before(p, 2));
    p = doubles_plus(p, doubles_before(p, 4));
    __m256 made = _mm512_cvtpd_ps(doubles_plus(p, *before));
    *before = _mm512_add_pd(*before, _mm512_permutexvar_pd(_mm512_set1_epi64(7), p));
    return made;
}

/* SCAN_SOME elements; *before has the sum of those before them in all places, and then theirs as well. */
static inline __attribute__((always_inline)) void scan_eights(__m256 *made, const float *x, __m512d *before) {
    const __m512i last = _mm512_set1_epi64(7);
    __m512d p[SCAN_EIGHTS];
    for (int k = 0; k < SCAN_EIGHTS; k++) {
        p[k] = _mm512_cvtps_pd(_mm256_loadu_ps(x + 8 * k));
    }
    for (int k = 0; k < SCAN_EIGHTS; k++) {
        p[k] = doubles_plus(p[k], doubles_before(p[k], 1));
    }
    for (int k = 0; k < SCAN_EIGHTS; k++) {
        p[k] = doubles_plus(p[k], doubles_before(p[k], 2));
    }
    for (int k = 0; k < SCAN_EIGHTS; k++) {
        p[k] = doubles_plus(p[k], doubles_before(p[k], 4));
    }
    for (int k = 0; k < SCAN_EIGHTS; k++) {
        made[k] = _mm512_cvtpd_ps(doubles_plus(p[k], *before));
        *before = _mm512_add_pd(*before, _mm512_permutexvar_pd(last, p[k]));
    }
}

/* Answers how many elements are done: whole times SCAN_SOME. line: they go past the caches. */
static inline __attribute__((always_inline)) int64_t scan_many(float *y, const float *x, row_wide *total, int64_t n, bool line) {
    __m512d before = _mm512_set1_pd(total->f);
    __m256 made[SCAN_EIGHTS];
    int64_t i = 0;
    for (; i + SCAN_SOME <= n; i += SCAN_SOME) {
        for (int at = 0; at < SCAN_SOME && line; at += 16) {
            __builtin_prefetch((const char *)(x + i + at) + SCAN_AHEAD);
        }
        scan_eights(made, x + i, &before);
        for (int k = 0; k < SCAN_EIGHTS && !line; k++) {
            _mm256_storeu_ps(y + i + 8 * k, made[k]);
        }
        for (int k = 0; k < SCAN_EIGHTS && line; k += 2) {
            __m512d both = _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_castps_pd(made[k])), _mm256_castps_pd(made[k + 1]), 1);
            _mm512_stream_pd((double *)(void *)(y + i + 8 * k), both);
        }
    }
    total->f = _mm512_cvtsd_f64(before);
    return i;
}

/* The same of 8 at a time. */
static __attribute__((noinline)) int64_t scan_few(float *y, const float *x, row_wide *total, int64_t n) {
    __m512d before = _mm512_set1_pd(total->f);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(y + i, scan_eight(_mm512_cvtps_pd(_mm256_loadu_ps(x + i)), &before));
    }
    total->f = _mm512_cvtsd_f64(before);
    return i;
}
#endif

/* Lines go one after the other without a call for each: what one waits for leaves room for the next. */
static void scan_float_lines(void *to, const void *x, int64_t n, int64_t lines) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
    float *y = to;
    const float *from = x;
    for (int64_t line = 0; line < lines; line++, y += n, from += n) {
        __m512d before = _mm512_setzero_pd();
        __m256 made[SCAN_EIGHTS];
        int64_t i = 0;
        for (int64_t at = 0; at < n; at += 16) {
            __builtin_prefetch((const char *)(from + at) + SCAN_AHEAD);
        }
        for (; i + SCAN_SOME <= n; i += SCAN_SOME) {
            scan_eights(made, from + i, &before);
            for (int k = 0; k < SCAN_EIGHTS; k++) {
                _mm256_storeu_ps(y + i + 8 * k, made[k]);
            }
        }
        for (; i < n; i += 8) {
            __mmask8 some = n - i >= 8 ? 0xff : (__mmask8)((1u << (n - i)) - 1);
            _mm256_mask_storeu_ps(y + i, some, scan_eight(_mm512_cvtps_pd(_mm256_maskz_loadu_ps(some, from + i)), &before));
        }
    }
#else
    scan_each_line(to, x, n, lines);
#endif
}

static void scan_floats(void *to, const void *row, row_wide *total, int64_t n, bool past) {
#if defined(__AVX512F__)
    if (n >= 16) {
        float *y = to;
        const float *x = row;
        int64_t done = n < SCAN_SOME ? 0 : past ? scan_many(y, x, total, n, true) : scan_many(y, x, total, n, false);
        done += n - done >= 16 ? scan_few(y + done, x + done, total, n - done) : 0;
        scan(y + done, x + done, total, n - done, false);
        return;
    }
#endif
    scan(to, row, total, n, past);
}
