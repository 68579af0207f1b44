/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing at places that tensors of indices name, in primitives: coordinates read from data. Sums of halves are
   made in f32 and rounded once. */
#include "engine/ops/parts.h"
#include "engine/schema/indexing.h"

#include <string.h>

static bool stopped(const dag *g) {
    return g->failed || g->refused != NULL;
}

val v_greater(dag *g, val x, val y) {
    return v_select(g, v_2(g, FN_GT, x, y), x, y);
}

val v_lesser(dag *g, val x, val y) {
    return v_select(g, v_2(g, FN_LT, x, y), x, y);
}

/* i64; below 0 it counts from the end. */
val v_wrapped_index(dag *g, val index, int64_t size) {
    val i = v_cast(g, index, ASSAY_I64), zero = v_int(g, ASSAY_I64, 0);
    return v_select(g, v_2(g, FN_LT, i, zero), v_add(g, i, v_int(g, ASSAY_I64, size)), i);
}

/* At least one dimension. */
static val in_line(dag *g, val x) {
    return stopped(g) || v_ndim(g, x) > 0 ? x : v_reshape(g, x, 1, (const int64_t[]){1});
}

/* The type that values of type t are added up in where they lie. */
static dtype adding_type(dtype t) {
    return dtype_is_floating(t) ? primitive_compute_type(t) : t;
}

/* --- advanced indexing ------------------------------------------------------------------------------------------------------ */

/* The flat places of a mask's true elements, [count]: every element is told its rank by a running sum and written there; those
   that are false all go to one place more. A mask of more elements than were counted is an index out of range when run, and
   one of fewer leaves places that are beyond the mask. */
static val places_of(dag *g, const index_source *s) {
    int64_t n = tensor_numel(s->t), room = s->count + 1;
    val marks = v_reshape(g, v_truth(g, v_tensor(g, s->t)), 1, &n);
    val rank = v_add(g, v_scan(g, RED_SUM, v_cast(g, marks, ASSAY_I64), 0), v_int(g, ASSAY_I64, -1));
    val last = v_int(g, ASSAY_I64, s->count), beyond = v_int(g, ASSAY_I64, room);
    val fits = v_select(g, v_2(g, FN_LT, rank, last), rank, beyond);
    index_sum here = v_dim(g, &n, 0);
    index_sum to = v_index_of(g, v_select(g, marks, fits, last), &here, room);
    val nowhere = v_expand(g, v_int(g, ASSAY_I64, n), 1, &room);
    return v_scatter(g, nowhere, v_iota(g, 1, &n, 0), &(view_map){.n_at = 1, .at = &to}, false);
}

/* Where source k of an indexing looks, for self's dimensions that it stands for. */
static void source_at(dag *g, const indexing *ix, int k, const tensor *self, index_sum *at) {
    const index_source *s = &ix->source[k];
    index_sum here[TENSOR_MAX_DIMS];
    int ndim = s->is_mask ? 1 : s->t->ndim;
    for (int d = 0; d < ndim; d++) {
        int64_t size = s->is_mask ? s->count : s->t->sizes[d];
        int of = ix->at + ix->index_ndim - ndim + d;
        here[d] = size == 1 ? index_constant(0) : v_dim(g, ix->sizes, of);
    }
    if (!s->is_mask) {
        val index = v_wrapped_index(g, v_tensor(g, s->t), self->sizes[s->dim]);
        at[s->dim] = v_index_of(g, index, here, self->sizes[s->dim]);
        return;
    }
    index_sum flat = v_index_of(g, places_of(g, s), here, tensor_numel(s->t));
    int64_t inner = 1;
    for (int d = s->n_dims - 1; d >= 0; d--) {
        at[s->dim + d] = index_remainder(&g->indices, index_quotient(&g->indices, flat, inner), self->sizes[s->dim + d]);
        inner *= self->sizes[s->dim + d];
    }
}

