/* SPDX-License-Identifier: Apache-2.0 */
/* More functions like those of vector_halves.h, and a template like that: the normal distribution's share below a number, and the slope of
   what gelu makes of it. Most steps of 64 have no number whose size is 5 or more: their tables need neither limits nor care for NaN. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_HALF_NORMAL_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_HALF_NORMAL_H

#include "engine/kernels/cpu/isa/vector_halves.h"

/* The normal distribution's share below x, as the square of the table of its root, of degree 3: all of it from 3.8 on, and 0 in the first
   interval, below -5.73, where x times it is 0 in f16. 1e-4 where that is a normal number, 5e-4 below. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_limited_normal_cdf(wide_four x) {
    static const float terms[4][32] __attribute__((aligned(64))) = {
        {
            0x1.6a09d4p-1f, 0x1.6a015ap-1f, 0x1.695a94p-1f, 0x1.66e586p-1f, 0x1.62bcd4p-1f, 0x1.601c4p-1f, 0x1.64acep-1f,
            0x1.749972p-1f, 0x1.8f3598p-1f, 0x1.aeda72p-1f, 0x1.cc675p-1f, 0x1.e30ba4p-1f, 0x1.f1a4fcp-1f, 0x0p+0f,
            0x1.3a351p-4f, 0x1.0e1f42p-3f, 0x1.b3c38cp-3f, 0x1.495fcap-2f, 0x1.d2019ap-2f, 0x1.343328p-1f, 0x1.7ce33p-1f,
            0x1.b7ef54p-1f, 0x1.dbe71p-1f, 0x1.e4b488p-1f, 0x1.d5941ap-1f, 0x1.b818fcp-1f, 0x1.982bcep-1f, 0x1.7f2ab2p-1f,
            0x1.70bf38p-1f, 0x1.6b1b84p-1f, 0x1.69fd82p-1f, 0x1.6a05dep-1f
        },
        {
            0x1.20dd78p-2f, 0x1.21dac4p-2f, 0x1.29fd9ep-2f, 0x1.3cf412p-2f, 0x1.542c3ep-2f, 0x1.5fe29cp-2f,
            0x1.503f58p-2f, 0x1.211a32p-2f, 0x1.b8f2bap-3f, 0x1.289372p-3f, 0x1.5f8b42p-4f, 0x1.6fc7e4p-5f,
            0x1.548058p-6f, 0x0p+0f, 0x1.387e84p-5f, 0x1.195c86p-4f, 0x1.dbcd44p-4f, 0x1.792e7p-3f, 0x1.17c8eep-2f,
            0x1.838ac2p-2f, 0x1.f3f22cp-2f, 0x1.2b878ap-1f, 0x1.4c7c3ep-1f, 0x1.5537f8p-1f, 0x1.43c502p-1f,
            0x1.1d91c4p-1f, 0x1.dbff24p-2f, 0x1.84383ap-2f, 0x1.46a646p-2f, 0x1.27ffc4p-2f, 0x1.1fc75ep-2f, 0x1.205fe8p-2f
        },
        {
            -0x1.cb79f6p-5f, -0x1.f6599p-5f, -0x1.401b42p-4f, -0x1.a25054p-4f, -0x1.f90676p-4f, -0x1.0def1ep-3f,
            -0x1.f82284p-4f, -0x1.9aff12p-4f, -0x1.24e9dap-4f, -0x1.6e23fap-5f, -0x1.92e4bep-6f, -0x1.87d596p-7f,
            -0x1.521796p-8f, 0x0p+0f, 0x1.a00db2p-8f, 0x1.88b97p-7f, 0x1.5c8c94p-6f, 0x1.224a7ap-5f, 0x1.c4a28p-5f,
            0x1.4948fep-4f, 0x1.bd3258p-4f, 0x1.1611f6p-3f, 0x1.3e5892p-3f, 0x1.49e56cp-3f, 0x1.2f0c6cp-3f,
            0x1.da0216p-4f, 0x1.1cce2cp-4f, 0x1.3c65ep-6f, -0x1.820dfcp-6f, -0x1.9fd3dap-5f, -0x1.f0cb76p-5f,
            -0x1.e348a2p-5f
        },
        {
            -0x1.91e0c4p-6f, -0x1.becf9ap-7f, -0x1.926eb2p-10f, 0x1.230676p-7f, 0x1.fb9acap-7f, 0x1.206204p-6f,
            0x1.052608p-6f, 0x1.8f83bp-7f, 0x1.07f71ep-7f, 0x1.30f1bap-8f, 0x1.366194p-9f, 0x1.17f144p-10f,
            0x1.c18054p-12f, 0x0p+0f, 0x1.72a5d4p-12f, 0x1.6f1e7p-11f, 0x1.56677p-10f, 0x1.2c132ap-9f, 0x1.ecc84ap-9f,
            0x1.799bfap-8f, 0x1.0c82f6p-7f, 0x1.5f5414p-7f, 0x1.a0fbp-7f, 0x1.b557fp-7f, 0x1.7e3eb2p-7f, 0x1.cbc8c2p-8f,
            -0x1.5301f6p-11f, -0x1.570248p-7f, -0x1.52ce6ep-6f, -0x1.da33c4p-6f, -0x1.0e7ae8p-5f, -0x1.023fc2p-5f
        },
    };
    wide_four near;
    for (int k = 0; k < IN_FOUR; k++) {
        near.v[k] = wide_larger(-5.89f, wide_smaller(3.8f, x.v[k]));
    }
    wide_four root = four_from_table(terms, near, 3, 1 / 0.31f);
    for (int k = 0; k < IN_FOUR; k++) {
        root.v[k] = root.v[k] * root.v[k];
    }
    return root;
}
#endif

/* The same by the table of its logarithm to base 2: all of it from 3.95 on, and below -12.9, where f32 has hardly a normal number for
   it, 0. 3.2e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_low_normal_cdf(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            -0x1.00008ep+0f, -0x1.fc1834p-1f, -0x1.d7ed86p-1f, -0x1.78cc5ap-1f, -0x1.dca89cp-2f, -0x1.c309cep-3f,
            -0x1.3691fp-4f, -0x1.35532ep-6f, -0x1.70e3ecp+1f, -0x1.699752p+1f, -0x1.62043p+1f, -0x1.5a259ep+1f,
            -0x1.51f64ep+1f, -0x1.49707cp+1f, -0x1.408df4p+1f, -0x1.374816p+1f, -0x1.2d97dcp+1f, -0x1.2375fep+1f,
            -0x1.18db24p+1f, -0x1.0dc046p+1f, -0x1.021f4ap+1f, -0x1.ebe814p+0f, -0x1.d27c0ap+0f, -0x1.b8061ap+0f,
            -0x1.9ca72cp+0f, -0x1.80a2ccp+0f, -0x1.647372p+0f, -0x1.48e718p+0f, -0x1.2f41f6p+0f, -0x1.1957e8p+0f,
            -0x1.096938p+0f, -0x1.014792p+0f
        },
        {
            0x1.2763acp+0f, 0x1.1a2526p+0f, 0x1.da7866p-1f, 0x1.4aae38p-1f, 0x1.685296p-2f, 0x1.262e9cp-3f, 0x1.60b3dp-5f,
            0x1.354f62p-7f, 0x1.c5a998p-3f, 0x1.d86c42p-3f, 0x1.ecc1e2p-3f, 0x1.016eep-2f, 0x1.0d7dfp-2f, 0x1.1ab174p-2f,
            0x1.293336p-2f, 0x1.3934e6p-2f, 0x1.4af1fap-2f, 0x1.5eb1fp-2f, 0x1.74cb3ep-2f, 0x1.8da6e4p-2f, 0x1.a9c4e8p-2f,
            0x1.c9c1a4p-2f, 0x1.ee5bcap-2f, 0x1.0c3d26p-1f, 0x1.249806p-1f, 0x1.40dc34p-1f, 0x1.61b06cp-1f,
            0x1.87a398p-1f, 0x1.b2dc76p-1f, 0x1.e269acp-1f, 0x1.0972fp+0f, 0x1.1e179ep+0f
        },
        {
            -0x1.d5a09ep-2f, -0x1.750daep-2f, -0x1.0482ap-2f, -0x1.2ef75cp-3f, -0x1.162a38p-4f, -0x1.83d3aap-6f,
            -0x1.92c5aap-8f, -0x1.363a14p-10f, -0x1.6f2094p-1f, -0x1.6ef05cp-1f, -0x1.6eb9c6p-1f, -0x1.6e7ba8p-1f,
            -0x1.6e3496p-1f, -0x1.6de2cap-1f, -0x1.6d840ap-1f, -0x1.6d1582p-1f, -0x1.6c9398p-1f, -0x1.6bf998p-1f,
            -0x1.6b416p-1f, -0x1.6a62c6p-1f, -0x1.6952ccp-1f, -0x1.68026cp-1f, -0x1.665ccp-1f, -0x1.644446p-1f,
            -0x1.618e98p-1f, -0x1.5dfdbp-1f, -0x1.593578p-1f, -0x1.52ab68p-1f, -0x1.498df2p-1f, -0x1.3ca292p-1f,
            -0x1.2a2158p-1f, -0x1.0fae9ep-1f
        },
    };
    wide_four near;
    for (int k = 0; k < IN_FOUR; k++) {
        near.v[k] = wide_smaller(3.95f, x.v[k]);
    }
    return four_powers(four_from_table(terms, near, 2, 1 / 0.53f), x, -12.9f);
}
#endif

/* The same where the size is below 5, as the square of the table of its root: 3e-4, 7.8e-5 where it is below 4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_cdf_within(wide_four x) {
    static const float terms[4][32] __attribute__((aligned(64))) = {
        {
            0x1.6a09dp-1f, 0x1.69ffd6p-1f, 0x1.693d7p-1f, 0x1.66757ep-1f, 0x1.6216b4p-1f, 0x1.604c52p-1f,
            0x1.676e5ep-1f, 0x1.7b3a32p-1f, 0x1.994138p-1f, 0x1.ba2e6ap-1f, 0x1.d688b6p-1f, 0x1.ea7b7ap-1f,
            0x1.f639d6p-1f, 0x1.fc1a88p-1f, 0x1.fea216p-1f, 0x1.ff93b4p-1f, 0x1.41a292p-3f, 0x1.02053ep-2f,
            0x1.81a33cp-2f, 0x1.0c190cp-1f, 0x1.5a6c3ap-1f, 0x1.9fe17cp-1f, 0x1.d072eep-1f, 0x1.e48e02p-1f,
            0x1.dc971ap-1f, 0x1.c136acp-1f, 0x1.9f9232p-1f, 0x1.836788p-1f, 0x1.7263f2p-1f, 0x1.6b76cap-1f,
            0x1.6a01fcp-1f, 0x1.6a0554p-1f
        },
        {
            0x1.20dd7ap-2f, 0x1.21fc08p-2f, 0x1.2b1b56p-2f, 0x1.3fc296p-2f, 0x1.57465p-2f, 0x1.5f2b54p-2f,
            0x1.47820ep-2f, 0x1.0f196ap-2f, 0x1.8937acp-3f, 0x1.f17b2p-4f, 0x1.128bb4p-4f, 0x1.09006cp-5f,
            0x1.c0cf76p-7f, 0x1.4e7e38p-8f, 0x1.b8189ep-10f, 0x1.00331p-11f, 0x1.54898ap-4f, 0x1.1efd94p-3f,
            0x1.c2be76p-3f, 0x1.49124p-2f, 0x1.bd839p-2f, 0x1.16cf94p-1f, 0x1.41a346p-1f, 0x1.5511e8p-1f,
            0x1.4c1702p-1f, 0x1.29ee86p-1f, 0x1.f36d4ep-2f, 0x1.945794p-2f, 0x1.4e7c76p-2f, 0x1.2a47a4p-2f,
            0x1.1ff328p-2f, 0x1.20544cp-2f
        },
        {
            -0x1.cb5a88p-5f, -0x1.f9f636p-5f, -0x1.47527p-4f, -0x1.ae4278p-4f, -0x1.017142p-3f, -0x1.0d068ap-3f,
            -0x1.e5ad6cp-4f, -0x1.7a6b66p-4f, -0x1.fe44d4p-5f, -0x1.2ad56cp-5f, -0x1.3161b8p-6f, -0x1.117d82p-7f,
            -0x1.af0fa2p-9f, -0x1.2bfd0cp-10f, -0x1.71cf28p-12f, -0x1.94bcp-14f, 0x1.e35a1ep-7f, 0x1.ac96aap-6f,
            0x1.626738p-5f, 0x1.1074bep-4f, 0x1.83e4d6p-4f, 0x1.fc8fecp-4f, 0x1.30a6e4p-3f, 0x1.49b386p-3f,
            0x1.3c34b2p-3f, 0x1.03574cp-3f, 0x1.4e3656p-4f, 0x1.dfb716p-6f, -0x1.1ea812p-6f, -0x1.8c771cp-5f,
            -0x1.ee9656p-5f, -0x1.e487e8p-5f
        },
        {
            -0x1.91d35ap-6f, -0x1.aede1p-7f, -0x1.388d48p-11f, 0x1.44c45p-7f, 0x1.083922p-6f, 0x1.1ed928p-6f,
            0x1.f05616p-7f, 0x1.683e6ap-7f, 0x1.c03b8ap-8f, 0x1.e3aa2ap-9f, 0x1.c827c6p-10f, 0x1.7a3c4cp-11f,
            0x1.15033p-12f, 0x1.67ae62p-14f, 0x1.9f27cep-16f, 0x1.aae674p-18f, 0x1.cba39p-11f, 0x1.ad651cp-10f,
            0x1.76911ap-9f, 0x1.2ff912p-8f, 0x1.c89a3ep-8f, 0x1.3aeaacp-7f, 0x1.89efdep-7f, 0x1.b50134p-7f,
            0x1.99f8fp-7f, 0x1.1baa9p-7f, 0x1.819176p-10f, -0x1.122ee6p-7f, -0x1.389b46p-6f, -0x1.cc9132p-6f,
            -0x1.0d4e5p-5f, -0x1.039cbp-5f
        },
    };
    wide_four root = four_from_table(terms, x, 3, 15.5f / 5.0f);
    for (int k = 0; k < IN_FOUR; k++) {
        root.v[k] = root.v[k] * root.v[k];
    }
    return root;
}
#endif

/* What has numbers beyond that table is rare, and stands apart: it would take registers that the table needs. What is as low as the limited
   table does not go, or not so near, takes a quarter longer. */
