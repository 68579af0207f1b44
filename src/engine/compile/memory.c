/* SPDX-License-Identifier: Apache-2.0 */
/* Gives values memory: inputs, outputs, what library calls read and write, what reductions leave behind; then has the rest
   scheduled, and does so again where the schedule shows that more values want memory. */
#include "engine/compile/schedule.h"

#include <assert.h>
#include <string.h>

/* What one attempt at a schedule needs to know, and what the next one learns from it. */
typedef struct attempt {
    bool *live;
    bool *promoted;   /* values computed once because several kernels want them */
    bool *apart;      /* per output: not straight into its memory, an input of other kernels lies there */
} attempt;

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

static void mark_live(const dag *g, val v, bool *live) {
    if (live[v.id]) {
        return;
    }
    live[v.id] = true;
    const dag_node *n = dag_at(g, v);
    for (int i = 0; i < n->n_sources; i++) {
        mark_live(g, n->sources[i], live);
    }
}

/* A place of its own, dense in the value's order of dimensions. */
static place work_place(compiler *c, val v) {
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

static bool is_leaf(const dag_node *n) {
    return n->kind == PRIM_INPUT || n->kind == PRIM_CONSTANT;
}

/* The value that v shows, seen through views that strides can tell. */
static val core_of(const compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    while (n->kind == PRIM_VIEW && n->view.n_bounds == 0 && n->n_sources == 1 && c->places[v.id].buffer < 0) {
        v = n->sources[0];
        n = dag_at(&c->g, v);
    }
    return v;
}

/* What a call reads lies in memory, if not in the order of the original then in some other that strides can tell. */
static void place_operand(compiler *c, val v) {
    place there;
    val core = core_of(c, v);
    if (c->places[core.id].buffer < 0 && !is_leaf(dag_at(&c->g, core))) {
        c->places[core.id] = work_place(c, core);
    }
    if (!place_through(c, v, &there)) {
        c->places[v.id] = work_place(c, v);
    }
}

static void place_inputs(compiler *c, const attempt *a) {
    for (int i = 0; i < c->g.n_nodes; i++) {
        const dag_node *n = &c->g.nodes[i];
        c->places[i] = (place){.buffer = -1};
        if (!a->live[i] || n->kind != PRIM_INPUT) {
            continue;
        }
        compile_buffer b = {.role = n->input.is_seed ? BUFFER_SEED : BUFFER_INPUT,
                            .dtype = n->dtype,
                            .tensor = n->input.from,
                            .seed = n->input.seed,
                            .step = -1};
        c->places[i] = (place){.buffer = buffer_add(c, &b), .strides = n->input.is_seed ? NULL : n->input.from->strides};
    }
}

static void place_calls(compiler *c, const attempt *a) {
    for (int i = 0; i < c->g.n_nodes; i++) {
        const dag_node *n = &c->g.nodes[i];
        if (!a->live[i] || n->kind != PRIM_CALL) {
            continue;
        }
        const tensor *t = &n->call.out->items[n->call.output];
        compile_buffer b = {.role = BUFFER_CALL, .dtype = n->dtype, .tensor = t, .output = n->call.output, .step = -1};
        c->places[i] = (place){.buffer = buffer_add(c, &b), .strides = t->strides};
    }
}

/* --- outputs ------------------------------------------------------------------------------------------------------------ */

/* The strides under which computing `core` straight into the output's memory shows v there; false when there are none. */
static bool strides_for(compiler *c, val v, val core, const tensor *to, const int64_t **strides) {
    const dag_node *n = dag_at(&c->g, v), *w = dag_at(&c->g, core);
    if (v.id == core.id) {
        *strides = to->strides;
        return true;
    }
    if (dag_numel(n) != dag_numel(w) || n->sources[0].id != core.id) {
        return false;
    }
    int64_t *found = arena_make(c->memory, (size_t)w->ndim, sizeof *found);
    if (found == NULL) {
        c->failed = true;
        return false;
    }
    sizes_contiguous_strides(w->ndim, w->sizes, found);
    bool permuted = true;
    for (int i = 0; permuted && i < w->ndim; i++) {
        int id;
        permuted = w->sizes[i] == 1 || (index_is_variable(n->view.at[i], &id) && n->sizes[id] == w->sizes[i]);
        if (permuted && w->sizes[i] > 1) {
            found[i] = to->strides[id];
        }
    }
    if (!permuted) {
        /* A step of each dimension, were v the same elements in the same order under another shape. */
        int64_t dense[TENSOR_MAX_DIMS], index[TENSOR_MAX_DIMS];
        sizes_contiguous_strides(w->ndim, w->sizes, dense);
        for (int i = 0; i < w->ndim; i++) {
            sizes_unravel(n->ndim, n->sizes, w->sizes[i] > 1 ? dense[i] : 0, index);
            found[i] = 0;
            for (int d = 0; d < n->ndim; d++) {
                found[i] += index[d] * to->strides[d];
            }
        }
        index_sum here = index_constant(0), there = index_constant(0);
        for (int i = 0; i < w->ndim; i++) {
            here = index_add(&c->g.indices, here, index_scale(&c->g.indices, n->view.at[i], found[i]));
        }
        for (int d = 0; d < n->ndim; d++) {
            index_sum variable = index_variable(&c->g.indices, d, n->sizes[d]);
            there = index_add(&c->g.indices, there, index_scale(&c->g.indices, variable, to->strides[d]));
        }
        if (!index_equal(here, there)) {
            return false;
        }
    }
    *strides = found;
    return true;
}

/* An operator that works in place on its library kernel has left its result where it belongs. */
static bool is_written_there(const dag_node *n, const tensor *to) {
    if (n->kind != PRIM_CALL) {
        return false;
    }
    const tensor *t = &n->call.out->items[n->call.output];
    return t == to || (t->storage != NULL && t->storage == to->storage && t->offset == to->offset);
}

/* Whether what is computed into `to` replaces this very input, element for element. */
static bool is_in_place(const dag_node *base, const tensor *to) {
    const tensor *from = base->kind == PRIM_INPUT && !base->input.is_seed ? base->input.from : NULL;
    return from != NULL && (from == to || (from->storage != NULL && from->storage == to->storage && from->dtype == to->dtype &&
                                           from->offset == to->offset && tensor_same_sizes(from, to) &&
                                           tensor_same_strides(from, to)));
}

typedef struct late_copy {
    val v;
    place to;
    bool is_last; /* into memory that other kernels read: after all of them */
} late_copy;

/* Places for outputs; those whose value lies elsewhere are copied at the end. */
static int place_outputs(compiler *c, const attempt *a, late_copy *copies) {
    int n_copies = 0;
    for (int i = 0; i < c->g.n_outputs; i++) {
        const dag_output *o = &c->g.outputs[i];
        val core = core_of(c, o->value);
        const dag_node *n = dag_at(&c->g, core);
        c->output_buffers[i] = -1;
        if (is_written_there(n, o->to)) {
            c->output_buffers[i] = c->places[core.id].buffer;
            continue;
        }
        compile_buffer b = {.role = BUFFER_OUTPUT, .dtype = o->to->dtype, .tensor = o->to, .output = i, .step = -1};
        const int64_t *strides;
        if (n->kind == PRIM_SCATTER && core.id == o->value.id && !a->apart[i] && c->places[core.id].buffer < 0 &&
            is_in_place(dag_at(&c->g, n->sources[0]), o->to)) {
            c->places[core.id] = (place){.buffer = buffer_add(c, &b), .strides = o->to->strides};
            continue; /* the base is there already */
        }
        int buffer = buffer_add(c, &b);
        c->output_buffers[i] = buffer;
        if (n->kind == PRIM_CONSTANT && n->is_any) {
            continue; /* as the memory comes */
        }
        if (!a->apart[i] && !is_leaf(n) && c->places[core.id].buffer < 0 &&
            strides_for(c, o->value, core, o->to, &strides)) {
            c->places[core.id] = (place){.buffer = buffer, .strides = strides};
            continue;
        }
        if (a->apart[i] && !is_leaf(dag_at(&c->g, o->value)) && c->places[o->value.id].buffer < 0) {
            c->places[o->value.id] = work_place(c, o->value);
        }
        copies[n_copies++] = (late_copy){o->value, {.buffer = buffer, .strides = o->to->strides}, a->apart[i]};
    }
    return n_copies;
}

/* --- the schedule --------------------------------------------------------------------------------------------------------- */

static bool needs_kernel(const dag_node *n) {
    return n->kind == PRIM_REDUCE || n->kind == PRIM_SCAN || n->kind == PRIM_SCATTER || n->kind == PRIM_JOIN;
}

/* Where source i of a join lies within it. */
static place place_within(const compiler *c, const dag_node *n, const place *whole, int i) {
    place part = *whole;
    for (int k = 0; k < i; k++) {
        part.offset += dag_at(&c->g, n->sources[k])->sizes[n->dim] * whole->strides[n->dim];
    }
    return part;
}

/* What a kernel of its own computes for a join is computed in its place there. */
static void place_joined(compiler *c, const attempt *a) {
    for (int i = c->g.n_nodes - 1; i >= 0 && !c->failed; i--) {
        const dag_node *n = &c->g.nodes[i];
        if (!a->live[i] || n->kind != PRIM_JOIN) {
            continue;
        }
        if (c->places[i].buffer < 0) {
            c->places[i] = work_place(c, (val){i});
        }
        for (int s = 0; s < n->n_sources; s++) {
            place *p = &c->places[n->sources[s].id];
            if (needs_kernel(dag_at(&c->g, n->sources[s])) && p->buffer < 0) {
                *p = place_within(c, n, &c->places[i], s);
            }
        }
    }
}

static void scheduled(compiler *c, int step, int buffer);

static void schedule_join(compiler *c, const dag_node *n, const place *whole) {
    for (int i = 0; i < n->n_sources && !c->failed; i++) {
        place part = place_within(c, n, whole, i);
        const place *there = &c->places[n->sources[i].id];
        if (there->buffer != part.buffer || there->offset != part.offset) {
            scheduled(c, schedule_value(c, n->sources[i], &part), part.buffer);
        }
    }
}

static void scheduled(compiler *c, int step, int buffer) {
    if (step < 0) {
        c->failed = true;
    } else if (buffer >= 0 && c->buffers[buffer].step < step) {
        c->buffers[buffer].step = step;
    }
}

static void schedule_values(compiler *c, const attempt *a) {
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        val v = {i};
        const dag_node *n = &c->g.nodes[i];
        const place *p = &c->places[i];
        if (!a->live[i] || is_leaf(n) || p->buffer < 0) {
            continue;
        }
        if (n->kind == PRIM_CALL) {
            scheduled(c, schedule_call(c, v), p->buffer);
            continue;
        }
        if (n->kind == PRIM_JOIN) {
            schedule_join(c, n, p);
            continue;
        }
        const compile_buffer *b = &c->buffers[p->buffer];
        bool in_place = n->kind == PRIM_SCATTER && b->role == BUFFER_OUTPUT &&
                        is_in_place(dag_at(&c->g, n->sources[0]), b->tensor);
        if (n->kind == PRIM_SCATTER && !in_place) {
            scheduled(c, schedule_value(c, n->sources[0], p), p->buffer);
        }
        if (!c->failed) {
            scheduled(c, schedule_value(c, v, p), p->buffer);
        }
    }
}

