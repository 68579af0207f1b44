/* %1 = max f32[1024], %6 = sum f32[1024], %8 = log f32[1024, 1] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b3 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 4096; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t0 = b0[4096 * v0 + v1];
                a0[l] = ((t0 > a0[l]) | (t0 != t0)) ? t0 : a0[l];
            }
        }
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
        b6[v0] = r0;
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 4096; lane += 64) {
            {
                float wide3[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const float t0 = b0[4096 * v0 + v1];
                    const float t2 = t0 - r0;
                    wide3[l] = t2;
                }
                exp_below_block_f32(wide3, wide3, 64);
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const float t3 = wide3[l];
                    a1[l] += t3;
                }
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a1[l] = a1[l] + a1[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = a1[l] + a1[l + 16];
        }
        const float a1_1_0 = sum_of_16_f32(a1);
        const float r1 = a1_1_0;
        const float t5 = log_f32(r1);
        b3[v0] = t5;
    }
    return 1;
}

/* %22 = sum f32[], %23 = sum f32[], %24 = div f32[] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    const float *const b3 = buffers[2];
    float *const b4 = buffers[3];
    const float *const b6 = buffers[4];
    float *const b8 = buffers[5];
    uint64_t bad = 0;
    for (int64_t task = first; task < last; task++) {
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v0 = lane + l;
                const int64_t t0 = b1[v0];
                const uint8_t t2 = t0 != (-100);
                const float t5 = t2 ? 1.0f : 0.0f;
                const int64_t t8 = t2 ? t0 : 0;
                const float t9 = b0[4096 * v0 + checked(t8, 4096, &bad)];
                const float t10 = b6[v0];
                const float t11 = t9 - t10;
                const float t12 = b3[v0];
                const float t13 = t11 - t12;
                const float t14 = -t13;
                const float t15 = t2 ? t14 : 0.0f;
                a0[l] += t5;
                a1[l] += t15;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a0[l] = a0[l] + a0[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = a0[l] + a0[l + 16];
        }
        const float a0_1_0 = sum_of_16_f32(a0);
        const float r0 = a0_1_0;
        for (int64_t l = 0; l < 32; l++) {
            a1[l] = a1[l] + a1[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = a1[l] + a1[l + 16];
        }
        const float a1_1_0 = sum_of_16_f32(a1);
        const float r1 = a1_1_0;
        b8[0] = r0;
        const float t17 = r1 / r0;
        b4[0] = t17;
    }
    return bad == 0;
}

/* %43 = sum f32[1024], %48 = sub f32[1024, 4096] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    float *const b5 = buffers[4];
    const float *const b6 = buffers[5];
    const float *const b8 = buffers[6];
    uint64_t bad = 0;
    int64_t t2_0 = 0;
    uint8_t t4_0 = 0;
    int64_t t6_0 = 0;
    int64_t t7_0 = 0;
    int32_t t8_0 = 0;
    float t10_0 = 0;
    float t11_0 = 0;
    float t12_0 = 0;
    float t13_0 = 0;
    float t15_0 = 0;
    float r0_1 = 0;
    int64_t t2_1 = 0;
    uint8_t t4_1 = 0;
    int64_t t6_1 = 0;
    int64_t t7_1 = 0;
    int32_t t8_1 = 0;
    float t10_1 = 0;
    float t11_1 = 0;
    float t12_1 = 0;
    float t13_1 = 0;
    float t15_1 = 0;
    float t19_1 = 0;
    float t21_1 = 0;
    int64_t t2_0b = 0;
    uint8_t t4_0b = 0;
    int64_t t6_0b = 0;
    int64_t t7_0b = 0;
    int32_t t8_0b = 0;
    float t10_0b = 0;
    float t11_0b = 0;
    float t12_0b = 0;
    float t13_0b = 0;
    float t15_0b = 0;
    float r0_1b = 0;
    int64_t t2_1b = 0;
    uint8_t t4_1b = 0;
    int64_t t6_1b = 0;
    int64_t t7_1b = 0;
    int32_t t8_1b = 0;
    float t10_1b = 0;
    float t11_1b = 0;
    float t12_1b = 0;
    float t13_1b = 0;
    float t15_1b = 0;
    float t19_1b = 0;
    float t21_1b = 0;
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
            t2_0 = b1[v0];
            t4_0 = t2_0 != (-100);
            t6_0 = t4_0 ? t2_0 : 0;
            t7_0 = checked(t6_0, 4096, &bad);
            t8_0 = (int32_t)(t7_0);
            t10_0 = b2[0];
            t11_0 = -t10_0;
            t12_0 = b8[0];
            t13_0 = t11_0 / t12_0;
            t15_0 = t4_0 ? t13_0 : 0.0f;
        }
        float a0[16];
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = 0;
        }
        if (does1) {
            const int64_t task = at1;
            const int64_t v0 = task;
            t2_1 = b1[v0];
            t4_1 = t2_1 != (-100);
            t6_1 = t4_1 ? t2_1 : 0;
            t7_1 = checked(t6_1, 4096, &bad);
            t8_1 = (int32_t)(t7_1);
            t10_1 = b2[0];
            t11_1 = -t10_1;
            t12_1 = b8[0];
            t13_1 = t11_1 / t12_1;
            t15_1 = t4_1 ? t13_1 : 0.0f;
            t19_1 = b6[v0];
            t21_1 = b3[v0];
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            t2_0b = b1[v0];
            t4_0b = t2_0b != (-100);
            t6_0b = t4_0b ? t2_0b : 0;
            t7_0b = checked(t6_0b, 4096, &bad);
            t8_0b = (int32_t)(t7_0b);
            t10_0b = b2[0];
            t11_0b = -t10_0b;
            t12_0b = b8[0];
            t13_0b = t11_0b / t12_0b;
            t15_0b = t4_0b ? t13_0b : 0.0f;
        }
        float a0b[16];
        for (int64_t l = 0; l < 16; l++) {
            a0b[l] = 0;
        }
        if (does1) {
            const int64_t task = at1b;
            const int64_t v0 = task;
            t2_1b = b1[v0];
            t4_1b = t2_1b != (-100);
            t6_1b = t4_1b ? t2_1b : 0;
            t7_1b = checked(t6_1b, 4096, &bad);
            t8_1b = (int32_t)(t7_1b);
            t10_1b = b2[0];
            t11_1b = -t10_1b;
            t12_1b = b8[0];
            t13_1b = t11_1b / t12_1b;
            t15_1b = t4_1b ? t13_1b : 0.0f;
            t19_1b = b6[v0];
            t21_1b = b3[v0];
        }
        {
            for (int64_t block = 0; block < 4096; block += 16) {
                float made1[16];
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    float wide23[16];
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t18 = b0[4096 * v0 + v1];
                        const float t20 = t18 - t19_1;
                        const float t22 = t20 - t21_1;
                        wide23[l] = t22;
                    }
                    exp_block_f32(wide23, wide23, 16);
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_1;
                        const float t16 = t9 ? t15_1 : 0.0f;
                        const float t23 = wide23[l];
                        const float t24 = t23 * r0_1;
                        const float t25 = t16 - t24;
                        made1[l] = t25;
                    }
                }
                if (does0) {
                    const int64_t task = at0;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                    }
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_0;
                        const float t16 = t9 ? t15_0 : 0.0f;
                        a0[l] += t16;
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b5 + 4096 * v0 + v1, made1, 64);
                    }
                }
                float made1b[16];
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    float wide23[16];
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t18 = b0[4096 * v0 + v1];
                        const float t20 = t18 - t19_1b;
                        const float t22 = t20 - t21_1b;
                        wide23[l] = t22;
                    }
                    exp_block_f32(wide23, wide23, 16);
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_1b;
                        const float t16 = t9 ? t15_1b : 0.0f;
                        const float t23 = wide23[l];
                        const float t24 = t23 * r0_1b;
                        const float t25 = t16 - t24;
                        made1b[l] = t25;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        fetch_soon(b0 + 4096 * v0 + v1 + (v1 < 3072 ? 1024 : 5120), 64);
                    }
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const int64_t t0 = v1;
                        const int32_t t1 = (int32_t)(t0);
                        const uint8_t t9 = t1 == t8_0b;
                        const float t16 = t9 ? t15_0b : 0.0f;
                        a0b[l] += t16;
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b5 + 4096 * v0 + v1, made1b, 64);
                    }
                }
            }
        }
        if (does0) {
            const float a0_1_0 = sum_of_16_f32(a0);
            const float r0 = a0_1_0;
            r0_1 = r0;
        }
        if (does0) {
            const float a0_1_0b = sum_of_16_f32(a0b);
            const float r0b = a0_1_0b;
            r0_1b = r0b;
        }
    }
    stream_settle();
    return bad == 0;
}

