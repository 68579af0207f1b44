/* SPDX-License-Identifier: Apache-2.0 */
/* Powers in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: 2^(y log2 |x|), the logarithm in two
   floats. For lanes whose results are ordinary; what C says of 0, infinity, NaN and results out of range is left to the caller, who
   is told of such lanes. 1.8 ulp where |y log2 |x|| < 8, 2.4 up to 64, 4 up to 126. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_POW_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_POW_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define POW_BY_TABLE 1

#include "engine/kernels/cpu/isa/vector_blocks.h"

#include <immintrin.h>
#include <stdbool.h>

/* Registers worked on side by side: one after the other the processor would not see far enough ahead to find work while steps wait
   for each other (Zen 4: 8.3 ns for 16 elements, 6.6 in pairs). */
enum { POW_PAIR = 2, POW_LANES = 16 };

typedef struct pow_pair {
    __m512 v[POW_PAIR];
} pow_pair;

/* What is known of the exponents. */
typedef enum pow_kind { POW_OF_ANY, POW_OF_FRACTION, POW_OF_EVEN, POW_OF_ODD } pow_kind;

typedef struct pow_logarithm {
    pow_pair high, low;
} pow_logarithm;

static inline __attribute__((always_inline)) __m512 pow_look_up(const float *table, __m512i places) {
    return _mm512_permutex2var_ps(_mm512_load_ps(table), places, _mm512_load_ps(table + 16));
}

/* log2 |x| for finite x but 0, to 28 bits of itself or more: |x| = 2^e m with m in [1, 2), whose first 5 bits name a number c of 6 or
   7 bits near 1 / m: r = c m - 1 is exact, and so is the sum of e and the first 15 bits of log2(1 / c), here `whole`. From the
   first and the last places c is a power of 2 and log2(1 / c) whole, so that logarithms near 0 keep their digits. r is in
   [-0.0206, 0.03125]; the polynomial is log2(1 + r) / r without its first term, fitted for the least error of the logarithm
   (1.5e-10 of it). */
