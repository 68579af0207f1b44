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

static inline int64_t rows_of_group(const columns_step *s, int64_t g) {
    int64_t left = s->rows - g * s->group;
    return left < 0 ? 0 : left < s->group ? left : s->group;
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
    value factor[PACK + CHUNK], less[PACK + CHUNK];
} chunk_factors;

static inline __attribute__((always_inline)) void take_factors(const columns_step *s, int64_t at, columns_kind kind,
                                                               int64_t before, chunk_factors *c) {
    size_t bytes = (size_t)(before + CHUNK) * sizeof(value);
    memcpy(c->factor + PACK - before, (const value *)s->factor + at - before, bytes);
    if (kind == COLUMNS_LOG_SOFTMAX) {
        memcpy(c->less + PACK - before, (const value *)s->finish_shift + at - before, bytes);
    }
}

/* Whether a group's exponentials are less by something else than the sums are. */
static inline __attribute__((always_inline)) bool has_lag(const columns_step *s, int64_t g, int64_t at, int64_t before) {
    const value *shift = (const value *)s->shift + g * (s->room + before) + at - before;
    return memcmp(shift, (const value *)s->finish_shift + at - before, (size_t)(before + CHUNK) * sizeof(value)) != 0;
}

/* What makes that good, in two equal factors: an exponential up to e^60 may be in range of what its factor is not. */
static void take_halves(const columns_step *s, int64_t g, int64_t at, int64_t before, value *half) {
    const value *shift = (const value *)s->shift + g * (s->room + before) + at, *last = (const value *)s->finish_shift + at;
    for (int64_t i = -before; i < CHUNK; i++) {
        half[PACK + i] = exp_shifted_of((shift[i] - last[i]) / 2);
    }
}

/* How many elements into a line of memory a row begins. */
static inline int64_t lag_of(const value *to) {
    return (int64_t)((uintptr_t)to % STREAM_LINE / sizeof(value));
}

/* A chunk at an end of what is stored, where a line is not whole, or the chunk is not; or one that lags. */
static __attribute__((noinline)) void finish_edge(const columns_step *s, int64_t g, int64_t at, columns_kind kind) {
    int64_t row = s->room + s->margin, before = s->margin;
    const value *kept = (const value *)s->kept + g * s->group * row + at;
    const value *other = (const value *)s->kept_other + g * s->group * row + at;
    value *to = (value *)s->to + g * s->group * s->to_stride + at;
    bool is_last = at + CHUNK >= s->out_n;
    chunk_factors c;
    value half[PACK + CHUNK];
    take_factors(s, at, kind, before, &c);
    if (kind == COLUMNS_SOFTMAX) {
        take_halves(s, g, at, before, half);
    }
    for (int64_t r = 0; r < rows_of_group(s, g); r++, kept += row, other += row, to += s->to_stride) {
        value made[PACK + CHUNK];
        int64_t lag = before > 0 ? lag_of(to) : 0;
        int64_t first = at == 0 && s->out_begins ? 0 : -lag, last = is_last && s->out_ends ? s->out_n - at : CHUNK - lag;
        for (int64_t i = -before; i < CHUNK; i += PACK) {
            pack b = kind > COLUMNS_LOG_SOFTMAX ? pack_at(other + i) : (pack){0};
            pack less = kind == COLUMNS_LOG_SOFTMAX ? pack_at(c.less + PACK + i) : (pack){0};
            pack a = pack_at(kept + i);
            a = kind == COLUMNS_SOFTMAX ? a * pack_at(half + PACK + i) * pack_at(half + PACK + i) : a;
            pack p = finished(kind, a, b, pack_at(c.factor + PACK + i), less);
            memcpy(made + PACK + i, &p, sizeof p);
        }
        stream_bytes(to + first, made + PACK + first, (size_t)(last - first) * sizeof(value));
        if (before > 0 && is_last && !s->out_ends) {
            memcpy((value *)s->kept + (g * s->group + r) * row - PACK, made + CHUNK, PACK * sizeof(value));
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
            for (int64_t i = 0; i < CHUNK; i++) {
                room[(k * COLUMNS_GROUP + r) * CHUNK + i] = from[k][r * stride[k] + (i < n ? i : 0)];
            }
        }
    }
    *c = (chunk_source){room, c->other != NULL ? room + COLUMNS_GROUP * CHUNK : NULL, CHUNK, CHUNK, 0, 0};
}

