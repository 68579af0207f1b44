/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: rows scaled and shifted, each by numbers of its own, on their way past the caches. */

enum { SCALED_BLOCK = 2 * PAIR };

static inline __attribute__((always_inline)) pair scaled_pair(pair p, value factor, value plus) {
    return (pair){p.a * factor + plus, p.b * factor + plus};
}

/* Elements [i, end) of a row, where no block is. */
static inline void scale_rest(dtype t, const scaled_rows *s, void *to, const void *x, value factor, value plus, int64_t i, int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, scaled_pair(row_pair_first(t, x, i, m), factor, plus), m, s->past, s->edge);
    }
}

static inline __attribute__((always_inline)) void scale_rows_of(const scaled_rows *s, dtype t, bool past) {
    const row_asking asking = row_asks();
    for (int64_t r = 0; r < s->rows; r++) {
        const value factor = row_number(s->factor[r]), plus = row_number(s->plus[r]);
        const void *x = row_at(t, s->x, r * s->n);
        void *to = row_to(t, s->to, r * s->n);
        const int64_t head = row_head(t, to, s->n, past), end = head + (s->n - head) / SCALED_BLOCK * SCALED_BLOCK;
        scale_rest(t, s, to, x, factor, plus, 0, head);
        for (int64_t i = head; i < end; i += SCALED_BLOCK) {
            pair made[SCALED_BLOCK / PAIR];
            for (int k = 0; k < SCALED_BLOCK; k += PAIR) {
                made[k / PAIR] = scaled_pair(row_pair(t, x, i + k), factor, plus);
                if (past) {
                    row_ask(t, x, i + k, asking);
                }
            }
            for (int k = 0; k < SCALED_BLOCK; k += PAIR) {
                row_set_pair(t, to, i + k, made[k / PAIR], past);
            }
        }
        if (past) {
            row_ask_rest(t, x, end, s->n, asking);
        }
        scale_rest(t, s, to, x, factor, plus, end, s->n);
    }
}

static inline __attribute__((always_inline)) void scale_rows_any(const scaled_rows *s, dtype t) {
    s->past ? scale_rows_of(s, t, true) : scale_rows_of(s, t, false);
}

static void scale_rows(const scaled_rows *s) {
    BY_ROW_TYPE(s->type, scale_rows_any(s, t));
}
