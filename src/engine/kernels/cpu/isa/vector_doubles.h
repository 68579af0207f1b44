/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in f64 as straight lines of arithmetic, as vector_math.h has them for f32: a loop around them becomes vector
   code. No conversion between doubles and whole numbers and no shift that keeps a sign, which AVX2 has for none of 64 bits. Errors in
   units in the last place (ulp) are measured against long doubles (tests/engine/test_vector_doubles.c). */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_DOUBLES_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_DOUBLES_H

#include "engine/kernels/cpu/isa/vector_math.h"

/* As EXPONENT_MAGIC. */
#define EXPONENT_MAGIC_F64 (ROUND_MAGIC_F64 + 1023)

/* 2^n for whole n in [-1022, 1023], and 0 for -1023. */
VECTOR_INLINE double power_of_two_f64(double n) {
    return double_of_bits(bits_of_double(n + EXPONENT_MAGIC_F64) << 52);
}

/* x = n ln 2 + r with |r| <= ln 2 / 2: n is returned. The first part of ln 2 has 42 bits, which n multiplies exactly. */
VECTOR_INLINE double exp_rest_f64(double x, double *r) {
    double n = x * 0x1.71547652b82fep+0 + ROUND_MAGIC_F64 - ROUND_MAGIC_F64;
    double rest = x - n * 0x1.62e42fefa3800p-1;
    *r = rest - n * 0x1.ef35793c76730p-45;
    return n;
}

/* (exp(r) - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2], fitted for the least relative error of exp (1.6e-17). */
VECTOR_INLINE double exp_series_f64(double r) {
    double p = 0x1.af38a9b0ec855p-26;
    p = p * r + 0x1.289185613a3d6p-22;
    p = p * r + 0x1.71de0dae63bb3p-19;
    p = p * r + 0x1.a019b90d2ae7ap-16;
    p = p * r + 0x1.a01a01a7c41d5p-13;
    p = p * r + 0x1.6c16c1788bd90p-10;
    p = p * r + 0x1.11111111109b3p-7;
    p = p * r + 0x1.5555555553d63p-5;
    p = p * r + 0x1.5555555555556p-3;
    return p * r + 0.5;
}

/* 2^n is applied in halves, so that denormal results come out as well. 1 ulp. Below -746, where the result is 0, n becomes -2046, whose
   halves stand for 0: hardware takes some hundred cycles for a product that underflows, and masks of -inf make many of them. */
VECTOR_INLINE double exp_f64(double x) {
    double clipped = x > 710 ? 710 : x;
    clipped = clipped < -746 ? -1418.2 : clipped;
    double r, n = exp_rest_f64(clipped, &r);
    double value = exp_series_f64(r) * (r * r) + r + 1;
    double half = n * 0.5 + ROUND_MAGIC_F64 - ROUND_MAGIC_F64;
    return value * power_of_two_f64(half) * power_of_two_f64(n - half);
}

/* exp(x) for x <= 0. 1 ulp; below 2^-1022.5 it is 0, without a product that underflows. */
VECTOR_INLINE double exp_negative_f64(double x) {
    double r, n = exp_rest_f64(x < -709 ? -709 : x, &r);
    return (exp_series_f64(r) * (r * r) + r + 1) * power_of_two_f64(n);
}

/* exp(x) - 1, digits kept near 0: twice what half of 2^n leaves, which may be 2^1024. 2 ulp. */
VECTOR_INLINE double expm1_f64(double x) {
    double clipped = x < -40 ? -40 : x;
    clipped = clipped > 710 ? 710 : clipped;
    double r, n = exp_rest_f64(clipped, &r), scale = power_of_two_f64(n - 1);
    double half = scale * (exp_series_f64(r) * (r * r) + r) + (scale - 0.5);
    return half + half;
}

/* The same for x <= 0. */
VECTOR_INLINE double expm1_negative_f64(double x) {
    double r, n = exp_rest_f64(x < -40 ? -40 : x, &r), scale = power_of_two_f64(n);
    return scale * (exp_series_f64(r) * (r * r) + r) + (scale - 1);
}

