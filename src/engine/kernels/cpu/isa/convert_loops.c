/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 to f32 and back. bf16 vectorises from plain C; f16 needs the F16C instructions where there are any. */
#include "engine/kernels/cpu/isa/convert_loops.h"

#include "engine/tensor/dtype.h"

#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

static void f16_to_f32(const uint16_t *from, float *to, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    }
#endif
    for (; i < n; i++) {
        to[i] = f16_to_float(from[i]);
    }
}

static void f32_to_f16(const float *from, uint16_t *to, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        __m256i half = _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)(to + i), half);
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(to + i), half);
    }
#endif
    for (; i < n; i++) {
        to[i] = f16_from_float(from[i]);
    }
}

static void bf16_to_f32(const uint16_t *from, float *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void f32_to_bf16(const float *from, uint16_t *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
        to[i] = (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? (bits >> 16) | 0x40 : rounded);
    }
}

extern const convert_loops ISA_SYMBOL(convert_loops);
const convert_loops ISA_SYMBOL(convert_loops) = {f16_to_f32, f32_to_f16, bf16_to_f32, f32_to_bf16};
