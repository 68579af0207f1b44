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

/* Sixteen rows of sixteen, turned round: rows i and i + 8 interleaved make rows 2 i and 2 i + 1, and four times that has turned
   them. */
VECTOR_INLINE void turn_tile_32(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    row a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        a[i] = *(const row *)((const uint32_t *)of + i * stride);
    }
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = SHUFFLE_LOW(a[i], a[i + 8]);
            b[2 * i + 1] = SHUFFLE_HIGH(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = SHUFFLE_LOW(b[i], b[i + 8]);
            a[2 * i + 1] = SHUFFLE_HIGH(b[i], b[i + 8]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        *(row *)((uint32_t *)into + i * into_stride) = a[i];
    }
}

VECTOR_INLINE void turn_tile_16(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint16_t row __attribute__((vector_size(32), aligned(2), may_alias));
    row a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        a[i] = *(const row *)((const uint16_t *)of + i * stride);
    }
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = SHUFFLE_LOW(a[i], a[i + 8]);
            b[2 * i + 1] = SHUFFLE_HIGH(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = SHUFFLE_LOW(b[i], b[i + 8]);
            a[2 * i + 1] = SHUFFLE_HIGH(b[i], b[i + 8]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        *(row *)((uint16_t *)into + i * into_stride) = a[i];
    }
}

/* Thirty-two rows of as many elements of two bytes: words of two neighbours are turned round, those of even rows and those of odd
   ones, and then a word of each makes one of two first elements and one of two second ones. */
VECTOR_INLINE void turn_tile_halves(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    _Alignas(64) uint32_t even[16][16], odd[16][16];
    turn_tile_32(even, 16, of, stride);
    turn_tile_32(odd, 16, (const char *)of + 2 * stride, stride);
    for (int i = 0; i < 16; i++) {
        const row a = *(const row *)even[i], b = *(const row *)odd[i];
        char *to = (char *)into + 4 * i * into_stride;
        *(row *)to = (a & 0xffffu) | (b << 16);
        *(row *)(to + 2 * into_stride) = (a >> 16) | (b & 0xffff0000u);
    }
}

/* Sixty-four rows of as many bytes, by words of four. */
VECTOR_INLINE void turn_tile_bytes(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    _Alignas(64) uint32_t words[4][16][16];
    for (int k = 0; k < 4; k++) {
        turn_tile_32(words[k], 16, (const char *)of + k * stride, stride);
    }
    for (int i = 0; i < 16; i++) {
        const row a = *(const row *)words[0][i], b = *(const row *)words[1][i];
        const row c = *(const row *)words[2][i], d = *(const row *)words[3][i];
        const row a0 = (a & 0xffffu) | (c << 16), a1 = (a >> 16) | (c & 0xffff0000u);
        const row b0 = (b & 0xffffu) | (d << 16), b1 = (b >> 16) | (d & 0xffff0000u);
        char *to = (char *)into + 4 * i * into_stride;
        *(row *)to = (a0 & 0xff00ffu) | (b0 & 0xff00ffu) << 8;
        *(row *)(to + into_stride) = (a0 >> 8 & 0xff00ffu) | (b0 & 0xff00ff00u);
        *(row *)(to + 2 * into_stride) = (a1 & 0xff00ffu) | (b1 & 0xff00ffu) << 8;
        *(row *)(to + 3 * into_stride) = (a1 >> 8 & 0xff00ffu) | (b1 & 0xff00ff00u);
    }
}

