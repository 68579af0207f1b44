/* %3 = view f32[48, 128, 64] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b8 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b0[49152 * v0 + 64 * v1 + 384 * v2 + v3];
            b8[49152 * v0 + 8192 * v1 + 64 * v2 + v3] = t0;
        }
    }
    return 1;
}

/* %4 = view f32[48, 64, 128] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b1 = buffers[0];
    float *const b9 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 12;
        const int64_t v2 = task % 12;
        const int64_t first_lane = 128 * (task % 1);
        {
            const int64_t v3 = 0, v1 = first_lane;
            turn_round(b9 + 49152 * v0 + v1 + 4096 * v2 + 128 * v3, 128, b1 + 49152 * v0 + 384 * v1 + 32 * v2 + v3, 384, 32, 128, 4);
        }
    }
    return 1;
}

/* %5 = view f32[48, 128, 64] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    float *const b12 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b2[49152 * v0 + 64 * v1 + 384 * v2 + v3];
            b12[49152 * v0 + 8192 * v1 + 64 * v2 + v3] = t0;
        }
    }
    return 1;
}

/* %15 = max f32[8, 6, 128], %20 = sum f32[8, 6, 128], %24 = mul f32[8, 6, 128, 128] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    float *const b7 = buffers[2];
    float saved7[128];
    float saved7b[128];
    if (first < 0) {
        __builtin_unreachable();
    }
    int64_t next = first;
    for (; next + 2 <= last; next += 2) {
        const int64_t task = next;
        const int64_t v0 = task / 768;
        const int64_t v1 = task % 768;
        const int64_t taskb = next + 1;
        const int64_t v0b = taskb / 768;
        const int64_t v1b = taskb % 768;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b4[98304 * v0 + 128 * v1 + v2];
                const float t2 = t0 / 8.0f;
                const float t3 = b3[128 * v0 + v2];
                const float t4 = t2 + t3;
                a0[l] = t4 > a0[l] ? t4 : a0[l];
            }
        }
        const float a0_1_0 = largest_of_64_f32(a0);
        const float r0 = a0_1_0;
        float a0b[64];
        for (int64_t l = 0; l < 64; l++) {
            a0b[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2b = lane + l;
                const float t0b = b4[98304 * v0b + 128 * v1b + v2b];
                const float t2b = t0b / 8.0f;
                const float t3b = b3[128 * v0b + v2b];
                const float t4b = t2b + t3b;
                a0b[l] = t4b > a0b[l] ? t4b : a0b[l];
            }
        }
        const float a0_1_0b = largest_of_64_f32(a0b);
        const float r0b = a0_1_0b;
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (int64_t lane = 0; lane < 128; lane += 64) {
            {
                float wide7[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = lane + l;
                    const float t0 = b4[98304 * v0 + 128 * v1 + v2];
                    const float t2 = t0 / 8.0f;
                    const float t3 = b3[128 * v0 + v2];
                    const float t4 = t2 + t3;
                    const float t6 = t4 - r0;
                    wide7[l] = t6;
                }
                exp_below_block_f32(wide7, wide7, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = lane + l;
                        const float t7 = wide7[l];
                        saved7[v2] = t7;
                        taken1[l] = t7;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
        }
        const float r1 = sum_of_held_f32(&held1);
        held_f32 held1b;
        start_held_f32(&held1b, 0);
        for (int64_t lane = 0; lane < 128; lane += 64) {
            {
                float wide7[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2b = lane + l;
                    const float t0b = b4[98304 * v0b + 128 * v1b + v2b];
                    const float t2b = t0b / 8.0f;
                    const float t3b = b3[128 * v0b + v2b];
                    const float t4b = t2b + t3b;
                    const float t6b = t4b - r0b;
                    wide7[l] = t6b;
                }
                exp_below_block_f32(wide7, wide7, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2b = lane + l;
                        const float t7b = wide7[l];
                        saved7b[v2b] = t7b;
                        taken1[l] = t7b;
                    }
                    add_held_f32(&held1b, taken1, 64);
                }
            }
        }
        const float r1b = sum_of_held_f32(&held1b);
        const float t10 = 1.0f / r1;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t7 = saved7[v2];
                const float t11 = t7 * t10;
                b7[98304 * v0 + 128 * v1 + v2] = t11;
            }
        }
        const float t10b = 1.0f / r1b;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2b = lane + l;
                const float t7b = saved7b[v2b];
                const float t11b = t7b * t10b;
                b7[98304 * v0b + 128 * v1b + v2b] = t11b;
            }
        }
    }
    for (int64_t task = next; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task % 768;
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b4[98304 * v0 + 128 * v1 + v2];
                const float t2 = t0 / 8.0f;
                const float t3 = b3[128 * v0 + v2];
                const float t4 = t2 + t3;
                a0[l] = t4 > a0[l] ? t4 : a0[l];
            }
        }
        const float a0_1_0 = largest_of_64_f32(a0);
        const float r0 = a0_1_0;
        held_f32 held1;
        start_held_f32(&held1, 0);
        for (int64_t lane = 0; lane < 128; lane += 64) {
            {
                float wide7[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = lane + l;
                    const float t0 = b4[98304 * v0 + 128 * v1 + v2];
                    const float t2 = t0 / 8.0f;
                    const float t3 = b3[128 * v0 + v2];
                    const float t4 = t2 + t3;
                    const float t6 = t4 - r0;
                    wide7[l] = t6;
                }
                exp_below_block_f32(wide7, wide7, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = lane + l;
                        const float t7 = wide7[l];
                        saved7[v2] = t7;
                        taken1[l] = t7;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
        }
        const float r1 = sum_of_held_f32(&held1);
        const float t10 = 1.0f / r1;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t7 = saved7[v2];
                const float t11 = t7 * t10;
                b7[98304 * v0 + 128 * v1 + v2] = t11;
            }
        }
    }
    return 1;
}

/* %29 = view f32[8, 128, 384] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const float *const b5 = buffers[0];
    float *const b6 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b5[49152 * v0 + 8192 * v1 + 64 * v2 + v3];
            b6[49152 * v0 + 64 * v1 + 384 * v2 + v3] = t0;
        }
    }
    return 1;
}

