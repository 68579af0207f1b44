/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm, and their backwards, along any dimension. Accumulators: float for f16, bf16 and f32, double for
   f64; a row's sum goes into double every ROW_BLOCK elements.

   Three ways. Lines that lie along memory and fit the L2 cache are gone over in place, so that memory is read and written
   once. Longer ones keep a running maximum and sum a block at a time and are read twice. Lines across memory are taken a
   block of columns together. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <math.h>

/* Half of a 1 MiB L2 cache: a line, and what is made of it. */
enum { LINE_BYTES = 256 * 1024, LEAST_COLUMNS = 16 };

/* --- forward ------------------------------------------------------------------------------------------------------------------ */

static void forward_line(const softmax *s, const char *x, char *y, char *work) {
    const row_loops *l = s->l;
    void *to = row_target(l, work, y, s->type[Y], s->stride[Y]);
    const void *row = row_fetch(l, to, x, s->type[X], s->stride[X], s->n);
    row_wide largest = l->start[ROW_LARGEST];
    l->fold[ROW_LARGEST](&largest, row, s->n);
    if (s->logarithm) {
        l->subtract(to, row, largest.f, log(l->sum_exp(row, largest.f, s->n)), s->n);
    } else {
        l->scale(to, to, 1 / l->exp_shifted(to, row, largest.f, s->n), 0, s->n);
    }
    row_put(l, y, s->type[Y], s->stride[Y], to, s->n);
}

static void forward_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i++) {
        loop_seek(&s->lines, i, index, offset);
        forward_line(s, s->lines.data[X] + offset[X], s->lines.data[Y] + offset[Y], work);
    }
}

/* Short lines one behind the other in both tensors: all of them at once, or as many as fit a block of memory, from one to another, since
   rows that are read where the one before was just stored wait for that. */
static void forward_short_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    const row_loops *l = s->l;
    bool is_native = s->type[X] == l->type && s->type[Y] == l->type;
    int64_t most = is_native ? to - from : ROW_BLOCK / s->n, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i += most) {
        int64_t rows = to - i < most ? to - i : most;
        loop_seek(&s->lines, i, index, offset);
        char *y = s->lines.data[Y] + offset[Y];
        void *target = row_target(l, work + ROW_BLOCK * l->size, y, s->type[Y], s->stride[Y]);
        const void *x = row_fetch(l, work, s->lines.data[X] + offset[X], s->type[X], s->stride[X], rows * s->n);
        l->softmax_short(target, x, rows, s->n, s->logarithm);
        row_put(l, y, s->type[Y], s->stride[Y], target, rows * s->n);
    }
}

static bool has_short_lines(const softmax *s, int n_operands) {
    bool is_dense = s->n > 1 && s->n <= ROW_BLOCK / 2 && s->lines.ndim == 1;
    for (int k = 0; k < n_operands; k++) {
        is_dense = is_dense && s->stride[k] == (int64_t)dtype_size(s->type[k]) && s->lines.strides[k][0] == s->n * s->stride[k];
    }
    return is_dense;
}

/* Whether such lines are left in caches, also where their result would go past them otherwise: on Intel's processors that is so of
   logarithms, which take a function of each line. Of 6 MiB they take 0.41 instead of 0.47 ms (Granite Rapids), 0.64 instead of 1.31
   (Sapphire Rapids). */
static bool are_best_kept(const softmax *s) {
    const double results = (double)s->lines.numel * (double)s->n * (double)dtype_size(s->type[Y]);
    return has_short_lines(s, Y + 1) && s->n * (int64_t)s->l->size <= SOFTMAX_SHORT_BYTES &&
           (!s->past || (s->logarithm && cpu_is_intel() && results < (double)(2 * STREAM_MIDDLING_BYTES)));
}

/* How many of those are made before they are stored: loops take 16, or 8, together. */
static int64_t short_rows(const softmax *s) {
    enum { EVEN_ROWS = 16 };
    const int64_t most = ROW_BLOCK / s->n / EVEN_ROWS * EVEN_ROWS;
    return most > EVEN_ROWS ? most : EVEN_ROWS;
}

