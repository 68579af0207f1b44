/* %9 = max f32[16, 12, 128], %14 = sum f32[16, 12, 128], %19 = mul f32[16, 12, 128, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const uint8_t *const b1 = buffers[1];
    float *const b2 = buffers[2];
    float saved8[128];
    float saved8b[128];
    float r0_0 = 0;
    float r1_1 = 0;
    float t11_1 = 0;
    float r0_0b = 0;
    float r1_1b = 0;
    float t11_1b = 0;
    for (int64_t step = first; step < last + 2; step += 2) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 2 && step < last + 2;
        const int64_t at0 = step;
        const int64_t at0b = at0 + (at0 + 1 < last);
        const int64_t at1 = step - 2;
        const int64_t at1b = at1 + (at1 + 1 < last);
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task / 1536;
            const int64_t v1 = task % 1536;
            {
                float near0[16];
                INDEPENDENT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v2 = 0 + l;
                    const uint8_t t0 = b1[128 * v0 + v2];
                    const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                    const float t4 = t2 * 0.125f;
                    const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                    near0[l] = t5;
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
            t11_1 = 1.0f / r1_1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task / 1536;
            const int64_t v1 = task % 1536;
            {
                float near0[16];
                INDEPENDENT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v2 = 0 + l;
                    const uint8_t t0 = b1[128 * v0 + v2];
                    const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                    const float t4 = t2 * 0.125f;
                    const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                    near0[l] = t5;
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
            t11_1b = 1.0f / r1_1b;
        }
        {
            for (int64_t block = 0; block < 128; block += 64) {
                float made2[64];
                if (does1) {
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const float t8 = saved8[v2];
                        const float t12 = t8 * t11_1;
                        made2[l] = t12;
                    }
                }
                if (does0) {
                    const int64_t task = at0;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    float wide8[64];
                    {
                        const int64_t v2 = block;
                        fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 2048, 256);
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b1[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t4 = t2 * 0.125f;
                        const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                        const float t7 = t5 - r0_0;
                        wide8[l] = t7;
                    }
                    exp_below_block_f32(wide8, wide8, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b1[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t4 = t2 * 0.125f;
                        const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                        const float t8 = wide8[l];
                        saved8[v2] = t8;
                        a0[l] = t5 > a0[l] ? t5 : a0[l];
                        a1[l] += t8;
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    {
                        const int64_t v2 = block;
                        stream_lines(b2 + 196608 * v0 + 128 * v1 + v2, made2, 256);
                    }
                }
                float made2b[64];
                if (does1) {
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const float t8 = saved8b[v2];
                        const float t12 = t8 * t11_1b;
                        made2b[l] = t12;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    float wide8[64];
                    {
                        const int64_t v2 = block;
                        fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 2048, 256);
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b1[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t4 = t2 * 0.125f;
                        const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                        const float t7 = t5 - r0_0b;
                        wide8[l] = t7;
                    }
                    exp_below_block_f32(wide8, wide8, 64);
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b1[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t4 = t2 * 0.125f;
                        const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                        const float t8 = wide8[l];
                        saved8b[v2] = t8;
                        a0b[l] = t5 > a0b[l] ? t5 : a0b[l];
                        a1b[l] += t8;
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    {
                        const int64_t v2 = block;
                        stream_lines(b2 + 196608 * v0 + 128 * v1 + v2, made2b, 256);
                    }
                }
            }
        }
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task / 1536;
            const int64_t v1 = task % 1536;
            const float a0_1_0 = largest_of_64_f32(a0);
            const float r0 = a0_1_0;
            if (!(r0 - r0_0 <= 30.0f)) {
                r0_0 = r0;
                for (int64_t l = 0; l < 64; l++) {
                    a1[l] = 0;
                }
                for (int64_t lane = 0; lane < 128; lane += 64) {
                    {
                        float wide8[64];
                        {
                            const int64_t v2 = lane;
                            fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 2048, 256);
                        }
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v2 = lane + l;
                            const uint8_t t0 = b1[128 * v0 + v2];
                            const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                            const float t4 = t2 * 0.125f;
                            const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                            const float t7 = t5 - r0_0;
                            wide8[l] = t7;
                        }
                        exp_below_block_f32(wide8, wide8, 64);
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v2 = lane + l;
                            const float t8 = wide8[l];
                            saved8[v2] = t8;
                            a1[l] += t8;
                        }
                    }
                }
            }
            const float a1_1_0 = sum_of_64_f32(a1);
            const float r1 = a1_1_0;
            r1_1 = r1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task / 1536;
            const int64_t v1 = task % 1536;
            const float a0_1_0b = largest_of_64_f32(a0b);
            const float r0b = a0_1_0b;
            if (!(r0b - r0_0b <= 30.0f)) {
                r0_0b = r0b;
                for (int64_t l = 0; l < 64; l++) {
                    a1b[l] = 0;
                }
                for (int64_t lane = 0; lane < 128; lane += 64) {
                    {
                        float wide8[64];
                        {
                            const int64_t v2 = lane;
                            fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 2048, 256);
                        }
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v2 = lane + l;
                            const uint8_t t0 = b1[128 * v0 + v2];
                            const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                            const float t4 = t2 * 0.125f;
                            const float t5 = choose_f32(t0, (-__builtin_inff()), t4);
                            const float t7 = t5 - r0_0b;
                            wide8[l] = t7;
                        }
                        exp_below_block_f32(wide8, wide8, 64);
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v2 = lane + l;
                            const float t8 = wide8[l];
                            saved8b[v2] = t8;
                            a1b[l] += t8;
                        }
                    }
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

