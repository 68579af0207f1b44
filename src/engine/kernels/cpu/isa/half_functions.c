/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 in one go, from halves to halves, where results of 8 or 11 digits take few enough instructions that memory
   is what they wait for (vector_halves.h, vector_half_normal.h, vector_half_functions.h). Elsewhere the tables are empty and such calls go by way of
   loops in f32 (half_blocks.c). */
#include "engine/kernels/cpu/pointwise.h"

#if defined(__AVX512DQ__) && defined(__AVX512BW__)

#include "engine/kernels/cpu/isa/half_steps.h"
#include "engine/kernels/cpu/isa/vector_half_functions.h"
#include "engine/kernels/cpu/isa/vector_half_normal.h"

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

/* The bits of the largest half below 5: most steps have none above, and need no limits (vector_half_normal.h). */
enum { MOST_BF16_GELU = 0x409f, MOST_F16_GELU = 0x44ff };

static void any_gelu_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = gelu_for_bf16}, (function){.one = gelu_for_f16});
}

ALWAYS_INLINE void run_within(const pointwise_halves *h, function f) {
    function of_f16 = f;
    f.most = MOST_BF16_GELU;
    of_f16.most = MOST_F16_GELU;
    run_either(h, f, of_f16);
}

ALWAYS_INLINE wide_four gelu_within(wide_four x) {
    return product(x, four_normal_cdf_within(x));
}

static void gelu_loop(const pointwise_halves *h) {
    const function f = {.one = gelu_within, .is_checked = true, .slow = any_gelu_loop, .least = 1};
    run_within(h, f);
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

ALWAYS_INLINE wide_four gelu_backward(wide_four g, wide_four x) {
    return product(g, four_normal_slope_for_halves(x));
}

static void any_gelu_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = gelu_backward}, (function){.two = gelu_backward});
}

ALWAYS_INLINE wide_four gelu_backward_within(wide_four g, wide_four x) {
    return product(g, four_normal_slope_within(x));
}

static void gelu_backward_loop(const pointwise_halves *h) {
    const function f = {.two = gelu_backward_within, .is_checked = true, .slow = any_gelu_backward_loop, .least = 1};
    run_within(h, f);
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

ALWAYS_INLINE wide_four silu_backward(wide_four g, wide_four x) {
    wide_four s;
    for (int k = 0; k < 4; k++) {
        s.v[k] = wide_smaller(20.0f, x.v[k]); /* where it is 1 */
    }
    return product(g, logistic_slope(x, four_near_powers_at_root(four_times(s, 0x1.715476p+0f), s, -95.0f), s));
}

static void silu_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = silu_backward}, (function){.two = silu_backward});
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

static void rsqrt_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_rsqrt}, (function){.one = four_rsqrt});
}

static void root_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_sqrt}, (function){.one = four_sqrt});
}

static void erf_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_erf_for_bf16}, (function){.one = four_erf_for_f16});
}

/* --- functions with parameters ---------------------------------------------------------------------------------------------- */

/* A NaN among them becomes one of few digits: rounding would carry into the sign of others. */
ALWAYS_INLINE float parameter(const pointwise_halves *h, int k) {
    float s = (float)h->chunk.s[k].f;
    return isnan(s) ? NAN : s;
}

ALWAYS_INLINE wide_f32 where_above_0(wide_f32 x, wide_f32 above, wide_f32 other) { /* a NaN counts as above */
    return (wide_f32)_mm512_mask_mov_ps((__m512)other, _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_NLE_UQ), (__m512)above);
}

/* p (e^(r x) - 1) up to 0, then q x; r holds 1 / ln 2. */
ALWAYS_INLINE wide_four elu(dtype t, wide_four x, parameters s) {
    (void)t;
    wide_four z = four_expm1(four_times(x, s.r));
    for (int k = 0; k < 4; k++) {
        z.v[k] = where_above_0(x.v[k], x.v[k] * s.q, z.v[k] * s.p);
    }
    return z;
}

static parameters elu_parameters(const pointwise_halves *h) {
    return (parameters){.p = parameter(h, 0), .q = parameter(h, 1), .r = parameter(h, 2) * 0x1.715476p+0f};
}

static void any_elu_loop(const pointwise_halves *h) {
    const function f = {.one_with = elu, .s = elu_parameters(h)};
    run_either(h, f, f);
}

