/* SPDX-License-Identifier: Apache-2.0 */
/* dst[i] = src[offsets[i] + i * src_step] eight at a time, where there is an instruction that reads many places, which compilers
   rarely choose by themselves. Answers how many of n elements are done. */
#ifndef ENGINE_KERNELS_CPU_ISA_GATHER_MANY_H
#define ENGINE_KERNELS_CPU_ISA_GATHER_MANY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

#if defined(__AVX512DQ__)
static inline __m512i places_at(const int64_t *offsets, int64_t i, ptrdiff_t src_step) {
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i at = _mm512_loadu_si512(offsets + i);
    if (src_step != 0) {
        __m512i first = _mm512_set1_epi64((int64_t)src_step * i);
        at = _mm512_add_epi64(at, _mm512_add_epi64(first, _mm512_mullo_epi64(lane, _mm512_set1_epi64(src_step))));
    }
    return at;
}

static inline int64_t gather_many_4(char *dst, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_si256((__m256i *)(void *)(dst + i * 4), _mm512_i64gather_epi32(places_at(offsets, i, src_step), src, 1));
    }
    return i;
}

static inline int64_t gather_many_8(char *dst, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm512_storeu_si512(dst + i * 8, _mm512_i64gather_epi64(places_at(offsets, i, src_step), src, 1));
    }
    return i;
}
#else
static inline int64_t gather_many_4(char *dst, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    (void)dst, (void)src, (void)offsets, (void)n, (void)src_step;
    return 0;
}

static inline int64_t gather_many_8(char *dst, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    (void)dst, (void)src, (void)offsets, (void)n, (void)src_step;
    return 0;
}
#endif

#endif
