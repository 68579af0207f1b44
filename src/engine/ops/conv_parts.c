/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in primitives, where that is worth it: those of a single place are matrix products over channels, those of a
   channel each are sums of a few terms, those by windows of 3 x 3 sums that the compiler has an algorithm for. All join what surrounds
   them. Others are for the library. */
#include "engine/ops/conv_parts.h"

#include "engine/schema/window.h"

#include <string.h>

static int64_t area(const int64_t *sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

static bool is_within(const conv_shape *s) {
    return s->pad[0] == 0 && s->pad[1] == 0 && s->pad[2] == 0;
}

/* The sum over channels of weight [O, C, 1..] times input [N, C, spatial..], as [N, O, spatial.., C]. */
static val of_one_place(dag *g, const conv_shape *s, val x, val weight, int ndim, const int64_t *out_sizes) {
    int64_t sizes[TENSOR_MAX_DIMS];
    index_sum from[TENSOR_MAX_DIMS], weigh[TENSOR_MAX_DIMS];
    memcpy(sizes, out_sizes, (size_t)ndim * sizeof *sizes);
    sizes[ndim] = s->wide_channels;
    from[0] = v_dim(g, sizes, 0);
    weigh[0] = v_dim(g, sizes, 1);
    from[1] = weigh[1] = v_dim(g, sizes, ndim);
    for (int d = 2; d < ndim; d++) {
        from[d] = v_line(g, v_dim(g, sizes, d), s->stride[WINDOW_DIMS - ndim + d], 0);
        weigh[d] = index_constant(0);
    }
    val right = v_view(g, x, ndim + 1, sizes, &(view_map){.n_at = ndim, .at = from});
    val left = v_view(g, weight, ndim + 1, sizes, &(view_map){.n_at = ndim, .at = weigh});
    return v_sum_of_factors(g, v_mul(g, left, right), (uint64_t)1 << ndim);
}

/* The sum over channels and windows of weight [O, C, 3, 3] times input [N, C, height, width], as [N, O, height, width, C, 3, 3]. turned:
   weight is [C, O, 3, 3], each window turned round. */
static val of_windows(dag *g, const conv_shape *s, val x, val weight, const int64_t *out_sizes, bool turned) {
    enum { N, O, DOWN, ACROSS, C, TAP_DOWN, TAP_ACROSS, ALL };
    int64_t sizes[ALL];
    memcpy(sizes, out_sizes, C * sizeof *sizes);
    sizes[C] = s->wide_channels;
    sizes[TAP_DOWN] = sizes[TAP_ACROSS] = 3;
    const index_sum from[] = {v_dim(g, sizes, N), v_dim(g, sizes, C),
                              index_add(&g->indices, v_dim(g, sizes, DOWN), v_line(g, v_dim(g, sizes, TAP_DOWN), 1, -s->pad[1])),
                              index_add(&g->indices, v_dim(g, sizes, ACROSS), v_line(g, v_dim(g, sizes, TAP_ACROSS), 1, -s->pad[2]))};
    const index_sum weigh[] = {v_dim(g, sizes, turned ? C : O), v_dim(g, sizes, turned ? O : C),
                               v_line(g, v_dim(g, sizes, TAP_DOWN), turned ? -1 : 1, turned ? 2 : 0),
                               v_line(g, v_dim(g, sizes, TAP_ACROSS), turned ? -1 : 1, turned ? 2 : 0)};
    const view_bound bounds[] = {{from[2], 0, s->wide[1] - 1}, {from[3], 0, s->wide[2] - 1}};
    view_map seen = {.n_at = 4, .at = from, .n_bounds = 2, .bounds = bounds, .fill = number_of_double(0)};
    val left = v_view(g, weight, ALL, sizes, &(view_map){.n_at = 4, .at = weigh});
    return v_sum_of_factors(g, v_mul(g, left, v_view(g, x, ALL, sizes, &seen)), (uint64_t)7 << C);
}

/* Whether windows of 3 x 3 go by Winograd's algorithm: what is made of weights and of elements is to be used often. */
static bool is_by_windows(const conv_shape *s) {
    enum { CHANNELS = 16, LEAST_RESULTS = 1024 };
    bool window = s->kernel[0] == 1 && s->kernel[1] == 3 && s->kernel[2] == 3 && area(s->stride) == 1 && area(s->dilation) == 1 && s->pad[0] == 0;
    return window && s->spatial == 2 && s->groups == 1 && !s->channels_last && s->wide_channels % CHANNELS == 0 &&
           s->narrow_channels >= CHANNELS && s->batch * area(s->narrow) >= LEAST_RESULTS;
}

typedef struct channel_windows {
    const conv_shape *s;
    val x, weight;
} channel_windows;

/* One term of each channel's own windows. row and column are constants, as windows of few taps have them: the tap's number. */
static val channel_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const channel_windows *w = self;
    const conv_shape *s = w->s;
    int64_t tap = row.constant * s->kernel[2] + column.constant;
    index_sum from[TENSOR_MAX_DIMS], weigh[TENSOR_MAX_DIMS];
    view_bound bounds[WINDOW_DIMS];
    view_map map = {.n_at = ndim, .at = from, .bounds = bounds, .fill = number_of_double(0)};
    from[0] = v_dim(g, sizes, 0);
    from[1] = weigh[0] = v_dim(g, sizes, 1);
    weigh[1] = index_constant(0);
    for (int d = ndim - 1; d >= 2; d--) {
        int i = WINDOW_DIMS - ndim + d;
        int64_t at = tap % s->kernel[i], low, high;
        tap /= s->kernel[i];
        weigh[d] = index_constant(at);
        from[d] = v_line(g, v_dim(g, sizes, d), s->stride[i], at * s->dilation[i] - s->pad[i]);
        index_range(from[d], &low, &high);
        if (low < 0 || high >= s->wide[i]) {
            bounds[map.n_bounds++] = (view_bound){from[d], 0, s->wide[i] - 1};
        }
    }
    val x = v_view(g, w->x, ndim, sizes, &map);
    return v_mul(g, x, v_view(g, w->weight, ndim, sizes, &(view_map){.n_at = ndim, .at = weigh}));
}

