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

/* a b + c, rounded once, whatever the compiler is told. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_fused(wide_f32 a, wide_f32 b, wide_f32 c) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
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

/* tanh |x| in 4 intervals of each octave of |x| + 0.66, which that sum's own bits tell: 16 from 0 to 8.9, from where on it answers 1. In the
   first, around 0, the polynomial has no constant, so that all digits are kept; the others go by what |x| is beyond a centre, where tanh
   is nearly a float. */
#if defined(__AVX512F__)
VECTOR_INLINE void tanh_of(wide_f32 *x, int count) {
    static const float centre[16] __attribute__((aligned(64))) = {
        0x1.96742ap+0f, 0x1.0bf584p+1f, 0x1.4b9582p+1f, 0x1.8b500ap+1f, 0x1.ea9d2p+1f, 0x1.35bda6p+2f, 0x1.758698p+2f,
        0x1.b548aap+2f, 0x1.057cc4p+3f, 0x0p+0f, 0x1.37f4dcp-3f, 0x1.1b6e2ep-2f, 0x1.ddd83p-2f, 0x1.6d27e6p-1f,
        0x1.eede54p-1f, 0x1.37251cp+0f
    };
    static const float terms[6][16] __attribute__((aligned(64))) = {
        {
            0x1.d6efb2p-1f, 0x1.f0ac9ep-1f, 0x1.fa465ep-1f, 0x1.fde09ep-1f, 0x1.ff853ap-1f, 0x1.ffef9ap-1f, 0x1.fffdc4p-1f,
            0x1.ffffb2p-1f, 0x1.fffffap-1f, 0x0p+0f, 0x1.3590e4p-3f, 0x1.146854p-2f, 0x1.bdefaap-2f, 0x1.39b0bap-1f,
            0x1.7e8e5cp-1f, 0x1.ad35p-1f
        },
        {
            0x1.3b55eep-3f, 0x1.e31536p-5f, 0x1.6c5c16p-6f, 0x1.0f20d6p-7f, 0x1.eade72p-10f, 0x1.065db8p-12f, 0x1.1e00cep-15f,
            0x1.380084p-18f, 0x1.5701a4p-22f, 0x1p+0f, 0x1.f44d48p-1f, 0x1.dab1dcp-1f, 0x1.9ee6ap-1f, 0x1.3fcf3p-1f,
            0x1.c452d6p-2f, 0x1.306552p-2f
        },
        {
            -0x1.220ff2p-3f, -0x1.d49dcep-5f, -0x1.684468p-6f, -0x1.0dfc84p-7f, -0x1.e9d278p-10f, -0x1.06014ep-12f,
            -0x1.1da3dp-15f, -0x1.379b5ep-18f, -0x1.bd4d52p-24f, 0x1.051d7p-24f, -0x1.2e7e26p-3f, -0x1.00447ep-2f,
            -0x1.695c24p-2f, -0x1.87e0e8p-2f, -0x1.51f80ep-2f, -0x1.fe59acp-3f
        },
        {
            0x1.4363aap-4f, 0x1.2593bp-5f, 0x1.d596ecp-7f, 0x1.6501fap-8f, 0x1.4622fp-10f, 0x1.5d3c56p-13f, 0x1.7cf23p-16f,
            0x1.9fbf12p-19f, 0x1.b6747ap-23f, -0x1.5556eap-2f, -0x1.36b182p-2f, -0x1.ee93cp-3f, -0x1.dd0c28p-4f,
            0x1.ae20a8p-6f, 0x1.96ffdap-4f, 0x1.c1cc24p-4f
        },
        {
            -0x1.991e36p-6f, -0x1.01d08ap-6f, -0x1.c4198ep-8f, -0x1.62bf0ap-9f, -0x1.5413fep-11f, -0x1.6dfef8p-14f,
            -0x1.8f56bcp-17f, -0x1.b3c15p-20f, -0x1.c23bfp-22f, 0x1.74190ap-13f, 0x1.849d7cp-4f, 0x1.2f9374p-3f,
            0x1.56456cp-3f, 0x1.c7fc3ap-4f, 0x1.283b52p-5f, -0x1.1b227ep-7f
        },
        {
            0x1.0477bep-13f, 0x1.2a5b22p-8f, 0x1.471838p-9f, 0x1.1113ap-10f, 0x1.09ea42p-12f, 0x1.242596p-15f, 0x1.3cee6p-18f,
            0x1.5743c4p-21f, 0x1.27f252p-24f, 0x1.0d7f18p-3f, 0x1.cb1412p-4f, 0x1.f30af4p-5f, -0x1.d510e8p-7f,
            -0x1.ffccbap-5f, -0x1.9aa48p-5f, -0x1.746362p-6f
        },
    };
    wide_f32 places[IN_FOUR], t[IN_FOUR], values[IN_FOUR];
    for (int i = 0; i < count; i++) {
        wide_f32 size = wide_smaller(8.9f, wide_size(x[i]));
        places[i] = (wide_f32)((wide_i32)(size + 0.66f) >> 21);
        t[i] = size - wide_look_up_16(centre, (wide_i32)places[i]);
    }
    polynomials_16(values, terms, 5, places, t, count);
    for (int i = 0; i < count; i++) {
        x[i] = (wide_f32)((wide_i32)values[i] | ((wide_i32)x[i] & (int32_t)0x80000000));
    }
}
#endif

/* What a function makes of 64 numbers at a time in registers, then of 16. */
#if defined(__AVX512F__)
VECTOR_INLINE void block_in_fours(float *to, const float *from, int n, void (*function)(wide_f32 *x, int count)) {
    int l = 0;
    for (; l + 64 <= n; l += 64) {
        wide_four x = four_at(from + l, 64);
        function(x.v, IN_FOUR);
        four_to(to + l, x, 64);
    }
    for (; l < n; l += 16) {
        wide_four x = four_at(from + l, 16);
        function(x.v, 1);
        four_to(to + l, x, 16);
    }
}
#endif

/* 1.4 ulp; 3 where there are no tables. */
VECTOR_INLINE void tanh_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    block_in_fours(to, from, n, tanh_of);
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