/* Short lines that go past the caches: many in one call, and stored from where that leaves them unless they are lines of memory. */
static void forward_short_past(const softmax *s, int64_t from, int64_t to, char *work) {
    const row_loops *l = s->l;
    const int64_t most = short_rows(s);
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i += most) {
        int64_t rows = to - i < most ? to - i : most;
        loop_seek(&s->lines, i, index, offset);
        char *y = s->lines.data[Y] + offset[Y];
        if (s->n * (int64_t)l->size % STREAM_LINE_BYTES == 0 && (uintptr_t)y % STREAM_LINE_BYTES == 0) {
            l->softmax_lines(y, s->lines.data[X] + offset[X], rows, s->n, s->logarithm);
            continue;
        }
        l->softmax_short(work, s->lines.data[X] + offset[X], rows, s->n, s->logarithm);
        l->stream(s->lines.data[Y] + offset[Y], work, (size_t)(rows * s->n) * l->size);
    }
}

/* Whether lines are so short, and so many that they go there. Shorter ones take longer so than stored as they are made, and longer ones than
   in steps, unless they are logarithms, which take a function of each line. On two cores of a Zen 4, softmax of [524288, 64] floats takes
   6.6 ms so, and 8.6; of [1048576, 32] 7.3, and 6.2; of [131072, 256] 8.4, and 5.8 in steps. A Zen 5 takes 5.4 and 5.9
   for [1048576, 32] whose lines are of memory's; stored at once, not from where several are left, [262144, 128] takes 3.7 instead of 4.8 there
   while memory is fast, 5.8 instead of 6.1 while it is slow (2026-11). */
static bool choose_short_past(softmax *s) {
    enum { LEAST_BYTES = 256 };
    const int64_t size = (int64_t)s->l->size, line = s->n * size, most = s->logarithm ? SOFTMAX_SHORT_BYTES : SOFTMAX_SHORT_BYTES - 1;
    const int64_t least = line % STREAM_LINE_BYTES == 0 && cpu_asks_along() ? STREAM_LINE_BYTES : LEAST_BYTES;
    if (line < least || line > most || !has_short_lines(s, Y + 1) || s->type[X] != s->l->type || s->type[Y] != s->l->type ||
        s->lines.numel * line < STREAM_MIN_BYTES) {
        return false;
    }
    s->units = s->lines.numel;
    s->work_bytes = short_rows(s) * line;
    s->run_units = forward_short_past;
    return true;
}

static void forward_long_line(const softmax *s, const char *x, char *y, char *work) {
    const row_loops *l = s->l;
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < s->n; i += ROW_BLOCK) {
        int64_t n = s->n - i < ROW_BLOCK ? s->n - i : ROW_BLOCK;
        const void *row = softmax_fetch(s, X, work, x, i, n);
        row_wide block = {.f = largest};
        l->fold[ROW_LARGEST](&block, row, n);
        sum = block.f == -INFINITY ? 0 : (sum > 0 ? sum * exp(largest - block.f) : sum) + l->sum_exp(row, block.f, n);
        largest = block.f;
    }
    sum = largest == -INFINITY ? NAN : sum; /* no finite element: as the other ways, NaN throughout */
    for (int64_t i = 0; i < s->n; i += ROW_BLOCK) {
        int64_t n = s->n - i < ROW_BLOCK ? s->n - i : ROW_BLOCK;
        const void *row = softmax_fetch(s, X, work, x, i, n);
        void *to = row_target(l, work, y + i * s->stride[Y], s->type[Y], s->stride[Y]);
        if (s->logarithm) {
            l->subtract(to, row, largest, log(sum), n);
        } else {
            l->exp_shifted(to, row, largest, n);
            l->scale(to, to, 1 / sum, 0, n);
        }
        row_put(l, y + i * s->stride[Y], s->type[Y], s->stride[Y], to, n);
    }
}

static void forward_long_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i++) {
        loop_seek(&s->lines, i, index, offset);
        forward_long_line(s, s->lines.data[X] + offset[X], s->lines.data[Y] + offset[Y], work);
    }
}

