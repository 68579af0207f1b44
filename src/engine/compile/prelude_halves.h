/* SPDX-License-Identifier: Apache-2.0 */
/* Template text: functions of blocks of numbers that become halves, by vector_halves.h and its like where the processor
   has the instructions. It is copied, function by function, into what the compiler emits. */

VECTOR_INLINE void exp_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_exp_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    exp_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void exp_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_exp_for_f16(four_at(from + l, n - l)), n - l);
    }
#else
    exp_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void sigmoid_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_sigmoid_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    sigmoid_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void sigmoid_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_sigmoid_for_f16(four_at(from + l, n - l)), n - l);
    }
#else
    sigmoid_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void tanh_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_tanh_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    tanh_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void tanh_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_tanh_for_f16(four_at(from + l, n - l)), n - l);
    }
#else
    tanh_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_cdf_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_cdf_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    normal_cdf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_cdf_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_cdf_for_f16(four_at(from + l, n - l)), n - l);
    }
#else
    normal_cdf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_slope_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_slope_for_halves(four_at(from + l, n - l)), n - l);
    }
#else
    normal_slope_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_slope_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_slope_for_halves(four_at(from + l, n - l)), n - l);
    }
#else
    normal_slope_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void erf_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_erf_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    erf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void erf_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_erf_for_f16(four_at(from + l, n - l)), n - l);
    }
