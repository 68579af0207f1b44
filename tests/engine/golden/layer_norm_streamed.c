/* %1 = sum f32[32], %4 = mul f32[32, 1], %8 = sum f32[32], %15 = div f32[32, 1], %23 = add f32[32, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    float *const b5 = buffers[5];
    float r0_0 = 0;
    float t19_0 = 0;
    float r0_1 = 0;
    float r2_1 = 0;
    float t3_1 = 0;
    float t8_1 = 0;
    float t10_1 = 0;
    float t11_1 = 0;
    float t12_1 = 0;
    float r0_0b = 0;
    float t19_0b = 0;
    float r0_1b = 0;
    float r2_1b = 0;
    float t3_1b = 0;
    float t8_1b = 0;
    float t10_1b = 0;
    float t11_1b = 0;
    float t12_1b = 0;
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
                    const float t0 = b0[768 * v0 + v1];
                    near0[l] = t0;
                }
                r0_0 = near_mean_of_16_f32(near0) * 7.680000000e+02f;
                r0_0 = fabsf(r0_0) <= 3.4028234e38f ? r0_0 : 0;
            }
            t19_0 = r0_0 * 0.0013020833721384406f;
        }
        float a0[16];
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = 0;
        }
        float a2[16];
        for (int64_t l = 0; l < 16; l++) {
            a2[l] = 0;
        }
        if (does1) {
            const int64_t task = at1;
            const int64_t v0 = task;
            t3_1 = r0_1 * 0.0013020833721384406f;
            t8_1 = r2_1 * 0.0013020833721384406f;
            t10_1 = t8_1 + 9.999999747378752e-06f;
            t11_1 = __builtin_sqrtf(t10_1);
            t12_1 = 1.0f / t11_1;
            b4[v0] = t3_1;
            b5[v0] = t12_1;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            {
                float near0[16];
                INDEPENDENT FEW
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v1 = 0 + l;
                    const float t0 = b0[768 * v0 + v1];
                    near0[l] = t0;
                }
                r0_0b = near_mean_of_16_f32(near0) * 7.680000000e+02f;
                r0_0b = fabsf(r0_0b) <= 3.4028234e38f ? r0_0b : 0;
            }
            t19_0b = r0_0b * 0.0013020833721384406f;
        }
        float a0b[16];
        for (int64_t l = 0; l < 16; l++) {
            a0b[l] = 0;
        }
        float a2b[16];
        for (int64_t l = 0; l < 16; l++) {
            a2b[l] = 0;
        }
        if (does1) {
            const int64_t task = at1b;
            const int64_t v0 = task;
            t3_1b = r0_1b * 0.0013020833721384406f;
            t8_1b = r2_1b * 0.0013020833721384406f;
            t10_1b = t8_1b + 9.999999747378752e-06f;
            t11_1b = __builtin_sqrtf(t10_1b);
            t12_1b = 1.0f / t11_1b;
            b4[v0] = t3_1b;
            b5[v0] = t12_1b;
        }
        {
            for (int64_t block = 0; block < 768; block += 16) {
                float made4[16];
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1;
                        const float t13 = t4 * t12_1;
                        const float t14 = b1[v1];
                        const float t15 = t13 * t14;
                        const float t16 = b2[v1];
                        const float t17 = t15 + t16;
                        made4[l] = t17;
                    }
                }
                if (does0) {
                    const int64_t task = at0;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t20 = t0 - t19_0;
                        const float t21 = t20 * t20;
                        a0[l] += t20;
                        a2[l] += t21;
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b3 + 768 * v0 + v1, made4, 64);
                    }
                }
                float made4b[16];
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1b;
                        const float t13 = t4 * t12_1b;
                        const float t14 = b1[v1];
                        const float t15 = t13 * t14;
                        const float t16 = b2[v1];
                        const float t17 = t15 + t16;
                        made4b[l] = t17;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t20 = t0 - t19_0b;
                        const float t21 = t20 * t20;
                        a0b[l] += t20;
                        a2b[l] += t21;
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    {
                        const int64_t v1 = block;
                        stream_lines(b3 + 768 * v0 + v1, made4b, 64);
                    }
                }
            }
        }
        if (does0) {
            const int64_t task = at0;
            const int64_t v0 = task;
            const float a0_1_0 = sum_of_16_f32(a0);
            const float r0 = a0_1_0;
            const float a2_1_0 = sum_of_16_f32(a2);
            const float r2 = a2_1_0;
            float exact0 = r0, exact2 = r2;
            if (!(exact0 * exact0 * 1.302083333e-03f <= 0.75f * exact2) && fabsf(exact0 + r0_0) <= 3.4028234e38f) {
                r0_0 += exact0;
                t19_0 = r0_0 * 0.0013020833721384406f;
                for (int64_t l = 0; l < 16; l++) {
                    a0[l] = 0;
                }
                for (int64_t l = 0; l < 16; l++) {
                    a2[l] = 0;
                }
                for (int64_t lane = 0; lane < 768; lane += 16) {
                    {
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t0 = b0[768 * v0 + v1];
                            const float t20 = t0 - t19_0;
                            const float t21 = t20 * t20;
                            a0[l] += t20;
                            a2[l] += t21;
                        }
                    }
                }
                const float a0_1_0 = sum_of_16_f32(a0);
                const float r0 = a0_1_0;
                const float a2_1_0 = sum_of_16_f32(a2);
                const float r2 = a2_1_0;
                exact0 = r0;
                exact2 = r2;
            }
            exact2 -= exact0 * exact0 * 1.302083333e-03f;
            exact2 = exact2 < 0 ? 0 : exact2;
            exact0 += r0_0;
            r0_1 = exact0;
            r2_1 = exact2;
        }
        if (does0) {
            const int64_t task = at0b;
            const int64_t v0 = task;
            const float a0_1_0b = sum_of_16_f32(a0b);
            const float r0b = a0_1_0b;
            const float a2_1_0b = sum_of_16_f32(a2b);
            const float r2b = a2_1_0b;
            float exact0 = r0b, exact2 = r2b;
            if (!(exact0 * exact0 * 1.302083333e-03f <= 0.75f * exact2) && fabsf(exact0 + r0_0b) <= 3.4028234e38f) {
                r0_0b += exact0;
                t19_0b = r0_0b * 0.0013020833721384406f;
                for (int64_t l = 0; l < 16; l++) {
                    a0b[l] = 0;
                }
                for (int64_t l = 0; l < 16; l++) {
                    a2b[l] = 0;
                }
                for (int64_t lane = 0; lane < 768; lane += 16) {
                    {
                        INDEPENDENT FEW
                        for (int64_t l = 0; l < 16; l++) {
                            const int64_t v1 = lane + l;
                            const float t0 = b0[768 * v0 + v1];
                            const float t20 = t0 - t19_0b;
                            const float t21 = t20 * t20;
                            a0b[l] += t20;
                            a2b[l] += t21;
                        }
                    }
                }
                const float a0_1_0b = sum_of_16_f32(a0b);
                const float r0b = a0_1_0b;
                const float a2_1_0b = sum_of_16_f32(a2b);
                const float r2b = a2_1_0b;
                exact0 = r0b;
                exact2 = r2b;
            }
            exact2 -= exact0 * exact0 * 1.302083333e-03f;
            exact2 = exact2 < 0 ? 0 : exact2;
            exact0 += r0_0b;
            r0_1b = exact0;
            r2_1b = exact2;
        }
    }
    stream_settle();
    return 1;
}

