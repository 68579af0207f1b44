/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of columns of softmax and its gradients, in `value`: a part of row_loops_real.h. One block is finished and stored
   past the caches while another is read into its place. Only whole lines are stored so: where rows begin within lines, what
   is stored lies behind what is read by as much, and what that leaves of a block, less than a line a row, waits finished
   before the row's beginning for the next block. */

/* A block is gone over two packs of a group of rows at a time: in larger portions reading, computing and storing wait for each
   other. */
enum { CHUNK = 2 * PACK, KEPT_AHEAD = 4 /* rows */ };

/* x exp(a - b) of n columns. */
static inline __attribute__((always_inline)) void scale_columns(value *to, const value *x, const value *a, const value *b,
                                                                int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x[i] * exp_shifted_of(a[i] - b[i]);
    }
}

/* By the same exponentials as those of the steps, to the last bit: what is taken off their sums again is to leave nothing. */
static void columns_scale(void *to, const void *x, const void *a, const void *b, int64_t n) {
    for (int64_t i = 0; i < n; i += PACK) {
        size_t bytes = (size_t)(n - i < PACK ? n - i : PACK) * sizeof(value);
        pack factor = {0}, from = {0}, less = {0};
        memcpy(&factor, (const value *)x + i, bytes);
        memcpy(&from, (const value *)a + i, bytes);
        memcpy(&less, (const value *)b + i, bytes);
        pack scaled = factor * exp_shifted_pack(from - less);
        memcpy((value *)to + i, &scaled, bytes);
    }
}

static inline __attribute__((always_inline)) int64_t rows_of_group(const columns_step *s, int64_t g, columns_kind kind) {
    int64_t all = columns_group(kind), left = s->rows - g * all;
    return left < 0 ? 0 : left < all ? left : all;
}

static inline pack at_least(pack p, double least) {
    pack q = (pack){0} + (value)least;
    return pack_choose(p > q, p, q);
}

/* --- finishing ------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) pack finished(columns_kind kind, pack kept, pack other, pack factor, pack less) {
    switch (kind) {
    case COLUMNS_SOFTMAX:
        return kept * factor;
    case COLUMNS_LOG_SOFTMAX:
        return (kept - less) - factor;
    case COLUMNS_SOFTMAX_BACK:
        return (kept - factor) * other;
    default:
        return kept - other * factor;
    }
}

/* What a chunk of a group is finished by, and, where rows are shifted, what lies a pack before it. */
typedef struct chunk_factors {
    value factor[PACK + CHUNK], less[PACK + CHUNK], half[PACK + CHUNK];
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
    memcpy(c->factor + PACK - before, (const value *)s->factor + at - before, bytes);
    if (kind == COLUMNS_LOG_SOFTMAX) {
        memcpy(c->less + PACK - before, (const value *)s->finish_shift + at - before, bytes);
    }
    const value *shift = (const value *)s->shift + g * (s->room + before) + at, *last = (const value *)s->finish_shift + at;
    for (int64_t i = -before; i < CHUNK && kind == COLUMNS_SOFTMAX; i++) {
        c->half[PACK + i] = s->out_lags ? exp_shifted_of((shift[i] - last[i]) / 2) : 1;
    }
}

/* How many elements into a line of memory a row begins. */
static inline int64_t lag_of(const value *to) {
    return (int64_t)((uintptr_t)to % STREAM_LINE / sizeof(value));
}

/* What a row begins with within a line of memory waits until the row before it ends: the line is stored whole then. Without such
   room, and at a block's own ends, parts of lines are stored, which reads them first. Moves first and last to what is stored now. */
static inline void join_rows(const columns_step *s, int64_t r, value *made, const value *to, int64_t *first, int64_t *last) {
    value *heads = s->heads;
    int64_t begun = lag_of(to + *last);
    if (heads == NULL) {
        return;
    }
    if (*first == 0 && r > 0 && lag_of(to) > 0) {
        *first = PACK - lag_of(to);
        memcpy(heads + r * PACK, made + *first - PACK, PACK * sizeof(value));
    }
    if (begun > 0 && r + 1 < s->rows) {
        memcpy(made + *last, heads + (r + 1) * PACK + begun, (size_t)(PACK - begun) * sizeof(value));
        *last += PACK - begun;
    }
}

