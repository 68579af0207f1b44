/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and their backwards with results that no cache holds. Reading from memory, exponentials and
   stores past the caches each take about as long as the others here, so they go on side by side: while one line comes from
   memory and is taken to its exponentials, the line before it is scaled and stored. Exponentials do not wait for the largest
   number: what is subtracted need only be near it. Lines of two types are three on their way, a piece at a time: one is
   read for its maximum, one is taken to its exponentials, one is stored. Of columns, one block is read into the place of the
   one that is finished. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/streaming.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STAGES = 3 };

/* A block of columns takes up half of a cache of 1 MiB, its groups' largest and factors included: lines read from memory pass
   through it as well. Rows below 1 KiB cost memory a change of row each, and below 768 bytes twice the time, which is worse than a
   block that takes up most of the cache. Rows that begin within lines are read further ahead (Sapphire Rapids, 2026-11). */
enum {
    BLOCK_BYTES = 600 << 10, LARGE_BLOCK_BYTES = 900 << 10, MOST_BLOCK_BYTES = 1300 << 10,
    WIDE_BYTES = 1 << 10, LEAST_WIDE_BYTES = 768,
    ROWS_AHEAD = 4, ROWS_AHEAD_SHIFTED = 8,
    LEAST_COLUMNS = 64, COLUMNS_STEP = 32, MOST_COLUMNS = 1024
};

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

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How far apart two places lie within a page, wherever in memory. */
static int64_t page_distance(int64_t bytes) {
    enum { PAGE = 4096 };
    int64_t at = ((bytes % PAGE) + PAGE) % PAGE;
    return at < PAGE - at ? at : PAGE - at;
}

/* Bytes of room for a line's exponentials, beside it. One line's are read while another's are stored in the next such room: they keep
   apart as stores and loads in columns do (see APART below). */
static int64_t line_room(const softmax *s) {
    int64_t least = row_beside_room(s->n) * (int64_t)s->l->size, room = least, best = -1;
    int64_t odd = row_beside(s->type[X], 1, s->n) * (int64_t)s->l->size; /* from even places to odd ones */
    for (int64_t bytes = least; bytes < least + 4096; bytes += 4 * STREAM_LINE_BYTES) {
        int64_t distance = least_of(page_distance(bytes), least_of(page_distance(bytes - odd), page_distance(bytes + odd)));
        room = distance > best ? bytes : room;
        best = distance > best ? distance : best;
    }
    return room;
}

/* Of a line's sum, 1 over it or its logarithm. */
static void finish_sum(const softmax *s, flight *f) {
    f->sum = s->logarithm ? log(f->sum) : 1 / f->sum;
}

