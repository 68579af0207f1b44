/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and their backwards with results that no cache holds, and of lines of one type in caches. Reading from
   memory, exponentials and stores past the caches each take about as long as the others here, so they go on side by side: while one
   line comes from memory and is taken to its exponentials, the line before it is scaled and stored. Exponentials do not wait for the
   largest number: what is subtracted need only be near it. Lines of two types are three on their way, a piece at a time: one is read
   for its maximum, one is taken to its exponentials, one is stored. Longer lines go by pieces. Columns: softmax_columns.c. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/streaming.h"

#include <math.h>
#include <string.h>

enum { STAGES = 3, LEAST_KEPT = 160 };

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
    size_t bytes = (size_t)n * dtype_size(s->type[Y]);
    if (s->past) {
        s->l->stream(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
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

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How far apart two places lie within a page, wherever in memory. */
static int64_t page_distance(int64_t bytes) {
    enum { PAGE = 4096 };
    int64_t at = ((bytes % PAGE) + PAGE) % PAGE;
    return at < PAGE - at ? at : PAGE - at;
}

/* Bytes of room for the exponentials of a line of n numbers, beside it. One line's are read while another's are stored in the next such room: they keep
   apart as stores and loads in columns do (see APART below). */
static int64_t line_room(const softmax *s, int64_t n) {
    int64_t least = row_beside_room(n) * (int64_t)s->l->size, room = least, best = -1;
    int64_t odd = row_beside(s->type[X], 1, n) * (int64_t)s->l->size; /* from even places to odd ones */
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
    const int64_t line = line_room(s, s->n);
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
    for (int64_t at = 0; at < step->n; at += STREAM_PIECE) {
        int64_t n = least_of(step->n - at, STREAM_PIECE);
        s->l->fold[ROW_LARGEST](&largest, fetch(s, X, room, step->x, at, n), n);
    }
    step->shift = largest.f;
    step->begins = false;
    step->after = NULL;
    step->to = NULL;
    s->l->softmax_stream(step);
}

/* Lines of one type, two on their way: one is read and taken to its exponentials, less a number near its largest, while the line
   before it is finished. Should the largest lie far above that number, exponentials mean nothing, and are taken anew. What is known
   of a line stands in variables: see norm_forward.c. */
static void stream_steps(const softmax *s, int64_t from, int64_t to, char *work) {
    const int64_t line = line_room(s, s->n);
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    char *room = work + 2 * line, *y = NULL, *y_next;
    const char *x = NULL, *x_next;
    double factor = 0, largest = 0, near = 0;
    row_edge edge = {0};
    loop_seek(&s->lines, from, index, offset);
    x_next = s->lines.data[X] + offset[X];
    y_next = s->lines.data[Y] + offset[Y];
    for (int64_t i = from; i <= to && from < to; i++) {
        char *made = work + i % 2 * line, *made_before = work + (i + 1) % 2 * line;
        softmax_step step = {.type = s->type[X], .logarithm = s->logarithm, .n = s->n, .made = made, .to = y, .factor = factor,
                             .from = s->logarithm ? x : made_before, .finish_largest = largest, .begins = i == from, .edge = &edge,
                             .past = s->past, .shift = near};
        if (i < to) {
            step.x = x = x_next;
            y = y_next;
        }
        if (i + 1 < to) {
            loop_seek(&s->lines, i + 1, index, offset);
            step.after = x_next = s->lines.data[X] + offset[X];
            y_next = s->lines.data[Y] + offset[Y];
        }
        s->l->softmax_stream(&step);
        near = step.near;
        if (i < to && step.sum > exp(SOFTMAX_REACH)) {
            step_again(s, &step, room);
        }
        largest = step.largest;
        factor = s->logarithm ? log_of_sum(step.sum, step.part, step.shift - largest) : 1 / step.sum;
    }
    row_edge_flush(&edge);
}

/* --- lines that caches do not hold ------------------------------------------------------------------------------------------------ */

enum { LONG_PIECE = 4096 };

/* A long line's exponentials, less shift: their sum; and for the logarithm its largest number, and what that gave to the sum. */
typedef struct long_sums {
    double shift, sum, largest, part;
} long_sums;

/* Adds what a piece came to, each less its own shift. */
static void add_piece(long_sums *all, const softmax_step *piece, bool logarithm) {
    if (piece->shift > all->shift) {
        const double less = exp(all->shift - piece->shift);
        all->sum = all->sum > 0 ? all->sum * less : all->sum;
        all->part = all->part > 0 ? all->part * less : all->part;
        all->shift = piece->shift;
    }
    const double less = exp(piece->shift - all->shift);
    all->sum += piece->sum * less;
    if (logarithm && piece->largest > all->largest) {
        all->largest = piece->largest;
        all->part = piece->part * less;
    }
}

/* Reads a line piece by piece. Each is taken less what was near the largest number of those before it. */
static long_sums sums_of_long(const softmax *s, const char *x, char *room) {
    long_sums all = {-INFINITY, 0, -INFINITY, 0};
    for (int64_t at = 0; at < s->n; at += LONG_PIECE) {
        int64_t n = least_of(s->n - at, LONG_PIECE);
        n = s->n - at - n < STREAM_LEAST ? s->n - at : n; /* none is shorter */
        softmax_step step = {.type = s->type[X], .logarithm = s->logarithm, .n = n, .x = x + at * s->stride[X], .made = room, .begins = at == 0,
                             .past = true, .shift = all.shift};
        s->l->softmax_stream(&step);
        if (step.sum > exp(SOFTMAX_REACH)) {
            step_again(s, &step, room + line_room(s, LONG_PIECE + STREAM_LEAST));
        }
        add_piece(&all, &step, s->logarithm);
        at += n - LONG_PIECE;
    }
    return all;
}

/* Finishes each piece while the exponentials of the next one are made anew. Of pieces all are as long as each other: the last begins within
   the one before it. */
static void finish_long(const softmax *s, const char *x, char *y, const long_sums *all, char *room) {
    const int64_t line = line_room(s, LONG_PIECE + STREAM_LEAST), pieces = (s->n + LONG_PIECE - 1) / LONG_PIECE;
    char *to = NULL;
    for (int64_t i = 0; i <= pieces; i++) {
        const int64_t at = least_of(i * LONG_PIECE, s->n - LONG_PIECE);
        softmax_step step = {.type = s->type[X], .n = LONG_PIECE, .made = room + i % 2 * line, .from = room + (i + 1) % 2 * line, .to = to,
                             .factor = 1 / all->sum, .past = true, .shift = all->shift};
        if (i < pieces) {
            step.x = x + at * s->stride[X];
            to = y + at * s->stride[Y];
        }
        s->l->softmax_stream(&step);
    }
}

static void finish_long_logarithm(const softmax *s, const char *x, char *y, const long_sums *all) {
    const double factor = log_of_sum(all->sum, all->part, all->shift - all->largest);
    for (int64_t i = 0; i < s->n; i += LONG_PIECE) {
        const int64_t at = least_of(i, s->n - LONG_PIECE);
        softmax_step step = {.type = s->type[X], .logarithm = true, .n = LONG_PIECE, .from = x + at * s->stride[X],
                             .to = y + at * s->stride[Y], .finish_largest = all->largest, .factor = factor, .past = true};
        s->l->softmax_stream(&step);
    }
}

/* Each line is read twice, and its exponentials, which no cache holds, are made twice: of [16, 2097152] floats two cores of a Zen 5 take 5.1 ms
   so, and 8.6 by blocks that wait for their largest numbers, of the logarithm 4.3 and 7.3 (2026-11). */
static void stream_long_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i++) {
        loop_seek(&s->lines, i, index, offset);
        const char *x = s->lines.data[X] + offset[X];
        char *y = s->lines.data[Y] + offset[Y];
        const long_sums all = sums_of_long(s, x, work);
        if (s->logarithm) {
            finish_long_logarithm(s, x, y, &all);
        } else {
            finish_long(s, x, y, &all, work);
        }
    }
}

