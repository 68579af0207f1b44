/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 960; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1000 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                a0[l] = t1 > a0[l] ? t1 : a0[l];
            }
        }
        {
            float wide1[64];
            {
                const int64_t v1 = 952;
                few_f32s_of_bf16s(wide1, b0 + 1000 * v0 + v1, 48);
            }
            INDEPENDENT
            for (int64_t l = 0; l < 48; l++) {
                const float t1 = wide1[l];
                a0[l] = t1 > a0[l] ? t1 : a0[l];
            }
        }
        const float a0_1_0 = largest_of_64_f32(a0);
        const float r0 = a0_1_0;
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (int64_t lane = 0; lane < 960; lane += 64) {
            {
                float wide4[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0;
                    wide4[l] = t3;
                }
                exp_below_block_f32(wide4, wide4, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = lane + l;
                        const float t4 = wide4[l];
                        saved4[v1] = t4;
                        taken1[l] = t4;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
        }
        {
            float wide1[64];
            float wide4[64];
            {
                const int64_t v1 = 952;
                few_f32s_of_bf16s(wide1, b0 + 1000 * v0 + v1, 48);
            }
            INDEPENDENT
            for (int64_t l = 0; l < 48; l++) {
                const float t1 = wide1[l];
                const float t3 = t1 - r0;
                wide4[l] = t3;
            }
            exp_below_block_f32(wide4, wide4, 48);
            {
                float taken1[64];
                for (int64_t l = 0; l < 64; l++) {
                    taken1[l] = 0;
                }
                INDEPENDENT
                for (int64_t l = 0; l < 48; l++) {
                    const int64_t v1 = 952 + l;
                    const float t4 = wide4[l];
                    saved4[v1] = t4;
                    taken1[l] = ((float)(int)l > 7.5f ? t4 : 0);
                }
                add_held_f32(&held1, taken1, 64);
            }
        }
        const float r1 = sum_of_held_f32(&held1);
        const float t7 = 1.0f / r1;
        for (int64_t lane = 0; lane < 960; lane += 64) {
            {
                float made2[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7;
                    made2[l] = t8;
                }
                {
                    const int64_t v1 = lane;
                    bf16s_of_f32s(b1 + 1000 * v0 + v1, made2);
                }
            }
        }
        INDEPENDENT
        for (int64_t l = 0; l < 48; l++) {
            const int64_t v1 = 952 + l;
            const float t4 = saved4[v1];
            const float t8 = t4 * t7;
            const uint16_t t9 = bf16_of_f32(t8);
            b1[1000 * v0 + v1] = t9;
        }
    }
    return 1;
}

