/* SPDX-License-Identifier: Apache-2.0 */
/* Powers in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: 2^(y log2 |x|), the logarithm in two
   floats. For lanes whose results are ordinary; what C says of 0, infinity, NaN and results out of range is left to the caller, who
   is told of such lanes. 1.8 ulp where |y log2 |x|| < 8, 2.4 up to 64, 4 up to 126. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_POW_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_POW_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

#if defined(__AVX512DQ__)
#define POW_BY_TABLE 1
#else
#define POW_BY_TABLE 0
#endif

/* Two registers are worked on side by side: one after the other the processor would not see far enough ahead to find work while steps
   wait for each other (Zen 4: 8.3 ns for 16 elements, 6.6 in pairs). */
#define POW_PAIR 2

/* The 32 elements from here on, or 16 and as many 1. */
#if defined(__AVX512DQ__)
typedef struct pow_pair {
    wide_f32 v[POW_PAIR];
} pow_pair;
typedef struct pow_logarithm {
    pow_pair high, low;
} pow_logarithm;
VECTOR_INLINE pow_pair pow_elements(const float *from, int n) {
    pow_pair x = {{*(const wide_f32_anywhere *)from, wide_of(1)}};
    if (n > 16) {
        x.v[1] = *(const wide_f32_anywhere *)(from + 16);
    }
    return x;
}
#endif

/* a b - c, rounded once, whatever the compiler is told. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_f32 wide_fused_less(wide_f32 a, wide_f32 b, wide_f32 c) {
    __asm__("vfmsub213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}
#endif

/* As wide_look_up, in the place of the places: a table that is looked up again needs no copy. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_f32 pow_look_up(const float *table, wide_i32 places) {
    __asm__("vpermi2ps %2, %1, %0" : "+v"(places) : "v"(*(const wide_f32 *)table), "v"(*(const wide_f32 *)(table + 16)));
    return (wide_f32)places;
}
#endif

/* One number, -0 too, which wide_of makes 0. */
#if defined(__AVX512DQ__)
VECTOR_INLINE pow_pair pow_alike(float x) {
    wide_f32 all = (wide_f32)((wide_i32){0} + (int32_t)bits_of_float(x));
    return (pow_pair){{all, all}};
}
#endif

/* For each first 5 bits of a mantissa m in [1, 2) a number of 6 or 7 bits near 1 / m: c m - 1 is exact, in [-0.0206, 0.03125]. At the ends
   powers of 2. */
#if defined(__AVX512DQ__)
VECTOR_INLINE const float *pow_inverses(void) {
    static const float inverse[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.e8p-1f, 0x1.d8p-1f, 0x1.dp-1f, 0x1.cp-1f, 0x1.b4p-1f, 0x1.a8p-1f, 0x1.ap-1f, 0x1.94p-1f,
        0x1.8cp-1f, 0x1.8p-1f, 0x1.78p-1f, 0x1.7p-1f, 0x1.68p-1f, 0x1.6p-1f, 0x1.58p-1f, 0x1.5p-1f, 0x1.4cp-1f,
        0x1.44p-1f, 0x1.4p-1f, 0x1.38p-1f, 0x1.34p-1f, 0x1.2cp-1f, 0x1.28p-1f, 0x1.2p-1f, 0x1.1cp-1f, 0x1.18p-1f,
        0x1.14p-1f, 0x1.1p-1f, 0x1.0cp-1f, 0x1.08p-1f, 0x1p-1f
    };
    return inverse;
}
#endif

/* log2 |x| for finite x but 0, to 28 bits of itself or more: |x| = 2^e m with m in [1, 2), whose first 5 bits name a number c of 6 or
   7 bits near 1 / m: r = c m - 1 is exact, and so is the sum of e and the first 15 bits of log2(1 / c), here `whole`. From the
   first and the last places c is a power of 2 and log2(1 / c) whole, so that logarithms near 0 keep their digits. r is in
   [-0.0206, 0.03125]; the polynomial is log2(1 + r) / r without its first term, fitted for the least error of the logarithm
   (1.5e-10 of it). The last of its numbers are 1 / ln 2 in two parts. */