static int64_t seek_block(const softmax *s, int64_t u, int64_t *offset) {
    int64_t columns = s->lines.sizes[0], blocks = (columns + s->columns - 1) / s->columns, index[TENSOR_MAX_DIMS];
    int64_t first = u % blocks * s->columns;
    loop_seek(&s->lines, u / blocks * columns + first, index, offset);
    return columns - first < s->columns ? columns - first : s->columns;
}

/* Whether a block's rows lie one behind the other. */
static bool is_dense_block(const softmax *s, int k, int64_t n) {
    int64_t size = (int64_t)dtype_size(s->type[k]);
    return s->lines.strides[k][0] == size && s->stride[k] == n * size;
}

static void load_block(const softmax *s, int k, char *block, const char *at, int64_t n) {
    if (is_dense_block(s, k, n)) {
        s->l->load(block, at, s->type[k], s->lines.strides[k][0], s->n * n);
        return;
    }
    for (int64_t r = 0; r < s->n; r++) {
        s->l->load(block + r * n * (int64_t)s->l->size, at + r * s->stride[k], s->type[k], s->lines.strides[k][0], n);
    }
}

static void store_block(const softmax *s, char *at, const char *block, int64_t n) {
    if (is_dense_block(s, Y, n)) {
        s->l->store(at, s->type[Y], s->lines.strides[Y][0], block, s->n * n);
        return;
    }
    for (int64_t r = 0; r < s->n; r++) {
        s->l->store(at + r * s->stride[Y], s->type[Y], s->lines.strides[Y][0], block + r * n * (int64_t)s->l->size, n);
    }
}

/* Whether operand k's columns are neighbours of the computing type: they are read and stored where they lie. */
static bool has_own_place(const softmax *s, int k) {
    const int64_t size = (int64_t)s->l->size;
    return s->type[k] == s->l->type && s->lines.strides[k][0] == size && s->stride[k] % size == 0;
}

/* Where a block of operand k is, brought into `block` if need be; its rows' stride. */
static const char *find_block(const softmax *s, int k, char *block, const int64_t *offset, int64_t n, int64_t *stride) {
    const char *at = s->lines.data[k] + offset[k];
    if (has_own_place(s, k)) {
        *stride = s->stride[k] / (int64_t)s->l->size;
        return at;
    }
    load_block(s, k, block, at, n);
    *stride = n;
    return block;
}

/* Rows that are taken for one have so many columns each at most, and are no more than make whole registers of any width. */
enum { MOST_ABREAST_COLUMNS = 256, MOST_ABREAST = 16 };

/* So many rows of n columns, one behind the other, that they are whole registers of the widest kind, or 1: what a row of few leaves of one is
   computed number by number, and functions of those take longest. */
static int64_t rows_abreast(const softmax *s, int64_t n) {
    enum { REGISTER = 64, LEAST_TIMES = 2 };
    int64_t rows = 1;
    while (n * rows * (int64_t)s->l->size % REGISTER != 0) {
        rows *= 2;
    }
    return n <= MOST_ABREAST_COLUMNS && s->n >= LEAST_TIMES * rows ? rows : 1;
}

/* What a block's largest numbers and sums take, also of a last block that is narrower than others. */
static int64_t sums_bytes(const softmax *s) {
    const int64_t narrow = s->columns < MOST_ABREAST_COLUMNS ? s->columns : MOST_ABREAST_COLUMNS;
    const int64_t widest = s->columns > narrow * MOST_ABREAST ? s->columns : narrow * MOST_ABREAST;
    return 2 * widest * (int64_t)s->l->size;
}

static void forward_columns(const softmax *s, int64_t from, int64_t to, char *work) {
    char *own = work + sums_bytes(s);
    const bool direct = has_own_place(s, Y);
    for (int64_t u = from; u < to; u++) {
        int64_t offset[LOOP_MAX_OPERANDS], n = seek_block(s, u, offset);
        char *made = s->lines.data[Y] + offset[Y];
        softmax_box box = {.to = direct ? made : own, .to_stride = direct ? s->stride[Y] / (int64_t)s->l->size : n,
                           .made = own, .rows = s->n, .n = n, .logarithm = s->logarithm, .work = work};
        box.x = find_block(s, X, own, offset, n, &box.x_stride);
        box.abreast = box.x_stride == n && box.to_stride == n ? rows_abreast(s, n) : 1;
        s->l->softmax_columns(&box);
        if (!direct) {
            store_block(s, made, own, n);
        }
    }
}

