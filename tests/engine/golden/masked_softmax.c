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

/* A choice in bits. With a branch gcc follows what it knows of a constant side (an infinity is no NaN, and larger than nothing)
   through all that comes after, one way for each side, and makes no vector code of it. */
VECTOR_INLINE float choose_f32(int condition, float a, float b) {
    uint32_t mask = -(uint32_t)(condition != 0);
    return float_of_bits((mask & bits_of_float(a)) | (~mask & bits_of_float(b)));
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

#if defined(__AVX512F__)
typedef float wide_f32 __attribute__((vector_size(64)));
typedef float wide_f32_anywhere __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t wide_i32 __attribute__((vector_size(64)));
VECTOR_INLINE wide_f32 wide_of(float x) {
    return (wide_f32){0} + x;
}
#endif

/* b where either is NaN. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_smaller(float a, wide_f32 b) {
    wide_f32 c;
    __asm__("vminps %2, %1, %0" : "=v"(c) : "v"(wide_of(a)), "v"(b));
    return c;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_larger(float a, wide_f32 b) {
    wide_f32 c;
    __asm__("vmaxps %2, %1, %0" : "=v"(c) : "v"(wide_of(a)), "v"(b));
    return c;
}
#endif

/* exp(x) of |x| <= 200 or NaN. x = (n + k / 16) ln 2 + r, where the sum of both is what remains of x / ln 2 in 4 bits behind the
   point; 2^(k / 16) is looked up, and the instruction that multiplies by 2^n rounds once where results are denormal. ln 2 is
   taken off in two parts, the first of which multiplies exactly. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_exp(wide_f32 x) {
    static const float powers[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f,
        0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f,
        0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f
    };
    wide_f32 shifted = x * 0x1.715476p+0f + 0x1.8p19f, n = shifted - 0x1.8p19f;
    wide_f32 r = x - n * 0x1.62ep-1f, power, value;
    r = r - n * 0x1.0bfbe8p-15f;
    __asm__("vpermps %2, %1, %0" : "=v"(power) : "v"(shifted), "v"(*(const wide_f32 *)powers));
    wide_f32 p = r * 0x1.555556p-3f + 0x1.00022p-1f;
    p = p * r + 1.0f;
    p = (power * r) * p + power;
    __asm__("vscalefps %2, %1, %0" : "=v"(value) : "v"(p), "v"(n));
    return value;
}
#endif

/* 1.5 ulp. */
VECTOR_INLINE void exp_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        wide_f32 x = wide_larger(-200.0f, wide_smaller(200.0f, *(const wide_f32_anywhere *)(from + l)));
        *(wide_f32_anywhere *)(to + l) = wide_exp(x);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = exp_f32(from[l]);
    }
#endif
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

/* %10 = max f32[16, 12, 128], %15 = sum f32[16, 12, 128], %20 = mul f32[16, 12, 128, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const double *const b1 = buffers[1];
    const uint8_t *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float saved9[128];
    double t3_0 = 0;
    float t4_0 = 0;
    float r0_1 = 0;
    double t3_1 = 0;
    float t4_1 = 0;
    float r1_2 = 0;
    float t12_2 = 0;
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        if (does0) {
            t3_0 = b1[0];
            t4_0 = (float)(t3_0);
        }
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        if (does1) {
            t3_1 = b1[0];
            t4_1 = (float)(t3_1);
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        if (does2) {
            t12_2 = 1.0f / r1_2;
        }
        {
            for (int64_t block = 0; block <= 64; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    float made2[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const float t9 = saved9[v2];
                        const float t13 = t9 * t12_2;
                        made2[l] = t13;
                    }
                    {
                        const int64_t v2 = block;
                        stream_lines(b3 + 196608 * v0 + 128 * v1 + v2, made2, 256);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    float wide9[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b2[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t5 = t2 * t4_1;
                        const float t6 = choose_f32(t0, (-__builtin_inff()), t5);
                        const float t8 = t6 - r0_1;
                        wide9[l] = t8;
                    }
                    exp_block_f32(wide9, wide9, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const float t9 = wide9[l];
                        saved9[v2] = t9;
                        a1[l] += t9;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    {
                        const int64_t v2 = block;
                        fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 1024, 256);
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b2[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t5 = t2 * t4_0;
                        const float t6 = choose_f32(t0, (-__builtin_inff()), t5);
                        a0[l] = ((t6 > a0[l]) | (t6 != t6)) ? t6 : a0[l];
                    }
                }
            }
        }
        if (does1) {
            for (int64_t l = 0; l < 32; l++) {
                a1[l] = a1[l] + a1[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a1[l] = a1[l] + a1[l + 16];
            }
            const float a1_1_0 = sum_of_16_f32(a1);
            const float r1 = a1_1_0;
            r1_2 = r1;
        }
        if (does0) {
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
            r0_1 = r0;
        }
    }
    stream_settle();
    return 1;
}

