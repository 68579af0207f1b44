/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm with channels together in memory (channels-last, or no positions at all): each position is a row of
   channels. Batch norm's threads share all rows and merge what they found; group norm's share the samples. Accumulators:
   float (double for f64) over 32 rows, double from there on. */
#include "engine/kernels/cpu/norm_columns.h"

#include "device/caches.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>
#include <string.h>

/* Rows of at most COLUMNS channels at a time: what is loaded and summed stays in the L1 cache. What is read once and where it lies, for
   moments: whole rows if they are no longer, and more of them. */
enum { COLUMNS = 256, ROWS = 32, FLUSH_ROWS = 256, FEW_COLUMNS = COLUMNS, GROUP_ROWS = 8, TOGETHER = 1024,
       DIRECT_COLUMN_BYTES = 4096, DIRECT_ROWS = 512, LEAST_DIRECT_ROWS = 64,
       APART_BYTES = PARALLEL_APART_BYTES };

/* The rows [from, to) of a nest at some base, one after another. */
typedef struct row_range {
    const loop *l;
    int64_t left, first;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
} row_range;

static row_range range_start(const channel_norm *s, int64_t n, int64_t from, int64_t to) {
    row_range r = {.l = &s->rows, .left = to - from};
    if (r.left > 0) {
        loop_seek(r.l, from, r.index, r.offset);
        r.first = r.index[0];
        for (int k = 0; k < r.l->n_operands; k++) {
            r.offset[k] += (s->v.is_batch ? 0 : n * s->n_stride[k]) - r.first * r.l->strides[k][0];
        }
    }
    return r;
}

/* Up to `most` rows a constant stride apart: how many, and where operand k's first channel of the first one is. */
static int64_t range_next(row_range *r, int64_t most, int64_t *offset) {
    const loop *l = r->l;
    if (r->left <= 0) {
        return 0;
    }
    int64_t rows = l->sizes[0] - r->first;
    rows = rows < r->left ? rows : r->left;
    rows = rows < most ? rows : most;
    for (int k = 0; k < l->n_operands; k++) {
        offset[k] = r->offset[k] + r->first * l->strides[k][0];
    }
    r->left -= rows;
    r->first += rows;
    if (r->first == l->sizes[0]) {
        r->first = 0;
        nest_next(l, r->index, r->offset);
    }
    return rows;
}

static const void *fetch(const channel_norm *s, int k, void *buffer, int64_t offset, int64_t n) {
    return row_fetch(s->l, buffer, s->data[k] + offset, s->type[k], s->c_stride[k], n);
}

/* --- statistics --------------------------------------------------------------------------------------------------------------- */

/* Loops that read halves where they lie; NULL: others. */
static const row_halves *halves_of(const channel_norm *s) {
    return s->l->type == ASSAY_F32 && dtype_size(s->type[NORM_X]) == sizeof(uint16_t) ? row_halves_for(s->type[NORM_X]) : NULL;
}

static bool are_direct(const channel_norm *s) {
    return halves_of(s) != NULL || (s->type[NORM_X] == s->l->type && s->rows.strides[NORM_X][0] % (int64_t)s->l->size == 0);
}

/* Moments of n channels from channel c on, over rows [from, to) of sample n_sample. */
static void column_moments(const channel_norm *s, int64_t sample, int64_t from, int64_t to, int64_t c, int64_t n,
                           channel_moment *out) {
    enum { MOST = DIRECT_COLUMN_BYTES / sizeof(float), APART = APART_BYTES / sizeof(double) };
    alignas(64) char buffer[ROWS * COLUMNS * sizeof(double)], mean[DIRECT_COLUMN_BYTES + APART_BYTES], m2[DIRECT_COLUMN_BYTES + APART_BYTES];
    double means[MOST + APART], squares[MOST + APART], count = 0;
    int64_t size = (int64_t)s->l->size, stride = s->rows.strides[NORM_X][0], offset[LOOP_MAX_OPERANDS], rows;
    const row_halves *halves = halves_of(s);
    bool is_direct = are_direct(s);
    int64_t most = is_direct && to - from >= LEAST_DIRECT_ROWS ? DIRECT_ROWS : ROWS;
    memset(means, 0, (size_t)n * sizeof *means);
    memset(squares, 0, (size_t)n * sizeof *squares);
    for (row_range r = range_start(s, sample, from, to); (rows = range_next(&r, most, offset)) > 0;) {
        const char *at = s->data[NORM_X] + offset[NORM_X] + c * s->c_stride[NORM_X];
        for (int64_t k = 0; !is_direct && k < rows; k++) {
            s->l->load(buffer + k * n * size, at + k * stride, s->type[NORM_X], s->c_stride[NORM_X], n);
        }
        if (halves != NULL) {
            halves->moments_columns(at, rows, stride / (int64_t)sizeof(uint16_t), n, (float *)(void *)mean, (float *)(void *)m2);
        } else {
            s->l->moments_columns(is_direct ? at : buffer, rows, is_direct ? stride / size : n, n, mean, m2);
        }
        s->l->moments_merge(means, squares, mean, m2, count, (double)rows, n);
        count += (double)rows;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = (channel_moment){count, means[i], squares[i]};
    }
}

