typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define VECTOR_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define FEW
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#define FEW _Pragma("GCC unroll 1")
#endif
#define memcpy __builtin_memcpy
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define copysignf __builtin_copysignf
#define fmaf __builtin_fmaf
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

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

/* Adding this leaves the nearest whole number in the low bits, without an instruction for rounding (SSE2 has none). */
#define ROUND_MAGIC_F32 0x1.8p23f

/* The same, and the exponent of 2^n with its bias in the low bits. */
#define EXPONENT_MAGIC (ROUND_MAGIC_F32 + 127.0f)

/* 2^n of exp_rest's n in [-126, 127], and 0 for n = -127: the magic number's own bits are shifted out. Results are
   multiplied by it, not added to in their bits: what is NaN stays NaN. */
VECTOR_INLINE float exp_scale(float shifted) {
    return float_of_bits(bits_of_float(shifted) << 23);
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
    float square = high * high, error = (size - high) * (size + high);
    float shifted = square * -0x1.715476p-1f + EXPONENT_MAGIC;
    float n = shifted - EXPONENT_MAGIC;
    float u = square + n * 0x1.63p+0f;
    u = u + (n * -0x1.bd0106p-12f + error);
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

VECTOR_INLINE float normal_cdf_f32(float x) {
    float size = normal_size(x), tail = normal_tail(size, exp_half_square(size));
    return x > 0 ? 1.0f - tail : tail;
}

VECTOR_INLINE float normal_pdf_f32(float x) {
    return exp_half_square(normal_size(x)) * 0.398942280401432678f;
}

/* %10 = mul f32[1024, 3072] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 3;
        const int64_t first_lane = 1024 * (task % 3);
        INDEPENDENT
        for (int64_t l = 0; l < 1024; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b2[3072 * v0 + v1];
            const float t1 = b0[3072 * v0 + v1];
            const float t2 = b1[v1];
            const float t3 = t1 + t2;
            const float t4 = normal_cdf_f32(t3);
            const float t5 = normal_pdf_f32(t3);
            const float t6 = t3 * t5;
            const float t7 = t4 + t6;
            const float t8 = t0 * t7;
            b3[3072 * v0 + v1] = t8;
        }
    }
    return 1;
}

/* %12 = sum f32[32, 3072] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    float *const b5 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 6;
        const int64_t first_lane = 512 * (task % 6);
        float a0[512];
        for (int64_t l = 0; l < 512; l++) {
            a0[l] = 0;
        }
        for (int64_t v1 = 0; v1 < 32; v1++) {
            INDEPENDENT
            for (int64_t l = 0; l < 512; l++) {
                const int64_t v2 = first_lane + l;
                const float t0 = b3[98304 * v0 + 3072 * v1 + v2];
                a0[l] += t0;
            }
        }
        float *const r0 = a0;
        for (int64_t l = 0; l < 512; l++) {
            const int64_t v2 = first_lane + l;
            b5[3072 * v0 + v2] = r0[l];
        }
    }
    return 1;
}

/* %13 = sum f32[3072] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    float *const b4 = buffers[0];
    const float *const b5 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 512 * (task);
        float a0[512];
        for (int64_t l = 0; l < 512; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 32; v0++) {
            INDEPENDENT
            for (int64_t l = 0; l < 512; l++) {
                const int64_t v1 = first_lane + l;
                const float t0 = b5[3072 * v0 + v1];
                a0[l] += t0;
            }
        }
        float *const r0 = a0;
        for (int64_t l = 0; l < 512; l++) {
            const int64_t v1 = first_lane + l;
            b4[v1] = r0[l];
        }
    }
    return 1;
}

