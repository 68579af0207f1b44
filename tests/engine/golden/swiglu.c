/* %7 = mul f32[64, 1024] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b4 = buffers[0];
    const float *const b5 = buffers[1];
    float *const b7 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        INDEPENDENT
        for (int64_t l = 0; l < 1024; l++) {
            const int64_t v0 = first_lane + l;
            const float t0 = b4[v0];
            const float t1 = sigmoid_f32(t0);
            const float t2 = t0 * t1;
            const float t3 = b5[v0];
            const float t4 = t2 * t3;
            b7[v0] = t4;
        }
    }
    return 1;
}

