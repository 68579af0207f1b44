/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums along one dimension: in double for floating types (as ATen's do), in int64 for integers, in double parts for complex
   numbers. */
#include "base/pages.h"
#include "device/caches.h"
#include "engine/kernels/cpu/along.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <string.h>

/* Lines side by side: at most so many at once, whose totals stay in the L1 cache, and no fewer than the least to give each thread some: two
   threads that write pieces of 256 bytes in turns take each other's lines. */
enum { COLUMNS = 1024, LEAST_COLUMNS = 128, FEW_COLUMNS = 16 };

/* Of a line: to widen fewer in registers takes longer. */
enum { FEW_F16 = 8, FEW_BF16 = 16 };

/* Pieces of rows that begin so far apart are taken several at once, and memory is asked for so many of them ahead: the CPU itself reads ahead
   within a page only. It comes to L2, not on Intel's processors, as in row_loops_pairs.h. Nearer ones and whole rows are one stream, which
   the CPU follows: [64, 512, 256] f32 takes 1.4 ms by rows, 2.2 by four (Zen 4, two cores, 2026-11). What goes past the caches goes four rows
   at once there in any case, so that sums in double are loaded and stored once in four: [64, 512, 1024] f32 5.6 ms instead of 7.5. On an
   Emerald Rapids the same takes 7.8 instead of 13.4, but four rows of one page, [64, 2048, 256], 16.3 instead of 12.8. */
enum { SCAN_AHEAD = 2 * SCAN_ROWS, SCAN_APART_BYTES = 1024 };

static bool begins_line(const void *at) {
    return (uintptr_t)at % STREAM_LINE_BYTES == 0;
}

/* A block of n elements as row_halves has it, where that serves it. */
static bool scan_halves(const along *a, const char *x, char *y, row_wide *total, int64_t n, void *made) {
    bool past = a->halves_stream && begins_line(y), by_block = a->halves_stream && !past;
    bool (*scan)(void *, const void *, double *, int64_t, bool) = a->halves->scan[isa_rounds_to_bf16()];
    if (scan == NULL || !scan(by_block ? made : y, x, &total->f, n, past)) {
        return false;
    }
    if (by_block) {
        a->l->stream(y, made, (size_t)n * sizeof(uint16_t));
    }
    return true;
}

static void cumsum_line_of_halves(const along *a, const char *x, char *y, void *buffer, void *made) {
    row_wide total = {.f = 0};
    for (int64_t i = 0; i < a->n; i += ROW_BLOCK) {
        int64_t n = a->n - i < ROW_BLOCK ? a->n - i : ROW_BLOCK;
        char *to = y + i * a->out_stride;
        if (!scan_halves(a, x + i * a->in_stride, to, &total, n, made)) {
            a->l->load(buffer, x + i * a->in_stride, a->in, a->in_stride, n);
            a->l->scan(made, buffer, &total, n, false);
            a->l->store(to, a->out, a->out_stride, made, n);
        }
    }
}

static void cumsum_line(const along *a, const char *x, char *y, void *buffer, void *made) {
    row_wide total = a->l->type == ASSAY_I64 ? (row_wide){.i = 0} : (row_wide){.f = 0};
    for (int64_t i = 0; i < a->n; i += ROW_BLOCK) {
        int64_t n = a->n - i < ROW_BLOCK ? a->n - i : ROW_BLOCK;
        char *to = y + i * a->out_stride;
        const void *row = row_fetch(a->l, buffer, x + i * a->in_stride, a->in, a->in_stride, n);
        void *target = row_target(a->l, made, to, a->out, a->out_stride);
        bool past = a->streams && begins_line(to);
        if (a->streams && !past) {
            a->l->scan(made, row, &total, n, false);
            a->l->stream(to, made, (size_t)n * a->l->size);
            continue;
        }
        a->l->scan(target, row, &total, n, past);
        row_put(a->l, to, a->out, a->out_stride, target, n);
    }
}

/* past: they go past the caches. */
static bool takes_several_rows(const along *a, int64_t n, bool past) {
    int64_t apart = a->in_stride < 0 ? -a->in_stride : a->in_stride;
    bool one_stream = apart < SCAN_APART_BYTES || apart <= n * (int64_t)dtype_size(a->in);
    if (a->in != a->l->type || a->out != a->l->type) {
        return false;
    }
    return past ? apart >= PAGE_BYTES || !cpu_is_intel() : n >= FEW_COLUMNS && !a->rows_stream && (a->parts != NULL || !one_stream);
}

static void cumsum_rows(const along *a, const char *x, char *y, row_wide *totals, int64_t rows, int64_t n, void *buffer, void *made) {
    int64_t in_size = (int64_t)dtype_size(a->in), out_size = (int64_t)dtype_size(a->out);
    for (int64_t k = 0; k < rows; k++, x += a->in_stride, y += a->out_stride) {
        const void *row = row_fetch(a->l, buffer, x, a->in, in_size, n);
        if (a->rows_stream && a->in_stride != n * in_size) {
            fetch_soon(x + a->in_stride, (size_t)(n * in_size));
        }
        void *target = a->rows_stream ? made : row_target(a->l, made, y, a->out, out_size);
        a->l->scan_columns(target, row, totals, n);
        if (a->rows_stream) {
            a->l->stream(y, made, (size_t)(n * out_size));
        } else {
            row_put(a->l, y, a->out, out_size, target, n);
        }
    }
}

static void cumsum_columns_of_halves(const along *a, const char *x, char *y, int64_t n, void *buffer, void *made) {
    double sums[COLUMNS];
    int64_t in = a->in_stride / 2, out = a->out_stride / 2;
    bool past = a->halves_stream && begins_line(y) && a->out_stride % STREAM_LINE_BYTES == 0;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t k = 0, rows; k < a->n; k += rows, x += rows * a->in_stride, y += rows * a->out_stride) {
        rows = a->n - k < SCAN_BLOCK ? a->n - k : SCAN_BLOCK;
        if (!a->halves->scan_columns(y, out, x, in, sums, rows, n, past)) {
            row_wide totals[COLUMNS];
            memcpy(totals, sums, (size_t)n * sizeof *sums);
            cumsum_rows(a, x, y, totals, rows, n, buffer, made);
            memcpy(sums, totals, (size_t)n * sizeof *sums);
        }
    }
}

