/* %12 = cast f16[64, 300] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const int64_t *const b1 = buffers[1];
    uint16_t *const b2 = buffers[2];
    uint64_t bad = 0;
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 300 * (task % 1);
        for (int64_t whole = 0; whole < 300; whole += 64) {
            const int64_t block = whole + 64 <= 300 ? whole : 300 - 64;
            float wide7[64];
            float made0[64];
            uint16_t half7[64];
            {
                int32_t place6[64];
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const int64_t l = block + i;
                    const int64_t v1 = first_lane + l;
                    const int64_t t0 = b1[300 * v0 + v1];
                    const uint8_t t2 = t0 < 0;
                    const int64_t t4 = t0 + 1000;
                    const int64_t t5 = t2 ? t4 : t0;
                    place6[i] = (int32_t)(checked(t5, 1000, &bad));
                }
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const uint16_t t6 = b0[1000 * v0 + place6[i]];
                    half7[i] = t6;
                }
            }
            f32s_of_f16s(wide7, half7);
            INDEPENDENT
            for (int64_t i = 0; i < 64; i++) {
                const float t7 = wide7[i];
                const float t9 = t7 + 1.0f;
                made0[i] = t9;
            }
            {
                const int64_t v1 = first_lane + block;
                f16s_of_f32s(b2 + 300 * v0 + v1, made0);
            }
        }
    }
    return bad == 0;
}

