/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators on real numbers, a template: the including file defines `elem` (float or double), what the
   elementary functions are called for it, and the loops with one number that it alone has (OWN_NUMBER_LOOPS, initialisers).
   Everything accumulates in `elem`. */

#include "engine/kernels/cpu/isa/pointwise_real_functions.h"

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

#if !defined(POINTWISE_LANES)
static void root_loop(const pointwise_chunk *c) {
    unary(c, root);
}

static void reciprocal_root_loop(const pointwise_chunk *c) {
    unary(c, reciprocal_root);
}

static void real_log2_loop(const pointwise_chunk *c) {
    unary(c, real_log2);
}

static void real_tanh_loop(const pointwise_chunk *c) {
    unary(c, real_tanh);
}

static bool elu_by_lanes(const pointwise_chunk *c) {
    (void)c;
    return false;
}
#endif

static void real_floor_loop(const pointwise_chunk *c) {
    unary(c, real_floor);
}

static void real_round_loop(const pointwise_chunk *c) {
    unary(c, real_round);
}

static void relu_loop(const pointwise_chunk *c) {
    unary(c, relu);
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
    if (!elu_by_lanes(c)) {
        unary_with(c, elu, (elem)c->s[0].f, (elem)c->s[1].f, (elem)c->s[2].f);
    }
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
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 2, z + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = x[from + i] + scale * y[from + i] * z[from + i];
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = x[i] + scale * y[i] * z[i];
    }
}

#include "engine/kernels/cpu/isa/pointwise_number.h"

static void divide_number_loop(const pointwise_chunk *c) {
    number_second(c, divide);
}

static void fill(void *to, number of, int64_t n) {
    elem *out = to, x = (elem)of.f;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = x;
    }
}

#if !defined(POINTWISE_LANES)
static void gelu_tanh_loop(const pointwise_chunk *c) {
    unary(c, gelu_tanh);
}

static void silu_loop(const pointwise_chunk *c) {
    unary(c, silu);
}

static void real_sigmoid_loop(const pointwise_chunk *c) {
    unary(c, real_sigmoid);
}

static void gelu_tanh_backward_loop(const pointwise_chunk *c) {
    binary(c, gelu_tanh_backward);
}

static void silu_backward_loop(const pointwise_chunk *c) {
    binary(c, silu_backward);
}

static void elu_backward_loop(const pointwise_chunk *c) {
    binary_with(c, elu_backward, (elem)c->s[0].f, (elem)c->s[1].f, (elem)c->s[2].f);
}
#endif

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
    .number = {NUMBER_LOOPS, [PW_DIV] = divide_number_loop, OWN_NUMBER_LOOPS},
    .number_first = {NUMBER_FIRST_LOOPS, OWN_NUMBER_FIRST_LOOPS},
    .load = load,
    .store = store,
    .fill = fill,
};
