/* SPDX-License-Identifier: Apache-2.0 */
/* From values to scalar expressions: whatever has no memory of its own is computed where it is read. */
#include "engine/compile/passes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int find_expr(const kernel *k, int id, int n_at, const index_sum *at, int guard, bool any_guard) {
    for (int i = k->n_exprs - 1; i >= 0; i--) {
        const expr *e = &k->exprs[i];
        if (e->value != id || e->n_coordinates != n_at || (!any_guard && e->guard != guard)) {
            continue;
        }
        bool same = true;
        for (int d = 0; same && d < n_at; d++) {
            same = index_equal(e->coordinates[d], at[d]);
        }
        if (same) {
            return i;
        }
    }
    return -1;
}

int expr_find(const kernel *k, int id, int n_at, const index_sum *at, int guard) {
    int found = find_expr(k, id, n_at, at, guard, false);
    found = found >= 0 ? found : find_expr(k, id, n_at, at, -1, false);
    return found >= 0 ? found : find_expr(k, id, n_at, at, -1, true);
}

int index_reads(const kernel *k, index_sum a, int guard, int *reads, int n) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_DATA) {
            int e = expr_find(k, atom->id, atom->n_at, atom->at, guard);
            if (e >= 0 && n < EXPR_MAX_READS) {
                reads[n++] = e;
            }
        } else if (atom->kind != ATOM_VARIABLE) {
            n = index_reads(k, atom->of, guard, reads, n);
        }
    }
    return n;
}

int expr_reads(const kernel *k, const expr *e, int *reads) {
    int n = 0;
    for (int i = 0; i < e->n_sources; i++) {
        reads[n++] = e->sources[i];
    }
    if ((e->kind == EXPR_LOAD || e->asks) && e->guard >= 0) {
        reads[n++] = e->guard;
    }
    n = index_reads(k, e->at, e->guard, reads, n);
    for (int i = 0; i < e->n_bounds; i++) {
        n = index_reads(k, e->bounds[i].at, e->guard, reads, n);
    }
    return n;
}

/* Appends; what the expression depends on is added up here. */
int expr_append(compiler *c, kernel *k, const expr *e, val v, const index_sum *at, int n_at) {
    if (k->n_exprs == k->expr_capacity) {
        int capacity = 2 * k->expr_capacity + 32;
        expr *grown = arena_make(c->memory, (size_t)capacity, sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return -1;
        }
        if (k->n_exprs > 0) {
            memcpy(grown, k->exprs, (size_t)k->n_exprs * sizeof *grown);
        }
        k->exprs = grown;
        k->expr_capacity = capacity;
    }
    index_sum *coordinates = arena_make(c->memory, (size_t)n_at, sizeof *coordinates);
    if (coordinates == NULL) {
        c->failed = true;
        return -1;
    }
    if (n_at > 0) {
        memcpy(coordinates, at, (size_t)n_at * sizeof *at);
    }
    expr *added = &k->exprs[k->n_exprs];
    *added = *e;
    added->value = v.id;
    added->n_coordinates = n_at;
    added->coordinates = coordinates;
    added->variables |= index_variables(e->at);
    for (int i = 0; i < e->n_bounds; i++) {
        added->variables |= index_variables(e->bounds[i].at);
    }
    int reads[EXPR_MAX_READS], n = expr_reads(k, added, reads);
    for (int i = 0; i < n; i++) {
        added->variables |= k->exprs[reads[i]].variables;
        added->phase = k->exprs[reads[i]].phase > added->phase ? k->exprs[reads[i]].phase : added->phase;
    }
    return k->n_exprs++;
}

/* Makes the expressions that DATA atoms of a sum stand for. */
bool expr_make_data(compiler *c, kernel *k, index_sum a, int guard) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_DATA) {
            for (int d = 0; d < atom->n_at; d++) { /* the place of an index may be read from data itself */
                if (!expr_make_data(c, k, atom->at[d], guard)) {
                    return false;
                }
            }
            if (expr_of(c, k, (val){atom->id}, atom->at, guard) < 0) {
                return false;
            }
            k->checks |= !atom->is_sure;
        } else if (atom->kind != ATOM_VARIABLE && !expr_make_data(c, k, atom->of, guard)) {
            return false;
        }
    }
    return true;
}

/* Both conditions; either may be -1. */
static int both(compiler *c, kernel *k, int a, int b) {
    if (a < 0 || b < 0) {
        return a < 0 ? b : a;
    }
    expr e = {.kind = EXPR_MAP, .dtype = ASSAY_B8, .fn = FN_AND, .n_sources = 2, .sources = {a, b}, .guard = -1};
    return expr_append(c, k, &e, (val){-1}, NULL, 0);
}

