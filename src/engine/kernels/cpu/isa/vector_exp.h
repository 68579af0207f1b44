/* SPDX-License-Identifier: Apache-2.0 */
/* exp in f32 where instructions take numbers apart and scale them: half the time of vector_math.h's, which spells that out. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_EXP_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_EXP_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define EXP_BY_SCALING 1

#include <immintrin.h>

/* 2^y from 2^f, f what y has behind the point. */
static inline __attribute__((always_inline)) __m512 exp2_scaled(__m512 p, __m512 y) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(y, _mm512_set1_ps(-150), _CMP_NLT_UQ), p, y);
}

/* 2^y = 2^floor(y) 2^f with f in [0, 1), a polynomial that is 1 at 0, fitted for the least relative error (8.3e-8). y = x / ln 2
   is rounded, which costs |x| / 2 ulp, no more than x itself costs where it is a difference that was rounded: as softmax has it.
   Infinities, NaN and results out of range come out as they should. What rounds to 0 is 0 by a mask: scaling down to it would take
   thirty times as long, and masked scores are all such. */
static inline __attribute__((always_inline)) __m512 exp_by_scaling(__m512 x) {
    enum { TO_FLOOR = 1, QUIETLY = 8 };
    __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(0x1.715476p+0f));
    __m512 f = _mm512_reduce_ps(y, TO_FLOOR | QUIETLY);
    __m512 p = _mm512_set1_ps(0.00186713005f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.00901703071f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.0557999127f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240164444f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693151295f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return exp2_scaled(p, y);
}

/* 2^y for results and sums that end in bf16: a shorter polynomial, 8.6e-5, a fiftieth of what rounding to bf16 does. */
static inline __attribute__((always_inline)) __m512 exp2_by_scaling_bf16(__m512 y) {
    enum { TO_FLOOR = 1, QUIETLY = 8 };
    __m512 f = _mm512_reduce_ps(y, TO_FLOOR | QUIETLY);
    __m512 p = _mm512_set1_ps(0.0770670548081398f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.22764497995376587f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6951168179512024f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return exp2_scaled(p, y);
}

/* The same for f16: 2.9e-6, less than a hundredth of what rounding to f16 does. */
static inline __attribute__((always_inline)) __m512 exp2_by_scaling_f16(__m512 y) {
    enum { TO_FLOOR = 1, QUIETLY = 8 };
    __m512 f = _mm512_reduce_ps(y, TO_FLOOR | QUIETLY);
    __m512 p = _mm512_set1_ps(0.013426685705780983f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.052242472767829895f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.2412802129983902f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6930448412895203f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return exp2_scaled(p, y);
}

#endif

#endif
