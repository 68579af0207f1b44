/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 to f32 and back, n at a time: by instruction where this build has one, else in plain C. */
#ifndef ENGINE_KERNELS_CPU_ISA_HALF_H
#define ENGINE_KERNELS_CPU_ISA_HALF_H

#include "engine/kernels/cpu/isa/vector_math.h"
#include "engine/tensor/dtype.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline void floats_of_bf16(float *to, const uint16_t *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = float_of_bits((uint32_t)from[i] << 16);
    }
}

/* To nearest, ties to even; a NaN keeps its upper bits and stays quiet. */
static inline void bf16_of_floats(uint16_t *to, const float *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_float(from[i]);
        uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
        uint32_t quiet = bits | 0x400000u;
        to[i] = (uint16_t)((from[i] == from[i] ? rounded : quiet) >> 16);
    }
}

static inline void floats_of_f16(float *to, const uint16_t *from, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    }
#endif
    for (; i < n; i++) {
        to[i] = f16_to_float(from[i]);
    }
}

static inline void f16_of_floats(uint16_t *to, const float *from, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        __m256i half = _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), half);
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128((__m128i *)(void *)(to + i), half);
    }
#endif
    for (; i < n; i++) {
        to[i] = f16_from_float(from[i]);
    }
}

#endif
