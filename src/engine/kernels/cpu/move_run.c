/* SPDX-License-Identifier: Apache-2.0 */
/* The copy engine at work: units of each kind of move, shared out among threads. */
#include "engine/kernels/cpu/move.h"

#include "device/caches.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>

/* Moves run side by side in steps of so many bytes for each, read and written, of which L2 holds what lies between their rows. Two rows of
   33 and 70 numbers joined 262144 times take two cores of a Zen 4 6.5 ms in steps of 16 KiB, 6.2 of 128 and 6.9 of 1024 (2026-11). Rows
   that are as long as such a step are not in each other's way. */
enum { STEP_BYTES = 128 * 1024, MOST_STEP_BYTES = 1024 * 1024, LONG_ROW = 1024 * 1024 };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void run_rows(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    size_t row_bytes = (size_t)n0 << m->dst_log2;
    bool past = m->stream && row_bytes >= MOVE_STREAM_ROW;
    ptrdiff_t next = n1 == 1 && n0 < m->sizes[0] ? (ptrdiff_t)row_bytes : m->src_strides[1]; /* a piece's: the rest of its row */
    (past ? loops->stream_rows : loops->rows)(dst, src, row_bytes, n1, m->dst_strides[1], next);
}

static void run_fill(const move *m, const copy_loops *loops, char *dst, int64_t n0, int64_t n1) {
    bool contiguous = m->dst_strides[0] == (ptrdiff_t)1 << m->dst_log2;
    size_t row_bytes = (size_t)n0 << m->dst_log2;
    if (contiguous && n1 > 1 && row_bytes <= MOVE_BUFFER_BYTES / 4) { /* short rows are copies of one */
        char row[MOVE_BUFFER_BYTES / 4];
        loops->fill(row, m->value, m->dst_log2, n0, 0);
        loops->rows(dst, row, row_bytes, n1, m->dst_strides[1], 0);
        return;
    }
    bool stream = m->stream && (n0 << m->dst_log2) >= MOVE_BUFFER_BYTES;
    for (int64_t i = 0; i < n1; i++) {
        if (contiguous) {
            loops->fill(dst + i * m->dst_strides[1], m->value, m->dst_log2, n0, stream);
        } else {
            loops->strided(dst + i * m->dst_strides[1], m->value, m->dst_log2, n0, m->dst_strides[0], 0);
        }
    }
}

/* The longer of the two dimensions goes inside, unless the shorter one writes whole lines. */
static void run_strided(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    int inner = n1 > n0 && n0 << m->dst_log2 < 64 ? 1 : 0, outer = 1 - inner;
    int64_t n_inner = inner == 0 ? n0 : n1, n_outer = inner == 0 ? n1 : n0;
    for (int64_t i = 0; i < n_outer; i++) {
        loops->strided(dst + i * m->dst_strides[outer], src + i * m->src_strides[outer], m->dst_log2, n_inner,
                       m->dst_strides[inner], m->src_strides[inner]);
    }
}

/* A row in pieces that stay in L1: gathered when the source is strided, converted, scattered or streamed. */
static void convert_row(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n) {
    double gathered[MOVE_BUFFER_BYTES / 8], converted[MOVE_BUFFER_BYTES / 8];
    ptrdiff_t dst_size = (ptrdiff_t)1 << m->dst_log2, src_size = (ptrdiff_t)1 << m->src_log2;
    bool gathers = m->src_strides[0] != src_size, scatters = m->dst_strides[0] != dst_size;
    if (!gathers && !scatters && !m->stream) {
        converter_run(&m->convert, dst, src, n);
        return;
    }
    if (!gathers && !scatters && m->convert.stream != NULL && (uintptr_t)dst % (uintptr_t)dst_size == 0) {
        m->convert.stream(dst, src, n);
        return;
    }
    int64_t most = MOVE_BUFFER_BYTES >> (m->dst_log2 > m->src_log2 ? m->dst_log2 : m->src_log2);
    bool staged = scatters || m->stream;
    for (int64_t i = 0; i < n; i += most) {
        int64_t some = least(n - i, most);
        const char *from = src + i * m->src_strides[0];
        char *to = dst + i * m->dst_strides[0];
        if (gathers) {
            loops->strided((char *)gathered, from, m->src_log2, some, src_size, m->src_strides[0]);
            from = (const char *)gathered;
        }
        converter_run(&m->convert, staged ? (char *)converted : to, from, some);
        if (scatters) {
            loops->strided(to, (const char *)converted, m->dst_log2, some, m->dst_strides[0], dst_size);
        } else if (staged) {
            loops->stream(to, (const char *)converted, (size_t)some << m->dst_log2);
        }
    }
}

/* Short dense rows are brought together, converted at one go and taken where they belong: a converter takes longer to call than four
   numbers to convert. */
