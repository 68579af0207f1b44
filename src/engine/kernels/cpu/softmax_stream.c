/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and their backwards with results that no cache holds. Reading from memory, exponentials and
   stores past the caches each take about as long as the others here, so they go on side by side: while one line comes from
   memory for its maximum, the line before it is taken to its exponentials and the one before that is scaled and stored, all
   three a piece at a time. Blocks of columns likewise, a few rows at a time. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/streaming.h"

#include <math.h>

/* What is in flight at once stays in an L2 cache of 1 MiB, four lines or blocks of columns with it. */
enum { FLIGHT_BYTES = 1 << 20, STAGES = 3, ROWS_AT_ONCE = 4, ROWS_AHEAD = 8, LEAST_LINE = 128, LEAST_COLUMNS = 64, MOST_COLUMNS = 1024 };

/* A line on its way. */
typedef struct flight {
    const char *x;
    char *y;
    char *made; /* its exponentials */
    double largest, sum; /* the sum, once complete: 1 over it or its logarithm */
} flight;

/* n finished elements to where they belong; raw: room for them in the output's type. */
static void put(const softmax *s, char *to, const void *from, char *raw, int64_t n) {
    if (s->type[Y] != s->l->type) {
        s->l->store(raw, s->type[Y], s->stride[Y], from, n);
        from = raw;
    }
    s->l->stream(to, from, (size_t)(n * (int64_t)dtype_size(s->type[Y])));
}

static const void *fetch(const softmax *s, int k, char *buffer, const char *at, int64_t first, int64_t n) {
    return row_fetch(s->l, buffer, at + first * s->stride[k], s->type[k], s->stride[k], n);
}

/* --- lines --------------------------------------------------------------------------------------------------------------- */

/* room: 3 pieces. */
static void finish_piece(const softmax *s, const flight *f, int64_t first, int64_t n, char *room) {
    const row_loops *l = s->l;
    int64_t piece = STREAM_PIECE * (int64_t)l->size;
    if (s->logarithm) {
        const void *x = fetch(s, X, room, f->x, first, n);
        l->subtract(room + piece, x, f->largest, f->sum, n);
    } else {
        l->scale(room + piece, f->made + first * (int64_t)l->size, f->sum, 0, n);
    }
    put(s, f->y + first * s->stride[Y], room + piece, room + 2 * piece, n);
}

static void exp_piece(const softmax *s, flight *f, int64_t first, int64_t n, char *room) {
    const void *x = fetch(s, X, room, f->x, first, n);
    f->sum += s->logarithm ? s->l->sum_exp(x, f->largest, n)
                           : s->l->exp_shifted(f->made + first * (int64_t)s->l->size, x, f->largest, n);
}

static void largest_piece(const softmax *s, flight *f, int64_t first, int64_t n, char *room) {
    row_wide largest = {.f = f->largest};
    s->l->fold[ROW_LARGEST](&largest, fetch(s, X, room, f->x, first, n), n);
    f->largest = largest.f;
}

static void start_line(const softmax *s, int64_t i, flight *f) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    loop_seek(&s->lines, i, index, offset);
    f->x = s->lines.data[X] + offset[X];
    f->y = s->lines.data[Y] + offset[Y];
    f->largest = -INFINITY;
    f->sum = 0;
}

/* All three stages at once, of lines that need no conversion. */
static void step_lines(const softmax *s, flight *first, flight *second, const flight *third) {
    int64_t size = (int64_t)s->l->size;
    for (int64_t at = 0; at < s->n; at += ROW_BLOCK) {
        softmax_step step = {.logarithm = s->logarithm,
                             .n = s->n - at < ROW_BLOCK ? s->n - at : ROW_BLOCK,
                             .next = first->x + at * size,
                             .next_largest = &first->largest,
                             .x = second->x + at * size,
                             .made = second->made + at * size,
                             .largest = second->largest,
                             .sum = &second->sum,
                             .from = (s->logarithm ? third->x : third->made) + at * size,
                             .to = third->y + at * size,
                             .factor = third->sum,
                             .finish_largest = third->largest};
        s->l->softmax_stream(&step);
    }
}