static void stream_lines_forward(const softmax *s, int64_t from, int64_t to, char *work) {
    const int64_t line = line_room(s);
    char *room = work + 2 * line;
    flight ring[STAGES];
    for (int64_t i = from; i < to + STAGES - 1; i++) {
        flight *first = &ring[i % STAGES], *second = &ring[(i + 2) % STAGES], *third = &ring[(i + 1) % STAGES];
        bool reads = i < to, computes = i > from && i <= to, stores = i > from + 1;
        if (reads) {
            start_line(s, i, first);
            first->made = work + i % 2 * line;
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

/* Takes the step's line again, less its largest number. room: a piece. */
static void step_again(const softmax *s, softmax_step *step, char *room) {
    row_wide largest = {.f = -INFINITY};
    for (int64_t at = 0; at < s->n; at += STREAM_PIECE) {
        int64_t n = least_of(s->n - at, STREAM_PIECE);
        s->l->fold[ROW_LARGEST](&largest, fetch(s, X, room, step->x, at, n), n);
    }
    step->shift = largest.f;
    step->begins = false;
    step->to = NULL;
    s->l->softmax_stream(step);
}

/* Lines of one type, two on their way: one is read and taken to its exponentials, less a number near its largest, while the line
   before it is finished. Should the largest lie far above that number, exponentials mean nothing, and are taken anew. What is known
   of a line stands in variables: see norm.c. */
static void stream_steps(const softmax *s, int64_t from, int64_t to, char *work) {
    const int64_t line = line_room(s);
    char *room = work + 2 * line, *y = NULL;
    const char *x = NULL;
    double factor = 0, largest = 0;
    for (int64_t i = from; i <= to && from < to; i++) {
        char *made = work + i % 2 * line, *made_before = work + (i + 1) % 2 * line;
        softmax_step step = {.type = s->type[X], .logarithm = s->logarithm, .n = s->n, .made = made, .to = y, .factor = factor,
                             .from = s->logarithm ? x : made_before, .finish_largest = largest};
        if (i < to) {
            int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
            loop_seek(&s->lines, i, index, offset);
            x = s->lines.data[X] + offset[X];
            y = s->lines.data[Y] + offset[Y];
            step.x = x;
            step.begins = true;
        }
        s->l->softmax_stream(&step);
        if (i < to && step.sum > exp(SOFTMAX_REACH)) {
            step_again(s, &step, room);
        }
        largest = step.largest;
        factor = s->logarithm ? log_of_sum(step.sum, step.part, step.shift - largest) : 1 / step.sum;
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------------- */

/* A block of columns, and what it leaves behind besides its exponentials. */
typedef struct block {
    int64_t offset[LOOP_MAX_OPERANDS];
    char *largest, *sum; /* a row each */
    int64_t n;           /* columns; 0: no block */
    bool begins, ends;   /* its rows, as far as this thread stores them */
    bool lags;           /* as in columns_step */
    bool joins;          /* its rows with the next ones */
} block;

/* A thread's room. A block's exponentials come to lie where those of the block before are finished, so that no more than one
   block takes up the cache. What is subtracted before the exponential is the same for a group of rows, and may be more for the
   next; that is made good when the group is finished, with one factor a column. Each part begins behind its margin. */
typedef struct columns_room {
    char *kept[2];
    char *shift;   /* what each group is less by */
    char *made[2];
    char *heads;   /* 64 bytes a row */
    block blocks[2];
} columns_room;

/* A load waits for a store before it that is as far into another page, until the CPU looks closer. Rows of columns are pages apart as
   often as not, and the kept ones are parts of pages: so these are kept half their size away from such places. Where kept rows and
   results both lay in them, a loop took 33 ms instead of 12 ([64, 512, 1024], Sapphire Rapids, 2026-11). */
enum { APART = 512 };

static int64_t room_row_bytes(const softmax *s) {
    return (s->columns + s->columns_margin) * (int64_t)s->l->size;
}

/* Rows of a room: kept ones, what the groups are less by, largest and sum of two blocks, two more. */
static int64_t columns_room_rows(int64_t n, bool backward) {
    return (backward ? 2 : 1) * n + (n + COLUMNS_GROUP_BACK - 1) / COLUMNS_GROUP_BACK + 6;
}

/* The first place from `at` on that is half of APART's double away from where x lies in its page. */
static char *apart_from(const char *x, char *at) {
    return at + ((uintptr_t)x + APART - (uintptr_t)at) % (2 * APART) / STREAM_LINE_BYTES * STREAM_LINE_BYTES;
}

static columns_room room_of(const softmax *s, char *work) {
    int64_t row_bytes = room_row_bytes(s), group = columns_group(s->columns_kind), groups = (s->n + group - 1) / group;
    int64_t margin_bytes = s->columns_margin * (int64_t)s->l->size;
    columns_room room;
    char *next = apart_from(s->lines.data[X], work + margin_bytes);
    for (int k = 0; k < 2; k++) {
        room.kept[k] = next;
        if (k == 0 || s->columns_kind > COLUMNS_LOG_SOFTMAX) {
            next += s->n * row_bytes;
            next = k == 0 && s->columns_kind > COLUMNS_LOG_SOFTMAX ? apart_from(s->lines.data[G], next) : next;
        }
    }
    room.shift = next;
    next += groups * row_bytes;
    for (int k = 0; k < 2; k++, next += 3 * row_bytes) {
        room.blocks[k] = (block){.largest = next, .sum = next + row_bytes};
        room.made[k] = next + 2 * row_bytes;
    }
    room.heads = next;
    return room;
}

/* What waits finished in a margin is finished again, which is to leave it as it is. */
static void fill_margins(const softmax *s, const columns_room *room) {
    int64_t row_bytes = room_row_bytes(s), margin = s->columns_margin, back = margin * (int64_t)s->l->size;
    for (int64_t g = 0; g * columns_group(s->columns_kind) < s->n; g++) {
        s->l->fill(room->shift + g * row_bytes - back, 0, margin);
    }
    for (int64_t r = 0; r < s->n && s->columns_kind > COLUMNS_LOG_SOFTMAX; r++) {
        s->l->fill(room->kept[1] + r * row_bytes - back, 1, margin);
    }
    for (int k = 0; k < 2; k++) {
        s->l->fill(room->blocks[k].largest - back, 0, margin);
        s->l->fill(room->blocks[k].sum - back, s->columns_kind == COLUMNS_SOFTMAX ? 1 : 0, margin);
    }
}

static void start_block(const softmax *s, int64_t u, int64_t from, int64_t to, block *b) {
    int64_t blocks = s->column_blocks, columns = s->lines.sizes[0], index[TENSOR_MAX_DIMS];
    int64_t steps = (columns + COLUMNS_STEP - 1) / COLUMNS_STEP, at = u % blocks;
    int64_t first = steps * at / blocks * COLUMNS_STEP, end = steps * (at + 1) / blocks * COLUMNS_STEP;
    loop_seek(&s->lines, u / blocks * columns + first, index, b->offset);
    b->n = least_of(end, columns) - first;
    b->begins = u == from || u % blocks == 0;
    b->ends = u == to - 1 || u % blocks == blocks - 1;
    b->joins = u - at >= from && u - at + blocks <= to && s->stride[Y] == columns * (int64_t)s->l->size;
}

/* Of the sums, 1 over them or their logarithms (see log_of_sum), now that all rows are in; largest becomes what is taken off
   first. Gradients take the sums as they are. */
static void finish_sums(const softmax *s, const block *b, const columns_room *room) {
    if (s->columns_kind > COLUMNS_LOG_SOFTMAX) {
        return;
    }
    const char *shift = room->shift + (s->n - 1) / columns_group(s->columns_kind) * room_row_bytes(s);
    bool is_float = s->l->type == ASSAY_F32;
    float *f = (float *)(void *)b->sum, *f_part = (float *)(void *)room->made[0];
    double *d = (double *)(void *)b->sum, *d_part = (double *)(void *)room->made[0];
    if (!s->logarithm) {
        for (int64_t i = 0; i < b->n; i++) {
            is_float ? (void)(f[i] = 1 / f[i]) : (void)(d[i] = 1 / d[i]);
        }
        memcpy(b->largest, shift, (size_t)b->n * s->l->size);
        return;
    }
    s->l->fill(room->made[1], 1, b->n);
    s->l->columns_scale(room->made[0], room->made[1], b->largest, shift, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        is_float ? (void)(f_part[i] = f[i] - f_part[i]) : (void)(d_part[i] = d[i] - d_part[i]);
    }
    s->l->columns_scale(room->made[0], room->made[0], shift, b->largest, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        is_float ? (void)(f[i] = log1pf(f_part[i])) : (void)(d[i] = log1p(d_part[i]));
    }
}

/* The block before is finished while this one is read into its place. */
static void step_block(const softmax *s, block *now, const block *before, const columns_room *room) {
    int64_t size = (int64_t)s->l->size;
    bool backward = s->columns_kind > COLUMNS_LOG_SOFTMAX;
    columns_step step = {.kind = s->columns_kind,
                         .rows = s->n, .room = s->columns, .margin = s->columns_margin,
                         .kept = room->kept[0], .kept_other = room->kept[1], .shift = room->shift,
                         .out_n = before->n,
                         .out_lags = before->lags, .heads = before->joins ? room->heads : NULL,
                         .out_begins = before->begins, .out_ends = before->ends,
                         .to = s->lines.data[Y] + before->offset[Y],
                         .to_stride = s->stride[Y] / size,
                         .factor = before->sum, .finish_shift = before->largest,
                         .n = now->n,
                         .next = s->lines.data[X] + now->offset[X],
                         .next_other = backward ? s->lines.data[G] + now->offset[G] : NULL,
                         .next_stride = s->stride[X] / size,
                         .other_stride = backward ? s->stride[G] / size : 0,
                         .ahead = s->columns_margin > 0 ? ROWS_AHEAD_SHIFTED : ROWS_AHEAD,
                         .lowest = lowest(s),
                         .lags = &now->lags,
                         .largest = now->largest,
                         .sum = now->sum};
    s->l->columns_stream(&step);
}

/* Whether each row of the output begins with a line of memory, and each block of columns then does. */
static bool is_on_lines(const softmax *s) {
    uintptr_t places = (uintptr_t)s->lines.data[Y] | (uintptr_t)s->stride[Y];
    for (int d = 1; d < s->lines.ndim; d++) {
        places |= (uintptr_t)s->lines.strides[Y][d];
    }
    return places % STREAM_LINE_BYTES == 0;
}

static void stream_columns(const softmax *plan, int64_t from, int64_t to, char *work) {
    softmax own = *plan, *s = &own;
    s->columns_margin = is_on_lines(s) ? 0 : STREAM_LINE_BYTES / (int64_t)s->l->size;
    columns_room room = room_of(s, work);
    fill_margins(s, &room);
    for (int64_t u = from; u <= to && from < to; u++) {
        block *now = &room.blocks[u % 2], *before = &room.blocks[(u + 1) % 2];
        now->n = 0;
        now->lags = false;
        if (u < to) {
            start_block(s, u, from, to, now);
        }
        step_block(s, now, before, &room);
        if (u < to) {
            finish_sums(s, now, &room);
        }
    }
}

/* --- backward ------------------------------------------------------------------------------------------------------------ */

static double step_lines_backward(const softmax *s, const int64_t *now, const int64_t *before, double sum_before) {
    softmax_back_step step = {.type = s->type[X],
                              .logarithm = s->logarithm,
                              .n = s->n,
                              .g = s->lines.data[X] + now[X],
                              .y = s->lines.data[G] + now[G],
                              .from_g = s->lines.data[X] + before[X],
                              .from_y = s->lines.data[G] + before[G],
                              .to = s->lines.data[Y] + before[Y],
                              .finish_sum = sum_before};
    s->l->softmax_back_stream(&step);
    return step.sum;
}

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
        if (s->in_steps && i > from && i < to) {
            sum_before.f = step_lines_backward(s, now, before, sum_before.f);
            continue;
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
    s->in_steps = s->type[Y] == s->type[X] && (!backward || s->type[G] == s->type[X]) &&
                  (s->type[X] == s->l->type || (s->l->type == ASSAY_F32 && dtype_size(s->type[X]) == 2));
    s->run_units = backward ? stream_lines_backward : s->in_steps ? stream_steps : stream_lines_forward;
    s->work_bytes = (backward ? 0 : 2 * line_room(s)) + 4 * STREAM_PIECE * size;
    return true;
}

static bool choose_columns(softmax *s, bool backward) {
    int64_t size = (int64_t)s->l->size, columns = s->lines.sizes[0];
    for (int k = 0; k < (backward ? OPERANDS : Y + 1); k++) {
        if (s->type[k] != s->l->type || s->lines.strides[k][0] != size || s->stride[k] % size != 0) {
            return false;
        }
    }
    int64_t column_bytes = columns_room_rows(s->n, backward) * size, fitting = BLOCK_BYTES / column_bytes;
    if (fitting * size < WIDE_BYTES && columns > fitting) {
        fitting = least_of(LARGE_BLOCK_BYTES / column_bytes, WIDE_BYTES / size);
    }
    if (fitting * size < LEAST_WIDE_BYTES && columns > fitting) {
        fitting = least_of(MOST_BLOCK_BYTES / column_bytes, LEAST_WIDE_BYTES / size);
    }
    fitting = least_of(fitting, MOST_COLUMNS) / COLUMNS_STEP * COLUMNS_STEP;
    if (fitting < LEAST_COLUMNS || columns < LEAST_COLUMNS || s->n < 2) {
        return false;
    }
    /* Blocks of a width, or one more step. */
    int64_t steps = (columns + COLUMNS_STEP - 1) / COLUMNS_STEP, blocks = (columns + fitting - 1) / fitting;
    s->columns = (steps + blocks - 1) / blocks * COLUMNS_STEP;
    s->column_blocks = blocks;
    s->columns_margin = STREAM_LINE_BYTES / size; /* or none, when it runs */
    s->columns_kind = backward ? (s->logarithm ? COLUMNS_LOG_SOFTMAX_BACK : COLUMNS_SOFTMAX_BACK)
                               : (s->logarithm ? COLUMNS_LOG_SOFTMAX : COLUMNS_SOFTMAX);
    s->units = s->lines.numel / columns * blocks;
    s->work_bytes = columns_room_rows(s->n, backward) * room_row_bytes(s) + (s->n + 1) * STREAM_LINE_BYTES + 4 * APART + 2 * STREAM_LINE_BYTES;
    s->run_units = stream_columns;
    return s->units >= 2;
}

bool softmax_choose_stream(softmax *s, bool backward) {
    int64_t bytes = s->lines.numel * s->n * (int64_t)dtype_size(s->type[Y]);
    if (s->n == 0 || bytes < STREAM_MIN_BYTES) {
        return false;
    }
    return choose_lines(s, backward) || choose_columns(s, backward);
}