#if defined(__AVX512DQ__)
VECTOR_INLINE pow_logarithm wide_log2(pow_pair x) {
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
    pow_logarithm made;
    wide_f32 r[POW_PAIR], w[POW_PAIR], p[POW_PAIR];
    wide_i32 places[POW_PAIR];
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 m, e;
        __asm__("vgetmantps $4, %1, %0" : "=v"(m) : "v"(x.v[k])); /* in [1, 2), of its size */
        __asm__("vgetexpps %1, %0" : "=v"(e) : "v"(x.v[k]));
        places[k] = (wide_i32)m >> 18;
        r[k] = wide_fused_less(m, pow_look_up(pow_inverses(), places[k]), wide_of(1));
        w[k] = e + pow_look_up(whole, places[k]);
    }
    for (int k = 0; k < POW_PAIR; k++) {
        made.high.v[k] = wide_fused(r[k], wide_of(0x1.715476p+0f), w[k]);
        p[k] = r[k] * 0x1.219b9ap-2f - 0x1.7175bep-2f;
    }
    for (int k = 0; k < POW_PAIR; k++) {
        p[k] = p[k] * r[k] + 0x1.ec712ep-2f;
    }
    for (int k = 0; k < POW_PAIR; k++) {
        p[k] = p[k] * r[k] - 0x1.715476p-1f;
    }
    for (int k = 0; k < POW_PAIR; k++) {
        p[k] = p[k] * r[k] + 0x1.4ae0cp-26f;
    }
    for (int k = 0; k < POW_PAIR; k++) { /* what the sum has lost: the difference is exact, the product fused */
        wide_f32 lost = wide_fused(r[k], wide_of(0x1.715476p+0f), w[k] - made.high.v[k]);
        made.low.v[k] = p[k] * r[k] + pow_look_up(rest, places[k]) + lost;
    }
    return made;
}
#endif

/* 2^(y l) for |y l| < 126, and what the exponents are, rounded, or anything else for lanes where that is no such number.
   y l = n + k / 32 + f; 2^(k / 32) is looked up. (2^f - 1) / f is fitted for the least error of 2^f (5.3e-8). */
#if defined(__AVX512DQ__)
VECTOR_INLINE pow_pair wide_exp2(pow_pair y, pow_logarithm l, pow_pair *exponent) {
    static const float powers[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f, 0x1.2387a6p+0f,
        0x1.29e9ep+0f, 0x1.306fep+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f,
        0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f,
        0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f, 0x1.ae89fap+0f, 0x1.b7f77p+0f,
        0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f, 0x1.ea4afap+0f, 0x1.f50766p+0f
    };
    pow_pair made;
    wide_f32 z[POW_PAIR], low[POW_PAIR], f[POW_PAIR], power[POW_PAIR], n[POW_PAIR];
    for (int k = 0; k < POW_PAIR; k++) {
        z[k] = y.v[k] * l.high.v[k];
        low[k] = wide_fused_less(l.high.v[k], y.v[k], z[k]);
        low[k] = y.v[k] * l.low.v[k] + low[k];
        exponent->v[k] = z[k] + low[k];
    }
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 shifted = exponent->v[k] + 0x1.8p18f; /* 5 bits behind the point are left */
        n[k] = shifted - 0x1.8p18f;
        f[k] = (z[k] - n[k]) + low[k];
        power[k] = pow_look_up(powers, (wide_i32)shifted);
    }
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 p = f[k] * 0x1.ebfd0cp-3f + 0x1.62e584p-1f;
        p = p * (power[k] * f[k]) + power[k];
        __asm__("vscalefps %2, %1, %0" : "=v"(made.v[k]) : "v"(p), "v"(n[k]));
    }
    return made;
}
#endif

/* The lanes whose exponents wide_exp2 can do with. */
#if defined(__AVX512DQ__)
VECTOR_INLINE uint16_t pow_is_ordinary(wide_f32 exponent) {
    uint16_t ordinary;
    __asm__("vcmpltps %2, %1, %0" : "=Yk"(ordinary) : "v"(wide_size(exponent)), "v"(wide_of(126)));
    return ordinary;
}
#endif

