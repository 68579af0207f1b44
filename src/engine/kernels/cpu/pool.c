/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: rows of windows shared out among threads; blocks of a plane's rows where columns lie innermost, all channels at once
   where those do. Backwards of averages gather, so that no two threads add to one element; those of maxima are in pool_back.c. */
#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/pool_back.h"

#include <inttypes.h>
#include <math.h>

typedef struct pool_state {
    pool_job job;
    pool_shape shape;
    const tensor *x, *out, *index; /* index: of a maximum's indices */
    pool_plane_rows_fn *plane_rows;
    pool_channels_row_fn *channels_row; /* NULL: by planes */
    int64_t batch, rows;                /* of what a run writes */
    int n_threads;
    char *work;
    size_t work_bytes; /* per thread */
} pool_state;

static const pool_loops *loops_pick(void) {
    static const pool_loops *const all[ISA_COUNT] = {
        [ISA_BASELINE] = &pool_loops_baseline,
#if defined(__x86_64__)
        [ISA_AVX2] = &pool_loops_avx2,
        [ISA_AVX512] = &pool_loops_avx512,
#endif
    };
    return all[isa_best()];
}

static int computed_in(dtype t) {
    return t == ASSAY_F64 ? POOL_F64 : dtype_is_floating(t) ? POOL_F32 : POOL_I64;
}

/* --- windows -------------------------------------------------------------------------------------------------------------- */

/* first[i] and last[i] from from[] and to[], which both rise. */
static void set_covers(pool_windows *w) {
    int64_t first = 0, last = 0;
    for (int64_t i = 0; i < w->in; i++) {
        while (first < w->n && w->to[first] <= i) {
            first++;
        }
        while (last < w->n && w->from[last] <= i) {
            last++;
        }
        w->first[i] = first;
        w->last[i] = last > first ? last : first;
    }
}

static status make_windows(const pool_shape *s, int dim, arena *memory, pool_windows *w, error *err) {
    w->n = s->out[dim];
    w->in = s->in[dim];
    w->kernel = s->kernel[dim];
    w->stride = s->stride[dim];
    w->pad = s->pad[dim];
    w->dilation = s->dilation[dim];
    int64_t *numbers = arena_make(memory, (size_t)(2 * w->n + 2 * w->in) + 1, sizeof *numbers);
    w->count = arena_make(memory, (size_t)w->n + 1, sizeof *w->count);
    if (numbers == NULL || w->count == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool's windows");
    }
    w->from = numbers;
    w->to = w->from + w->n;
    w->first = w->to + w->n;
    w->last = w->first + w->in;
    return ASSAY_OK;
}

/* Dilated windows, for maxima: from is the first tap inside. */
static void set_dilated(pool_windows *w) {
    for (int64_t o = 0; o < w->n; o++) {
        int64_t start = o * w->stride - w->pad, end = start + (w->kernel - 1) * w->dilation + 1;
        w->from[o] = start >= 0 ? start : start + (-start + w->dilation - 1) / w->dilation * w->dilation;
        w->to[o] = end < w->in ? end : w->in;
    }
}

/* Averages: counts multiply to what a window divides by; never 0, so that an empty window answers 0. */
static void set_average(const pool_shape *s, int dim, bool count_padding, pool_windows *w) {
    enum { FEW = 4 };
    bool is_adaptive = w->kernel == 0;
    if (is_adaptive && w->n > 0 && w->in % w->n == 0 && w->in / w->n <= FEW) { /* they all have one size */
        w->kernel = w->stride = w->in / w->n;
        w->dilation = 1;
        w->pad = 0;
    }
    for (int64_t o = 0; o < w->n; o++) {
        int64_t padded;
        if (!is_adaptive) {
            pool_window(s, dim, o, &w->from[o], &w->to[o], &padded);
        } else {
            pool_window_adaptive(s, dim, o, &w->from[o], &w->to[o]);
            padded = w->to[o] - w->from[o];
        }
        int64_t inside = w->to[o] > w->from[o] ? w->to[o] - w->from[o] : 1;
        w->to[o] = w->to[o] > w->from[o] ? w->to[o] : w->from[o];
        w->count[o] = (double)(count_padding && padded > 0 ? padded : inside);
    }
    set_covers(w);
}

/* --- blocks of rows -------------------------------------------------------------------------------------------------------- */

/* Numbers of a block: they stay in the first caches. */
enum { BLOCK_ELEMENTS = 4096, MOST_TAPS = 8 };

static int64_t block_rows(const pool_state *p) {
    const pool_block *b = &p->job.block;
    int64_t widest = b->width > b->outs ? b->width : b->outs, fit = BLOCK_ELEMENTS / (widest > 0 ? widest : 1);
    return fit < 1 ? 1 : fit < p->rows ? fit : p->rows > 0 ? p->rows : 1;
}