void convolution_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    conv_shape s;
    bool known = primitive_compute_type(t->dtype) == ASSAY_F32 &&
                 conv_shape_of(call, 0, 3, &s, NULL) == ASSAY_OK && !s.transposed && t->ndim == s.spatial + 2 &&
                 tensor_numel(t) > 0 && s.wide_channels > 0;
    bool one_place = known && area(s.kernel) == 1 && s.groups == 1 && s.wide_channels > 1 && is_within(&s);
    bool channels = known && s.groups == s.wide_channels && s.groups == s.narrow_channels && s.groups > 1 &&
                    area(s.kernel) <= V_FEW_TAPS;
    bool windows = known && is_by_windows(&s);
    if ((!one_place && !channels && !windows) || !v_owns_product(g, call)) {
        v_library(g, call, out);
        return;
    }
    val x = v_arg(g, call, 0), weight = v_arg(g, call, 1), y;
    if (windows) {
        y = of_windows(g, &s, v_factor(g, x, t->dtype), v_factor(g, weight, t->dtype), t->sizes, false);
    } else if (one_place) {
        y = of_one_place(g, &s, v_factor(g, x, t->dtype), v_factor(g, weight, t->dtype), t->ndim, t->sizes);
    } else {
        channel_windows w = {&s, x, weight};
        y = v_sum_of_taps(g, t->ndim, t->sizes, s.kernel[0] * s.kernel[1], s.kernel[2], channel_tap, &w);
    }
    v_owned_product(g, call, y);
    if (v_has(call, 2)) {
        int64_t row[TENSOR_MAX_DIMS] = {1, t->sizes[1]};
        for (int d = 2; d < t->ndim; d++) {
            row[d] = 1;
        }
        y = v_add(g, y, v_reshape(g, v_arg(g, call, 2), t->ndim, row));
    }
    v_result(g, 0, y);
}

/* The input's gradient by windows is a convolution of the output's gradient: what was written is read, and the padding is what lacks
   of two. */
static conv_shape turned_round(const conv_shape *s) {
    conv_shape t = *s;
    t.wide_channels = s->narrow_channels;
    t.narrow_channels = s->wide_channels;
    memcpy(t.wide, s->narrow, sizeof t.wide);
    memcpy(t.narrow, s->wide, sizeof t.narrow);
    for (int d = 1; d < WINDOW_DIMS; d++) {
        t.pad[d] = 2 - s->pad[d];
    }
    return t;
}

/* The same call without the first of its outputs; NULL when memory is out. */
static const op_call *without_input(dag *g, const op_call *call) {
    enum { MASK = 10 };
    int n = call->op->signature.n_params;
    op_call *rest = arena_make(g->memory, 1, sizeof *rest);
    arg *args = arena_make(g->memory, (size_t)n, sizeof *args);
    bool *mask = arena_make(g->memory, 3, sizeof *mask);
    if (rest == NULL || args == NULL || mask == NULL) {
        g->failed = true;
        return NULL;
    }
    memcpy(args, call->args, (size_t)n * sizeof *args);
    memcpy(mask, args[MASK].bools, 3 * sizeof *mask);
    mask[0] = false;
    args[MASK].bools = mask;
    *rest = (op_call){.op = call->op, .args = args, .seed = call->seed};
    return rest;
}

void convolution_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const bool *mask = call->args[10].bools;
    const tensor *grad = call_tensor(call, 0), *t = &out->items[0];
    conv_shape s;
    bool known = mask[0] && primitive_compute_type(t->dtype) == ASSAY_F32 && conv_shape_of(call, 1, 4, &s, NULL) == ASSAY_OK &&
                 !s.transposed && t->ndim == s.spatial + 2 && tensor_numel(grad) > 0 && tensor_numel(t) > 0;
    conv_shape turned = known ? turned_round(&s) : (conv_shape){0};
    if (!known || !is_by_windows(&turned) || !v_owns_product(g, call)) {
        v_library(g, call, out);
        return;
    }
    val y = of_windows(g, &turned, v_factor(g, v_arg(g, call, 0), t->dtype), v_factor(g, v_arg(g, call, 2), t->dtype), t->sizes, true);
    v_owned_product(g, call, y);
    v_result(g, 0, y);
    const op_call *rest = mask[1] || mask[2] ? without_input(g, call) : NULL;
    if (rest != NULL) {
        v_rest_of_product(g, call, rest);
    }
    for (int k = 1; k < 3 && !g->failed; k++) {
        v_result(g, k, mask[k] ? v_call(g, rest, out, k) : v_int(g, out->items[k].dtype, 0));
    }
}
