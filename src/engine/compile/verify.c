/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold between the passes, whatever they do: a value is made of earlier ones of fitting sizes and types; a kernel reads
   only what is written, within its memory; its loops look at every variable once; values in one memory take turns. A pass that breaks
   it is a bug of the compiler, told as one before its code can run. */
#include "engine/compile/verify.h"

#include <limits.h>

static status broken(error *err, const char *pass, const char *what, int which, const char *why) {
    return fail(err, ASSAY_INTERNAL, "the compiler, after %s: %s %d %s", pass, what, which, why);
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static bool same_sizes(const dag_node *a, const dag_node *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) {
        same = a->sizes[d] == b->sizes[d];
    }
    return same;
}

static const char *check_map(const dag *g, const dag_node *n) {
    if (n->n_sources != scalar_function_operands(n->fn)) {
        return "has another number of operands than its function";
    }
    dtype t = dag_at(g, n->sources[n->n_sources - 1])->dtype;
    for (int i = 0; i < n->n_sources; i++) {
        const dag_node *x = dag_at(g, n->sources[i]);
        if (x->kind != PRIM_CONSTANT && !same_sizes(x, n)) {
            return "has an operand of other sizes";
        }
        if (x->dtype != (n->fn == FN_SELECT && i == 0 ? ASSAY_B8 : t)) {
            return "has operands of several types";
        }
    }
    return n->dtype == scalar_function_result(n->fn, t) ? NULL : "has another type than its function answers";
}

/* Coordinates of something with these sizes, computed from n's own. */
static const char *check_coordinates(const dag_node *n, const view_map *map, int ndim) {
    uint64_t own = n->ndim < 64 ? ((uint64_t)1 << n->ndim) - 1 : UINT64_MAX;
    if (map->n_at != ndim) {
        return "looks at another number of dimensions than there are";
    }
    for (int i = 0; i < map->n_at; i++) {
        if ((index_variables(map->at[i]) & ~own) != 0) {
            return "is computed from coordinates that it does not have";
        }
    }
    return NULL;
}

/* A coordinate is one anywhere, and what is computed from coordinates as well; what is computed from memory is seen where that is
   read. */
static bool has_ends(const dag_node *n) {
    return n->kind != PRIM_CONSTANT && n->kind != PRIM_IOTA && n->kind != PRIM_MAP && n->kind != PRIM_CAST && n->kind != PRIM_VIEW;
}

static const char *check_view(const dag *g, const dag_node *n) {
    const dag_node *of = dag_at(g, n->sources[0]);
    const char *why = check_coordinates(n, &n->view, of->ndim);
    for (int d = 0; why == NULL && has_ends(of) && n->view.n_bounds == 0 && dag_numel(n) > 0 && d < of->ndim; d++) {
        const index_sum at = n->view.at[d];
        bool is_plain = true;
        int64_t low, high;
        for (int i = 0; i < at.n; i++) {
            is_plain &= at.terms[i].atom->kind == ATOM_VARIABLE;
        }
        index_range(at, &low, &high);
        why = is_plain && (low < 0 || high >= of->sizes[d]) ? "looks beyond what it shows" : NULL;
    }
    return why != NULL ? why : n->dtype == of->dtype ? NULL : "has another type than what it shows";
}

static const char *check_reduce(const dag *g, const dag_node *n) {
    const dag_node *of = dag_at(g, n->sources[0]);
    int ndim = 0;
    for (int d = 0; d < of->ndim; d++) {
        if ((n->reduce.dims >> d & 1) != 0) {
            continue;
        }
        if (ndim >= n->ndim || n->sizes[ndim] != of->sizes[d]) {
            return "has other sizes than what it leaves of its source";
        }
        ndim++;
    }
    bool is_place = n->reduce.how == RED_ARGMAX || n->reduce.how == RED_ARGMIN;
    if (ndim != n->ndim) {
        return "has more dimensions than what it leaves of its source";
    }
    return n->dtype == (is_place ? ASSAY_I64 : of->dtype) ? NULL : "has another type than its reduction answers";
}

static const char *check_join(const dag *g, const dag_node *n) {
    int64_t together = 0;
    for (int i = 0; i < n->n_sources; i++) {
        const dag_node *x = dag_at(g, n->sources[i]);
        if (x->dtype != n->dtype || x->ndim != n->ndim) {
            return "joins what differs in type or dimensions";
        }
        for (int d = 0; d < n->ndim; d++) {
            if (d != n->dim && x->sizes[d] != n->sizes[d]) {
                return "joins what differs in another dimension";
            }
        }
        together += x->sizes[n->dim];
    }
    return together == n->sizes[n->dim] ? NULL : "is longer or shorter than what it joins";
}