/* What x^y is of |x|^y, for 32 elements; 0 where one of them is not ordinary (0, infinite or NaN, or the result may be out of range):
   then none of them counts. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int pow_signs(pow_pair x, pow_pair y, pow_pair exponent, pow_pair *made) {
    unsigned ordinary = 0xffff;
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 value = made->v[k], half = y.v[k] * 0.5f, whole, half_whole;
        uint16_t below_0, fraction, odd;
        __asm__("vrndscaleps $11, %1, %0" : "=v"(whole) : "v"(y.v[k])); /* towards 0 */
        __asm__("vrndscaleps $11, %1, %0" : "=v"(half_whole) : "v"(half));
        __asm__("vpmovd2m %1, %0" : "=Yk"(below_0) : "v"(x.v[k]));
        __asm__("vcmpneqps %2, %1, %0 %{%3%}" : "=Yk"(fraction) : "v"(y.v[k]), "v"(whole), "Yk"(below_0));
        __asm__("vcmpneqps %2, %1, %0 %{%3%}" : "=Yk"(odd) : "v"(half), "v"(half_whole), "Yk"(below_0));
        __asm__("vxorps %1, %0, %0 %{%2%}" : "+v"(value) : "v"((wide_i32){0} + (int32_t)0x80000000), "Yk"(odd));
        __asm__("vmovaps %1, %0 %{%2%}" : "+v"(value) : "v"(wide_of(NAN)), "Yk"(fraction));
        made->v[k] = value;
        ordinary &= pow_is_ordinary(exponent.v[k]);
    }
    return ordinary == 0xffff;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE int wide_pow(pow_pair x, pow_pair y, pow_pair *made) {
    pow_pair exponent;
    *made = wide_exp2(y, wide_log2(x), &exponent);
    return pow_signs(x, y, exponent, made);
}
#endif

/* What VFIXUPIMMPS makes of x^y for the x that have no logarithm, one y for all but 0, infinity and NaN, but for the sign: a
   response of 4 bits for each kind of x, of a quiet NaN first. */
VECTOR_INLINE uint32_t pow_responses(float y, int is_fraction) {
    const uint32_t quiet = 2, made_nan = 3, infinite = 5, zero = 8;
    uint32_t of_0 = y > 0 ? zero : infinite, of_infinity = y > 0 ? infinite : zero;
    uint32_t below_0 = is_fraction ? made_nan : 0; /* 0: as it is */
    return quiet | quiet << 4 | of_0 << 8 | of_infinity << 16 | of_infinity << 20 | below_0 << 24;
}

/* The same as pow_signs for one such y; sign: -0 where it is odd, else 0. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int pow_answers(pow_pair x, float sign, uint32_t responses, pow_pair exponent, pow_pair *made) {
    unsigned ordinary = 0xffff;
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 value = made->v[k];
        uint16_t answered;
        __asm__("vfixupimmps $0, %2, %1, %0" : "+v"(value) : "v"(x.v[k]), "v"((wide_i32){0} + (int32_t)responses));
        __asm__("vfpclassps $0x9f, %1, %0" : "=Yk"(answered) : "v"(x.v[k])); /* 0, infinity, NaN */
        made->v[k] = (wide_f32)((wide_i32)value | ((wide_i32)x.v[k] & (int32_t)bits_of_float(sign)));
        ordinary &= pow_is_ordinary(exponent.v[k]) | answered;
    }
    return ordinary == 0xffff;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE int wide_pow_number(pow_pair x, float y, float sign, uint32_t responses, pow_pair *made) {
    pow_pair exponent;
    *made = wide_exp2(pow_alike(y), wide_log2(x), &exponent);
    return pow_answers(x, sign, responses, exponent, made);
}
#endif

/* For many numbers to one power from -3 to 7: x = 2^e m with m in [1, 2), e = 16 h + l with l in [-8, 7], and c near 1 / m as above. x^y is
   2^(16 h y) 2^(l y) c^-y (1 + u)^y with u = c m - 1. Each but the last is looked up; the last is 1 + u times a polynomial, five terms
   of its binomial series: off by 2.6e-8 where it is worst (y = -3). 2.5 ulp all told, 3.6 where results are near 1 (|y| of 0.01 and
   less). Half the arithmetic of wide_pow_number. */
