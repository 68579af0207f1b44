/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in f32 as straight lines of arithmetic, so that a loop around them becomes vector code: no
   branch, no table, no call. Selections stand for branches; NaN and infinities come out as IEEE 754 asks. Errors are
   given in units in the last place (ulp), measured against the double functions over the whole range
   (tests/engine/test_vector_math.c). */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_MATH_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A call left in a loop keeps it scalar: inlining is not left to taste. */
#define VECTOR_INLINE static inline __attribute__((always_inline))

VECTOR_INLINE float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VECTOR_INLINE uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

VECTOR_INLINE double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VECTOR_INLINE uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^n for n in [-126, 127]. */
VECTOR_INLINE float power_of_two(int32_t n) {
    return float_of_bits((uint32_t)(n + 127) << 23);
}

/* Adding this leaves the nearest whole number in the low bits, without an instruction for rounding (SSE2 has none). */
#define ROUND_MAGIC_F32 0x1.8p23f

#define ROUND_MAGIC_F64 0x1.8p52

/* The same, and the exponent of 2^n with its bias in the low bits. */
#define EXPONENT_MAGIC (ROUND_MAGIC_F32 + 127.0f)

/* x = n ln 2 + r with |r| <= ln 2 / 2 and |n| <= 127: n + 127 stays in the low bits of `shifted`. ln 2 is taken off in two
   parts, the first of which multiplies exactly. */
VECTOR_INLINE float exp_rest(float x, float *shifted) {
    *shifted = x * 0x1.715476p+0f + EXPONENT_MAGIC;
    float n = *shifted - EXPONENT_MAGIC;
    float r = x - n * 0x1.63p-1f;
    return r - n * -0x1.bd0106p-13f;
}

/* (exp(r) - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2], fitted for the least relative error of exp (3.1e-9). */
VECTOR_INLINE float exp_series(float r) {
    float p = 0.001381452757f;
    p = p * r + 0.008368750669f;
    p = p * r + 0.04166839134f;
    p = p * r + 0.1666652035f;
    return p * r + 0.4999999343f;
}

/* 2^n of exp_rest's n in [-126, 127], and 0 for n = -127: the magic number's own bits are shifted out. Results are
   multiplied by it, not added to in their bits: what is NaN stays NaN. */
VECTOR_INLINE float exp_scale(float shifted) {
    return float_of_bits(bits_of_float(shifted) << 23);
}

/* 2^n is applied in halves, so that denormal results come out as well. 1 ulp. Below -104, where the result is 0, n becomes
   -254, whose halves stand for 0: hardware takes some hundred cycles for a product that underflows, and masks of -inf make
   many of them. */
VECTOR_INLINE float exp_f32(float x) {
    float clipped = x > 89.0f ? 89.0f : x;
    clipped = clipped < -104.0f ? -176.0f : clipped;
    float shifted, r = exp_rest(clipped, &shifted);
    float value = (exp_series(r) * r + 1.0f) * r + 1.0f;
    int32_t whole = (int32_t)(bits_of_float(shifted) - bits_of_float(EXPONENT_MAGIC)), half = whole >> 1;
    return value * power_of_two(half) * power_of_two(whole - half);
}

