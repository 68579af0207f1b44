/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: rows of windows shared out among threads; planes where columns lie innermost, all channels at once where those
   do. Backwards of averages gather, so that no two threads add to one element; those by whole planes are in pool_back.c. */
#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/pool_back.h"

#include <inttypes.h>

typedef struct pool_state {
    pool_job job;
    pool_shape shape;
    const tensor *x, *out, *index; /* index: of a maximum's indices */
    pool_plane_row_fn *plane_row;
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
    for (int64_t o = 0; o < w->n; o++) {
        int64_t padded;
        if (w->kernel > 0) {
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

/* --- running by rows ------------------------------------------------------------------------------------------------------- */

static void run_share(const pool_state *p, int64_t from, int64_t to) {
    void *work = p->work + (size_t)omp_get_thread_num() * p->work_bytes;
    for (int64_t i = from; i < to; i++) {
        int64_t y = i % p->rows, plane = i / p->rows;
        if (p->channels_row != NULL) {
            p->channels_row(&p->job, plane, y, work);
        } else {
            p->plane_row(&p->job, plane / p->job.channels, plane % p->job.channels, y, work);
        }
    }
}

static status run(kernel_plan *plan) {
    pool_state *p = plan->state;
    p->job.x = tensor_data(p->x);
    p->job.out = tensor_data(p->out);
    p->job.index = p->index != NULL ? (int64_t *)tensor_data(p->index) : NULL;
    int64_t n = p->batch * (p->channels_row != NULL ? 1 : p->job.channels) * p->rows;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(p->n_threads)
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(n, 1, &from, &to);
        run_share(p, from, to);
        parallel_leave(watch);
    }
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
    p->job.channels = shape->channels;
    pool_four_strides(p->x, p->job.x_step);
    pool_four_strides(p->out, p->job.out_step);
    for (int d = 0; d < 2; d++) {
        TRY(make_windows(shape, d, plan->memory, d == 0 ? &p->job.rows : &p->job.columns, err));
    }
    p->n_threads = parallel_threads(tensor_bytes(p->x) + tensor_bytes(p->out));
    const pool_windows *w = &p->job.columns;
    int64_t reach = w->n * (w->stride + 1) + w->kernel * (w->dilation + 1) + w->in + w->pad;
    int64_t elements = shape->channels > reach + 2 * w->in + 2 * w->n ? shape->channels : reach + 2 * w->in + 2 * w->n;
    p->work_bytes = parallel_room((size_t)elements * 4 * 8);
    p->work = arena_make(plan->memory, (size_t)p->n_threads, p->work_bytes);
    return p->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
}

static bool by_channels(const pool_state *p) {
    return p->shape.channels_last && p->job.x_step[1] == 1 && p->job.out_step[1] == 1;
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
    p->plane_row = loops_pick()->max_plane[computed_in(x->dtype)];
    p->channels_row = by_channels(p) ? loops_pick()->max_channels[computed_in(x->dtype)] : NULL;
    return ASSAY_OK;
}

static void set_averages(pool_state *p, bool count_padding, double divisor) {
    set_average(&p->shape, 0, count_padding, &p->job.rows);
    set_average(&p->shape, 1, count_padding, &p->job.columns);
    for (int64_t o = 0; divisor != 0 && o < p->job.rows.n; o++) {
        p->job.rows.count[o] = divisor;
    }
    for (int64_t o = 0; divisor != 0 && o < p->job.columns.n; o++) {
        p->job.columns.count[o] = 1;
    }
}

static status prepare_average(kernel_plan *plan, const pool_shape *s, bool count_padding, double divisor, error *err) {
    const tensor *x = call_tensor(plan->call, 0);
    TRY(start(plan, s, x, s->out[0], err));
    pool_state *p = plan->state;
    set_averages(p, count_padding, divisor);
    p->plane_row = loops_pick()->avg_plane[computed_in(x->dtype)];
    p->channels_row = by_channels(p) ? loops_pick()->avg_channels[computed_in(x->dtype)] : NULL;
    return ASSAY_OK;
}

static status prepare_average_back(kernel_plan *plan, const pool_shape *s, bool count_padding, double divisor, error *err) {
    const tensor *grad = call_tensor(plan->call, 0);
    TRY(start(plan, s, grad, s->in[0], err));
    pool_state *p = plan->state;
    set_averages(p, count_padding, divisor);
    if (!p->shape.channels_last && dtype_is_floating(grad->dtype) && pool_windows_are_apart(&p->job.rows, &p->job.columns)) {
        return pool_spread_prepare(plan, &p->job, &p->shape, grad, err);
    }
    p->plane_row = loops_pick()->avg_back_plane[computed_in(grad->dtype)];
    p->channels_row = p->shape.channels_last ? loops_pick()->avg_back_channels[computed_in(grad->dtype)] : NULL;
    return ASSAY_OK;
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
