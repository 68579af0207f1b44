/* SPDX-License-Identifier: Apache-2.0 */
/* Whole storages: the views of one that a call writes are of no matter. */
#include "lab/experiment/pristine.h"

#include <stdlib.h>
#include <string.h>

typedef struct pristine_copy {
    storage *target;
    void *copy;
} pristine_copy;

bool pristine_holds(const pristine *p, const storage *s) {
    for (int i = 0; i < p->n; i++) {
        if (p->copies[i].target == s) {
            return true;
        }
    }
    return false;
}

static status keep_written(const op_call *call, pristine *out, error *err) {
    const op *o = call->op;
    for (int i = 0; i < o->signature.n_params && !o->row->is_view; i++) {
        const arg *a = &call->args[i];
        /* Values inside a graph have no memory here: a run makes them anew. */
        if (!op_writes(o, i) || a->kind != ARG_TENSOR || a->tensor->storage == NULL || pristine_holds(out, a->tensor->storage)) {
            continue;
        }
        storage *s = a->tensor->storage;
        void *copy = malloc(s->size_bytes > 0 ? s->size_bytes : 1);
        if (copy == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to keep an input of %zu bytes", s->size_bytes);
        }
        memcpy(copy, s->data, s->size_bytes);
        out->copies[out->n++] = (pristine_copy){.target = s, .copy = copy};
    }
    return ASSAY_OK;
}

status pristine_keep(arena *memory, const graph *g, pristine *out, error *err) {
    out->copies = arena_make(memory, (size_t)g->n_inputs + (size_t)g->n_numbers, sizeof *out->copies);
    if (out->copies == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to keep the inputs");
    }
    for (int i = 0; i < g->n_nodes; i++) {
        TRY(keep_written(&g->nodes[i].call, out, err));
    }
    return ASSAY_OK;
}

void pristine_restore(const pristine *p, profile *shown) {
    for (int i = 0; i < p->n; i++) {
        const storage *s = p->copies[i].target;
        int64_t from_ns = profile_now(shown);
        memcpy(s->data, p->copies[i].copy, s->size_bytes);
        profile_copy(shown, "restore input", from_ns, (double)s->size_bytes);
    }
}

void pristine_clear(pristine *p) {
    for (int i = 0; i < p->n; i++) {
        free(p->copies[i].copy);
    }
    *p = (pristine){0};
}
