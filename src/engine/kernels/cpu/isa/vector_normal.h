/* SPDX-License-Identifier: Apache-2.0 */
/* The normal distribution's share below a number, and the slope of what gelu makes of it, in f32. Most steps of 64 have no number whose size
   is above 5.4: their tables have 16 intervals, and no limits. Others go by functions that reach as far as results do. A template as
   vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_NORMAL_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_NORMAL_H

#include "engine/kernels/cpu/isa/vector_halves.h"

/* The cube root of Phi(-s), the normal distribution's share beyond s, for s in [0, 13.29] (or NaN), in 31 intervals of [0, 13.269]:
   Phi(-s) falls to a half of itself in the first and to a thirtieth in the last, its root by little enough for a short
   polynomial. Interval i is where 0x1.10995ep-1 s + 0x1.10995ep-3 s^2 rounds to i. In each the polynomial in s - centre is fitted
   for the least relative error (of the cube, 8.9e-8), and the centre is where the root is nearly a float. The last number of each
   row, 0, is for what lies beyond. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_normal_root(wide_f32 s) {
    static const float centre[32] __attribute__((aligned(64))) = {
        0x1.91f2p-2f, 0x1.58bbb2p+0f, 0x1.2b9876p+1f, 0x1.91bd78p+1f, 0x1.e9d63p+1f, 0x1.1c3daep+2f,
        0x1.400d96p+2f, 0x1.6132e4p+2f, 0x1.8017fap+2f, 0x1.9d80b2p+2f, 0x1.b9161ep+2f, 0x1.d3784p+2f,
        0x1.ecf702p+2f, 0x1.02867ap+3f, 0x1.0e37f4p+3f, 0x1.1994b8p+3f, 0x1.248d7ep+3f, 0x1.2f3384p+3f,
        0x1.39736p+3f, 0x1.43abb6p+3f, 0x1.4d6564p+3f, 0x1.56f31ep+3f, 0x1.606312p+3f, 0x1.698976p+3f,
        0x1.726b9cp+3f, 0x1.7b11p+3f, 0x1.83bb52p+3f, 0x1.8c1b08p+3f, 0x1.947c56p+3f, 0x1.9c96c8p+3f,
        0x1.a49436p+3f, 0x0p+0f
    };
    static const float terms[7][32] __attribute__((aligned(64))) = {
        {
            0x1.67e756p-1f, 0x1.c94788p-2f, 0x1.b3aadp-3f, 0x1.83d188p-4f, 0x1.49343p-5f, 0x1.0dec62p-6f,
            0x1.af7eap-8f, 0x1.5180e4p-9f, 0x1.042f1p-10f, 0x1.876a8ap-12f, 0x1.25db3p-13f, 0x1.b30094p-15f,
            0x1.3bc5c4p-16f, 0x1.ce3644p-18f, 0x1.4d206cp-19f, 0x1.d9e2eep-21f, 0x1.4fc2f8p-22f, 0x1.d8b84p-24f,
            0x1.4e5176p-25f, 0x1.ca900ap-27f, 0x1.4103cp-28f, 0x1.bc738ep-30f, 0x1.2ec9d4p-31f, 0x1.9ec2eap-33f,
            0x1.1d97c6p-34f, 0x1.8ae082p-36f, 0x1.09d1f2p-37f, 0x1.6ac4b6p-39f, 0x1.e392aap-41f, 0x1.471252p-42f,
            0x1.b7f328p-44f, 0x0p+0f
        },
        {
            -0x1.fe4dd6p-3f, -0x1.13c6cp-2f, -0x1.84eae8p-3f, -0x1.b91b18p-4f, -0x1.bd9ca2p-5f, -0x1.a230f4p-6f,
            -0x1.750c92p-7f, -0x1.400b62p-8f, -0x1.0b1e42p-9f, -0x1.af26cp-11f, -0x1.586042p-12f, -0x1.0d9248p-13f,
            -0x1.9bff22p-15f, -0x1.3bd00ap-16f, -0x1.db3dacp-18f, -0x1.5fdf3ep-19f, -0x1.02cb18p-20f,
            -0x1.7952acp-22f, -0x1.13af32p-23f, -0x1.863a06p-25f, -0x1.193bc2p-26f, -0x1.905644p-28f,
            -0x1.181dc4p-29f, -0x1.898318p-31f, -0x1.15850cp-32f, -0x1.888b1cp-34f, -0x1.0e352p-35f,
            -0x1.789dbap-37f, -0x1.004294p-38f, -0x1.6182f6p-40f, -0x1.e49ddep-42f, 0x0p+0f
        },
        {
            -0x1.42f0fap-5f, 0x1.35de2ap-6f, 0x1.afdaecp-5f, 0x1.7d05b4p-5f, 0x1.f2eccp-6f, 0x1.18bf3ap-6f,
            0x1.1fbccep-7f, 0x1.14247ap-8f, 0x1.fa268ep-10f, 0x1.bafd4cp-11f, 0x1.7b8d8ep-12f, 0x1.3c49eap-13f,
            0x1.ffa1d2p-15f, 0x1.9c9412p-16f, 0x1.454a58p-17f, 0x1.f709c2p-19f, 0x1.811a8cp-20f, 0x1.236e9p-21f,
            0x1.b8dfbep-23f, 0x1.429bd8p-24f, 0x1.df8128p-26f, 0x1.5f6af8p-27f, 0x1.f9c40ep-29f, 0x1.6cc654p-30f,
            0x1.07c458p-31f, 0x1.7e0d5ep-33f, 0x1.0d2a42p-34f, 0x1.7f7b2ep-36f, 0x1.0a97b8p-37f, 0x1.775042p-39f,
            0x1.0659eep-40f, 0x0p+0f
        },
        {
            0x1.20a3b4p-6f, 0x1.367d8p-6f, 0x1.722c5ep-9f, -0x1.b17dc6p-8f, -0x1.078028p-7f, -0x1.924ec2p-8f,
            -0x1.f783a6p-9f, -0x1.1827aep-9f, -0x1.209782p-10f, -0x1.1678eap-11f, -0x1.03079ap-12f, -0x1.cfd51p-14f,
            -0x1.8ffa2ep-15f, -0x1.55489cp-16f, -0x1.1b523p-17f, -0x1.cb669p-19f, -0x1.6f5506p-20f,
            -0x1.2169d4p-21f, -0x1.c665ecp-23f, -0x1.588e6cp-24f, -0x1.088f58p-25f, -0x1.8ffaeap-27f,
            -0x1.287a96p-28f, -0x1.b7bb42p-30f, -0x1.466cf4p-31f, -0x1.e4b682p-33f, -0x1.5de156p-34f,
            -0x1.fe0296p-36f, -0x1.6a908cp-37f, -0x1.04a89ep-38f, -0x1.73e8c4p-40f, 0x0p+0f
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
            -0x1.6a315ap-14f, -0x1.eec98ep-14f, -0x1.953d1cp-14f, -0x1.0d3c4ap-14f, -0x1.3ece4p-15f,
            -0x1.5b5e8p-16f, -0x1.61f2bap-17f, -0x1.5bf9dp-18f, -0x1.479e7ep-19f, -0x1.2973e4p-20f,
            -0x1.076372p-21f, -0x1.c78ee2p-23f, -0x1.853d7cp-24f, -0x1.3ff51ap-25f, -0x1.0846e8p-26f,
            -0x1.ac041p-28f, -0x1.52bcfap-29f, -0x1.0b076p-30f, -0x1.a3c8b4p-32f, -0x1.48dc2ap-33f,
            -0x1.f472d8p-35f, -0x1.7f17dep-36f, -0x1.1dce3ep-37f, -0x1.ade6fcp-39f, -0x1.404d9ap-40f, 0x0p+0f
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
    wide_f32 slope = s * 0x1.10995ep-3f + 0x1.10995ep-1f;
    wide_i32 places = (wide_i32)(s * slope + ROUND_MAGIC_F32);
    wide_f32 t = s - wide_look_up(centre, places), root = wide_look_up(terms[6], places);
    for (int k = 5; k >= 0; k--) {
        root = root * t + wide_look_up(terms[k], places);
    }
    return root;
}
#endif

/* What a function is at x, from what it is at -|x|: 1 less that where x is above 0. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_one_less_above(wide_f32 x, wide_f32 value) {
    uint16_t above;
    __asm__("vcmpltps %2, %1, %0" : "=Yk"(above) : "v"(wide_of(0)), "v"(x));
    __asm__("vsubps %0, %1, %0 %{%2%}" : "+v"(value) : "v"(wide_of(1)), "Yk"(above));
    return value;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_normal_cdf(wide_f32 x) {
    wide_f32 root = wide_normal_root(wide_smaller(13.29f, wide_size(x)));
    return wide_one_less_above(x, root * root * root);
}
#endif

/* In which interval of a width each size lies, and what it is beyond the middle. */
#if defined(__AVX512DQ__)
VECTOR_INLINE void near_places(wide_four *places, wide_four *t, const wide_four *sizes, float width) {
    for (int k = 0; k < IN_FOUR; k++) {
        places->v[k] = sizes->v[k] * (1 / width) + ROUND_MAGIC_F32;
        t->v[k] = sizes->v[k] - (places->v[k] - ROUND_MAGIC_F32) * width;
    }
}
#endif