/* exp(x) for |x| < EXP_NORMAL. 1 ulp. */
#define EXP_NORMAL 87.0f
VECTOR_INLINE float exp_normal_f32(float x) {
    float shifted, r = exp_rest(x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
}

/* Arguments are clipped here: n is -127 then and the result 0. A second look at the argument would not only cost as much
   again: GCC gathers all that follows from one comparison behind it. */
#define EXP_LOWEST -88.0f

/* exp(x) for x <= 0. 1 ulp; below 2^-126.5 it is 0. */
VECTOR_INLINE float exp_negative_f32(float x) {
    float shifted, r = exp_rest(x < EXP_LOWEST ? EXP_LOWEST : x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
}

/* exp(x) - 1 for x in [-87, 0], digits kept near 0. 2 ulp. */
VECTOR_INLINE float expm1_normal(float x) {
    float shifted, r = exp_rest(x, &shifted);
    float m = exp_series(r) * (r * r) + r, scale = exp_scale(shifted);
    return scale * m + (scale - 1.0f);
}

/* |x| as far as exp(-x^2 / 2) is not 0: sqrt(2 * 127 ln 2). */
VECTOR_INLINE float normal_size(float x) {
    float size = fabsf(x);
    return size > 13.269f ? 13.269f : size;
}

/* exp(-x^2 / 2) of such a size: x^2 = -2 n ln 2 + u, then the series of exp_series for -u / 2. The square's own rounding error
   would be up to 90 ulp of the result: a fused multiplication takes n ln 2 (the large part of which n multiplies exactly) off
   before it rounds, without one the factors are split so that their large part is exact. */
VECTOR_INLINE float exp_half_square(float size) {
#if defined(__FMA__) || defined(__aarch64__)
    float shifted = size * size * -0x1.715476p-1f + EXPONENT_MAGIC;
    float n = shifted - EXPONENT_MAGIC;
    float u = fmaf(size, size, n * 0x1.63p+0f);
    u = u + n * -0x1.bd0106p-12f;
#else
    float high = float_of_bits(bits_of_float(size) & 0xfffff000u); /* 12 bits: its square is exact */
    float square = high * high, missed = (size - high) * (size + high);
    float shifted = square * -0x1.715476p-1f + EXPONENT_MAGIC;
    float n = shifted - EXPONENT_MAGIC;
    float u = square + n * 0x1.63p+0f;
    u = u + (n * -0x1.bd0106p-12f + missed);
#endif
    float p = 0.001381452757f / 64;
    p = p * u + -0.008368750669f / 32;
    p = p * u + 0.04166839134f / 16;
    p = p * u + -0.1666652035f / 8;
    p = p * u + 0.4999999343f / 4;
    return ((p * u + -0.5f) * u + 1.0f) * exp_scale(shifted);
}

/* From e = exp(-x^2 / 2) the share of the normal distribution above x >= 0. The quotient is exp(x^2 / 2) * Phi(-x) on
   [0, 13.28], fitted for the least relative error (5.0e-9); all its terms are positive. 8 ulp, in the tail too. */
VECTOR_INLINE float normal_tail(float x, float e) {
    float p = 0.004018489899f;
    p = p * x + 0.03997263671f;
    p = p * x + 0.1812723936f;
    p = p * x + 0.435639668f;
    p = p * x + 0.5000000025f;
    float q = 0.01007271673f;
    q = q * x + 0.1002039402f;
    q = q * x + 0.46428964f;
    q = q * x + 1.194341049f;
    q = q * x + 1.669164254f;
    q = q * x + 1.0f;
    return p / q * e;
}

/* x * Phi(x) as max(x, 0) - |x| Phi(-|x|): the lower tail keeps its digits. 8 ulp. The factor has no limit where x is low, so that -inf
   times nothing is NaN, as ATen's is. */
VECTOR_INLINE float gelu_f32(float x) {
    float size = normal_size(x);
    float tail = normal_tail(size, exp_half_square(size));
    return (x < 0 ? 0.0f : x) - (x < 0 ? -x : size) * tail;
}

/* The slope Phi(x) + x phi(x): share and density come from one exponential. At an infinity it is NaN, as inf * phi(inf) is. */
VECTOR_INLINE float gelu_slope_f32(float x) {
    float size = normal_size(x), e = exp_half_square(size), tail = normal_tail(size, e);
    float share = x > 0 ? 1.0f - tail : tail;
    return share + copysignf(size, x) * (e * 0.398942280401432678f) + (x - x);
}

/* 2 ulp: an odd polynomial near 0 (fitted as above, 3e-10), 1 - 2 Phi(-sqrt(2) x) beyond. */
VECTOR_INLINE float erf_f32(float x) {
    float size = fabsf(x);
    size = size > 9.0f ? 9.0f : size;
    float z = size * size;
    float p = 8.52940132284e-5f;
    p = p * z + -0.000817963218089f;
    p = p * z + 0.00520422669375f;
    p = p * z + -0.0268606647911f;
    p = p * z + 0.112837180496f;
    p = p * z + -0.37612635194f;
    p = p * z + 1.12837916679f;
    float far = 1.0f - 2.0f * normal_tail(size * 0x1.6a09e6p+0f, exp_negative_f32(-z));
    return size < 0.9f ? p * x : copysignf(far, x);
}

/* 1 / (1 + exp(-x)) by exp(-|x|): nothing overflows and small results keep their digits. 2 ulp. */
VECTOR_INLINE float sigmoid_f32(float x) {
    float e = exp_negative_f32(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* m / (2 + m) with m = exp(2 |x|) - 1, or rather the same of -2 |x|, which cannot overflow. 3 ulp. */
VECTOR_INLINE float tanh_f32(float x) {
    float twice = -2.0f * fabsf(x);
    float m = expm1_normal(twice < -40.0f ? -40.0f : twice);
    return copysignf(m / (2.0f + m), x);
}

/* exp(x) - 1 for x <= 0 (what elu asks for). 2 ulp. */
VECTOR_INLINE float expm1_negative_f32(float x) {
    return expm1_normal(x < -87.0f ? -87.0f : x);
}

/* The logarithm to base 2 in double, good to 40 bits, of a finite positive float: m in [sqrt(1/2), sqrt(2)) and e by
   its bits, then the series of artanh in (m - 1) / (m + 1). Doubles hold every float normalised. */
VECTOR_INLINE double log2_wide(float x) {
    uint64_t bits = bits_of_double((double)x);
    uint64_t above = bits - 0x3fe6a09e667f3bcdu; /* from sqrt(1/2) on */
    int32_t e = (int32_t)((int64_t)above >> 52);
    double m = double_of_bits((above & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    return e + (p * z + 1) * s * 2.885390081777926814719849362;
}

/* 2^x in double, good to 35 bits; results out of f32's range are as good as 0 and infinity. */
VECTOR_INLINE double exp2_wide(double x) {
    double clipped = x > 200 ? 200 : x;
    clipped = clipped < -200 ? -200 : clipped;
    double shifted = clipped + ROUND_MAGIC_F64;
    double t = (clipped - (shifted - ROUND_MAGIC_F64)) * 0.693147180559945309417;
    uint64_t scale = (bits_of_double(shifted) - bits_of_double(ROUND_MAGIC_F64) + 1023) << 52;
    double p = 1.0 / 362880;
    p = p * t + 1.0 / 40320;
    p = p * t + 1.0 / 5040;
    p = p * t + 1.0 / 720;
    p = p * t + 1.0 / 120;
    p = p * t + 1.0 / 24;
    p = p * t + 1.0 / 6;
    p = p * t + 0.5;
    p = p * t + 1;
    p = p * t + 1;
    return p * double_of_bits(scale);
}

/* m in [sqrt(1/2), sqrt(2)) and e by their bits, then log2(m) / (m - 1) by a polynomial, fitted for the least relative error
   (4.1e-9). What is below the normal numbers is scaled up first. 2 ulp. */
VECTOR_INLINE float log2_f32(float x) {
    float normal = x < 0x1p-126f ? x * 0x1p25f : x, scaled = x < 0x1p-126f ? 25.0f : 0.0f;
    uint32_t above = bits_of_float(normal) - 0x3f3504f3u; /* from sqrt(1/2) on */
    float e = (float)((int32_t)above >> 23) - scaled;
    float f = float_of_bits((above & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0.109949417f;
    p = p * f + 0.186174884f;
    p = p * f - 0.191062778f;
    p = p * f + 0.204600632f;
    p = p * f - 0.239617407f;
    p = p * f + 0.288567394f;
    p = p * f - 0.360696644f;
    p = p * f + 0.480898231f;
    p = p * f - 0.721347332f;
    p = p * f + 1.44269502f;
    float value = p * f + e;
    value = x == INFINITY ? INFINITY : value;
    value = x == 0 ? -INFINITY : value;
    return x >= 0 ? value : NAN;
}

/* Powers in two steps, each short enough for the vectoriser: |x|^y to half an ulp, then what C's rules make of the sign
   of x, of 1 and of NaN. */
VECTOR_INLINE float pow_magnitude(float x, float y) {
    double wide = fabs((double)x), logarithm = log2_wide(fabsf(x));
    logarithm = wide == 0 ? -(double)INFINITY : logarithm;
    logarithm = wide == (double)INFINITY ? (double)INFINITY : logarithm;
    return (float)exp2_wide((double)y * logarithm);
}

/* x^y from log2 x, for finite x > 0 but 1: the exponent in double, what is left of its whole part in float. 1 ulp. */
VECTOR_INLINE float pow_by_log2(double logarithm, float y) {
    double e = (double)y * logarithm;
    e = e > 200 ? 200 : e;
    e = e < -200 ? -200 : e;
    double shifted = e + ROUND_MAGIC_F64;
    int32_t whole = (int32_t)(uint32_t)bits_of_double(shifted);
    float r = (float)((e - (shifted - ROUND_MAGIC_F64)) * 0.693147180559945309417);
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    float value = p * (r * r) + r + 1.0f;
    int32_t half = whole >> 1;
    return value * power_of_two(half) * power_of_two(whole - half);
}

/* a where the condition holds, else b, by their bits: of selections one behind the other GCC makes branches, which keep a loop
   scalar. */
VECTOR_INLINE uint32_t bits_where(int condition, uint32_t a, uint32_t b) {
    uint32_t mask = 0 - (uint32_t)condition;
    return (a & mask) | (b & ~mask);
}

VECTOR_INLINE float pow_signed(float magnitude, float x, float y) {
    const uint32_t one = 0x3f800000u, infinite = 0x7f800000u;
    uint32_t sign = bits_of_float(x) & 0x80000000u, size = bits_of_float(x) ^ sign, power = bits_of_float(y) & 0x7fffffffu;
    /* Floats of 2^24 and more are all even. */
    float clipped = float_of_bits(bits_where(power < 0x4b800000u, bits_of_float(y), 0));
    int32_t whole = (int32_t)clipped;
    uint32_t value = bits_where((size == one) & (power == infinite), one, bits_of_float(magnitude));
    uint32_t of_fraction = bits_where((sign != 0) & (size != 0) & (size < infinite), 0x7fc00000u, value);
    value = bits_where((float)whole == clipped, value ^ (sign & (uint32_t)whole << 31), of_fraction);
    value = bits_where(size > infinite, size, value);
    value = bits_where(bits_of_float(x) == one, one, value);
    return float_of_bits(bits_where(power == 0, one, value));
}

/* Beyond this the reduction below loses digits; callers go to libm for a block that holds larger arguments. */
#define TRIGONOMETRY_LIMIT 1e6f

/* The argument in half turns and a rest in [-pi/2, pi/2] or a little beyond, where multiplications are fused: pi in three parts of 24 bits.
   What the first leaves is a multiple of 2^-23 below 2, so exact; the others keep the digits that it has lost near zeros. A cosine's turns are
   n + 1/2. *n: odd where the sine of the rest changes its sign. */
VECTOR_INLINE float half_turns_fused(float x, int cosine, uint32_t *n) {
    float shifted = cosine ? fmaf(x, 0x1.45f306p-2f, -0.5f) + ROUND_MAGIC_F32 : fmaf(x, 0x1.45f306p-2f, ROUND_MAGIC_F32);
    float turns = shifted - ROUND_MAGIC_F32;
    turns = cosine ? turns + 0.5f : turns;
    *n = bits_of_float(shifted) + (uint32_t)cosine;
    float r = fmaf(turns, -0x1.921fb4p+1f, x);
    r = fmaf(turns, -0x1.4442dp-23f, r);
    return fmaf(turns, -0x1.846988p-47f, r);
}

/* The same; without such an instruction taken off in double: pi in two parts, the first of 33 bits, which n < 2^19 multiplies
   exactly. */
VECTOR_INLINE float half_turns(float x, int cosine, uint32_t *n) {
#if defined(__FMA__) || defined(__aarch64__)
    return half_turns_fused(x, cosine, n);
#else
    double shifted = (double)x * 0.318309886183790672 - 0.5 * cosine + ROUND_MAGIC_F64;
    *n = (uint32_t)bits_of_double(shifted) + (uint32_t)cosine;
    double turns = shifted - ROUND_MAGIC_F64 + 0.5 * cosine;
    return (float)((double)x - turns * 3.14159265346825122834 - turns * 1.215420101300123986e-10);
#endif
}

/* Fitted for the least relative error (6.2e-9). */
VECTOR_INLINE float sine_of_rest(float r, uint32_t n) {
    float z = r * r;
    float s = 0x1.5dc902p-19f;
    s = s * z + -0x1.9f70fp-13f;
    s = s * z + 0x1.110edap-7f;
    s = s * z + -0x1.55554cp-3f;
    s = s * (z * r) + r;
    return float_of_bits(bits_of_float(s) ^ n << 31);
}

/* 2.1 ulp, from 10^5 on 3, for |x| up to TRIGONOMETRY_LIMIT. -0 stays that. */
VECTOR_INLINE float sin_f32(float x) {
    uint32_t n, sign = bits_of_float(x) & 0x80000000u;
    float r = half_turns(fabsf(x), 0, &n);
    return float_of_bits(bits_of_float(sine_of_rest(r, n)) ^ sign);
}

VECTOR_INLINE float cos_f32(float x) {
    uint32_t n;
    float r = half_turns(x, 1, &n);
    return sine_of_rest(r, n);
}

#endif
