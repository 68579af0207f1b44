/* %1 = view bf16[4, 96, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t group = first; group < last; group += 64) {
        const int64_t group_last = group + 64 < last ? group + 64 : last;
        for (int64_t turn = 0; turn < 16; turn++) {
            for (int64_t block = 0; block < 128; block += 32) {
                for (int64_t task = group + turn; task < group_last; task += 16) {
                    const int64_t v0 = task / 96;
                    const int64_t v1 = task % 96;
                    const int64_t first_lane = 128 * (task % 1);
                    uint16_t made0[32];
                    {
                        const int64_t row = -v1;
                        const int64_t enters = 1 - row;
                        const int64_t inner_first = enters < 0 ? 0 : enters < 128 ? enters : 128;
                        const int64_t inner_last = 128;
                        if (block >= inner_first && block + 32 <= inner_last) {
                            INDEPENDENT
                            for (int64_t i = 0; i < 32; i++) {
                                const int64_t l = block + i;
                                const int64_t v2 = first_lane + l;
                                const uint16_t t1 = b0[12288 * v0 + 128 * v1 + v2];
                                const uint16_t t3 = t1;
                                made0[i] = t3;
                            }
                        } else if (block + 32 <= inner_first || block >= inner_last) {
                            INDEPENDENT
                            for (int64_t i = 0; i < 32; i++) {
                                const uint16_t t3 = 0x0;
                                made0[i] = t3;
                            }
                        } else {
                            INDEPENDENT
                            for (int64_t i = 0; i < 32; i++) {
                                const int64_t l = block + i;
                                const int64_t v2 = first_lane + l;
                                const uint8_t t0 = (-v1 + v2 >= 1);
                                const uint16_t t1 = t0 ? b0[12288 * v0 + 128 * v1 + v2] : 0;
                                const uint16_t t3 = t0 ? t1 : 0x0;
                                made0[i] = t3;
                            }
                        }
                    }
                    {
                        const int64_t v2 = first_lane + block;
                        stream_lines(b1 + 12288 * v0 + 128 * v1 + v2, made0, 64);
                    }
                }
            }
        }
    }
    stream_settle();
    return 1;
}

