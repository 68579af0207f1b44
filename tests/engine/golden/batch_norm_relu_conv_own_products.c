/* %1 = sum f32[64], %4 = mul f32[1, 64, 1, 1], %8 = sum f32[64], %15 = div f32[1, 64, 1, 1] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b5 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v1 = task;
        float r0_0;
        {
            const int64_t v0 = 0;
            float near0[16];
            INDEPENDENT
            for (int64_t l = 0; l < 16; l++) {
                const int64_t v2 = 0 + l;
                const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                near0[l] = t0;
            }
            r0_0 = near_mean_of_16_f32(near0) * 3.136000000e+03f;
            r0_0 = fabsf(r0_0) <= 3.4028234e38f ? r0_0 : 0;
        }
        float exact0, exact2;
        for (_Bool again = 0;; again = 1) {
            const float t14 = r0_0 * 0.0003188775444868952f;
            held_f32 held0;
            start_held_f32(&held0, 0);
            held_f32 held2;
            start_held_f32(&held2, 0);
            for (int64_t v0 = 0; v0 < 4; v0++) {
                for (int64_t lane = 0; lane < 768; lane += 64) {
                    {
                        float taken0[64];
                        float taken2[64];
                        INDEPENDENT
                        for (int64_t l = 0; l < 64; l++) {
                            const int64_t v2 = lane + l;
                            const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                            const float t15 = t0 - t14;
                            const float t16 = t15 * t15;
                            taken0[l] = t15;
                            taken2[l] = t16;
                        }
                        add_held_f32(&held0, taken0, 64);
                        add_held_f32(&held2, taken2, 64);
                    }
                }
                {
                    float taken0[64];
                    for (int64_t l = 0; l < 64; l++) {
                        taken0[l] = 0;
                    }
                    float taken2[64];
                    for (int64_t l = 0; l < 64; l++) {
                        taken2[l] = 0;
                    }
                    INDEPENDENT SHORT
                    for (int64_t l = 0; l < 16; l++) {
                        const int64_t v2 = 768 + l;
                        const float t0 = b0[50176 * v0 + 784 * v1 + v2];
                        const float t15 = t0 - t14;
                        const float t16 = t15 * t15;
                        taken0[l] = t15;
                        taken2[l] = t16;
                    }
                    add_held_f32(&held0, taken0, 64);
                    add_held_f32(&held2, taken2, 64);
                }
            }
            const float r0 = sum_of_held_f32(&held0);
            const float r2 = sum_of_held_f32(&held2);
            exact0 = r0;
            exact2 = r2;
            if (again || !(!(exact0 * exact0 * 3.188775510e-04f <= 0.75f * exact2) && fabsf(exact0 + r0_0) <= 3.4028234e38f)) {
                break;
            }
            r0_0 += exact0;
        }
        exact2 -= exact0 * exact0 * 3.188775510e-04f;
        exact2 = exact2 < 0 ? 0 : exact2;
        exact0 += r0_0;
        const float t3 = exact0 * 0.0003188775444868952f;
        const float t8 = exact2 * 0.0003188775444868952f;
        const float t10 = t8 + 9.999999747378752e-06f;
        const float t11 = __builtin_sqrtf(t10);
        const float t12 = 1.0f / t11;
        b5[v1] = t3;
        b6[v1] = t12;
    }
    return 1;
}

/* %35 = sum f32[4, 64, 28, 28] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    const float *const b2 = buffers[2];
    const float *const b3 = buffers[3];
    float *const b4 = buffers[4];
    const float *const b5 = buffers[5];
    const float *const b6 = buffers[6];
    float *const weights = (float *)((char *)buffers[7] + 0);
    float *const elements = (float *)((char *)buffers[7] + 592128);
    float *const sums = (float *)((char *)buffers[7] + 1156608);
    int64_t made = -1; /* the first of the columns whose weights have been made */
    for (int64_t task = first; task < last; task++) {
        const int64_t first_column = task / 4 * 64;
        const int64_t n_columns = 64 - first_column < 64 ? 64 - first_column : 64;
        const int64_t first_tile = task % 4 * 49;
        const int64_t end_tile = 196 - first_tile < 49 ? 196 : first_tile + 49;
        if (made != first_column) {
            made = first_column;
            for (int64_t v2 = 0; v2 < 64; v2++) {
                float taps[576] __attribute__((aligned(64)));
                for (int64_t i = 0; i < 9; i++) {
                    const int64_t v4 = i / 3, v6 = i % 3;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_columns; l++) {
                        const int64_t v1 = first_column + l;
                        const float t0 = b3[576 * v1 + 9 * v2 + 3 * v4 + v6];
                        taps[64 * i + l] = t0;
                    }
                }
                winograd_weights(taps, weights + 64 * v2, 4112);
            }
        }
        for (int64_t tile = first_tile, n_run; tile < end_tile; tile += n_run) {
            const int64_t down = tile / 7 % 7, across = tile % 7;
            const int64_t left_across = 7 - across, left = end_tile - tile < left_across ? end_tile - tile : left_across;
            n_run = left < 7 ? left : 7;
            const int64_t v0 = tile / 49 % 4;
            const int64_t n_line = 4 * n_run + 2, first_across = 4 * across;
            const int64_t n_across = 30 - first_across < n_line ? 30 - first_across : n_line;
            for (int64_t c = 0; c < 64; c += 16) {
                float lines[3072] __attribute__((aligned(64)));
                for (int64_t r = 0; r < 6; r++) {
                    float line[512] __attribute__((aligned(64)));
                    const int64_t v3 = 4 * down + r;
                    for (int64_t i = 0; i < 16; i++) {
                        const int64_t v2 = c + i, n_there = v3 < 30 ? n_across : 0;
                        const int64_t inner_first = first_across < 1 ? 1 - first_across : 0;
                        const int64_t inner_end = 29 - first_across < n_there ? 29 - first_across : n_there;
                        if (inner_first < inner_end && (v3 - 1 >= 0) & (v3 - 1 <= 27)) {
                            if (inner_end - inner_first >= 16) {
                                for (int64_t block = inner_first; block < inner_end; block += 16) {
                                    const int64_t block_first = block + 16 <= inner_end ? block : inner_end - 16;
                                    INDEPENDENT FEW
                                    for (int64_t l = 0; l < 16; l++) {
                                        const int64_t v5 = first_across + block_first + l;
                                        const float t2 = b0[50176 * v0 + 784 * v2 + 28 * v3 + v5 - 29];
                                        const float t3 = b5[v2];
                                        const float t4 = t2 - t3;
                                        const float t5 = b6[v2];
                                        const float t6 = b1[v2];
                                        const float t7 = t5 * t6;
                                        const float t8 = t4 * t7;
                                        const float t9 = b2[v2];
                                        const float t10 = t8 + t9;
                                        const float t12 = (t10 < 0.0f ? 0.0f : t10);
                                        const float t14 = t12;
                                        line[32 * i + block_first + l] = t14;
                                    }
                                }
                            } else {
                                INDEPENDENT
                                for (int64_t l = 0; l < inner_end - inner_first; l++) {
                                    const int64_t v5 = first_across + inner_first + l;
                                    const float t2 = b0[50176 * v0 + 784 * v2 + 28 * v3 + v5 - 29];
                                    const float t3 = b5[v2];
                                    const float t4 = t2 - t3;
                                    const float t5 = b6[v2];
                                    const float t6 = b1[v2];
                                    const float t7 = t5 * t6;
                                    const float t8 = t4 * t7;
                                    const float t9 = b2[v2];
                                    const float t10 = t8 + t9;
                                    const float t12 = (t10 < 0.0f ? 0.0f : t10);
                                    const float t14 = t12;
                                    line[32 * i + inner_first + l] = t14;
                                }
                            }
                            for (int side = 0; side < 2; side++) {
                                const int64_t side_first = side == 0 ? 0 : inner_end, n_side = side == 0 ? inner_first : n_there - inner_end;
                                INDEPENDENT
                                for (int64_t l = 0; l < n_side; l++) {
                                    const float t14 = 0.0f;
                                    ONE_BY_ONE(l); line[32 * i + side_first + l] = t14;
                                }
                            }
                        } else {
                            INDEPENDENT
                            for (int64_t l = 0; l < n_there; l++) {
                                const float t14 = 0.0f;
                                line[32 * i + 0 + l] = t14;
                            }
                        }
                        for (int64_t l = n_there; l < n_line; l++) { /* beside all windows */
                            line[32 * i + l] = 0;
                        }
                    }
                    turn_round(lines + 512 * r, 16, line, 32, (n_line + 15) / 16 * 16, 16, 4);
                }
                for (int64_t t = 0; t < n_run; t++) {
                    winograd_elements(lines + 64 * t, 512, elements + 80 * (tile - first_tile + t) + c, 3920);
                }
            }
        }
        for (int64_t place = 0; place < 36; place++) {
            for (int64_t c = 0; c < 64; c += 128) {
                multiply_add(elements + 3920 * place + c, 80, 1, 0, 0, weights + 4112 * place + 64 * c, end_tile - first_tile,
                             64 - c < 128 ? 64 - c : 128, n_columns, sums + 3152 * place, c == 0, sums + 3152 * place, 64, 0);
            }
        }
        for (int64_t tile = first_tile, n_run; tile < end_tile; tile += n_run) {
            const int64_t down = tile / 7 % 7, across = tile % 7;
            const int64_t left_across = 7 - across, left = end_tile - tile < left_across ? end_tile - tile : left_across;
            n_run = left < 7 ? left : 7;
            const int64_t v0 = tile / 49 % 4;
            float lines[7424] __attribute__((aligned(64)));
            for (int64_t t = 0; t < n_run; t++) {
                winograd_results(sums + 64 * (tile - first_tile + t), 3152, lines + 256 * t, 1792);
            }
            const int64_t first_across = 4 * across, n_across = 28 - first_across < 4 * n_run ? 28 - first_across : 4 * n_run;
            for (int64_t r = 0; r < 4 && 4 * down + r < 28; r++) {
                float results[2048] __attribute__((aligned(64)));
                const int64_t v3 = 4 * down + r;
                turn_round(results, 32, lines + 1792 * r, 64, 64, (4 * n_run + 15) / 16 * 16, 4);
                for (int64_t i = 0; i < n_columns; i++) {
                    const int64_t v1 = first_column + i;
                    const float *const r0 = results + 32 * i;
                    INDEPENDENT
                    for (int64_t l = 0; l < n_across; l++) {
                        const int64_t v5 = first_across + l;
                        b4[50176 * v0 + 784 * v1 + 28 * v3 + v5] = r0[l];
                    }
                }
            }
        }
    }
    return 1;
}

