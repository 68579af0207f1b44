/* %2 = maximum f32[512, 160] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 32 * (task / 16);
        const int64_t v1 = task % 16;
        _Alignas(64) float turned0[32][32];
        {
            const int64_t v2 = 0, v0 = first_lane;
            turn_lines(turned0, 32, b0 + 512 * v0 + 32 * v1 + v2, 512, 32, 32, 4, 128);
        }
        for (int64_t v2 = 0; v2 < 32; v2++) {
            {
                float made0[32];
                INDEPENDENT
                for (int64_t l = 0; l < 32; l++) {
                    const float t0 = turned0[v2][l];
                    const float t2 = (t0 < 0.0f ? 0.0f : t0);
                    made0[l] = t2;
                }
                {
                    const int64_t v0 = first_lane;
                    stream_lines(b1 + v0 + 5120 * v1 + 160 * v2, made0, 128);
                }
            }
        }
    }
    stream_settle();
    return 1;
}

