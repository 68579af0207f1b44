/* SPDX-License-Identifier: Apache-2.0 */
/* Views as index arithmetic: every rearrangement is a map of coordinates, and a view of a view is one view. */
#include "engine/graph/dag_build.h"

#include <assert.h>
#include <string.h>

void dag_variables(dag *g, int ndim, const int64_t *sizes, index_sum *out) {
    for (int d = 0; d < ndim; d++) {
        out[d] = index_variable(&g->indices, d, sizes[d]);
    }
}

static bool is_identity(const dag_node *from, int ndim, const int64_t *sizes, const view_map *map) {
    if (map->n_bounds > 0 || from->ndim != ndim || memcmp(from->sizes, sizes, (size_t)ndim * sizeof *sizes) != 0) {
        return false;
    }
    for (int d = 0; d < ndim; d++) {
        int id;
        bool here = sizes[d] <= 1 ? map->at[d].n == 0 && map->at[d].constant == 0
                                  : index_is_variable(map->at[d], &id) && id == d;
        if (!here) {
            return false;
        }
    }
    return true;
}

/* Values that DATA within a sum reads, added to a list once each. */
static void data_of(index_sum a, val *list, int *n, int most) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        data_of(atom->of, list, n, most);
        for (int k = 0; k < atom->n_at; k++) {
            data_of(atom->at[k], list, n, most);
        }
        bool known = atom->kind != ATOM_DATA;
        for (int k = 0; !known && k < *n; k++) {
            known = list[k].id == atom->id;
        }
        if (!known && *n < most) {
            list[(*n)++] = (val){atom->id};
        }
    }
}

int dag_view_sources(const view_map *map, int n, val *sources) {
    for (int i = 0; i < map->n_at; i++) {
        data_of(map->at[i], sources, &n, DAG_MAX_SOURCES);
    }
    for (int i = 0; i < map->n_bounds; i++) {
        data_of(map->bounds[i].at, sources, &n, DAG_MAX_SOURCES);
    }
    return n;
}

/* Whether what the outer map asks of the indices that it reads from data is asked after the inner one as well: along a dimension
   in which all is one nobody needs the index, but one out of range is an error all the same. */
static bool still_asks(const view_map *outer, const view_map *composed) {
    const index_atom *data[INDEX_MOST_DATA];
    int n = 0;
    for (int i = 0; i < outer->n_at; i++) {
        n = index_unsure(outer->at[i], data, n);
    }
    for (int k = 0; k < n; k++) {
        bool asked = false;
        for (int i = 0; i < composed->n_at; i++) {
            asked |= index_asks(composed->at[i], data[k]);
        }
        for (int i = 0; i < composed->n_bounds; i++) {
            asked |= index_asks(composed->bounds[i].at, data[k]);
        }
        if (!asked) {
            return false;
        }
    }
    return true;
}

/* Whether the map of a view of a view is small enough for one: indices that are read where indices say are named again and again, twice as
   often with each, and what names them all is neither built nor compiled in time. */
static bool fits_one(const view_map *inner, const view_map *outer) {
    enum { MOST_ATOMS = 512, MOST_DATA = DAG_MAX_SOURCES - 2 };
    index_size by[TENSOR_MAX_DIMS], all = {0, 0};
    for (int i = 0; i < outer->n_at; i++) {
        by[i] = index_size_of(outer->at[i], NULL);
    }
    for (int i = 0; i < inner->n_at + inner->n_bounds + outer->n_bounds && all.atoms <= MOST_ATOMS; i++) {
        const int k = i - inner->n_at, m = k - inner->n_bounds;
        index_size more = k < 0 ? index_size_of(inner->at[i], by) : m < 0 ? index_size_of(inner->bounds[k].at, by)
                                                                          : index_size_of(outer->bounds[m].at, NULL);
        all.atoms += more.atoms;
        all.data += more.data;
    }
    return all.data == 0 || (all.atoms <= MOST_ATOMS && all.data <= MOST_DATA);
}

/* The outer map after the inner one, which looks at `from`'s source; false when their bounds, or the indices that they read, do not
   go together. */
