/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_f32.c: running sums along a row, in double, of 8 elements at a time: three steps add to each the sum of those
   1, 2 and 4 places before it, and but one addition of each 8 waits for those before. */

#if defined(__AVX512F__)
/* Of 8 elements; their sum in all of *sum. */
static inline __attribute__((always_inline)) __m512d scan_eight(const float *x, __m512d *sum) {
    const __m512i last = _mm512_set1_epi64(7);
    const __m512d none = _mm512_setzero_pd();
    __m512d p = _mm512_cvtps_pd(_mm256_loadu_ps(x));
    p = _mm512_add_pd(p, _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(p), _mm512_castpd_si512(none), 7)));
    p = _mm512_add_pd(p, _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(p), _mm512_castpd_si512(none), 6)));
    p = _mm512_add_pd(p, _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(p), _mm512_castpd_si512(none), 4)));
    *sum = _mm512_permutexvar_pd(last, p);
    return p;
}

static __attribute__((noinline)) void scan_many(float *y, const float *x, row_wide *total, int64_t n) {
    __m512d before = _mm512_set1_pd(total->f), sum;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512d p = scan_eight(x + i, &sum);
        _mm256_storeu_ps(y + i, _mm512_cvtpd_ps(_mm512_add_pd(before, p)));
        before = _mm512_add_pd(before, sum);
    }
    total->f = _mm512_cvtsd_f64(before);
    if (i < n) {
        scan(y + i, x + i, total, n - i);
    }
}
#endif

static void scan_floats(void *to, const void *row, row_wide *total, int64_t n) {
#if defined(__AVX512F__)
    if (n >= 16) {
        scan_many(to, row, total, n);
        return;
    }
#endif
    scan(to, row, total, n);
}
