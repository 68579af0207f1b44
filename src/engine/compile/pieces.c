/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs computed by elements of what is joined (a rotary embedding: halves of a head change places) are computed piece by piece:
   each piece looks at one part of the join, which then needs no memory. */
#include "engine/compile/passes.h"
#include "engine/graph/dag_build.h"

#include <string.h>

/* Shorter pieces of a row are not worth loops of their own, smaller values not worth several kernels. */
enum { MOST_PIECES = 4, LEAST_RUN = 16, LEAST_ELEMENTS = 1 << 14 };

/* How often each value is read. */
typedef struct readers {
    int *all;   /* by the program */
    int *taken; /* by the output at hand and by what only it reads */
} readers;

static bool count_readers(compiler *c, readers *r) {
    size_t n = (size_t)c->g.n_nodes;
    bool *live = arena_make(c->memory, n, sizeof *live);
    *r = (readers){arena_make(c->memory, n, sizeof *r->all), arena_make(c->memory, n, sizeof *r->taken)};
    if (live == NULL || r->all == NULL || r->taken == NULL) {
        c->failed = true;
        return false;
    }
    for (int i = 0; i < c->g.n_outputs; i++) {
        live[c->g.outputs[i].value.id] = true;
        r->all[c->g.outputs[i].value.id]++;
    }
    for (int i = 0; i < c->g.n_kept; i++) {
        r->all[c->g.kept[i].id]++;
    }
    for (int i = c->g.n_nodes - 1; i >= 0; i--) {
        const dag_node *reader = &c->g.nodes[i];
        for (int s = 0; live[i] && s < reader->n_sources; s++) {
            live[reader->sources[s].id] = true;
            r->all[reader->sources[s].id]++;
        }
    }
    return true;
}

/* Whether a loop over a row computes it: what follows from that is the row's own, and no loop goes over it. */
static bool is_of_row(const compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    while (n->kind == PRIM_MAP || n->kind == PRIM_CAST || n->kind == PRIM_VIEW) {
        n = dag_at(&c->g, n->sources[0]);
    }
    return n->kind == PRIM_REDUCE;
}

static bool is_worth_pieces(const compiler *c, const dag_node *join) {
    int64_t run = 1;
    for (int d = join->dim + 1; d < join->ndim; d++) {
        run *= join->sizes[d];
    }
    bool all = c->options->pieces_all, worth = join->n_sources <= MOST_PIECES && (all || dag_numel(join) >= LEAST_ELEMENTS);
    for (int i = 0; i < join->n_sources && !all; i++) {
        const int64_t elements = run * dag_at(&c->g, join->sources[i])->sizes[join->dim];
        worth &= elements >= LEAST_RUN || (elements == 1 && is_of_row(c, join->sources[i]));
    }
    return worth;
}

/* Whether two joins of one shape are cut at the same places. */
static bool is_cut_alike(const compiler *c, const dag_node *a, const dag_node *b) {
    bool alike = a->dim == b->dim && a->n_sources == b->n_sources;
    for (int i = 0; alike && i < a->n_sources; i++) {
        alike = dag_at(&c->g, a->sources[i])->sizes[a->dim] == dag_at(&c->g, b->sources[i])->sizes[b->dim];
    }
    return alike;
}

/* Marks, of what output v alone is computed from by elements, the values whose every element is seen in one piece only, and
   dissolves the joins among them. The first of these; NULL: there is none, and nothing is marked. */
static const dag_node *dissolve(compiler *c, val v, const readers *r) {
    const dag_node *found = NULL;
    memset(r->taken, 0, (size_t)v.id * sizeof *r->taken);
    r->taken[v.id] = 1;
    for (int i = v.id; i >= 0; i--) {
        const dag_node *n = &c->g.nodes[i];
        bool by_elements = n->kind == PRIM_MAP || n->kind == PRIM_CAST;
        bool is_join = n->kind == PRIM_JOIN && is_worth_pieces(c, n) && (found == NULL || is_cut_alike(c, n, found));
        if (r->taken[i] == 0 || r->taken[i] < r->all[i] || (!by_elements && !is_join)) {
            continue;
        }
        found = is_join && found == NULL ? n : found;
        c->dissolved[i] = is_join;
        c->in_pieces[i] = true;
        for (int s = 0; by_elements && s < n->n_sources; s++) {
            const dag_node *source = dag_at(&c->g, n->sources[s]);
            r->taken[n->sources[s].id] += source->ndim == n->ndim && dag_numel(source) == dag_numel(n);
        }
    }
    for (int i = v.id; i >= 0 && found == NULL; i--) { /* no other output's: each of those is read by that alone */
        c->in_pieces[i] &= r->taken[i] == 0;
    }
    return found;
}

/* Output i as its value's pieces, joined. */
static void cut(compiler *c, int i, const dag_node *join) {
    val pieces[MOST_PIECES], whole = c->g.outputs[i].value;
    int64_t from = 0;
    int n = join->n_sources, dim = join->dim;
    int64_t sizes[MOST_PIECES];
    for (int s = 0; s < n; s++) {
        sizes[s] = dag_at(&c->g, join->sources[s])->sizes[dim];
    }
    for (int s = 0; s < n; s++) { /* more values move those that are there */
        pieces[s] = v_slice(&c->g, whole, dim, from, sizes[s], 1);
        from += sizes[s];
    }
    c->g.outputs[i].value = v_join(&c->g, n, pieces, dim);
    c->failed |= c->g.failed;
}

bool cut_by_joins(compiler *c) {
    readers r;
    size_t most = (size_t)c->g.n_nodes + (size_t)c->g.n_outputs * (MOST_PIECES + 1);
    c->dissolved = arena_make(c->memory, most, sizeof *c->dissolved);
    c->in_pieces = arena_make(c->memory, most, sizeof *c->in_pieces);
    if (c->dissolved == NULL || c->in_pieces == NULL || !count_readers(c, &r)) {
        c->failed = true;
        return false;
    }
    for (int i = 0; i < c->g.n_outputs && !c->options->no_fusion && !c->failed; i++) {
        val v = c->g.outputs[i].value;
        bool by_elements = dag_at(&c->g, v)->kind == PRIM_MAP || dag_at(&c->g, v)->kind == PRIM_CAST;
        const dag_node *join = by_elements && r.all[v.id] == 1 ? dissolve(c, v, &r) : NULL;
        if (join != NULL) {
            cut(c, i, join);
        }
    }
    return !c->failed;
}