static void convert_short_rows(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    double gathered[MOVE_BUFFER_BYTES / 8], converted[MOVE_BUFFER_BYTES / 8];
    size_t dst_bytes = (size_t)n0 << m->dst_log2, src_bytes = (size_t)n0 << m->src_log2;
    int64_t most = MOVE_BUFFER_BYTES / (int64_t)(dst_bytes > src_bytes ? dst_bytes : src_bytes);
    for (int64_t i = 0; i < n1; i += most) {
        int64_t some = least(n1 - i, most);
        const char *from = src + i * m->src_strides[1];
        if (m->src_strides[1] != (ptrdiff_t)src_bytes) {
            loops->rows((char *)gathered, from, src_bytes, some, (ptrdiff_t)src_bytes, m->src_strides[1]);
            from = (const char *)gathered;
        }
        converter_run(&m->convert, converted, from, some * n0);
        loops->rows(dst + i * m->dst_strides[1], (const char *)converted, dst_bytes, some, m->dst_strides[1], (ptrdiff_t)dst_bytes);
    }
}

static bool rows_are_dense(const move *m) {
    return m->src_strides[0] == (ptrdiff_t)1 << m->src_log2 && m->dst_strides[0] == (ptrdiff_t)1 << m->dst_log2;
}

static void run_convert(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    enum { SHORT_ROW = 32 };
    if (n0 <= SHORT_ROW && n1 > 1 && !m->stream && rows_are_dense(m)) {
        convert_short_rows(m, loops, dst, src, n0, n1);
        return;
    }
    for (int64_t i = 0; i < n1; i++) {
        convert_row(m, loops, dst + i * m->dst_strides[1], src + i * m->src_strides[1], n0);
    }
}

/* A tile turned round in L1 first, then converted row by row. */
static void run_convert_turn(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0,
                             int64_t n1) {
    double tile[2 * MOVE_TURN_EDGE * MOVE_TURN_EDGE];
    ptrdiff_t row_bytes = (ptrdiff_t)n0 << m->src_log2;
    loops->transpose((char *)tile, src, m->src_log2, n0, n1, row_bytes, m->src_strides[0]);
    for (int64_t i = 0; i < n1; i++) {
        converter_run(&m->convert, dst + i * m->dst_strides[1], (const char *)tile + i * row_bytes, n0);
    }
}

/* Whether either part is another number than 0. */
static void run_truths(const move *m, char *dst, const char *src, int64_t n) {
    const ptrdiff_t to = m->dst_strides[0], from = m->src_strides[0];
    const bool are_dense = to == 1 && from == (ptrdiff_t)1 << m->src_log2;
    if (are_dense && m->src_type == ASSAY_C64) {
        const float *x = (const float *)(const void *)src;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            dst[i] = (x[2 * i] != 0) | (x[2 * i + 1] != 0);
        }
    } else if (are_dense && m->src_type == ASSAY_C128) {
        const double *x = (const double *)(const void *)src;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            dst[i] = (x[2 * i] != 0) | (x[2 * i + 1] != 0);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            element_store_complex(ASSAY_B8, dst + i * to, element_load_complex(m->src_type, src + i * from));
        }
    }
}

static void put_pairs(float *to, const float *parts, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = parts[i];
        to[2 * i + 1] = 0;
    }
}

/* Real numbers in blocks as parts of the result's type; the other parts are 0. */
static void widen_row(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n) {
    static const double zero = 0;
    double gathered[MOVE_BUFFER_BYTES / 8], parts[MOVE_BUFFER_BYTES / 8];
    const ptrdiff_t src_size = (ptrdiff_t)1 << m->src_log2, to = m->dst_strides[0];
    const int part_log2 = m->dst_log2 - 1, larger = part_log2 > m->src_log2 ? part_log2 : m->src_log2;
    const int64_t most = MOVE_BUFFER_BYTES >> larger;
    for (int64_t i = 0; i < n; i += most) {
        const int64_t some = least(n - i, most);
        const char *from = src + i * m->src_strides[0];
        if (m->src_strides[0] != src_size) {
            loops->strided((char *)gathered, from, m->src_log2, some, src_size, m->src_strides[0]);
            from = (const char *)gathered;
        }
        converter_run(&m->convert, parts, from, some);
        if (part_log2 == 2 && to == 2 * (ptrdiff_t)sizeof(float)) {
            put_pairs((float *)(void *)(dst + i * to), (const float *)(const void *)parts, some);
            continue;
        }
        loops->strided(dst + i * to, (const char *)parts, part_log2, some, to, (ptrdiff_t)1 << part_log2);
        loops->strided(dst + i * to + ((ptrdiff_t)1 << part_log2), (const char *)&zero, part_log2, some, to, 0);
    }
}

