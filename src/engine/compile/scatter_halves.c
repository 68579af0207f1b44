/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of halves that others are added to in floats: gradients of embeddings, index_add. Instead of floats of all rows in memory, set to what
   the rows begin with, added to and at last made halves, each row that an index names is summed up by itself. */
#include "engine/compile/passes.h"

#include <string.h>

static bool is_half(dtype t) {
    return t == ASSAY_F16 || t == ASSAY_BF16;
}

/* Whether memory of both buffers is, or may be, the same. */
static bool shares_storage(const compiler *c, int a, int b) {
    const tensor *x = c->buffers[a].tensor, *y = c->buffers[b].tensor;
    return a == b || (x != NULL && y != NULL && x->storage != NULL && x->storage == y->storage);
}

/* The only root of a kernel that stores one value for each place of a buffer; NULL: it does other things. */
static const root *only_store(const kernel *k) {
    const root *r = k != NULL && k->n_roots == 1 && !k->has_classes ? &k->roots[0] : NULL;
    return r != NULL && r->kind == ROOT_STORE && r->buffer >= 0 ? r : NULL;
}

static const expr *casts_load(const kernel *k, const root *r) {
    const expr *cast = &k->exprs[r->expr], *load = cast->kind == EXPR_CAST ? &k->exprs[cast->sources[0]] : NULL;
    return load != NULL && load->kind == EXPR_LOAD && load->guard < 0 ? load : NULL;
}

/* Whether kernel k only makes halves of what the scatter has added up in floats. */
static bool makes_halves(const compiler *c, const kernel *scatter, const kernel *k) {
    const root *to = only_store(k);
    const expr *load = to != NULL ? casts_load(k, to) : NULL;
    if (load == NULL || !is_half(to->store_dtype) || load->buffer != scatter->roots[0].buffer || !index_equal(load->at, to->at)) {
        return false;
    }
    for (int e = 0; e < scatter->n_exprs; e++) {
        if (scatter->exprs[e].kind == EXPR_LOAD && shares_storage(c, scatter->exprs[e].buffer, to->buffer)) {
            return false;
        }
    }
    return true;
}

/* Whether what the load reads, where root r is, is that very element of the buffer. */
static bool is_there(const compiler *c, const expr *load, const root *r, int buffer) {
    const tensor *from = c->buffers[load->buffer].tensor, *to = c->buffers[buffer].tensor;
    return index_equal(load->at, r->at) && (load->buffer == buffer || (from != NULL && to != NULL && from->offset == to->offset));
}

/* Whether kernel k only sets the floats to 0, or to what halves of the type of those of `to` are: others, or these as they lie there. */
static bool begins_floats(const compiler *c, const kernel *k, int buffer, const root *to) {
    const root *r = only_store(k);
    if (r == NULL || r->buffer != buffer || r->dtype != ASSAY_F32) {
        return false;
    }
    const expr *e = &k->exprs[r->expr], *load = casts_load(k, r);
    bool is_zero = e->kind == EXPR_NUMBER && e->number.f == 0 && k->n_exprs == 1;
    return is_zero || (load != NULL && load->dtype == to->store_dtype &&
                       (!shares_storage(c, load->buffer, to->buffer) || is_there(c, load, r, to->buffer)));
}

/* Whether others look at the buffer than the steps before, at and after s. */
static bool is_of_others(compiler *c, int buffer, int s) {
    for (int t = 0; t < c->n_steps; t++) {
        const kernel *k = c->steps[t].kernel;
        const dag_node *call = k == NULL ? dag_at(&c->g, c->steps[t].call) : NULL;
        for (int i = 0; call != NULL && i < call->n_sources; i++) {
            place p;
            if (place_of_operand(c, call, i, &p) && p.buffer == buffer) {
                return true;
            }
        }
        bool near = t >= s - 1 && t <= s + 1;
        for (int e = 0; k != NULL && !near && e < k->n_exprs; e++) {
            if (k->exprs[e].kind == EXPR_LOAD && k->exprs[e].buffer == buffer) {
                return true;
            }
        }
        for (int r = 0; k != NULL && !near && r < k->n_roots; r++) {
            if (k->roots[r].buffer == buffer) {
                return true;
            }
        }
    }
    return false;
}