/* A chunk at an end of what is stored, where a line is not whole, or the chunk is not; or one that lags. */
static __attribute__((noinline)) void finish_edge(const columns_step *s, int64_t g, int64_t at, columns_kind kind) {
    int64_t row = s->room + s->margin, before = s->margin, from = g * columns_group(kind);
    const value *kept = (const value *)s->kept + from * row + at;
    const value *other = (const value *)s->kept_other + from * row + at;
    value *to = (value *)s->to + from * s->to_stride + at;
    bool is_last = at + CHUNK >= s->out_n;
    chunk_factors c;
    take_factors(s, g, at, kind, before, &c);
    for (int64_t r = 0; r < rows_of_group(s, g, kind); r++, kept += row, other += row, to += s->to_stride) {
        value made[PACK + CHUNK + PACK];
        int64_t lag = before > 0 ? lag_of(to) : 0;
        int64_t first = at == 0 && s->out_begins ? 0 : -lag, last = is_last && s->out_ends ? s->out_n - at : CHUNK - lag;
        __builtin_prefetch(kept + KEPT_AHEAD * row);
        __builtin_prefetch(kept + KEPT_AHEAD * row + PACK);
        for (int64_t i = -before; i < CHUNK; i += PACK) {
            pack b = kind > COLUMNS_LOG_SOFTMAX ? pack_at(other + i) : (pack){0};
            pack less = kind == COLUMNS_LOG_SOFTMAX ? pack_at(c.less + PACK + i) : (pack){0};
            pack a = pack_at(kept + i);
            a = kind == COLUMNS_SOFTMAX ? a * pack_at(c.half + PACK + i) * pack_at(c.half + PACK + i) : a;
            pack p = finished(kind, a, b, pack_at(c.factor + PACK + i), less);
            memcpy(made + PACK + i, &p, sizeof p);
        }
        if (before > 0) {
            join_rows(s, from + r, made + PACK, to, &first, &last);
        }
        stream_bytes(to + first, made + PACK + first, (size_t)(last - first) * sizeof(value));
        if (before > 0 && is_last && !s->out_ends) {
            memcpy((value *)s->kept + (from + r) * row - PACK, made + CHUNK, PACK * sizeof(value));
        }
    }
}

static bool is_edge(const columns_step *s, int64_t at) {
    bool is_last = at + CHUNK >= s->out_n;
    return s->margin > 0 ? (at == 0 && s->out_begins) || (is_last && s->out_ends) : is_last && s->out_n % CHUNK != 0;
}

/* --- reading --------------------------------------------------------------------------------------------------------------- */

/* What is read of a chunk of a group. */
typedef struct chunk_source {
    const value *next, *other;
    int64_t stride, other_stride, ahead, other_ahead;
} chunk_source;

/* A chunk that is not whole, put together: behind its last column stands its first. */
static __attribute__((noinline)) void stage_chunk(chunk_source *c, value *room, int64_t rows, int64_t n) {
    const value *from[] = {c->next, c->other};
    const int64_t stride[] = {c->stride, c->other_stride};
    for (int k = 0; k < 2 && from[k] != NULL; k++) {
        for (int64_t r = 0; r < rows; r++) {
            const value *x = from[k] + r * stride[k];
            value *to = room + (k * COLUMNS_GROUP + r) * CHUNK;
            for (int64_t i = 0; i < CHUNK; i++) {
                to[i] = i < n ? x[i] : x[0];
            }
        }
    }
    *c = (chunk_source){room, c->other != NULL ? room + COLUMNS_GROUP * CHUNK : NULL, CHUNK, CHUNK, 0, 0};
}

