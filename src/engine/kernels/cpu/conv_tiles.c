/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of all images in one long line, cut into tiles of columns, some side by side: short runs of memory far apart are slow
   to read. Their inputs are copied together a block of depths at a time, and multiplied by the weight while memory is asked
   for the next ones'. Long rows of windows of few channels are
   tiles by themselves: their inputs, copied once for all taps, are multiplied where the copy has them. */
#include "engine/kernels/cpu/conv_tiles.h"

#include "device/caches.h"
#include "engine/kernels/cpu/conv_layout.h"
#include "engine/kernels/cpu/conv_lines.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

/* DEPTH: terms of one running sum in f32, and with MOST_COLUMNS a tile's bytes, of which L2 holds TILES. LEAST_ROWS: fewer leave most of a
   tile in registers idle. FEW_CHANNELS: measured with 3 (images) and 1; at 8 oneDNN is ahead. */
enum { DEPTH = 256, MOST_COLUMNS = 64, TILES = 5, LEAST_ROWS = 8, FEW_CHANNELS = 4 };

/* Shorter rows of windows leave a part of their tiles empty: there oneDNN is ahead. The copy of their inputs stays in L2. */
enum { LEAST_LINE = 32, STRIP_BYTES = 64 * 1024, STRIPS_OF_THREAD = 2 };

/* The side that is read and the side that is written, strides in elements: batch, channel, three spatial. */
struct conv_tiles {
    const conv_loops *l;
    onednn_conv spec;
    conv_shape shape;
    bool to_wide;
    bool plain;        /* kernels of one element, one window on each: columns are what lies in memory */
    int64_t rows, k;   /* of a group: channels that are written, terms of a sum */
    int64_t positions; /* windows of an image */
    int64_t run;       /* windows that lie in a row on both sides */
    int64_t units;     /* of a group: tiles side by side, or strips */
    int threads;
    int64_t taps;
    int64_t *weight_at; /* [k] from a row's first weight */
    float *weight;      /* packed: [group][block of depths][block of rows][depth][row] */
    float *columns;     /* a thread's: [depth][column], or strips of all channels of a group */
    int64_t columns_elements;
    bool streams;       /* the result is too large for caches, and written once */
    bool in_lines;
    conv_lines lines;
    int64_t *place;     /* [k] in the strips */
    int64_t strip_elements;
};

static const int64_t *in_strides(const conv_tiles *c) {
    return c->to_wide ? c->spec.narrow : c->spec.wide;
}

static const int64_t *out_strides(const conv_tiles *c) {
    return c->to_wide ? c->spec.wide : c->spec.narrow;
}

static bool is_row_by_row(const int64_t *steps, const int64_t *sizes) {
    return steps[4] == 1 || sizes[2] == 1;
}

/* Few channels, and windows that conv_lines.h can copy for. */
static bool is_in_lines(const conv_shape *s) {
    bool is_flat = s->kernel[0] == 1 && s->narrow[0] == 1 && s->wide[0] == 1 && s->pad[0] == 0;
    return is_flat && s->kernel[1] * s->kernel[2] > 1 && s->narrow[2] >= LEAST_LINE &&
           s->wide_channels / s->groups <= FEW_CHANNELS;
}

bool conv_tiles_takes(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    bool one = s->kernel[0] * s->kernel[1] * s->kernel[2] == 1;
    int64_t narrow = s->narrow_channels / s->groups, wide = s->wide_channels / s->groups;
    if (spec->dtype != ASSAY_F32 || spec->direction == ONEDNN_TO_WEIGHT || !is_row_by_row(spec->narrow, s->narrow) ||
        !is_row_by_row(spec->wide, s->wide)) {
        return false;
    }
    if (spec->direction == ONEDNN_TO_WIDE) {
        return conv_is_plain(s) && wide >= LEAST_ROWS && conv_is_joined(spec->narrow, s->narrow) && conv_is_joined(spec->wide, s->wide);
    }
    return narrow >= LEAST_ROWS && (one || is_in_lines(s));
}

