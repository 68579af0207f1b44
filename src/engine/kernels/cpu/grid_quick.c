/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sampler_2d and its gradients where all of it is f32 vector code: linear or nearest sampling of dense planes, padded
   by zeros or the border. Points are worked out once per image; planes are shared out among threads, by GRID_LANES if there are
   enough: then a tap is a load of as many side by side, for which planes are turned round, and not a gather. Where an image has fewer
   such groups than there are threads, images are shared out. Few planes of f32 that are only read are shared out by rows of the grid. */
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/resample.h"

#include <string.h>

typedef struct quick_state {
    const resample_loops *loops;
    grid_quick q;
    grid_quick_axis axes[2];
    const tensor *x, *grid, *grad;
    tensor *out, *grid_out; /* out: NULL when its gradient is not asked for; grid_out: of a backward */
    convert_fn *to, *from;  /* halves to f32 and back; NULL for f32 */
    int64_t size, area, channels, rows, columns; /* rows, columns: of the grid */
    int threads;
    bool by_rows;           /* of the grid, all planes: each thread's points are its own, so none waits for another's */
    bool by_image;          /* each thread has images of its own, and tables of points */
    bool alone;             /* in such a thread's copy */
    int lanes;              /* planes worked on together: 1 or GRID_LANES */
    float *work;            /* per thread: a plane, its sums, points of gradient and output (of each lane), and a row of
                               coordinates */
    int64_t work_floats;
    float *x_sums, *y_sums; /* per thread: the points' gradients */
} quick_state;

static bool is_dense_plane(const tensor *t) {
    return t->strides[3] == 1 && t->strides[2] == t->sizes[3];
}

bool grid_quick_fits(const tensor *x, const tensor *grid, const tensor *grad, const outputs *out, const grid_axis *axes) {
    bool planes = is_dense_plane(x) && (grad == NULL || is_dense_plane(grad)) &&
                  (out->items[0].ndim != 4 || is_dense_plane(&out->items[0]));
    bool is_float = x->dtype == ASSAY_F32 || x->dtype == ASSAY_F16 || x->dtype == ASSAY_BF16;
    bool is_row = grid->strides[3] == 1 && grid->strides[2] == 2;
    /* An axis of more elements than f32 counts would need the checks of grid_taps. */
    return planes && is_float && is_row && axes[0].interpolation != GRID_CUBIC && axes[0].padding != GRID_REFLECTION &&
           x->sizes[2] * x->sizes[3] > 0 && x->sizes[2] * x->sizes[3] < INT64_C(1) << 24;
}

/* As parallel_share within the team that works on an image. */
static void share(const quick_state *s, int64_t n, int64_t grain, int64_t *from, int64_t *to) {
    if (s->alone) {
        *from = 0;
        *to = n;
        return;
    }
    parallel_share(n, grain, from, to);
}

/* Rows of points of image n, shared out among the running team. */
static void fill_points(const quick_state *s, int64_t n, float *row) {
    int64_t from, to;
    share(s, s->rows, 1, &from, &to);
    for (int64_t y = from; y < to; y++) {
        const char *at = tensor_data(s->grid) + (n * s->grid->strides[0] + y * s->grid->strides[1]) * s->size;
        const float *xy = (const float *)(const void *)at;
        if (s->to != NULL) {
            s->to(row, at, 2 * s->columns);
            xy = row;
        }
        s->loops->grid_points(&s->q, s->axes, xy, y * s->columns, s->columns);
    }
}

/* Plane c of image n as f32: where it lies, or converted. */
static const float *plane_of(const quick_state *s, const tensor *t, int64_t n, int64_t c, int64_t numel, float *buffer) {
    const char *at = tensor_data(t) + (n * t->strides[0] + c * t->strides[1]) * s->size;
    if (s->to == NULL) {
        return (const float *)(const void *)at;
    }
    s->to(buffer, at, numel);
    return buffer;
}

