/* SPDX-License-Identifier: Apache-2.0 */
/* Which values get memory because too much stands behind them for one kernel. */
#include "engine/compile/schedule.h"

/* What values behind a value are looked at, besides where it is itself: at places that data says, each of which is computed anew, with what
   says it. Most: of an operator's operands the largest number counts, since they share what is at the same place; all: their sum. */
typedef struct looks {
    double most, all;
} looks;

static void add_looks(looks *n, index_sum at, const looks *of) {
    for (int i = 0; i < at.n; i++) {
        const index_atom *atom = at.terms[i].atom;
        if (atom->kind == ATOM_DATA) {
            n->most += 1 + of[atom->id].most;
            n->all += 1 + of[atom->id].all;
        }
        add_looks(n, atom->of, of);
        for (int k = 0; k < atom->n_at; k++) {
            add_looks(n, atom->at[k], of);
        }
    }
}

static looks looks_of(const dag_node *n, const looks *of) {
    looks sum = {0, 0};
    if (n->kind == PRIM_VIEW) {
        sum = of[n->sources[0].id];
        for (int i = 0; i < n->view.n_at; i++) {
            add_looks(&sum, n->view.at[i], of);
        }
        for (int i = 0; i < n->view.n_bounds; i++) {
            add_looks(&sum, n->view.bounds[i].at, of);
        }
        return sum;
    }
    for (int i = 0; i < n->n_sources; i++) {
        const looks *x = &of[n->sources[i].id];
        sum.most = x->most > sum.most ? x->most : sum.most;
        sum.all += i > 0 && n->sources[i].id == n->sources[0].id ? 0 : x->all;
    }
    return sum;
}

/* Passes go from a value to what it is computed from, a frame of the stack for each: a value that so many others of its kernel stand
   behind, one after the other, gets memory. So does one that looks so often at what data says where. */
bool cut_long_chains(const compiler *c, attempt *a) {
    enum { MOST_DEPTH = 256, MOST_LOOKS = 32, ALL_LOOKS = 4096 };
    int *depth = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *depth);
    looks *seen = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *seen);
    for (int id = 0; depth != NULL && seen != NULL && id < c->g.n_nodes; id++) {
        const dag_node *n = dag_at(&c->g, (val){id});
        bool is_computed = n->kind == PRIM_MAP || n->kind == PRIM_CAST, is_seen = n->kind == PRIM_VIEW || n->kind == PRIM_JOIN;
        if (!is_computed && !is_seen) {
            continue;
        }
        for (int i = 0; i < n->n_sources; i++) {
            depth[id] = depth[n->sources[i].id] >= depth[id] ? depth[n->sources[i].id] + 1 : depth[id];
        }
        seen[id] = looks_of(n, seen);
        bool looks_often = n->kind != PRIM_JOIN && (seen[id].most >= MOST_LOOKS || seen[id].all >= ALL_LOOKS);
        a->promoted[id] |= a->live[id] && ((is_computed && depth[id] >= MOST_DEPTH) || looks_often);
        if (a->promoted[id]) {
            depth[id] = 0;
            seen[id] = (looks){0, 0};
        }
    }
    return depth != NULL && seen != NULL;
}
