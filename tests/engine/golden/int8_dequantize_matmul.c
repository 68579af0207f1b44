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
        {
            for (int64_t block = 0; block < 1024; block += 64) {
                float made0[64];
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const int64_t l = block + i;
                    const int64_t v1 = first_lane + l;
                    const int8_t t0 = b0[2048 * v0 + v1];
                    const float t1 = (float)(t0);
                    const float t4 = t1 * t3;
                    made0[i] = t4;
                }
                {
                    const int64_t v1 = first_lane + block;
                    bf16s_of_f32s(b4 + 2048 * v0 + v1, made0);
                }
            }
        }
    }
    return 1;
}

