/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of columns of softmax and its gradients, in `value`: a part of row_loops_real.h. `t` as in row_loops_pairs.h. One block is
   finished and stored past the caches while another is read into its place. Only whole lines are stored so: where rows begin within
   lines, what is stored lies behind what is read by as much, and what that leaves of a block, less than a line a row, waits finished
   before the row's beginning for the next block. */

/* x exp(a - b) of n columns. */
static inline __attribute__((always_inline)) void scale_columns(value *to, const value *x, const value *a, const value *b,
                                                                int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x[i] * exp_shifted_of(a[i] - b[i]);
    }
}

static inline __attribute__((always_inline)) int64_t rows_of_group(const columns_step *s, int64_t g) {
    int64_t all = s->group, left = s->rows - g * all;
    return left < 0 ? 0 : left < all ? left : all;
}

/* Where a row's chunk is kept, in elements from the beginning: those of a group lie one behind the other, so that they are read and written
   without a change of page; with a margin, out of which a row's next chunk reads, it is row by row. */
static inline __attribute__((always_inline)) int64_t kept_place(const columns_step *s, int64_t g, int64_t at, bool shifted) {
    int64_t from = g * s->group * (s->room + (shifted ? s->margin : 0));
    return from + (shifted ? at : at * rows_of_group(s, g));
}

/* The compiler need not know: with places as constants it unrolled a loop of f16 that then took 4.4 ms instead of 3.9 (gcc 12). */
static inline __attribute__((always_inline)) int64_t kept_stride(const columns_step *s, bool shifted) {
    int64_t stride = shifted ? s->room + s->margin : CHUNK;
    __asm__("" : "+r"(stride));
    return stride;
}

static inline chunk at_least(chunk c, double least) {
    const pack low = (pack){0} + (value)least;
    EACH_PAIR(q) {
        c.p[q] = (pair){pack_choose(c.p[q].a > low, c.p[q].a, low), pack_choose(c.p[q].b > low, c.p[q].b, low)};
    }
    return c;
}

/* --- finishing ------------------------------------------------------------------------------------------------------------- */

/* other: of halves, what was read; else for the logarithm its exponential. What may cancel gets a whole one. */
static inline __attribute__((always_inline)) pair finished_pair(columns_kind kind, dtype t, pair kept, pair other, pair factor, pair less) {
    switch (kind) {
    case COLUMNS_SOFTMAX:
        return (pair){kept.a * factor.a, kept.b * factor.b};
    case COLUMNS_LOG_SOFTMAX:
        return (pair){(kept.a - less.a) - factor.a, (kept.b - less.b) - factor.b};
    case COLUMNS_SOFTMAX_BACK:
        return (pair){(kept.a - factor.a) * other.a, (kept.b - factor.b) * other.b};
    default:
        other = row_is_half(t) ? (pair){exp_pack(other.a), exp_pack(other.b)} : other;
        return (pair){kept.a - other.a * factor.a, kept.b - other.b * factor.b};
    }
}

static inline __attribute__((always_inline)) chunk finished(columns_kind kind, dtype t, chunk kept, chunk other, chunk factor, chunk less) {
    EACH_PAIR(q) {
        kept.p[q] = finished_pair(kind, t, kept.p[q], other.p[q], factor.p[q], less.p[q]);
    }
    return kept;
}

/* What a chunk of a group is finished by, and, where rows are shifted, what lies a chunk before it. */
typedef struct chunk_factors {
    value factor[2 * CHUNK], less[2 * CHUNK], half[2 * CHUNK];
} chunk_factors;

/* Whether a group's exponentials are less by something else than the sums are. */
static bool has_lag(const columns_step *s, int64_t g, int64_t at, int64_t before) {
    const value *shift = (const value *)s->shift + g * (s->room + before) + at - before;
    return memcmp(shift, (const value *)s->finish_shift + at - before, (size_t)(before + CHUNK) * sizeof(value)) != 0;
}

/* half: two equal factors make good that a group's exponentials are less by something else than the sums are. One alone may be out of
   range: an exponential may be up to e^60. */
static void take_factors(const columns_step *s, int64_t g, int64_t at, columns_kind kind, int64_t before, chunk_factors *c) {
    size_t bytes = (size_t)(before + CHUNK) * sizeof(value);
    memcpy(c->factor + CHUNK - before, (const value *)s->factor + at - before, bytes);
    if (kind == COLUMNS_LOG_SOFTMAX) {
        memcpy(c->less + CHUNK - before, (const value *)s->finish_shift + at - before, bytes);
    }
    const value *shift = (const value *)s->shift + g * (s->room + before) + at, *last = (const value *)s->finish_shift + at;
    for (int64_t i = -before; i < CHUNK && kind == COLUMNS_SOFTMAX; i++) {
        c->half[CHUNK + i] = s->out_lags ? exp_shifted_of((shift[i] - last[i]) / 2) : 1;
    }
}

