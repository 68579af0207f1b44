/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in f32, which serve f16, bf16 and f32. */
#include <stdint.h>
#include <string.h>

typedef float elem;

#include "device/caches.h"
#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"
#include "engine/kernels/cpu/isa/vector_angles.h"
#include "engine/kernels/cpu/isa/vector_erf.h"
#include "engine/kernels/cpu/isa/vector_expm1.h"
#include "engine/kernels/cpu/isa/vector_gelu.h"
#include "engine/kernels/cpu/isa/vector_root.h"

#include "engine/kernels/cpu/isa/elementary_f32.h"
#include "engine/kernels/cpu/isa/pointwise_convert.h"

ALWAYS_INLINE elem real_sin(elem x) {
    return sin_f32(x);
}

ALWAYS_INLINE elem real_cos(elem x) {
    return cos_f32(x);
}

ALWAYS_INLINE elem real_turned(elem x, elem y) {
    return float_of_bits(bits_of_float(x) ^ (bits_of_float(y) & 0x80000000u));
}

#define OF_ELEM(name) name##f
#define ANGLES_BY_LANES GELU_BY_TABLE
#define ANGLES_MOST TRIGONOMETRY_LIMIT
#define QUOTIENTS_MOST 0x1p20f
#define DIVISORS_MOST 0x1p100f
#define QUOTIENTS_BY_DOUBLE 1
#include "engine/kernels/cpu/isa/pointwise_checked.h"
#include "engine/kernels/cpu/isa/pointwise_pow.h"

#if GELU_BY_TABLE
#include "engine/kernels/cpu/isa/pointwise_f32_lanes.h"
#else
/* Where all of a block's results are normal numbers, 2^n is one factor. */
static void real_exp_loop(const pointwise_chunk *c) {
    enum { BLOCK = 512 };
    const elem *x = c->in[0];
    elem *out = c->out;
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        pointwise_chunk part = *c;
        part.n = c->n - from < BLOCK ? c->n - from : BLOCK;
        part.in[0] = x + from;
        part.out = out + from;
        int normal = 1;
#pragma omp simd reduction(& : normal)
        for (int64_t i = 0; i < part.n; i++) {
            normal &= fabsf(x[from + i]) < EXP_NORMAL;
        }
        if (normal != 0) {
            unary(&part, exp_normal_f32);
        } else {
            unary(&part, real_exp);
        }
    }
}

static void real_gelu_loop(const pointwise_chunk *c) {
    unary(c, gelu_f32);
}

static void real_erf_loop(const pointwise_chunk *c) {
    unary(c, erf_f32);
}

ALWAYS_INLINE elem real_gelu_backward(elem g, elem x) {
    return g * gelu_slope_f32(x);
}

static void real_gelu_backward_loop(const pointwise_chunk *c) {
    binary(c, real_gelu_backward);
}
#endif

#if POINTWISE_STREAMS
#define REAL_LOOPS ISA_SYMBOL(pointwise_f32_streaming)
#else
#define REAL_LOOPS ISA_SYMBOL(pointwise_f32)
#endif
#define OWN_NUMBER_LOOPS                                                                                                  \
    [PW_POW] = pow_number_loop, [PW_FMOD] = fmod_number_loop, [PW_REMAINDER] = remainder_number_loop,                     \
    [PW_DIV_FLOOR] = divide_floor_number_loop
#define OWN_NUMBER_FIRST_LOOPS [PW_POW] = number_pow_loop
#include "engine/kernels/cpu/isa/pointwise_real.h"