static int64_t padded_rows(const conv_tiles *c) {
    return (c->rows + c->l->rows - 1) / c->l->rows * c->l->rows;
}

static void set_weight_places(conv_tiles *c) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = c->spec.weight;
    for (int64_t k = 0; k < c->k; k++) {
        int64_t t = k % c->taps;
        int64_t at = t / s->kernel[2] / s->kernel[1] * steps[2] + t / s->kernel[2] % s->kernel[1] * steps[3] +
                     t % s->kernel[2] * steps[4];
        c->weight_at[k] = c->to_wide ? k * steps[0] : k / c->taps * steps[1] + at;
    }
}

/* Of an image, side by side. */
static int64_t strips_across(const conv_lines *p) {
    return (p->out[1] + p->columns_most - 1) / p->columns_most;
}

static void set_lines(conv_tiles *c) {
    const conv_shape *s = &c->shape;
    conv_lines *p = &c->lines;
    for (int d = 0; d < 2; d++) {
        p->kernel[d] = s->kernel[1 + d];
        p->dilation[d] = s->dilation[1 + d];
        p->size[d] = s->wide[1 + d];
        p->out[d] = s->narrow[1 + d];
        p->stride[d] = s->stride[1 + d];
        p->spread[d] = 1;
        p->pad[d] = s->pad[1 + d];
    }
    p->step = c->spec.wide[3];
    int64_t others = s->batch * s->groups;
    conv_lines_plan(p, STRIP_BYTES, (STRIPS_OF_THREAD * c->threads + others - 1) / others);
    c->strip_elements = conv_lines_elements(p, c->l);
    c->units = s->batch * strips_across(p) * ((p->out[0] + p->rows_most - 1) / p->rows_most);
}

static void set_places(conv_tiles *c) {
    for (int64_t k = 0; k < c->k; k++) {
        int64_t t = k % c->taps, width = c->shape.kernel[2];
        c->place[k] = c->in_lines ? k / c->taps * c->strip_elements + conv_lines_tap(&c->lines, t / width, t % width) : 0;
    }
}

