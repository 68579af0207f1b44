/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sampler_2d in primitives. Letters: N batch, C channels, H and W rows and columns of points; values of points are
   [N, 1, H, W]. */
#include "engine/ops/parts.h"
#include "engine/schema/resample.h"

#include <string.h>

/* One axis of every point: which elements it reads, what they weigh and how that changes with the grid's coordinate. */
typedef struct point_taps {
    int n;
    val index[RESAMPLE_MAX_TAPS]; /* 0 where it is not valid */
    val valid[RESAMPLE_MAX_TAPS];
    val weight[RESAMPLE_MAX_TAPS];
    val slope[RESAMPLE_MAX_TAPS];
} point_taps;

typedef struct sampling {
    int mode, padding;
    bool align;
    int64_t size[2]; /* rows, columns */
} sampling;

static val real(dag *g, val like, double x) {
    return v_real(g, v_dtype(g, like), x);
}

/* Mirrored between low and low + span; *sign, the mirror's slope, is multiplied in. */
static val reflected(dag *g, val at, double low, double span, val *sign) {
    if (span == 0) {
        *sign = real(g, at, 0);
        return v_mul_real(g, at, 0);
    }
    val from = v_add_real(g, at, -low), far = v_1(g, FN_ABS, from);
    val flips = v_1(g, FN_FLOOR, v_mul_real(g, far, 1 / span));
    val rest = v_sub(g, far, v_mul_real(g, flips, span));
    val half = v_mul_real(g, flips, 0.5), odd = v_2(g, FN_NE, half, v_1(g, FN_FLOOR, half));
    val back = v_2(g, FN_XOR, v_2(g, FN_LT, from, real(g, at, 0)), odd);
    *sign = v_select(g, back, real(g, at, -1), real(g, at, 1));
    return v_add_real(g, v_select(g, odd, v_sub(g, real(g, at, span), rest), rest), low);
}

/* Brought inside by the padding's rule; *sign: its slope, 0 where it stands still. */
static val padded(dag *g, const sampling *s, int d, val at, val *sign) {
    double last = (double)(s->size[d] - 1);
    *sign = real(g, at, 1);
    if (s->padding == GRID_ZEROS) {
        return at;
    }
    if (s->padding == GRID_REFLECTION) {
        at = s->align ? reflected(g, at, 0, last, sign) : reflected(g, at, -0.5, (double)s->size[d], sign);
    }
    val low = real(g, at, 0), high = real(g, at, last);
    val moves = v_2(g, FN_AND, v_2(g, FN_GT, at, low), v_2(g, FN_LT, at, high));
    *sign = v_select(g, moves, *sign, low);
    return v_lesser(g, v_greater(g, at, low), high);
}

static void set_tap(dag *g, const sampling *s, int d, point_taps *out, int k, val at, val finite) {
    val inside = v_2(g, FN_AND, v_2(g, FN_GE, at, real(g, at, 0)), v_2(g, FN_LE, at, real(g, at, (double)(s->size[d] - 1))));
    out->valid[k] = v_2(g, FN_AND, inside, finite);
    out->index[k] = v_cast(g, v_select(g, out->valid[k], at, real(g, at, 0)), ASSAY_I32); /* as wide as f32 */
}

/* The cubic convolution kernel with A = -0.75 at distances 1 + t, t, 1 - t, 2 - t, and its slopes. */
static void cubic_taps(dag *g, val t, double per_unit, point_taps *out) {
    static const double of[4][4] = {{0, -0.75, 1.5, -0.75}, {1, 0, -2.25, 1.25}, {0, 0.75, 1.5, -1.25}, {0, 0, -0.75, 0.75}};
    for (int k = 0; k < 4; k++) {
        val sum = v_mul_real(g, t, of[k][3]), slope = v_mul_real(g, t, 3 * of[k][3]);
        sum = v_mul(g, v_add_real(g, sum, of[k][2]), t);
        sum = v_add_real(g, v_mul(g, v_add_real(g, sum, of[k][1]), t), of[k][0]);
        slope = v_add_real(g, v_mul(g, v_add_real(g, slope, 2 * of[k][2]), t), of[k][1]);
        out->weight[k] = sum;
        out->slope[k] = v_mul_real(g, slope, per_unit);
    }
}