static int load(compiler *c, kernel *k, val v, int n_at, const index_sum *at, int guard) {
    const place *p = &c->places[v.id];
    index_sum offset = index_constant(p->offset);
    for (int d = 0; d < n_at; d++) {
        offset = index_add(&c->g.indices, offset, index_scale(&c->g.indices, at[d], p->strides[d]));
    }
    expr e = {.kind = EXPR_LOAD, .dtype = dag_at(&c->g, v)->dtype, .buffer = p->buffer, .at = offset, .guard = guard};
    return expr_append(c, k, &e, v, at, n_at);
}

/* --- indices read from data --------------------------------------------------------------------------------------------- */

/* Whether computing expression `top`, under this guard, asks for that index. */
static bool is_asked(compiler *c, const kernel *k, int top, int guard, const index_atom *wanted) {
    bool *needed = arena_make(c->memory, (size_t)k->n_exprs, sizeof *needed);
    if (needed == NULL) {
        c->failed = true;
        return true;
    }
    needed[top] = true;
    for (int i = top; i >= 0; i--) { /* what is read comes before */
        const expr *e = &k->exprs[i];
        bool looks = needed[i] && (e->guard == guard || e->guard < 0);
        if (looks && index_asks(e->at, wanted)) {
            return true;
        }
        for (int b = 0; looks && b < e->n_bounds; b++) {
            if (index_asks(e->bounds[b].at, wanted)) {
                return true;
            }
        }
        int reads[EXPR_MAX_READS], n = needed[i] ? expr_reads(k, e, reads) : 0;
        for (int r = 0; r < n; r++) {
            needed[reads[r]] = true;
        }
    }
    return false;
}

/* b8: that the indices are in range. */
static int ask_for(compiler *c, kernel *k, const index_atom *const *atoms, int n, int guard) {
    view_bound *bounds = arena_make(c->memory, (size_t)n, sizeof *bounds);
    index_term *terms = arena_make(c->memory, (size_t)n, sizeof *terms);
    if (bounds == NULL || terms == NULL) {
        c->failed = true;
        return -1;
    }
    for (int i = 0; i < n; i++) {
        terms[i] = (index_term){1, atoms[i]};
        bounds[i] = (view_bound){{.n = 1, .terms = &terms[i]}, 0, atoms[i]->size - 1};
    }
    expr e = {.kind = EXPR_WITHIN, .dtype = ASSAY_B8, .n_bounds = n, .bounds = bounds, .asks = true, .guard = guard};
    return expr_append(c, k, &e, (val){-1}, NULL, 0);
}

/* Where there is nothing to look at, nobody looks: the guard for a view at `inner`; -2: memory is out. */
static int guard_of_nothing(compiler *c, kernel *k, const index_sum *inner, int n, int guard) {
    const index_atom *data[INDEX_MOST_DATA], *nowhere[INDEX_MOST_DATA];
    int n_data = 0, n_nowhere = 0;
    for (int i = 0; i < n; i++) {
        n_data = index_unsure(inner[i], data, n_data);
    }
    for (int i = 0; i < n_data; i++) {
        if (data[i]->size == 0) {
            nowhere[n_nowhere++] = data[i];
        }
    }
    if (n_nowhere == 0) {
        return guard;
    }
    int asked = ask_for(c, k, nowhere, n_nowhere, guard), inside = asked >= 0 ? both(c, k, guard, asked) : -1;
    return inside >= 0 ? inside : -2;
}

/* `source`, which a view finds at `inner`, with a question for each index that reading it does not ask for: it may be read along
   a dimension in which all is one, or be known beforehand. `as`: the value that it is, and where. */
static int with_questions(compiler *c, kernel *k, int source, const index_sum *inner, int n, int guard, const expr *as) {
    const index_atom *data[INDEX_MOST_DATA], *left[INDEX_MOST_DATA];
    int n_data = 0, n_left = 0;
    for (int i = 0; i < n; i++) {
        n_data = index_unsure(inner[i], data, n_data);
    }
    for (int i = 0; i < n_data; i++) {
        if (!is_asked(c, k, source, guard, data[i])) {
            left[n_left++] = data[i];
        }
    }
    if (n_left == 0) {
        return source;
    }
    dtype t = k->exprs[source].dtype;
    int asked = ask_for(c, k, left, n_left, guard);
    expr zero = {.kind = EXPR_NUMBER, .dtype = t, .number = number_of_int(0), .guard = -1};
    int otherwise = asked >= 0 ? expr_append(c, k, &zero, (val){-1}, NULL, 0) : -1;
    expr e = {.kind = EXPR_MAP, .dtype = t, .fn = FN_SELECT, .n_sources = 3, .sources = {asked, source, otherwise}, .guard = as->guard};
    return otherwise >= 0 ? expr_append(c, k, &e, (val){as->value}, as->coordinates, as->n_coordinates) : -1;
}

