/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a schedule computes again and again get memory in the next one, where writing and reading them is worth less. */
#include "engine/compile/schedule.h"

#include <string.h>

/* Rough work of one element, so that what is dear is not done twice. */
static double cost_of(const compiler *c, val v, double *known) {
    if (known[v.id] > 0 || c->places[v.id].buffer >= 0) {
        return known[v.id] > 0 ? known[v.id] : 1;
    }
    const dag_node *n = dag_at(&c->g, v);
    double cost = n->kind == PRIM_RANDOM ? 30 : n->kind != PRIM_MAP ? 0.5 : scalar_function_cost(n->fn);
    for (int i = 0; i < n->n_sources; i++) { /* what many elements share is computed once for all of them */
        double share = (double)dag_numel(dag_at(&c->g, n->sources[i])) / ((double)dag_numel(n) + 1);
        cost += cost_of(c, n->sources[i], known) * (share < 1 ? share : 1);
    }
    known[v.id] = cost;
    return cost;
}

/* What writing an element and reading it again is worth, in additions: in a core's own cache, in the one that cores share, and where it
   goes to memory. */
enum { DEAR = 12, DEAR_SHARED_CACHE = 14, DEAR_MEMORY = 40 };

static double worth_of_place(const dag_node *n) {
    static const double OWN_CACHE_BYTES = 2 << 20, SHARED_CACHE_BYTES = 16 << 20;
    double bytes = (double)dag_numel(n) * (double)dtype_size(n->dtype);
    return bytes <= OWN_CACHE_BYTES ? DEAR : bytes <= SHARED_CACHE_BYTES ? DEAR_SHARED_CACHE : DEAR_MEMORY;
}

/* The value that is computed for a factor of a matrix product, seen through what only looks at it otherwise; -1: it is in memory. */
static val computed_factor(const compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    while (n->kind == PRIM_VIEW && dag_numel(dag_at(&c->g, n->sources[0])) <= dag_numel(n)) {
        v = n->sources[0];
        n = dag_at(&c->g, v);
    }
    if (c->g.rounds_factors && n->kind == PRIM_CAST && dag_at(&c->g, n->sources[0])->dtype == ASSAY_BF16) {
        v = n->sources[0]; /* which is multiplied as it is */
    }
    primitive kind = dag_at(&c->g, v)->kind;
    return (kind == PRIM_MAP || kind == PRIM_CAST) && c->places[v.id].buffer < 0 ? v : (val){-1};
}

/* Blocks of a matrix product bring what they multiply into their panels, each of them anew; and so does every product that multiplies
   it, one perhaps down its columns. */
static bool promote_factors(compiler *c, attempt *a, double *costs) {
    enum { DEAR_TWICE = 3 };
    int *products = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *products);
    if (products == NULL) {
        c->failed = true;
        return false;
    }
    bool any = false;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        product_factor factors[2];
        if (k == NULL || !k->sums_products || !product_factors(c, k->roots[0].value, factors)) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            val v = computed_factor(c, factors[i].value);
            if (v.id < 0) {
                continue;
            }
            int64_t blocks = (factors[i].uses - 1) / (i == 0 ? PRODUCT_COLUMNS : PRODUCT_ROWS);
            double cost = cost_of(c, v, costs);
            /* What is very dear is better computed in loops of its own even once: those of panels are short. */
            if (cost * (double)blocks > DEAR || cost > 2 * DEAR || (++products[v.id] > 1 && cost >= DEAR_TWICE)) {
                a->promoted[v.id] = true;
                any = true;
            }
        }
    }
    return any;
}

/* How often a kernel computes the value of expression e at places that differ from its last one's. */
static int other_places(const kernel *k, int e) {
    int n = 0;
    for (int i = 0; i < e; i++) {
        n += k->exprs[i].value == k->exprs[e].value && k->exprs[i].kind == k->exprs[e].kind;
    }
    return n;
}

