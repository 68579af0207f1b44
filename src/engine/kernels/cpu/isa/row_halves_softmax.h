/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of softmax over rows of halves, a part of row_halves_template.h. */

/* Sums of products, as block_sum. */
ALWAYS_INLINE float block_dot(const uint16_t *x, const uint16_t *y, int64_t n) {
    pack a = {0}, b = {0}, c = {0}, d = {0};
    int64_t i = 0;
    for (; i + 2 * PAIR <= n; i += 2 * PAIR) {
        pair p = float_pair_at(HALF_TYPE, x + i), q = float_pair_at(HALF_TYPE, x + i + PAIR);
        pair r = float_pair_at(HALF_TYPE, y + i), s = float_pair_at(HALF_TYPE, y + i + PAIR);
        a += p.a * r.a;
        b += p.b * r.b;
        c += q.a * s.a;
        d += q.b * s.b;
    }
    for (; i < n; i += PAIR) {
        pair p = pair_first(x + i, n - i), r = pair_first(y + i, n - i);
        a += p.a * r.a;
        b += p.b * r.b;
    }
    return pack_sum((a + b) + (c + d));
}

ALWAYS_INLINE half_bits gradient_of(pair grad, pair result, float sum) {
    return half_bits_of(HALF_TYPE, (pair){(grad.a - sum) * result.a, (grad.b - sum) * result.b});
}

static void softmax_back(void *to, const void *gradient, const void *results, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++) {
        const uint16_t *g = (const uint16_t *)gradient + r * n, *y = (const uint16_t *)results + r * n;
        uint16_t *made = (uint16_t *)to + r * n;
        double total = 0;
        for (int64_t from = 0; from < n; from += SUM_BLOCK) {
            total += (double)block_dot(g + from, y + from, n - from < SUM_BLOCK ? n - from : SUM_BLOCK);
        }
        const float sum = (float)total;
        int64_t i = 0;
        for (; i + PAIR <= n; i += PAIR) {
            half_bits bits = gradient_of(float_pair_at(HALF_TYPE, g + i), float_pair_at(HALF_TYPE, y + i), sum);
            memcpy(made + i, &bits, sizeof bits);
        }
        if (i < n) {
            half_bits bits = gradient_of(pair_first(g + i, n - i), pair_first(y + i, n - i), sum);
            memcpy(made + i, &bits, (size_t)(n - i) * sizeof *made);
        }
    }
}
