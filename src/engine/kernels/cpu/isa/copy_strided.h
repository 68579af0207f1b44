/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements from and to places that lie apart: a part of copy_loops.c. */
#ifndef ENGINE_KERNELS_CPU_ISA_COPY_STRIDED_H
#define ENGINE_KERNELS_CPU_ISA_COPY_STRIDED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A pair as wide as complex128. */
typedef struct wide {
    uint64_t part[2];
} wide;

/* A dense row to every second place, vectors at a time: answers how many elements are done. */
#if defined(__AVX512BW__)
static inline int64_t spread(char *dst, const char *src, int log2, int64_t n) {
    const __m512i twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    int64_t some = 32 >> log2, i = 0;
    for (; i + some <= n; i += some, src += 32, dst += 64) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)src);
        if (log2 == 0) {
            _mm512_mask_storeu_epi8(dst, 0x5555555555555555, _mm512_cvtepu8_epi16(x));
        } else if (log2 == 1) {
            _mm512_mask_storeu_epi16(dst, 0x55555555, _mm512_cvtepu16_epi32(x));
        } else if (log2 == 2) {
            _mm512_mask_storeu_epi32(dst, 0x5555, _mm512_cvtepu32_epi64(x));
        } else {
            _mm512_mask_storeu_epi64(dst, 0x55, _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(x)));
        }
    }
    return i;
}

/* Every second element to a dense row. What lies between the elements is read, but nothing behind the last one. */
static inline int64_t thin_out(char *dst, const char *src, int log2, int64_t n) {
    const __m512i first = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    int64_t some = 32 >> log2, i = 0;
    for (; i + some < n; i += some, src += 64, dst += 32) {
        __m512i x = _mm512_loadu_si512(src);
        __m256i made = log2 == 0   ? _mm512_cvtepi16_epi8(x)
                       : log2 == 1 ? _mm512_cvtepi32_epi16(x)
                       : log2 == 2 ? _mm512_cvtepi64_epi32(x)
                                   : _mm512_castsi512_si256(_mm512_permutexvar_epi64(first, x));
        _mm256_storeu_si256((__m256i *)(void *)dst, made);
    }
    return i;
}
#else
static inline int64_t spread(char *dst, const char *src, int log2, int64_t n) {
    (void)dst, (void)src, (void)log2, (void)n;
    return 0;
}

static inline int64_t thin_out(char *dst, const char *src, int log2, int64_t n) {
    return spread(dst, src, log2, n);
}
#endif

/* Three rows (ss bytes apart) one element of each in turn, and back to three rows (ds bytes apart): compilers have vector code for that
   where they see that nothing overlaps. */
#define THREES(bits)                                                                                                                    \
    static inline void join_three_##bits(char *restrict dst, const char *src, int64_t n, ptrdiff_t ss) {                               \
        uint##bits##_t *restrict to = (uint##bits##_t *)(void *)dst;                                                                    \
        const uint##bits##_t *restrict a = (const uint##bits##_t *)(const void *)src;                                                   \
        const uint##bits##_t *restrict b = (const uint##bits##_t *)(const void *)(src + ss);                                            \
        const uint##bits##_t *restrict c = (const uint##bits##_t *)(const void *)(src + 2 * ss);                                        \
        for (int64_t i = 0; i < n; i++) {                                                                                               \
            to[3 * i] = a[i];                                                                                                           \
            to[3 * i + 1] = b[i];                                                                                                       \
            to[3 * i + 2] = c[i];                                                                                                       \
        }                                                                                                                               \
    }                                                                                                                                   \
    static inline void part_three_##bits(char *restrict dst, const char *restrict src, int64_t n, ptrdiff_t ds) {                      \
        const uint##bits##_t *restrict from = (const uint##bits##_t *)(const void *)src;                                                \
        uint##bits##_t *restrict a = (uint##bits##_t *)(void *)dst;                                                                     \
        uint##bits##_t *restrict b = (uint##bits##_t *)(void *)(dst + ds);                                                              \
        uint##bits##_t *restrict c = (uint##bits##_t *)(void *)(dst + 2 * ds);                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                                               \
            a[i] = from[3 * i];                                                                                                         \
            b[i] = from[3 * i + 1];                                                                                                     \
            c[i] = from[3 * i + 2];                                                                                                     \
        }                                                                                                                               \
    }
THREES(8)
THREES(16)
THREES(32)
THREES(64)

/* Each type twice: backwards onto a contiguous row (flips), which vectorises, and any strides. */
static inline void strided_8(char *dst, const char *src, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    if (ds == 1 && ss == -1) {
        for (int64_t i = 0; i < n; i++) {
            dst[i] = src[-i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        dst[i * ds] = src[i * ss];
    }
}

static inline void strided_16(char *dst, const char *src, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    if (ds == 2 && ss == -2) {
        uint16_t *to = (uint16_t *)(void *)dst;
        const uint16_t *from = (const uint16_t *)(const void *)src;
        for (int64_t i = 0; i < n; i++) {
            to[i] = from[-i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        *(uint16_t *)(void *)(dst + i * ds) = *(const uint16_t *)(const void *)(src + i * ss);
    }
}

static inline void strided_32(char *dst, const char *src, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    if (ds == 4 && ss == -4) {
        uint32_t *to = (uint32_t *)(void *)dst;
        const uint32_t *from = (const uint32_t *)(const void *)src;
        for (int64_t i = 0; i < n; i++) {
            to[i] = from[-i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        *(uint32_t *)(void *)(dst + i * ds) = *(const uint32_t *)(const void *)(src + i * ss);
    }
}

static inline void strided_64(char *dst, const char *src, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    if (ds == 8 && ss == -8) {
        uint64_t *to = (uint64_t *)(void *)dst;
        const uint64_t *from = (const uint64_t *)(const void *)src;
        for (int64_t i = 0; i < n; i++) {
            to[i] = from[-i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        *(uint64_t *)(void *)(dst + i * ds) = *(const uint64_t *)(const void *)(src + i * ss);
    }
}

static inline void strided_128(char *dst, const char *src, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    for (int64_t i = 0; i < n; i++) {
        *(wide *)(void *)(dst + i * ds) = *(const wide *)(const void *)(src + i * ss);
    }
}

#endif
