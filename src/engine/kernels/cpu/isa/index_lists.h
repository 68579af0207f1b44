/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of single elements by place, and of rows, for one type. The includer defines NAMED(name), TYPE (of an element in
   memory), SUM (of the accumulator), FACTOR(alpha) (a row_factor as such a sum), WIDEN(element) and NARROW(sum). */

static void NAMED(add_lists)(char *dst, const ptrdiff_t *to, const char *values, const ptrdiff_t *from, const int64_t *starts,
                             const int64_t *slots, int64_t n, row_factor alpha) {
    SUM by = FACTOR(alpha);
    for (int64_t j = 0; j < n; j++) {
        SUM sum = 0;
        for (int64_t p = starts[slots[j]]; p < starts[slots[j] + 1]; p++) {
            sum += by * WIDEN(*(const TYPE *)(const void *)(values + from[p])); /* each: inf times a sum is not the sum of inf times its terms */
        }
        TYPE *at = (TYPE *)(void *)(dst + to[j]);
        *at = NARROW(WIDEN(*at) + sum);
    }
}
