/* %4 = sum f32[128], %22 = cast bf16[128, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const double *const b1 = buffers[1];
    const uint16_t *const b2 = buffers[2];
    uint16_t *const b6 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const double t7 = b1[0];
        const float t8 = (float)(t7);
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1024 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                const float t2 = t1 * t1;
                a0[l] += t2;
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
        const float t6 = r0 * 0.0009765625f;
        const float t9 = t6 + t8;
        const float t10 = __builtin_sqrtf(t9);
        const float t11 = 1.0f / t10;
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1024 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                const float t12 = t1 * t11;
                const uint16_t t13 = b2[v1];
                const float t14 = f32_of_bf16(t13);
                const float t15 = t12 * t14;
                const uint16_t t16 = bf16_of_f32(t15);
                b6[1024 * v0 + v1] = t16;
            }
        }
    }
    return 1;
}

