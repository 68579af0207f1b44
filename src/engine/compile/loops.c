/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's loops: split where an index divides, put in order of memory, joined where they run on, and one chosen for the
   vector. Everything is a change of variables in index expressions. */
#include "engine/compile/variables.h"

#include "device/caches.h"

#include <string.h>

/* --- every index expression ------------------------------------------------------------------------------------------------ */

typedef void visit_fn(void *self, index_sum a);

static void visit_sum(index_sum a, visit_fn *visit, void *self) {
    visit(self, a);
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_QUOTIENT || atom->kind == ATOM_REMAINDER) {
            visit_sum(atom->of, visit, self);
        }
    }
}

/* Those that text is made of. Coordinates are but names; what DATA reads is an expression of its own. */
static void visit_all(const kernel *k, visit_fn *visit, void *self) {
    for (int i = 0; i < k->n_exprs; i++) {
        visit_sum(k->exprs[i].at, visit, self);
        for (int b = 0; b < k->exprs[i].n_bounds; b++) {
            visit_sum(k->exprs[i].bounds[b].at, visit, self);
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        visit_sum(k->roots[i].at, visit, self);
        visit_sum(k->roots[i].place, visit, self);
    }
}

/* --- splitting --------------------------------------------------------------------------------------------------------------- */

typedef struct wish {
    const kernel *k;
    int variable;  /* -1: none yet */
    int64_t inner; /* size of the inner part */
} wish;

/* floor((f v + ...) / d), f a divisor of d: with v = (d / f) outer + inner, outer leaves the quotient whole. */
static void wish_of(void *self, index_sum a) {
    wish *w = self;
    for (int i = 0; w->variable < 0 && i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind != ATOM_QUOTIENT && atom->kind != ATOM_REMAINDER) {
            continue;
        }
        for (int t = 0; t < atom->of.n; t++) {
            const index_term *term = &atom->of.terms[t];
            if (term->atom->kind != ATOM_VARIABLE || term->factor < 1 || atom->divisor % term->factor != 0) {
                continue;
            }
            int64_t inner = atom->divisor / term->factor, size = w->k->variables[term->atom->id].size;
            if (inner > 1 && inner < size && size % inner == 0) {
                w->variable = term->atom->id;
                w->inner = inner;
                return;
            }
        }
    }
}

static void split_loops(compiler *c, kernel *k) {
    while (k->n_variables < KERNEL_MAX_VARIABLES && !c->failed) {
        wish w = {k, -1, 0};
        visit_all(k, wish_of, &w);
        if (w.variable < 0) {
            return;
        }
        index_pool *p = &c->g.indices;
        index_sum by[KERNEL_MAX_VARIABLES];
        uint64_t to[KERNEL_MAX_VARIABLES];
        int n = k->n_variables, s = w.variable;
        int64_t outer = k->variables[s].size / w.inner;
        for (int v = 0; v < n; v++) {
            int now = v <= s ? v : v + 1;
            by[v] = index_variable(p, now, k->variables[v].size);
            to[v] = (uint64_t)1 << now;
        }
        by[s] = index_add(p, index_scale(p, index_variable(p, s, outer), w.inner), index_variable(p, s + 1, w.inner));
        to[s] |= (uint64_t)1 << (s + 1);
        memmove(&k->variables[s + 1], &k->variables[s], (size_t)(n - s) * sizeof *k->variables);
        k->variables[s].size = outer;
        k->variables[s + 1].size = w.inner;
        k->n_variables++;
        replace_variables(c, k, n, by);
        rename_variable_sets(k, n, to);
    }
}

/* --- order ------------------------------------------------------------------------------------------------------------------- */

/* Whether a kernel reads, element for element, as much as it stores past the caches: each line is stored at once, in whatever
   order, but lines read one after the other come sooner. */
