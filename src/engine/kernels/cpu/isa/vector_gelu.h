/* SPDX-License-Identifier: Apache-2.0 */
/* gelu in f32 by tables, where an instruction looks up 16 places of 32 numbers at once: without the exponential and the quotient
   of vector_math.h it takes three quarters of their time. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_GELU_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_GELU_H

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define GELU_BY_TABLE 1

#include "engine/kernels/cpu/isa/vector_math.h"

#include <immintrin.h>

enum { GELU_TERMS = 7, GELU_LANES = 16 };

/* The cube root of Phi(-s), the normal distribution's share beyond s, in 31 intervals of s in [0, 13.269]: Phi(-s) falls to a
   half of itself in the first and to a thirtieth in the last, its root by little enough for a short polynomial. Interval i is
   where GELU_FIRST s + GELU_SECOND s^2 rounds to i. In each the polynomial in s - centre is fitted for the least relative error
   (of the cube, 8.9e-8), and the centre is where the root is nearly a float. The last number of each row, 0, is for what lies
   beyond. */
#define GELU_FIRST  0x1.10995ep-1f
#define GELU_SECOND 0x1.10995ep-3f
#define GELU_BEYOND 13.29f

static const _Alignas(64) float gelu_centre[2 * GELU_LANES] = {
    0x1.91f2p-2f, 0x1.58bbb2p+0f, 0x1.2b9876p+1f, 0x1.91bd78p+1f, 0x1.e9d63p+1f, 0x1.1c3daep+2f, 0x1.400d96p+2f,
    0x1.6132e4p+2f, 0x1.8017fap+2f, 0x1.9d80b2p+2f, 0x1.b9161ep+2f, 0x1.d3784p+2f, 0x1.ecf702p+2f, 0x1.02867ap+3f,
    0x1.0e37f4p+3f, 0x1.1994b8p+3f, 0x1.248d7ep+3f, 0x1.2f3384p+3f, 0x1.39736p+3f, 0x1.43abb6p+3f, 0x1.4d6564p+3f,
    0x1.56f31ep+3f, 0x1.606312p+3f, 0x1.698976p+3f, 0x1.726b9cp+3f, 0x1.7b11p+3f, 0x1.83bb52p+3f, 0x1.8c1b08p+3f,
    0x1.947c56p+3f, 0x1.9c96c8p+3f, 0x1.a49436p+3f, 0x0p+0f
};