#if defined(__AVX512DQ__)
typedef struct pow_tables {
    /* 2^(16 h y) and 2^(l y) for h and l from -8 on; c^-y */
    float high[16] __attribute__((aligned(64))), low[16] __attribute__((aligned(64))), base[32] __attribute__((aligned(64)));
    float terms[5];
    int32_t least, span; /* sizes that have all of these finite, and not too small: bits from `least` on, so many */
} pow_tables;
VECTOR_INLINE int pow_has_tables(float y) {
    return y >= -3 && y <= 7;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE float pow_base(int place, double y) {
    return (float)__builtin_pow(pow_inverses()[place], -y);
}
#endif

/* A constant y makes them constants: nothing of this is left then. 2 us otherwise. */
#if defined(__AVX512DQ__)
VECTOR_INLINE pow_tables pow_tables_of(float power) {
    const double y = power, size = power < 0 ? -y : y;
    const int farthest = (int)(125 / (size > 1 ? size : 1) - 9); /* as 2^e: both factors of 2^(e y) are normal then */
    return (pow_tables){
        .high = {(float)__builtin_exp2(-128 * y), (float)__builtin_exp2(-112 * y), (float)__builtin_exp2(-96 * y),
                 (float)__builtin_exp2(-80 * y), (float)__builtin_exp2(-64 * y), (float)__builtin_exp2(-48 * y),
                 (float)__builtin_exp2(-32 * y), (float)__builtin_exp2(-16 * y), (float)__builtin_exp2(0 * y),
                 (float)__builtin_exp2(16 * y), (float)__builtin_exp2(32 * y), (float)__builtin_exp2(48 * y),
                 (float)__builtin_exp2(64 * y), (float)__builtin_exp2(80 * y), (float)__builtin_exp2(96 * y),
                 (float)__builtin_exp2(112 * y)},
        .low = {(float)__builtin_exp2(-8 * y), (float)__builtin_exp2(-7 * y), (float)__builtin_exp2(-6 * y),
                 (float)__builtin_exp2(-5 * y), (float)__builtin_exp2(-4 * y), (float)__builtin_exp2(-3 * y),
                 (float)__builtin_exp2(-2 * y), (float)__builtin_exp2(-1 * y), (float)__builtin_exp2(0 * y),
                 (float)__builtin_exp2(1 * y), (float)__builtin_exp2(2 * y), (float)__builtin_exp2(3 * y),
                 (float)__builtin_exp2(4 * y), (float)__builtin_exp2(5 * y), (float)__builtin_exp2(6 * y),
                 (float)__builtin_exp2(7 * y)},
        .base = {pow_base(0, y), pow_base(1, y), pow_base(2, y), pow_base(3, y), pow_base(4, y), pow_base(5, y), pow_base(6, y),
                 pow_base(7, y), pow_base(8, y), pow_base(9, y), pow_base(10, y), pow_base(11, y), pow_base(12, y), pow_base(13, y),
                 pow_base(14, y), pow_base(15, y), pow_base(16, y), pow_base(17, y), pow_base(18, y), pow_base(19, y), pow_base(20, y),
                 pow_base(21, y), pow_base(22, y), pow_base(23, y), pow_base(24, y), pow_base(25, y), pow_base(26, y), pow_base(27, y),
                 pow_base(28, y), pow_base(29, y), pow_base(30, y), pow_base(31, y)},
        .terms = {(float)y, (float)(y * (y - 1) / 2), (float)(y * (y - 1) * (y - 2) / 6),
                  (float)(y * (y - 1) * (y - 2) * (y - 3) / 24), (float)(y * (y - 1) * (y - 2) * (y - 3) * (y - 4) / 120)},
        .least = (127 - farthest) << 23,
        .span = (2 * farthest + 1) << 23,
    };
}
#endif

#if defined(__AVX512DQ__)
/* n: of the polynomial's terms, 5; halves have digits for 3 (2e-6). */
VECTOR_INLINE int pow_by_tables(const pow_tables *t, int n, pow_pair x, float sign, uint32_t responses, pow_pair *made) {
    enum { TO_MIDDLE = (136 - 127) << 23, MANTISSA = 0x7fffff, ONE = 0x3f800000 };
    wide_f32 u[POW_PAIR], base[POW_PAIR], scale[POW_PAIR], p[POW_PAIR];
    unsigned ordinary = 0xffff;
    for (int k = 0; k < POW_PAIR; k++) {
        wide_i32 bits = (wide_i32)x.v[k], places = bits >> 18;
        wide_i32 moved = (wide_i32)((wide_u32)bits + TO_MIDDLE);
        wide_f32 m = (wide_f32)((bits & MANTISSA) | ONE);
        wide_i32 beyond = (bits & 0x7fffffff) - t->least;
        uint16_t fits, answered;
        u[k] = wide_fused_less(m, pow_look_up(pow_inverses(), places), wide_of(1));
        base[k] = pow_look_up(t->base, places);
        scale[k] = wide_look_up_16(t->high, moved >> 27) * wide_look_up_16(t->low, moved >> 23);
        __asm__("vpcmpltud %2, %1, %0" : "=Yk"(fits) : "v"(beyond), "v"((wide_i32){0} + t->span));
        __asm__("vfpclassps $0x9f, %1, %0" : "=Yk"(answered) : "v"(x.v[k])); /* 0, infinity, NaN */
        ordinary &= fits | answered;
        p[k] = u[k] * t->terms[n - 1] + t->terms[n - 2];
    }
    for (int i = n - 3; i >= 0; i--) {
        for (int k = 0; k < POW_PAIR; k++) {
            p[k] = p[k] * u[k] + t->terms[i];
        }
    }
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 value = (p[k] * (base[k] * u[k]) + base[k]) * scale[k];
        __asm__("vfixupimmps $0, %2, %1, %0" : "+v"(value) : "v"(x.v[k]), "v"((wide_i32){0} + (int32_t)responses));
        made->v[k] = (wide_f32)((wide_i32)value | ((wide_i32)x.v[k] & (int32_t)bits_of_float(sign)));
    }
    return ordinary == 0xffff;
}
#endif

