/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread sums up some images: some hundred positions at a time, in f32 within a part of a large image or some small ones, from
   there on in double. A block of positions of both sides is turned round, so that channels lie side by side as conv_loops.h multiplies
   them; the side of fewer channels takes the place of the weight. Small images share a block: sums are read and written once for
   each. */
#include "engine/kernels/cpu/conv_outer.h"

#include "engine/kernels/cpu/conv_layout.h"
#include "engine/kernels/cpu/isa/conv_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

enum { DEPTH = 256, TILES = 5, LINE = 16 };
/* Sums are in f32 up to so many positions: larger weights than caches hold would else be read and written more in double than
   multiplied. A multiple of DEPTH. */
enum { FLOAT_POSITIONS = 2048 };
/* Of all threads' own weights together. */
#define MOST_BYTES (256.0 * 1024 * 1024)

struct conv_outer {
    const conv_loops *l;
    onednn_conv spec;
    conv_shape shape;
    int rows_side; /* 0: the narrow one's channels are rows, 1: the wide one's */
    int64_t positions, rows, columns, rows_padded, columns_padded; /* of a group */
    int64_t together, in_float; /* images of a block; images until totals are added to, a multiple of those */
    int threads, team;
    int64_t sum_elements; /* of a thread's, all groups */
    float *sums;
    double *totals;
    float *left, *right; /* a thread's blocks, turned round */
};

