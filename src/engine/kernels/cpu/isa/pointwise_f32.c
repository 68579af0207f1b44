/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in f32, which serve f16, bf16 and f32. */
#include <stdint.h>
#include <string.h>

typedef float elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"
#include "engine/kernels/cpu/isa/vector_gelu.h"

#include "engine/kernels/cpu/isa/elementary_f32.h"
#include "engine/kernels/cpu/isa/pointwise_convert.h"

/* Quotients of floats are told from whole numbers by double: one that is not whole lies at least 2^-48 of itself away
   from the next, as long as it stays below 2^24. Larger ones, and what is not finite, go to libm. */
static bool quotients_fit(const elem *x, const elem *y, int64_t n) {
    int fits = 1;
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < n; i++) {
        fits &= fabsf(x[i]) < fabsf(y[i]) * 0x1p24f && fabsf(y[i]) < 0x1p100f;
    }
    return fits != 0;
}

ALWAYS_INLINE elem rest_of(elem x, elem y) {
    double quotient = (double)x / (double)y;
    return (elem)((double)x - (double)(int32_t)quotient * (double)y);
}

ALWAYS_INLINE elem with_divisors_sign(elem rest, elem y) {
    return ((rest != 0) & ((rest < 0) != (y < 0))) ? rest + y : rest;
}

ALWAYS_INLINE elem quick_fmod(elem x, elem y) {
    return copysignf(rest_of(x, y), x);
}

ALWAYS_INLINE elem quick_remainder(elem x, elem y) {
    return with_divisors_sign(quick_fmod(x, y), y);
}

ALWAYS_INLINE elem quick_divide_floor(elem x, elem y) {
    double quotient = (double)x / (double)y;
    int32_t whole = (int32_t)quotient;
    return (elem)(whole - ((double)whole > quotient));
}

/* As ATen's div_floor, after CPython's float_divmod. */
static elem slow_divide_floor(elem x, elem y) {
    if (y == 0) {
        return x / y;
    }
    elem rest = fmodf(x, y);
    elem quotient = (x - rest) / y;
    quotient -= ((rest != 0) & ((y < 0) != (rest < 0))) ? 1 : 0;
    elem down = floorf(quotient);
    return quotient == 0 ? copysignf(0, x / y) : quotient - down > 0.5f ? down + 1 : down;
}

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

#if GELU_BY_TABLE
static void real_gelu_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0];
    int64_t at = 0, blocks = in_blocks(c);
    for (; at < blocks; at += STREAM_BLOCK) {
        fetch_ahead(x + at, STREAM_BLOCK * sizeof(elem));
        __m512 made[STREAM_BLOCK / GELU_LANES]; /* all before the first is stored: on Zen 4 loads wait for stores past the caches */
        for (int k = 0; k < STREAM_BLOCK / GELU_LANES; k++) {
            made[k] = gelu_by_table(_mm512_loadu_ps(x + at + GELU_LANES * k));
        }
        stream_lines(out + at, made, sizeof made);
    }
    for (; at + GELU_LANES <= c->n; at += GELU_LANES) {
        _mm512_storeu_ps(out + at, gelu_by_table(_mm512_loadu_ps(x + at)));
    }
    if (at < c->n) {
        __mmask16 rest = (__mmask16)((1u << (c->n - at)) - 1);
        _mm512_mask_storeu_ps(out + at, rest, gelu_by_table(_mm512_maskz_loadu_ps(rest, x + at)));
    }
}

static void real_gelu_backward_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *g = c->in[0], *x = c->in[1];
    int64_t at = 0, blocks = in_blocks(c);
    for (; at < blocks; at += STREAM_BLOCK) {
        fetch_ahead(g + at, STREAM_BLOCK * sizeof(elem));
        fetch_ahead(x + at, STREAM_BLOCK * sizeof(elem));
        __m512 made[STREAM_BLOCK / GELU_LANES];
        for (int k = 0; k < STREAM_BLOCK / GELU_LANES; k++) {
            int64_t from = at + GELU_LANES * k;
            made[k] = _mm512_mul_ps(_mm512_loadu_ps(g + from), wide_normal_slope(_mm512_loadu_ps(x + from)));
        }
        stream_lines(out + at, made, sizeof made);
    }
    for (; at < c->n; at += GELU_LANES) {
        __mmask16 some = c->n - at < GELU_LANES ? (__mmask16)((1u << (c->n - at)) - 1) : (__mmask16)0xffff;
        __m512 slope = wide_normal_slope(_mm512_maskz_loadu_ps(some, x + at));
        _mm512_mask_storeu_ps(out + at, some, _mm512_mul_ps(_mm512_maskz_loadu_ps(some, g + at), slope));
    }
}
#else
static void real_gelu_loop(const pointwise_chunk *c) {
    unary(c, gelu_f32);
}

ALWAYS_INLINE elem real_gelu_backward(elem g, elem x) {
    return g * gelu_slope_f32(x);
}

static void real_gelu_backward_loop(const pointwise_chunk *c) {
    binary(c, real_gelu_backward);
}
#endif

static void fmod_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    if (quotients_fit(x, y, c->n)) {
        binary(c, quick_fmod);
        return;
    }
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = fmodf(x[i], y[i]);
    }
}

static void remainder_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    if (quotients_fit(x, y, c->n)) {
        binary(c, quick_remainder);
        return;
    }
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = with_divisors_sign(fmodf(x[i], y[i]), y[i]);
    }
}

static void divide_floor_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    if (quotients_fit(x, y, c->n)) {
        binary(c, quick_divide_floor);
        return;
    }
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = slow_divide_floor(x[i], y[i]);
    }
}

static bool all_are(const elem *x, elem value, int64_t n) {
    int same = 1;
#pragma omp simd reduction(& : same)
    for (int64_t i = 0; i < n; i++) {
        same &= x[i] == value;
    }
    return same != 0;
}

static void pow_loop(const pointwise_chunk *c) {
    enum { BLOCK = 256 };
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        int64_t n = c->n - from < BLOCK ? c->n - from : BLOCK;
        elem magnitude[BLOCK], base = x[from];
        if (base > 0 && base < INFINITY && base != 1 && all_are(x + from, base, n)) { /* one logarithm will do */
            double logarithm = log2_wide(base);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                out[from + i] = pow_by_log2(logarithm, y[from + i]);
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            magnitude[i] = pow_magnitude(x[from + i], y[from + i]);
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            out[from + i] = pow_signed(magnitude[i], x[from + i], y[from + i]);
        }
    }
}

static bool angles_fit(const elem *x, int64_t n) {
    int fits = 1;
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < n; i++) {
        fits &= !(fabsf(x[i]) > TRIGONOMETRY_LIMIT);
    }
    return fits != 0;
}

static void sin_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0];
    if (angles_fit(x, c->n)) {
        unary(c, sin_f32);
        return;
    }
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = sinf(x[i]);
    }
}

static void cos_loop(const pointwise_chunk *c) {
    elem *out = c->out;
    const elem *x = c->in[0];
    if (angles_fit(x, c->n)) {
        unary(c, cos_f32);
        return;
    }
    for (int64_t i = 0; i < c->n; i++) {
        out[i] = cosf(x[i]);
    }
}

#if POINTWISE_STREAMS
#define REAL_LOOPS ISA_SYMBOL(pointwise_f32_streaming)
#else
#define REAL_LOOPS ISA_SYMBOL(pointwise_f32)
#endif
#include "engine/kernels/cpu/isa/pointwise_real.h"
