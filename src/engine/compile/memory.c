/* SPDX-License-Identifier: Apache-2.0 */
/* Gives values memory: inputs, outputs, what library calls read and write, what reductions leave behind; then has the rest
   scheduled, and does so again where the schedule shows that more values want memory. */
#include "engine/compile/schedule.h"

#include <assert.h>
#include <string.h>

/* Sources stand before what is made of them. */
static void mark_live(const dag *g, bool *live) {
    for (int i = 0; i < g->n_outputs; i++) {
        live[g->outputs[i].value.id] = true;
    }
    for (int id = g->n_nodes - 1; id >= 0; id--) {
        const dag_node *n = dag_at(g, (val){id});
        for (int i = 0; live[id] && i < n->n_sources; i++) {
            live[n->sources[i].id] = true;
        }
    }
}

/* The tensor that v stands for, where a call in place is to write it; else NULL. */
static const tensor *written_tensor(const dag_node *v) {
    bool in_place = v->writer != NULL && v->written_as == 0 && v->writer->op->in_place && v->writer->args[0].kind == ARG_TENSOR;
    return in_place ? v->writer->args[0].tensor : NULL;
}

static bool is_leaf(const dag_node *n) {
    return n->kind == PRIM_INPUT || n->kind == PRIM_CONSTANT;
}

/* Whether v, which lies at p, has the strides of the tensor that it stands for. */
static bool lies_as(const compiler *c, val v, const place *p, const tensor *written) {
    const dag_node *n = dag_at(&c->g, v);
    for (int d = 0; d < n->ndim; d++) {
        if (n->sizes[d] > 1 && p->strides[d] != written->strides[d]) {
            return false;
        }
    }
    return true;
}

