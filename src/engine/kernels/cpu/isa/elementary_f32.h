/* SPDX-License-Identifier: Apache-2.0 */
/* What pointwise_real_functions.h asks for, where `elem` is float. */
#ifndef ENGINE_KERNELS_CPU_ISA_ELEMENTARY_F32_H
#define ENGINE_KERNELS_CPU_ISA_ELEMENTARY_F32_H

#include "engine/kernels/cpu/isa/vector_math.h"

#include <math.h>

VECTOR_INLINE float real_abs(float x) {
    return fabsf(x);
}

VECTOR_INLINE float real_sqrt(float x) {
    return sqrtf(x);
}

VECTOR_INLINE float real_exp(float x) {
    return exp_f32(x);
}

VECTOR_INLINE float real_exp_negative(float x) {
    return exp_negative_f32(x);
}

VECTOR_INLINE float real_expm1_negative(float x) {
    return expm1_negative_f32(x);
}

VECTOR_INLINE float real_log2(float x) {
    return log2_f32(x);
}


VECTOR_INLINE float real_floor(float x) {
    return floorf(x);
}

VECTOR_INLINE float real_round(float x) {
    return rintf(x);
}

VECTOR_INLINE float real_sigmoid(float x) {
    return sigmoid_f32(x);
}

VECTOR_INLINE float real_tanh(float x) {
    return tanh_f32(x);
}

VECTOR_INLINE float divide_trunc(float x, float y) {
    return truncf(x / y);
}

#endif
