/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, products, and columns added back. K: the taps of all wide channels of a group, P: windows of one tile. */
#include "engine/kernels/cpu/conv_own.h"

#include "engine/kernels/cpu/isa/gemm_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

/* A tile of columns stays in L2 beside the packed blocks. */
enum { COLUMN_BYTES = 512 * 1024, LEAST_WINDOWS = 16 };

struct conv_own {
    onednn_conv spec;
    conv_shape shape;
    gemm_block_fn *multiply;
    size_t size; /* of an element */
    int n_threads;
    int64_t taps, k, run, p; /* run: windows that lie in a row in the narrow side; p: windows of a tile */
    bool is_plain;           /* a window is one position, the same on both sides: no columns are needed */
    char *weight;            /* [narrow channel][wide channel of the group][tap] */
    char *work;              /* per thread: gemm's, then a tile of columns */
    size_t work_bytes;
};

/* Whether a run of windows is one of positions of the wide side too, each of one tap. */
static bool are_positions(const conv_own *c) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = c->spec.wide + 2;
    bool are = c->taps == 1;
    for (int d = 0; d < 3; d++) {
        are = are && s->stride[d] == 1 && s->pad[d] == 0 && s->wide[d] == s->narrow[d];
    }
    bool joined = (s->wide[1] == 1 || steps[1] == steps[2] * s->wide[2]) &&
                  (s->wide[0] == 1 || steps[0] == steps[2] * s->wide[2] * s->wide[1]);
    return are && (joined || c->run == s->narrow[2]);
}

status conv_own_prepare(const onednn_conv *spec, arena *memory, conv_own **out, error *err) {
    conv_own *c = arena_make(memory, 1, sizeof *c);
    if (c == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    c->spec = *spec;
    c->shape = *spec->shape;
    c->spec.shape = &c->shape;
    c->multiply = gemm_loops_pick(spec->dtype);
    c->size = dtype_size(spec->dtype);
    const conv_shape *s = &c->shape;
    c->taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    c->k = s->wide_channels / s->groups * c->taps;
    const int64_t *steps = spec->narrow + 2;
    bool joined = (s->narrow[1] == 1 || steps[1] == steps[2] * s->narrow[2]) &&
                  (s->narrow[0] == 1 || steps[0] == steps[2] * s->narrow[2] * s->narrow[1]);
    c->run = joined ? s->narrow[0] * s->narrow[1] * s->narrow[2] : s->narrow[2];
    int64_t fitting = c->k > 0 ? COLUMN_BYTES / (c->k * (int64_t)c->size) : c->run;
    fitting = fitting < LEAST_WINDOWS ? LEAST_WINDOWS : fitting;
    c->p = fitting < c->run ? fitting : c->run;
    c->is_plain = are_positions(c);
    c->n_threads = omp_get_max_threads();
    c->work_bytes = GEMM_WORK_BYTES + ((size_t)(c->k * c->p) * c->size + 63) / 64 * 64;
    c->weight = arena_make(memory, (size_t)(s->narrow_channels * c->k) + 1, c->size);
    c->work = arena_make(memory, (size_t)c->n_threads, c->work_bytes);
    if (c->weight == NULL || c->work == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    *out = c;
    return ASSAY_OK;
}

/* Window number w to its position. */
static void position_of(const conv_shape *s, int64_t w, int64_t *o) {
    o[2] = w % s->narrow[2];
    o[1] = w / s->narrow[2] % s->narrow[1];
    o[0] = w / s->narrow[2] / s->narrow[1];
}

static void add_elements(dtype t, char *to, int64_t to_step, const char *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (t == ASSAY_F64) {
            ((double *)to)[i * to_step] += ((const double *)from)[i];
        } else if (t == ASSAY_F32) {
            ((float *)to)[i * to_step] += ((const float *)from)[i];
        } else if (t == ASSAY_I32) {
            ((uint32_t *)to)[i * to_step] += ((const uint32_t *)from)[i];
        } else {
            ((uint64_t *)to)[i * to_step] += ((const uint64_t *)from)[i];
        }
    }
}

static void copy_elements(size_t size, char *to, const char *from, int64_t from_step, int64_t n) {
    if (from_step == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (size == 4) {
            ((uint32_t *)to)[i] = ((const uint32_t *)from)[i * from_step];
        } else {
            ((uint64_t *)to)[i] = ((const uint64_t *)from)[i * from_step];
        }
    }
}

/* Windows [first, first + n) that lie in one row of the last dimension: tap k of channel plane `wide`, to or from row. */
static void move_row(const conv_own *c, char *wide, const int64_t *tap, int64_t first, int64_t n, char *row, bool back) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = c->spec.wide + 2;
    int64_t o[3], base = 0;
    position_of(s, first, o);
    bool inside = true;
    for (int d = 0; d < 2; d++) {
        int64_t i = o[d] * s->stride[d] - s->pad[d] + tap[d] * s->dilation[d];
        inside = inside && i >= 0 && i < s->wide[d];
        base += i * steps[d];
    }
    /* The windows whose tap falls inside: a + j * stride in [0, wide). */
    int64_t a = o[2] * s->stride[2] - s->pad[2] + tap[2] * s->dilation[2];
    int64_t from = a >= 0 ? 0 : (-a + s->stride[2] - 1) / s->stride[2];
    int64_t to = a >= s->wide[2] ? 0 : (s->wide[2] - 1 - a) / s->stride[2] + 1;
    to = to < n ? to : n;
    from = from < to ? from : to;
    if (!inside) {
        from = to = 0;
    }
    char *at = wide + (base + (a + from * s->stride[2]) * steps[2]) * (int64_t)c->size;
    if (back) {
        add_elements(c->spec.dtype, at, s->stride[2] * steps[2], row + from * (int64_t)c->size, to - from);
        return;
    }
    memset(row, 0, (size_t)from * c->size);
    copy_elements(c->size, row + from * (int64_t)c->size, at, s->stride[2] * steps[2], to - from);
    memset(row + to * (int64_t)c->size, 0, (size_t)(n - to) * c->size);
}

