/* SPDX-License-Identifier: Apache-2.0 */
/* Where calls of the library find their operands. What a call answers may go by its operands' strides: an image that lies channels
   last makes one that does, and a result of _embedding_bag is empty where the table's rows are dense. The compiler lays values as
   suits it, and knows no copy that only changes strides. So where a call would answer otherwise than in the graph, its operands
   get the strides that they have there: at once where no other call reads them, else in a copy that is made before the call. */
#include "engine/compile/schedule.h"

#include <string.h>

static const laid_operand *laid_for(const compiler *c, const dag_node *call, int i) {
    for (const laid_operand *o = c->laid; o != NULL; o = o->next) {
        if (o->call == call->call.call && o->operand == i) {
            return o;
        }
    }
    return NULL;
}

bool place_of_operand(compiler *c, const dag_node *call, int i, place *out) {
    const laid_operand *own = laid_for(c, call, i);
    if (own != NULL) {
        *out = own->place;
        return true;
    }
    return place_through(c, call->sources[i], out);
}

bool call_operand(compiler *c, const dag_node *call, int i, const tensor *original, place *out) {
    int64_t *strides = arena_make(c->memory, (size_t)original->ndim, sizeof *strides);
    c->failed |= strides == NULL;
    if (c->failed || !place_of_operand(c, call, i, out)) {
        return false;
    }
    for (int d = 0; d < original->ndim; d++) { /* of one element they are of no matter to memory, but may be to the call */
        strides[d] = original->sizes[d] == 1 ? original->strides[d] : out->strides[d];
    }
    out->strides = strides;
    return true;
}

static tensor **originals_of(compiler *c, const dag_node *call) {
    tensor **all = arena_make(c->memory, (size_t)call->n_sources, sizeof *all);
    if (all == NULL) {
        c->failed = true;
        return NULL;
    }
    call_all_tensors(call->call.call, all, call->n_sources);
    return all;
}

bool call_with_tensors(arena *memory, const op_call *original, tensor *const *tensors, op_call *out) {
    int n = original->op->signature.n_params, k = 0;
    arg *args = arena_make(memory, (size_t)n, sizeof *args);
    if (args == NULL) {
        return false;
    }
    memcpy(args, original->args, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++) {
        if (args[i].kind == ARG_TENSOR) {
            args[i].tensor = tensors[k++];
        } else if (args[i].kind == ARG_TENSORS) {
            tensor **items = arena_make(memory, (size_t)args[i].n, sizeof *items);
            if (items == NULL) {
                return false;
            }
            for (int j = 0; j < args[i].n; j++) {
                items[j] = args[i].tensors[j] != NULL ? tensors[k++] : NULL;
            }
            args[i].tensors = items;
        }
    }
    *out = (op_call){.op = original->op, .args = args, .seed = original->seed};
    return true;
}

/* Whether the call answers, with its operands where they are placed now, in the forms that the graph says. */
static bool answers_alike(compiler *c, const dag_node *n, tensor *const *originals) {
    tensor *items = arena_make(c->memory, (size_t)n->n_sources, sizeof *items);
    tensor **tensors = arena_make(c->memory, (size_t)n->n_sources, sizeof *tensors);
    bool same = true;
    for (int i = 0; items != NULL && tensors != NULL && i < n->n_sources; i++) {
        place p;
        if (!call_operand(c, n, i, originals[i], &p)) {
            return c->failed;
        }
        items[i] = *originals[i];
        memcpy(items[i].strides, p.strides, (size_t)items[i].ndim * sizeof *p.strides);
        tensors[i] = &items[i];
        same &= tensor_same_strides(&items[i], originals[i]);
    }
    op_call call;
    outputs made;
    if (items == NULL || tensors == NULL || !call_with_tensors(c->memory, n->call.call, tensors, &call)) {
        c->failed = true;
        return true;
    }
    if (same || op_infer(&call, &made, NULL) != ASSAY_OK) {
        return same;
    }
    same = made.n == n->call.out->n;
    for (int i = 0; same && i < made.n; i++) {
        same = tensor_same_sizes(&made.items[i], &n->call.out->items[i]) && tensor_same_strides(&made.items[i], &n->call.out->items[i]);
    }
    outputs_clear(&made);
    return same;
}

/* Whether v has memory to itself which only this call of all calls reads, so that its strides may still be chosen. */
static bool may_be_laid(const compiler *c, const attempt *a, val v, const dag_node *call) {
    const place *p = &c->places[v.id];
    if (p->buffer < 0 || p->offset != 0 || c->buffers[p->buffer].role != BUFFER_WORK) {
        return false;
    }
    for (int i = 0; i < c->g.n_nodes; i++) {
        const dag_node *n = &c->g.nodes[i];
        if (i != v.id && c->places[i].buffer == p->buffer) {
            return false;
        }
        for (int s = 0; a->live[i] && n->kind == PRIM_CALL && n->call.call != call->call.call && s < n->n_sources; s++) {
            if (core_of(c, n->sources[s]).id == v.id || n->sources[s].id == v.id) {
                return false;
            }
        }
    }
    return true;
}

static void lay_operand(compiler *c, const attempt *a, const dag_node *call, int i, const tensor *original) {
    val v = call->sources[i];
    bool can_be = tells_apart(dag_at(&c->g, v), original->strides);
    place there = can_be ? place_like(c, v, original) : work_place(c, v);
    laid_operand *own = arena_make(c->memory, 1, sizeof *own);
    if (own == NULL || there.buffer < 0) {
        c->failed = true;
    } else if (may_be_laid(c, a, v, call)) {
        c->buffers[c->places[v.id].buffer].n_elems = 0; /* which nobody writes */
        c->places[v.id] = there;
    } else {
        *own = (laid_operand){.call = call->call.call, .operand = i, .place = there, .next = c->laid};
        c->laid = own;
    }
}

status lay_operands(compiler *c, const attempt *a, error *err) {
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        const dag_node *n = &c->g.nodes[i];
        if (!a->live[i] || n->kind != PRIM_CALL || n->call.call->op->in_place || n->call.call->op->row->is_view) {
            continue;
        }
        tensor **originals = originals_of(c, n);
        if (originals == NULL || answers_alike(c, n, originals)) {
            continue;
        }
        for (int s = 0; s < n->n_sources && !c->failed; s++) {
            place p;
            if (call_operand(c, n, s, originals[s], &p)) {
                tensor now = *originals[s];
                memcpy(now.strides, p.strides, (size_t)now.ndim * sizeof *p.strides);
                if (!tensor_same_strides(&now, originals[s])) {
                    lay_operand(c, a, n, s, originals[s]);
                }
            }
        }
        if (!c->failed && !answers_alike(c, n, originals)) {
            return fail(err, ASSAY_UNSUPPORTED, "%s answers in another form where its operands lie otherwise than the graph says",
                        n->call.call->op->signature.full);
        }
    }
    return ASSAY_OK;
}
