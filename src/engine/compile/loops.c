/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's loops: split where an index divides, put in order of memory, joined where they run on, and one chosen for the
   vector. Everything is a change of variables in index expressions. */
#include "engine/compile/passes.h"

#include "device/caches.h"

#include <assert.h>
#include <string.h>

/* --- a change of variables ---------------------------------------------------------------------------------------------- */

static void replace_all(compiler *c, kernel *k, int n, const index_sum *by) {
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

/* `to[v]` is the set of new variables that old variable v has become. */
static void rename_sets(kernel *k, int n, const uint64_t *to) {
    for (int i = 0; i < k->n_exprs; i++) {
        k->exprs[i].variables = mapped(k->exprs[i].variables, n, to);
    }
    for (int i = 0; i < k->n_roots; i++) {
        k->roots[i].variables = mapped(k->roots[i].variables, n, to);
    }
}

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
        replace_all(c, k, n, by);
        rename_sets(k, n, to);
    }
}

/* --- order ------------------------------------------------------------------------------------------------------------------- */

/* Elements of all loops. */
static double turns_of_all(const kernel *k) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= (double)k->variables[v].size;
    }
    return n;
}

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

static void order_loops(compiler *c, kernel *k) {
    int n = k->n_variables, order[KERNEL_MAX_VARIABLES];
    double weight_of_stores = reads_in_order(c, k) ? 1e-6 : 1.5;
    double spreads[KERNEL_MAX_VARIABLES];
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCAN || k->roots[i].kind == ROOT_SCATTER) {
            return; /* theirs is given */
        }
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
    index_sum by[KERNEL_MAX_VARIABLES];
    uint64_t to[KERNEL_MAX_VARIABLES];
    loop_variable sorted[KERNEL_MAX_VARIABLES];
    for (int i = 0; i < n; i++) {
        sorted[i] = k->variables[order[i]];
        by[order[i]] = index_variable(&c->g.indices, i, sorted[i].size);
        to[order[i]] = (uint64_t)1 << i;
    }
    memcpy(k->variables, sorted, (size_t)n * sizeof *sorted);
    replace_all(c, k, n, by);
    rename_sets(k, n, to);
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

static void join_loops(compiler *c, kernel *k) {
    for (int outer = 0; outer + 1 < k->n_variables && !c->failed;) {
        int inner = outer + 1;
        if (!runs_on(k, outer, inner)) {
            outer++;
            continue;
        }
        index_pool *p = &c->g.indices;
        int n = k->n_variables;
        int64_t size = k->variables[inner].size, whole = k->variables[outer].size * size;
        index_sum by[KERNEL_MAX_VARIABLES], joined = index_variable(p, outer, whole);
        uint64_t to[KERNEL_MAX_VARIABLES];
        for (int v = 0; v < n; v++) {
            int now = v <= outer ? v : v - 1;
            by[v] = index_variable(p, now, k->variables[v].size);
            to[v] = (uint64_t)1 << now;
        }
        by[outer] = index_quotient(p, joined, size);
        by[inner] = index_remainder(p, joined, size);
        k->variables[outer].size = whole;
        memmove(&k->variables[inner], &k->variables[inner + 1], (size_t)(n - inner - 1) * sizeof *k->variables);
        k->n_variables--;
        replace_all(c, k, n, by);
        rename_sets(k, n, to);
        outer = outer > 0 ? outer - 1 : 0;
    }
}

/* --- tiles and tasks ------------------------------------------------------------------------------------------------------------- */

enum { TILE = 32 };

/* Whether a line of each of so many rows stays in a core's cache, whichever sets their distance puts them in. */
static bool lines_stay(int64_t row_bytes, int64_t rows) {
    int64_t step = row_bytes < 0 ? -row_bytes : row_bytes, left = SET_BYTES;
    while (left != 0) { /* the greatest common divisor: what the rows' places are multiples of */
        int64_t rest = step % left;
        step = left;
        left = rest;
    }
    int64_t sets = SET_BYTES / (step > STREAM_LINE_BYTES ? step : STREAM_LINE_BYTES);
    return sets * SET_LINES >= rows;
}

/* Whether all that a kernel does is to store past the caches, each row of lanes from a line of memory on. */
static bool streams_lines(const compiler *c, const kernel *k) {
    int64_t stride;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        int64_t size = (int64_t)dtype_size(r->store_dtype);
        if (r->kind != ROOT_STORE || size > 8 || !index_stride(r->at, k->vector, &stride) || stride != 1 ||
            r->at.constant * size % STREAM_LINE_BYTES != 0 ||
            (!c->options->streams_all && turns_of_all(k) * (double)size < STREAM_MIN_BYTES)) {
            return false;
        }
        for (int t = 0; t < r->at.n; t++) {
            const index_atom *atom = r->at.terms[t].atom;
            bool is_vector = atom->kind == ATOM_VARIABLE && atom->id == k->vector;
            if (!is_vector && r->at.terms[t].factor * size % STREAM_LINE_BYTES != 0) {
                return false;
            }
        }
    }
    return k->n_roots > 0;
}