/* How many elements into a line of memory a row begins. */
static inline __attribute__((always_inline)) int64_t lag_of(dtype t, const void *to) {
    return (int64_t)((uintptr_t)to % STREAM_LINE) / row_size(t);
}

/* What a row begins with within a line of memory waits until the row before it ends: the line is stored whole then. Without such
   room, and at a block's own ends, parts of lines are stored, which reads them first. Moves first and last to what is stored now. */
static inline void join_rows(const columns_step *s, dtype t, int64_t r, value *made, const void *to, int64_t *first, int64_t *last) {
    const int64_t line = STREAM_LINE / row_size(t);
    value *heads = s->heads;
    int64_t begun = lag_of(t, row_at(t, to, *last));
    if (heads == NULL) {
        return;
    }
    if (*first == 0 && r > 0 && lag_of(t, to) > 0) {
        *first = line - lag_of(t, to);
        memcpy(heads + r * CHUNK, made + *first - line, (size_t)line * sizeof(value));
    }
    if (begun > 0 && r + 1 < s->rows) {
        memcpy(made + *last, heads + (r + 1) * CHUNK + begun, (size_t)(line - begun) * sizeof(value));
        *last += line - begun;
    }
}

/* A chunk at an end of what is stored, where a line is not whole, or the chunk is not; or one that lags. */
static __attribute__((noinline)) void finish_edge(const columns_step *s, int64_t g, int64_t at, columns_kind kind, dtype t, bool shifted) {
    const dtype k = kept_type(kind, t);
    int64_t row = kept_stride(s, shifted), before = s->margin, from = g * s->group, place = kept_place(s, g, at, shifted);
    char *kept = row_to(k, s->kept, place);
    const char *other = row_at(t, s->kept_other, place);
    char *to = row_to(t, s->to, from * s->to_stride + at);
    bool is_last = at + CHUNK >= s->out_n;
    chunk_factors c;
    take_factors(s, g, at, kind, before, &c);
    for (int64_t r = 0; r < rows_of_group(s, g); r++) {
        value made[3 * CHUNK] = {0}, stored[3 * CHUNK];
        int64_t lag = before > 0 ? lag_of(t, to) : 0;
        int64_t first = at == 0 && s->out_begins ? 0 : -lag, last = is_last && s->out_ends ? s->out_n - at : CHUNK - lag;
        chunk_ask(k, row_at(k, kept, KEPT_AHEAD * row));
        for (int64_t i = -before; i < CHUNK; i += CHUNK) {
            chunk b = kind > COLUMNS_LOG_SOFTMAX ? chunk_at(t, shifted, row_at(t, other, i)) : chunk_of(0);
            chunk less = kind == COLUMNS_LOG_SOFTMAX ? numbers_at(c.less + CHUNK + i) : chunk_of(0);
            chunk a = chunk_at(k, shifted, row_at(k, kept, i));
            if (kind == COLUMNS_SOFTMAX) {
                chunk half = numbers_at(c.half + CHUNK + i);
                a = chunk_product(chunk_product(a, half), half);
            }
            numbers_set(made + CHUNK + i, finished(kind, t, a, b, numbers_at(c.factor + CHUNK + i), less));
        }
        if (before > 0) {
            join_rows(s, t, from + r, made + CHUNK, to, &first, &last);
        }
        for (int64_t i = 0; i < 3 * CHUNK; i += CHUNK) {
            chunk_set(t, shifted, row_to(t, stored, i), numbers_at(made + i), false);
        }
        size_t bytes = (size_t)((last - first) * row_size(t));
        if (s->past) {
            stream_bytes(row_to(t, to, first), row_at(t, stored, CHUNK + first), bytes);
        } else {
            memcpy(row_to(t, to, first), row_at(t, stored, CHUNK + first), bytes);
        }
        if (before > 0 && is_last && !s->out_ends) {
            chunk_set(k, shifted, row_to(k, s->kept, (from + r) * row - CHUNK), numbers_at(made + CHUNK), false);
        }
        kept += row * row_size(k);
        other += row * row_size(t);
        to += s->to_stride * row_size(t);
    }
}

