/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling to another size, in primitives: positions and weights are values along one axis, pixels are read where they say.
   A nearest pixel that a quotient of whole numbers gives needs no table. */
#include "engine/ops/parts.h"
#include "engine/schema/resample.h"

#include <math.h>
#include <string.h>

/* --- axes ------------------------------------------------------------------------------------------------------------------- */

/* What positions along one axis read: values of the axis alone. */
typedef struct axis_taps {
    int n;
    val index[RESAMPLE_MAX_TAPS]; /* whole numbers, inside */
    val weight[RESAMPLE_MAX_TAPS];
} axis_taps;

/* Input elements per output element, rounded as ATen does: in the type of positions. */
static double step_of(const resample_axis *a) {
    if (a->align_corners) {
        double exact = a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
        return a->in_double || a->out <= 1 ? exact : (double)((float)(a->in - 1) / (float)(a->out - 1));
    }
    if (a->factor > 0) {
        return 1 / a->factor; /* a constant of f32 is rounded there */
    }
    return a->in_double ? (double)a->in / (double)a->out : (double)((float)a->in / (float)a->out);
}

/* The cubic convolution kernel with A = -0.75 at distances 1 + t, t, 1 - t, 2 - t, in Horner's form of t. */
static void cubic_weights(dag *g, val t, val *weight) {
    static const double of[4][4] = {{0, -0.75, 1.5, -0.75}, {1, 0, -2.25, 1.25}, {0, 0.75, 1.5, -1.25}, {0, 0, -0.75, 0.75}};
    for (int k = 0; k < 4; k++) {
        val sum = v_add_real(g, v_mul_real(g, t, of[k][3]), of[k][2]);
        for (int power = 1; power >= 0; power--) {
            sum = v_mul(g, sum, t);
            sum = of[k][power] != 0 ? v_add_real(g, sum, of[k][power]) : sum;
        }
        weight[k] = sum;
    }
}

static val clipped(dag *g, val x, int64_t size) {
    val low = v_2(g, FN_MAXIMUM, x, v_int(g, v_dtype(g, x), 0));
    return v_2(g, FN_MINIMUM, low, v_int(g, v_dtype(g, x), size - 1));
}

static void compute_taps(dag *g, const resample_axis *a, axis_taps *out) {
    dtype t = a->in_double ? ASSAY_F64 : ASSAY_F32;
    val place = v_cast(g, v_iota(g, 1, &a->out, 0), t), step = v_real(g, t, step_of(a)), at;
    out->n = (int)a->mode;
    if (a->mode == RESAMPLE_NEAREST) { /* in f32 whatever the type */
        at = v_mul(g, v_cast(g, v_iota(g, 1, &a->out, 0), ASSAY_F32), v_cast(g, step, ASSAY_F32));
        out->index[0] = clipped(g, v_cast(g, v_1(g, FN_FLOOR, at), ASSAY_I32), a->in);
        return;
    }
    at = a->align_corners ? v_mul(g, place, step) : v_add_real(g, v_mul(g, v_add_real(g, place, 0.5), step), -0.5);
    if (a->mode == RESAMPLE_LINEAR) {
        at = a->in == a->out ? place : v_greater(g, at, v_real(g, t, 0));
    }
    val first = v_lesser(g, v_1(g, FN_FLOOR, at), v_real(g, t, (double)(a->in - 1)));
    val rest = v_lesser(g, v_greater(g, v_sub(g, at, first), v_real(g, t, 0)), v_real(g, t, 1));
    val whole = v_cast(g, first, ASSAY_I32); /* as wide as f32, which vectors like */
    if (a->mode == RESAMPLE_CUBIC) {
        cubic_weights(g, rest, out->weight);
    } else {
        out->weight[0] = v_sub(g, v_real(g, t, 1), rest);
        out->weight[1] = rest;
    }
    for (int k = 0; k < out->n; k++) {
        int64_t shift = a->mode == RESAMPLE_CUBIC ? k - 1 : k;
        out->index[k] = clipped(g, v_add(g, whole, v_int(g, ASSAY_I32, shift)), a->in);
    }
}

/* Computed once, as tables: every row and plane reads them. */
static void taps_along(dag *g, const resample_axis *a, axis_taps *out) {
    compute_taps(g, a, out);
    for (int k = 0; k < out->n; k++) {
        out->index[k] = v_keep(g, out->index[k]);
        if (a->mode != RESAMPLE_NEAREST) {
            out->weight[k] = v_keep(g, out->weight[k]);
        }
    }
}