static const char *check_scatter(const dag *g, const dag_node *n) {
    const dag_node *base = dag_at(g, n->sources[0]), *updates = dag_at(g, n->sources[1]);
    if (!same_sizes(n, base) || n->dtype != base->dtype || n->dtype != updates->dtype) {
        return "is not like its base, or its updates are of another type";
    }
    return check_coordinates(updates, &n->scatter.where, n->ndim);
}

static const char *check_node(const dag *g, const dag_node *n) {
    switch (n->kind) {
    case PRIM_MAP:
        return check_map(g, n);
    case PRIM_VIEW:
        return check_view(g, n);
    case PRIM_REDUCE:
        return check_reduce(g, n);
    case PRIM_JOIN:
        return check_join(g, n);
    case PRIM_SCATTER:
        return check_scatter(g, n);
    case PRIM_CAST:
        return same_sizes(n, dag_at(g, n->sources[0])) ? NULL : "is a cast to other sizes";
    case PRIM_SCAN:
        return same_sizes(n, dag_at(g, n->sources[0])) && n->dtype == dag_at(g, n->sources[0])->dtype
                   ? NULL
                   : "is not like what it runs along";
    case PRIM_IOTA:
        return n->dim >= 0 && n->dim < n->ndim ? NULL : "is a coordinate that it does not have";
    default:
        return NULL;
    }
}

status verify_values(const dag *g, const char *pass, error *err) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dag_node *n = &g->nodes[i];
        for (int s = 0; s < n->n_sources; s++) {
            if (n->sources[s].id < 0 || n->sources[s].id >= i) {
                return broken(err, pass, "value", i, "is made of what is made later");
            }
        }
        const char *why = check_node(g, n);
        if (why != NULL) {
            return broken(err, pass, "value", i, why);
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const dag_node *n = dag_at(g, g->outputs[i].value);
        const tensor *to = g->outputs[i].to;
        bool fits = n->kind == PRIM_CONSTANT || n->ndim == to->ndim;
        for (int d = 0; fits && n->kind != PRIM_CONSTANT && d < n->ndim; d++) {
            fits = n->sizes[d] == to->sizes[d];
        }
        if (!fits || n->dtype != to->dtype) {
            return broken(err, pass, "output", i, "is not what the graph says");
        }
    }
    return ASSAY_OK;
}

/* --- kernels --------------------------------------------------------------------------------------------------------------- */

/* Elements of a buffer; from which on nothing may be read or written. */
static int64_t extent_of(const compile_buffer *b) {
    return b->role == BUFFER_SEED ? 1 : b->role == BUFFER_WORK ? b->n_elems : tensor_span(b->tensor);
}

/* Whether an index that is a sum of multiples of variables stays within a buffer. Of others the bounds are but roughly known. */
static bool stays_within(const compiler *c, index_sum at, int buffer) {
    int64_t low, high;
    for (int i = 0; i < at.n; i++) {
        if (at.terms[i].atom->kind != ATOM_VARIABLE) {
            return true;
        }
    }
    index_range(at, &low, &high);
    return low >= 0 && high < extent_of(&c->buffers[buffer]);
}

typedef struct checker {
    compiler *c;
    int step;
    const bool *written; /* by buffer: by a step before, or from outside */
} checker;

static const char *check_expression(const checker *h, const kernel *k, int i, bool is_empty) {
    const expr *e = &k->exprs[i];
    uint64_t all = k->n_variables < 64 ? ((uint64_t)1 << k->n_variables) - 1 : UINT64_MAX, depends = 0;
    if ((e->variables & ~all) != 0) {
        return "depends on variables that its kernel does not have";
    }
    for (int s = 0; s < e->n_sources; s++) {
        if (e->sources[s] < 0 || e->sources[s] >= i) {
            return "is computed from what comes later";
        }
        depends |= k->exprs[e->sources[s]].variables;
    }
    if ((depends & ~e->variables) != 0) {
        return "depends on variables that it does not tell";
    }
    if (e->kind == EXPR_RESULT) {
        return e->root >= 0 && e->root < k->n_roots && k->roots[e->root].kind == ROOT_REDUCE ? NULL : "is the result of nothing";
    }
    if (e->kind != EXPR_LOAD) {
        return NULL;
    }
    if (e->buffer < 0 || e->buffer >= h->c->n_buffers) {
        return "reads no memory";
    }
    if (!h->written[e->buffer]) {
        return "reads what nobody has written";
    }
    return is_empty || e->guard >= 0 || stays_within(h->c, e->at, e->buffer) ? NULL : "reads beyond its memory";
}

