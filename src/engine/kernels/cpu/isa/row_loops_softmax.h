/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of softmax and its gradients, in `value`: a part of row_loops_real.h. */

static double exp_shifted(void *to, const void *row, double shift, int64_t n) {
    value *y = to;
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            value e = exp_shifted_of(x[i] - s);
            y[i] = e;
            sum += e;
        }
        total += (double)sum;
    }
    return total;
}

static double sum_exp(const void *row, double shift, int64_t n) {
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            sum += exp_shifted_of(x[i] - s);
        }
        total += (double)sum;
    }
    return total;
}

/* Many short rows one behind the other; to may be x. */
static void softmax_short(void *to, const void *at, int64_t rows, int64_t n, bool logarithm) {
    value *y = to;
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        row_wide largest = {.WIDE = (wide)-INFINITY};
        fold_largest(&largest, x, n);
        value m = (value)largest.WIDE, sum = 0;
        if (logarithm) {
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < n; i++) {
                sum += exp_shifted_of(x[i] - m);
            }
            subtract(y, x, (double)m, log((double)sum), n);
            continue;
        }
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(x[i] - m);
            y[i] = e;
            sum += e;
        }
        scale(y, y, 1 / (double)sum, 0, n);
    }
}

/* What finishes a line: beside the step, so that the compiler need not read it anew after each store. */
typedef struct softmax_finish {
    const value *from;
    value largest, factor;
    bool logarithm;
} softmax_finish;

static inline __attribute__((always_inline)) void finish_pack(value *to, const softmax_finish *f, int64_t i) {
    pack p = pack_at(f->from + i);
    p = f->logarithm ? (p - f->largest) - f->factor : p * f->factor;
    stream_line(to + i, &p);
}

/* What the blocks leave of the line that is finished: less than a line of memory, or from where one begins. Even a few
   ordinary stores among those past the caches cost much: they read their lines first. */
static void finish_rest(value *to, const softmax_finish *f, int64_t i, int64_t end) {
    for (; i + PACK <= end; i += PACK) {
        finish_pack(to, f, i);
    }
    for (; i < end; i++) {
        to[i] = f->logarithm ? (f->from[i] - f->largest) - f->factor : f->from[i] * f->factor;
    }
}

/* The same of the line whose exponentials are taken: their sum. */
static value exp_ends(value *made, const value *x, value shift, int64_t i, int64_t end) {
    pack sum = {0};
    for (; i < end; i += PACK) {
        size_t bytes = (size_t)(end - i < PACK ? end - i : PACK) * sizeof(value);
        value e[PACK];
        for (int k = 0; k < PACK; k++) {
            e[k] = (value)-INFINITY; /* adds nothing */
        }
        memcpy(e, x + i, bytes);
#pragma omp simd
        for (int k = 0; k < PACK; k++) {
            e[k] = exp_shifted_of(e[k] - shift);
        }
        sum += pack_at(e);
        if (made != NULL) {
            memcpy(made + i, e, bytes);
        }
    }
    return pack_sum(sum);
}

/* Elements up to the first line of memory. */
static inline int64_t softmax_head(const void *at) {
    return (int64_t)((size_t)(-(uintptr_t)at & (STREAM_LINE - 1)) / sizeof(value));
}

/* Maximum and exponentials of one line and finishing of another, block by block in turns: while one waits for memory the CPU goes
   on with the other. Each goes by lines of memory of its own; what lies before the first and behind the last block of either
   comes last. NaN need not reach the maximum: its exponential makes the sum NaN. */