static bool reads_data(index_sum a) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_DATA || (atom->kind != ATOM_VARIABLE && reads_data(atom->of))) {
            return true;
        }
    }
    return false;
}

/* A condition of those of a view's bounds whose places are read from data, or of the others: *within; -1 where they always hold. False:
   memory is out. */
static bool find_within(compiler *c, kernel *k, const dag_node *n, const index_sum *at, bool of_data, int guard, int *within) {
    const view_map *map = &n->view;
    view_bound *bounds = arena_make(c->memory, (size_t)map->n_bounds, sizeof *bounds);
    int kept = 0;
    *within = -1;
    if (bounds == NULL) {
        c->failed = true;
        return false;
    }
    for (int i = 0; i < map->n_bounds; i++) {
        int64_t low, high;
        view_bound b = map->bounds[i];
        b.at = index_replace(&c->g.indices, map->bounds[i].at, n->ndim, at);
        if (reads_data(b.at) != of_data) {
            continue;
        }
        if (!expr_make_data(c, k, b.at, guard)) {
            return false;
        }
        index_range(b.at, &low, &high);
        if (high < b.low || low > b.high) { /* nowhere, wherever the others hold: nothing is read for them */
            bounds[0] = (view_bound){.at = index_constant(0), .low = 1, .high = 0};
            kept = 1;
            break;
        }
        bounds[kept] = b;
        kept += low < b.low || high > b.high;
    }
    expr e = {.kind = EXPR_WITHIN, .dtype = ASSAY_B8, .n_bounds = kept, .bounds = bounds, .guard = guard};
    *within = kept > 0 ? expr_append(c, k, &e, (val){-1}, NULL, 0) : -1;
    return kept == 0 || *within >= 0;
}

static int view(compiler *c, kernel *k, val v, const dag_node *n, const index_sum *at, int guard) {
    const view_map *map = &n->view;
    index_sum *inner = arena_make(c->memory, (size_t)map->n_at, sizeof *inner);
    int within = -1, also = -1;
    if (inner == NULL) {
        c->failed = true;
        return -1;
    }
    /* What a bound's place is read from may itself lie within others only: rows of a triangle that indices choose, padded. */
    if (map->n_bounds > 0 && (!find_within(c, k, n, at, false, guard, &within) ||
                              !find_within(c, k, n, at, true, both(c, k, guard, within), &also))) {
        return -1;
    }
    within = both(c, k, within, also);
    int inside = both(c, k, guard, within);
    for (int i = 0; i < map->n_at; i++) {
        inner[i] = index_replace(&c->g.indices, map->at[i], n->ndim, at);
        if (!expr_make_data(c, k, inner[i], inside)) {
            return -1;
        }
    }
    inside = guard_of_nothing(c, k, inner, map->n_at, inside);
    for (int i = 0; inside >= 0 && i < map->n_at; i++) { /* under that guard as well */
        if (!expr_make_data(c, k, inner[i], inside)) {
            return -1;
        }
    }
    int source = inside >= -1 ? expr_of(c, k, n->sources[0], inner, inside) : -1;
    const expr as = {.guard = guard, .value = within < 0 ? v.id : -1, .n_coordinates = within < 0 ? n->ndim : 0, .coordinates = at};
    source = source >= 0 ? with_questions(c, k, source, inner, map->n_at, inside, &as) : -1;
    if (source < 0 || within < 0) {
        return source;
    }
    expr fill = {.kind = EXPR_NUMBER, .dtype = n->dtype, .number = map->fill, .guard = -1};
    int otherwise = expr_append(c, k, &fill, (val){-1}, NULL, 0);
    expr e = {.kind = EXPR_MAP,
              .dtype = n->dtype,
              .fn = FN_SELECT,
              .n_sources = 3,
              .sources = {within, source, otherwise},
              .guard = guard};
    return otherwise < 0 ? -1 : expr_append(c, k, &e, v, at, n->ndim);
}

/* A half whose sign alone is changed, by way of f32: the half itself, and how; -1: it is not that. */
static val signed_half(const compiler *c, const dag_node *n, scalar_function *fn) {
    const val none = {-1};
    if (n->kind != PRIM_CAST || (n->dtype != ASSAY_F16 && n->dtype != ASSAY_BF16) || c->places[n->sources[0].id].buffer >= 0) {
        return none;
    }
    const dag_node *map = dag_at(&c->g, n->sources[0]);
    if (map->kind != PRIM_MAP || (map->fn != FN_ABS && map->fn != FN_NEG) || c->places[map->sources[0].id].buffer >= 0) {
        return none;
    }
    const dag_node *wide = dag_at(&c->g, map->sources[0]);
    *fn = map->fn;
    return wide->kind == PRIM_CAST && dag_at(&c->g, wide->sources[0])->dtype == n->dtype ? wide->sources[0] : none;
}