/* Rows of n lines side by side, on from their totals. */
static void cumsum_on(const along *a, const char *x, char *y, row_wide *totals, int64_t rows, int64_t n, void *buffer, void *made) {
    int64_t in_size = (int64_t)dtype_size(a->in), out_size = (int64_t)dtype_size(a->out), k = 0;
    bool past = a->rows_stream && begins_line(y) && a->out_stride % STREAM_LINE_BYTES == 0;
    if (takes_several_rows(a, n, past)) {
        bool asks = !cpu_is_intel();
        for (; k <= rows - SCAN_ROWS; k += SCAN_ROWS, x += SCAN_ROWS * a->in_stride, y += SCAN_ROWS * a->out_stride) {
            const char *far = asks && rows - k >= SCAN_AHEAD + SCAN_ROWS ? x + SCAN_AHEAD * a->in_stride : NULL;
            a->l->scan_four_rows(y, a->out_stride / out_size, x, a->in_stride / in_size, totals, n, far, past);
        }
    }
    cumsum_rows(a, x, y, totals, rows - k, n, buffer, made);
}

/* n lines side by side, which lie nearer together than a line's own elements. */
static void cumsum_columns(const along *a, const char *x, char *y, int64_t n, void *buffer, void *made) {
    row_wide totals[COLUMNS];
    memset(totals, 0, (size_t)n * sizeof *totals); /* both 0 and 0.0 */
    cumsum_on(a, x, y, totals, a->n, n, buffer, made);
}