#if defined(__AVX512DQ__)
static void far_normal_cdf_for_bf16(wide_four *x) __attribute__((noinline, unused));
static void far_normal_cdf_for_bf16(wide_four *x) {
    *x = four_any_below(*x, -5.2f) ? four_low_normal_cdf(*x) : four_limited_normal_cdf(*x);
}
#endif

#if defined(__AVX512DQ__)
static void far_normal_cdf_for_f16(wide_four *x) __attribute__((noinline, unused));
static void far_normal_cdf_for_f16(wide_four *x) {
    *x = four_limited_normal_cdf(*x);
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_cdf_for_bf16(wide_four x) {
    if (__builtin_expect(four_any_beyond(x, 4.99f), 0)) {
        wide_four far = x;
        far_normal_cdf_for_bf16(&far);
        return far;
    }
    return four_normal_cdf_within(x);
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_cdf_for_f16(wide_four x) {
    if (__builtin_expect(four_any_beyond(x, 4.99f), 0)) {
        wide_four far = x;
        far_normal_cdf_for_f16(&far);
        return far;
    }
    return four_normal_cdf_within(x);
}
#endif

/* The slope of x times that share: at -s, for s = |x|, (0.7518 - s) times a value, so that digits are kept beside the zero; at s it is 1 less
   that. Of infinity there is none. s: |x| as far as the value's table goes. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_slope_of(wide_four x, wide_four s, wide_four value) {
    for (int k = 0; k < IN_FOUR; k++) {
        uint16_t above;
        value.v[k] = (0x1.80ead2p-1f - s.v[k]) * value.v[k];
        value.v[k] = x.v[k] * 0.0f + value.v[k];
        __asm__("vcmpltps %2, %1, %0" : "=Yk"(above) : "v"(wide_of(0)), "v"(x.v[k]));
        __asm__("vsubps %0, %1, %0 %{%2%}" : "+v"(value.v[k]) : "v"(wide_of(1)), "Yk"(above));
    }
    return value;
}
#endif

/* By the square of a table of its root, of degree 3. Below -6.6 it is that of -6.6, which is 0 in f16. 3.2e-5 up to 4, 1.2e-4 up to 5, where it is no normal
   number of f16, 7e-4 at the end. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_limited_normal_slope(wide_four x) {
    static const float terms[4][32] __attribute__((aligned(64))) = {
        {
            0x1.a18c4p-1f, 0x1.a1888cp-1f, 0x1.a14cbp-1f, 0x1.a0879ep-1f, 0x1.9f60dcp-1f, 0x1.9f0dfep-1f,
            0x1.a209e8p-1f, 0x1.abb5aap-1f, 0x1.bf6b4p-1f, 0x1.df469cp-1f, 0x1.0587d4p+0f, 0x1.1fd5ap+0f,
            0x1.3ba722p+0f, 0x1.5537bcp+0f, 0x1.689bb4p+0f, 0x1.728576p+0f, 0x1.70e3f2p+0f, 0x1.6338b2p+0f,
            0x1.4a93dcp+0f, 0x1.29459p+0f, 0x1.025e66p+0f, 0x1.b2443p-1f, 0x1.6116bcp-1f, 0x1.15eac4p-1f,
            0x1.a7c8d2p-2f, 0x1.392a0cp-2f, 0x1.c0da34p-3f, 0x1.381cdep-3f, 0x1.a56118p-4f, 0x1.144488p-4f,
            0x1.5ffd12p-5f, 0x1.bbf292p-6f
        },
        {
            -0x1.bb99dp-4f, -0x1.b911e4p-4f, -0x1.a7b638p-4f, -0x1.848e34p-4f, -0x1.5e7faap-4f, -0x1.555d62p-4f,
            -0x1.92244ap-4f, -0x1.1d6a4ap-3f, -0x1.b2f458p-3f, -0x1.4450e4p-2f, -0x1.c7dc34p-2f, -0x1.2b7ddep-1f,
            -0x1.70a546p-1f, -0x1.ab296cp-1f, -0x1.d44f3p-1f, -0x1.e7f68p-1f, -0x1.e512d4p-1f, -0x1.cd81e2p-1f,
            -0x1.a55af2p-1f, -0x1.71fa6ep-1f, -0x1.390466p-1f, -0x1.ff22d8p-2f, -0x1.9346cep-2f, -0x1.33d1f4p-2f,
            -0x1.c7127ep-3f, -0x1.4609d4p-3f, -0x1.c528d6p-4f, -0x1.31ac42p-4f, -0x1.907ff4p-5f, -0x1.fde67ap-6f,
            -0x1.3b8ecep-6f, -0x1.834678p-7f
        },
        {
            -0x1.3657f6p-3f, -0x1.3fd65p-3f, -0x1.5b2b3ep-3f, -0x1.7cd7e2p-3f, -0x1.97225ap-3f, -0x1.9c7602p-3f,
            -0x1.82a5acp-3f, -0x1.454a5p-3f, -0x1.cd588cp-4f, -0x1.bcad5p-5f, 0x1.49fb4ap-7f, 0x1.2cee12p-4f,
            0x1.091b8cp-3f, 0x1.626c98p-3f, 0x1.9ca5f2p-3f, 0x1.b6a0f8p-3f, 0x1.b338a4p-3f, 0x1.98218cp-3f,
            0x1.6c8322p-3f, 0x1.37ab9cp-3f, 0x1.001038p-3f, 0x1.95663p-4f, 0x1.35d97ep-4f, 0x1.ca10e8p-5f,
            0x1.47e484p-5f, 0x1.c71686p-6f, 0x1.32722ep-6f, 0x1.90c66ep-7f, 0x1.fd51cap-8f, 0x1.3aa852p-8f,
            0x1.7a324ap-9f, 0x1.c38074p-10f
        },
        {
            0x1.34b69p-7f, 0x1.6325e8p-6f, 0x1.267b98p-5f, 0x1.7d110ep-5f, 0x1.ada718p-5f, 0x1.b5e1b8p-5f,
            0x1.989d64p-5f, 0x1.5d0bdcp-5f, 0x1.0d2a7p-5f, 0x1.6800b8p-6f, 0x1.6fbbp-7f, 0x1.ac023p-10f,
            -0x1.8ff6fcp-8f, -0x1.7dcd4ap-7f, -0x1.ebacfap-7f, -0x1.0cbcd4p-6f, -0x1.0a100ep-6f, -0x1.ea991ep-7f,
            -0x1.ab68fp-7f, -0x1.62efbcp-7f, -0x1.1a8c62p-7f, -0x1.b0e65ep-8f, -0x1.4007cp-8f, -0x1.c99648p-9f,
            -0x1.3cdde2p-9f, -0x1.a99c86p-10f, -0x1.158108p-10f, -0x1.5f9deap-11f, -0x1.b1330cp-12f,
            -0x1.03a066p-12f, -0x1.2eec04p-13f, -0x1.5faea4p-14f
        },
    };
    wide_four s;
    for (int k = 0; k < IN_FOUR; k++) {
        s.v[k] = wide_smaller(6.6f, wide_size(x.v[k]));
    }
    wide_four value = four_from_table(terms, s, 3, 1 / 0.21f);
    for (int k = 0; k < IN_FOUR; k++) {
        value.v[k] = value.v[k] * value.v[k];
    }
    return four_slope_of(x, s, value);
}
#endif

/* By 2^y, where the table of y has the exponential and all else: 0 where that is below f32's normal numbers. 1.4e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_low_normal_slope(wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            -0x1.2d4532p-1f, -0x1.2e6e1p-1f, -0x1.35254cp-1f, -0x1.4128acp-1f, -0x1.5080dap-1f, -0x1.615fc6p-1f,
            -0x1.72874ep-1f, -0x1.8338d2p-1f, -0x1.930e88p-1f, -0x1.a1da6ep-1f, -0x1.af8f66p-1f, -0x1.bc32a8p-1f,
            -0x1.c7d2f2p-1f, -0x1.d2834cp-1f, -0x1.dc581ep-1f, -0x1.e5658ap-1f, -0x1.edbe92p-1f, -0x1.f574bcp-1f,
            -0x1.fc97eep-1f, -0x1.019b3ap+0f, -0x1.04ae8cp+0f, -0x1.078bap+0f, -0x1.0a3788p+0f, -0x1.0cb6cap+0f,
            -0x1.0f0d6ap+0f, -0x1.113fp+0f, -0x1.134ebcp+0f, -0x1.153f7ap+0f, -0x1.1713cep+0f, -0x1.18cep+0f,
            -0x1.1a7022p+0f, -0x1.1bfc12p+0f
        },
        {
            -0x1.8723d6p-2f, -0x1.743b24p-2f, -0x1.4898a8p-2f, -0x1.19edbcp-2f, -0x1.deebb2p-3f, -0x1.966942p-3f,
            -0x1.5a288cp-3f, -0x1.28963ap-3f, -0x1.ffb832p-4f, -0x1.bc97b2p-4f, -0x1.84f98p-4f, -0x1.569794p-4f,
            -0x1.2fa452p-4f, -0x1.0eb3dep-4f, -0x1.e54f1cp-5f, -0x1.b539c4p-5f, -0x1.8bc01p-5f, -0x1.67c2dep-5f,
            -0x1.485b76p-5f, -0x1.2ccf46p-5f, -0x1.148676p-5f, -0x1.fe0934p-6f, -0x1.d7c652p-6f, -0x1.b59a32p-6f,
            -0x1.96f6f8p-6f, -0x1.7b65aap-6f, -0x1.6281f4p-6f, -0x1.4bf6d8p-6f, -0x1.377bfp-6f, -0x1.24d352p-6f,
            -0x1.13c7ccp-6f, -0x1.042b7ap-6f
        },
        {
            -0x1.2742b2p-1f, -0x1.3b06cap-1f, -0x1.4ce904p-1f, -0x1.584732p-1f, -0x1.5fa2f2p-1f, -0x1.6482c4p-1f,
            -0x1.67d1dcp-1f, -0x1.6a1ef6p-1f, -0x1.6bc21ep-1f, -0x1.6cf2bcp-1f, -0x1.6dd478p-1f, -0x1.6e7ebap-1f,
            -0x1.6f013ep-1f, -0x1.6f66c4p-1f, -0x1.6fb6cap-1f, -0x1.6ff6a6p-1f, -0x1.702a2cp-1f, -0x1.70542ap-1f,
            -0x1.7076b4p-1f, -0x1.70935ep-1f, -0x1.70ab58p-1f, -0x1.70bf88p-1f, -0x1.70d0a8p-1f, -0x1.70df46p-1f,
            -0x1.70ebd2p-1f, -0x1.70f6a4p-1f, -0x1.710008p-1f, -0x1.710838p-1f, -0x1.710f62p-1f, -0x1.7115aep-1f,
            -0x1.711b3ep-1f, -0x1.71202ap-1f
        },
    };
    wide_four s;
    for (int k = 0; k < IN_FOUR; k++) {
        s.v[k] = wide_smaller(13.1f, wide_size(x.v[k]));
    }
    wide_four y = four_from_table(terms, s, 2, 1 / 0.4159f), value = four_powers(y, y, -124.5f);
    return four_slope_of(x, s, value);
}
#endif

/* The same where the size is below 5: x + 0.7518 times what is left, by the table of its root. 2.9e-4. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_slope_within(wide_four x) {
    static const float terms[4][32] __attribute__((aligned(64))) = {
        {
            0x1.a18c06p-1f, 0x1.a178p-1f, 0x1.a05c86p-1f, 0x1.9e568ap-1f, 0x1.a1dd36p-1f, 0x1.b816f8p-1f,
            0x1.e9c31cp-1f, 0x1.158cap+0f, 0x1.2e74bcp+0f, 0x1.331774p+0f, 0x1.243b22p+0f, 0x1.0c447p+0f,
            0x1.eab28cp-1f, 0x1.c85634p-1f, 0x1.b177b6p-1f, 0x1.a25ce2p-1f, 0x1.63f5fp-2f, 0x1.122f2cp-1f,
            0x1.87d044p-1f, 0x1.031e5p+0f, 0x1.3c921p+0f, 0x1.64c27ep+0f, 0x1.731ad6p+0f, 0x1.659c2ap+0f,
            0x1.4351ccp+0f, 0x1.18fdaep+0f, 0x1.e7c23p-1f, 0x1.b7df6cp-1f, 0x1.a2fc4p-1f, 0x1.9f0174p-1f,
            0x1.a07ea4p-1f, 0x1.a178fp-1f
        },
        {
            0x1.bba08p-4f, 0x1.c4c34ep-4f, 0x1.fb068ep-4f, 0x1.1cc54p-3f, 0x1.f35f86p-4f, 0x1.11bf6ep-5f,
            -0x1.0a8354p-3f, -0x1.40cbaap-2f, -0x1.bd8404p-2f, -0x1.d2ca4ap-2f, -0x1.99036ap-2f, -0x1.4416ecp-2f,
            -0x1.f3891p-3f, -0x1.8cef74p-3f, -0x1.4db424p-3f, -0x1.26d788p-3f, 0x1.772fdcp-3f, 0x1.2f157p-2f,
            0x1.c5f666p-2f, 0x1.3a0182p-1f, 0x1.8f547ap-1f, 0x1.d00bcp-1f, 0x1.e91212p-1f, 0x1.ce38dep-1f,
            0x1.82d3aep-1f, 0x1.19b416p-1f, 0x1.5f5262p-2f, 0x1.7c8ae8p-3f, 0x1.a48f22p-4f, 0x1.544858p-4f,
            0x1.82d564p-4f, 0x1.b2e73ap-4f
        },
        {
            -0x1.34b224p-3f, -0x1.4d5764p-3f, -0x1.85c5ecp-3f, -0x1.ae3b04p-3f, -0x1.912e6ep-3f, -0x1.15c866p-3f,
            -0x1.653faap-5f, 0x1.692e06p-5f, 0x1.84e7b6p-4f, 0x1.a56724p-4f, 0x1.5a7f54p-4f, 0x1.ec484p-5f,
            0x1.4b8e42p-5f, 0x1.cad16ep-6f, 0x1.563cd4p-6f, 0x1.139192p-6f, 0x1.092b6p-5f, 0x1.c20ef8p-5f,
            0x1.62128cp-4f, 0x1.00ed4p-3f, 0x1.556d6ep-3f, 0x1.9aec1p-3f, 0x1.b807cap-3f, 0x1.9469bp-3f, 0x1.25d66ap-3f,
            0x1.dea42ep-5f, -0x1.4a295p-5f, -0x1.0754fap-3f, -0x1.7b3452p-3f, -0x1.9cf4fep-3f, -0x1.7e80e4p-3f,
            -0x1.4c57dep-3f
        },
        {
            -0x1.54b63p-8f, 0x1.49e3c2p-6f, 0x1.445a8ep-5f, 0x1.8a8334p-5f, 0x1.6a7dd4p-5f, 0x1.f48792p-6f,
            0x1.b2b41ap-7f, -0x1.86d9bp-11f, -0x1.008982p-7f, -0x1.21964p-7f, -0x1.c1a42ap-8f, -0x1.237578p-8f,
            -0x1.5f1fe2p-9f, -0x1.aefdf6p-10f, -0x1.1faacep-10f, -0x1.a6ce98p-11f, 0x1.f66a2ep-10f, 0x1.c0915cp-9f,
            0x1.737848p-8f, 0x1.1b8ba8p-7f, 0x1.8b27cap-7f, 0x1.eeaffp-7f, 0x1.0deb74p-6f, 0x1.dcd3bp-7f,
            0x1.047bdcp-7f, -0x1.f255acp-9f, -0x1.3f9432p-6f, -0x1.274636p-5f, -0x1.909e22p-5f, -0x1.b67c4cp-5f,
            -0x1.81279ap-5f, -0x1.e5fddap-6f
        },
    };
    wide_four root = four_from_table(terms, x, 3, 15.5f / 5.0f);
    for (int k = 0; k < IN_FOUR; k++) {
        root.v[k] = (root.v[k] * (x.v[k] + 0x1.80ead2p-1f)) * root.v[k];
    }
    return root;
}
#endif

/* What has numbers beyond that table is rare, and stands apart: it would take registers that the table needs. What is as low as the limited
   table does not go, or not so near, takes a quarter longer. */
#if defined(__AVX512DQ__)
static void far_normal_half_slope(wide_four *x) __attribute__((noinline, unused));
static void far_normal_half_slope(wide_four *x) {
    *x = four_any_below(*x, -6.55f) ? four_low_normal_slope(*x) : four_limited_normal_slope(*x);
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_normal_slope_for_halves(wide_four x) {
    if (__builtin_expect(four_any_beyond(x, 4.99f), 0)) {
        wide_four far = x;
        far_normal_half_slope(&far);
        return far;
    }
    return four_normal_slope_within(x);
}
#endif

#endif
