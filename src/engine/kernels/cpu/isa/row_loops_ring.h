/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_norm.h: the rings of norms with channels apart (ring_step). Rows are of any type that row_loops_pairs.h
   reads. */

enum { RING_BLOCK = 2 * PAIR };

/* Elements further on at which memory is asked for: where it is to come to L2, as far as the next row at most. */
static inline int64_t ring_ahead(dtype t, row_asking way, int64_t n) {
    int64_t far = (way == ASK_FAR_LINES ? ROW_FAR_BYTES : ROW_AHEAD_BYTES) / row_size(t);
    return far < n ? far : n;
}

/* Asks for memory so far on: of this row, or of the one after it. */
static inline __attribute__((always_inline)) void ring_ask(dtype t, const char *next, const char *after, int64_t i, int64_t n, int64_t far,
                                                           row_asking way) {
    int64_t size = row_size(t);
    const char *ahead = i + far < n ? next + (i + far) * size : after + (i + far - n) * size;
    for (int64_t k = 0; k < RING_BLOCK * size; k += STREAM_LINE) {
        if (way == ASK_FAR_LINES) {
            __builtin_prefetch(ahead + k, 0, 2);
        } else {
            __builtin_prefetch(ahead + k);
        }
    }
}

/* The first m <= PAIR elements at i as they lie. */
static inline __attribute__((always_inline)) void ring_keep(dtype t, void *kept, const void *from, int64_t i, int64_t m) {
    memcpy(row_to(t, kept, i), row_at(t, from, i), (size_t)(m * row_size(t)));
}

static inline __attribute__((always_inline)) pair ring_centred(pair p, value centre) {
    return (pair){p.a - centre, p.b - centre};
}

/* What a row that is read adds up to. */
typedef struct ring_sums {
    pair sum, products;
} ring_sums;

static inline __attribute__((always_inline)) void ring_sums_end(ring_sums *sums, ring_step *s) {
    s->sum += (double)pack_sum(sums->sum.a + sums->sum.b);
    s->products += (double)pack_sum(sums->products.a + sums->products.b);
    *sums = (ring_sums){pair_of(0), pair_of(0)};
}

/* --- forward ---------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void ring_add(ring_sums *sums, pair p) {
    sums->sum.a += p.a;
    sums->sum.b += p.b;
    sums->products.a += p.a * p.a;
    sums->products.b += p.b * p.b;
}

static inline __attribute__((always_inline)) pair ring_scaled(pair p, value factor, value offset) {
    return (pair){p.a * factor + offset, p.b * factor + offset};
}

static inline void ring_finish_rest(dtype t, void *to, const void *from, value factor, value offset, int64_t i, int64_t end,
                                    bool past) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, ring_scaled(row_pair_first(t, from, i, m), factor, offset), m, past);
    }
}

static inline __attribute__((always_inline)) void ring_forward_with(ring_step *s, dtype t, bool reads, bool keeps, bool past) {
    const void *from = s->from, *next = s->next;
    void *kept = s->kept, *to = s->to;
    const value factor = row_number(s->factor), offset = row_number(s->plus), centre = (value)s->centre;
    const int64_t n = s->n, far = ring_ahead(t, row_asks(), n);
    const row_asking asking = row_asks();
    ring_sums sums = {pair_of(0), pair_of(0)};
    /* What is finished runs ahead of what is read over it, to where lines begin. */
    int64_t head = to != NULL ? row_head(t, to, n, past) : 0, i = 0, whole = (n - head) / RING_BLOCK * RING_BLOCK;
    ring_finish_rest(t, to, from, factor, offset, 0, head, past);
    s->sum = s->products = 0;
    for (; i < whole; i += RING_BLOCK) {
        if (reads && i > 0 && i % SUM_BLOCK == 0) {
            ring_sums_end(&sums, s);
        }
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PAIR) {
            int64_t at = head + i + k;
            row_set_pair(t, to, at, ring_scaled(row_pair(t, from, at), factor, offset), past);
        }
        if (reads && keeps) {
            ring_ask(t, next, s->after, i, n, far, asking);
        }
        for (int k = 0; reads && k < RING_BLOCK; k += PAIR) {
            ring_add(&sums, ring_centred(row_pair(t, next, i + k), centre));
            if (keeps) {
                ring_keep(t, kept, next, i + k, PAIR);
            }
        }
    }
    ring_finish_rest(t, to, from, factor, offset, to != NULL ? head + whole : n, n, past);
    for (int64_t m; reads && i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        ring_add(&sums, pair_first(t, ring_centred(row_pair_first(t, next, i, m), centre), m, 0));
        if (keeps) {
            ring_keep(t, kept, next, i, m);
        }
    }
    ring_sums_end(&sums, s);
}

/* --- backward --------------------------------------------------------------------------------------------------------------- */

/* What finishes a row of gradients. */
typedef struct ring_gradient {
    value mean, a, b, c;
} ring_gradient;

static inline __attribute__((always_inline)) pair ring_gradient_pair(const ring_gradient *f, pair dy, pair x) {
    return (pair){dy.a * f->a + ((x.a - f->mean) * f->b + f->c), dy.b * f->a + ((x.b - f->mean) * f->b + f->c)};
}