static bool is_edge(const columns_step *s, int64_t at) {
    bool is_last = at + CHUNK >= s->out_n;
    return s->margin > 0 ? (at == 0 && s->out_begins) || (is_last && s->out_ends) : is_last && s->out_n % CHUNK != 0;
}

/* --- reading --------------------------------------------------------------------------------------------------------------- */

/* What is read of a chunk of a group; strides in bytes. */
typedef struct chunk_source {
    const char *next, *other;
    int64_t stride, other_stride, ahead, other_ahead;
} chunk_source;

/* A chunk that is not whole, put together: behind its last column stands its first. */
static __attribute__((noinline)) void stage_chunk(chunk_source *c, dtype t, value *room, int64_t rows, int64_t n) {
    const char *from[] = {c->next, c->other};
    const int64_t stride[] = {c->stride, c->other_stride}, row = CHUNK * row_size(t);
    char *const to[] = {(char *)room, (char *)(room + COLUMNS_GROUP * CHUNK)};
    for (int k = 0; k < 2 && from[k] != NULL; k++) {
        for (int64_t r = 0; r < rows; r++) {
            const char *x = from[k] + r * stride[k];
            for (int64_t i = 0; i < CHUNK; i++) {
                memcpy(row_to(t, to[k] + r * row, i), row_at(t, x, i < n ? i : 0), (size_t)row_size(t));
            }
        }
    }
    *c = (chunk_source){to[0], c->other != NULL ? to[1] : NULL, row, row, 0, 0};
}

/* A chunk once more, less the largest numbers so far. */
static __attribute__((noinline)) void read_again(const columns_step *s, int64_t g, int64_t at, const chunk_source *c, bool logarithm,
                                                 dtype t, bool shifted) {
    const dtype k = kept_type(logarithm ? COLUMNS_LOG_SOFTMAX : COLUMNS_SOFTMAX, t);
    int64_t row = kept_stride(s, shifted), rows = rows_of_group(s, g);
    char *kept = row_to(k, s->kept, kept_place(s, g, at, shifted));
    value *shift = (value *)s->shift + g * (s->room + s->margin) + at, *sum = (value *)s->sum + at, before[CHUNK];
    memcpy(before, shift, sizeof before);
    chunk most = numbers_at(before), total;
    for (int64_t r = 0; r < rows; r++) {
        most = chunk_most(most, chunk_at(t, shifted, c->next + r * c->stride));
    }
    most = at_least(most, s->lowest);
    numbers_set(shift, most);
    scale_columns(sum, sum, before, shift, CHUNK);
    total = numbers_at(sum);
    for (int64_t r = 0; r < rows; r++, kept += row * row_size(k)) {
        chunk x = chunk_at(t, shifted, c->next + r * c->stride), e = chunk_exps(t, x, most);
        total = chunk_plus(total, e);
        if (logarithm) {
            chunk_keep(t, kept, c->next + r * c->stride, x);
        } else {
            numbers_set(kept, e);
        }
    }
    numbers_set(sum, total);
    *s->lags = *s->lags || g > 0;
}

/* --- both ------------------------------------------------------------------------------------------------------------------ */

/* Where a chunk's rows come from and are kept, and those of the chunk that is finished meanwhile. Strides in bytes. */
typedef struct chunk_places {
    chunk_source source;
    char *kept, *other;
    char *out_kept;
    const char *out_other;
    const value *factor, *less;
    char *to;
    int64_t to_stride, row, other_row;
    int64_t margin_at; /* from out_kept to a chunk before its row */
    bool is_far;       /* what is asked for ahead */
    bool past;         /* the caches */
} chunk_places;

/* What runs on from row to row. */
typedef struct chunk_totals {
    chunk most, sum, shift;
    quick_exp_top top;
} chunk_totals;

