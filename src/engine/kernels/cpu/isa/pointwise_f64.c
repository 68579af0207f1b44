/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in f64. Powers that vectors do not serve are libm's, one call an element. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"
#include "engine/kernels/cpu/isa/vector_doubles.h"
#include "engine/kernels/cpu/isa/vector_pow_f64.h"

#include "engine/kernels/cpu/isa/pointwise_convert.h"

ALWAYS_INLINE elem real_abs(elem x) {
    return fabs(x);
}

ALWAYS_INLINE elem real_sqrt(elem x) {
    return sqrt(x);
}

ALWAYS_INLINE elem real_exp(elem x) {
    return exp_f64(x);
}

ALWAYS_INLINE elem real_exp_negative(elem x) {
    return exp_negative_f64(x);
}

ALWAYS_INLINE elem real_expm1_negative(elem x) {
    return expm1_negative_f64(x);
}

ALWAYS_INLINE elem real_log2(elem x) {
    return log2_f64(x);
}

ALWAYS_INLINE elem real_erf(elem x) {
    return erf_f64(x);
}

ALWAYS_INLINE elem real_floor(elem x) {
    return floor(x);
}

ALWAYS_INLINE elem real_round(elem x) {
    return rint(x);
}

ALWAYS_INLINE elem real_tanh(elem x) {
    return tanh_f64(x);
}

ALWAYS_INLINE elem real_sigmoid(elem x) {
    return sigmoid_f64(x);
}

ALWAYS_INLINE elem real_gelu(elem x) {
    return gelu_f64(x);
}

ALWAYS_INLINE elem real_gelu_backward(elem g, elem x) {
    return g * normal_slope_f64(x);
}

ALWAYS_INLINE elem divide_trunc(elem x, elem y) {
    return trunc(x / y);
}

ALWAYS_INLINE elem real_sin(elem x) {
    return sin_f64(x);
}

ALWAYS_INLINE elem real_cos(elem x) {
    return cos_f64(x);
}

ALWAYS_INLINE elem real_turned(elem x, elem y) {
    return double_of_bits(bits_of_double(x) ^ (bits_of_double(y) & 0x8000000000000000u));
}

#define OF_ELEM(name) name
#define ANGLES_BY_LANES 0
#define ANGLES_MOST TRIGONOMETRY_LIMIT_F64
#define QUOTIENTS_MOST 0x1p49
#define DIVISORS_MOST 0x1p900
#define QUOTIENTS_BY_DOUBLE 0
#include "engine/kernels/cpu/isa/pointwise_checked.h"

#if defined(__FMA__) || defined(__aarch64__)
static void pow_loop(const pointwise_chunk *c) {
    enum { BLOCK = 64 };
    double made[BLOCK], exponent[BLOCK];
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        const int64_t n = c->n - from < BLOCK ? c->n - from : BLOCK;
        const elem *x = (const elem *)c->in[0] + from, *y = (const elem *)c->in[1] + from;
        elem *out = (elem *)c->out + from;
        int served = 1;
#pragma omp simd reduction(& : served)
        for (int64_t i = 0; i < n; i++) {
            made[i] = pow_normal_f64(x[i], y[i], &exponent[i]);
            served &= exponent[i] == exponent[i];
        }
        for (int64_t i = 0; !served && i < n; i++) {
            made[i] = exponent[i] == exponent[i] ? made[i] : pow(x[i], y[i]);
        }
        memcpy(out, made, (size_t)n * sizeof *out);
    }
}
#else
static void pow_loop(const pointwise_chunk *c) {
    binary(c, pow);
}
#endif

static void real_exp_loop(const pointwise_chunk *c) {
    unary(c, real_exp);
}

static void real_erf_loop(const pointwise_chunk *c) {
    unary(c, real_erf);
}

static void real_gelu_loop(const pointwise_chunk *c) {
    unary(c, real_gelu);
}

static void real_gelu_backward_loop(const pointwise_chunk *c) {
    binary(c, real_gelu_backward);
}

#if POINTWISE_STREAMS
#define REAL_LOOPS ISA_SYMBOL(pointwise_f64_streaming)
#else
#define REAL_LOOPS ISA_SYMBOL(pointwise_f64)
#endif
#define OWN_NUMBER_LOOPS                                                                                                  \
    [PW_POW] = NULL, [PW_FMOD] = fmod_number_loop, [PW_REMAINDER] = remainder_number_loop, [PW_DIV_FLOOR] = divide_floor_number_loop
#define OWN_NUMBER_FIRST_LOOPS [PW_POW] = NULL
#include "engine/kernels/cpu/isa/pointwise_real.h"