/* --- backward -------------------------------------------------------------------------------------------------------------------- */

static void backward_columns(const softmax *s, int64_t from, int64_t to, char *work) {
    char *block = work + sums_bytes(s);
    char *outputs_block = block + s->n * s->columns * (int64_t)s->l->size;
    const bool direct = has_own_place(s, Y);
    for (int64_t u = from; u < to; u++) {
        int64_t offset[LOOP_MAX_OPERANDS], n = seek_block(s, u, offset);
        char *made = s->lines.data[Y] + offset[Y];
        softmax_box box = {.to = direct ? made : block, .to_stride = direct ? s->stride[Y] / (int64_t)s->l->size : n,
                           .rows = s->n, .n = n, .logarithm = s->logarithm, .work = work};
        box.x = find_block(s, X, block, offset, n, &box.x_stride);
        box.y = find_block(s, G, outputs_block, offset, n, &box.y_stride);
        s->l->softmax_back_columns(&box);
        if (!direct) {
            store_block(s, made, block, n);
        }
    }
}

/* --- lines that lie across memory, where the result's do not ---------------------------------------------------------------------------- */

/* Some lines are turned round into rows, which then go the way of rows: softmax of [512, 512] in f32 takes 85 us so, else 320 (two cores of a
   Zen 4, 2026-11). */
static void turned_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], some;
    softmax rows = *s->rows;
    for (int64_t i = from; i < to; i += some) {
        loop_seek(&s->lines, i, index, offset);
        some = s->lines.sizes[0] - index[0];
        some = some < to - i ? some : to - i;
        some = some < s->turned_lines ? some : s->turned_lines;
        char *made = work + s->turned_at;
        for (int k = 0; k < s->lines.n_operands; k++) {
            const int64_t size = (int64_t)dtype_size(s->type[k]);
            rows.lines.data[k] = s->lines.data[k] + offset[k];
            if (s->is_turned[k]) {
                copy_loops_best()->transpose(made, rows.lines.data[k], __builtin_ctz((unsigned)size), s->n, some, s->n * size, s->stride[k]);
                rows.lines.data[k] = made;
                made += s->turned_lines * s->n * size;
            }
        }
        rows.lines.numel = rows.lines.sizes[0] = some;
        rows.run_units(&rows, 0, some, work);
    }
}

static void choose_way(softmax *s, bool backward);

/* False, with nothing settled: lines do not lie so, or are too long for a cache. */
static bool choose_turned(softmax *s, bool backward, arena *memory) {
    enum { TURNED_BYTES = 128 * 1024, LEAST = 4, MOST = 64 };
    int64_t bytes = 0;
    bool lies_along = s->n > 1 && s->lines.ndim > 0 && s->stride[Y] == (int64_t)dtype_size(s->type[Y]) && s->lines.sizes[0] >= LEAST;
    for (int k = 0; k < s->lines.n_operands; k++) {
        const int64_t size = (int64_t)dtype_size(s->type[k]);
        s->is_turned[k] = s->stride[k] != size && s->lines.strides[k][0] == size;
        bytes += s->is_turned[k] ? s->n * size : 0;
    }
    const int64_t some = bytes > 0 ? TURNED_BYTES / bytes : 0;
    softmax *rows = lies_along && some >= LEAST ? arena_make(memory, 1, sizeof *rows) : NULL;
    if (rows == NULL) {
        return false;
    }
    *rows = *s;
    rows->lines.ndim = 1;
    rows->past = false;
    for (int k = 0; k < s->lines.n_operands; k++) {
        const int64_t size = (int64_t)dtype_size(s->type[k]);
        rows->stride[k] = s->is_turned[k] ? size : s->stride[k];
        rows->lines.strides[k][0] = s->is_turned[k] ? s->n * size : s->lines.strides[k][0];
    }
    choose_way(rows, backward);
    s->rows = rows;
    s->past = false;
    s->turned_lines = some < MOST ? some : MOST;
    s->units = s->lines.numel;
    s->turned_at = (rows->work_bytes + 63) / 64 * 64;
    s->work_bytes = s->turned_at + s->turned_lines * bytes;
    s->run_units = turned_lines;
    return true;
}