/* columns [k][n] of windows [first, first + n): filled from the group's planes, or added back to them. */
static void move_columns(const conv_own *c, char *wide, int64_t first, int64_t n, char *columns, bool back) {
    const conv_shape *s = &c->shape;
    for (int64_t k = 0; k < c->k; k++) {
        int64_t t = k % c->taps;
        int64_t tap[3] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
        char *plane = wide + k / c->taps * c->spec.wide[1] * (int64_t)c->size;
        for (int64_t done = 0; done < n;) {
            int64_t left = s->narrow[2] - (first + done) % s->narrow[2];
            int64_t part = left < n - done ? left : n - done;
            move_row(c, plane, tap, first + done, part, columns + (k * n + done) * (int64_t)c->size, back);
            done += part;
        }
    }
}

/* One tile of one image and group. */
typedef struct tile {
    char *narrow, *wide, *weight; /* of the image and group, the first window, the group's first narrow channel */
    int64_t first, n;
    int64_t rows; /* narrow channels */
} tile;

/* The product, or the same turned round where that writes rows of numbers beside each other: channels last. */
static void multiply(const conv_own *c, const gemm_block *g, void *work) {
    const gemm_block turned = {.m = g->n, .n = g->m, .k = g->k, .a = g->b, .b = g->a, .c = g->c, .a_row = g->b_column, .a_column = g->b_row,
                               .b_row = g->a_column, .b_column = g->a_row, .c_row = g->c_column, .c_column = g->c_row, .alpha = g->alpha,
                               .alpha_int = g->alpha_int, .accumulate = g->accumulate};
    c->multiply(g->c_column != 1 && g->c_row == 1 ? &turned : g, work);
}

