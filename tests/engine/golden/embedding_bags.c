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

/* An index read from data: out of range it is noted and looks at element 0. */
VECTOR_INLINE int64_t checked(int64_t i, int64_t size, uint64_t *bad) {
    *bad |= (uint64_t)i >= (uint64_t)size;
    return (uint64_t)i < (uint64_t)size ? i : 0;
}

/* %6 = view i64[16385] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    int64_t *const b12 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        const int64_t n_lanes = 16385 - first_lane < 1024 ? 16385 - first_lane : 1024;
        INDEPENDENT
        for (int64_t l = 0; l < n_lanes; l++) {
            const int64_t v0 = first_lane + l;
            b12[v0] = 0;
        }
    }
    return 1;
}

/* %9 = scatter i64[16385] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b2 = buffers[0];
    int64_t *const b12 = buffers[1];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        for (int64_t v0 = 0; v0 < 512; v0++) {
            const int64_t t1 = b2[v0];
            b12[checked(t1, 16385, &bad)] += 1;
        }
    }
    return bad == 0;
}

/* %11 = scan i64[16385] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b12 = buffers[0];
    int64_t *const b13 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        int64_t a0[1];
        for (int64_t l = 0; l < 1; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 16385; v0++) {
            const int64_t t0 = b12[v0];
            a0[0] += t0;
            b13[v0] = a0[0];
        }
    }
    return 1;
}

/* %29 = view f32[512, 64] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    float *const b11 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            b11[256 * v0 + v1 + 64] = 0.0f;
        }
    }
    return 1;
}

/* %30 = scatter f32[512, 64] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    float *const b11 = buffers[2];
    const int64_t *const b13 = buffers[3];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 32 * (task);
        for (int64_t v0 = 0; v0 < 16384; v0++) {
            const int64_t t0 = b13[v0];
            const int64_t t2 = t0 + (-1);
            const uint8_t t4 = t2 >= 0;
            const uint8_t t6 = t2 <= 511;
            const uint8_t t7 = t4 & t6;
            const int64_t t8 = b1[v0];
            const uint8_t t9 = t8 != (-1);
            const uint8_t t10 = t7 & t9;
            const uint8_t t11 = t8 < 0;
            const int64_t t13 = t8 + 40000;
            const int64_t t14 = t11 ? t13 : t8;
            const int64_t t18 = (t2 < 511 ? t2 : 511);
            const int64_t t19 = (t18 > 0 ? t18 : 0);
            INDEPENDENT
            for (int64_t l = 0; l < 32; l++) {
                const int64_t v1 = first_lane + l;
                const float t15 = b0[v1 + 64 * checked(t14, 40000, &bad)];
                const float t17 = t10 ? t15 : 0.0f;
                b11[v1 + 256 * checked(t19, 512, &bad) + 64] += t17;
            }
        }
    }
    return bad == 0;
}

/* %6 = view i64[16385] */
_Bool kernel_5(void *const *buffers, int64_t first, int64_t last) {
    int64_t *const b14 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        const int64_t n_lanes = 16385 - first_lane < 1024 ? 16385 - first_lane : 1024;
        INDEPENDENT
        for (int64_t l = 0; l < n_lanes; l++) {
            const int64_t v0 = first_lane + l;
            b14[v0] = 0;
        }
    }
    return 1;
}

/* %36 = scatter i64[16385] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b5 = buffers[0];
    int64_t *const b14 = buffers[1];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        for (int64_t v0 = 0; v0 < 512; v0++) {
            const int64_t t1 = b5[v0];
            b14[checked(t1, 16385, &bad)] += 1;
        }
    }
    return bad == 0;
}

/* %37 = scan i64[16385] */
_Bool kernel_7(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b14 = buffers[0];
    int64_t *const b15 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        int64_t a0[1];
        for (int64_t l = 0; l < 1; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 16385; v0++) {
            const int64_t t0 = b14[v0];
            a0[0] += t0;
            b15[v0] = a0[0];
        }
    }
    return 1;
}

/* %29 = view f32[512, 64] */
_Bool kernel_8(void *const *buffers, int64_t first, int64_t last) {
    float *const b11 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            b11[256 * v0 + v1 + 128] = 0.0f;
        }
    }
    return 1;
}

