/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is written while something else lies there: what a schedule must not do, found once it is made. A value is what it
   was when it was made; that holds as long as its memory is not written before all that read it have run. */
#include "engine/compile/schedule.h"

static const tensor *memory_of(const compiler *c, int buffer) {
    const compile_buffer *b = &c->buffers[buffer];
    return b->role == BUFFER_SEED || b->role == BUFFER_WORK ? NULL : b->tensor;
}

/* The memory that a buffer is: an address that all buffers there share. */
static const void *memory_at(compiler *c, int buffer) {
    const compile_buffer *b = &c->buffers[buffer];
    place p;
    while (b->role == BUFFER_CALL && b->step >= 0) { /* of a call in place: where that finds its tensor */
        const dag_node *call = dag_at(&c->g, c->steps[b->step].call);
        if (!call->call.call->op->in_place || b->output != 0 || call->n_sources == 0 || !place_of_operand(c, call, 0, &p)) {
            return b;
        }
        b = &c->buffers[p.buffer];
    }
    const tensor *t = memory_of(c, (int)(b - c->buffers));
    return t != NULL && t->storage != NULL ? (const void *)t->storage : (const void *)b;
}

/* --- what kernels write ------------------------------------------------------------------------------------------------------- */

/* Whether kernel k stores root r before its loops, which may read the same element after that. */
static bool stores_first(const kernel *k, const root *r) {
    bool in_loops = !k->has_classes;
    for (int v = 0; v < k->n_variables; v++) {
        in_loops |= k->variables[v].is_reduced && (r->variables >> v & 1) != 0;
    }
    return !in_loops;
}

/* Whether reading e's element and writing r's is safe although both lie in one tensor's memory: they are the same element,
   read just before it is written. In a kernel of several phases a later one may read it again. */
static bool same_element(compiler *c, const expr *e, const root *r) {
    index_sum read = index_add(&c->g.indices, e->at, index_constant(memory_of(c, e->buffer)->offset));
    index_sum write = index_add(&c->g.indices, r->at, index_constant(memory_of(c, r->buffer)->offset));
    return r->kind == ROOT_STORE && r->phase == 0 && index_equal(read, write);
}

/* Whether step t reads through `buffer` what root r of step s overwrites. What a step after s wrote there is newer. */
static bool loses(compiler *c, const void *memory, const root *r, int s, int buffer, int t) {
    return buffer != r->buffer && t >= s && c->buffers[buffer].step <= s && memory_at(c, buffer) == memory;
}

static bool overwrites(compiler *c, int s, const root *r) {
    const void *memory = memory_at(c, r->buffer);
    for (int t = s; t < c->n_steps; t++) {
        const kernel *reader = c->steps[t].kernel;
        if (reader == NULL) {
            const dag_node *call = dag_at(&c->g, c->steps[t].call);
            for (int x = 0; x < call->n_sources; x++) {
                place p;
                if (t > s && place_of_operand(c, call, x, &p) && loses(c, memory, r, s, p.buffer, t)) {
                    return true;
                }
            }
            continue;
        }
        for (int e = 0; e < reader->n_exprs; e++) {
            const expr *x = &reader->exprs[e];
            if (x->kind == EXPR_LOAD && loses(c, memory, r, s, x->buffer, t) &&
                !(t == s && reader->n_phases == 1 && !stores_first(reader, r) && same_element(c, x, r))) {
                return true;
            }
        }
    }
    return false;
}

/* --- what calls write --------------------------------------------------------------------------------------------------------- */