/* Coordinates in self of each element of the indexing's result; false when there is nothing to look at. */
static bool indexing_at(dag *g, const op_call *call, indexing *ix, index_sum *at) {
    const tensor *self = call_tensor(call, 0);
    if (indexing_analyse(call, ix, NULL) != ASSAY_OK) {
        v_refuse(g, "indices that do not fit");
        return false;
    }
    for (int k = 0; k < ix->n; k++) {
        if (ix->source[k].is_mask && ix->source[k].count == 0) {
            v_refuse(g, "a mask that is nowhere true: the library sees whether it stays so");
            return false;
        }
        if (ix->source[k].n_dims == 0) {
            v_refuse(g, "a mask without dimensions: the library sees what it holds");
            return false;
        }
    }
    if (sizes_numel(ix->ndim, ix->sizes) == 0) {
        return false;
    }
    for (int d = 0; d < ix->ndim; d++) {
        if (ix->plain[d] >= 0) {
            at[ix->plain[d]] = v_dim(g, ix->sizes, d);
        }
    }
    for (int k = 0; k < ix->n && !stopped(g); k++) {
        source_at(g, ix, k, self, at);
    }
    return !stopped(g);
}

void index_parts(dag *g, const op_call *call, const outputs *out) {
    indexing ix;
    index_sum at[TENSOR_MAX_DIMS];
    val x = v_raw(g, call, 0);
    if (indexing_at(g, call, &ix, at)) {
        x = v_view(g, x, ix.ndim, ix.sizes, &(view_map){.n_at = call_tensor(call, 0)->ndim, .at = at});
    } else if (!stopped(g)) {
        x = v_int(g, out->items[0].dtype, 0);
    }
    v_result(g, 0, x);
}

void index_put_parts(dag *g, const op_call *call, const outputs *out) {
    indexing ix;
    index_sum at[TENSOR_MAX_DIMS];
    bool adds = call_bool(call, 3);
    dtype t = adds ? adding_type(out->items[0].dtype) : out->items[0].dtype;
    val x = v_raw(g, call, 0);
    if (indexing_at(g, call, &ix, at)) {
        val values = v_expand(g, v_cast(g, v_raw(g, call, 2), t), ix.ndim, ix.sizes);
        x = v_scatter(g, v_cast(g, x, t), values, &(view_map){.n_at = call_tensor(call, 0)->ndim, .at = at}, adds);
    }
    v_result(g, 0, x);
}

/* --- along one dimension ---------------------------------------------------------------------------------------------------- */

void index_select_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    val x = in_line(g, v_raw(g, call, 0)), index = in_line(g, v_raw(g, call, 2));
    int dim = 0;
    if (stopped(g) || tensor_numel(t) == 0 || (t->ndim > 0 && dim_wrap(call_int(call, 1), t->ndim, &dim, NULL) != ASSAY_OK)) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    index_sum at[TENSOR_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++) {
        at[d] = v_dim(g, t->sizes, d);
    }
    index_sum here = t->ndim > 0 ? at[dim] : index_constant(0);
    at[dim] = v_index_of(g, v_wrapped_index(g, index, v_size(g, x, dim)), &here, v_size(g, x, dim));
    v_result(g, 0, v_view(g, x, t->ndim, t->sizes, &(view_map){.n_at = v_ndim(g, x), .at = at}));
}

/* Coordinates in `whole` of each element of `index`: its own but for dim. */
static bool element_at(dag *g, val whole, val index, int64_t dim, index_sum *at) {
    int wrapped, ndim = stopped(g) ? 0 : v_ndim(g, index);
    if (stopped(g) || dim_wrap(dim, ndim, &wrapped, NULL) != ASSAY_OK) {
        v_refuse(g, "dimension out of range");
        return false;
    }
    for (int d = 0; d < ndim; d++) {
        at[d] = v_dim(g, v_sizes(g, index), d);
    }
    int64_t size = v_size(g, whole, wrapped);
    at[wrapped] = v_index_of(g, v_wrapped_index(g, index, size), at, size);
    return !stopped(g);
}