/* quick: what exponentials are taken by, or NULL. keeps_tail: what is left of an unfinished line waits before the row's beginning. */
static inline __attribute__((always_inline)) void pass_rows(const chunk_places *c, chunk_totals *totals, int64_t rows, int64_t out_rows,
                                                            columns_kind kind, dtype t, bool shifted, bool keeps_tail,
                                                            const chunk_quick *quick) {
    const bool back = kind > COLUMNS_LOG_SOFTMAX, logarithm = kind == COLUMNS_LOG_SOFTMAX;
    const dtype k = kept_type(kind, t);
    const chunk_source source = c->source;
    const char *next = source.next, *next_other = source.other, *out_other = c->out_other;
    const value *factor = c->factor, *less_at = c->less;
    const int64_t row = c->row, other_row = c->other_row, to_stride = c->to_stride, margin_at = c->margin_at;
    char *kept = c->kept, *other = c->other, *out_kept = c->out_kept, *to = c->to;
    chunk most = totals->most, total = totals->sum;
    const chunk shift = totals->shift;
    quick_exp_top top = totals->top;
    chunk f = chunk_of(0), less = f;
    if (out_rows > 0) {
        f = numbers_at(factor);
        less = logarithm ? numbers_at(less_at) : f;
    }
    const chunk tail_f = f, tail_less = less;
    const bool is_far = c->is_far, past = c->past;
    for (int64_t r = 0; r < (rows > out_rows ? rows : out_rows); r++) {
        chunk done = chunk_of(0);
        int64_t lag = 0;
        if (r < out_rows) { /* before what is read comes to lie over its end, where rows begin within lines */
            lag = shifted ? lag_of(t, to) : 0;
            if (shifted) {
                f = numbers_at(factor - lag);
                less = logarithm ? numbers_at(less_at - lag) : f;
            }
            done = finished(kind, t, chunk_at(k, shifted, row_at(k, out_kept, -lag)),
                            back ? chunk_at(t, shifted, row_at(t, out_other, -lag)) : f, f, less);
            if (keeps_tail) {
                chunk last = finished(kind, t, chunk_at(k, shifted, out_kept), back ? chunk_at(t, shifted, out_other) : f, tail_f, tail_less);
                chunk_set(k, shifted, out_kept + margin_at, last, false);
            }
            chunk_ask(k, out_kept + KEPT_AHEAD * row); /* from L2 */
            if (back) {
                chunk_ask(t, out_other + KEPT_AHEAD * other_row);
            }
            out_kept += row;
            out_other += other_row;
        }
        if (r < rows) {
            chunk p = chunk_at(t, shifted, next);
            chunk_ask_far(t, next + source.ahead + STREAM_LINE - 1, is_far); /* wherever in a line it begins */
            if (back) {
                chunk y = chunk_at(t, shifted, next_other);
                chunk_ask_far(t, next_other + source.other_ahead + STREAM_LINE - 1, is_far);
                total = chunk_plus(total, kind == COLUMNS_SOFTMAX_BACK ? chunk_product(p, y) : p);
                EACH_PAIR(q) {
                    pair e = y.p[q];
                    y.p[q] = kind == COLUMNS_SOFTMAX_BACK || row_is_half(t) ? e : (pair){exp_pack(e.a), exp_pack(e.b)};
                }
                chunk_keep(t, other, next_other, y);
                next_other += source.other_stride;
                other += other_row;
            } else {
                chunk e = quick != NULL ? chunk_quick_exps(t, quick, p, &top)
                          : logarithm   ? chunk_same_exps(t, p, shift)
                                        : chunk_exps(t, p, shift);
                total = chunk_plus(total, e);
                most = logarithm ? chunk_most(most, p) : most;
                if (!logarithm) {
                    numbers_set(kept, e);
                }
            }
            if (back || logarithm) {
                chunk_keep(t, kept, next, p);
            }
            next += source.stride;
            kept += row;
        }
        if (r < out_rows) { /* what is read behind a store past the caches waits for it on some processors (Zen 4: a sixth) */
            chunk_set(t, shifted, row_to(t, to, -lag), done, past);
            to += to_stride;
        }
    }
    totals->most = most;
    totals->sum = total;
    totals->top = top;
}

/* What runs on, as the groups before left it. */
static inline __attribute__((always_inline)) void take_totals(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                              int64_t row, columns_kind kind, dtype t, bool shifted, chunk_totals *totals) {
    totals->sum = g > 0 ? numbers_at((const value *)s->sum + at) : chunk_of(0);
    if (kind > COLUMNS_LOG_SOFTMAX) {
        return;
    }
    /* The first row is as good as the largest, unless another is far larger. */
    if (g > 0) {
        totals->shift = numbers_at((const value *)s->shift + (g - 1) * row + at);
    } else {
        totals->shift = at_least(chunk_at(t, shifted, c->next), s->lowest);
        totals->shift = chunk_near_shift(t, totals->shift);
    }
    if (kind == COLUMNS_LOG_SOFTMAX) {
        totals->most = g > 0 ? numbers_at((const value *)s->largest + at) : chunk_of((value)-INFINITY);
    }
}