/* %55 = scatter f32[512, 64] */
_Bool kernel_9(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    const int64_t *const b4 = buffers[1];
    float *const b11 = buffers[2];
    const int64_t *const b15 = buffers[3];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 32 * (task);
        for (int64_t v0 = 0; v0 < 16384; v0++) {
            const int64_t t0 = b15[v0];
            const int64_t t2 = t0 + (-1);
            const uint8_t t4 = t2 >= 0;
            const uint8_t t6 = t2 <= 511;
            const uint8_t t7 = t4 & t6;
            const int64_t t8 = b4[v0];
            const uint8_t t9 = t8 != (-1);
            const uint8_t t10 = t7 & t9;
            const uint8_t t11 = t8 < 0;
            const int64_t t13 = t8 + 20000;
            const int64_t t14 = t11 ? t13 : t8;
            const int64_t t18 = (t2 < 511 ? t2 : 511);
            const int64_t t19 = (t18 > 0 ? t18 : 0);
            INDEPENDENT
            for (int64_t l = 0; l < 32; l++) {
                const int64_t v1 = first_lane + l;
                const float t15 = b3[v1 + 64 * checked(t14, 20000, &bad)];
                const float t17 = t10 ? t15 : 0.0f;
                b11[v1 + 256 * checked(t19, 512, &bad) + 128] += t17;
            }
        }
    }
    return bad == 0;
}

/* %59 = view i64[8193] */
_Bool kernel_10(void *const *buffers, int64_t first, int64_t last) {
    int64_t *const b16 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        const int64_t n_lanes = 8193 - first_lane < 1024 ? 8193 - first_lane : 1024;
        INDEPENDENT
        for (int64_t l = 0; l < n_lanes; l++) {
            const int64_t v0 = first_lane + l;
            b16[v0] = 0;
        }
    }
    return 1;
}

/* %60 = scatter i64[8193] */
_Bool kernel_11(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b8 = buffers[0];
    int64_t *const b16 = buffers[1];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        for (int64_t v0 = 0; v0 < 512; v0++) {
            const int64_t t1 = b8[v0];
            b16[checked(t1, 8193, &bad)] += 1;
        }
    }
    return bad == 0;
}

/* %61 = scan i64[8193] */
_Bool kernel_12(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b16 = buffers[0];
    int64_t *const b17 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        int64_t a0[1];
        for (int64_t l = 0; l < 1; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 8193; v0++) {
            const int64_t t0 = b16[v0];
            a0[0] += t0;
            b17[v0] = a0[0];
        }
    }
    return 1;
}

/* %29 = view f32[512, 64] */
_Bool kernel_13(void *const *buffers, int64_t first, int64_t last) {
    float *const b11 = buffers[0];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            b11[256 * v0 + v1 + 192] = 0.0f;
        }
    }
    return 1;
}

/* %79 = scatter f32[512, 64] */
_Bool kernel_14(void *const *buffers, int64_t first, int64_t last) {
    const float *const b6 = buffers[0];
    const int64_t *const b7 = buffers[1];
    float *const b11 = buffers[2];
    const int64_t *const b17 = buffers[3];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 32 * (task);
        for (int64_t v0 = 0; v0 < 8192; v0++) {
            const int64_t t0 = b17[v0];
            const int64_t t2 = t0 + (-1);
            const uint8_t t4 = t2 >= 0;
            const uint8_t t6 = t2 <= 511;
            const uint8_t t7 = t4 & t6;
            const int64_t t8 = b7[v0];
            const uint8_t t9 = t8 != (-1);
            const uint8_t t10 = t7 & t9;
            const uint8_t t11 = t8 < 0;
            const int64_t t13 = t8 + 1000;
            const int64_t t14 = t11 ? t13 : t8;
            const int64_t t18 = (t2 < 511 ? t2 : 511);
            const int64_t t19 = (t18 > 0 ? t18 : 0);
            INDEPENDENT
            for (int64_t l = 0; l < 32; l++) {
                const int64_t v1 = first_lane + l;
                const float t15 = b6[v1 + 64 * checked(t14, 1000, &bad)];
                const float t17 = t10 ? t15 : 0.0f;
                b11[v1 + 256 * checked(t19, 512, &bad) + 192] += t17;
            }
        }
    }
    return bad == 0;
}

/* %81 = maximum f32[512, 64] */
_Bool kernel_15(void *const *buffers, int64_t first, int64_t last) {
    const float *const b9 = buffers[0];
    float *const b11 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b9[64 * v0 + v1];
            const float t2 = (t0 < 0.0f ? 0.0f : t0);
            b11[256 * v0 + v1] = t2;
        }
    }
    return 1;
}

