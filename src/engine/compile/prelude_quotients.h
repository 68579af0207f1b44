/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: quotients rounded to whole numbers, and what they leave. */

/* A quotient below 2^28 has, times the divisor, 52 bits: the rest is exact in double. The quotient is so near an integer
   when it rounds to one that it is at most 1 too large, which the rest's sign shows. Others are libm's, which takes long. */
VECTOR_INLINE float fmod_near_f32(float a, float b) {
    double quotient = __builtin_trunc((double)a / (double)b);
    double rest = quotient == 0 ? (double)a : (double)a - quotient * (double)b;
    double more = a < 0 ? -fabs((double)b) : fabs((double)b);
    rest = rest != 0 && (rest < 0) != (a < 0) ? rest + more : rest;
    return copysignf((float)rest, a);
}

/* Where that does not hold; NaN, division by zero and by infinity among it. */
VECTOR_INLINE uint32_t quotient_is_far(float a, float b) {
    return !((fabsf(a) < 0x1p28f * fabsf(b)) & (fabsf(b) < INFINITY));
}

VECTOR_INLINE float fmod_f32(float a, float b) {
    return quotient_is_far(a, b) ? __builtin_fmodf(a, b) : fmod_near_f32(a, b);
}

/* A block's quick form: where products are fused, without double, by the whole number nearest to the rounded quotient. Below 2^20
   that is off by an eighth at most, also by way of a known divisor's inverse; so what remains is at most 5/8 of the divisor and the
   fused product has it exactly, and so has the sum where it is on the wrong side of 0. */
VECTOR_INLINE uint32_t quotient_is_large(float a, float b) {
#if defined(__FMA__) || defined(__aarch64__)
    float size = fabsf(b);
    return !((fabsf(a) < 0x1p20f * size) & (size < 0x1p100f) & (size > 0x1p-100f));
#else
    return quotient_is_far(a, b);
#endif
}

VECTOR_INLINE float nearest_quotient_f32(float a, float b) {
    return __builtin_rintf(__builtin_constant_p(b) ? a * (1 / b) : a / b);
}

VECTOR_INLINE float fmod_quick_f32(float a, float b) {
#if defined(__FMA__) || defined(__aarch64__)
    float size = fabsf(b), rest = fmaf(-nearest_quotient_f32(fabsf(a), size), size, fabsf(a));
    return copysignf(rest < 0 ? rest + size : rest, a);
#else
    return fmod_near_f32(a, b);
#endif
}

/* a, its sign turned where b is negative. */
VECTOR_INLINE float turned_f32(float a, float b) {
    return float_of_bits(bits_of_float(a) ^ (bits_of_float(b) & 0x80000000u));
}

/* The same of doubles, for quotients below 2^49. */
VECTOR_INLINE double nearest_quotient_f64(double a, double b) {
    return __builtin_rint(__builtin_constant_p(b) ? a * (1 / b) : a / b);
}

VECTOR_INLINE double fmod_near_f64(double a, double b) {
    double size = fabs(b), rest = __builtin_fma(-nearest_quotient_f64(fabs(a), size), size, fabs(a));
    return __builtin_copysign(rest < 0 ? rest + size : rest, a);
}

/* Where that does not hold, or costs a call for the fused product. */
VECTOR_INLINE uint32_t quotient_is_far_f64(double a, double b) {
#if defined(__FMA__) || defined(__aarch64__)
    double size = fabs(b);
    return !((fabs(a) < 0x1p49 * size) & (size < 0x1p900) & (size > 0x1p-900));
#else
    (void)a;
    (void)b;
    return 1;
#endif
}

VECTOR_INLINE double fmod_f64(double a, double b) {
    return quotient_is_far_f64(a, b) ? __builtin_fmod(a, b) : fmod_near_f64(a, b);
}