static bool compose(dag *g, const dag_node *from, const view_map *outer, view_map *out) {
    const view_map *inner = &from->view;
    if (inner->n_bounds > 0 && outer->n_bounds > 0 && !dag_same_fill(inner->fill, outer->fill)) {
        return false;
    }
    index_sum *at = arena_make(g->memory, (size_t)inner->n_at, sizeof *at);
    view_bound *bounds = arena_make(g->memory, (size_t)(inner->n_bounds + outer->n_bounds), sizeof *bounds);
    if (at == NULL || bounds == NULL) {
        g->failed = true;
        return false;
    }
    for (int i = 0; i < inner->n_at; i++) {
        at[i] = index_replace(&g->indices, inner->at[i], outer->n_at, outer->at);
    }
    int n = 0;
    for (int i = 0; i < outer->n_bounds; i++) {
        bounds[n++] = outer->bounds[i];
    }
    for (int i = 0; i < inner->n_bounds; i++) {
        bounds[n] = inner->bounds[i];
        bounds[n++].at = index_replace(&g->indices, inner->bounds[i].at, outer->n_at, outer->at);
    }
    *out = (view_map){.n_at = inner->n_at,
                      .at = at,
                      .n_bounds = n,
                      .bounds = bounds,
                      .fill = outer->n_bounds > 0 ? outer->fill : inner->fill};
    return still_asks(outer, out);
}

val v_view(dag *g, val x, int ndim, const int64_t *sizes, const view_map *map) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node from = *dag_at(g, x);
    assert(map->n_at == from.ndim);
    if (is_identity(&from, ndim, sizes, map)) {
        return x;
    }
    view_map composed;
    const bool fits = from.kind != PRIM_VIEW || fits_one(&from.view, map);
    if (!fits) {
        dag_keep(g, x);
    } else if (from.kind == PRIM_VIEW && compose(g, &from, map, &composed)) {
        return v_view(g, from.sources[0], ndim, sizes, &composed);
    }
    val sources[DAG_MAX_SOURCES] = {x};
    int n = dag_view_sources(map, 1, sources);
    return dag_intern(g, &(dag_node){.kind = PRIM_VIEW,
                                     .dtype = from.dtype,
                                     .ndim = ndim,
                                     .sizes = sizes,
                                     .n_sources = n,
                                     .sources = sources,
                                     .view = *map});
}

val v_written(dag *g, val x, const op_call *call, int source) {
    if (g->failed) {
        return (val){0};
    }
    const dag_node from = *dag_at(g, x);
    index_sum at[TENSOR_MAX_DIMS];
    for (int d = 0; d < from.ndim; d++) {
        at[d] = index_variable(&g->indices, d, from.sizes[d]);
    }
    val sources[DAG_MAX_SOURCES] = {x};
    return dag_intern(g, &(dag_node){.kind = PRIM_VIEW,
                                     .dtype = from.dtype,
                                     .ndim = from.ndim,
                                     .sizes = from.sizes,
                                     .n_sources = 1,
                                     .sources = sources,
                                     .writer = call,
                                     .written_as = source,
                                     .view = {.n_at = from.ndim, .at = at}});
}

val v_same(dag *g, val x) {
    return v_written(g, x, NULL, 0);
}

val v_expand(dag *g, val x, int ndim, const int64_t *sizes) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    index_sum at[TENSOR_MAX_DIMS];
    int lead = ndim - n->ndim;
    assert(lead >= 0);
    for (int d = 0; d < n->ndim; d++) {
        assert(n->sizes[d] == sizes[lead + d] || n->sizes[d] == 1);
        at[d] = n->sizes[d] == 1 ? index_constant(0) : index_variable(&g->indices, lead + d, sizes[lead + d]);
    }
    return v_view(g, x, ndim, sizes, &(view_map){.n_at = n->ndim, .at = at});
}

val v_permute(dag *g, val x, const int *order) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    index_sum at[TENSOR_MAX_DIMS];
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d < n->ndim; d++) {
        sizes[d] = n->sizes[order[d]];
        at[order[d]] = index_variable(&g->indices, d, sizes[d]);
    }
    return v_view(g, x, n->ndim, sizes, &(view_map){.n_at = n->ndim, .at = at});
}

val v_transpose(dag *g, val x, int a, int b) {
    int order[TENSOR_MAX_DIMS];
    for (int d = 0; d < TENSOR_MAX_DIMS; d++) {
        order[d] = d == a ? b : d == b ? a : d;
    }
    return v_permute(g, x, order);
}

