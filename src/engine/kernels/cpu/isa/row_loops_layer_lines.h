/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: several short rows of layer norm by one call, of whole pairs each: some are finished while the sums of as many
   behind them are found. A call for each row takes longer than rows of 128 do. */

static inline __attribute__((always_inline)) void layer_line_sums(const layer_lines *s, dtype t, int64_t line, bool centred, bool past,
                                                                  row_asking asking) {
    const value c = (value)s->centre;
    const void *x = row_at(t, s->x, line * s->n);
    layer_moments sums = {pair_of(0), pair_of(0)};
    for (int64_t i = 0; i < s->n; i += PAIR) {
        pair p = row_pair(t, x, i);
        if (past) {
            row_ask(t, x, i, asking);
        }
        layer_add(&sums, centred ? (pair){p.a - c, p.b - c} : p);
    }
    s->sum[line] = (double)pack_sum(sums.sum.a + sums.sum.b);
    s->squares[line] = (double)pack_sum(sums.squares.a + sums.squares.b);
}

/* Elements [i, i + m) of a line. They are made before any is stored, behind which loads would wait. */
static inline __attribute__((always_inline)) void layer_line_put(dtype t, void *to, const void *from, const layer_finish *f, const beside *w,
                                                                 const beside *b, int64_t i, int64_t m) {
    pair made[LAYER_BLOCK / PAIR];
    for (int64_t k = 0; k < m; k += PAIR) {
        made[k / PAIR] = layer_pair(t, f, row_pair(t, from, i + k), w, b, i + k);
    }
    for (int64_t k = 0; k < m; k += PAIR) {
        row_set_pair(t, to, i + k, made[k / PAIR], f->past);
    }
}

static inline __attribute__((always_inline)) void layer_lines_with(const layer_lines *s, dtype t, bool weighs, bool shifts, bool centred,
                                                                   bool past) {
    const row_asking asking = row_asks();
    layer_finish f = {.weight = weighs ? s->weight : NULL, .bias = shifts ? s->bias : NULL, .n = s->n, .past = past};
    const beside w = beside_from(t, f.weight, s->n, 0), b = beside_from(t, f.bias, s->n, 0);
    const int64_t whole = s->n / LAYER_BLOCK * LAYER_BLOCK;
    for (int64_t line = 0; line < s->lines || line < s->finished; line++) {
        if (line < s->lines) {
            layer_line_sums(s, t, line, centred, past, asking);
        }
        if (line >= s->finished) {
            continue;
        }
        const void *from = row_at(t, s->from, line * s->n);
        void *to = row_to(t, s->to, line * s->n);
        f.scale = layer_scale_of(s->mean[line], s->rstd[line]);
        for (int64_t i = 0; i < whole; i += LAYER_BLOCK) {
            layer_line_put(t, to, from, &f, &w, &b, i, LAYER_BLOCK);
        }
        if (whole < s->n) {
            layer_line_put(t, to, from, &f, &w, &b, whole, PAIR);
        }
    }
}

/* Long rows, abreast of each other, so many: what weighs and shifts is loaded once for all of them. Two rows of 2048 floats leave no room for it in
   L1. */
enum { ABREAST = PACK * (int)sizeof(value) >= STREAM_LINE ? 4 : 2 };