/* Taps [from, to) of each of n columns, of a block's rows. */
static status make_taps(kernel_plan *plan, pool_block *b, int64_t n, const int64_t *from, const int64_t *to, error *err) {
    int64_t most = 1;
    for (int64_t i = 0; i < n; i++) {
        most = to[i] - from[i] > most ? to[i] - from[i] : most;
    }
    if (most > MOST_TAPS) {
        return ASSAY_OK;
    }
    b->taps = most;
    b->tap = arena_make(plan->memory, (size_t)(most * b->rows * n) + 1, sizeof *b->tap);
    for (int64_t k = 0; b->tap != NULL && k < most; k++) {
        for (int64_t o = 0; o < b->rows * n; o++) {
            int64_t row = o / n, i = o % n;
            b->tap[k * b->rows * n + o] = (int32_t)(row * b->width + (k < to[i] - from[i] ? from[i] + k : b->width - 1));
        }
    }
    return b->tap != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool's windows");
}

static status make_work(kernel_plan *plan, int64_t elements, error *err) {
    pool_state *p = plan->state;
    p->work_bytes = parallel_room((size_t)elements * 8);
    p->work = arena_make(plan->memory, (size_t)p->n_threads, p->work_bytes);
    return p->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
}

/* Input rows under `rows` rows of windows, at most. */
static int64_t inner_rows(const pool_windows *r, int64_t rows) {
    int64_t most = 0;
    for (int64_t y = 0; y < r->n; y += rows) {
        int64_t last = y + rows < r->n ? y + rows : r->n, inside = r->to[last - 1] - r->from[y];
        most = inside > most ? inside : most;
    }
    return most;
}

/* Blocks of rows of windows. */
static status block_forward(kernel_plan *plan, error *err) {
    pool_state *p = plan->state;
    pool_block *b = &p->job.block;
    const pool_windows *w = &p->job.columns;
    int64_t stride = w->kernel > 0 ? w->stride : 1, taps = w->kernel > 0 ? (w->kernel - 1) * w->dilation : 0;
    int64_t reach = (w->n - 1) * stride + taps + 1, padded = w->pad + w->in;
    b->outs = w->kernel > 0 ? ((reach > padded ? reach : padded) + stride - 1) / stride : w->n;
    b->width = w->kernel > 0 ? b->outs * stride : w->in + 1;
    b->rows = block_rows(p);
    if (w->kernel == 0) {
        TRY(make_taps(plan, b, w->n, w->from, w->to, err));
    }
    int64_t plane = 2 * (b->rows * (b->width + b->outs) + w->kernel * w->dilation + stride + 3 * POOL_LANES + w->in);
    plane += inner_rows(&p->job.rows, b->rows) * w->in; /* brought to the type computed in */
    int64_t pixel = 4 * p->job.channels;
    return make_work(plan, (plane > pixel ? plane : pixel) + 64, err);
}

/* Blocks of input rows. */
static status block_back(kernel_plan *plan, error *err) {
    pool_state *p = plan->state;
    pool_block *b = &p->job.block;
    const pool_windows *r = &p->job.rows, *w = &p->job.columns;
    b->slides = w->kernel > 0 && w->stride == 1;
    b->margin = b->slides ? w->kernel - 1 : 0;
    b->width = b->margin + (w->n > w->in + w->pad ? w->n : w->in + w->pad) + 1;
    b->each = !b->slides && w->n > 0 && w->in % w->n == 0 ? w->in / w->n : 0;
    for (int64_t x = 0; b->each > 0 && x < w->in; x++) {
        b->each = w->first[x] == x / b->each && w->last[x] == w->first[x] + 1 ? b->each : 0;
    }
    b->width = b->slides ? b->width : b->each > 0 ? w->n : w->n + 1;
    b->outs = b->slides ? b->width : w->in;
    b->rows = block_rows(p);
    for (int64_t y = 0; y < r->in; y += b->rows) {
        int64_t last = y + b->rows < r->in ? y + b->rows : r->in, windows = r->last[last - 1] - r->first[y];
        b->inner_rows = windows > b->inner_rows ? windows : b->inner_rows;
    }
    if (!b->slides && b->each == 0) {
        TRY(make_taps(plan, b, w->in, w->first, w->last, err));
    }
    int64_t plane = b->inner_rows * w->n + b->rows * (b->width + b->outs) + w->pad + w->kernel, pixel = 4 * p->job.channels;
    return make_work(plan, (plane > pixel ? plane : pixel) + 64, err);
}

/* --- running --------------------------------------------------------------------------------------------------------------- */