static void one_plane(const quick_state *s, int64_t n, int64_t c, float *work, float *x_sums, float *y_sums) {
    int64_t points = s->q.points;
    float *plane = work, *sums = plane + s->area, *grads = sums + s->area, *made = grads + points;
    char *to = s->out == NULL ? NULL : tensor_data(s->out) + (n * s->out->strides[0] + c * s->out->strides[1]) * s->size;
    const float *image = plane_of(s, s->x, n, c, s->area, plane);
    if (s->grad == NULL) {
        float *out = s->from != NULL ? made : (float *)(void *)to;
        s->loops->grid_quick(&s->q, image, out, 0, points);
        if (s->from != NULL) {
            s->from(to, out, points);
        }
        return;
    }
    float *target = to == NULL ? NULL : s->from != NULL ? sums : (float *)(void *)to;
    if (target != NULL) {
        memset(target, 0, (size_t)s->area * sizeof *target);
    }
    s->loops->grid_quick_back(&s->q, image, plane_of(s, s->grad, n, c, points, grads), target, x_sums, y_sums);
    if (to != NULL && s->from != NULL) {
        s->from(to, sums, s->area);
    }
}

/* Planes [c, c + m) of image n to [element][lane]; scratch: numel numbers for each. Lanes without a plane are 0. */
static void turn_in(const quick_state *s, const tensor *t, int64_t n, int64_t c, int64_t m, int64_t numel, float *scratch,
                    float *to) {
    const char *at = tensor_data(t) + (n * t->strides[0] + c * t->strides[1]) * s->size;
    if (m < GRID_LANES) {
        memset(to, 0, (size_t)numel * GRID_LANES * sizeof *to);
    }
    for (int64_t k = 0; s->to != NULL && k < m; k++) {
        s->to(scratch + k * numel, at + k * t->strides[1] * s->size, numel);
    }
    s->to != NULL ? s->loops->to_lanes(to, scratch, numel, m, numel)
                  : s->loops->to_lanes(to, (const float *)(const void *)at, t->strides[1], m, numel);
}

static void turn_out(const quick_state *s, const tensor *t, int64_t n, int64_t c, int64_t m, int64_t numel, float *scratch,
                     const float *from) {
    char *at = tensor_data(t) + (n * t->strides[0] + c * t->strides[1]) * s->size;
    s->from != NULL ? s->loops->from_lanes(scratch, from, numel, m, numel)
                    : s->loops->from_lanes((float *)(void *)at, from, t->strides[1], m, numel);
    for (int64_t k = 0; s->from != NULL && k < m; k++) {
        s->from(at + k * t->strides[1] * s->size, scratch + k * numel, numel);
    }
}

/* Up to GRID_LANES planes from c on. */
static void some_planes(const quick_state *s, int64_t n, int64_t c, float *work, float *x_sums, float *y_sums) {
    int64_t points = s->q.points, m = s->channels - c < GRID_LANES ? s->channels - c : GRID_LANES;
    const int64_t guard = GRID_TAPS * GRID_LANES; /* what taps outside the image read and add to */
    float *planes = work + guard, *sums = planes + s->area * GRID_LANES + guard, *grads = sums + s->area * GRID_LANES;
    float *made = grads + points * GRID_LANES, *scratch = made + points * GRID_LANES;
    memset(work, 0, (size_t)guard * sizeof *work);
    turn_in(s, s->x, n, c, m, s->area, scratch, planes);
    if (s->grad == NULL) {
        s->loops->grid_lanes(&s->q, planes, made);
        turn_out(s, s->out, n, c, m, points, scratch, made);
        return;
    }
    turn_in(s, s->grad, n, c, m, points, scratch, grads);
    memset(sums - guard, 0, (size_t)(s->area * GRID_LANES + guard) * sizeof *sums);
    s->loops->grid_lanes_back(&s->q, planes, grads, sums, x_sums, y_sums);
    if (s->out != NULL) {
        turn_out(s, s->out, n, c, m, s->area, scratch, sums);
    }
}