/* Axis d from the grid's coordinates in -1 to 1. */
static void compute_taps(dag *g, const sampling *s, int d, val coordinate, point_taps *out) {
    double half = (double)(s->align ? s->size[d] - 1 : s->size[d]) / 2;
    val at = v_mul_real(g, v_add_real(g, coordinate, 1), half), sign;
    at = s->align ? at : v_add_real(g, at, -0.5);
    val finite = v_2(g, FN_EQ, v_sub(g, at, at), real(g, at, 0));
    at = v_select(g, finite, at, real(g, at, 0));
    out->n = s->mode == GRID_NEAREST ? 1 : s->mode == GRID_LINEAR ? 2 : 4;
    if (s->mode == GRID_CUBIC) { /* each tap is padded on its own */
        val first = v_1(g, FN_FLOOR, at);
        cubic_taps(g, v_sub(g, at, first), half, out);
        for (int k = 0; k < 4; k++) {
            set_tap(g, s, d, out, k, padded(g, s, d, v_add_real(g, first, k - 1), &sign), finite);
        }
        return;
    }
    at = padded(g, s, d, at, &sign);
    if (s->mode == GRID_NEAREST) {
        set_tap(g, s, d, out, 0, v_1(g, FN_ROUND, at), finite);
        out->weight[0] = real(g, at, 1);
        out->slope[0] = real(g, at, 0);
        return;
    }
    val first = v_1(g, FN_FLOOR, at);
    set_tap(g, s, d, out, 0, first, finite);
    set_tap(g, s, d, out, 1, v_add_real(g, first, 1), finite);
    out->weight[1] = v_sub(g, at, first);
    out->weight[0] = v_sub(g, real(g, at, 1), out->weight[1]);
    out->slope[1] = v_mul_real(g, sign, half);
    out->slope[0] = v_mul_real(g, sign, -half);
}

/* Computed once, as tables: every channel reads them. */
static void taps_of(dag *g, const sampling *s, int d, val coordinate, point_taps *out) {
    compute_taps(g, s, d, coordinate, out);
    for (int k = 0; k < out->n; k++) {
        out->index[k] = v_keep(g, out->index[k]);
        out->valid[k] = v_keep(g, out->valid[k]);
        out->weight[k] = v_keep(g, out->weight[k]);
    }
}

/* Both axes of a call whose settings start at mode_arg; points [N, 1, H, W]. */
static void points_of(dag *g, const op_call *call, int input_arg, int mode_arg, sampling *s, point_taps taps[2]) {
    const tensor *input = call_tensor(call, input_arg), *grid = call_tensor(call, input_arg + 1);
    *s = (sampling){(int)call_int(call, mode_arg), (int)call_int(call, mode_arg + 1), call_bool(call, mode_arg + 2),
                    {input->sizes[2], input->sizes[3]}};
    int64_t sizes[4] = {grid->sizes[0], 1, grid->sizes[1], grid->sizes[2]};
    val xy = v_arg(g, call, input_arg + 1);
    for (int d = 0; d < 2; d++) { /* the column's coordinate comes first */
        taps_of(g, s, d, v_reshape(g, v_slice(g, xy, 3, 1 - d, 1, 1), 4, sizes), &taps[d]);
    }
}

/* Pixel (r, c) of every point's taps, 0 where there is none. */
static val pixel_of(dag *g, val x, const sampling *s, const point_taps taps[2], int r, int c, const int64_t *sizes) {
    index_sum here[4] = {v_dim(g, sizes, 0), index_constant(0), v_dim(g, sizes, 2), v_dim(g, sizes, 3)};
    index_sum at[4] = {here[0], v_dim(g, sizes, 1), v_index_within(g, taps[0].index[r], here, s->size[0]),
                       v_index_within(g, taps[1].index[c], here, s->size[1])};
    val pixel = v_view(g, x, 4, sizes, &(view_map){.n_at = 4, .at = at});
    return v_select(g, v_2(g, FN_AND, taps[0].valid[r], taps[1].valid[c]), pixel, real(g, x, 0));
}

/* The sum over all taps of pixel * rows[r] * columns[c]. */
static val weighed(dag *g, val x, const sampling *s, const point_taps taps[2], const val *rows, const val *columns,
                   const int64_t *sizes) {
    val sum = {-1};
    for (int r = 0; r < taps[0].n && !g->failed && g->refused == NULL; r++) {
        val row = {-1};
        for (int c = 0; c < taps[1].n; c++) {
            val term = v_mul(g, pixel_of(g, x, s, taps, r, c, sizes), columns[c]);
            row = c == 0 ? term : v_add(g, row, term);
        }
        row = v_mul(g, row, rows[r]);
        sum = r == 0 ? row : v_add(g, sum, row);
    }
    return sum;
}