/* A chunk once more, now that its largest numbers are known: they are subtracted. */
static __attribute__((noinline)) void read_again(const columns_step *s, int64_t g, int64_t at, const chunk_source *c,
                                                 bool logarithm) {
    int64_t row = s->room + s->margin;
    const value *next = c->next;
    value *kept = (value *)s->kept + g * s->group * row + at, *shift = (value *)s->shift + g * row + at;
    value *sum = (value *)s->sum + at, before[CHUNK];
    const value *largest = (const value *)s->largest + at;
    memcpy(before, shift, sizeof before);
    for (int k = 0; k < CHUNK; k += PACK) {
        pack p = at_least(pack_at(largest + k), s->lowest);
        memcpy(shift + k, &p, sizeof p);
    }
    scale_columns(sum, sum, before, shift, CHUNK);
    for (int64_t r = 0; r < rows_of_group(s, g); r++, next += c->stride, kept += row) {
        for (int k = 0; k < CHUNK; k += PACK) {
            pack x = pack_at(next + k), e = exp_shifted_pack(x - pack_at(shift + k)), total = pack_at(sum + k) + e;
            memcpy(sum + k, &total, sizeof total);
            memcpy(kept + k, logarithm ? &x : &e, sizeof x);
        }
    }
}

/* --- both ------------------------------------------------------------------------------------------------------------------ */

/* Reads the chunk at column `at` of group g while the one behind it is finished: were it the same one, loads would wait for
   stores as far into another page, which the CPU tells apart late. What runs on from row to row stays in registers. */