#else
    erf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void log2_block_halves(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_log2(four_at(from + l, n - l)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = log2_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void sqrt_block_halves(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_sqrt(four_at(from + l, n - l)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = __builtin_sqrtf(from[l]);
    }
#endif
}

VECTOR_INLINE void rsqrt_block_halves(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_rsqrt(four_at(from + l, n - l)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = 1 / __builtin_sqrtf(from[l]);
    }
#endif
}

/* Whether any is above a positive number; a NaN may count among them. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int four_any_above(wide_four x, float bound) {
    wide_i32 most = (wide_i32)x.v[0];
    uint16_t some;
    for (int k = 1; k < IN_FOUR; k++) {
        __asm__("vpmaxsd %1, %0, %0" : "+v"(most) : "v"(x.v[k]));
    }
    __asm__("vpcmpgtd %2, %1, %0" : "=Yk"(some) : "v"(most), "v"(wide_of(bound)));
    return some != 0;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_sizes(wide_four x) {
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_size(x.v[k]);
    }
    return x;
}
#endif

VECTOR_INLINE void sin_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(four_sizes(x), 1024.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = sine_f32(from[i]);
            }
        } else {
            four_to(to + l, four_sin_for_bf16(x), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = sine_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void sin_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(four_sizes(x), 1024.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = sine_f32(from[i]);
            }
        } else {
            four_to(to + l, four_sin_for_f16(x), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = sine_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void cos_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(four_sizes(x), 1024.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = cosine_f32(from[i]);
            }
        } else {
            four_to(to + l, four_cos_for_bf16(x), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = cosine_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void cos_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(four_sizes(x), 1024.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = cosine_f32(from[i]);
            }
        } else {
            four_to(to + l, four_cos_for_f16(x), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = cosine_f32(from[l]);
    }
#endif
}

/* Of the lesser of x and 0. 1.1 ulp; 2 where there are no tables. */
VECTOR_INLINE void expm1_below_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    block_in_fours(to, from, n, expm1_below_of);
#else
    for (int l = 0; l < n; l++) {
        to[l] = expm1_below_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void expm1_below_block_halves(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        for (int k = 0; k < IN_FOUR; k++) {
            x.v[k] = wide_smaller(0.0f, x.v[k]);
        }
        four_to(to + l, four_expm1(four_times(x, 0x1.715476p+0f)), n - l);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = expm1_below_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void expm1_block_halves(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(x, 80.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = expm1_f32(from[i]);
            }
        } else {
            four_to(to + l, four_expm1(four_times(x, 0x1.715476p+0f)), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = expm1_f32(from[l]);
    }
#endif
}

/* Powers by tables as in vector_pow.h, in single floats: 4e-5 at most, where |y log2 |x|| is 126. */
#if defined(__AVX512DQ__)
VECTOR_INLINE pow_pair near_log2(pow_pair x) {
    static const float inverse[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.e8p-1f, 0x1.d8p-1f, 0x1.dp-1f, 0x1.cp-1f, 0x1.b4p-1f, 0x1.a8p-1f, 0x1.ap-1f, 0x1.94p-1f,
        0x1.8cp-1f, 0x1.8p-1f, 0x1.78p-1f, 0x1.7p-1f, 0x1.68p-1f, 0x1.6p-1f, 0x1.58p-1f, 0x1.5p-1f, 0x1.4cp-1f,
        0x1.44p-1f, 0x1.4p-1f, 0x1.38p-1f, 0x1.34p-1f, 0x1.2cp-1f, 0x1.28p-1f, 0x1.2p-1f, 0x1.1cp-1f, 0x1.18p-1f,
        0x1.14p-1f, 0x1.1p-1f, 0x1.0cp-1f, 0x1.08p-1f, 0x1p-1f
    };
    static const float logarithms[32] __attribute__((aligned(64))) = {
        0x0p+0f, 0x1.1bb32ap-4f, 0x1.e0b1aep-4f, 0x1.22dadcp-3f, 0x1.8a898p-3f, 0x1.dac22ep-3f, 0x1.169c06p-2f,
        0x1.32bfeep-2f, 0x1.5dfddp-2f, 0x1.7b89fp-2f, 0x1.a8ff98p-2f, 0x1.c819dcp-2f, 0x1.e7df6p-2f,
        0x1.042bd4p-1f, 0x1.14c56p-1f, 0x1.25c0ap-1f, 0x1.37222cp-1f, 0x1.3ffad4p-1f, 0x1.51ff2ep-1f,
        0x1.5b2c3ep-1f, 0x1.6ddfc2p-1f, 0x1.7767c2p-1f, 0x1.8ad846p-1f, 0x1.94c288p-1f, 0x1.a8ff98p-1f,
        0x1.b35458p-1f, 0x1.bdce9ep-1f, 0x1.c86f7cp-1f, 0x1.d33812p-1f, 0x1.de298ep-1f, 0x1.e9452cp-1f, 0x1p+0f
    };
    pow_pair made;
    wide_f32 r[POW_PAIR], w[POW_PAIR], p[POW_PAIR];
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 m, e;
        __asm__("vgetmantps $4, %1, %0" : "=v"(m) : "v"(x.v[k])); /* in [1, 2), of its size */
        __asm__("vgetexpps %1, %0" : "=v"(e) : "v"(x.v[k]));
        wide_i32 places = (wide_i32)m >> 18;
        r[k] = wide_fused_less(m, pow_look_up(inverse, places), wide_of(1));
        w[k] = e + pow_look_up(logarithms, places);
    }
    for (int k = 0; k < POW_PAIR; k++) {
        p[k] = r[k] * -0x1.715476p-2f + 0x1.ec709ep-2f;
        p[k] = p[k] * r[k] - 0x1.715476p-1f;
        p[k] = p[k] * r[k] + 0x1.715476p+0f;
        made.v[k] = p[k] * r[k] + w[k];
    }
    return made;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE pow_pair near_exp2(pow_pair y, pow_pair logarithm, pow_pair *exponent) {
    static const float powers[32] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f, 0x1.2387a6p+0f,
        0x1.29e9ep+0f, 0x1.306fep+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f,
        0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f,
        0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f, 0x1.ae89fap+0f, 0x1.b7f77p+0f,
        0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f, 0x1.ea4afap+0f, 0x1.f50766p+0f
    };
    pow_pair made;
    for (int k = 0; k < POW_PAIR; k++) {
        wide_f32 z = y.v[k] * logarithm.v[k], shifted = z + 0x1.8p18f, n = shifted - 0x1.8p18f, f = z - n; /* in 1 / 32 */
        wide_f32 power = pow_look_up(powers, (wide_i32)shifted), p = f * 0x1.ebfd0cp-3f + 0x1.62e584p-1f;
        p = p * (power * f) + power;
        __asm__("vscalefps %2, %1, %0" : "=v"(made.v[k]) : "v"(p), "v"(n));
        exponent->v[k] = z;
    }
    return made;
}
#endif

VECTOR_INLINE void pow_block_halves(float *to, const float *x, const float *y, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 32) {
        const pow_pair bases = pow_elements(x + l, n - l), powers = pow_elements(y + l, n - l);
        pow_pair exponent, made = near_exp2(powers, near_log2(bases), &exponent);
        if (pow_signs(bases, powers, exponent, &made)) {
            pow_keep(to + l, made, n - l);
        } else {
            pow_any_f32(to + l, x + l, y + l, n - l < 32 ? n - l : 32);
        }
    }
#else
    pow_block_f32(to, x, y, n);
#endif
}

VECTOR_INLINE void pow_number_block_halves(float *to, const float *x, float y, int n) {
#if defined(__AVX512DQ__)
    const int plain = fabsf(y) < INFINITY && y != 0, by_tables = __builtin_constant_p(y) && pow_has_tables(y);
    const pow_tables tables = by_tables ? pow_tables_of(y) : (pow_tables){.span = 0};
    const uint32_t responses = pow_responses(y, y != __builtin_rintf(y));
    const pow_pair powers = pow_alike(y);
    for (int l = 0; l < n; l += 32) {
        const pow_pair bases = pow_elements(x + l, n - l);
        pow_pair exponent, made;
        int answered = by_tables && plain && pow_by_tables(&tables, 3, bases, pow_sign(y), responses, &made);
        if (!by_tables && plain) {
            made = near_exp2(powers, near_log2(bases), &exponent);
            answered = pow_answers(bases, pow_sign(y), responses, exponent, &made);
        }
        if (answered) {
            pow_keep(to + l, made, n - l);
        } else {
            pow_any_f32(to + l, x + l, (const float *)&powers, n - l < 32 ? n - l : 32);
        }
    }
#else
    pow_number_block_f32(to, x, y, n);
#endif
}

/* Of others not every power is that of 2 to a product. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int has_plain_logarithm(float x) {
    return x > 0 && x < INFINITY && x != 1;
}
#endif

/* 2^(y log2 x), by one of the powers of 2: the logarithm's rounding is 8e-6 of the largest. 0: x has no plain
   logarithm, and nothing is made. */
#if defined(__AVX512DQ__)
VECTOR_INLINE int number_pow_by(wide_four (*powers)(wide_four, wide_four, float), float *to, float x, const float *y, int n) {
    const float logarithm = (float)log2_wide(x);
    for (int l = 0; l < n && has_plain_logarithm(x); l += 64) {
        const wide_four z = four_times(four_at(y + l, n - l), logarithm);
        four_to(to + l, powers(z, z, -150.0f), n - l);
    }
    return has_plain_logarithm(x);
}
#endif

VECTOR_INLINE void number_pow_block_bf16(float *to, float x, const float *y, int n) {
#if defined(__AVX512DQ__)
    if (number_pow_by(four_powers, to, x, y, n)) {
        return;
    }
#endif
    number_pow_block_f32(to, x, y, n);
}

VECTOR_INLINE void number_pow_block_f16(float *to, float x, const float *y, int n) {
#if defined(__AVX512DQ__)
    if (number_pow_by(four_near_powers, to, x, y, n)) {
        return;
    }
#endif
    number_pow_block_f32(to, x, y, n);
}
