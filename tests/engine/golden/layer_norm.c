/* %1 = sum f32[32], %4 = mul f32[32, 1], %8 = sum f32[32], %15 = div f32[32, 1], %23 = add f32[32, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    float *const b5 = buffers[5];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        held_f32 held0;
        start_held_f32(&held0, 0);
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                float taken0[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const float t0 = b0[768 * v0 + v1];
                    taken0[l] = t0;
                }
                add_held_f32(&held0, taken0, 64);
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        const float t3 = r0 * 0.0013020833721384406f;
        b4[v0] = t3;
        held_f32 held2;
        start_held_f32(&held2, 0);
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                float taken2[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const float t0 = b0[768 * v0 + v1];
                    const float t4 = t0 - t3;
                    const float t5 = t4 * t4;
                    taken2[l] = t5;
                }
                add_held_f32(&held2, taken2, 64);
            }
        }
        const float r2 = sum_of_held_f32(&held2);
        const float t8 = r2 * 0.0013020833721384406f;
        const float t10 = t8 + 9.999999747378752e-06f;
        const float t11 = __builtin_sqrtf(t10);
        const float t12 = 1.0f / t11;
        b5[v0] = t12;
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t0 = b0[768 * v0 + v1];
                const float t4 = t0 - t3;
                const float t13 = t4 * t12;
                const float t14 = b1[v1];
                const float t15 = t13 * t14;
                const float t16 = b2[v1];
                const float t17 = t15 + t16;
                b3[768 * v0 + v1] = t17;
            }
        }
    }
    return 1;
}

