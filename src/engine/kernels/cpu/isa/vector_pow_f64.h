/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of doubles, for processors that multiply and add with one rounding. The logarithm is a sum of two doubles, and so is its product
   with the exponent: where that is 700, an error of 2^-63 of the logarithm is one of 2^-53 of the result. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_POW_F64_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_POW_F64_H

#include "engine/kernels/cpu/isa/vector_doubles.h"

/* A number as the sum of two, the second below the digits of the first. */
typedef struct double_pair {
    double high, low;
} double_pair;

/* ln(x) of 0 < x < inf, by s = (m - 1) / (m + 1) as log_parts_f64 has it: ln(m) = 2 s + s^3 (2 / 3 + s^2 p(s^2)), where p is fitted on
   [0, 0.0295] for an error of 2^-66 of the logarithm. All but p's own part is made with twice a double's digits. */
VECTOR_INLINE double_pair log_pair_f64(double x) {
    double normal = x < 0x1p-1022 ? x * 0x1p54 : x, scaled = x < 0x1p-1022 ? 54 : 0;
    uint64_t above = bits_of_double(normal) - 0x3fe6a09e667f3bcdu; /* from sqrt(1/2) on */
    double e = double_of_bits(0x4330000000000000u | (((above >> 52) + 0x800) & 0xfff)) - (0x1p52 + 0x800) - scaled;
    double f = double_of_bits((above & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1;
    double divisor = 2 + f, divisor_low = f - (divisor - 2), inverse = 1 / divisor;
    double s = f * inverse, s_low = (__builtin_fma(-s, divisor, f) - s * divisor_low) * inverse;
    double z = s * s, z_low = __builtin_fma(s, s, -z) + 2 * s * s_low;
    double cube = s * z, cube_low = __builtin_fma(s, z, -cube) + (s * z_low + s_low * z);
    double third = cube * 0x1.5555555555555p-1;
    double third_low = __builtin_fma(cube, 0x1.5555555555555p-1, -third) + (cube * 0x1.5555555555555p-55 + cube_low * 0x1.5555555555555p-1);
    double p = 0x1.e02e6fff27908p-4;
    p = __builtin_fma(p, z, 0x1.df7cc8e5fa539p-4);
    p = __builtin_fma(p, z, 0x1.1118c7e4b0917p-3);
    p = __builtin_fma(p, z, 0x1.3b1395d2190c1p-3);
    p = __builtin_fma(p, z, 0x1.745d177a96056p-3);
    p = __builtin_fma(p, z, 0x1.c71c71c6eaa10p-3);
    p = __builtin_fma(p, z, 0x1.2492492492521p-2);
    p = __builtin_fma(p, z, 0x1.999999999999ap-2);
    double first = 2 * s, of_m = first + third, of_m_low = third - (of_m - first) + (2 * s_low + third_low + cube * z * p);
    double of_e = e * 0x1.62e42fefa3800p-1, sum = of_e + of_m;
    double rest = of_m - (sum - of_e) + (of_m_low + e * 0x1.ef35793c76730p-45), high = sum + rest;
    return (double_pair){high, rest - (high - sum)};
}

/* x^y where x is finite and not 0, y finite, and the power neither overflows nor is below the normal numbers: *exponent, its logarithm,
   says so, else it is NaN and what is answered no power. 1.7 ulp, 1.4 where products and sums are fused. */
#define POW_F64_LIMIT 700.0
VECTOR_INLINE double pow_normal_f64(double x, double y, double *exponent) {
    double size = fabs(x);
    double_pair logarithm = log_pair_f64(size);
    double product = y * logarithm.high, low = __builtin_fma(y, logarithm.high, -product) + y * logarithm.low;
    int is_ordinary = (size > 0) & (size < (double)INFINITY) & (fabs(product) < POW_F64_LIMIT);
    double r, n = exp_rest_f64(is_ordinary ? product : 0, &r);
    r += low;
    double value = (exp_series_f64(r) * (r * r) + r + 1) * power_of_two_f64(n);
    double half = y * 0.5; /* whole numbers beyond 2^53 are even */
    double of_negative = floor(y) != y ? (double)NAN : floor(half) != half ? -value : value;
    *exponent = is_ordinary ? product : (double)NAN;
    return x < 0 ? of_negative : value;
}

#endif
