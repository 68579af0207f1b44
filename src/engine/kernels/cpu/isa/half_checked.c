/* SPDX-License-Identifier: Apache-2.0 */
/* More functions of f16 and bf16 in one go (half_functions.c): logarithms, angles, powers, remainders and floored quotients, some of them
   not for large arguments, which a step is looked through for. One that has such goes by way of f32. */
#include "engine/kernels/cpu/pointwise.h"

#if defined(__AVX512DQ__) && defined(__AVX512BW__)

#include "engine/kernels/cpu/isa/half_steps.h"
#include "engine/kernels/cpu/isa/vector_half_functions.h"

static void log2_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_log2}, (function){.one = four_log2});
}

/* --- angles ----------------------------------------------------------------------------------------------------------------- */

/* The bits of 1024, which is 326 half turns, and of 14. */
enum { MOST_BF16_ANGLE = 0x4480, MOST_F16_ANGLE = 0x6400, MOST_F16_NEAR_ANGLE = 0x4b00 };

/* Runs f for |x| up to `most`, and `slow` where there are larger ones. */
ALWAYS_INLINE void angles(const pointwise_halves *h, function f, uint16_t most, pointwise_halves_loop *slow) {
    f.is_checked = true;
    f.most = most;
    f.slow = slow;
    run_either(h, f, f);
}

static void any_f16_sin_loop(const pointwise_halves *h) {
    angles(h, (function){.one = four_sin_for_f16}, MOST_F16_ANGLE, ISA_SYMBOL(pointwise_halves_run));
}

static void any_f16_cos_loop(const pointwise_halves *h) {
    angles(h, (function){.one = four_cos_for_f16}, MOST_F16_ANGLE, ISA_SYMBOL(pointwise_halves_run));
}

/* Pi in one part: no f16 up to 14 and no bf16 up to 1024 comes so near to a zero of either function that the other part would be missed. */
ALWAYS_INLINE wide_four near_sin(wide_four x) {
    wide_four shifted;
    for (int k = 0; k < 4; k++) {
        shifted.v[k] = x.v[k] * 0x1.45f306p-2f + ROUND_MAGIC_F32;
        x.v[k] = x.v[k] - (shifted.v[k] - ROUND_MAGIC_F32) * 0x1.921fb6p+1f;
    }
    return four_sine_for_bf16(x, shifted);
}

ALWAYS_INLINE wide_four near_cos(wide_four x) {
    for (int k = 0; k < 4; k++) {
        x.v[k] = x.v[k] + 0x1.921fb6p+0f;
    }
    return near_sin(x);
}

ALWAYS_INLINE void near_angles(const pointwise_halves *h, function f, pointwise_halves_loop *any_f16) {
    if (h->type == ASSAY_F16) {
        angles(h, f, MOST_F16_NEAR_ANGLE, any_f16);
    } else {
        angles(h, f, MOST_BF16_ANGLE, ISA_SYMBOL(pointwise_halves_run));
    }
}

static void sin_loop(const pointwise_halves *h) {
    near_angles(h, (function){.one = near_sin}, any_f16_sin_loop);
}

static void cos_loop(const pointwise_halves *h) {
    near_angles(h, (function){.one = near_cos}, any_f16_cos_loop);
}

/* As pointwise_halves_run, of operands one of which is a number that stands there once alone. */
static void run_any(const pointwise_halves *h) {
    float numbers[HALVES_BLOCK];
    pointwise_halves all = *h;
    for (int k = 0; k < h->n; k++) {
        for (int64_t i = 0; h->step[k] == 0 && i < HALVES_BLOCK && i < h->chunk.n; i++) {
            numbers[i] = *(const float *)h->chunk.in[k];
        }
        all.chunk.in[k] = h->step[k] == 0 ? numbers : h->chunk.in[k];
    }
    ISA_SYMBOL(pointwise_halves_run)(&all);
}