/* The dimension with the largest stride below `below` that counts: -1 when there is none. Of equal ones the first. */
static int next_inward(int ndim, const int64_t *sizes, const int64_t *strides, int64_t below) {
    int found = -1;
    for (int d = 0; d < ndim; d++) {
        if (sizes[d] > 1 && strides[d] > 0 && strides[d] < below && (found < 0 || strides[d] > strides[found])) {
            found = d;
        }
    }
    return found;
}

/* Coordinates of the element at `flat` where dimension d lies `strides[d]` apart; strides need not be in order, and there may
   be gaps, but no two elements may share a place, save along strides of 0, where each is as good as the first. */
static void coordinates(dag *g, index_sum flat, int ndim, const int64_t *sizes, const int64_t *strides, index_sum *at) {
    bool dense = true;
    for (int d = 0; d < ndim; d++) {
        at[d] = index_constant(0);
    }
    int outer = next_inward(ndim, sizes, strides, INT64_MAX);
    for (int d = outer, next; d >= 0; d = next) {
        next = next_inward(ndim, sizes, strides, strides[d]);
        dense = dense && (next < 0 || strides[d] == strides[next] * sizes[next]);
    }
    index_sum rest = flat;
    for (int d = outer; d >= 0; d = next_inward(ndim, sizes, strides, strides[d])) {
        at[d] = index_quotient(&g->indices, dense ? flat : rest, strides[d]);
        if (dense) { /* the simpler form */
            at[d] = d == outer ? at[d] : index_remainder(&g->indices, at[d], sizes[d]);
        } else {
            rest = strides[d] > 1 ? index_remainder(&g->indices, rest, strides[d]) : index_constant(0);
        }
    }
}

val v_reshape(dag *g, val x, int ndim, const int64_t *sizes) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    assert(sizes_numel(ndim, sizes) == dag_numel(n));
    int64_t strides[TENSOR_MAX_DIMS];
    index_sum flat = index_constant(0), at[TENSOR_MAX_DIMS];
    sizes_contiguous_strides(ndim, sizes, strides);
    for (int d = 0; d < ndim; d++) {
        flat = index_add(&g->indices, flat,
                         index_scale(&g->indices, index_variable(&g->indices, d, sizes[d]), strides[d]));
    }
    sizes_contiguous_strides(n->ndim, n->sizes, strides);
    coordinates(g, flat, n->ndim, n->sizes, strides, at);
    return v_view(g, x, ndim, sizes, &(view_map){.n_at = n->ndim, .at = at});
}

/* Whether a reduction decides v; one that is further away than so many values does not count. */
static bool follows_reduction(const dag *g, val v) {
    enum { MOST = 64 };
    val seen[MOST] = {v};
    for (int at = 0, n_seen = 1; at < n_seen; at++) {
        const dag_node *n = dag_at(g, seen[at]);
        bool goes_on = n->kind == PRIM_MAP || n->kind == PRIM_CAST || n->kind == PRIM_VIEW;
        if (n->kind == PRIM_REDUCE) {
            return true;
        }
        for (int i = 0; i < n->n_sources && goes_on; i++) {
            bool known = n_seen == MOST;
            for (int k = 0; k < n_seen && !known; k++) {
                known = seen[k].id == n->sources[i].id;
            }
            if (!known) {
                seen[n_seen++] = n->sources[i];
            }
        }
    }
    return false;
}

bool dag_reshapes_normal(dag *g, val v, val *source) {
    const dag_node *n = dag_at(g, v);
    if (n->kind != PRIM_VIEW || n->n_sources != 1 || n->view.n_bounds > 0) {
        return false;
    }
    const dag_node *x = dag_at(g, n->sources[0]);
    if ((x->kind != PRIM_MAP && x->kind != PRIM_CAST) || dag_numel(x) != dag_numel(n) || dag_numel(n) < 2) {
        return false;
    }
    int64_t strides[TENSOR_MAX_DIMS];
    index_sum own = index_constant(0), there = index_constant(0);
    sizes_contiguous_strides(n->ndim, n->sizes, strides);
    for (int d = 0; d < n->ndim; d++) {
        own = index_add(&g->indices, own, index_scale(&g->indices, index_variable(&g->indices, d, n->sizes[d]), strides[d]));
    }
    sizes_contiguous_strides(x->ndim, x->sizes, strides);
    for (int d = 0; d < x->ndim; d++) {
        there = index_add(&g->indices, there, index_scale(&g->indices, n->view.at[d], strides[d]));
    }
    *source = n->sources[0];
    return index_equal(own, there) && !g->indices.failed && follows_reduction(g, *source);
}

