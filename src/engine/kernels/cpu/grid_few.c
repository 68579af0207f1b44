/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sampler_2d of few planes, and the gradient of its grid alone: nothing is added to from two places, so each thread takes
   points of its own, a stretch at a time, through all planes of their image. These are turned round first, which takes a tenth of
   the time of as many points: by the thread whose image it is, or where images cannot be shared out evenly, by each of a few
   threads for itself, by many together. What another core has written comes from it line by line: on two Zen 4 cores far from each
   other an image of [3, 96, 96] took 60 us turned round together, 12 on one thread (2026-11). */
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/resample.h"

#include <string.h>

typedef struct few_state {
    const resample_loops *loops;
    grid_few image;         /* planes turned round: of none yet */
    const tensor *x, *grid, *grad;
    tensor *out;            /* the samples or the grid's gradient */
    convert_fn *to, *from;  /* halves to f32 and back; NULL for f32 */
    int64_t size, points;
    int64_t length, stretches; /* points of a stretch, the last one's may be fewer; stretches of an image */
    int64_t grid_step;      /* elements of the grid from a stretch to the next */
    int threads;
    bool by_points;         /* an image's points are shared out, not images */
    float *team_image;      /* turned round by all threads then; NULL: by each for itself */
    float *work;            /* per thread: a stretch's coordinates and their gradients, samples or gradients of planes, rows of
                               halves as f32, and an image of its own unless there is the team's */
    int64_t work_floats, row_at, image_at; /* where rows and the image begin in it */
    int64_t image_floats;   /* of GRID_FEW planes */
} few_state;

bool grid_few_fits(const tensor *x, const tensor *grid, const tensor *grad, const outputs *out, const grid_axis *axes) {
    bool is_linear = axes[0].interpolation == GRID_LINEAR;
    /* A gradient of the input is added up by planes. */
    bool is_read_only = grad == NULL || (is_linear && out->items[0].ndim != 4);
    bool is_worth_turning = grid->sizes[1] * grid->sizes[2] >= axes[0].size * axes[1].size / 2;
    /* One plane by its nearest elements is quicker as it lies: 70 us, not 79 (four of [128, 128], one thread of a Zen 4, 2026-11). */
    return is_read_only && is_worth_turning && x->sizes[1] > (is_linear ? 0 : 1) && x->sizes[1] < GRID_LANES;
}

/* Samples of a stretch of m points from `first` of image n on. */
static void sample(const few_state *s, const grid_few *image, const float *xy, int64_t n, int64_t first, int64_t m, float *made) {
    int64_t step = s->out->strides[1];
    char *to = tensor_data(s->out) + (n * s->out->strides[0] + first) * s->size;
    if (s->from == NULL) {
        s->loops->grid_few(image, xy, (float *)(void *)to, step, m);
        return;
    }
    s->loops->grid_few(image, xy, made, s->length, m);
    for (int64_t c = 0; c < image->channels; c++) {
        s->from(to + c * step * s->size, made + c * s->length, m);
    }
}

/* Gradients of their coordinates. */
static void differentiate(const few_state *s, const grid_few *image, const float *xy, int64_t n, int64_t first, int64_t m,
                          float *grads, float *made) {
    const char *at = tensor_data(s->grad) + (n * s->grad->strides[0] + first) * s->size;
    char *to = tensor_data(s->out) + 2 * (n * s->points + first) * s->size;
    int64_t step = s->grad->strides[1];
    if (s->from == NULL) {
        s->loops->grid_few_back(image, xy, (const float *)(const void *)at, step, (float *)(void *)to, m);
        return;
    }
    for (int64_t c = 0; c < image->channels; c++) {
        s->to(grads + c * s->length, at + c * step * s->size, m);
    }
    s->loops->grid_few_back(image, xy, grads, s->length, made, m);
    s->from(to, made, 2 * m);
}

/* Stretches [from, to) of image n, which lies turned round at `turned`. */
static void some_stretches(const few_state *s, int64_t n, int64_t from, int64_t to, const float *turned, float *work) {
    grid_few image = s->image;
    float *made = work + 2 * s->length, *planes_made = made + 2 * s->length;
    image.image = turned;
    for (int64_t i = from; i < to; i++) {
        int64_t first = i * s->length, m = s->points - first < s->length ? s->points - first : s->length;
        const char *at = tensor_data(s->grid) + (n * s->grid->strides[0] + i * s->grid_step) * s->size;
        const float *xy = (const float *)(const void *)at;
        if (s->to != NULL) {
            s->to(work, at, 2 * m);
            xy = work;
        }
        s->grad != NULL ? differentiate(s, &image, xy, n, first, m, planes_made, made)
                        : sample(s, &image, xy, n, first, m, planes_made);
    }
}

/* Row y of image n, and what is left and right of it, into the planes from c on; row: room for GRID_FEW rows in f32. */
static void turn_row(const few_state *s, int64_t n, int64_t c, int64_t y, float *row, float *to) {
    int64_t columns = s->x->sizes[3], m = s->x->sizes[1] - c < GRID_FEW ? s->x->sizes[1] - c : GRID_FEW, step = s->x->strides[1];
    const char *at = tensor_data(s->x) + (n * s->x->strides[0] + c * step + y * columns) * s->size;
    const float *from = (const float *)(const void *)at;
    if (s->to != NULL) {
        for (int64_t k = 0; k < m; k++) {
            s->to(row + k * columns, at + k * step * s->size, columns);
        }
        from = row;
        step = columns;
    }
    memset(to, 0, GRID_BORDERS * GRID_FEW * sizeof *to);
    s->loops->grid_few_in(to + GRID_BORDERS * GRID_FEW, from, step, m, columns);
}

