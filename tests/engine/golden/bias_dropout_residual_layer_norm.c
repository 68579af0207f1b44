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

/* 32 bits by Philox 2x32-10 (Salmon and others, SC 2011): the first word of the block that the place names, under a key made
   of the seed and the stream. One multiplication a round; a block gives its second word away. */
VECTOR_INLINE int64_t random_bits(int64_t seed, int64_t stream, int64_t place) {
    uint32_t key = (uint32_t)seed + (uint32_t)stream * 0x85EBCA6Bu;
    uint32_t c0 = (uint32_t)place, c1 = (uint32_t)((uint64_t)place >> 32) ^ (uint32_t)((uint64_t)seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product = (uint64_t)0xD256D193u * c0;
        c0 = (uint32_t)(product >> 32) ^ key ^ c1;
        c1 = (uint32_t)product;
        key += 0x9E3779B9u;
    }
    return c0;
}

/* Of 64 places in a row. Only the low half of each 64-bit lane counts: the instruction multiplies no other, and compilers
   multiply all of it where they are left to choose. */
VECTOR_INLINE void random_block(uint32_t *to, int64_t seed, int64_t stream, int64_t place) {
#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
    typedef uint64_t words __attribute__((vector_size(64)));
    const words offsets = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    typedef uint64_t words __attribute__((vector_size(32)));
    const words offsets = {0, 1, 2, 3};
#endif
    const int lanes = sizeof(words) / 8;
    const words factor = (words){0} + 0xD256D193u;
    for (int l = 0; l < 64; l += lanes) {
        uint64_t key = (uint32_t)seed + (uint32_t)stream * 0x85EBCA6Bu;
        words c0 = offsets + (uint64_t)(place + l), c1 = (c0 >> 32) ^ ((uint64_t)seed >> 32), product;
        for (int round = 0; round < 10; round++) {
#if defined(__AVX512F__)
            __asm__("vpmuludq %2, %1, %0" : "=v"(product) : "v"(c0), "v"(factor));
#else
            __asm__("vpmuludq %2, %1, %0" : "=x"(product) : "x"(c0), "x"(factor));
#endif
            c0 = (product >> 32) ^ key ^ c1;
            c1 = product;
            key += 0x9E3779B9u;
        }
        for (int i = 0; i < lanes; i++) {
            to[l + i] = (uint32_t)c0[i];
        }
    }
#else
    for (int l = 0; l < 64; l++) {
        to[l] = (uint32_t)random_bits(seed, stream, place + l);
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

/* %10 = select f32[8, 128, 768], %16 = add f32[8, 128, 768], %17 = sum f32[8, 128], %20 = mul f32[8, 128, 1], %24 = sum f32[8, 128], %30 = div f32[8, 128, 1], %38 = add f32[8, 128, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const int64_t *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    const float *const b4 = buffers[4];
    const float *const b5 = buffers[5];
    float *const b6 = buffers[6];
    float *const b7 = buffers[7];
    float *const b8 = buffers[8];
    float *const b9 = buffers[9];
    float *const b10 = buffers[10];
    float saved14[768];
    float saved18[768];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t t0 = b2[0];
        float a2[64];
        for (int64_t l = 0; l < 64; l++) {
            a2[l] = 0;
        }
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                uint32_t random1[64];
                {
                    const int64_t v1 = lane;
                    random_block(random1, t0, 0, 768 * v0 + v1);
                }
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const int64_t t1 = random1[l];
                    const uint8_t t3 = t1 < 3865470567;
                    const float t6 = t3 ? 1.0f : 0.0f;
                    const float t7 = b3[768 * v0 + v1];
                    const float t8 = b0[768 * v0 + v1];
                    const float t9 = b1[v1];
                    const float t10 = t8 + t9;
                    const float t11 = t10 * t6;
                    const float t13 = t11 * 1.1111111640930176f;
                    const float t14 = t7 + t13;
                    saved14[v1] = t14;
                    b8[768 * v0 + v1] = t6;
                    b7[768 * v0 + v1] = t14;
                    a2[l] += t14;
                }
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a2[l] = a2[l] + a2[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a2[l] = a2[l] + a2[l + 16];
        }
        const float a2_1_0 = sum_of_16_f32(a2);
        const float r2 = a2_1_0;
        const float t17 = r2 * 0.0013020833721384406f;
        b9[v0] = t17;
        float a4[64];
        for (int64_t l = 0; l < 64; l++) {
            a4[l] = 0;
        }
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t14 = saved14[v1];
                const float t18 = t14 - t17;
                saved18[v1] = t18;
                const float t19 = t18 * t18;
                a4[l] += t19;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a4[l] = a4[l] + a4[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a4[l] = a4[l] + a4[l + 16];
        }
        const float a4_1_0 = sum_of_16_f32(a4);
        const float r4 = a4_1_0;
        const float t21 = r4 * 0.0013020833721384406f;
        const float t23 = t21 + 9.999999747378752e-06f;
        const float t24 = __builtin_sqrtf(t23);
        const float t25 = 1.0f / t24;
        b10[v0] = t25;
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t18 = saved18[v1];
                const float t26 = t18 * t25;
                const float t27 = b4[v1];
                const float t28 = t26 * t27;
                const float t29 = b5[v1];
                const float t30 = t28 + t29;
                b6[768 * v0 + v1] = t30;
            }
        }
    }
    return 1;
}