/* --- what an attempt teaches ---------------------------------------------------------------------------------------------- */

/* Rough work of one element, so that what is dear is not done twice. */
static double cost_of(const compiler *c, val v, double *known) {
    if (known[v.id] > 0 || c->places[v.id].buffer >= 0) {
        return known[v.id] > 0 ? known[v.id] : 1;
    }
    const dag_node *n = dag_at(&c->g, v);
    double cost = n->kind == PRIM_RANDOM ? 30 : n->kind != PRIM_MAP ? 0.5 : scalar_function_cost(n->fn);
    for (int i = 0; i < n->n_sources; i++) { /* what many elements share is computed once for all of them */
        double share = (double)dag_numel(dag_at(&c->g, n->sources[i])) / ((double)dag_numel(n) + 1);
        cost += cost_of(c, n->sources[i], known) * (share < 1 ? share : 1);
    }
    known[v.id] = cost;
    return cost;
}

/* What writing an element and reading it again is worth, in additions: in a cache, and where it goes to memory. */
enum { DEAR = 12, DEAR_LARGE = 40 };

/* More than a core's own cache holds. */
static bool is_large(const dag_node *n) {
    static const double CACHE_BYTES = 2 << 20;
    return (double)dag_numel(n) * (double)dtype_size(n->dtype) > CACHE_BYTES;
}

