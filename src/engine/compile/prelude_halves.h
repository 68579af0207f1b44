/* SPDX-License-Identifier: Apache-2.0 */
/* Template text: functions of blocks of numbers that become halves, by vector_halves.h where the processor has the instructions. It
   is copied, function by function, into what the compiler emits. */

VECTOR_INLINE void exp_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_exp_for_bf16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    exp_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void exp_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_exp_for_f16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    exp_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void sigmoid_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_sigmoid_for_bf16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    sigmoid_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void sigmoid_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_sigmoid_for_f16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    sigmoid_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void tanh_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_tanh_for_bf16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    tanh_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void tanh_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_tanh_for_f16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    tanh_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_cdf_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_normal_cdf_for_bf16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    normal_cdf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_cdf_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_normal_cdf_for_f16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    normal_cdf_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_slope_block_bf16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_normal_slope_for_bf16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    normal_slope_block_f32(to, from, n);
#endif
}

VECTOR_INLINE void normal_slope_block_f16(float *to, const float *from, int n) {
#if defined(__AVX512DQ__)
    for (int l = 0; l < n; l += 64) {
        wide_four x = {{{0}}};
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            x.v[k] = *(const wide_f32_anywhere *)(from + l + 16 * k);
        }
        x = four_normal_slope_for_f16(x);
        for (int k = 0; k < IN_FOUR && l + 16 * k < n; k++) {
            *(wide_f32_anywhere *)(to + l + 16 * k) = x.v[k];
        }
    }
#else
    normal_slope_block_f32(to, from, n);
#endif
}
