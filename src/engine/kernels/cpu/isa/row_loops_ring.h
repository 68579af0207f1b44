/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_norm.h: the rings of norms with channels apart (ring_step). Rows are of any type that row_loops_pairs.h
   reads. */

enum { RING_BLOCK = 2 * PAIR };

/* Asks for memory ROW_AHEAD_BYTES on: of this row, or of the one after it. */
static inline __attribute__((always_inline)) void ring_ask(dtype t, const char *next, const char *after, int64_t i, int64_t n) {
    int64_t size = row_size(t), far = ROW_AHEAD_BYTES / size;
    const char *ahead = i + far < n ? next + (i + far) * size : after + (i + far - n) * size;
    for (int64_t k = 0; k < RING_BLOCK * size; k += STREAM_LINE) {
        __builtin_prefetch(ahead + k);
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

static inline void ring_finish_rest(dtype t, void *to, const void *kept, value factor, value offset, int64_t i, int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, ring_scaled(row_pair_first(t, kept, i, m), factor, offset), m);
    }
}

static inline __attribute__((always_inline)) void ring_forward_of(ring_step *s, dtype t) {
    void *kept = s->kept, *to = s->to;
    const value factor = row_number(s->factor), offset = row_number(s->plus), centre = (value)s->centre;
    const void *next = s->next;
    const int64_t n = s->n;
    ring_sums sums = {pair_of(0), pair_of(0)};
    /* What is finished runs ahead of what is read over it, to where lines begin. */
    int64_t head = to != NULL ? row_head(t, to, n) : 0, i = 0, whole = (n - head) / RING_BLOCK * RING_BLOCK;
    ring_finish_rest(t, to, kept, factor, offset, 0, head);
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PAIR) {
            int64_t at = head + i + k;
            row_set_pair(t, to, at, ring_scaled(row_pair(t, kept, at), factor, offset), true);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(t, next, s->after, i, n);
        for (int k = 0; k < RING_BLOCK; k += PAIR) {
            ring_add(&sums, ring_centred(row_pair(t, next, i + k), centre));
            ring_keep(t, kept, next, i + k, PAIR);
        }
    }
    ring_finish_rest(t, to, kept, factor, offset, to != NULL ? head + whole : n, n);
    for (int64_t m; next != NULL && i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        ring_add(&sums, pair_first(t, ring_centred(row_pair_first(t, next, i, m), centre), m, 0));
        ring_keep(t, kept, next, i, m);
    }
    s->sum = (double)pack_sum(sums.sum.a + sums.sum.b);
    s->products = (double)pack_sum(sums.products.a + sums.products.b);
}

/* --- backward --------------------------------------------------------------------------------------------------------------- */

/* What finishes a row of gradients. */
typedef struct ring_gradient {
    value mean, a, b, c;
} ring_gradient;

static inline __attribute__((always_inline)) pair ring_gradient_pair(const ring_gradient *f, pair dy, pair x) {
    return (pair){dy.a * f->a + ((x.a - f->mean) * f->b + f->c), dy.b * f->a + ((x.b - f->mean) * f->b + f->c)};
}

static inline void ring_gradient_rest(dtype t, void *to, const void *kept_dy, const void *kept, const ring_gradient *f, int64_t i,
                                      int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, ring_gradient_pair(f, row_pair_first(t, kept_dy, i, m), row_pair_first(t, kept, i, m)), m);
    }
}

static inline __attribute__((always_inline)) void ring_add_products(ring_sums *sums, pair dy, pair x) {
    sums->sum.a += dy.a;
    sums->sum.b += dy.b;
    sums->products.a += dy.a * x.a;
    sums->products.b += dy.b * x.b;
}

static inline __attribute__((always_inline)) void ring_backward_of(ring_step *s, dtype t) {
    void *kept = s->kept, *kept_dy = s->kept_dy, *to = s->to;
    const ring_gradient f = {row_number(s->mean), row_number(s->a), row_number(s->b), row_number(s->c)};
    const value centre = (value)s->centre;
    const void *next = s->next, *next_dy = s->next_dy;
    const int64_t n = s->n;
    ring_sums sums = {pair_of(0), pair_of(0)};
    int64_t head = to != NULL ? row_head(t, to, n) : 0, i = 0, whole = (n - head) / RING_BLOCK * RING_BLOCK;
    ring_gradient_rest(t, to, kept_dy, kept, &f, 0, head);
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += PAIR) {
            int64_t at = head + i + k;
            row_set_pair(t, to, at, ring_gradient_pair(&f, row_pair(t, kept_dy, at), row_pair(t, kept, at)), true);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(t, next, s->after, i, n);
        ring_ask(t, next_dy, s->after_dy, i, n);
        for (int k = 0; k < RING_BLOCK; k += PAIR) {
            ring_add_products(&sums, row_pair(t, next_dy, i + k), ring_centred(row_pair(t, next, i + k), centre));
            ring_keep(t, kept, next, i + k, PAIR);
            ring_keep(t, kept_dy, next_dy, i + k, PAIR);
        }
    }
    ring_gradient_rest(t, to, kept_dy, kept, &f, to != NULL ? head + whole : n, n);
    for (int64_t m; next != NULL && i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        pair x = pair_first(t, ring_centred(row_pair_first(t, next, i, m), centre), m, 0);
        ring_add_products(&sums, row_pair_first(t, next_dy, i, m), x);
        ring_keep(t, kept, next, i, m);
        ring_keep(t, kept_dy, next_dy, i, m);
    }
    s->sum = (double)pack_sum(sums.sum.a + sums.sum.b);
    s->products = (double)pack_sum(sums.products.a + sums.products.b);
}

/* The type of a step's rows as a constant. */
static void ring_forward(ring_step *s) {
    if (row_is_half(s->type) && s->type == ASSAY_BF16) {
        ring_forward_of(s, ASSAY_BF16);
    } else if (row_is_half(s->type)) {
        ring_forward_of(s, ASSAY_F16);
    } else {
        ring_forward_of(s, row_native);
    }
}

static void ring_backward(ring_step *s) {
    if (row_is_half(s->type) && s->type == ASSAY_BF16) {
        ring_backward_of(s, ASSAY_BF16);
    } else if (row_is_half(s->type)) {
        ring_backward_of(s, ASSAY_F16);
    } else {
        ring_backward_of(s, row_native);
    }
}
