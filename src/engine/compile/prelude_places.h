/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: what lanes found along a row, and where, brought to the first of them. By halves, each of which compares
   numbers and places with all that NaN and equals ask for, it took longer than reading short rows, and as long as half a row of 1024. */

/* A float as a whole number in their order, zeros of either sign alike, and above what comes last: 0x7fffffff, NaN above all. */
VECTOR_INLINE int32_t key_of_f32(float x, _Bool smallest) {
    int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const int32_t size = bits & 0x7fffffff, sign = bits >> 31, key = (size ^ sign) - sign;
    return size > 0x7f800000 ? 0x7fffffff : smallest ? -key : key;
}

/* That, above what grows towards the first place. */
VECTOR_INLINE int64_t key_and_place(float x, int32_t place, _Bool smallest) {
    return key_of_f32(x, smallest) * 0x100000000 + (0x7fffffff - place);
}

/* Of n lanes, 64 at most, the largest (smallest), and of equals the first place, as one number. False, and nothing is changed, where it is 0, of
   which there are two. */
VECTOR_INLINE _Bool place_of_f32(float *a, int32_t *p, int n, _Bool smallest) {
    int64_t best = -0x7fffffffffffffff - 1;
    if (n < 16) {
        for (int l = 0; l < n; l++) {
            const int64_t both = key_and_place(a[l], p[l], smallest);
            best = both > best ? both : best;
        }
    } else { /* unrolled first, gcc would go from lane to lane */
        FEW
        for (int l = 0; l < n; l++) {
            const int64_t both = key_and_place(a[l], p[l], smallest);
            best = both > best ? both : best;
        }
    }
    const int32_t key = (int32_t)(best >> 32), number = smallest ? -key : key;
    if (key == 0) {
        return 0;
    }
    const int32_t bits = key == 0x7fffffff ? 0x7fc00000 : number < 0 ? (int32_t)(0x80000000 + (uint32_t)-number) : number;
    __builtin_memcpy(&a[0], &bits, sizeof bits);
    p[0] = 0x7fffffff - (int32_t)(best & 0x7fffffff);
    return 1;
}
