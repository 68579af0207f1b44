/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's rows are copied with zeros around them, a strip at a time that stays in L1; then the windows of a row are as many
   vectors, and a tap is one multiplication of each. The gradient of the wide side is the same sum over the narrow side, spread
   out by the stride, with the kernel turned round. The weight's gradient sums a tap's products in registers, strips of rows
   in double. Channels of halves are made f32 one by one, and what comes of them rounded once. */
#include "engine/kernels/cpu/conv_channels.h"

#include "engine/kernels/cpu/conv_lines.h"
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <math.h>
#include <string.h>

/* Half of an L1 cache of 32 KiB; at 48 KiB no shape was faster. */
enum { STRIP_BYTES = 16 * 1024 };

struct conv_channels {
    const conv_loops *l;
    onednn_conv spec;
    conv_shape shape;
    conv_lines lines;
    int64_t taps, each; /* each: narrow channels of a wide one */
    int64_t *tap;       /* [taps] places in a strip, in the order in which the weight is packed */
    float *weight;      /* [narrow channel][taps] */
    double *sums;       /* of the weight's gradient: a thread's [taps] */
    float *strips;
    int64_t strip_elements;
    float *planes; /* of halves: a thread's channel of `in`, then as many of the other side as belong to it */
    int64_t in_elements, plane_elements;
    int threads;
};

static bool is_half(const onednn_conv *spec) {
    return spec->dtype == ASSAY_F16 || spec->dtype == ASSAY_BF16;
}

static bool is_flat(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    return s->kernel[0] == 1 && s->narrow[0] == 1 && s->wide[0] == 1 && s->pad[0] == 0;
}

bool conv_channels_takes(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    bool rows = (spec->narrow[4] == 1 || s->narrow[2] == 1) && (spec->wide[4] == 1 || s->wide[2] == 1);
    bool alone = s->wide_channels == s->groups && (spec->direction != ONEDNN_TO_WIDE || s->narrow_channels == s->groups);
    bool writes_bias = spec->direction == ONEDNN_TO_WEIGHT && spec->bias;
    bool has_type = spec->dtype == ASSAY_F32 || is_half(spec);
    /* gradients of 128 rows of 256 by 5 taps take oneDNN 634 us, these loops 31 (Zen 4, 2026-11) */
    bool is_one = s->narrow_channels == 1 && s->wide_channels == 1;
    return has_type && (s->groups > 1 || is_one) && is_flat(spec) && rows && alone && !writes_bias;
}

static void set_lines(conv_channels *c) {
    const conv_shape *s = &c->shape;
    conv_lines *p = &c->lines;
    bool to_wide = c->spec.direction == ONEDNN_TO_WIDE;
    for (int d = 0; d < 2; d++) {
        p->kernel[d] = s->kernel[1 + d];
        p->dilation[d] = s->dilation[1 + d];
        p->size[d] = to_wide ? s->narrow[1 + d] : s->wide[1 + d];
        p->out[d] = to_wide ? s->wide[1 + d] : s->narrow[1 + d];
        p->stride[d] = to_wide ? 1 : s->stride[1 + d];
        p->spread[d] = to_wide ? s->stride[1 + d] : 1;
        p->pad[d] = to_wide ? (p->kernel[d] - 1) * p->dilation[d] - s->pad[1 + d] : s->pad[1 + d];
    }
    p->step = is_half(&c->spec) ? p->size[1] : to_wide ? c->spec.narrow[3] : c->spec.wide[3];
    conv_lines_plan(p, STRIP_BYTES, 1);
}