/* The sign that powers to y take over, as pow_answers has it. */
VECTOR_INLINE float pow_sign(float y) {
    return y == __builtin_rintf(y) && y * 0.5f != __builtin_rintf(y * 0.5f) ? -0.0f : 0.0f;
}

/* Any x and y, as C says. Not inlined: it is the exception where there are tables. */
static void pow_any_f32(float *to, const float *x, const float *y, int n) __attribute__((noinline, unused));
static void pow_any_f32(float *to, const float *x, const float *y, int n) {
    for (int l = 0; l < n; l++) {
        to[l] = pow_signed(pow_magnitude(x[l], y[l]), x[l], y[l]);
    }
}

#if defined(__AVX512DQ__)
VECTOR_INLINE void pow_keep(float *to, pow_pair made, int n) {
    *(wide_f32_anywhere *)to = made.v[0];
    if (n > 16) {
        *(wide_f32_anywhere *)(to + 16) = made.v[1];
    }
}
#endif

/* x^y of n elements, a multiple of 16. */
VECTOR_INLINE void pow_block_f32(float *to, const float *x, const float *y, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 32) {
        pow_pair made;
        if (wide_pow(pow_elements(x + l, n - l), pow_elements(y + l, n - l), &made)) {
            pow_keep(to + l, made, n - l);
        } else {
            pow_any_f32(to + l, x + l, y + l, n - l < 32 ? n - l : 32);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = pow_signed(pow_magnitude(x[l], y[l]), x[l], y[l]);
    }
#endif
}

/* The same to one power. */
VECTOR_INLINE void pow_number_block_f32(float *to, const float *x, float y, int n) {
#if defined(__AVX512DQ__)
    const int plain = fabsf(y) < INFINITY && y != 0, by_tables = __builtin_constant_p(y) && pow_has_tables(y);
    const pow_tables tables = by_tables ? pow_tables_of(y) : (pow_tables){.span = 0};
    const uint32_t responses = pow_responses(y, y != __builtin_rintf(y));
    for (int l = 0; l < n; l += 32) {
        pow_pair made;
        const pow_pair some = pow_elements(x + l, n - l);
        if (plain && (by_tables ? pow_by_tables(&tables, 5, some, pow_sign(y), responses, &made)
                                : wide_pow_number(some, y, pow_sign(y), responses, &made))) {
            pow_keep(to + l, made, n - l);
        } else {
            const pow_pair powers = pow_alike(y);
            pow_any_f32(to + l, x + l, (const float *)&powers, n - l < 32 ? n - l : 32);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = pow_signed(pow_magnitude(x[l], y), x[l], y);
    }
#endif
}

/* The powers of one number. */
VECTOR_INLINE void number_pow_block_f32(float *to, float x, const float *y, int n) {
    int has_logarithm = 0;
#if defined(__AVX512DQ__)
    const double logarithm = log2_wide(x), high = (float)logarithm;
    const pow_logarithm both = {pow_alike((float)high), pow_alike((float)(logarithm - high))};
    has_logarithm = x > 0 && x < INFINITY;
    for (int l = 0; l < n && has_logarithm; l += 32) {
        pow_pair exponent, made = wide_exp2(pow_elements(y + l, n - l), both, &exponent);
        if ((pow_is_ordinary(exponent.v[0]) & pow_is_ordinary(exponent.v[1])) == 0xffff) {
            pow_keep(to + l, made, n - l);
        } else {
            const pow_pair bases = pow_alike(x);
            pow_any_f32(to + l, (const float *)&bases, y + l, n - l < 32 ? n - l : 32);
        }
    }
#endif
    for (int l = 0; l < n && !has_logarithm; l++) {
        to[l] = pow_signed(pow_magnitude(x, y[l]), x, y[l]);
    }
}

#endif
