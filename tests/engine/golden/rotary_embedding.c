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

VECTOR_INLINE uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Adding this leaves the nearest whole number in the low bits, without an instruction for rounding (SSE2 has none). */
#define ROUND_MAGIC_F32 0x1.8p23f

#define ROUND_MAGIC_F64 0x1.8p52

/* Beyond this the reduction below loses digits; callers go to libm for a block that holds larger arguments. */
#define TRIGONOMETRY_LIMIT 1e6f

/* The argument in quarter turns n and a rest in [-pi/4, pi/4] or a little beyond, where multiplications are fused: pi/2 in three
   parts of 24 bits. What the first leaves is a multiple of 2^-23 below 1, so exact; the others keep the digits that it has lost
   near zeros. */
VECTOR_INLINE float quarter_turns_fused(float x, uint32_t *n) {
    float shifted = fmaf(x, 0x1.45f306p-1f, ROUND_MAGIC_F32);
    *n = bits_of_float(shifted);
    float turns = shifted - ROUND_MAGIC_F32;
    float r = fmaf(turns, -0x1.921fb4p+0f, x);
    r = fmaf(turns, -0x1.4442dp-24f, r);
    return fmaf(turns, -0x1.846988p-48f, r);
}

/* The same; without such an instruction taken off in double: pi/2 in two parts, the first of 33 bits, which n < 2^20
   multiplies exactly. */
VECTOR_INLINE float quarter_turns(float x, uint32_t *n) {
#if defined(__FMA__) || defined(__aarch64__)
    return quarter_turns_fused(x, n);
#else
    double shifted = (double)x * 0.636619772367581343 + ROUND_MAGIC_F64;
    *n = (uint32_t)bits_of_double(shifted);
    double turns = shifted - ROUND_MAGIC_F64;
    return (float)((double)x - turns * 1.57079632673412561417 - turns * 6.07710050650619224932e-11);
#endif
}

VECTOR_INLINE float sine_of_turns(float r, uint32_t n) {
    float z = r * r;
    float s = -1.9515295891e-4f;
    s = s * z + 8.3321608736e-3f;
    s = s * z + -1.6666654611e-1f;
    s = s * z * r + r;
    float c = 2.443315711809948e-5f;
    c = c * z + -1.388731625493765e-3f;
    c = c * z + 4.166664568298827e-2f;
    c = c * z * z - 0.5f * z + 1.0f;
    float value = (n & 1) != 0 ? c : s;
    return float_of_bits(bits_of_float(value) ^ (n & 2) << 30);
}

/* 2.5 ulp for |x| up to TRIGONOMETRY_LIMIT. */
VECTOR_INLINE float sin_f32(float x) {
    uint32_t n;
    float r = quarter_turns(x, &n);
    return sine_of_turns(r, n);
}

VECTOR_INLINE float cos_f32(float x) {
    uint32_t n;
    float r = quarter_turns(x, &n);
    return sine_of_turns(r, n + 1);
}

/* Where sin_f32 and cos_f32 have no digits left. */
VECTOR_INLINE uint64_t angle_is_large(float x) {
    return !(fabsf(x) <= TRIGONOMETRY_LIMIT);
}

/* The same digits as the quick forms wherever those hold. */
VECTOR_INLINE float sine_f32(float x) {
    return angle_is_large(x) ? __builtin_sinf(x) : sin_f32(x);
}

VECTOR_INLINE float cosine_f32(float x) {
    return angle_is_large(x) ? __builtin_cosf(x) : cos_f32(x);
}

/* %4 = mul f32[1024, 32], %4 = mul f32[1024, 32] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b14 = buffers[2];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        const float t0 = b0[v0];
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t1 = b1[v1];
            const float t2 = t0 * t1;
            b14[64 * v0 + v1] = t2;
            b14[64 * v0 + v1 + 32] = t2;
        }
    }
    return 1;
}

/* %6 = cos f32[1024, 64], %7 = sin f32[1024, 64] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    float *const b8 = buffers[0];
    float *const b9 = buffers[1];
    const float *const b14 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        {
            uint64_t rare = 0;
            INDEPENDENT
            for (int64_t l = 0; l < 1024; l++) {
                const int64_t v0 = first_lane + l;
                const float t0 = b14[v0];
                rare |= angle_is_large(t0);
                rare |= angle_is_large(t0);
            }
            if (rare == 0) {
                INDEPENDENT
                for (int64_t l = 0; l < 1024; l++) {
                    const int64_t v0 = first_lane + l;
                    const float t0 = b14[v0];
                    const float t1 = cos_f32(t0);
                    const float t2 = sin_f32(t0);
                    b8[v0] = t1;
                    b9[v0] = t2;
                }
            } else {
                INDEPENDENT
                for (int64_t l = 0; l < 1024; l++) {
                    const int64_t v0 = first_lane + l;
                    const float t0 = b14[v0];
                    const float t1 = cosine_f32(t0);
                    const float t2 = sine_f32(t0);
                    b8[v0] = t1;
                    b9[v0] = t2;
                }
            }
        }
    }
    return 1;
}

/* %10 = neg f32[1, 16, 1024, 32] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    float *const b13 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b3[64 * v0 + v1];
            const float t1 = -t0;
            b13[64 * v0 + v1] = t1;
        }
    }
    return 1;
}

/* %8 = input f32[1, 16, 1024, 32] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    float *const b13 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b2[64 * v0 + v1];
            b13[64 * v0 + v1 + 32] = t0;
        }
    }
    return 1;
}

/* %18 = add f32[1, 16, 1024, 64] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const float *const b4 = buffers[0];
    const float *const b8 = buffers[1];
    const float *const b9 = buffers[2];
    float *const b10 = buffers[3];
    const float *const b13 = buffers[4];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 64;
        const int64_t first_lane = 1024 * (task % 64);
        INDEPENDENT
        for (int64_t l = 0; l < 1024; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b4[65536 * v0 + v1];
            const float t1 = b8[v1];
            const float t2 = t0 * t1;
            const float t3 = b13[65536 * v0 + v1];
            const float t4 = b9[v1];
            const float t5 = t3 * t4;
            const float t6 = t2 + t5;
            b10[65536 * v0 + v1] = t6;
        }
    }
    return 1;
}

/* %21 = neg f32[1, 16, 1024, 32] */
_Bool kernel_5(void *const *buffers, int64_t first, int64_t last) {
    const float *const b6 = buffers[0];
    float *const b12 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b6[64 * v0 + v1];
            const float t1 = -t0;
            b12[64 * v0 + v1] = t1;
        }
    }
    return 1;
}

/* %19 = input f32[1, 16, 1024, 32] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const float *const b5 = buffers[0];
    float *const b12 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b5[64 * v0 + v1];
            b12[64 * v0 + v1 + 32] = t0;
        }
    }
    return 1;
}

/* %26 = add f32[1, 16, 1024, 64] */
_Bool kernel_7(void *const *buffers, int64_t first, int64_t last) {
    const float *const b7 = buffers[0];
    const float *const b8 = buffers[1];
    const float *const b9 = buffers[2];
    float *const b11 = buffers[3];
    const float *const b12 = buffers[4];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 64;
        const int64_t first_lane = 1024 * (task % 64);
        INDEPENDENT
        for (int64_t l = 0; l < 1024; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b7[65536 * v0 + v1];
            const float t1 = b8[v1];
            const float t2 = t0 * t1;
            const float t3 = b12[65536 * v0 + v1];
            const float t4 = b9[v1];
            const float t5 = t3 * t4;
            const float t6 = t2 + t5;
            b11[65536 * v0 + v1] = t6;
        }
    }
    return 1;
}

