/* %0 = input f32[100, 64] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b3 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        const int64_t n_lanes = 6400 - first_lane < 1024 ? 6400 - first_lane : 1024;
        INDEPENDENT
        for (int64_t l = 0; l < n_lanes; l++) {
            const int64_t v0 = first_lane + l;
            const float t0 = b0[v0];
            b3[v0] = t0;
        }
    }
    return 1;
}

/* %9 = scatter f32[100, 64] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b1 = buffers[0];
    const float *const b2 = buffers[1];
    float *const b3 = buffers[2];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 64 * (task);
        for (int64_t v0 = 0; v0 < 40; v0++) {
            const int64_t t1 = b1[v0];
            const uint8_t t3 = t1 < 0;
            const int64_t t5 = t1 + 100;
            const int64_t t6 = t3 ? t5 : t1;
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = first_lane + l;
                const float t0 = b2[64 * v0 + v1];
                b3[v1 + 64 * checked(t6, 100, &bad)] += t0;
            }
        }
    }
    return bad == 0;
}

