/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling in primitives: windows are views, with bounds where they hang over the edge; gradients are gathered from the few
   windows that cover a place. Letters: y, x in the input; o counts windows; k is a place in a window. */
#include "engine/ops/parts.h"
#include "engine/schema/window.h"

#include <math.h>
#include <string.h>

/* A pool and what it reads, for v_sum_of_taps. */
typedef struct pooling {
    pool_shape s;
    val from;
} pooling;

/* Appends a bound unless it always holds. */
static void keep_within(view_map *map, view_bound *bounds, index_sum at, int64_t low, int64_t high) {
    int64_t least, most;
    index_range(at, &least, &most);
    if (least < low || most > high) {
        bounds[map->n_bounds++] = (view_bound){at, low, high};
    }
}

static index_sum plus(dag *g, index_sum a, index_sum b) {
    return index_add(&g->indices, a, b);
}

/* Elements row, column of the windows (of out's sizes, dimensions behind those being free); `fill` over the edge. */
static val window_view(dag *g, const pool_shape *s, val x, int ndim, const int64_t *sizes, index_sum row, index_sum column,
                       number fill) {
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[2];
    int first = v_ndim(g, x) - 2;
    view_map map = {.n_at = first + 2, .at = at, .bounds = bounds, .fill = fill};
    for (int d = 0; d < first; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum start = v_line(g, v_dim(g, sizes, first + d), s->stride[d], -s->pad[d]);
        at[first + d] = plus(g, start, v_line(g, k[d], s->dilation[d], 0));
        keep_within(&map, bounds, at[first + d], 0, s->in[d] - 1);
    }
    return v_view(g, x, ndim, sizes, &map);
}

static void window_sizes(dag *g, const pool_shape *s, val x, int64_t *sizes) {
    int first = v_ndim(g, x) - 2;
    memcpy(sizes, v_sizes(g, x), (size_t)first * sizeof *sizes);
    sizes[first] = s->out[0];
    sizes[first + 1] = s->out[1];
}

/* --- the largest ------------------------------------------------------------------------------------------------------------ */

static number lowest(dtype t) {
    return dtype_is_floating(t) ? number_of_double(-INFINITY) : number_of_int(t == ASSAY_I32 ? INT32_MIN : INT64_MIN);
}

/* How far into its window, along d, the first element lies that is not padding; in i32. */
static val first_inside(dag *g, const pool_shape *s, int d, int ndim, const int64_t *sizes) {
    index_sum start = v_line(g, v_dim(g, sizes, ndim - 2 + d), s->stride[d], -s->pad[d]);
    val at = v_cast(g, v_coordinate(g, ndim, sizes, start), ASSAY_I32), zero = v_int(g, ASSAY_I32, 0);
    val inside = v_cast(g, v_coordinate(g, ndim, sizes, index_remainder(&g->indices, start, s->dilation[d])), ASSAY_I32);
    inside = s->dilation[d] == 1 ? zero : inside;
    return v_select(g, v_2(g, FN_LT, at, zero), v_sub(g, inside, at), zero);
}

/* The index in the plane of each window's first place, padding or not. */
static val window_start(dag *g, const pool_shape *s, int ndim, const int64_t *sizes) {
    index_sum y = v_line(g, v_dim(g, sizes, ndim - 2), s->stride[0], -s->pad[0]);
    index_sum x = v_line(g, v_dim(g, sizes, ndim - 1), s->stride[1], -s->pad[1]);
    return v_coordinate(g, ndim, sizes, plus(g, v_line(g, y, s->in[1], 0), x));
}

