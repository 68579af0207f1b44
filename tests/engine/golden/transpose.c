/* %0 = input f32[500, 300] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    float *const b1 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v1 = task / 3;
        const int64_t first_lane = 128 * (task % 3);
        const int64_t n_lanes = 300 - first_lane < 128 ? 300 - first_lane : 128;
        {
            const int64_t v2 = 0, v0 = first_lane;
            turn_round_few(b1 + v0 + 9600 * v1 + 300 * v2, 300, b0 + 500 * v0 + 32 * v1 + v2, 500, 32 * (v1 + 1) <= 500 ? 32 : 20, n_lanes, 4);
        }
    }
    return 1;
}