static const _Alignas(64) float gelu_terms[GELU_TERMS][2 * GELU_LANES] = {
    {
        0x1.67e756p-1f, 0x1.c94788p-2f, 0x1.b3aadp-3f, 0x1.83d188p-4f, 0x1.49343p-5f, 0x1.0dec62p-6f, 0x1.af7eap-8f,
        0x1.5180e4p-9f, 0x1.042f1p-10f, 0x1.876a8ap-12f, 0x1.25db3p-13f, 0x1.b30094p-15f, 0x1.3bc5c4p-16f,
        0x1.ce3644p-18f, 0x1.4d206cp-19f, 0x1.d9e2eep-21f, 0x1.4fc2f8p-22f, 0x1.d8b84p-24f, 0x1.4e5176p-25f,
        0x1.ca900ap-27f, 0x1.4103cp-28f, 0x1.bc738ep-30f, 0x1.2ec9d4p-31f, 0x1.9ec2eap-33f, 0x1.1d97c6p-34f,
        0x1.8ae082p-36f, 0x1.09d1f2p-37f, 0x1.6ac4b6p-39f, 0x1.e392aap-41f, 0x1.471252p-42f, 0x1.b7f328p-44f, 0x0p+0f
    },
    {
        -0x1.fe4dd6p-3f, -0x1.13c6cp-2f, -0x1.84eae8p-3f, -0x1.b91b18p-4f, -0x1.bd9ca2p-5f, -0x1.a230f4p-6f,
        -0x1.750c92p-7f, -0x1.400b62p-8f, -0x1.0b1e42p-9f, -0x1.af26cp-11f, -0x1.586042p-12f, -0x1.0d9248p-13f,
        -0x1.9bff22p-15f, -0x1.3bd00ap-16f, -0x1.db3dacp-18f, -0x1.5fdf3ep-19f, -0x1.02cb18p-20f, -0x1.7952acp-22f,
        -0x1.13af32p-23f, -0x1.863a06p-25f, -0x1.193bc2p-26f, -0x1.905644p-28f, -0x1.181dc4p-29f, -0x1.898318p-31f,
        -0x1.15850cp-32f, -0x1.888b1cp-34f, -0x1.0e352p-35f, -0x1.789dbap-37f, -0x1.004294p-38f, -0x1.6182f6p-40f,
        -0x1.e49ddep-42f, 0x0p+0f
    },
    {
        -0x1.42f0fap-5f, 0x1.35de2ap-6f, 0x1.afdaecp-5f, 0x1.7d05b4p-5f, 0x1.f2eccp-6f, 0x1.18bf3ap-6f, 0x1.1fbccep-7f,
        0x1.14247ap-8f, 0x1.fa268ep-10f, 0x1.bafd4cp-11f, 0x1.7b8d8ep-12f, 0x1.3c49eap-13f, 0x1.ffa1d2p-15f,
        0x1.9c9412p-16f, 0x1.454a58p-17f, 0x1.f709c2p-19f, 0x1.811a8cp-20f, 0x1.236e9p-21f, 0x1.b8dfbep-23f,
        0x1.429bd8p-24f, 0x1.df8128p-26f, 0x1.5f6af8p-27f, 0x1.f9c40ep-29f, 0x1.6cc654p-30f, 0x1.07c458p-31f,
        0x1.7e0d5ep-33f, 0x1.0d2a42p-34f, 0x1.7f7b2ep-36f, 0x1.0a97b8p-37f, 0x1.775042p-39f, 0x1.0659eep-40f, 0x0p+0f
    },
    {
        0x1.20a3b4p-6f, 0x1.367d8p-6f, 0x1.722c5ep-9f, -0x1.b17dc6p-8f, -0x1.078028p-7f, -0x1.924ec2p-8f,
        -0x1.f783a6p-9f, -0x1.1827aep-9f, -0x1.209782p-10f, -0x1.1678eap-11f, -0x1.03079ap-12f, -0x1.cfd51p-14f,
        -0x1.8ffa2ep-15f, -0x1.55489cp-16f, -0x1.1b523p-17f, -0x1.cb669p-19f, -0x1.6f5506p-20f, -0x1.2169d4p-21f,
        -0x1.c665ecp-23f, -0x1.588e6cp-24f, -0x1.088f58p-25f, -0x1.8ffaeap-27f, -0x1.287a96p-28f, -0x1.b7bb42p-30f,
        -0x1.466cf4p-31f, -0x1.e4b682p-33f, -0x1.5de156p-34f, -0x1.fe0296p-36f, -0x1.6a908cp-37f, -0x1.04a89ep-38f,
        -0x1.73e8c4p-40f, 0x0p+0f
    },
    {
        0x1.dc6666p-9f, -0x1.6854ap-9f, -0x1.0ee12cp-8f, -0x1.9f792p-10f, 0x1.7a0d96p-12f, 0x1.0c29p-10f,
        0x1.f66a44p-11f, 0x1.614c76p-11f, 0x1.ac8d3cp-12f, 0x1.d5610ap-13f, 0x1.e34cf4p-14f, 0x1.d7761ap-15f,
        0x1.b60facp-16f, 0x1.8eb71ep-17f, 0x1.5ec9aap-18f, 0x1.2bc8b8p-19f, 0x1.f6eb7cp-21f, 0x1.9e0e3p-22f,
        0x1.526ccep-23f, 0x1.0a9fc8p-24f, 0x1.a80ab6p-26f, 0x1.4b521ep-27f, 0x1.fad52ep-29f, 0x1.83190ap-30f,
        0x1.277144p-31f, 0x1.c26296p-33f, 0x1.4d77cap-34f, 0x1.f1e6b6p-36f, 0x1.6a4824p-37f, 0x1.0a43eep-38f,
        0x1.840e88p-40f, 0x0p+0f
    },
    {
        -0x1.3f16b6p-10f, -0x1.085382p-10f, 0x1.9da362p-12f, 0x1.6dab54p-11f, 0x1.933ebcp-12f, 0x1.1a405cp-14f,
        -0x1.6a315ap-14f, -0x1.eec98ep-14f, -0x1.953d1cp-14f, -0x1.0d3c4ap-14f, -0x1.3ece4p-15f, -0x1.5b5e8p-16f,
        -0x1.61f2bap-17f, -0x1.5bf9dp-18f, -0x1.479e7ep-19f, -0x1.2973e4p-20f, -0x1.076372p-21f, -0x1.c78ee2p-23f,
        -0x1.853d7cp-24f, -0x1.3ff51ap-25f, -0x1.0846e8p-26f, -0x1.ac041p-28f, -0x1.52bcfap-29f, -0x1.0b076p-30f,
        -0x1.a3c8b4p-32f, -0x1.48dc2ap-33f, -0x1.f472d8p-35f, -0x1.7f17dep-36f, -0x1.1dce3ep-37f, -0x1.ade6fcp-39f,
        -0x1.404d9ap-40f, 0x0p+0f
    },
    {
        -0x1.8fa51cp-13f, 0x1.ccfb7ep-13f, 0x1.5b2b8cp-13f, -0x1.2ab3fep-15f, -0x1.9515f2p-14f, -0x1.188d4p-14f,
        -0x1.960254p-16f, 0x1.f0501cp-20f, 0x1.77b74ep-17f, 0x1.7f3c5ap-17f, 0x1.1d5a5p-17f, 0x1.6b8db8p-18f,
        0x1.a38426p-19f, 0x1.c315d8p-20f, 0x1.cb954ap-21f, 0x1.c08b7p-22f, 0x1.a6915p-23f, 0x1.826d24p-24f,
        0x1.587ba4p-25f, 0x1.2c5d5ep-26f, 0x1.00d866p-27f, 0x1.afbb6p-29f, 0x1.65466ep-30f, 0x1.238f64p-31f,
        0x1.d5dfbap-33f, 0x1.76450cp-34f, 0x1.26f99p-35f, 0x1.cc719cp-37f, 0x1.64239cp-38f, 0x1.112a7cp-39f,
        0x1.9fcb46p-41f, 0x0p+0f
    },
};

