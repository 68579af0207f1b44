/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: rows of layer norm and of its gradient. Block by block in turns: memory reads the one row while
   it writes the other, and the CPU does not wait for a row's sums before it goes on. Where they go past the caches each row goes by
   lines of its own; what lies before the first and behind the last block of any comes last. Inlined with constants for what steps have in
   common.

   Rows of f16 and bf16 have twice the elements to a line of memory, so that arithmetic counts: what is (x - mean) rstd for others is
   x rstd - mean rstd there, in one step, which rounds mean rstd once more: to a share of f32's digits, not of theirs. */

enum { LAYER_BLOCK = 2 * PAIR };

static inline int64_t layer_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* (x - mean) rstd of all elements of a row. */
typedef struct layer_scale {
    value mean, rstd, offset; /* offset: -mean rstd */
} layer_scale;

static inline layer_scale layer_scale_of(double mean, double rstd) {
    return (layer_scale){row_number(mean), row_number(rstd), row_number(-mean * rstd)};
}

static inline __attribute__((always_inline)) pair layer_scaled(dtype t, const layer_scale *s, pair x) {
    if (row_is_half(t)) {
        return (pair){x.a * s->rstd + s->offset, x.b * s->rstd + s->offset};
    }
    return (pair){(x.a - s->mean) * s->rstd, (x.b - s->mean) * s->rstd};
}

/* What finishes a row: beside the step, so that the compiler need not read it anew after each store. */
typedef struct layer_finish {
    const value *weight, *bias; /* NULL: none */
    layer_scale scale;
    int64_t n;
    bool past;
    row_edge *edge;
} layer_finish;

static inline __attribute__((always_inline)) pair layer_pair(dtype t, const layer_finish *f, pair p, const beside *w, const beside *b,
                                                             int64_t i) {
    p = layer_scaled(t, &f->scale, p);
    if (f->weight != NULL) {
        pair q = beside_pair(t, w, i);
        p.a *= q.a;
        p.b *= q.b;
    }
    if (f->bias != NULL) {
        pair q = beside_pair(t, b, i);
        p.a += q.a;
        p.b += q.b;
    }
    return p;
}

/* What the blocks leave of the row that is finished: less than a line, or from where one begins. */
static inline void layer_rest(dtype t, void *to, const void *from, const layer_finish *f, int64_t i, int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        beside w = beside_from(t, f->weight, f->n, i), b = beside_from(t, f->bias, f->n, i);
        row_set_first(t, to, i, layer_pair(t, f, row_pair_first(t, from, i, m), &w, &b, 0), m, f->past, f->edge);
    }
}

/* What a row that is read adds up to. */
typedef struct layer_moments {
    pair sum, squares;
} layer_moments;

static inline __attribute__((always_inline)) void layer_add(layer_moments *sums, pair p) {
    sums->sum.a += p.a;
    sums->sum.b += p.b;
    sums->squares.a += p.a * p.a;
    sums->squares.b += p.b * p.b;
}

static inline void layer_rest_sums(dtype t, const void *row, value c, int64_t i, int64_t end, layer_moments *sums) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        pair p = row_pair_first(t, row, i, m);
        layer_add(sums, pair_first(t, (pair){p.a - c, p.b - c}, m, 0));
    }
}

/* Adds what lies before the first block of a row that is read, and behind its last. */
static inline void layer_ends(dtype t, const void *row, value c, int64_t head, int64_t end, int64_t n, double *sum, double *squares) {
    layer_moments sums = {pair_of(0), pair_of(0)};
    layer_rest_sums(t, row, c, 0, head, &sums);
    layer_rest_sums(t, row, c, end, n, &sums);
    *sum += (double)pack_sum(sums.sum.a + sums.sum.b);
    *squares += (double)pack_sum(sums.squares.a + sums.squares.b);
}

