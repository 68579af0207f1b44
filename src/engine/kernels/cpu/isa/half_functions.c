/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 in one go, from halves to halves, where results of 8 or 11 digits take few enough instructions that memory
   is what they wait for (vector_halves.h). Elsewhere the tables are empty and such calls go by way of loops in f32
   (half_blocks.c). */
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/isa/vector_halves.h"
#include "engine/kernels/cpu/pointwise.h"

#if defined(__AVX512DQ__) && defined(__AVX512BW__)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { STEP = 64 /* elements */, AHEAD_BYTES = 4096 };

/* 64 halves are brought to f32 in four registers. */
ALWAYS_INLINE wide_four four_of(dtype t, const uint16_t *from) {
    float_pair low = float_pair_at(t, from), high = float_pair_at(t, from + HALF_PAIR);
    return (wide_four){{low.a, low.b, high.a, high.b}};
}

/* NaN comes from a bf16 or from an invalid product: its lower bits are 0, and nothing is carried into its sign. */
ALWAYS_INLINE half_bits halves_of_two(dtype t, wide_f32 first, wide_f32 second) {
    return half_bits_near(t, (float_pair){first, second});
}

/* A function of one operand, or of two, of which the gradient comes first. Which of them it is is known where a loop is inlined. */
typedef struct function {
    wide_four (*one)(wide_four x);
    wide_four (*two)(wide_four g, wide_four x);
    dtype type;
    bool streams;
} function;

/* 64 elements. */
ALWAYS_INLINE void step(function f, uint16_t *out, const uint16_t *x, const uint16_t *y) {
    wide_four a = four_of(f.type, x);
    if (f.two != NULL) {
        a = f.two(a, four_of(f.type, y));
    } else {
        a = f.one(a);
    }
    for (int k = 0; k < 4; k += 2) {
        half_bits made = halves_of_two(f.type, a.v[k], a.v[k + 1]);
        if (f.streams) {
            stream_line(out + 16 * k, &made);
        } else {
            memcpy(out + 16 * k, &made, sizeof made);
        }
    }
}

/* Asks for what lies further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
ALWAYS_INLINE void ask_ahead(const uint16_t *x) {
    for (int line = 0; line < STEP * 2; line += STREAM_LINE) {
        _mm_prefetch((const char *)((uintptr_t)x + AHEAD_BYTES + (uintptr_t)line), _MM_HINT_T0); /* it may lie outside */
    }
}

ALWAYS_INLINE void whole_steps(const pointwise_halves *h, function f, int64_t n) {
    uint16_t *out = h->chunk.out;
    const uint16_t *x = h->chunk.in[0], *y = h->chunk.in[1];
    for (int64_t at = 0; at < n; at += STEP) {
        if (h->fetches) {
            ask_ahead(x + at);
            if (f.two != NULL) {
                ask_ahead(y + at);
            }
        }
        step(f, out + at, x + at, f.two != NULL ? y + at : NULL);
    }
}

ALWAYS_INLINE void run(const pointwise_halves *h, function f) {
    int64_t n = h->chunk.n, whole = n / STEP * STEP;
    f.streams = h->streams;
    if (f.streams) {
        f.streams = true;
        whole_steps(h, f, whole);
    } else {
        f.streams = false;
        whole_steps(h, f, whole);
    }
    if (whole < n) {
        uint16_t in[2][STEP] = {{0}}, out[STEP];
        size_t bytes = (size_t)(n - whole) * sizeof *out;
        for (int k = 0; k < (f.two != NULL ? 2 : 1); k++) {
            memcpy(in[k], (const uint16_t *)h->chunk.in[k] + whole, bytes);
        }
        f.streams = false;
        step(f, out, in[0], in[1]);
        memcpy((uint16_t *)h->chunk.out + whole, out, bytes);
    }
}

/* Of both types. */
ALWAYS_INLINE void run_either(const pointwise_halves *h, function of_bf16, function of_f16) {
    if (h->type == ASSAY_F16) {
        of_f16.type = ASSAY_F16;
        run(h, of_f16);
    } else {
        of_bf16.type = ASSAY_BF16;
        run(h, of_bf16);
    }
}

ALWAYS_INLINE wide_four product(wide_four x, wide_four y) {
    for (int k = 0; k < 4; k++) {
        x.v[k] = x.v[k] * y.v[k];
    }
    return x;
}

static void exp_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_exp_for_bf16}, (function){.one = four_exp_for_f16});
}

static void sigmoid_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_sigmoid_for_bf16}, (function){.one = four_sigmoid_for_f16});
}

static void tanh_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_tanh_for_bf16}, (function){.one = four_tanh_for_f16});
}

ALWAYS_INLINE wide_four silu(wide_four x) {
    return product(x, four_logistic(four_times(x, -0x1.715476p+0f)));
}

static void silu_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = silu}, (function){.one = silu});
}

ALWAYS_INLINE wide_four gelu_for_bf16(wide_four x) {
    return product(x, four_normal_cdf_for_bf16(x));
}

ALWAYS_INLINE wide_four gelu_for_f16(wide_four x) {
    return product(x, four_normal_cdf_for_f16(x));
}