static int of_sources(compiler *c, kernel *k, val v, const dag_node *n, const index_sum *at, int guard) {
    expr e = {.kind = n->kind == PRIM_CAST ? EXPR_CAST : EXPR_MAP,
              .dtype = n->dtype,
              .fn = n->fn,
              .n_sources = n->n_sources,
              .guard = guard};
    val half = signed_half(c, n, &e.fn);
    e.kind = half.id >= 0 ? EXPR_MAP : e.kind;
    for (int i = 0; i < n->n_sources; i++) {
        val source = half.id >= 0 ? half : n->sources[i];
        bool plain = dag_at(&c->g, source)->ndim == 0; /* constants are not expanded */
        e.sources[i] = expr_of(c, k, source, plain ? NULL : at, guard);
        if (e.sources[i] < 0) {
            return -1;
        }
    }
    return expr_append(c, k, &e, v, at, n->ndim);
}

static int random_bits(compiler *c, kernel *k, val v, const dag_node *n, const index_sum *at, int guard) {
    int seed = expr_of(c, k, n->sources[0], NULL, -1);
    if (seed < 0) {
        return -1;
    }
    index_sum flat = index_constant(0);
    int64_t strides[TENSOR_MAX_DIMS];
    sizes_contiguous_strides(n->ndim, n->sizes, strides);
    for (int d = 0; d < n->ndim; d++) {
        flat = index_add(&c->g.indices, flat, index_scale(&c->g.indices, at[d], strides[d]));
    }
    expr e = {.kind = EXPR_RANDOM,
              .dtype = ASSAY_I64,
              .n_sources = 1,
              .sources = {seed},
              .at = flat,
              .stream = n->dim,
              .guard = guard};
    return expr_append(c, k, &e, v, at, n->ndim);
}

/* Of a join that no memory holds: the part in which these coordinates lie. */
static int of_part(compiler *c, kernel *k, const dag_node *n, const index_sum *at, int guard) {
    int64_t from = 0, low, high;
    index_range(at[n->dim], &low, &high);
    for (int i = 0; i < n->n_sources; i++) {
        int64_t size = dag_at(&c->g, n->sources[i])->sizes[n->dim];
        if (low >= from && high < from + size) {
            index_sum within[TENSOR_MAX_DIMS];
            memcpy(within, at, (size_t)n->ndim * sizeof *at);
            within[n->dim] = index_add(&c->g.indices, at[n->dim], index_constant(-from));
            return expr_of(c, k, n->sources[i], within, guard);
        }
        from += size;
    }
    assert(!"a join seen as a whole");
    return -1;
}

static bool is_own_root(const kernel *k, val v) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].value.id == v.id) {
            return true;
        }
    }
    return false;
}

int expr_of(compiler *c, kernel *k, val v, const index_sum *at, int guard) {
    if (c->failed || c->g.failed || c->g.indices.failed) {
        return -1;
    }
    const dag_node *n = dag_at(&c->g, v);
    if (is_own_root(k, v)) {
        /* Roots put their own expression in when they join: the very place is known, any other is a conflict. */
        return expr_find(k, v.id, n->ndim, at, guard);
    }
    int known = find_expr(k, v.id, n->ndim, at, guard, false);
    if (known >= 0) {
        return known;
    }
    if (c->places[v.id].buffer >= 0) {
        return load(c, k, v, n->ndim, at, guard);
    }
    switch (n->kind) {
    case PRIM_CONSTANT:
        return expr_append(c, k, &(expr){.kind = EXPR_NUMBER, .dtype = n->dtype, .number = n->number, .guard = guard}, v, at, 0);
    case PRIM_IOTA:
        return expr_make_data(c, k, at[n->dim], guard)
                   ? expr_append(c, k, &(expr){.kind = EXPR_INDEX, .dtype = n->dtype, .at = at[n->dim], .guard = guard}, v, at,
                              n->ndim)
                   : -1;
    case PRIM_MAP:
    case PRIM_CAST:
        return of_sources(c, k, v, n, at, guard);
    case PRIM_VIEW:
        return view(c, k, v, n, at, guard);
    case PRIM_JOIN:
        return of_part(c, k, n, at, guard);
    case PRIM_RANDOM:
        return random_bits(c, k, v, n, at, guard);
    default: /* what schedule gives memory or a kernel of its own */
        assert(!"a value without a place");
        return -1;
    }
}
