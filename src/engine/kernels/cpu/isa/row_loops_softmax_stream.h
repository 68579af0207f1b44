/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: lines of softmax and its gradients. Block by block in turns: while one line waits for memory, or
   for its sum, the CPU goes on with the other. Where they go past the caches each goes by lines of memory of its own; what lies before
   the first and behind the last block of either comes last. */

enum { SOFTMAX_BLOCK = 2 * PAIR };

/* What exponentials are taken of: x - shift, or x scale - offset for exp2_half_pack. */
typedef struct softmax_shift {
    value shift, scale, offset;
} softmax_shift;

/* The scale is 1 / ln 2. Its product with a number of bf16, however large, is not rounded: it has 15 digits for that, and is 4.9e-6 off
   as a share. For f16, whose numbers are smaller, it has 24, and the product of the shift, rounded, is what is taken off: a factor of
   all exponentials. Of a shift so large that its product could be infinite, as of bf16's lowest number, any other number is too far
   off to count: with a scale that is a power of 2 its exponential comes out as 1, theirs as 0. *shift: becomes what is taken off. */
static inline softmax_shift softmax_shift_of(dtype t, double *shift) {
    double scale = t == ASSAY_BF16 ? 0x1.7154p+0 : 0x1.715476p+0;
    softmax_shift s = {row_number(*shift), (value)(fabs(*shift) < 0x1p100 ? scale : 0x1p-10), 0};
#if defined(PACK_EXP_HALF)
    if (row_is_half(t)) {
        s.offset = row_number(*shift * (double)s.scale);
        *shift = (double)s.offset / (double)s.scale;
    }
#else
    (void)t;
#endif
    return s;
}

static inline __attribute__((always_inline)) pack softmax_exp(dtype t, const softmax_shift *s, pack p) {
#if defined(PACK_EXP_HALF)
    if (row_is_half(t)) {
        return exp2_half_pack(t, p * s->scale - s->offset);
    }
#endif
    (void)t;
    return exp_shifted_pack(p - s->shift);
}

static inline __attribute__((always_inline)) pair softmax_exps(dtype t, const softmax_shift *s, pair p) {
    return (pair){softmax_exp(t, s, p.a), softmax_exp(t, s, p.b)};
}

/* What finishes a line: beside the step, so that the compiler need not read it anew after each store. */
typedef struct softmax_finish {
    const void *from;
    value largest, factor;
    int64_t n;
    bool logarithm, past;
    row_edge *edge;
} softmax_finish;

static inline __attribute__((always_inline)) pair softmax_finished(const softmax_finish *f, pair p) {
    return f->logarithm ? (pair){(p.a - f->largest) - f->factor, (p.b - f->largest) - f->factor}
                        : (pair){p.a * f->factor, p.b * f->factor};
}

/* What the blocks leave of the line that is finished: less than a line of memory, or from where one begins. Even a few
   ordinary stores among those past the caches cost much: they read their lines first. */
static inline void softmax_finish_rest(dtype t, void *to, const softmax_finish *f, int64_t i, int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        beside made = beside_from(t, f->from, f->n, i);
        row_set_first(t, to, i, softmax_finished(f, f->logarithm ? row_pair_first(t, f->from, i, m) : beside_pair(t, &made, 0)), m,
                      f->past, f->edge);
    }
}

/* What a line that is read comes to. NaN need not reach the largest: its exponential makes the sum NaN. */
typedef struct softmax_totals {
    pair sum;
    pack most;
} softmax_totals;

/* The same of the line whose exponentials are taken. Behind the last of them anything is written. */
static inline void softmax_read_rest(dtype t, const void *x, value *made, const softmax_shift *shift, int64_t n, int64_t i, int64_t end,
                                     softmax_totals *totals) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        pair p = row_pair_first(t, x, i, m), e = pair_first(t, softmax_exps(t, shift, p), m, 0);
        p = pair_first(t, p, m, (value)-INFINITY);
        totals->most = pack_most(pack_most(totals->most, p.a), p.b);
        totals->sum.a += e.a;
        totals->sum.b += e.b;
        if (made != NULL) {
            beside to = beside_from(t, made, n, i);
            beside_set(t, &to, 0, e);
        }
    }
}

/* NaN on the right is taken. No branch: which number is larger is anyone's guess, and a wrong one costs as much as a block. */
static inline value softmax_more(value a, value b) {
    return a > b ? a : b;
}

static inline __attribute__((always_inline)) double softmax_near(dtype t, const void *x) {
    pair p = row_pair(t, x, 0), q = row_pair(t, x, PAIR);
    double largest = (double)pack_fold(pack_most(pack_most(p.a, p.b), pack_most(q.a, q.b)), softmax_more);
    double lowest = sizeof(value) == sizeof(float) ? -(double)FLT_MAX : -DBL_MAX;
    return largest > lowest ? largest : lowest;
}

