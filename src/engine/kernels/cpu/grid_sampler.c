/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sampler_2d and its gradients: some of one image's points (all of them for gradients) become a table of taps, which all its planes then
   use. Planes are shared out among threads; each thread sums its own part of the grid's gradient. */
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/resample.h"

#include <string.h>

/* Points in a forward's table: 5 MB of taps of linear sampling, where those of [12000, 12000] points would take 11 GB. As no plane is made
   whole that has more elements than they have taps, work space is bounded, whatever the sizes. */
enum { BLOCK_POINTS = 1 << 16 };

typedef struct grid_state {
    grid_job job;
    grid_axis axes[2];
    const tensor *x, *grid, *grad;
    grid_plane_fn *forward;
    grid_back_fn *backward;
    int64_t points;        /* of an image */
    int n_threads;
    char *work;
    size_t work_bytes;     /* per thread that has planes */
    double *xy;            /* per thread: [points][2] */
} grid_state;

/* The table's points of image n, shared out among the running team. */
static void fill_table(grid_state *s, int64_t n) {
    grid_table *t = &s->job.table;
    const tensor *g = s->grid;
    int64_t size = (int64_t)dtype_size(g->dtype), index[RESAMPLE_MAX_TAPS], from, to;
    parallel_share(t->points, 64, &from, &to);
    for (int64_t p = from; p < to; p++) {
        int64_t y = (t->first + p) / s->job.out_columns, x = (t->first + p) % s->job.out_columns;
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

/* Image n, by the running team, which fills the table and waits. */
static void table_of_points(grid_state *s, int64_t n, const outputs *out) {
    grid_job *job = &s->job;
    const bool is_backward = s->grad != NULL;
    const int64_t planes = s->x->sizes[1];
    int self = omp_get_thread_num(), team = omp_get_num_threads();
    double *xy = is_backward ? s->xy + (int64_t)self * 2 * s->points : NULL;
    int64_t from, to;
    fill_table(s, n);
    if (is_backward) {
        memset(xy, 0, (size_t)s->points * 2 * sizeof *xy);
    }
#pragma omp barrier
    parallel_share(planes, 1, &from, &to);
    void *work = s->work + (size_t)(planes < team ? from : self) * s->work_bytes; /* of few planes a thread has one at most */
    for (int64_t c = from; c < to; c++) {
        is_backward ? s->backward(job, n, c, work, xy) : s->forward(job, n, c, work);
    }
#pragma omp barrier
    if (is_backward) {
        write_grid_gradient(s, &out->items[1], n, team);
    }
}

static status run(kernel_plan *plan) {
    grid_state *s = plan->state;
    grid_job *job = &s->job;
    const outputs *out = plan->out;
    const int64_t block = s->grad != NULL ? s->points : BLOCK_POINTS;
    job->x = tensor_data(s->x);
    job->grad = s->grad != NULL ? tensor_data(s->grad) : NULL;
    job->out = out->items[0].ndim == 4 ? tensor_data(&out->items[0]) : NULL; /* left out by the mask otherwise */
    for (int64_t n = 0; n < s->x->sizes[0]; n++) {
        for (int64_t first = 0; first == 0 || first < s->points; first += block > 0 ? block : 1) { /* sums of nothing are written, too */
            const observer *watch = observer_of_thread;
            job->table.first = first;
            job->table.points = s->points - first < block ? s->points - first : block;
#pragma omp parallel num_threads(s->n_threads)
            {
                parallel_enter(watch);
                table_of_points(s, n, out);
                parallel_leave(watch);
            }
        }
    }
    return ASSAY_OK;
}

/* Whether a plane's rows lie one behind the other in the type that the loops compute in. */
static bool is_own_plane(const tensor *t) {
    return (t->dtype == ASSAY_F32 || t->dtype == ASSAY_F64) && t->strides[3] == 1 && t->strides[2] == t->sizes[3];
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
    s->points = s->grid->sizes[1] * s->grid->sizes[2];
    job->table.points = s->grad == NULL && s->points > BLOCK_POINTS ? BLOCK_POINTS : s->points; /* most of them */
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
    double taps = (double)job->table.taps * job->table.taps, points = (double)s->points * (double)s->x->sizes[1];
    const tensor *out = &plan->out->items[0];
    int64_t area = job->rows * job->columns;
    job->reading = is_own_plane(s->x) ? GRID_AS_IT_LIES : (double)job->table.points * taps < (double)area ? GRID_BY_ELEMENT : GRID_WHOLE;
    job->sums_in_place = s->grad != NULL && out->ndim == 4 && is_own_plane(out);
    bool sums_apart = s->grad != NULL && out->ndim == 4 && !job->sums_in_place;
    s->n_threads = parallel_threads(points * taps * 16);
    int64_t n_works = s->x->sizes[1] < s->n_threads ? s->x->sizes[1] : s->n_threads;
    int64_t room = (job->reading == GRID_WHOLE ? area : 0) + (sums_apart ? area : 0) + job->table.points + 8;
    s->work_bytes = parallel_room((size_t)room * (type == 1 ? sizeof(double) : sizeof(float)));
    s->work = arena_make(plan->memory, (size_t)n_works, s->work_bytes);
    s->xy = s->grad != NULL ? arena_make(plan->memory, (size_t)s->n_threads * (size_t)s->points + 1, 16) : NULL;
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
