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
    int64_t first[2]; /* the first window of the part at hand */
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

/* Where window o of the part at hand begins along dimension d. */
static index_sum window_at(dag *g, const pooling *p, int d, index_sum o) {
    return v_line(g, o, p->s.stride[d], p->first[d] * p->s.stride[d] - p->s.pad[d]);
}

/* Elements row, column of the windows (of out's sizes, dimensions behind those being free); `fill` over the edge. */
static val window_view(dag *g, const pooling *p, val x, int ndim, const int64_t *sizes, index_sum row, index_sum column,
                       number fill) {
    const pool_shape *s = &p->s;
    index_sum at[TENSOR_MAX_DIMS], k[2] = {row, column};
    view_bound bounds[2];
    int first = v_ndim(g, x) - 2;
    view_map map = {.n_at = first + 2, .at = at, .bounds = bounds, .fill = fill};
    for (int d = 0; d < first; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    for (int d = 0; d < 2; d++) {
        index_sum start = window_at(g, p, d, v_dim(g, sizes, first + d));
        at[first + d] = plus(g, start, v_line(g, k[d], s->dilation[d], 0));
        keep_within(&map, bounds, at[first + d], 0, s->in[d] - 1);
    }
    return v_view(g, x, ndim, sizes, &map);
}

/* --- parts ------------------------------------------------------------------------------------------------------------------ */

/* What the windows of one part come to; up to two values, of `sizes`. */
typedef void part_fn(dag *g, const op_call *call, const pooling *p, const int64_t *sizes, val *made);

/* Windows that hang over an edge ask of each element whether it is there. Those within ask nothing, so they are a part of
   their own: at most three parts along each dimension, which are joined. */
static int parts_along(const pool_shape *s, int d, int64_t *ends) {
    int64_t low = (s->pad[d] + s->stride[d] - 1) / s->stride[d];
    int64_t room = s->in[d] - 1 + s->pad[d] - (s->kernel[d] - 1) * s->dilation[d];
    int64_t high = room < 0 ? 0 : room / s->stride[d] + 1;
    high = high < s->out[d] ? high : s->out[d];
    int n = 0;
    if (low > 0 && low < high) {
        ends[n++] = low;
    }
    if (low < high && high < s->out[d]) {
        ends[n++] = high;
    }
    ends[n++] = s->out[d];
    return n;
}

static void in_parts(dag *g, const op_call *call, const pooling *whole, part_fn *part, int n_values, val *made) {
    enum { MOST = 3, VALUES = 2 };
    int64_t row_ends[MOST], column_ends[MOST], sizes[TENSOR_MAX_DIMS];
    int n_rows = parts_along(&whole->s, 0, row_ends), n_columns = parts_along(&whole->s, 1, column_ends);
    val rows[VALUES][MOST], columns[VALUES][MOST], values[VALUES];
    int h = v_ndim(g, whole->from) - 2;
    memcpy(sizes, v_sizes(g, whole->from), (size_t)h * sizeof *sizes);
    for (int r = 0; r < n_rows; r++) {
        for (int c = 0; c < n_columns && !g->failed && g->refused == NULL; c++) {
            pooling p = *whole;
            p.first[0] = r > 0 ? row_ends[r - 1] : 0;
            p.first[1] = c > 0 ? column_ends[c - 1] : 0;
            sizes[h] = row_ends[r] - p.first[0];
            sizes[h + 1] = column_ends[c] - p.first[1];
            part(g, call, &p, sizes, values);
            for (int i = 0; i < n_values; i++) {
                columns[i][c] = v_expand(g, values[i], h + 2, sizes);
            }
        }
        for (int i = 0; i < n_values && !g->failed && g->refused == NULL; i++) {
            rows[i][r] = v_join(g, n_columns, columns[i], h + 1);
        }
    }
    for (int i = 0; i < n_values; i++) {
        made[i] = g->failed || g->refused != NULL ? whole->from : v_join(g, n_rows, rows[i], h);
    }
}

/* --- the largest ------------------------------------------------------------------------------------------------------------ */

/* What is below all others of self's type, not of the wider one that it is computed in: a window wholly in the padding answers it. */
static number lowest(const op_call *call) {
    const dtype t = call_tensor(call, 0)->dtype;
    return dtype_is_floating(t) ? number_of_double(-INFINITY) : number_of_int(t == ASSAY_U8 ? 0 : INT64_MIN >> (64 - 8 * (int)dtype_size(t)));
}

/* How far into its window, along d, the first element lies that is not padding; in i32. */
static val first_inside(dag *g, const pooling *p, int d, int ndim, const int64_t *sizes) {
    const pool_shape *s = &p->s;
    index_sum start = window_at(g, p, d, v_dim(g, sizes, ndim - 2 + d));
    int64_t low, high;
    index_range(start, &low, &high);
    if (low >= 0) {
        return v_int(g, ASSAY_I32, 0);
    }
    val at = v_cast(g, v_coordinate(g, ndim, sizes, start), ASSAY_I32), zero = v_int(g, ASSAY_I32, 0);
    val inside = v_cast(g, v_coordinate(g, ndim, sizes, index_remainder(&g->indices, start, s->dilation[d])), ASSAY_I32);
    inside = s->dilation[d] == 1 ? zero : inside;
    return v_select(g, v_2(g, FN_LT, at, zero), v_sub(g, inside, at), zero);
}

/* The index in the plane of each window's first place, padding or not. */
static val window_start(dag *g, const pooling *p, int ndim, const int64_t *sizes) {
    index_sum y = window_at(g, p, 0, v_dim(g, sizes, ndim - 2)), x = window_at(g, p, 1, v_dim(g, sizes, ndim - 1));
    return v_coordinate(g, ndim, sizes, plus(g, v_line(g, y, p->s.in[1], 0), x));
}

/* Element after element, as ATen walks a window: a larger one or NaN takes the place. */
static void max_of_few(dag *g, const op_call *call, const pooling *p, const int64_t *sizes, val *made) {
    const pool_shape *s = &p->s;
    val x = p->from, best = v_constant(g, v_dtype(g, x), lowest(call));
    dtype t = v_dtype(g, x);
    int ndim = v_ndim(g, x);
    bool pads = p->first[0] * s->stride[0] < s->pad[0] || p->first[1] * s->stride[1] < s->pad[1];
    val y = first_inside(g, p, 0, ndim, sizes), x0 = first_inside(g, p, 1, ndim, sizes);
    val offset = v_add(g, v_mul(g, y, v_int(g, ASSAY_I32, s->in[1])), x0);
    for (int64_t i = 0; i < s->kernel[0] * s->kernel[1] && !g->failed && g->refused == NULL; i++) {
        int64_t row = i / s->kernel[1], column = i % s->kernel[1];
        val here = window_view(g, p, x, ndim, sizes, index_constant(row), index_constant(column), lowest(call));
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
    made[0] = best;
    made[1] = v_add(g, window_start(g, p, ndim, sizes), v_cast(g, offset, ASSAY_I64));
}

/* Two reductions: the largest, then the first place that holds it (of NaN the last). A place counts down from n, a NaN's up
   from n + 1. */
static void max_of_many(dag *g, const op_call *call, const pooling *p, const int64_t *sizes, val *made) {
    const pool_shape *s = &p->s;
    val x = p->from;
    dtype t = v_dtype(g, x);
    int ndim = v_ndim(g, x);
    int64_t all[TENSOR_MAX_DIMS], n = s->kernel[0] * s->kernel[1];
    memcpy(all, sizes, (size_t)ndim * sizeof *sizes);
    all[ndim] = s->kernel[0];
    all[ndim + 1] = s->kernel[1];
    uint64_t window = (uint64_t)3 << ndim;
    index_sum row = v_dim(g, all, ndim), column = v_dim(g, all, ndim + 1);
    val taps = window_view(g, p, x, ndim + 2, all, row, column, lowest(call));
    made[0] = v_reduce(g, RED_MAX, taps, window, false);
    /* Padding holds the lowest number too, but is no place. */
    val inside = window_view(g, p, v_expand(g, v_int(g, ASSAY_B8, 1), ndim, v_sizes(g, x)), ndim + 2, all, row, column,
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
    made[1] = v_add(g, window_start(g, p, ndim, sizes), v_cast(g, offset, ASSAY_I64));
}

void max_pool_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    pooling p = {.from = v_arg(g, call, 0)};
    val made[2];
    if (pool_shape_of(call, 0, 1, 4, call_bool(call, 5), &p.s, NULL) != ASSAY_OK || p.s.in[0] * p.s.in[1] >= INT32_MAX / 4) {
        v_refuse(g, "planes too large to number");
        return;
    }
    in_parts(g, call, &p, p.s.kernel[0] * p.s.kernel[1] <= V_FEW_TAPS ? max_of_few : max_of_many, 2, made);
    v_result(g, 0, made[0]);
    v_result(g, 1, made[1]);
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
    return window_view(g, p, p->from, ndim, sizes, row, column, number_of_int(0));
}

/* How many elements windows cover along dimension d: of the input, or with the padding, which ends at the padded edge. */
static val covered(dag *g, const pooling *p, int d, bool padded, int ndim, const int64_t *sizes) {
    const pool_shape *s = &p->s;
    index_sum start = window_at(g, p, d, v_dim(g, sizes, ndim - 2 + d));
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

static val divisor(dag *g, const pooling *p, bool padded, int ndim, const int64_t *sizes, dtype t) {
    val n = v_mul(g, covered(g, p, 0, padded, ndim, sizes), covered(g, p, 1, padded, ndim, sizes));
    return v_cast(g, v_2(g, FN_MAXIMUM, n, v_int(g, ASSAY_I32, 1)), t);
}

/* Whether every window of the part lies within the input. */
static bool is_within(const pooling *p, int ndim, const int64_t *sizes) {
    bool within = true;
    for (int d = 0; d < 2; d++) {
        int64_t last = p->first[d] + sizes[ndim - 2 + d] - 1;
        within = within && p->first[d] * p->s.stride[d] >= p->s.pad[d] &&
                 last * p->s.stride[d] - p->s.pad[d] + p->s.kernel[d] <= p->s.in[d];
    }
    return within;
}

static void avg_part(dag *g, const op_call *call, const pooling *p, const int64_t *sizes, val *made) {
    int ndim = v_ndim(g, p->from);
    dtype t = v_dtype(g, p->from);
    val sum = v_sum_of_taps(g, ndim, sizes, p->s.kernel[0], p->s.kernel[1], avg_tap, p);
    int64_t by = one_divisor(call, &p->s, 5);
    by = by == 0 && is_within(p, ndim, sizes) ? p->s.kernel[0] * p->s.kernel[1] : by;
    if (by == 0) {
        made[0] = v_div(g, sum, divisor(g, p, call_bool(call, 5), ndim, sizes, t));
    } else {
        made[0] = dtype_is_floating(t) ? v_mul_real(g, sum, 1 / (double)by) : v_div(g, sum, v_int(g, t, by));
    }
}

void avg_pool_parts(dag *g, const op_call *call, const outputs *out) {
    pooling p = {.from = v_arg(g, call, 0)};
    val made[1];
    (void)out;
    if (pool_shape_of(call, 0, 1, -1, call_bool(call, 4), &p.s, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    p.s.dilation[0] = p.s.dilation[1] = 1;
    p.from = dtype_is_floating(v_dtype(g, p.from)) ? p.from : v_cast(g, p.from, ASSAY_I64);
    in_parts(g, call, &p, avg_part, 1, made);
    v_result(g, 0, made[0]);
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
        p.from = v_div(g, p.from, divisor(g, &p, call_bool(call, 6), ndim, sizes, v_dtype(g, p.from)));
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

/* Each n neighbours along dimension d to their sum. */
static val sums_of_neighbours(dag *g, val x, int d, int64_t n) {
    if (g->failed || g->refused != NULL) {
        return x;
    }
    const int64_t size = v_size(g, x, d) / n;
    val sum = v_slice(g, x, d, 0, size, n);
    for (int64_t k = 1; k < n; k++) {
        sum = v_add(g, sum, v_slice(g, x, d, k, size, n));
    }
    return sum;
}

void adaptive_pool_parts(dag *g, const op_call *call, const outputs *out) {
    enum { MOST_NEIGHBOURS = 16 };
    const tensor *t = &out->items[0];
    pooling p = {.from = v_arg(g, call, 0)};
    if (pool_shape_adaptive(call, 0, t->sizes[t->ndim - 2], t->sizes[t->ndim - 1], &p.s, NULL) != ASSAY_OK) {
        v_refuse(g, "windows that do not fit");
        return;
    }
    bool even = p.s.out[0] > 0 && p.s.out[1] > 0 && p.s.in[0] % p.s.out[0] == 0 && p.s.in[1] % p.s.out[1] == 0;
    int64_t rows = longest_window(&p.s, 0), columns = longest_window(&p.s, 1);
    const bool is_dense = call_tensor(call, 0)->strides[t->ndim - 1] == 1, apart = rows > 1 && columns > 1 && rows * columns > 4;
    if (even && is_dense && apart && rows <= MOST_NEIGHBOURS && columns <= MOST_NEIGHBOURS) { /* rows first: vectors lie along them */
        val of_rows = v_keep(g, sums_of_neighbours(g, p.from, t->ndim - 2, rows));
        v_result(g, 0, v_mul_real(g, sums_of_neighbours(g, of_rows, t->ndim - 1, columns), 1 / ((double)rows * (double)columns)));
        return;
    }
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
