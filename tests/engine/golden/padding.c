/* %2 = view f16[16, 8, 30, 30] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 30;
        const int64_t v1 = task % 30;
        const int64_t first_lane = 30 * (task % 1);
        if ((v1 - 1 >= 0) & (v1 - 1 <= 27)) {
            INDEPENDENT
            for (int64_t l = 0; l < 1; l++) {
                const int64_t v2 = first_lane + l;
                const uint16_t t3 = 0x0;
                b1[900 * v0 + 30 * v1 + v2] = t3;
            }
            for (int64_t block = 1; block < 29; block += 16) {
                const int64_t block_first = block + 16 <= 29 ? block : 29 - 16;
                INDEPENDENT FEW
                for (int64_t i = 0; i < 16; i++) {
                    const int64_t l = block_first + i;
                    const int64_t v2 = first_lane + l;
                    const uint16_t t1 = b0[784 * v0 + 28 * v1 + v2 - 29];
                    const uint16_t t3 = t1;
                    b1[900 * v0 + 30 * v1 + v2] = t3;
                }
            }
            INDEPENDENT
            for (int64_t l = 29; l < 30; l++) {
                const int64_t v2 = first_lane + l;
                const uint16_t t3 = 0x0;
                b1[900 * v0 + 30 * v1 + v2] = t3;
            }
        } else {
            INDEPENDENT
            for (int64_t l = 0; l < 30; l++) {
                const int64_t v2 = first_lane + l;
                const uint16_t t3 = 0x0;
                b1[900 * v0 + 30 * v1 + v2] = t3;
            }
        }
    }
    return 1;
}

/* %7 = view f16[16, 8, 1, 1] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const uint16_t t0 = b0[784 * v0 + 29];
        b2[900 * v0] = t0;
    }
    return 1;
}

/* %4 = view f16[16, 8, 1, 28] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 28 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 28; l++) {
            const int64_t v1 = first_lane + l;
            const uint16_t t0 = b0[784 * v0 + v1 + 28];
            b2[900 * v0 + v1 + 1] = t0;
        }
    }
    return 1;
}

/* %8 = view f16[16, 8, 1, 1] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const uint16_t t0 = b0[784 * v0 + 54];
        b2[900 * v0 + 29] = t0;
    }
    return 1;
}

/* %11 = view f16[16, 8, 28, 1] */
_Bool kernel_4(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 28 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 28; l++) {
            const int64_t v1 = first_lane + l;
            const uint16_t t0 = b0[784 * v0 + 28 * v1 + 1];
            b2[900 * v0 + 30 * v1 + 30] = t0;
        }
    }
    return 1;
}

/* %0 = input f16[16, 8, 28, 28] */
_Bool kernel_5(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 28;
        const int64_t v1 = task % 28;
        const int64_t first_lane = 28 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 28; l++) {
            const int64_t v2 = first_lane + l;
            const uint16_t t0 = b0[784 * v0 + 28 * v1 + v2];
            b2[900 * v0 + 30 * v1 + v2 + 31] = t0;
        }
    }
    return 1;
}

/* %12 = view f16[16, 8, 28, 1] */
_Bool kernel_6(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 28 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 28; l++) {
            const int64_t v1 = first_lane + l;
            const uint16_t t0 = b0[784 * v0 + 28 * v1 + 26];
            b2[900 * v0 + 30 * v1 + 59] = t0;
        }
    }
    return 1;
}

/* %15 = view f16[16, 8, 1, 1] */
_Bool kernel_7(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const uint16_t t0 = b0[784 * v0 + 729];
        b2[900 * v0 + 870] = t0;
    }
    return 1;
}

/* %5 = view f16[16, 8, 1, 28] */
_Bool kernel_8(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const int64_t first_lane = 28 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 28; l++) {
            const int64_t v1 = first_lane + l;
            const uint16_t t0 = b0[784 * v0 + v1 + 728];
            b2[900 * v0 + v1 + 871] = t0;
        }
    }
    return 1;
}

/* %16 = view f16[16, 8, 1, 1] */
_Bool kernel_9(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    uint16_t *const b2 = buffers[1];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const uint16_t t0 = b0[784 * v0 + 754];
        b2[900 * v0 + 899] = t0;
    }
    return 1;
}

