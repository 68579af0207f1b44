/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        float r0_0;
        {
            float near0[16];
            {
                const int64_t v1 = 0;
                few_f32s_of_bf16s(near0, b0 + 1000 * v0 + v1, 16);
            }
            r0_0 = largest_of_16_f32(near0);
        }
        held_f32 held0;
        start_held_f32(&held0, -__builtin_inf());
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (_Bool again = 0;; again = 1) {
            for (int64_t lane = 0; lane < 960; lane += 64) {
                {
                    float wide4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = lane + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_0;
                        wide4[l] = t3;
                    }
                    exp_block_bf16(wide4, wide4, 64);
                    {
                        float taken0[64];
                        float taken1[64];
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v1 = lane + l;
                            const uint16_t t0 = b0[1000 * v0 + v1];
                            const float t1 = f32_of_bf16(t0);
                            const float t4 = wide4[l];
                            saved4[v1] = t4;
                            taken0[l] = t1;
                            taken1[l] = t4;
                        }
                        take_larger_held_f32(&held0, taken0, 64);
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
                    const float t3 = t1 - r0_0;
                    wide4[l] = t3;
                }
                exp_block_bf16(wide4, wide4, 48);
                {
                    float taken0[64];
                    for (int64_t l = 0; l < 64; l++) {
                        taken0[l] = -__builtin_inff();
                    }
                    float taken1[64];
                    for (int64_t l = 0; l < 64; l++) {
                        taken1[l] = 0;
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 48; l++) {
                        const int64_t v1 = 952 + l;
                        const float t1 = wide1[l];
                        const float t4 = wide4[l];
                        saved4[v1] = t4;
                        taken0[l] = t1;
                        taken1[l] = ((float)(int)l > 7.5f ? t4 : 0);
                    }
                    take_larger_held_f32(&held0, taken0, 64);
                    add_held_f32(&held1, taken1, 64);
                }
            }
            const float r0 = largest_of_held_f32(&held0);
            if (again || r0 - r0_0 <= 30.0f) {
                break;
            }
            r0_0 = r0;
            start_held_f32(&held0, -__builtin_inf());
            start_held_f32(&held1, 0);
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
        {
            float made2[64];
            for (int64_t l = 48; l < 64; l++) {
                made2[l] = 0;
            }
            INDEPENDENT
            for (int64_t l = 0; l < 48; l++) {
                const int64_t v1 = 952 + l;
                const float t4 = saved4[v1];
                const float t8 = t4 * t7;
                made2[l] = t8;
            }
            {
                const int64_t v1 = 952;
                uint16_t halves2[64];
                bf16s_of_f32s(halves2, made2);
                memcpy(b1 + 1000 * v0 + v1, halves2, 96);
            }
        }
    }
    return 1;
}

