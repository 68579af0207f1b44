/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators on integers, a template: the including file defines `elem` and gathers the loops into its
   table. Sums and products wrap around, worked out without sign in 64 bits and cut back (the compiler narrows them
   again). */

ALWAYS_INLINE elem neg(elem x) {
    return (elem)(0 - (uint64_t)x);
}

ALWAYS_INLINE elem absolute(elem x) {
    return x < 0 ? neg(x) : x;
}

ALWAYS_INLINE elem sgn(elem x) {
    return (elem)((x > 0) - (x < 0));
}

ALWAYS_INLINE elem square(elem x) {
    return (elem)((uint64_t)x * (uint64_t)x);
}

ALWAYS_INLINE elem cube(elem x) {
    return (elem)((uint64_t)x * (uint64_t)x * (uint64_t)x);
}

ALWAYS_INLINE elem relu(elem x) {
    return x < 0 ? 0 : x;
}

ALWAYS_INLINE elem bitwise_not(elem x) {
    return (elem)~x;
}

ALWAYS_INLINE bool never(elem x) {
    (void)x;
    return false;
}

ALWAYS_INLINE bool logical_not(elem x) {
    return x == 0;
}

ALWAYS_INLINE elem add(elem x, elem y) {
    return (elem)((uint64_t)x + (uint64_t)y);
}

ALWAYS_INLINE elem sub(elem x, elem y) {
    return (elem)((uint64_t)x - (uint64_t)y);
}

ALWAYS_INLINE elem mul(elem x, elem y) {
    return (elem)((uint64_t)x * (uint64_t)y);
}

ALWAYS_INLINE elem maximum(elem x, elem y) {
    return x > y ? x : y;
}

ALWAYS_INLINE elem minimum(elem x, elem y) {
    return x < y ? x : y;
}

ALWAYS_INLINE elem bitwise_and(elem x, elem y) {
    return x & y;
}

ALWAYS_INLINE elem bitwise_or(elem x, elem y) {
    return x | y;
}

ALWAYS_INLINE elem bitwise_xor(elem x, elem y) {
    return x ^ y;
}

#include "engine/kernels/cpu/isa/pointwise_comparisons.h"

ALWAYS_INLINE elem clamp(elem x, elem low, elem high) {
    return minimum(maximum(x, low), high);
}

/* Wraps around; of negative exponents only 1 and -1 leave anything (ATen's powi). */
ALWAYS_INLINE elem power(elem base, elem exponent) {
    if (exponent < 0) {
        return base == 1 ? 1 : base == (elem)-1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent != 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? factor : 1;
        factor *= factor;
    }
    return (elem)result;
}

static int64_t whole_of(number n) {
    return n.category <= CATEGORY_INTEGRAL ? n.i : (int64_t)n.f;
}

#include "engine/kernels/cpu/isa/pointwise_quotients.h"

#if !POINTWISE_STREAMS /* what follows stores as ever */
static void add_scaled_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    uint64_t scale = (uint64_t)c->s[0].i;
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = (elem)((uint64_t)x[i] + scale * (uint64_t)y[i]);
    }
}

static void addcmul_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1], *z = c->in[2];
    uint64_t scale = (uint64_t)c->s[0].i;
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = (elem)((uint64_t)x[i] + scale * (uint64_t)y[i] * (uint64_t)z[i]);
    }
}

/* The bounds of elem. */
static int64_t least_elem(void) {
    return (elem)-1 < 0 ? INT64_MIN >> (64 - 8 * sizeof(elem)) : 0;
}

static int64_t most_elem(void) {
    return (elem)-1 < 0 ? INT64_MAX >> (64 - 8 * sizeof(elem)) : (int64_t)(UINT64_MAX >> (64 - 8 * sizeof(elem)));
}

static bool holds(int64_t n) {
    return n >= least_elem() && n <= most_elem();
}

static void threshold_backward_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *g = c->in[0], *x = c->in[1];
    const elem threshold = (elem)c->s[0].i;
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = x[i] > threshold ? g[i] : 0;
    }
}

