/* SPDX-License-Identifier: Apache-2.0 */
/* What had better be computed before all else. */
#include "engine/compile/schedule.h"

/* What is computed by elements of inputs alone, and has no memory that other steps write. */
static bool is_of_inputs(const compiler *c, int i, const bool *of_inputs) {
    const dag_node *n = &c->g.nodes[i];
    bool computed = n->kind == PRIM_IOTA || n->kind == PRIM_MAP || n->kind == PRIM_CAST || n->kind == PRIM_VIEW;
    bool all = computed ? c->places[i].buffer < 0 : n->kind == PRIM_INPUT || n->kind == PRIM_CONSTANT;
    for (int s = 0; s < n->n_sources; s++) {
        all &= of_inputs[n->sources[s].id];
    }
    return all;
}

void mark_early(compiler *c, attempt *a) {
    enum { FAR_LARGER = 16 };
    size_t n = (size_t)c->g.n_nodes;
    bool *of_inputs = arena_make(c->memory, n, sizeof *of_inputs);
    double *largest = arena_make(c->memory, n, sizeof *largest); /* of those that read it, by elements */
    if (of_inputs == NULL || largest == NULL) {
        c->failed = true;
        return;
    }
    for (int i = c->g.n_nodes - 1; i >= 0; i--) {
        const dag_node *reader = &c->g.nodes[i];
        bool by_elements = reader->kind == PRIM_MAP || reader->kind == PRIM_CAST || reader->kind == PRIM_VIEW;
        double elements = by_elements ? (double)dag_numel(reader) : 0;
        elements = by_elements && largest[i] > elements ? largest[i] : elements;
        for (int s = 0; a->live[i] && s < reader->n_sources; s++) {
            double *known = &largest[reader->sources[s].id];
            *known = elements > *known ? elements : *known;
        }
    }
    for (int i = 0; i < c->g.n_nodes; i++) {
        const dag_node *v = &c->g.nodes[i];
        of_inputs[i] = is_of_inputs(c, i, of_inputs);
        a->early[i] = a->live[i] && v->kind == PRIM_REDUCE && of_inputs[v->sources[0].id] &&
                      largest[i] >= FAR_LARGER * (double)dag_numel(dag_at(&c->g, v->sources[0]));
    }
}
