/* SPDX-License-Identifier: Apache-2.0 */
/* What element-wise operators make of real numbers, a template: the including file defines `elem` (float or double) and what the
   elementary functions are called for it. */

/* --- one operand --- */

ALWAYS_INLINE elem neg(elem x) {
    return -x;
}

ALWAYS_INLINE elem absolute(elem x) {
    return real_abs(x);
}

ALWAYS_INLINE elem sgn(elem x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

ALWAYS_INLINE elem square(elem x) {
    return x * x;
}

ALWAYS_INLINE elem cube(elem x) {
    return x * x * x;
}

ALWAYS_INLINE elem reciprocal(elem x) {
    return 1 / x;
}

ALWAYS_INLINE elem root(elem x) {
    return real_sqrt(x);
}

ALWAYS_INLINE elem reciprocal_root(elem x) {
    return 1 / real_sqrt(x);
}

ALWAYS_INLINE elem relu(elem x) {
    return x < 0 ? 0 : x;
}

/* gelu's tanh approximation by the logistic function: (1 + tanh u) / 2 = sigmoid(2u), which keeps the lower tail. */
#define GELU_BETA2 ((elem)1.59576912160573071176) /* 2 sqrt(2 / pi) */
#define GELU_CUBIC ((elem)0.044715)

ALWAYS_INLINE elem gelu_tanh(elem x) {
    return x * real_sigmoid(GELU_BETA2 * (x + GELU_CUBIC * x * x * x));
}

ALWAYS_INLINE elem silu(elem x) {
    return x * real_sigmoid(x);
}

ALWAYS_INLINE elem elu(elem x, elem negative, elem positive, elem input_scale) {
    return x <= 0 ? negative * real_expm1_negative(x * input_scale) : x * positive;
}

ALWAYS_INLINE elem clip(elem x, elem low, elem high) {
    elem above = x < low ? low : x;
    return above > high ? high : above;
}

ALWAYS_INLINE elem hardtanh(elem x, elem low, elem high, elem unused) {
    (void)unused;
    return clip(x, low, high);
}

ALWAYS_INLINE elem hardsigmoid(elem x) {
    return clip(x + 3, 0, 6) * ((elem)1 / 6);
}

ALWAYS_INLINE elem hardswish(elem x) {
    return x * (clip(x + 3, 0, 6) * ((elem)1 / 6));
}

ALWAYS_INLINE elem leaky_relu(elem x, elem slope, elem unused, elem unused_too) {
    (void)unused;
    (void)unused_too;
    return x > 0 ? x : x * slope;
}

ALWAYS_INLINE bool is_infinite(elem x) {
    return x == (elem)INFINITY || x == -(elem)INFINITY;
}

ALWAYS_INLINE bool is_nan(elem x) {
    return x != x;
}

ALWAYS_INLINE bool logical_not(elem x) {
    return x == 0;
}

/* --- two --- */

ALWAYS_INLINE elem add(elem x, elem y) {
    return x + y;
}

ALWAYS_INLINE elem add_scaled(elem x, elem y, elem scale, elem unused, elem unused_too) {
    (void)unused;
    (void)unused_too;
    return x + scale * y;
}

ALWAYS_INLINE elem sub(elem x, elem y) {
    return x - y;
}

ALWAYS_INLINE elem mul(elem x, elem y) {
    return x * y;
}

ALWAYS_INLINE elem divide(elem x, elem y) {
    return x / y;
}

/* A NaN on the right fails the comparison and is taken; one on the left is taken by itself. */
ALWAYS_INLINE elem maximum(elem x, elem y) {
    elem larger = x > y ? x : y;
    return x != x ? x : larger;
}

ALWAYS_INLINE elem minimum(elem x, elem y) {
    elem smaller = x < y ? x : y;
    return x != x ? x : smaller;
}

#include "engine/kernels/cpu/isa/pointwise_comparisons.h"

/* The logistic function s of u and what is missing to 1, which would cancel if it were taken from 1. exp(-|u|) is the square of its
   root, since below -87 it is a denormal, which a factor may bring back. */
typedef struct real_logistic {
    elem value, rest;
} real_logistic;

ALWAYS_INLINE real_logistic real_logistic_of(elem u) {
    elem root = real_exp_negative((elem)-0.5 * real_abs(u)), e = root * root, inverse = 1 / (1 + e);
    return (real_logistic){.value = (u < 0 ? e : 1) * inverse, .rest = (u < 0 ? 1 : e) * inverse};
}

/* The slope of x s(u) is s (1 + x u' (1 - s)): the sum keeps its digits beside the slope's zero. */
ALWAYS_INLINE elem gelu_tanh_backward(elem g, elem x) {
    real_logistic s = real_logistic_of(GELU_BETA2 * (x + GELU_CUBIC * x * x * x));
    elem slope = GELU_BETA2 * (1 + 3 * GELU_CUBIC * x * x);
    /* one of the two is 0 from |x| = 15 on, where the square may be infinite; at an infinity the slope is NaN, as inf times nothing is */
    elem capped = clip(x, -40, 40);
    slope = x == capped ? slope : x * 0;
    return g * (s.value * (1 + capped * slope * s.rest));
}

ALWAYS_INLINE elem silu_backward(elem g, elem x) {
    real_logistic s = real_logistic_of(x);
    return g * (s.value * (1 + x * s.rest));
}

ALWAYS_INLINE elem sigmoid_backward(elem g, elem y) {
    return g * (1 - y) * y;
}

ALWAYS_INLINE elem tanh_backward(elem g, elem y) {
    return g * (1 - y * y);
}

ALWAYS_INLINE elem elu_backward(elem g, elem x, elem negative, elem positive, elem input_scale) {
    return x <= 0 ? g * input_scale * negative * real_exp_negative(x * input_scale) : g * positive;
}

ALWAYS_INLINE elem elu_backward_result(elem g, elem y, elem negative, elem positive, elem input_scale) {
    return y <= 0 ? g * input_scale * (y + negative) : g * positive;
}

ALWAYS_INLINE elem hardtanh_backward(elem g, elem x, elem low, elem high, elem unused) {
    (void)unused;
    return ((x <= low) | (x >= high)) ? 0 : g;
}

ALWAYS_INLINE elem hardsigmoid_backward(elem g, elem x) {
    return ((x > -3) & (x < 3)) ? g * ((elem)1 / 6) : 0;
}

ALWAYS_INLINE elem hardswish_backward(elem g, elem x) {
    elem inside = x < 3 ? g * (x * ((elem)1 / 3) + (elem)0.5) : g;
    return x <= -3 ? 0 : inside;
}

ALWAYS_INLINE elem leaky_relu_backward(elem g, elem x, elem slope, elem unused, elem unused_too) {
    (void)unused;
    (void)unused_too;
    return x > 0 ? g : g * slope;
}

ALWAYS_INLINE elem threshold_backward(elem g, elem x, elem threshold, elem unused, elem unused_too) {
    (void)unused;
    (void)unused_too;
    return x <= threshold ? 0 : g;
}

/* --- three --- */

ALWAYS_INLINE elem clamp(elem x, elem low, elem high) {
    return minimum(maximum(x, low), high);
}
