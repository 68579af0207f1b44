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
    /* Not VRANGEPS, which does both: on Golden Cove it waits for what its target held before, and so each step for the last. */
    wide_f32 root = wide_normal_root(wide_smaller(13.29f, wide_size(x))), factor = wide_size(wide_smaller(13.29f, x));
    __m512 above = _mm512_max_ps(_mm512_setzero_ps(), x);
    return _mm512_fnmadd_ps(_mm512_mul_ps(factor, root), _mm512_mul_ps(root, root), above);
}

#else
#define GELU_BY_TABLE 0
#endif

#endif