/* Whether what lies in `memory` before step s is read in that step, but for the call's own source `but`, or after it. */
static bool is_read_from(compiler *c, int s, int but, const void *memory) {
    for (int t = s; t < c->n_steps; t++) {
        const kernel *reader = c->steps[t].kernel;
        const dag_node *call = reader == NULL ? dag_at(&c->g, c->steps[t].call) : NULL;
        for (int x = 0; call != NULL && x < call->n_sources; x++) {
            place p;
            if (!(t == s && x == but) && place_of_operand(c, call, x, &p) && c->buffers[p.buffer].step < s &&
                memory_at(c, p.buffer) == memory) {
                return true;
            }
        }
        for (int e = 0; reader != NULL && e < reader->n_exprs; e++) {
            const expr *x = &reader->exprs[e];
            if (x->kind == EXPR_LOAD && c->buffers[x->buffer].step < s && memory_at(c, x->buffer) == memory) {
                return true;
            }
        }
    }
    return false;
}

/* Whether an output of the program lies in `memory` since before step s, for good. */
static bool is_kept(compiler *c, int s, const void *memory) {
    for (int i = 0; i < c->g.n_outputs; i++) {
        int buffer = c->places[core_of(c, c->g.outputs[i].value).id].buffer;
        bool lies_there = buffer >= 0 && (c->buffers[buffer].role == BUFFER_OUTPUT || c->buffers[buffer].role == BUFFER_CALL);
        if (lies_there && c->buffers[buffer].step < s && memory_at(c, buffer) == memory) {
            return true;
        }
    }
    return false;
}

/* Whether a buffer is made of several values: some may be put there after it is written. */
static bool is_joined(const compiler *c, const attempt *a, int buffer) {
    for (int i = 0; i < c->g.n_nodes; i++) {
        if (a->live[i] && c->g.nodes[i].kind == PRIM_JOIN && c->places[i].buffer == buffer) {
            return true;
        }
    }
    return false;
}

/* Whether what a call in place finds in memory p is an input's that the program does not write there: the call's own tensor began
   as its copy. */
static bool is_foreign(const compiler *c, const dag_node *call, int source, const place *p) {
    const compile_buffer *b = &c->buffers[p->buffer];
    if (source != 0 || !is_call_in_place(call) || b->role != BUFFER_INPUT) {
        return false;
    }
    const tensor *written = call->call.call->args[0].tensor;
    return written != b->tensor && (written->storage == NULL || written->storage != b->tensor->storage);
}

/* Values that the call of step s would overwrite although they are wanted later get to be copied for it. */
static bool copy_what_is_written(compiler *c, attempt *a, int s) {
    bool any = false;
    const dag_node *call = dag_at(&c->g, c->steps[s].call);
    for (int x = 0; x < call->n_sources; x++) {
        val v = call->sources[x];
        place p;
        if (dag_at(&c->g, v)->writer == NULL || a->promoted[v.id] || !place_through(c, v, &p)) {
            continue;
        }
        /* What a call writes besides its result is to reach the graph's own memory. */
        bool may_move = (x == 0 && is_call_in_place(call)) || c->buffers[p.buffer].role != BUFFER_INPUT;
        const void *memory = memory_at(c, p.buffer);
        if (may_move && (is_foreign(c, call, x, &p) || is_joined(c, a, p.buffer) || is_read_from(c, s, x, memory) ||
                         is_kept(c, s, memory))) {
            a->promoted[v.id] = true;
            any = true;
        }
    }
    return any;
}

bool keep_apart(compiler *c, attempt *a, bool *unsolved) {
    bool any = false;
    *unsolved = false;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *writer = c->steps[s].kernel;
        if (writer == NULL) {
            any |= copy_what_is_written(c, a, s);
        }
        for (int i = 0; writer != NULL && i < writer->n_roots; i++) {
            const root *r = &writer->roots[i];
            const tensor *to = r->buffer >= 0 ? memory_of(c, r->buffer) : NULL;
            if (to == NULL || to->storage == NULL || c->buffers[r->buffer].role != BUFFER_OUTPUT) {
                continue;
            }
            int output = c->buffers[r->buffer].output;
            bool conflict = overwrites(c, s, r);
            *unsolved |= conflict && a->apart[output];
            any |= conflict && !a->apart[output];
            a->apart[output] |= conflict;
        }
    }
    return any;
}