/* Rows are stored where `to` is. */
static void store_there(kernel *k, const root *to) {
    k->roots[0].buffer = to->buffer;
    k->roots[0].store_dtype = to->store_dtype;
    k->lists_rows = true;
}

/* Whether its loops, once arranged, lie so that it goes to rows of some length. */
static bool will_go_by_rows(compiler *c, const kernel *k, const root *to) {
    enum { LEAST_LANES = 16 };
    kernel *trial = copy_kernel(c, k);
    if (trial == NULL) {
        return false;
    }
    store_there(trial, to);
    return arrange_loops(c, trial, LOOPS_PLAIN) && trial->n_variables > 1 && list_rows(c, trial) && trial->variables[trial->vector].size >= LEAST_LANES;
}

static void drop_step(compiler *c, int s) {
    memmove(&c->steps[s], &c->steps[s + 1], (size_t)(c->n_steps - s - 1) * sizeof *c->steps);
    c->n_steps--;
    for (int b = 0; b < c->n_buffers; b++) {
        c->buffers[b].step -= c->buffers[b].step >= s ? 1 : 0;
    }
}

static bool can_be_narrowed(compiler *c, int s) {
    const kernel *k = c->steps[s].kernel;
    if (k == NULL || k->n_roots != 1) {
        return false;
    }
    const root *r = &k->roots[0];
    return r->kind == ROOT_SCATTER && r->adds && r->dtype == ASSAY_F32 && r->buffer >= 0 && c->buffers[r->buffer].role == BUFFER_WORK &&
           makes_halves(c, k, c->steps[s + 1].kernel) &&
           begins_floats(c, c->steps[s - 1].kernel, r->buffer, &c->steps[s + 1].kernel->roots[0]) && !is_of_others(c, r->buffer, s) &&
           will_go_by_rows(c, k, &c->steps[s + 1].kernel->roots[0]);
}

void narrow_scatters(compiler *c) {
    for (int s = 1; s + 1 < c->n_steps && !c->failed; s++) {
        if (!can_be_narrowed(c, s)) {
            continue;
        }
        kernel *base = c->steps[s - 1].kernel, *k = c->steps[s].kernel;
        const root to = c->steps[s + 1].kernel->roots[0];
        const int floats = k->roots[0].buffer;
        root *first = &base->roots[0];
        const expr *load = casts_load(base, first);
        const bool has_base = load != NULL && shares_storage(c, load->buffer, to.buffer);
        if (load != NULL) {
            first->expr = base->exprs[first->expr].sources[0];
        } else {
            base->exprs[first->expr].dtype = to.store_dtype;
        }
        first->buffer = to.buffer;
        first->dtype = first->store_dtype = to.store_dtype;
        store_there(k, &to);
        c->buffers[floats].n_elems = 0;
        c->buffers[to.buffer].step = c->buffers[floats].step;
        drop_step(c, s + 1);
        if (has_base) {
            drop_step(c, s - 1);
        }
    }
}

bool list_rows(const compiler *c, kernel *k) {
    enum { MOST_POSITIONS = INT32_MAX };
    static const double LEAST_BYTES = 128 * 1024;
    int64_t row, rows, positions = 1;
    if (!scatters_rows(k, &row, &rows)) {
        return false;
    }
    for (int i = 0; i < k->n_loops; i++) {
        if (k->variables[k->loops[i]].tile != 0 || k->variables[k->loops[i]].size > MOST_POSITIONS / positions) {
            return false;
        }
        positions *= k->variables[k->loops[i]].size;
    }
    k->lanes = k->variables[k->vector].size;
    k->scatter_row = row;
    k->scatter_rows = rows;
    k->n_task_items = k->bytes >= LEAST_BYTES && rows >= c->options->n_threads ? c->options->n_threads : 1;
    return positions > 0 && k->lanes > 0;
}