/* Whether the nearest element of every position is floor(position * in / out). */
static bool is_quotient(const resample_axis *a) {
    float step = a->factor > 0 ? (float)(1.0 / a->factor) : (float)a->in / (float)a->out;
    for (int64_t o = 0; o < a->out && a->out != a->in && a->out != 2 * a->in; o++) {
        int64_t nearest = (int64_t)floorf((float)o * step);
        nearest = nearest < a->in ? nearest : a->in - 1;
        if (nearest != o * a->in / a->out) {
            return false;
        }
    }
    return true;
}

static bool axes_of(dag *g, const op_call *call, resample_mode mode, bool backward, resample_axis axes[2]) {
    int align_arg = mode == RESAMPLE_NEAREST ? -1 : backward ? 3 : 2;
    int factor_arg = (backward ? 3 : 2) + (align_arg >= 0 ? 1 : 0);
    const int64_t *in = backward ? call->args[2].ints : call_tensor(call, 0)->sizes;
    if (resample_axes(call, mode, in, 1, align_arg, factor_arg, call_tensor(call, 0)->dtype, axes, NULL) != ASSAY_OK) {
        v_refuse(g, "sizes that do not fit");
        return false;
    }
    return true;
}

/* A value along dimension d of four. */
static val along(dag *g, val x, int d) {
    int64_t sizes[4] = {1, 1, 1, 1};
    sizes[d] = v_size(g, x, 0);
    return v_reshape(g, x, 4, sizes);
}

/* --- forwards --------------------------------------------------------------------------------------------------------------- */

static index_sum nearest_at(dag *g, const resample_axis *a, index_sum place) {
    if (is_quotient(a)) {
        return index_quotient(&g->indices, v_line(g, place, a->in, 0), a->out);
    }
    axis_taps taps;
    taps_along(g, a, &taps);
    return v_index_within(g, taps.index[0], &place, a->in);
}

void upsample_nearest_parts(dag *g, const op_call *call, const outputs *out) {
    const int64_t *sizes = out->items[0].sizes;
    resample_axis axes[2];
    val x = v_raw(g, call, 0);
    if (!axes_of(g, call, RESAMPLE_NEAREST, false, axes)) {
        return;
    }
    index_sum at[4] = {v_dim(g, sizes, 0), v_dim(g, sizes, 1), nearest_at(g, &axes[0], v_dim(g, sizes, 2)),
                       nearest_at(g, &axes[1], v_dim(g, sizes, 3))};
    v_result(g, 0, v_view(g, x, 4, sizes, &(view_map){.n_at = 4, .at = at}));
}

/* x's elements at the taps along dimension d, weighed. */
static val weighed_along(dag *g, val x, int d, const axis_taps *taps, const resample_axis *a) {
    int64_t sizes[4];
    if (g->failed || g->refused != NULL) {
        return x;
    }
    memcpy(sizes, v_sizes(g, x), sizeof sizes);
    sizes[d] = a->out;
    index_sum at[4], place = v_dim(g, sizes, d);
    val sum = {-1};
    for (int i = 0; i < 4; i++) {
        at[i] = v_dim(g, sizes, i);
    }
    for (int k = 0; k < taps->n && !g->failed && g->refused == NULL; k++) {
        at[d] = v_index_within(g, taps->index[k], &place, a->in);
        val element = v_mul(g, v_view(g, x, 4, sizes, &(view_map){.n_at = 4, .at = at}), along(g, taps->weight[k], d));
        sum = k == 0 ? element : v_add(g, sum, element);
    }
    return sum;
}

/* Row by row: the taps of a row are weighed first, then the rows. Where rows are no fewer afterwards, each that there is is weighed once, and
   kept: elements here and there are what takes long. */
static void upsample_smooth(dag *g, const op_call *call, const outputs *out, resample_mode mode) {
    const int64_t *sizes = out->items[0].sizes;
    resample_axis axes[2];
    axis_taps rows, columns;
    val x = v_arg(g, call, 0), sum = {-1};
    if (!axes_of(g, call, mode, false, axes)) {
        return;
    }
    taps_along(g, &axes[0], &rows);
    taps_along(g, &axes[1], &columns);
    if (axes[0].in <= axes[0].out) {
        val weighed = v_keep(g, weighed_along(g, x, 3, &columns, &axes[1]));
        v_result(g, 0, weighed_along(g, weighed, 2, &rows, &axes[0]));
        return;
    }
    if (axes[1].in <= 8 * axes[1].out) {
        val weighed = v_keep(g, weighed_along(g, x, 2, &rows, &axes[0]));
        v_result(g, 0, weighed_along(g, weighed, 3, &columns, &axes[1]));
        return;
    }
    index_sum at[4], y = v_dim(g, sizes, 2), place = v_dim(g, sizes, 3);
    at[0] = v_dim(g, sizes, 0);
    at[1] = v_dim(g, sizes, 1);
    for (int r = 0; r < rows.n && !g->failed && g->refused == NULL; r++) {
        val row = {-1};
        at[2] = v_index_within(g, rows.index[r], &y, axes[0].in);
        for (int c = 0; c < columns.n; c++) {
            at[3] = v_index_within(g, columns.index[c], &place, axes[1].in);
            val pixel = v_view(g, x, 4, sizes, &(view_map){.n_at = 4, .at = at});
            pixel = v_mul(g, pixel, along(g, columns.weight[c], 3));
            row = c == 0 ? pixel : v_add(g, row, pixel);
        }
        row = v_mul(g, row, along(g, rows.weight[r], 2));
        sum = r == 0 ? row : v_add(g, sum, row);
    }
    v_result(g, 0, sum);
}