static void gelu_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = gelu_for_bf16}, (function){.one = gelu_for_f16});
}

/* x times the logistic function of 2 sqrt(2 / pi) (x + 0.044715 x^3), as (1 + tanh u) / 2 is that of 2u. The factor holds 1 / ln 2. */
ALWAYS_INLINE wide_four gelu_tanh(wide_four x) {
    const float factor = -2.30220818139f;
    wide_four y;
    for (int k = 0; k < 4; k++) {
        y.v[k] = x.v[k] * x.v[k];
    }
    for (int k = 0; k < 4; k++) {
        y.v[k] = (y.v[k] * (factor * 0.044715f) + factor) * x.v[k];
    }
    return product(x, four_logistic(y));
}

static void gelu_tanh_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = gelu_tanh}, (function){.one = gelu_tanh});
}

ALWAYS_INLINE wide_four gelu_backward_for_bf16(wide_four g, wide_four x) {
    return product(g, four_normal_slope_for_bf16(x));
}

ALWAYS_INLINE wide_four gelu_backward_for_f16(wide_four g, wide_four x) {
    return product(g, four_normal_slope_for_f16(x));
}

static void gelu_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = gelu_backward_for_bf16}, (function){.two = gelu_backward_for_f16});
}

/* e (1 + e + t) / (1 + e)^2, the slope of x times the logistic function of z at e = e^z and t = x times the slope of z: what is near 0
   where the slope is comes out of one sum, as near as e is. The quotient by a reciprocal of 14 bits. */
ALWAYS_INLINE wide_four logistic_slope(wide_four x, wide_four e, wide_four t) {
    for (int k = 0; k < 4; k++) {
        wide_f32 sum = 1.0f + e.v[k], square = sum * sum, inverse;
        __asm__("vrcp14ps %1, %0" : "=v"(inverse) : "v"(square));
        e.v[k] = x.v[k] * 0.0f + ((sum + t.v[k]) * e.v[k]) * inverse; /* of infinity there is none */
    }
    return e;
}

/* e^z; where z is below -95, 0. f16 have more digits near that 0. */
ALWAYS_INLINE wide_four near_exp(dtype t, wide_four z) {
    if (t == ASSAY_BF16) {
        return four_near_powers(four_times(z, 0x1.715476p+0f), z, -95.0f);
    }
    for (int k = 0; k < 4; k++) {
        z.v[k] = wide_exp(z.v[k]);
    }
    return z;
}

ALWAYS_INLINE wide_four silu_backward(dtype t, wide_four g, wide_four x) {
    wide_four s;
    for (int k = 0; k < 4; k++) {
        s.v[k] = wide_smaller(20.0f, x.v[k]); /* where it is 1 */
    }
    return product(g, logistic_slope(x, near_exp(t, s), s));
}

ALWAYS_INLINE wide_four silu_backward_of_bf16(wide_four g, wide_four x) {
    return silu_backward(ASSAY_BF16, g, x);
}

ALWAYS_INLINE wide_four silu_backward_of_f16(wide_four g, wide_four x) {
    return silu_backward(ASSAY_F16, g, x);
}

static void silu_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = silu_backward_of_bf16}, (function){.two = silu_backward_of_f16});
}

/* As gelu_tanh: z is 2 sqrt(2 / pi) (x + 0.044715 x^3). */
ALWAYS_INLINE wide_four gelu_tanh_backward(dtype type, wide_four g, wide_four x) {
    const float factor = 1.59576912161f;
    wide_four z, t;
    for (int k = 0; k < 4; k++) {
        wide_f32 s = wide_larger(-20.0f, wide_smaller(6.0f, x.v[k])), square = s * s; /* from there on it is 0, and 1 */
        z.v[k] = (square * (factor * 0.044715f) + factor) * s;
        t.v[k] = (square * (factor * 3 * 0.044715f) + factor) * s;
    }
    return product(g, logistic_slope(x, near_exp(type, z), t));
}

ALWAYS_INLINE wide_four gelu_tanh_backward_of_bf16(wide_four g, wide_four x) {
    return gelu_tanh_backward(ASSAY_BF16, g, x);
}

ALWAYS_INLINE wide_four gelu_tanh_backward_of_f16(wide_four g, wide_four x) {
    return gelu_tanh_backward(ASSAY_F16, g, x);
}

static void gelu_tanh_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = gelu_tanh_backward_of_bf16}, (function){.two = gelu_tanh_backward_of_f16});
}

#define LOOPS                                                                                                          \
    {                                                                                                                  \
        [PW_EXP] = exp_loop, [PW_SIGMOID] = sigmoid_loop, [PW_TANH] = tanh_loop, [PW_SILU] = silu_loop,                \
        [PW_GELU] = gelu_loop, [PW_GELU_TANH] = gelu_tanh_loop, [PW_GELU_BACKWARD] = gelu_backward_loop,               \
        [PW_GELU_TANH_BACKWARD] = gelu_tanh_backward_loop, [PW_SILU_BACKWARD] = silu_backward_loop                     \
    }
#else
#define LOOPS {NULL}
#endif

pointwise_halves_loop *const ISA_SYMBOL(pointwise_half_functions)[PW_COUNT] = LOOPS;