static inline __attribute__((always_inline)) void layer_abreast_with(const layer_lines *s, dtype t, int64_t first, const int count, bool reads,
                                                                     bool stores, bool weighs, bool shifts) {
    const value *weight = weighs ? s->weight : NULL, *bias = shifts ? s->bias : NULL;
    const beside w = beside_from(t, weight, s->n, 0), b = beside_from(t, bias, s->n, 0);
    const value c = (value)s->centre;
    const void *x[ABREAST], *from[ABREAST];
    void *to[ABREAST];
    layer_scale scales[ABREAST];
    double sum[ABREAST] = {0}, squares[ABREAST] = {0};
    for (int r = 0; r < count; r++) {
        x[r] = reads ? row_at(t, s->x, (first + r) * s->n) : NULL;
        from[r] = stores ? row_at(t, s->from, (first + r) * s->n) : NULL;
        to[r] = stores ? row_to(t, s->to, (first + r) * s->n) : NULL;
        scales[r] = stores ? layer_scale_of(s->mean[first + r], s->rstd[first + r]) : (layer_scale){0};
    }
    for (int64_t i = 0; i < s->n;) {
        const int64_t stop = s->n - i < SUM_BLOCK ? s->n : i + SUM_BLOCK;
        layer_moments sums[ABREAST];
        for (int r = 0; r < count; r++) {
            sums[r] = (layer_moments){pair_of(0), pair_of(0)};
        }
        for (; i < stop; i += PAIR) {
            const pair q = weighs ? beside_pair(t, &w, i) : pair_of(1), d = shifts ? beside_pair(t, &b, i) : pair_of(0);
            pair made[ABREAST];
#pragma GCC unroll 4
            for (int r = 0; r < count; r++) {
                if (reads) {
                    pair p = row_pair(t, x[r], i);
                    row_ask_at(t, x[r], i, s->ahead);
                    layer_add(&sums[r], (pair){p.a - c, p.b - c});
                }
                if (stores) {
                    made[r] = layer_scaled(t, &scales[r], row_pair(t, from[r], i));
                    made[r] = (pair){made[r].a * q.a + d.a, made[r].b * q.b + d.b};
                }
            }
#pragma GCC unroll 4
            for (int r = 0; stores && r < count; r++) {
                row_set_pair(t, to[r], i, made[r], true);
            }
        }
        for (int r = 0; reads && r < count; r++) {
            sum[r] += (double)pack_sum(sums[r].sum.a + sums[r].sum.b);
            squares[r] += (double)pack_sum(sums[r].squares.a + sums[r].squares.b);
        }
    }
    for (int r = 0; reads && r < count; r++) {
        s->sum[first + r] = sum[r];
        s->squares[first + r] = squares[r];
    }
}

static inline __attribute__((always_inline)) void layer_abreast_of(const layer_lines *s, dtype t, int64_t first, const int count, bool reads,
                                                                   bool stores) {
    if (s->weight != NULL && s->bias != NULL) {
        layer_abreast_with(s, t, first, count, reads, stores, true, true);
    } else {
        layer_abreast_with(s, t, first, count, reads, stores, s->weight != NULL, s->bias != NULL);
    }
}

static inline __attribute__((always_inline)) void layer_abreast(const layer_lines *s, dtype t) {
    int64_t first = 0;
    for (; first + ABREAST <= s->lines && first + ABREAST <= s->finished; first += ABREAST) {
        layer_abreast_of(s, t, first, ABREAST, true, true);
    }
    for (; first < s->lines || first < s->finished; first++) { /* at the ends */
        if (first < s->lines) {
            layer_abreast_of(s, t, first, 1, true, false);
        }
        if (first < s->finished) {
            layer_abreast_of(s, t, first, 1, false, true);
        }
    }
}

static inline __attribute__((always_inline)) void layer_lines_of(const layer_lines *s, dtype t) {
    if (s->ahead > 0) {
        layer_abreast(s, t);
    } else if (!s->past) {
        layer_lines_with(s, t, true, true, true, false);
    } else if (s->weight != NULL && s->bias != NULL) {
        s->centre == 0 ? layer_lines_with(s, t, true, true, false, true) : layer_lines_with(s, t, true, true, true, true);
    } else {
        layer_lines_with(s, t, s->weight != NULL, s->bias != NULL, true, true);
    }
}

static void layer_lines_run(const layer_lines *s) {
    BY_ROW_TYPE(s->type, layer_lines_of(s, t));
}

