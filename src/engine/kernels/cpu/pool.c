/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: rows of windows shared out among threads; planes where columns lie innermost, all channels at once where those
   do. Backwards gather (averages) or own whole planes (maxima), so that no two threads add to one element. */
#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/schema/window.h"

#include <inttypes.h>
#include <string.h>

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

/* Strides as [batch, channel, row, column]. */
static void four_strides(const tensor *t, int64_t *out) {
    int lead = t->ndim == 4 ? 1 : 0;
    out[0] = lead ? t->strides[0] : 0;
    for (int i = 0; i < 3; i++) {
        out[1 + i] = t->strides[lead + i];
    }
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
    four_strides(p->x, p->job.x_step);
    four_strides(p->out, p->job.out_step);
    for (int d = 0; d < 2; d++) {
        TRY(make_windows(shape, d, plan->memory, d == 0 ? &p->job.rows : &p->job.columns, err));
    }
    p->n_threads = parallel_threads(tensor_bytes(p->x) + tensor_bytes(p->out));
    const pool_windows *w = &p->job.columns;
    int64_t reach = w->n * (w->stride + 1) + w->kernel * (w->dilation + 1) + w->in + w->pad;
    int64_t elements = shape->channels > reach + 2 * w->in + 2 * w->n ? shape->channels : reach + 2 * w->in + 2 * w->n;
    p->work_bytes = (size_t)elements * 4 * 8;
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
    four_strides(p->index, p->job.index_step);
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

/* --- max_pool2d_with_indices_backward ------------------------------------------------------------------------------------- */

/* Channels that one pass over an image serves: their sums stay in a cache. */
enum { CHANNEL_BLOCK = 16 };

/* Adds the gradients of channels [c, c + n) of one image to sums [position][n]; the first index out of range, or -1 for
   none. */
static int64_t scatter_block(const pool_state *p, int64_t image, int64_t c, int64_t n, double *sums_f64, float *sums) {
    const pool_job *j = &p->job;
    int64_t size = (int64_t)dtype_size(j->dtype), area = p->shape.in[0] * p->shape.in[1];
    for (int64_t o = 0; o < p->shape.out[0] * p->shape.out[1]; o++) {
        int64_t y = o / p->shape.out[1], x = o % p->shape.out[1];
        const char *grad = j->x + (image * j->x_step[0] + c * j->x_step[1] + y * j->x_step[2] + x * j->x_step[3]) * size;
        const int64_t *index = j->index + image * j->index_step[0] + c * j->index_step[1] + y * j->index_step[2] +
                               x * j->index_step[3];
        for (int64_t k = 0; k < n; k++) {
            int64_t at = index[k * j->index_step[1]];
            const char *from = grad + k * j->x_step[1] * size;
            if (at < 0 || at >= area) {
                return at < 0 ? INT64_MAX : at;
            }
            if (j->dtype == ASSAY_F64) {
                sums_f64[at * n + k] += *(const double *)from;
            } else if (j->dtype == ASSAY_F32) {
                sums[at * n + k] += *(const float *)from;
            } else {
                sums[at * n + k] += j->dtype == ASSAY_F16 ? f16_to_float(*(const uint16_t *)from)
                                                          : bf16_to_float(*(const uint16_t *)from);
            }
        }
    }
    return -1;
}

/* sums [position][n] to the output's type and strides. */
static void write_block(const pool_state *p, int64_t image, int64_t c, int64_t n, const double *sums_f64, const float *sums) {
    const pool_job *j = &p->job;
    int64_t size = (int64_t)dtype_size(j->dtype), width = p->shape.in[1];
    for (int64_t i = 0; i < p->shape.in[0] * width; i++) {
        char *to = j->out + (image * j->out_step[0] + c * j->out_step[1] + i / width * j->out_step[2] +
                             i % width * j->out_step[3]) * size;
        for (int64_t k = 0; k < n; k++, to += j->out_step[1] * size) {
            if (j->dtype == ASSAY_F32) {
                *(float *)to = sums[i * n + k];
            } else {
                element_store(j->dtype, to, j->dtype == ASSAY_F64 ? sums_f64[i * n + k] : (double)sums[i * n + k]);
            }
        }
    }
}

static status run_max_back(kernel_plan *plan) {
    pool_state *p = plan->state;
    p->job.x = tensor_data(p->x);
    p->job.out = tensor_data(p->out);
    p->job.index = (int64_t *)tensor_data(p->index);
    int64_t channels = p->job.channels, block = p->shape.channels_last ? CHANNEL_BLOCK : 1;
    int64_t blocks = (channels + block - 1) / block, bad = -1;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(p->n_threads) reduction(max : bad)
    {
        parallel_enter(watch);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < p->batch * blocks; i++) {
            void *sums = p->work + (size_t)omp_get_thread_num() * p->work_bytes;
            int64_t c = i % blocks * block, n = channels - c < block ? channels - c : block;
            memset(sums, 0, p->work_bytes);
            int64_t found = scatter_block(p, i / blocks, c, n, sums, sums);
            bad = found > bad ? found : bad;
            write_block(p, i / blocks, c, n, sums, sums);
        }
        parallel_leave(watch);
    }
    if (bad >= 0) {
        return fail(plan->err, ASSAY_INVALID, "%s: expected indices from 0 to %" PRId64 ", got one outside",
                    plan->call->op->signature.full, p->shape.in[0] * p->shape.in[1] - 1);
    }
    return ASSAY_OK;
}

static status prepare_max_back(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    pool_shape s;
    TRY(pool_shape_of(call, 1, 2, 5, call_bool(call, 6), &s, err));
    TRY(start(plan, &s, call_tensor(call, 0), s.out[0], err));
    pool_state *p = plan->state;
    plan->run = run_max_back;
    p->index = call_tensor(call, 7);
    four_strides(p->index, p->job.index_step);
    size_t block = s.channels_last ? CHANNEL_BLOCK : 1, width = p->out->dtype == ASSAY_F64 ? 8 : 4;
    p->work_bytes = (size_t)(s.in[0] * s.in[1]) * block * width;
    p->work = arena_make(plan->memory, (size_t)p->n_threads, p->work_bytes);
    return p->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
}

static const kernel_row rows[] = {
    {"max_pool2d_with_indices.default", prepare_max, NULL},
    {"max_pool2d_with_indices_backward.default", prepare_max_back, NULL},
    {"avg_pool2d.default", prepare_avg, NULL},
    {"avg_pool2d_backward.default", prepare_avg_back, NULL},
    {"_adaptive_avg_pool2d.default", prepare_adaptive, NULL},
    {"_adaptive_avg_pool2d_backward.default", prepare_adaptive_back, NULL},
};

const kernel_rows kernels_pool = {rows, countof(rows)};