/* Whether as much as is stored lies along the lanes where it is read: few of them would be read piece by piece. */
static bool reads_along(const kernel *k) {
    uint64_t all = ((uint64_t)1 << k->n_variables) - 1;
    for (int i = 0; i < k->n_exprs; i++) {
        int64_t stride;
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && e->variables == all && index_stride(e->at, k->vector, &stride) && stride == 1) {
            return true;
        }
    }
    return false;
}

/* Lanes for rows of which load e is read a line at a time: two lines of the largest result, and a whole one of the smallest. 0: it
   would not pay. */
static int64_t lanes_of_lines(const kernel *k, const expr *e, int64_t n_across, int64_t row) {
    int64_t size = (int64_t)dtype_size(e->dtype), largest = 1, smallest = 8;
    for (int i = 0; i < k->n_roots; i++) {
        int64_t bytes = (int64_t)dtype_size(k->roots[i].store_dtype);
        largest = bytes > largest ? bytes : largest;
        smallest = bytes < smallest ? bytes : smallest;
    }
    int64_t least = STREAM_LINE_BYTES / smallest, lanes = 2 * STREAM_LINE_BYTES / largest;
    lanes = lanes > 64 ? 64 : lanes;
    while (lanes / 2 >= 16 && lanes / 2 >= least && !lines_stay(row * size, lanes)) {
        lanes /= 2;
    }
    lanes = lanes < least ? least : lanes;
    bool pays = e->guard < 0 && size <= 8 && n_across * size >= 16 * STREAM_LINE_BYTES;
    return pays && k->variables[k->vector].size >= lanes ? lanes : 0;
}

/* Of all places, roughly, those where the condition (-1: none) holds. */
static double share_within(const kernel *k, int condition) {
    double share = 1;
    const expr *e = condition >= 0 ? &k->exprs[condition] : NULL;
    if (e != NULL && e->kind == EXPR_MAP && e->fn == FN_AND) {
        return share_within(k, e->sources[0]) * share_within(k, e->sources[1]);
    }
    for (int i = 0; e != NULL && i < e->n_bounds; i++) {
        const view_bound *b = &e->bounds[i];
        int64_t low, high;
        index_range(b->at, &low, &high);
        double all = (double)high - (double)low + 1;
        low = low > b->low ? low : b->low;
        high = high < b->high ? high : b->high;
        share *= high < low ? 0 : ((double)high - (double)low + 1) / all;
    }
    return share;
}

/* What is read at fewer of all places is not worth tiles. */
static const double LEAST_SHARE_TILED = 0.25;

/* Where something runs along another variable in memory than the vector's (a transpose), that one is cut into blocks: the
   lines of memory that a block touches stay near until all of them is used. Its inner part becomes a loop of the task. Large
   results are made of fewer lanes, which are read two lines at a time to their rows' ends. */
static void tile_loops(compiler *c, kernel *k, loop_choice choice) {
    int across = -1;
    const expr *turned = NULL;
    int64_t row = 0;
    for (int i = 0; i < k->n_exprs && !k->has_classes && k->vector >= 0 && k->column_parts == 0; i++) {
        const expr *e = &k->exprs[i];
        int64_t along, stride;
        if (e->kind != EXPR_LOAD || !index_stride(e->at, k->vector, &along) || along <= 1 ||
            share_within(k, e->guard) < LEAST_SHARE_TILED) {
            continue;
        }
        for (int v = 0; v < k->n_variables; v++) {
            if (v != k->vector && index_stride(e->at, v, &stride) && stride == 1 && k->variables[v].size > 2) {
                across = v;
                turned = e;
                row = along;
            }
        }
    }
    if (across < 0 || k->n_variables == KERNEL_MAX_VARIABLES) {
        return;
    }
    index_pool *p = &c->g.indices;
    int n = k->n_variables;
    int64_t size = k->variables[across].size, tile = size < TILE ? size : TILE;
    bool streams = choice == LOOPS_PLAIN && streams_lines(c, k), along = reads_along(k);
    int64_t few = streams && !along ? lanes_of_lines(k, turned, size, row) : 0, most = streams && along ? 8 * TILE : 4 * TILE;
    k->lanes = k->lanes > most ? most : k->lanes;
    if (few > 0) {
        k->turns_lines = true;
        k->lanes = few;
        tile = 2 * STREAM_LINE_BYTES / (int64_t)dtype_size(turned->dtype);
    }
    index_sum by[KERNEL_MAX_VARIABLES];
    uint64_t to[KERNEL_MAX_VARIABLES];
    for (int v = 0; v < n; v++) {
        by[v] = index_variable(p, v, k->variables[v].size);
        to[v] = (uint64_t)1 << v;
    }
    /* The last block may be short: the loop stops at the limit, and bounds told by sizes stay true. */
    k->variables[n] = (loop_variable){.size = tile, .tile = tile, .block = across, .limit = size};
    k->variables[across].size = (size + tile - 1) / tile;
    by[across] = index_add(p, index_scale(p, index_variable(p, across, k->variables[across].size), tile),
                           index_variable(p, n, tile));
    to[across] |= (uint64_t)1 << n;
    k->n_variables++;
    k->loops[k->n_loops++] = n;
    replace_all(c, k, n, by);
    rename_sets(k, n, to);
}

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