val v_unsqueeze(dag *g, val x, int dim) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d <= n->ndim; d++) {
        sizes[d] = d < dim ? n->sizes[d] : d == dim ? 1 : n->sizes[d - 1];
    }
    return v_reshape(g, x, n->ndim + 1, sizes);
}

val v_squeeze(dag *g, val x, int dim) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d + 1 < n->ndim; d++) {
        sizes[d] = n->sizes[d < dim ? d : d + 1];
    }
    return v_reshape(g, x, n->ndim - 1, sizes);
}

/* x with dimension dim looked at from start on in steps; `low` and `high` bound where that is within x. */
static val along(dag *g, val x, int dim, int64_t start, int64_t step, int64_t size, bool bounded, number fill) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    index_sum at[TENSOR_MAX_DIMS];
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, n->sizes, (size_t)n->ndim * sizeof *sizes);
    sizes[dim] = size;
    dag_variables(g, n->ndim, sizes, at);
    at[dim] = index_add(&g->indices, index_scale(&g->indices, at[dim], step), index_constant(start));
    view_bound bound = {at[dim], 0, n->sizes[dim] - 1};
    return v_view(g, x, n->ndim, sizes,
                  &(view_map){.n_at = n->ndim, .at = at, .n_bounds = bounded, .bounds = &bound, .fill = fill});
}

val v_slice(dag *g, val x, int dim, int64_t start, int64_t size, int64_t step) {
    return along(g, x, dim, start, step, size, false, number_of_int(0));
}

val v_flip(dag *g, val x, int dim) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    int64_t size = v_size(g, x, dim);
    return along(g, x, dim, size - 1, -1, size, false, number_of_int(0));
}

val v_pad(dag *g, val x, int dim, int64_t before, int64_t after, number fill) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    return along(g, x, dim, -before, 1, v_size(g, x, dim) + before + after, before > 0 || after > 0, fill);
}

bool dag_finds_within(const tensor *base) {
    for (int d = 0; d < base->ndim; d++) {
        int64_t reach = 0; /* of what lies within */
        for (int k = 0; k < base->ndim; k++) {
            bool within = k != d && base->sizes[k] > 1 && base->strides[k] > 0 && base->strides[k] <= base->strides[d];
            reach += within ? (base->sizes[k] - 1) * base->strides[k] : 0;
        }
        if (base->sizes[d] > 1 && base->strides[d] > 0 && reach >= base->strides[d]) {
            return false;
        }
    }
    return true;
}

bool dag_is_around(const tensor *base, const tensor *t) {
    return tensor_is_dense(base) && t->offset >= base->offset && t->offset + tensor_span(t) <= base->offset + tensor_span(base);
}

void dag_coordinates_within(dag *g, const tensor *base, const tensor *t, index_sum *at) {
    index_sum flat = index_constant(t->offset - base->offset);
    for (int d = 0; d < t->ndim; d++) {
        flat = index_add(&g->indices, flat,
                         index_scale(&g->indices, index_variable(&g->indices, d, t->sizes[d]), t->strides[d]));
    }
    coordinates(g, flat, base->ndim, base->sizes, base->strides, at);
}

val v_as_strided(dag *g, val x, const tensor *base, const tensor *t) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    index_sum at[TENSOR_MAX_DIMS];
    dag_coordinates_within(g, base, t, at);
    return v_view(g, x, t->ndim, t->sizes, &(view_map){.n_at = base->ndim, .at = at});
}

val v_coordinate(dag *g, int ndim, const int64_t *sizes, index_sum at) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    int64_t low, high;
    index_range(at, &low, &high);
    /* A coordinate seen at another place is that place's coordinate, below 0 as well. */
    val line = v_iota(g, 1, (const int64_t[]){high < 1 ? 2 : high + 2}, 0);
    return v_view(g, line, ndim, sizes, &(view_map){.n_at = 1, .at = &at});
}