/* What a kernel computes at several places for each of its elements (windows) is computed once. */
static bool promote_windows(compiler *c, attempt *a, double *costs) {
    int best = -1;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        for (int e = 0; k != NULL && e < k->n_exprs; e++) {
            int id = k->exprs[e].value;
            bool computed = id > best && !c->in_pieces[id] && (k->exprs[e].kind == EXPR_MAP || k->exprs[e].kind == EXPR_CAST);
            if (computed && !a->promoted[id] && dag_numel(dag_at(&c->g, (val){id})) > 1 &&
                dag_at(&c->g, (val){id})->kind != PRIM_VIEW && other_places(k, e) * cost_of(c, (val){id}, costs) > 2 * DEAR) {
                best = id;
            }
        }
    }
    if (best >= 0) {
        a->promoted[best] = true;
    }
    return best >= 0;
}

/* How many elements the loops over such variables visit. */
static double visited_by(const kernel *k, uint64_t variables) {
    double n = 1;
    for (int i = 0; i < k->n_variables; i++) {
        n *= (variables >> i & 1) != 0 ? (double)k->variables[i].size : 1;
    }
    return n;
}

/* The most that a root of the kernel stores. */
static double most_stored(const kernel *k) {
    double most = 0;
    for (int i = 0; i < k->n_roots; i++) {
        const double n = k->roots[i].kind == ROOT_STORE ? visited_by(k, k->roots[i].variables) : 0;
        most = n > most ? n : most;
    }
    return most;
}

/* The variable along which the kernel's first store lies dense, or so it will be looped over; -1: none. */
static int dense_variable(const kernel *k) {
    for (int v = 0; k->n_roots > 0 && k->roots[0].kind == ROOT_STORE && v < k->n_variables; v++) {
        int64_t stride;
        if (k->variables[v].size > 1 && index_stride(k->roots[0].at, v, &stride) && stride == 1) {
            return v;
        }
    }
    return -1;
}

/* What a kernel computes along its innermost loop again for each turn of those around it (the deviations of channels, for each row) is
   computed once, where that spares more than another kernel takes to begin. */
static bool promote_repeated(compiler *c, attempt *a, double *costs) {
    enum { LEAST_TURNS = 8, LEAST_COST = 8 };
    static const double LEAST_SPARED = 1e6; /* additions: a few microseconds of two cores */
    int best = -1;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        const int inner = k != NULL ? dense_variable(k) : -1;
        for (int e = 0; inner >= 0 && e < k->n_exprs; e++) {
            const int id = k->exprs[e].value;
            const bool is_inner = (k->exprs[e].variables >> inner & 1) != 0;
            if (id <= best || k->exprs[e].kind != EXPR_MAP || !is_inner || c->in_pieces[id] || a->promoted[id] || c->places[id].buffer >= 0) {
                continue;
            }
            const double own = visited_by(k, k->exprs[e].variables), all = most_stored(k), cost = cost_of(c, (val){id}, costs);
            if (own == (double)dag_numel(dag_at(&c->g, (val){id})) && all >= LEAST_TURNS * own && cost >= LEAST_COST &&
                (all - own) * cost >= LEAST_SPARED) {
                best = id;
            }
        }
    }
    if (best >= 0) {
        a->promoted[best] = true;
    }
    return best >= 0;
}

/* What expression e of step s reads of what reductions of one kernel before it answer, each of v's elements from one element: how
   many of them; -1: of several kernels, or not so. `from`: the kernel's step. */
static int results_read(const compiler *c, const kernel *k, int e, int64_t elements, int *from, bool *seen) {
    int n = 0, reads[EXPR_MAX_READS], n_reads = expr_reads(k, &k->exprs[e], reads);
    seen[e] = true;
    for (int i = 0; i < n_reads; i++) {
        int below = seen[reads[i]] ? 0 : results_read(c, k, reads[i], elements, from, seen);
        if (below < 0) {
            return -1;
        }
        n += below;
    }
    const compile_buffer *b = k->exprs[e].kind == EXPR_LOAD ? &c->buffers[k->exprs[e].buffer] : NULL;
    if (b == NULL || b->step < 0) {
        return k->exprs[e].kind == EXPR_RESULT ? -1 : n;
    }
    const kernel *maker = b->role == BUFFER_WORK ? c->steps[b->step].kernel : NULL;
    for (int i = 0; maker != NULL && i < maker->n_roots; i++) {
        const root *r = &maker->roots[i];
        bool fits = r->buffer == k->exprs[e].buffer && r->kind == ROOT_REDUCE && !maker->sums_products &&
                    dag_numel(dag_at(&c->g, r->value)) == elements && (*from < 0 || *from == b->step);
        if (fits) {
            *from = b->step;
            return n + 1;
        }
    }
    return -1;
}

