/* %5 = sum f32[8, 96, 28, 28], %35 = mul f32[8, 96, 28, 28] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    const float *const b4 = buffers[4];
    const float *const b5 = buffers[5];
    float *const b12 = buffers[6];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 13 % 1 * 96;
        const int64_t n_rows = 96;
        const int64_t first_column = task % 13 * 64;
        const int64_t n_columns = 784 - first_column < 64 ? 784 - first_column : 64;
        const int64_t v0 = task / 13 % 8;
        float sums[1536] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 32; first_inner += 128) {
            const int64_t n_inner = 32;
            const float *left_rows;
            {
                const int64_t v1 = first_row, v2 = first_inner;
                left_rows = b1 + 32 * v1 + v2;
            }
            const float *right_columns;
            {
                const int64_t v3 = first_column, v2 = first_inner;
                right_columns = b0 + 25088 * v0 + 784 * v2 + v3;
            }
            const int64_t batch_behind = v0 + 1;
            const float *columns_behind;
            {
                const int64_t v0 = batch_behind;
                const int64_t v3 = 0;
                const int64_t v2 = 0;
                columns_behind = b0 + 25088 * v0 + 784 * v2 + v3;
            }
            next_panel next = {first_inner + 128 < 32 ? (const char *)(right_columns + 100352)
                                     : first_column + 64 < 784 ? (const char *)(right_columns + 64 - 784 * first_inner) : (const char *)columns_behind,
                                     3136, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            const int64_t at_once = 24;
            for (int64_t i = 0; i < n_rows; i += at_once) {
                const int64_t end = n_rows - i < at_once ? n_rows : i + at_once;
                multiply_add(left_rows + 32 * i, 32, 1, i == 0 ? right_columns : 0, 784, right, end - i, n_inner, n_columns,
                             sums, first_inner == 0, sums, 64, next.at != 0 ? &next : 0);
                for (int64_t j = i; j < end; j++) {
                    const int64_t v1 = first_row + j;
                    const float *const r0 = sums + 64 * (j - i);
                    const float t4 = b2[v1];
                    const float t7 = b3[v1];
                    const float t9 = t7 + 9.999999747378752e-06f;
                    const float t10 = __builtin_sqrtf(t9);
                    const float t11 = 1.0f / t10;
                    const float t12 = b4[v1];
                    const float t13 = t11 * t12;
                    const float t15 = b5[v1];
                    INDEPENDENT
                    for (int64_t l = 0; l < n_columns; l++) {
                        const int64_t v3 = first_column + l;
                        const float t5 = r0[l] - t4;
                        const float t14 = t5 * t13;
                        const float t16 = t14 + t15;
                        const float t18 = t16 + 3.0f;
                        const float t20 = larger_by_bits_f32(t18, 0.0f);
                        const float t22 = smaller_by_bits_f32(t20, 6.0f);
                        const float t24 = t22 * 0.1666666716337204f;
                        const float t25 = t16 * t24;
                        b12[75264 * v0 + 784 * v1 + v3] = t25;
                    }
                }
            }
        }
    }
    return 1;
}

/* %93 = mul f32[8, 96, 28, 28] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b6 = buffers[0];
    const float *const b7 = buffers[1];
    const float *const b8 = buffers[2];
    const float *const b9 = buffers[3];
    const float *const b10 = buffers[4];
    const float *const b12 = buffers[5];
    float *const b13 = buffers[6];
    if (first < 0) {
        __builtin_unreachable();
    }
    float frame[900] __attribute__((aligned(64)));
    for (int64_t i = 0; i < 900; i++) {
        frame[i] = 0.0f;
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 96;
        const int64_t v1 = task % 96;
        for (int64_t v4 = 0; v4 < 28; v4++) {
            const int64_t at = 30 * (v4 + 1);
            for (int64_t block = 0; block < 28; block += 16) {
                const int64_t block_first = block + 16 <= 28 ? block : 12;
                INDEPENDENT FEW
                for (int64_t l = 0; l < 16; l++) {
                    const int64_t v5 = block_first + l;
                    const float t81 = b12[75264 * v0 + 784 * v1 + 28 * v4 + v5];
                    frame[at + 1 + block_first + l] = t81;
                }
            }
        }
        const float t4 = b6[9 * v1];
        const float t10 = b6[9 * v1 + 1];
        const float t17 = b6[9 * v1 + 2];
        const float t24 = b6[9 * v1 + 3];
        const float t28 = b6[9 * v1 + 4];
        const float t35 = b6[9 * v1 + 5];
        const float t42 = b6[9 * v1 + 6];
        const float t49 = b6[9 * v1 + 7];
        const float t56 = b6[9 * v1 + 8];
        const float t59 = b7[v1];
        const float t62 = b8[v1];
        const float t64 = t62 + 9.999999747378752e-06f;
        const float t65 = __builtin_sqrtf(t64);
        const float t66 = 1.0f / t65;
        const float t67 = b9[v1];
        const float t68 = t66 * t67;
        const float t70 = b10[v1];
        for (int64_t v2 = 0; v2 < 28; v2++) {
            INDEPENDENT SHORT
            for (int64_t l = 0; l < 16; l++) {
                const int64_t v3 = 0 + l;
                const float t3 = frame[30 * v2 + v3];
                const float t5 = t3 * t4;
                const float t9 = frame[30 * v2 + v3 + 1];
                const float t11 = t9 * t10;
                const float t12 = t5 + t11;
                const float t16 = frame[30 * v2 + v3 + 2];
                const float t18 = t16 * t17;
                const float t19 = t12 + t18;
                const float t23 = frame[30 * v2 + v3 + 30];
                const float t25 = t23 * t24;
                const float t26 = t19 + t25;
                const float t27 = b12[75264 * v0 + 784 * v1 + 28 * v2 + v3];
                const float t29 = t27 * t28;
                const float t30 = t26 + t29;
                const float t34 = frame[30 * v2 + v3 + 32];
                const float t36 = t34 * t35;
                const float t37 = t30 + t36;
                const float t41 = frame[30 * v2 + v3 + 60];
                const float t43 = t41 * t42;
                const float t44 = t37 + t43;
                const float t48 = frame[30 * v2 + v3 + 61];
                const float t50 = t48 * t49;
                const float t51 = t44 + t50;
                const float t55 = frame[30 * v2 + v3 + 62];
                const float t57 = t55 * t56;
                const float t58 = t51 + t57;
                const float t60 = t58 - t59;
                const float t69 = t60 * t68;
                const float t71 = t69 + t70;
                const float t73 = t71 + 3.0f;
                const float t75 = larger_by_bits_f32(t73, 0.0f);
                const float t77 = smaller_by_bits_f32(t75, 6.0f);
                const float t79 = t77 * 0.1666666716337204f;
                const float t80 = t71 * t79;
                b13[75264 * v0 + 784 * v1 + 28 * v2 + v3] = t80;
            }
            INDEPENDENT SHORT
            for (int64_t l = 0; l < 16; l++) {
                const int64_t v3 = 12 + l;
                const float t3 = frame[30 * v2 + v3];
                const float t5 = t3 * t4;
                const float t9 = frame[30 * v2 + v3 + 1];
                const float t11 = t9 * t10;
                const float t12 = t5 + t11;
                const float t16 = frame[30 * v2 + v3 + 2];
                const float t18 = t16 * t17;
                const float t19 = t12 + t18;
                const float t23 = frame[30 * v2 + v3 + 30];
                const float t25 = t23 * t24;
                const float t26 = t19 + t25;
                const float t27 = b12[75264 * v0 + 784 * v1 + 28 * v2 + v3];
                const float t29 = t27 * t28;
                const float t30 = t26 + t29;
                const float t34 = frame[30 * v2 + v3 + 32];
                const float t36 = t34 * t35;
                const float t37 = t30 + t36;
                const float t41 = frame[30 * v2 + v3 + 60];
                const float t43 = t41 * t42;
                const float t44 = t37 + t43;
                const float t48 = frame[30 * v2 + v3 + 61];
                const float t50 = t48 * t49;
                const float t51 = t44 + t50;
                const float t55 = frame[30 * v2 + v3 + 62];
                const float t57 = t55 * t56;
                const float t58 = t51 + t57;
                const float t60 = t58 - t59;
                const float t69 = t60 * t68;
                const float t71 = t69 + t70;
                const float t73 = t71 + 3.0f;
                const float t75 = larger_by_bits_f32(t73, 0.0f);
                const float t77 = smaller_by_bits_f32(t75, 6.0f);
                const float t79 = t77 * 0.1666666716337204f;
                const float t80 = t71 * t79;
                b13[75264 * v0 + 784 * v1 + 28 * v2 + v3] = t80;
            }
        }
    }
    return 1;
}

/* %98 = sum f32[8, 32, 28, 28], %99 = add f32[8, 32, 28, 28] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b11 = buffers[1];
    const float *const b13 = buffers[2];
    float *const b14 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 13 % 1 * 32;
        const int64_t n_rows = 32;
        const int64_t first_column = task % 13 * 64;
        const int64_t n_columns = 784 - first_column < 64 ? 784 - first_column : 64;
        const int64_t v0 = task / 13 % 8;
        float sums[1536] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 96; first_inner += 128) {
            const int64_t n_inner = 96;
            const float *left_rows;
            {
                const int64_t v1 = first_row, v2 = first_inner;
                left_rows = b11 + 96 * v1 + v2;
            }
            const float *right_columns;
            {
                const int64_t v3 = first_column, v2 = first_inner;
                right_columns = b13 + 75264 * v0 + 784 * v2 + v3;
            }
            const int64_t batch_behind = v0 + 1;
            const float *columns_behind;
            {
                const int64_t v0 = batch_behind;
                const int64_t v3 = 0;
                const int64_t v2 = 0;
                columns_behind = b13 + 75264 * v0 + 784 * v2 + v3;
            }
            next_panel next = {first_inner + 128 < 96 ? (const char *)(right_columns + 100352)
                                     : first_column + 64 < 784 ? (const char *)(right_columns + 64 - 784 * first_inner) : (const char *)columns_behind,
                                     3136, 1, 4 * ((n_inner + 3) / 4),
                                     0, 0, 0};
            const int64_t at_once = 24;
            for (int64_t i = 0; i < n_rows; i += at_once) {
                const int64_t end = n_rows - i < at_once ? n_rows : i + at_once;
                multiply_add(left_rows + 96 * i, 96, 1, i == 0 ? right_columns : 0, 784, right, end - i, n_inner, n_columns,
                             sums, first_inner == 0, sums, 64, next.at != 0 ? &next : 0);
                for (int64_t j = i; j < end; j++) {
                    const int64_t v1 = first_row + j;
                    const float *const r0 = sums + 64 * (j - i);
                    INDEPENDENT
                    for (int64_t l = 0; l < n_columns; l++) {
                        const int64_t v3 = first_column + l;
                        const float t4 = b0[25088 * v0 + 784 * v1 + v3];
                        const float t5 = t4 + r0[l];
                        b14[25088 * v0 + 784 * v1 + v3] = t5;
                    }
                }
            }
        }
    }
    return 1;
}

