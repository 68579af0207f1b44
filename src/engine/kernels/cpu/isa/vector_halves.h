/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions for results that are f16 or bf16, in f32 as in vector_blocks.h and a template like that: with 8 or 11 digits
   to keep, 7 to 14 instructions make 16 of them where f32 takes 20 to 30. Each is as near as its comment says, relative to what it
   makes, before that is rounded; what would be below f32's normal numbers may be 0. NaN stays NaN. Four registers go through each
   step together: their chains of instructions are long, and the processor does not look far enough ahead for the next ones. A
   table's 32 places are intervals of one width, named by the low bits of the nearest whole number of widths; in each a polynomial in
   x, of degree 2 or so, is fitted for the least relative error. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_HALVES_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_HALVES_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

/* Whether any is below a negative number: such have the largest bits. A NaN may count among them. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int four_any_below(wide_four x, float bound) {
    wide_i32 most = (wide_i32)x.v[0];
    uint16_t some;
    for (int k = 1; k < IN_FOUR; k++) {
        __asm__("vpmaxud %1, %0, %0" : "+v"(most) : "v"(x.v[k]));
    }
    __asm__("vpcmpnleud %2, %1, %0" : "=Yk"(some) : "v"(most), "v"(wide_of(bound)));
    return some != 0;
}
#endif

/* Whether the size of any is above a positive number. NaN may count among them. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int four_any_beyond(wide_four x, float bound) {
    wide_f32 most = wide_size(x.v[0]);
    uint16_t some;
    for (int k = 1; k < IN_FOUR; k++) {
        __asm__("vpmaxud %1, %0, %0" : "+v"(most) : "v"(wide_size(x.v[k])));
    }
    __asm__("vpcmpnleud %2, %1, %0" : "=Yk"(some) : "v"(most), "v"(wide_of(bound)));
    return some != 0;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_times(wide_four x, float factor) {
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = x.v[k] * factor;
    }
    return x;
}
#endif

/* 2^y, and 0 where x is below the lowest: the instruction that scales would take thirty times as long for it. A polynomial in what
   y has behind its whole part, 1 at 0. 8.6e-5, and 6e-8 of |y|. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_powers(wide_four y, wide_four x, float lowest) {
    wide_four f, p;
    uint16_t some[4];
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vreduceps $9, %1, %0" : "=v"(f.v[k]) : "v"(y.v[k]));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = f.v[k] * 0x1.3baab2p-4f + 0x1.d2378p-3f;
        __asm__("vcmpnltps %2, %1, %0" : "=Yk"(some[k]) : "v"(x.v[k]), "v"(wide_of(lowest)));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 0x1.63e65ap-1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 1.0f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vscalefps %2, %1, %0 %{%3%}%{z%}" : "=v"(p.v[k]) : "v"(p.v[k]), "v"(y.v[k]), "Yk"(some[k]));
    }
    return p;
}
#endif

/* One term more: 2.9e-6, and as much of |y|. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_near_powers(wide_four y, wide_four x, float lowest) {
    wide_four f, p;
    uint16_t some[4];
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vreduceps $9, %1, %0" : "=v"(f.v[k]) : "v"(y.v[k]));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = f.v[k] * 0x1.b7f754p-7f + 0x1.abf854p-5f;
        __asm__("vcmpnltps %2, %1, %0" : "=Yk"(some[k]) : "v"(x.v[k]), "v"(wide_of(lowest)));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 0x1.ee2454p-3f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 0x1.62d6c6p-1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 1.0f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vscalefps %2, %1, %0 %{%3%}%{z%}" : "=v"(p.v[k]) : "v"(p.v[k]), "v"(y.v[k]), "Yk"(some[k]));
    }
    return p;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_exp_for_bf16(wide_four x) {
    return four_powers(four_times(x, 0x1.715476p+0f), x, -104.0f);
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_exp_for_f16(wide_four x) {
    return four_near_powers(four_times(x, 0x1.715476p+0f), x, -104.0f);
}
#endif

/* 1 / (1 + 2^y), the quotient by a reciprocal of 14 bits; below -60 the sum is 1. 1.5e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_logistic(wide_four y) {
    wide_four power = four_powers(y, y, -60.0f), value;
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vrcp14ps %1, %0" : "=v"(value.v[k]) : "v"(1.0f + power.v[k]));
    }
    return value;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sigmoid_for_bf16(wide_four x) {
    return four_logistic(four_times(x, -0x1.715476p+0f));
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sigmoid_for_f16(wide_four x) {
    return four_logistic(four_times(x, -0x1.715476p+0f));
}
#endif

/* A table's polynomial at x, whose interval is that of `at`, with so many intervals to 1. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_from_table(const float (*terms)[32], wide_four at, int degree, float intervals) {
    wide_four p, places;
    for (int k = 0; k < IN_FOUR; k++) {
        places.v[k] = at.v[k] * intervals + ROUND_MAGIC_F32;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = wide_look_up(terms[degree], (wide_i32)places.v[k]);
    }
    for (int t = degree - 1; t >= 0; t--) {
        for (int k = 0; k < IN_FOUR; k++) {
            p.v[k] = p.v[k] * at.v[k] + wide_look_up(terms[t], (wide_i32)places.v[k]);
        }
    }
    return p;
}
#endif

/* x times the table of tanh(x) / x, for x in [-3.99, 3.99]. 9.5e-5; beyond, tanh is taken for that of 3.99, which is 1
   in bf16: 7e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_tanh_for_bf16(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.ffff66p-1f, 0x1.0058ccp+0f, 0x1.04e514p+0f, 0x1.112b0ap+0f, 0x1.21786p+0f, 0x1.2ea9f8p+0f, 0x1.34384p+0f,
            0x1.318ed4p+0f, 0x1.2875dp+0f, 0x1.1b46cap+0f, 0x1.0c0b08p+0f, 0x1.f86beap-1f, 0x1.d961dap-1f, 0x1.bbfdccp-1f,
            0x1.a0bcp-1f, 0x1.87c3fap-1f, 0x1.710c68p-1f, 0x1.87c3fap-1f, 0x1.a0bcp-1f, 0x1.bbfdccp-1f, 0x1.d961dap-1f,
            0x1.f86beap-1f, 0x1.0c0b08p+0f, 0x1.1b46cap+0f, 0x1.2875dp+0f, 0x1.318ed4p+0f, 0x1.34384p+0f, 0x1.2ea9f8p+0f,
            0x1.21786p+0f, 0x1.112b0ap+0f, 0x1.04e514p+0f, 0x1.0058ccp+0f
        },
        {
            -0x1.8f83ep-52f, -0x1.0c7b18p-6f, -0x1.b22beep-4f, -0x1.0527p-2f, -0x1.970868p-2f, -0x1.f3454p-2f,
            -0x1.09b4fep-1f, -0x1.038e54p-1f, -0x1.e1a1a8p-2f, -0x1.b18992p-2f, -0x1.7fc26ep-2f, -0x1.50ee7ep-2f,
            -0x1.27037ep-2f, -0x1.027fp-2f, -0x1.c64748p-3f, -0x1.90cb52p-3f, -0x1.634698p-3f, 0x1.90cb52p-3f,
            0x1.c64748p-3f, 0x1.027fp-2f, 0x1.27037ep-2f, 0x1.50ee7ep-2f, 0x1.7fc26ep-2f, 0x1.b18992p-2f, 0x1.e1a1a8p-2f,
            0x1.038e54p-1f, 0x1.09b4fep-1f, 0x1.f3454p-2f, 0x1.970868p-2f, 0x1.0527p-2f, 0x1.b22beep-4f, 0x1.0c7b18p-6f
        },
        {
            -0x1.531402p-2f, -0x1.2064e6p-2f, -0x1.576a8cp-3f, -0x1.a5c6bcp-5f, 0x1.cff4f4p-6f, 0x1.1555c4p-4f,
            0x1.43d522p-4f, 0x1.35a0bep-4f, 0x1.0f030cp-4f, 0x1.c64678p-5f, 0x1.74ed7cp-5f, 0x1.2fa994p-5f,
            0x1.ee169ep-6f, 0x1.9354e8p-6f, 0x1.4b2d3cp-6f, 0x1.11e37p-6f, 0x1.c89026p-7f, 0x1.11e37p-6f, 0x1.4b2d3cp-6f,
            0x1.9354e8p-6f, 0x1.ee169ep-6f, 0x1.2fa994p-5f, 0x1.74ed7cp-5f, 0x1.c64678p-5f, 0x1.0f030cp-4f,
            0x1.35a0bep-4f, 0x1.43d522p-4f, 0x1.1555c4p-4f, 0x1.cff4f4p-6f, -0x1.a5c6bcp-5f, -0x1.576a8cp-3f,
            -0x1.2064e6p-2f
        },
    };
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_larger(-3.99f, wide_smaller(3.99f, x.v[k]));
    }
    wide_four value = four_from_table(terms, x, 2, 1 / 0.2578125f);
    for (int k = 0; k < IN_FOUR; k++) {
        value.v[k] = value.v[k] * x.v[k];
    }
    return value;
}
#endif

/* The same up to 4.59, by the size of x. 1.8e-5; beyond 2.1e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_tanh_for_f16(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.fffffp-1f, 0x1.0009c8p+0f, 0x1.00a338p+0f, 0x1.02e00cp+0f, 0x1.079db4p+0f, 0x1.0ee676p+0f, 0x1.17e238p+0f,
            0x1.2137aep+0f, 0x1.298a18p+0f, 0x1.2fd218p+0f, 0x1.337eep+0f, 0x1.346d2ep+0f, 0x1.32c82ep+0f, 0x1.2eebacp+0f,
            0x1.294654p+0f, 0x1.2248p+0f, 0x1.1a5726p+0f, 0x1.11cb34p+0f, 0x1.08eb6p+0f, 0x1.ffdecep-1f, 0x1.ee02cp-1f,
            0x1.dc7ffep-1f, 0x1.cb8156p-1f, 0x1.bb2318p-1f, 0x1.ab766ep-1f, 0x1.9c8424p-1f, 0x1.8e4ee4p-1f,
            0x1.80d4f2p-1f, 0x1.741184p-1f, 0x1.67fdccp-1f, 0x1.5c91bap-1f, 0x1.51c48ap-1f
        },
        {
            -0x1.6bdebp-50f, -0x1.9f72cp-9f, -0x1.85c8d4p-6f, -0x1.23b5fp-4f, -0x1.25f63cp-3f, -0x1.d77f68p-3f,
            -0x1.457512p-2f, -0x1.946636p-2f, -0x1.d17216p-2f, -0x1.fa249cp-2f, -0x1.07bf68p-1f, -0x1.0a3b42p-1f,
            -0x1.065978p-1f, -0x1.fbd0fep-2f, -0x1.e4ecbep-2f, -0x1.ca81fap-2f, -0x1.ae703p-2f, -0x1.920d8ap-2f,
            -0x1.7642b6p-2f, -0x1.5ba4aap-2f, -0x1.428b08p-2f, -0x1.2b221ep-2f, -0x1.15784ap-2f, -0x1.018858p-2f,
            -0x1.de816ap-3f, -0x1.bd1132p-3f, -0x1.9e8716p-3f, -0x1.82a77cp-3f, -0x1.693736p-3f, -0x1.51fd72p-3f,
            -0x1.3cc4c6p-3f, -0x1.295bc8p-3f
        },
        {
            -0x1.549b6ep-2f, -0x1.436e24p-2f, -0x1.1491eep-2f, -0x1.a4f428p-3f, -0x1.141e7ap-3f, -0x1.1985bap-4f,
            -0x1.cb4dccp-7f, 0x1.b6542ep-6f, 0x1.bb266ap-5f, 0x1.1f8382p-4f, 0x1.3e88fep-4f, 0x1.452924p-4f,
            0x1.3bff12p-4f, 0x1.298a68p-4f, 0x1.125588p-4f, 0x1.f2c5p-5f, 0x1.c12798p-5f, 0x1.9203ap-5f, 0x1.667dep-5f,
            0x1.3f0f68p-5f, 0x1.1bc83ap-5f, 0x1.f8f808p-6f, 0x1.c1bcc4p-6f, 0x1.912a7cp-6f, 0x1.668722p-6f,
            0x1.411f4ap-6f, 0x1.204caap-6f, 0x1.037918p-6f, 0x1.d43e5p-7f, 0x1.a7938ap-7f, 0x1.8025d8p-7f, 0x1.5d4478p-7f
        },
    };
    wide_four size;
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_larger(-4.59f, wide_smaller(4.59f, x.v[k]));
        size.v[k] = wide_size(x.v[k]);
    }
    wide_four value = four_from_table(terms, size, 2, 1 / 0.146f);
    for (int k = 0; k < IN_FOUR; k++) {
        value.v[k] = value.v[k] * x.v[k];
    }
    return value;
}
#endif

#endif