/* One tile of windows that are positions: the wide side is multiplied, or made, where it lies. */
static void run_positions(const conv_own *c, const tile *t, bool accumulate) {
    const int64_t *steps = c->spec.wide + 2, channel = c->spec.wide[1], along = steps[2], row = c->spec.narrow[1], column = c->spec.narrow[4];
    int64_t o[3];
    position_of(&c->shape, t->first, o);
    char *wide = t->wide + (o[0] * steps[0] + o[1] * steps[1] + o[2] * steps[2]) * (int64_t)c->size;
    gemm_block g = {.alpha = 1, .alpha_int = 1};
    if (c->spec.direction == ONEDNN_TO_NARROW) {
        g.m = t->rows, g.n = t->n, g.k = c->k;
        g.a = t->weight, g.a_row = c->k, g.a_column = 1;
        g.b = wide, g.b_row = channel, g.b_column = along;
        g.c = t->narrow, g.c_row = row, g.c_column = column;
    } else if (c->spec.direction == ONEDNN_TO_WIDE) {
        g.m = c->k, g.n = t->n, g.k = t->rows;
        g.a = t->weight, g.a_row = 1, g.a_column = c->k;
        g.b = t->narrow, g.b_row = row, g.b_column = column;
        g.c = wide, g.c_row = channel, g.c_column = along;
    } else {
        g.m = t->rows, g.n = c->k, g.k = t->n, g.accumulate = accumulate;
        g.a = t->narrow, g.a_row = row, g.a_column = column;
        g.b = wide, g.b_row = along, g.b_column = channel;
        g.c = t->weight, g.c_row = c->k, g.c_column = 1;
    }
    multiply(c, &g, c->work + (size_t)omp_get_thread_num() * c->work_bytes);
}

static void run_tile(const conv_own *c, const tile *t, bool accumulate) {
    if (c->is_plain) {
        run_positions(c, t, accumulate);
        return;
    }
    char *work = c->work + (size_t)omp_get_thread_num() * c->work_bytes, *columns = work + GEMM_WORK_BYTES;
    const int64_t row = c->spec.narrow[1], column = c->spec.narrow[4];
    gemm_block g = {.alpha = 1, .alpha_int = 1};
    if (c->spec.direction == ONEDNN_TO_NARROW) {
        move_columns(c, t->wide, t->first, t->n, columns, false);
        g.m = t->rows, g.n = t->n, g.k = c->k;
        g.a = t->weight, g.a_row = c->k, g.a_column = 1;
        g.b = columns, g.b_row = t->n, g.b_column = 1;
        g.c = t->narrow, g.c_row = row, g.c_column = column;
        multiply(c, &g, work);
    } else if (c->spec.direction == ONEDNN_TO_WIDE) {
        g.m = c->k, g.n = t->n, g.k = t->rows;
        g.a = t->weight, g.a_row = 1, g.a_column = c->k;
        g.b = t->narrow, g.b_row = row, g.b_column = column;
        g.c = columns, g.c_row = t->n, g.c_column = 1;
        multiply(c, &g, work);
        move_columns(c, t->wide, t->first, t->n, columns, true);
    } else {
        move_columns(c, t->wide, t->first, t->n, columns, false);
        g.m = t->rows, g.n = c->k, g.k = t->n, g.accumulate = accumulate;
        g.a = t->narrow, g.a_row = row, g.a_column = column;
        g.b = columns, g.b_row = 1, g.b_column = t->n;
        g.c = t->weight, g.c_row = c->k, g.c_column = 1;
        multiply(c, &g, work);
    }
}

