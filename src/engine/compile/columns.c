/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of columns by the kernel that goes over the rows. A sum down many rows is taken in parts of rows (dag_reduce.c). Where a kernel
   makes or reads those rows for something else, its tasks come in the same parts, and what an element adds to its column is added
   while it is at hand: nothing is read or computed again, and what is stored need not stay near. */
#include "engine/compile/passes.h"

#include <string.h>

/* What is read from memory that is larger than that had better be given, not made by a step before: that step and this kernel
   would be a chain, which parts of this kind cannot join. */
static const double PASSED_ON_BYTES = 1 << 20;

bool columns_pass_on(const compiler *c, const kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && c->buffers[e->buffer].step >= 0 && buffer_bytes(c, e->buffer) >= PASSED_ON_BYTES) {
            return true;
        }
    }
    return false;
}

/* Whether no variable's neighbours lie nearer to each other there than those along v. */
static bool is_nearest(const kernel *k, index_sum at, int v) {
    int64_t along, stride;
    bool nearest = index_stride(at, v, &along);
    along = along < 0 ? -along : along;
    for (int u = 0; u < k->n_variables && nearest && along > 1; u++) {
        nearest = index_stride(at, u, &stride) && (stride == 0 || stride >= along || -stride >= along);
    }
    return nearest;
}

/* Shorter rows had better run on into each other: of 16 f32, product and sums take a tenth longer so, of 24 a sixth less (two cores of a
   Zen 4, 2026-11). */
enum { LEAST_COLUMNS = 24 };

bool columns_suit(const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind != ROOT_COLUMNS) {
            continue;
        }
        int v = k->n_variables - 1; /* neighbours among columns */
        bool suits = k->variables[v].size >= LEAST_COLUMNS;
        for (int r = 0; r < k->n_roots && suits; r++) {
            suits = k->roots[r].kind == ROOT_COLUMNS || is_nearest(k, k->roots[r].at, v);
        }
        for (int e = 0; e < k->n_exprs && suits; e++) {
            suits = k->exprs[e].kind != EXPR_LOAD || is_nearest(k, k->exprs[e].at, v);
        }
        return suits;
    }
    return true;
}

/* Whether `rows` in a row, of all that the first variables go over, are whole turns of the last of them and a part of one more, which is
   cut then. */
static bool is_run_of(const kernel *k, int n, int64_t rows) {
    for (int v = n - 1; v >= 0 && rows > 1; v--) {
        int64_t size = k->variables[v].size;
        if (rows % size != 0 && size % rows != 0) {
            return false;
        }
        rows = rows % size == 0 ? rows / size : 1;
    }
    return rows == 1;
}

/* Whether the elements of a reduction in parts are [parts, rows, a row's elements]. */
static bool is_in_parts(const dag_node *n, const dag_node *over) {
    if (n->kind != PRIM_REDUCE || n->reduce.how != RED_SUM || n->reduce.of_factors || n->dtype == ASSAY_B8 || over->ndim < 3 ||
        n->reduce.dims != 2 || over->sizes[0] < 2 || over->sizes[1] < 2) {
        return false;
    }
    for (int d = 2; d < over->ndim; d++) {
        if (over->sizes[d] < 2) {
            return false;
        }
    }
    return true;
}

/* A column's sum of a part has a chain of all its rows, which is as long as docs/accuracy.md allows where terms are equal (emit/long_sums.c):
   8 * sqrt(8 * n) is n / 6 for n = 18432, with 8 parts at least. */
enum { MOST_PART_ROWS = 16384 };

bool columns_fit(compiler *c, const kernel *k, val v, const place *to, index_sum *at) {
    const dag_node *n = dag_at(&c->g, v), *over = n->kind == PRIM_REDUCE ? dag_at(&c->g, n->sources[0]) : n;
    if (to->buffer < 0 || c->buffers[to->buffer].role != BUFFER_WORK || to->offset != 0 || to->at != NULL || !is_in_parts(n, over) ||
        over->sizes[1] > MOST_PART_ROWS ||
        (k->column_parts > 0 && k->column_parts != over->sizes[0])) {
        return false;
    }
    int first = k->n_variables - (over->ndim - 2); /* of a row's variables */
    int64_t all = 1, rows = over->sizes[1], row = 1;
    if (!threads_share(c, over->sizes[0])) {
        return false;
    }
    for (int u = first; first >= 1 && u < k->n_variables; u++) {
        if (k->variables[u].size != over->sizes[2 + u - first]) {
            return false;
        }
    }
    for (int d = n->ndim - 1; d > 0; row *= n->sizes[d--]) {
        if (to->strides[d] != row) {
            return false;
        }
    }
    index_sum flat = index_constant(0);
    for (int u = 0; u < first; u++) {
        if (k->variables[u].is_reduced) {
            return false;
        }
        all *= k->variables[u].size;
        flat = index_add(&c->g.indices, index_scale(&c->g.indices, flat, k->variables[u].size),
                         index_variable(&c->g.indices, u, k->variables[u].size));
    }
    if (first < 1 || to->strides[0] != row || all != over->sizes[0] * rows || !is_run_of(k, first, rows)) {
        return false;
    }
    at[0] = index_quotient(&c->g.indices, flat, rows);
    at[1] = index_remainder(&c->g.indices, flat, rows);
    for (int u = first; u < k->n_variables; u++) {
        at[2 + u - first] = index_variable(&c->g.indices, u, k->variables[u].size);
    }
    return true;
}

bool is_of_columns(const kernel *k, int v) {
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        int64_t stride;
        if (r->kind == ROOT_COLUMNS && (!index_stride(r->at, v, &stride) || stride <= 0 || stride >= r->limit)) {
            return false;
        }
    }
    return true;
}

/* How many parts further a step of v leads; 0: to the same one. */
static int64_t parts_along(const root *r, int v) {
    int64_t stride;
    return index_stride(r->at, v, &stride) && stride >= r->limit ? stride / r->limit : 0;
}

void columns_order_tasks(kernel *k) {
    const root *columns = NULL;
    for (int i = 0; i < k->n_roots; i++) {
        columns = k->roots[i].kind == ROOT_COLUMNS ? &k->roots[i] : columns;
    }
    for (int i = 1; columns != NULL && i < k->n_tasks; i++) {
        int task = k->tasks[i], at = i;
        for (; at > 0 && parts_along(columns, k->tasks[at - 1]) < parts_along(columns, task); at--) {
            k->tasks[at] = k->tasks[at - 1];
        }
        k->tasks[at] = task;
    }
}

void columns_come_last(kernel *k) {
    int last = 0;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        last = r->kind != ROOT_COLUMNS && is_in_loops(k, r) && r->phase > last ? r->phase : last;
    }
    for (int i = 0; i < k->n_roots && k->column_parts > 0; i++) {
        root *r = &k->roots[i];
        r->phase = r->kind == ROOT_COLUMNS && r->phase < last ? last : r->phase;
    }
}
