/* %23 = maximum f32[512, 64] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    const float *const b9 = buffers[0];
    float *const b14 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b9[64 * v0 + v1];
            const float t2 = (t0 < 0.0f ? 0.0f : t0);
            b14[256 * v0 + v1] = t2;
        }
    }
    return 1;
}

/* %3 = call f32[512, 64] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const float *const b10 = buffers[0];
    float *const b14 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b10[64 * v0 + v1];
            b14[256 * v0 + v1 + 64] = t0;
        }
    }
    return 1;
}

/* %10 = call f32[512, 64] */
_Bool kernel_5(void *const *buffers, int64_t first, int64_t last) {
    const float *const b11 = buffers[0];
    float *const b14 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b11[64 * v0 + v1];
            b14[256 * v0 + v1 + 128] = t0;
        }
    }
    return 1;
}

/* %17 = call f32[512, 64] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const float *const b12 = buffers[0];
    float *const b14 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            const float t0 = b12[64 * v0 + v1];
            b14[256 * v0 + v1 + 192] = t0;
        }
    }
    return 1;
}

