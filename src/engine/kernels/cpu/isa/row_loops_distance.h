/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: differences of two rows of one type, which lie together, and the sum of their squares. Halves are
   widened in registers. */

static inline __attribute__((always_inline)) pair distance_pair(pair p, pair q) {
    return (pair){p.a - q.a, p.b - q.b};
}

static inline __attribute__((always_inline)) void distance_add(pair *sum, pair p) {
    sum->a += p.a * p.a;
    sum->b += p.b * p.b;
}

static inline __attribute__((always_inline)) double distance_with(dtype t, const void *x, const void *y, int64_t n) {
    const row_asking asking = row_asks();
    const int64_t whole = n / (2 * PAIR) * (2 * PAIR);
    double total = 0;
    for (int64_t i = 0; i < whole;) {
        int64_t stop = whole - i < SUM_BLOCK ? whole : i + SUM_BLOCK;
        pair sum = pair_of(0), other = pair_of(0);
        for (; i < stop; i += 2 * PAIR) {
            for (int k = 0; asking != ASK_FAR_LINES && k < 2 * PAIR; k += PAIR) {
                row_ask(t, x, i + k, asking);
                row_ask(t, y, i + k, asking);
            }
            distance_add(&sum, distance_pair(row_pair(t, x, i), row_pair(t, y, i)));
            distance_add(&other, distance_pair(row_pair(t, x, i + PAIR), row_pair(t, y, i + PAIR)));
        }
        total += (double)pack_sum((sum.a + sum.b) + (other.a + other.b));
    }
    pair rest = pair_of(0);
    for (int64_t i = whole, m; i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        distance_add(&rest, distance_pair(row_pair_first(t, x, i, m), row_pair_first(t, y, i, m)));
    }
    return total + (double)pack_sum(rest.a + rest.b);
}

static double distance_of(dtype t, const void *left, const void *right, int64_t n) {
    if (row_is_half(t) && t == ASSAY_BF16) {
        return distance_with(ASSAY_BF16, left, right, n);
    }
    return row_is_half(t) ? distance_with(ASSAY_F16, left, right, n) : distance_with(row_native, left, right, n);
}

/* As row_set_pair, but ties go to even: a difference of halves ends halfway between two as often as not. */
static inline __attribute__((always_inline)) void difference_set(dtype t, void *to, int64_t i, pair p, bool line) {
#if defined(ROW_HALVES)
    if (row_is_half(t)) {
        half_bits made = half_bits_of(t, (float_pair){p.a, p.b});
        line ? stream_registers(row_to(t, to, i), &made, sizeof made) : (void)memcpy(row_to(t, to, i), &made, sizeof made);
        return;
    }
#endif
    row_set_pair(t, to, i, p, line);
}

/* Elements [i, end), which are no whole lines of memory. */
static inline void difference_rest(dtype t, void *to, const void *x, const void *y, value factor, int64_t i, int64_t end,
                                   bool past) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        pair p = distance_pair(row_pair_first(t, x, i, m), row_pair_first(t, y, i, m));
        value made[PAIR];
        difference_set(t, made, 0, (pair){p.a * factor, p.b * factor}, false);
        size_t bytes = (size_t)(m * row_size(t));
        past && pairs_have_lines(t) ? stream_bytes(row_to(t, to, i), made, bytes) : (void)memcpy(row_to(t, to, i), made, bytes);
    }
}

/* Two lines are made before the first is stored: on Zen 4 loads wait for stores past the caches. */
static inline __attribute__((always_inline)) void difference_with(dtype t, void *to, const void *x, const void *y, value factor, int64_t n,
                                                                  bool past) {
    const row_asking asking = row_asks();
    const int64_t head = row_head(t, to, n, past), end = head + (n - head) / (2 * PAIR) * (2 * PAIR);
    difference_rest(t, to, x, y, factor, 0, head, past);
    for (int64_t i = head; i < end; i += 2 * PAIR) {
        pair made[2];
        for (int k = 0; k < 2; k++) {
            if (past) {
                row_ask(t, x, i + k * PAIR, asking);
                row_ask(t, y, i + k * PAIR, asking);
            }
            pair p = distance_pair(row_pair(t, x, i + k * PAIR), row_pair(t, y, i + k * PAIR));
            made[k] = (pair){p.a * factor, p.b * factor};
        }
        for (int k = 0; k < 2; k++) {
            difference_set(t, to, i + k * PAIR, made[k], past);
        }
    }
    difference_rest(t, to, x, y, factor, end, n, past);
}

static inline __attribute__((always_inline)) void difference_of(dtype t, void *to, const void *x, const void *y, value factor, int64_t n,
                                                                bool past) {
    past ? difference_with(t, to, x, y, factor, n, true) : difference_with(t, to, x, y, factor, n, false);
}

static void difference_stream(dtype t, void *to, const void *left, const void *right, double factor, int64_t n, bool past) {
    value f = row_number(factor);
    if (row_is_half(t) && t == ASSAY_BF16) {
        difference_of(ASSAY_BF16, to, left, right, f, n, past);
    } else if (row_is_half(t)) {
        difference_of(ASSAY_F16, to, left, right, f, n, past);
    } else {
        difference_of(row_native, to, left, right, f, n, past);
    }
}
