/* %12 = sum f32[48, 128, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 2 % 1 * 128;
        const int64_t n_rows = 128;
        const int64_t first_column = task % 2 * 64;
        const int64_t n_columns = 64;
        const int64_t v1 = task / 2 % 6;
        const int64_t v0 = task / 12 % 8;
        float right[8192] __attribute__((aligned(64)));
        float *results;
        {
            const int64_t v2 = first_row, v3 = first_column;
            results = b6 + 98304 * v0 + 16384 * v1 + 128 * v2 + v3;
        }
        for (int64_t first_inner = 0; first_inner < 64; first_inner += 128) {
            const int64_t n_inner = 64;
            const float *left_rows;
            {
                const int64_t v2 = first_row, v4 = first_inner;
                left_rows = b0 + 49152 * v0 + 64 * v1 + 384 * v2 + v4;
            }
            const float *right_columns;
            {
                const int64_t v3 = first_column, v4 = first_inner;
                right_columns = b1 + 49152 * v0 + 64 * v1 + 384 * v3 + v4;
            }
            turn_round(right, 64, right_columns, 384, n_inner, n_columns, 4);
            const int64_t batch_behind = v1 + 1;
            const float *columns_behind;
            {
                const int64_t v1 = batch_behind;
                const int64_t v3 = 0;
                const int64_t v4 = 0;
                columns_behind = b1 + 49152 * v0 + 64 * v1 + 384 * v3 + v4;
            }
            next_panel next = {first_inner + 128 < 64 ? (const char *)(right_columns + 128)
                                     : first_column + 64 < 128 ? (const char *)(right_columns + 24576 - 1 * first_inner) : (const char *)columns_behind,
                                     1536, 2, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            multiply_add(left_rows, 384, 1, 0, 0, right, n_rows, n_inner, n_columns,
                         results, first_inner == 0, results, 128, next.at != 0 ? &next : 0);
        }
    }
    return 1;
}

/* %21 = max f32[8, 6, 128], %26 = sum f32[8, 6, 128], %30 = mul f32[8, 6, 128, 128] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    float *const b5 = buffers[1];
    const float *const b6 = buffers[2];
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
                const float t0 = b6[98304 * v0 + 128 * v1 + v2];
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
                const float t0b = b6[98304 * v0b + 128 * v1b + v2b];
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
                    const float t0 = b6[98304 * v0 + 128 * v1 + v2];
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
                    const float t0b = b6[98304 * v0b + 128 * v1b + v2b];
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
                b5[98304 * v0 + 128 * v1 + v2] = t11;
            }
        }
        const float t10b = 1.0f / r1b;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2b = lane + l;
                const float t7b = saved7b[v2b];
                const float t11b = t7b * t10b;
                b5[98304 * v0b + 128 * v1b + v2b] = t11b;
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
                const float t0 = b6[98304 * v0 + 128 * v1 + v2];
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
                    const float t0 = b6[98304 * v0 + 128 * v1 + v2];
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
                b5[98304 * v0 + 128 * v1 + v2] = t11;
            }
        }
    }
    return 1;
}

/* %38 = sum f32[48, 128, 64], %38 = sum f32[48, 128, 64] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    float *const b4 = buffers[1];
    const float *const b5 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 1 % 1 * 128;
        const int64_t n_rows = 128;
        const int64_t first_column = task % 1 * 64;
        const int64_t n_columns = 64;
        const int64_t v1 = task / 1 % 6;
        const int64_t v0 = task / 6 % 8;
        float right[8192] __attribute__((aligned(64)));
        float *results;
        {
            const int64_t v2 = first_row, v4 = first_column;
            results = b4 + 49152 * v0 + 64 * v1 + 384 * v2 + v4;
        }
        for (int64_t first_inner = 0; first_inner < 128; first_inner += 128) {
            const int64_t n_inner = 128;
            const float *left_rows;
            {
                const int64_t v2 = first_row, v3 = first_inner;
                left_rows = b5 + 98304 * v0 + 16384 * v1 + 128 * v2 + v3;
            }
            const float *right_columns;
            {
                const int64_t v4 = first_column, v3 = first_inner;
                right_columns = b2 + 49152 * v0 + 64 * v1 + 384 * v3 + v4;
            }
            const int64_t batch_behind = v1 + 1;
            const float *columns_behind;
            {
                const int64_t v1 = batch_behind;
                const int64_t v4 = 0;
                const int64_t v3 = 0;
                columns_behind = b2 + 49152 * v0 + 64 * v1 + 384 * v3 + v4;
            }
            next_panel next = {first_inner + 128 < 128 ? (const char *)(right_columns + 49152)
                                     : first_column + 64 < 64 ? (const char *)(right_columns + 64 - 384 * first_inner) : (const char *)columns_behind,
                                     1536, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            multiply_add(left_rows, 128, 1, right_columns, 384, right, n_rows, n_inner, n_columns,
                         results, first_inner == 0, results, 384, next.at != 0 ? &next : 0);
        }
    }
    return 1;
}