/* The remainder with the divisor's sign. */
VECTOR_INLINE float with_sign_of_divisor(float rest, float b) {
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* A quotient of floats below 2^28 that is not whole stays 2^-24 away from the next whole number: its floor in double is that
   of the exact one, and the rest is exact. */
VECTOR_INLINE float remainder_near_f32(float a, float b) {
    double whole = __builtin_floor((double)a / (double)b);
    float rest = whole == 0 ? a : (float)((double)a - whole * (double)b);
    return rest == 0 ? __builtin_copysignf(0, a) : rest;
}

VECTOR_INLINE float remainder_f32(float a, float b) {
    return quotient_is_far(a, b) ? with_sign_of_divisor(__builtin_fmodf(a, b), b) : remainder_near_f32(a, b);
}

VECTOR_INLINE float remainder_quick_f32(float a, float b) {
#if defined(__FMA__) || defined(__aarch64__)
    float rest = fmaf(-nearest_quotient_f32(a, b), b, a);
    float made = turned_f32(rest, b) < 0 ? rest + b : rest;
    return rest == 0 ? copysignf(0, a) : made;
#else
    return remainder_near_f32(a, b);
#endif
}

VECTOR_INLINE double turned_f64(double a, double b) {
    return double_of_bits(bits_of_double(a) ^ (bits_of_double(b) & 0x8000000000000000u));
}

VECTOR_INLINE double remainder_near_f64(double a, double b) {
    double rest = __builtin_fma(-nearest_quotient_f64(a, b), b, a);
    double made = turned_f64(rest, b) < 0 ? rest + b : rest;
    return rest == 0 ? __builtin_copysign(0, a) : made;
}

VECTOR_INLINE double remainder_f64(double a, double b) {
    if (quotient_is_far_f64(a, b)) {
        double rest = __builtin_fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    return remainder_near_f64(a, b);
}

/* The floor of the exact quotient, by what fmod leaves, as ATen has it: rounding a / b first can be off by one. */
VECTOR_INLINE float floor_div_by_rest(float a, float b, float rest) {
    float whole = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? 1.0f : 0.0f);
    float near = __builtin_floorf(whole);
    near = whole - near > 0.5f ? near + 1 : near;
    return b == 0 ? a / b : whole == 0 ? __builtin_copysignf(0, a / b) : near;
}

VECTOR_INLINE float floor_div_near_f32(float a, float b) {
    return (float)__builtin_floor((double)a / (double)b);
}

VECTOR_INLINE float floor_div_f32(float a, float b) {
    return quotient_is_far(a, b) ? floor_div_by_rest(a, b, __builtin_fmodf(a, b)) : floor_div_near_f32(a, b);
}

VECTOR_INLINE float floor_div_quick_f32(float a, float b) {
#if defined(__FMA__) || defined(__aarch64__)
    float whole = nearest_quotient_f32(a, b), rest = fmaf(-whole, b, a);
    return turned_f32(rest, b) < 0 ? whole - 1 : whole;
#else
    return floor_div_near_f32(a, b);
#endif
}

VECTOR_INLINE double floor_div_near_f64(double a, double b) {
    double whole = nearest_quotient_f64(a, b), rest = __builtin_fma(-whole, b, a);
    return turned_f64(rest, b) < 0 ? whole - 1 : whole;
}

VECTOR_INLINE double floor_div_by_rest_f64(double a, double b, double rest) {
    double whole = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? 1.0 : 0.0);
    double near = __builtin_floor(whole);
    near = whole - near > 0.5 ? near + 1 : near;
    return b == 0 ? a / b : whole == 0 ? __builtin_copysign(0, a / b) : near;
}

VECTOR_INLINE double floor_div_f64(double a, double b) {
    return quotient_is_far_f64(a, b) ? floor_div_by_rest_f64(a, b, __builtin_fmod(a, b)) : floor_div_near_f64(a, b);
}

/* Whole numbers: a divisor of 0 answers 0, and the one quotient that does not fit wraps. */
VECTOR_INLINE int32_t div_i32(int32_t a, int32_t b) {
    return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

VECTOR_INLINE int64_t div_i64(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}

VECTOR_INLINE int32_t fmod_i32(int32_t a, int32_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

VECTOR_INLINE int64_t fmod_i64(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

VECTOR_INLINE int32_t remainder_i32(int32_t a, int32_t b) {
    int32_t rest = fmod_i32(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

VECTOR_INLINE int64_t remainder_i64(int64_t a, int64_t b) {
    int64_t rest = fmod_i64(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

VECTOR_INLINE int32_t floor_div_i32(int32_t a, int32_t b) {
    return div_i32(a, b) - (remainder_i32(a, b) != fmod_i32(a, b));
}

VECTOR_INLINE int64_t floor_div_i64(int64_t a, int64_t b) {
    return div_i64(a, b) - (remainder_i64(a, b) != fmod_i64(a, b));
}

/* Quotients by way of double: below 2^51 an integer is exact in it, and a quotient that is not whole stays further from the
   next whole number than rounding moves it. Where that does not hold, division by zero among it: */
VECTOR_INLINE uint64_t no_near_i64(int64_t a, int64_t b) {
    return (((uint64_t)a + (1ull << 51)) >> 52) | (((uint64_t)b + (1ull << 51)) >> 52) | (uint64_t)(b == 0);
}

VECTOR_INLINE int64_t div_near_i64(int64_t a, int64_t b) {
    return (int64_t)((double)a / (double)b);
}

/* By a number known beforehand: times its inverse, which is one off at most; what is left says so, exactly. */
VECTOR_INLINE double floor_quotient_f64(double a, double b) {
    if (!__builtin_constant_p(b)) {
        return __builtin_floor(a / b);
    }
    double q = __builtin_floor(a * (1 / b)), rest = b < 0 ? q * b - a : a - q * b, size = b < 0 ? -b : b;
    return rest < 0 ? q - 1 : rest >= size ? q + 1 : q;
}

VECTOR_INLINE int64_t floor_div_near_i64(int64_t a, int64_t b) {
    return (int64_t)floor_quotient_f64((double)a, (double)b);
}

VECTOR_INLINE int64_t fmod_near_i64(int64_t a, int64_t b) {
    return a - div_near_i64(a, b) * b;
}

VECTOR_INLINE int64_t remainder_near_i64(int64_t a, int64_t b) {
    return a - floor_div_near_i64(a, b) * b;
}

VECTOR_INLINE uint32_t no_near_i32(int32_t a, int32_t b) {
    (void)a;
    return b == 0;
}

VECTOR_INLINE int32_t div_near_i32(int32_t a, int32_t b) {
    return (int32_t)(int64_t)((double)a / (double)b);
}

VECTOR_INLINE int32_t floor_div_near_i32(int32_t a, int32_t b) {
    return (int32_t)(int64_t)floor_quotient_f64((double)a, (double)b);
}

VECTOR_INLINE int32_t fmod_near_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)div_near_i32(a, b) * (uint32_t)b);
}

VECTOR_INLINE int32_t remainder_near_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)floor_div_near_i32(a, b) * (uint32_t)b);
}