static void run_share(const pool_state *p, int64_t from, int64_t to) {
    void *work = p->work + (size_t)omp_get_thread_num() * p->work_bytes;
    int64_t each = p->channels_row != NULL ? 1 : p->job.block.rows, blocks = (p->rows + each - 1) / each;
    for (int64_t i = from; i < to; i++) {
        int64_t y = i % blocks * each, plane = i / blocks, end = y + each < p->rows ? y + each : p->rows;
        if (p->channels_row != NULL) {
            p->channels_row(&p->job, plane, y, work);
        } else {
            p->plane_rows(&p->job, plane / p->job.channels, plane % p->job.channels, y, end, work);
        }
    }
}

static void share_pool(const void *context) {
    const pool_state *p = context;
    int64_t each = p->job.block.rows;
    int64_t n = p->channels_row != NULL ? p->batch * p->rows : p->batch * p->job.channels * ((p->rows + each - 1) / each);
    int64_t from, to;
    parallel_share(n, 1, &from, &to);
    run_share(p, from, to);
}

static status run(kernel_plan *plan) {
    pool_state *p = plan->state;
    p->job.x = tensor_data(p->x);
    p->job.out = tensor_data(p->out);
    p->job.index = p->index != NULL ? (int64_t *)tensor_data(p->index) : NULL;
    parallel_run(p->n_threads, share_pool, p);
    return ASSAY_OK;
}

/* x is read and out is written by rows of `rows` windows or input rows. */
static status start(kernel_plan *plan, const pool_shape *shape, const tensor *x, int64_t rows, error *err) {
    pool_state *p = arena_make(plan->memory, 1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
    }
    plan->state = p;
    plan->run = run;
    p->shape = *shape;
    p->x = x;
    p->out = &plan->out->items[0];
    p->batch = shape->batch;
    p->rows = rows;
    p->job.dtype = p->out->dtype;
    p->job.size = (int64_t)dtype_size(p->job.dtype);
    p->job.channels = shape->channels;
    pool_four_strides(p->x, p->job.x_step);
    pool_four_strides(p->out, p->job.out_step);
    for (int d = 0; d < 2; d++) {
        TRY(make_windows(shape, d, plan->memory, d == 0 ? &p->job.rows : &p->job.columns, err));
    }
    p->n_threads = parallel_threads(tensor_bytes(p->x) + tensor_bytes(p->out));
    return ASSAY_OK;
}

static bool by_channels(const pool_state *p) {
    return p->shape.channels_last && p->job.x_step[1] == 1 && p->job.out_step[1] == 1;
}

static bool lies_in_padding(const pool_windows *w, int64_t o) {
    return w->from[o] >= w->to[o];
}

static bool some_lie_in_padding(const pool_windows *w) {
    bool some = false;
    for (int64_t o = 0; o < w->n; o++) {
        some = some || lies_in_padding(w, o);
    }
    return some;
}

/* Of i8 and i16, which are computed in i64: windows without an element answer the least of their own type, not of that. */
static status run_narrow_max(kernel_plan *plan) {
    const pool_state *p = plan->state;
    const int64_t *step = p->job.out_step, least = p->out->dtype == ASSAY_I8 ? INT8_MIN : INT16_MIN;
    TRY(run(plan));
    char *out = tensor_data(p->out);
    for (int64_t i = 0; i < p->batch * p->job.channels * p->shape.out[0]; i++) {
        const int64_t y = i % p->shape.out[0], plane = i / p->shape.out[0];
        const int64_t at = plane / p->job.channels * step[0] + plane % p->job.channels * step[1] + y * step[2];
        for (int64_t x = 0; x < p->shape.out[1]; x++) {
            if (lies_in_padding(&p->job.rows, y) || lies_in_padding(&p->job.columns, x)) {
                element_store_int(p->out->dtype, out + (at + x * step[3]) * p->job.size, least);
            }
        }
    }
    return ASSAY_OK;
}

static status prepare_max(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    const tensor *x = call_tensor(call, 0);
    pool_shape s;
    TRY(pool_shape_of(call, 0, 1, 4, call_bool(call, 5), &s, err));
    if (s.in[0] * s.in[1] >= INT32_MAX) {
        return fail(err, ASSAY_UNSUPPORTED, "planes of %" PRId64 " elements or more", (int64_t)INT32_MAX);
    }
    TRY(start(plan, &s, x, s.out[0], err));
    pool_state *p = plan->state;
    p->index = &plan->out->items[1];
    pool_four_strides(p->index, p->job.index_step);
    set_dilated(&p->job.rows);
    set_dilated(&p->job.columns);
    p->plane_rows = loops_pick()->max_plane[computed_in(x->dtype)];
    p->channels_row = by_channels(p) ? loops_pick()->max_channels[computed_in(x->dtype)] : NULL;
    const bool is_narrow = x->dtype == ASSAY_I8 || x->dtype == ASSAY_I16;
    plan->run = is_narrow && (some_lie_in_padding(&p->job.rows) || some_lie_in_padding(&p->job.columns)) ? run_narrow_max : run;
    return block_forward(plan, err);
}