/* Beyond reach an exponential means nothing, or soon would in a sum: then all of them are taken again, less the largest number. */
static inline __attribute__((always_inline)) void put_totals(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                             int64_t row, columns_kind kind, dtype t, bool shifted,
                                                             const chunk_totals *before, const chunk_totals *totals) {
    const pack most_reach = (pack){0} + EXP_REACH;
    pack_mask beyond = most_reach > most_reach;
    EACH_PAIR(q) {
        beyond |= (totals->sum.p[q].a > most_reach) | (totals->sum.p[q].b > most_reach);
    }
    bool again = kind <= COLUMNS_LOG_SOFTMAX && (quick_exp_is_beyond(totals->top) || pack_any(beyond));
    numbers_set((value *)s->sum + at, again ? before->sum : totals->sum);
    if (kind <= COLUMNS_LOG_SOFTMAX) {
        numbers_set((value *)s->shift + g * row + at, totals->shift);
    }
    if (kind == COLUMNS_LOG_SOFTMAX) {
        numbers_set((value *)s->largest + at, totals->most);
    }
    if (again) {
        const columns_step same = *s; /* what has an address is read anew after each store */
        const chunk_source from = *c;
        read_again(&same, g, at, &from, kind == COLUMNS_LOG_SOFTMAX, t, shifted);
    }
}

/* How many bytes further on than a row of the chunk at column `at` memory is asked for; stride: the rows', in bytes. */
static inline __attribute__((always_inline)) int64_t asks_at(const columns_step *s, dtype t, int64_t at, int64_t stride) {
    if (s->ahead_bytes == 0) {
        return s->ahead * stride;
    }
    int64_t all = s->n * row_size(t), on = s->ahead_bytes < all ? s->ahead_bytes : all;
    return at * row_size(t) + on < all ? on : s->group * stride + on - all;
}

/* Reads the chunk at column `at` of group g while the one behind it is finished: were it the same one, loads would wait for
   stores as far into another page, which the CPU tells apart late. What runs on from row to row stays in registers. Most groups are
   full, and a loop that counts to a constant leaves more of the CPU's time to memory. */
static inline __attribute__((always_inline)) void step_chunk(const columns_step *s, int64_t g, int64_t at, columns_kind kind, dtype t,
                                                             bool shifted) {
    const bool back = kind > COLUMNS_LOG_SOFTMAX;
    const dtype k = kept_type(kind, t);
    int64_t widest = s->n > s->out_n ? s->n : s->out_n, row = s->room + (shifted ? s->margin : 0);
    bool same_group = at + CHUNK < widest, reads = at >= 0 && at < s->n;
    int64_t out_at = same_group ? at + CHUNK : 0, out_g = same_group ? g : g + 1;
    int64_t rows = reads ? rows_of_group(s, g) : 0, out_rows = out_at < s->out_n ? rows_of_group(s, out_g) : 0;
    const int64_t all = s->group, from = g * all, out_from = out_g * all;
    const int64_t stride = s->next_stride * row_size(t), other_stride = s->other_stride * row_size(t);
    const int64_t kept = kept_place(s, g, at, shifted), out_kept = kept_place(s, out_g, out_at, shifted);
    chunk_places c = {.source = {row_at(t, s->next, from * s->next_stride + at),
                                 back ? row_at(t, s->next_other, from * s->other_stride + at) : NULL, stride, other_stride,
                                 asks_at(s, t, at, stride), asks_at(s, t, at, other_stride)},
                      .kept = row_to(k, s->kept, kept),
                      .other = row_to(t, s->kept_other, kept),
                      .out_kept = row_to(k, s->kept, out_kept),
                      .out_other = row_at(t, s->kept_other, out_kept),
                      .factor = (const value *)s->factor + out_at,
                      .less = (const value *)s->finish_shift + out_at,
                      .to = row_to(t, s->to, out_from * s->to_stride + out_at),
                      .to_stride = s->to_stride * row_size(t),
                      .row = kept_stride(s, shifted) * row_size(k),
                      .other_row = kept_stride(s, shifted) * row_size(t),
                      .margin_at = -(out_at + CHUNK) * row_size(k),
                      .is_far = s->asks_far,
                      .past = s->past};
    value staged[2 * COLUMNS_GROUP * CHUNK];
    bool has_next = s->next_stride >= CHUNK && (!back || s->other_stride >= CHUNK) && from + all < s->rows;
    if (rows > 0 && at + CHUNK > s->n && !has_next) { /* what lies behind a row is the next one: it does no harm */
        stage_chunk(&c.source, t, staged, rows, s->n - at);
    }
    bool lags = kind == COLUMNS_SOFTMAX && s->out_lags && out_rows > 0 && has_lag(s, out_g, out_at, s->margin);
    if (out_rows > 0 && (lags || is_edge(s, out_at))) {
        finish_edge(s, out_g, out_at, kind, t, shifted);
        out_rows = 0;
    }
    bool keeps_tail = shifted && out_at + CHUNK >= s->out_n;
    chunk_totals totals = {.sum = chunk_of(0), .top = (quick_exp_top){0}};
    if (reads) {
        take_totals(s, g, at, &c.source, row, kind, t, shifted, &totals);
    }
    const chunk_totals before = totals;
    chunk_quick quick;
    if (rows == out_rows && keeps_tail) {
        pass_rows(&c, &totals, rows, rows, kind, t, shifted, true, NULL);
    } else if (!back && rows == out_rows && chunk_quick_of(t, totals.shift, &quick)) {
        pass_rows(&c, &totals, rows, rows, kind, t, shifted, false, &quick);
    } else if (rows == out_rows) {
        pass_rows(&c, &totals, rows, rows, kind, t, shifted, false, NULL);
    } else {
        pass_rows(&c, &totals, rows, out_rows, kind, t, shifted, keeps_tail, NULL);
    }
    if (rows > 0) {
        put_totals(s, g, at, &c.source, row, kind, t, shifted, &before, &totals);
    }
}