void gather_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    index_sum at[TENSOR_MAX_DIMS];
    if (tensor_numel(t) == 0) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    val x = in_line(g, v_raw(g, call, 0)), index = in_line(g, v_raw(g, call, 2));
    if (element_at(g, x, index, call_int(call, 1), at)) {
        int ndim = v_ndim(g, index);
        x = v_view(g, x, ndim, v_sizes(g, index), &(view_map){.n_at = ndim, .at = at});
        v_result(g, 0, v_reshape(g, x, t->ndim, t->sizes));
    }
}

/* self with `source` (of at least the index's sizes) written or added where the index says. */
static void scatter_of(dag *g, const op_call *call, const outputs *out, bool has_source, bool adds) {
    const tensor *t = &out->items[0], *index_tensor = call_tensor(call, 2);
    dtype type = adds ? adding_type(t->dtype) : t->dtype;
    index_sum at[TENSOR_MAX_DIMS];
    val x = v_cast(g, in_line(g, v_raw(g, call, 0)), type);
    if (tensor_numel(index_tensor) == 0) {
        v_result(g, 0, v_raw(g, call, 0));
        return;
    }
    val index = in_line(g, v_raw(g, call, 2)), source;
    if (!element_at(g, x, index, call_int(call, 1), at)) {
        return;
    }
    int ndim = v_ndim(g, index);
    if (has_source) {
        source = v_cast(g, in_line(g, v_raw(g, call, 3)), type);
        for (int d = 0; d < ndim; d++) {
            source = v_slice(g, source, d, 0, v_size(g, index, d), 1);
        }
    } else {
        source = v_expand(g, v_constant(g, type, call_number(call, 3)), ndim, v_sizes(g, index));
    }
    x = v_scatter(g, x, source, &(view_map){.n_at = ndim, .at = at}, adds);
    v_result(g, 0, v_reshape(g, x, t->ndim, t->sizes));
}

void scatter_parts(dag *g, const op_call *call, const outputs *out) {
    scatter_of(g, call, out, true, false);
}

void scatter_value_parts(dag *g, const op_call *call, const outputs *out) {
    scatter_of(g, call, out, false, false);
}

void scatter_add_parts(dag *g, const op_call *call, const outputs *out) {
    scatter_of(g, call, out, true, true);
}

void index_add_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    dtype type = adding_type(t->dtype);
    val x = v_cast(g, in_line(g, v_raw(g, call, 0)), type), index = in_line(g, v_raw(g, call, 2));
    val source = v_cast(g, in_line(g, v_raw(g, call, 3)), type);
    int dim;
    if (stopped(g) || dim_wrap(call_int(call, 1), v_ndim(g, x), &dim, NULL) != ASSAY_OK) {
        v_refuse(g, "dimension out of range");
        return;
    }
    if (tensor_numel(call_tensor(call, 3)) == 0) {
        v_result(g, 0, v_raw(g, call, 0));
        return;
    }
    dtype compute = primitive_compute_type(type); /* small integers are multiplied as wider ones and wrap */
    source = v_cast(g, v_mul(g, v_cast(g, source, compute), v_constant(g, compute, call_number(call, 4))), type);
    index_sum at[TENSOR_MAX_DIMS];
    for (int d = 0; d < v_ndim(g, x); d++) {
        at[d] = v_dim(g, v_sizes(g, source), d);
    }
    index_sum here = at[dim];
    at[dim] = v_index_of(g, v_wrapped_index(g, index, v_size(g, x, dim)), &here, v_size(g, x, dim));
    x = v_scatter(g, x, source, &(view_map){.n_at = v_ndim(g, x), .at = at}, true);
    v_result(g, 0, v_reshape(g, x, t->ndim, t->sizes));
}
