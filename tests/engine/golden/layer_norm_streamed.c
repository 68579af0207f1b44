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
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        if (does1) {
            const int64_t task = step - 1;
            const int64_t v0 = task;
            t3_1 = r0_1 * 0.0013020833721384406f;
            b4[v0] = t3_1;
        }
        float a2[64];
        for (int64_t l = 0; l < 64; l++) {
            a2[l] = 0;
        }
        if (does2) {
            const int64_t task = step - 2;
            const int64_t v0 = task;
            t3_2 = r0_2 * 0.0013020833721384406f;
            t8_2 = r2_2 * 0.0013020833721384406f;
            t10_2 = t8_2 + 9.999999747378752e-06f;
            t11_2 = __builtin_sqrtf(t10_2);
            t12_2 = 1.0f / t11_2;
            b5[v0] = t12_2;
        }
        {
            for (int64_t block = 0; block <= 704; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task;
                    float made4[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
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
                        stream_lines(b3 + 768 * v0 + v1, made4, 256);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        const float t4 = t0 - t3_1;
                        const float t5 = t4 * t4;
                        a2[l] += t5;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = block + l;
                        const float t0 = b0[768 * v0 + v1];
                        a0[l] += t0;
                    }
                }
            }
        }
        r0_2 = r0_1;
        if (does1) {
            for (int64_t l = 0; l < 32; l++) {
                a2[l] = a2[l] + a2[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a2[l] = a2[l] + a2[l + 16];
            }
            const float a2_1_0 = sum_of_16_f32(a2);
            const float r2 = a2_1_0;
            r2_2 = r2;
        }
        if (does0) {
            for (int64_t l = 0; l < 32; l++) {
                a0[l] = a0[l] + a0[l + 32];
            }
            for (int64_t l = 0; l < 16; l++) {
                a0[l] = a0[l] + a0[l + 16];
            }
            const float a0_1_0 = sum_of_16_f32(a0);
            const float r0 = a0_1_0;
            r0_1 = r0;
        }
    }
    stream_settle();
    return 1;
}