status conv_tiles_prepare(const onednn_conv *spec, arena *memory, conv_tiles **out, error *err) {
    conv_tiles *c = arena_make(memory, 1, sizeof *c);
    if (c == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    c->l = conv_loops_best();
    c->spec = *spec;
    c->shape = *spec->shape;
    c->spec.shape = &c->shape;
    const conv_shape *s = &c->shape;
    c->to_wide = spec->direction == ONEDNN_TO_WIDE;
    c->taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    c->rows = (c->to_wide ? s->wide_channels : s->narrow_channels) / s->groups;
    c->k = c->to_wide ? s->narrow_channels / s->groups : s->wide_channels / s->groups * c->taps;
    c->plain = conv_is_plain(s) && conv_is_joined(spec->narrow, s->narrow) && conv_is_joined(spec->wide, s->wide);
    c->positions = s->narrow[0] * s->narrow[1] * s->narrow[2];
    c->run = c->plain ? c->positions : s->narrow[2];
    int64_t width = TILES * c->l->columns;
    c->units = (s->batch * c->positions + width - 1) / width;
    c->columns_elements = DEPTH * width;
    double flops = 2.0 * (double)(s->batch * c->positions) * (double)(c->rows * c->k) * (double)s->groups;
    c->threads = parallel_threads(flops / 4); /* several multiplications take the time of a byte's traffic */
    c->in_lines = is_in_lines(s);
    if (c->in_lines) {
        set_lines(c);
        c->columns_elements = s->wide_channels / s->groups * c->strip_elements;
    }
    double out_bytes = (double)(s->batch * s->groups * c->rows) * (double)(c->positions * (int64_t)sizeof(float));
    c->streams = out_bytes >= STREAM_MIN_BYTES && c->k <= DEPTH;
    c->weight_at = arena_make(memory, (size_t)c->k, sizeof *c->weight_at);
    c->place = arena_make(memory, (size_t)c->k, sizeof *c->place);
    c->weight = arena_make(memory, (size_t)(s->groups * padded_rows(c)) + 1, (size_t)c->k * sizeof *c->weight);
    c->columns = arena_make(memory, (size_t)c->threads, (size_t)c->columns_elements * sizeof *c->columns);
    if (c->weight_at == NULL || c->place == NULL || c->weight == NULL || c->columns == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    set_weight_places(c);
    set_places(c);
    *out = c;
    return ASSAY_OK;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static const float *packed_weight(const conv_tiles *c, int64_t group, int64_t k) {
    return c->weight + (group * c->k + k) * padded_rows(c);
}

/* One block of rows of a group. */
static void pack_weight(const conv_tiles *c, const float *weight, int64_t group, int64_t block) {
    int64_t width = c->l->rows, row = block * width, rows = least(width, c->rows - row);
    int64_t row_step = c->to_wide ? c->spec.weight[1] : c->spec.weight[0];
    const float *from = weight + group * (c->shape.narrow_channels / c->shape.groups) * c->spec.weight[0] + row * row_step;
    for (int64_t k = 0; k < c->k; k += DEPTH) {
        int64_t depth = least(DEPTH, c->k - k);
        float *to = (float *)packed_weight(c, group, k) + row * depth;
        for (int64_t d = 0; d < depth; d++, to += width) {
            const float *at = from + c->weight_at[k + d];
            for (int64_t i = 0; i < width; i++) {
                to[i] = i < rows ? at[i * row_step] : 0;
            }
        }
    }
}

/* A run's windows: of one image, the first of them at o. */
typedef struct place {
    int64_t image, o[WINDOW_DIMS];
} place;

/* A tile's runs, and where each of them begins. */
typedef struct tile {
    conv_run runs[MOST_COLUMNS];
    place places[MOST_COLUMNS];
    int n;
} tile;

/* Windows [from, to) of a tile. */
static void find_runs(const conv_tiles *c, float *out, int64_t from, int64_t to, tile *t) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = out_strides(c);
    t->n = 0;
    for (int64_t w = from; w < to; t->n++) {
        int64_t image = w / c->positions, rest = w % c->positions, n = least(c->run - rest % c->run, to - w);
        place *p = &t->places[t->n];
        *p = (place){image, {rest / s->narrow[2] / s->narrow[1], rest / s->narrow[2] % s->narrow[1], rest % s->narrow[2]}};
        int64_t at = image * steps[0] + p->o[0] * steps[2] + p->o[1] * steps[3] + p->o[2] * steps[4];
        t->runs[t->n] = (conv_run){out + at, w - from, n};
        w += n;
    }
}

/* Windows of one row: tap (as offsets of its three indices) of the channel plane at `in`. */
static void gather_row(const conv_tiles *c, const float *in, const int64_t *tap, const place *p, int64_t n, float *to) {
    const conv_shape *s = &c->shape;
    const int64_t *steps = in_strides(c) + 2;
    int64_t base = 0;
    bool inside = true;
    for (int d = 0; d < 2; d++) {
        int64_t i = p->o[d] * s->stride[d] - s->pad[d] + tap[d] * s->dilation[d];
        inside = inside && i >= 0 && i < s->wide[d];
        base += i * steps[d];
    }
    /* The windows whose tap falls inside: first + j * stride in [0, wide). */
    int64_t first = p->o[2] * s->stride[2] - s->pad[2] + tap[2] * s->dilation[2];
    int64_t from = first >= 0 ? 0 : (-first + s->stride[2] - 1) / s->stride[2];
    int64_t end = first >= s->wide[2] ? 0 : (s->wide[2] - 1 - first) / s->stride[2] + 1;
    end = inside ? least(end, n) : 0;
    from = least(from, end);
    memset(to, 0, (size_t)from * sizeof *to);
    if (end > from) {
        c->l->gather(to + from, in + base + first + from * s->stride[2], s->stride[2], end - from);
    }
    memset(to + end, 0, (size_t)(n - end) * sizeof *to);
}

/* What the first of a place's depths reads, of a plain convolution. */
static const float *plain_place(const conv_tiles *c, const float *in, const place *p) {
    const int64_t *steps = in_strides(c);
    return in + p->image * steps[0] + p->o[0] * steps[2] + p->o[1] * steps[3] + p->o[2];
}

static bool is_whole(const conv_tiles *c, const tile *t) {
    return c->plain && t->n == 1 && t->runs[0].n == c->l->columns;
}

/* Depths [k, k + depth) of a tile; in: the group's first channel. */
static void fill_columns(const conv_tiles *c, const tile *t, const float *in, int64_t k, int64_t depth, float *columns) {
    const int64_t *steps = in_strides(c), *kernel = c->shape.kernel;
    for (int64_t d = 0; d < depth; d++) {
        int64_t channel = (k + d) / c->taps, at = (k + d) % c->taps;
        int64_t tap[WINDOW_DIMS] = {at / kernel[2] / kernel[1], at / kernel[2] % kernel[1], at % kernel[2]};
        for (int i = 0; i < t->n; i++) {
            const place *p = &t->places[i];
            float *to = columns + d * c->l->columns + t->runs[i].first;
            if (c->plain) {
                memcpy(to, plain_place(c, in, p) + channel * steps[1], (size_t)t->runs[i].n * sizeof *to);
            } else {
                gather_row(c, in + p->image * steps[0] + channel * steps[1], tap, p, t->runs[i].n, to);
            }
        }
    }
}

/* The same of all tiles; those that are whole and side by side are copied together. */
static void fill_tiles(const conv_tiles *c, const tile *tiles, int n, const float *in, int64_t k, int64_t depth, float *columns) {
    int64_t step = DEPTH * c->l->columns;
    for (int i = 0; i < n;) {
        int whole = 0;
        while (i + whole < n && is_whole(c, &tiles[i + whole]) && tiles[i + whole].places[0].image == tiles[i].places[0].image) {
            whole++;
        }
        if (whole == 0) {
            fill_columns(c, &tiles[i], in, k, depth, columns + i * step);
            i++;
            continue;
        }
        int64_t channel = in_strides(c)[1];
        c->l->pack(columns + i * step, step, plain_place(c, in, &tiles[i].places[0]) + k * channel, channel, depth, whole);
        i += whole;
    }
}

/* What is read after depths [k, k + depth) of tiles: their next depths, or the first of the tiles behind them. */
static void set_soon(const conv_tiles *c, const place *first, const float *in, int64_t k, conv_product *p) {
    enum { LINE = 16 };
    int64_t width = TILES * c->l->columns;
    bool last = k + p->depth >= c->k;
    if (!c->plain || p->n_tiles < TILES) {
        return;
    }
    p->soon_step = in_strides(c)[1];
    p->soon = plain_place(c, in, first) + (last ? width : (k + p->depth) * p->soon_step);
    p->soon_depth = last ? least(DEPTH, c->k) : least(DEPTH, c->k - k - p->depth);
    p->soon_lines = width / LINE + 1; /* it need not begin with a line */
}

/* in and out: the group's first channels. */
static void run_tiles(const conv_tiles *c, const float *in, float *out, const float *bias, int64_t group, int64_t index,
                      float *columns) {
    tile found[TILES];
    conv_tile tiles[TILES];
    int64_t from = index * TILES * c->l->columns, all = c->shape.batch * c->positions;
    conv_product p = {.rows = c->rows, .tiles = tiles, .out_step = out_strides(c)[1], .bias = bias,
                      .stream = c->streams};
    for (; p.n_tiles < TILES && from < all; p.n_tiles++, from += c->l->columns) {
        tile *t = &found[p.n_tiles];
        find_runs(c, out, from, least(from + c->l->columns, all), t);
        tiles[p.n_tiles] = (conv_tile){.columns = columns + p.n_tiles * DEPTH * c->l->columns, .runs = t->runs, .n_runs = t->n};
    }
    for (int64_t k = 0; k < c->k; k += DEPTH) {
        p.depth = least(DEPTH, c->k - k);
        p.weight = packed_weight(c, group, k);
        p.accumulate = k > 0;
        fill_tiles(c, found, p.n_tiles, in, k, p.depth, columns);
        set_soon(c, &found[0].places[0], in, k, &p);
        c->l->multiply(&p);
    }
}

/* A strip of rows of windows of one image, or of a part of them; in and out: the group's first channels there. */
static void run_strip(const conv_tiles *c, const float *in, float *out, const float *bias, int64_t group, int64_t strip,
                      float *strips) {
    const conv_lines *p = &c->lines;
    const int64_t *steps = out_strides(c);
    int64_t row = strip / strips_across(p) * p->rows_most, column = strip % strips_across(p) * p->columns_most;
    int64_t rows = least(p->rows_most, p->out[0] - row), columns = least(p->columns_most, p->out[1] - column);
    for (int64_t channel = 0; channel < c->k / c->taps; channel++) {
        conv_lines_fill(p, c->l, in + channel * in_strides(c)[1], row, rows, column,
                        strips + channel * c->strip_elements);
    }
    conv_run run = {.first = 0};
    conv_tile line = {.runs = &run, .n_runs = 1};
    conv_product product = {.rows = c->rows, .tiles = &line, .n_tiles = 1, .out_step = steps[1], .bias = bias,
                            .stream = c->streams};
    for (int64_t k = 0; k < c->k; k += DEPTH) {
        product.depth = least(DEPTH, c->k - k);
        product.weight = packed_weight(c, group, k);
        product.accumulate = k > 0;
        line.place = c->place + k;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t w = 0; w < columns; w += c->l->columns) {
                line.columns = strips + i * conv_lines_row(p) + w;
                run.out = out + (row + i) * steps[3] + (column + w) * steps[4];
                run.n = least(c->l->columns, columns - w);
                c->l->multiply(&product);
            }
        }
    }
}

