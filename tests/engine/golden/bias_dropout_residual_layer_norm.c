/* %10 = select f32[8, 128, 768], %16 = add f32[8, 128, 768], %17 = sum f32[8, 128], %20 = mul f32[8, 128, 1], %24 = sum f32[8, 128], %30 = div f32[8, 128, 1], %38 = add f32[8, 128, 768] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const int64_t *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    const float *const b4 = buffers[4];
    const float *const b5 = buffers[5];
    float *const b6 = buffers[6];
    float *const b7 = buffers[7];
    float *const b8 = buffers[8];
    float *const b9 = buffers[9];
    float *const b10 = buffers[10];
    float saved14[768];
    float saved18[768];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t t0 = b2[0];
        held_f32 held2;
        start_held_f32(&held2, 0);
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                uint32_t random1[64];
                {
                    const int64_t v1 = lane;
                    random_block(random1, t0, 0, 768 * v0 + v1);
                }
                {
                    float taken2[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v1 = lane + l;
                        const int64_t t1 = random1[l];
                        const uint8_t t3 = t1 < 3865470567;
                        const float t6 = t3 ? 1.0f : 0.0f;
                        const float t7 = b3[768 * v0 + v1];
                        const float t8 = b0[768 * v0 + v1];
                        const float t9 = b1[v1];
                        const float t10 = t8 + t9;
                        const float t11 = t10 * t6;
                        const float t13 = t11 * 1.1111111640930176f;
                        const float t14 = t7 + t13;
                        saved14[v1] = t14;
                        b8[768 * v0 + v1] = t6;
                        b7[768 * v0 + v1] = t14;
                        taken2[l] = t14;
                    }
                    add_held_f32(&held2, taken2, 64);
                }
            }
        }
        const float r2 = sum_of_held_f32(&held2);
        const float t17 = r2 * 0.0013020833721384406f;
        b9[v0] = t17;
        held_f32 held4;
        start_held_f32(&held4, 0);
        for (int64_t lane = 0; lane < 768; lane += 64) {
            {
                float taken4[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const float t14 = saved14[v1];
                    const float t18 = t14 - t17;
                    saved18[v1] = t18;
                    const float t19 = t18 * t18;
                    taken4[l] = t19;
                }
                add_held_f32(&held4, taken4, 64);
            }
        }
        const float r4 = sum_of_held_f32(&held4);
        const float t21 = r4 * 0.0013020833721384406f;
        const float t23 = t21 + 9.999999747378752e-06f;
        const float t24 = __builtin_sqrtf(t23);
        const float t25 = 1.0f / t24;
        b10[v0] = t25;
        for (int64_t lane = 0; lane < 768; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const float t18 = saved18[v1];
                const float t26 = t18 * t25;
                const float t27 = b4[v1];
                const float t28 = t26 * t27;
                const float t29 = b5[v1];
                const float t30 = t28 + t29;
                b6[768 * v0 + v1] = t30;
            }
        }
    }
    return 1;
}