/* Whether the lines' starts are dense where a line's elements are not. */
static bool runs_by_columns(const along *a) {
    int64_t in_size = (int64_t)dtype_size(a->in), out_size = (int64_t)dtype_size(a->out);
    return a->lines.numel > 0 && a->lines.sizes[0] >= 8 && a->lines.strides[0][0] == in_size &&
           a->lines.strides[1][0] == out_size && a->in_stride != in_size;
}

static int64_t column_units(const along *a) {
    int64_t width = a->lines.sizes[0];
    return a->lines.numel / width * ((width + a->columns - 1) / a->columns);
}

static void share_cumsum_columns(const void *context) {
    const along *a = context;
    int64_t width = a->lines.sizes[0], blocks = (width + a->columns - 1) / a->columns;
    alignas(64) char buffer[COLUMNS * sizeof(double)], made[COLUMNS * sizeof(double)];
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(column_units(a), 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t column = i % blocks * a->columns, n = width - column < a->columns ? width - column : a->columns;
        loop_seek(&a->lines, i / blocks * width + column, index, offset);
        (a->halves != NULL ? cumsum_columns_of_halves : cumsum_columns)(a, a->lines.data[0] + offset[0], a->lines.data[1] + offset[1], n,
                                                                        buffer, made);
    }
    if (a->halves_stream || a->rows_stream) {
        a->l->settle();
    }
}

static status run_cumsum_columns(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum_columns, a);
    return ASSAY_OK;
}

/* Rows that are far shorter than a page: two threads that take columns write the same pages, and what each reads ahead in them takes lines
   from the other, or does not, for as long as the process runs. So each thread has a part of the rows, adds that up, and when all have
   goes on from the sums before it. [512, 256] on two cores of a Granite Rapids: i64 25 us instead of 42 (2026-11). */
static void share_cumsum_parts(const void *context) {
    const along *a = context;
    alignas(64) char buffer[COLUMNS * sizeof(double)], made[COLUMNS * sizeof(double)], nowhere[COLUMNS * sizeof(double)];
    int64_t n = a->lines.numel, self = omp_get_thread_num(), from, to;
    bool is_integral = a->l->type == ASSAY_I64;
    row_wide totals[COLUMNS], *own = a->parts + self * n;
    parallel_share(a->n, SCAN_ROWS, &from, &to);
    const char *x = a->lines.data[0] + from * a->in_stride;
    along sums = *a;
    sums.out_stride = 0;
    memset(own, 0, (size_t)n * sizeof *own);
    memset(totals, 0, (size_t)n * sizeof *totals);
    if (self + 1 < omp_get_num_threads()) {
        cumsum_on(&sums, x, nowhere, own, to - from, n, buffer, made);
    }
#pragma omp barrier
    for (const row_wide *before = a->parts; before < own; before += n) {
        for (int64_t i = 0; i < n; i++) {
            totals[i] = is_integral ? (row_wide){.i = (int64_t)((uint64_t)totals[i].i + (uint64_t)before[i].i)}
                                    : (row_wide){.f = totals[i].f + before[i].f};
        }
    }
    cumsum_on(a, x, a->lines.data[1] + from * a->out_stride, totals, to - from, n, buffer, made);
}

static status run_cumsum_parts(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum_parts, a);
    return ASSAY_OK;
}

/* False: by columns. Fewer rows are not worth going over twice, nor what is widened first (f32 19 us instead of 10 to 15); what no core's own
   cache holds streams. */
static bool scans_in_parts(const along *a) {
    enum { LEAST_ROWS = 16, MOST_BYTES = 1 << 20 };
    int64_t width = a->lines.numel * (int64_t)dtype_size(a->out);
    bool widens = a->in != a->out || a->out != a->l->type || a->l->type == ASSAY_F32;
    return cpu_is_intel() && a->threads > 1 && !widens && a->lines.sizes[0] == a->lines.numel && width <= PAGE_BYTES &&
           a->n >= LEAST_ROWS * a->threads && width * a->n <= MOST_BYTES * a->threads;
}

