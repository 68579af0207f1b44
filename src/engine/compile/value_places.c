/* SPDX-License-Identifier: Apache-2.0 */
/* Where values lie: their buffers, views of what lies there, and what a value shows that has no place itself. */
#include "engine/compile/schedule.h"

#include <string.h>

int buffer_add(compiler *c, const compile_buffer *b) {
    if (c->n_buffers == c->buffer_capacity) {
        int capacity = 2 * c->buffer_capacity + 16;
        compile_buffer *grown = arena_make(c->memory, (size_t)capacity, sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return 0;
        }
        if (c->n_buffers > 0) {
            memcpy(grown, c->buffers, (size_t)c->n_buffers * sizeof *grown);
        }
        c->buffers = grown;
        c->buffer_capacity = capacity;
    }
    c->buffers[c->n_buffers] = *b;
    return c->n_buffers++;
}

/* Where a view's elements lie when its source has memory: false when that is no matter of strides. */
bool place_through(compiler *c, val v, place *out) {
    if (c->places[v.id].buffer >= 0) {
        *out = c->places[v.id];
        return true;
    }
    const dag_node *n = dag_at(&c->g, v);
    place source;
    if (n->kind != PRIM_VIEW || n->view.n_bounds > 0 || n->n_sources > 1 || !place_through(c, n->sources[0], &source)) {
        return false;
    }
    int64_t *strides = arena_make(c->memory, (size_t)n->ndim, sizeof *strides);
    if (strides == NULL) {
        c->failed = true;
        return false;
    }
    index_sum offset = index_constant(source.offset);
    for (int i = 0; i < n->view.n_at; i++) {
        offset = index_add(&c->g.indices, offset, index_scale(&c->g.indices, n->view.at[i], source.strides[i]));
    }
    for (int d = 0; d < n->ndim; d++) {
        if (!index_stride(offset, d, &strides[d]) || strides[d] < 0) {
            return false;
        }
    }
    *out = (place){.buffer = source.buffer, .offset = offset.constant, .strides = strides};
    return true;
}

val core_of(const compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    while (n->kind == PRIM_VIEW && n->view.n_bounds == 0 && n->n_sources == 1 && c->places[v.id].buffer < 0) {
        v = n->sources[0];
        n = dag_at(&c->g, v);
    }
    return v;
}

bool is_call_in_place(const dag_node *n) {
    return n->kind == PRIM_CALL && n->call.output == 0 && n->call.call->op->in_place && n->call.call->args[0].kind == ARG_TENSOR;
}
