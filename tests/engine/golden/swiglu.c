/* %7 = mul f32[64, 1024] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b4 = buffers[0];
    const float *const b5 = buffers[1];
    float *const b7 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        {
            for (int64_t block = 0; block < 1024; block += 64) {
                float wide1[64];
                {
                    const int64_t v0 = first_lane + block;
                    sigmoid_block_f32(wide1, b4 + v0, 64);
                }
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const int64_t l = block + i;
                    const int64_t v0 = first_lane + l;
                    const float t0 = b4[v0];
                    const float t1 = wide1[i];
                    const float t2 = t0 * t1;
                    const float t3 = b5[v0];
                    const float t4 = t2 * t3;
                    b7[v0] = t4;
                }
            }
        }
    }
    return 1;
}

