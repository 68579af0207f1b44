/* %10 = select f32[8, 128, 768], %17 = add f32[8, 128, 768], %18 = sum f32[8, 128], %21 = mul f32[8, 128, 1], %25 = sum f32[8, 128], %31 = div f32[8, 128, 1], %39 = add f32[8, 128, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const int64_t *const b2 = buffers[2];
    const double *const b3 = buffers[3];
    const float *const b4 = buffers[4];
    const float *const b5 = buffers[5];
    const float *const b6 = buffers[6];
    float *const b7 = buffers[7];
    float *const b8 = buffers[8];
    float *const b9 = buffers[9];
    float *const b10 = buffers[10];
    float *const b11 = buffers[11];
    float saved15[768];
    float saved19[768];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t t0 = b2[0];
        const double t12 = b3[0];
        const float t13 = (float)(t12);
        float a2[64];
        for (int64_t l = 0; l < 64; l++) {
            a2[l] = 0;
        }
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                uint32_t random1[64];
                {
                    const int64_t v1 = lane;
                    random_block(random1, t0, 0, 768 * v0 + v1);
                }
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const int64_t t1 = random1[l];
                    const uint8_t t3 = t1 < 3865470567;
                    const float t6 = t3 ? 1.0f : 0.0f;
                    const float t7 = b4[768 * v0 + v1];
                    const float t8 = b0[768 * v0 + v1];
                    const float t9 = b1[v1];
                    const float t10 = t8 + t9;
                    const float t11 = t10 * t6;
                    const float t14 = t11 * t13;
                    const float t15 = t7 + t14;
                    saved15[v1] = t15;
                    b9[768 * v0 + v1] = t6;
                    b8[768 * v0 + v1] = t15;
                    a2[l] += t15;
                }
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a2[l] = a2[l] + a2[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a2[l] = a2[l] + a2[l + 16];
        }
        const float a2_1_0 = sum_of_16_f32(a2);
        const float r2 = a2_1_0;
        const float t18 = r2 * 0.0013020833721384406f;
        b10[v0] = t18;
        float a4[64];
        for (int64_t l = 0; l < 64; l++) {
            a4[l] = 0;
        }
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t15 = saved15[v1];
                const float t19 = t15 - t18;
                saved19[v1] = t19;
                const float t20 = t19 * t19;
                a4[l] += t20;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a4[l] = a4[l] + a4[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a4[l] = a4[l] + a4[l + 16];
        }
        const float a4_1_0 = sum_of_16_f32(a4);
        const float r4 = a4_1_0;
        const float t22 = r4 * 0.0013020833721384406f;
        const float t24 = t22 + 9.999999747378752e-06f;
        const float t25 = __builtin_sqrtf(t24);
        const float t26 = 1.0f / t25;
        b11[v0] = t26;
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t19 = saved19[v1];
                const float t27 = t19 * t26;
                const float t28 = b5[v1];
                const float t29 = t27 * t28;
                const float t30 = b6[v1];
                const float t31 = t29 + t30;
                b7[768 * v0 + v1] = t31;
            }
        }
    }
    return 1;
}

