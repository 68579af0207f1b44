/* %1 = sum f32[64], %8 = sum f32[64], %15 = div f32[1, 64, 1, 1], %18 = mul f32[1, 64, 1, 1], %30 = maximum f32[2, 64, 28, 28] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b7 = buffers[3];
    float *const b8 = buffers[4];
    float *const b12 = buffers[5];
    float *const b14 = buffers[6];
    for (int64_t task = first; task < last; task++) {
        const int64_t v1 = task;
        const float t13 = b1[v1];
        const float t16 = b2[v1];
        held_f32 held0;
        start_held_f32(&held0, 0);
        for (int64_t v0 = 0; v0 < 2; v0++) {
            for (int64_t lane = 0; lane < 768; lane += 64) {
                {
                    float taken0[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = lane + l;
                        const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                        taken0[l] = t0;
                    }
                    add_held_f32(&held0, taken0, 64);
                }
            }
            {
                float taken0[64];
                for (int64_t l = 0; l < 64; l++) {
                    taken0[l] = 0;
                }
                INDEPENDENT SHORT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v2 = 768 + l;
                    const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                    taken0[l] = t0;
                }
                add_held_f32(&held0, taken0, 64);
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        b12[v1] = r0;
        const float t3 = r0 * 0.0006377550889737904f;
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (int64_t v0 = 0; v0 < 2; v0++) {
            for (int64_t lane = 0; lane < 768; lane += 64) {
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = lane + l;
                        const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                        const float t4 = t0 - t3;
                        const float t5 = t4 * t4;
                        taken1[l] = t5;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
            {
                float taken1[64];
                for (int64_t l = 0; l < 64; l++) {
                    taken1[l] = 0;
                }
                INDEPENDENT SHORT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v2 = 768 + l;
                    const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                    const float t4 = t0 - t3;
                    const float t5 = t4 * t4;
                    taken1[l] = t5;
                }
                add_held_f32(&held1, taken1, 64);
            }
        }
        const float r1 = sum_of_held_f32(&held1);
        const float t8 = r1 * 0.0006377550889737904f;
        const float t10 = t8 + 9.999999747378752e-06f;
        const float t11 = __builtin_sqrtf(t10);
        const float t12 = 1.0f / t11;
        const float t14 = t12 * t13;
        b7[v1] = t12;
        b8[v1] = t14;
        for (int64_t v0 = 0; v0 < 2; v0++) {
            for (int64_t lane = 0; lane < 768; lane += 64) {
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = lane + l;
                    const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                    const float t4 = t0 - t3;
                    const float t15 = t4 * t14;
                    const float t17 = t15 + t16;
                    const float t19 = (t17 < 0.0f ? 0.0f : t17);
                    b14[50176 * v0 + 784 * v1 + v2] = t19;
                }
            }
            INDEPENDENT SHORT
            for (int64_t l = 0; l < 16; l++) {
                const int64_t v2 = 768 + l;
                const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                const float t4 = t0 - t3;
                const float t15 = t4 * t14;
                const float t17 = t15 + t16;
                const float t19 = (t17 < 0.0f ? 0.0f : t17);
                b14[50176 * v0 + 784 * v1 + v2] = t19;
            }
        }
    }
    return 1;
}

/* %41 = sum f32[64], %43 = sum f32[64], %52 = mul f32[2, 64, 28, 28] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b5 = buffers[1];
    const float *const b7 = buffers[2];
    const float *const b8 = buffers[3];
    float *const b9 = buffers[4];
    float *const b10 = buffers[5];
    float *const b11 = buffers[6];
    const float *const b12 = buffers[7];
    const float *const b14 = buffers[8];
    for (int64_t task = first; task < last; task++) {
        const int64_t v1 = task;
        const float t7 = b12[v1];
        const float t9 = t7 * 0.0006377550889737904f;
        const float t11 = b7[v1];
        const float t20 = b8[v1];
        held_f32 held0;
        start_held_f32(&held0, 0);
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (int64_t v0 = 0; v0 < 2; v0++) {
            for (int64_t lane = 0; lane < 768; lane += 64) {
                {
                    float taken0[64];
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = lane + l;
                        const float t0 = b14[50176 * v0 + 784 * v1 + v2];
                        const uint8_t t2 = t0 <= 0.0f;
                        const float t3 = b5[50176 * v0 + 784 * v1 + v2];
                        const float t4 = t2 ? 0.0f : t3;
                        const float t6 = b0[50176 * v0 + 784 * v1 + v2];
                        const float t10 = t6 - t9;
                        const float t12 = t10 * t11;
                        const float t13 = t4 * t12;
                        taken0[l] = t4;
                        taken1[l] = t13;
                    }
                    add_held_f32(&held0, taken0, 64);
                    add_held_f32(&held1, taken1, 64);
                }
            }
            {
                float taken0[64];
                for (int64_t l = 0; l < 64; l++) {
                    taken0[l] = 0;
                }
                float taken1[64];
                for (int64_t l = 0; l < 64; l++) {
                    taken1[l] = 0;
                }
                INDEPENDENT SHORT
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v2 = 768 + l;
                    const float t0 = b14[50176 * v0 + 784 * v1 + v2];
                    const uint8_t t2 = t0 <= 0.0f;
                    const float t3 = b5[50176 * v0 + 784 * v1 + v2];
                    const float t4 = t2 ? 0.0f : t3;
                    const float t6 = b0[50176 * v0 + 784 * v1 + v2];
                    const float t10 = t6 - t9;
                    const float t12 = t10 * t11;
                    const float t13 = t4 * t12;
                    taken0[l] = t4;
                    taken1[l] = t13;
                }
                add_held_f32(&held0, taken0, 64);
                add_held_f32(&held1, taken1, 64);
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        const float r1 = sum_of_held_f32(&held1);
        b11[v1] = r0;
        b10[v1] = r1;
        const float t15 = r0 * 0.0006377550889737904f;
        const float t17 = r1 * 0.0006377550889737904f;
        for (int64_t v0 = 0; v0 < 2; v0++) {
            for (int64_t lane = 0; lane < 768; lane += 64) {
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = lane + l;
                    const float t0 = b14[50176 * v0 + 784 * v1 + v2];
                    const uint8_t t2 = t0 <= 0.0f;
                    const float t3 = b5[50176 * v0 + 784 * v1 + v2];
                    const float t4 = t2 ? 0.0f : t3;
                    const float t6 = b0[50176 * v0 + 784 * v1 + v2];
                    const float t10 = t6 - t9;
                    const float t12 = t10 * t11;
                    const float t16 = t4 - t15;
                    const float t18 = t12 * t17;
                    const float t19 = t16 - t18;
                    const float t21 = t19 * t20;
                    b9[50176 * v0 + 784 * v1 + v2] = t21;
                }
            }
            INDEPENDENT SHORT
            for (int64_t l = 0; l < 16; l++) {
                const int64_t v2 = 768 + l;
                const float t0 = b14[50176 * v0 + 784 * v1 + v2];
                const uint8_t t2 = t0 <= 0.0f;
                const float t3 = b5[50176 * v0 + 784 * v1 + v2];
                const float t4 = t2 ? 0.0f : t3;
                const float t6 = b0[50176 * v0 + 784 * v1 + v2];
                const float t10 = t6 - t9;
                const float t12 = t10 * t11;
                const float t16 = t4 - t15;
                const float t18 = t12 * t17;
                const float t19 = t16 - t18;
                const float t21 = t19 * t20;
                b9[50176 * v0 + 784 * v1 + v2] = t21;
            }
        }
    }
    return 1;
}

