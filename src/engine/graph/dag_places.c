/* SPDX-License-Identifier: Apache-2.0 */
/* Where values stand: at places that data says (gather, scatter), side by side (join), in memory that is kept. */
#include "engine/graph/dag_build.h"

#include <string.h>

/* Whether an index that is looked at through a view is still one where that is done with: its own place may be read from data, not that
   one's as well. As many indices as there may be dimensions then still fit a map (dag_view.c). */
static bool are_few(const dag_node *view, const index_sum *at) {
    enum { MOST_ATOMS = 128 };
    index_size by[TENSOR_MAX_DIMS], all = {0, 0};
    for (int d = 0; d < view->ndim; d++) {
        by[d] = index_size_of(at[d], NULL);
    }
    for (int i = 0; i < view->view.n_at; i++) {
        index_size more = index_size_of(view->view.at[i], by);
        all.atoms += more.atoms;
        all.data += more.data;
    }
    return all.data == 0 || (all.data == 1 && all.atoms <= MOST_ATOMS);
}

static index_sum index_of(dag *g, val x, const index_sum *at, int64_t size, bool is_sure) {
    if (g->failed || g->refused != NULL) {
        return index_constant(0);
    }
    val wide = v_cast(g, x, ASSAY_I64);
    dag_node n = *dag_at(g, wide);
    if (n.kind == PRIM_VIEW && !are_few(&n, at)) {
        dag_keep(g, wide);
    } else if (n.kind == PRIM_VIEW && n.view.n_bounds == 0) { /* what is looked at is read where it is */
        index_sum inner[TENSOR_MAX_DIMS];
        for (int i = 0; i < n.view.n_at; i++) {
            inner[i] = index_replace(&g->indices, n.view.at[i], n.ndim, at);
        }
        return index_of(g, n.sources[0], inner, size, is_sure);
    }
    if (n.kind == PRIM_CONSTANT && n.number.i >= 0 && n.number.i < size) {
        return index_constant(n.number.i);
    }
    return is_sure ? index_data_within(&g->indices, wide.id, n.ndim, at, size)
                   : index_data(&g->indices, wide.id, n.ndim, at, size);
}

index_sum v_index_of(dag *g, val x, const index_sum *at, int64_t size) {
    return index_of(g, x, at, size, false);
}

index_sum v_index_within(dag *g, val x, const index_sum *at, int64_t size) {
    return index_of(g, x, at, size, true);
}

val v_gather(dag *g, val x, int dim, val index) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, index), *from = dag_at(g, x);
    int64_t size = from->sizes[dim];
    index_sum at[TENSOR_MAX_DIMS];
    dag_variables(g, n->ndim, n->sizes, at);
    int ndim = n->ndim;
    const int64_t *sizes = n->sizes;
    at[dim] = v_index_of(g, index, at, size);
    return v_view(g, x, ndim, sizes, &(view_map){.n_at = ndim, .at = at});
}

val v_scatter(dag *g, val base, val updates, const view_map *where, bool adds) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    const dag_node from = *dag_at(g, base);
    if (dag_numel(dag_at(g, updates)) == 0) {
        return base;
    }
    val sources[DAG_MAX_SOURCES] = {base, updates};
    int n = dag_view_sources(where, 2, sources);
    return dag_intern(g, &(dag_node){.kind = PRIM_SCATTER,
                                     .dtype = from.dtype,
                                     .ndim = from.ndim,
                                     .sizes = from.sizes,
                                     .n_sources = n,
                                     .sources = sources,
                                     .scatter = {*where, adds}});
}

val v_join(dag *g, int n, const val *pieces, int dim) {
    val *kept = arena_make(g->memory, (size_t)n, sizeof *kept);
    if (dag_stopped(g) || kept == NULL) {
        g->failed |= kept == NULL;
        return (val){0};
    }
    int64_t sizes[TENSOR_MAX_DIMS] = {0};
    int n_kept = 0;
    for (int i = 0; i < n; i++) {
        const dag_node *piece = dag_at(g, pieces[i]);
        if (dag_numel(piece) > 0) {
            int64_t before = n_kept > 0 ? sizes[dim] : 0;
            memcpy(sizes, piece->sizes, (size_t)piece->ndim * sizeof *sizes);
            sizes[dim] += before;
            kept[n_kept++] = pieces[i];
        }
    }
    if (n_kept < 2) {
        return n_kept == 1 ? kept[0] : pieces[0];
    }
    const dag_node *first = dag_at(g, kept[0]);
    return dag_intern(g, &(dag_node){.kind = PRIM_JOIN,
                                     .dtype = first->dtype,
                                     .ndim = first->ndim,
                                     .sizes = sizes,
                                     .n_sources = n_kept,
                                     .sources = kept,
                                     .dim = dim});
}

val v_with_part(dag *g, val x, const tensor *base, const tensor *t, val part) {
    if (g->failed || g->refused != NULL) {
        return (val){0};
    }
    index_sum at[TENSOR_MAX_DIMS];
    dag_coordinates_within(g, base, t, at);
    return v_scatter(g, x, part, &(view_map){.n_at = base->ndim, .at = at}, false);
}

val v_keep(dag *g, val x) {
    primitive kind = dag_stopped(g) ? PRIM_CONSTANT : dag_at(g, x)->kind;
    if (kind == PRIM_MAP || kind == PRIM_CAST) {
        dag_keep(g, x);
    }
    return x;
}
