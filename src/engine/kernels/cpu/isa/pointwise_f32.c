/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in f32, which serve f16, bf16 and f32. */
#include <stdint.h>
#include <string.h>

typedef float elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"
#include "engine/kernels/cpu/isa/vector_erf.h"
#include "engine/kernels/cpu/isa/vector_gelu.h"

#include "engine/kernels/cpu/isa/elementary_f32.h"
#include "engine/kernels/cpu/isa/pointwise_convert.h"

#include "engine/kernels/cpu/isa/pointwise_checked.h"
#include "engine/kernels/cpu/isa/pointwise_pow.h"

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
ALWAYS_INLINE void unary_lanes(const pointwise_chunk *c, __m512 (*f)(__m512 x)) {
    elem *out = c->out;
    const elem *x = c->in[0];
    int64_t at = 0, blocks = in_blocks(c);
    for (; at < blocks; at += STREAM_BLOCK) {
        fetch_ahead(x + at, STREAM_BLOCK * sizeof(elem));
        __m512 made[STREAM_BLOCK / GELU_LANES]; /* all before the first is stored: on Zen 4 loads wait for stores past the caches */
        for (int k = 0; k < STREAM_BLOCK / GELU_LANES; k++) {
            made[k] = f(_mm512_loadu_ps(x + at + GELU_LANES * k));
        }
        stream_lines(out + at, made, sizeof made);
    }
    for (; at + GELU_LANES <= c->n; at += GELU_LANES) {
        _mm512_storeu_ps(out + at, f(_mm512_loadu_ps(x + at)));
    }
    if (at < c->n) {
        __mmask16 rest = (__mmask16)((1u << (c->n - at)) - 1);
        _mm512_mask_storeu_ps(out + at, rest, f(_mm512_maskz_loadu_ps(rest, x + at)));
    }
}

static void real_gelu_loop(const pointwise_chunk *c) {
    unary_lanes(c, gelu_by_table);
}

ALWAYS_INLINE __m512 erf_lanes(__m512 x) {
    return (__m512)wide_erf((wide_f32)x);
}

static void real_erf_loop(const pointwise_chunk *c) {
    unary_lanes(c, erf_lanes);
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