static void run_unit(const conv_tiles *c, const onednn_data *data, int64_t group, int64_t index, float *columns) {
    const float *in = data->at[c->to_wide ? 0 : 1], *bias = c->spec.bias ? (const float *)data->at[3] + group * c->rows : NULL;
    float *out = data->at[c->to_wide ? 1 : 0];
    const int64_t *in_steps = in_strides(c), *out_steps = out_strides(c);
    in += group * (c->to_wide ? c->shape.narrow_channels : c->shape.wide_channels) / c->shape.groups * in_steps[1];
    out += group * c->rows * out_steps[1];
    if (!c->in_lines) {
        run_tiles(c, in, out, bias, group, index, columns);
        return;
    }
    int64_t strips = c->units / c->shape.batch, image = index / strips;
    run_strip(c, in + image * in_steps[0], out + image * out_steps[0], bias, group, index % strips, columns);
}

void conv_tiles_run(conv_tiles *c, const onednn_data *data) {
    int64_t blocks = padded_rows(c) / c->l->rows, groups = c->shape.groups;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->threads) if (c->threads > 1)
    {
        parallel_enter(watch);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < groups * blocks; i++) {
            pack_weight(c, data->at[2], i / blocks, i % blocks);
        }
        int64_t from, to;
        parallel_share(groups * c->units, 1, &from, &to);
        float *columns = c->columns + omp_get_thread_num() * c->columns_elements;
        for (int64_t i = from; i < to; i++) {
            run_unit(c, data, i / c->units, i % c->units, columns);
        }
        parallel_leave(watch);
    }
}