/* Whether results that are large enough go past the caches. Rows of 8 bytes that are pages apart and begin within lines take longer so where four
   at once are the other way ([4, 4096, 2001] of f64 21.9 ms instead of 19.3, Zen 4, 2026-11). */
static bool streams_rows(const along *a) {
    bool on_lines = a->out_stride % STREAM_LINE_BYTES == 0, converts = a->in != a->l->type;
    return a->halves == NULL && a->out == a->l->type &&
           (cpu_is_intel() || on_lines || converts || dtype_size(a->out) < 8 || a->out_stride < PAGE_BYTES);
}

/* Blocks as wide as leave each thread several, or all as many. */
static void choose_columns(along *a) {
    a->columns = COLUMNS;
    while (a->columns > LEAST_COLUMNS && column_units(a) < 4 * a->threads && !(a->rows_stream && column_units(a) % a->threads == 0)) {
        a->columns /= 2;
    }
    a->threads = column_units(a) < a->threads ? (int)column_units(a) : a->threads;
}

static void share_cumsum(const void *context) {
    const along *a = context;
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)], made[ROW_BLOCK * sizeof(double)];
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(a->lines.numel, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        loop_seek(&a->lines, i, index, offset);
        (a->halves != NULL ? cumsum_line_of_halves : cumsum_line)(a, a->lines.data[0] + offset[0], a->lines.data[1] + offset[1], buffer, made);
    }
    if (a->streams || a->halves_stream) {
        a->l->settle();
    }
}

static status run_cumsum(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum, a);
    return ASSAY_OK;
}

/* Short lines that lie one behind the other, a block of them at a time: a call for each takes longer than what it adds up. */
static void share_cumsum_lines(const void *context) {
    const along *a = context;
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)], made[ROW_BLOCK * sizeof(double)], raw[ROW_BLOCK * sizeof(double)];
    const int64_t in_size = (int64_t)dtype_size(a->in), out_size = (int64_t)dtype_size(a->out), most = ROW_BLOCK / a->n;
    int64_t from, to;
    parallel_share(a->lines.numel, most, &from, &to);
    for (int64_t i = from, lines; i < to; i += lines) {
        lines = to - i < most ? to - i : most;
        const int64_t n = lines * a->n;
        char *y = a->lines.data[1] + i * a->n * out_size;
        const void *x = row_fetch(a->l, buffer, a->lines.data[0] + i * a->n * in_size, a->in, in_size, n);
        void *target = a->lines_stream ? made : row_target(a->l, made, y, a->out, out_size);
        a->l->scan_lines(target, x, a->n, lines);
        if (a->lines_stream) {
            void *finished = row_target(a->l, raw, made, a->out, out_size);
            row_put(a->l, finished, a->out, out_size, made, n);
            a->l->stream(y, finished, (size_t)(n * out_size));
        } else {
            row_put(a->l, y, a->out, out_size, target, n);
        }
    }
    if (a->lines_stream) {
        a->l->settle();
    }
}

static status run_cumsum_lines(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum_lines, a);
    return ASSAY_OK;
}

/* Longer lines are worth a call each. */
static bool has_short_lines(const along *a) {
    enum { LONGEST = ROW_BLOCK / 4 };
    const int64_t in_size = (int64_t)dtype_size(a->in), out_size = (int64_t)dtype_size(a->out);
    return a->n > 0 && a->n <= LONGEST && a->in_stride == in_size && a->out_stride == out_size && nest_runs(&a->lines) == 1 &&
           a->lines.strides[0][0] == a->n * in_size && a->lines.strides[1][0] == a->n * out_size;
}

