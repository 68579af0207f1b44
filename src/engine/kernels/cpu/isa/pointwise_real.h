/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators on real numbers, a template: the including file defines `elem` (float or double), what the
   elementary functions are called for it, and gathers the loops into its table. Everything accumulates in `elem`. */

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

ALWAYS_INLINE bool equal(elem x, elem y) {
    return x == y;
}

ALWAYS_INLINE bool differ(elem x, elem y) {
    return x != y;
}

ALWAYS_INLINE bool less(elem x, elem y) {
    return x < y;
}

ALWAYS_INLINE bool at_most(elem x, elem y) {
    return x <= y;
}

ALWAYS_INLINE bool logical_and(elem x, elem y) {
    return (x != 0) & (y != 0);
}

ALWAYS_INLINE bool logical_or(elem x, elem y) {
    return (x != 0) | (y != 0);
}

ALWAYS_INLINE bool logical_xor(elem x, elem y) {
    return (x != 0) ^ (y != 0);
}

/* Both slopes use s (1 - s) = e / (1 + e)^2 with e = exp(-|u|): 1 - s itself would cancel. */
ALWAYS_INLINE elem gelu_tanh_backward(elem g, elem x) {
    elem u = GELU_BETA2 * (x + GELU_CUBIC * x * x * x);
    elem e = real_exp_negative(-real_abs(u)), inverse = 1 / (1 + e);
    elem s = (u < 0 ? e : 1) * inverse;
    elem slope = GELU_BETA2 * (1 + 3 * GELU_CUBIC * x * x);
    /* e is 0 from |x| = 10 on, where the square may be infinite */
    elem capped = clip(x, -40, 40);
    slope = x == capped ? slope : 0;
    return g * (s + capped * slope * (e * inverse * inverse));
}