static inline __attribute__((always_inline)) pow_logarithm wide_log2(pow_pair x) {
    static const float inverse[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.e8p-1f, 0x1.d8p-1f, 0x1.dp-1f, 0x1.cp-1f, 0x1.b4p-1f, 0x1.a8p-1f, 0x1.ap-1f, 0x1.94p-1f,
        0x1.8cp-1f, 0x1.8p-1f, 0x1.78p-1f, 0x1.7p-1f, 0x1.68p-1f, 0x1.6p-1f, 0x1.58p-1f, 0x1.5p-1f, 0x1.4cp-1f,
        0x1.44p-1f, 0x1.4p-1f, 0x1.38p-1f, 0x1.34p-1f, 0x1.2cp-1f, 0x1.28p-1f, 0x1.2p-1f, 0x1.1cp-1f, 0x1.18p-1f,
        0x1.14p-1f, 0x1.1p-1f, 0x1.0cp-1f, 0x1.08p-1f, 0x1p-1f
    };
    static const float whole[32] __attribute__((aligned(64))) = {
        0x0p+0f, 0x1.1bcp-4f, 0x1.e0cp-4f, 0x1.22ep-3f, 0x1.8a9p-3f, 0x1.dacp-3f, 0x1.16ap-2f, 0x1.32cp-2f,
        0x1.5ep-2f, 0x1.7b88p-2f, 0x1.a9p-2f, 0x1.c818p-2f, 0x1.e7ep-2f, 0x1.042cp-1f, 0x1.14c4p-1f, 0x1.25cp-1f,
        0x1.3724p-1f, 0x1.3ffcp-1f, 0x1.52p-1f, 0x1.5b2cp-1f, 0x1.6dep-1f, 0x1.7768p-1f, 0x1.8ad8p-1f, 0x1.94c4p-1f,
        0x1.a9p-1f, 0x1.b354p-1f, 0x1.bddp-1f, 0x1.c87p-1f, 0x1.d338p-1f, 0x1.de28p-1f, 0x1.e944p-1f, 0x1p+0f
    };
    static const float rest[32] __attribute__((aligned(64))) = {
        0x0p+0f, -0x1.9ab4p-17f, -0x1.ca2e1ap-17f, -0x1.48f554p-17f, -0x1.9fd502p-17f, 0x1.169f22p-18f,
        -0x1.fd64ep-17f, -0x1.1c8f12p-22f, -0x1.18708ap-17f, 0x1.f02cf2p-18f, -0x1.a39fbep-20f, 0x1.dc2d46p-18f,
        -0x1.40358ep-19f, -0x1.5a32c2p-20f, 0x1.60fe68p-17f, 0x1.408c78p-18f, -0x1.d448f8p-17f, -0x1.2b18bp-17f,
        -0x1.a39fbep-18f, 0x1.ed0cbap-20f, -0x1.eac382p-20f, -0x1.f6b4c2p-20f, 0x1.1b3cdap-19f, -0x1.78b6d4p-17f,
        -0x1.a39fbep-19f, 0x1.61d876p-19f, -0x1.62336ap-17f, -0x1.0902b6p-18f, 0x1.20a6dep-21f, 0x1.8ec0bap-17f,
        0x1.2c8a72p-17f, 0x0p+0f
    };
    /* 1 / ln 2 in two parts, the others of the polynomial */
    static const float terms[6] = {0x1.715476p+0f, 0x1.4ae0cp-26f,   -0x1.715476p-1f,
                                   0x1.ec712ep-2f, -0x1.7175bep-2f, 0x1.219b9ap-2f};
    pow_logarithm made;
    __m512 r[POW_PAIR], w[POW_PAIR], p[POW_PAIR];
    __m512i places[POW_PAIR];
    for (int k = 0; k < POW_PAIR; k++) {
        __m512 m = _mm512_getmant_ps(x.v[k], _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
        places[k] = _mm512_srli_epi32(_mm512_castps_si512(m), 18);
        r[k] = _mm512_fmsub_ps(m, pow_look_up(inverse, places[k]), _mm512_set1_ps(1));
        w[k] = _mm512_add_ps(_mm512_getexp_ps(x.v[k]), pow_look_up(whole, places[k]));
    }
    for (int k = 0; k < POW_PAIR; k++) {
        made.high.v[k] = _mm512_fmadd_ps(r[k], _mm512_set1_ps(terms[0]), w[k]);
        p[k] = _mm512_set1_ps(terms[5]);
    }
    for (int i = 4; i >= 1; i--) {
        for (int k = 0; k < POW_PAIR; k++) {
            p[k] = _mm512_fmadd_ps(p[k], r[k], _mm512_set1_ps(terms[i]));
        }
    }
    for (int k = 0; k < POW_PAIR; k++) { /* what the sum has lost: the difference is exact, the product fused */
        __m512 lost = _mm512_fmadd_ps(r[k], _mm512_set1_ps(terms[0]), _mm512_sub_ps(w[k], made.high.v[k]));
        made.low.v[k] = _mm512_add_ps(_mm512_fmadd_ps(p[k], r[k], pow_look_up(rest, places[k])), lost);
    }
    return made;
}

/* 2^(y l) for |y l| < 126, and what the exponents are, rounded, or anything else for lanes where that is no such number.
   y l = n + k / 32 + f; 2^(k / 32) is looked up. */
static inline __attribute__((always_inline)) pow_pair wide_exp2(pow_pair y, pow_logarithm l, pow_pair *exponent) {
    static const float powers[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f, 0x1.2387a6p+0f,
        0x1.29e9ep+0f, 0x1.306fep+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f,
        0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f,
        0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f, 0x1.ae89fap+0f, 0x1.b7f77p+0f,
        0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f, 0x1.ea4afap+0f, 0x1.f50766p+0f
    };
    const __m512 magic = _mm512_set1_ps(0x1.8p18f); /* leaves 5 bits behind the point */
    pow_pair made;
    __m512 z[POW_PAIR], low[POW_PAIR], f[POW_PAIR], power[POW_PAIR], n[POW_PAIR], p[POW_PAIR];
    for (int k = 0; k < POW_PAIR; k++) {
        z[k] = _mm512_mul_ps(y.v[k], l.high.v[k]);
        low[k] = _mm512_fmadd_ps(y.v[k], l.low.v[k], _mm512_fmsub_ps(y.v[k], l.high.v[k], z[k]));
        exponent->v[k] = _mm512_add_ps(z[k], low[k]);
    }
    for (int k = 0; k < POW_PAIR; k++) {
        __m512 shifted = _mm512_add_ps(exponent->v[k], magic);
        n[k] = _mm512_sub_ps(shifted, magic);
        f[k] = _mm512_add_ps(_mm512_sub_ps(z[k], n[k]), low[k]);
        power[k] = pow_look_up(powers, _mm512_castps_si512(shifted));
    }
    for (int k = 0; k < POW_PAIR; k++) { /* (2^f - 1) / f, fitted for the least error of 2^f (5.3e-8) */
        p[k] = _mm512_fmadd_ps(_mm512_set1_ps(0x1.ebfd0cp-3f), f[k], _mm512_set1_ps(0x1.62e584p-1f));
    }
    for (int k = 0; k < POW_PAIR; k++) {
        p[k] = _mm512_fmadd_ps(p[k], _mm512_mul_ps(power[k], f[k]), power[k]);
        made.v[k] = _mm512_scalef_ps(p[k], n[k]);
    }
    return made;
}

/* The lanes whose exponents wide_exp2 can do with. */
static inline __attribute__((always_inline)) __mmask16 pow_is_ordinary(__m512 exponent) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(exponent), _mm512_set1_ps(126), _CMP_LT_OQ);
}