/* As far as the tables below go: what rounds to 15 of their intervals. */
#define MOST_NEAR 5.449f

/* The square root of Phi(-s) for sizes s in [0, 5.449], which takes a shorter polynomial than Phi(-s) does: for the least relative error, with
   which gelu has 4.9 ulp up to 5, 5.4 at the end. */
#if defined(__AVX512DQ__)
VECTOR_INLINE void near_roots(wide_f32 *values, const wide_four *sizes) {
    static const float terms[6][16] __attribute__((aligned(64))) = {
        {
            0x1.6a09e6p-1f, 0x1.344cdap-1f, 0x1.f6b02p-2f, 0x1.86fb02p-2f, 0x1.21505cp-2f, 0x1.96769ap-3f, 0x1.0e95c2p-3f,
            0x1.54f262p-4f, 0x1.9622fap-5f, 0x1.c8f802p-6f, 0x1.e55214p-7f, 0x1.e63e72p-8f, 0x1.cb5eb4p-9f, 0x1.990faap-10f,
            0x1.573c88p-11f, 0x1.0f4ec2p-12f
        },
        {
            -0x1.20dc94p-2f, -0x1.3ee33ap-2f, -0x1.44f53ep-2f, -0x1.32bec4p-2f, -0x1.0cf6bp-2f, -0x1.b7173ep-3f,
            -0x1.4e3b5p-3f, -0x1.db2454p-4f, -0x1.3bb5ecp-4f, -0x1.88891ep-5f, -0x1.c8f1f2p-6f, -0x1.f24c1ap-7f,
            -0x1.fd4696p-8f, -0x1.e800e6p-9f, -0x1.b6914ap-10f, -0x1.71c02cp-11f
        },
        {
            -0x1.ce326ep-5f, -0x1.a68b84p-6f, 0x1.26a4fap-7f, 0x1.4b6eb6p-5f, 0x1.005b3ap-4f, 0x1.2981ccp-4f, 0x1.242d26p-4f,
            0x1.fb2264p-5f, 0x1.8d19ap-5f, 0x1.1bd192p-5f, 0x1.74ff1ap-6f, 0x1.c4dbe6p-7f, 0x1.fda6e4p-8f, 0x1.0a7ddp-8f,
            0x1.0373dp-9f, 0x1.d701eap-11f
        },
        {
            0x1.b986eap-6f, 0x1.07679p-5f, 0x1.0ab656p-5f, 0x1.ac2d0cp-6f, 0x1.f8820cp-7f, 0x1.efb694p-9f, -0x1.76bfaap-8f,
            -0x1.7835bcp-7f, -0x1.b75068p-7f, -0x1.97cd4ep-7f, -0x1.457cbep-7f, -0x1.cd9f92p-8f, -0x1.27c1bap-8f,
            -0x1.59df72p-9f, -0x1.7387e4p-10f, -0x1.704cbap-11f
        },
        {
            -0x1.ffc2f4p-8f, 0x1.927fa4p-9f, -0x1.2688cp-9f, -0x1.a3be54p-8f, -0x1.0d79acp-7f, -0x1.0027bep-7f,
            -0x1.6cb518p-8f, -0x1.5be98ap-9f, -0x1.9e1188p-13f, 0x1.688e24p-10f, 0x1.09d0e4p-9f, 0x1.037728p-9f,
            0x1.9db25ap-10f, 0x1.1d819ep-10f, 0x1.5ef31p-11f, 0x1.8596a6p-12f
        },
        {
            0x1.0acf8p-5f, -0x1.915d48p-9f, -0x1.79025p-9f, -0x1.d8b91ap-10f, -0x1.ab4b94p-12f, 0x1.f0fca6p-11f,
            0x1.ab8c82p-10f, 0x1.98b59cp-10f, 0x1.32cfa8p-10f, 0x1.4c4696p-11f, 0x1.18a5bep-13f, -0x1.4319b2p-13f,
            -0x1.1e9dd4p-12f, -0x1.17f3e8p-12f, -0x1.b18bbap-13f, -0x1.16c912p-13f
        },
    };
    wide_four places, t;
    near_places(&places, &t, sizes, 0.3515625f);
    polynomials_16(values, terms, 5, places.v, t.v, IN_FOUR);
}
#endif