/* centred: distances are not from 0. */
static inline __attribute__((always_inline)) void layer_with(layer_step *s, dtype t, bool reads, bool stores, bool weighs, bool shifts,
                                                             bool centred, bool past) {
    const void *x = s->x, *from = s->from;
    void *to = s->to;
    const layer_finish f = {weighs ? s->weight : NULL, shifts ? s->bias : NULL, layer_scale_of(s->mean, s->rstd), s->n,
                            past, s->edge};
    const value c = (value)s->centre;
    const int64_t n = s->n, head = row_head(t, x, n, past), to_head = row_head(t, to, n, past);
    const int64_t end = (n - layer_larger(head, to_head)) / LAYER_BLOCK * LAYER_BLOCK;
    const beside w = beside_from(t, f.weight, n, to_head), b = beside_from(t, f.bias, n, to_head);
    const row_asking asking = row_asks();
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < SUM_BLOCK ? end : i + SUM_BLOCK;
        layer_moments sums = {pair_of(0), pair_of(0)};
        for (; i < stop; i += LAYER_BLOCK) {
            for (int k = 0; reads && k < LAYER_BLOCK; k += PAIR) {
                pair p = row_pair(t, x, head + i + k);
                if (stores && past) {
                    row_ask(t, x, head + i + k, asking);
                }
                layer_add(&sums, centred ? (pair){p.a - c, p.b - c} : p);
            }
            pair made[LAYER_BLOCK / PAIR] = {{.a = {0}, .b = {0}}};
            for (int k = 0; stores && k < LAYER_BLOCK; k += PAIR) {
                made[k / PAIR] = layer_pair(t, &f, row_pair(t, from, to_head + i + k), &w, &b, i + k);
            }
            for (int k = 0; stores && k < LAYER_BLOCK; k += PAIR) {
                row_set_pair(t, to, to_head + i + k, made[k / PAIR], past);
            }
        }
        sum += (double)pack_sum(sums.sum.a + sums.sum.b);
        squares += (double)pack_sum(sums.squares.a + sums.squares.b);
    }
    if (stores) {
        layer_rest(t, to, from, &f, 0, to_head);
        layer_rest(t, to, from, &f, to_head + end, n);
    }
    if (reads && stores && past) {
        row_ask_rest(t, x, head + end, n, asking);
    }
    if (reads && (head > 0 || head + end < n)) {
        layer_ends(t, x, c, head, head + end, n, &sum, &squares);
    }
    s->sum = sum;
    s->squares = squares;
}

/* Both at once, by weights and what goes with them, and the last row of a thread have loops of their own past the caches; what is only
   read asks for nothing there. */
static inline __attribute__((always_inline)) void layer_stream_of(layer_step *s, dtype t) {
    bool reads = s->x != NULL, stores = s->to != NULL, both = s->weight != NULL && s->bias != NULL;
    if (reads && stores && both) {
        s->past ? layer_with(s, t, true, true, true, true, true, true) : layer_with(s, t, true, true, true, true, true, false);
    } else if (reads && !stores && s->centre == 0) {
        layer_with(s, t, true, false, false, false, false, s->past);
    } else if (reads && !stores) {
        layer_with(s, t, true, false, false, false, true, s->past);
    } else if (!reads && both) {
        s->past ? layer_with(s, t, false, true, true, true, false, true) : layer_with(s, t, false, true, true, true, false, false);
    } else {
        layer_with(s, t, reads, stores, s->weight != NULL, s->bias != NULL, true, s->past);
    }
}

static void layer_stream(layer_step *s) {
    BY_ROW_TYPE(s->type, layer_stream_of(s, t));
}

/* --- its gradient ----------------------------------------------------------------------------------------------------------- */

/* What finishes a row: rstd ((g - mean of g) - (x - mean) rstd (mean of g (x - mean) rstd)). */
typedef struct layer_gradient {
    const value *weight; /* NULL: 1 */
    value mean, rstd, g, gx;
    value slope, offset; /* the same as g rstd + (x slope + offset) */
    int64_t n;
    bool past;
    row_edge *edge;
} layer_gradient;

static inline layer_gradient layer_gradient_of(const layer_back_step *s, const value *weight) {
    double slope = -s->from_rstd * s->from_rstd * s->from_gx;
    return (layer_gradient){weight, row_number(s->from_mean), row_number(s->from_rstd), row_number(s->from_g), row_number(s->from_gx),
                            row_number(slope), row_number(-s->from_mean * slope - s->from_g * s->from_rstd), s->n, s->past,
                            s->edge};
}

