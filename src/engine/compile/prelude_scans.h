/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: running sums along a row. */

/* Of 64 elements, in their place, behind a sum that takes them in: three steps, or four where a register holds sixteen, add to each what
   lies 1, 2, 4 and 8 places before it, so that but one addition of each register waits for those before. */
VECTOR_INLINE void scan_block_f32(float *x, float *total) {
#if defined(__AVX512F__)
    typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));
    static const int32_t last[16] __attribute__((aligned(64))) = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
    const wide none = {0};
    wide before = none + *total;
    for (int l = 0; l < 64; l += 16) {
        wide sums = *(const wide *)(x + l), moved, all;
        __asm__("valignd $15, %2, %1, %0" : "=v"(moved) : "v"(sums), "v"(none));
        sums = sums + moved;
        __asm__("valignd $14, %2, %1, %0" : "=v"(moved) : "v"(sums), "v"(none));
        sums = sums + moved;
        __asm__("valignd $12, %2, %1, %0" : "=v"(moved) : "v"(sums), "v"(none));
        sums = sums + moved;
        __asm__("valignd $8, %2, %1, %0" : "=v"(moved) : "v"(sums), "v"(none));
        sums = sums + moved;
        __asm__("vpermps %2, %1, %0" : "=v"(all) : "v"(*(const wide *)(const void *)last), "v"(sums));
        *(wide *)(x + l) = before + sums;
        before = before + all;
    }
    *total = before[0];
#else
    float sums[8] = {0}; /* of eight parts, side by side */
    for (int i = 0; i < 8; i++) {
        for (int part = 0; part < 8; part++) {
            sums[part] += x[8 * part + i];
            x[8 * part + i] = sums[part];
        }
    }
    for (int part = 0; part < 8; part++) {
        for (int i = 0; i < 8; i++) {
            x[8 * part + i] += *total;
        }
        *total += sums[part];
    }
#endif
}