static int64_t padded(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

bool conv_outer_takes(const onednn_conv *spec) {
    enum { LEAST_IMAGES = 4, LEAST_CHANNELS = 8 }; /* of a thread; of a side */
    const conv_shape *s = spec->shape;
    bool plain = spec->dtype == ASSAY_F32 && spec->direction == ONEDNN_TO_WEIGHT && !spec->bias && conv_is_plain(s);
    int64_t narrow = s->narrow_channels / s->groups, wide = s->wide_channels / s->groups;
    double weight_bytes = (double)s->narrow_channels * (double)wide * (sizeof(float) + sizeof(double));
    return plain && conv_is_joined(spec->narrow, s->narrow) && conv_is_joined(spec->wide, s->wide) && narrow >= LEAST_CHANNELS &&
           wide >= LEAST_CHANNELS && s->batch >= (int64_t)LEAST_IMAGES * omp_get_max_threads() &&
           weight_bytes * omp_get_max_threads() <= MOST_BYTES;
}

status conv_outer_prepare(const onednn_conv *spec, arena *memory, conv_outer **out, error *err) {
    conv_outer *c = arena_make(memory, 1, sizeof *c);
    if (c == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    c->l = conv_loops_best();
    c->spec = *spec;
    c->shape = *spec->shape;
    c->spec.shape = &c->shape;
    const conv_shape *s = &c->shape;
    int64_t narrow = s->narrow_channels / s->groups, wide = s->wide_channels / s->groups;
    c->rows_side = narrow <= wide ? 0 : 1;
    c->rows = c->rows_side == 0 ? narrow : wide;
    c->columns = c->rows_side == 0 ? wide : narrow;
    c->rows_padded = padded(c->rows, c->l->rows);
    c->columns_padded = padded(c->columns, c->l->columns);
    c->positions = s->narrow[0] * s->narrow[1] * s->narrow[2];
    c->together = c->positions < DEPTH ? DEPTH / c->positions : 1;
    c->in_float = c->together * (c->positions * c->together < FLOAT_POSITIONS ? FLOAT_POSITIONS / (c->positions * c->together) : 1);
    double flops = 2.0 * (double)(s->batch * c->positions) * (double)(narrow * s->wide_channels);
    c->threads = parallel_threads(flops / 4); /* several multiplications take the time of a byte's traffic */
    c->sum_elements = s->groups * c->rows_padded * c->columns_padded;
    size_t threads = (size_t)c->threads;
    c->sums = arena_make(memory, threads, (size_t)c->sum_elements * sizeof *c->sums);
    c->totals = arena_make(memory, threads, (size_t)c->sum_elements * sizeof *c->totals);
    c->left = arena_make(memory, threads, (size_t)(DEPTH * c->rows_padded) * sizeof *c->left);
    c->right = arena_make(memory, threads, (size_t)(DEPTH * TILES * c->l->columns) * sizeof *c->right);
    if (c->sums == NULL || c->totals == NULL || c->left == NULL || c->right == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    *out = c;
    return ASSAY_OK;
}

/* A block: `depth` positions of each of some images of one side, its channels `step` apart. */
typedef struct outer_block {
    const float *from; /* the group's first channel */
    int64_t step, image;
    int64_t images, depth;
} outer_block;

/* All rows' channels, a block of rows behind the other. Rows that fill the last block up stay 0. */
static void turn_left(const conv_outer *c, const outer_block *b, float *to) {
    int64_t width = c->l->rows;
    for (int64_t row = 0; row < c->rows; row += width) {
        int64_t rows = least(width, c->rows - row);
        for (int64_t image = 0; image < b->images; image++) {
            const float *from = b->from + image * b->image + row * b->step;
            float *block = to + (row * b->images + image * width) * b->depth;
            for (int64_t d = 0; d < b->depth; d++) {
                for (int64_t i = 0; i < width; i++) {
                    block[d * width + i] = i < rows ? from[i * b->step + d] : 0;
                }
            }
        }
    }
}

static void turn_columns(const conv_outer *c, const outer_block *b, int64_t column, float *to) {
    int64_t width = c->l->columns;
    for (int64_t image = 0; image < b->images; image++) {
        copy_loops_best()->transpose((char *)(to + image * b->depth * width),
                                     (const char *)(b->from + image * b->image + column * b->step), 2,
                                     least(width, c->columns - column), b->depth, width * (int64_t)sizeof *to,
                                     b->step * (int64_t)sizeof *to);
    }
}

/* A block of one group is added to the group's sums. soon: the next block of the right side. */
static void add_block(const conv_outer *c, const outer_block *left, const outer_block *right, const float *soon, bool accumulate,
                      float *sums) {
    int thread = omp_get_thread_num();
    int64_t width = c->l->columns;
    float *rows = c->left + thread * DEPTH * c->rows_padded, *columns = c->right + thread * DEPTH * TILES * width;
    turn_left(c, left, rows);
    for (int64_t column = 0; column < c->columns;) {
        conv_run runs[TILES];
        conv_tile tiles[TILES];
        conv_product p = {.rows = c->rows_padded,
                          .depth = left->images * left->depth,
                          .weight = rows,
                          .tiles = tiles,
                          .out_step = c->columns_padded,
                          .accumulate = accumulate,
                          .soon = soon + column * right->step,
                          .soon_step = right->step,
                          .soon_lines = right->depth / LINE + 1,
                          .soon_depth = least(TILES * width, c->columns - column)};
        for (; p.n_tiles < TILES && column < c->columns; p.n_tiles++, column += width) {
            float *to = columns + p.n_tiles * DEPTH * width;
            turn_columns(c, right, column, to);
            runs[p.n_tiles] = (conv_run){sums + column, 0, width};
            tiles[p.n_tiles] = (conv_tile){.columns = to, .runs = &runs[p.n_tiles], .n_runs = 1};
        }
        c->l->multiply(&p);
    }
}

static void add_to_totals(const conv_outer *c, int64_t from, int64_t n) {
    const float *sums = c->sums + omp_get_thread_num() * c->sum_elements + from;
    double *totals = c->totals + omp_get_thread_num() * c->sum_elements + from;
    for (int64_t i = 0; i < n; i++) {
        totals[i] += (double)sums[i];
    }
}

/* Images of one block, to the sums or anew. What a large image sums up goes to the totals now and then, but for the last of it. */
static void add_images(const conv_outer *c, const onednn_data *data, int64_t image, int64_t images, bool accumulate) {
    int side = c->rows_side;
    const int64_t *left = side == 0 ? c->spec.narrow : c->spec.wide, *right = side == 0 ? c->spec.wide : c->spec.narrow;
    const float *a = (const float *)data->at[side] + image * left[0];
    const float *b = (const float *)data->at[1 - side] + image * right[0];
    float *sums = c->sums + omp_get_thread_num() * c->sum_elements;
    int64_t group_sums = c->rows_padded * c->columns_padded;
    for (int64_t g = 0; g < c->shape.groups; g++) {
        for (int64_t at = 0; at < c->positions; at += DEPTH) {
            bool anew = at % FLOAT_POSITIONS == 0 && (at > 0 || !accumulate);
            if (anew && at > 0) {
                add_to_totals(c, g * group_sums, group_sums);
            }
            int64_t depth = least(DEPTH, c->positions - at);
            outer_block l = {a + g * c->rows * left[1] + at, left[1], left[0], images, depth};
            outer_block r = {b + g * c->columns * right[1] + at, right[1], right[0], images, depth};
            const float *soon = at + DEPTH < c->positions ? r.from + DEPTH : r.from - at + images * right[0];
            add_block(c, &l, &r, soon, !anew, sums + g * group_sums);
        }
    }
}

/* Images [from, to). */
static void add_share(const conv_outer *c, const onednn_data *data, int64_t from, int64_t to) {
    memset(c->totals + omp_get_thread_num() * c->sum_elements, 0, (size_t)c->sum_elements * sizeof *c->totals);
    for (int64_t first = from; first < to; first += c->in_float) {
        int64_t last = least(first + c->in_float, to);
        for (int64_t i = first; i < last; i += c->together) {
            add_images(c, data, i, least(c->together, last - i), i > first);
        }
        add_to_totals(c, 0, c->sum_elements);
    }
}

/* One row's sums of all threads to where its weights belong. */
static void store_row(const conv_outer *c, float *weight, int64_t group, int64_t row) {
    const int64_t *steps = c->spec.weight;
    int64_t narrow = c->shape.narrow_channels / c->shape.groups;
    int64_t step = c->rows_side == 0 ? steps[1] : steps[0];
    float *to = weight + group * narrow * steps[0] + row * (c->rows_side == 0 ? steps[0] : steps[1]);
    const double *from = c->totals + (group * c->rows_padded + row) * c->columns_padded;
    for (int64_t i = 0; i < c->columns; i++) {
        double sum = 0;
        for (int t = 0; t < c->team; t++) {
            sum += from[t * c->sum_elements + i];
        }
        to[i * step] = (float)sum;
    }
}

void conv_outer_run(conv_outer *c, const onednn_data *data) {
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->threads) if (c->threads > 1)
    {
        parallel_enter(watch);
        int64_t from, to;
#pragma omp single
        c->team = omp_get_num_threads();
        parallel_share(c->shape.batch, 1, &from, &to);
        add_share(c, data, from, to);
#pragma omp barrier
#pragma omp for schedule(static) nowait
        for (int64_t r = 0; r < c->shape.groups * c->rows; r++) {
            store_row(c, data->at[2], r / c->rows, r % c->rows);
        }
        parallel_leave(watch);
    }
}