/* --- powers ----------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE wide_four powers(dtype t, wide_four z) {
    return t == ASSAY_F16 ? four_near_powers(z, z, -126.0f) : four_powers(z, z, -126.0f);
}

typedef enum exponent_kind { FRACTION, EVEN, ODD } exponent_kind;

/* x^p. 0, infinity and NaN have logarithms that lead to what they should. */
ALWAYS_INLINE wide_four power(dtype t, wide_four x, parameters s) {
    enum { MADE_NAN = 3 << 24 }; /* of finite numbers below 0; others stay as they are */
    wide_four made;
    for (int k = 0; k < 4; k++) {
        made.v[k] = wide_size(x.v[k]);
    }
    made = powers(t, four_times(four_log2(made), s.p));
    for (int k = 0; k < 4 && s.kind != EVEN; k++) {
        made.v[k] = s.kind == FRACTION ? (wide_f32)_mm512_fixupimm_ps((__m512)made.v[k], (__m512)x.v[k], _mm512_set1_epi32(MADE_NAN), 0)
                                       : (wide_f32)((wide_i32)made.v[k] | ((wide_i32)x.v[k] & (int32_t)0x80000000));
    }
    return made;
}

ALWAYS_INLINE void powers_to(const pointwise_halves *h, float y, exponent_kind kind) {
    function f = {.one_with = power, .s = {.p = y, .kind = kind}};
    run_either(h, f, f);
}

static void powers_by_logarithm(const pointwise_halves *h) {
    float y = *(const float *)h->chunk.in[1];
    if (y != rintf(y)) {
        powers_to(h, y, FRACTION);
    } else if (y / 2 != rintf(y / 2)) {
        powers_to(h, y, ODD);
    } else {
        powers_to(h, y, EVEN);
    }
}

/* Powers to a small exponent, by factors: x = 2^e m, m = (1 + r) / c as in four_log2, so that x^y = (2^e)^y (1 / c)^y (1 + r)^y.
   Of the first two factors there are tables, the third is 1 + r (p + q r). For e in [-16, 15]. */
typedef struct power_tables {
    _Alignas(64) float of_exponent[32]; /* by the low 5 bits of f32's exponent */
    float inverse[16], of_inverse[16];
} power_tables;

enum {
    OF_INVERSE = 32 + 16,
    LEAST_F16_POWER = 0x0400, MOST_F16_POWER = 0x7bff, /* 2^-14, 65504 */
    LEAST_BF16_POWER = 0x3780, MOST_BF16_POWER = 0x477f, /* 2^-16, nearly 2^16 */
    LEAST_POWERS = 1 << 14, /* elements: tables take as long as some hundred of them */
};

static void fill_tables(power_tables *t, float y) {
    for (int k = 0; k < 32; k++) {
        int e = (k - 127) & 31;
        t->of_exponent[k] = exp2f(y * (float)(e < 16 ? e : e - 32));
    }
    for (int k = 0; k < 16; k++) { /* 1 / c near the middle of the place */
        t->inverse[k] = k == 0 ? 1 : k == 15 ? 0.5f : 32.5f / (33 + 2 * (float)k);
        t->of_inverse[k] = powf(1 / t->inverse[k], y);
    }
}

/* ((1 + r)^y - 1) / r as p + q r through two points, so that it is off by the least in [-1/32, 1/16]. */
static parameters power_parameters(float y) {
    const double at[2] = {-0.0175, 0.0488};
    double value[2];
    for (int k = 0; k < 2; k++) {
        value[k] = (pow(1 + at[k], y) - 1) / at[k];
    }
    double slope = (value[1] - value[0]) / (at[1] - at[0]);
    return (parameters){.p = (float)(value[0] - slope * at[0]), .q = (float)slope};
}

