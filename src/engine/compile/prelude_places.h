/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: what lanes found along a row, and where, brought to the first of them. By halves, each of which compares
   numbers and places with all that NaN and equals ask for, it took as long as half a row of 1024. */

/* False, and nothing is changed, where one is NaN or the largest is 0, of which there are two. */
VECTOR_INLINE _Bool largest_place_of_64_f32(float *a, int32_t *p) {
    const float most = largest_of_64_f32(a);
    int is_nan = 0;
    for (int l = 0; l < 64; l++) {
        is_nan |= a[l] != a[l];
    }
    if (is_nan || most == 0) {
        return 0;
    }
    int32_t first = 0x7fffffff;
    for (int l = 0; l < 64; l++) {
        const int32_t at = a[l] == most ? p[l] : 0x7fffffff;
        first = at < first ? at : first;
    }
    a[0] = most;
    p[0] = first;
    return 1;
}

/* The same of the smallest. */
VECTOR_INLINE _Bool smallest_place_of_64_f32(float *a, int32_t *p) {
    float turned[64];
    for (int l = 0; l < 64; l++) {
        turned[l] = -a[l];
    }
    const _Bool is_done = largest_place_of_64_f32(turned, p);
    a[0] = is_done ? -turned[0] : a[0];
    return is_done;
}