ALWAYS_INLINE elem silu_backward(elem g, elem x) {
    elem e = real_exp_negative(-real_abs(x)), inverse = 1 / (1 + e);
    elem s = (x < 0 ? e : 1) * inverse;
    return g * (s + x * (e * inverse * inverse));
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

/* --- the loops -------------------------------------------------------------------------------------------------------
 */

static void neg_loop(const pointwise_chunk *c) {
    unary(c, neg);
}

static void absolute_loop(const pointwise_chunk *c) {
    unary(c, absolute);
}

static void sgn_loop(const pointwise_chunk *c) {
    unary(c, sgn);
}

static void square_loop(const pointwise_chunk *c) {
    unary(c, square);
}

static void cube_loop(const pointwise_chunk *c) {
    unary(c, cube);
}

static void reciprocal_loop(const pointwise_chunk *c) {
    unary(c, reciprocal);
}

static void root_loop(const pointwise_chunk *c) {
    unary(c, root);
}

static void reciprocal_root_loop(const pointwise_chunk *c) {
    unary(c, reciprocal_root);
}

static void real_log2_loop(const pointwise_chunk *c) {
    unary(c, real_log2);
}

static void real_erf_loop(const pointwise_chunk *c) {
    unary(c, real_erf);
}

static void real_floor_loop(const pointwise_chunk *c) {
    unary(c, real_floor);
}

static void real_round_loop(const pointwise_chunk *c) {
    unary(c, real_round);
}

static void relu_loop(const pointwise_chunk *c) {
    unary(c, relu);
}

static void gelu_tanh_loop(const pointwise_chunk *c) {
    unary(c, gelu_tanh);
}

static void silu_loop(const pointwise_chunk *c) {
    unary(c, silu);
}

static void real_sigmoid_loop(const pointwise_chunk *c) {
    unary(c, real_sigmoid);
}

static void real_tanh_loop(const pointwise_chunk *c) {
    unary(c, real_tanh);
}

static void hardsigmoid_loop(const pointwise_chunk *c) {
    unary(c, hardsigmoid);
}

static void hardswish_loop(const pointwise_chunk *c) {
    unary(c, hardswish);
}

static void logical_not_loop(const pointwise_chunk *c) {
    unary_test(c, logical_not);
}

static void is_infinite_loop(const pointwise_chunk *c) {
    unary_test(c, is_infinite);
}

static void is_nan_loop(const pointwise_chunk *c) {
    unary_test(c, is_nan);
}

static void add_loop(const pointwise_chunk *c) {
    binary(c, add);
}

static void sub_loop(const pointwise_chunk *c) {
    binary(c, sub);
}

static void mul_loop(const pointwise_chunk *c) {
    binary(c, mul);
}

static void divide_loop(const pointwise_chunk *c) {
    binary(c, divide);
}

static void divide_trunc_loop(const pointwise_chunk *c) {
    binary(c, divide_trunc);
}

static void maximum_loop(const pointwise_chunk *c) {
    binary(c, maximum);
}

static void minimum_loop(const pointwise_chunk *c) {
    binary(c, minimum);
}

static void gelu_tanh_backward_loop(const pointwise_chunk *c) {
    binary(c, gelu_tanh_backward);
}

static void silu_backward_loop(const pointwise_chunk *c) {
    binary(c, silu_backward);
}

static void sigmoid_backward_loop(const pointwise_chunk *c) {
    binary(c, sigmoid_backward);
}

static void tanh_backward_loop(const pointwise_chunk *c) {
    binary(c, tanh_backward);
}

static void hardsigmoid_backward_loop(const pointwise_chunk *c) {
    binary(c, hardsigmoid_backward);
}

static void hardswish_backward_loop(const pointwise_chunk *c) {
    binary(c, hardswish_backward);
}

static void equal_loop(const pointwise_chunk *c) {
    binary_test(c, equal);
}

static void differ_loop(const pointwise_chunk *c) {
    binary_test(c, differ);
}

static void less_loop(const pointwise_chunk *c) {
    binary_test(c, less);
}

static void at_most_loop(const pointwise_chunk *c) {
    binary_test(c, at_most);
}

static void logical_and_loop(const pointwise_chunk *c) {
    binary_test(c, logical_and);
}

static void logical_or_loop(const pointwise_chunk *c) {
    binary_test(c, logical_or);
}

static void logical_xor_loop(const pointwise_chunk *c) {
    binary_test(c, logical_xor);
}

static void clamp_loop(const pointwise_chunk *c) {
    ternary(c, clamp);
}

static void elu_loop(const pointwise_chunk *c) {
    unary_with(c, elu, (elem)c->s[0].f, (elem)c->s[1].f, (elem)c->s[2].f);
}

static void hardtanh_loop(const pointwise_chunk *c) {
    unary_with(c, hardtanh, (elem)c->s[0].f, (elem)c->s[1].f, 0);
}

static void leaky_relu_loop(const pointwise_chunk *c) {
    unary_with(c, leaky_relu, (elem)c->s[0].f, 0, 0);
}

static void add_scaled_loop(const pointwise_chunk *c) {
    binary_with(c, add_scaled, (elem)c->s[0].f, 0, 0);
}

static void elu_backward_loop(const pointwise_chunk *c) {
    binary_with(c, elu_backward, (elem)c->s[0].f, (elem)c->s[1].f, (elem)c->s[2].f);
}

static void elu_backward_result_loop(const pointwise_chunk *c) {
    binary_with(c, elu_backward_result, (elem)c->s[0].f, (elem)c->s[1].f, (elem)c->s[2].f);
}

static void hardtanh_backward_loop(const pointwise_chunk *c) {
    binary_with(c, hardtanh_backward, (elem)c->s[0].f, (elem)c->s[1].f, 0);
}

static void leaky_relu_backward_loop(const pointwise_chunk *c) {
    binary_with(c, leaky_relu_backward, (elem)c->s[0].f, 0, 0);
}

static void threshold_backward_loop(const pointwise_chunk *c) {
    binary_with(c, threshold_backward, (elem)c->s[0].f, 0, 0);
}

static void addcmul_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1], *z = c->in[2];
    elem scale = (elem)c->s[0].f;
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = x[i] + scale * y[i] * z[i];
    }
}

#include "engine/kernels/cpu/isa/pointwise_number.h"

ALWAYS_INLINE elem divide_number(elem x, elem p, elem q, elem r) {
    (void)q, (void)r;
    return divide(x, p);
}

