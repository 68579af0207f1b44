/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators on complex numbers, a template: the including file defines `part` (float or double) and
   gathers the loops into its table. Sums and products are done in `part`, everything else in double. */

typedef struct elem {
    part re, im;
} elem;

#include "base/complex_parts.h"
#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"

ALWAYS_INLINE double complex wide(elem x) {
    return CMPLX(x.re, x.im);
}

ALWAYS_INLINE elem narrow(double complex z) {
    return (elem){(part)creal(z), (part)cimag(z)};
}

ALWAYS_INLINE elem neg(elem x) {
    return (elem){-x.re, -x.im};
}

ALWAYS_INLINE elem add(elem x, elem y) {
    return (elem){x.re + y.re, x.im + y.im};
}

ALWAYS_INLINE elem sub(elem x, elem y) {
    return (elem){x.re - y.re, x.im - y.im};
}

ALWAYS_INLINE elem mul(elem x, elem y) {
    return (elem){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

ALWAYS_INLINE elem square(elem x) {
    return mul(x, x);
}

ALWAYS_INLINE elem cube(elem x) {
    return mul(mul(x, x), x);
}

ALWAYS_INLINE complex_parts pair_of(elem x) {
    return (complex_parts){x.re, x.im};
}

ALWAYS_INLINE elem elem_of(complex_parts x) {
    return (elem){(part)x.re, (part)x.im};
}

/* Squares of floats fit in double, of doubles do not. */
enum { SQUARES_FIT = sizeof(part) == sizeof(float) };

ALWAYS_INLINE elem divide_exact(elem x, elem y) {
    return elem_of(parts_quotient(pair_of(x), pair_of(y)));
}

/* By the divisor's square, which takes half the time where it fits: right where it makes no NaN, as it does of each infinite divisor and of 0. */
ALWAYS_INLINE elem divide(elem x, elem y) {
    if (!SQUARES_FIT) {
        return divide_exact(x, y);
    }
    complex_parts over = pair_of(y), z = parts_product(pair_of(x), (complex_parts){over.re, -over.im});
    double square = over.re * over.re + over.im * over.im;
    return elem_of((complex_parts){z.re / square, z.im / square});
}

ALWAYS_INLINE elem reciprocal_exact(elem x, elem unused) {
    (void)unused;
    return divide_exact((elem){1, 0}, x);
}

ALWAYS_INLINE elem reciprocal(elem x, elem unused) {
    (void)unused;
    return divide((elem){1, 0}, x);
}

ALWAYS_INLINE elem sgn(elem x) {
    double re = x.re, im = x.im;
    double length = SQUARES_FIT ? sqrt(re * re + im * im) : hypot(re, im);
    return length == 0 ? (elem){0, 0} : (elem){(part)(x.re / length), (part)(x.im / length)};
}

ALWAYS_INLINE elem root(elem x) {
    return narrow(csqrt(wide(x)));
}

ALWAYS_INLINE elem reciprocal_root(elem x) {
    return narrow(complex_quotient(1, csqrt(wide(x))));
}

ALWAYS_INLINE elem exponential(elem x) {
    return narrow(cexp(wide(x)));
}

ALWAYS_INLINE elem logarithm2(elem x) {
    return narrow(clog(wide(x)) / M_LN2);
}

ALWAYS_INLINE elem sine(elem x) {
    return narrow(csin(wide(x)));
}

ALWAYS_INLINE elem cosine(elem x) {
    return narrow(ccos(wide(x)));
}

ALWAYS_INLINE elem tangent(elem x) {
    return narrow(ctanh(wide(x)));
}

ALWAYS_INLINE elem sigmoid(elem x) {
    return narrow(complex_quotient(1, 1 + cexp(-wide(x))));
}

ALWAYS_INLINE elem silu(elem x) {
    return narrow(complex_quotient(wide(x), 1 + cexp(-wide(x))));
}

ALWAYS_INLINE elem power(elem x, elem y) {
    return narrow(cpow(wide(x), wide(y)));
}

ALWAYS_INLINE elem silu_backward(elem g, elem x) {
    double complex s = complex_quotient(1, 1 + cexp(-wide(x)));
    return narrow(complex_product(complex_product(wide(g), s), 1 + complex_product(wide(x), 1 - s)));
}

ALWAYS_INLINE elem sigmoid_backward(elem g, elem y) {
    elem slope = mul((elem){1 - y.re, -y.im}, y);
    return mul(g, (elem){slope.re, -slope.im});
}

ALWAYS_INLINE elem tanh_backward(elem g, elem y) {
    elem rest = square(y);
    return mul(g, (elem){1 - rest.re, rest.im});
}

ALWAYS_INLINE bool is_zero(elem x) {
    return (x.re == 0) & (x.im == 0);
}

ALWAYS_INLINE bool logical_not(elem x) {
    return is_zero(x);
}

ALWAYS_INLINE bool is_infinite(elem x) {
    return isinf(x.re) || isinf(x.im);
}

ALWAYS_INLINE bool is_nan(elem x) {
    return isnan(x.re) || isnan(x.im);
}

ALWAYS_INLINE bool equal(elem x, elem y) {
    return (x.re == y.re) & (x.im == y.im);
}

ALWAYS_INLINE bool differ(elem x, elem y) {
    return (x.re != y.re) | (x.im != y.im);
}

ALWAYS_INLINE bool logical_and(elem x, elem y) {
    return !is_zero(x) && !is_zero(y);
}

ALWAYS_INLINE bool logical_or(elem x, elem y) {
    return !is_zero(x) || !is_zero(y);
}

ALWAYS_INLINE bool logical_xor(elem x, elem y) {
    return is_zero(x) != is_zero(y);
}

/* f in straight code, a block at a time; where it makes a NaN, `exact`. Of one operand, y is x again. */
ALWAYS_INLINE void checked(const pointwise_chunk *c, const elem *y, elem (*f)(elem x, elem y), elem (*exact)(elem x, elem y)) {
    enum { BLOCK = 64 };
    elem *out = c->out;
    const elem *x = c->in[0];
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        const int64_t n = c->n - from < BLOCK ? c->n - from : BLOCK;
        elem made[BLOCK];
        int odd = 0;
#pragma omp simd reduction(| : odd)
        for (int64_t i = 0; i < n; i++) {
            made[i] = f(x[from + i], y[from + i]);
            odd |= (made[i].re != made[i].re) | (made[i].im != made[i].im);
        }
        for (int64_t i = 0; odd != 0 && i < n; i++) {
            made[i] = is_nan(made[i]) ? exact(x[from + i], y[from + i]) : made[i];
        }
        memcpy(out + from, made, (size_t)n * sizeof *made);
    }
}

/* The magnitude is real. Of an infinity and a NaN it is the infinity. */
static void absolute_loop(const pointwise_chunk *c) {
    part *out = c->out;
    const elem *x = c->in[0];
    if (!SQUARES_FIT) {
        for (int64_t i = 0; i < c->n; i++) {
            out[i] = (part)hypot(x[i].re, x[i].im);
        }
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        complex_parts z = pair_of(x[i]);
        bool is_endless = (fabs(z.re) == INFINITY) | (fabs(z.im) == INFINITY);
        out[i] = is_endless ? (part)INFINITY : (part)sqrt(z.re * z.re + z.im * z.im);
    }
}

static void add_scaled_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    elem scale = {(part)c->s[0].f, (part)c->s[0].im};
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = add(x[i], mul(scale, y[i]));
    }
}