/* --- their gradient ---------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void layer_back_line_sums(const layer_back_lines *s, dtype t, int64_t line, bool past,
                                                                       const beside *w, row_asking asking) {
    const void *dy = row_at(t, s->dy, line * s->n), *x = row_at(t, s->x, line * s->n);
    const layer_scale scale = layer_scale_of(s->mean[line], s->rstd[line]);
    layer_back_sums sums = {pair_of(0), pair_of(0)};
    for (int64_t i = 0; i < s->n; i += PAIR) {
        pair g = row_pair(t, dy, i), products = row_pair(t, x, i), q = beside_pair(t, w, i);
        if (past) {
            row_ask(t, dy, i, asking);
            row_ask(t, x, i, asking);
        }
        layer_products(t, &scale, g, &products);
        layer_add_sums(g, products, &q, &sums);
    }
    s->g[line] = (double)pack_sum(sums.g.a + sums.g.b) * s->share;
    s->gx[line] = (double)pack_sum(sums.gx.a + sums.gx.b) * s->share;
}

/* Some rows abreast: sums over rows, if they are wanted, are loaded and stored once for all of them. */
static inline __attribute__((always_inline)) void layer_back_put(const layer_back_lines *s, dtype t, int64_t first, const int count, bool past,
                                                                 bool adds, const beside *w, const beside *ws, const beside *bs) {
    const void *dy[ABREAST], *x[ABREAST];
    void *to[ABREAST];
    layer_gradient f[ABREAST];
    layer_scale scales[ABREAST];
    for (int r = 0; r < count; r++) {
        const int64_t line = first + r;
        const layer_back_step own = {.from_mean = s->from_mean[line], .from_rstd = s->from_rstd[line], .from_g = s->from_g[line],
                                     .from_gx = s->from_gx[line], .n = s->n, .past = past};
        f[r] = layer_gradient_of(&own, s->weight);
        scales[r] = layer_scale_of(own.from_mean, own.from_rstd);
        dy[r] = row_at(t, s->from_dy, line * s->n);
        x[r] = row_at(t, s->from_x, line * s->n);
        to[r] = row_to(t, s->to, line * s->n);
    }
    for (int64_t i = 0; i < s->n; i += PAIR) {
        pair weights = adds ? beside_pair(t, ws, i) : pair_of(0), biases = adds ? beside_pair(t, bs, i) : pair_of(0), made[ABREAST];
#pragma GCC unroll 4
        for (int r = 0; r < count; r++) {
            pair g = row_pair(t, dy[r], i), products = row_pair(t, x[r], i);
            made[r] = layer_gradient_pair(t, &f[r], g, products, w, i);
            if (adds) {
                layer_products(t, &scales[r], g, &products);
                weights = (pair){weights.a + products.a, weights.b + products.b};
                biases = (pair){biases.a + g.a, biases.b + g.b};
            }
        }
        if (adds) {
            beside_set(t, ws, i, weights);
            beside_set(t, bs, i, biases);
        }
#pragma GCC unroll 4
        for (int r = 0; r < count; r++) {
            row_set_pair(t, to[r], i, made[r], past);
        }
    }
}

static inline __attribute__((always_inline)) void layer_back_lines_by(const layer_back_lines *s, dtype t, bool past, bool adds) {
    const row_asking asking = row_asks();
    const beside w = beside_from(t, s->weight, s->n, 0);
    const beside ws = beside_from(t, adds ? s->weight_sums : NULL, s->n, 0), bs = beside_from(t, adds ? s->bias_sums : NULL, s->n, 0);
    for (int64_t line = 0; line < s->lines || line < s->finished;) {
        const int64_t some = line + ABREAST <= s->finished ? ABREAST : 1;
        for (int64_t k = line; k < line + some && k < s->lines; k++) {
            layer_back_line_sums(s, t, k, past, &w, asking);
        }
        if (some == ABREAST) {
            layer_back_put(s, t, line, ABREAST, past, adds, &w, &ws, &bs);
        } else if (line < s->finished) {
            layer_back_put(s, t, line, 1, past, adds, &w, &ws, &bs);
        }
        line += some;
    }
}

static inline __attribute__((always_inline)) void layer_back_lines_of(const layer_back_lines *s, dtype t) {
    if (s->past) {
        layer_back_lines_by(s, t, true, true);
    } else if (s->weight_sums != NULL) {
        layer_back_lines_by(s, t, false, true);
    } else {
        layer_back_lines_by(s, t, false, false);
    }
}

static void layer_back_lines_run(const layer_back_lines *s) {
    BY_ROW_TYPE(s->type, layer_back_lines_of(s, t));
}