ALWAYS_INLINE wide_four power_by_factors(dtype t, wide_four x, parameters s) {
    enum { MADE_NAN = 3 << 24, ZERO_TO_0 = 8 << 8, ZERO_TO_INFINITE = 5 << 8 };
    wide_four m, factor, p;
    (void)t;
    for (int k = 0; k < 4; k++) {
        __asm__("vgetmantps $4, %1, %0" : "=v"(m.v[k]) : "v"(x.v[k]));
        factor.v[k] = wide_look_up(s.table, (wide_i32)x.v[k] >> 23);
    }
    for (int k = 0; k < 4; k++) {
        wide_i32 places = (wide_i32)m.v[k] >> 19;
        m.v[k] = m.v[k] * wide_look_up_16(s.table + 32, places) - 1.0f;
        factor.v[k] = factor.v[k] * wide_look_up_16(s.table + OF_INVERSE, places);
    }
    for (int k = 0; k < 4; k++) {
        p.v[k] = m.v[k] * s.q + s.p;
        m.v[k] = m.v[k] * factor.v[k];
    }
    for (int k = 0; k < 4; k++) {
        wide_f32 made = p.v[k] * m.v[k] + factor.v[k];
        made = (wide_f32)_mm512_fixupimm_ps((__m512)made, (__m512)x.v[k], _mm512_set1_epi32(MADE_NAN | (s.kind != 0 ? ZERO_TO_0 : ZERO_TO_INFINITE)), 0);
        p.v[k] = made;
    }
    return p;
}

static void pow_number_loop(const pointwise_halves *h) {
    float y = *(const float *)h->chunk.in[1];
    if (!(fabsf(y) < INFINITY) || y == 0) {
        run_any(h);
        return;
    }
    if (h->chunk.n < LEAST_POWERS || y == rintf(y) || y < -1.1f || y > 3.1f) {
        powers_by_logarithm(h);
        return;
    }
    power_tables tables;
    fill_tables(&tables, y);
    bool is_f16 = h->type == ASSAY_F16;
    function f = {.one_with = power_by_factors, .is_checked = true, .slow = powers_by_logarithm, .s = power_parameters(y)};
    f.s.table = tables.of_exponent;
    f.least = is_f16 ? LEAST_F16_POWER : LEAST_BF16_POWER;
    f.most = is_f16 ? MOST_F16_POWER : MOST_BF16_POWER;
    if (y > 0) {
        f.s.kind = 1;
        run_either(h, f, f);
    } else {
        f.s.kind = 0;
        run_either(h, f, f);
    }
}

/* 2^(p x). */
ALWAYS_INLINE wide_four power_of_number(dtype t, wide_four x, parameters s) {
    return powers(t, four_times(x, s.p));
}

static void number_pow_loop(const pointwise_halves *h) {
    float base = *(const float *)h->chunk.in[0];
    if (!(base > 0 && base < INFINITY) || base == 1) {
        run_any(h);
        return;
    }
    function f = {.one_with = power_of_number, .is_second = true, .s = {.p = log2f(base)}};
    run_either(h, f, f);
}

/* --- quotients -------------------------------------------------------------------------------------------------------------- */

/* p: the divisor, q: its inverse. As in pointwise_checked.h: of quotients below 2^20 the nearest whole number leaves at most 5/8 of the
   divisor, exactly; where that is on the wrong side of 0 one divisor more is right. */
#define MOST_QUOTIENT 0x1p20f

ALWAYS_INLINE __m512 nearest(__m512 x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* x with the sign of y. */
ALWAYS_INLINE __m512 signed_as(__m512 x, __m512 y) {
    enum { CHOOSE = 0xd8 }; /* bits of y where the third has them, else of x */
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_castps_si512(y), _mm512_set1_epi32((int)0x80000000), CHOOSE));
}

ALWAYS_INLINE wide_four fmod_of(dtype t, wide_four x, parameters s) {
    (void)t;
    __m512 size = _mm512_set1_ps(fabsf(s.p)), inverse = _mm512_set1_ps(fabsf(s.q));
    for (int k = 0; k < 4; k++) {
        __m512 from = _mm512_abs_ps((__m512)x.v[k]);
        __m512 rest = _mm512_fnmadd_ps(nearest(_mm512_mul_ps(from, inverse)), size, from);
        rest = _mm512_mask_add_ps(rest, _mm512_movepi32_mask(_mm512_castps_si512(rest)), rest, size);
        x.v[k] = (wide_f32)signed_as(rest, (__m512)x.v[k]);
    }
    return x;
}