static void addcmul_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1], *z = c->in[2];
    elem scale = {(part)c->s[0].f, (part)c->s[0].im};
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = add(x[i], mul(mul(scale, y[i]), z[i]));
    }
}

static void fill(void *to, number of, int64_t n) {
    elem *out = to;
    elem x = {(part)of.f, (part)of.im};
    for (int64_t i = 0; i < n; i++) {
        out[i] = x;
    }
}

/* Complex dtypes meet real ones in few calls: element by element will do, but for truths. */
static void load(void *to, dtype t, const char *from, int64_t stride, int64_t n) {
    elem *out = to;
    for (int64_t i = 0; i < n; i++, from += stride) {
        out[i] = narrow(element_load_complex(t, from));
    }
}

static void store(dtype t, char *to, int64_t stride, const void *from, int64_t n) {
    const elem *x = from;
    if (t == ASSAY_B8 && stride == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = !is_zero(x[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        element_store_complex(t, to, wide(x[i]));
    }
}

static void neg_loop(const pointwise_chunk *c) {
    unary(c, neg);
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
    checked(c, c->in[0], reciprocal, reciprocal_exact);
}

static void root_loop(const pointwise_chunk *c) {
    unary(c, root);
}

static void reciprocal_root_loop(const pointwise_chunk *c) {
    unary(c, reciprocal_root);
}

static void exponential_loop(const pointwise_chunk *c) {
    unary(c, exponential);
}

static void logarithm2_loop(const pointwise_chunk *c) {
    unary(c, logarithm2);
}

static void sine_loop(const pointwise_chunk *c) {
    unary(c, sine);
}

static void cosine_loop(const pointwise_chunk *c) {
    unary(c, cosine);
}

static void silu_loop(const pointwise_chunk *c) {
    unary(c, silu);
}

static void sigmoid_loop(const pointwise_chunk *c) {
    unary(c, sigmoid);
}

static void tangent_loop(const pointwise_chunk *c) {
    unary(c, tangent);
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
    checked(c, c->in[1], divide, divide_exact);
}

static void power_loop(const pointwise_chunk *c) {
    binary(c, power);
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

static void equal_loop(const pointwise_chunk *c) {
    binary_test(c, equal);
}

static void differ_loop(const pointwise_chunk *c) {
    binary_test(c, differ);
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

const pointwise_loops COMPLEX_LOOPS = {
    .op =
        {
            [PW_COPY] = copy_loop,
            [PW_NEG] = neg_loop,
            [PW_SGN] = sgn_loop,
            [PW_SQUARE] = square_loop,
            [PW_CUBE] = cube_loop,
            [PW_RECIPROCAL] = reciprocal_loop,
            [PW_SQRT] = root_loop,
            [PW_RSQRT] = reciprocal_root_loop,
            [PW_EXP] = exponential_loop,
            [PW_LOG2] = logarithm2_loop,
            [PW_SIN] = sine_loop,
            [PW_COS] = cosine_loop,
            [PW_SILU] = silu_loop,
            [PW_SIGMOID] = sigmoid_loop,
            [PW_TANH] = tangent_loop,
            [PW_LOGICAL_NOT] = logical_not_loop,
            [PW_ISINF] = is_infinite_loop,
            [PW_ISNAN] = is_nan_loop,
            [PW_ADD] = add_loop,
            [PW_SUB] = sub_loop,
            [PW_MUL] = mul_loop,
            [PW_DIV] = divide_loop,
            [PW_POW] = power_loop,
            [PW_SILU_BACKWARD] = silu_backward_loop,
            [PW_SIGMOID_BACKWARD] = sigmoid_backward_loop,
            [PW_TANH_BACKWARD] = tanh_backward_loop,
            [PW_EQ] = equal_loop,
            [PW_NE] = differ_loop,
            [PW_LOGICAL_AND] = logical_and_loop,
            [PW_LOGICAL_OR] = logical_or_loop,
            [PW_LOGICAL_XOR] = logical_xor_loop,
            [PW_ABS] = absolute_loop,
            [PW_ADD_SCALED] = add_scaled_loop,
            [PW_ADDCMUL] = addcmul_loop,
            [PW_WHERE] = where_loop,
        },
    .load = load,
    .store = store,
    .fill = fill,
};
