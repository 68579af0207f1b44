/* SPDX-License-Identifier: Apache-2.0 */
/* Which values lie in one memory: what no step reads any more leaves its memory to what a later step makes, and until results are made
   theirs serves values on the way to them. Loops that look at every element once, just before they write it, may write where they
   read. */
#include "engine/compile/passes.h"

#include <limits.h>
#include <stdlib.h>

/* The steps that touch a buffer. */
typedef struct lifetime {
    int buffer;
    int from, to;    /* from > to: none */
    int first, last; /* the same, but that those of a chain take turns: each counts as all of them */
    int64_t bytes;
    bool is_apart;   /* others know it by its address */
    bool by_parts;   /* its last step leaves it part by part: see is_left_by_parts */
} lifetime;

/* A memory, and when it is in use. */
typedef struct memory {
    int64_t bytes;
    int output;      /* the buffer of a result; -1: of none */
    int in_use_to;   /* the last step so far; -1: none */
    int last_taken;  /* the buffer that is in use until then */
    int wanted_from; /* the first step that needs it for the result; that, or of its chain the first */
    int wanted_first;
} memory;

static void touch(lifetime *l, int s, int first, int last) {
    l->from = s < l->from ? s : l->from;
    l->to = s > l->to ? s : l->to;
    l->first = first < l->first ? first : l->first;
    l->last = last > l->last ? last : l->last;
}

static void touch_by_call(compiler *c, int s, lifetime *of) {
    const dag_node *call = dag_at(&c->g, c->steps[s].call);
    const op *o = call->call.call->op;
    bool hands_on = o->in_place || o->row->is_view; /* a result lies where an operand does */
    for (int i = 0; i < call->n_sources; i++) {
        place p;
        if (place_of_operand(c, call, i, &p)) {
            touch(&of[p.buffer], s, s, s);
            of[p.buffer].is_apart |= hands_on;
        }
    }
    for (int b = 0; b < c->n_buffers; b++) {
        if (c->buffers[b].role == BUFFER_CALL && c->buffers[b].step == s) {
            touch(&of[b], s, s, s);
            of[b].is_apart |= hands_on;
        }
    }
}

static int64_t bytes_of(const compile_buffer *b) {
    bool is_work = b->role == BUFFER_WORK;
    if (!is_work && (b->tensor == NULL || b->tensor->storage != NULL || b->tensor->sparse != NULL || b->tensor->offset != 0)) {
        return 0;
    }
    return (is_work ? b->n_elems : tensor_span(b->tensor)) * (int64_t)dtype_size(b->dtype);
}

static bool is_touched(const kernel *k, int buffer) {
    for (int i = 0; i < k->n_buffers; i++) {
        if (k->buffers[i] == buffer) {
            return true;
        }
    }
    return false;
}

bool is_left_by_parts(const compiler *c, const chain *h, int buffer, int step) {
    bool touched = false, written = false;
    for (int s = h->first; s < step; s++) {
        const kernel *k = c->steps[s].kernel;
        touched |= is_touched(k, buffer);
        for (int i = 0; i < k->n_roots; i++) {
            written |= k->roots[i].buffer == buffer;
        }
    }
    return written || !touched;
}

static lifetime *lifetimes(compiler *c, int n_chains, const chain *chains) {
    lifetime *of = arena_make(c->memory, (size_t)c->n_buffers, sizeof *of);
    for (int b = 0; of != NULL && b < c->n_buffers; b++) {
        of[b] = (lifetime){.buffer = b, .from = INT_MAX, .to = -1, .first = INT_MAX, .last = -1, .bytes = bytes_of(&c->buffers[b])};
    }
    for (int s = 0, h = 0; of != NULL && s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        while (h < n_chains && chains[h].first + chains[h].n_steps <= s) {
            h++;
        }
        bool in_chain = h < n_chains && chains[h].first <= s;
        int first = in_chain ? chains[h].first : s, last = in_chain ? first + chains[h].n_steps - 1 : s;
        if (k == NULL) {
            touch_by_call(c, s, of);
        }
        for (int i = 0; k != NULL && i < k->n_buffers; i++) {
            touch(&of[k->buffers[i]], s, first, last);
            of[k->buffers[i]].by_parts = !in_chain || is_left_by_parts(c, &chains[h], k->buffers[i], s);
        }
    }
    for (int i = 0; of != NULL && i < c->g.n_outputs; i++) {
        if (c->output_buffers[i] >= 0) {
            of[c->output_buffers[i]].is_apart = true;
        }
    }
    return of;
}

/* Whether a kernel stores one result, each element of it once, through the caches: past them it had better leave what it reads alone. */
static bool stores_once(const compiler *c, const compiler_step *s) {
    const kernel *k = s->kernel;
    const root *r = k != NULL && k->n_roots == 1 && s->n_variants > 0 ? &k->roots[0] : NULL;
    if (r == NULL || r->kind != ROOT_STORE || r->phase != 0 || s->variants[0]->roots[0].streams) {
        return false;
    }
    for (int v = 0; v < k->n_variables; v++) {
        int64_t stride;
        if (k->variables[v].size > 1 && (!index_stride(r->at, v, &stride) || stride == 0)) {
            return false;
        }
    }
    const compile_buffer *b = &c->buffers[r->buffer];
    return b->role == BUFFER_WORK || !tensor_overlaps_itself(b->tensor);
}