static bool reads_in_order(const compiler *c, const kernel *k) {
    bool stores = false, reads = false;
    uint64_t all = k->n_variables < 64 ? ((uint64_t)1 << k->n_variables) - 1 : ~(uint64_t)0;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        double bytes = turns_of_all(k) * (double)dtype_size(r->store_dtype);
        stores |= !k->has_classes && r->kind == ROOT_STORE && (bytes >= STREAM_MIN_BYTES || c->options->streams_all);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        reads |= k->exprs[i].kind == EXPR_LOAD && k->exprs[i].variables == all;
    }
    return stores && reads;
}

/* How far apart in memory two neighbours of the variable are, over all that is read and written, wide elements and stores
   first: the sum decides the order of loops. */
static double spread(const kernel *k, int v, double weight_of_stores) {
    double sum = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        int64_t stride;
        if (k->exprs[i].kind == EXPR_LOAD && index_stride(k->exprs[i].at, v, &stride)) {
            sum += (double)stride * (double)dtype_size(k->exprs[i].dtype);
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        int64_t stride;
        if (k->roots[i].buffer >= 0 && k->roots[i].kind != ROOT_SCATTER && index_stride(k->roots[i].at, v, &stride)) {
            sum += (double)stride * (double)dtype_size(k->roots[i].store_dtype) * weight_of_stores;
        }
    }
    return sum;
}

/* Whether a kernel whose loop over v went from its last turn to its first would read upwards where it reads downwards now. */
static bool reads_downwards(const kernel *k, int v) {
    bool down = false;
    int64_t stride;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if ((index_variables(e->at) >> v & 1) != 0) {
            if (e->kind != EXPR_LOAD || !index_stride(e->at, v, &stride) || stride >= -1) {
                return false;
            }
            down = true;
        }
    }
    for (int i = 0; i < k->n_roots; i++) { /* lanes go upwards where they are stored */
        if ((index_variables(k->roots[i].at) >> v & 1) != 0 && (!index_stride(k->roots[i].at, v, &stride) || stride <= 1)) {
            return false;
        }
    }
    return down && !k->variables[v].is_reduced;
}

/* Large results whose rows are read in turned order are stored in turned order instead: memory is asked ahead upwards, while stores
   past the caches may go either way. */
static void read_upwards(compiler *c, kernel *k) {
    index_pool *p = &c->g.indices;
    index_sum by[KERNEL_MAX_VARIABLES];
    bool turns = false;
    for (int v = 0; v < k->n_variables; v++) {
        int64_t size = k->variables[v].size;
        bool down = reads_downwards(k, v);
        by[v] = index_variable(p, v, size);
        by[v] = down ? index_add(p, index_constant(size - 1), index_scale(p, by[v], -1)) : by[v];
        turns |= down;
    }
    if (turns) {
        replace_variables(c, k, k->n_variables, by);
    }
}

/* The variable whose neighbours share lines of memory in what rows along `inner` read far apart: neighbouring tasks had better take it, or
   those lines are read again for each. -1: there is none, or it is not a task's. The gradient of softmax of [2, 16, 576, 576] whose other
   operand has the 16 innermost takes 3.3 ms so, and 9 (two cores of a Zen 5, 2026-11). */
static int sharer_of_lines(const kernel *k, int inner) {
    int found = -1;
    for (int i = 0; i < k->n_exprs && k->has_classes && k->variables[inner].is_reduced; i++) {
        const expr *e = &k->exprs[i];
        int64_t along, stride, size = (int64_t)dtype_size(e->dtype);
        if (e->kind != EXPR_LOAD || !index_stride(e->at, inner, &along) || along * size < STREAM_LINE_BYTES) {
            continue;
        }
        for (int v = 0; v < k->n_variables; v++) {
            bool shares = index_stride(e->at, v, &stride) && stride > 0 && stride * size < STREAM_LINE_BYTES;
            found = shares && !k->variables[v].is_reduced && k->variables[v].size > 1 ? v : found;
        }
    }
    return found;
}

