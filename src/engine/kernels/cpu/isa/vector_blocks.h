/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in f32 of a block of elements, 16 at a time where AVX-512 looks 16 places up in a table of 16 or 32 numbers
   by one instruction: with tables polynomials are short, and there is no quotient, of which the processor starts one in 16
   cycles. Compilers find none of this for the plain functions of vector_math.h, which stand for it elsewhere. A template too,
   like compile/prelude.h: emitted C carries those paragraphs that it needs, so each stands for itself, and there are no
   intrinsics. Errors in units in the last place (ulp), over all numbers (tests/engine/test_vector_blocks.c). */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_BLOCKS_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_BLOCKS_H

#include "engine/kernels/cpu/isa/vector_math.h"

#if defined(__AVX512F__)
typedef float wide_f32 __attribute__((vector_size(64)));
typedef float wide_f32_anywhere __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t wide_i32 __attribute__((vector_size(64)));
typedef uint32_t wide_u32 __attribute__((vector_size(64)));
VECTOR_INLINE wide_f32 wide_of(float x) {
    return (wide_f32){0} + x;
}
#endif

#if defined(__AVX512F__)
typedef struct wide_four {
    wide_f32 v[4];
} wide_four;
#define IN_FOUR 4
#endif

/* Up to 64 numbers, in sixteens; what is beyond them is 0. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_four four_at(const float *from, int n) {
    wide_four x;
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_of(0);
        if (16 * k < n) {
            x.v[k] = *(const wide_f32_anywhere *)(from + 16 * k);
        }
    }
    return x;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE void four_to(float *to, wide_four x, int n) {
    for (int k = 0; k < IN_FOUR && 16 * k < n; k++) {
        *(wide_f32_anywhere *)(to + 16 * k) = x.v[k];
    }
}
#endif

/* b where either is NaN. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_smaller(float a, wide_f32 b) {
    wide_f32 c;
    __asm__("vminps %2, %1, %0" : "=v"(c) : "v"(wide_of(a)), "v"(b));
    return c;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_larger(float a, wide_f32 b) {
    wide_f32 c;
    __asm__("vmaxps %2, %1, %0" : "=v"(c) : "v"(wide_of(a)), "v"(b));
    return c;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_size(wide_f32 x) {
    return (wide_f32)((wide_i32)x & 0x7fffffff);
}
#endif

/* The numbers of a table of 32 that the low 5 bits of each place name. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_look_up(const float *table, wide_i32 places) {
    wide_f32 c = *(const wide_f32 *)table;
    __asm__("vpermt2ps %2, %1, %0" : "+v"(c) : "v"(places), "v"(*(const wide_f32 *)(table + 16)));
    return c;
}
#endif

/* The numbers of a table of 16 that the low 4 bits of each place name. Its target is its operand, as wide_exp says. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_look_up_16(const float *table, wide_i32 places) {
    wide_f32 c;
    __asm__("vpermps %2, %0, %0" : "=v"(c) : "0"((wide_f32)places), "v"(*(const wide_f32 *)table));
    return c;
}
#endif

/* Polynomials of each t, whose numbers, from the lowest on, the tables have; registers go through each step together. Tables of 16 cost
   Zen 4 less than those of 32: what looks up 32 numbers takes the pipes of what multiplies and adds (1.83 cycles for both, 1.33 with
   16). */
#if defined(__AVX512F__)
VECTOR_INLINE void polynomials_16(wide_f32 *values, const float (*terms)[16], int degree, const wide_f32 *places, const wide_f32 *t,
                                  int count) {
    for (int i = 0; i < count; i++) {
        values[i] = wide_look_up_16(terms[degree], (wide_i32)places[i]);
    }
    for (int k = degree - 1; k >= 0; k--) {
        for (int i = 0; i < count; i++) {
            values[i] = values[i] * t[i] + wide_look_up_16(terms[k], (wide_i32)places[i]);
        }
    }
}
#endif

