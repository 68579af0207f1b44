/* %2 = sum f32[4, 32], %5 = mul f32[4, 32, 1, 1, 1], %9 = sum f32[4, 32], %16 = div f32[4, 32, 1, 1, 1], %32 = mul f32[4, 32, 4, 64, 64] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    float *const b5 = buffers[5];
    float saved0[16384];
    float r0_0 = 0;
    float t21_0 = 0;
    float r0_1 = 0;
    float r2_1 = 0;
    float t3_1 = 0;
    float t8_1 = 0;
    float t10_1 = 0;
    float t11_1 = 0;
    float t12_1 = 0;
    for (int64_t step = first; step < last + 1; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        if (does0) {
            const int64_t task = step;
            const int64_t v0 = task / 32;
            const int64_t v1 = task % 32;
            {
                const int64_t v2 = 0;
                float near0[16];
                INDEPENDENT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v3 = 0 + l;
                    const float t0 = b0[524288 * v0 + 16384 * v1 + 4096 * v2 + v3];
                    near0[l] = t0;
                }
                r0_0 = near_mean_of_16_f32(near0) * 1.638400000e+04f;
                r0_0 = fabsf(r0_0) <= 3.4028234e38f ? r0_0 : 0;
            }
            t21_0 = r0_0 * 6.103515625e-05f;
        }
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        float a2[64];
        for (int64_t l = 0; l < 64; l++) {
            a2[l] = 0;
        }
        if (does1) {
            const int64_t task = step - 1;
            const int64_t v0 = task / 32;
            const int64_t v1 = task % 32;
            t3_1 = r0_1 * 6.103515625e-05f;
            t8_1 = r2_1 * 6.103515625e-05f;
            t10_1 = t8_1 + 9.999999747378752e-06f;
            t11_1 = __builtin_sqrtf(t10_1);
            t12_1 = 1.0f / t11_1;
            b4[32 * v0 + v1] = t3_1;
            b5[32 * v0 + v1] = t12_1;
        }
        for (int64_t group = 0; group < 4; group += 4) {
            const int64_t group_end = group + 4;
            for (int64_t block = 0; block < 4096; block += 64) {
                for (int64_t v2 = group; v2 < group_end; v2++) {
                    const int64_t place = 4096 * group + 3 * block + 64 * (v2 - group);
                    if (does1) {
                        const int64_t task = step - 1;
                        const int64_t v0 = task / 32;
                        const int64_t v1 = task % 32;
                        fetch_soon(saved0 + place + block + 256, 256);
                        const float t14 = b1[4 * v1 + v2];
                        const float t16 = b2[4 * v1 + v2];
                        float wide17[64];
                        float wide18[64];
                        float made4[64];
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v3 = block + l;
                            const float t0 = saved0[v3 + place];
                            const float t4 = t0 - t3_1;
                            const float t13 = t4 * t12_1;
                            const float t15 = t13 * t14;
                            const float t17 = t15 + t16;
                            wide17[l] = t17;
                        }
                        sigmoid_block_f32(wide18, wide17, 64);
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const float t17 = wide17[l];
                            const float t18 = wide18[l];
                            const float t19 = t17 * t18;
                            made4[l] = t19;
                        }
                        {
                            const int64_t v3 = block;
                            stream_lines(b3 + 524288 * v0 + 16384 * v1 + 4096 * v2 + v3, made4, 256);
                        }
                    }
                    if (does0) {
                        const int64_t task = step;
                        const int64_t v0 = task / 32;
                        const int64_t v1 = task % 32;
                        {
                            const int64_t v3 = block;
                            fetch_soon(b0 + 524288 * v0 + 16384 * v1 + 4096 * v2 + v3 + (v3 < 3840 ? 256 : 12544), 256);
                        }
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v3 = block + l;
                            const float t0 = b0[524288 * v0 + 16384 * v1 + 4096 * v2 + v3];
                            saved0[v3 + place] = t0;
                            const float t22 = t0 - t21_0;
                            const float t23 = t22 * t22;
                            a0[l] += t22;
                            a2[l] += t23;
                        }
                    }
                }
            }
        }
        if (does0) {
            const int64_t task = step;
            const int64_t v0 = task / 32;
            const int64_t v1 = task % 32;
            const float a0_1_0 = sum_of_64_f32(a0);
            const float r0 = a0_1_0;
            const float a2_1_0 = sum_of_64_f32(a2);
            const float r2 = a2_1_0;
            float exact0 = r0, exact2 = r2;
            if (!(exact0 * exact0 * 6.103515625e-05f <= 0.75f * exact2) && fabsf(exact0 + r0_0) <= 3.4028234e38f) {
                r0_0 += exact0;
                t21_0 = r0_0 * 6.103515625e-05f;
                for (int64_t l = 0; l < 64; l++) {
                    a0[l] = 0;
                }
                for (int64_t l = 0; l < 64; l++) {
                    a2[l] = 0;
                }
                for (int64_t group = 0; group < 4; group += 4) {
                    const int64_t group_end = group + 4;
                    for (int64_t block = 0; block < 4096; block += 64) {
                        for (int64_t v2 = group; v2 < group_end; v2++) {
                            const int64_t place = 4096 * group + 3 * block + 64 * (v2 - group);
                            {
                                const int64_t v3 = block;
                                fetch_soon(b0 + 524288 * v0 + 16384 * v1 + 4096 * v2 + v3 + (v3 < 3840 ? 256 : 12544), 256);
                            }
                            INDEPENDENT
                            for (int64_t l = 0; l < 64; l++) {
                                const int64_t v3 = block + l;
                                const float t0 = b0[524288 * v0 + 16384 * v1 + 4096 * v2 + v3];
                                saved0[v3 + place] = t0;
                                const float t22 = t0 - t21_0;
                                const float t23 = t22 * t22;
                                a0[l] += t22;
                                a2[l] += t23;
                            }
                        }
                    }
                }
                const float a0_1_0 = sum_of_64_f32(a0);
                const float r0 = a0_1_0;
                const float a2_1_0 = sum_of_64_f32(a2);
                const float r2 = a2_1_0;
                exact0 = r0;
                exact2 = r2;
            }
            exact2 -= exact0 * exact0 * 6.103515625e-05f;
            exact2 = exact2 < 0 ? 0 : exact2;
            exact0 += r0_0;
            r0_1 = exact0;
            r2_1 = exact2;
        }
    }
    stream_settle();
    return 1;
}

