/* %8 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    uint16_t *const b2 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        const int64_t n_lanes = 64000 - first_lane < 1024 ? 64000 - first_lane : 1024;
        {
            for (int64_t block = 0; block <= n_lanes - 64; block += 64) {
                float wide1[64];
                float wide2[64];
                float wide5[64];
                float made0[64];
                {
                    const int64_t v0 = first_lane + block;
                    f32s_of_bf16_pairs(wide1, b0 + v0);
                    f32s_of_bf16_pairs(wide5, b1 + v0);
                }
                sigmoid_block_bf16(wide2, wide1, 64);
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const float t1 = wide1[i];
                    const float t2 = wide2[i];
                    const float t3 = t1 * t2;
                    const float t5 = wide5[i];
                    const float t6 = t3 * t5;
                    made0[i] = t6;
                }
                {
                    const int64_t v0 = first_lane + block;
                    bf16_pairs_of_f32s(b2 + v0, made0);
                }
            }
            INDEPENDENT
            for (int64_t l = n_lanes - n_lanes % 64; l < n_lanes; l++) {
                const int64_t v0 = first_lane + l;
                const uint16_t t0 = b0[v0];
                const float t1 = f32_of_bf16(t0);
                const float t2 = sigmoid_f32(t1);
                const float t3 = t1 * t2;
                const uint16_t t4 = b1[v0];
                const float t5 = f32_of_bf16(t4);
                const float t6 = t3 * t5;
                const uint16_t t7 = bf16_of_f32(t6);
                b2[v0] = t7;
            }
        }
    }
    return 1;
}