/* --- plans ---------------------------------------------------------------------------------------------------------------------------- */

static void share_softmax(const void *context) {
    const softmax *s = context;
    char *work = s->work + omp_get_thread_num() * s->work_bytes;
    int64_t from, to;
    if (s->found_bytes > 0 && omp_get_num_threads() == s->threads) {
        s->run_units(s, 0, s->units, work);
    } else if (s->found_bytes > 0) { /* fewer threads than were asked for: their room holds fewer rows than theirs are */
        parallel_share(s->lines.numel, 1, &from, &to);
        (s->columns_kind > COLUMNS_LOG_SOFTMAX ? softmax_back_lines : forward_long_lines)(s, from, to, work);
    } else {
        parallel_share(s->units, 1, &from, &to);
        s->run_units(s, from, to, work);
    }
    s->l->settle();
}

static status run_softmax(kernel_plan *plan) {
    const softmax *s = plan->state;
    if (s->units == 0 || s->n == 0) {
        return ASSAY_OK;
    }
    parallel_run(s->threads, share_softmax, s);
    return ASSAY_OK;
}

/* Lines of few elements in caches, where going on beside each other costs more than it saves: the gradient over 19 rows of [8, 19, 64, 64] takes
   0.7 of the time by columns that are read twice, over 4 of [8, 4, 4096] 0.5, the logarithm of softmax, which takes a function of each column,
   0.5 (Zen 4, 2026-11). Softmax of [16, 8, 1024] takes 1.1 of the time so, and halves, which would be widened twice, longer. */
static bool has_few_rows(const softmax *s, bool backward) {
    enum { FEW_ROWS = 8, FEW_BACK_ROWS = 32 };
    bool is_native = backward || s->logarithm;
    for (int k = 0; k < (backward ? OPERANDS : Y + 1); k++) {
        is_native = is_native && s->type[k] == s->l->type;
    }
    return is_native && !s->past && s->n <= (backward ? FEW_BACK_ROWS : FEW_ROWS);
}

/* Whether the line strides over other elements of the output. */
static bool lies_across(const softmax *s) {
    return s->lines.numel > 1 && s->lines.sizes[0] > 1 && s->stride[Y] > s->lines.strides[Y][0] && s->n > 1;
}

/* Columns where the line strides over other elements of the output, unless it is too long for a block of them. */
static void choose_way(softmax *s, bool backward) {
    int64_t size = (int64_t)s->l->size, sets = backward ? 2 : 1;
    const bool across = lies_across(s);
    if (across && !has_few_rows(s, backward) && softmax_choose_columns(s, backward)) {
        return;
    }
    int64_t fitting = s->n > 0 ? LINE_BYTES / (s->n * size * sets) : 1;
    if (across && fitting >= 4) {
        fitting = fitting > LEAST_COLUMNS ? fitting / LEAST_COLUMNS * LEAST_COLUMNS : fitting;
        fitting = fitting > 1024 ? 1024 : fitting;
        s->columns = fitting < s->lines.sizes[0] ? fitting : s->lines.sizes[0];
        s->units = s->lines.numel / s->lines.sizes[0] * ((s->lines.sizes[0] + s->columns - 1) / s->columns);
        s->work_bytes = sums_bytes(s) + s->n * sets * s->columns * size;
        s->run_units = backward ? backward_columns : forward_columns;
        return;
    }
    s->units = s->lines.numel;
    if (has_short_lines(s, backward ? OPERANDS : Y + 1)) {
        s->work_bytes = (backward ? 3 : 2) * ROW_BLOCK * size;
        s->run_units = backward ? softmax_back_short_lines : forward_short_lines;
        return;
    }
    bool fits = s->n * size <= LINE_BYTES;
    s->work_bytes = backward ? 3 * ROW_BLOCK * size : fits ? s->n * size : ROW_BLOCK * size;
    s->run_units = backward ? softmax_back_lines : fits ? forward_lines : forward_long_lines;
}

