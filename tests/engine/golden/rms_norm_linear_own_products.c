/* %4 = sum f32[128], %20 = cast bf16[128, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    uint16_t *const b3 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        held_f32 held0;
        start_held_f32(&held0, 0);
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            {
                float wide1[64];
                {
                    const int64_t v1 = lane;
                    f32s_of_bf16_pairs(wide1, b0 + 1024 * v0 + v1);
                }
                {
                    float taken0[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const float t1 = wide1[l];
                        const float t2 = t1 * t1;
                        taken0[l] = t2;
                    }
                    add_held_f32(&held0, taken0, 64);
                }
            }
        }
        const float r0 = sum_of_held_f32(&held0);
        const float t5 = r0 * 0.0009765625f;
        const float t7 = t5 + 9.999999974752427e-07f;
        const float t8 = (1 / __builtin_sqrtf(t7));
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            {
                float made1[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v1 = lane + l;
                    const uint16_t t0 = b0[1024 * v0 + v1];
                    const float t1 = f32_of_bf16(t0);
                    const float t9 = t1 * t8;
                    const uint16_t t10 = b1[v1];
                    const float t11 = f32_of_bf16(t10);
                    const float t12 = t9 * t11;
                    made1[l] = t12;
                }
                {
                    const int64_t v1 = lane;
                    bf16s_of_f32s(b3 + 1024 * v0 + v1, made1);
                }
            }
        }
    }
    return 1;
}

/* %30 = sum f32[128, 1024], %31 = cast bf16[128, 1024] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b2 = buffers[0];
    const uint16_t *const b3 = buffers[1];
    uint16_t *const b4 = buffers[2];
    uint16_t *const kept = (uint16_t *)((char *)buffers[3] + 0);
    int64_t tiled = -1; /* the batch and block of rows that are in tiles */
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 128;
        const int64_t n_rows = 128;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 64;
        float sums[8192] __attribute__((aligned(64)));
        if (tiled != task / 16) {
            tiled = task / 16;
            for (int64_t first_inner = 0; first_inner < 1024; first_inner += 256) {
                const int64_t n_inner = 256;
                const uint16_t *left_rows;
                {
                    const int64_t v0 = first_row, v2 = first_inner;
                    left_rows = b3 + 1024 * v0 + v2;
                }
                tile_rows(kept + TILES_OF_STEP * first_inner, 1024, left_rows, 1024, n_rows, n_inner);
            }
        }
        const int64_t first_inner = 0;
        const uint16_t *right_columns;
        {
            const int64_t v1 = first_column, v2 = first_inner;
            right_columns = b2 + 1024 * v1 + v2;
        }
        multiply_kept_rows(right_columns, 1024, kept, n_rows, 1024, n_columns, sums);
        for (int64_t j = 0; j < n_rows; j++) {
            const int64_t v0 = first_row + j;
            const float *const r0 = sums + 64 * j;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v1 = first_column + l;
                const uint16_t t6 = bf16_of_f32(r0[l]);
                b4[1024 * v0 + v1] = t6;
            }
        }
    }
    return 1;
}

