/* %8 = add f32[8, 16, 28, 28] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 14;
        const int64_t v1 = task % 14;
        const int64_t first_lane = 14 * (task % 1);
        INDEPENDENT FEW
        for (int64_t l = 0; l < 14; l++) {
            const int64_t v3 = first_lane + l;
            {
                {
                    const uint8_t t0 = 1;
                    const float t1 = t0 ? b0[1764 * v0 + 14 * v1 + v3 + 784] : 0;
                    const float t3 = t0 ? t1 : 0.0f;
                    const uint8_t t4 = 0 & (v3 - 1 >= 0);
                    const float t5 = t4 ? b0[1764 * v0 + 14 * v1 + v3 + 1175] : 0;
                    const float t7 = t4 ? t5 : 0.0f;
                    const float t8 = t3 + t7;
                    const uint8_t t9 = 0 & (v1 - 1 >= 0);
                    const float t10 = t9 ? b0[1764 * v0 + 14 * v1 + v3 + 1946] : 0;
                    const float t12 = t9 ? t10 : 0.0f;
                    const float t13 = t8 + t12;
                    const uint8_t t14 = 0 & (v1 - 1 >= 0) & 0 & (v3 - 1 >= 0);
                    const float t15 = t14 ? b0[1764 * v0 + 14 * v1 + v3 + 2337] : 0;
                    const float t17 = t14 ? t15 : 0.0f;
                    const float t18 = t13 + t17;
                    b1[784 * v0 + 56 * v1 + 2 * v3] = t18;
                }
                {
                    const uint8_t t0 = (v3 + 1 <= 13);
                    const float t1 = t0 ? b0[1764 * v0 + 14 * v1 + v3 + 589] : 0;
                    const float t3 = t0 ? t1 : 0.0f;
                    const uint8_t t4 = 1;
                    const float t5 = t4 ? b0[1764 * v0 + 14 * v1 + v3 + 980] : 0;
                    const float t7 = t4 ? t5 : 0.0f;
                    const float t8 = t3 + t7;
                    const uint8_t t9 = 0 & (v1 - 1 >= 0) & (v3 + 1 <= 13);
                    const float t10 = t9 ? b0[1764 * v0 + 14 * v1 + v3 + 1751] : 0;
                    const float t12 = t9 ? t10 : 0.0f;
                    const float t13 = t8 + t12;
                    const uint8_t t14 = 0 & (v1 - 1 >= 0);
                    const float t15 = t14 ? b0[1764 * v0 + 14 * v1 + v3 + 2142] : 0;
                    const float t17 = t14 ? t15 : 0.0f;
                    const float t18 = t13 + t17;
                    b1[784 * v0 + 56 * v1 + 2 * v3 + 1] = t18;
                }
            }
            {
                {
                    const uint8_t t0 = (v1 + 1 <= 13);
                    const float t1 = t0 ? b0[1764 * v0 + 14 * v1 + v3 + 210] : 0;
                    const float t3 = t0 ? t1 : 0.0f;
                    const uint8_t t4 = (v1 + 1 <= 13) & 0 & (v3 - 1 >= 0);
                    const float t5 = t4 ? b0[1764 * v0 + 14 * v1 + v3 + 601] : 0;
                    const float t7 = t4 ? t5 : 0.0f;
                    const float t8 = t3 + t7;
                    const uint8_t t9 = 1;
                    const float t10 = t9 ? b0[1764 * v0 + 14 * v1 + v3 + 1372] : 0;
                    const float t12 = t9 ? t10 : 0.0f;
                    const float t13 = t8 + t12;
                    const uint8_t t14 = 0 & (v3 - 1 >= 0);
                    const float t15 = t14 ? b0[1764 * v0 + 14 * v1 + v3 + 1763] : 0;
                    const float t17 = t14 ? t15 : 0.0f;
                    const float t18 = t13 + t17;
                    b1[784 * v0 + 56 * v1 + 2 * v3 + 28] = t18;
                }
                {
                    const uint8_t t0 = (v1 + 1 <= 13) & (v3 + 1 <= 13);
                    const float t1 = t0 ? b0[1764 * v0 + 14 * v1 + v3 + 15] : 0;
                    const float t3 = t0 ? t1 : 0.0f;
                    const uint8_t t4 = (v1 + 1 <= 13);
                    const float t5 = t4 ? b0[1764 * v0 + 14 * v1 + v3 + 406] : 0;
                    const float t7 = t4 ? t5 : 0.0f;
                    const float t8 = t3 + t7;
                    const uint8_t t9 = (v3 + 1 <= 13);
                    const float t10 = t9 ? b0[1764 * v0 + 14 * v1 + v3 + 1177] : 0;
                    const float t12 = t9 ? t10 : 0.0f;
                    const float t13 = t8 + t12;
                    const uint8_t t14 = 1;
                    const float t15 = t14 ? b0[1764 * v0 + 14 * v1 + v3 + 1568] : 0;
                    const float t17 = t14 ? t15 : 0.0f;
                    const float t18 = t13 + t17;
                    b1[784 * v0 + 56 * v1 + 2 * v3 + 29] = t18;
                }
            }
        }
    }
    return 1;
}

