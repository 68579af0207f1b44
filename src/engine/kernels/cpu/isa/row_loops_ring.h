/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_norm.h: the rings of norms with channels apart (ring_step). Rows are of any type that row_loops_pairs.h
   reads. */

enum { RING_BLOCK = 2 * PAIR };

/* Elements further on at which memory is asked for, as far as the next row at most. Where it is to come to L2, nearer than for a single
   row: group norm of [64, 256, 56, 56] by two rows at a time takes two cores of a Zen 4 8.3 ms from 12 KiB ahead, 7.7 from 8, 7.2 from 4
   and 7.3 from 3, the gradient of batch norm 13.8, 13.5, 13.6 and 13.0 (2026-11). On two cores of a Zen 5 the gradient of group norm of
   [8, 512, 56, 56] takes 2.26 ms from 2 KiB ahead and 1.97 from 4, batch norm of [64, 256, 56, 56] 5.9 and 5.4, its gradient, which reads
   from four places at a time, 8.7 and 9.4. */
static inline int64_t ring_ahead(dtype t, row_asking way, int64_t n, int64_t places) {
    enum { FAR_BYTES = 3 << 10, FEW_PLACES = 2 };
    int64_t near = places <= FEW_PLACES && way == ASK_LINES ? ROW_AHEAD_BYTES : ROW_NEAR_BYTES;
    int64_t far = (way == ASK_FAR_LINES ? FAR_BYTES : near) / row_size(t);
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

/* The first m <= PAIR elements at i as they lie, to 'at'. */
static inline __attribute__((always_inline)) void ring_keep(dtype t, void *kept, int64_t at, const void *from, int64_t i, int64_t m) {
    memcpy(row_to(t, kept, at), row_at(t, from, i), (size_t)(m * row_size(t)));
}

static inline __attribute__((always_inline)) pair ring_centred(pair p, value centre) {
    return (pair){p.a - centre, p.b - centre};
}

static inline __attribute__((always_inline)) const void *ring_further(const void *at, int64_t bytes) {
    return at != NULL ? (const char *)at + bytes : NULL;
}

static inline __attribute__((always_inline)) void *ring_place(void *at, int64_t bytes) {
    return at != NULL ? (char *)at + bytes : NULL;
}

/* One of a step's rows. */
typedef struct ring_row {
    const void *from, *from_dy, *next, *next_dy, *after, *after_dy;
    void *to, *kept, *kept_dy;
    int64_t head; /* elements in front of the first that begins a line of memory where it is finished to */
    int64_t rest; /* bytes that what is kept lies further on, where it is of no whole block */
    value numbers[6]; /* as ring_numbers */
} ring_row;

/* A step's rows. Answers the elements of every one that are finished and read in whole blocks: what is finished runs ahead of what is
   read over it, to where lines begin. */
static inline __attribute__((always_inline)) int64_t ring_rows_of(dtype t, const ring_step *s, ring_row *row, bool past) {
    const int64_t in_blocks = s->n / RING_BLOCK * RING_BLOCK;
    int64_t most = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        int64_t x = r * s->x_step, dy = r * s->dy_step, kept = s->in_turn ? r * RING_BLOCK * row_size(t) : r * s->kept_step;
        const ring_numbers *f = &s->finish[r];
        row[r] = (ring_row){.from = ring_further(s->from, kept),
                            .from_dy = ring_further(s->from_dy, kept),
                            .next = ring_further(s->next, x),
                            .next_dy = ring_further(s->next_dy, dy),
                            .after = ring_further(s->after, x),
                            .after_dy = ring_further(s->after_dy, dy),
                            .to = ring_place(s->to, r * s->to_step),
                            .kept = ring_place(s->kept, kept),
                            .kept_dy = ring_place(s->kept_dy, kept),
                            .rest = s->in_turn ? ((s->rows - 1) * in_blocks + r * (s->n - in_blocks - RING_BLOCK)) * row_size(t) : 0,
                            .numbers = {row_number(f->factor), row_number(f->plus), row_number(f->mean), row_number(f->a),
                                        row_number(f->b), row_number(f->c)}};
        row[r].head = s->to != NULL ? row_head(t, row[r].to, s->n, past) : 0;
        most = row[r].head > most ? row[r].head : most;
    }
    return (s->n - most) / RING_BLOCK * RING_BLOCK;
}

/* What a step does, as constants where loops are inlined. */
typedef struct ring_way {
    int64_t rows;
    bool in_turn, finishes, reads, keeps, past;
} ring_way;

static inline __attribute__((always_inline)) ring_way ring_way_of(const ring_step *s, bool reads, bool keeps, bool past) {
    return (ring_way){.rows = s->rows, .in_turn = s->in_turn, .finishes = s->to != NULL, .reads = reads, .keeps = keeps, .past = past};
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
        row_set_first(t, to, i, ring_scaled(row_pair_first(t, from, i, m), factor, offset), m, past, NULL);
    }
}

