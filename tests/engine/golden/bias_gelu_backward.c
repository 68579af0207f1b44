/* %7 = mul f32[1024, 3072], %9 = sum f32[32, 3072] */
_Bool kernel_0(void *const *buffers, int64_t first_part, int64_t last_part) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    float *const b3 = buffers[3];
    float *const b5 = buffers[4];
    for (int64_t part = first_part; part < last_part; part++) {
        const int64_t first = 96 * part, last = first + 96;
        for (int64_t l = 0; l < 3072; l++) {
            b5[3072 * part + l] = 0;
        }
        if (first < 0) {
            __builtin_unreachable();
        }
        for (int64_t task = first; task < last; task++) {
            const int64_t v0 = task / 96;
            const int64_t v1 = task / 3 % 32;
            const int64_t first_lane = 1024 * (task % 3);
            {
                for (int64_t block = 0; block < 1024; block += 64) {
                    float wide4[64];
                    float made0[64];
                    {
                        const int64_t v2 = first_lane + block;
                        fetch_soon(b2 + 98304 * v0 + 3072 * v1 + v2 + 512, 256);
                        fetch_soon(b0 + 98304 * v0 + 3072 * v1 + v2 + 512, 256);
                    }
                    INDEPENDENT
                    for (int64_t i = 0; i < 64; i++) {
                        const int64_t l = block + i;
                        const int64_t v2 = first_lane + l;
                        const float t1 = b0[98304 * v0 + 3072 * v1 + v2];
                        const float t2 = b1[v2];
                        const float t3 = t1 + t2;
                        wide4[i] = t3;
                    }
                    normal_slope_block_f32(wide4, wide4, 64);
                    INDEPENDENT
                    for (int64_t i = 0; i < 64; i++) {
                        const int64_t l = block + i;
                        const int64_t v2 = first_lane + l;
                        const float t0 = b2[98304 * v0 + 3072 * v1 + v2];
                        const float t4 = wide4[i];
                        const float t5 = t0 * t4;
                        made0[i] = t5;
                        b5[3072 * v0 + v2] += t5;
                    }
                    {
                        const int64_t v2 = first_lane + block;
                        stream_lines(b3 + 98304 * v0 + 3072 * v1 + v2, made0, 256);
                    }
                }
            }
        }
    }
    stream_settle();
    return 1;
}

/* %10 = sum f32[3072] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    float *const b4 = buffers[0];
    const float *const b5 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1536 * (task);
        float a0_room[2304] __attribute__((aligned(4096))), *const a0 = a0_room + 768;
        for (int64_t l = 0; l < 1536; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 32; v0++) {
            INDEPENDENT
            for (int64_t l = 0; l < 1536; l++) {
                const int64_t v1 = first_lane + l;
                const float t0 = b5[3072 * v0 + v1];
                a0[l] += t0;
            }
        }
        float *const r0 = a0;
        for (int64_t l = 0; l < 1536; l++) {
            const int64_t v1 = first_lane + l;
            b4[v1] = r0[l];
        }
    }
    return 1;
}

