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

/* %1 = sum f32[32], %4 = mul f32[32, 1], %8 = sum f32[32], %15 = div f32[32, 1], %23 = add f32[32, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    float *const b5 = buffers[5];
    float r0_1 = 0;
    float t3_1 = 0;
    float r0_2 = 0;
    float r2_2 = 0;
    float t3_2 = 0;
    float t8_2 = 0;
    float t10_2 = 0;
    float t11_2 = 0;
    float t12_2 = 0;
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        if (does1) {
            const int64_t task = step - 1;
            const int64_t v0 = task;
            t3_1 = r0_1 * 0.0013020833721384406f;
            b4[v0] = t3_1;
        }
        float a2[64];
        for (int64_t l = 0; l < 64; l++) {
            a2[l] = 0;
        }
        if (does2) {
            const int64_t task = step - 2;
            const int64_t v0 = task;
            t3_2 = r0_2 * 0.0013020833721384406f;
            t8_2 = r2_2 * 0.0013020833721384406f;
            t10_2 = t8_2 + 9.999999747378752e-06f;
            t11_2 = __builtin_sqrtf(t10_2);
            t12_2 = 1.0f / t11_2;
            b5[v0] = t12_2;
        }
        {
            for (int64_t block = 0; block <= 704; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task;
                    float made4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_2;
                        const float t13 = t4 * t12_2;
                        const float t14 = b1[v1];
                        const float t15 = t13 * t14;
                        const float t16 = b2[v1];
                        const float t17 = t15 + t16;
                        made4[l] = t17;
                    }
                    {
                        const int64_t v1 = block;
                        stream_lines(b3 + 768 * v0 + v1, made4, 256);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1;
                        const float t5 = t4 * t4;
                        a2[l] += t5;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        a0[l] += t0;
                    }
                }
            }
        }
        r0_2 = r0_1;
        if (does1) {
            for (int64_t l = 0; l < 32; l++) {
                a2[l] = a2[l] + a2[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a2[l] = a2[l] + a2[l + 16];
            }
            for (int64_t l = 0; l < 8; l++) {
                a2[l] = a2[l] + a2[l + 8];
            }
            const float a2_8_0 = a2[0];
            const float a2_8_1 = a2[1];
            const float a2_8_2 = a2[2];
            const float a2_8_3 = a2[3];
            const float a2_8_4 = a2[4];
            const float a2_8_5 = a2[5];
            const float a2_8_6 = a2[6];
            const float a2_8_7 = a2[7];
            const float a2_4_0 = a2_8_0 + a2_8_4;
            const float a2_4_1 = a2_8_1 + a2_8_5;
            const float a2_4_2 = a2_8_2 + a2_8_6;
            const float a2_4_3 = a2_8_3 + a2_8_7;
            const float a2_2_0 = a2_4_0 + a2_4_2;
            const float a2_2_1 = a2_4_1 + a2_4_3;
            const float a2_1_0 = a2_2_0 + a2_2_1;
            const float r2 = a2_1_0;
            r2_2 = r2;
        }
        if (does0) {
            for (int64_t l = 0; l < 32; l++) {
                a0[l] = a0[l] + a0[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a0[l] = a0[l] + a0[l + 16];
            }
            for (int64_t l = 0; l < 8; l++) {
                a0[l] = a0[l] + a0[l + 8];
            }
            const float a0_8_0 = a0[0];
            const float a0_8_1 = a0[1];
            const float a0_8_2 = a0[2];
            const float a0_8_3 = a0[3];
            const float a0_8_4 = a0[4];
            const float a0_8_5 = a0[5];
            const float a0_8_6 = a0[6];
            const float a0_8_7 = a0[7];
            const float a0_4_0 = a0_8_0 + a0_8_4;
            const float a0_4_1 = a0_8_1 + a0_8_5;
            const float a0_4_2 = a0_8_2 + a0_8_6;
            const float a0_4_3 = a0_8_3 + a0_8_7;
            const float a0_2_0 = a0_4_0 + a0_4_2;
            const float a0_2_1 = a0_4_1 + a0_4_3;
            const float a0_1_0 = a0_2_0 + a0_2_1;
            const float r0 = a0_1_0;
            r0_1 = r0;
        }
    }
    stream_settle();
    return 1;
}