/* Element after element, as ATen walks a window: a larger one or NaN takes the place. */
static void max_of_few(dag *g, const pool_shape *s, val x, const int64_t *sizes, val *most, val *index) {
    dtype t = v_dtype(g, x);
    int ndim = v_ndim(g, x);
    bool pads = s->pad[0] > 0 || s->pad[1] > 0;
    val offset = v_int(g, ASSAY_I32, 0), best = v_constant(g, t, lowest(t));
    if (pads) {
        val y = first_inside(g, s, 0, ndim, sizes), x0 = first_inside(g, s, 1, ndim, sizes);
        offset = v_add(g, v_mul(g, y, v_int(g, ASSAY_I32, s->in[1])), x0);
    }
    for (int64_t i = 0; i < s->kernel[0] * s->kernel[1] && !g->failed && g->refused == NULL; i++) {
        int64_t row = i / s->kernel[1], column = i % s->kernel[1];
        val here = window_view(g, s, x, ndim, sizes, index_constant(row), index_constant(column), lowest(t));
        if (i == 0 && !pads) {
            best = here;
            continue;
        }
        val wins = v_2(g, FN_GT, here, best);
        wins = dtype_is_floating(t) ? v_2(g, FN_OR, wins, v_1(g, FN_IS_NAN, here)) : wins;
        val its = v_int(g, ASSAY_I32, row * s->dilation[0] * s->in[1] + column * s->dilation[1]);
        best = v_select(g, wins, here, best);
        offset = v_select(g, wins, its, offset);
    }
    *most = best;
    *index = v_add(g, window_start(g, s, ndim, sizes), v_cast(g, offset, ASSAY_I64));
}

/* Two reductions: the largest, then the first place that holds it (of NaN the last). A place counts down from n, a NaN's up
   from n + 1. */
static void max_of_many(dag *g, const pool_shape *s, val x, const int64_t *sizes, val *most, val *index) {
    dtype t = v_dtype(g, x);
    int ndim = v_ndim(g, x);
    int64_t all[TENSOR_MAX_DIMS], n = s->kernel[0] * s->kernel[1];
    memcpy(all, sizes, (size_t)ndim * sizeof *sizes);
    all[ndim] = s->kernel[0];
    all[ndim + 1] = s->kernel[1];
    uint64_t window = (uint64_t)3 << ndim;
    index_sum row = v_dim(g, all, ndim), column = v_dim(g, all, ndim + 1);
    val taps = window_view(g, s, x, ndim + 2, all, row, column, lowest(t));
    *most = v_reduce(g, RED_MAX, taps, window, false);
    /* Padding holds the lowest number too, but is no place. */
    val inside = window_view(g, s, v_expand(g, v_int(g, ASSAY_B8, 1), ndim, v_sizes(g, x)), ndim + 2, all, row, column,
                             number_of_int(0));
    index_sum place = plus(g, v_line(g, row, s->kernel[1], 0), column);
    val down = v_cast(g, v_coordinate(g, ndim + 2, all, v_line(g, place, -1, n)), ASSAY_I32);
    val up = v_cast(g, v_coordinate(g, ndim + 2, all, v_line(g, place, 1, n + 1)), ASSAY_I32), none = v_int(g, ASSAY_I32, 0);
    val holds = v_2(g, FN_EQ, taps, v_reduce(g, RED_MAX, taps, window, true));
    val key = v_select(g, v_2(g, FN_AND, holds, inside), down, none);
    key = dtype_is_floating(t) ? v_select(g, v_1(g, FN_IS_NAN, taps), up, key) : key;
    key = v_reduce(g, RED_MAX, key, window, false);
    val many = v_int(g, ASSAY_I32, n);
    val tap = v_select(g, v_2(g, FN_GT, key, many), v_sub(g, key, v_int(g, ASSAY_I32, n + 1)), v_sub(g, many, key));
    val width = v_int(g, ASSAY_I32, s->kernel[1]);
    val y = v_mul(g, v_2(g, FN_DIV, tap, width), v_int(g, ASSAY_I32, s->dilation[0] * s->in[1]));
    val offset = v_add(g, y, v_mul(g, v_2(g, FN_FMOD, tap, width), v_int(g, ASSAY_I32, s->dilation[1])));
    *index = v_add(g, window_start(g, s, ndim, sizes), v_cast(g, offset, ASSAY_I64));
}

