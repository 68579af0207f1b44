/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 brought to f32 and back in registers, 32 of them at a time. bf16 by even places in one register and odd ones in the
   other, which takes no instruction that moves numbers about. */
#ifndef ENGINE_KERNELS_CPU_ISA_HALF_REGISTERS_H
#define ENGINE_KERNELS_CPU_ISA_HALF_REGISTERS_H

#if defined(__AVX512DQ__) && defined(__AVX512BW__)
#include <immintrin.h>
#include <stdint.h>

static inline __attribute__((always_inline)) __m512 bf16_even(__m512i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(halves, 16));
}

static inline __attribute__((always_inline)) __m512 bf16_odd(__m512i halves) {
    return _mm512_castsi512_ps(_mm512_and_si512(halves, _mm512_set1_epi32((int)0xffff0000u)));
}

/* Of numbers whose upper halves are rounded. */
static inline __attribute__((always_inline)) __m512i bf16_joined(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(even, 16), odd);
}

static inline __attribute__((always_inline)) __m512 f16_widened(const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}

static inline __attribute__((always_inline)) __m512i f16_joined(__m512 low, __m512 high) {
    __m256i first = _mm512_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i second = _mm512_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}
#endif

#endif