/* What is left of x without the nearest multiple of y has the wrong sign where it is neither 0 nor signed as y. */
ALWAYS_INLINE __mmask16 is_beyond(__m512 rest, parameters s) {
    return s.p < 0 ? _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_GT_OQ)
                   : _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_LT_OQ);
}

ALWAYS_INLINE wide_four remainder_of(dtype t, wide_four x, parameters s) {
    (void)t;
    __m512 y = _mm512_set1_ps(s.p), inverse = _mm512_set1_ps(s.q);
    for (int k = 0; k < 4; k++) {
        __m512 from = (__m512)x.v[k], rest = _mm512_fnmadd_ps(nearest(_mm512_mul_ps(from, inverse)), y, from);
        __mmask16 is_0 = _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_EQ_OQ);
        rest = _mm512_mask_add_ps(rest, is_beyond(rest, s), rest, y);
        x.v[k] = (wide_f32)_mm512_mask_and_ps(rest, is_0, from, _mm512_set1_ps(-0.0f)); /* 0 has the sign of x, as fmod's */
    }
    return x;
}

ALWAYS_INLINE wide_four divide_floor_of(dtype t, wide_four x, parameters s) {
    (void)t;
    __m512 y = _mm512_set1_ps(s.p), inverse = _mm512_set1_ps(s.q);
    for (int k = 0; k < 4; k++) {
        __m512 from = (__m512)x.v[k], whole = nearest(_mm512_mul_ps(from, inverse));
        __m512 rest = _mm512_fnmadd_ps(whole, y, from);
        x.v[k] = (wide_f32)_mm512_mask_sub_ps(whole, is_beyond(rest, s), whole, _mm512_set1_ps(1));
    }
    return x;
}

/* The largest half below MOST_QUOTIENT divisors, as bits; 0 where the divisor is none to do this with. */
static uint16_t most_dividend(dtype t, float y) {
    enum { MOST_F16 = 0x7bff };
    float size = fabsf(y);
    if (!(size < 0x1p100f && size > 0x1p-100f)) {
        return 0;
    }
    float most = size * MOST_QUOTIENT;
    if (t == ASSAY_F16) {
        return most > 65504 ? MOST_F16 : most < 0x1p-14f ? 0 : (uint16_t)(f16_from_float(most) - 1);
    }
    uint32_t bits;
    memcpy(&bits, &most, sizeof bits);
    return (uint16_t)((bits >> 16) - 1);
}

ALWAYS_INLINE void quotients(const pointwise_halves *h, function f) {
    float y = *(const float *)h->chunk.in[1];
    f.s = (parameters){.p = y, .q = 1 / y};
    f.has_ties = f.is_checked = true;
    f.slow = run_any;
    f.most = most_dividend(h->type, y);
    if (f.most == 0) {
        run_any(h);
        return;
    }
    run_either(h, f, f);
}

static void fmod_number_loop(const pointwise_halves *h) {
    quotients(h, (function){.one_with = fmod_of});
}

static void remainder_number_loop(const pointwise_halves *h) {
    quotients(h, (function){.one_with = remainder_of});
}

static void divide_floor_number_loop(const pointwise_halves *h) {
    quotients(h, (function){.one_with = divide_floor_of});
}

#define LOOPS                                                                                                          \
    {                                                                                                                  \
        .op = {[PW_LOG2] = log2_loop, [PW_SIN] = sin_loop, [PW_COS] = cos_loop},                                       \
        .number = {[PW_POW] = pow_number_loop,                                                                         \
                   [PW_FMOD] = fmod_number_loop,                                                                       \
                   [PW_REMAINDER] = remainder_number_loop,                                                             \
                   [PW_DIV_FLOOR] = divide_floor_number_loop},                                                         \
        .number_first = {[PW_POW] = number_pow_loop},                                                                  \
    }
#else
#define LOOPS {.op = {NULL}}
#endif

const pointwise_half_loops ISA_SYMBOL(pointwise_half_checked) = LOOPS;
