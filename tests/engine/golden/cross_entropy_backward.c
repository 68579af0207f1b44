/* %22 = sum f32[] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const int64_t *const b1 = buffers[0];
    float *const b8 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v0 = lane + l;
                const int64_t t0 = b1[v0];
                const uint8_t t2 = t0 != (-100);
                const float t5 = t2 ? 1.0f : 0.0f;
                a0[l] += t5;
            }
        }
        const float a0_1_0 = sum_of_64_f32(a0);
        const float r0 = a0_1_0;
        b8[0] = r0;
    }
    return 1;
}

/* %1 = max f32[1024], %6 = sum f32[1024], %20 = select f32[1024], %55 = sub f32[1024, 4096] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b5 = buffers[4];
    const float *const b8 = buffers[5];
    float saved3[4096];
    float saved3b[4096];
    uint64_t bad = 0;
    float r0_0 = 0;
    float r0_1 = 0;
    float r1_1 = 0;
    int64_t t5_1 = 0;
    uint8_t t7_1 = 0;
    int64_t t9_1 = 0;
    float t10_1 = 0;
    float t11_1 = 0;
    float t12_1 = 0;
    float t13_1 = 0;
    float t14_1 = 0;
    float t16_1 = 0;
    int64_t t19_1 = 0;
    int32_t t20_1 = 0;
    float t22_1 = 0;
    float t23_1 = 0;
    float t24_1 = 0;
    float t25_1 = 0;
    float t26_1 = 0;
    float t29_1 = 0;
    uint8_t t32_1 = 0;
    uint8_t t34_1 = 0;
    uint8_t t35_1 = 0;
    float t36_1 = 0;
    float r0_0b = 0;
    float r0_1b = 0;
    float r1_1b = 0;
    int64_t t5_1b = 0;
    uint8_t t7_1b = 0;
    int64_t t9_1b = 0;
    float t10_1b = 0;
    float t11_1b = 0;
    float t12_1b = 0;
    float t13_1b = 0;
    float t14_1b = 0;
    float t16_1b = 0;
    int64_t t19_1b = 0;
    int32_t t20_1b = 0;
    float t22_1b = 0;
    float t23_1b = 0;
    float t24_1b = 0;
    float t25_1b = 0;
    float t26_1b = 0;
    float t29_1b = 0;
    uint8_t t32_1b = 0;
    uint8_t t34_1b = 0;
    uint8_t t35_1b = 0;
    float t36_1b = 0;
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
                INDEPENDENT FEW
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v1 = 0 + l;
                    const float t0 = b0[4096 * v0 + v1];
                    near0[l] = t0;
                }
                r0_0 = largest_of_16_f32(near0);
            }
        }
        float a0[16];
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = -__builtin_inf();
        }
        float a1[16];
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = 0;
        }
        if (does1) {
            const int64_t task = at1;
            const int64_t v0 = task;
            t5_1 = b1[v0];
            t7_1 = t5_1 != (-100);
            t9_1 = t7_1 ? t5_1 : 0;
            t10_1 = b0[4096 * v0 + checked(t9_1, 4096, &bad)];
            t11_1 = t10_1 - r0_1;
            t12_1 = log_f32(r1_1);
            t13_1 = t11_1 - t12_1;
            t14_1 = -t13_1;
            t16_1 = t7_1 ? t14_1 : 0.0f;
            t19_1 = checked(t9_1, 4096, &bad);
            t20_1 = (int32_t)(t19_1);
            t22_1 = b2[0];
            t23_1 = -t22_1;
            t24_1 = b8[0];
            t25_1 = t23_1 / t24_1;
            t26_1 = t7_1 ? t25_1 : 0.0f;
            t29_1 = 1.0f / r1_1;
            t32_1 = t20_1 >= 0;
            t34_1 = t20_1 < 4096;
            t35_1 = t32_1 & t34_1;
            t36_1 = t35_1 ? t26_1 : 0.0f;
            b3[v0] = t16_1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            {
                float near0[16];
                INDEPENDENT FEW
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v1 = 0 + l;
                    const float t0 = b0[4096 * v0 + v1];
                    near0[l] = t0;
                }
                r0_0b = largest_of_16_f32(near0);
            }
        }
        float a0b[16];
        for (int64_t l = 0; l < 16; l++) {
            a0b[l] = -__builtin_inf();
        }
        float a1b[16];
        for (int64_t l = 0; l < 16; l++) {
            a1b[l] = 0;
        }
        if (does1) {
            const int64_t task = at1b;
            const int64_t v0 = task;
            t5_1b = b1[v0];
            t7_1b = t5_1b != (-100);
            t9_1b = t7_1b ? t5_1b : 0;
            t10_1b = b0[4096 * v0 + checked(t9_1b, 4096, &bad)];
            t11_1b = t10_1b - r0_1b;
            t12_1b = log_f32(r1_1b);
            t13_1b = t11_1b - t12_1b;
            t14_1b = -t13_1b;
            t16_1b = t7_1b ? t14_1b : 0.0f;
            t19_1b = checked(t9_1b, 4096, &bad);
            t20_1b = (int32_t)(t19_1b);
            t22_1b = b2[0];
            t23_1b = -t22_1b;
            t24_1b = b8[0];
            t25_1b = t23_1b / t24_1b;
            t26_1b = t7_1b ? t25_1b : 0.0f;
            t29_1b = 1.0f / r1_1b;
            t32_1b = t20_1b >= 0;
            t34_1b = t20_1b < 4096;
            t35_1b = t32_1b & t34_1b;
            t36_1b = t35_1b ? t26_1b : 0.0f;
            b3[v0] = t16_1b;
        }
        {
            for (int64_t block = 0; block < 4096; block += 16) {
                float made3[16];
                if (does1) {
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t3 = saved3[v1];
                        const int64_t t17 = v1;
                        const int32_t t18 = (int32_t)(t17);
                        const uint8_t t21 = t18 == t20_1;
                        const float t27 = t21 ? t26_1 : 0.0f;
                        const float t30 = t3 * t29_1;
                        const float t37 = t30 * t36_1;
                        const float t38 = t27 - t37;
                        made3[l] = t38;
                    }
                }
                if (does0) {
                    const int64_t task = at0;
                    const int64_t v0 = task;
                    float wide3[16];
                    {
                        const int64_t v1 = block;
                        fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                    }
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[4096 * v0 + v1];
                        const float t2 = t0 - r0_0;
                        wide3[l] = t2;
                    }
                    exp_below_block_f32(wide3, wide3, 16);
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[4096 * v0 + v1];
                        const float t3 = wide3[l];
                        saved3[v1] = t3;
                        a0[l] = t0 > a0[l] ? t0 : a0[l];
                        a1[l] += t3;
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b5 + 4096 * v0 + v1, made3, 64);
                    }
                }
                float made3b[16];
                if (does1) {
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t3 = saved3b[v1];
                        const int64_t t17 = v1;
                        const int32_t t18 = (int32_t)(t17);
                        const uint8_t t21 = t18 == t20_1b;
                        const float t27 = t21 ? t26_1b : 0.0f;
                        const float t30 = t3 * t29_1b;
                        const float t37 = t30 * t36_1b;
                        const float t38 = t27 - t37;
                        made3b[l] = t38;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task;
                    float wide3[16];
                    {
                        const int64_t v1 = block;
                        fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                    }
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[4096 * v0 + v1];
                        const float t2 = t0 - r0_0b;
                        wide3[l] = t2;
                    }
                    exp_below_block_f32(wide3, wide3, 16);
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[4096 * v0 + v1];
                        const float t3 = wide3[l];
                        saved3b[v1] = t3;
                        a0b[l] = t0 > a0b[l] ? t0 : a0b[l];
                        a1b[l] += t3;
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b5 + 4096 * v0 + v1, made3b, 64);
                    }
                }
            }
        }
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task;
            const float a0_1_0 = largest_of_16_f32(a0);
            const float r0 = a0_1_0;
            if (!(r0 - r0_0 <= 30.0f)) {
                r0_0 = r0;
                for (int64_t l = 0; l < 16; l++) {
                    a1[l] = 0;
                }
                for (int64_t lane = 0; lane < 4096; lane += 16) {
                    {
                        float wide3[16];
                        {
                            const int64_t v1 = lane;
                            fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                        }
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t0 = b0[4096 * v0 + v1];
                            const float t2 = t0 - r0_0;
                            wide3[l] = t2;
                        }
                        exp_below_block_f32(wide3, wide3, 16);
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t3 = wide3[l];
                            saved3[v1] = t3;
                            a1[l] += t3;
                        }
                    }
                }
            }
            const float a1_1_0 = sum_of_16_f32(a1);
            const float r1 = a1_1_0;
            r0_1 = r0_0;
            r1_1 = r1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            const float a0_1_0b = largest_of_16_f32(a0b);
            const float r0b = a0_1_0b;
            if (!(r0b - r0_0b <= 30.0f)) {
                r0_0b = r0b;
                for (int64_t l = 0; l < 16; l++) {
                    a1b[l] = 0;
                }
                for (int64_t lane = 0; lane < 4096; lane += 16) {
                    {
                        float wide3[16];
                        {
                            const int64_t v1 = lane;
                            fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                        }
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t0 = b0[4096 * v0 + v1];
                            const float t2 = t0 - r0_0b;
                            wide3[l] = t2;
                        }
                        exp_below_block_f32(wide3, wide3, 16);
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t3 = wide3[l];
                            saved3b[v1] = t3;
                            a1b[l] += t3;
                        }
                    }
                }
            }
            const float a1_1_0b = sum_of_16_f32(a1b);
            const float r1b = a1_1_0b;
            r0_1b = r0_0b;
            r1_1b = r1b;
        }
    }
    stream_settle();
    return bad == 0;
}

/* %23 = sum f32[], %24 = div f32[] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    float *const b4 = buffers[1];
    const float *const b8 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const float t2 = b8[0];
        held_f32 held0;
        start_held_f32(&held0, 0);
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            {
                float taken0[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v0 = lane + l;
                    const float t0 = b3[v0];
                    taken0[l] = t0;
                }
                add_held_f32(&held0, taken0, 64);
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        const float t3 = r0 / t2;
        b4[0] = t3;
    }
    return 1;
}