/* 1 / (1 + exp(-x)) by exp(-|x|). 3 ulp. */
VECTOR_INLINE double sigmoid_f64(double x) {
    double e = exp_negative_f64(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* m / (2 + m) with m = exp(-2 |x|) - 1. 3 ulp. */
VECTOR_INLINE double tanh_f64(double x) {
    double m = expm1_negative_f64(-2 * fabs(x));
    return __builtin_copysign(m / (2 + m), x);
}

/* The logarithm of x = 2^e m with m in [sqrt(1/2), sqrt(2)), by s = (m - 1) / (m + 1): what log(m) is more than 2 s is fitted for the
   least relative error of all (4.2e-18); e is returned. What is below the normal numbers is scaled up first. */
VECTOR_INLINE double log_parts_f64(double x, double *log_of_m) {
    double normal = x < 0x1p-1022 ? x * 0x1p54 : x, scaled = x < 0x1p-1022 ? 54 : 0;
    uint64_t above = bits_of_double(normal) - 0x3fe6a09e667f3bcdu; /* from sqrt(1/2) on */
    double e = double_of_bits(0x4330000000000000u | (((above >> 52) + 0x800) & 0xfff)) - (0x1p52 + 0x800);
    double f = double_of_bits((above & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1;
    double s = f / (2 + f), z = s * s;
    double p = 0x1.0c0aff044a970p-3;
    p = p * z + 0x1.0fbde0f4ad17bp-3;
    p = p * z + 0x1.3b1c3c1c81c8fp-3;
    p = p * z + 0x1.745cf8e4bba1bp-3;
    p = p * z + 0x1.c71c7201a55d7p-3;
    p = p * z + 0x1.2492492476a1ap-2;
    p = p * z + 0x1.9999999999a39p-2;
    p = p * z + 0x1.5555555555555p-1;
    *log_of_m = f - s * (f - z * p);
    return e - scaled;
}

VECTOR_INLINE double log_at_ends_f64(double x, double value) {
    value = x == (double)INFINITY ? (double)INFINITY : value;
    value = x == 0 ? -(double)INFINITY : value;
    return x >= 0 ? value : (double)NAN;
}

/* 2 ulp. */
VECTOR_INLINE double log2_f64(double x) {
    double m, e = log_parts_f64(x, &m);
    return log_at_ends_f64(x, e + (m * 0x1.71547652b82fep+0 + m * 0x1.777d0ffda0d24p-56));
}

/* 2 ulp. */
VECTOR_INLINE double log_f64(double x) {
    double m, e = log_parts_f64(x, &m);
    return log_at_ends_f64(x, e * 0x1.62e42fefa3800p-1 + (e * 0x1.ef35793c76730p-45 + m));
}

/* |x| as far as exp(-x^2 / 2) is not 0, which it is from where it would be no normal number. */
VECTOR_INLINE double normal_size_f64(double x) {
    double size = fabs(x);
    return size > 37.66 ? 37.66 : size;
}

/* exp(-x^2 / 2) of such a size, as exp_half_square has it for f32. */
VECTOR_INLINE double exp_half_square_f64(double size) {
#if defined(__FMA__) || defined(__aarch64__)
    double n = size * size * -0x1.71547652b82fep-1 + ROUND_MAGIC_F64 - ROUND_MAGIC_F64;
    double u = __builtin_fma(size, size, n * 0x1.62e42fefa3800p+0);
    u = u + n * 0x1.ef35793c76730p-44;
#else
    double high = double_of_bits(bits_of_double(size) & 0xfffffffff8000000u); /* 26 bits: its square is exact */
    double square = high * high, missed = (size - high) * (size + high);
    double n = square * -0x1.71547652b82fep-1 + ROUND_MAGIC_F64 - ROUND_MAGIC_F64;
    double u = square + n * 0x1.62e42fefa3800p+0;
    u = u + (n * 0x1.ef35793c76730p-44 + missed);
#endif
    double r = -0.5 * u;
    return (exp_series_f64(r) * (r * r) + r + 1) * power_of_two_f64(n);
}

/* From e = exp(-x^2 / 2) the share of the normal distribution above x >= 0: exp(x^2 / 2) Phi(-x) (1 + sqrt(2) x) by
   (x - 5) / (x + 5), fitted for the least relative error up to 38.6 (2.4e-17). One division serves both quotients. 8 ulp. */
VECTOR_INLINE double normal_tail_f64(double x, double e) {
    double above = x + 5, under = 1 + 0x1.6a09e667f3bcdp+0 * x, inverse = 1 / (above * under);
    double q = (x - 5) * (under * inverse);
    double p = 0x1.49b57bf095f1cp-30;
    p = p * q + 0x1.9b097dc6fa6bbp-28;
    p = p * q + -0x1.1926b2304f6e9p-32;
    p = p * q + -0x1.9ac8ef75e329dp-25;
    p = p * q + -0x1.c842817ea0a34p-26;
    p = p * q + 0x1.3fa41322b509ap-22;
    p = p * q + 0x1.365db3b5e4f70p-23;
    p = p * q + -0x1.0630dd15b3b5cp-19;
    p = p * q + 0x1.86ed0fd45f57cp-23;
    p = p * q + 0x1.bfa2a45991c72p-17;
    p = p * q + -0x1.18fbaffd75ebcp-16;
    p = p * q + -0x1.3fa75e21348bdp-14;
    p = p * q + 0x1.28a18a009e67bp-12;
    p = p * q + -0x1.7622257fad8a5p-15;
    p = p * q + -0x1.429a5a8f56b04p-9;
    p = p * q + 0x1.4e860d65ce517p-7;
    p = p * q + -0x1.9c8683650f0e2p-6;
    p = p * q + 0x1.6bb7292c846c0p-5;
    p = p * q + -0x1.d43f36c029911p-5;
    p = p * q + 0x1.86567c44c31f5p-5;
    p = p * q + -0x1.12d6bf798583fp-8;
    p = p * q + -0x1.1eef47981a498p-4;
    p = p * q + 0x1.3ddc3d8fef7c6p-1;
    return p * (above * inverse) * e;
}

VECTOR_INLINE double normal_cdf_f64(double x) {
    double size = normal_size_f64(x), tail = normal_tail_f64(size, exp_half_square_f64(size));
    return x > 0 ? 1 - tail : tail;
}

/* x Phi(x), as gelu_f32. */
VECTOR_INLINE double gelu_f64(double x) {
    double size = normal_size_f64(x), tail = normal_tail_f64(size, exp_half_square_f64(size));
    return (x < 0 ? 0 : x) - (x < 0 ? -x : size) * tail;
}

/* Phi(x) + x phi(x), as gelu_slope_f32. */
VECTOR_INLINE double normal_slope_f64(double x) {
    double size = normal_size_f64(x), e = exp_half_square_f64(size), tail = normal_tail_f64(size, e);
    double share = x > 0 ? 1 - tail : tail;
    return share + __builtin_copysign(size, x) * (e * 0.398942280401432677940) + (x - x);
}

/* An odd polynomial up to 1 (fitted, 4.2e-17), beyond it 1 - 2 Phi(-sqrt(2) x). 2 ulp. */
VECTOR_INLINE double erf_f64(double x) {
    double size = fabs(x);
    size = size > 6 ? 6 : size;
    double z = size * size;
    double p = -0x1.ac9585a44fe29p-31;
    p = p * z + 0x1.d76af6ca49787p-27;
    p = p * z + -0x1.5c131500d3f88p-23;
    p = p * z + 0x1.b981d78881a5dp-20;
    p = p * z + -0x1.f4ca838adb73bp-17;
    p = p * z + 0x1.f9a2be4f731a1p-14;
    p = p * z + -0x1.c02db0665e53dp-11;
    p = p * z + 0x1.565bccfa44156p-8;
    p = p * z + -0x1.b82ce31203772p-6;
    p = p * z + 0x1.ce2f21a040f66p-4;
    p = p * z + -0x1.812746b0379c1p-2;
    p = p * z + 0x1.20dd750429b6dp+0;
    double r, n = exp_rest_f64(-z, &r);
    double e = (exp_series_f64(r) * (r * r) + r + 1) * power_of_two_f64(n);
    double far = 1 - 2 * normal_tail_f64(size * 0x1.6a09e667f3bcdp+0, e);
    return size < 1 ? p * x : __builtin_copysign(far, x);
}

/* Beyond this callers go to libm. */
#define TRIGONOMETRY_LIMIT_F64 1e6

/* The argument in half turns and what is left of it, as half_turns_fused has it: pi in three parts of 53 bits. */
VECTOR_INLINE double half_turns_fused_f64(double x, int cosine, uint64_t *n) {
    double shifted = cosine ? __builtin_fma(x, 0x1.45f306dc9c883p-2, -0.5) + ROUND_MAGIC_F64
                            : __builtin_fma(x, 0x1.45f306dc9c883p-2, ROUND_MAGIC_F64);
    double turns = shifted - ROUND_MAGIC_F64;
    turns = cosine ? turns + 0.5 : turns;
    *n = bits_of_double(shifted) + (uint64_t)cosine;
    double r = __builtin_fma(turns, -0x1.921fb54442d18p+1, x);
    r = __builtin_fma(turns, -0x1.1a62633145c07p-53, r);
    return __builtin_fma(turns, 0x1.f1976b7ed8fbcp-109, r);
}

/* The same; without such an instruction pi in four parts, the first three of 33 bits, which turns below 2^19 multiply exactly. */
VECTOR_INLINE double half_turns_f64(double x, int cosine, uint64_t *n) {
#if defined(__FMA__) || defined(__aarch64__)
    return half_turns_fused_f64(x, cosine, n);
#else
    double shifted = x * 0x1.45f306dc9c883p-2 - 0.5 * cosine + ROUND_MAGIC_F64;
    double turns = shifted - ROUND_MAGIC_F64 + 0.5 * cosine;
    *n = bits_of_double(shifted) + (uint64_t)cosine;
    double r = x - turns * 0x1.921fb544p+1;
    r = r - turns * 0x1.0b4611a6p-33;
    r = r - turns * 0x1.3198a2ep-68;
    return r - turns * 0x1.b839a252049c1p-103;
#endif
}

/* Fitted for the least relative error (3.7e-17). */
VECTOR_INLINE double sine_of_rest_f64(double r, uint64_t n) {
    double z = r * r;
    double s = 0x1.89a19d105d35ep-49;
    s = s * z + -0x1.ae5121644b564p-41;
    s = s * z + 0x1.6124011228d99p-33;
    s = s * z + -0x1.ae6455a0f5155p-26;
    s = s * z + 0x1.71de3a54550e5p-19;
    s = s * z + -0x1.a01a01a018a8cp-13;
    s = s * z + 0x1.1111111111107p-7;
    s = s * z + -0x1.5555555555555p-3;
    s = s * (z * r) + r;
    return double_of_bits(bits_of_double(s) ^ n << 63);
}

/* 2.6 ulp for |x| up to TRIGONOMETRY_LIMIT_F64. -0 stays that. */
VECTOR_INLINE double sin_f64(double x) {
    uint64_t n, sign = bits_of_double(x) & 0x8000000000000000u;
    double r = half_turns_f64(fabs(x), 0, &n);
    return double_of_bits(bits_of_double(sine_of_rest_f64(r, n)) ^ sign);
}

VECTOR_INLINE double cos_f64(double x) {
    uint64_t n;
    double r = half_turns_f64(x, 1, &n);
    return sine_of_rest_f64(r, n);
}

#endif