/* --- backward ------------------------------------------------------------------------------------------------------------ */

static double step_lines_backward(const softmax *s, const int64_t *now, const int64_t *before, double sum_before,
                                  row_edge *edge) {
    softmax_back_step step = {.type = s->type[X],
                              .logarithm = s->logarithm,
                              .n = s->n,
                              .g = s->lines.data[X] + now[X],
                              .y = s->lines.data[G] + now[G],
                              .from_g = s->lines.data[X] + before[X],
                              .from_y = s->lines.data[G] + before[G],
                              .to = s->lines.data[Y] + before[Y],
                              .edge = edge,
                              .past = s->past,
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
    row_edge edge = {0};
    for (int64_t i = from; i <= to; i++) {
        int64_t *now = offset[i % 2], *before = offset[(i + 1) % 2];
        if (i < to) {
            loop_seek(&s->lines, i, index, now);
        }
        if (s->in_steps && i > from && i < to) {
            sum_before.f = step_lines_backward(s, now, before, sum_before.f, &edge);
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
    row_edge_flush(&edge);
}

/* --- choosing ------------------------------------------------------------------------------------------------------------ */

static bool is_dense_line(const softmax *s, int k) {
    return s->stride[k] == (int64_t)dtype_size(s->type[k]);
}

/* Whether lines that stay in caches are better taken in turns: not those whose gradient, two products, is soon made from L1. */
static bool are_kept_in_steps(const softmax *s, bool backward) {
    bool is_soon_made = backward && !s->logarithm && (s->type[X] == s->l->type || s->n < LEAST_KEPT);
    return s->in_steps && !is_soon_made;
}

static bool choose_lines(softmax *s, bool backward) {
    int64_t size = (int64_t)s->l->size, line_bytes = s->n * size;
    bool dense = is_dense_line(s, X) && is_dense_line(s, Y) && (!backward || is_dense_line(s, G));
    s->in_steps = softmax_is_of_one_type(s, backward);
    if (!dense || (!s->past && !are_kept_in_steps(s, backward)) || s->n < STREAM_LEAST || 4 * line_bytes > FLIGHT_BYTES || s->lines.numel < STAGES) {
        if (!backward && dense && s->past && s->in_steps && s->n >= 2 * LONG_PIECE && 4 * line_bytes > FLIGHT_BYTES) {
            s->units = s->lines.numel;
            s->run_units = stream_long_lines;
            s->work_bytes = 2 * line_room(s, LONG_PIECE + STREAM_LEAST) + STREAM_PIECE * size;
            return true;
        }
        return false; /* short lines have a way of their own, which costs them less */
    }
    s->units = s->lines.numel;
    s->run_units = backward ? stream_lines_backward : s->in_steps ? stream_steps : stream_lines_forward;
    s->work_bytes = (backward ? 0 : 2 * line_room(s, s->n)) + 4 * STREAM_PIECE * size;
    return true;
}

bool softmax_choose_stream(softmax *s, bool backward) {
    return s->n > 0 && (choose_lines(s, backward) || (s->past && softmax_choose_columns(s, backward)));
}
