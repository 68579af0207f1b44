/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    float saved4b[1000];
    float r0_0 = 0;
    float r1_1 = 0;
    float t7_1 = 0;
    float r0_0b = 0;
    float r1_1b = 0;
    float t7_1b = 0;
    for (int64_t step = first; step < last + 2; step += 2) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 2 && step < last + 2;
        const int64_t at0 = step;
        const int64_t at0b = at0 + (at0 + 1 < last);
        const int64_t at1 = step - 2;
        const int64_t at1b = at1 + (at1 + 1 < last);
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task;
            {
                float near0[16];
                INDEPENDENT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v1 = 0 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    near0[l] = t1;
                }
                r0_0 = largest_of_16_f32(near0);
            }
        }
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        if (does1) {
            t7_1 = 1.0f / r1_1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            {
                float near0[16];
                INDEPENDENT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v1 = 0 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    near0[l] = t1;
                }
                r0_0b = largest_of_16_f32(near0);
            }
        }
        float a0b[64];
        for (int64_t l = 0; l < 64; l++) {
            a0b[l] = -__builtin_inf();
        }
        float a1b[64];
        for (int64_t l = 0; l < 64; l++) {
            a1b[l] = 0;
        }
        if (does1) {
            t7_1b = 1.0f / r1_1b;
        }
        {
            int64_t head = 0;
            if (does1) {
                const int64_t task = at1;
                const int64_t v0 = task;
                {
                    const int64_t v1 = 0;
                    head = lanes_to_line(b1 + 1000 * v0 + v1, 2, 1000);
                }
            }
            if (does1) {
                const int64_t task = at1;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < head; l++) {
                    const int64_t v1 = 0 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_1;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            int64_t headb = 0;
            if (does1) {
                const int64_t task = at1b;
                const int64_t v0 = task;
                {
                    const int64_t v1 = 0;
                    headb = lanes_to_line(b1 + 1000 * v0 + v1, 2, 1000);
                }
            }
            if (does1) {
                const int64_t task = at1b;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < headb; l++) {
                    const int64_t v1 = 0 + l;
                    const float t4 = saved4b[v1];
                    const float t8 = t4 * t7_1b;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
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
                    const int64_t task = at0;
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
                    exp_below_block_f32(wide4, wide4, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t4 = wide4[l];
                        saved4[v1] = t4;
                        a0[l] = t1 > a0[l] ? t1 : a0[l];
                        a1[l] += t4;
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = head + block;
                        uint16_t halves2[64];
                        bf16s_of_f32s(halves2, made2);
                        stream_lines(b1 + 1000 * v0 + v1, halves2, 128);
                    }
                }
                float made2b[64];
                if (does1) {
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = headb + block + l;
                        const float t4 = saved4b[v1];
                        const float t8 = t4 * t7_1b;
                        made2b[l] = t8;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task;
                    float wide4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_0b;
                        wide4[l] = t3;
                    }
                    exp_below_block_f32(wide4, wide4, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t4 = wide4[l];
                        saved4b[v1] = t4;
                        a0b[l] = t1 > a0b[l] ? t1 : a0b[l];
                        a1b[l] += t4;
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = headb + block;
                        uint16_t halves2[64];
                        bf16s_of_f32s(halves2, made2b);
                        stream_lines(b1 + 1000 * v0 + v1, halves2, 128);
                    }
                }
            }
            if (does1) {
                const int64_t task = at1;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < 104 - head; l++) {
                    const int64_t v1 = head + 896 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_1;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            if (does0) {
                const int64_t task = at0;
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
                exp_below_block_f32(wide4, wide4, 64);
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = 896 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t4 = wide4[l];
                    saved4[v1] = t4;
                    a0[l] = t1 > a0[l] ? t1 : a0[l];
                    a1[l] += t4;
                }
            }
            if (does0) {
                const int64_t task = at0;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < 40; l++) {
                    const int64_t v1 = 960 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0_0;
                    const float t4 = exp_below_f32(t3);
                    saved4[v1] = t4;
                    a0[l] = t1 > a0[l] ? t1 : a0[l];
                    a1[l] += t4;
                }
            }
            if (does1) {
                const int64_t task = at1b;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < 104 - headb; l++) {
                    const int64_t v1 = headb + 896 + l;
                    const float t4 = saved4b[v1];
                    const float t8 = t4 * t7_1b;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            if (does0) {
                const int64_t task = at0b;
                const int64_t v0 = task;
                float wide4[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = 896 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0_0b;
                    wide4[l] = t3;
                }
                exp_below_block_f32(wide4, wide4, 64);
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = 896 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t4 = wide4[l];
                    saved4b[v1] = t4;
                    a0b[l] = t1 > a0b[l] ? t1 : a0b[l];
                    a1b[l] += t4;
                }
            }
            if (does0) {
                const int64_t task = at0b;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < 40; l++) {
                    const int64_t v1 = 960 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0_0b;
                    const float t4 = exp_below_f32(t3);
                    saved4b[v1] = t4;
                    a0b[l] = t1 > a0b[l] ? t1 : a0b[l];
                    a1b[l] += t4;
                }
            }
        }
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task;
            const float a0_1_0 = largest_of_64_f32(a0);
            const float r0 = a0_1_0;
            if (!(r0 - r0_0 <= 30.0f)) {
                r0_0 = r0;
                for (int64_t l = 0; l < 64; l++) {
                    a1[l] = 0;
                }
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
                        exp_below_block_f32(wide4, wide4, 64);
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v1 = lane + l;
                            const float t4 = wide4[l];
                            saved4[v1] = t4;
                            a1[l] += t4;
                        }
                    }
                }
                INDEPENDENT
                for (int64_t l = 0; l < 40; l++) {
                    const int64_t v1 = 960 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0_0;
                    const float t4 = exp_below_f32(t3);
                    saved4[v1] = t4;
                    a1[l] += t4;
                }
            }
            const float a1_1_0 = sum_of_64_f32(a1);
            const float r1 = a1_1_0;
            r1_1 = r1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            const float a0_1_0b = largest_of_64_f32(a0b);
            const float r0b = a0_1_0b;
            if (!(r0b - r0_0b <= 30.0f)) {
                r0_0b = r0b;
                for (int64_t l = 0; l < 64; l++) {
                    a1b[l] = 0;
                }
                for (int64_t lane = 0; lane < 960; lane += 64) {
                    {
                        float wide4[64];
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v1 = lane + l;
                            const uint16_t t0 = b0[1000 * v0 + v1];
                            const float t1 = f32_of_bf16(t0);
                            const float t3 = t1 - r0_0b;
                            wide4[l] = t3;
                        }
                        exp_below_block_f32(wide4, wide4, 64);
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v1 = lane + l;
                            const float t4 = wide4[l];
                            saved4b[v1] = t4;
                            a1b[l] += t4;
                        }
                    }
                }
                INDEPENDENT
                for (int64_t l = 0; l < 40; l++) {
                    const int64_t v1 = 960 + l;
                    const uint16_t t0 = b0[1000 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t3 = t1 - r0_0b;
                    const float t4 = exp_below_f32(t3);
                    saved4b[v1] = t4;
                    a1b[l] += t4;
                }
            }
            const float a1_1_0b = sum_of_64_f32(a1b);
            const float r1b = a1_1_0b;
            r1_1b = r1b;
        }
    }
    stream_settle();
    return 1;
}