static void all_moments(const channel_norm *s, int64_t sample, int64_t from, int64_t to, channel_moment *out) {
    bool is_once = are_direct(s) && to - from >= LEAST_DIRECT_ROWS;
    int64_t columns = is_once ? DIRECT_COLUMN_BYTES / (int64_t)s->l->size : COLUMNS;
    for (int64_t c = 0; c < s->C; c += columns) {
        column_moments(s, sample, from, to, c, s->C - c < columns ? s->C - c : columns, out + c);
    }
}

/* Merges what each thread found of every channel; the threads share the channels. */
static void merge_partials(const channel_norm *s, int team) {
    int64_t from, to;
    parallel_share(s->C, 8, &from, &to);
    for (int64_t c = from; c < to; c++) {
        channel_moment m = s->partials[c];
        for (int t = 1; t < team; t++) {
            channel_moment more = s->partials[t * s->C + c];
            channel_merge(&m, more.n, more.mean, more.m2);
        }
        s->moments[c] = m;
        channel_finish_stat(s, c);
    }
}

static void group_moments(const channel_norm *s, int64_t n, const channel_moment *channels) {
    for (int64_t g = 0; g < s->groups; g++) {
        int64_t width = s->C / s->groups;
        channel_moment m = {0};
        for (int64_t c = g * width; c < (g + 1) * width; c++) {
            channel_merge(&m, channels[c].n, channels[c].mean, channels[c].m2);
        }
        s->moments[n * s->groups + g] = m;
        channel_finish_stat(s, n * s->groups + g);
    }
}

/* --- rows of factors --------------------------------------------------------------------------------------------------------------- */

/* A thread's k-th row of C numbers. */
static char *factors(const channel_norm *s, int k) {
    int64_t bytes = (s->C * (int64_t)s->l->size + 63) / 64 * 64 + APART_BYTES;
    return s->columns + omp_get_thread_num() * s->columns_bytes + k * bytes;
}

/* Of channels from c on, so many at a time that whole lines of memory go past the caches. */
static int64_t block_columns(const channel_norm *s, int64_t c, const char *out) {
    int64_t begun = s->streams ? (int64_t)((uintptr_t)out % STREAM_LINE_BYTES) / (int64_t)dtype_size(s->type[NORM_OUT]) : 0;
    return s->C - c < COLUMNS - begun ? s->C - c : COLUMNS - begun;
}

/* Whether rows go one by one, as they lie, and what is asked for is near: two cores of a Zen 5 take 8.5 ms so for the gradient of batch norm of
   [32768, 1024], 11.3 without asking, and 14.8 by blocks of columns (2026-11). */
static bool goes_straight_on(const channel_norm *s) {
    return s->streams && cpu_asks_along() && !cpu_is_intel();
}

/* Elsewhere so many rows go by blocks of columns, whose factors stay in L1 meanwhile; one where a block is a row, or blocks of other rows would
   begin elsewhere within lines. Two cores of a Zen 4: batch norm of [32768, 1024] 10.3 -> 9.3 ms, its gradient 20.0 -> 18.1 (2026-11). */
static int64_t group_rows(const channel_norm *s) {
    return s->C > COLUMNS && !goes_straight_on(s) && (!s->streams || s->rows.strides[NORM_OUT][0] % STREAM_LINE_BYTES == 0) ? GROUP_ROWS : 1;
}

/* Asks for the same of the next group, or a little further on. */
static void fetch_group(const channel_norm *s, int k, int64_t at, int64_t n) {
    enum { NEAR_BYTES = 2048 };
    const bool near = goes_straight_on(s);
    const uintptr_t place = (uintptr_t)s->data[k] + (uintptr_t)(at + (near ? NEAR_BYTES : GROUP_ROWS * s->rows.strides[k][0]));
    for (uintptr_t i = 0; s->streams && s->C > COLUMNS && i < (uintptr_t)(n * s->c_stride[k]); i += STREAM_LINE_BYTES) {
        if (near) {
            __builtin_prefetch((const char *)(place + i));
        } else {
            __builtin_prefetch((const char *)(place + i), 0, 2);
        }
    }
}