/* The threads' parts of the grid's gradient, added up in order. */
static void write_grid_gradient(const quick_state *s, int64_t n, int team, float *row) {
    int64_t from, to, points = s->q.points;
    share(s, s->rows, 1, &from, &to);
    for (int64_t y = from; y < to; y++) {
        char *at = tensor_data(s->grid_out) + (n * s->rows + y) * 2 * s->columns * s->size;
        float *xy = s->from != NULL ? row : (float *)(void *)at;
        for (int64_t i = 0; i < s->columns; i++) {
            float x = 0, z = 0;
            for (int t = 0; t < team; t++) {
                x += s->x_sums[t * points + y * s->columns + i];
                z += s->y_sums[t * points + y * s->columns + i];
            }
            xy[2 * i] = x;
            xy[2 * i + 1] = z;
        }
        if (s->from != NULL) {
            s->from(at, xy, 2 * s->columns);
        }
    }
}

/* Rows of the grid of image n, shared out among the running team, in all planes. */
static void some_rows(const quick_state *s, int64_t n, float *row) {
    int64_t from, to;
    fill_points(s, n, row);
    share(s, s->rows, 1, &from, &to);
    for (int64_t c = 0; c < s->channels; c++) {
        char *at = tensor_data(s->out) + (n * s->out->strides[0] + c * s->out->strides[1]) * s->size;
        s->loops->grid_quick(&s->q, plane_of(s, s->x, n, c, s->area, NULL), (float *)(void *)at, from * s->columns, to * s->columns);
    }
}

/* Image n by thread `self` of a team, or by one alone. */
static void one_image(const quick_state *s, int64_t n, int self, int team) {
    float *work = s->work + self * s->work_floats, *row = work + s->work_floats - 2 * s->columns;
    float *x = s->x_sums != NULL ? s->x_sums + self * s->q.points : NULL;
    float *y = s->x_sums != NULL ? s->y_sums + self * s->q.points : NULL;
    int64_t from, to;
    if (s->by_rows) {
        some_rows(s, n, row);
        return;
    }
    fill_points(s, n, row);
    if (x != NULL) {
        memset(x, 0, (size_t)s->q.points * sizeof *x);
        memset(y, 0, (size_t)s->q.points * sizeof *y);
    }
    if (!s->alone) {
#pragma omp barrier
    }
    share(s, s->channels, s->lanes, &from, &to);
    for (int64_t c = from; c < to; c += s->lanes) {
        s->lanes > 1 ? some_planes(s, n, c, work, x, y) : one_plane(s, n, c, work, x, y);
    }
    if (!s->alone) {
#pragma omp barrier
    }
    if (x != NULL) {
        write_grid_gradient(s, n, team, row);
    }
}

/* Numbers of a table: one more than the points have taps. */
static int64_t entries_of(const quick_state *s) {
    return s->q.taps * s->q.points + 1;
}

/* Thread `self` with tables and room of its own. */
static quick_state alone(const quick_state *s, int self) {
    quick_state own = *s;
    int64_t entries = entries_of(s), points = self * s->q.points;
    own.alone = true;
    own.q.offset += self * entries;
    own.q.weight += self * entries * (s->grad != NULL ? 3 : 1);
    own.work += self * s->work_floats;
    if (s->grad != NULL) {
        own.q.row_slope = own.q.weight + entries;
        own.q.column_slope = own.q.weight + 2 * entries;
        own.x_sums += points;
        own.y_sums += points;
    }
    return own;
}

static void run_images(const quick_state *s) {
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->threads)
    {
        parallel_enter(watch);
        quick_state own = alone(s, omp_get_thread_num());
        int64_t from, to;
        parallel_share(s->x->sizes[0], 1, &from, &to);
        for (int64_t n = from; n < to; n++) {
            one_image(&own, n, 0, 1);
        }
        parallel_leave(watch);
    }
}

static status run(kernel_plan *plan) {
    const quick_state *s = plan->state;
    if (s->by_image) {
        run_images(s);
        return ASSAY_OK;
    }
    for (int64_t n = 0; n < s->x->sizes[0]; n++) {
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
        {
            parallel_enter(watch);
            one_image(s, n, omp_get_thread_num(), omp_get_num_threads());
            parallel_leave(watch);
        }
    }
    return ASSAY_OK;
}