/* Rows [from, to) of image n with its borders. */
static void turn_rows(const few_state *s, int64_t n, int64_t from, int64_t to, float *work, float *image) {
    int64_t rows = s->x->sizes[2], width = (s->x->sizes[3] + GRID_BORDERS) * GRID_FEW;
    float *row = work + s->row_at;
    for (int64_t c = 0; c < s->x->sizes[1]; c += GRID_FEW, image += s->image_floats) {
        for (int64_t i = from; i < to; i++) {
            if (i >= GRID_BORDERS && i < rows + GRID_BORDERS) {
                turn_row(s, n, c, i - GRID_BORDERS, row, image + i * width);
            } else {
                memset(image + i * width, 0, (size_t)width * sizeof *image);
            }
        }
        if (to == rows + 2 * GRID_BORDERS) {
            memset(image + to * width, 0, GRID_BORDERS * GRID_FEW * sizeof *image);
        }
    }
}

static void images_by_points(const few_state *s, float *work) {
    int64_t from, to, rows = s->x->sizes[2] + 2 * GRID_BORDERS;
    for (int64_t n = 0; n < s->x->sizes[0]; n++) {
        if (s->team_image != NULL) {
            parallel_share(rows, 1, &from, &to);
            turn_rows(s, n, from, to, work, s->team_image);
#pragma omp barrier
        } else {
            turn_rows(s, n, 0, rows, work, work + s->image_at);
        }
        parallel_share(s->stretches, 1, &from, &to);
        some_stretches(s, n, from, to, s->team_image != NULL ? s->team_image : work + s->image_at, work);
        if (s->team_image != NULL) {
#pragma omp barrier
        }
    }
}

static void part(const void *context) {
    const few_state *s = context;
    float *work = s->work + omp_get_thread_num() * s->work_floats;
    int64_t from, to;
    if (s->by_points) {
        images_by_points(s, work);
        return;
    }
    float *image = work + s->image_at;
    parallel_share(s->x->sizes[0], 1, &from, &to);
    for (int64_t n = from; n < to; n++) {
        turn_rows(s, n, 0, s->x->sizes[2] + 2 * GRID_BORDERS, work, image);
        some_stretches(s, n, 0, s->stretches, image, work);
    }
}

static status run(kernel_plan *plan) {
    const few_state *s = plan->state;
    parallel_run(s->threads, part, s);
    return ASSAY_OK;
}

/* Stretches: rows of the grid, or where these lie one behind the other, as many points as a thread may well take at once. */
static void set_stretches(few_state *s) {
    enum { DENSE_LENGTH = 512 };
    const tensor *g = s->grid;
    int64_t columns = g->sizes[2];
    bool is_dense = g->strides[1] == 2 * columns;
    s->points = g->sizes[1] * columns;
    s->length = !is_dense ? columns : s->points < DENSE_LENGTH ? s->points : DENSE_LENGTH;
    s->grid_step = is_dense ? 2 * s->length : g->strides[1];
    s->stretches = s->length > 0 ? (s->points + s->length - 1) / s->length : 0;
}

static status make_room(few_state *s, arena *memory, error *err) {
    enum { FEW_THREADS = 4 };
    int64_t images = s->x->sizes[0], channels = s->x->sizes[1];
    int64_t image_floats = (channels + GRID_FEW - 1) / GRID_FEW * s->image_floats;
    s->by_points = s->threads > 1 && images % s->threads != 0 && images < 4 * s->threads;
    bool together = s->by_points && s->threads > FEW_THREADS;
    s->row_at = s->length * (4 + channels);
    s->image_at = (s->row_at + GRID_FEW * s->x->sizes[3] + 15) / 16 * 16; /* no pixel lies in two lines */
    int64_t floats = s->image_at + (together ? 0 : image_floats);
    s->work_floats = (int64_t)(parallel_room((size_t)floats * sizeof *s->work) / sizeof *s->work);
    s->work = arena_make(memory, (size_t)s->threads, (size_t)s->work_floats * sizeof *s->work);
    s->team_image = together ? arena_make(memory, (size_t)image_floats, sizeof *s->team_image) : NULL;
    if (s->work == NULL || (together && s->team_image == NULL)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    return ASSAY_OK;
}

status grid_few_prepare(kernel_plan *plan, const tensor *x, const tensor *grid, const tensor *grad,
                        const grid_quick_axis axes[2], bool is_nearest, error *err) {
    few_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for grid sampling");
    }
    bool is_half = x->dtype != ASSAY_F32;
    *s = (few_state){.loops = resample_loops_pick(), .x = x, .grid = grid, .grad = grad,
                     .out = &plan->out->items[grad != NULL ? 1 : 0],
                     .to = is_half ? convert_loops_best()->to_f32[x->dtype] : NULL,
                     .from = is_half ? convert_loops_best()->from_f32[x->dtype] : NULL,
                     .size = (int64_t)dtype_size(x->dtype), .image = {.axes = {axes[0], axes[1]}, .channels = x->sizes[1], .is_nearest = is_nearest},
                     .image_floats = grid_few_pixels(axes) * GRID_FEW};
    set_stretches(s);
    s->threads = parallel_threads((double)x->sizes[0] * (double)s->points * (double)(1 + x->sizes[1]) * 16);
    plan->state = s;
    plan->run = run;
    return make_room(s, plan->memory, err);
}
