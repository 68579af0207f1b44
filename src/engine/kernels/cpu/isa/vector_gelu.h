/* SPDX-License-Identifier: Apache-2.0 */
/* gelu in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: without the exponential and the quotient
   of vector_math.h it takes three quarters of their time. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_GELU_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_GELU_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define GELU_BY_TABLE 1

#include "engine/kernels/cpu/isa/vector_blocks.h"

#include <immintrin.h>

enum { GELU_LANES = 16 };

/* x * Phi(x) as max(x, 0) - |x| Phi(-|x|): the lower tail keeps its digits. 7 ulp. NaN comes through the maximum, which takes
   its second operand then; -inf times nothing is NaN as well, for which the factor is large where x is low, but not high. */
static inline __attribute__((always_inline)) __m512 gelu_by_table(__m512 x) {
    enum { LESSER_SIZE = 2 | 2 << 2, SIZE_OF_LESSER = 0 | 2 << 2 };
    const __m512 beyond = _mm512_set1_ps(13.29f);
    __m512 size = _mm512_range_ps(x, beyond, LESSER_SIZE), root = wide_normal_root(size);
    __m512 above = _mm512_max_ps(_mm512_setzero_ps(), x);
    __m512 factor = _mm512_range_ps(x, beyond, SIZE_OF_LESSER);
    return _mm512_fnmadd_ps(_mm512_mul_ps(factor, root), _mm512_mul_ps(root, root), above);
}

#else
#define GELU_BY_TABLE 0
#endif

#endif
