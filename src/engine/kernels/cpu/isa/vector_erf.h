/* SPDX-License-Identifier: Apache-2.0 */
/* erf in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: without the exponential and the quotient of
   vector_math.h it takes a third of their time. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_ERF_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define ERF_BY_TABLE 1

#include "engine/kernels/cpu/isa/vector_blocks.h"

#include <immintrin.h>

/* erf |x| in intervals of an eighth, each a polynomial of what x is beyond the middle, which is a multiple of it: their sum rounds to
   it and names the place. In the first, around 0, it is odd, fitted for the least relative error, so that all digits are kept;
   in the others for the least error (7e-11). From 3.92 on erf rounds to 1. 1.5 ulp. */
static inline __attribute__((always_inline)) __m512 erf_by_table(__m512 x) {
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
    const __m512 magic = _mm512_set1_ps(0x1.8p20f); /* leaves 3 bits behind the point */
    __m512 size = wide_smaller(0x1.f7fffep+1f, wide_size(x));
    __m512 shifted = _mm512_add_ps(size, magic);
    __m512 t = _mm512_sub_ps(size, _mm512_sub_ps(shifted, magic));
    __m512i places = _mm512_castps_si512(shifted);
    __m512 value = _mm512_permutex2var_ps(_mm512_load_ps(terms[5]), places, _mm512_load_ps(terms[5] + 16));
    for (int k = 4; k >= 0; k--) {
        value = _mm512_fmadd_ps(value, t, _mm512_permutex2var_ps(_mm512_load_ps(terms[k]), places, _mm512_load_ps(terms[k] + 16)));
    }
    return _mm512_or_ps(value, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
}

#else
#define ERF_BY_TABLE 0
#endif

#endif