/* Complex from real, or truths of complex numbers. */
static void run_complex(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    for (int64_t i = 0; i < n1; i++) {
        char *to = dst + i * m->dst_strides[1];
        const char *from = src + i * m->src_strides[1];
        if (m->dst_type == ASSAY_B8) {
            run_truths(m, to, from, n0);
        } else {
            widen_row(m, loops, to, from, n0);
        }
    }
}

static void run_unit(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    switch (m->kind) {
    case MOVE_FILL:
        run_fill(m, loops, dst, n0, n1);
        break;
    case MOVE_ROWS:
        run_rows(m, loops, dst, src, n0, n1);
        break;
    case MOVE_STRIDED:
        run_strided(m, loops, dst, src, n0, n1);
        break;
    case MOVE_TURN:
        loops->transpose(dst, src, m->dst_log2, n0, n1, m->dst_strides[1], m->src_strides[0]);
        break;
    case MOVE_CONVERT:
        run_convert(m, loops, dst, src, n0, n1);
        break;
    case MOVE_CONVERT_TURN:
        run_convert_turn(m, loops, dst, src, n0, n1);
        break;
    case MOVE_COMPLEX:
        run_complex(m, loops, dst, src, n0, n1);
        break;
    case MOVE_NOTHING:
        break;
    }
}

/* Tiles on their way: the one at hand is copied into one buffer while the one before it leaves the other. */
typedef struct turning {
    char *buffer[2];
    int next;
    char *to; /* where the copied tile belongs; NULL: none is copied */
} turning;

/* src NULL: only the tile before this one is stored. */
static void turn_next(turning *t, const move *m, const copy_loops *loops, char *dst, const char *src) {
    turn_step step = {.log2 = m->dst_log2,
                      .rows = m->block[0],
                      .run = m->block[1] << m->dst_log2,
                      .full = t->to != NULL ? t->buffer[1 - t->next] : NULL,
                      .full_pitch = turn_pitch(m->block[1] << m->dst_log2),
                      .to = t->to,
                      .to_stride = m->dst_strides[1],
                      .empty = src != NULL ? t->buffer[t->next] : NULL,
                      .from = src,
                      .from_stride = m->src_strides[0]};
    loops->stream_turned(&step);
    t->next = 1 - t->next;
    t->to = src != NULL ? dst : NULL;
}

/* A block of source rows turned round where they lie; columns that fill no line of memory by ordinary stores. */
static void turn_in_place(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    int64_t run = (n1 << m->dst_log2) / STREAM_LINE_BYTES * STREAM_LINE_BYTES, columns = run >> m->dst_log2;
    turn_step step = {.log2 = m->dst_log2,
                      .rows = n0,
                      .run = run,
                      .full = src,
                      .full_pitch = m->src_strides[0],
                      .in_place = true,
                      .asks = !cpu_is_intel(),
                      .asks_far = !cpu_asks_along(),
                      .to = dst,
                      .to_stride = m->dst_strides[1]};
    loops->stream_turned(&step);
    if (columns < n1) {
        run_unit(m, loops, dst + columns * m->dst_strides[1], src + run, n0, n1 - columns);
    }
}

/* A block of source rows, whose ends of dst's lines wait for the block behind it: none is `first`, or `last`. */
static void turn_on(const move *m, const copy_loops *loops, char *rest, char *dst, const char *src, int64_t n0, int64_t n1, bool first,
                    bool last) {
    turn_across step = {.log2 = m->dst_log2,
                        .rows = n0,
                        .columns = n1,
                        .from = src,
                        .from_stride = m->src_strides[0],
                        .soon = last ? NULL : src + n0 * m->src_strides[0],
                        .to = dst,
                        .to_stride = m->dst_strides[1],
                        .rest = rest,
                        .first = first,
                        .last = last};
    loops->stream_across(&step);
}

/* Units [from, to): blocks of dimension 0 fastest, then of dimension 1, then the other dimensions. thread: of this move's own,
   whose buffers are taken. A move on one thread may be made by any thread of its caller's. */