/* All tiles of one image and group; rows: narrow channels [row_from, row_to) of the group. */
static void run_image(const conv_own *c, const onednn_data *data, int64_t n, int64_t group, int64_t row_from, int64_t row_to,
                      bool accumulate) {
    const conv_shape *s = &c->shape;
    int64_t size = (int64_t)c->size, channel = group * (s->narrow_channels / s->groups) + row_from;
    int64_t all = s->narrow[0] * s->narrow[1] * s->narrow[2];
    char *narrow = (char *)data->at[0] + (n * c->spec.narrow[0] + channel * c->spec.narrow[1]) * size;
    tile t = {.rows = row_to - row_from, .weight = c->weight + channel * c->k * size};
    t.wide = (char *)data->at[1] +
             (n * c->spec.wide[0] + group * (s->wide_channels / s->groups) * c->spec.wide[1]) * size;
    for (int64_t start = 0; start < all; start += c->run) {
        int64_t o[3];
        position_of(s, start, o);
        int64_t base = o[0] * c->spec.narrow[2] + o[1] * c->spec.narrow[3] + o[2] * c->spec.narrow[4];
        for (int64_t p = 0; p < c->run; p += c->p) {
            t.first = start + p;
            t.n = c->run - p < c->p ? c->run - p : c->p;
            t.narrow = narrow + (base + p * c->spec.narrow[4]) * size;
            run_tile(c, &t, accumulate || start + p > 0);
        }
    }
}

/* The weight to [narrow channel][k], or from it. */
static void move_weight(const conv_own *c, char *weight, bool back) {
    const conv_shape *s = &c->shape;
    for (int64_t i = 0; i < s->narrow_channels * c->k; i++) {
        int64_t k = i % c->k, t = k % c->taps;
        int64_t at = i / c->k * c->spec.weight[0] + k / c->taps * c->spec.weight[1] +
                     t / s->kernel[2] / s->kernel[1] * c->spec.weight[2] +
                     t / s->kernel[2] % s->kernel[1] * c->spec.weight[3] + t % s->kernel[2] * c->spec.weight[4];
        char *outer = weight + at * (int64_t)c->size, *inner = c->weight + i * (int64_t)c->size;
        memcpy(back ? outer : inner, back ? inner : outer, c->size);
    }
}

/* The wide side starts from 0, through its strides. */
static void clear_wide(const conv_own *c, char *wide) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = c->spec.wide;
    int64_t rows = s->batch * s->wide_channels * s->wide[0] * s->wide[1];
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->n_threads)
    {
        parallel_enter(watch);
#pragma omp for schedule(static) nowait
        for (int64_t r = 0; r < rows; r++) {
            int64_t h = r % s->wide[1], d = r / s->wide[1] % s->wide[0], plane = r / s->wide[1] / s->wide[0];
            int64_t at = plane / s->wide_channels * steps[0] + plane % s->wide_channels * steps[1] + d * steps[2] + h * steps[3];
            for (int64_t w = 0; w < s->wide[2]; w++) {
                memset(wide + (at + w * steps[4]) * (int64_t)c->size, 0, c->size);
            }
        }
        parallel_leave(watch);
    }
}

void conv_own_run(conv_own *c, const onednn_data *data) {
    const conv_shape *s = &c->shape;
    int64_t rows = s->narrow_channels / s->groups;
    if (c->spec.direction == ONEDNN_TO_WEIGHT) {
        memset(c->weight, 0, (size_t)(s->narrow_channels * c->k) * c->size);
        /* Threads share the narrow channels of a group, so that no two add to one weight. */
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->n_threads)
        {
            int64_t from, to;
            parallel_enter(watch);
            parallel_share(rows, 1, &from, &to);
            for (int64_t i = 0; i < s->groups * s->batch && from < to; i++) {
                run_image(c, data, i % s->batch, i / s->batch, from, to, true);
            }
            parallel_leave(watch);
        }
        move_weight(c, data->at[2], true);
        return;
    }
    move_weight(c, data->at[2], false);
    if (c->spec.direction == ONEDNN_TO_WIDE) {
        clear_wide(c, data->at[1]);
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->n_threads)
    {
        parallel_enter(watch);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < s->batch * s->groups; i++) {
            run_image(c, data, i / s->groups, i % s->groups, 0, rows, false);
        }
        parallel_leave(watch);
    }
}