static inline __attribute__((always_inline)) void step_with(const softmax_step *s, bool logarithm) {
    enum { BLOCK = 4 * PACK, AHEAD = 2048 / sizeof(value) }; /* the CPU itself reads ahead within a page only */
    const softmax_finish f = {s->from, (value)s->finish_largest, (value)s->factor, logarithm};
    const value *x = s->x;
    value *made = logarithm ? NULL : s->made, *to = s->to, shift = (value)s->shift;
    int64_t n = s->n, x_head = softmax_head(x), to_head = softmax_head(to);
    int64_t end = (n - (to_head > x_head ? to_head : x_head)) / BLOCK * BLOCK;
    pack most = pack_at(x);
    double sum = 0;
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < ROW_BLOCK ? end : i + ROW_BLOCK;
        pack a = {0}, b = {0};
        for (; i < stop; i += BLOCK) {
            value block[BLOCK], *e = logarithm ? block : made + x_head + i;
            for (int k = 0; k < BLOCK; k += PACK) {
                __builtin_prefetch(x + x_head + i + k + AHEAD);
                most = pack_most(most, pack_at(x + x_head + i + k));
            }
#pragma omp simd
            for (int k = 0; k < BLOCK; k++) {
                e[k] = exp_shifted_of(x[x_head + i + k] - shift);
            }
            for (int k = 0; k < BLOCK; k += 2 * PACK) {
                a += pack_at(e + k);
                b += pack_at(e + k + PACK);
            }
            for (int k = 0; k < BLOCK; k += PACK) {
                finish_pack(to, &f, to_head + i + k);
            }
        }
        sum += (double)pack_sum(a + b);
    }
    finish_rest(to, &f, 0, to_head);
    finish_rest(to, &f, to_head + end, n);
    sum += (double)exp_ends(made, x, shift, 0, x_head);
    sum += (double)exp_ends(made, x, shift, x_head + end, n);
    for (int64_t i = x_head + end; i < n; i += PACK) {
        most = pack_most(most, pack_at(x + (i + PACK <= n ? i : n - PACK))); /* seen twice does no harm */
    }
    *s->sum = sum;
    *s->largest = (double)pack_fold(most, larger);
}

static void softmax_stream(const softmax_step *s) {
    if (s->logarithm) {
        step_with(s, true);
    } else {
        step_with(s, false);
    }
}

static void softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = (g[i] - s) * y[i];
    }
}

static void log_softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = g[i] - exp_of(y[i]) * s;
    }
}

static void softmax_columns(void *block, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *x = block, *largest = work, *sum = largest + n;
    memcpy(largest, x, (size_t)n * sizeof *x);
    for (int64_t r = 1; r < rows; r++) {
        into_largest(largest, x + r * n, n);
    }
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(row[i] - largest[i]);
            sum[i] += e;
            row[i] = logarithm ? row[i] : e;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        sum[i] = logarithm ? (value)log((double)sum[i]) : 1 / sum[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            row[i] = logarithm ? (row[i] - largest[i]) - sum[i] : row[i] * sum[i];
        }
    }
}

static void columns_read(void *to, void *largest_at, const void *at, int64_t stride, int64_t rows, int64_t n) {
    value *largest = largest_at;
    for (int64_t r = 0; r < rows; r++) {
        const value *x = (const value *)at + r * stride;
        value *y = (value *)to + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i];
            largest[i] = x[i] > largest[i] ? x[i] : largest[i]; /* NaN makes the sum NaN */
        }
    }
}

static void columns_exp(void *at, const void *largest_at, void *sum_at, int64_t rows, int64_t n, bool keep) {
    value *sum = sum_at;
    const value *largest = largest_at;
    for (int64_t r = 0; r < rows; r++) {
        value *x = (value *)at + r * n;
        if (keep) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                sum[i] += exp_shifted_of(x[i] - largest[i]);
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(x[i] - largest[i]);
            sum[i] += e;
            x[i] = e;
        }
    }
}

static void columns_finish(void *to, const void *from, const void *largest_at, const void *factor_at, int64_t rows,
                           int64_t n) {
    const value *largest = largest_at, *factor = factor_at;
    for (int64_t r = 0; r < rows; r++) {
        const value *x = (const value *)from + r * n;
        value *y = (value *)to + r * n;
        if (largest == NULL) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                y[i] = x[i] * factor[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - largest[i]) - factor[i];
        }
    }
}

static void columns_scale(void *to, const void *from, const void *a_at, const void *b_at, int64_t n) {
    value *y = to;
    const value *x = from, *a = a_at, *b = b_at;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * exp_shifted_of(a[i] - b[i]);
    }
}

/* A block of columns is gone over two packs of a group of rows at a time: in larger portions reading, computing and storing
   wait for each other. */