static inline __attribute__((always_inline)) pair layer_gradient_pair(dtype t, const layer_gradient *f, pair dy, pair x, const beside *w,
                                                                      int64_t i) {
    if (f->weight != NULL) {
        pair q = beside_pair(t, w, i);
        dy.a *= q.a;
        dy.b *= q.b;
    }
    if (row_is_half(t)) {
        return (pair){dy.a * f->rstd + (x.a * f->slope + f->offset), dy.b * f->rstd + (x.b * f->slope + f->offset)};
    }
    return (pair){((dy.a - f->g) - (x.a - f->mean) * f->rstd * f->gx) * f->rstd,
                  ((dy.b - f->g) - (x.b - f->mean) * f->rstd * f->gx) * f->rstd};
}

static inline void layer_gradient_rest(dtype t, void *to, const void *dy, const void *x, const layer_gradient *f, int64_t i,
                                       int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        beside w = beside_from(t, f->weight, f->n, i);
        row_set_first(t, to, i, layer_gradient_pair(t, f, row_pair_first(t, dy, i, m), row_pair_first(t, x, i, m), &w, 0), m,
                      f->past, f->edge);
    }
}

/* What goes with a row's elements. */
typedef struct layer_back_row {
    const void *dy, *x; /* NULL: there is no such row */
    const value *weight;     /* NULL: 1 */
    value *weights, *biases; /* sums over rows; NULL: none */
    layer_scale scale;
    int64_t n;
} layer_back_row;

/* Sums of g and g (x - mean) rstd. */
typedef struct layer_back_sums {
    pair g, gx;
} layer_back_sums;

/* dy, and dy (x - mean) rstd in place of x. */
static inline __attribute__((always_inline)) void layer_products(dtype t, const layer_scale *scale, pair dy, pair *x) {
    *x = layer_scaled(t, scale, *x);
    x->a *= dy.a;
    x->b *= dy.b;
}

/* weight: NULL for 1. */
static inline __attribute__((always_inline)) void layer_add_sums(pair dy, pair products, const pair *weight, layer_back_sums *sums) {
    if (weight != NULL) {
        pair q = *weight;
        dy.a *= q.a;
        dy.b *= q.b;
        products.a *= q.a;
        products.b *= q.b;
    }
    sums->g.a += dy.a;
    sums->g.b += dy.b;
    sums->gx.a += products.a;
    sums->gx.b += products.b;
}

static inline __attribute__((always_inline)) void layer_add_beside(dtype t, const beside *sums, int64_t i, pair more) {
    pair p = beside_pair(t, sums, i);
    p.a += more.a;
    p.b += more.b;
    beside_set(t, sums, i, p);
}

/* Elements [i, end) of a row, to the sums over rows as well. Where no element is, nothing is added. */
static inline void layer_add_rest(dtype t, const layer_back_row *r, int64_t i, int64_t end, layer_back_sums *sums) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        beside w = beside_from(t, r->weight, r->n, i), ws = beside_from(t, r->weights, r->n, i), bs = beside_from(t, r->biases, r->n, i);
        pair dy = row_pair_first(t, r->dy, i, m), products = row_pair_first(t, r->x, i, m);
        layer_products(t, &r->scale, dy, &products);
        products = pair_first(t, products, m, 0);
        if (r->weights != NULL) {
            layer_add_beside(t, &ws, 0, products);
            layer_add_beside(t, &bs, 0, dy);
        }
        /* Beside what is none may lie anything. */
        pair q = r->weight != NULL ? pair_first(t, beside_pair(t, &w, 0), m, 0) : pair_of(1);
        layer_add_sums(dy, products, r->weight != NULL ? &q : NULL, sums);
    }
}

/* Sums over rows take both rows at once, which loads and stores them once for two: layer norm's gradient of 1024 elements a row
   took a quarter longer with a load and a store of them for each row (Zen 4). Both are gone over by the same lines then. */
