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

/* Arguments are clipped here: n is -127 then and the result 0. A second look at the argument would not only cost as much
   again: GCC gathers all that follows from one comparison behind it. */
#define EXP_LOWEST -88.0f

/* exp(x) for x <= 0. 1 ulp; below 2^-126.5 it is 0. */
VECTOR_INLINE float exp_negative_f32(float x) {
    float shifted, r = exp_rest(x < EXP_LOWEST ? EXP_LOWEST : x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
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

VECTOR_INLINE float f32_of_bf16(uint16_t x) {
    return float_of_bits((uint32_t)x << 16);
}

/* To nearest, ties to even; a NaN stays one. */
VECTOR_INLINE uint16_t bf16_of_f32(float x) {
    uint32_t bits = bits_of_float(x);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    uint32_t quiet = bits | 0x400000u;
    return (uint16_t)((x == x ? rounded : quiet) >> 16);
}

/* Elements of this size, of n, before the next line of memory. */
VECTOR_INLINE int64_t lanes_to_line(const void *at, int64_t size_bytes, int64_t n) {
    int64_t lanes = (int64_t)(-(__UINTPTR_TYPE__)at & 63) / size_bytes;
    return lanes < n ? lanes : n;
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

/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    float r0_1 = 0;
    float r1_2 = 0;
    float t7_2 = 0;
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        if (does2) {
            t7_2 = 1.0f / r1_2;
        }
        {
            int64_t head = 0;
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                {
                    const int64_t v1 = 0;
                    head = lanes_to_line(b1 + 1000 * v0 + v1, 2, 1000);
                }
            }
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < head; l++) {
                    const int64_t v1 = 0 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_2;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            for (int64_t block = 0; block <= 936 - head; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task;
                    uint16_t made2[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = head + block + l;
                        const float t4 = saved4[v1];
                        const float t8 = t4 * t7_2;
                        const uint16_t t9 = bf16_of_f32(t8);
                        made2[l] = t9;
                    }
                    {
                        const int64_t v1 = head + block;
                        stream_lines(b1 + 1000 * v0 + v1, made2, 128);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_1;
                        const float t4 = exp_below_f32(t3);
                        saved4[v1] = t4;
                        a1[l] += t4;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        a0[l] = ((t1 > a0[l]) | (t1 != t1)) ? t1 : a0[l];
                    }
                }
            }
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < (1000 - head) % 64; l++) {
                    const int64_t v1 = 1000 - (1000 - head) % 64 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_2;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            for (int64_t rest = 1000 - (1000 - head) % 64 - head; rest < 1000; rest += 64) {
                const int64_t n_rest = 1000 - rest < 64 ? 1000 - rest : 64;
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_rest; l++) {
                        const int64_t v1 = rest + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_1;
                        const float t4 = exp_below_f32(t3);
                        saved4[v1] = t4;
                        a1[l] += t4;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_rest; l++) {
                        const int64_t v1 = rest + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        a0[l] = ((t1 > a0[l]) | (t1 != t1)) ? t1 : a0[l];
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