/* As row_target and row_put, of COLUMNS at most, where results may go past the caches. */
static void *target(const channel_norm *s, char *buffer, char *out) {
    return s->streams ? buffer : row_target(s->l, buffer, out, s->type[NORM_OUT], s->c_stride[NORM_OUT]);
}

static void put(const channel_norm *s, char *out, const void *made, int64_t n) {
    alignas(64) char raw[COLUMNS * sizeof(double)];
    if (!s->streams) {
        row_put(s->l, out, s->type[NORM_OUT], s->c_stride[NORM_OUT], made, n);
        return;
    }
    if (s->type[NORM_OUT] != s->l->type) {
        s->l->store(raw, s->type[NORM_OUT], s->c_stride[NORM_OUT], made, n);
        made = raw;
    }
    s->l->stream(out, made, (size_t)n * dtype_size(s->type[NORM_OUT]));
}

/* Whether rows of few channels lie one behind the other in what is read and written. */
static bool are_few_columns(const channel_norm *s) {
    bool are = s->C <= FEW_COLUMNS && s->rows.ndim > 0;
    for (int k = NORM_X; k <= NORM_OUT; k++) {
        int64_t size = (int64_t)dtype_size(s->type[k]);
        are = are && s->c_stride[k] == size && s->rows.strides[k][0] == s->C * size;
    }
    return are;
}

/* Several rows at a time, with their factors as often: a call for each would take as long as its work. */
static void apply_few_columns(const channel_norm *s, int64_t sample, int64_t from, int64_t to, const char *factor, const char *plus) {
    alignas(64) char buffer[TOGETHER * sizeof(double)], factors_of[TOGETHER * sizeof(double)], pluses_of[TOGETHER * sizeof(double)];
    const int64_t most = TOGETHER / s->C, row_bytes = s->C * (int64_t)s->l->size, out_size = (int64_t)dtype_size(s->type[NORM_OUT]);
    const bool past = s->streams && s->type[NORM_OUT] == s->l->type;
    int64_t offset[LOOP_MAX_OPERANDS], rows;
    for (int64_t k = 0; k < most; k++) {
        memcpy(factors_of + k * row_bytes, factor, (size_t)row_bytes);
        memcpy(pluses_of + k * row_bytes, plus, (size_t)row_bytes);
    }
    for (row_range r = range_start(s, sample, from, to); (rows = range_next(&r, most, offset)) > 0;) {
        char *out = s->data[NORM_OUT] + offset[NORM_OUT];
        void *made = past ? buffer : row_target(s->l, buffer, out, s->type[NORM_OUT], out_size);
        s->l->affine(made, fetch(s, NORM_X, buffer, offset[NORM_X], rows * s->C), factors_of, pluses_of, rows * s->C);
        if (past) {
            s->l->stream(out, made, (size_t)(rows * row_bytes));
        } else {
            row_put(s->l, out, s->type[NORM_OUT], out_size, made, rows * s->C);
        }
    }
}

/* What a sample's numbers are multiplied by, and what is added then. */
static void find_factors(const channel_norm *s, int64_t sample, char *factor, char *plus) {
    const bool is_float = s->l->type == ASSAY_F32;
    float *floats = (float *)(void *)factor, *float_pluses = (float *)(void *)plus;
    double *doubles = (double *)(void *)factor, *pluses = (double *)(void *)plus;
    for (int64_t c = 0; c < s->C; c++) {
        const int64_t i = channel_stat(s, sample, c);
        const double f = s->weights[c] * s->rstd[i], p = s->biases[c] - s->mean[i] * f;
        if (is_float) {
            floats[c] = (float)f;
            float_pluses[c] = (float)p;
        } else {
            doubles[c] = f;
            pluses[c] = p;
        }
    }
}

