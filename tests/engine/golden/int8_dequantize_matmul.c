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

/* %7 = cast bf16[2048, 2048] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const int8_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    uint16_t *const b4 = buffers[2];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 2;
        const int64_t first_lane = 1024 * (task % 2);
        const uint16_t t2 = b1[v0];
        const float t3 = f32_of_bf16(t2);
        INDEPENDENT
        for (int64_t l = 0; l < 1024; l++) {
            const int64_t v1 = first_lane + l;
            const int8_t t0 = b0[2048 * v0 + v1];
            const float t1 = (float)(t0);
            const float t4 = t1 * t3;
            const uint16_t t5 = bf16_of_f32(t4);
            b4[2048 * v0 + v1] = t5;
        }
    }
    return 1;
}

