/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and their backwards with results that no cache holds. Reading from memory, exponentials and
   stores past the caches each take about as long as the others here, so they go on side by side: while one line comes from
   memory and is taken to its exponentials, the line before it is scaled and stored. Exponentials do not wait for the largest
   number: what is subtracted need only be near it. Lines that are converted are three on their way, a piece at a time: one is
   read for its maximum, one is taken to its exponentials, one is stored. Of columns, one block is read into the place of the
   one that is finished. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/streaming.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STAGES = 3, FEW = 64 };

/* A block of columns takes up half of such a cache, its groups' largest and factors included: lines read from memory pass
   through it as well. Rows below 1 KiB cost memory a change of row each. */
enum { BLOCK_BYTES = 600 << 10, GROUP_ROWS = 32, ROWS_AHEAD = 8, LEAST_COLUMNS = 64, MOST_COLUMNS = 1024 };

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

/* The lowest finite number, so that what begins with -inf has a distance to take. */
static double lowest(const softmax *s) {
    return s->l->type == ASSAY_F32 ? -(double)FLT_MAX : -DBL_MAX;
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

/* Bytes of room for a line's exponentials. */
static int64_t line_room(const softmax *s) {
    return s->n * (int64_t)s->l->size + STREAM_LINE_BYTES;
}

/* Of a line's sum, 1 over it or its logarithm. */
static void finish_sum(const softmax *s, flight *f) {
    f->sum = s->logarithm ? log(f->sum) : 1 / f->sum;
}

static void stream_lines_forward(const softmax *s, int64_t from, int64_t to, char *work) {
    char *room = work + 2 * line_room(s);
    flight ring[STAGES];
    for (int64_t i = from; i < to + STAGES - 1; i++) {
        flight *first = &ring[i % STAGES], *second = &ring[(i + 2) % STAGES], *third = &ring[(i + 1) % STAGES];
        bool reads = i < to, computes = i > from && i <= to, stores = i > from + 1;
        if (reads) {
            start_line(s, i, first);
            first->made = work + i % 2 * line_room(s);
        }
        for (int64_t at = 0; at < s->n; at += STREAM_PIECE) {
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
            finish_sum(s, second);
        }
    }
}

/* The logarithm of a sum of exponentials less the largest number, from the sum of those less another number, to which the largest
   one gave `part`: where it is nearly all of the sum, the logarithm is as near 0 as it should be. */
static double log_of_sum(double sum, double part, double shift_less_largest) {
    return log1p((sum - part) * exp(shift_less_largest));
}

/* A number near a line's largest: that of its first ones. */
static double near_largest(const softmax *s, const flight *f) {
    row_wide largest = {.f = -INFINITY};
    s->l->fold[ROW_LARGEST](&largest, f->x, FEW);
    return largest.f > lowest(s) ? largest.f : lowest(s);
}

/* The exponentials and the sum of a line by its largest number, which is known. */
static void exp_line(const softmax *s, flight *f, char *room) {
    f->sum = 0;
    for (int64_t at = 0; at < s->n; at += STREAM_PIECE) {
        exp_piece(s, f, at, s->n - at < STREAM_PIECE ? s->n - at : STREAM_PIECE, room);
    }
}

/* Reads a line and takes it to its exponentials, less a number near its largest, while the line before it is finished. Should
   the largest lie far above that number, exponentials mean nothing, and are taken anew. */
static void step_lines(const softmax *s, flight *now, const flight *before, char *room) {
    double shift = near_largest(s, now);
    softmax_step step = {.logarithm = s->logarithm,
                         .n = s->n,
                         .x = now->x,
                         .made = now->made,
                         .shift = shift,
                         .largest = &now->largest,
                         .sum = &now->sum,
                         .from = s->logarithm ? before->x : before->made,
                         .to = before->y,
                         .factor = before->sum,
                         .finish_largest = before->largest};
    s->l->softmax_stream(&step);
    bool again = now->largest - shift > SOFTMAX_REACH;
    if (again) {
        exp_line(s, now, room);
    }
    if (s->logarithm && !again) {
        s->l->fill(room, now->largest, 1);
        now->sum = log_of_sum(now->sum, s->l->exp_shifted(room, room, shift, 1), shift - now->largest);
    } else {
        finish_sum(s, now);
    }
}

/* Lines that need no conversion: two on their way. */
static void stream_native_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    char *room = work + 2 * line_room(s);
    flight ring[2];
    for (int64_t i = from; i <= to && from < to; i++) {
        flight *now = &ring[i % 2], *before = &ring[(i + 1) % 2];
        if (i < to) {
            start_line(s, i, now);
            now->made = work + i % 2 * line_room(s); /* lines of memory begin where those of the output do: */
            now->made += ((uintptr_t)now->y - (uintptr_t)now->made) % STREAM_LINE_BYTES;
        }
        if (from < i && i < to) {
            step_lines(s, now, before, room);
            continue;
        }
        for (int64_t at = 0; at < s->n; at += STREAM_PIECE) {
            int64_t n = s->n - at < STREAM_PIECE ? s->n - at : STREAM_PIECE;
            if (i > from) {
                finish_piece(s, before, at, n, room);
            } else {
                largest_piece(s, now, at, n, room);
            }
        }
        if (i < to) {
            exp_line(s, now, room);
            finish_sum(s, now);
        }
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------------- */

/* What a block of columns leaves behind besides its exponentials. */
typedef struct block {
    const char *x;
    char *y;
    char *largest, *sum; /* n each, complete */
    int64_t n;
} block;

/* A thread's room. A block's exponentials come to lie where those of the block before are finished, so that no more than one
   block takes up the cache. What is subtracted before the exponential is the same for a group of rows, and may be more for the
   next; that is made good when the group is finished, with one factor a column. */
typedef struct columns_room {
    char *kept;    /* rows of s->columns */
    char *largest; /* what each group is less by: the largest up to its end, or what is near it */
    char *lowest;  /* the largest of no rows */
    char *factor, *made;
    block blocks[2];
} columns_room;

/* A load waits for a store before it that is as far into another page, until the CPU looks closer. Rows of columns are pages apart as
   often as not, and the kept ones are parts of pages: so these are kept half their size away from such places. Where kept rows and
   results both lay in them, a loop took 33 ms instead of 12 ([64, 512, 1024], Sapphire Rapids, 2026-11). */
enum { APART = 512 };

static columns_room room_of(const softmax *s, char *work) {
    int64_t row_bytes = s->columns * (int64_t)s->l->size, groups = (s->n + GROUP_ROWS - 1) / GROUP_ROWS;
    columns_room room = {.kept = work + ((uintptr_t)s->lines.data[X] + APART - (uintptr_t)work) % (2 * APART) / 64 * 64};
    room.largest = room.kept + s->n * row_bytes;
    room.lowest = room.largest + groups * row_bytes;
    room.factor = room.lowest + row_bytes;
    room.made = room.factor + row_bytes;
    for (int k = 0; k < 2; k++) {
        room.blocks[k].largest = room.made + (GROUP_ROWS + 2 * k) * row_bytes;
        room.blocks[k].sum = room.blocks[k].largest + row_bytes;
    }
    return room;
}

static int64_t columns_room_rows(int64_t n) {
    return n + (n + GROUP_ROWS - 1) / GROUP_ROWS + 2 + GROUP_ROWS + 4;
}

static int64_t group_rows(const softmax *s, int64_t g) {
    return s->n - g * GROUP_ROWS < GROUP_ROWS ? s->n - g * GROUP_ROWS : GROUP_ROWS;
}

static char *kept_of(const softmax *s, const columns_room *room, int64_t g, int64_t n) {
    return room->kept + g * GROUP_ROWS * n * (int64_t)s->l->size;
}

static char *largest_of(const softmax *s, const columns_room *room, int64_t g, int64_t n) {
    return room->largest + g * n * (int64_t)s->l->size;
}

static void start_block(const softmax *s, int64_t u, block *b) {
    int64_t offset[LOOP_MAX_OPERANDS];
    b->n = softmax_seek_block(s, u, offset);
    b->x = s->lines.data[X] + offset[X];
    b->y = s->lines.data[Y] + offset[Y];
    s->l->fill(b->sum, 0, b->n);
}

/* The largest before group g. */
static const char *largest_before(const softmax *s, const columns_room *room, int64_t g, int64_t n) {
    return g > 0 ? largest_of(s, room, g - 1, n) : room->lowest;
}

static void read_group(const softmax *s, const block *b, const columns_room *room, int64_t g) {
    memcpy(largest_of(s, room, g, b->n), largest_before(s, room, g, b->n), (size_t)b->n * s->l->size);
    s->l->columns_read(kept_of(s, room, g, b->n), largest_of(s, room, g, b->n), b->x + g * GROUP_ROWS * s->stride[X],
                       s->stride[X] / (int64_t)s->l->size, group_rows(s, g), b->n);
}

static void exp_group(const softmax *s, const block *b, const columns_room *room, int64_t g) {
    const char *largest = largest_of(s, room, g, b->n);
    s->l->columns_scale(b->sum, b->sum, largest_before(s, room, g, b->n), largest, b->n);
    s->l->columns_exp(kept_of(s, room, g, b->n), largest, b->sum, group_rows(s, g), b->n, s->logarithm);
}

/* What a group's numbers are multiplied by, or, for the logarithm, lessened by. */
static const char *factor_of(const softmax *s, const block *b, const columns_room *room, int64_t g) {
    if (s->logarithm) {
        return b->sum;
    }
    s->l->columns_scale(room->factor, b->sum, largest_of(s, room, g, b->n), b->largest, b->n);
    return room->factor;
}

static void finish_group(const softmax *s, const block *b, const columns_room *room, int64_t g) {
    const row_loops *l = s->l;
    int64_t row_bytes = b->n * (int64_t)l->size, rows = group_rows(s, g);
    const char *factor = factor_of(s, b, room, g);
    l->columns_finish(room->made, kept_of(s, room, g, b->n), s->logarithm ? b->largest : NULL, factor, rows, b->n);
    for (int64_t k = 0; k < rows; k++) {
        l->stream(b->y + (g * GROUP_ROWS + k) * s->stride[Y], room->made + k * row_bytes, (size_t)row_bytes);
    }
}

/* Of the sums, 1 over them or their logarithms (see log_of_sum), now that all rows are in; largest becomes what is taken off
   first. */
static void finish_sums(const softmax *s, const block *b, const columns_room *room) {
    const char *shift = largest_of(s, room, (s->n - 1) / GROUP_ROWS, b->n);
    bool is_float = s->l->type == ASSAY_F32;
    float *f = (float *)(void *)b->sum, *f_part = (float *)(void *)room->made;
    double *d = (double *)(void *)b->sum, *d_part = (double *)(void *)room->made;
    if (!s->logarithm) {
        for (int64_t i = 0; i < b->n; i++) {
            is_float ? (void)(f[i] = 1 / f[i]) : (void)(d[i] = 1 / d[i]);
        }
        memcpy(b->largest, shift, (size_t)b->n * s->l->size);
        return;
    }
    memcpy(room->made, b->largest, (size_t)b->n * s->l->size);
    s->l->fill(room->factor, 0, b->n);
    s->l->columns_exp(room->made, shift, room->factor, 1, b->n, false);
    for (int64_t i = 0; i < b->n; i++) {
        is_float ? (void)(f_part[i] = f[i] - f_part[i]) : (void)(d_part[i] = d[i] - d_part[i]);
    }
    s->l->columns_scale(room->made, room->made, shift, b->largest, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        is_float ? (void)(f[i] = log1pf(f_part[i])) : (void)(d[i] = log1p(d_part[i]));
    }
}

/* Whether one block can be finished while the next is read: full blocks, stored on lines. */
static bool is_steady(const softmax *s, const block *now, const block *before) {
    bool full = now->n == s->columns && before->n == s->columns;
    bool on_lines = ((uintptr_t)before->y | (uintptr_t)s->stride[Y]) % STREAM_LINE_BYTES == 0;
    return full && on_lines && s->columns % LEAST_COLUMNS == 0;
}

/* The block before is finished while this one is read into its place. */
static void step_block(const softmax *s, const block *now, const block *before, const columns_room *room) {
    int64_t size = (int64_t)s->l->size;
    softmax_columns_step step = {.logarithm = s->logarithm,
                                 .n = s->columns,
                                 .rows = s->n,
                                 .group = GROUP_ROWS,
                                 .kept = room->kept,
                                 .shift = room->largest,
                                 .to = before->y,
                                 .to_stride = s->stride[Y] / size,
                                 .factor = before->sum,
                                 .finish_shift = before->largest,
                                 .next = now->x,
                                 .next_stride = s->stride[X] / size,
                                 .ahead = ROWS_AHEAD,
                                 .lowest = lowest(s),
                                 .largest = now->largest,
                                 .sum = now->sum};
    s->l->columns_stream(&step);
}

static void stream_columns_forward(const softmax *s, int64_t from, int64_t to, char *work) {
    columns_room room = room_of(s, work);
    int64_t groups = (s->n + GROUP_ROWS - 1) / GROUP_ROWS;
    s->l->fill(room.lowest, lowest(s), s->columns);
    for (int64_t u = from; u <= to && from < to; u++) {
        block *now = &room.blocks[u % 2], *before = &room.blocks[(u + 1) % 2];
        bool reads = u < to, stores = u > from;
        if (reads) {
            start_block(s, u, now);
        }
        bool steady = reads && stores && is_steady(s, now, before);
        if (steady) {
            step_block(s, now, before, &room);
        }
        for (int64_t g = 0; stores && !steady && g < groups; g++) {
            finish_group(s, before, &room, g);
        }
        for (int64_t g = 0; reads && !steady && g < groups; g++) {
            read_group(s, now, &room, g);
            exp_group(s, now, &room, g);
        }
        if (reads && !steady) {
            memcpy(now->largest, largest_of(s, &room, groups - 1, now->n), (size_t)now->n * s->l->size);
        }
        if (reads) {
            finish_sums(s, now, &room);
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
    if (!dense || s->n < STREAM_LEAST || 4 * line_bytes > FLIGHT_BYTES || s->lines.numel < STAGES) {
        return false; /* short lines have a way of their own, which costs them less */
    }
    s->units = s->lines.numel;
    bool native = s->type[X] == s->l->type && s->type[Y] == s->l->type;
    s->run_units = backward ? stream_lines_backward : native ? stream_native_lines : stream_lines_forward;
    s->work_bytes = (backward ? 0 : 2 * line_room(s)) + 4 * STREAM_PIECE * size;
    return true;
}

static bool choose_columns(softmax *s) {
    int64_t size = (int64_t)s->l->size, columns = s->lines.sizes[0];
    bool native = s->type[X] == s->l->type && s->type[Y] == s->l->type;
    if (!native || s->lines.strides[X][0] != size || s->lines.strides[Y][0] != size || s->n < 2 || s->stride[X] % size != 0) {
        return false;
    }
    int64_t fitting = BLOCK_BYTES / (columns_room_rows(s->n) * size) / LEAST_COLUMNS * LEAST_COLUMNS;
    fitting = fitting > MOST_COLUMNS ? MOST_COLUMNS : fitting;
    if (fitting == 0 || columns < LEAST_COLUMNS) {
        return false;
    }
    s->columns = fitting < columns ? fitting : columns;
    s->units = s->lines.numel / columns * ((columns + s->columns - 1) / s->columns);
    s->work_bytes = columns_room_rows(s->n) * s->columns * size + 2 * APART;
    s->run_units = stream_columns_forward;
    return s->units >= 2;
}

bool softmax_choose_stream(softmax *s, bool backward) {
    int64_t bytes = s->lines.numel * s->n * (int64_t)dtype_size(s->type[Y]);
    if (s->n == 0 || bytes < STREAM_MIN_BYTES) {
        return false;
    }
    return choose_lines(s, backward) || (!backward && choose_columns(s));
}
