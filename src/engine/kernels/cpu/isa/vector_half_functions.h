/* SPDX-License-Identifier: Apache-2.0 */
/* More functions like those of vector_halves.h, and a template like that: roots, logarithms, powers, angles, exponentials less 1. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_HALF_FUNCTIONS_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_HALF_FUNCTIONS_H

#include "engine/kernels/cpu/isa/vector_halves.h"

/* 1 / sqrt(x): 6.1e-5. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_rsqrt(wide_four x) {
    wide_four value;
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vrsqrt14ps %1, %0" : "=v"(value.v[k]) : "v"(x.v[k]));
    }
    return value;
}
#endif

/* sqrt(x), 1e-7, without the divider: the product of x and the above, and what that leaves. Where it leaves NaN, of infinity, the product is
   the answer; of 0 it is 0 with its sign, as 1 over the root is held to be a number. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sqrt(wide_four x) {
    wide_four root = four_rsqrt(x);
    for (int k = 0; k < IN_FOUR; k++) {
        wide_f32 value = wide_larger(0x1p-126f, wide_smaller(0x1.fffffep+127f, root.v[k])), rest;
        uint16_t some;
        root.v[k] = x.v[k] * value;
        rest = x.v[k] - root.v[k] * root.v[k];
        __asm__("vcmpordps %1, %1, %0" : "=Yk"(some) : "v"(rest));
        __asm__("vfmadd231ps %2, %3, %0 %{%1%}" : "+v"(root.v[k]) : "Yk"(some), "v"(rest), "v"(value * 0.5f));
    }
    return root;
}
#endif

/* x times the table of erf(x) / x, for x in [-2.3, 2.3]. 1.9e-5; beyond, erf is taken for that of 2.3, which is 1 in bf16: 1.2e-3. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_erf_for_bf16(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.20dd6ep+0f, 0x1.20e672p+0f, 0x1.21783ap+0f, 0x1.23badp+0f, 0x1.28f072p+0f, 0x1.31c9bcp+0f,
            0x1.3df276p+0f, 0x1.4c0618p+0f, 0x1.59e9fcp+0f, 0x1.65619ap+0f, 0x1.6ca07ap+0f, 0x1.6ea9a6p+0f,
            0x1.6b627ap+0f, 0x1.637428p+0f, 0x1.57f866p+0f, 0x1.4a445ep+0f, 0x1.3b3d88p+0f, 0x1.4a445ep+0f,
            0x1.57f866p+0f, 0x1.637428p+0f, 0x1.6b627ap+0f, 0x1.6ea9a6p+0f, 0x1.6ca07ap+0f, 0x1.65619ap+0f,
            0x1.59e9fcp+0f, 0x1.4c0618p+0f, 0x1.3df276p+0f, 0x1.31c9bcp+0f, 0x1.28f072p+0f, 0x1.23badp+0f,
            0x1.21783ap+0f, 0x1.20e672p+0f
        },
        {
            -0x1.2a7a98p-50f, -0x1.76b176p-9f, -0x1.69b256p-6f, -0x1.1ae4d2p-4f, -0x1.2d1cccp-3f, -0x1.005f96p-2f,
            -0x1.778e0cp-2f, -0x1.ec7296p-2f, -0x1.284242p-1f, -0x1.4cc09ap-1f, -0x1.616f1ap-1f, -0x1.66c3dp-1f,
            -0x1.5f2968p-1f, -0x1.4e1df8p-1f, -0x1.3739f8p-1f, -0x1.1dc5a6p-1f, 0x1.03a5d6p-1f, 0x1.1dc5a6p-1f,
            0x1.3739f8p-1f, 0x1.4e1df8p-1f, 0x1.5f2968p-1f, 0x1.66c3dp-1f, 0x1.616f1ap-1f, 0x1.4cc09ap-1f,
            0x1.284242p-1f, 0x1.ec7296p-2f, 0x1.778e0cp-2f, 0x1.005f96p-2f, 0x1.2d1cccp-3f, 0x1.1ae4d2p-4f,
            0x1.69b256p-6f, 0x1.76b176p-9f
        },
        {
            -0x1.80846p-2f, -0x1.71501ap-2f, -0x1.467b2cp-2f, -0x1.064086p-2f, -0x1.735302p-3f, -0x1.a9f95p-4f,
            -0x1.0b72f2p-5f, 0x1.b43fdep-6f, 0x1.215cc6p-4f, 0x1.958802p-4f, 0x1.d0934ap-4f, 0x1.de880ep-4f,
            0x1.cce538p-4f, 0x1.a84264p-4f, 0x1.7aap-4f, 0x1.4b5676p-4f, 0x1.1dea76p-4f, 0x1.4b5676p-4f,
            0x1.7aap-4f, 0x1.a84264p-4f, 0x1.cce538p-4f, 0x1.de880ep-4f, 0x1.d0934ap-4f, 0x1.958802p-4f,
            0x1.215cc6p-4f, 0x1.b43fdep-6f, -0x1.0b72f2p-5f, -0x1.a9f95p-4f, -0x1.735302p-3f, -0x1.064086p-2f,
            -0x1.467b2cp-2f, -0x1.71501ap-2f
        },
    };
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_larger(-2.3f, wide_smaller(2.3f, x.v[k]));
    }
    wide_four value = four_from_table(terms, x, 2, 1 / 0.1485f);
    for (int k = 0; k < IN_FOUR; k++) {
        value.v[k] = value.v[k] * x.v[k];
    }
    return value;
}
#endif

/* The same up to 2.72, by the size of x. 3.8e-6; beyond 1.2e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_erf_for_f16(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.20dd76p+0f, 0x1.20de8p+0f, 0x1.20f00ep+0f, 0x1.213accp+0f, 0x1.21fa8ep+0f, 0x1.2373aep+0f,
            0x1.25e6cp+0f, 0x1.298496p+0f, 0x1.2e6462p+0f, 0x1.347d6ep+0f, 0x1.3ba55ap+0f, 0x1.4392ccp+0f,
            0x1.4be41p+0f, 0x1.54288cp+0f, 0x1.5beb84p+0f, 0x1.62bec8p+0f, 0x1.6843dap+0f, 0x1.6c32cep+0f,
            0x1.6e5e24p+0f, 0x1.6eb3bcp+0f, 0x1.6d3ae4p+0f, 0x1.6a1128p+0f, 0x1.6564a4p+0f, 0x1.5f6eaep+0f,
            0x1.586e56p+0f, 0x1.50a38p+0f, 0x1.484afcp+0f, 0x1.3f9bb8p+0f, 0x1.36c508p+0f, 0x1.2deddcp+0f,
            0x1.2534d6p+0f, 0x1.1cc474p+0f
        },
        {
            -0x1.1e4fbep-17f, -0x1.2aafdp-11f, -0x1.296ff6p-8f, -0x1.e9d362p-7f, -0x1.17e89cp-5f, -0x1.04c1aap-4f,
            -0x1.a95eb8p-4f, -0x1.3b9bc4p-3f, -0x1.b3e684p-3f, -0x1.1c5f1cp-2f, -0x1.6222a8p-2f, -0x1.a81406p-2f,
            -0x1.eb184p-2f, -0x1.143238p-1f, -0x1.2ed80ep-1f, -0x1.44aaa2p-1f, -0x1.552ec6p-1f, -0x1.603ef6p-1f,
            -0x1.660218p-1f, -0x1.66dd52p-1f, -0x1.6362aep-1f, -0x1.5c4126p-1f, -0x1.5232fp-1f, -0x1.45f0a6p-1f,
            -0x1.38268ep-1f, -0x1.296d76p-1f, -0x1.1a4698p-1f, -0x1.0b1a46p-1f, -0x1.f8714ap-2f, -0x1.dbb792p-2f,
            -0x1.c05598p-2f, -0x1.a6b532p-2f
        },
        {
            -0x1.80c352p-2f, -0x1.7bbca6p-2f, -0x1.6c9112p-2f, -0x1.542afcp-2f, -0x1.33cb24p-2f, -0x1.0d0ed8p-2f,
            -0x1.c3a18ap-3f, -0x1.680d4ap-3f, -0x1.0b3e9ep-3f, -0x1.618ff6p-4f, -0x1.6efafep-5f, -0x1.d303a2p-8f,
            0x1.a74e52p-6f, 0x1.b6ecp-5f, 0x1.36f5ecp-4f, 0x1.7cbdd4p-4f, 0x1.ae2a28p-4f, 0x1.cd4898p-4f,
            0x1.dc972cp-4f, 0x1.dec87p-4f, 0x1.d68f68p-4f, 0x1.c67b9p-4f, 0x1.b0d922p-4f, 0x1.97a2a4p-4f,
            0x1.7c79bcp-4f, 0x1.60a81p-4f, 0x1.4525b6p-4f, 0x1.2aa322p-4f, 0x1.1194c8p-4f, 0x1.f47e06p-5f,
            0x1.c982cep-5f, 0x1.a299a6p-5f
        },
    };
    wide_four size;
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_larger(-2.72f, wide_smaller(2.72f, x.v[k]));
        size.v[k] = wide_size(x.v[k]);
    }
    wide_four value = four_from_table(terms, size, 2, 1 / 0.0864f);
    for (int k = 0; k < IN_FOUR; k++) {
        value.v[k] = value.v[k] * x.v[k];
    }
    return value;
}
#endif

/* e^y - 1, at z = y / ln 2 up to 127: 2^n (2^f - 1) + (2^n - 1) of z = n + f, n a multiple of 1/16, where nothing cancels. From -30 down
   it is -1. 1.1e-7. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_expm1(wide_four z) {
    static const float roots[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
        0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f
    };
    wide_four shifted, f, power;
    for (int k = 0; k < IN_FOUR; k++) {
        z.v[k] = wide_larger(-30.0f, z.v[k]);
        shifted.v[k] = z.v[k] + 0x1.8p19f;
        f.v[k] = z.v[k] - (shifted.v[k] - 0x1.8p19f);
    }
    for (int k = 0; k < IN_FOUR; k++) {
        wide_u32 places = (wide_u32)shifted.v[k], exponents = places << 19 & 0xff800000;
        power.v[k] = (wide_f32)((wide_u32)wide_look_up_16(roots, (wide_i32)places) + exponents);
        z.v[k] = f.v[k] * 0x1.c6b08ep-5f + 0x1.ebff92p-3f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        z.v[k] = z.v[k] * f.v[k] + 0x1.62e43p-1f;
        f.v[k] = f.v[k] * power.v[k];
    }
    for (int k = 0; k < IN_FOUR; k++) {
        z.v[k] = z.v[k] * f.v[k] + (power.v[k] - 1.0f);
    }
    return z;
}
#endif

/* As four_near_powers, 3.2e-6, but 1e-7 where y ends in 0.1556: for sums that cancel there, as that of silu's slope does where it is 0. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_near_powers_at_root(wide_four y, wide_four x, float lowest) {
    wide_four f, p;
    uint16_t some[4];
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vreduceps $9, %1, %0" : "=v"(f.v[k]) : "v"(y.v[k]));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = f.v[k] * 0x1.b68aeep-7f + 0x1.acb0c2p-5f;
        __asm__("vcmpnltps %2, %1, %0" : "=Yk"(some[k]) : "v"(x.v[k]), "v"(wide_of(lowest)));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 0x1.ee075ep-3f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * f.v[k] + 0x1.62d824p-1f;
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

/* log2 x: x = 2^e m with m in [1, 2), whose first 4 bits name a number c near 1 / m and its logarithm; the polynomial is that of
   log2(1 + r) / r at r = c m - 1. In the first place c is 1 and in the last 1/2, so that logarithms near 0 keep their digits. Below 0
   NaN. 6.3e-6. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_log2(wide_four x) {
    static const float inverse[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.db6ab8p-1f, 0x1.c1b7fap-1f, 0x1.aaa7fap-1f, 0x1.95d7fap-1f, 0x1.82f79cp-1f, 0x1.71c4c8p-1f,
        0x1.6208aap-1f, 0x1.53955ep-1f, 0x1.464438p-1f, 0x1.39f45cp-1f, 0x1.2e89bap-1f, 0x1.23ec32p-1f,
        0x1.1a06e6p-1f, 0x1.10c7bap-1f, 0x1p-1f
    };
    static const float logarithm[16] __attribute__((aligned(64))) = {
        0x0p+0f, 0x1.b611f4p-4f, 0x1.7f3954p-3f, 0x1.0d6234p-2f, 0x1.5743d8p-2f, 0x1.9da076p-2f, 0x1.e0ca0ep-2f,
        0x1.1083eep-1f, 0x1.2f4c1ep-1f, 0x1.4cd8fep-1f, 0x1.6942dap-1f, 0x1.849f4p-1f, 0x1.9f016cp-1f, 0x1.b87aa8p-1f,
        0x1.d11a76p-1f, 0x1p+0f
    };
    wide_four e, m, p;
    for (int k = 0; k < IN_FOUR; k++) {
        __asm__("vgetmantps $8, %1, %0" : "=v"(m.v[k]) : "v"(x.v[k]));
        __asm__("vgetexpps %1, %0" : "=v"(e.v[k]) : "v"(x.v[k]));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        wide_i32 places = (wide_i32)m.v[k] >> 19;
        m.v[k] = m.v[k] * wide_look_up_16(inverse, places) - 1.0f;
        e.v[k] = e.v[k] + wide_look_up_16(logarithm, places);
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = m.v[k] * 0x1.dc1f44p-2f - 0x1.717f78p-1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * m.v[k] + 0x1.7154f4p+0f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * m.v[k] + e.v[k];
    }
    return p;
}
#endif

/* sin r with the sign that the lowest bit of `turns` names, r in [-pi/2, pi/2]: 1.0e-4, and no more than 0.2 of a
   unit in the last place of an f16. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sine_for_bf16(wide_four r, wide_four turns) {
    wide_four square, p;
    for (int k = 0; k < IN_FOUR; k++) {
        square.v[k] = r.v[k] * r.v[k];
        r.v[k] = (wide_f32)((wide_i32)r.v[k] ^ ((wide_i32)turns.v[k] << 31));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = square.v[k] * 0x1.f1a3cp-8f - 0x1.53da46p-3f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * square.v[k] + 0x1.fff33ap-1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * r.v[k];
    }
    return p;
}
#endif

/* A term more: 9.6e-7. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sine_for_f16(wide_four r, wide_four turns) {
    wide_four square, p;
    for (int k = 0; k < IN_FOUR; k++) {
        square.v[k] = r.v[k] * r.v[k];
        r.v[k] = (wide_f32)((wide_i32)r.v[k] ^ ((wide_i32)turns.v[k] << 31));
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = square.v[k] * -0x1.83b9bep-13f + 0x1.105d4ap-7f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * square.v[k] - 0x1.554f8p-3f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * square.v[k] + 0x1.ffffep-1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        p.v[k] = p.v[k] * r.v[k];
    }
    return p;
}
#endif

/* What is left of x without so many half turns, whole ones or those and a half: pi in two parts. What the first leaves is exact, as what
   cancels has 11 digits; below 1024 half turns the second one's error is far below what the nearest half has left. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_without_turns(wide_four x, wide_four turns) {
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = x.v[k] - turns.v[k] * 0x1.921fb6p+1f;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = x.v[k] + turns.v[k] * 0x1.777a5cp-24f;
    }
    return x;
}
#endif

/* For |x| up to 1024. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sin_for_bf16(wide_four x) {
    wide_four shifted, turns;
    for (int k = 0; k < IN_FOUR; k++) {
        shifted.v[k] = x.v[k] * 0x1.45f306p-2f + ROUND_MAGIC_F32;
        turns.v[k] = shifted.v[k] - ROUND_MAGIC_F32;
    }
    return four_sine_for_bf16(four_without_turns(x, turns), shifted);
}
#endif

/* For |x| up to 1024. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sin_for_f16(wide_four x) {
    wide_four shifted, turns;
    for (int k = 0; k < IN_FOUR; k++) {
        shifted.v[k] = x.v[k] * 0x1.45f306p-2f + ROUND_MAGIC_F32;
        turns.v[k] = shifted.v[k] - ROUND_MAGIC_F32;
    }
    return four_sine_for_f16(four_without_turns(x, turns), shifted);
}
#endif

/* cos x = sin(x + pi / 2), for |x| up to 1024. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_cos_for_bf16(wide_four x) {
    wide_four shifted, turns;
    for (int k = 0; k < IN_FOUR; k++) {
        shifted.v[k] = (x.v[k] + 0x1.921fb6p+0f) * 0x1.45f306p-2f + ROUND_MAGIC_F32;
        turns.v[k] = (shifted.v[k] - ROUND_MAGIC_F32) - 0.5f;
    }
    return four_sine_for_bf16(four_without_turns(x, turns), shifted);
}
#endif

/* cos x = sin(x + pi / 2), for |x| up to 1024. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_cos_for_f16(wide_four x) {
    wide_four shifted, turns;
    for (int k = 0; k < IN_FOUR; k++) {
        shifted.v[k] = (x.v[k] + 0x1.921fb6p+0f) * 0x1.45f306p-2f + ROUND_MAGIC_F32;
        turns.v[k] = (shifted.v[k] - ROUND_MAGIC_F32) - 0.5f;
    }
    return four_sine_for_f16(four_without_turns(x, turns), shifted);
}
#endif

#endif