/* exp(x) of x <= 200, or NaN. x = (n + k / 16) ln 2 + r, where the sum of both is what remains of x / ln 2 in 4 bits behind the
   point; 2^(k / 16) is looked up, and the instruction that multiplies by 2^n rounds once where results are denormal. ln 2 is
   taken off in two parts, the first of which multiplies exactly. The look-up's target is its operand: on Golden Cove it waits for
   what its target held before, which must not be of the step before. What rounds to 0 is 0 by a mask: scaling down to it would
   take thirty times as long, and masked scores are all such. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_exp(wide_f32 x) {
    static const float powers[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f,
        0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f,
        0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f
    };
    wide_f32 shifted = x * 0x1.715476p+0f + 0x1.8p19f, n = shifted - 0x1.8p19f;
    wide_f32 r = x - n * 0x1.62ep-1f, power, value;
    uint16_t some;
    r = r - n * 0x1.0bfbe8p-15f;
    __asm__("vpermps %2, %0, %0" : "=v"(power) : "0"(shifted), "v"(*(const wide_f32 *)powers));
    wide_f32 p = r * 0x1.555556p-3f + 0x1.00022p-1f;
    p = p * r + 1.0f;
    p = (power * r) * p + power;
    __asm__("vcmpnltps %2, %1, %0" : "=Yk"(some) : "v"(x), "v"(wide_of(-104.0f)));
    __asm__("vscalefps %2, %1, %0 %{%3%}%{z%}" : "=v"(value) : "v"(p), "v"(n), "Yk"(some));
    return value;
}
#endif

/* 1.5 ulp. */
VECTOR_INLINE void exp_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        wide_f32 x = wide_larger(-200.0f, wide_smaller(200.0f, *(const wide_f32_anywhere *)(from + l)));
        *(wide_f32_anywhere *)(to + l) = wide_exp(x);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = exp_f32(from[l]);
    }
#endif
}

/* The same where x is at most 0 or NaN, without bounds: what lies above 88 becomes something infinite or NaN. */
VECTOR_INLINE void exp_below_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_exp(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = exp_f32(from[l]);
    }
#endif
}

/* 1 + exp(-x), as wide_exp has it, of x in [-200, 30] or NaN; below that it is anything. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_one_and_exp(wide_f32 x) {
    static const float powers[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f,
        0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f,
        0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f
    };
    wide_f32 shifted = x * -0x1.715476p+0f + 0x1.8p19f, n = shifted - 0x1.8p19f, power, whole;
    wide_f32 r = n * -0x1.62ep-1f - x;
    r = r - n * 0x1.0bfbe8p-15f;
    __asm__("vpermps %2, %0, %0" : "=v"(power) : "0"(shifted), "v"(*(const wide_f32 *)powers));
    wide_f32 p = r * 0x1.555556p-3f + 0x1.00022p-1f;
    p = p * r + 1.0f;
    p = (power * r) * p + power;
    __asm__("vscalefps %2, %1, %0" : "=v"(whole) : "v"(p), "v"(n));
    return whole + 1.0f;
}
#endif

/* 1 / (1 + exp(-x)): above 30 it is 1 whatever exp(-x) is, and what is smaller than 2^-126 is 0, by a mask, which leaves nothing else to
   be looked after. The reciprocal has 14 bits, then all. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_sigmoid(wide_f32 x) {
    wide_f32 whole = wide_one_and_exp(wide_smaller(30.0f, x)), value;
    uint16_t some;
    __asm__("vrcp14ps %1, %0" : "=v"(value) : "v"(whole));
    wide_f32 rest = 1.0f - whole * value;
    __asm__("vcmpnltps %2, %1, %0" : "=Yk"(some) : "v"(x), "v"(wide_of(-87.3365f)));
    __asm__("vfmadd213ps %0, %2, %0 %{%1%}%{z%}" : "+v"(value) : "Yk"(some), "v"(rest));
    return value;
}
#endif

/* 3 ulp. */
VECTOR_INLINE void sigmoid_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_sigmoid(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = sigmoid_f32(from[l]);
    }
#endif
}