static inline void ring_gradient_rest(dtype t, void *to, const void *from_dy, const void *from, const ring_gradient *f, int64_t i,
                                      int64_t end, bool past) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, ring_gradient_pair(f, row_pair_first(t, from_dy, i, m), row_pair_first(t, from, i, m)), m, past);
    }
}

static inline __attribute__((always_inline)) void ring_add_products(ring_sums *sums, pair dy, pair x) {
    sums->sum.a += dy.a;
    sums->sum.b += dy.b;
    sums->products.a += dy.a * x.a;
    sums->products.b += dy.b * x.b;
}

static inline __attribute__((always_inline)) void ring_backward_with(ring_step *s, dtype t, bool reads, bool keeps, bool past) {
    const void *from = s->from, *from_dy = s->from_dy, *next = s->next, *next_dy = s->next_dy;
    void *kept = s->kept, *kept_dy = s->kept_dy, *to = s->to;
    const ring_gradient f = {row_number(s->mean), row_number(s->a), row_number(s->b), row_number(s->c)};
    const value centre = (value)s->centre;
    const int64_t n = s->n, far = ring_ahead(t, row_asks(), n);
    const row_asking asking = row_asks();
    ring_sums sums = {pair_of(0), pair_of(0)};
    int64_t head = to != NULL ? row_head(t, to, n, past) : 0, i = 0, whole = (n - head) / RING_BLOCK * RING_BLOCK;
    ring_gradient_rest(t, to, from_dy, from, &f, 0, head, past);
    s->sum = s->products = 0;
    for (; i < whole; i += RING_BLOCK) {
        if (reads && i > 0 && i % SUM_BLOCK == 0) {
            ring_sums_end(&sums, s);
        }
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PAIR) {
            int64_t at = head + i + k;
            row_set_pair(t, to, at, ring_gradient_pair(&f, row_pair(t, from_dy, at), row_pair(t, from, at)), past);
        }
        if (reads && keeps) {
            ring_ask(t, next, s->after, i, n, far, asking);
            ring_ask(t, next_dy, s->after_dy, i, n, far, asking);
        }
        for (int k = 0; reads && k < RING_BLOCK; k += PAIR) {
            ring_add_products(&sums, row_pair(t, next_dy, i + k), ring_centred(row_pair(t, next, i + k), centre));
            if (keeps) {
                ring_keep(t, kept, next, i + k, PAIR);
                ring_keep(t, kept_dy, next_dy, i + k, PAIR);
            }
        }
    }
    ring_gradient_rest(t, to, from_dy, from, &f, to != NULL ? head + whole : n, n, past);
    for (int64_t m; reads && i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        pair x = pair_first(t, ring_centred(row_pair_first(t, next, i, m), centre), m, 0);
        ring_add_products(&sums, row_pair_first(t, next_dy, i, m), x);
        if (keeps) {
            ring_keep(t, kept, next, i, m);
            ring_keep(t, kept_dy, next_dy, i, m);
        }
    }
    ring_sums_end(&sums, s);
}

/* --- both ------------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void ring_with(ring_step *s, dtype t, bool backward, bool reads, bool keeps) {
    if (backward) {
        s->past ? ring_backward_with(s, t, reads, keeps, true) : ring_backward_with(s, t, reads, keeps, false);
    } else {
        s->past ? ring_forward_with(s, t, reads, keeps, true) : ring_forward_with(s, t, reads, keeps, false);
    }
}

static inline const void *ring_further(const void *at, int64_t bytes) {
    return at != NULL ? (const char *)at + bytes : NULL;
}

/* Row by row, where nothing is kept. */
static inline __attribute__((always_inline)) void ring_rows(ring_step *s, dtype t, bool backward, bool reads) {
    double sum = 0, products = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        ring_step row = *s;
        row.next = ring_further(s->next, r * s->x_step);
        row.next_dy = ring_further(s->next_dy, r * s->dy_step);
        row.from = ring_further(s->from, r * s->x_step);
        row.from_dy = ring_further(s->from_dy, r * s->dy_step);
        row.to = s->to != NULL ? (char *)s->to + r * s->to_step : NULL;
        ring_with(&row, t, backward, reads, false);
        sum += row.sum;
        products += row.products;
    }
    s->sum = sum;
    s->products = products;
}

static inline __attribute__((always_inline)) void ring_of(ring_step *s, dtype t, bool backward) {
    if (s->next == NULL) {
        ring_rows(s, t, backward, false);
    } else if (s->kept == NULL) {
        ring_rows(s, t, backward, true);
    } else {
        ring_with(s, t, backward, true, true);
    }
}

/* The type of a step's rows as a constant. */
static inline __attribute__((always_inline)) void ring_typed(ring_step *s, bool backward) {
    if (row_is_half(s->type) && s->type == ASSAY_BF16) {
        ring_of(s, ASSAY_BF16, backward);
    } else if (row_is_half(s->type)) {
        ring_of(s, ASSAY_F16, backward);
    } else {
        ring_of(s, row_native, backward);
    }
}

static void ring_forward(ring_step *s) {
    ring_typed(s, false);
}

static void ring_backward(ring_step *s) {
    ring_typed(s, true);
}