/* Eight of eight, three times. */
VECTOR_INLINE void turn_tile_64(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint64_t row __attribute__((vector_size(64), aligned(4), may_alias));
    row a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        a[i] = *(const row *)((const uint64_t *)of + i * stride);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = SHUFFLE_LOW_8(a[i], a[i + 4]);
        b[2 * i + 1] = SHUFFLE_HIGH_8(a[i], a[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[2 * i] = SHUFFLE_LOW_8(b[i], b[i + 4]);
        a[2 * i + 1] = SHUFFLE_HIGH_8(b[i], b[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = SHUFFLE_LOW_8(a[i], a[i + 4]);
        b[2 * i + 1] = SHUFFLE_HIGH_8(a[i], a[i + 4]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        *(row *)((uint64_t *)into + i * into_stride) = b[i];
    }
}

/* A square of elements of so many bytes. */
VECTOR_INLINE void turn_tile(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t size_bytes, int64_t edge) {
    if (size_bytes == 8) {
        turn_tile_64(into, into_stride, of, stride);
    } else if (size_bytes == 4) {
        turn_tile_32(into, into_stride, of, stride);
    } else if (size_bytes == 2 && edge == 16) {
        turn_tile_16(into, into_stride, of, stride);
    } else if (size_bytes == 2) {
        turn_tile_halves(into, into_stride, of, stride);
    } else {
        turn_tile_bytes(into, into_stride, of, stride);
    }
}

/* Of squares that fit. */
VECTOR_INLINE int64_t turn_edge(int64_t n_across, int64_t n_lanes, int64_t size_bytes) {
    return size_bytes == 2 && (n_across < 32 || n_lanes < 32) ? 16 : 64 / size_bytes;
}

/* What runs across the lanes in memory, turned round: into[v * into_stride + l] = of[l * stride + v], elements of so many bytes.
   Whole squares; the last ones overlap those before. */
VECTOR_INLINE void turn_round(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                              int64_t size_bytes) {
    char *to = into;
    const char *from = of;
    const int64_t edge = turn_edge(n_across, n_lanes, size_bytes);
    if (HAS_SHUFFLE && n_across >= edge && n_lanes >= edge) {
        for (int64_t lane = 0; lane < n_lanes; lane += edge) {
            const int64_t l = lane + edge <= n_lanes ? lane : n_lanes - edge;
            for (int64_t part = 0; part < n_across; part += edge) {
                const int64_t v = part + edge <= n_across ? part : n_across - edge;
                turn_tile(to + (v * into_stride + l) * size_bytes, into_stride, from + (l * stride + v) * size_bytes, stride,
                          size_bytes, edge);
            }
        }
        return;
    }
    for (int64_t l = 0; l < n_lanes; l++) {
        for (int64_t v = 0; v < n_across; v++) {
            memcpy(to + (v * into_stride + l) * size_bytes, from + (l * stride + v) * size_bytes, size_bytes);
        }
    }
}

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

/* %3 = view f32[48, 128, 64] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b9 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b0[49152 * v0 + 64 * v1 + 384 * v2 + v3];
            b9[49152 * v0 + 8192 * v1 + 64 * v2 + v3] = t0;
        }
    }
    return 1;
}

/* %4 = view f32[48, 64, 128] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b1 = buffers[0];
    float *const b10 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 12;
        const int64_t v1 = task / 2 % 6;
        const int64_t v3 = task % 2;
        const int64_t first_lane = 128 * (task % 1);
        _Alignas(64) float turned0[32][128];
        {
            const int64_t v4 = 0, v2 = first_lane;
            turn_round(turned0, 128, b1 + 49152 * v0 + 64 * v1 + 384 * v2 + 32 * v3 + v4, 384, 32, 128, 4);
        }
        for (int64_t v4 = 0; v4 < 32; v4++) {
            INDEPENDENT
            for (int64_t l = 0; l < 128; l++) {
                const int64_t v2 = first_lane + l;
                const float t0 = turned0[v4][l];
                b10[49152 * v0 + 8192 * v1 + v2 + 4096 * v3 + 128 * v4] = t0;
            }
        }
    }
    return 1;
}

/* %5 = view f32[48, 128, 64] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    float *const b13 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b2[49152 * v0 + 64 * v1 + 384 * v2 + v3];
            b13[49152 * v0 + 8192 * v1 + 64 * v2 + v3] = t0;
        }
    }
    return 1;
}

/* %16 = max f32[8, 6, 128], %21 = sum f32[8, 6, 128], %25 = mul f32[8, 6, 128, 128] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const double *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    const float *const b5 = buffers[2];
    float *const b8 = buffers[3];
    float saved8[128];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task % 768;
        const double t1 = b3[0];
        const float t2 = (float)(t1);
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b5[98304 * v0 + 128 * v1 + v2];
                const float t3 = t0 / t2;
                const float t4 = b4[128 * v0 + v2];
                const float t5 = t3 + t4;
                a0[l] = ((t5 > a0[l]) | (t5 != t5)) ? t5 : a0[l];
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
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b5[98304 * v0 + 128 * v1 + v2];
                const float t3 = t0 / t2;
                const float t4 = b4[128 * v0 + v2];
                const float t5 = t3 + t4;
                const float t7 = t5 - r0;
                const float t8 = exp_below_f32(t7);
                saved8[v2] = t8;
                a1[l] += t8;
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
        const float t11 = 1.0f / r1;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t8 = saved8[v2];
                const float t12 = t8 * t11;
                b8[98304 * v0 + 128 * v1 + v2] = t12;
            }
        }
    }
    return 1;
}

/* %30 = view f32[8, 128, 384] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const float *const b6 = buffers[0];
    float *const b7 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b6[49152 * v0 + 8192 * v1 + 64 * v2 + v3];
            b7[49152 * v0 + 64 * v1 + 384 * v2 + v3] = t0;
        }
    }
    return 1;
}