static void apply_forward(const channel_norm *s, int64_t sample, int64_t from, int64_t to) {
    alignas(64) char buffer[COLUMNS * sizeof(double)];
    char *factor = factors(s, 0), *plus = factors(s, 1);
    int64_t size = (int64_t)s->l->size, offset[LOOP_MAX_OPERANDS], rows;
    find_factors(s, sample, factor, plus);
    if (are_few_columns(s)) {
        apply_few_columns(s, sample, from, to, factor, plus);
        return;
    }
    const int64_t *stride_out = s->rows.strides[NORM_OUT], *stride_x = s->rows.strides[NORM_X];
    for (row_range r = range_start(s, sample, from, to); (rows = range_next(&r, group_rows(s), offset)) > 0;) {
        for (int64_t c = 0, n; c < s->C; c += n) {
            char *first = s->data[NORM_OUT] + offset[NORM_OUT] + c * s->c_stride[NORM_OUT];
            n = block_columns(s, c, first);
            for (int64_t k = 0; k < rows; k++) {
                const int64_t at_x = offset[NORM_X] + k * stride_x[0] + c * s->c_stride[NORM_X];
                char *out = first + k * stride_out[0];
                void *to_row = target(s, buffer, out);
                fetch_group(s, NORM_X, at_x, n);
                s->l->affine(to_row, fetch(s, NORM_X, buffer, at_x, n), factor + c * size, plus + c * size, n);
                put(s, out, to_row, n);
            }
        }
    }
}

static void share_forward(const void *context) {
    const channel_norm *s = context;
    channel_moment *own = s->partials + omp_get_thread_num() * s->C;
    int64_t from, to;
    parallel_share(s->v.is_batch ? s->rows.numel : s->N, 1, &from, &to);
    if (s->v.is_batch) {
        if (s->v.trains) {
            all_moments(s, 0, from, to, own);
#pragma omp barrier
            merge_partials(s, omp_get_num_threads());
#pragma omp barrier
        }
        apply_forward(s, 0, from, to);
    }
    for (int64_t n = from; !s->v.is_batch && n < to; n++) {
        all_moments(s, n, 0, s->rows.numel, own);
        group_moments(s, n, own);
        apply_forward(s, n, 0, s->rows.numel);
    }
    s->l->settle();
}

void channel_columns_forward(const channel_norm *s) {
    parallel_run(s->threads, share_forward, s);
}

/* --- backward -------------------------------------------------------------------------------------------------------------------------- */

static double number_at(const channel_norm *s, const char *row, int64_t i) {
    return s->l->type == ASSAY_F32 ? (double)((const float *)(const void *)row)[i] : ((const double *)(const void *)row)[i];
}

static void flush_sums(const channel_norm *s, char *sums, char *products, channel_moment *total) {
    for (int64_t c = 0; c < s->C; c++) {
        total[c].mean += number_at(s, sums, c);
        total[c].m2 += number_at(s, products, c);
    }
    s->l->fill(sums, 0, s->C);
    s->l->fill(products, 0, s->C);
}

/* Sums of dy and dy (x - mean) by channel over rows [from, to). */
static void column_sums(const channel_norm *s, int64_t sample, int64_t from, int64_t to, channel_moment *total) {
    alignas(64) char buffer[COLUMNS * sizeof(double)], more[COLUMNS * sizeof(double)];
    char *mean = factors(s, 0), *sums = factors(s, 1), *products = factors(s, 2);
    int64_t size = (int64_t)s->l->size, offset[LOOP_MAX_OPERANDS], since_flush = 0, rows;
    for (int64_t c = 0; c < s->C; c++) {
        s->l->fill(mean + c * size, s->mean[channel_stat(s, sample, c)], 1);
        total[c] = (channel_moment){0};
    }
    s->l->fill(sums, 0, s->C);
    s->l->fill(products, 0, s->C);
    const int64_t *strides_x = s->rows.strides[NORM_X], *strides_dy = s->rows.strides[NORM_DY];
    for (row_range r = range_start(s, sample, from, to); (rows = range_next(&r, group_rows(s), offset)) > 0;) {
        for (int64_t c = 0; c < s->C; c += COLUMNS) {
            int64_t n = s->C - c < COLUMNS ? s->C - c : COLUMNS;
            for (int64_t k = 0; k < rows; k++) {
                const int64_t at_dy = offset[NORM_DY] + k * strides_dy[0] + c * s->c_stride[NORM_DY];
                const int64_t at_x = offset[NORM_X] + k * strides_x[0] + c * s->c_stride[NORM_X];
                fetch_group(s, NORM_DY, at_dy, n);
                fetch_group(s, NORM_X, at_x, n);
                const void *dy = fetch(s, NORM_DY, buffer, at_dy, n), *x = fetch(s, NORM_X, more, at_x, n);
                s->l->channel_sums_columns(sums + c * size, products + c * size, dy, x, mean + c * size, n);
            }
        }
        since_flush += rows;
        if (since_flush >= FLUSH_ROWS) {
            flush_sums(s, sums, products, total);
            since_flush = 0;
        }
    }
    flush_sums(s, sums, products, total);
}