static inline __attribute__((always_inline)) void ring_forward_with(ring_step *s, dtype t, const ring_way way) {
    ring_row row[RING_ROWS];
    const value centre = (value)s->centre;
    const int64_t n = s->n, far = ring_ahead(t, row_asks(), n, way.rows), rows = way.rows, whole = ring_rows_of(t, s, row, way.past);
    const row_asking asking = row_asks();
    const bool finishes = way.finishes, reads = way.reads, keeps = way.keeps, past = way.past;
    const int64_t turns = way.in_turn ? rows : 1;
    ring_sums sums = {pair_of(0), pair_of(0)};
    s->sum = s->products = 0;
    for (int64_t r = 0; finishes && r < rows; r++) {
        const ring_row *w = &row[r];
        ring_finish_rest(t, w->to, w->from, w->numbers[0], w->numbers[1], 0, w->head, past);
    }
    for (int64_t i = 0, summed = 0; i < whole; i += RING_BLOCK) {
        if (reads && summed >= SUM_BLOCK) {
            ring_sums_end(&sums, s);
            summed = 0;
        }
        summed += rows * RING_BLOCK;
        for (int64_t r = 0; r < rows; r++) {
            const ring_row *w = &row[r];
            pair made[RING_BLOCK / PAIR]; /* before any is stored, behind which what is read would wait */
            for (int k = 0; finishes && k < RING_BLOCK; k += PAIR) {
                made[k / PAIR] = ring_scaled(row_pair(t, w->from, w->head + turns * i + k), w->numbers[0], w->numbers[1]);
                if (!reads) {
                    row_set_pair(t, w->to, w->head + i + k, made[k / PAIR], past);
                }
            }
            if (reads && keeps) {
                ring_ask(t, w->next, w->after, i, n, far, asking);
            }
            for (int k = 0; reads && k < RING_BLOCK; k += PAIR) {
                ring_add(&sums, ring_centred(row_pair(t, w->next, i + k), centre));
                if (keeps) {
                    ring_keep(t, w->kept, turns * i + k, w->next, i + k, PAIR);
                }
            }
            for (int k = 0; finishes && reads && k < RING_BLOCK; k += PAIR) {
                row_set_pair(t, w->to, w->head + i + k, made[k / PAIR], past);
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        const ring_row *w = &row[r];
        ring_finish_rest(t, w->to, ring_further(w->from, w->rest), w->numbers[0], w->numbers[1], finishes ? w->head + whole : n, n, past);
        for (int64_t i = whole; reads && keeps && i < n; i += RING_BLOCK) {
            ring_ask(t, w->next, w->after, i, n, far, asking);
        }
        for (int64_t m, i = whole; reads && i < n; i += m) {
            m = n - i < PAIR ? n - i : PAIR;
            ring_add(&sums, pair_first(t, ring_centred(row_pair_first(t, w->next, i, m), centre), m, 0));
            if (keeps) {
                ring_keep(t, ring_place(w->kept, w->rest), i, w->next, i, m);
            }
        }
    }
    ring_sums_end(&sums, s);
}

/* --- backward --------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) pair ring_gradient_pair(const value *f, pair dy, pair x) {
    const value mean = f[0], a = f[1], b = f[2], c = f[3];
    return (pair){dy.a * a + ((x.a - mean) * b + c), dy.b * a + ((x.b - mean) * b + c)};
}

static inline void ring_gradient_rest(dtype t, void *to, const void *from_dy, const void *from, const value *f, int64_t i,
                                      int64_t end, bool past) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, ring_gradient_pair(f, row_pair_first(t, from_dy, i, m), row_pair_first(t, from, i, m)), m, past, NULL);
    }
}

static inline __attribute__((always_inline)) void ring_add_products(ring_sums *sums, pair dy, pair x) {
    sums->sum.a += dy.a;
    sums->sum.b += dy.b;
    sums->products.a += dy.a * x.a;
    sums->products.b += dy.b * x.b;
}

static inline __attribute__((always_inline)) void ring_backward_with(ring_step *s, dtype t, const ring_way way) {
    ring_row row[RING_ROWS];
    const value centre = (value)s->centre;
    const int64_t n = s->n, far = ring_ahead(t, row_asks(), n, 2 * way.rows), rows = way.rows, whole = ring_rows_of(t, s, row, way.past);
    const row_asking asking = row_asks();
    const bool finishes = way.finishes, reads = way.reads, keeps = way.keeps, past = way.past;
    const int64_t turns = way.in_turn ? rows : 1;
    ring_sums sums = {pair_of(0), pair_of(0)};
    s->sum = s->products = 0;
    for (int64_t r = 0; finishes && r < rows; r++) {
        const ring_row *w = &row[r];
        ring_gradient_rest(t, w->to, w->from_dy, w->from, w->numbers + 2, 0, w->head, past);
    }
    for (int64_t i = 0, summed = 0; i < whole; i += RING_BLOCK) {
        if (reads && summed >= SUM_BLOCK) {
            ring_sums_end(&sums, s);
            summed = 0;
        }
        summed += rows * RING_BLOCK;
        for (int64_t r = 0; r < rows; r++) {
            const ring_row *w = &row[r];
            pair made[RING_BLOCK / PAIR];
            for (int k = 0; finishes && k < RING_BLOCK; k += PAIR) {
                int64_t at = w->head + turns * i + k;
                made[k / PAIR] = ring_gradient_pair(w->numbers + 2, row_pair(t, w->from_dy, at), row_pair(t, w->from, at));
                if (!reads) {
                    row_set_pair(t, w->to, w->head + i + k, made[k / PAIR], past);
                }
            }
            if (reads && keeps) {
                ring_ask(t, w->next, w->after, i, n, far, asking);
                ring_ask(t, w->next_dy, w->after_dy, i, n, far, asking);
            }
            for (int k = 0; reads && k < RING_BLOCK; k += PAIR) {
                ring_add_products(&sums, row_pair(t, w->next_dy, i + k), ring_centred(row_pair(t, w->next, i + k), centre));
                if (keeps) {
                    ring_keep(t, w->kept, turns * i + k, w->next, i + k, PAIR);
                    ring_keep(t, w->kept_dy, turns * i + k, w->next_dy, i + k, PAIR);
                }
            }
            for (int k = 0; finishes && reads && k < RING_BLOCK; k += PAIR) {
                row_set_pair(t, w->to, w->head + i + k, made[k / PAIR], past);
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        const ring_row *w = &row[r];
        ring_gradient_rest(t, w->to, ring_further(w->from_dy, w->rest), ring_further(w->from, w->rest), w->numbers + 2,
                           finishes ? w->head + whole : n, n, past);
        for (int64_t i = whole; reads && keeps && i < n; i += RING_BLOCK) {
            ring_ask(t, w->next, w->after, i, n, far, asking);
            ring_ask(t, w->next_dy, w->after_dy, i, n, far, asking);
        }
        for (int64_t m, i = whole; reads && i < n; i += m) {
            m = n - i < PAIR ? n - i : PAIR;
            pair x = pair_first(t, ring_centred(row_pair_first(t, w->next, i, m), centre), m, 0);
            ring_add_products(&sums, row_pair_first(t, w->next_dy, i, m), x);
            if (keeps) {
                ring_keep(t, ring_place(w->kept, w->rest), i, w->next, i, m);
                ring_keep(t, ring_place(w->kept_dy, w->rest), i, w->next_dy, i, m);
            }
        }
    }
    ring_sums_end(&sums, s);
}

/* --- both ------------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void ring_by(ring_step *s, dtype t, bool backward, const ring_way way) {
    backward ? ring_backward_with(s, t, way) : ring_forward_with(s, t, way);
}

static inline __attribute__((always_inline)) void ring_with(ring_step *s, dtype t, bool backward, bool reads, bool keeps) {
    if (s->past) {
        ring_by(s, t, backward, ring_way_of(s, reads, keeps, true));
    } else {
        ring_by(s, t, backward, ring_way_of(s, reads, keeps, false));
    }
}

/* Row by row, where nothing is kept: what is finished was, or lies where it was read. */
static inline __attribute__((always_inline)) void ring_rows(ring_step *s, dtype t, bool backward, bool reads) {
    const bool was_kept = s->kept_step != 0;
    double sum = 0, products = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        ring_step row = *s;
        row.rows = 1;
        row.next = ring_further(s->next, r * s->x_step);
        row.next_dy = ring_further(s->next_dy, r * s->dy_step);
        row.from = ring_further(s->from, r * (was_kept ? s->kept_step : s->x_step));
        row.from_dy = ring_further(s->from_dy, r * (was_kept ? s->kept_step : s->dy_step));
        row.finish[0] = s->finish[was_kept ? r : 0];
        row.to = ring_place(s->to, r * s->to_step);
        ring_with(&row, t, backward, reads, false);
        sum += row.sum;
        products += row.products;
    }
    s->sum = sum;
    s->products = products;
}

/* What most steps of a forward norm are has a loop without questions: of halves, which have half the memory to wait for, group norm takes
   0.8 to 0.93 of the time so, the gradient of batch norm 1.03 (two cores of a Zen 5, 2026-11). */
static inline __attribute__((always_inline)) void ring_of(ring_step *s, dtype t, bool backward) {
    if (s->next == NULL && s->in_turn) {
        ring_with(s, t, backward, false, false);
    } else if (s->next == NULL) {
        ring_rows(s, t, backward, false);
    } else if (s->kept == NULL) {
        ring_rows(s, t, backward, true);
    } else if (!backward && s->rows == 2 && s->in_turn && s->past && s->to != NULL) {
        ring_by(s, t, false, (ring_way){.rows = 2, .in_turn = true, .finishes = true, .reads = true, .keeps = true, .past = true});
    } else {
        ring_with(s, t, backward, true, true);
    }
}

/* The type of a step's rows as a constant. */
static inline __attribute__((always_inline)) void ring_typed(ring_step *s, bool backward) {
    BY_ROW_TYPE(s->type, ring_of(s, t, backward));
}

static void ring_forward(ring_step *s) {
    ring_typed(s, false);
}

static void ring_backward(ring_step *s) {
    ring_typed(s, true);
}
