/* SPDX-License-Identifier: Apache-2.0 */
/* Shared holds on outputs' memory. */
#include "engine/backend/output_memory.h"

#include <stdlib.h>

status output_memory_init(output_memory *m, const graph *g, error *err) {
    m->of = calloc((size_t)g->n_outputs + 1, sizeof(storage *));
    m->n = m->of != NULL ? g->n_outputs : 0;
    return m->of != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a list of outputs");
}

status output_memory_make(output_memory *m, const graph *g, error *err) {
    output_memory made = {0};
    TRY(output_memory_init(&made, g, err));
    for (int i = 0; i < g->n_outputs; i++) {
        tensor like = *g->outputs[i];
        if (like.storage != NULL || like.sparse != NULL) {
            continue;
        }
        status result = tensor_allocate_at(&like, &device_cpu, i + 1, err);
        if (result != ASSAY_OK) {
            output_memory_clear(&made);
            return result;
        }
        made.of[i] = like.storage;
    }
    *m = made;
    return ASSAY_OK;
}

void output_memory_adopt(output_memory *m, int i, const tensor *t) {
    tensor held;
    bool taken = i >= m->n || m->of[i] != NULL || t->storage == NULL;
    for (int k = 0; !taken && k < m->n; k++) {
        taken = m->of[k] == t->storage;
    }
    if (!taken) {
        tensor_share(&held, t);
        m->of[i] = held.storage;
    }
}

void output_memory_clear(output_memory *m) {
    for (int i = 0; i < m->n; i++) {
        tensor held = {.storage = m->of[i]};
        tensor_clear(&held);
    }
    free(m->of);
    *m = (output_memory){0};
}

status output_memory_take(const output_memory *m, int i, int place, tensor *t, error *err) {
    tensor held = *t;
    held.storage = m != NULL && i >= 0 && i < m->n ? m->of[i] : NULL;
    size_t needed = (size_t)(t->offset + tensor_span(t)) * dtype_size(t->dtype);
    if (held.storage == NULL || held.storage->size_bytes < needed) {
        return tensor_allocate_at(t, &device_cpu, i >= 0 ? i + 1 : place, err);
    }
    tensor_share(t, &held);
    return ASSAY_OK;
}

int output_memory_find(const graph *g, const tensor *value) {
    for (int i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == value) {
            return i;
        }
    }
    return -1;
}