static status prepare(kernel_plan *plan, tensor *const *operands, int n_operands, int64_t dim, error *err) {
    softmax *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    const tensor *x = operands[X];
    int d;
    TRY(dim_wrap(dim, x->ndim, &d, err));
    double bytes = 0;
    dtype wide = ASSAY_F32;
    for (int k = 0; k < n_operands; k++) {
        s->type[k] = operands[k]->dtype;
        s->stride[k] = x->ndim > 0 ? operands[k]->strides[d] * (int64_t)dtype_size(operands[k]->dtype) : 0;
        wide = operands[k]->dtype == ASSAY_F64 ? ASSAY_F64 : wide;
        bytes += (double)tensor_numel(operands[k]) * (double)dtype_size(operands[k]->dtype);
    }
    s->l = row_loops_for(wide);
    s->n = x->ndim > 0 ? x->sizes[d] : 1;
    s->logarithm = plan->call->op->signature.name[1] == 'l';
    nest_init(&s->lines, operands, n_operands, nest_all(x->ndim) & ~(1u << d));
    /* Lines across memory take 1.2 to 1.7 of the time in the last cache when others are in it (Zen 4, 2026-11). */
    const double results = (double)tensor_bytes(operands[Y]);
    s->past = lies_across(s) ? results >= STREAM_MIDDLING_BYTES : streams_norm(results, bytes);
    const bool backward = n_operands == OPERANDS;
    if (backward && softmax_are_half_lines(s)) {
        s->units = s->lines.numel;
        s->run_units = softmax_back_half_lines;
    }
    const bool is_kept = !backward && are_best_kept(s);
    const bool is_short_past = !is_kept && !backward && choose_short_past(s);
    if (s->run_units == NULL && !is_short_past && (is_kept || (!softmax_choose_stream(s, backward) && !choose_turned(s, backward, plan->memory)))) {
        choose_way(s, backward);
    }
    /* An exponential costs about as much as moving four times its bytes. */
    s->threads = parallel_threads(4 * bytes);
    const int64_t least_bytes = 3 * ROW_BLOCK * (int64_t)s->l->size; /* of any way */
    s->threads = s->units < s->threads ? (s->units > 0 ? (int)s->units : 1) : s->threads;
    if (s->found_bytes > 0) {
        s->threads = omp_get_max_threads();
        s->found = arena_make(plan->memory, (size_t)s->threads, (size_t)s->found_bytes);
        s->work_bytes = s->work_bytes > least_bytes ? s->work_bytes : least_bytes;
    }
    s->work_bytes = (s->work_bytes + 4095) / 4096 * 4096 + 64; /* threads' buffers keep to their own pages and sets */
    s->work_bytes = (s->work_bytes + 63) / 64 * 64;
    s->work = arena_make(plan->memory, (size_t)s->threads, (size_t)s->work_bytes);
    if (s->work == NULL || (s->found_bytes > 0 && s->found == NULL)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %d threads' lines", s->threads);
    }
    plan->state = s;
    plan->run = run_softmax;
    return ASSAY_OK;
}

static status prepare_forward(kernel_plan *plan, error *err) {
    tensor *operands[] = {call_tensor(plan->call, 0), &plan->out->items[0]};
    return prepare(plan, operands, 2, call_int(plan->call, 1), err);
}

static status prepare_backward(kernel_plan *plan, error *err) {
    tensor *operands[] = {call_tensor(plan->call, 0), &plan->out->items[0], call_tensor(plan->call, 1)};
    return prepare(plan, operands, OPERANDS, call_int(plan->call, 2), err);
}

static const kernel_row rows[] = {
    {.op = "_softmax.default", .prepare = prepare_forward},
    {.op = "_log_softmax.default", .prepare = prepare_forward},
    {.op = "_softmax_backward_data.default", .prepare = prepare_backward},
    {.op = "_log_softmax_backward_data.default", .prepare = prepare_backward},
};

const kernel_rows kernels_softmax = {rows, countof(rows)};
