/* %1 = view bf16[4, 96, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 96;
        const int64_t v1 = task % 96;
        const int64_t first_lane = 128 * (task % 1);
        {
            const int64_t row = -v1;
            const int64_t enters = 1 - row;
            const int64_t inner_first = enters < 0 ? 0 : enters < 128 ? enters : 128;
            const int64_t inner_last = 128;
            INDEPENDENT
            for (int64_t l = 0; l < inner_first; l++) {
                const int64_t v2 = first_lane + l;
                const uint16_t t3 = 0x0;
                b1[12288 * v0 + 128 * v1 + v2] = t3;
            }
            INDEPENDENT
            for (int64_t l = inner_first; l < inner_last; l++) {
                const int64_t v2 = first_lane + l;
                const uint16_t t1 = b0[12288 * v0 + 128 * v1 + v2];
                const uint16_t t3 = t1;
                b1[12288 * v0 + 128 * v1 + v2] = t3;
            }
        }
    }
    return 1;
}