/* A chunk once more, less the largest numbers so far. */
static __attribute__((noinline)) void read_again(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                 bool logarithm) {
    int64_t row = s->room + s->margin, rows = rows_of_group(s, g, COLUMNS_SOFTMAX);
    value *kept = (value *)s->kept + g * COLUMNS_GROUP * row + at, *shift = (value *)s->shift + g * row + at;
    value *sum = (value *)s->sum + at, before[CHUNK];
    memcpy(before, shift, sizeof before);
    for (int k = 0; k < CHUNK; k += PACK) {
        pack most = pack_at(before + k);
        for (int64_t r = 0; r < rows; r++) {
            most = pack_most(most, pack_at(c->next + r * c->stride + k));
        }
        most = at_least(most, s->lowest);
        memcpy(shift + k, &most, sizeof most);
    }
    scale_columns(sum, sum, before, shift, CHUNK);
    for (int64_t r = 0; r < rows; r++, kept += row) {
        for (int k = 0; k < CHUNK; k += PACK) {
            pack x = pack_at(c->next + r * c->stride + k), e = exp_shifted_pack(x - pack_at(shift + k));
            pack total = pack_at(sum + k) + e;
            memcpy(sum + k, &total, sizeof total);
            memcpy(kept + k, logarithm ? &x : &e, sizeof x);
        }
    }
    *s->lags = *s->lags || g > 0;
}

/* --- both ------------------------------------------------------------------------------------------------------------------ */

/* Where a chunk's rows come from and are kept, and those of the chunk that is finished meanwhile. */
typedef struct chunk_places {
    chunk_source source;
    value *kept, *other;
    value *out_kept;
    const value *out_other, *factor, *less;
    value *to;
    int64_t to_stride, row, out_at;
} chunk_places;

/* What runs on from row to row. */
typedef struct chunk_totals {
    pack most[2], sum[2], shift[2];
} chunk_totals;

/* keeps_tail: what is left of an unfinished line waits before the row's beginning. */
static inline __attribute__((always_inline)) void pass_rows(const chunk_places *c, chunk_totals *t, int64_t rows, int64_t out_rows,
                                                            columns_kind kind, bool shifted, bool keeps_tail) {
    const bool back = kind > COLUMNS_LOG_SOFTMAX, logarithm = kind == COLUMNS_LOG_SOFTMAX;
    const chunk_source source = c->source;
    const value *next = source.next, *next_other = source.other, *out_other = c->out_other, *factor = c->factor, *less_at = c->less;
    const int64_t row = c->row, to_stride = c->to_stride, out_at = c->out_at;
    value *kept = c->kept, *other = c->other, *out_kept = c->out_kept, *to = c->to;
    pack most = t->most[0], most2 = t->most[1], total = t->sum[0], total2 = t->sum[1];
    const pack shift = t->shift[0], shift2 = t->shift[1];
    pack f = {0}, f2 = f, less = f, less2 = f;
    if (out_rows > 0) {
        f = pack_at(factor);
        f2 = pack_at(factor + PACK);
        less = logarithm ? pack_at(less_at) : f;
        less2 = logarithm ? pack_at(less_at + PACK) : f2;
    }
    const pack tail_f = f2, tail_less = less2;
    for (int64_t r = 0; r < (rows > out_rows ? rows : out_rows); r++) {
        if (r < out_rows) {
            int64_t lag = shifted ? lag_of(to) : 0;
            const value *a = out_kept - lag, *b = out_other - lag;
            if (shifted) {
                f = pack_at(factor - lag);
                f2 = pack_at(factor + PACK - lag);
                less = logarithm ? pack_at(less_at - lag) : f;
                less2 = logarithm ? pack_at(less_at + PACK - lag) : f2;
            }
            pack p = finished(kind, pack_at(a), back ? pack_at(b) : f, f, less);
            pack q = finished(kind, pack_at(a + PACK), back ? pack_at(b + PACK) : f, f2, less2);
            if (keeps_tail) {
                pack last = finished(kind, pack_at(out_kept + PACK), back ? pack_at(out_other + PACK) : f, tail_f, tail_less);
                memcpy(out_kept - out_at - PACK, &last, sizeof last);
            }
            __builtin_prefetch(out_kept + KEPT_AHEAD * row); /* from L2 */
            __builtin_prefetch(out_kept + KEPT_AHEAD * row + PACK);
            if (back) {
                __builtin_prefetch(out_other + KEPT_AHEAD * row);
                __builtin_prefetch(out_other + KEPT_AHEAD * row + PACK);
            }
            stream_line(to - lag, &p);
            stream_line(to - lag + PACK, &q);
            out_kept += row;
            out_other += row;
            to += to_stride;
        }
        if (r < rows) {
            pack p = pack_at(next), q = pack_at(next + PACK);
            __builtin_prefetch(next + source.ahead + PACK - 1);
            __builtin_prefetch(next + source.ahead + CHUNK - 1); /* wherever in a line it begins */
            if (back) {
                pack y = pack_at(next_other), y2 = pack_at(next_other + PACK);
                __builtin_prefetch(next_other + source.other_ahead + PACK - 1);
                __builtin_prefetch(next_other + source.other_ahead + CHUNK - 1);
                total += kind == COLUMNS_SOFTMAX_BACK ? p * y : p;
                total2 += kind == COLUMNS_SOFTMAX_BACK ? q * y2 : q;
                y = kind == COLUMNS_SOFTMAX_BACK ? y : exp_pack(y);
                y2 = kind == COLUMNS_SOFTMAX_BACK ? y2 : exp_pack(y2);
                memcpy(other, &y, sizeof y);
                memcpy(other + PACK, &y2, sizeof y2);
                next_other += source.other_stride;
                other += row;
            } else {
                pack e = exp_shifted_pack(p - shift), e2 = exp_shifted_pack(q - shift2);
                total += e;
                total2 += e2;
                most = logarithm ? pack_most(most, p) : most;
                most2 = logarithm ? pack_most(most2, q) : most2;
                p = logarithm ? p : e;
                q = logarithm ? q : e2;
            }
            memcpy(kept, &p, sizeof p);
            memcpy(kept + PACK, &q, sizeof q);
            next += source.stride;
            kept += row;
        }
    }
    t->most[0] = most;
    t->most[1] = most2;
    t->sum[0] = total;
    t->sum[1] = total2;
}