/* Moves a variable behind all others that are not reduced. */
static void move_inwards(const kernel *k, int *order, int v) {
    int n = k->n_variables, at = 0, last;
    while (order[at] != v) {
        at++;
    }
    for (last = n - 1; last > at && k->variables[order[last]].is_reduced; last--) {
    }
    for (; at < last; at++) {
        order[at] = order[at + 1];
    }
    order[last] = v;
}

static void order_loops(compiler *c, kernel *k) {
    int n = k->n_variables, order[KERNEL_MAX_VARIABLES];
    const bool in_order = reads_in_order(c, k);
    const double weight_of_stores = in_order ? 1e-6 : 1.5;
    double spreads[KERNEL_MAX_VARIABLES];
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCAN || k->roots[i].kind == ROOT_SCATTER) {
            return; /* theirs is given */
        }
    }
    if (in_order) {
        read_upwards(c, k);
    }
    for (int v = 0; v < n; v++) {
        spreads[v] = spread(k, v, weight_of_stores);
        int at = v;
        while (at > 0 && spreads[order[at - 1]] < spreads[v]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = v;
    }
    const int sharer = n > 0 ? sharer_of_lines(k, order[n - 1]) : -1;
    if (sharer >= 0) {
        move_inwards(k, order, sharer);
    }
    index_sum by[KERNEL_MAX_VARIABLES];
    uint64_t to[KERNEL_MAX_VARIABLES];
    loop_variable sorted[KERNEL_MAX_VARIABLES];
    for (int i = 0; i < n; i++) {
        sorted[i] = k->variables[order[i]];
        by[order[i]] = index_variable(&c->g.indices, i, sorted[i].size);
        to[order[i]] = (uint64_t)1 << i;
    }
    memcpy(k->variables, sorted, (size_t)n * sizeof *sorted);
    replace_variables(c, k, n, by);
    rename_variable_sets(k, n, to);
}

/* --- joining ------------------------------------------------------------------------------------------------------------------- */

typedef struct junction {
    int outer, inner;
    int64_t size; /* of the inner one */
    bool runs_on; /* everywhere, a step of the outer is `size` steps of the inner */
} junction;

static void check_junction(void *self, index_sum a) {
    junction *j = self;
    int64_t outer = 0, inner = 0;
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_VARIABLE) {
            outer += atom->id == j->outer ? a.terms[i].factor : 0;
            inner += atom->id == j->inner ? a.terms[i].factor : 0;
        }
    }
    j->runs_on = j->runs_on && outer == inner * j->size;
}

static bool runs_on(const kernel *k, int outer, int inner) {
    if (k->variables[outer].is_reduced != k->variables[inner].is_reduced || k->variables[inner].size == 0) {
        return false;
    }
    junction j = {outer, inner, k->variables[inner].size, true};
    visit_all(k, check_junction, &j);
    return j.runs_on;
}

/* The outer variable becomes both. */
static void join_pair(compiler *c, kernel *k, int outer, int inner) {
    index_pool *p = &c->g.indices;
    int n = k->n_variables;
    int64_t size = k->variables[inner].size, whole = k->variables[outer].size * size;
    index_sum by[KERNEL_MAX_VARIABLES];
    uint64_t to[KERNEL_MAX_VARIABLES];
    const int both = outer < inner ? outer : outer - 1;
    index_sum joined = index_variable(p, both, whole);
    for (int v = 0; v < n; v++) {
        int now = v <= inner ? v : v - 1;
        by[v] = index_variable(p, now, k->variables[v].size);
        to[v] = (uint64_t)1 << now;
    }
    by[outer] = index_quotient(p, joined, size);
    by[inner] = index_remainder(p, joined, size);
    to[outer] = to[inner] = (uint64_t)1 << both;
    k->variables[outer].size = whole;
    memmove(&k->variables[inner], &k->variables[inner + 1], (size_t)(n - inner - 1) * sizeof *k->variables);
    k->n_variables--;
    replace_variables(c, k, n, by);
    rename_variable_sets(k, n, to);
}