static void share_cumsum_complex(const void *context) {
    const along *a = context;
#pragma omp for nowait
    for (int64_t i = 0; i < a->lines.numel; i++) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        double complex total = 0;
        loop_seek(&a->lines, i, index, offset);
        for (int64_t k = 0; k < a->n; k++) {
            total += element_load_complex(a->in, a->lines.data[0] + offset[0] + k * a->in_stride);
            element_store_complex(a->out, a->lines.data[1] + offset[1] + k * a->out_stride, total);
        }
    }
}

/* Complex numbers whose running sums are real: their imaginary parts are dropped first. */
static void share_cumsum_real_parts(const void *context) {
    const along *a = context;
    const bool is_integral = dtype_category_of(a->out) < CATEGORY_FLOATING;
#pragma omp for nowait
    for (int64_t i = 0; i < a->lines.numel; i++) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        double total = 0;
        uint64_t whole = 0;
        loop_seek(&a->lines, i, index, offset);
        for (int64_t k = 0; k < a->n; k++) {
            const char *x = a->lines.data[0] + offset[0] + k * a->in_stride;
            char *y = a->lines.data[1] + offset[1] + k * a->out_stride;
            if (is_integral) {
                whole += (uint64_t)element_load_int(a->in, x);
                element_store_int(a->out, y, (int64_t)whole);
            } else {
                total += element_load(a->in, x);
                element_store(a->out, y, total);
            }
        }
    }
}

static status run_cumsum_real_parts(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum_real_parts, a);
    return ASSAY_OK;
}

static status run_cumsum_complex(kernel_plan *plan) {
    const along *a = plan->state;
    parallel_run(a->threads, share_cumsum_complex, a);
    return ASSAY_OK;
}

static status prepare_cumsum(kernel_plan *plan, error *err) {
    along *a;
    TRY(along_plan(plan, call_int(plan->call, 1), &a, err));
    bool is_complex = dtype_is_complex(a->in) || dtype_is_complex(a->out);
    a->l = row_loops_for(a->out);
    a->lines.numel = a->n > 0 ? a->lines.numel : 0; /* there may be any number of lines without elements */
    plan->run = !is_complex ? run_cumsum : dtype_is_complex(a->out) ? run_cumsum_complex : run_cumsum_real_parts;
    a->streams = !is_complex && a->out == a->l->type && a->out_stride == (int64_t)a->l->size && !plan->call->op->in_place &&
                 tensor_bytes(&plan->out->items[0]) >= STREAM_MIN_BYTES;
    if (!is_complex && has_short_lines(a)) {
        a->lines_stream = !plan->call->op->in_place && tensor_bytes(&plan->out->items[0]) >= STREAM_MIN_BYTES;
        plan->run = run_cumsum_lines;
        return ASSAY_OK;
    }
    bool by_columns = !is_complex && runs_by_columns(a), is_half = a->in == a->out && (a->in == ASSAY_F16 || a->in == ASSAY_BF16);
    int64_t few = a->in == ASSAY_BF16 ? FEW_BF16 : FEW_F16;
    if (is_half && (by_columns || (a->n >= few && a->in_stride == 2 && a->out_stride == 2)) &&
        !tensor_may_overlap(&plan->out->items[0], call_tensor(plan->call, 0))) {
        a->halves = row_halves_for(a->in);
        a->halves_stream = tensor_bytes(&plan->out->items[0]) >= STREAM_MIN_BYTES;
    }
    if (by_columns && scans_in_parts(a)) {
        a->parts = arena_make(plan->memory, (size_t)a->threads * (size_t)a->lines.numel, sizeof *a->parts);
        plan->run = run_cumsum_parts;
        return a->parts != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the sums of parts");
    }
    if (by_columns) {
        a->rows_stream = streams_rows(a) && !plan->call->op->in_place && tensor_bytes(&plan->out->items[0]) >= STREAM_MIN_BYTES;
        choose_columns(a);
        plan->run = run_cumsum_columns;
    }
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "cumsum.default", .prepare = prepare_cumsum},
};

const kernel_rows kernels_cumsum = {rows, countof(rows)};