/* Blocks of a matrix product bring what they multiply into their panels, each of them anew. */
static bool promote_factors(compiler *c, attempt *a, double *costs) {
    bool any = false;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        product_factor factors[2];
        if (k == NULL || !k->sums_products || !product_factors(c, k->roots[0].value, factors)) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            val v = factors[i].value;
            const dag_node *n = dag_at(&c->g, v);
            if (c->g.rounds_factors && n->kind == PRIM_CAST && dag_at(&c->g, n->sources[0])->dtype == ASSAY_BF16) {
                v = n->sources[0]; /* which is multiplied as it is */
            }
            primitive kind = dag_at(&c->g, v)->kind;
            int64_t blocks = (factors[i].uses - 1) / (i == 0 ? PRODUCT_COLUMNS : PRODUCT_ROWS);
            double cost = (kind == PRIM_MAP || kind == PRIM_CAST) && c->places[v.id].buffer < 0 ? cost_of(c, v, costs) : 0;
            /* What is very dear is better computed in loops of its own even once: those of panels are short. */
            if (cost * (double)blocks > DEAR || cost > 2 * DEAR) {
                a->promoted[v.id] = true;
                any = true;
            }
        }
    }
    return any;
}

/* How often a kernel computes the value of expression e at places that differ from its last one's. */
static int other_places(const kernel *k, int e) {
    int n = 0;
    for (int i = 0; i < e; i++) {
        n += k->exprs[i].value == k->exprs[e].value && k->exprs[i].kind == k->exprs[e].kind;
    }
    return n;
}

