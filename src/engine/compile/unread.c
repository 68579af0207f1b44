/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule gives memory although nobody reads it there: sums that only their own kernel needs, floats that are only wanted in
   halves. */
#include "engine/compile/passes.h"

#include <string.h>

/* Whether a library call reads memory of this buffer: its operands are places, not expressions. */
static bool call_reads(compiler *c, const compiler_step *s, int buffer) {
    const dag_node *n = dag_at(&c->g, s->call);
    for (int i = 0; i < n->n_sources; i++) {
        place p;
        if (place_of_operand(c, n, i, &p) && p.buffer == buffer) {
            return true;
        }
    }
    return false;
}

/* A reduction that only its own kernel reads needs no memory. */
void drop_unread(compiler *c) {
    for (int s = 0; s < c->n_steps; s++) {
        kernel *k = c->steps[s].kernel;
        for (int i = 0; k != NULL && i < k->n_roots; i++) {
            root *r = &k->roots[i];
            if (r->kind != ROOT_REDUCE || r->buffer < 0 || c->buffers[r->buffer].role != BUFFER_WORK) {
                continue;
            }
            bool read = false;
            for (int t = 0; t < c->n_steps && !read; t++) {
                const kernel *other = c->steps[t].kernel;
                read = other == NULL && call_reads(c, &c->steps[t], r->buffer);
                for (int e = 0; other != NULL && e < other->n_exprs && !read; e++) {
                    read = other->exprs[e].kind == EXPR_LOAD && other->exprs[e].buffer == r->buffer;
                }
            }
            if (!read) {
                c->buffers[r->buffer].n_elems = 0;
                r->buffer = -1;
            }
        }
    }
}

/* Whether step t does nothing but cast to halves what the scan before it has made, element for element, in memory of its own. */
static bool only_narrows(const compiler *c, const kernel *scan, const kernel *k) {
    const root *from = &scan->roots[0], *to = k->n_roots == 1 ? &k->roots[0] : NULL;
    if (to == NULL || to->kind != ROOT_STORE || k->n_exprs != 2 || k->n_variables != scan->n_variables ||
        (to->store_dtype != ASSAY_F16 && to->store_dtype != ASSAY_BF16)) {
        return false;
    }
    for (int v = 0; v < k->n_variables; v++) {
        if (k->variables[v].size != scan->variables[v].size) {
            return false;
        }
    }
    const expr *load = &k->exprs[0], *cast = &k->exprs[to->expr];
    const tensor *made = c->buffers[to->buffer].tensor;
    for (int e = 0; e < scan->n_exprs; e++) {
        const expr *x = &scan->exprs[e];
        const tensor *read = x->kind == EXPR_LOAD ? c->buffers[x->buffer].tensor : NULL;
        if (x->kind == EXPR_LOAD && (x->buffer == to->buffer || (made != NULL && read != NULL && made->storage == read->storage))) {
            return false;
        }
    }
    return load->kind == EXPR_LOAD && load->guard < 0 && load->buffer == from->buffer && index_equal(load->at, from->at) &&
           cast->kind == EXPR_CAST && cast->sources[0] == 0 && cast->dtype == to->store_dtype;
}

static bool is_read_elsewhere(compiler *c, int buffer, int but) {
    bool read = false;
    for (int t = 0; t < c->n_steps && !read; t++) {
        const kernel *k = c->steps[t].kernel;
        read = k == NULL && call_reads(c, &c->steps[t], buffer);
        for (int e = 0; k != NULL && t != but && e < k->n_exprs && !read; e++) {
            read = k->exprs[e].kind == EXPR_LOAD && k->exprs[e].buffer == buffer;
        }
    }
    return read;
}

/* A running sum that is only wanted in halves becomes those as it is made: its floats need no memory. */
void narrow_scans(compiler *c) {
    for (int s = 0; s + 1 < c->n_steps; s++) {
        kernel *k = c->steps[s].kernel, *next = c->steps[s + 1].kernel;
        root *r = k != NULL && k->n_roots == 1 ? &k->roots[0] : NULL;
        if (r == NULL || next == NULL || r->kind != ROOT_SCAN || r->dtype != ASSAY_F32 || r->store_dtype != ASSAY_F32 ||
            c->buffers[r->buffer].role != BUFFER_WORK || !only_narrows(c, k, next) || is_read_elsewhere(c, r->buffer, s + 1)) {
            continue;
        }
        c->buffers[r->buffer].n_elems = 0;
        r->buffer = next->roots[0].buffer;
        r->store_dtype = next->roots[0].store_dtype;
        r->at = next->roots[0].at;
        memmove(&c->steps[s + 1], &c->steps[s + 2], (size_t)(c->n_steps - s - 2) * sizeof *c->steps);
        c->n_steps--;
        for (int b = 0; b < c->n_buffers; b++) {
            c->buffers[b].step -= c->buffers[b].step > s ? 1 : 0;
        }
    }
}