static status make_tables(kernel_plan *plan, quick_state *s, error *err) {
    size_t entries = (size_t)entries_of(s), sets = s->by_image ? (size_t)s->threads : 1;
    bool is_backward = s->grad != NULL;
    float *numbers = arena_make(plan->memory, sets * entries * (is_backward ? 3 : 1), sizeof *numbers);
    s->q.offset = arena_make(plan->memory, sets * entries, sizeof *s->q.offset);
    int64_t longest = s->area > s->q.points ? s->area : s->q.points; /* halves are turned round as f32 */
    int64_t floats = (2 * (s->area + s->q.points + GRID_TAPS) + longest) * s->lanes + 2 * s->columns;
    s->work_floats = (int64_t)(parallel_room((size_t)floats * sizeof *s->work) / sizeof *s->work);
    s->work = arena_make(plan->memory, (size_t)s->threads, (size_t)s->work_floats * sizeof *s->work);
    float *sums = is_backward ? arena_make(plan->memory, 2 * (size_t)s->threads, (size_t)s->q.points * sizeof *sums + 1) : NULL;
    if (numbers == NULL || s->q.offset == NULL || s->work == NULL || (is_backward && sums == NULL)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    for (size_t i = 0; s->q.taps == 1 && i < sets * entries; i++) { /* the points' loop writes no weights where there is nothing to weigh */
        numbers[i / entries * entries * (is_backward ? 3 : 1) + i % entries] = 1;
    }
    s->q.weight = numbers;
    s->q.row_slope = is_backward ? numbers + entries : NULL;
    s->q.column_slope = is_backward ? numbers + 2 * entries : NULL;
    s->x_sums = sums;
    s->y_sums = is_backward ? sums + s->threads * s->q.points : NULL;
    return ASSAY_OK;
}

status grid_quick_prepare(kernel_plan *plan, const tensor *x, const tensor *grid, const tensor *grad, const grid_axis *axes,
                          error *err) {
    grid_quick_axis quick[2];
    for (int d = 0; d < 2; d++) {
        float half = (float)(axes[d].align_corners ? axes[d].size - 1 : axes[d].size) / 2;
        quick[d] = (grid_quick_axis){.half = half, .shift = axes[d].align_corners ? 0 : 0.5F, .per_unit = half,
                                     .size = (int32_t)axes[d].size, .border = axes[d].padding == GRID_BORDER};
    }
    if (grid_few_fits(x, grid, grad, plan->out, axes)) {
        return grid_few_prepare(plan, x, grid, grad, quick, axes[0].interpolation == GRID_NEAREST, err);
    }
    quick_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    outputs *out = plan->out;
    bool is_half = x->dtype != ASSAY_F32;
    *s = (quick_state){.loops = resample_loops_pick(), .x = x, .grid = grid, .grad = grad,
                       .out = out->items[0].ndim == 4 ? &out->items[0] : NULL,
                       .grid_out = grad != NULL ? &out->items[1] : NULL,
                       .to = is_half ? convert_loops_best()->to_f32[x->dtype] : NULL,
                       .from = is_half ? convert_loops_best()->from_f32[x->dtype] : NULL,
                       .size = (int64_t)dtype_size(x->dtype), .area = x->sizes[2] * x->sizes[3], .channels = x->sizes[1],
                       .rows = grid->sizes[1], .columns = grid->sizes[2]};
    memcpy(s->axes, quick, sizeof s->axes);
    s->q.taps = axes[0].interpolation == GRID_NEAREST ? 1 : GRID_TAPS;
    s->q.points = s->rows * s->columns;
    s->lanes = s->q.taps == GRID_TAPS && s->channels >= GRID_LANES ? GRID_LANES : 1;
    s->threads = parallel_threads((double)s->q.points * (double)s->channels * s->q.taps * 8);
    s->by_rows = grad == NULL && s->lanes == 1 && !is_half && s->rows >= s->threads;
    bool is_split = s->by_rows ? s->x->sizes[0] % s->threads != 0 : (s->channels + s->lanes - 1) / s->lanes >= s->threads;
    s->by_image = s->threads > 1 && s->x->sizes[0] > 1 && !is_split;
    plan->state = s;
    plan->run = run;
    return make_tables(plan, s, err);
}