/* The same by a quotient, for processors that divide while they multiply: what is infinite below the line needs no mask. On Zen 4, whose
   divider takes 10 cycles for 16 numbers, beside 9 multiplications instead of 14, x times this takes 0.9 of the time. 3 ulp. */
VECTOR_INLINE void sigmoid_divided_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        wide_f32 x = wide_larger(-200.0f, wide_smaller(30.0f, *(const wide_f32_anywhere *)(from + l)));
        *(wide_f32_anywhere *)(to + l) = 1.0f / wide_one_and_exp(x);
    }
#else
    sigmoid_block_f32(to, from, n);
#endif
}

/* tanh |x| in 4 intervals of each octave from 2^-4 on, which the number's own bits tell; the first reaches down to 0, where its
   polynomial keeps all digits, and from 9.02 on it is 1. The others go by what x is beyond a centre, where tanh is nearly a
   float. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_tanh(wide_f32 x) {
    static const float centre[32] __attribute__((aligned(64))) = {
        0x1.1ffe24p+1f, 0x1.60023p+1f, 0x1.9ffd2cp+1f, 0x1.e002cep+1f, 0x1.1ffee2p+2f, 0x1.60032p+2f,
        0x1.9ffcep+2f, 0x1.e0032p+2f, 0x1.10550cp+3f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.5ffee6p-4f,
        0x1.9ffde6p-4f, 0x1.e0030ep-4f, 0x1.200278p-3f, 0x1.5ffecep-3f, 0x1.9fff9ap-3f, 0x1.dfff3p-3f,
        0x1.1ffe3ap-2f, 0x1.600068p-2f, 0x1.9ffd82p-2f, 0x1.e000eap-2f, 0x1.1ffcecp-1f, 0x1.5ffe5ap-1f,
        0x1.9ffd4p-1f, 0x1.e0029ap-1f, 0x1.1ffeb6p+0f, 0x1.6002bp+0f, 0x1.9fff1p+0f, 0x1.e00076p+0f
    };
    static const float terms[6][32] __attribute__((aligned(64))) = {
        {
            0x1.f4bf84p-1f, 0x1.fbd52ep-1f, 0x1.fe7668p-1f, 0x1.ff6f1ep-1f, 0x1.ffdfa6p-1f, 0x1.fffbap-1f,
            0x1.ffff68p-1f, 0x1.ffffecp-1f, 0x1.fffffep-1f, 0x1p+0f, 0x1p+0f, 0x1p+0f, 0x0p+0f, 0x1.5f21bap-4f,
            0x1.9e9142p-4f, 0x1.ddd396p-4f, 0x1.1e203cp-3f, 0x1.5c91dep-3f, 0x1.9a5ebap-3f, 0x1.d76598p-3f,
            0x1.18a1f6p-2f, 0x1.52c322p-2f, 0x1.8a85c2p-2f, 0x1.bfaf28p-2f, 0x1.050628p-1f, 0x1.3156dp-1f,
            0x1.57877cp-1f, 0x1.77d96cp-1f, 0x1.9e5bd2p-1f, 0x1.c279dcp-1f, 0x1.d9c6b6p-1f, 0x1.e878b4p-1f
        },
        {
            0x1.641aa6p-5f, 0x1.099eaap-6f, 0x1.8900c4p-8f, 0x1.219b0cp-9f, 0x1.02ca4ep-11f, 0x1.181a4cp-14f,
            0x1.2f808ap-17f, 0x1.4858f2p-20f, 0x1.5c5364p-23f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1p+0f, 0x1.fc3cc4p-1f,
            0x1.fac14cp-1f, 0x1.f90844p-1f, 0x1.f601ap-1f, 0x1.f12b18p-1f, 0x1.eb7164p-1f, 0x1.e4dfc8p-1f,
            0x1.d98baap-1f, 0x1.c7f704p-1f, 0x1.b4p-1f, 0x1.9e235cp-1f, 0x1.7aed3ap-1f, 0x1.49e804p-1f,
            0x1.1981d6p-1f, 0x1.d8314cp-2f, 0x1.6152e4p-2f, 0x1.ce9eb8p-3f, 0x1.266032p-3f, 0x1.6fce64p-4f
        },
        {
            -0x1.5c43eap-5f, -0x1.07702ap-6f, -0x1.87c9a2p-8f, -0x1.214204p-9f, -0x1.024df4p-11f, -0x1.17a214p-14f,
            -0x1.2f008p-17f, -0x1.47ceap-20f, -0x1.5bb438p-23f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.01bc56p-25f,
            -0x1.5c8d24p-4f, -0x1.9a5212p-4f, -0x1.d752e8p-4f, -0x1.188a82p-3f, -0x1.5278eep-3f, -0x1.89e4b8p-3f,
            -0x1.be6c12p-3f, -0x1.038e2ap-2f, -0x1.2dafd6p-2f, -0x1.4ff5e4p-2f, -0x1.6a1d8ap-2f, -0x1.825ce2p-2f,
            -0x1.897d46p-2f, -0x1.79c1f4p-2f, -0x1.5aa0aap-2f, -0x1.1df20ep-2f, -0x1.970866p-3f, -0x1.10666ap-3f,
            -0x1.5ee784p-4f
        },
        {
            0x1.bbda64p-6f, 0x1.5987a6p-7f, 0x1.03a062p-8f, 0x1.80d3f6p-10f, 0x1.584b74p-12f, 0x1.74deb4p-15f,
            0x1.9411d2p-18f, 0x1.b5226ep-21f, 0x1.cfa9e4p-24f, 0x0p+0f, 0x0p+0f, 0x0p+0f, -0x1.55563cp-2f,
            -0x1.4b5aep-2f, -0x1.47744cp-2f, -0x1.42f142p-2f, -0x1.3b12ep-2f, -0x1.2ea43ep-2f, -0x1.202a4cp-2f,
            -0x1.0fdf3cp-2f, -0x1.e9211ap-3f, -0x1.985806p-3f, -0x1.427564p-3f, -0x1.d71d08p-4f, -0x1.bd2b1ap-5f,
            0x1.d7363p-7f, 0x1.0725bcp-4f, 0x1.84384cp-4f, 0x1.c68ebp-4f, 0x1.97d542p-4f, 0x1.33e0f8p-4f,
            0x1.a85b16p-5f
        },
        {
            -0x1.960aeep-7f, -0x1.518adep-8f, -0x1.038026p-9f, -0x1.83d74p-11f, -0x1.69ea3cp-13f, -0x1.886986p-16f,
            -0x1.a94b84p-19f, -0x1.cc202cp-22f, -0x1.e919a6p-25f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.e77fa2p-14f,
            0x1.cb96b6p-5f, 0x1.0d547ep-4f, 0x1.33c946p-4f, 0x1.6b07ep-4f, 0x1.af9a3cp-4f, 0x1.ed779cp-4f,
            0x1.11e9ap-3f, 0x1.32debep-3f, 0x1.4fff9cp-3f, 0x1.5c02bp-3f, 0x1.58397ap-3f, 0x1.39dd9p-3f,
            0x1.e93f2p-4f, 0x1.474a3ap-4f, 0x1.632fb6p-5f, 0x1.e57606p-9f, -0x1.59a7b8p-6f, -0x1.9b9684p-6f,
            -0x1.559612p-6f
        },
        {
            0x1.0494ccp-8f, 0x1.f67666p-10f, 0x1.947e9ap-11f, 0x1.334d06p-12f, 0x1.202a86p-14f, 0x1.39372ap-17f,
            0x1.534ad2p-20f, 0x1.6f5f3ep-23f, 0x1.869e9cp-26f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.0e5f7cp-3f,
            0x1.003d76p-3f, 0x1.f3744cp-4f, 0x1.e47db8p-4f, 0x1.cab60cp-4f, 0x1.a28698p-4f, 0x1.74c986p-4f,
            0x1.42ad34p-4f, 0x1.e4bdf4p-5f, 0x1.068f7ap-5f, 0x1.898192p-8f, -0x1.18301ep-6f, -0x1.630d74p-5f,
            -0x1.f7f4a4p-5f, -0x1.00ac5ap-4f, -0x1.b2c92ap-5f, -0x1.070ca4p-5f, -0x1.3917ccp-7f, 0x1.69612ep-10f,
            0x1.2d31f4p-8f
        },
    };
    wide_f32 size = wide_smaller(0x1.20ap+3f, wide_size(x));
    wide_i32 places = (wide_i32)wide_larger(0x1p-4f, size) >> 21;
    wide_f32 t = size - wide_look_up(centre, places), value = wide_look_up(terms[5], places);
    for (int k = 4; k >= 0; k--) {
        value = value * t + wide_look_up(terms[k], places);
    }
    return (wide_f32)((wide_i32)value | ((wide_i32)x & (int32_t)0x80000000));
}
#endif

/* 1 ulp; 3 where there are no tables. */
VECTOR_INLINE void tanh_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_tanh(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = tanh_f32(from[l]);
    }
