/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in f64. Elementary functions are libm's, one call an element. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"

#include "engine/kernels/cpu/isa/pointwise_convert.h"

ALWAYS_INLINE elem real_abs(elem x) {
    return fabs(x);
}

ALWAYS_INLINE elem real_sqrt(elem x) {
    return sqrt(x);
}

ALWAYS_INLINE elem real_exp(elem x) {
    return exp(x);
}

ALWAYS_INLINE elem real_exp_negative(elem x) {
    return exp(x);
}

ALWAYS_INLINE elem real_expm1_negative(elem x) {
    return expm1(x);
}

ALWAYS_INLINE elem real_log2(elem x) {
    return log2(x);
}

ALWAYS_INLINE elem real_erf(elem x) {
    return erf(x);
}

ALWAYS_INLINE elem real_floor(elem x) {
    return floor(x);
}

ALWAYS_INLINE elem real_round(elem x) {
    return rint(x);
}

ALWAYS_INLINE elem real_tanh(elem x) {
    return tanh(x);
}

ALWAYS_INLINE elem real_sigmoid(elem x) {
    elem e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

ALWAYS_INLINE elem real_gelu(elem x) {
    return x == -INFINITY ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2);
}

ALWAYS_INLINE elem real_gelu_backward(elem g, elem x) {
    elem clipped = fabs(x) > 60 ? 0 : x; /* infinity times a density of 0 */
    return g * (0.5 * erfc(-x * M_SQRT1_2) + clipped * exp(-0.5 * x * x) * (0.5 * M_2_SQRTPI * M_SQRT1_2));
}

ALWAYS_INLINE elem divide_trunc(elem x, elem y) {
    return trunc(x / y);
}

ALWAYS_INLINE elem remainder_of(elem x, elem y) {
    elem rest = fmod(x, y);
    return ((rest != 0) & ((rest < 0) != (y < 0))) ? rest + y : rest;
}

/* As ATen's div_floor, after CPython's float_divmod. */
ALWAYS_INLINE elem divide_floor(elem x, elem y) {
    if (y == 0) {
        return x / y;
    }
    elem rest = fmod(x, y);
    elem quotient = (x - rest) / y;
    quotient -= ((rest != 0) & ((y < 0) != (rest < 0))) ? 1 : 0;
    elem down = floor(quotient);
    return quotient == 0 ? copysign(0, x / y) : quotient - down > 0.5 ? down + 1 : down;
}

static void pow_loop(const pointwise_chunk *c) {
    binary(c, pow);
}

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

static void fmod_loop(const pointwise_chunk *c) {
    binary(c, fmod);
}

static void remainder_loop(const pointwise_chunk *c) {
    binary(c, remainder_of);
}

static void divide_floor_loop(const pointwise_chunk *c) {
    binary(c, divide_floor);
}

static void sin_loop(const pointwise_chunk *c) {
    unary(c, sin);
}

static void cos_loop(const pointwise_chunk *c) {
    unary(c, cos);
}

#if POINTWISE_STREAMS
#define REAL_LOOPS ISA_SYMBOL(pointwise_f64_streaming)
#else
#define REAL_LOOPS ISA_SYMBOL(pointwise_f64)
#endif
#define OWN_NUMBER_LOOPS [PW_POW] = NULL
#define OWN_NUMBER_FIRST_LOOPS [PW_POW] = NULL
#include "engine/kernels/cpu/isa/pointwise_real.h"
