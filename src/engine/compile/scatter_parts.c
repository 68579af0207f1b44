/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are added to rows of a result, or put there, which indices name: a part of the result's rows for each task, which looks at all
   indices and takes those of its own. By columns each thread would write a part of every row, which another one has just set to 0:
   gradients of an embedding of [512, 128] took 42 us on two threads and 23 on one (two cores of a Zen 4, 2026-11). */
#include "engine/compile/passes.h"

/* An index costs as much as so many elements. */
enum { LEAST_ELEMENTS = 16 };
static const double LEAST_BYTES = 128 * 1024;

/* The only term of an offset beside the lanes; NULL: there are others, or it may not begin a row. */
static const index_term *row_of(const kernel *k, index_sum at) {
    const index_term *row = NULL;
    for (int i = 0; i < at.n; i++) {
        if ((at.terms[i].atom->variables >> k->vector & 1) == 0) {
            if (row != NULL) {
                return NULL;
            }
            row = &at.terms[i];
        } else if (at.terms[i].atom->kind != ATOM_VARIABLE || at.terms[i].factor != 1) {
            return NULL;
        }
    }
    return row;
}

bool scatters_rows(const kernel *k, int64_t *row, int64_t *rows) {
    const root *r = &k->roots[0];
    if (k->n_roots != 1 || r->kind != ROOT_SCATTER || r->buffer < 0 || k->n_phases != 1 || k->in_parts || k->has_frame || k->beside != 0 ||
        k->column_parts > 0 || k->vector < 0 || k->n_loops < 1 || k->n_tasks != 1 || k->tasks[0] != k->vector) {
        return false;
    }
    const loop_variable *lanes = &k->variables[k->vector];
    const index_term *term = row_of(k, r->at);
    if (lanes->is_reduced || lanes->tile != 0 || term == NULL || term->atom->kind != ATOM_DATA || r->at.constant < 0 ||
        r->at.constant + lanes->size > term->factor) {
        return false;
    }
    *row = term->factor;
    *rows = term->atom->size;
    return true;
}

static bool is_worth_parts(const compiler *c, const kernel *k, int64_t *row, int64_t *rows) {
    const int threads = c->options->n_threads;
    return !k->lists_rows && k->bytes >= LEAST_BYTES && scatters_rows(k, row, rows) && *rows >= threads &&
           k->variables[k->vector].size >= (int64_t)LEAST_ELEMENTS * threads;
}

void share_scatters(compiler *c) {
    const int threads = c->options->n_threads;
    for (int s = 0; s < c->n_steps && threads > 1; s++) {
        kernel *k = c->steps[s].n_variants > 0 ? c->steps[s].variants[0] : NULL;
        int64_t row, rows;
        if (k != NULL && is_worth_parts(c, k, &row, &rows)) {
            k->lanes = k->variables[k->vector].size;
            k->scatter_row = row;
            k->scatter_rows = rows;
            k->n_task_items = threads;
        }
    }
}