static const char *check_root(const checker *h, const kernel *k, const root *r, bool is_empty) {
    if (r->expr < 0 || r->expr >= k->n_exprs) {
        return "stores nothing";
    }
    if (r->buffer < 0) {
        return r->kind == ROOT_REDUCE ? NULL : "is stored nowhere";
    }
    if (r->buffer >= h->c->n_buffers || h->c->buffers[r->buffer].role == BUFFER_INPUT || h->c->buffers[r->buffer].role == BUFFER_SEED) {
        return "is stored where nothing may be";
    }
    return is_empty || r->kind == ROOT_SCATTER || stays_within(h->c, r->at, r->buffer) ? NULL : "is stored beyond its memory";
}

static status check_kernel(const checker *h, const char *pass, error *err) {
    const kernel *k = h->c->steps[h->step].kernel;
    bool is_empty = false;
    for (int v = 0; v < k->n_variables; v++) {
        is_empty |= k->variables[v].size == 0;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const char *why = check_expression(h, k, i, is_empty);
        if (why != NULL) {
            return fail(err, ASSAY_INTERNAL, "the compiler, after %s: expression %d of step %d %s", pass, i, h->step, why);
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        const char *why = check_root(h, k, &k->roots[i], is_empty);
        if (why != NULL) {
            return fail(err, ASSAY_INTERNAL, "the compiler, after %s: result %d of step %d %s", pass, i, h->step, why);
        }
    }
    return ASSAY_OK;
}

static const char *check_call(const checker *h) {
    const dag_node *call = dag_at(&h->c->g, h->c->steps[h->step].call);
    for (int i = 0; i < call->n_sources; i++) {
        place p;
        if (!place_of_operand(h->c, call, i, &p)) {
            return "calls the library with what lies in no memory";
        }
        if (!h->written[p.buffer]) {
            return "calls the library with what nobody has written";
        }
    }
    return NULL;
}

/* What a step leaves. */
static void note_written(compiler *c, int s, bool *written) {
    const kernel *k = c->steps[s].kernel;
    for (int i = 0; k != NULL && i < k->n_roots; i++) {
        if (k->roots[i].buffer >= 0) {
            written[k->roots[i].buffer] = true;
        }
    }
    for (int b = 0; k == NULL && b < c->n_buffers; b++) {
        written[b] |= c->buffers[b].role == BUFFER_CALL && c->buffers[b].step == s;
    }
}

status verify_steps(compiler *c, const char *pass, error *err) {
    bool *written = arena_make(c->memory, (size_t)c->n_buffers, sizeof *written);
    if (written == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    for (int b = 0; b < c->n_buffers; b++) {
        const compile_buffer *buffer = &c->buffers[b];
        bool is_there = buffer->role == BUFFER_OUTPUT && buffer->tensor->storage != NULL;
        written[b] = is_there || buffer->role == BUFFER_INPUT || buffer->role == BUFFER_SEED;
    }
    for (int s = 0; s < c->n_steps; s++) {
        checker h = {c, s, written};
        if (c->steps[s].kernel != NULL) {
            TRY(check_kernel(&h, pass, err));
        } else {
            const char *why = check_call(&h);
            if (why != NULL) {
                return broken(err, pass, "step", s, why);
            }
        }
        note_written(c, s, written);
    }
    return ASSAY_OK;
}

/* --- memory ---------------------------------------------------------------------------------------------------------------- */

static bool in_chain(const chain *h, int step) {
    return step >= h->first && step < h->first + h->n_steps;
}

typedef struct turns {
    compiler *c;
    const chain *chain; /* that the step at hand is in; NULL: in none */
    int step;
    int *last;          /* by buffer: the last step that touches it */
    int *owner;         /* by memory: the buffer that touched it last; -1: none */
} turns;

/* Whether a buffer may be touched now: the one that was there before is done with, or is replaced by it in this very step, part by part if need
   be. */
static bool takes_turn(turns *t, int buffer) {
    int m = t->c->buffers[buffer].memory, *owner = m > 0 ? &t->owner[m - 1] : NULL;
    if (owner == NULL || *owner == buffer) {
        return true;
    }
    bool may = *owner < 0 || t->last[*owner] <= t->step;
    may &= *owner < 0 || t->chain == NULL || t->last[*owner] == t->step || !in_chain(t->chain, t->last[*owner]);
    may &= *owner < 0 || t->chain == NULL || t->last[*owner] != t->step || is_left_by_parts(t->c, t->chain, *owner, t->step);
    *owner = buffer;
    return may;
}

/* Hands every buffer that a step touches on; the ones that it writes after those that it reads. */
static bool touch_all(turns *t, bool (*touch)(turns *t, int buffer)) {
    const compiler_step *s = &t->c->steps[t->step];
    const dag_node *call = s->kernel == NULL ? dag_at(&t->c->g, s->call) : NULL;
    bool good = true;
    for (int i = 0; s->kernel != NULL && i < s->kernel->n_exprs; i++) {
        const expr *e = &s->kernel->exprs[i];
        good &= e->kind != EXPR_LOAD || touch(t, e->buffer);
    }
    for (int i = 0; call != NULL && i < call->n_sources; i++) {
        place p;
        good &= !place_of_operand(t->c, call, i, &p) || touch(t, p.buffer);
    }
    for (int i = 0; s->kernel != NULL && i < s->kernel->n_roots; i++) {
        good &= s->kernel->roots[i].buffer < 0 || touch(t, s->kernel->roots[i].buffer);
    }
    for (int b = 0; call != NULL && b < t->c->n_buffers; b++) {
        bool is_made = t->c->buffers[b].role == BUFFER_CALL && t->c->buffers[b].step == t->step;
        good &= !is_made || touch(t, b);
    }
    return good;
}

static bool note_last(turns *t, int buffer) {
    t->last[buffer] = t->step;
    return true;
}

status verify_memory(compiler *c, int n_chains, const chain *chains, const char *pass, error *err) {
    turns t = {c, NULL, 0, arena_make(c->memory, (size_t)c->n_buffers, sizeof *t.last),
               arena_make(c->memory, (size_t)c->n_memories, sizeof *t.owner)};
    if (t.last == NULL || t.owner == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    for (t.step = 0; t.step < c->n_steps; t.step++) {
        touch_all(&t, note_last);
    }
    for (int m = 0; m < c->n_memories; m++) {
        t.owner[m] = -1;
    }
    for (t.step = 0; t.step < c->n_steps; t.step++) {
        t.chain = NULL;
        for (int i = 0; i < n_chains; i++) {
            t.chain = in_chain(&chains[i], t.step) ? &chains[i] : t.chain;
        }
        if (!touch_all(&t, takes_turn)) {
            return broken(err, pass, "step", t.step, "overwrites what is still needed");
        }
    }
    return ASSAY_OK;
}

/* --- loops ----------------------------------------------------------------------------------------------------------------- */

/* How often a variable is a task's or a loop's. */
static int turns_of(const kernel *k, int v) {
    int n = 0;
    for (int i = 0; i < k->n_tasks; i++) {
        n += k->tasks[i] == v;
    }
    for (int i = 0; i < k->n_loops; i++) {
        n += k->loops[i] == v;
    }
    return n;
}

static const char *check_loops(const kernel *k) {
    if (k->vector >= k->n_variables || (k->vector >= 0 && k->lanes < 1)) {
        return "has lanes of nothing";
    }
    if (k->n_task_items < 0) {
        return "has fewer tasks than none";
    }
    for (int v = 0; v < k->n_variables && !k->is_product && !k->has_frame; v++) { /* those are taken apart otherwise */
        int n = turns_of(k, v);
        if (n > 1 || (n == 0 && v != k->vector && k->variables[v].size != 1 && (k->beside >> v & 1) == 0)) {
            return n > 1 ? "goes over a variable twice" : "leaves out a variable";
        }
    }
    return NULL;
}

status verify_loops(const compiler *c, const char *pass, error *err) {
    for (int s = 0; s < c->n_steps; s++) {
        const compiler_step *step = &c->steps[s];
        if (step->kernel != NULL && step->n_variants < 1) {
            return broken(err, pass, "step", s, "has no kernel");
        }
        for (int v = 0; v < step->n_variants; v++) {
            const char *why = check_loops(step->variants[v]);
            if (why != NULL) {
                return broken(err, pass, "step", s, why);
            }
        }
    }
    return ASSAY_OK;
}