/* What follows for each row from two results of its kernel (the loss of a row, from its largest and its sum) is computed there: only
   that is written then, and often it does not hang on how the results came about. */
static bool promote_followers(compiler *c, attempt *a) {
    enum { FAR_LARGER = 16 };
    for (int s = 1; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        bool *seen = k != NULL ? arena_make(c->memory, (size_t)k->n_exprs, sizeof *seen) : NULL;
        for (int e = k != NULL && seen != NULL ? k->n_exprs - 1 : -1; e >= 0; e--) {
            const expr *x = &k->exprs[e];
            val v = {x->value};
            int from = -1;
            memset(seen, 0, (size_t)k->n_exprs * sizeof *seen);
            if (v.id < 0 || c->in_pieces[v.id] || x->kind != EXPR_MAP || c->places[v.id].buffer >= 0 || a->promoted[v.id] || dag_numel(dag_at(&c->g, v)) < 2 ||
                results_read(c, k, e, dag_numel(dag_at(&c->g, v)), &from, seen) < 2) {
                continue;
            }
            double visited = 1;
            for (int i = 0; i < c->steps[from].kernel->n_variables; i++) {
                visited *= (double)c->steps[from].kernel->variables[i].size;
            }
            if (visited >= FAR_LARGER * (double)dag_numel(dag_at(&c->g, v))) {
                a->promoted[v.id] = true;
                return true;
            }
        }
    }
    return false;
}

bool promote(compiler *c, attempt *a) {
    int *first = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *first);
    bool *twice = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *twice);
    double *costs = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *costs);
    if (first == NULL || twice == NULL || costs == NULL) {
        c->failed = true;
        return false;
    }
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        for (int e = 0; k != NULL && e < k->n_exprs; e++) {
            int id = k->exprs[e].value;
            if (id >= 0 && !c->in_pieces[id] && k->exprs[e].kind != EXPR_LOAD) {
                twice[id] |= first[id] != 0 && first[id] != s + 1;
                first[id] = s + 1;
            }
        }
    }
    bool any = promote_factors(c, a, costs);
    any |= promote_windows(c, a, costs);
    any |= promote_followers(c, a);
    any |= promote_repeated(c, a, costs);
    for (int i = c->g.n_nodes - 1; i >= 0; i--) {
        const dag_node *n = &c->g.nodes[i];
        if (twice[i] && c->places[i].buffer < 0 && (n->kind == PRIM_MAP || n->kind == PRIM_CAST) &&
            dag_numel(n) > 1 && cost_of(c, (val){i}, costs) >= worth_of_place(n)) {
            a->promoted[i] = true;
            any = true;
            break;
        }
    }
    return any;
}

/* The steps of a chain that compute value id. */
static int n_computing(const compiler *c, const chain *h, int id) {
    int n = 0;
    for (int s = h->first; s < h->first + h->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        bool computes = false;
        for (int e = 0; e < k->n_exprs; e++) {
            computes |= k->exprs[e].value == id && k->exprs[e].kind != EXPR_LOAD;
        }
        n += computes;
    }
    return n;
}

val dear_in_chains(compiler *c, int n_chains, const chain *chains) {
    /* What a part leaves for the next step comes from the core's own cache, or from not far behind it. */
    static const double PART_BYTES = 2 << 20;
    double *costs = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *costs);
    if (costs == NULL) {
        c->failed = true;
        return (val){-1};
    }
    for (int i = c->g.n_nodes - 1; i >= 0; i--) {
        const dag_node *n = &c->g.nodes[i];
        for (int h = 0; h < n_chains && (n->kind == PRIM_MAP || n->kind == PRIM_CAST) && c->places[i].buffer < 0 && !c->in_pieces[i]; h++) {
            double bytes = (double)dag_numel(n) * (double)dtype_size(n->dtype) / (double)chains[h].parts;
            if (dag_numel(n) > 1 && bytes <= PART_BYTES && n_computing(c, &chains[h], i) > 1 && cost_of(c, (val){i}, costs) >= DEAR) {
                return (val){i};
            }
        }
    }
    return (val){-1};
}
