/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and their backwards along lines across memory: a block of columns of all lines' elements is read into the
   place of the one that is finished and stored meanwhile (columns_step), past the caches where none holds the results. */
#include "engine/kernels/cpu/softmax.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include "device/caches.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A block of columns takes up half of a cache of 1 MiB, its groups' largest and factors included: lines read from memory pass
   through it as well. Rows below 1 KiB cost memory a change of row each, and below 768 bytes twice the time, which is worse than a
   block that takes up most of the cache. Of halves half as much of a row is read at once: blocks of twice the columns took a tenth
   longer (Sapphire Rapids, 2026-11). Lines of which that cache holds too few columns leave them to the last one, or to memory, as few
   as may be: the gradient of [4096, 8192] in f32 13.5 ms, by 256 columns 1.4 times that, line by line 75 (two cores of a Zen 4, 2026-11). */
enum {
    BLOCK_BYTES = 600 << 10, LARGE_BLOCK_BYTES = 900 << 10, MOST_BLOCK_BYTES = 1300 << 10, LONGEST_BLOCK_BYTES = 64 << 20,
    WIDE_BYTES = 1 << 10, LEAST_WIDE_BYTES = 768,
    ROWS_AHEAD = 4, ROWS_FAR_AHEAD = 16, BYTES_AHEAD = 256,
    LEAST_GROUP = 8, MIDDLING_GROUP = 16, /* rows */
    HALF = 2, /* the size of one */
    LEAST_SHARED_ROWS = 32,
    LEAST_COLUMNS = 64, COLUMNS_STEP = 32, MOST_COLUMNS = 1024,
    LEAST_ROWS = 4, LEAST_UNITS = 4 /* below these the first block and the last, of which nothing goes on beside, are too much of it */
};

/* The lowest finite number, so that what begins with -inf has a distance to take. */
static double lowest(const softmax *s) {
    return s->l->type == ASSAY_F32 ? -(double)FLT_MAX : -DBL_MAX;
}

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

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
    char *heads;   /* COLUMNS_CHUNK_BYTES a row */
    block blocks[2];
} columns_room;

/* A load waits for a store before it that is as far into another page, until the CPU looks closer. Rows of columns are pages apart as
   often as not, and the kept ones are parts of pages: so these are kept half their size away from such places. Where kept rows and
   results both lay in them, a loop took 33 ms instead of 12 ([64, 512, 1024], Sapphire Rapids, 2026-11). */
enum { APART = 512 };

static int64_t room_row_bytes(const softmax *s) {
    return (s->columns + s->columns_margin) * (int64_t)s->l->size;
}

/* What is kept of an element, and of halves not widened unless it is an exponential. */
static int64_t kept_size(const softmax *s) {
    return s->columns_kind == COLUMNS_SOFTMAX ? (int64_t)s->l->size : (int64_t)dtype_size(s->type[X]);
}

static int64_t kept_row_bytes(const softmax *s) {
    return (s->columns + s->columns_margin) * kept_size(s);
}

/* Bytes of a column in a room: kept rows, what the groups are less by, largest and sum of two blocks, two more. */
static int64_t columns_room_bytes(const softmax *s) {
    int64_t rows = (s->n + s->columns_group - 1) / s->columns_group + 6;
    return (s->columns_kind > COLUMNS_LOG_SOFTMAX ? 2 : 1) * s->n * kept_size(s) + rows * (int64_t)s->l->size;
}

/* The first place from `at` on that is half of APART's double away from where x lies in its page. */
static char *apart_from(const char *x, char *at) {
    return at + ((uintptr_t)x + APART - (uintptr_t)at) % (2 * APART) / STREAM_LINE_BYTES * STREAM_LINE_BYTES;
}

