/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sampler_2d and its gradients: one image's points become a table of taps, which all its planes then use. Planes are
   shared out among threads; each thread sums its own part of the grid's gradient. */
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/resample.h"

#include <string.h>

typedef struct grid_state {
    grid_job job;
    grid_axis axes[2];
    const tensor *x, *grid, *grad;
    grid_plane_fn *forward;
    grid_back_fn *backward;
    int n_threads;
    char *work;
    size_t work_bytes;     /* per thread */
    double *xy;            /* per thread: [points][2] */
} grid_state;

/* Points of image n, shared out among the running team. */
static void fill_table(grid_state *s, int64_t n) {
    grid_table *t = &s->job.table;
    const tensor *g = s->grid;
    int64_t size = (int64_t)dtype_size(g->dtype), index[RESAMPLE_MAX_TAPS], from, to;
    parallel_share(t->points, 64, &from, &to);
    for (int64_t p = from; p < to; p++) {
        int64_t y = p / s->job.out_columns, x = p % s->job.out_columns;
        const char *at = tensor_data(g) + (n * g->strides[0] + y * g->strides[1] + x * g->strides[2]) * size;
        double column = element_load(g->dtype, at), row = element_load(g->dtype, at + g->strides[3] * size);
        int64_t k = p * t->taps;
        grid_taps(&s->axes[0], row, index, t->row_weight + k, t->row_slope + k);
        for (int i = 0; i < t->taps; i++) {
            t->row[k + i] = (int32_t)index[i];
        }
        grid_taps(&s->axes[1], column, index, t->column_weight + k, t->column_slope + k);
        for (int i = 0; i < t->taps; i++) {
            t->column[k + i] = (int32_t)index[i];
        }
    }
}

/* The threads' parts of the grid's gradient, added up in order. */
static void write_grid_gradient(const grid_state *s, const tensor *out, int64_t n, int n_threads) {
    int64_t size = (int64_t)dtype_size(out->dtype), points = s->job.table.points, from, to;
    parallel_share(points, 64, &from, &to);
    for (int64_t i = 2 * from; i < 2 * to; i++) {
        double sum = 0;
        for (int t = 0; t < n_threads; t++) {
            sum += s->xy[(int64_t)t * 2 * points + i];
        }
        element_store(out->dtype, tensor_data(out) + (n * 2 * points + i) * size, sum);
    }
}

static status run(kernel_plan *plan) {
    grid_state *s = plan->state;
    grid_job *job = &s->job;
    const outputs *out = plan->out;
    bool is_backward = s->grad != NULL;
    job->x = tensor_data(s->x);
    job->grad = is_backward ? tensor_data(s->grad) : NULL;
    job->out = out->items[0].ndim == 4 ? tensor_data(&out->items[0]) : NULL; /* left out by the mask otherwise */
    for (int64_t n = 0; n < s->x->sizes[0]; n++) {
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->n_threads)
        {
            parallel_enter(watch);
            int self = omp_get_thread_num(), team = omp_get_num_threads();
            void *work = s->work + (size_t)self * s->work_bytes;
            double *xy = is_backward ? s->xy + (int64_t)self * 2 * job->table.points : NULL;
            int64_t from, to;
            fill_table(s, n);
            if (is_backward) {
                memset(xy, 0, (size_t)job->table.points * 2 * sizeof *xy);
            }
#pragma omp barrier
            parallel_share(s->x->sizes[1], 1, &from, &to);
            for (int64_t c = from; c < to; c++) {
                is_backward ? s->backward(job, n, c, work, xy) : s->forward(job, n, c, work);
            }
#pragma omp barrier
            if (is_backward) {
                write_grid_gradient(s, &out->items[1], n, team);
            }
            parallel_leave(watch);
        }
    }
    return ASSAY_OK;
}

static status make_table(grid_table *t, arena *memory, error *err) {
    size_t entries = (size_t)t->points * (size_t)t->taps + 1;
    t->row = arena_make(memory, 2 * entries, sizeof *t->row);
    t->row_weight = arena_make(memory, 4 * entries, sizeof *t->row_weight);
    if (t->row == NULL || t->row_weight == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a grid's taps");
    }
    t->column = t->row + entries;
    t->column_weight = t->row_weight + entries;
    t->row_slope = t->column_weight + entries;
    t->column_slope = t->row_slope + entries;
    return ASSAY_OK;
}

static status prepare(kernel_plan *plan, int input_arg, int mode_arg, error *err) {
    static const int taps_of[] = {[GRID_LINEAR] = 2, [GRID_NEAREST] = 1, [GRID_CUBIC] = 4};
    const op_call *call = plan->call;
    grid_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    plan->state = s;
    plan->run = run;
    s->x = call_tensor(call, input_arg);
    s->grid = call_tensor(call, input_arg + 1);
    s->grad = input_arg > 0 ? call_tensor(call, 0) : NULL;
    for (int d = 0; d < 2; d++) {
        s->axes[d] = (grid_axis){.interpolation = (int)call_int(call, mode_arg),
                                 .padding = (int)call_int(call, mode_arg + 1),
                                 .align_corners = call_bool(call, mode_arg + 2),
                                 .in_double = s->x->dtype == ASSAY_F64,
                                 .size = s->x->sizes[2 + d]};
    }
    if (grid_quick_fits(s->x, s->grid, s->grad, plan->out, s->axes)) {
        return grid_quick_prepare(plan, s->x, s->grid, s->grad, s->axes, err);
    }
    grid_job *job = &s->job;
    job->dtype = s->x->dtype;
    job->rows = s->x->sizes[2];
    job->columns = s->x->sizes[3];
    job->out_columns = s->grid->sizes[2];
    job->table.taps = taps_of[s->axes[0].interpolation];
    job->table.points = s->grid->sizes[1] * s->grid->sizes[2];
    if (job->rows > INT32_MAX || job->columns > INT32_MAX) {
        return fail(err, ASSAY_UNSUPPORTED, "images of 2^31 rows or columns");
    }
    memcpy(job->x_step, s->x->strides, sizeof job->x_step);
    memcpy(job->out_step, plan->out->items[0].strides, sizeof job->out_step);
    if (s->grad != NULL) {
        memcpy(job->grad_step, s->grad->strides, sizeof job->grad_step);
    }
    TRY(make_table(&job->table, plan->memory, err));
    int type = job->dtype == ASSAY_F64 ? 1 : 0;
    s->forward = resample_loops_pick()->grid[type];
    s->backward = resample_loops_pick()->grid_back[type];
    double points = (double)job->table.points * (double)s->x->sizes[1];
    s->n_threads = parallel_threads(points * job->table.taps * job->table.taps * 16);
    s->work_bytes = parallel_room(((size_t)(job->rows * job->columns) * 2 + (size_t)job->table.points + 8) * 8);
    s->work = arena_make(plan->memory, (size_t)s->n_threads, s->work_bytes);
    s->xy = s->grad != NULL ? arena_make(plan->memory, (size_t)s->n_threads * (size_t)job->table.points + 1, 16) : NULL;
    if (s->work == NULL || (s->grad != NULL && s->xy == NULL)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    return ASSAY_OK;
}

status grid_sampler_prepare(kernel_plan *plan, error *err) {
    return prepare(plan, 0, 2, err);
}

status grid_sampler_backward_prepare(kernel_plan *plan, error *err) {
    return prepare(plan, 1, 3, err);
}