static void stream_lines_forward(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t line_bytes = s->n * (int64_t)s->l->size;
    char *room = work + 2 * line_bytes;
    bool native = s->type[X] == s->l->type && s->type[Y] == s->l->type;
    flight ring[STAGES];
    for (int64_t i = from; i < to + STAGES - 1; i++) {
        flight *first = &ring[i % STAGES], *second = &ring[(i + 2) % STAGES], *third = &ring[(i + 1) % STAGES];
        bool reads = i < to, computes = i > from && i <= to, stores = i > from + 1;
        if (reads) {
            start_line(s, i, first);
            first->made = work + i % 2 * line_bytes;
        }
        bool steady = native && reads && computes && stores;
        if (steady) {
            step_lines(s, first, second, third);
        }
        for (int64_t at = 0; !steady && at < s->n; at += STREAM_PIECE) {
            int64_t n = s->n - at < STREAM_PIECE ? s->n - at : STREAM_PIECE;
            if (stores) {
                finish_piece(s, third, at, n, room);
            }
            if (computes) {
                exp_piece(s, second, at, n, room);
            }
            if (reads) {
                largest_piece(s, first, at, n, room);
            }
        }
        if (computes) {
            second->sum = s->logarithm ? log(second->sum) : 1 / second->sum;
        }
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------------- */

/* A block of columns on its way. */
typedef struct block {
    const char *x;
    char *y;
    char *made;          /* rows of n: the input, then its exponentials */
    char *largest, *sum; /* n each */
    int64_t n;
} block;

static void finish_rows(const softmax *s, const block *b, int64_t r, int64_t rows, char *room) {
    const row_loops *l = s->l;
    int64_t row_bytes = b->n * (int64_t)l->size;
    l->columns_finish(room, b->made + r * row_bytes, s->logarithm ? b->largest : NULL, b->sum, rows, b->n);
    for (int64_t k = 0; k < rows; k++) {
        l->stream(b->y + (r + k) * s->stride[Y], room + k * row_bytes, (size_t)row_bytes);
    }
}

static void start_block(const softmax *s, int64_t u, block *b) {
    int64_t offset[LOOP_MAX_OPERANDS];
    b->n = softmax_seek_block(s, u, offset);
    b->x = s->lines.data[X] + offset[X];
    b->y = s->lines.data[Y] + offset[Y];
    s->l->fill(b->largest, -(double)INFINITY, b->n);
    s->l->fill(b->sum, 0, b->n);
}

/* Sums into what rows are multiplied by, or lessened by. */
static void finish_sums(const softmax *s, const block *b) {
    for (int64_t i = 0; i < b->n; i++) {
        if (s->l->type == ASSAY_F32) {
            float *sum = (float *)(void *)b->sum + i;
            *sum = s->logarithm ? logf(*sum) : 1 / *sum;
        } else {
            double *sum = (double *)(void *)b->sum + i;
            *sum = s->logarithm ? log(*sum) : 1 / *sum;
        }
    }
}

/* Whether all three stages can go on at once: full blocks, stored on lines. */
static bool is_steady(const softmax *s, const block *first, const block *second, const block *third) {
    bool full = first->n == s->columns && second->n == s->columns && third->n == s->columns;
    bool on_lines = ((uintptr_t)third->y | (uintptr_t)s->stride[Y]) % STREAM_LINE_BYTES == 0;
    return full && on_lines && s->columns % LEAST_COLUMNS == 0;
}

static void step_rows(const softmax *s, block *first, block *second, const block *third, int64_t r, int64_t rows) {
    int64_t size = (int64_t)s->l->size, row_bytes = s->columns * size, stride = s->stride[X] / size;
    softmax_columns_step step = {.logarithm = s->logarithm,
                                 .rows = rows,
                                 .n = s->columns,
                                 .next_stride = stride,
                                 .to_stride = s->stride[Y] / size,
                                 .next = first->x + r * s->stride[X],
                                 .ahead = r + rows + ROWS_AHEAD <= s->n ? ROWS_AHEAD * stride : 0,
                                 .next_to = first->made + r * row_bytes,
                                 .next_largest = first->largest,
                                 .x = second->made + r * row_bytes,
                                 .largest = second->largest,
                                 .sum = second->sum,
                                 .from = third->made + r * row_bytes,
                                 .to = third->y + r * s->stride[Y],
                                 .factor = third->sum,
                                 .finish_largest = third->largest};
    s->l->columns_stream(&step);
}

static void stream_columns_forward(const softmax *s, int64_t from, int64_t to, char *work) {
    const row_loops *l = s->l;
    int64_t size = (int64_t)l->size, stride = s->stride[X] / size, row_bytes = s->columns * size;
    char *room = work + STAGES * s->n * row_bytes, *rows_of_sums = room + ROWS_AT_ONCE * row_bytes;
    block ring[STAGES];
    for (int k = 0; k < STAGES; k++) {
        ring[k].largest = rows_of_sums + 2 * k * row_bytes;
        ring[k].sum = ring[k].largest + row_bytes;
        ring[k].made = work + k * s->n * row_bytes;
    }
    for (int64_t u = from; u < to + STAGES - 1; u++) {
        block *first = &ring[u % STAGES], *second = &ring[(u + 2) % STAGES], *third = &ring[(u + 1) % STAGES];
        bool reads = u < to, computes = u > from && u <= to, stores = u > from + 1;
        if (reads) {
            start_block(s, u, first);
        }
        bool steady = reads && computes && stores && is_steady(s, first, second, third);
        for (int64_t r = 0; r < s->n; r += ROWS_AT_ONCE) {
            int64_t rows = s->n - r < ROWS_AT_ONCE ? s->n - r : ROWS_AT_ONCE;
            if (steady) {
                step_rows(s, first, second, third, r, rows);
                continue;
            }
            if (stores) {
                finish_rows(s, third, r, rows, room);
            }
            if (computes) {
                l->columns_exp(second->made + r * second->n * size, second->largest, second->sum, rows, second->n,
                               s->logarithm);
            }
            if (reads) {
                l->columns_read(first->made + r * first->n * size, first->largest, first->x + r * s->stride[X], stride, rows,
                                first->n);
            }
        }
        if (computes) {
            finish_sums(s, second);
        }
    }
}

/* --- backward ------------------------------------------------------------------------------------------------------------ */

/* A line's sum comes from memory while the line before it is finished and stored. */
static void stream_lines_backward(const softmax *s, int64_t from, int64_t to, char *work) {
    const row_loops *l = s->l;
    int64_t piece = STREAM_PIECE * (int64_t)l->size, index[TENSOR_MAX_DIMS], offset[2][LOOP_MAX_OPERANDS];
    char *more = work + piece, *made = more + piece, *raw = made + piece;
    row_wide sum = {.f = 0}, sum_before = sum;
    for (int64_t i = from; i <= to; i++) {
        int64_t *now = offset[i % 2], *before = offset[(i + 1) % 2];
        if (i < to) {
            loop_seek(&s->lines, i, index, now);
        }
        sum.f = 0;
        for (int64_t at = 0; at < s->n; at += STREAM_PIECE) {
            int64_t n = s->n - at < STREAM_PIECE ? s->n - at : STREAM_PIECE;
            if (i > from) {
                const void *g = fetch(s, X, work, s->lines.data[X] + before[X], at, n);
                const void *y = fetch(s, G, more, s->lines.data[G] + before[G], at, n);
                (s->logarithm ? l->log_softmax_back : l->softmax_back)(made, g, y, sum_before.f, n);
                put(s, s->lines.data[Y] + before[Y] + at * s->stride[Y], made, raw, n);
            }
            if (i < to) {
                const void *g = fetch(s, X, work, s->lines.data[X] + now[X], at, n);
                const char *y = s->lines.data[G] + now[G] + at * s->stride[G];
                if (s->logarithm) {
                    fetch_soon(y, (size_t)(n * s->stride[G]));
                    l->fold[ROW_SUM](&sum, g, n);
                } else {
                    sum.f += l->dot(g, row_fetch(l, more, y, s->type[G], s->stride[G], n), n);
                }
            }
        }
        sum_before = sum;
    }
}

/* --- choosing ------------------------------------------------------------------------------------------------------------ */

static bool is_dense_line(const softmax *s, int k) {
    return s->stride[k] == (int64_t)dtype_size(s->type[k]);
}

static bool choose_lines(softmax *s, bool backward) {
    int64_t size = (int64_t)s->l->size, line_bytes = s->n * size;
    bool dense = is_dense_line(s, X) && is_dense_line(s, Y) && (!backward || is_dense_line(s, G));
    if (!dense || s->n < LEAST_LINE || 4 * line_bytes > FLIGHT_BYTES || s->lines.numel < STAGES) {
        return false; /* short lines have a way of their own, which costs them less */
    }
    s->units = s->lines.numel;
    s->run_units = backward ? stream_lines_backward : stream_lines_forward;
    s->work_bytes = (backward ? 0 : 2 * line_bytes) + 4 * STREAM_PIECE * size;
    return true;
}

static bool choose_columns(softmax *s) {
    int64_t size = (int64_t)s->l->size, columns = s->lines.sizes[0];
    bool native = s->type[X] == s->l->type && s->type[Y] == s->l->type;
    if (!native || s->lines.strides[X][0] != size || s->lines.strides[Y][0] != size || s->n < 2 || s->stride[X] % size != 0) {
        return false;
    }
    int64_t fitting = FLIGHT_BYTES / (STAGES * s->n * size) / LEAST_COLUMNS * LEAST_COLUMNS;
    fitting = fitting > MOST_COLUMNS ? MOST_COLUMNS : fitting;
    if (fitting == 0 || columns < LEAST_COLUMNS) {
        return false;
    }
    s->columns = fitting < columns ? fitting : columns;
    s->units = s->lines.numel / columns * ((columns + s->columns - 1) / s->columns);
    s->work_bytes = (STAGES * s->n + ROWS_AT_ONCE + 2 * STAGES) * s->columns * size;
    s->run_units = stream_columns_forward;
    return s->units >= STAGES;
}

bool softmax_choose_stream(softmax *s, bool backward) {
    int64_t bytes = s->lines.numel * s->n * (int64_t)dtype_size(s->type[Y]);
    if (s->n == 0 || bytes < STREAM_MIN_BYTES) {
        return false;
    }
    return choose_lines(s, backward) || (!backward && choose_columns(s));
}