/* What runs on, as the groups before left it. */
static inline __attribute__((always_inline)) void take_totals(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                              int64_t row, columns_kind kind, chunk_totals *t) {
    const value *shift = (const value *)s->shift + (g - 1) * row + at;
    for (int k = 0; k < 2; k++) {
        t->sum[k] = g > 0 ? pack_at((const value *)s->sum + at + k * PACK) : (pack){0};
        if (kind > COLUMNS_LOG_SOFTMAX) {
            continue;
        }
        /* The first row is as good as the largest, unless another is far larger. */
        t->shift[k] = g > 0 ? pack_at(shift + k * PACK) : at_least(pack_at(c->next + k * PACK), s->lowest);
        if (kind == COLUMNS_LOG_SOFTMAX) {
            t->most[k] = g > 0 ? pack_at((const value *)s->largest + at + k * PACK) : (pack){0} - (value)INFINITY;
        }
    }
}

/* Beyond reach an exponential means nothing, or soon would in a sum: then all of them are taken again, less the largest number. */
static inline __attribute__((always_inline)) void put_totals(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                             int64_t row, columns_kind kind, const chunk_totals *before,
                                                             chunk_totals *t) {
    const pack most_reach = (pack){0} + EXP_REACH;
    bool again = kind <= COLUMNS_LOG_SOFTMAX && pack_any((t->sum[0] > most_reach) | (t->sum[1] > most_reach));
    value *shift = (value *)s->shift + g * row + at, *largest = (value *)s->largest + at, *sum = (value *)s->sum + at;
    for (int k = 0; k < 2; k++) {
        memcpy(sum + k * PACK, again ? &before->sum[k] : &t->sum[k], sizeof(pack));
        if (kind <= COLUMNS_LOG_SOFTMAX) {
            memcpy(shift + k * PACK, &t->shift[k], sizeof(pack));
        }
        if (kind == COLUMNS_LOG_SOFTMAX) {
            memcpy(largest + k * PACK, &t->most[k], sizeof(pack));
        }
    }
    if (again) {
        const columns_step same = *s; /* what has an address is read anew after each store */
        const chunk_source from = *c;
        read_again(&same, g, at, &from, kind == COLUMNS_LOG_SOFTMAX);
    }
}

/* Reads the chunk at column `at` of group g while the one behind it is finished: were it the same one, loads would wait for
   stores as far into another page, which the CPU tells apart late. What runs on from row to row stays in registers. Most groups are
   full, and a loop that counts to a constant leaves more of the CPU's time to memory. */
