/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a kernel's variables, in every index expression. */
#include "engine/compile/variables.h"

void replace_variables(compiler *c, kernel *k, int n, const index_sum *by) {
    index_pool *p = &c->g.indices;
    for (int i = 0; i < k->n_exprs; i++) {
        expr *e = &k->exprs[i];
        e->at = index_replace(p, e->at, n, by);
        index_sum *coordinates = arena_make(c->memory, (size_t)e->n_coordinates, sizeof *coordinates);
        view_bound *bounds = arena_make(c->memory, (size_t)e->n_bounds, sizeof *bounds);
        if (coordinates == NULL || bounds == NULL) {
            c->failed = true;
            return;
        }
        for (int d = 0; d < e->n_coordinates; d++) {
            coordinates[d] = index_replace(p, e->coordinates[d], n, by);
        }
        for (int b = 0; b < e->n_bounds; b++) {
            bounds[b] = e->bounds[b];
            bounds[b].at = index_replace(p, bounds[b].at, n, by);
        }
        e->coordinates = coordinates;
        e->bounds = bounds;
    }
    for (int i = 0; i < k->n_roots; i++) {
        k->roots[i].at = index_replace(p, k->roots[i].at, n, by);
        k->roots[i].place = index_replace(p, k->roots[i].place, n, by);
    }
    c->failed |= p->failed;
}

static uint64_t mapped(uint64_t set, int n, const uint64_t *to) {
    uint64_t out = 0;
    for (int v = 0; v < n; v++) {
        out |= (set >> v & 1) != 0 ? to[v] : 0;
    }
    return out;
}

void rename_variable_sets(kernel *k, int n, const uint64_t *to) {
    for (int i = 0; i < k->n_exprs; i++) {
        k->exprs[i].variables = mapped(k->exprs[i].variables, n, to);
    }
    for (int i = 0; i < k->n_roots; i++) {
        k->roots[i].variables = mapped(k->roots[i].variables, n, to);
    }
}

double turns_of_all(const kernel *k) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= (double)k->variables[v].size;
    }
    return n;
}
