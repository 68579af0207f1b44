/* %4 = sum f32[128], %20 = cast bf16[128, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    uint16_t *const b5 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        held_f32 held0;
        start_held_f32(&held0, 0);
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            {
                float wide1[64];
                {
                    const int64_t v1 = lane;
                    f32s_of_bf16_pairs(wide1, b0 + 1024 * v0 + v1);
                }
                {
                    float taken0[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const float t1 = wide1[l];
                        const float t2 = t1 * t1;
                        taken0[l] = t2;
                    }
                    add_held_f32(&held0, taken0, 64);
                }
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        const float t5 = r0 * 0.0009765625f;
        const float t7 = t5 + 9.999999974752427e-07f;
        const float t8 = (1 / __builtin_sqrtf(t7));
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            {
                float made1[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const uint16_t t0 = b0[1024 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t9 = t1 * t8;
                    const uint16_t t10 = b1[v1];
                    const float t11 = f32_of_bf16(t10);
                    const float t12 = t9 * t11;
                    made1[l] = t12;
                }
                {
                    const int64_t v1 = lane;
                    bf16s_of_f32s(b5 + 1024 * v0 + v1, made1);
                }
            }
        }
    }
    return 1;
}

