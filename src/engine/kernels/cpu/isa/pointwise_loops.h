/* SPDX-License-Identifier: Apache-2.0 */
/* Template: the shapes of loop that every class's operators are put into. A file that includes this first names its class's
   element `elem` (a typedef); the operator is a small inline function that the loop swallows whole. */
#ifndef ENGINE_KERNELS_CPU_ISA_POINTWISE_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_POINTWISE_LOOPS_H

#include "engine/kernels/cpu/pointwise.h"

/* Inlining is what turns the function pointer into straight code, so it is not left to the compiler's taste. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The output may be one of the inputs, element on element: there is no order to keep, which is what `omp simd` says. */
ALWAYS_INLINE void unary(const pointwise_chunk *c, elem (*f)(elem x)) {
    elem *out = c->out;
    const elem *x = c->in[0];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i]);
    }
}

ALWAYS_INLINE void binary(const pointwise_chunk *c, elem (*f)(elem x, elem y)) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i], y[i]);
    }
}

ALWAYS_INLINE void ternary(const pointwise_chunk *c, elem (*f)(elem x, elem y, elem z)) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1], *z = c->in[2];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i], y[i], z[i]);
    }
}

/* The same with up to three parameters. */
ALWAYS_INLINE void unary_with(const pointwise_chunk *c, elem (*f)(elem x, elem p, elem q, elem r), elem p, elem q,
                              elem r) {
    elem *out = c->out;
    const elem *x = c->in[0];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i], p, q, r);
    }
}

ALWAYS_INLINE void binary_with(const pointwise_chunk *c, elem (*f)(elem x, elem y, elem p, elem q, elem r), elem p,
                               elem q, elem r) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i], y[i], p, q, r);
    }
}

/* Answers that are b8. */
ALWAYS_INLINE void unary_test(const pointwise_chunk *c, bool (*f)(elem x)) {
    uint8_t *out = c->out;
    const elem *x = c->in[0];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i]);
    }
}

ALWAYS_INLINE void binary_test(const pointwise_chunk *c, bool (*f)(elem x, elem y)) {
    uint8_t *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = f(x[i], y[i]);
    }
}

static void where_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const uint8_t *condition = c->in[0];
    const elem *x = c->in[1], *y = c->in[2];
#pragma omp simd
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = condition[i] != 0 ? x[i] : y[i];
    }
}

static void copy_loop(const pointwise_chunk *c) {
    if (c->out != c->in[0]) {
        memcpy(c->out, c->in[0], (size_t)c->n * sizeof(elem));
    }
}

#endif