/* What a kernel computes at several places for each of its elements (windows) is computed once. */
static bool promote_windows(compiler *c, attempt *a, double *costs) {
    int best = -1;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        for (int e = 0; k != NULL && e < k->n_exprs; e++) {
            int id = k->exprs[e].value;
            bool computed = id > best && (k->exprs[e].kind == EXPR_MAP || k->exprs[e].kind == EXPR_CAST);
            if (computed && !a->promoted[id] && dag_numel(dag_at(&c->g, (val){id})) > 1 &&
                dag_at(&c->g, (val){id})->kind != PRIM_VIEW && other_places(k, e) * cost_of(c, (val){id}, costs) > 2 * DEAR) {
                best = id;
            }
        }
    }
    if (best >= 0) {
        a->promoted[best] = true;
    }
    return best >= 0;
}

/* The largest value that two kernels compute and that costs more than writing and reading it; none: false. */
static bool promote(compiler *c, attempt *a) {
    int *first = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *first);
    bool *twice = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *twice);
    double *costs = arena_make(c->memory, (size_t)c->g.n_nodes, sizeof *costs);
    if (first == NULL || twice == NULL || costs == NULL) {
        c->failed = true;
        return false;
    }
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *k = c->steps[s].kernel;
        for (int e = 0; k != NULL && e < k->n_exprs; e++) {
            int id = k->exprs[e].value;
            if (id >= 0 && k->exprs[e].kind != EXPR_LOAD) {
                twice[id] |= first[id] != 0 && first[id] != s + 1;
                first[id] = s + 1;
            }
        }
    }
    bool any = promote_factors(c, a, costs);
    any |= promote_windows(c, a, costs);
    for (int i = c->g.n_nodes - 1; i >= 0; i--) {
        const dag_node *n = &c->g.nodes[i];
        if (twice[i] && c->places[i].buffer < 0 && (n->kind == PRIM_MAP || n->kind == PRIM_CAST) &&
            dag_numel(n) > 1 && cost_of(c, (val){i}, costs) >= (is_large(n) ? DEAR_LARGE : DEAR)) {
            a->promoted[i] = true;
            any = true;
            break;
        }
    }
    return any;
}

static const tensor *memory_of(const compiler *c, int buffer) {
    const compile_buffer *b = &c->buffers[buffer];
    return b->role == BUFFER_SEED || b->role == BUFFER_WORK ? NULL : b->tensor;
}

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

/* Outputs that lie where an input lies which is read elsewhere or later: from now on computed apart. *unsolved: it is read after
   that output, though that is computed apart. */
