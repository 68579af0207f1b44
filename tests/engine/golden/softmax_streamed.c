/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    float r0_0 = 0;
    float r1_1 = 0;
    float t7_1 = 0;
    uint16_t edge2[32];
    float ahead0 = 0;
    if (first < last) {
        const int64_t task = first;
        const int64_t v0 = task;
        {
            float near0[16];
            {
                const int64_t v1 = 0;
                few_f32s_of_bf16s(near0, b0 + 1000 * v0 + v1, 16);
            }
            ahead0 = largest_of_16_f32(near0);
        }
    }
    for (int64_t step = first; step < last + 1; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        r0_0 = ahead0;
        if (step + 1 < last) {
            const int64_t task = step + 1;
            const int64_t v0 = task;
            {
                float near0[16];
                {
                    const int64_t v1 = 0;
                    few_f32s_of_bf16s(near0, b0 + 1000 * v0 + v1, 16);
                }
                ahead0 = largest_of_16_f32(near0);
            }
        }
        held_f32 held0;
        start_held_f32(&held0, -__builtin_inf());
        held_f32 held1;
        start_held_f32(&held1, 0);
        if (does1) {
            t7_1 = 1.0f / r1_1;
        }
        {
            int64_t head = 0;
            if (does1) {
                const int64_t task = step - 1;
                const int64_t v0 = task;
                {
                    const int64_t v1 = 0;
                    head = lanes_to_line(b1 + 1000 * v0 + v1, 2, 1000);
                }
            }
            if (does1) {
                const int64_t task = step - 1;
                const int64_t v0 = task;
                uint16_t *const made2 = edge2 + 32 - head;
                INDEPENDENT
                for (int64_t l = 0; l < head; l++) {
                    const int64_t v1 = 0 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_1;
                    const uint16_t t9 = bf16_of_f32(t8);
                    made2[l] = t9;
                }
                {
                    const int64_t v1 = 0;
                    stream_edge(b1 + 1000 * v0 + v1, edge2, head * 2, task == first);
                }
            }
            for (int64_t block = 0; block < 896; block += 64) {
                float made2[64];
                if (does1) {
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = head + block + l;
                        const float t4 = saved4[v1];
                        const float t8 = t4 * t7_1;
                        made2[l] = t8;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    float wide4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
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
                            const int64_t v1 = block + l;
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
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = head + block;
                        stream_bf16s(b1 + 1000 * v0 + v1, made2);
                    }
                }
            }
            if (does1) {
                const int64_t task = step - 1;
                const int64_t v0 = task;
                uint16_t made2[136];
                INDEPENDENT
                for (int64_t l = 0; l < 104 - head; l++) {
                    const int64_t v1 = head + 896 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_1;
                    const uint16_t t9 = bf16_of_f32(t8);
                    made2[l] = t9;
                }
                {
                    const int64_t v1 = head + 896;
                    stream_to_edge(b1 + 1000 * v0 + v1, made2, (104 - head) * 2, edge2, task == last - 1);
                }
            }
            if (does0) {
                const int64_t task = step;
                const int64_t v0 = task;
                float wide4[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = 896 + l;
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
                        const int64_t v1 = 896 + l;
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
            if (does0) {
                const int64_t task = step;
                const int64_t v0 = task;
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
            }
        }
        if (does0) {
            const int64_t task = step;
            const int64_t v0 = task;
            const float r0 = largest_of_held_f32(&held0);
            if (!(r0 - r0_0 <= 30.0f)) {
                r0_0 = r0;
                start_held_f32(&held1, 0);
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
                        const float t3 = t1 - r0_0;
                        wide4[l] = t3;
                    }
                    exp_block_bf16(wide4, wide4, 48);
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
            }
            const float r1 = sum_of_held_f32(&held1);
            r1_1 = r1;
        }
    }
    stream_settle();
    return 1;
}