static void hardtanh_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0];
    int64_t low = whole_of(c->s[0]), high = whole_of(c->s[1]);
    if (holds(low) && holds(high)) {
        elem least = (elem)low, most = (elem)high;
#pragma omp simd
        for (int64_t i = 0; i < c->n; i++) {
            out[i] = clamp(x[i], least, most);
        }
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        int64_t above = x[i] < low ? low : x[i];
        out[i] = (elem)(above > high ? high : above);
    }
}

#endif

static void fill(void *to, number of, int64_t n) {
    elem *out = to;
    elem x = (elem)whole_of(of);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = x;
    }
}

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

static void relu_loop(const pointwise_chunk *c) {
    unary(c, relu);
}

static void bitwise_not_loop(const pointwise_chunk *c) {
    unary(c, bitwise_not);
}

static void logical_not_loop(const pointwise_chunk *c) {
    unary_test(c, logical_not);
}

static void never_loop(const pointwise_chunk *c) {
    unary_test(c, never);
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

static void maximum_loop(const pointwise_chunk *c) {
    binary(c, maximum);
}

static void minimum_loop(const pointwise_chunk *c) {
    binary(c, minimum);
}

static void bitwise_and_loop(const pointwise_chunk *c) {
    binary(c, bitwise_and);
}

static void bitwise_or_loop(const pointwise_chunk *c) {
    binary(c, bitwise_or);
}

static void bitwise_xor_loop(const pointwise_chunk *c) {
    binary(c, bitwise_xor);
}

static void power_loop(const pointwise_chunk *c) {
    binary(c, power);
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

#include "engine/kernels/cpu/isa/pointwise_number.h"

const pointwise_loops INTEGER_LOOPS = {
    .op =
        {
#if !POINTWISE_STREAMS
            [PW_COPY] = copy_loop,
            [PW_FLOOR] = copy_loop,
            [PW_ROUND] = copy_loop,
            [PW_HARDTANH] = hardtanh_loop,
            [PW_ADD_SCALED] = add_scaled_loop,
            [PW_THRESHOLD_BACKWARD] = threshold_backward_loop,
            [PW_ADDCMUL] = addcmul_loop,
#endif
            [PW_DIV_TRUNC] = quotient_trunc_loop,
            [PW_DIV_FLOOR] = quotient_floor_loop,
            [PW_REMAINDER] = rest_floor_loop,
            [PW_FMOD] = rest_of_loop,
            [PW_NEG] = neg_loop,
            [PW_ABS] = absolute_loop,
            [PW_SGN] = sgn_loop,
            [PW_SQUARE] = square_loop,
            [PW_CUBE] = cube_loop,
            [PW_RELU] = relu_loop,
            [PW_BITWISE_NOT] = bitwise_not_loop,
            [PW_LOGICAL_NOT] = logical_not_loop,
            [PW_ISINF] = never_loop,
            [PW_ISNAN] = never_loop,
            [PW_ADD] = add_loop,
            [PW_SUB] = sub_loop,
            [PW_MUL] = mul_loop,
            [PW_MAXIMUM] = maximum_loop,
            [PW_MINIMUM] = minimum_loop,
            [PW_BITWISE_AND] = bitwise_and_loop,
            [PW_BITWISE_OR] = bitwise_or_loop,
            [PW_BITWISE_XOR] = bitwise_xor_loop,
            [PW_POW] = power_loop,
            [PW_EQ] = equal_loop,
            [PW_NE] = differ_loop,
            [PW_LT] = less_loop,
            [PW_LE] = at_most_loop,
            [PW_LOGICAL_AND] = logical_and_loop,
            [PW_LOGICAL_OR] = logical_or_loop,
            [PW_LOGICAL_XOR] = logical_xor_loop,
            [PW_CLAMP] = clamp_loop,
            [PW_WHERE] = where_loop,
        },
    .number =
        {
            NUMBER_LOOPS,
            [PW_DIV_TRUNC] = quotient_trunc_number_loop,
            [PW_DIV_FLOOR] = quotient_floor_number_loop,
            [PW_REMAINDER] = rest_floor_number_loop,
            [PW_FMOD] = rest_of_number_loop,
        },
    .number_first = {NUMBER_FIRST_LOOPS},
    .load = load,
    .store = store,
    .fill = fill,
};
