/* %5 = max f32[4096], %10 = sum f32[4096], %24 = max i64[4096], %35 = max i64[4096], %45 = max i64[4096], %55 = max i64[4096], %71 = sum f32[16, 64], %75 = view f32[4096, 1], %76 = view f32[4096, 1], %77 = view f32[4096, 1], %78 = view f32[4096, 1] */
_Bool kernel_0(void *const *buffers, int64_t first_part, int64_t last_part) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b2 = buffers[2];
    float *const b10 = buffers[3];
    float saved5[64];
    float saved5b[64];
    float saved5c[64];
    float saved5d[64];
    for (int64_t part = first_part; part < last_part; part++) {
        const int64_t first = 256 * part, last = first + 256;
        for (int64_t l = 0; l < 64; l++) {
            b10[64 * part + l] = 0;
        }
        if (first < 0) {
            __builtin_unreachable();
        }
        int64_t next = first;
        for (; next + 4 <= last; next += 4) {
            const int64_t task = next;
            const int64_t v0 = task / 256;
            const int64_t v1 = task % 256;
            const int64_t taskb = next + 1;
            const int64_t v0b = taskb / 256;
            const int64_t v1b = taskb % 256;
            const int64_t taskc = next + 2;
            const int64_t v0c = taskc / 256;
            const int64_t v1c = taskc % 256;
            const int64_t taskd = next + 3;
            const int64_t v0d = taskd / 256;
            const int64_t v1d = taskd % 256;
            float a0[64];
            for (int64_t l = 0; l < 64; l++) {
                a0[l] = -__builtin_inf();
            }
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = 0 + l;
                const float t0 = b0[16384 * v0 + 64 * v1 + v2];
                const float t1 = b1[v2];
                const float t2 = t0 + t1;
                a0[l] = t2 > a0[l] ? t2 : a0[l];
            }
            const float a0_1_0 = largest_of_64_f32(a0);
            const float r0 = a0_1_0;
            float a0b[64];
            for (int64_t l = 0; l < 64; l++) {
                a0b[l] = -__builtin_inf();
            }
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2b = 0 + l;
                const float t0b = b0[16384 * v0b + 64 * v1b + v2b];
                const float t1b = b1[v2b];
                const float t2b = t0b + t1b;
                a0b[l] = t2b > a0b[l] ? t2b : a0b[l];
            }
            const float a0_1_0b = largest_of_64_f32(a0b);
            const float r0b = a0_1_0b;
            float a0c[64];
            for (int64_t l = 0; l < 64; l++) {
                a0c[l] = -__builtin_inf();
            }
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2c = 0 + l;
                const float t0c = b0[16384 * v0c + 64 * v1c + v2c];
                const float t1c = b1[v2c];
                const float t2c = t0c + t1c;
                a0c[l] = t2c > a0c[l] ? t2c : a0c[l];
            }
            const float a0_1_0c = largest_of_64_f32(a0c);
            const float r0c = a0_1_0c;
            float a0d[64];
            for (int64_t l = 0; l < 64; l++) {
                a0d[l] = -__builtin_inf();
            }
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2d = 0 + l;
                const float t0d = b0[16384 * v0d + 64 * v1d + v2d];
                const float t1d = b1[v2d];
                const float t2d = t0d + t1d;
                a0d[l] = t2d > a0d[l] ? t2d : a0d[l];
            }
            const float a0_1_0d = largest_of_64_f32(a0d);
            const float r0d = a0_1_0d;
            held_f32 held1;
            start_held_f32(&held1, 0);
            {
                float wide5[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = 0 + l;
                    const float t0 = b0[16384 * v0 + 64 * v1 + v2];
                    const float t1 = b1[v2];
                    const float t2 = t0 + t1;
                    const float t4 = t2 - r0;
                    wide5[l] = t4;
                }
                exp_below_block_f32(wide5, wide5, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = 0 + l;
                        const float t5 = wide5[l];
                        saved5[v2] = t5;
                        taken1[l] = t5;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
            const float r1 = sum_of_held_f32(&held1);
            held_f32 held1b;
            start_held_f32(&held1b, 0);
            {
                float wide5[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2b = 0 + l;
                    const float t0b = b0[16384 * v0b + 64 * v1b + v2b];
                    const float t1b = b1[v2b];
                    const float t2b = t0b + t1b;
                    const float t4b = t2b - r0b;
                    wide5[l] = t4b;
                }
                exp_below_block_f32(wide5, wide5, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2b = 0 + l;
                        const float t5b = wide5[l];
                        saved5b[v2b] = t5b;
                        taken1[l] = t5b;
                    }
                    add_held_f32(&held1b, taken1, 64);
                }
            }
            const float r1b = sum_of_held_f32(&held1b);
            held_f32 held1c;
            start_held_f32(&held1c, 0);
            {
                float wide5[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2c = 0 + l;
                    const float t0c = b0[16384 * v0c + 64 * v1c + v2c];
                    const float t1c = b1[v2c];
                    const float t2c = t0c + t1c;
                    const float t4c = t2c - r0c;
                    wide5[l] = t4c;
                }
                exp_below_block_f32(wide5, wide5, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2c = 0 + l;
                        const float t5c = wide5[l];
                        saved5c[v2c] = t5c;
                        taken1[l] = t5c;
                    }
                    add_held_f32(&held1c, taken1, 64);
                }
            }
            const float r1c = sum_of_held_f32(&held1c);
            held_f32 held1d;
            start_held_f32(&held1d, 0);
            {
                float wide5[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2d = 0 + l;
                    const float t0d = b0[16384 * v0d + 64 * v1d + v2d];
                    const float t1d = b1[v2d];
                    const float t2d = t0d + t1d;
                    const float t4d = t2d - r0d;
                    wide5[l] = t4d;
                }
                exp_below_block_f32(wide5, wide5, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2d = 0 + l;
                        const float t5d = wide5[l];
                        saved5d[v2d] = t5d;
                        taken1[l] = t5d;
                    }
                    add_held_f32(&held1d, taken1, 64);
                }
            }
            const float r1d = sum_of_held_f32(&held1d);
            const float t8 = 1.0f / r1;
            int32_t a2[64] __attribute__((aligned(64)));
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = 0 + l;
                const float t5 = saved5[v2];
                const float t9 = t5 * t8;
                const int32_t t10 = order_of_f32(t9);
                a2[l] = t10;
                b10[64 * v0 + v2] += t9;
            }
            int64_t ranks2[4];
            orders_of_largest(a2, 4, ranks2);
            const int64_t r2 = ranks2[0];
            const int64_t r3 = ranks2[1];
            const int64_t r4 = ranks2[2];
            const int64_t r5 = ranks2[3];
            const float t8b = 1.0f / r1b;
            int32_t a2b[64] __attribute__((aligned(64)));
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2b = 0 + l;
                const float t5b = saved5b[v2b];
                const float t9b = t5b * t8b;
                const int32_t t10b = order_of_f32(t9b);
                a2b[l] = t10b;
                b10[64 * v0b + v2b] += t9b;
            }
            int64_t ranks2b[4];
            orders_of_largest(a2b, 4, ranks2b);
            const int64_t r2b = ranks2b[0];
            const int64_t r3b = ranks2b[1];
            const int64_t r4b = ranks2b[2];
            const int64_t r5b = ranks2b[3];
            const float t8c = 1.0f / r1c;
            int32_t a2c[64] __attribute__((aligned(64)));
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2c = 0 + l;
                const float t5c = saved5c[v2c];
                const float t9c = t5c * t8c;
                const int32_t t10c = order_of_f32(t9c);
                a2c[l] = t10c;
                b10[64 * v0c + v2c] += t9c;
            }
            int64_t ranks2c[4];
            orders_of_largest(a2c, 4, ranks2c);
            const int64_t r2c = ranks2c[0];
            const int64_t r3c = ranks2c[1];
            const int64_t r4c = ranks2c[2];
            const int64_t r5c = ranks2c[3];
            const float t8d = 1.0f / r1d;
            int32_t a2d[64] __attribute__((aligned(64)));
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2d = 0 + l;
                const float t5d = saved5d[v2d];
                const float t9d = t5d * t8d;
                const int32_t t10d = order_of_f32(t9d);
                a2d[l] = t10d;
                b10[64 * v0d + v2d] += t9d;
            }
            int64_t ranks2d[4];
            orders_of_largest(a2d, 4, ranks2d);
            const int64_t r2d = ranks2d[0];
            const int64_t r3d = ranks2d[1];
            const int64_t r4d = ranks2d[2];
            const int64_t r5d = ranks2d[3];
            const int64_t t29 = r2 >> 32;
            const int32_t t30 = (int32_t)(t29);
            const float t31 = f32_of_order(t30);
            const int64_t t32 = r4 >> 32;
            const int32_t t33 = (int32_t)(t32);
            const float t34 = f32_of_order(t33);
            const float t35 = t31 + t34;
            const int64_t t36 = r3 >> 32;
            const int32_t t37 = (int32_t)(t36);
            const float t38 = f32_of_order(t37);
            const int64_t t39 = r5 >> 32;
            const int32_t t40 = (int32_t)(t39);
            const float t41 = f32_of_order(t40);
            const float t42 = t38 + t41;
            const float t43 = t35 + t42;
            const float t44 = t31 / t43;
            const float t45 = t38 / t43;
            const float t46 = t34 / t43;
            const float t47 = t41 / t43;
            b2[1024 * v0 + 4 * v1] = t44;
            b2[1024 * v0 + 4 * v1 + 1] = t45;
            b2[1024 * v0 + 4 * v1 + 2] = t46;
            b2[1024 * v0 + 4 * v1 + 3] = t47;
            const int64_t t29b = r2b >> 32;
            const int32_t t30b = (int32_t)(t29b);
            const float t31b = f32_of_order(t30b);
            const int64_t t32b = r4b >> 32;
            const int32_t t33b = (int32_t)(t32b);
            const float t34b = f32_of_order(t33b);
            const float t35b = t31b + t34b;
            const int64_t t36b = r3b >> 32;
            const int32_t t37b = (int32_t)(t36b);
            const float t38b = f32_of_order(t37b);
            const int64_t t39b = r5b >> 32;
            const int32_t t40b = (int32_t)(t39b);
            const float t41b = f32_of_order(t40b);
            const float t42b = t38b + t41b;
            const float t43b = t35b + t42b;
            const float t44b = t31b / t43b;
            const float t45b = t38b / t43b;
            const float t46b = t34b / t43b;
            const float t47b = t41b / t43b;
            b2[1024 * v0b + 4 * v1b] = t44b;
            b2[1024 * v0b + 4 * v1b + 1] = t45b;
            b2[1024 * v0b + 4 * v1b + 2] = t46b;
            b2[1024 * v0b + 4 * v1b + 3] = t47b;
            const int64_t t29c = r2c >> 32;
            const int32_t t30c = (int32_t)(t29c);
            const float t31c = f32_of_order(t30c);
            const int64_t t32c = r4c >> 32;
            const int32_t t33c = (int32_t)(t32c);
            const float t34c = f32_of_order(t33c);
            const float t35c = t31c + t34c;
            const int64_t t36c = r3c >> 32;
            const int32_t t37c = (int32_t)(t36c);
            const float t38c = f32_of_order(t37c);
            const int64_t t39c = r5c >> 32;
            const int32_t t40c = (int32_t)(t39c);
            const float t41c = f32_of_order(t40c);
            const float t42c = t38c + t41c;
            const float t43c = t35c + t42c;
            const float t44c = t31c / t43c;
            const float t45c = t38c / t43c;
            const float t46c = t34c / t43c;
            const float t47c = t41c / t43c;
            b2[1024 * v0c + 4 * v1c] = t44c;
            b2[1024 * v0c + 4 * v1c + 1] = t45c;
            b2[1024 * v0c + 4 * v1c + 2] = t46c;
            b2[1024 * v0c + 4 * v1c + 3] = t47c;
            const int64_t t29d = r2d >> 32;
            const int32_t t30d = (int32_t)(t29d);
            const float t31d = f32_of_order(t30d);
            const int64_t t32d = r4d >> 32;
            const int32_t t33d = (int32_t)(t32d);
            const float t34d = f32_of_order(t33d);
            const float t35d = t31d + t34d;
            const int64_t t36d = r3d >> 32;
            const int32_t t37d = (int32_t)(t36d);
            const float t38d = f32_of_order(t37d);
            const int64_t t39d = r5d >> 32;
            const int32_t t40d = (int32_t)(t39d);
            const float t41d = f32_of_order(t40d);
            const float t42d = t38d + t41d;
            const float t43d = t35d + t42d;
            const float t44d = t31d / t43d;
            const float t45d = t38d / t43d;
            const float t46d = t34d / t43d;
            const float t47d = t41d / t43d;
            b2[1024 * v0d + 4 * v1d] = t44d;
            b2[1024 * v0d + 4 * v1d + 1] = t45d;
            b2[1024 * v0d + 4 * v1d + 2] = t46d;
            b2[1024 * v0d + 4 * v1d + 3] = t47d;
        }
        for (int64_t task = next; task < last; task++) {
            const int64_t v0 = task / 256;
            const int64_t v1 = task % 256;
            float a0[64];
            for (int64_t l = 0; l < 64; l++) {
                a0[l] = -__builtin_inf();
            }
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = 0 + l;
                const float t0 = b0[16384 * v0 + 64 * v1 + v2];
                const float t1 = b1[v2];
                const float t2 = t0 + t1;
                a0[l] = t2 > a0[l] ? t2 : a0[l];
            }
            const float a0_1_0 = largest_of_64_f32(a0);
            const float r0 = a0_1_0;
            held_f32 held1;
            start_held_f32(&held1, 0);
            {
                float wide5[64];
                INDEPENDENT
                for (int64_t l = 0; l < 64; l++) {
                    const int64_t v2 = 0 + l;
                    const float t0 = b0[16384 * v0 + 64 * v1 + v2];
                    const float t1 = b1[v2];
                    const float t2 = t0 + t1;
                    const float t4 = t2 - r0;
                    wide5[l] = t4;
                }
                exp_below_block_f32(wide5, wide5, 64);
                {
                    float taken1[64];
                    INDEPENDENT
                    for (int64_t l = 0; l < 64; l++) {
                        const int64_t v2 = 0 + l;
                        const float t5 = wide5[l];
                        saved5[v2] = t5;
                        taken1[l] = t5;
                    }
                    add_held_f32(&held1, taken1, 64);
                }
            }
            const float r1 = sum_of_held_f32(&held1);
            const float t8 = 1.0f / r1;
            int32_t a2[64] __attribute__((aligned(64)));
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = 0 + l;
                const float t5 = saved5[v2];
                const float t9 = t5 * t8;
                const int32_t t10 = order_of_f32(t9);
                a2[l] = t10;
                b10[64 * v0 + v2] += t9;
            }
            int64_t ranks2[4];
            orders_of_largest(a2, 4, ranks2);
            const int64_t r2 = ranks2[0];
            const int64_t r3 = ranks2[1];
            const int64_t r4 = ranks2[2];
            const int64_t r5 = ranks2[3];
            const int64_t t29 = r2 >> 32;
            const int32_t t30 = (int32_t)(t29);
            const float t31 = f32_of_order(t30);
            const int64_t t32 = r4 >> 32;
            const int32_t t33 = (int32_t)(t32);
            const float t34 = f32_of_order(t33);
            const float t35 = t31 + t34;
            const int64_t t36 = r3 >> 32;
            const int32_t t37 = (int32_t)(t36);
            const float t38 = f32_of_order(t37);
            const int64_t t39 = r5 >> 32;
            const int32_t t40 = (int32_t)(t39);
            const float t41 = f32_of_order(t40);
            const float t42 = t38 + t41;
            const float t43 = t35 + t42;
            const float t44 = t31 / t43;
            const float t45 = t38 / t43;
            const float t46 = t34 / t43;
            const float t47 = t41 / t43;
            b2[1024 * v0 + 4 * v1] = t44;
            b2[1024 * v0 + 4 * v1 + 1] = t45;
            b2[1024 * v0 + 4 * v1 + 2] = t46;
            b2[1024 * v0 + 4 * v1 + 3] = t47;
        }
    }
    return 1;
}

/* %72 = sum f32[64], %74 = mul f32[64] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    float *const b3 = buffers[0];
    const float *const b10 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 64 * (task);
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        for (int64_t v0 = 0; v0 < 16; v0++) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = first_lane + l;
                const float t0 = b10[64 * v0 + v1];
                a0[l] += t0;
            }
        }
        float *const r0 = a0;
        float t3[64];
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v1 = first_lane + l;
            t3[l] = r0[l] * 0.000244140625f;
            b3[v1] = t3[l];
        }
    }
    return 1;
}

