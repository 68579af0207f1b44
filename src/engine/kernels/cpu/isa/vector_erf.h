/* SPDX-License-Identifier: Apache-2.0 */
/* erf in f32 by tables, where an instruction looks up 16 places at once: without the exponential and the quotient of
   vector_math.h it takes a third of their time. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

/* erf |x| in intervals of a quarter, each a polynomial of what x is beyond the middle, which is a multiple of it: their sum rounds to
   it and names the place. In the first, around 0, it has no constant, so that all digits are kept. The last ends at 1, where erf is
   1 but for a unit in the last place, and answers that from 3.87 on. */
#if defined(__AVX512F__)
VECTOR_INLINE void erf_of(wide_f32 *x, int count) {
    static const float terms[6][16] __attribute__((aligned(64))) = {
        {
            0x0p+0f, 0x1.1af54ep-2f, 0x1.0a7ef6p-1f, 0x1.6c1c98p-1f, 0x1.af767ap-1f, 0x1.d8865ep-1f, 0x1.eea556p-1f,
            0x1.f92d08p-1f, 0x1.fd9ae2p-1f, 0x1.ff4048p-1f, 0x1.ffcaa8p-1f, 0x1.fff2dp-1f, 0x1.fffd1ap-1f, 0x1.ffff7p-1f,
            0x1.ffffe8p-1f, 0x1.fffffcp-1f
        },
        {
            0x1.20dd76p+0f, 0x1.0f5d18p+0f, 0x1.c1efccp-1f, 0x1.492e44p-1f, 0x1.a911f2p-2f, 0x1.e4653p-3f,
            0x1.e72372p-4f, 0x1.b0552ep-5f, 0x1.529b9cp-6f, 0x1.d41438p-8f, 0x1.1d831ap-9f, 0x1.3360dcp-11f,
            0x1.24091p-13f, 0x1.e9b67p-16f, 0x1.6a5a2ap-18f, 0x1.d938bcp-21f
        },
        {
            0x1.e271e2p-23f, -0x1.0f5baap-2f, -0x1.c1eep-2f, -0x1.edc46ep-2f, -0x1.a9121ap-2f, -0x1.2ecp-2f,
            -0x1.6d5bfap-3f, -0x1.7a4bd6p-4f, -0x1.529bc2p-5f, -0x1.0749b8p-6f, -0x1.64dd6ep-8f, -0x1.a695dp-10f,
            -0x1.b5f20cp-12f, -0x1.8dbca8p-14f, -0x1.3cdfeep-16f, -0x1.bb4778p-19f
        },
        {
            -0x1.812ab8p-2f, -0x1.3c9c9ep-2f, -0x1.2bfcdcp-3f, 0x1.b6c25p-6f, 0x1.1b5f34p-3f, 0x1.571ce4p-3f,
            0x1.1c2aeap-3f, 0x1.714aaep-4f, 0x1.8b0cep-5f, 0x1.63f032p-6f, 0x1.119c52p-7f, 0x1.69c902p-9f,
            0x1.9da816p-11f, 0x1.9a89f6p-13f, 0x1.62a866p-15f, 0x1.0b4182p-17f
        },
        {
            0x1.0e1668p-12f, 0x1.022274p-3f, 0x1.748e8cp-3f, 0x1.3351f2p-3f, 0x1.1bcff8p-4f, -0x1.73186ap-8f,
            -0x1.69a6b6p-5f, -0x1.885486p-5f, -0x1.1a14ep-5f, -0x1.39c52ap-6f, -0x1.1caef2p-7f, -0x1.b024b6p-9f,
            -0x1.1654fap-10f, -0x1.33009ap-12f, -0x1.23bb8cp-14f, -0x1.dfc024p-17f
        },
        {
            0x1.c70556p-4f, 0x1.4b163ap-4f, 0x1.0b5d2p-7f, -0x1.ade44cp-5f, -0x1.1986e2p-4f, -0x1.81ec9ap-5f,
            -0x1.ec92aep-7f, 0x1.a5842p-8f, 0x1.a97cdcp-7f, 0x1.5c8abp-7f, 0x1.92025ap-8f, 0x1.6bd992p-9f,
            0x1.0daee2p-10f, 0x1.4ea112p-12f, 0x1.6017e2p-14f, 0x1.692c6ap-11f
        },
    };
    wide_f32 places[IN_FOUR], t[IN_FOUR], values[IN_FOUR];
    for (int i = 0; i < count; i++) {
        wide_f32 size = wide_smaller(0x1.effffep+1f, wide_size(x[i]));
        places[i] = size + 0x1.8p21f; /* 2 bits behind the point are left */
        t[i] = size - (places[i] - 0x1.8p21f);
    }
    polynomials_16(values, terms, 5, places, t, count);
    for (int i = 0; i < count; i++) {
        x[i] = (wide_f32)((wide_i32)values[i] | ((wide_i32)x[i] & (int32_t)0x80000000));
    }
}
#endif

/* 2.3 ulp. */
VECTOR_INLINE void erf_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    block_in_fours(to, from, n, erf_of);
#else
    for (int l = 0; l < n; l++) {
        to[l] = erf_f32(from[l]);
    }
#endif
}

#endif