#endif
}

/* The logarithm to base 2. x = 2^e m with m in [3/4, 3/2), which an instruction each takes apart, denormal numbers as well; the four bits
   behind m's first choose a number close to 1 / m, whose logarithm is close to a float, and what their product leaves of 1, from -1/32 to
   1/16, has a short polynomial (1.4e-8). Near 1 that number is 1. What has no logarithm has a mantissa that is NaN, 0 and infinity have
   an exponent that is infinite. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_logarithm(wide_f32 x) {
    static const float inverse[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.d488b2p-1f, 0x1.bb54b2p-1f, 0x1.a4b2b2p-1f, 0x1.901e88p-1f, 0x1.7c8994p-1f, 0x1.6b8552p-1f,
        0x1.5ca6b2p-1f, 0x1.4de55ap+0f, 0x1.40f572p+0f, 0x1.35a17p+0f, 0x1.2a8062p+0f, 0x1.1f1b58p+0f,
        0x1.1505b6p+0f, 0x1.0c5e94p+0f, 0x1p+0f
    };
    static const float logarithm[16] __attribute__((aligned(64))) = {
        0x0p+0f, 0x1.061fb6p-3f, 0x1.a97e1ep-3f, 0x1.2228ccp-2f, 0x1.6c4038p-2f, 0x1.b6614ap-2f, 0x1.f9f6eap-2f,
        0x1.1bd504p-1f, -0x1.8873e4p-2f, -0x1.4e12f4p-2f, -0x1.18fd72p-2f, -0x1.c5d342p-3f, -0x1.52d42cp-3f,
        -0x1.d25d22p-4f, -0x1.16d782p-4f, 0x0p+0f
    };
    wide_f32 mantissa, exponent;
    uint16_t below;
    __asm__("vgetmantps $11, %1, %0" : "=v"(mantissa) : "v"(x));
    __asm__("vgetexpps %1, %0" : "=v"(exponent) : "v"(x));
    __asm__("vcmpltps %2, %1, %0" : "=Yk"(below) : "v"(mantissa), "v"(wide_of(1)));
    __asm__("vaddps %1, %0, %0 %{%2%}" : "+v"(exponent) : "v"(wide_of(1)), "Yk"(below));
    wide_i32 places = (wide_i32)mantissa >> 19;
    wide_f32 rest = mantissa * wide_look_up_16(inverse, places) - 1.0f, value = rest * 0x1.0e4de8p-2f + -0x1.71aa46p-2f;
    value = value * rest + 0x1.ec809p-2f;
    value = value * rest + -0x1.715476p-1f;
    value = value * rest + 0x1.715476p+0f;
    return value * rest + (exponent + wide_look_up_16(logarithm, places));
}
#endif

/* 1.6 ulp; 2 where there are no tables. */
VECTOR_INLINE void log2_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_logarithm(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = log2_f32(from[l]);
    }
#endif
}

#endif
