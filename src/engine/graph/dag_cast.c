/* SPDX-License-Identifier: Apache-2.0 */
/* Casts: from type to type by the least work, without the ones that change nothing. */
#include "engine/graph/dag_build.h"

/* Whether every value of `narrow` is one of `wide`, so that going there and back changes nothing. */
static bool holds(dtype wide, dtype narrow) {
    bool is_byte = narrow == ASSAY_I8 || narrow == ASSAY_U8 || narrow == ASSAY_B8; /* 8 bits: even bf16 has room for them */
    return wide == narrow || (is_byte && dtype_is_floating(wide)) || (dtype_promote(wide, narrow) == wide && dtype_category_of(wide) == dtype_category_of(narrow));
}

static val cast_node(dag *g, val x, dtype t) {
    const dag_node n = *dag_at(g, x);
    return dag_intern(
        g, &(dag_node){.kind = PRIM_CAST, .dtype = t, .ndim = n.ndim, .sizes = n.sizes, .n_sources = 1, .sources = &x});
}

/* Whether the condition asks for x itself, through so many conditions that it is made of at most. */
static bool asks_for(const dag *g, val condition, val x, int depth) {
    const dag_node *n = dag_at(g, condition);
    bool asks = false;
    for (int i = 0; n->kind == PRIM_MAP && i < n->n_sources && !asks; i++) {
        asks = n->sources[i].id == x.id || (depth > 0 && v_dtype(g, n->sources[i]) == ASSAY_B8 && asks_for(g, n->sources[i], x, depth - 1));
    }
    return asks;
}

enum { DEEPEST_CONDITION = 4 };

/* x in type t where that takes no work: one element, what was widened from t, a choice or a view of such. So what only moves
   halves never widens them. */
static bool without_cast(dag *g, val x, dtype t, val *out) {
    const dag_node n = *dag_at(g, x);
    if (n.kind == PRIM_CONSTANT) {
        *out = v_cast(g, x, t);
        return true;
    }
    if (n.kind == PRIM_CAST && v_dtype(g, n.sources[0]) == t && holds(n.dtype, t)) {
        *out = n.sources[0];
        return true;
    }
    /* A choice by a condition on what is chosen from is made where that is wide already: compilers make no vector code of conditions on
       floats that choose halves. */
    const bool is_choice = n.kind == PRIM_MAP && n.fn == FN_SELECT;
    const bool chooses = is_choice && !asks_for(g, n.sources[0], n.sources[1], DEEPEST_CONDITION) &&
                         !asks_for(g, n.sources[0], n.sources[2], DEEPEST_CONDITION);
    if (dag_numel(&n) == 1 && n.kind != PRIM_VIEW && !is_choice) {
        *out = v_cast(g, x, t);
        return true;
    }
    val then, otherwise;
    if (n.kind == PRIM_VIEW && n.view.n_bounds == 0 && without_cast(g, n.sources[0], t, &then)) {
        *out = v_view(g, then, n.ndim, n.sizes, &n.view);
        return true;
    }
    if (chooses && without_cast(g, n.sources[1], t, &then) &&
        without_cast(g, n.sources[2], t, &otherwise)) {
        *out = v_select(g, n.sources[0], then, otherwise);
        return true;
    }
    return false;
}

/* Whether n is what a wider value of type t was rounded to. */
static bool is_rounded_from(const dag *g, const dag_node *n, dtype t) {
    return n->kind == PRIM_CAST && v_dtype(g, n->sources[0]) == t && dtype_is_floating(t) && dtype_is_floating(n->dtype) &&
           holds(t, n->dtype);
}

val v_cast(dag *g, val x, dtype t) {
    if (dag_stopped(g) || v_dtype(g, x) == t) {
        return x;
    }
    dag_node n = *dag_at(g, x);
    if (n.kind == PRIM_CONSTANT) {
        return v_expand(g, v_constant(g, t, n.number), n.ndim, n.sizes);
    }
    /* Here and not by compilers, of which each makes its own of a number that the integers of t do not have. */
    if (n.kind == PRIM_VIEW && n.view.n_bounds == 0 && n.n_sources == 1 && dag_at(g, n.sources[0])->kind == PRIM_CONSTANT) {
        return v_view(g, v_cast(g, n.sources[0], t), n.ndim, n.sizes, &n.view);
    }
    /* f32 -> bf16 -> f32 between two operators of a program: the value is kept, not its rounding. */
    if (is_rounded_from(g, &n, t)) {
        return n.sources[0];
    }
    if (n.kind == PRIM_VIEW && n.view.n_bounds == 0 && n.n_sources == 1 && is_rounded_from(g, dag_at(g, n.sources[0]), t)) {
        return v_view(g, dag_at(g, n.sources[0])->sources[0], n.ndim, n.sizes, &n.view);
    }
    if (n.kind == PRIM_CAST && holds(n.dtype, v_dtype(g, n.sources[0])) && n.dtype != ASSAY_B8) {
        return v_cast(g, n.sources[0], t); /* through a type that lost nothing */
    }
    val same;
    if (n.kind == PRIM_MAP && n.fn == FN_SELECT && without_cast(g, x, t, &same)) {
        return same;
    }
    return cast_node(g, x, t);
}

val v_rounded(dag *g, val x, dtype t) {
    if (dag_stopped(g) || v_dtype(g, x) == t) {
        return x;
    }
    val narrow = v_cast(g, x, t);
    return dag_stopped(g) || dag_at(g, narrow)->kind == PRIM_CONSTANT ? v_cast(g, narrow, v_dtype(g, x)) : cast_node(g, narrow, v_dtype(g, x));
}

val v_truth(dag *g, val x) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    if (n->kind == PRIM_CAST && v_dtype(g, n->sources[0]) == ASSAY_B8) {
        return n->sources[0]; /* a condition among operands of another type */
    }
    const dtype t = primitive_compute_type(n->dtype); /* the bits of a half are not 0 where it is -0 */
    return n->dtype == ASSAY_B8 ? x : v_2(g, FN_NE, v_cast(g, x, t), v_int(g, t, 0));
}