static void divide_number_loop(const pointwise_chunk *c) {
    unary_with(c, divide_number, *(const elem *)c->in[1], 0, 0);
}

static void fill(void *to, number of, int64_t n) {
    elem *out = to, x = (elem)of.f;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = x;
    }
}

const pointwise_loops REAL_LOOPS = {
    .op =
        {
            [PW_COPY] = copy_loop,
            [PW_NEG] = neg_loop,
            [PW_ABS] = absolute_loop,
            [PW_SGN] = sgn_loop,
            [PW_SQUARE] = square_loop,
            [PW_CUBE] = cube_loop,
            [PW_RECIPROCAL] = reciprocal_loop,
            [PW_SQRT] = root_loop,
            [PW_RSQRT] = reciprocal_root_loop,
            [PW_EXP] = real_exp_loop,
            [PW_LOG2] = real_log2_loop,
            [PW_ERF] = real_erf_loop,
            [PW_FLOOR] = real_floor_loop,
            [PW_ROUND] = real_round_loop,
            [PW_RELU] = relu_loop,
            [PW_GELU] = real_gelu_loop,
            [PW_GELU_TANH] = gelu_tanh_loop,
            [PW_SILU] = silu_loop,
            [PW_SIGMOID] = real_sigmoid_loop,
            [PW_TANH] = real_tanh_loop,
            [PW_HARDSIGMOID] = hardsigmoid_loop,
            [PW_HARDSWISH] = hardswish_loop,
            [PW_LOGICAL_NOT] = logical_not_loop,
            [PW_ISINF] = is_infinite_loop,
            [PW_ISNAN] = is_nan_loop,
            [PW_ADD] = add_loop,
            [PW_SUB] = sub_loop,
            [PW_MUL] = mul_loop,
            [PW_DIV] = divide_loop,
            [PW_DIV_TRUNC] = divide_trunc_loop,
            [PW_POW] = pow_loop,
            [PW_MAXIMUM] = maximum_loop,
            [PW_MINIMUM] = minimum_loop,
            [PW_GELU_BACKWARD] = real_gelu_backward_loop,
            [PW_GELU_TANH_BACKWARD] = gelu_tanh_backward_loop,
            [PW_SILU_BACKWARD] = silu_backward_loop,
            [PW_SIGMOID_BACKWARD] = sigmoid_backward_loop,
            [PW_TANH_BACKWARD] = tanh_backward_loop,
            [PW_HARDSIGMOID_BACKWARD] = hardsigmoid_backward_loop,
            [PW_HARDSWISH_BACKWARD] = hardswish_backward_loop,
            [PW_EQ] = equal_loop,
            [PW_NE] = differ_loop,
            [PW_LT] = less_loop,
            [PW_LE] = at_most_loop,
            [PW_LOGICAL_AND] = logical_and_loop,
            [PW_LOGICAL_OR] = logical_or_loop,
            [PW_LOGICAL_XOR] = logical_xor_loop,
            [PW_CLAMP] = clamp_loop,
            [PW_ELU] = elu_loop,
            [PW_HARDTANH] = hardtanh_loop,
            [PW_LEAKY_RELU] = leaky_relu_loop,
            [PW_ADD_SCALED] = add_scaled_loop,
            [PW_ELU_BACKWARD] = elu_backward_loop,
            [PW_ELU_BACKWARD_RESULT] = elu_backward_result_loop,
            [PW_HARDTANH_BACKWARD] = hardtanh_backward_loop,
            [PW_LEAKY_RELU_BACKWARD] = leaky_relu_backward_loop,
            [PW_THRESHOLD_BACKWARD] = threshold_backward_loop,
            [PW_SIN] = sin_loop,
            [PW_COS] = cos_loop,
            [PW_DIV_FLOOR] = divide_floor_loop,
            [PW_REMAINDER] = remainder_loop,
            [PW_FMOD] = fmod_loop,
            [PW_ADDCMUL] = addcmul_loop,
            [PW_WHERE] = where_loop,
        },
    .number = {NUMBER_LOOPS, [PW_DIV] = divide_number_loop},
    .number_first = NUMBER_FIRST_LOOPS,
    .load = load,
    .store = store,
    .fill = fill,
};