status conv_channels_prepare(const onednn_conv *spec, arena *memory, conv_channels **out, error *err) {
    conv_channels *c = arena_make(memory, 1, sizeof *c);
    if (c == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    c->l = conv_loops_best();
    c->spec = *spec;
    c->shape = *spec->shape;
    c->spec.shape = &c->shape;
    const conv_shape *s = &c->shape;
    set_lines(c);
    c->taps = s->kernel[1] * s->kernel[2];
    c->each = s->narrow_channels / s->groups;
    c->strip_elements = (conv_lines_elements(&c->lines, c->l) + 63) / 64 * 64;
    double products = (double)(s->batch * s->narrow_channels * c->taps) * (double)(c->lines.out[0] * c->lines.out[1]);
    c->threads = parallel_threads(4 * products);
    c->tap = arena_make(memory, (size_t)c->taps, sizeof *c->tap);
    c->weight = arena_make(memory, (size_t)s->narrow_channels, (size_t)c->taps * sizeof *c->weight);
    c->sums = arena_make(memory, (size_t)c->threads, (size_t)c->taps * sizeof *c->sums);
    c->strips = arena_make(memory, (size_t)c->threads, (size_t)c->strip_elements * sizeof *c->strips);
    c->in_elements = (c->lines.size[0] * c->lines.size[1] + 15) / 16 * 16;
    c->plane_elements = is_half(spec) ? c->in_elements + (c->each * c->lines.out[0] * c->lines.out[1] + 15) / 16 * 16 : 0;
    c->planes = arena_make(memory, (size_t)(c->threads * c->plane_elements) + 1, sizeof *c->planes);
    if (c->tap == NULL || c->weight == NULL || c->sums == NULL || c->strips == NULL || c->planes == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    for (int64_t t = 0; t < c->taps; t++) {
        c->tap[t] = conv_lines_tap(&c->lines, t / s->kernel[2], t % s->kernel[2]);
    }
    *out = c;
    return ASSAY_OK;
}

/* The channel's plane of halves whose rows lie `step` apart, to or from one of f32 whose rows lie together. */
static void widen(const conv_channels *c, const char *from, int64_t step, const int64_t *size, float *to) {
    convert_fn *convert = convert_loops_best()->to_f32[c->spec.dtype];
    int64_t run = step == size[1] ? size[0] * size[1] : size[1], rows = size[0] * size[1] / run;
    for (int64_t r = 0; r < rows; r++) {
        convert(to + r * run, from + r * step * (int64_t)sizeof(uint16_t), run);
    }
}

static void narrow(const conv_channels *c, const float *from, const int64_t *size, char *to, int64_t step) {
    convert_fn *convert = convert_loops_best()->from_f32[c->spec.dtype];
    int64_t run = step == size[1] ? size[0] * size[1] : size[1], rows = size[0] * size[1] / run;
    for (int64_t r = 0; r < rows; r++) {
        convert(to + r * step * (int64_t)sizeof(uint16_t), from + r * run, run);
    }
}

/* A number of the caller's. */
static float number_at(const conv_channels *c, const void *data, int64_t i) {
    if (!is_half(&c->spec)) {
        return ((const float *)data)[i];
    }
    return (float)element_load(c->spec.dtype, (const char *)data + i * (int64_t)sizeof(uint16_t));
}

/* Where narrow channel n's weight of tap t is. */
static int64_t weight_at(const conv_channels *c, int64_t n, int64_t t) {
    int64_t width = c->shape.kernel[2];
    return n * c->spec.weight[0] + t / width * c->spec.weight[3] + t % width * c->spec.weight[4];
}

static void load_weight(const conv_channels *c, const void *weight, int64_t n) {
    bool turned = c->spec.direction == ONEDNN_TO_WIDE;
    for (int64_t t = 0; t < c->taps; t++) {
        c->weight[n * c->taps + t] = number_at(c, weight, weight_at(c, n, turned ? c->taps - 1 - t : t));
    }
}

static bool is_finite(const float *weight, int64_t n) {
    bool finite = true;
    for (int64_t t = 0; t < n; t++) {
        finite = finite && isfinite(weight[t]);
    }
    return finite;
}

/* Elements of the narrow side that a tap of the wide side's gradient reads: none where the zeros of its spread are. */
static bool meets(const conv_lines *p, int d, int64_t at, int64_t tap, int64_t *i) {
    int64_t spread = at + tap * p->dilation[d] - p->pad[d];
    *i = spread / p->spread[d];
    return spread >= 0 && spread % p->spread[d] == 0 && *i < p->size[d];
}

/* As slide_channel of one channel to one, without the zeros between: they would make NaN of weights that are not finite. */
static void slide_plainly(const conv_channels *c, const float *in, float *out, const int64_t *out_steps, int64_t channel) {
    const conv_lines *p = &c->lines;
    const float *weight = c->weight + channel * c->taps;
    for (int64_t o = 0; o < p->out[0] * p->out[1]; o++) {
        int64_t row = o / p->out[1], column = o % p->out[1], i, j;
        float sum = 0;
        for (int64_t t = 0; t < c->taps; t++) {
            if (meets(p, 0, row, t / p->kernel[1], &i) && meets(p, 1, column, t % p->kernel[1], &j)) {
                sum += weight[t] * in[i * p->step + j];
            }
        }
        out[row * out_steps[3] + column * out_steps[4]] = sum;
    }
}

/* Windows that one strip serves. */
typedef struct strip_windows {
    int64_t row, column, rows, columns;
} strip_windows;

/* Those of the strip behind, or of the first if it is all zeros; false behind the last. */
static bool next_windows(const conv_lines *p, strip_windows *at) {
    at->column += at->columns;
    if (at->column >= p->out[1]) {
        at->column = 0;
        at->row += at->rows;
    }
    at->rows = p->out[0] - at->row < p->rows_most ? p->out[0] - at->row : p->rows_most;
    at->columns = p->out[1] - at->column < p->columns_most ? p->out[1] - at->column : p->columns_most;
    return at->rows > 0;
}

/* One channel of one image: that of `in` for all of its channels of `out`. */
static void slide_channel(const conv_channels *c, const float *in, float *out, const int64_t *out_steps, int64_t first,
                          const void *bias, float *strip) {
    const conv_lines *p = &c->lines;
    strip_windows at = {0};
    while (next_windows(p, &at)) {
        conv_lines_fill(p, c->l, in, at.row, at.rows, at.column, strip);
        for (int64_t k = 0; k < c->each; k++) {
            conv_rows r = {.rows = at.rows,
                           .n = at.columns,
                           .in = strip,
                           .in_step = conv_lines_row(p),
                           .out = out + k * out_steps[1] + at.row * out_steps[3] + at.column * out_steps[4],
                           .out_step = out_steps[3],
                           .taps = c->taps,
                           .tap = c->tap,
                           .weight = c->weight + (first + k) * c->taps,
                           .bias = bias != NULL ? number_at(c, bias, first + k) : 0};
            c->l->slide(&r);
        }
    }
}

/* A channel of `in`, and all of `out` that come of it. */
static void slide(const conv_channels *c, const float *in, float *out, const int64_t *out_steps, int64_t group, const void *bias,
                  float *strip) {
    bool spreads = c->lines.spread[0] > 1 || c->lines.spread[1] > 1;
    if (spreads && !is_finite(c->weight + group * c->taps, c->taps)) {
        slide_plainly(c, in, out, out_steps, group);
    } else {
        slide_channel(c, in, out, out_steps, group * c->each, bias, strip);
    }
}

static void slide_halves(const conv_channels *c, const char *in, char *out, const int64_t *in_steps, const int64_t *out_steps,
                         int64_t group, const void *bias, float *strip) {
    const conv_lines *p = &c->lines;
    float *x = c->planes + omp_get_thread_num() * c->plane_elements, *y = x + c->in_elements;
    int64_t numel = p->out[0] * p->out[1], dense[] = {0, numel, numel, p->out[1], 1};
    widen(c, in, in_steps[3], p->size, x);
    slide(c, x, y, dense, group, bias, strip);
    for (int64_t k = 0; k < c->each; k++) {
        narrow(c, y + k * numel, p->out, out + k * out_steps[1] * (int64_t)sizeof(uint16_t), out_steps[3]);
    }
}

static void run_slides(const conv_channels *c, const onednn_data *data) {
    bool to_wide = c->spec.direction == ONEDNN_TO_WIDE;
    const int64_t *in_steps = to_wide ? c->spec.narrow : c->spec.wide, *out_steps = to_wide ? c->spec.wide : c->spec.narrow;
    const char *in = data->at[to_wide ? 0 : 1];
    const void *bias = c->spec.bias ? data->at[3] : NULL;
    char *out = data->at[to_wide ? 1 : 0];
    float *strip = c->strips + omp_get_thread_num() * c->strip_elements;
    int64_t from, to, groups = c->shape.groups, size = (int64_t)dtype_size(c->spec.dtype);
#pragma omp for schedule(static)
    for (int64_t n = 0; n < c->shape.narrow_channels; n++) {
        load_weight(c, data->at[2], n);
    }
    parallel_share(c->shape.batch * groups, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t image = i / groups, group = i % groups;
        const char *x = in + (image * in_steps[0] + group * in_steps[1]) * size;
        char *y = out + (image * out_steps[0] + group * c->each * out_steps[1]) * size;
        if (is_half(&c->spec)) {
            slide_halves(c, x, y, in_steps, out_steps, group, bias, strip);
        } else {
            slide(c, (const float *)x, (float *)y, out_steps, group, bias, strip);
        }
    }
}

/* One image's terms of one channel's sums. */
static void sum_image(const conv_channels *c, const float *in, const float *grad, int64_t grad_step, double *sums, float *strip) {
    const conv_lines *p = &c->lines;
    strip_windows at = {0};
    while (next_windows(p, &at)) {
        conv_lines_fill(p, c->l, in, at.row, at.rows, at.column, strip);
        conv_row_sums r = {.rows = at.rows,
                           .n = at.columns,
                           .in = strip,
                           .in_step = conv_lines_row(p),
                           .grad = grad + at.row * grad_step + at.column,
                           .grad_step = grad_step,
                           .taps = c->taps,
                           .tap = c->tap,
                           .sums = sums};
        c->l->sum(&r);
    }
}

/* Channels of the weight are shared out, so that no two threads add to one. */
static void run_sums(const conv_channels *c, const onednn_data *data) {
    const conv_lines *p = &c->lines;
    const int64_t *wide = c->spec.wide, *narrow_steps = c->spec.narrow;
    double *sums = c->sums + omp_get_thread_num() * c->taps;
    float *strip = c->strips + omp_get_thread_num() * c->strip_elements, *x = c->planes + omp_get_thread_num() * c->plane_elements;
    int64_t from, to, size = (int64_t)dtype_size(c->spec.dtype);
    parallel_share(c->shape.narrow_channels, 1, &from, &to);
    for (int64_t n = from; n < to; n++) {
        memset(sums, 0, (size_t)c->taps * sizeof *sums);
        for (int64_t image = 0; image < c->shape.batch; image++) {
            const char *in = (const char *)data->at[1] + (image * wide[0] + n / c->each * wide[1]) * size;
            const char *grad = (const char *)data->at[0] + (image * narrow_steps[0] + n * narrow_steps[1]) * size;
            if (is_half(&c->spec)) {
                widen(c, in, wide[3], p->size, x);
                widen(c, grad, narrow_steps[3], p->out, x + c->in_elements);
                sum_image(c, x, x + c->in_elements, p->out[1], sums, strip);
            } else {
                sum_image(c, (const float *)in, (const float *)grad, narrow_steps[3], sums, strip);
            }
        }
        for (int64_t t = 0; t < c->taps; t++) {
            element_store(c->spec.dtype, (char *)data->at[2] + weight_at(c, n, t) * size, sums[t]);
        }
    }
}

void conv_channels_run(conv_channels *c, const onednn_data *data) {
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(c->threads) if (c->threads > 1)
    {
        parallel_enter(watch);
        if (c->spec.direction == ONEDNN_TO_WEIGHT) {
            run_sums(c, data);
        } else {
            run_slides(c, data);
        }
        parallel_leave(watch);
    }
}