/* The same for sizes of r x up to MOST_POWER: as four_expm1 by a table, of p times roots, and with a term less: 3.9e-5. kind: whether q is 1. */
ALWAYS_INLINE wide_four elu_within(dtype t, wide_four x, parameters s) {
    wide_four shifted, f, power;
    (void)t;
    for (int k = 0; k < 4; k++) {
        shifted.v[k] = x.v[k] * s.r + 0x1.8p19f;
        f.v[k] = x.v[k] * s.r - (shifted.v[k] - 0x1.8p19f);
    }
    for (int k = 0; k < 4; k++) {
        wide_u32 places = (wide_u32)shifted.v[k], exponents = places << 19 & 0xff800000;
        power.v[k] = (wide_f32)((wide_u32)wide_look_up_16(s.table, (wide_i32)places) + exponents);
    }
    for (int k = 0; k < 4; k++) {
        wide_f32 slope = f.v[k] * 0x1.ebfbep-3f + 0x1.62e7bep-1f;
        f.v[k] = slope * (f.v[k] * power.v[k]) + (power.v[k] - s.p);
        f.v[k] = where_above_0(x.v[k], s.kind != 0 ? x.v[k] : x.v[k] * s.q, f.v[k]);
    }
    return f;
}

enum { MOST_POWER = 60, LEAST_ELUS = 256 /* elements: a table takes as long as some of them */ };

/* The bits of the largest half t that is no larger than `most`, a normal number of either type. */
static uint16_t half_up_to(dtype t, float most) {
    uint32_t bits;
    memcpy(&bits, &most, sizeof bits);
    if (t == ASSAY_BF16) {
        return (uint16_t)(bits >> 16);
    }
    return most > 65504 ? 0x7bff : (uint16_t)((bits - (112u << 23)) >> 13);
}

static void elu_loop(const pointwise_halves *h) {
    parameters s = elu_parameters(h);
    float roots[16] __attribute__((aligned(64))), most = MOST_POWER / fabsf(s.r), size = fabsf(s.p);
    if (h->chunk.n < LEAST_ELUS || !(most > 0x1p-14f && most < 0x1p100f && size > 0x1p-40f && size < 0x1p40f)) {
        any_elu_loop(h);
        return;
    }
    for (int k = 0; k < 16; k++) {
        roots[k] = exp2f((float)k / 16) * s.p;
    }
    s.table = roots;
    function f = {.one_with = elu_within, .is_checked = true, .slow = any_elu_loop, .most = half_up_to(h->type, most), .s = s};
    if (s.q == 1) {
        f.s.kind = 1;
        run_either(h, f, f);
    } else {
        f.s.kind = 0;
        run_either(h, f, f);
    }
}

/* g p e^(r x) up to 0, then g q. */
ALWAYS_INLINE wide_four elu_backward(dtype t, wide_four g, wide_four x, parameters s) {
    wide_four z = four_times(x, s.r);
    z = t == ASSAY_F16 ? four_near_powers(z, z, -126.0f) : four_powers(z, z, -126.0f);
    for (int k = 0; k < 4; k++) {
        z.v[k] = where_above_0(x.v[k], wide_of(s.q), z.v[k] * s.p);
    }
    return product(g, z);
}

static void elu_backward_loop(const pointwise_halves *h) {
    parameters s = {.p = parameter(h, 2) * parameter(h, 0), .q = parameter(h, 1), .r = parameter(h, 2) * 0x1.715476p+0f};
    run_either(h, (function){.two_with = elu_backward, .s = s}, (function){.two_with = elu_backward, .s = s});
}

#define LOOPS                                                                                                          \
    {                                                                                                                  \
        [PW_EXP] = exp_loop, [PW_SIGMOID] = sigmoid_loop, [PW_TANH] = tanh_loop, [PW_SILU] = silu_loop,                \
        [PW_GELU] = gelu_loop, [PW_GELU_TANH] = gelu_tanh_loop, [PW_GELU_BACKWARD] = gelu_backward_loop,               \
        [PW_GELU_TANH_BACKWARD] = gelu_tanh_backward_loop, [PW_SILU_BACKWARD] = silu_backward_loop,                    \
        [PW_SQRT] = root_loop, [PW_RSQRT] = rsqrt_loop, [PW_ERF] = erf_loop, [PW_ELU] = elu_loop, [PW_ELU_BACKWARD] = elu_backward_loop       \
    }
#else
#define LOOPS {NULL}
#endif

pointwise_halves_loop *const ISA_SYMBOL(pointwise_half_functions)[PW_COUNT] = LOOPS;
