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

place work_place(compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    int64_t *strides = arena_make(c->memory, (size_t)n->ndim, sizeof *strides);
    if (strides == NULL) {
        c->failed = true;
        return (place){.buffer = -1};
    }
    sizes_contiguous_strides(n->ndim, n->sizes, strides);
    int b = buffer_add(c, &(compile_buffer){.role = BUFFER_WORK, .dtype = n->dtype, .n_elems = dag_numel(n), .step = -1});
    return (place){.buffer = b, .strides = strides};
}

place place_like(compiler *c, val v, const tensor *t) {
    const dag_node *n = dag_at(&c->g, v);
    int64_t *strides = arena_make(c->memory, (size_t)n->ndim, sizeof *strides), span = dag_numel(n) > 0;
    if (strides == NULL) {
        c->failed = true;
        return (place){.buffer = -1};
    }
    for (int d = 0; d < n->ndim; d++) {
        strides[d] = t->strides[d];
        span += span > 0 ? (n->sizes[d] - 1) * strides[d] : 0;
    }
    int b = buffer_add(c, &(compile_buffer){.role = BUFFER_WORK, .dtype = n->dtype, .n_elems = span, .step = -1});
    return (place){.buffer = b, .strides = strides};
}

bool tells_apart(const dag_node *n, const int64_t *strides) {
    bool done[TENSOR_MAX_DIMS] = {false};
    for (int64_t span = 1;;) { /* the dimensions from the nearest neighbours on; span: elements that those so far reach over */
        int next = -1;
        for (int d = 0; d < n->ndim; d++) {
            bool counts = !done[d] && n->sizes[d] > 1;
            next = counts && (next < 0 || strides[d] < strides[next]) ? d : next;
        }
        if (next < 0 || strides[next] < span) {
            return next < 0;
        }
        span += (n->sizes[next] - 1) * strides[next];
        done[next] = true;
    }
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