void upsample_bilinear_parts(dag *g, const op_call *call, const outputs *out) {
    upsample_smooth(g, call, out, RESAMPLE_LINEAR);
}

void upsample_bicubic_parts(dag *g, const op_call *call, const outputs *out) {
    upsample_smooth(g, call, out, RESAMPLE_CUBIC);
}

/* --- backwards -------------------------------------------------------------------------------------------------------------- */

typedef struct nearest_backward {
    val grad;
    const resample_axis *axes;
} nearest_backward;

/* Copies of element i: ceil(i out / in) and on, to below ceil((i + 1) out / in). */
static val copies_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const nearest_backward *b = self;
    index_sum at[4] = {v_dim(g, sizes, 0), v_dim(g, sizes, 1)}, k[2] = {row, column};
    view_bound bounds[2];
    view_map map = {.n_at = 4, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    for (int d = 0; d < 2; d++) {
        const resample_axis *a = &b->axes[d];
        index_sum i = v_dim(g, sizes, 2 + d);
        index_sum from = index_quotient(&g->indices, v_line(g, i, a->out, a->in - 1), a->in);
        index_sum to = index_quotient(&g->indices, v_line(g, i, a->out, a->out + a->in - 1), a->in);
        at[2 + d] = index_add(&g->indices, from, k[d]);
        if (a->out % a->in != 0) {
            bounds[map.n_bounds++] = (view_bound){index_add(&g->indices, at[2 + d], v_line(g, to, -1, 0)), -a->out, -1};
        }
    }
    return v_view(g, b->grad, ndim, sizes, &map);
}

void upsample_nearest_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    resample_axis axes[2];
    nearest_backward b = {v_arg(g, call, 0), axes};
    if (!axes_of(g, call, RESAMPLE_NEAREST, true, axes)) {
        return;
    }
    if (is_quotient(&axes[0]) && is_quotient(&axes[1])) {
        int64_t most[2];
        for (int d = 0; d < 2; d++) {
            most[d] = (axes[d].out + axes[d].in - 1) / axes[d].in;
        }
        v_result(g, 0, v_sum_of_taps(g, 4, t->sizes, most[0], most[1], copies_tap, &b));
        return;
    }
    const int64_t *sizes = v_sizes(g, b.grad);
    index_sum at[4] = {v_dim(g, sizes, 0), v_dim(g, sizes, 1), nearest_at(g, &axes[0], v_dim(g, sizes, 2)),
                       nearest_at(g, &axes[1], v_dim(g, sizes, 3))};
    val zeros = v_expand(g, v_int(g, v_dtype(g, b.grad), 0), 4, t->sizes);
    v_result(g, 0, v_scatter(g, zeros, b.grad, &(view_map){.n_at = 4, .at = at}, true));
}

/* Which positions read each element along one axis, as tables [most, in]: the k-th of them, its weight, whether it does. */
typedef struct axis_readers {
    int64_t most;
    val place, weight, reads;
} axis_readers;

/* What a position may read, however the machine rounds it: from *low to *high. */
static void readable(const resample_axis *a, int64_t place, int64_t *low, int64_t *high) {
    int64_t index[RESAMPLE_MAX_TAPS];
    double weight[RESAMPLE_MAX_TAPS];
    resample_taps(a, place, index, weight);
    const double at = (double)index[0] + weight[1], off = (at + 1) * (a->in_double ? 0x1p-50 : 0x1p-21);
    *low = at - off > 0 ? (int64_t)(at - off) : 0;
    *high = (int64_t)(at + off) + 1;
    *high = *high < a->in ? *high : a->in - 1;
}

