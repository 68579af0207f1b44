/* SPDX-License-Identifier: Apache-2.0 */
/* Which results go past the caches. */
#include "engine/compile/passes.h"

#include "device/caches.h"

/* Elements that a tensor has in memory: one that is read in many places counts once. */
static double elems_in_memory(const tensor *t) {
    int64_t n = tensor_numel(t), span = tensor_span(t);
    return (double)(span < n ? span : n);
}

double buffer_bytes(const compiler *c, int buffer) {
    const compile_buffer *b = &c->buffers[buffer];
    double n = b->role == BUFFER_SEED ? 1 : b->role == BUFFER_WORK ? (double)b->n_elems : elems_in_memory(b->tensor);
    return n * (double)dtype_size(b->dtype);
}

/* How often an expression is looked at, at most. */
static double turns_of(const kernel *k, uint64_t variables) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= (variables >> v & 1) != 0 ? (double)k->variables[v].size : 1;
    }
    return n;
}

/* Whether a good part of the buffer is read by a step: it had better stay near. */
static bool is_read_again(compiler *c, int buffer) {
    double n = buffer_bytes(c, buffer) / (double)dtype_size(c->buffers[buffer].dtype);
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        for (int e = 0; k != NULL && e < k->n_exprs; e++) {
            const expr *x = &k->exprs[e];
            if (x->kind == EXPR_LOAD && x->buffer == buffer && turns_of(k, x->variables) > n / 64) {
                return true;
            }
        }
        for (int i = 0; k == NULL && i < dag_at(&c->g, c->steps[s].call)->n_sources; i++) {
            place p;
            if (place_of_operand(c, dag_at(&c->g, c->steps[s].call), i, &p) && p.buffer == buffer) {
                return true;
            }
        }
    }
    return false;
}

/* A result that may go either way. */
static bool is_middling(compiler *c, const root *r) {
    double bytes = buffer_bytes(c, r->buffer);
    return bytes >= STREAM_MIDDLING_BYTES && bytes < STREAM_MIN_BYTES && c->buffers[r->buffer].role == BUFFER_OUTPUT &&
           !is_read_again(c, r->buffer);
}

static bool is_cached(const compiler *c) {
    double bytes = 0;
    for (int b = 0; b < c->n_buffers; b++) {
        bytes += c->buffers[b].role == BUFFER_INPUT || c->buffers[b].role == BUFFER_OUTPUT ? buffer_bytes(c, b) : 0;
    }
    return bytes <= CACHED_BYTES;
}

void choose_streams_in_chain(compiler *c, const chain *h) {
    for (int s = h->first; s < h->first + h->n_steps && !is_cached(c); s++) {
        for (int v = 0; v < c->steps[s].n_variants; v++) {
            kernel *k = c->steps[s].variants[v];
            for (int i = 0; i < k->n_roots && !k->has_classes; i++) {
                root *r = &k->roots[i];
                r->streams ^= r->kind == ROOT_STORE && r->buffer >= 0 && is_middling(c, r);
            }
        }
    }
}

/* Whether what reductions run over lies densely in a result. */
static bool runs_along(const kernel *k, const root *r) {
    bool any = false;
    for (int v = 0; v < k->n_variables; v++) {
        int64_t stride;
        any |= k->variables[v].is_reduced && index_stride(r->at, v, &stride) && stride == 1;
    }
    return any;
}

/* Bytes of what the kernel reads, of a table what it looks up: as much alone as the last cache keeps leaves no room in it for results. */
static double read_bytes(compiler *c, const kernel *k) {
    double bytes = 0;
    for (int b = 0; b < c->n_buffers; b++) {
        double read = 0, all = buffer_bytes(c, b);
        for (int e = 0; e < k->n_exprs; e++) {
            const expr *x = &k->exprs[e];
            read += x->kind == EXPR_LOAD && x->buffer == b ? turns_of(k, x->variables) * (double)dtype_size(c->buffers[b].dtype) : 0;
        }
        bytes += read < all ? read : all;
    }
    return bytes;
}

/* Rows of halves that end within a line of memory are stored one by one at their ends, so that lines are whole: short ones mostly so. Layer
   norm over 300 takes 0.37 of the time through the caches in f16, over 700 0.57, softmax over 197 0.74, over 1000 1.14 (a core of an
   Emerald Rapids, 2026-12). */
static bool is_ragged(const kernel *k, const root *r) {
    enum { SHORT_BYTES = 1536 };
    const int64_t bytes = k->vector >= 0 && k->variables[k->vector].is_reduced ? k->variables[k->vector].size * (int64_t)dtype_size(r->store_dtype) : 0;
    return dtype_size(r->store_dtype) == 2 && bytes > 0 && bytes < SHORT_BYTES && bytes % STREAM_LINE_BYTES != 0;
}

void spare_ragged(kernel *k, loop_choice choice) {
    for (int i = 0; i < k->n_roots; i++) {
        root *r = &k->roots[i];
        if (r->kind == ROOT_STORE && r->buffer >= 0 && is_ragged(k, r)) {
            r->streams = choice == LOOPS_OTHER_STORES;
        }
    }
}

bool choose_streams(compiler *c, kernel *k, loop_choice choice) {
    const bool fills = c->options->keeps_cached && read_bytes(c, k) > CACHED_BYTES, cached = is_cached(c), of_rows = k->has_classes && k->n_phases > 1;
    bool any = false;
    for (int i = 0; i < k->n_roots; i++) {
        root *r = &k->roots[i];
        if ((r->kind != ROOT_STORE && r->kind != ROOT_SCAN) || r->buffer < 0) {
            continue;
        }
        bool middling = is_middling(c, r);
        bool side_by_side = k->column_parts > 0 ? !cached : fills || (of_rows && !(cached && c->options->keeps_cached && runs_along(k, r)));
        r->streams = middling ? side_by_side != (choice == LOOPS_OTHER_STORES) : buffer_bytes(c, r->buffer) >= STREAM_MIN_BYTES;
        any |= middling;
    }
    return any || choice != LOOPS_OTHER_STORES;
}
