/* %20 = sum f32[16, 2048], %21 = cast bf16[16, 2048] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const int8_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    const uint16_t *const b2 = buffers[2];
    uint16_t *const b3 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 32 % 1 * 16;
        const int64_t n_rows = 16;
        const int64_t first_column = task % 32 * 64;
        const int64_t n_columns = 64;
        float sums[1024] __attribute__((aligned(64)));
        uint32_t right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 2048; first_inner += 256) {
            const int64_t n_inner = 256;
            const uint16_t *left_rows;
            {
                const int64_t v0 = first_row, v2 = first_inner;
                left_rows = b2 + 2048 * v0 + v2;
            }
            for (int64_t c = 0; c < n_columns; c += 16) {
                uint16_t run[4096] __attribute__((aligned(64)));
                for (int64_t i = 0; i < 16; i++) { /* the last column stands in for those that are not there */
                    const int64_t v1 = first_column + (c + i < n_columns ? c + i : n_columns - 1);
                    const uint16_t t4 = b1[v1];
                    const float t5 = f32_of_bf16(t4);
                    INDEPENDENT
                    for (int64_t l = 0; l < n_inner; l++) {
                        const int64_t v2 = first_inner + l;
                        const int8_t t2 = b0[2048 * v1 + v2];
                        const float t3 = (float)(t2);
                        const float t6 = t3 * t5;
                        const uint16_t t7 = bf16_of_f32(t6);
                        run[256 * i + l] = t7;
                    }
                }
                turn_round(right + c, 64, run, 128, (n_inner + 1) / 2, 16, 4);
            }
            multiply_tiles(left_rows, 2048, right, n_rows, n_inner, n_columns, sums, first_inner == 0);
        }
        for (int64_t j = 0; j < n_rows; j++) {
            const int64_t v0 = first_row + j;
            const float *const r0 = sums + 64 * j;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v1 = first_column + l;
                const uint16_t t11 = bf16_of_f32(r0[l]);
                b3[2048 * v0 + v1] = t11;
            }
        }
    }
    return 1;
}