static inline __attribute__((always_inline)) void step_chunk(const columns_step *s, int64_t g, int64_t at, columns_kind kind,
                                                             bool shifted) {
    const bool back = kind > COLUMNS_LOG_SOFTMAX;
    int64_t widest = s->n > s->out_n ? s->n : s->out_n, row = s->room + (shifted ? s->margin : 0);
    bool same_group = at + CHUNK < widest, reads = at >= 0 && at < s->n;
    int64_t out_at = same_group ? at + CHUNK : 0, out_g = same_group ? g : g + 1;
    int64_t rows = reads ? rows_of_group(s, g, kind) : 0, out_rows = out_at < s->out_n ? rows_of_group(s, out_g, kind) : 0;
    const int64_t all = columns_group(kind), from = g * all, out_from = out_g * all;
    chunk_places c = {.source = {(const value *)s->next + from * s->next_stride + at,
                                 back ? (const value *)s->next_other + from * s->other_stride + at : NULL, s->next_stride,
                                 s->other_stride, s->ahead * s->next_stride, s->ahead * s->other_stride},
                      .kept = (value *)s->kept + from * row + at,
                      .other = (value *)s->kept_other + from * row + at,
                      .out_kept = (value *)s->kept + out_from * row + out_at,
                      .out_other = (const value *)s->kept_other + out_from * row + out_at,
                      .factor = (const value *)s->factor + out_at,
                      .less = (const value *)s->finish_shift + out_at,
                      .to = (value *)s->to + out_from * s->to_stride + out_at,
                      .to_stride = s->to_stride,
                      .row = row,
                      .out_at = out_at};
    value staged[2 * COLUMNS_GROUP * CHUNK];
    bool has_next = s->next_stride >= CHUNK && (!back || s->other_stride >= CHUNK) && from + all < s->rows;
    if (rows > 0 && at + CHUNK > s->n && !has_next) { /* what lies behind a row is the next one: it does no harm */
        stage_chunk(&c.source, staged, rows, s->n - at);
    }
    bool lags = kind == COLUMNS_SOFTMAX && s->out_lags && out_rows > 0 && has_lag(s, out_g, out_at, s->margin);
    if (out_rows > 0 && (lags || is_edge(s, out_at))) {
        finish_edge(s, out_g, out_at, kind);
        out_rows = 0;
    }
    bool keeps_tail = shifted && out_at + CHUNK >= s->out_n;
    chunk_totals t = {.sum = {{0}}};
    if (reads) {
        take_totals(s, g, at, &c.source, row, kind, &t);
    }
    const chunk_totals before = t;
    if (rows == all && out_rows == all && keeps_tail) {
        pass_rows(&c, &t, all, all, kind, shifted, true);
    } else if (rows == all && out_rows == all) {
        pass_rows(&c, &t, all, all, kind, shifted, false);
    } else {
        pass_rows(&c, &t, rows, out_rows, kind, shifted, keeps_tail);
    }
    if (rows > 0) {
        put_totals(s, g, at, &c.source, row, kind, &before, &t);
    }
}

static inline __attribute__((always_inline)) void columns_step_with(const columns_step *step, columns_kind kind, bool shifted) {
    const columns_step of = *step, *s = &of;
    int64_t widest = s->n > s->out_n ? s->n : s->out_n;
    for (int64_t g = 0; g * columns_group(kind) < s->rows; g++) {
        for (int64_t at = g == 0 ? -CHUNK : 0; at < widest; at += CHUNK) {
            step_chunk(s, g, at, kind, shifted); /* the one before the first: the first is finished */
        }
    }
}

static inline __attribute__((always_inline)) void columns_stream_with(const columns_step *s, columns_kind kind) {
    if (s->margin > 0) {
        columns_step_with(s, kind, true);
    } else {
        columns_step_with(s, kind, false);
    }
}

static void columns_stream(const columns_step *s) {
    switch (s->kind) {
    case COLUMNS_SOFTMAX:
        columns_stream_with(s, COLUMNS_SOFTMAX);
        break;
    case COLUMNS_LOG_SOFTMAX:
        columns_stream_with(s, COLUMNS_LOG_SOFTMAX);
        break;
    case COLUMNS_SOFTMAX_BACK:
        columns_stream_with(s, COLUMNS_SOFTMAX_BACK);
        break;
    default:
        columns_stream_with(s, COLUMNS_LOG_SOFTMAX_BACK);
    }
}
