typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define VECTOR_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* %0 = input f32[500, 300] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b1 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v1 = task / 3;
        const int64_t first_lane = 128 * (task % 3);
        const int64_t n_lanes = 300 - first_lane < 128 ? 300 - first_lane : 128;
        float turned0[32][128];
        for (int64_t l = 0; l < n_lanes; l++) {
            const int64_t v0 = first_lane + l;
            for (int64_t v2 = 0; v2 < 32 && 32 * v1 + v2 < 500; v2++) {
                turned0[v2][l] = b0[500 * v0 + 32 * v1 + v2];
            }
        }
        for (int64_t v2 = 0; v2 < 32 && 32 * v1 + v2 < 500; v2++) {
            INDEPENDENT
            for (int64_t l = 0; l < n_lanes; l++) {
                const int64_t v0 = first_lane + l;
                const float t0 = turned0[v2][l];
                b1[v0 + 9600 * v1 + 300 * v2] = t0;
            }
        }
    }
    return 1;
}