/* Of numbers near 0 all together, or of some that are not: such are rare, and stand apart. */
#if defined(__AVX512DQ__)
static void far_normal_cdf(wide_four *x) __attribute__((noinline, unused));
static void far_normal_cdf(wide_four *x) {
    for (int k = 0; k < IN_FOUR; k++) {
        x->v[k] = wide_normal_cdf(x->v[k]);
    }
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_cdf(wide_four x) {
    if (__builtin_expect(four_any_beyond(x, MOST_NEAR), 0)) {
        wide_four far = x;
        far_normal_cdf(&far);
        return far;
    }
    wide_four sizes;
    wide_f32 values[IN_FOUR];
    for (int k = 0; k < IN_FOUR; k++) {
        sizes.v[k] = wide_size(x.v[k]);
    }
    near_roots(values, &sizes);
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_one_less_above(x.v[k], values[k] * values[k]);
    }
    return x;
}
#endif

/* 8 ulp. */
VECTOR_INLINE void normal_cdf_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_cdf(four_at(from + l, n - l)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        float size = normal_size(from[l]), tail = normal_tail(size, exp_half_square(size));
        to[l] = from[l] > 0 ? 1.0f - tail : tail;
    }
#endif
}

/* The slope of x Phi(x), which is Phi(x) + x phi(x), with the normal distribution's share below x and density at x: for x <= 0 it is
   exp(-s^2 / 2) w(s) where s = -x, elsewhere 1 less the same of s = x. w goes from 1 / 2 down, and nearly straight: in each quarter of an
   octave of 1 + s, which the number's own bits tell, it is a polynomial of what is beyond the quarter's beginning, with nearly the
   least absolute error (at most 1e-7, where w is -5). The exponential goes as wide_exp and exp_half_square do: s^2 = -2 (n + k / 16) ln 2 + u;
   2^(k / 16) is looked up less k / 16 in its exponent, so that the sum of both in 4 bits behind the point makes it 2^(n + k / 16).
   From s = 13.27 on that is 0. Infinity times nothing is NaN, which x - x makes. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_normal_slope(wide_f32 x) {
    static const float powers[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.fb5586p-1f, 0x1.f72b84p-1f, 0x1.f387a6p-1f, 0x1.f06fep-1f, 0x1.edea64p-1f, 0x1.ebfdaep-1f,
        0x1.eab07ep-1f, 0x1.ea09e6p-1f, 0x1.ea1148p-1f, 0x1.eace54p-1f, 0x1.ec4918p-1f, 0x1.ee89fap-1f,
        0x1.f199bep-1f, 0x1.f5818ep-1f, 0x1.fa4afap-1f
    };
    static const float terms[6][16] __attribute__((aligned(64))) = {
        {
            -0x1.19524cp-3f, -0x1.920e52p-2f, -0x1.4272dcp-1f, -0x1.b648d4p-1f, -0x1.1347b4p+0f, -0x1.805908p+0f,
            -0x1.eaf46cp+0f, -0x1.2a188ep+1f, -0x1.5e4c44p+1f, -0x1.c5f9aap+1f, -0x1.168d9p+2f, -0x1.49f7a6p+2f, 0x1p-1f,
            0x1.41d6f4p-2f, 0x1.3380a2p-3f, 0x1.0ce50cp-10f
        },
        {
            -0x1.1296a4p-1f, -0x1.f4f454p-2f, -0x1.d8c2c2p-2f, -0x1.c739bcp-2f, -0x1.bbbe0cp-2f, -0x1.ae53ep-2f,
            -0x1.a734f8p-2f, -0x1.a30798p-2f, -0x1.a0639ep-2f, -0x1.9d6256p-2f, -0x1.9bd008p-2f, -0x1.9ae478p-2f,
            -0x1.98844ap-1f, -0x1.63854ep-1f, -0x1.3f03b2p-1f, -0x1.253a44p-1f
        },
        {
            0x1.fca462p-5f, 0x1.2032c6p-5f, 0x1.5d250cp-6f, 0x1.bf2ff4p-7f, 0x1.2bd22p-7f, 0x1.2dbc8cp-8f, 0x1.5417bp-9f,
            0x1.a0e0f6p-10f, 0x1.1020eap-10f, 0x1.0b4f36p-11f, 0x1.2b887cp-12f, 0x1.6fdc3ep-13f, 0x1.fff94p-3f,
            0x1.5c52cap-3f, 0x1.e67dcap-4f, 0x1.5bf59cp-4f
        },
        {
            -0x1.989056p-6f, -0x1.97ab84p-7f, -0x1.b5e0aep-8f, -0x1.f4d7a8p-9f, -0x1.2b13b4p-9f, -0x1.f29aeap-11f,
            -0x1.dc1234p-12f, -0x1.f7e712p-13f, -0x1.1d0b7ap-13f, -0x1.c1fd4p-15f, -0x1.a3df9cp-16f, -0x1.ba8f3ap-17f,
            -0x1.0fe366p-3f, -0x1.58d0b6p-4f, -0x1.c14fc2p-5f, -0x1.2c33cep-5f
        },
        {
            0x1.1ba064p-7f, 0x1.fd5974p-9f, 0x1.ee1b2cp-10f, 0x1.004c86p-10f, 0x1.04bc8ap-11f, 0x1.73644cp-13f,
            0x1.333816p-14f, 0x1.1d709ep-15f, 0x1.08fde2p-16f, 0x1.5b156p-18f, 0x1.136752p-19f, 0x1.085aeap-20f,
            0x1.f18b92p-5f, 0x1.295944p-5f, 0x1.6d53eap-6f, 0x1.cc957p-7f
        },
        {
            -0x1.05b62cp-9f, -0x1.b4779ep-11f, -0x1.899cd8p-12f, -0x1.7c393ap-13f, -0x1.206acep-14f, -0x1.70ce6p-16f,
            -0x1.139466p-17f, -0x1.d1945cp-19f, -0x1.35c72p-20f, -0x1.64c51p-22f, -0x1.f83086p-24f, -0x1.26f8d2p-24f,
            -0x1.47153p-6f, -0x1.761baep-7f, -0x1.b7ce88p-8f, -0x1.094d0cp-8f
        },
    };
    wide_f32 size = wide_smaller(13.269f, wide_size(x)), power, beyond, value;
    wide_f32 shifted = size * size * -0x1.715476p-1f + 0x1.8p19f, n = shifted - 0x1.8p19f;
    wide_f32 u = n * 0x1.62ep+0f;
    __asm__("vfmadd231ps %1, %1, %0" : "+v"(u) : "v"(size));
    u = u + n * 0x1.0bfbe8p-14f;
    power = wide_look_up_16(powers, (wide_i32)shifted);
    power = (wide_f32)((wide_u32)power + ((wide_u32)shifted << 19));
    wide_f32 p = u * -0x1.555556p-6f + 0x1.00022p-3f;
    p = p * u - 0.5f;
    p = (power * u) * p + power;
    beyond = size + 1.0f;
    wide_i32 places = (wide_i32)beyond >> 21;
    beyond = beyond - (wide_f32)((wide_i32)beyond & (int32_t)0xffe00000);
    value = wide_look_up_16(terms[5], places);
    for (int k = 4; k >= 0; k--) {
        value = value * beyond + wide_look_up_16(terms[k], places);
    }
    return wide_one_less_above(x, value * p + (x - x));
}
#endif

/* As far as the tables below go: what rounds to 15 of their intervals. */
#define MOST_NEAR_OF_SLOPES 5.8124f