enum { CHUNK = 2 * PACK, KEPT_AHEAD = 4 /* rows */ };

/* x exp(a - b) of a chunk. */
static inline __attribute__((always_inline)) void scale_chunk(value *to, const value *x, const value *a, const value *b) {
#pragma omp simd
    for (int k = 0; k < CHUNK; k++) {
        to[k] = x[k] * exp_shifted_of(a[k] - b[k]);
    }
}

static inline int64_t rows_of_group(const softmax_columns_step *s, int64_t g) {
    int64_t left = s->rows - g * s->group;
    return left < 0 ? 0 : left < s->group ? left : s->group;
}

/* to = exp(x - shift) of a chunk. */
static inline __attribute__((always_inline)) void exp_chunk(value *to, const value *x, const value *shift) {
#pragma omp simd
    for (int k = 0; k < CHUNK; k++) {
        to[k] = exp_shifted_of(x[k] - shift[k]);
    }
}

static inline pack at_least(pack p, double least) {
    pack q = (pack){0} + (value)least;
    return pack_choose(p > q, p, q);
}

/* A chunk once more, now that its largest numbers are known: they are subtracted. */
static __attribute__((noinline)) void read_again(const softmax_columns_step *s, int64_t g, int64_t at) {
    const value *next = (const value *)s->next + g * s->group * s->next_stride + at;
    value *kept = (value *)s->kept + g * s->group * s->n + at, *shift = (value *)s->shift + g * s->n + at;
    value *sum = (value *)s->sum + at, before[CHUNK], made[CHUNK];
    const value *largest = (const value *)s->largest + at;
    memcpy(before, shift, sizeof before);
    for (int k = 0; k < CHUNK; k += PACK) {
        pack p = at_least(pack_at(largest + k), s->lowest);
        memcpy(shift + k, &p, sizeof p);
    }
    scale_chunk(sum, sum, before, shift);
    for (int64_t r = 0; r < rows_of_group(s, g); r++, next += s->next_stride, kept += s->n) {
        exp_chunk(made, next, shift);
        for (int k = 0; k < CHUNK; k++) {
            sum[k] += made[k];
            kept[k] = s->logarithm ? next[k] : made[k];
        }
    }
}

/* Reads the chunk at column `at` of group g while the one behind it is finished: were it the same one, loads would wait for
   stores as far into another page, which the CPU tells apart late. What runs on from row to row stays in registers. */