static columns_room room_of(const softmax *s, char *work) {
    int64_t row_bytes = room_row_bytes(s), group = s->columns_group, groups = (s->n + group - 1) / group;
    int64_t margin_bytes = s->columns_margin * (int64_t)s->l->size;
    columns_room room;
    char *next = apart_from(s->lines.data[X], work + margin_bytes);
    for (int k = 0; k < 2; k++) {
        room.kept[k] = next;
        if (k == 0 || s->columns_kind > COLUMNS_LOG_SOFTMAX) {
            next += s->n * kept_row_bytes(s);
            next = k == 0 && s->columns_kind > COLUMNS_LOG_SOFTMAX ? apart_from(s->lines.data[G], next) : next;
        }
    }
    next += margin_bytes - s->columns_margin * kept_size(s);
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
    for (int64_t g = 0; g * s->columns_group < s->n; g++) {
        s->l->fill(room->shift + g * row_bytes - back, 0, margin);
    }
    for (int64_t r = 0; r < s->n && margin > 0 && s->columns_kind > COLUMNS_LOG_SOFTMAX; r++) {
        s->l->fill(room->made[0], 1, margin);
        s->l->store(room->kept[1] + r * kept_row_bytes(s) - margin * kept_size(s), s->type[X], kept_size(s), room->made[0], margin);
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
    b->joins = u - at >= from && u - at + blocks <= to && s->stride[Y] == columns * (int64_t)dtype_size(s->type[Y]);
}

/* Of b's columns, so many numbers: a chunk's columns are in any order. */
static int64_t numbers_of(const block *b) {
    return (b->n + COLUMNS_STEP - 1) / COLUMNS_STEP * COLUMNS_STEP;
}

/* What the last group was less by. */
static char *last_shift(const softmax *s, const columns_room *room) {
    return room->shift + (s->n - 1) / s->columns_group * room_row_bytes(s);
}

/* The largest number's exponential aside, the sum of all others less it: of columns whose logarithms are taken. */
static void rest_of(const softmax *s, const block *b, const columns_room *room, char *rest) {
    const int64_t n = numbers_of(b);
    const char *shift = last_shift(s, room);
    float *f = (float *)(void *)rest, *f_sum = (float *)(void *)b->sum;
    double *d = (double *)(void *)rest, *d_sum = (double *)(void *)b->sum;
    s->l->fill(room->made[1], 1, n);
    s->l->columns_scale(s->type[X], rest, room->made[1], b->largest, shift, n);
    for (int64_t i = 0; i < n; i++) {
        s->l->type == ASSAY_F32 ? (void)(f[i] = f_sum[i] - f[i]) : (void)(d[i] = d_sum[i] - d[i]);
    }
    s->l->columns_scale(s->type[X], rest, rest, shift, b->largest, n);
}

static void invert(const softmax *s, char *sums, int64_t n) {
    float *f = (float *)(void *)sums;
    double *d = (double *)(void *)sums;
    for (int64_t i = 0; i < n; i++) {
        s->l->type == ASSAY_F32 ? (void)(f[i] = 1 / f[i]) : (void)(d[i] = 1 / d[i]);
    }
}

/* Of the sums, 1 over them or their logarithms (see log_of_sum), now that all rows are in; largest becomes what is taken off
   first. Gradients take the sums as they are. */
static void finish_sums(const softmax *s, const block *b, const columns_room *room) {
    if (s->columns_kind == COLUMNS_SOFTMAX) {
        invert(s, b->sum, numbers_of(b));
        memcpy(b->largest, last_shift(s, room), (size_t)numbers_of(b) * s->l->size);
    } else if (s->columns_kind == COLUMNS_LOG_SOFTMAX) {
        rest_of(s, b, room, room->made[0]);
        s->l->log_beyond_1(b->sum, room->made[0], numbers_of(b));
    }
}

/* Groups of a few rows, a few lines of each read one after the other and asked for that much before, leave processors in pages they have begun:
   two cores of a Granite Rapids, [64, 512, 1024] in f32: 7.1 ms instead of 7.8 by 32, its gradient 14.0 instead of 17.0; of a Zen 4, where
   rows are 256 KiB apart, 6.5 instead of 9.9, gradient 12.6 instead of 16.1 (2026-11). Exponentials of halves are got ready once a
   group, and in the caches' memory more rows are no dearer: [1024, 1024] takes 181 us by 32 and 193 by 8, [512, 4096] in bf16 206 and 270. */
static int64_t rows_of_groups(const softmax *s) {
    bool backward = s->columns_kind > COLUMNS_LOG_SOFTMAX, is_intel = cpu_is_intel();
    bool is_quick = s->type[X] == ASSAY_F32 || (is_intel && dtype_size(s->type[X]) != HALF); /* doubles take 7.5 ms by 16 on a Zen 4, 8.6 by 8 */
    int64_t near = backward ? MIDDLING_GROUP : COLUMNS_GROUP, far = backward || is_quick ? LEAST_GROUP : MIDDLING_GROUP;
    return s->past || is_intel ? far : near;
}

/* Zen 4 has them come to L2, from so far ahead (from twice as far the gradient over the first of [4096, 8192] floats takes 13 ms instead of
   10.4). Of few rows the last ones ask in vain. */
static int64_t rows_ahead(const softmax *s) {
    return least_of(ROWS_FAR_AHEAD, s->n / 4 > ROWS_AHEAD ? s->n / 4 : ROWS_AHEAD);
}

/* The block before is finished while this one is read into its place. */
static void step_block(const softmax *s, block *now, const block *before, const columns_room *room) {
    int64_t size = (int64_t)dtype_size(s->type[X]);
    bool backward = s->columns_kind > COLUMNS_LOG_SOFTMAX;
    columns_step step = {.type = s->type[X],
                         .kind = s->columns_kind,
                         .rows = s->n, .group = s->columns_group, .room = s->columns, .margin = s->columns_margin,
                         .kept = room->kept[0], .kept_other = room->kept[1], .shift = room->shift,
                         .out_n = before->n,
                         .out_lags = before->lags, .heads = before->joins ? room->heads : NULL,
                         .out_begins = before->begins, .out_ends = before->ends,
                         .to = s->lines.data[Y] + before->offset[Y],
                         .to_stride = s->stride[Y] / size,
                         .past = s->past,
                         .factor = before->sum, .finish_shift = before->largest,
                         .n = now->n,
                         .next = s->lines.data[X] + now->offset[X],
                         .next_other = backward ? s->lines.data[G] + now->offset[G] : NULL,
                         .next_stride = s->stride[X] / size,
                         .other_stride = backward ? s->stride[G] / size : 0,
                         .ahead = rows_ahead(s),
                         .ahead_bytes = cpu_is_intel() ? BYTES_AHEAD : 0,
                         .asks_far = !cpu_is_intel(),
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

/* --- rows that threads share ------------------------------------------------------------------------------------------- */

/* What a thread has found of a block in its rows, for all to read: of exponentials the sums and what these are less by; of logarithms what
   rest_of has and the largest numbers. WHOLE is its own, of all rows. */
enum { FOUND_SUM, FOUND_LESS, FOUND_WHOLE, FOUND_ROWS };

static char *found(const softmax *s, int64_t u, int thread, int row) {
    return s->found + (((u % 2) * s->threads + thread) * FOUND_ROWS + row) * s->columns * (int64_t)s->l->size;
}

static double number_at(const softmax *s, const char *row, int64_t i) {
    return s->l->type == ASSAY_F32 ? (double)((const float *)(const void *)row)[i] : ((const double *)(const void *)row)[i];
}

static void set_number(const softmax *s, char *row, int64_t i, double x) {
    s->l->type == ASSAY_F32 ? (void)(((float *)(void *)row)[i] = (float)x) : (void)(((double *)(void *)row)[i] = x);
}

static void leave(const softmax *s, int64_t u, const block *b, const columns_room *room) {
    const size_t bytes = (size_t)numbers_of(b) * s->l->size;
    char *sum = found(s, u, omp_get_thread_num(), FOUND_SUM), *less = found(s, u, omp_get_thread_num(), FOUND_LESS);
    if (s->columns_kind != COLUMNS_LOG_SOFTMAX) {
        memcpy(sum, b->sum, bytes);
        memcpy(less, last_shift(s, room), s->columns_kind == COLUMNS_SOFTMAX ? bytes : 0);
        return;
    }
    rest_of(s, b, room, sum);
    memcpy(less, b->largest, bytes);
    for (int64_t i = 0; i < numbers_of(b); i++) { /* of rows that are all -inf */
        if (number_at(s, b->sum, i) == 0) {
            set_number(s, sum, i, -1);
        }
    }
}

static void add_sums(const softmax *s, char *to, const char *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        set_number(s, to, i, number_at(s, to, i) + number_at(s, x, i));
    }
}

/* Exponentials: 1 over the sum of all, for those that are less by what this thread's last group was. */
static void join_sums(const softmax *s, int64_t u, const block *b, const columns_room *room) {
    const int64_t n = numbers_of(b);
    char *whole = found(s, u, omp_get_thread_num(), FOUND_WHOLE), *part = room->made[0];
    for (int t = 0; t < s->threads; t++) {
        const char *less = found(s, u, t, FOUND_LESS);
        for (int64_t i = 0; i < n; i++) {
            double x = number_at(s, less, i), most = t == 0 ? x : number_at(s, whole, i);
            set_number(s, whole, i, x > most ? x : most);
        }
    }
    s->l->fill(b->sum, 0, n);
    for (int t = 0; t < s->threads; t++) {
        s->l->columns_scale(s->type[X], part, found(s, u, t, FOUND_SUM), found(s, u, t, FOUND_LESS), whole, n);
        add_sums(s, b->sum, part, n);
    }
    invert(s, b->sum, n);
    memcpy(b->largest, last_shift(s, room), (size_t)n * s->l->size);
    s->l->columns_scale(s->type[X], b->sum, b->sum, b->largest, whole, n);
}

/* Logarithms: of two threads' numbers the smaller largest one's counts as one of the others. */
static void join_logarithms(const softmax *s, int64_t u, const block *b, const columns_room *room) {
    const int64_t n = numbers_of(b);
    char *rest = found(s, u, omp_get_thread_num(), FOUND_WHOLE), *e = room->made[0], *ones = room->made[1];
    s->l->fill(ones, 1, n);
    memcpy(rest, found(s, u, 0, FOUND_SUM), (size_t)n * s->l->size);
    memcpy(b->largest, found(s, u, 0, FOUND_LESS), (size_t)n * s->l->size);
    for (int t = 1; t < s->threads; t++) {
        const char *other = found(s, u, t, FOUND_SUM), *less = found(s, u, t, FOUND_LESS);
        for (int64_t i = 0; i < n; i++) { /* sum: what lies below the larger one */
            double x = number_at(s, less, i), most = number_at(s, b->largest, i);
            set_number(s, b->sum, i, x > most ? most : x);
            set_number(s, e, i, x > most ? x : most);
        }
        s->l->columns_scale(s->type[X], e, ones, b->sum, e, n);
        for (int64_t i = 0; i < n; i++) {
            double x = number_at(s, less, i), most = number_at(s, b->largest, i), r = number_at(s, rest, i), o = number_at(s, other, i);
            bool none = most == -INFINITY && r == -1, no_other = x == -INFINITY && o == -1, larger = x > most;
            double scale = number_at(s, e, i);
            set_number(s, rest, i, none ? o : no_other ? r : larger ? o + (1 + r) * scale : r + (1 + o) * scale);
            set_number(s, b->largest, i, none || larger ? x : most);
        }
    }
    s->l->log_beyond_1(b->sum, rest, n);
}

/* As finish_sums, of all threads' rows, in the threads' order. What is left of block u is written over two blocks later, when all have been
   at the next one's barrier: one for each block is enough. */
static void finish_joined(const softmax *s, int64_t u, const block *b, const columns_room *room) {
    leave(s, u, b, room);
#pragma omp barrier
    if (s->columns_kind == COLUMNS_SOFTMAX) {
        join_sums(s, u, b, room);
    } else if (s->columns_kind == COLUMNS_LOG_SOFTMAX) {
        join_logarithms(s, u, b, room);
    } else {
        s->l->fill(b->sum, 0, numbers_of(b));
        for (int t = 0; t < s->threads; t++) {
            add_sums(s, b->sum, found(s, u, t, FOUND_SUM), numbers_of(b));
        }
    }
}

/* --- units ---------------------------------------------------------------------------------------------------------------- */

/* Each unit is read while the one before it is finished. */
static void go_over(const softmax *s, int64_t from, int64_t to, columns_room *room) {
    for (int64_t u = from; u <= to && from < to; u++) {
        block *now = &room->blocks[u % 2], *before = &room->blocks[(u + 1) % 2];
        now->n = 0;
        now->lags = false;
        if (u < to) {
            start_block(s, u, from, to, now);
        }
        step_block(s, now, before, room);
        if (u < to && s->found_bytes > 0) {
            finish_joined(s, u, now, room);
        } else if (u < to) {
            finish_sums(s, now, room);
        }
    }
}

static void stream_columns(const softmax *plan, int64_t from, int64_t to, char *work) {
    softmax own = *plan, *s = &own;
    s->columns_margin = !s->past || is_on_lines(s) ? 0 : plan->columns_margin;
    columns_room room = room_of(s, work);
    fill_margins(s, &room);
    go_over(s, from, to, &room);
}

/* All units, of each of which this thread of the team takes a part of the rows. */
static void share_rows(const softmax *plan, int64_t from, int64_t to, char *work) {
    softmax own = *plan, *s = &own;
    int64_t first, end;
    parallel_share(plan->n, 1, &first, &end);
    s->n = end - first;
    s->columns_margin = 0;
    for (int k = 0; k < OPERANDS; k++) {
        s->lines.data[k] += s->lines.data[k] != NULL ? first * s->stride[k] : 0;
    }
    columns_room room = room_of(s, work);
    go_over(s, from, to, &room);
}

/* --- choosing ------------------------------------------------------------------------------------------------------------ */

static void take_columns(softmax *s, int64_t fitting) {
    /* Blocks of a width, or one more step. */
    int64_t columns = s->lines.sizes[0];
    int64_t steps = (columns + COLUMNS_STEP - 1) / COLUMNS_STEP, blocks = (columns + fitting - 1) / fitting;
    s->columns = (steps + blocks - 1) / blocks * COLUMNS_STEP;
    s->column_blocks = blocks;
    s->units = s->lines.numel / columns * blocks;
    s->work_bytes = columns_room_bytes(s) * (s->columns + s->columns_margin) + (s->n + 3) * COLUMNS_CHUNK_BYTES + 4 * APART;
}

/* Where the rows that one thread keeps leave room for a narrow block of columns only, threads take a part of the rows each, of a block of
   more columns: memory is read and written in longer pieces. Not where rows begin within lines of memory. Two cores of a Granite Rapids:
   the gradient of [64, 512, 1024] in f32 13.8 -> 12.2 ms, in bf16 7.4 -> 6.1, softmax of [64, 1024, 512] 8.1 -> 7.0 (2026-11). Forward,
   where exponentials take as long, rows of 1 KiB do as well by themselves. */
static void choose_shared_rows(softmax *s) {
    const int threads = omp_get_max_threads();
    int64_t size = (int64_t)dtype_size(s->type[X]), rows = (s->n + threads - 1) / threads;
    bool backward = s->columns_kind > COLUMNS_LOG_SOFTMAX;
    if (!cpu_is_intel() || !s->past || threads < 2 || s->n < (int64_t)threads * LEAST_SHARED_ROWS || !is_on_lines(s) ||
        s->columns * size >= (backward ? 2 * WIDE_BYTES : WIDE_BYTES) || (!backward && size == HALF)) {
        return;
    }
    softmax shared = *s;
    shared.n = rows;
    shared.columns_margin = 0;
    int64_t fitting = least_of(cpu_l2_bytes() / 8 * 5 / columns_room_bytes(&shared), MOST_COLUMNS) / COLUMNS_STEP * COLUMNS_STEP;
    if (fitting < LEAST_COLUMNS || least_of(fitting, s->lines.sizes[0]) <= s->columns) {
        return;
    }
    take_columns(&shared, fitting);
    s->columns = shared.columns;
    s->column_blocks = shared.column_blocks;
    s->units = shared.units;
    s->work_bytes = shared.work_bytes;
    s->run_units = share_rows;
    s->found_bytes = 2 * FOUND_ROWS * s->columns * (int64_t)s->l->size;
}

bool softmax_choose_columns(softmax *s, bool backward) {
    int64_t size = (int64_t)dtype_size(s->type[X]), columns = s->lines.sizes[0];
    bool can = softmax_is_of_one_type(s, backward);
    for (int k = 0; k < (backward ? OPERANDS : Y + 1); k++) {
        can = can && s->lines.strides[k][0] == size && s->stride[k] % size == 0;
    }
    if (!can || s->n < (s->past ? 2 : LEAST_ROWS)) {
        return false;
    }
    s->columns_kind = backward ? (s->logarithm ? COLUMNS_LOG_SOFTMAX_BACK : COLUMNS_SOFTMAX_BACK)
                               : (s->logarithm ? COLUMNS_LOG_SOFTMAX : COLUMNS_SOFTMAX);
    s->columns_group = rows_of_groups(s);
    int64_t column_bytes = columns_room_bytes(s), part = size == HALF ? 2 : 1, fitting = BLOCK_BYTES / part / column_bytes;
    if (fitting * size < WIDE_BYTES / part && columns > fitting) {
        fitting = least_of((size == HALF ? BLOCK_BYTES : LARGE_BLOCK_BYTES) / column_bytes, WIDE_BYTES / part / size);
    }
    if (fitting * size < LEAST_WIDE_BYTES / part && columns > fitting) {
        fitting = least_of(MOST_BLOCK_BYTES / column_bytes, LEAST_WIDE_BYTES / part / size);
    }
    fitting = least_of(fitting, MOST_COLUMNS) / COLUMNS_STEP * COLUMNS_STEP;
    if (fitting < LEAST_COLUMNS && LEAST_COLUMNS * column_bytes <= LONGEST_BLOCK_BYTES) {
        fitting = LEAST_COLUMNS;
    }
    if (fitting < LEAST_COLUMNS || columns < LEAST_COLUMNS) {
        return false;
    }
    s->columns_margin = COLUMNS_CHUNK_BYTES / (int64_t)s->l->size; /* or none, when it runs */
    take_columns(s, fitting);
    s->run_units = stream_columns;
    if (s->units >= (s->past ? 2 : LEAST_UNITS)) {
        choose_shared_rows(s);
    }
    return s->units >= (s->past ? 2 : LEAST_UNITS);
}