/* Elements of the last part of a line, in whole blocks, that is gone over beside the first one; 0: none is. On Intel's processors two
   places of long lines that come from memory at a time take less than one: softmax over 30522 numbers 6.1 ms instead of 7.0, its
   logarithm 6.1 instead of 6.5 (two cores of a Granite Rapids, 2026-11). They lie apart in their pages: see APART in softmax_columns.c. */
static inline int64_t softmax_part(dtype t, int64_t n, int64_t end) {
    enum { LEAST_BYTES = 8 << 10, PAGE = 4096 };
    int64_t size = row_size(t), part = end / 2 / SOFTMAX_BLOCK * SOFTMAX_BLOCK;
    if (!cpu_is_intel() || n * size <= LEAST_BYTES) {
        return 0;
    }
    while (part > 0 && ((end - part) * size + PAGE / 4) % PAGE < PAGE / 2) {
        part -= SOFTMAX_BLOCK;
    }
    return part;
}

/* Where the two lines of a step are. */
typedef struct softmax_place {
    const void *x, *from;
    void *to;
    const beside *kept, *made; /* from: its exponentials */
    int64_t head, to_head;
} softmax_place;

static inline __attribute__((always_inline)) void softmax_block(dtype t, const softmax_place *w, const softmax_finish *f,
                                                                const softmax_shift *shift, int64_t i, pair *total, pack *most,
                                                                row_asking asking, bool reads, bool stores) {
    for (int k = 0; reads && k < SOFTMAX_BLOCK; k += PAIR) {
        pair p = row_pair(t, w->x, w->head + i + k), e = softmax_exps(t, shift, p);
        if (f->past) {
            row_ask(t, w->x, w->head + i + k, asking);
        }
        total->a += e.a;
        total->b += e.b;
        if (f->logarithm) {
            *most = pack_most(pack_most(*most, p.a), p.b);
        } else {
            beside_set(t, w->kept, i + k, e);
        }
    }
    for (int k = 0; stores && k < SOFTMAX_BLOCK; k += PAIR) {
        pair p = f->logarithm ? row_pair(t, w->from, w->to_head + i + k) : beside_pair(t, w->made, i + k);
        row_set_pair(t, w->to, w->to_head + i + k, softmax_finished(f, p), f->past);
    }
}

static inline __attribute__((always_inline)) void softmax_with(softmax_step *s, dtype t, bool logarithm, bool reads, bool stores,
                                                               bool past) {
    const void *x = s->x;
    void *to = s->to, *made = logarithm ? NULL : s->made;
    s->shift = reads && s->begins ? softmax_near(t, x) : s->shift;
    const softmax_shift shift = softmax_shift_of(t, &s->shift);
    const softmax_finish f = {s->from, row_number(s->finish_largest), row_number(s->factor), s->n, logarithm, past, s->edge};
    const int64_t n = s->n, head = row_head(t, x, n, past), to_head = row_head(t, to, n, past);
    const int64_t end = (n - (to_head > head ? to_head : head)) / SOFTMAX_BLOCK * SOFTMAX_BLOCK;
    const beside kept = beside_from(t, made, n, head), from = beside_from(t, f.from, n, to_head);
    const row_asking asking = row_asks();
    softmax_totals rest = {pair_of(0), (pack){0} - (value)INFINITY};
    double sum = 0;
    for (int64_t k = 0; past && s->after != NULL && k < SOFTMAX_BLOCK * row_size(t); k += STREAM_LINE) {
        __builtin_prefetch((const char *)s->after + k);
    }
    if (reads) {
        softmax_read_rest(t, x, made, &shift, n, 0, head, &rest);
    }
    const int64_t beside_it = past ? softmax_part(t, n, end) : 0, rest_of = end - beside_it;
    const softmax_place w = {x, f.from, to, &kept, &from, head, to_head};
    pack most = rest.most;
    for (int64_t i = 0; i < beside_it;) {
        int64_t stop = beside_it - i < SUM_BLOCK / 2 ? beside_it : i + SUM_BLOCK / 2;
        pair total = pair_of(0);
        for (; i < stop; i += SOFTMAX_BLOCK) {
            softmax_block(t, &w, &f, &shift, i, &total, &most, asking, reads, stores);
            softmax_block(t, &w, &f, &shift, rest_of + i, &total, &most, asking, reads, stores);
        }
        sum += (double)pack_sum(total.a + total.b);
    }
    for (int64_t i = beside_it; i < rest_of;) {
        int64_t stop = rest_of - i < SUM_BLOCK ? rest_of : i + SUM_BLOCK;
        pair total = pair_of(0);
        for (; i < stop; i += SOFTMAX_BLOCK) {
            softmax_block(t, &w, &f, &shift, i, &total, &most, asking, reads, stores);
        }
        sum += (double)pack_sum(total.a + total.b);
    }
    if (s->after != NULL) {
        s->near = softmax_near(t, s->after);
    }
    if (stores) {
        softmax_finish_rest(t, to, &f, 0, to_head);
        softmax_finish_rest(t, to, &f, to_head + end, n);
    }
    if (reads && past) {
        row_ask_rest(t, x, head + end, n, asking);
    }
    if (reads) {
        rest.most = most;
        softmax_read_rest(t, x, made, &shift, n, head + end, n, &rest);
        s->sum = sum + (double)pack_sum(rest.sum.a + rest.sum.b);
    }
    if (reads && logarithm) {
        value largest = pack_fold(rest.most, softmax_more), part[PACK];
        pack p = softmax_exp(t, &shift, (pack){0} + largest);
        memcpy(part, &p, sizeof part);
        s->largest = (double)largest;
        s->part = (double)part[0];
    }
}

