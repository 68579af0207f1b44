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
#else
#define INDEPENDENT _Pragma("GCC ivdep")
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

/* Arguments are clipped here: n is -127 then and the result 0. A second look at the argument would not only cost as much
   again: GCC gathers all that follows from one comparison behind it. */
#define EXP_LOWEST -88.0f

/* exp(x) for x <= 0. 1 ulp; below 2^-126.5 it is 0. */
VECTOR_INLINE float exp_negative_f32(float x) {
    float shifted, r = exp_rest(x < EXP_LOWEST ? EXP_LOWEST : x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
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

/* exp(x) for x <= 0, as exp_negative_f32, where products are fused: ln 2 comes off in one step, which costs |x| / 400 ulp, and the
   polynomial has one term less (1.1e-7). 2 ulp. */
VECTOR_INLINE float exp_below_f32(float x) {
#if defined(__FMA__) || defined(__aarch64__)
    float clipped = x < EXP_LOWEST ? EXP_LOWEST : x;
    float shifted = fmaf(clipped, 0x1.715476p+0f, EXPONENT_MAGIC);
    float r = fmaf(shifted - EXPONENT_MAGIC, -0x1.62e43p-1f, clipped);
    float p = fmaf(0.008312501f, r, 0.04189033f);
    p = fmaf(p, r, 0.16667116f);
    p = fmaf(p, r, 0.4999923f);
    p = fmaf(p, r, 1.0f);
    return fmaf(p, r, 1.0f) * exp_scale(shifted);
#else
    return exp_negative_f32(x);
#endif
}

VECTOR_INLINE float log_f32(float x) {
    float value = (float)(log2_wide(x) * 0.693147180559945309417);
    value = x == INFINITY ? INFINITY : value;
    value = x == 0 ? -INFINITY : value;
    return x >= 0 ? value : NAN;
}

/* Asks for memory that is read soon. */
VECTOR_INLINE void fetch_soon(const void *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch((const char *)at + i);
    }
}

/* Whole lines past the caches; as memcpy does where they are none. */
VECTOR_INLINE void stream_lines(void *to, const void *from, int64_t bytes) {
#if defined(__AVX512F__)
    typedef float line __attribute__((vector_size(64), aligned(1), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 64) {
            __asm__("vmovntps %1, %0" : "=m"(*(line *)((char *)to + i)) : "v"(*(const line *)((const char *)from + i)));
        }
        return;
    }
#elif defined(__SSE2__)
    typedef float line __attribute__((vector_size(16), aligned(1), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 16) {
            __asm__("movntps %1, %0" : "=m"(*(line *)((char *)to + i)) : "x"(*(const line *)((const char *)from + i)));
        }
        return;
    }
#endif
    memcpy(to, from, bytes);
}

/* Makes what was stored past the caches visible to other threads. */
VECTOR_INLINE void stream_settle(void) {
#if defined(__SSE2__)
    __asm__ volatile("sfence" ::: "memory");
#endif
}

/* An index read from data: out of range it is noted and looks at element 0. */
VECTOR_INLINE int64_t checked(int64_t i, int64_t size, uint64_t *bad) {
    *bad |= (uint64_t)i >= (uint64_t)size;
    return (uint64_t)i < (uint64_t)size ? i : 0;
}

#if (defined(__clang__) || __GNUC__ >= 12) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAS_SHUFFLE 1
#define SHUFFLE_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SHUFFLE_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define SHUFFLE_LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SHUFFLE_HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define HAS_SHUFFLE 0
#define SHUFFLE_LOW(a, b) (a)
#define SHUFFLE_HIGH(a, b) (b)
#define SHUFFLE_LOW_8(a, b) (a)
#define SHUFFLE_HIGH_8(a, b) (b)
#endif

VECTOR_INLINE float sum_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
    eight x = *(const eight *)a + *(const eight *)(a + 8);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
#else
    float x[8];
    for (int i = 0; i < 8; i++) {
        x[i] = a[i] + a[i + 8];
    }
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
#endif
}

typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t eight_i32 __attribute__((vector_size(32)));
/* x where it is above y, else y. */
VECTOR_INLINE void keep_larger_f32(eight_f32 *x, const eight_f32 *y) {
    const eight_i32 keeps = *x > *y;
    *x = (eight_f32)(((eight_i32)*x & keeps) | ((eight_i32)*y & ~keeps));
}

/* Of numbers; a NaN has been looked for. */
VECTOR_INLINE float largest_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    eight_f32 x = *(const eight_f32 *)a, y = *(const eight_f32 *)(a + 8);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    keep_larger_f32(&x, &y);
    return x[0];
#else
    float x = a[0];
    for (int i = 1; i < 16; i++) {
        x = x > a[i] ? x : a[i];
    }
    return x;
#endif
}