static void set_averages(pool_state *p, bool count_padding, double divisor) {
    pool_windows *both[2] = {&p->job.rows, &p->job.columns};
    p->job.divisor = 1;
    for (int d = 0; d < 2; d++) {
        set_average(&p->shape, d, count_padding, both[d]);
        for (int64_t o = 0; divisor != 0 && o < both[d]->n; o++) {
            both[d]->count[o] = d == 0 ? divisor : 1;
        }
        for (int64_t o = 0; o < both[d]->n; o++) {
            p->job.divisor = both[d]->count[o] == both[d]->count[0] ? p->job.divisor : 0;
        }
        p->job.divisor *= both[d]->n > 0 ? both[d]->count[0] : 1;
    }
    p->job.divisor = p->job.divisor > 0 ? p->job.divisor : 0; /* one below 0 stays with the counts */
    int exponent;
    p->job.divisor_is_power = frexp(p->job.divisor, &exponent) == 0.5 && exponent < 64;
}

static status prepare_average(kernel_plan *plan, const pool_shape *s, bool count_padding, double divisor, error *err) {
    const tensor *x = call_tensor(plan->call, 0);
    TRY(start(plan, s, x, s->out[0], err));
    pool_state *p = plan->state;
    set_averages(p, count_padding, divisor);
    p->plane_rows = loops_pick()->avg_plane[computed_in(x->dtype)];
    p->channels_row = by_channels(p) ? loops_pick()->avg_channels[computed_in(x->dtype)] : NULL;
    return block_forward(plan, err);
}

static status prepare_average_back(kernel_plan *plan, const pool_shape *s, bool count_padding, double divisor, error *err) {
    const tensor *grad = call_tensor(plan->call, 0);
    TRY(start(plan, s, grad, s->in[0], err));
    pool_state *p = plan->state;
    set_averages(p, count_padding, divisor);
    p->plane_rows = loops_pick()->avg_back_plane[computed_in(grad->dtype)];
    p->channels_row = p->shape.channels_last ? loops_pick()->avg_back_channels[computed_in(grad->dtype)] : NULL;
    return block_back(plan, err);
}

status pool_prepare_fours(kernel_plan *plan, bool adds, error *err) {
    const tensor *x = call_tensor(plan->call, 0), *small = adds ? &plan->out->items[0] : x, *large = adds ? x : &plan->out->items[0];
    pool_shape s = {.batched = true, .channels_last = tensor_suggests_channels_last(x), .batch = x->sizes[0], .channels = x->sizes[1]};
    for (int d = 0; d < 2; d++) {
        s.in[d] = large->sizes[2 + d];
        s.out[d] = small->sizes[2 + d];
        s.kernel[d] = s.stride[d] = 2;
        s.dilation[d] = 1;
    }
    return adds ? prepare_average(plan, &s, false, 1, err) : prepare_average_back(plan, &s, false, 1, err);
}

static double divisor_at(const op_call *call, int arg_index) {
    return call_is_none(call, arg_index) ? 0 : (double)call_int(call, arg_index);
}

static status prepare_avg(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    pool_shape s;
    TRY(pool_shape_of(call, 0, 1, -1, call_bool(call, 4), &s, err));
    return prepare_average(plan, &s, call_bool(call, 5), divisor_at(call, 6), err);
}

static status prepare_avg_back(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    pool_shape s;
    TRY(pool_shape_of(call, 1, 2, -1, call_bool(call, 5), &s, err));
    return prepare_average_back(plan, &s, call_bool(call, 6), divisor_at(call, 7), err);
}

static status prepare_adaptive(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    pool_shape s;
    TRY(pool_shape_adaptive(call, 0, call_int_at(call, 1, 0, -1), call_int_at(call, 1, 1, -1), &s, err));
    return prepare_average(plan, &s, false, 0, err);
}

static status prepare_adaptive_back(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    const tensor *grad = call_tensor(call, 0);
    pool_shape s;
    TRY(pool_shape_adaptive(call, 1, grad->sizes[grad->ndim - 2], grad->sizes[grad->ndim - 1], &s, err));
    return prepare_average_back(plan, &s, false, 0, err);
}

static const kernel_row rows[] = {
    {"max_pool2d_with_indices.default", prepare_max, NULL},
    {"max_pool2d_with_indices_backward.default", max_pool_back_prepare, NULL},
    {"avg_pool2d.default", prepare_avg, NULL},
    {"avg_pool2d_backward.default", prepare_avg_back, NULL},
    {"_adaptive_avg_pool2d.default", prepare_adaptive, NULL},
    {"_adaptive_avg_pool2d_backward.default", prepare_adaptive_back, NULL},
};

const kernel_rows kernels_pool = {rows, countof(rows)};
