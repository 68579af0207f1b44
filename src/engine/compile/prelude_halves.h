/* SPDX-License-Identifier: Apache-2.0 */
/* Template text: functions of blocks of numbers that become halves, by vector_halves.h and vector_half_functions.h where the processor
   has the instructions. It is copied, function by function, into what the compiler emits. */

/* Up to 64 numbers, in sixteens; what is beyond them is 0. */
#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_at(const float *from, int n) {
    wide_four x;
    for (int k = 0; k < IN_FOUR; k++) {
        x.v[k] = wide_of(0);
        if (16 * k < n) {
            x.v[k] = *(const wide_f32_anywhere *)(from + 16 * k);
        }
    }
    return x;
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE void four_to(float *to, wide_four x, int n) {
    for (int k = 0; k < IN_FOUR && 16 * k < n; k++) {
        *(wide_f32_anywhere *)(to + 16 * k) = x.v[k];
    }
}
#endif

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
        four_to(to + l, four_normal_slope_for_bf16(four_at(from + l, n - l)), n - l);
    }
#else
    normal_slope_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_slope_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        four_to(to + l, four_normal_slope_for_f16(four_at(from + l, n - l)), n - l);
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

VECTOR_INLINE void log2_block_bf16(float *to, const float *from, int n) {
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

VECTOR_INLINE void log2_block_f16(float *to, const float *from, int n) {
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

VECTOR_INLINE void rsqrt_block_bf16(float *to, const float *from, int n) {
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

VECTOR_INLINE void rsqrt_block_f16(float *to, const float *from, int n) {
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

VECTOR_INLINE void expm1_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(x, 80.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = expm1_f32(from[i]);
            }
        } else {
            four_to(to + l, four_expm1_for_bf16(four_times(x, 0x1.715476p+0f)), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = expm1_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void expm1_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = four_at(from + l, n - l);
        if (__builtin_expect(four_any_above(x, 80.0f), 0)) {
            for (int i = l; i < n && i < l + 64; i++) {
                to[i] = expm1_f32(from[i]);
            }
        } else {
            four_to(to + l, four_expm1_for_f16(four_times(x, 0x1.715476p+0f)), n - l);
        }
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = expm1_f32(from[l]);
    }
#endif
}