void grid_sampler_parts(dag *g, const op_call *call, const outputs *out) {
    sampling s;
    point_taps taps[2];
    val x = v_arg(g, call, 0);
    points_of(g, call, 0, 2, &s, taps);
    v_result(g, 0, weighed(g, x, &s, taps, taps[0].weight, taps[1].weight, out->items[0].sizes));
}

/* Values of the taps along a last dimension of their own: [N, 1, H, W, n]. */
static val among_taps(dag *g, const val *taps, int n, const int64_t *sizes) {
    int64_t all[5] = {sizes[0], 1, sizes[2], sizes[3], n}; /* the first four are one tap's */
    val which = v_iota(g, 5, all, 4), chosen = v_unsqueeze(g, v_expand(g, taps[0], 4, all), 4);
    for (int k = 1; k < n; k++) {
        val is = v_2(g, FN_EQ, which, v_int(g, ASSAY_I64, k));
        chosen = v_select(g, is, v_unsqueeze(g, v_expand(g, taps[k], 4, all), 4), chosen);
    }
    return v_expand(g, chosen, 5, all);
}

/* Every tap's share of the gradient is added to its pixel: planes in parallel, each in order. */
static val image_gradient(dag *g, val grad, const sampling *s, const point_taps taps[2], const tensor *t) {
    const int64_t *points = v_sizes(g, grad);
    int n = taps[0].n;
    int64_t sizes[6] = {points[0], points[1], points[2], points[3], n, n};
    int64_t lone[6] = {points[0], points[1], points[2], points[3], 1, 1};
    index_sum at[4] = {v_dim(g, sizes, 0), v_dim(g, sizes, 1)};
    val weight = {-1}, both = {-1};
    for (int d = 0; d < 2 && !g->failed && g->refused == NULL; d++) {
        index_sum here[5] = {at[0], index_constant(0), v_dim(g, sizes, 2), v_dim(g, sizes, 3), v_dim(g, sizes, 4 + d)};
        int64_t spread[6] = {points[0], 1, points[2], points[3], d == 0 ? n : 1, d == 0 ? 1 : n};
        at[2 + d] = v_index_within(g, v_keep(g, among_taps(g, taps[d].index, n, points)), here, s->size[d]);
        val one = v_reshape(g, among_taps(g, taps[d].weight, n, points), 6, spread);
        val valid = v_reshape(g, among_taps(g, taps[d].valid, n, points), 6, spread);
        weight = d == 0 ? one : v_mul(g, weight, one);
        both = d == 0 ? valid : v_2(g, FN_AND, both, valid);
    }
    /* every channel reads these tables */
    val updates = v_mul(g, v_reshape(g, grad, 6, lone), v_keep(g, weight));
    updates = v_select(g, v_keep(g, both), updates, real(g, grad, 0));
    val zeros = v_expand(g, v_int(g, v_dtype(g, grad), 0), 4, t->sizes);
    return v_scatter(g, zeros, updates, &(view_map){.n_at = 4, .at = at}, true);
}

void grid_sampler_backward_parts(dag *g, const op_call *call, const outputs *out) {
    sampling s;
    point_taps taps[2];
    val grad = v_arg(g, call, 0), x = v_arg(g, call, 1), pair[2];
    points_of(g, call, 1, 3, &s, taps);
    const int64_t *sizes = call_tensor(call, 0)->sizes;
    bool wanted = call->args[6].bools[0];
    v_result(g, 0, wanted ? image_gradient(g, grad, &s, taps, &out->items[0]) : v_real(g, out->items[0].dtype, 0));
    for (int d = 0; d < 2 && !g->failed && g->refused == NULL; d++) {
        const val *rows = d == 0 ? taps[0].weight : taps[0].slope, *columns = d == 0 ? taps[1].slope : taps[1].weight;
        val share = v_mul(g, grad, weighed(g, x, &s, taps, rows, columns, sizes));
        pair[d] = v_unsqueeze(g, v_reduce(g, RED_SUM, share, 2, false), 3);
    }
    v_result(g, 1, g->failed || g->refused != NULL ? grad : v_join(g, 2, pair, 3));
}