/* Whether step s reads `old` only where, and just before, it writes `made`. */
static bool is_replaced(const compiler *c, int s, int old, int made) {
    const kernel *k = c->steps[s].kernel;
    if (!stores_once(c, &c->steps[s])) {
        return false;
    }
    const root *r = &k->roots[0];
    if (r->buffer != made || dtype_size(c->buffers[old].dtype) != dtype_size(r->store_dtype)) {
        return false;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && e->buffer == old && !index_equal(e->at, r->at)) {
            return false;
        }
    }
    return true;
}

/* Whether memory m is free for a buffer as long as that lives. */
static bool is_free(const compiler *c, const memory *m, const lifetime *l) {
    bool before = m->in_use_to < l->first || (m->in_use_to == l->first && is_replaced(c, l->first, m->last_taken, l->buffer));
    bool after = m->output < 0 || l->last < m->wanted_first ||
                 (l->to == m->wanted_from && l->by_parts && is_replaced(c, l->to, l->buffer, m->output));
    return before && after && (m->output < 0 || m->bytes >= l->bytes);
}

/* What a memory would cost: first what it has to grow, then what it is too large. */
static bool is_better(const memory *a, const memory *b, int64_t bytes) {
    int64_t grows_a = bytes > a->bytes ? bytes - a->bytes : 0, grows_b = bytes > b->bytes ? bytes - b->bytes : 0;
    if (grows_a != grows_b) {
        return grows_a < grows_b;
    }
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->in_use_to > b->in_use_to; /* used last: most of it is in a cache */
}

static int by_first(const void *a, const void *b) {
    const lifetime *x = a, *y = b;
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static bool may_share(const compile_buffer *b, const lifetime *l) {
    return (b->role == BUFFER_WORK || b->role == BUFFER_CALL) && l->first <= l->last && l->bytes > 0 && !l->is_apart;
}

/* Results' memories, which are there anyway. */
static int memories_of_outputs(const compiler *c, const lifetime *of, memory *list) {
    int n = 0;
    for (int b = 0; b < c->n_buffers; b++) {
        if (c->buffers[b].role == BUFFER_OUTPUT && of[b].first <= of[b].last && of[b].bytes > 0) {
            list[n++] = (memory){of[b].bytes, b, -1, -1, of[b].from, of[b].first};
        }
    }
    return n;
}

bool in_one_memory(const compiler *c, int a, int b) {
    return c->buffers[a].memory != 0 && c->buffers[a].memory == c->buffers[b].memory;
}

bool reads_memory_of(const compiler *c, const kernel *k, int buffer) {
    const tensor *to = c->buffers[buffer].tensor;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind != EXPR_LOAD) {
            continue;
        }
        const tensor *from = c->buffers[e->buffer].tensor;
        if (e->buffer == buffer || in_one_memory(c, e->buffer, buffer) ||
            (from != NULL && to != NULL && from->storage != NULL && from->storage == to->storage)) {
            return true;
        }
    }
    return false;
}

bool share_memory(compiler *c, int n_chains, const chain *chains) {
    lifetime *of = lifetimes(c, n_chains, chains);
    memory *list = arena_make(c->memory, (size_t)c->n_buffers, sizeof *list);
    c->memories = arena_make(c->memory, (size_t)c->n_buffers, sizeof *c->memories);
    if (of == NULL || list == NULL || c->memories == NULL) {
        return false;
    }
    int n = memories_of_outputs(c, of, list);
    qsort(of, (size_t)c->n_buffers, sizeof *of, by_first);
    for (int i = 0; i < c->n_buffers; i++) {
        const lifetime *l = &of[i];
        if (!may_share(&c->buffers[l->buffer], l)) {
            continue;
        }
        int best = -1;
        for (int m = 0; m < n; m++) {
            best = is_free(c, &list[m], l) && (best < 0 || is_better(&list[m], &list[best], l->bytes)) ? m : best;
        }
        if (best < 0) {
            best = n;
            list[n++] = (memory){.output = -1};
        }
        memory *m = &list[best];
        m->bytes = l->bytes > m->bytes ? l->bytes : m->bytes;
        m->in_use_to = l->last;
        m->last_taken = l->buffer;
        c->buffers[l->buffer].memory = best + 1;
        if (m->output >= 0 && l->to == m->wanted_from) {
            c->buffers[l->buffer].part_elems = 0; /* there part by part already */
        }
    }
    for (int m = 0; m < n; m++) {
        c->memories[m] = (compile_memory){list[m].bytes, list[m].output};
        if (list[m].output >= 0) {
            c->buffers[list[m].output].memory = m + 1;
        }
    }
    c->n_memories = n;
    return true;
}
