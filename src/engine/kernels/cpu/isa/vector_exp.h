/* SPDX-License-Identifier: Apache-2.0 */
/* exp in f32 where instructions take numbers apart and scale them: half the time of vector_math.h's, which spells that out. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_EXP_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_EXP_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define EXP_BY_SCALING 1

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

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

/* exp(x) 2^-powers for numbers that come of halves and results that end there, 3e-5: an eighth of what rounding to f16 does. Less arithmetic
   than by taking numbers apart and scaling them, two instructions of which Zen 4 makes four. Adding `place` puts the number of the nearest
   32nd of an octave, less powers, into a float's low bits. The last five look its root up, all of them are shifted to the exponent, where
   what those five add is taken off the table before. What is left of x is so small that its exponential is a straight line. What is less
   than low is 0 in bf16, and in f16 it counts as low: an exponential of 2^-60 is 0 there, and beside 1 in a sum. */
typedef struct quick_exp {
    __m512 place, low;
} quick_exp;

enum { QUICK_EXP_FARTHEST = 500 }; /* shifts: beyond them what is left of x has too few digits */

/* The nearest whole power of 2 to e^shift. */
static inline __attribute__((always_inline)) __m512 quick_exp_powers(__m512 shift) {
    return _mm512_roundscale_ps(_mm512_mul_ps(shift, _mm512_set1_ps(0x1.715476p+0f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline __attribute__((always_inline)) bool quick_exp_is_beyond(__m512i top) {
    return _mm512_cmpgt_epi32_mask(top, _mm512_castps_si512(_mm512_set1_ps(0x1.8p+18f + 120))) != 0;
}

static inline __attribute__((always_inline)) quick_exp quick_exp_less(__m512 powers, bool is_bf16) {
    __m512 low = _mm512_sub_ps(powers, _mm512_set1_ps(is_bf16 ? 125 : 60));
    return (quick_exp){_mm512_sub_ps(_mm512_set1_ps(0x1.8p+18f), powers), _mm512_mul_ps(low, _mm512_set1_ps(0x1.62e43p-1f))};
}

/* Exponentials of numbers more than 120 powers up mean nothing: top, the largest number that had `place` added, tells of them. To see to them
   one by one would make each wait for it, which took a tenth longer. NaN of NaN. */
static inline __attribute__((always_inline)) __m512 quick_exp_of(const quick_exp *e, __m512 x, bool is_bf16, __m512i *top) {
    static const uint32_t roots[32] __attribute__((aligned(64))) = {
        0x3f8000f8, 0x3f7ece84, 0x3f7dabc6, 0x3f7c9917, 0x3f7b96d0, 0x3f7aa54e, 0x3f79c4ee, 0x3f78f610,
        0x3f783917, 0x3f778e67, 0x3f76f666, 0x3f76717d, 0x3f760018, 0x3f75a2a3, 0x3f75598e, 0x3f75254c,
        0x3f750652, 0x3f74fd15, 0x3f750a12, 0x3f752dc3, 0x3f7568a8, 0x3f75bb44, 0x3f76261b, 0x3f76a9b5,
        0x3f77469e, 0x3f77fd61, 0x3f78ce92, 0x3f79bac4, 0x3f7ac28d, 0x3f7be68a, 0x3f7d2758, 0x3f7e8598};
    const __mmask16 some = is_bf16 ? _mm512_cmp_ps_mask(x, e->low, _CMP_NLT_UQ) : 0;
    x = is_bf16 ? x : _mm512_max_ps(e->low, x); /* NaN on the right is taken */
    __m512 placed = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), e->place);
    *top = _mm512_max_epi32(*top, _mm512_castps_si512(placed));
    __m512 left = _mm512_fnmadd_ps(_mm512_sub_ps(placed, e->place), _mm512_set1_ps(0x1.62e43p-1f), x);
    __m512i root = _mm512_permutex2var_epi32(_mm512_load_si512(roots), _mm512_castps_si512(placed), _mm512_load_si512(roots + 16));
    __m512 power = _mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(_mm512_castps_si512(placed), 18)));
    return is_bf16 ? _mm512_maskz_fmadd_ps(some, power, left, power) : _mm512_fmadd_ps(power, left, power);
}

#endif

#endif