/* What a call in place finds where it writes has the layout that the graph says: so has its result. */
static void place_written(compiler *c, val v, const tensor *written) {
    place there;
    val core = core_of(c, v), source = dag_at(&c->g, v)->sources[0];
    if (c->places[v.id].buffer >= 0) {
        return; /* a copy, which has it */
    }
    if (c->places[core.id].buffer < 0 && !is_leaf(dag_at(&c->g, core))) {
        c->places[core.id] = core.id == source.id ? place_like(c, core, written) : work_place(c, core);
    }
    if (!place_through(c, v, &there) || !lies_as(c, v, &there, written)) {
        c->places[v.id] = place_like(c, v, written);
    }
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
    if (dag_numel(n) != dag_numel(w) || dag_numel(n) == 0 || n->sources[0].id != core.id || tensor_overlaps_itself(to)) {
        return false; /* or v shows some elements twice, and has no place for others */
    }
    int64_t *found = arena_make(c->memory, (size_t)w->ndim, sizeof *found);
    if (found == NULL) {
        c->failed = true;
        return false;
    }
    sizes_contiguous_strides(w->ndim, w->sizes, found);
    bool permuted = true;
    uint64_t seen = 0; /* one dimension under two coordinates is a diagonal: no order of dimensions */
    for (int i = 0; permuted && i < w->ndim; i++) {
        int id;
        permuted = w->sizes[i] == 1 ||
                   (index_is_variable(n->view.at[i], &id) && n->sizes[id] == w->sizes[i] && (seen >> id & 1) == 0);
        if (permuted && w->sizes[i] > 1) {
            found[i] = to->strides[id];
            seen |= (uint64_t)1 << id;
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
    return tells_apart(w, found);
}

/* The tensor that a call answers is the output itself, or an operator that works in place on its library kernel has left its
   result where it belongs: in an input's memory, not in that of a copy or of something computed. */
static bool is_written_there(const compiler *c, val v, const tensor *to) {
    const dag_node *n = dag_at(&c->g, v);
    bool is_call = n->kind == PRIM_CALL;
    while (n->kind == PRIM_CALL) {
        const tensor *t = &n->call.out->items[n->call.output];
        if (to->storage == NULL || !is_call_in_place(n)) {
            return t == to;
        }
        if (t != to && (t->storage != to->storage || t->offset != to->offset)) {
            return false;
        }
        v = core_of(c, n->sources[0]);
        n = dag_at(&c->g, v);
    }
    return is_call && n->kind == PRIM_INPUT && !n->input.is_seed && n->input.from->storage == to->storage;
}

/* What calls in place, one after the other, begin with to end in v, when that is computed; v itself when there are none. */
static val begins_as(const compiler *c, val v) {
    val first = v;
    for (const dag_node *n = dag_at(&c->g, v); is_call_in_place(n); n = dag_at(&c->g, v)) {
        first = n->sources[0];
        v = core_of(c, first);
    }
    return first;
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

/* A copy of what a reduction's result is seen as is written by whoever makes the result, with its loops, where neighbours stay
   neighbours: then the result itself needs no memory if nobody else reads it. */
static void copy_as_made(compiler *c, late_copy *copy) {
    val core = core_of(c, copy->v);
    const dag_node *w = dag_at(&c->g, core);
    index_sum seen[TENSOR_MAX_DIMS];
    int64_t step;
    if (copy->is_last || core.id == copy->v.id || w->kind != PRIM_REDUCE || c->places[core.id].buffer < 0 ||
        !shown_at(c, copy->v, core, seen)) {
        return;
    }
    index_sum at = index_constant(copy->to.offset);
    for (int d = 0; d < dag_at(&c->g, copy->v)->ndim; d++) {
        at = index_add(&c->g.indices, at, index_scale(&c->g.indices, seen[d], copy->to.strides[d]));
    }
    index_sum *kept = arena_make(c->memory, 1, sizeof *kept);
    if (kept == NULL || !index_stride(at, w->ndim - 1, &step) || step != 1) {
        return;
    }
    *kept = at;
    copy->v = core;
    copy->to.at = kept;
}

/* Places for outputs; those whose value lies elsewhere are copied at the end. */
static int place_outputs(compiler *c, const attempt *a, late_copy *copies) {
    int n_copies = 0;
    for (int i = 0; i < c->g.n_outputs; i++) {
        const dag_output *o = &c->g.outputs[i];
        val core = core_of(c, o->value);
        const dag_node *n = dag_at(&c->g, core);
        c->output_buffers[i] = -1;
        if (is_written_there(c, core, o->to)) {
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
        val first = begins_as(c, o->value), of_first = core_of(c, first);
        if (!a->apart[i] && first.id != o->value.id && tensor_same_strides(&n->call.out->items[0], o->to) &&
            !is_leaf(dag_at(&c->g, of_first)) && c->places[of_first.id].buffer < 0 &&
            strides_for(c, first, of_first, o->to, &strides)) {
            c->places[of_first.id] = (place){.buffer = buffer, .strides = strides};
            continue; /* calls in place go on from there */
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
        if (!a->live[i] || n->kind != PRIM_JOIN || c->dissolved[i]) {
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

/* What is early is scheduled before all else, so that whatever reads it can join whatever else it reads. */
static void schedule_early(compiler *c, const attempt *a) {
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        if (a->early[i] && c->places[i].buffer >= 0) {
            scheduled(c, schedule_value(c, (val){i}, &c->places[i]), c->places[i].buffer);
        }
    }
}

/* The operands of a call that have memory of their own, once. */
static void schedule_operands(compiler *c, const dag_node *call) {
    for (const laid_operand *o = c->laid; o != NULL && !c->failed; o = o->next) {
        if (o->call == call->call.call && c->buffers[o->place.buffer].step < 0) {
            scheduled(c, schedule_value(c, call->sources[o->operand], &o->place), o->place.buffer);
        }
    }
}

static void schedule_values(compiler *c, const attempt *a) {
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        val v = {i};
        const dag_node *n = &c->g.nodes[i];
        const place *p = &c->places[i];
        if (!a->live[i] || is_leaf(n) || p->buffer < 0 || a->early[i]) {
            continue;
        }
        if (n->kind == PRIM_CALL) {
            schedule_operands(c, n);
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

/* --- attempts ----------------------------------------------------------------------------------------------------------- */

/* As it was before the last attempt, whose buffers and kernels are done with. */
static void start_again(compiler *c, arena_mark before, int n_nodes) {
    c->n_buffers = c->buffer_capacity = 0;
    c->buffers = NULL;
    c->n_steps = c->step_capacity = 0;
    c->steps = NULL;
    c->laid = NULL;
    if (c->g.n_nodes == n_nodes) {
        arena_return(c->memory, before);
    }
}

static status try_schedule(compiler *c, attempt *a, late_copy *copies, error *err) {
    place_inputs(c, a);
    place_calls(c, a);
    for (int i = 0; i < c->g.n_nodes && !c->failed; i++) {
        if (a->promoted[i]) {
            const tensor *written = written_tensor(&c->g.nodes[i]);
            c->places[i] = written != NULL ? place_like(c, (val){i}, written) : work_place(c, (val){i});
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
            const tensor *written = written_tensor(dag_at(&c->g, n->sources[s]));
            if (written != NULL) {
                place_written(c, n->sources[s], written);
            } else {
                place_operand(c, n->sources[s]);
            }
        }
        if (needs_kernel(n) && c->places[i].buffer < 0 && !c->dissolved[i]) {
            c->places[i] = work_place(c, (val){i});
        }
    }
    TRY(lay_operands(c, a, err));
    mark_early(c, a);
    schedule_early(c, a);
    schedule_values(c, a);
    for (int last = 0; last < 2; last++) { /* what others read before is overwritten when they are done */
        for (int i = 0; i < n_copies && !c->failed; i++) {
            if (copies[i].is_last == (last == 1)) {
                copy_as_made(c, &copies[i]);
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
                 arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *a.apart), arena_make(c->memory, n, sizeof *a.early)};
    late_copy *copies = arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *copies);
    c->places = arena_make(c->memory, n, sizeof *c->places);
    c->output_buffers = arena_make(c->memory, (size_t)c->g.n_outputs, sizeof *c->output_buffers);
    if (a.live == NULL || a.promoted == NULL || a.apart == NULL || a.early == NULL || copies == NULL || c->places == NULL ||
        c->output_buffers == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    mark_live(&c->g, a.live);
    for (int i = 0; i < c->g.n_kept; i++) {
        a.promoted[c->g.kept[i].id] = a.live[c->g.kept[i].id];
    }
    if (!cut_long_chains(c, &a)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    /* Each round adds a value or takes an output apart, so it ends; most programs need one or two. Values are added for speed,
       which is given up in time; outputs must be apart. */
    enum { MOST_ROUNDS = 64 };
    const arena_mark before = arena_here(c->memory);
    const int n_nodes = c->g.n_nodes;
    for (int round = 0;; round++) {
        bool unsolved;
        start_again(c, before, n_nodes);
        TRY(try_schedule(c, &a, copies, err));
        bool apart = keep_apart(c, &a, &unsolved), more = round < MOST_ROUNDS && promote(c, &a);
        if (!apart && !more) {
            return unsolved ? fail(err, ASSAY_UNSUPPORTED, "memory of an input is overwritten before all of it is read") : ASSAY_OK;
        }
    }
}
