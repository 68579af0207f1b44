/* %2 = max f32[64], %7 = sum f32[64], %13 = cast bf16[64, 1000] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    float saved4[1000];
    float r0_1 = 0;
    float r1_2 = 0;
    float t7_2 = 0;
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        if (does2) {
            t7_2 = 1.0f / r1_2;
        }
        {
            int64_t head = 0;
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                {
                    const int64_t v1 = 0;
                    head = lanes_to_line(b1 + 1000 * v0 + v1, 2, 1000);
                }
            }
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < head; l++) {
                    const int64_t v1 = 0 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_2;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            for (int64_t block = 0; block <= 936 - head; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task;
                    float made2[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = head + block + l;
                        const float t4 = saved4[v1];
                        const float t8 = t4 * t7_2;
                        made2[l] = t8;
                    }
                    {
                        const int64_t v1 = head + block;
                        uint16_t halves2[64];
                        bf16s_of_f32s(halves2, made2);
                        stream_lines(b1 + 1000 * v0 + v1, halves2, 128);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    float wide4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_1;
                        wide4[l] = t3;
                    }
                    exp_block_f32(wide4, wide4, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t4 = wide4[l];
                        saved4[v1] = t4;
                        a1[l] += t4;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        a0[l] = ((t1 > a0[l]) | (t1 != t1)) ? t1 : a0[l];
                    }
                }
            }
            if (does2) {
                const int64_t task = step - 2;
                const int64_t v0 = task;
                INDEPENDENT
                for (int64_t l = 0; l < (1000 - head) % 64; l++) {
                    const int64_t v1 = 1000 - (1000 - head) % 64 + l;
                    const float t4 = saved4[v1];
                    const float t8 = t4 * t7_2;
                    const uint16_t t9 = bf16_of_f32(t8);
                    b1[1000 * v0 + v1] = t9;
                }
            }
            for (int64_t rest = 1000 - (1000 - head) % 64 - head; rest < 1000; rest += 64) {
                const int64_t n_rest = 1000 - rest < 64 ? 1000 - rest : 64;
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_rest; l++) {
                        const int64_t v1 = rest + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        const float t3 = t1 - r0_1;
                        const float t4 = exp_below_f32(t3);
                        saved4[v1] = t4;
                        a1[l] += t4;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_rest; l++) {
                        const int64_t v1 = rest + l;
                        const uint16_t t0 = b0[1000 * v0 + v1];
                        const float t1 = f32_of_bf16(t0);
                        a0[l] = ((t1 > a0[l]) | (t1 != t1)) ? t1 : a0[l];
                    }
                }
            }
        }
        if (does1) {
            for (int64_t l = 0; l < 32; l++) {
                a1[l] = a1[l] + a1[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a1[l] = a1[l] + a1[l + 16];
            }
            const float a1_1_0 = sum_of_16_f32(a1);
            const float r1 = a1_1_0;
            r1_2 = r1;
        }
        if (does0) {
            uint32_t nan0 = 0;
            for (int64_t l = 0; l < 64; l++) {
                nan0 |= a0[l] != a0[l];
            }
            for (int64_t l = 0; l < 32; l++) {
                a0[l] = a0[l] > a0[l + 32] ? a0[l] : a0[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a0[l] = a0[l] > a0[l + 16] ? a0[l] : a0[l + 16];
            }
            const float a0_1_0 = largest_of_16_f32(a0);
            const float r0 = nan0 ? __builtin_nan("") : a0_1_0;
            r0_1 = r0;
        }
    }
    stream_settle();
    return 1;
}