void max_pool_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    pool_shape s;
    int64_t sizes[TENSOR_MAX_DIMS];
    val x = v_arg(g, call, 0), most, index;
    if (pool_shape_of(call, 0, 1, 4, call_bool(call, 5), &s, NULL) != ASSAY_OK || s.in[0] * s.in[1] >= INT32_MAX / 4) {
        v_refuse(g, "planes too large to number");
        return;
    }
    window_sizes(g, &s, x, sizes);
    if (s.kernel[0] * s.kernel[1] <= V_FEW_TAPS) {
        max_of_few(g, &s, x, sizes, &most, &index);
    } else {
        max_of_many(g, &s, x, sizes, &most, &index);
    }
    v_result(g, 0, most);
    v_result(g, 1, index);
}

/* The indices say where each gradient goes, whatever the windows: planes in parallel, each in order. */
void max_pool_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    val grad = v_arg(g, call, 0), index = v_raw(g, call, 7);
    int ndim = t->ndim, first = ndim - 2;
    int64_t flat[TENSOR_MAX_DIMS];
    index_sum at[TENSOR_MAX_DIMS], here[TENSOR_MAX_DIMS];
    memcpy(flat, t->sizes, (size_t)first * sizeof *flat);
    flat[first] = t->sizes[first] * t->sizes[first + 1];
    for (int d = 0; d < ndim; d++) {
        here[d] = at[d] = v_dim(g, v_sizes(g, grad), d);
    }
    at[first] = v_index_of(g, index, here, flat[first]);
    val zeros = v_expand(g, v_int(g, v_dtype(g, grad), 0), first + 1, flat);
    val sums = v_scatter(g, zeros, grad, &(view_map){.n_at = first + 1, .at = at}, true);
    v_result(g, 0, v_cast(g, v_reshape(g, sums, ndim, t->sizes), t->dtype));
}

/* --- means ------------------------------------------------------------------------------------------------------------------ */

static val avg_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const pooling *p = self;
    return window_view(g, &p->s, p->from, ndim, sizes, row, column, number_of_int(0));
}

/* How many elements windows cover along dimension d: of the input, or with the padding, which ends at the padded edge. */
static val covered(dag *g, const pool_shape *s, int d, bool padded, int ndim, const int64_t *sizes) {
    index_sum start = v_line(g, v_dim(g, sizes, ndim - 2 + d), s->stride[d], -s->pad[d]);
    val from = v_cast(g, v_coordinate(g, ndim, sizes, start), ASSAY_I32);
    val to = v_add(g, from, v_int(g, ASSAY_I32, s->kernel[d]));
    to = v_2(g, FN_MINIMUM, to, v_int(g, ASSAY_I32, s->in[d] + (padded ? s->pad[d] : 0)));
    from = padded ? from : v_2(g, FN_MAXIMUM, from, v_int(g, ASSAY_I32, 0));
    return v_sub(g, to, from);
}

/* The number that all windows divide by; 0 when they differ. */
static int64_t one_divisor(const op_call *call, const pool_shape *s, int count_arg) {
    if (!call_is_none(call, count_arg + 1)) {
        return call_int(call, count_arg + 1);
    }
    for (int d = 0; d < 2; d++) {
        int64_t edge = s->in[d] + (call_bool(call, count_arg) ? s->pad[d] : 0);
        bool cut = !call_bool(call, count_arg) && s->pad[d] > 0;
        if (cut || (s->out[d] - 1) * s->stride[d] - s->pad[d] + s->kernel[d] > edge) {
            return 0;
        }
    }
    return s->kernel[0] * s->kernel[1];
}

static val divisor(dag *g, const pool_shape *s, bool padded, int ndim, const int64_t *sizes, dtype t) {
    val n = v_mul(g, covered(g, s, 0, padded, ndim, sizes), covered(g, s, 1, padded, ndim, sizes));
    return v_cast(g, v_2(g, FN_MAXIMUM, n, v_int(g, ASSAY_I32, 1)), t);
}

