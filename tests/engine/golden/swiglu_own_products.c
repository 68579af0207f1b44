/* %8 = sum f32[64, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 64;
        const int64_t n_rows = 64;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        float *results;
        {
            const int64_t v0 = first_row, v2 = first_column;
            results = b6 + 1024 * v0 + v2;
        }
        for (int64_t first_inner = 0; first_inner < 512; first_inner += 128) {
            const int64_t n_inner = 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b0 + 512 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b1 + 1024 * v1 + v2;
            }
            next_panel next = {first_inner + 128 < 512 ? (const char *)(right_columns + 131072)
                                     : first_column + 64 < 1024 ? (const char *)(right_columns + 64 - 1024 * first_inner) : 0,
                                     4096, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            multiply_add(left_rows, 512, 1, right_columns, 1024, right, n_rows, n_inner, n_columns,
                         sums, first_inner == 0, first_inner + 128 >= 512 ? results : sums, first_inner + 128 >= 512 ? 1024 : 64, next.at != 0 ? &next : 0);
        }
    }
    return 1;
}

/* %14 = sum f32[64, 1024], %17 = mul f32[64, 1024] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b2 = buffers[1];
    float *const b4 = buffers[2];
    const float *const b6 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 64;
        const int64_t n_rows = 64;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 512; first_inner += 128) {
            const int64_t n_inner = 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b0 + 512 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b2 + 1024 * v1 + v2;
            }
            next_panel next = {first_inner + 128 < 512 ? (const char *)(right_columns + 131072)
                                     : first_column + 64 < 1024 ? (const char *)(right_columns + 64 - 1024 * first_inner) : 0,
                                     4096, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            const int64_t at_once = first_inner + 128 >= 512 ? 24 : n_rows;
            for (int64_t i = 0; i < n_rows; i += at_once) {
                const int64_t end = n_rows - i < at_once ? n_rows : i + at_once;
                multiply_add(left_rows + 512 * i, 512, 1, i == 0 ? right_columns : 0, 1024, right, end - i, n_inner, n_columns,
                             sums + 64 * i, first_inner == 0, sums + 64 * i, 64, next.at != 0 ? &next : 0);
                if (__builtin_expect(first_inner + 128 >= 512, 1)) {
                    for (int64_t j = i; j < end; j++) {
                        const int64_t v0 = first_row + j;
                        const float *const r0 = (sums + 64 * i) + 64 * (j - i);
                        INDEPENDENT
                        for (int64_t l = 0; l < n_columns; l++) {
                            const int64_t v2 = first_column + l;
                            const float t4 = b6[1024 * v0 + v2];
                            const float t5 = sigmoid_f32(t4);
                            const float t6 = t4 * t5;
                            const float t7 = t6 * r0[l];
                            b4[1024 * v0 + v2] = t7;
                        }
                    }
                }
            }
        }
    }
    return 1;
}

/* %25 = sum f32[64, 512] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    float *const b5 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 8 % 1 * 64;
        const int64_t n_rows = 64;
        const int64_t first_column = task % 8 * 64;
        const int64_t n_columns = 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        float *results;
        {
            const int64_t v0 = first_row, v2 = first_column;
            results = b5 + 512 * v0 + v2;
        }
        for (int64_t first_inner = 0; first_inner < 1024; first_inner += 128) {
            const int64_t n_inner = 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b4 + 1024 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b3 + 512 * v1 + v2;
            }
            next_panel next = {first_inner + 128 < 1024 ? (const char *)(right_columns + 65536)
                                     : first_column + 64 < 512 ? (const char *)(right_columns + 64 - 512 * first_inner) : 0,
                                     2048, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            multiply_add(left_rows, 1024, 1, right_columns, 512, right, n_rows, n_inner, n_columns,
                         sums, first_inner == 0, first_inner + 128 >= 1024 ? results : sums, first_inner + 128 >= 1024 ? 512 : 64, next.at != 0 ? &next : 0);
        }
    }
    return 1;
}