/* %1 = max f32[1024], %6 = sum f32[1024], %8 = log f32[1024, 1] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b3 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 4096; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t0 = b0[4096 * v0 + v1];
                a0[l] = ((t0 > a0[l]) | (t0 != t0)) ? t0 : a0[l];
            }
        }
        uint32_t nan0 = 0;
        for (int64_t l = 0; l < 64; l++) {
            nan0 |= a0[l] != a0[l];
        }
        for (int64_t l = 0; l < 32; l++) {
            a0[l] = a0[l] > a0[l + 32] ? a0[l] : a0[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = a0[l] > a0[l + 16] ? a0[l] : a0[l + 16];
        }
        const float a0_1_0 = largest_of_16_f32(a0);
        const float r0 = nan0 ? __builtin_nan("") : a0_1_0;
        b6[v0] = r0;
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 4096; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t0 = b0[4096 * v0 + v1];
                const float t2 = t0 - r0;
                const float t3 = exp_below_f32(t2);
                a1[l] += t3;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a1[l] = a1[l] + a1[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = a1[l] + a1[l + 16];
        }
        const float a1_1_0 = sum_of_16_f32(a1);
        const float r1 = a1_1_0;
        const float t5 = log_f32(r1);
        b3[v0] = t5;
    }
    return 1;
}

/* %22 = sum f32[], %23 = sum f32[], %24 = div f32[] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    const float *const b3 = buffers[2];
    float *const b4 = buffers[3];
    const float *const b6 = buffers[4];
    float *const b8 = buffers[5];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v0 = lane + l;
                const int64_t t0 = b1[v0];
                const uint8_t t2 = t0 != (-100);
                const float t5 = t2 ? 1.0f : 0.0f;
                const int64_t t8 = t2 ? t0 : 0;
                const float t9 = b0[4096 * v0 + checked(t8, 4096, &bad)];
                const float t10 = b6[v0];
                const float t11 = t9 - t10;
                const float t12 = b3[v0];
                const float t13 = t11 - t12;
                const float t14 = -t13;
                const float t15 = t2 ? t14 : 0.0f;
                a0[l] += t5;
                a1[l] += t15;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a0[l] = a0[l] + a0[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = a0[l] + a0[l + 16];
        }
        const float a0_1_0 = sum_of_16_f32(a0);
        const float r0 = a0_1_0;
        for (int64_t l = 0; l < 32; l++) {
            a1[l] = a1[l] + a1[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = a1[l] + a1[l + 16];
        }
        const float a1_1_0 = sum_of_16_f32(a1);
        const float r1 = a1_1_0;
        b8[0] = r0;
        const float t17 = r1 / r0;
        b4[0] = t17;
    }
    return bad == 0;
}

/* %43 = sum f32[1024], %48 = sub f32[1024, 4096] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    float *const b5 = buffers[4];
    const float *const b6 = buffers[5];
    const float *const b8 = buffers[6];
    uint64_t bad = 0;
    int64_t t2_0 = 0;
    uint8_t t4_0 = 0;
    int64_t t6_0 = 0;
    int64_t t7_0 = 0;
    int32_t t8_0 = 0;
    float t10_0 = 0;
    float t11_0 = 0;
    float t12_0 = 0;
    float t13_0 = 0;
    float t15_0 = 0;
    float r0_1 = 0;
    int64_t t2_1 = 0;
    uint8_t t4_1 = 0;
    int64_t t6_1 = 0;
    int64_t t7_1 = 0;
    int32_t t8_1 = 0;
    float t10_1 = 0;
    float t11_1 = 0;
    float t12_1 = 0;
    float t13_1 = 0;
    float t15_1 = 0;
    float t19_1 = 0;
    float t21_1 = 0;
    for (int64_t step = first; step < last + 1; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        if (does0) {
            const int64_t task = step;
            const int64_t v0 = task;
            t2_0 = b1[v0];
            t4_0 = t2_0 != (-100);
            t6_0 = t4_0 ? t2_0 : 0;
            t7_0 = checked(t6_0, 4096, &bad);
            t8_0 = (int32_t)(t7_0);
            t10_0 = b2[0];
            t11_0 = -t10_0;
            t12_0 = b8[0];
            t13_0 = t11_0 / t12_0;
            t15_0 = t4_0 ? t13_0 : 0.0f;
        }
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        if (does1) {
            const int64_t task = step - 1;
            const int64_t v0 = task;
            t2_1 = b1[v0];
            t4_1 = t2_1 != (-100);
            t6_1 = t4_1 ? t2_1 : 0;
            t7_1 = checked(t6_1, 4096, &bad);
            t8_1 = (int32_t)(t7_1);
            t10_1 = b2[0];
            t11_1 = -t10_1;
            t12_1 = b8[0];
            t13_1 = t11_1 / t12_1;
            t15_1 = t4_1 ? t13_1 : 0.0f;
            t19_1 = b6[v0];
            t21_1 = b3[v0];
        }
        {
            for (int64_t block = 0; block <= 4032; block += 64) {
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    float made1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_1;
                        const float t16 = t9 ? t15_1 : 0.0f;
                        const float t18 = b0[4096 * v0 + v1];
                        const float t20 = t18 - t19_1;
                        const float t22 = t20 - t21_1;
                        const float t23 = exp_f32(t22);
                        const float t24 = t23 * r0_1;
                        const float t25 = t16 - t24;
                        made1[l] = t25;
                    }
                    {
                        const int64_t v1 = block;
                        stream_lines(b5 + 4096 * v0 + v1, made1, 256);
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        fetch_soon(b0 + 4096 * v0 + v1 + 1024, 256);
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_0;
                        const float t16 = t9 ? t15_0 : 0.0f;
                        a0[l] += t16;
                    }
                }
            }
        }
        if (does0) {
            for (int64_t l = 0; l < 32; l++) {
                a0[l] = a0[l] + a0[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a0[l] = a0[l] + a0[l + 16];
            }
            const float a0_1_0 = sum_of_16_f32(a0);
            const float r0 = a0_1_0;
            r0_1 = r0;
        }
    }
    stream_settle();
    return bad == 0;
}

