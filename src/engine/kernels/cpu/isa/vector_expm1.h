/* SPDX-License-Identifier: Apache-2.0 */
/* e^x - 1 below 0 in f32 by tables, where an instruction looks up 16 places at once: without the exponential of vector_math.h and what keeps
   its digits near 0. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_EXPM1_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_EXPM1_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

/* 1 - exp(-s) of s >= 0, by tables as tanh: 4 intervals of each octave of s + 1.25, 16 from 0 to 17.1, from where on it answers 1. Of what is below
   0 anything. 1.1 ulp. */
#if defined(__AVX512F__)
VECTOR_INLINE void left_by_exp(wide_f32 *s, int count) {
    static const float centre[16] __attribute__((aligned(64))) = {
        0x1.00587ap+0f, 0x1.7f51acp+0f, 0x1.ffdd44p+0f, 0x1.3fb2fep+1f, 0x1.a0bc16p+1f, 0x1.103958p+2f, 0x1.5010b6p+2f,
        0x1.8fe282p+2f, 0x1.ef3238p+2f, 0x1.37e718p+3f, 0x1.781648p+3f, 0x1.b7d85ap+3f, 0x1.00dc5ep+4f, 0x0p+0f,
        0x1.7fdc9cp-2f, 0x1.4037b4p-1f
    };
    static const float terms[6][16] __attribute__((aligned(64))) = {
        {
            0x1.43e65cp-1f, 0x1.8d73fcp-1f, 0x1.baabeep-1f, 0x1.d5dfa4p-1f, 0x1.ec42ep-1f, 0x1.f8b8e4p-1f, 0x1.fd50e6p-1f,
            0x1.ff0284p-1f, 0x1.ffc6d4p-1f, 0x1.fff856p-1f, 0x1.fffef8p-1f, 0x1.ffffdcp-1f, 0x1.fffffcp-1f, 0x0p+0f,
            0x1.401eeap-2f, 0x1.dc200cp-2f
        },
        {
            0x1.78334ap-2f, 0x1.ca301p-3f, 0x1.155048p-3f, 0x1.5102ep-4f, 0x1.3bd216p-5f, 0x1.d1c718p-7f, 0x1.578d0cp-8f,
            0x1.faf80ap-10f, 0x1.c9619ap-12f, 0x1.ea833cp-15f, 0x1.0802c2p-17f, 0x1.2001cp-20f, 0x1.ca04b2p-24f, 0x1p+0f,
            0x1.5ff08cp-1f, 0x1.11effap-1f
        },
        {
            -0x1.7832dcp-3f, -0x1.ca2f88p-4f, -0x1.154ff4p-4f, -0x1.510286p-5f, -0x1.3bcbecp-6f, -0x1.d1be0ep-8f,
            -0x1.57866p-9f, -0x1.faedfap-11f, -0x1.c8d082p-13f, -0x1.e9e5f2p-16f, -0x1.07b408p-18f, -0x1.1fa5ccp-21f,
            0x1.f7df9ap-29f, -0x1.ffffe8p-2f, -0x1.5ff086p-2f, -0x1.11eff4p-2f
        },
        {
            0x1.f595c8p-5f, 0x1.317544p-5f, 0x1.71bffep-6f, 0x1.c1595p-7f, 0x1.a5062ap-8f, 0x1.367a8p-9f, 0x1.ca066p-11f,
            0x1.51f54p-12f, 0x1.30b388p-14f, 0x1.469eaap-17f, 0x1.5f827ap-20f, 0x1.7f9668p-23f, 0x1.19798p-26f,
            0x1.554e1ap-3f, 0x1.d538c4p-4f, 0x1.6d3ff8p-4f
        },
        {
            -0x1.f705eep-7f, -0x1.325622p-7f, -0x1.72d1eap-8f, -0x1.c29bdp-9f, -0x1.a9ff92p-10f, -0x1.3a2294p-11f,
            -0x1.cf68e6p-13f, -0x1.55f2p-14f, -0x1.3f535cp-16f, -0x1.5679cp-19f, -0x1.70565cp-22f, -0x1.9228aap-25f,
            -0x1.3f4f0ap-25f, -0x1.53f7cap-5f, -0x1.d58f3ep-6f, -0x1.6d864p-6f
        },
        {
            0x1.9508p-9f, 0x1.e975f6p-10f, 0x1.289b9ep-10f, 0x1.67bb26p-11f, 0x1.571b18p-12f, 0x1.f887bcp-14f,
            0x1.731744p-15f, 0x1.11107p-16f, 0x1.f85bcep-19f, 0x1.1104f2p-21f, 0x1.277614p-24f, 0x1.40073p-27f,
            0x1.569422p-29f, 0x1.ed7a94p-8f, 0x1.90d726p-8f, 0x1.245ccep-8f
        },
    };
    wide_f32 places[IN_FOUR], t[IN_FOUR];
    for (int i = 0; i < count; i++) {
        wide_f32 size = wide_smaller(17.1f, s[i]);
        places[i] = (wide_f32)((wide_i32)(size + 1.25f) >> 21);
        t[i] = size - wide_look_up_16(centre, (wide_i32)places[i]);
    }
    polynomials_16(s, terms, 5, places, t, count);
}
#endif

/* Of the lesser of x and 0. */
#if defined(__AVX512F__)
VECTOR_INLINE void expm1_below_of(wide_f32 *x, int count) {
    for (int i = 0; i < count; i++) {
        x[i] = wide_larger(0.0f, -x[i]);
    }
    left_by_exp(x, count);
    for (int i = 0; i < count; i++) {
        x[i] = -x[i];
    }
}
#endif

#endif