/* The four rows of factors, from the sums by channel. */
static void gradient_factors(const channel_norm *s, int64_t sample) {
    int64_t size = (int64_t)s->l->size, width = s->C / s->groups;
    double g = 0, gx = 0;
    for (int64_t c = 0; c < s->C; c++) {
        if (s->v.is_batch) {
            g = s->weights[c] * s->moments[c].mean;
            gx = s->weights[c] * s->moments[c].m2;
        } else if (c % width == 0) {
            g = gx = 0;
            for (int64_t k = c; k < c + width; k++) {
                g += s->weights[k] * s->moments[channel_sum(s, sample, k)].mean;
                gx += s->weights[k] * s->moments[channel_sum(s, sample, k)].m2;
            }
        }
        channel_factors f = channel_gradient(s, sample, c, g, gx);
        const double numbers[] = {f.mean, f.a, f.b, f.c};
        for (int k = 0; k < 4; k++) {
            s->l->fill(factors(s, k) + c * size, numbers[k], 1);
        }
    }
}

static void apply_backward(const channel_norm *s, int64_t sample, int64_t from, int64_t to) {
    alignas(64) char buffer[COLUMNS * sizeof(double)], more[COLUMNS * sizeof(double)];
    int64_t size = (int64_t)s->l->size, offset[LOOP_MAX_OPERANDS], rows;
    gradient_factors(s, sample);
    const int64_t *stride_out = s->rows.strides[NORM_OUT], *stride_x = s->rows.strides[NORM_X], *stride_dy = s->rows.strides[NORM_DY];
    for (row_range r = range_start(s, sample, from, to); (rows = range_next(&r, group_rows(s), offset)) > 0;) {
        for (int64_t c = 0, n; c < s->C; c += n) {
            char *first = s->data[NORM_OUT] + offset[NORM_OUT] + c * s->c_stride[NORM_OUT];
            const int64_t at = c * size;
            n = block_columns(s, c, first);
            for (int64_t k = 0; k < rows; k++) {
                const int64_t at_dy = offset[NORM_DY] + k * stride_dy[0] + c * s->c_stride[NORM_DY];
                const int64_t at_x = offset[NORM_X] + k * stride_x[0] + c * s->c_stride[NORM_X];
                char *out = first + k * stride_out[0];
                void *to_row = target(s, buffer, out);
                fetch_group(s, NORM_DY, at_dy, n);
                const void *dy = fetch(s, NORM_DY, buffer, at_dy, n);
                if (s->v.trains) {
                    fetch_group(s, NORM_X, at_x, n);
                    const void *x = fetch(s, NORM_X, more, at_x, n);
                    s->l->channel_grad_columns(to_row, dy, x, factors(s, 0) + at, factors(s, 1) + at, factors(s, 2) + at, factors(s, 3) + at, n);
                } else {
                    s->l->affine(to_row, dy, factors(s, 1) + at, factors(s, 3) + at, n);
                }
                put(s, out, to_row, n);
            }
        }
    }
}

static void add_partials(const channel_norm *s, int team) {
    int64_t from, to;
    parallel_share(s->C, 8, &from, &to);
    for (int64_t c = from; c < to; c++) {
        channel_moment m = s->partials[c];
        for (int t = 1; t < team; t++) {
            m.mean += s->partials[t * s->C + c].mean;
            m.m2 += s->partials[t * s->C + c].m2;
        }
        s->moments[c] = m;
    }
}

static void share_backward(const void *context) {
    const channel_norm *s = context;
    bool wants_sums = s->v.trains || s->wants_params;
    int64_t from, to;
    parallel_share(s->v.is_batch ? s->rows.numel : s->N, 1, &from, &to);
    if (s->v.is_batch) {
        if (wants_sums) {
            column_sums(s, 0, from, to, s->partials + omp_get_thread_num() * s->C);
#pragma omp barrier
            add_partials(s, omp_get_num_threads());
#pragma omp barrier
        }
        if (s->wants_input) {
            apply_backward(s, 0, from, to);
        }
    }
    for (int64_t n = from; !s->v.is_batch && n < to; n++) {
        column_sums(s, n, 0, s->rows.numel, &s->moments[n * s->C]);
        if (s->wants_input) {
            apply_backward(s, n, 0, s->rows.numel);
        }
    }
    s->l->settle();
}

void channel_columns_backward(const channel_norm *s) {
    parallel_run(s->threads, share_backward, s);
}