static void run_units(const move *m, const copy_loops *loops, int thread, int64_t from, int64_t to) {
    int64_t index[TENSOR_MAX_DIMS], left = from;
    ptrdiff_t at_dst = 0, at_src = 0;
    if (from >= to) {
        return;
    }
    for (int d = 0; d < m->ndim; d++) {
        int64_t step = d < 2 ? m->block[d] : 1, count = (m->sizes[d] + step - 1) / step;
        index[d] = left % count * step;
        left /= count;
        at_dst += index[d] * m->dst_strides[d];
        at_src += index[d] * m->src_strides[d];
    }
    turning t = {.next = 0, .to = NULL};
    char *own = m->turns_in_steps || m->turns_across ? m->turn_buffers + (size_t)thread * m->turn_bytes : NULL;
    if (m->turns_in_steps) {
        t.buffer[0] = own;
        t.buffer[1] = own + TURN_BYTES;
    }
    for (int64_t unit = from; unit < to; unit++) {
        int64_t n0 = least(m->block[0], m->sizes[0] - index[0]), n1 = least(m->block[1], m->sizes[1] - index[1]);
        if (m->turns_in_steps && n0 == m->block[0] && n1 == m->block[1]) {
            turn_next(&t, m, loops, m->dst + at_dst, m->src + at_src);
        } else if (m->turns_in_place && n0 == m->block[0]) {
            turn_in_place(m, loops, m->dst + at_dst, m->src + at_src, n0, n1);
        } else if (m->turns_across) {
            bool first = unit == from || index[0] == 0, last = unit + 1 == to || index[0] + n0 == m->sizes[0];
            turn_on(m, loops, own, m->dst + at_dst, m->src + at_src, n0, n1, first, last);
        } else {
            run_unit(m, loops, m->dst + at_dst, m->kind == MOVE_FILL ? NULL : m->src + at_src, n0, n1);
        }
        for (int d = 0; d < m->ndim; d++) {
            int64_t step = d < 2 ? m->block[d] : 1;
            index[d] += step;
            at_dst += step * m->dst_strides[d];
            at_src += step * m->src_strides[d];
            if (index[d] < m->sizes[d]) {
                break;
            }
            at_dst -= index[d] * m->dst_strides[d];
            at_src -= index[d] * m->src_strides[d];
            index[d] = 0;
        }
    }
    if (t.to != NULL) {
        turn_next(&t, m, loops, NULL, NULL);
    }
}

/* The unit at which so many bytes of all moves' traffic are done. */
static int64_t unit_at(const move *m, double before, double bytes) {
    if (bytes <= before || m->bytes == 0) {
        return 0;
    }
    return bytes >= before + m->bytes ? m->units : (int64_t)((double)m->units * ((bytes - before) / m->bytes));
}

static void run_one_after_the_other(const move *moves, int64_t n, double total, int thread, int threads) {
    const copy_loops *loops = copy_loops_best();
    double from = total * ((double)thread / threads), to = total * ((double)(thread + 1) / threads), before = 0;
    for (int64_t i = 0; i < n; i++) {
        if (moves[i].kind != MOVE_NOTHING) {
            run_units(&moves[i], loops, thread, unit_at(&moves[i], before, from), unit_at(&moves[i], before, to));
        }
        before += moves[i].bytes;
    }
    loops->settle();
}

/* This thread's share of every move, in steps. */
static void run_together(const move *moves, int64_t n, double total, int thread, int threads) {
    const copy_loops *loops = copy_loops_best();
    int64_t step_bytes = n < MOST_STEP_BYTES / STEP_BYTES ? n * STEP_BYTES : MOST_STEP_BYTES;
    int64_t steps = (int64_t)(total / threads / (double)step_bytes) + 1, all = steps * threads;
    for (int64_t step = steps * thread; step < steps * (thread + 1); step++) {
        for (int64_t i = 0; i < n; i++) {
            const move *m = &moves[i];
            if (m->kind != MOVE_NOTHING) {
                double units = (double)m->units / (double)all;
                int64_t to = step + 1 == all ? m->units : (int64_t)(units * (double)(step + 1));
                run_units(m, loops, thread, (int64_t)(units * (double)step), to);
            }
        }
    }
    loops->settle();
}

void moves_run(const move *moves, int64_t n, bool together) {
    double total = 0;
    int64_t fewest = INT64_MAX;
    bool are_long = true;
    for (int64_t i = 0; i < n; i++) {
        total += moves[i].bytes;
        are_long = are_long && (moves[i].kind == MOVE_NOTHING || (moves[i].kind == MOVE_ROWS && moves[i].sizes[0] << moves[i].dst_log2 >= LONG_ROW));
        fewest = moves[i].kind == MOVE_NOTHING ? fewest : least(fewest, moves[i].units);
    }
    int threads = parallel_threads(total);
    for (int64_t i = 0; i < n; i++) {
        bool has_buffers = moves[i].turns_in_steps || moves[i].turns_across;
        threads = has_buffers && moves[i].turn_threads < threads ? moves[i].turn_threads : threads;
    }
    together = together && n > 1 && fewest >= 4 * threads && !are_long;
    if (threads == 1) {
        (together ? run_together : run_one_after_the_other)(moves, n, total, 0, 1);
        return;
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
        (together ? run_together : run_one_after_the_other)(moves, n, total, omp_get_thread_num(), omp_get_num_threads());
        parallel_leave(watch);
    }
}