static bool keep_apart(compiler *c, attempt *a, bool *unsolved) {
    bool any = false;
    *unsolved = false;
    for (int s = 0; s < c->n_steps; s++) {
        const kernel *writer = c->steps[s].kernel;
        for (int i = 0; writer != NULL && i < writer->n_roots; i++) {
            const root *r = &writer->roots[i];
            const tensor *to = r->buffer >= 0 ? memory_of(c, r->buffer) : NULL;
            if (to == NULL || to->storage == NULL || c->buffers[r->buffer].role != BUFFER_OUTPUT) {
                continue;
            }
            int output = c->buffers[r->buffer].output;
            bool conflict = false;
            for (int t = 0; t < c->n_steps; t++) {
                const kernel *reader = c->steps[t].kernel;
                if (reader == NULL) {
                    const dag_node *call = dag_at(&c->g, c->steps[t].call);
                    for (int x = 0; x < call->n_sources; x++) {
                        place p;
                        const tensor *from = place_through(c, call->sources[x], &p) ? memory_of(c, p.buffer) : NULL;
                        conflict |= from != NULL && from->storage == to->storage && t > s;
                    }
                    continue;
                }
                for (int e = 0; e < reader->n_exprs; e++) {
                    const expr *x = &reader->exprs[e];
                    const tensor *from = x->kind == EXPR_LOAD ? memory_of(c, x->buffer) : NULL;
                    conflict |= from != NULL && from->storage == to->storage && x->buffer != r->buffer &&
                                t >= s && !(t == s && reader->n_phases == 1 && !stores_first(reader, r) && same_element(c, x, r));
                }
            }
            *unsolved |= conflict && a->apart[output];
            any |= conflict && !a->apart[output];
            a->apart[output] |= conflict;
        }
    }
    return any;
}

static status try_schedule(compiler *c, attempt *a, late_copy *copies, error *err) {
    c->n_buffers = 0;
    c->n_steps = 0;
    place_inputs(c, a);
    place_calls(c, a);
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        if (a->promoted[i]) {
            c->places[i] = work_place(c, (val){i});
        }
    }
    int n_copies = place_outputs(c, a, copies);
    place_joined(c, a);
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        const dag_node *n = &c->g.nodes[i];
        if (!a->live[i]) {
            continue;
        }
        for (int s = 0; n->kind == PRIM_CALL && s < n->n_sources; s++) {
            place_operand(c, n->sources[s]);
        }
        if (needs_kernel(n) && c->places[i].buffer < 0) {
            c->places[i] = work_place(c, (val){i});
        }
    }
    schedule_values(c, a);
    for (int last = 0; last < 2; last++) { /* what others read before is overwritten when they are done */
        for (int i = 0; i < n_copies && !c->failed; i++) {
            if (copies[i].is_last == (last == 1)) {
                int step = last == 1 ? schedule_last(c, copies[i].v, &copies[i].to) : schedule_value(c, copies[i].v, &copies[i].to);
                scheduled(c, step, copies[i].to.buffer);
            }
        }
    }
    c->failed |= c->g.failed || c->g.indices.failed;
    return c->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile") : ASSAY_OK;
}

status schedule(compiler *c, error *err) {
    size_t n = (size_t)c->g.n_nodes;
    attempt a = {arena_make(c->memory, n, sizeof *a.live), arena_make(c->memory, n, sizeof *a.promoted),
                 arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *a.apart)};
    late_copy *copies = arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *copies);
    c->places = arena_make(c->memory, n, sizeof *c->places);
    c->output_buffers = arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *c->output_buffers);
    if (a.live == NULL || a.promoted == NULL || a.apart == NULL || copies == NULL || c->places == NULL ||
        c->output_buffers == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    for (int i = 0; i < c->g.n_outputs; i++) {
        mark_live(&c->g, c->g.outputs[i].value, a.live);
    }
    for (int i = 0; i < c->g.n_kept; i++) {
        a.promoted[c->g.kept[i].id] = a.live[c->g.kept[i].id];
    }
    /* Each round adds a value or takes an output apart, so it ends; most programs need one or two. Values are added for speed,
       which is given up in time; outputs must be apart. */
    enum { MOST_ROUNDS = 64 };
    for (int round = 0;; round++) {
        bool unsolved;
        TRY(try_schedule(c, &a, copies, err));
        bool apart = keep_apart(c, &a, &unsolved), more = round < MOST_ROUNDS && promote(c, &a);
        if (!apart && !more) {
            return unsolved ? fail(err, ASSAY_UNSUPPORTED, "memory of an input is overwritten before all of it is read") : ASSAY_OK;
        }
    }
}
