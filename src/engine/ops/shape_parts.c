/* SPDX-License-Identifier: Apache-2.0 */
/* Elements brought to other places, in primitives: views with bounds where one formula serves, joins of pieces where it does
   not. */
#include "engine/ops/parts.h"

#include <string.h>

static int wrapped(int64_t dim, int ndim) {
    return (int)(dim < 0 ? dim + (ndim > 0 ? ndim : 1) : dim);
}

static int64_t clamp_bound(int64_t bound, int64_t size) {
    bound = bound < 0 ? bound + size : bound;
    return bound < 0 ? 0 : bound > size ? size : bound;
}

/* --- backwards of slice and select ------------------------------------------------------------------------------------------ */

void slice_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    int dim = wrapped(call_int(call, 2), t->ndim);
    int64_t sizes[TENSOR_MAX_DIMS], step = call_int(call, 5);
    int64_t start = clamp_bound(call_int(call, 3), t->sizes[dim]), end = clamp_bound(call_int(call, 4), t->sizes[dim]);
    memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    sizes[dim] = end > start ? (end - start - 1) / step + 1 : 0;
    if (sizes[dim] == 0) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    val grad = v_expand(g, v_raw(g, call, 0), t->ndim, sizes);
    index_sum at[TENSOR_MAX_DIMS];
    view_bound bounds[2];
    for (int d = 0; d < t->ndim; d++) {
        at[d] = v_dim(g, t->sizes, d);
    }
    index_sum from = v_line(g, at[dim], 1, -start);
    at[dim] = index_quotient(&g->indices, from, step);
    bounds[0] = (view_bound){at[dim], 0, sizes[dim] - 1};
    bounds[1] = (view_bound){index_remainder(&g->indices, from, step), 0, 0};
    v_result(g, 0, v_view(g, grad, t->ndim, t->sizes,
                          &(view_map){t->ndim, at, step > 1 ? 2 : 1, bounds, number_of_int(0)}));
}

void select_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    int dim = wrapped(call_int(call, 2), t->ndim);
    int64_t sizes[TENSOR_MAX_DIMS], at = call_int(call, 3);
    at = at < 0 ? at + t->sizes[dim] : at;
    for (int d = 0; d + 1 < t->ndim; d++) {
        sizes[d] = t->sizes[d + (d >= dim)];
    }
    val grad = v_unsqueeze(g, v_expand(g, v_raw(g, call, 0), t->ndim - 1, sizes), dim);
    v_result(g, 0, v_pad(g, grad, dim, at, t->sizes[dim] - 1 - at, number_of_int(0)));
}

/* --- pads ------------------------------------------------------------------------------------------------------------------- */

void constant_pad_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    int n;
    const int64_t *pads = call_ints(call, 1, &n);
    number fill = call_number(call, 2);
    val x = v_raw(g, call, 0);
    if (t->dtype == ASSAY_B8) {
        fill = number_of_int(fill.f != 0);
    }
    if (tensor_numel(call_tensor(call, 0)) == 0) {
        v_result(g, 0, v_constant(g, t->dtype, fill));
        return;
    }
    for (int pair = 0; 2 * pair + 1 < n; pair++) {
        x = v_pad(g, x, t->ndim - 1 - pair, pads[2 * pair], pads[2 * pair + 1], fill);
    }
    v_result(g, 0, x);
}

/* x with its mirror images in front of and behind dimension dim; pads below 0 cut. */
static val mirrored(dag *g, val x, int dim, int64_t before, int64_t after) {
    int64_t size = v_size(g, x, dim);
    val pieces[3], turned = v_flip(g, x, dim);
    int n = 0;
    if (before > 0) {
        pieces[n++] = v_slice(g, turned, dim, size - 1 - before, before, 1);
    }
    int64_t from = before < 0 ? -before : 0, to = after < 0 ? size + after : size;
    pieces[n++] = v_slice(g, x, dim, from, to - from, 1);
    if (after > 0) {
        pieces[n++] = v_slice(g, turned, dim, 1, after, 1);
    }
    return v_join(g, n, pieces, dim);
}

/* Rows are taken first and as views, so that each piece of the result is stored once. */
void reflection_pad_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    int64_t pad[4];
    for (int i = 0; i < 4; i++) {
        pad[i] = call_int_at(call, 1, i, 0);
    }
    val x = v_raw(g, call, 0), rows[3];
    int h = call_tensor(call, 0)->ndim - 2, n = 0;
    int64_t size = call_tensor(call, 0)->sizes[h];
    val turned = v_flip(g, x, h);
    if (pad[2] > 0) {
        rows[n++] = v_slice(g, turned, h, size - 1 - pad[2], pad[2], 1);
    }
    int64_t from = pad[2] < 0 ? -pad[2] : 0, to = pad[3] < 0 ? size + pad[3] : size;
    rows[n++] = v_slice(g, x, h, from, to - from, 1);
    if (pad[3] > 0) {
        rows[n++] = v_slice(g, turned, h, 1, pad[3], 1);
    }
    for (int i = 0; i < n && !g->failed && g->refused == NULL; i++) {
        rows[i] = mirrored(g, rows[i], h + 1, pad[0], pad[1]);
    }
    v_result(g, 0, g->failed || g->refused != NULL ? x : v_join(g, n, rows, h));
}

/* The padded places that show place i: itself, and its mirror images in front (1) and behind (2). */
static index_sum image_of(dag *g, int which, index_sum i, int64_t size, int64_t before) {
    return which == 0 ? v_line(g, i, 1, before)
                      : which == 1 ? v_line(g, i, -1, before) : v_line(g, i, -1, 2 * (size - 1) + before);
}

