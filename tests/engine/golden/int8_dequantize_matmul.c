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

