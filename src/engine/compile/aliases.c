/* SPDX-License-Identifier: Apache-2.0 */
/* Found once for the whole graph: programs may write one tensor hundreds of times in place. */
#include "engine/compile/aliases.h"

#include <stdlib.h>

typedef struct name {
    const tensor *t, *origin;
    int first_use, last_use; /* nodes that take it; the number of nodes: the graph returns it; none: after all, before all */
} name;

struct aliases {
    size_t n;
    name *names; /* by address */
};

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const name *)a)->t, y = (uintptr_t)((const name *)b)->t;
    return (x > y) - (x < y);
}

static name *find(const aliases *a, const tensor *t) {
    name wanted = {.t = t};
    return a->n > 0 ? bsearch(&wanted, a->names, a->n, sizeof wanted, by_address) : NULL;
}

static size_t n_tensors(const graph *g) {
    size_t n = (size_t)g->n_outputs;
    for (int i = 0; i < g->n_nodes; i++) {
        n += (size_t)call_all_tensors(&g->nodes[i].call, NULL, 0) + (size_t)g->nodes[i].out->n;
    }
    return n;
}

static void add(aliases *a, const tensor *t) {
    a->names[a->n++] = (name){.t = t, .origin = t, .first_use = INT32_MAX, .last_use = -1};
}

static void add_all(aliases *a, const graph *g, tensor **taken, int most) {
    for (int i = 0; i < g->n_nodes; i++) {
        int n = call_all_tensors(&g->nodes[i].call, taken, most);
        for (int k = 0; k < n; k++) {
            add(a, taken[k]);
        }
        for (int k = 0; k < g->nodes[i].out->n; k++) {
            add(a, &g->nodes[i].out->items[k]);
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        add(a, g->outputs[i]);
    }
    qsort(a->names, a->n, sizeof *a->names, by_address);
    size_t kept = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (kept == 0 || a->names[kept - 1].t != a->names[i].t) {
            a->names[kept++] = a->names[i];
        }
    }
    a->n = kept;
}

static void use(aliases *a, const tensor *t, int node) {
    name *of = find(a, t);
    of->first_use = node < of->first_use ? node : of->first_use;
    of->last_use = node > of->last_use ? node : of->last_use;
}

status aliases_make(arena *memory, const graph *g, aliases **out, error *err) {
    int most = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        int n = call_all_tensors(&g->nodes[i].call, NULL, 0);
        most = n > most ? n : most;
    }
    aliases *a = arena_make(memory, 1, sizeof *a);
    tensor **taken = arena_make(memory, (size_t)most, sizeof(tensor *));
    name *names = arena_make(memory, n_tensors(g), sizeof *names);
    if (a == NULL || taken == NULL || names == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    a->names = names;
    add_all(a, g, taken, most);
    for (int i = 0; i < g->n_nodes; i++) {
        const op_call *call = &g->nodes[i].call;
        int n = call_all_tensors(call, taken, most);
        for (int k = 0; k < n; k++) {
            use(a, taken[k], i);
        }
        bool shares = (call->op->row->is_view || call->op->in_place) && call->args[0].kind == ARG_TENSOR;
        for (int k = 0; shares && k < g->nodes[i].out->n; k++) {
            find(a, &g->nodes[i].out->items[k])->origin = aliases_origin(a, call->args[0].tensor);
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        use(a, g->outputs[i], g->n_nodes);
    }
    *out = a;
    return ASSAY_OK;
}

const tensor *aliases_origin(const aliases *a, const tensor *t) {
    const name *of = find(a, t);
    return of != NULL ? of->origin : t;
}

bool aliases_used_after(const aliases *a, const tensor *t, int node) {
    const name *of = find(a, t);
    return of != NULL && of->last_use > node;
}

bool aliases_used_besides(const aliases *a, const tensor *t, int node) {
    const name *of = find(a, t);
    return of != NULL && of->last_use >= 0 && (of->last_use != node || of->first_use != node);
}