/* x^y for 32 elements; false where one of them is not ordinary (0, infinite or NaN, or the result may be out of range): then none of
   them counts. */
static inline __attribute__((always_inline)) bool wide_pow(pow_pair x, pow_pair y, pow_pair *made) {
    pow_pair exponent;
    *made = wide_exp2(y, wide_log2(x), &exponent);
    unsigned ordinary = 0xffff;
    for (int k = 0; k < POW_PAIR; k++) {
        enum { TO_0 = 3, QUIETLY = 8 };
        __m512 half = _mm512_mul_ps(y.v[k], _mm512_set1_ps(0.5f));
        __mmask16 below_0 = _mm512_movepi32_mask(_mm512_castps_si512(x.v[k]));
        __mmask16 fraction = _mm512_cmp_ps_mask(y.v[k], _mm512_roundscale_ps(y.v[k], TO_0 | QUIETLY), _CMP_NEQ_UQ);
        __mmask16 odd = _mm512_cmp_ps_mask(half, _mm512_roundscale_ps(half, TO_0 | QUIETLY), _CMP_NEQ_UQ);
        made->v[k] = _mm512_mask_xor_ps(made->v[k], (__mmask16)(below_0 & odd), made->v[k], _mm512_set1_ps(-0.0f));
        made->v[k] = _mm512_mask_mov_ps(made->v[k], (__mmask16)(below_0 & fraction), _mm512_set1_ps(NAN));
        ordinary &= pow_is_ordinary(exponent.v[k]);
    }
    return ordinary == 0xffff;
}

/* What VFIXUPIMMPS makes of x^y for the x that have no logarithm, one y for all but 0, infinity and NaN, but for the sign: a
   response of 4 bits for each kind of x. */
static inline uint32_t pow_responses(float y, pow_kind kind) {
    enum { QUIET = 2, MADE_NAN = 3, INFINITE = 5, ZERO = 8 };
    uint32_t of_0 = y > 0 ? ZERO : INFINITE, of_infinity = y > 0 ? INFINITE : ZERO;
    uint32_t below_0 = kind == POW_OF_FRACTION ? MADE_NAN : 0; /* 0: as it is */
    return QUIET | QUIET << 4 | of_0 << 8 | of_infinity << 16 | of_infinity << 20 | below_0 << 24;
}

/* The same for one such y. */
static inline __attribute__((always_inline)) bool wide_pow_number(pow_pair x, float y, pow_kind kind, uint32_t responses,
                                                                  pow_pair *made) {
    enum { ANSWERED = 0x9f /* 0, infinity, NaN */, BELOW_0 = 0x40 };
    pow_pair exponent, powers = {{_mm512_set1_ps(y), _mm512_set1_ps(y)}};
    *made = wide_exp2(powers, wide_log2(x), &exponent);
    unsigned ordinary = 0xffff;
    for (int k = 0; k < POW_PAIR; k++) {
        made->v[k] = _mm512_fixupimm_ps(made->v[k], x.v[k], _mm512_set1_epi32((int)responses), 0);
        __mmask16 answered = kind == POW_OF_FRACTION ? _mm512_fpclass_ps_mask(x.v[k], ANSWERED | BELOW_0)
                                                     : _mm512_fpclass_ps_mask(x.v[k], ANSWERED);
        ordinary &= pow_is_ordinary(exponent.v[k]) | answered;
        if (kind == POW_OF_ODD) {
            made->v[k] = _mm512_or_ps(made->v[k], _mm512_and_ps(x.v[k], _mm512_set1_ps(-0.0f)));
        }
    }
    return ordinary == 0xffff;
}

#else
#define POW_BY_TABLE 0
#endif

#endif