/* What nearly all lines go through gets loops of its own; the first and the last of a thread look where they go. */
static inline __attribute__((always_inline)) void softmax_stream_of(softmax_step *s, dtype t, bool logarithm) {
    if (s->x == NULL || s->to == NULL) {
        softmax_with(s, t, logarithm, s->x != NULL, s->to != NULL, s->past);
    } else {
        s->past ? softmax_with(s, t, logarithm, true, true, true) : softmax_with(s, t, logarithm, true, true, false);
    }
}

static void softmax_stream(softmax_step *s) {
    BY_ROW_TYPE(s->type, s->logarithm ? softmax_stream_of(s, t, true) : softmax_stream_of(s, t, false));
}

/* --- gradients --------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) pair back_pair(pair g, pair y, value sum, bool logarithm) {
    return logarithm ? (pair){g.a - exp_pack(y.a) * sum, g.b - exp_pack(y.b) * sum}
                     : (pair){(g.a - sum) * y.a, (g.b - sum) * y.b};
}

static inline void back_rest(dtype t, void *to, const void *g, const void *y, value sum, bool logarithm, int64_t i, int64_t end,
                             bool past, row_edge *edge) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, to, i, back_pair(row_pair_first(t, g, i, m), row_pair_first(t, y, i, m), sum, logarithm), m, past, edge);
    }
}

static inline __attribute__((always_inline)) void back_add(pair *total, pair g, pair y, bool logarithm) {
    total->a += logarithm ? g.a : g.a * y.a;
    total->b += logarithm ? g.b : g.b * y.b;
}

/* What a line is read for comes before what is finished in each turn: lines a page apart would have loads wait for stores. */
static inline __attribute__((always_inline)) void back_step_with(softmax_back_step *s, dtype t, bool logarithm, bool past) {
    const void *g = s->g, *y = s->y, *from_g = s->from_g, *from_y = s->from_y;
    void *to = s->to;
    const value finish_sum = row_number(s->finish_sum);
    const int64_t n = s->n, head = row_head(t, to, n, past), end = (n - head) / SOFTMAX_BLOCK * SOFTMAX_BLOCK;
    const row_asking asking = row_asks();
    double sum = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < SUM_BLOCK ? end : i + SUM_BLOCK;
        pair total = pair_of(0);
        for (; i < stop; i += SOFTMAX_BLOCK) {
            for (int k = 0; k < SOFTMAX_BLOCK; k += PAIR) {
                if (past) {
                    row_ask(t, g, i + k, asking);
                    row_ask(t, y, i + k, asking);
                }
                back_add(&total, row_pair(t, g, i + k), row_pair(t, y, i + k), logarithm);
            }
            for (int64_t k = head + i; k < head + i + SOFTMAX_BLOCK; k += PAIR) {
                row_set_pair(t, to, k, back_pair(row_pair(t, from_g, k), row_pair(t, from_y, k), finish_sum, logarithm), past);
            }
        }
        sum += (double)pack_sum(total.a + total.b);
    }
    pair rest = pair_of(0);
    if (past) {
        row_ask_rest(t, g, end, n, asking);
        row_ask_rest(t, y, end, n, asking);
    }
    for (int64_t i = end, m; i < n; i += m) {
        m = n - i < PAIR ? n - i : PAIR;
        back_add(&rest, row_pair_first(t, g, i, m), row_pair_first(t, y, i, m), logarithm);
    }
    back_rest(t, to, from_g, from_y, finish_sum, logarithm, 0, head, past, s->edge);
    back_rest(t, to, from_g, from_y, finish_sum, logarithm, head + end, n, past, s->edge);
    s->sum = sum + (double)pack_sum(rest.a + rest.b);
}

static inline __attribute__((always_inline)) void softmax_back_of(softmax_back_step *s, dtype t) {
    if (s->logarithm) {
        s->past ? back_step_with(s, t, true, true) : back_step_with(s, t, true, false);
    } else {
        s->past ? back_step_with(s, t, false, true) : back_step_with(s, t, false, false);
    }
}

static void softmax_back_stream(softmax_back_step *s) {
    BY_ROW_TYPE(s->type, softmax_back_of(s, t));
}
