/* %10 = max f32[16, 12, 128], %15 = sum f32[16, 12, 128], %20 = mul f32[16, 12, 128, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const double *const b1 = buffers[1];
    const uint8_t *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float saved9[128];
    double t3_0 = 0;
    float t4_0 = 0;
    float r0_1 = 0;
    double t3_1 = 0;
    float t4_1 = 0;
    float r1_2 = 0;
    float t12_2 = 0;
    for (int64_t step = first; step < last + 2; step++) {
        const _Bool does0 = step < last;
        const _Bool does1 = step >= first + 1 && step < last + 1;
        const _Bool does2 = step >= first + 2 && step < last + 2;
        if (does0) {
            t3_0 = b1[0];
            t4_0 = (float)(t3_0);
        }
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        if (does1) {
            t3_1 = b1[0];
            t4_1 = (float)(t3_1);
        }
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        if (does2) {
            t12_2 = 1.0f / r1_2;
        }
        {
            for (int64_t block = 0; block <= 64; block += 64) {
                if (does2) {
                    const int64_t task = step - 2;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    float made2[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const float t9 = saved9[v2];
                        const float t13 = t9 * t12_2;
                        made2[l] = t13;
                    }
                    {
                        const int64_t v2 = block;
                        stream_lines(b3 + 196608 * v0 + 128 * v1 + v2, made2, 256);
                    }
                }
                if (does1) {
                    const int64_t task = step - 1;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b2[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t5 = t2 * t4_1;
                        const float t6 = choose_f32(t0, (-__builtin_inff()), t5);
                        const float t8 = t6 - r0_1;
                        const float t9 = exp_negative_f32(t8);
                        saved9[v2] = t9;
                        a1[l] += t9;
                    }
                }
                if (does0) {
                    const int64_t task = step;
                    const int64_t v0 = task / 1536;
                    const int64_t v1 = task % 1536;
                    {
                        const int64_t v2 = block;
                        fetch_soon(b0 + 196608 * v0 + 128 * v1 + v2 + 1024, 256);
                    }
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = block + l;
                        const uint8_t t0 = b2[128 * v0 + v2];
                        const float t2 = b0[196608 * v0 + 128 * v1 + v2];
                        const float t5 = t2 * t4_0;
                        const float t6 = choose_f32(t0, (-__builtin_inff()), t5);
                        a0[l] = ((t6 > a0[l]) | (t6 != t6)) ? t6 : a0[l];
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