static inline __attribute__((always_inline)) void layer_back_with(layer_back_step *s, dtype t, bool reads, bool stores, bool weighs,
                                                                  bool adds, bool past) {
    const int64_t n = s->n;
    const value *weight = weighs ? s->weight : NULL;
    const layer_back_row read = {s->dy, s->x, weight, adds ? s->weight_sums : NULL, adds ? s->bias_sums : NULL,
                                 layer_scale_of(s->mean, s->rstd), n};
    const layer_back_row kept = {s->from_dy, s->from_x, weight, read.weights, read.biases, layer_scale_of(s->from_mean, s->from_rstd), n};
    const layer_gradient f = layer_gradient_of(s, weight);
    void *to = s->to;
    const int64_t to_head = row_head(t, to, n, past), head = adds && stores ? to_head : row_head(t, read.dy, n, past);
    const int64_t end = (n - layer_larger(head, to_head)) / LAYER_BLOCK * LAYER_BLOCK;
    const beside w = beside_from(t, weight, n, head), to_w = beside_from(t, weight, n, to_head);
    const beside ws = beside_from(t, read.weights, n, head), bs = beside_from(t, read.biases, n, head);
    const row_asking asking = row_asks();
    double sum = 0, products = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < SUM_BLOCK ? end : i + SUM_BLOCK;
        layer_back_sums sums = {pair_of(0), pair_of(0)};
        for (; i < stop; i += LAYER_BLOCK) {
            pair made[LAYER_BLOCK / PAIR] = {{.a = {0}, .b = {0}}};
            for (int k = 0; k < LAYER_BLOCK; k += PAIR) {
                pair biases = pair_of(0), weights = pair_of(0);
                if (reads) {
                    if (past) {
                        row_ask(t, read.dy, head + i + k, asking);
                        row_ask(t, read.x, head + i + k, asking);
                    }
                    biases = row_pair(t, read.dy, head + i + k);
                    weights = row_pair(t, read.x, head + i + k);
                    layer_products(t, &read.scale, biases, &weights);
                    pair q = weight != NULL ? beside_pair(t, &w, i + k) : pair_of(1);
                    layer_add_sums(biases, weights, weight != NULL ? &q : NULL, &sums);
                }
                if (stores) {
                    pair dy = row_pair(t, kept.dy, to_head + i + k), x = row_pair(t, kept.x, to_head + i + k);
                    made[k / PAIR] = layer_gradient_pair(t, &f, dy, x, &to_w, i + k);
                    if (adds) {
                        layer_products(t, &kept.scale, dy, &x);
                        biases = (pair){biases.a + dy.a, biases.b + dy.b};
                        weights = (pair){weights.a + x.a, weights.b + x.b};
                    }
                }
                if (adds) {
                    layer_add_beside(t, &ws, i + k, weights);
                    layer_add_beside(t, &bs, i + k, biases);
                }
            }
            for (int k = 0; stores && k < LAYER_BLOCK; k += PAIR) {
                row_set_pair(t, to, to_head + i + k, made[k / PAIR], past);
            }
        }
        sum += (double)pack_sum(sums.g.a + sums.g.b);
        products += (double)pack_sum(sums.gx.a + sums.gx.b);
    }
    if (head > 0 || head + end < n || to_head > 0 || to_head + end < n) {
        layer_back_sums rest = {pair_of(0), pair_of(0)}, others = rest;
        if (stores && adds) {
            layer_add_rest(t, &kept, 0, to_head, &others);
            layer_add_rest(t, &kept, to_head + end, n, &others);
        }
        if (stores) {
            layer_gradient_rest(t, to, kept.dy, kept.x, &f, 0, to_head);
            layer_gradient_rest(t, to, kept.dy, kept.x, &f, to_head + end, n);
        }
        if (reads && past) {
            row_ask_rest(t, read.dy, head + end, n, asking);
            row_ask_rest(t, read.x, head + end, n, asking);
        }
        if (reads) {
            layer_add_rest(t, &read, 0, head, &rest);
            layer_add_rest(t, &read, head + end, n, &rest);
        }
        sum += (double)pack_sum(rest.g.a + rest.g.b);
        products += (double)pack_sum(rest.gx.a + rest.gx.b);
    }
    s->g = sum;
    s->gx = products;
}

static inline __attribute__((always_inline)) void layer_back_of(layer_back_step *s, dtype t) {
    bool reads = s->dy != NULL, stores = s->to != NULL, weighs = s->weight != NULL, adds = s->weight_sums != NULL;
    if (reads && stores && weighs && adds) {
        s->past ? layer_back_with(s, t, true, true, true, true, true) : layer_back_with(s, t, true, true, true, true, false);
    } else if (reads && stores && weighs) {
        s->past ? layer_back_with(s, t, true, true, true, false, true) : layer_back_with(s, t, true, true, true, false, false);
    } else {
        layer_back_with(s, t, reads, stores, weighs, adds, s->past);
    }
}

static void layer_back_stream(layer_back_step *s) {
    BY_ROW_TYPE(s->type, layer_back_of(s, t));
}