static inline __attribute__((always_inline)) __m512 gelu_look_up(const float *table, __m512i places) {
    return _mm512_permutex2var_ps(_mm512_load_ps(table), places, _mm512_load_ps(table + GELU_LANES));
}

/* x * Phi(x) as max(x, 0) - |x| Phi(-|x|): the lower tail keeps its digits. 7 ulp. NaN comes through the maximum, which takes
   its second operand then; -inf times nothing is NaN as well, for which the factor is large where x is low, but not high. */
static inline __attribute__((always_inline)) __m512 gelu_by_table(__m512 x) {
    enum { LESSER_SIZE = 2 | 2 << 2, SIZE_OF_LESSER = 0 | 2 << 2 };
    __m512 size = _mm512_range_ps(x, _mm512_set1_ps(GELU_BEYOND), LESSER_SIZE);
    __m512 slope = _mm512_fmadd_ps(size, _mm512_set1_ps(GELU_SECOND), _mm512_set1_ps(GELU_FIRST));
    __m512i places = _mm512_castps_si512(_mm512_fmadd_ps(size, slope, _mm512_set1_ps(ROUND_MAGIC_F32)));
    __m512 t = _mm512_sub_ps(size, gelu_look_up(gelu_centre, places));
    __m512 root = gelu_look_up(gelu_terms[GELU_TERMS - 1], places);
    for (int k = GELU_TERMS - 2; k >= 0; k--) {
        root = _mm512_fmadd_ps(root, t, gelu_look_up(gelu_terms[k], places));
    }
    __m512 above = _mm512_max_ps(_mm512_setzero_ps(), x);
    __m512 factor = _mm512_range_ps(x, _mm512_set1_ps(GELU_BEYOND), SIZE_OF_LESSER);
    return _mm512_fnmadd_ps(_mm512_mul_ps(factor, root), _mm512_mul_ps(root, root), above);
}

#else
#define GELU_BY_TABLE 0
#endif

#endif