static inline __attribute__((always_inline)) void step_chunk(const columns_step *s, int64_t g, int64_t at, columns_kind kind,
                                                             bool shifted) {
    const pack most_reach = (pack){0} + SOFTMAX_REACH;
    const bool back = kind > COLUMNS_LOG_SOFTMAX, logarithm = kind == COLUMNS_LOG_SOFTMAX;
    int64_t widest = s->n > s->out_n ? s->n : s->out_n, row = s->room + (shifted ? s->margin : 0);
    bool same_group = at + CHUNK < widest, reads = at >= 0 && at < s->n;
    int64_t out_at = same_group ? at + CHUNK : 0, out_g = same_group ? g : g + 1;
    int64_t rows = reads ? rows_of_group(s, g) : 0, out_rows = out_at < s->out_n ? rows_of_group(s, out_g) : 0;
    const value *out_kept = (const value *)s->kept + out_g * s->group * row + out_at;
    const value *out_other = (const value *)s->kept_other + out_g * s->group * row + out_at;
    value *kept = (value *)s->kept + g * s->group * row + at, *to = (value *)s->to + out_g * s->group * s->to_stride + out_at;
    value *other = (value *)s->kept_other + g * s->group * row + at;
    value *shift_at = (value *)s->shift + g * row + at, *largest = (value *)s->largest + at, *sum = (value *)s->sum + at;
    value staged[2 * COLUMNS_GROUP * CHUNK];
    chunk_source source = {(const value *)s->next + g * s->group * s->next_stride + at,
                           back ? (const value *)s->next_other + g * s->group * s->other_stride + at : NULL,
                           s->next_stride,
                           s->other_stride,
                           s->ahead * s->next_stride,
                           s->ahead * s->other_stride};
    if (rows > 0 && at + CHUNK > s->n) {
        stage_chunk(&source, staged, rows, s->n - at);
    }
    bool lags = kind == COLUMNS_SOFTMAX && out_rows > 0 && has_lag(s, out_g, out_at, shifted ? PACK : 0);
    if (out_rows > 0 && (lags || is_edge(s, out_at))) {
        finish_edge(s, out_g, out_at, kind);
        out_rows = 0;
    }
    bool keeps_tail = shifted && out_at + CHUNK >= s->out_n;
    chunk_factors c;
    pack f = {0}, f2 = f, less = f, less2 = f, most = f, most2 = f, total = f, total2 = f, shift = f, shift2 = f;
    if (out_rows > 0) {
        take_factors(s, out_at, kind, shifted ? PACK : 0, &c);
        f = pack_at(c.factor + PACK);
        f2 = pack_at(c.factor + CHUNK);
        less = logarithm ? pack_at(c.less + PACK) : f;
        less2 = logarithm ? pack_at(c.less + CHUNK) : f2;
    }
    if (reads && !back && g == 0) { /* the first row is as good as the largest, unless another is far larger */
        most = most2 = (pack){0} - (value)INFINITY;
        shift = at_least(pack_at(source.next), s->lowest);
        shift2 = at_least(pack_at(source.next + PACK), s->lowest);
    } else if (reads && !back) {
        most = pack_at(largest);
        most2 = pack_at(largest + PACK);
        shift = pack_at(shift_at - row);
        shift2 = pack_at(shift_at - row + PACK);
    }
    if (reads && g > 0) {
        total = pack_at(sum);
        total2 = pack_at(sum + PACK);
    }
    const pack total_before = total, total2_before = total2, tail_f = f2, tail_less = less2;
    const value *next = source.next, *next_other = source.other;
    for (int64_t r = 0; r < (rows > out_rows ? rows : out_rows); r++) {
        if (r < out_rows) {
            int64_t lag = shifted ? lag_of(to) : 0;
            const value *a = out_kept - lag, *b = out_other - lag;
            if (shifted) {
                f = pack_at(c.factor + PACK - lag);
                f2 = pack_at(c.factor + CHUNK - lag);
                less = logarithm ? pack_at(c.less + PACK - lag) : f;
                less2 = logarithm ? pack_at(c.less + CHUNK - lag) : f2;
            }
            pack p = finished(kind, pack_at(a), back ? pack_at(b) : f, f, less);
            pack q = finished(kind, pack_at(a + PACK), back ? pack_at(b + PACK) : f, f2, less2);
            if (keeps_tail) {
                pack tail = finished(kind, pack_at(out_kept + PACK), back ? pack_at(out_other + PACK) : f, tail_f, tail_less);
                memcpy((value *)s->kept + (out_g * s->group + r) * row - PACK, &tail, sizeof tail);
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
            to += s->to_stride;
        }
        if (r < rows) {
            pack p = pack_at(next), q = pack_at(next + PACK);
            __builtin_prefetch(next + source.ahead);
            __builtin_prefetch(next + source.ahead + PACK);
            if (back) {
                pack y = pack_at(next_other), y2 = pack_at(next_other + PACK);
                __builtin_prefetch(next_other + source.other_ahead);
                __builtin_prefetch(next_other + source.other_ahead + PACK);
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
                most = pack_most(most, p);
                most2 = pack_most(most2, q);
                total += e;
                total2 += e2;
                p = logarithm ? p : e;
                q = logarithm ? q : e2;
            }
            memcpy(kept, &p, sizeof p);
            memcpy(kept + PACK, &q, sizeof q);
            next += source.stride;
            kept += row;
        }
    }
    if (rows == 0) {
        return;
    }
    /* Beyond reach an exponential means nothing, or soon would in a sum. */
    pack_mask far = (most - shift > most_reach) | (most2 - shift2 > most_reach);
    bool again = !back && pack_any(far);
    total = again ? total_before : total;
    total2 = again ? total2_before : total2;
    memcpy(sum, &total, sizeof total);
    memcpy(sum + PACK, &total2, sizeof total2);
    if (back) {
        return;
    }
    memcpy(largest, &most, sizeof most);
    memcpy(largest + PACK, &most2, sizeof most2);
    memcpy(shift_at, &shift, sizeof shift);
    memcpy(shift_at + PACK, &shift2, sizeof shift2);
    if (again) {
        const columns_step same = *s; /* what has an address is read anew after each store */
        const chunk_source again_from = source;
        read_again(&same, g, at, &again_from, logarithm);
    }
}

static inline __attribute__((always_inline)) void columns_step_with(const columns_step *step, columns_kind kind, bool shifted) {
    const columns_step of = *step, *s = &of;
    int64_t widest = s->n > s->out_n ? s->n : s->out_n;
    for (int64_t g = 0; g * s->group < s->rows; g++) {
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