static inline __attribute__((always_inline)) void step_chunk(const softmax_columns_step *s, int64_t g, int64_t at,
                                                             bool reads, bool logarithm) {
    const pack most_reach = (pack){0} + SOFTMAX_REACH;
    bool same_group = reads && at + CHUNK < s->n;
    int64_t out_at = same_group ? at + CHUNK : 0, out_g = same_group || !reads ? g : g + 1, n = s->n;
    int64_t rows = reads ? rows_of_group(s, g) : 0, out_rows = rows_of_group(s, out_g), next_stride = s->next_stride;
    const value *next = (const value *)s->next + g * s->group * next_stride + at;
    const value *out_kept = (const value *)s->kept + out_g * s->group * n + out_at;
    value *kept = (value *)s->kept + g * s->group * n + at, *to = (value *)s->to + out_g * s->group * s->to_stride + out_at;
    value *shift_at = (value *)s->shift + g * n + at, *largest = (value *)s->largest + at, *sum = (value *)s->sum + at;
    int64_t ahead = s->ahead * next_stride, to_stride = s->to_stride;
    value factor[CHUNK];
    pack f = {0}, f2 = f, less = f, less2 = f, most = f, most2 = f, total = f, total2 = f, shift = f, shift2 = f;
    if (out_rows > 0) {
        memcpy(factor, (const value *)s->factor + out_at, sizeof factor);
        const value *finish_shift = (const value *)s->finish_shift + out_at;
        const value *less_before = (const value *)s->shift + out_g * n + out_at;
        if (!logarithm && memcmp(less_before, finish_shift, sizeof factor) != 0) {
            scale_chunk(factor, factor, less_before, finish_shift);
        }
        f = pack_at(factor);
        f2 = pack_at(factor + PACK);
        less = pack_at(finish_shift);
        less2 = pack_at(finish_shift + PACK);
    }
    if (reads && g == 0) { /* the first row is as good as the largest, unless another is far larger */
        most = most2 = (pack){0} - (value)INFINITY;
        shift = at_least(pack_at(next), s->lowest);
        shift2 = at_least(pack_at(next + PACK), s->lowest);
    } else if (reads) {
        most = pack_at(largest);
        most2 = pack_at(largest + PACK);
        total = pack_at(sum);
        total2 = pack_at(sum + PACK);
        shift = pack_at(shift_at - n);
        shift2 = pack_at(shift_at - n + PACK);
    }
    const pack total_before = total, total2_before = total2;
    for (int64_t r = 0; r < (reads ? rows : out_rows); r++) {
        if (r < out_rows) {
            pack p = pack_at(out_kept), q = pack_at(out_kept + PACK);
            p = logarithm ? (p - less) - f : p * f;
            q = logarithm ? (q - less2) - f2 : q * f2;
            __builtin_prefetch(out_kept + KEPT_AHEAD * n); /* from L2 */
            __builtin_prefetch(out_kept + KEPT_AHEAD * n + PACK);
            stream_line(to, &p);
            stream_line(to + PACK, &q);
            out_kept += n;
            to += to_stride;
        }
        if (reads) {
            value made[CHUNK], near[CHUNK], *e = logarithm ? made : kept;
            pack p = pack_at(next), q = pack_at(next + PACK), x = p - shift, y = q - shift2;
            __builtin_prefetch(next + ahead);
            __builtin_prefetch(next + ahead + PACK);
            most = pack_most(most, p);
            most2 = pack_most(most2, q);
            memcpy(near, &x, sizeof x);
            memcpy(near + PACK, &y, sizeof y);
#pragma omp simd
            for (int k = 0; k < CHUNK; k++) {
                e[k] = exp_shifted_of(near[k]);
            }
            total += pack_at(e);
            total2 += pack_at(e + PACK);
            if (logarithm) {
                memcpy(kept, &p, sizeof p);
                memcpy(kept + PACK, &q, sizeof q);
            }
            next += next_stride;
            kept += n;
        }
    }
    if (!reads) {
        return;
    }
    /* Beyond reach an exponential means nothing, or soon would in a sum. */
    pack_mask far = (most - shift > most_reach) | (most2 - shift2 > most_reach);
    bool again = pack_any(far);
    total = again ? total_before : total;
    total2 = again ? total2_before : total2;
    memcpy(largest, &most, sizeof most);
    memcpy(largest + PACK, &most2, sizeof most2);
    memcpy(shift_at, &shift, sizeof shift);
    memcpy(shift_at + PACK, &shift2, sizeof shift2);
    memcpy(sum, &total, sizeof total);
    memcpy(sum + PACK, &total2, sizeof total2);
    if (again) {
        const softmax_columns_step same = *s; /* what has an address is read anew after each store */
        read_again(&same, g, at);
    }
}

static inline __attribute__((always_inline)) void columns_step_with(const softmax_columns_step *step, bool logarithm) {
    const softmax_columns_step of = *step, *s = &of;
    step_chunk(s, 0, 0, false, logarithm);
    for (int64_t g = 0; g * s->group < s->rows; g++) {
        for (int64_t at = 0; at < s->n; at += CHUNK) {
            step_chunk(s, g, at, true, logarithm);
        }
    }
}

static void columns_stream(const softmax_columns_step *s) {
    if (s->logarithm) {
        columns_step_with(s, true);
    } else {
        columns_step_with(s, false);
    }
}

static void softmax_back_columns(void *grad, const void *output, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *g = grad, *sum = work;
    const value *y = output;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t at = 0; at < rows * n; at += n) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sum[i] += logarithm ? g[at + i] : g[at + i] * y[at + i];
        }
    }
    for (int64_t at = 0; at < rows * n; at += n) {
        if (logarithm) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                g[at + i] = g[at + i] - exp_of(y[at + i]) * sum[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            g[at + i] = (g[at + i] - sum[i]) * y[at + i];
        }
    }
}