static inline __attribute__((always_inline)) void columns_step_with(const columns_step *step, columns_kind kind, dtype t, bool shifted) {
    const columns_step of = *step, *s = &of;
    int64_t widest = s->n > s->out_n ? s->n : s->out_n;
    for (int64_t g = 0; g * s->group < s->rows; g++) {
        for (int64_t at = g == 0 ? -CHUNK : 0; at < widest; at += CHUNK) {
            step_chunk(s, g, at, kind, t, shifted); /* the one before the first: the first is finished */
        }
    }
}

static inline __attribute__((always_inline)) void columns_stream_with(const columns_step *s, columns_kind kind, dtype t) {
    if (s->margin > 0) {
        columns_step_with(s, kind, t, true);
    } else {
        columns_step_with(s, kind, t, false);
    }
}

/* Functions of their own: in one that had all of them gcc 12 kept less in registers, and how much varied with each change of any. */
#define COLUMNS_STREAM_OF(name, t)                                                                                                 \
    static __attribute__((noinline)) void name##_softmax(const columns_step *s) {                                                  \
        columns_stream_with(s, COLUMNS_SOFTMAX, t);                                                                                \
    }                                                                                                                              \
    static __attribute__((noinline)) void name##_log_softmax(const columns_step *s) {                                              \
        columns_stream_with(s, COLUMNS_LOG_SOFTMAX, t);                                                                            \
    }                                                                                                                              \
    static __attribute__((noinline)) void name##_softmax_back(const columns_step *s) {                                             \
        columns_stream_with(s, COLUMNS_SOFTMAX_BACK, t);                                                                           \
    }                                                                                                                              \
    static __attribute__((noinline)) void name##_log_softmax_back(const columns_step *s) {                                         \
        columns_stream_with(s, COLUMNS_LOG_SOFTMAX_BACK, t);                                                                       \
    }                                                                                                                              \
    static void name(const columns_step *s) {                                                                                      \
        static void (*const of_kind[])(const columns_step *s) = {                                                                  \
            [COLUMNS_SOFTMAX] = name##_softmax,                                                                                    \
            [COLUMNS_LOG_SOFTMAX] = name##_log_softmax,                                                                            \
            [COLUMNS_SOFTMAX_BACK] = name##_softmax_back,                                                                          \
            [COLUMNS_LOG_SOFTMAX_BACK] = name##_log_softmax_back,                                                                  \
        };                                                                                                                         \
        of_kind[s->kind](s);                                                                                                       \
    }

COLUMNS_STREAM_OF(columns_of_native, row_native)
#if defined(ROW_HALVES)
COLUMNS_STREAM_OF(columns_of_bf16, ASSAY_BF16)
COLUMNS_STREAM_OF(columns_of_f16, ASSAY_F16)
#endif

static void columns_stream(const columns_step *s) {
#if defined(ROW_HALVES)
    if (row_is_half(s->type)) {
        (s->type == ASSAY_BF16 ? columns_of_bf16 : columns_of_f16)(s);
        return;
    }
#endif
    columns_of_native(s);
}