/* That slope at -s by tables of numbers near 0: 1.5 ulp up to 4.5, 4 at the end. Where it crosses 0 it has the digits of what it is the sum of. */
#if defined(__AVX512DQ__)
VECTOR_INLINE void near_slopes(wide_f32 *values, const wide_four *sizes) {
    static const float terms[8][16] __attribute__((aligned(64))) = {
        {
            0x1p-1f, 0x1.b70f42p-3f, 0x1.95f1eap-11f, -0x1.baa428p-4f, -0x1.050e92p-3f, -0x1.93c66ep-4f, -0x1.e4e1e4p-5f,
            -0x1.dc423ep-6f, -0x1.876f5ap-7f, -0x1.107234p-8f, -0x1.437006p-10f, -0x1.48ee38p-12f, -0x1.1f6eap-14f,
            -0x1.b08e6p-17f, -0x1.18b3ep-19f, -0x1.3a92bp-22f
        },
        {
            -0x1.988454p-1f, -0x1.62018cp-1f, -0x1.bb4638p-2f, -0x1.3ea998p-3f, 0x1.094086p-5f, 0x1.ab0674p-4f,
            0x1.8e2466p-4f, 0x1.fdc818p-5f, 0x1.fc47a4p-6f, 0x1.9cadaap-7f, 0x1.16bc9cp-8f, 0x1.3d072p-10f,
            0x1.31df8p-12f, 0x1.f73068p-15f, 0x1.621d1p-17f, 0x1.ab86c8p-20f
        },
        {
            0x1.7b8b42p-29f, 0x1.138b6ap-2f, 0x1.8d805ap-2f, 0x1.4db4aap-2f, 0x1.5c24b2p-3f, 0x1.ffc522p-6f,
            -0x1.36cb72p-5f, -0x1.8b77b6p-5f, -0x1.104af4p-5f, -0x1.1209f2p-6f, -0x1.b3fa3ap-8f, -0x1.1b639p-9f,
            -0x1.326594p-11f, -0x1.16748ap-13f, -0x1.ac6926p-16f, -0x1.18526cp-18f
        },
        {
            0x1.10582ep-2f, 0x1.8145c4p-3f, 0x1.3793b4p-6f, -0x1.d72da2p-4f, -0x1.27a53ep-3f, -0x1.83649p-4f,
            -0x1.f76efap-6f, 0x1.c32e58p-8f, 0x1.0a3dep-6f, 0x1.8b998ep-7f, 0x1.8de6bep-8f, 0x1.32e264p-9f,
            0x1.7c556ap-11f, 0x1.83a9d8p-13f, 0x1.49701p-15f, 0x1.d6f386p-18f
        },
        {
            0x1.7b84eep-19f, -0x1.880422p-4f, -0x1.d3806ep-4f, -0x1.ce217ep-5f, 0x1.bf8416p-7f, 0x1.6debd4p-5f,
            0x1.25f21cp-5f, 0x1.d67ba2p-7f, 0x1.67bf9p-22f, -0x1.1579dp-8f, -0x1.b8fd38p-9f, -0x1.b4c7d6p-10f,
            -0x1.429a7ap-11f, -0x1.7948cp-13f, -0x1.676e74p-15f, -0x1.1b83d4p-17f
        },
        {
            -0x1.ea764ep-5f, -0x1.1ac256p-5f, 0x1.dd262p-7f, 0x1.4bddfep-5f, 0x1.dfef22p-6f, 0x1.06c7fep-8f,
            -0x1.5bc126p-7f, -0x1.5847b4p-7f, -0x1.30f2dp-8f, -0x1.9bfd9cp-12f, 0x1.e6b04p-11f, 0x1.927046p-11f,
            0x1.8122e6p-12f, 0x1.0cd0cap-13f, 0x1.25b36ap-15f, 0x1.037616p-17f
        },
        {
            0x1.54d5bep-13f, 0x1.477936p-6f, 0x1.3c8cap-6f, 0x1.528c2ep-9f, -0x1.525b7p-7f, -0x1.45be56p-7f,
            -0x1.70d738p-9f, 0x1.0bf1b2p-9f, 0x1.4bfc5ep-9f, 0x1.34aa8ap-10f, 0x1.2567fap-13f, -0x1.76e504p-13f,
            -0x1.37d986p-13f, -0x1.1c1462p-14f, -0x1.739846p-16f, -0x1.794a1p-18f
        },
        {
            0x1.2a53c8p-7f, 0x1.11ed7p-8f, -0x1.2419b4p-8f, -0x1.c07a9ap-8f, -0x1.34eab6p-9f, 0x1.18fdf6p-9f,
            0x1.5c0c06p-9f, 0x1.daf0bp-11f, -0x1.828cfep-12f, -0x1.14770ap-11f, -0x1.f1f118p-13f, -0x1.adc584p-16f,
            0x1.10025ap-15f, 0x1.9d2b66p-16f, 0x1.57af14p-17f, 0x1.98f034p-19f
        },
    };
    wide_four places, t;
    near_places(&places, &t, sizes, 0.375f);
    polynomials_16(values, terms, 7, places.v, t.v, IN_FOUR);
}
#endif

#if defined(__AVX512DQ__)
static void far_normal_slope(wide_four *x) __attribute__((noinline, unused));
static void far_normal_slope(wide_four *x) {
    for (int k = 0; k < IN_FOUR; k++) {
        x->v[k] = wide_normal_slope(x->v[k]);
    }
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_slope(wide_four x) {
    if (__builtin_expect(four_any_beyond(x, MOST_NEAR_OF_SLOPES), 0)) {
        wide_four far = x;
        far_normal_slope(&far);
        return far;
    }
    wide_four sizes;
    wide_f32 values[IN_FOUR];
    for (int k = 0; k < IN_FOUR; k++) {
        sizes.v[k] = wide_size(x.v[k]);
    }
    near_slopes(values, &sizes);
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_one_less_above(x.v[k], values[k]);
    }
    return x;
}
#endif

/* 8 ulp where x > -0.25; it crosses 0 at -0.75, beyond which it has as many digits again. */
VECTOR_INLINE void normal_slope_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_slope(four_at(from + l, n - l)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = gelu_slope_f32(from[l]);
    }
#endif
}

#endif