void avg_pool_parts(dag *g, const op_call *call, const outputs *out) {
    pooling p = {.from = v_arg(g, call, 0)};
    int64_t sizes[TENSOR_MAX_DIMS];
    if (pool_shape_of(call, 0, 1, -1, call_bool(call, 4), &p.s, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    p.s.dilation[0] = p.s.dilation[1] = 1;
    bool whole = !dtype_is_floating(v_dtype(g, p.from));
    p.from = whole ? v_cast(g, p.from, ASSAY_I64) : p.from;
    window_sizes(g, &p.s, p.from, sizes);
    int ndim = out->items[0].ndim;
    dtype t = v_dtype(g, p.from);
    val sum = v_sum_of_taps(g, ndim, sizes, p.s.kernel[0], p.s.kernel[1], avg_tap, &p);
    int64_t by = one_divisor(call, &p.s, 5);
    if (by != 0) {
        v_result(g, 0, whole ? v_div(g, sum, v_int(g, t, by)) : v_mul_real(g, sum, 1 / (double)by));
    } else {
        v_result(g, 0, v_div(g, sum, divisor(g, &p.s, call_bool(call, 5), ndim, sizes, t)));
    }
}

/* Windows that cover place y: those before floor((y + pad) / stride), the k-th of them, and it still reaches y. */
static val avg_backward_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const pooling *p = self;
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[4];
    int first = v_ndim(g, p->from) - 2;
    view_map map = {.n_at = first + 2, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    for (int d = 0; d < first; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum y = v_line(g, v_dim(g, sizes, first + d), 1, p->s.pad[d]);
        at[first + d] = plus(g, index_quotient(&g->indices, y, p->s.stride[d]), v_line(g, k[d], -1, 0));
        index_sum inside = plus(g, index_remainder(&g->indices, y, p->s.stride[d]), v_line(g, k[d], p->s.stride[d], 0));
        keep_within(&map, bounds, at[first + d], 0, p->s.out[d] - 1);
        keep_within(&map, bounds, inside, 0, p->s.kernel[d] - 1);
    }
    return v_view(g, p->from, ndim, sizes, &map);
}

void avg_pool_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    pooling p = {.from = v_arg(g, call, 0)};
    if (pool_shape_of(call, 1, 2, -1, call_bool(call, 5), &p.s, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    int64_t by = one_divisor(call, &p.s, 6), reach[2];
    if (by == 0) {
        int ndim = v_ndim(g, p.from);
        int64_t sizes[TENSOR_MAX_DIMS];
        memcpy(sizes, v_sizes(g, p.from), (size_t)ndim * sizeof *sizes);
        p.from = v_div(g, p.from, divisor(g, &p.s, call_bool(call, 6), ndim, sizes, v_dtype(g, p.from)));
    }
    for (int d = 0; d < 2; d++) {
        reach[d] = (p.s.kernel[d] - 1) / p.s.stride[d] + 1;
    }
    val sum = v_sum_of_taps(g, t->ndim, t->sizes, reach[0], reach[1], avg_backward_tap, &p);
    v_result(g, 0, by != 0 ? v_mul_real(g, sum, 1 / (double)by) : sum);
}

/* --- adaptive means: window o runs from floor(o in / out) to ceil((o + 1) in / out) ------------------------------------------ */

static index_sum window_from(dag *g, const pool_shape *s, int d, index_sum o) {
    return index_quotient(&g->indices, v_line(g, o, s->in[d], 0), s->out[d]);
}

static index_sum window_to(dag *g, const pool_shape *s, int d, index_sum o) {
    return index_quotient(&g->indices, v_line(g, o, s->in[d], s->in[d] + s->out[d] - 1), s->out[d]);
}

static int64_t longest_window(const pool_shape *s, int d) {
    int64_t longest = 0;
    for (int64_t o = 0; o < s->out[d]; o++) {
        int64_t from, to;
        pool_window_adaptive(s, d, o, &from, &to);
        longest = to - from > longest ? to - from : longest;
    }
    return longest;
}

static val adaptive_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const pooling *p = self;
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[2];
    int first = v_ndim(g, p->from) - 2;
    view_map map = {.n_at = first + 2, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    for (int d = 0; d < first; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum o = v_dim(g, sizes, first + d);
        at[first + d] = plus(g, window_from(g, &p->s, d, o), k[d]);
        if (p->s.in[d] % p->s.out[d] != 0) { /* else all windows are as long */
            index_sum past = plus(g, at[first + d], v_line(g, window_to(g, &p->s, d, o), -1, 0));
            bounds[map.n_bounds++] = (view_bound){past, -p->s.in[d], -1};
        }
    }
    return v_view(g, p->from, ndim, sizes, &map);
}

/* The elements of each window, of the windows' sizes. */
static val adaptive_divisor(dag *g, const pool_shape *s, int ndim, const int64_t *sizes, dtype t) {
    val n[2];
    for (int d = 0; d < 2; d++) {
        index_sum o = v_dim(g, sizes, ndim - 2 + d);
        index_sum length = plus(g, window_to(g, s, d, o), v_line(g, window_from(g, s, d, o), -1, 0));
        n[d] = v_coordinate(g, ndim, sizes, length);
    }
    return v_cast(g, v_mul(g, n[0], n[1]), t);
}

void adaptive_pool_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    pooling p = {.from = v_arg(g, call, 0)};
    if (pool_shape_adaptive(call, 0, t->sizes[t->ndim - 2], t->sizes[t->ndim - 1], &p.s, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    bool even = p.s.out[0] > 0 && p.s.out[1] > 0 && p.s.in[0] % p.s.out[0] == 0 && p.s.in[1] % p.s.out[1] == 0;
    int64_t rows = longest_window(&p.s, 0), columns = longest_window(&p.s, 1);
    val sum = v_sum_of_taps(g, t->ndim, t->sizes, rows, columns, adaptive_tap, &p);
    v_result(g, 0, even ? v_mul_real(g, sum, 1 / ((double)rows * (double)columns))
                        : v_div(g, sum, adaptive_divisor(g, &p.s, t->ndim, t->sizes, v_dtype(g, sum))));
}

/* Place y lies in windows floor(y out / in) to floor(((y + 1) out - 1) / in). */
static index_sum first_over(dag *g, const pool_shape *s, int d, index_sum y) {
    return index_quotient(&g->indices, v_line(g, y, s->out[d], 0), s->in[d]);
}

static val adaptive_backward_tap(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column) {
    const pooling *p = self;
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[2];
    int first = v_ndim(g, p->from) - 2;
    view_map map = {.n_at = first + 2, .at = at, .bounds = bounds, .fill = number_of_int(0)};
    for (int d = 0; d < first; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum y = v_dim(g, sizes, first + d);
        at[first + d] = plus(g, first_over(g, &p->s, d, y), k[d]);
        if (p->s.in[d] % p->s.out[d] != 0) {
            index_sum last = index_quotient(&g->indices, v_line(g, y, p->s.out[d], p->s.out[d] - 1), p->s.in[d]);
            bounds[map.n_bounds++] = (view_bound){plus(g, at[first + d], v_line(g, last, -1, 0)), -p->s.out[d], 0};
        }
    }
    return v_view(g, p->from, ndim, sizes, &map);
}

static int64_t most_over(const pool_shape *s, int d) {
    int64_t most = 1;
    for (int64_t y = 0; y < s->in[d]; y++) {
        int64_t n = ((y + 1) * s->out[d] - 1) / s->in[d] - y * s->out[d] / s->in[d] + 1;
        most = n > most ? n : most;
    }
    return most;
}

void adaptive_pool_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0], *grad = call_tensor(call, 0);
    int ndim = grad->ndim;
    pooling p = {.from = v_arg(g, call, 0)};
    if (pool_shape_adaptive(call, 1, grad->sizes[ndim - 2], grad->sizes[ndim - 1], &p.s, NULL) != ASSAY_OK ||
        p.s.out[0] == 0 || p.s.out[1] == 0) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    bool even = p.s.in[0] % p.s.out[0] == 0 && p.s.in[1] % p.s.out[1] == 0;
    double area = (double)(p.s.in[0] / p.s.out[0]) * (double)(p.s.in[1] / p.s.out[1]);
    if (!even) {
        p.from = v_div(g, p.from, adaptive_divisor(g, &p.s, ndim, grad->sizes, v_dtype(g, p.from)));
    }
    val sum = v_sum_of_taps(g, t->ndim, t->sizes, most_over(&p.s, 0), most_over(&p.s, 1), adaptive_backward_tap, &p);
    v_result(g, 0, even ? v_mul_real(g, sum, 1 / area) : sum);
}
