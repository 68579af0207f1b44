/* %4 = mul f32[1024, 32], %4 = mul f32[1024, 32] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b12 = buffers[2];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 32 * (task % 1);
        const float t0 = b0[v0];
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v1 = first_lane + l;
            const float t1 = b1[v1];
            const float t2 = t0 * t1;
            b12[64 * v0 + v1] = t2;
            b12[64 * v0 + v1 + 32] = t2;
        }
    }
    return 1;
}

/* %6 = cos f32[1024, 64], %7 = sin f32[1024, 64] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    float *const b8 = buffers[0];
    float *const b9 = buffers[1];
    const float *const b12 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        {
            for (int64_t block = 0; block < 1024; block += 64) {
                {
                    const int64_t v0 = first_lane + block;
                    cos_block_f32(b8 + v0, b12 + v0, 64);
                }
                {
                    const int64_t v0 = first_lane + block;
                    sin_block_f32(b9 + v0, b12 + v0, 64);
                }
            }
        }
    }
    return 1;
}

/* %27 = view f32[1, 16, 1024, 32], %30 = view f32[1, 16, 1024, 32] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    const float *const b6 = buffers[2];
    const float *const b7 = buffers[3];
    const float *const b8 = buffers[4];
    const float *const b9 = buffers[5];
    float *const b10 = buffers[6];
    float *const b11 = buffers[7];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 1024;
        const int64_t v1 = task % 1024;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v2 = first_lane + l;
            const float t0 = b4[65536 * v0 + 64 * v1 + v2];
            const float t1 = b8[64 * v1 + v2];
            const float t2 = t0 * t1;
            const float t3 = b3[65536 * v0 + 64 * v1 + v2];
            const float t4 = -t3;
            const float t5 = b9[64 * v1 + v2];
            const float t6 = t4 * t5;
            const float t7 = t2 + t6;
            const float t8 = b7[65536 * v0 + 64 * v1 + v2];
            const float t9 = t8 * t1;
            const float t10 = b6[65536 * v0 + 64 * v1 + v2];
            const float t11 = -t10;
            const float t12 = t11 * t5;
            const float t13 = t9 + t12;
            b10[65536 * v0 + 64 * v1 + v2] = t7;
            b11[65536 * v0 + 64 * v1 + v2] = t13;
        }
    }
    stream_settle();
    return 1;
}

/* %28 = view f32[1, 16, 1024, 32], %31 = view f32[1, 16, 1024, 32] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    const float *const b4 = buffers[1];
    const float *const b5 = buffers[2];
    const float *const b7 = buffers[3];
    const float *const b8 = buffers[4];
    const float *const b9 = buffers[5];
    float *const b10 = buffers[6];
    float *const b11 = buffers[7];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 1024;
        const int64_t v1 = task % 1024;
        const int64_t first_lane = 32 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 32; l++) {
            const int64_t v2 = first_lane + l;
            const float t0 = b4[65536 * v0 + 64 * v1 + v2 + 32];
            const float t1 = b8[64 * v1 + v2 + 32];
            const float t2 = t0 * t1;
            const float t3 = b2[65536 * v0 + 64 * v1 + v2];
            const float t4 = b9[64 * v1 + v2 + 32];
            const float t5 = t3 * t4;
            const float t6 = t2 + t5;
            const float t7 = b7[65536 * v0 + 64 * v1 + v2 + 32];
            const float t8 = t7 * t1;
            const float t9 = b5[65536 * v0 + 64 * v1 + v2];
            const float t10 = t9 * t4;
            const float t11 = t8 + t10;
            b10[65536 * v0 + 64 * v1 + v2 + 32] = t6;
            b11[65536 * v0 + 64 * v1 + v2 + 32] = t11;
        }
    }
    stream_settle();
    return 1;
}