/* Positions that read an element lie side by side: the most that any can have. */
static int64_t most_readers(const resample_axis *a) {
    int64_t most = 0, from = 0, to = 0, low, high;
    for (int64_t i = 0; i < a->in; i++) {
        while (from < a->out && (readable(a, from, &low, &high), high < i)) {
            from++;
        }
        while (to < a->out && (readable(a, to, &low, &high), low <= i)) {
            to++;
        }
        most = to - from > most ? to - from : most;
    }
    return most < 1 ? 1 : most;
}

static void readers_along(dag *g, const resample_axis *a, axis_readers *out) {
    axis_taps taps;
    taps_along(g, a, &taps);
    out->most = most_readers(a);
    /* the first that reads element i or one behind it: as many as read none of these stand before it */
    int64_t pairs[2] = {a->out, a->in}, sizes[2] = {out->most, a->in}, column[2] = {a->out, 1};
    val element = v_cast(g, v_iota(g, 2, pairs, 1), ASSAY_I32);
    val before = v_2(g, FN_LT, v_expand(g, v_reshape(g, taps.index[1], 2, column), 2, pairs), element);
    val first = v_keep(g, v_reduce(g, RED_SUM, v_cast(g, before, ASSAY_I32), 1, false));
    val place = v_add(g, v_expand(g, v_unsqueeze(g, first, 0), 2, sizes), v_cast(g, v_iota(g, 2, sizes, 0), ASSAY_I32));
    val inside = v_2(g, FN_LT, place, v_int(g, ASSAY_I32, a->out));
    place = v_keep(g, clipped(g, place, a->out));
    out->place = place;
    element = v_cast(g, v_iota(g, 2, sizes, 1), ASSAY_I32);
    index_sum here[2] = {v_dim(g, sizes, 0), v_dim(g, sizes, 1)};
    index_sum at = v_index_within(g, place, here, a->out);
    val sum = {-1}, reads = {-1};
    for (int k = 0; k < taps.n && !g->failed && g->refused == NULL; k++) {
        val index = v_view(g, taps.index[k], 2, sizes, &(view_map){.n_at = 1, .at = &at});
        val weight = v_view(g, taps.weight[k], 2, sizes, &(view_map){.n_at = 1, .at = &at});
        val hits = v_2(g, FN_AND, v_2(g, FN_EQ, index, element), inside);
        weight = v_select(g, hits, weight, v_int(g, v_dtype(g, weight), 0));
        sum = k == 0 ? weight : v_add(g, sum, weight);
        reads = k == 0 ? hits : v_2(g, FN_OR, reads, hits);
    }
    out->weight = v_keep(g, sum);
    out->reads = v_keep(g, reads);
}

/* Gradients of positions along dimension `dim` of four. */
typedef struct linear_backward {
    val grad;
    int dim;
    int64_t n;
    const axis_readers *readers;
} linear_backward;

/* What no position reads is no zero times its gradient, which may be infinite. */
static val readers_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    (void)column;
    const linear_backward *b = self;
    index_sum at[4], here[2] = {row, v_dim(g, sizes, b->dim)};
    view_map table = {.n_at = 2, .at = here};
    for (int d = 0; d < 4; d++) {
        at[d] = d == b->dim ? v_index_within(g, b->readers->place, here, b->n) : v_dim(g, sizes, d);
    }
    val grad = v_view(g, b->grad, ndim, sizes, &(view_map){.n_at = 4, .at = at});
    val reads = v_view(g, b->readers->reads, ndim, sizes, &table);
    val weight = v_cast(g, v_view(g, b->readers->weight, ndim, sizes, &table), v_dtype(g, grad));
    return v_select(g, reads, v_mul(g, grad, weight), v_int(g, v_dtype(g, grad), 0));
}

/* Rows are gathered first, then columns: each element from the positions that read it. */
void upsample_bilinear_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const int64_t *to = out->items[0].sizes;
    resample_axis axes[2];
    if (!axes_of(g, call, RESAMPLE_LINEAR, true, axes)) {
        return;
    }
    axis_readers readers;
    linear_backward b = {.grad = v_arg(g, call, 0), .readers = &readers};
    int64_t sizes[4] = {to[0], to[1], to[2], axes[1].out};
    for (int d = 0; d < 2 && !g->failed && g->refused == NULL; d++) {
        readers_along(g, &axes[d], &readers);
        b.dim = 2 + d;
        b.n = axes[d].out;
        sizes[2 + d] = axes[d].in;
        b.grad = v_sum_of_taps(g, 4, sizes, readers.most, 1, readers_tap, &b);
        b.grad = d == 0 ? v_keep(g, b.grad) : b.grad;
    }
    v_result(g, 0, b.grad);
}
