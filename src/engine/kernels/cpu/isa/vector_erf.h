/* SPDX-License-Identifier: Apache-2.0 */
/* erf in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: without the exponential and the quotient of
   vector_math.h it takes a third of their time. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

/* erf |x| in intervals of an eighth, each a polynomial of what x is beyond the middle, which is a multiple of it: their sum rounds to
   it and names the place. In the first, around 0, it is odd, fitted for the least relative error, so that all digits are kept;
   in the others for the least error (7e-11). From 3.92 on erf rounds to 1. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_erf(wide_f32 x) {
    static const float terms[6][32] __attribute__((aligned(64))) = {
        {
            0x0p+0f, 0x1.1f5e1ap-3f, 0x1.1af54ep-2f, 0x1.9dd0d2p-2f, 0x1.0a7ef6p-1f, 0x1.3f196ep-1f, 0x1.6c1c98p-1f,
            0x1.91724ap-1f, 0x1.af767ap-1f, 0x1.c6dad2p-1f, 0x1.d8865ep-1f, 0x1.e5768cp-1f, 0x1.eea556p-1f,
            0x1.f4f694p-1f, 0x1.f92d08p-1f, 0x1.fbe61ep-1f, 0x1.fd9ae2p-1f, 0x1.fea422p-1f, 0x1.ff4048p-1f,
            0x1.ff996p-1f, 0x1.ffcaa8p-1f, 0x1.ffe514p-1f, 0x1.fff2dp-1f, 0x1.fff9bap-1f, 0x1.fffd1ap-1f,
            0x1.fffeb4p-1f, 0x1.ffff7p-1f, 0x1.ffffc4p-1f, 0x1.ffffe8p-1f, 0x1.fffff6p-1f, 0x1.fffffcp-1f,
            0x1.fffffep-1f
        },
        {
            0x1.20dd76p+0f, 0x1.1c62fap+0f, 0x1.0f5d16p+0f, 0x1.f5f0cep-1f, 0x1.c1efcap-1f, 0x1.86e96ap-1f,
            0x1.492e42p-1f, 0x1.0cab62p-1f, 0x1.a911fp-2f, 0x1.45e99cp-2f, 0x1.e4653p-3f, 0x1.5ce596p-3f,
            0x1.e72372p-4f, 0x1.499d48p-4f, 0x1.b0553p-5f, 0x1.12ceb4p-5f, 0x1.529b9ep-6f, 0x1.94624ep-7f,
            0x1.d4143ap-8f, 0x1.06918cp-8f, 0x1.1d8318p-9f, 0x1.2ce898p-10f, 0x1.3360ccp-11f, 0x1.30539p-12f,
            0x1.2408eap-13f, 0x1.0f9e1cp-14f, 0x1.e9b5eap-16f, 0x1.abe0ap-17f, 0x1.6a5974p-18f, 0x1.296a72p-19f,
            0x1.d93722p-21f, 0x1.6ce1aep-22f
        },
        {
            0x0p+0f, -0x1.1c620ep-3f, -0x1.0f5c78p-2f, -0x1.7871a8p-2f, -0x1.c1f1a8p-2f, -0x1.e8a548p-2f,
            -0x1.edca8ap-2f, -0x1.d63158p-2f, -0x1.a90e52p-2f, -0x1.6ea2c2p-2f, -0x1.2ec282p-2f, -0x1.dfb80ep-3f,
            -0x1.6d6394p-3f, -0x1.0bd47p-3f, -0x1.7a5aa8p-4f, -0x1.0183e6p-4f, -0x1.52cb02p-5f, -0x1.ade1b4p-6f,
            -0x1.079b34p-6f, -0x1.36d8bep-7f, -0x1.62f9fap-8f, -0x1.880156p-9f, -0x1.a92232p-10f, -0x1.b1563p-11f,
            -0x1.9d89ap-12f, -0x1.ad78d2p-13f, -0x1.be2df6p-14f, -0x1.2914cp-14f, -0x1.8db09ep-15f, -0x1.54ed8ep-18f,
            0x1.35d2a6p-19f, 0x1.0f864ap-16f
        },
        {
            -0x1.8136f8p-2f, -0x1.6f539ap-2f, -0x1.3c9716p-2f, -0x1.e10acap-3f, -0x1.2bf188p-3f, -0x1.c836b4p-5f,
            0x1.b73df4p-6f, 0x1.7c9bc2p-4f, 0x1.1b6502p-3f, 0x1.4cb276p-3f, 0x1.571bf6p-3f, 0x1.43741ap-3f,
            0x1.1c2ab4p-3f, 0x1.d661b8p-4f, 0x1.714922p-4f, 0x1.143c5ap-4f, 0x1.8b0bd4p-5f, 0x1.0ea4dep-5f,
            0x1.63efe6p-6f, 0x1.c1eb14p-7f, 0x1.119cd8p-7f, 0x1.40800cp-8f, 0x1.69cfc2p-9f, 0x1.89e0fcp-10f,
            0x1.9db6a8p-11f, 0x1.a3725cp-12f, 0x1.9aa354p-13f, 0x1.8450bcp-14f, 0x1.62cb28p-15f, 0x1.39499ep-16f,
            0x1.0b6898p-17f, 0x1.b95becp-19f
        },
        {
            0x0p+0f, 0x1.1790e8p-4f, 0x1.02bb36p-3f, 0x1.5007aap-3f, 0x1.7983b2p-3f, 0x1.6b7804p-3f, 0x1.3c9e3p-3f,
            0x1.dd8dfp-4f, 0x1.0fdfcap-4f, 0x1.97826ep-6f, -0x1.cd65e6p-9f, -0x1.04b61cp-5f, -0x1.4fecfp-5f,
            -0x1.87ef82p-5f, -0x1.6ff798p-5f, -0x1.89de82p-5f, -0x1.e87e4cp-6f, -0x1.823722p-6f, -0x1.f1fe5cp-7f,
            -0x1.39053p-6f, -0x1.dede28p-7f, -0x1.481b66p-7f, -0x1.5a3356p-10f, -0x1.cad88ep-9f, -0x1.7e6e7p-8f,
            -0x1.0df9a8p-14f, 0x1.0f59d6p-9f, 0x1.6bafcap-8f, 0x1.7a334cp-8f, -0x1.4d7292p-11f, -0x1.3108b8p-10f,
            -0x1.d691d4p-9f
        },
        {
            0x1.fff2fep-4f, 0x1.a5ca2ap-4f, 0x1.47177ap-4f, 0x1.7fd088p-5f, 0x1.8dbee4p-8f, -0x1.894ca8p-6f,
            -0x1.d2133ep-5f, -0x1.11c4a8p-4f, -0x1.206ab8p-4f, -0x1.f22a9p-5f, -0x1.7f62p-5f, -0x1.f14ba2p-6f,
            -0x1.efbcc6p-7f, -0x1.f6e07ap-10f, 0x1.ac29bep-8f, 0x1.7b3d26p-7f, 0x1.a9bb88p-7f, 0x1.980626p-7f,
            0x1.5c65bp-7f, 0x1.12934ap-7f, 0x1.922e36p-8f, 0x1.14665p-8f, 0x1.693c9ep-9f, 0x1.c216a6p-10f,
            0x1.0b28bep-10f, 0x1.2f838p-11f, 0x1.4a41d4p-12f, 0x1.58eb92p-13f, 0x1.5a1f42p-14f, 0x1.4dd37ep-15f,
            0x1.361704p-16f, 0x1.154b28p-17f
        },
    };
    wide_f32 size = wide_smaller(0x1.f7fffep+1f, wide_size(x));
    wide_f32 shifted = size + 0x1.8p20f, t = size - (shifted - 0x1.8p20f); /* 3 bits behind the point are left */
    wide_f32 value = wide_look_up(terms[5], (wide_i32)shifted);
    for (int k = 4; k >= 0; k--) {
        value = value * t + wide_look_up(terms[k], (wide_i32)shifted);
    }
    return (wide_f32)((wide_i32)value | ((wide_i32)x & (int32_t)0x80000000));
}
#endif

/* 2.3 ulp. */
VECTOR_INLINE void erf_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_erf(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = erf_f32(from[l]);
    }
#endif
}

#endif
