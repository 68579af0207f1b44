/* %1 = sum f32[32], %4 = mul f32[32, 1], %8 = sum f32[32], %15 = div f32[32, 1], %23 = add f32[32, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    float *const b5 = buffers[5];
    float r0_1 = 0;
    float t3_1 = 0;
    float r0_2 = 0;
    float r2_2 = 0;
    float t3_2 = 0;
    float t8_2 = 0;
    float t10_2 = 0;
    float t11_2 = 0;
    float t12_2 = 0;
    float r0_1b = 0;
    float t3_1b = 0;
    float r0_2b = 0;
    float r2_2b = 0;
    float t3_2b = 0;
    float t8_2b = 0;
    float t10_2b = 0;
    float t11_2b = 0;
    float t12_2b = 0;
    for (int64_t step = first; step < last + 4; step += 2) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 2 && step < last + 2;
        const _Bool does2 = step >= first + 4 && step < last + 4;
        const int64_t at0 = step;
        const int64_t at0b = at0 + (at0 + 1 < last);
        const int64_t at1 = step - 2;
        const int64_t at1b = at1 + (at1 + 1 < last);
        const int64_t at2 = step - 4;
        const int64_t at2b = at2 + (at2 + 1 < last);
        float a0[16];
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = 0;
        }
        if (does1) {
            const int64_t task = at1;
            const int64_t v0 = task;
            t3_1 = r0_1 * 0.0013020833721384406f;
            b4[v0] = t3_1;
        }
        float a2[16];
        for (int64_t l = 0; l < 16; l++) {
            a2[l] = 0;
        }
        if (does2) {
            const int64_t task = at2;
            const int64_t v0 = task;
            t3_2 = r0_2 * 0.0013020833721384406f;
            t8_2 = r2_2 * 0.0013020833721384406f;
            t10_2 = t8_2 + 9.999999747378752e-06f;
            t11_2 = __builtin_sqrtf(t10_2);
            t12_2 = 1.0f / t11_2;
            b5[v0] = t12_2;
        }
        float a0b[16];
        for (int64_t l = 0; l < 16; l++) {
            a0b[l] = 0;
        }
        if (does1) {
            const int64_t task = at1b;
            const int64_t v0 = task;
            t3_1b = r0_1b * 0.0013020833721384406f;
            b4[v0] = t3_1b;
        }
        float a2b[16];
        for (int64_t l = 0; l < 16; l++) {
            a2b[l] = 0;
        }
        if (does2) {
            const int64_t task = at2b;
            const int64_t v0 = task;
            t3_2b = r0_2b * 0.0013020833721384406f;
            t8_2b = r2_2b * 0.0013020833721384406f;
            t10_2b = t8_2b + 9.999999747378752e-06f;
            t11_2b = __builtin_sqrtf(t10_2b);
            t12_2b = 1.0f / t11_2b;
            b5[v0] = t12_2b;
        }
        {
            for (int64_t block = 0; block < 768; block += 16) {
                if (does2) {
                    const int64_t task = at2;
                    const int64_t v0 = task;
                    float made4[16];
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_2;
                        const float t13 = t4 * t12_2;
                        const float t14 = b1[v1];
                        const float t15 = t13 * t14;
                        const float t16 = b2[v1];
                        const float t17 = t15 + t16;
                        made4[l] = t17;
                    }
                    {
                        const int64_t v1 = block;
                        stream_lines(b3 + 768 * v0 + v1, made4, 64);
                    }
                }
                if (does1) {
                    const int64_t task = at1;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1;
                        const float t5 = t4 * t4;
                        a2[l] += t5;
                    }
                }
                if (does0) {
                    const int64_t task = at0;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        a0[l] += t0;
                    }
                }
                if (does2) {
                    const int64_t task = at2b;
                    const int64_t v0 = task;
                    float made4[16];
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_2b;
                        const float t13 = t4 * t12_2b;
                        const float t14 = b1[v1];
                        const float t15 = t13 * t14;
                        const float t16 = b2[v1];
                        const float t17 = t15 + t16;
                        made4[l] = t17;
                    }
                    {
                        const int64_t v1 = block;
                        stream_lines(b3 + 768 * v0 + v1, made4, 64);
                    }
                }
                if (does1) {
                    const int64_t task = at1b;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1b;
                        const float t5 = t4 * t4;
                        a2b[l] += t5;
                    }
                }
                if (does0) {
                    const int64_t task = at0b;
                    const int64_t v0 = task;
                    INDEPENDENT FEW
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        a0b[l] += t0;
                    }
                }
            }
        }
        r0_2 = r0_1;
        if (does1) {
            const float a2_1_0 = sum_of_16_f32(a2);
            const float r2 = a2_1_0;
            r2_2 = r2;
        }
        if (does0) {
            const float a0_1_0 = sum_of_16_f32(a0);
            const float r0 = a0_1_0;
            r0_1 = r0;
        }
        r0_2b = r0_1b;
        if (does1) {
            const float a2_1_0b = sum_of_16_f32(a2b);
            const float r2b = a2_1_0b;
            r2_2b = r2b;
        }
        if (does0) {
            const float a0_1_0b = sum_of_16_f32(a0b);
            const float r0b = a0_1_0b;
            r0_1b = r0b;
        }
    }
    stream_settle();
    return 1;
}