/* x without its padding along one dimension, whose mirror images are added to what they show. */
static val unmirrored(dag *g, val x, int dim, int64_t before, int64_t after) {
    int ndim = v_ndim(g, x);
    int64_t sizes[TENSOR_MAX_DIMS], padded = v_size(g, x, dim), size = padded - before - after;
    memcpy(sizes, v_sizes(g, x), (size_t)ndim * sizeof *sizes);
    sizes[dim] = size;
    val sum = {-1};
    for (int which = 0; which < 3; which++) {
        index_sum at[TENSOR_MAX_DIMS];
        view_bound bounds[2];
        int n = 0;
        for (int d = 0; d < ndim; d++) {
            at[d] = v_dim(g, sizes, d);
        }
        if (which > 0) { /* the edge itself is not repeated */
            bounds[n++] = (view_bound){at[dim], which == 1 ? 1 : 0, which == 1 ? size - 1 : size - 2};
        }
        at[dim] = image_of(g, which, at[dim], size, before);
        bounds[n++] = (view_bound){at[dim], 0, padded - 1};
        if (which == 0 || (which == 1 ? before : after) > 0) {
            val term = v_view(g, x, ndim, sizes, &(view_map){ndim, at, n, bounds, number_of_int(0)});
            sum = sum.id < 0 ? term : v_add(g, sum, term);
        }
    }
    return sum;
}

/* Rows first, which are added as a whole. Of columns most are no mirror's. */
void reflection_pad_backward_parts(dag *g, const op_call *call, const outputs *out) {
    int w = out->items[0].ndim - 1;
    int64_t before = call_int_at(call, 2, 0, 0), after = call_int_at(call, 2, 1, 0), size = out->items[0].sizes[w];
    val rows = v_keep(g, unmirrored(g, v_arg(g, call, 0), w - 1, call_int_at(call, 2, 2, 0), call_int_at(call, 2, 3, 0)));
    val sum = unmirrored(g, rows, w, before, after);
    if (before >= 0 && after >= 0 && 2 * (before + after + 2) <= size) {
        val pieces[3] = {v_slice(g, sum, w, 0, before + 1, 1), v_slice(g, rows, w, 2 * before + 1, size - before - after - 2, 1),
                         v_slice(g, sum, w, size - 1 - after, after + 1, 1)};
        sum = v_join(g, 3, pieces, w);
    }
    v_result(g, 0, sum);
}

/* --- repeat, flip, roll ------------------------------------------------------------------------------------------------------ */

void repeat_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *self = call_tensor(call, 0), *t = &out->items[0];
    index_sum at[TENSOR_MAX_DIMS];
    val x = v_raw(g, call, 0);
    if (tensor_numel(t) == 0) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    for (int d = 0; d < self->ndim; d++) {
        at[d] = index_remainder(&g->indices, v_dim(g, t->sizes, d + t->ndim - self->ndim), self->sizes[d]);
    }
    v_result(g, 0, v_view(g, x, t->ndim, t->sizes, &(view_map){.n_at = self->ndim, .at = at}));
}

void flip_parts(dag *g, const op_call *call, const outputs *out) {
    int n, ndim = out->items[0].ndim;
    const int64_t *dims = call_ints(call, 1, &n);
    val x = v_raw(g, call, 0);
    for (int i = 0; i < n && ndim > 0; i++) {
        x = v_flip(g, x, wrapped(dims[i], ndim));
    }
    v_result(g, 0, x);
}

static int64_t shift_in(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* The tail, then the head; each of the 2^n corners of n rolled dimensions is a piece of its own, all views of x. */
static val rolled(dag *g, val x, int n, const int *dims, const int64_t *shifts) {
    if (n == 0 || g->failed || g->refused != NULL) {
        return x;
    }
    int64_t size = v_size(g, x, dims[0]), shift = shift_in(shifts[0], size);
    if (shift == 0) {
        return rolled(g, x, n - 1, dims + 1, shifts + 1);
    }
    val pieces[2] = {v_slice(g, x, dims[0], size - shift, shift, 1), v_slice(g, x, dims[0], 0, size - shift, 1)};
    for (int i = 0; i < 2; i++) {
        pieces[i] = rolled(g, pieces[i], n - 1, dims + 1, shifts + 1);
    }
    return v_join(g, 2, pieces, dims[0]);
}

void roll_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    int n, n_dims, dims[TENSOR_MAX_DIMS], n_kept = 0;
    int64_t kept[TENSOR_MAX_DIMS] = {0}, numel = tensor_numel(t);
    const int64_t *shifts = call_ints(call, 1, &n), *named = call_ints(call, 2, &n_dims);
    val x = v_raw(g, call, 0);
    if (numel == 0) {
        v_result(g, 0, x);
        return;
    }
    if (n_dims == 0) {
        x = rolled(g, v_reshape(g, x, 1, &numel), 1, (const int[]){0}, shifts);
        v_result(g, 0, v_reshape(g, x, t->ndim, t->sizes));
        return;
    }
    for (int i = 0; i < n; i++) { /* a dimension named again moves further */
        int at = 0;
        while (at < n_kept && dims[at] != wrapped(named[i], t->ndim)) {
            at++;
        }
        n_kept = at == n_kept ? n_kept + 1 : n_kept;
        dims[at] = wrapped(named[i], t->ndim);
        kept[at] += shifts[i] % t->sizes[dims[at]];
    }
    v_result(g, 0, rolled(g, x, n_kept, dims, kept));
}