static void join_loops(compiler *c, kernel *k) {
    for (int outer = 0; outer + 1 < k->n_variables && !c->failed;) {
        if (!runs_on(k, outer, outer + 1)) {
            outer++;
            continue;
        }
        join_pair(c, k, outer, outer + 1);
        outer = outer > 0 ? outer - 1 : 0;
    }
}

/* The same of any two, whatever would come between them in order of memory: of an image whose channels come to lie inside, both of its
   dimensions. Only where nothing is reduced: that has an order of its own. */
static void join_apart(compiler *c, kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind != ROOT_STORE) {
            return;
        }
    }
    for (int outer = 0; outer < k->n_variables; outer++) {
        for (int inner = 0; inner < k->n_variables && !c->failed; inner++) {
            if (inner != outer && k->variables[outer].size > 1 && k->variables[inner].size > 1 && runs_on(k, outer, inner)) {
                join_pair(c, k, outer, inner);
                outer = -1;
                break;
            }
        }
    }
}

/* --- tasks ------------------------------------------------------------------------------------------------------------------- */

static void choose_tasks(kernel *k) {
    k->n_task_items = 1;
    for (int v = 0; v < k->n_variables; v++) {
        if (k->variables[v].is_reduced) {
            if (v != k->vector) {
                k->loops[k->n_loops++] = v;
            }
        } else if (v != k->vector && k->variables[v].tile == 0 && (k->beside >> v & 1) == 0) {
            k->tasks[k->n_tasks++] = v;
            k->n_task_items *= k->variables[v].size;
        }
    }
    columns_order_tasks(k);
    if (k->vector >= 0 && !k->variables[k->vector].is_reduced) {
        k->tasks[k->n_tasks++] = k->vector; /* in blocks of lanes */
        k->n_task_items *= (k->variables[k->vector].size + k->lanes - 1) / k->lanes;
    }
    if (k->turns_lines) { /* along the rows that are read */
        int across = k->variables[k->loops[0]].block, at = 0;
        while (k->tasks[at] != across) {
            at++;
        }
        memmove(&k->tasks[at], &k->tasks[at + 1], (size_t)(k->n_tasks - at - 1) * sizeof *k->tasks);
        k->tasks[k->n_tasks - 1] = across;
    }
}

/* How often loops over these variables turn. */
static double turns_of(const kernel *k, uint64_t variables) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= (variables >> v & 1) != 0 ? (double)k->variables[v].size : 1;
    }
    return n;
}

static void estimate(kernel *k) {
    double all = turns_of(k, ~(uint64_t)0);
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        double n = turns_of(k, e->variables);
        k->bytes += e->kind == EXPR_LOAD ? n * (double)dtype_size(e->dtype) : 0;
        k->flops += e->kind == EXPR_MAP ? n * scalar_function_cost(e->fn) : e->kind == EXPR_RANDOM ? 30 * n : 0;
    }
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        bool sums = r->kind == ROOT_REDUCE || r->kind == ROOT_COLUMNS;
        double n = turns_of(k, sums ? index_variables(r->at) : r->variables);
        k->bytes += r->buffer >= 0 ? n * (double)dtype_size(r->store_dtype) : 0;
        k->flops += sums ? all : 0;
    }
}

bool arrange_loops(compiler *c, kernel *k, loop_choice choice) {
    split_loops(c, k);
    join_apart(c, k);
    order_loops(c, k);
    join_loops(c, k);
    if (c->failed) {
        return false;
    }
    estimate(k);
    if (arrange_product(c, k, choice == LOOPS_WIDE ? c->options->other_pairs : c->options->pairs)) {
        return true;
    }
    choose_vector(c, k, choice);
    choose_beside(k);
    if (k->beside == 0) {
        tile_loops(c, k, choice);
    }
    choose_tasks(k);
    columns_come_last(k);
    return !c->failed;
}
