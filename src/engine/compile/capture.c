/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of operators becomes a dag of primitives: each row's decomposition in turn, a library call where there is none. */
#include "engine/compile/aliases.h"
#include "engine/compile/passes.h"
#include "engine/graph/dag_build.h"
#include "engine/schema/pointwise.h"

#include <assert.h>
#include <string.h>

enum { MOST_RESULTS = 512 };

/* Operands as the row's scalar form wants them. */
static void decompose_pointwise(dag *g, const op_call *call, const outputs *out) {
    pointwise p;
    if (pointwise_analyse(call, &p, NULL) != ASSAY_OK) {
        v_refuse(g, "operands that do not go together");
        return;
    }
    val x[POINTWISE_MAX_OPERANDS + POINTWISE_MAX_NUMBERS];
    dtype compute = primitive_compute_type(p.compute);
    /* Where digits decide between true and false, numbers and 0-dim tensors of other types have those that the tensors
       have. */
    const op_row *row = call->op->row;
    bool rounds = dtype_is_floating(p.compute) && (row->rounds_numbers || row->promotion == PROMOTE_BOOL_OUT);
    bool wraps = dtype_category_of(p.compute) <= CATEGORY_INTEGRAL && !row->keeps_integers;
    int n = 0;
    for (int i = 0; i < p.n; i++) {
        const tensor *t = p.operand[i];
        val own = v_operand(g, t), v = v_cast(g, wraps ? v_cast(g, own, p.compute) : own, compute);
        x[n++] = rounds && t->ndim == 0 && t->dtype != p.compute ? v_rounded(g, v, p.compute) : v;
    }
    for (int i = 0; i < p.n_numbers; i++) {
        number own = p.numbers[i];
        own.i = pointwise_integer(row, &p, own.i);
        own.f = wraps ? (double)own.i : own.f;
        val scalar = v_constant(g, compute, own);
        x[n++] = rounds ? v_rounded(g, scalar, p.compute) : scalar;
    }
    if (g->failed || g->refused != NULL) {
        return;
    }
    val result = row->decompose_scalar(g, x, call);
    v_result(g, 0, v_cast(g, result, out->items[0].dtype));
}

/* Nothing is computed and nothing but outputs is written: decompositions need not think of sizes of 0 in outputs. */
static bool is_nothing(const op_call *call, const outputs *out) {
    for (int k = 0; k < out->n; k++) {
        if (tensor_numel(&out->items[k]) > 0) {
            return false;
        }
    }
    return call->op->row->written_args == 0 && !call->op->row->sizes_by_values;
}

/* An operator in place answers the memory that it was given. */
static bool shows_all(const tensor *t, const tensor *origin) {
    return t->offset == origin->offset && tensor_same_sizes(t, origin) && tensor_same_strides(t, origin);
}

static const char is_nowhere[] = "where its elements lie does not say which they are";

/* t, which shows memory of base; anywhere: besides base's own elements as well. */
static val look_at(dag *g, const aliases *names, const tensor *base, const tensor *t, bool anywhere) {
    val known;
    if (!dag_known(g->capture, base, &known)) {
        return v_tensor(g, t);
    }
    if (shows_all(t, base)) {
        return known;
    }
    if (dag_finds_within(base) && (!anywhere || dag_is_around(base, t))) {
        return v_as_strided(g, known, base, t);
    }
    const tensor *origin = aliases_origin(names, base);
    if (!dag_known(g->capture, origin, &known)) { /* an input's memory as it is */
        return v_tensor(g, t);
    }
    if (!dag_finds_within(origin) || (anywhere && !dag_is_around(origin, t))) {
        v_refuse(g, is_nowhere);
    }
    return v_as_strided(g, known, origin, t);
}

/* Values of the call's outputs into results[]; false when it must stay a call. */
static bool take_apart(dag *g, const aliases *names, const op_call *call, const outputs *out) {
    const op_row *row = call->op->row;
    g->refused = NULL;
    for (int k = 0; k < out->n; k++) {
        g->results[k] = (val){-1};
    }
    if (row->is_view && (call->args[0].kind != ARG_TENSOR || (out->n > 0 && out->items[0].sparse != NULL))) {
        v_refuse(g, "a sparse tensor");
    } else if (row->is_view) {
        for (int k = 0; k < out->n; k++) {
            g->results[k] = look_at(g, names, call_tensor(call, 0), &out->items[k], row->sees_storage);
        }
    } else if (is_nothing(call, out)) {
        for (int k = 0; k < out->n; k++) {
            g->results[k] = v_int(g, out->items[k].dtype, 0);
        }
    } else if (row->decompose_scalar != NULL) {
        decompose_pointwise(g, call, out);
    } else if (row->decompose != NULL) {
        row->decompose(g, call, out);
    } else {
        v_refuse(g, "no decomposition");
    }
    if (g->failed || g->refused != NULL) {
        return false;
    }
    for (int k = 0; k < out->n; k++) {
        const tensor *t = &out->items[k];
        assert(g->results[k].id >= 0);
        val v = v_cast(g, g->results[k], t->dtype);
        g->results[k] = v_expand(g, v, t->ndim, t->sizes);
    }
    return !g->failed;
}

static void call_library(dag *g, const op_call *call, const outputs *out) {
    const char *why = g->refused;
    g->refused = NULL;
    for (int k = 0; k < out->n; k++) {
        val v = v_call(g, call, out, k);
        if (g->failed) {
            return;
        }
        g->nodes[v.id].call.is_fallback = true;
        g->nodes[v.id].call.why = why;
        g->results[k] = v;
    }
    /* What the kernel writes besides its outputs it writes itself, in place. */
}

/* --- writes through aliases ------------------------------------------------------------------------------------------------- */

/* A graph on its way into a dag. */
typedef struct capturing {
    dag *g;
    const graph *from;
    const aliases *names;
} capturing;

/* Whether t is another name for memory that begins as origin's, `written` apart. */
static bool is_alias(const capturing *c, const tensor *t, const tensor *origin, const tensor *written) {
    return t != written && t != origin && aliases_origin(c->names, t) == origin;
}

/* Whether a node that writes `written` writes memory that another value shows, which is used afterwards or is to hold its last
   value. */
static bool is_hidden_write(const capturing *c, int node, const tensor *written) {
    const dag_capture *known = c->g->capture;
    const tensor *origin = aliases_origin(c->names, written);
    bool hidden = origin != written && (aliases_used_after(c->names, origin, node) || dag_is_written(known, origin));
    for (int i = 0; i < node && !hidden; i++) {
        for (int k = 0; k < c->from->nodes[i].out->n; k++) {
            const tensor *t = &c->from->nodes[i].out->items[k];
            hidden |= is_alias(c, t, origin, written) &&
                      (aliases_used_after(c->names, t, node) || dag_is_written(known, t));
        }
    }
    return hidden;
}

/* Whether a view of t's, on the way from the memory's origin, may show what is none of its elements. */
static bool may_see_gaps(const capturing *c, const tensor *t) {
    int node = 0, k = 0;
    bool may = false;
    while (graph_find_maker(c->from, t, &node, &k) && (c->from->nodes[node].call.op->row->is_view || c->from->nodes[node].call.op->in_place)) {
        may |= c->from->nodes[node].call.op->row->sees_storage;
        t = call_tensor(&c->from->nodes[node].call, 0);
    }
    return may;
}

/* Whether all that shows memory of origin's, up to this node, shows elements of it that can be told. */
static bool are_found(const capturing *c, int node, const tensor *origin, const tensor *written) {
    bool found = dag_finds_within(origin) && (dag_is_around(origin, written) || !may_see_gaps(c, written));
    for (int i = 0; i < node && found; i++) {
        for (int k = 0; k < c->from->nodes[i].out->n && found; k++) {
            const tensor *t = &c->from->nodes[i].out->items[k];
            found = !is_alias(c, t, origin, written) || dag_is_around(origin, t) || !may_see_gaps(c, t);
        }
    }
    return found;
}

/* A value is what it was when it was made. Where memory is written under one name and read under another, what it begins as
   gets a new value with what was written put in, and every other name a view of that. now: what the node wrote. */
static void follow_write(const capturing *c, int node, const tensor *written, val now) {
    dag *g = c->g;
    const tensor *origin = aliases_origin(c->names, written);
    if (origin != written) {
        now = v_cast(g, now, origin->dtype);
        now = shows_all(written, origin) ? now : v_with_part(g, v_tensor(g, origin), origin, written, now);
        dag_learn(g, origin, now, true);
    }
    for (int i = 0; i < node && !g->failed; i++) {
        for (int k = 0; k < c->from->nodes[i].out->n; k++) {
            const tensor *t = &c->from->nodes[i].out->items[k];
            if (is_alias(c, t, origin, written)) {
                dag_learn(g, t, shows_all(t, origin) ? now : v_as_strided(g, now, origin, t), false);
            }
        }
    }
}

static status refuse_hidden(const op_call *call, error *err) {
    return fail(err, ASSAY_UNSUPPORTED,
                "%s is a library call and writes memory that another value of the graph shows and that is used "
                "elsewhere: the compiler does not follow that",
                call->op->signature.full);
}

/* The value that t stands for, if it was learned; else none. */
static val value_so_far(const dag *g, const tensor *t) {
    val v = {-1};
    dag_known(g->capture, t, &v);
    return v;
}

/* Argument i was written, as the output in place or besides the outputs: other names of that memory learn of it. before: its
   value until now. */
static status take_write(const capturing *c, int node, int i, val before, bool by_library, error *err) {
    const op_call *call = &c->from->nodes[node].call;
    const tensor *written = call_tensor(call, i);
    bool is_result = call->op->in_place && i == 0;
    if (is_result) {
        dag_learn(c->g, written, c->g->results[0], true);
    }
    val now = value_so_far(c->g, written);
    if (by_library && !is_result) { /* nobody told what it wrote: only where nobody else looks */
        return aliases_used_besides(c->names, written, node) || is_hidden_write(c, node, written) ? refuse_hidden(call, err)
                                                                                                  : ASSAY_OK;
    }
    if ((!is_result && now.id == before.id) || !is_hidden_write(c, node, written)) {
        return ASSAY_OK;
    }
    const tensor *origin = aliases_origin(c->names, written);
    if (!are_found(c, node, origin, written)) {
        return fail(err, ASSAY_UNSUPPORTED, "%s writes a tensor whose strides interleave or leave gaps, and that others show: the compiler "
                    "does not follow that", call->op->signature.full);
    }
    follow_write(c, node, written, now);
    return ASSAY_OK;
}

/* An element that is written stands for all that lie where it does, so that a program of values says something else. */
static status refuse_shared_places(const op_call *call, error *err) {
    const tensor *self = call->op->in_place ? call_tensor(call, 0) : NULL;
    for (int d = 0; self != NULL && d < self->ndim; d++) {
        if (self->strides[d] == 0 && self->sizes[d] > 1) {
            return fail(err, ASSAY_UNSUPPORTED, "%s writes a tensor that has several elements in one place: the compiler does not "
                        "follow that", call->op->signature.full);
        }
    }
    return ASSAY_OK;
}

static status capture_node(const capturing *c, int index, error *err) {
    dag *g = c->g;
    const graph_node *node = &c->from->nodes[index];
    const op_call *call = &node->call;
    if (node->out->n > MOST_RESULTS) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: %d outputs, at most %d can be compiled", call->op->signature.full,
                    node->out->n, MOST_RESULTS);
    }
    TRY(call->op->row->is_view ? ASSAY_OK : refuse_shared_places(call, err));
    val results[MOST_RESULTS], before[SIGNATURE_MAX_PARAMS];
    g->results = results;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        before[i] = call->args[i].kind == ARG_TENSOR ? value_so_far(g, call->args[i].tensor) : (val){-1};
    }
    bool by_library = !take_apart(g, c->names, call, node->out);
    if (by_library && !g->failed && g->refused == is_nowhere) { /* a call would show memory as it was before it was written */
        return fail(err, ASSAY_UNSUPPORTED, "%s shows a tensor that has been written and whose strides interleave or leave gaps: the "
                    "compiler does not follow that", call->op->signature.full);
    }
    if (by_library && !g->failed) {
        call_library(g, call, node->out);
    }
    for (int k = 0; !g->failed && k < node->out->n; k++) {
        dag_learn(g, &node->out->items[k], results[k], false);
    }
    for (int i = 0; i < call->op->signature.n_params && !call->op->row->is_view && node->out->n > 0 && !g->failed; i++) {
        if (call->args[i].kind == ARG_TENSOR && op_writes(call->op, i)) {
            TRY(take_write(c, index, i, before[i], by_library, err));
        }
    }
    return g->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile %s", call->op->signature.full) : ASSAY_OK;
}

/* An output that is the very memory of an input needs no code. */
static bool is_there(const dag *g, const dag_output *o) {
    const dag_node *n = dag_at(g, o->value);
    return n->kind == PRIM_INPUT && !n->input.is_seed && n->input.from->storage == o->to->storage &&
           n->input.from->storage != NULL && n->input.from->offset == o->to->offset &&
           tensor_same_strides(n->input.from, o->to);
}

/* What is written to an input's memory and is another input as it is: a value of its own, which can be kept apart while the
   other is overwritten. */
static val own_value(dag *g, val v, const tensor *to) {
    const dag_node *n = dag_at(g, v);
    return n->kind == PRIM_INPUT && !n->input.is_seed && to->storage != NULL ? v_same(g, v) : v;
}

static void add_output(dag *g, val v, const tensor *to) {
    dag_output o = {v, to};
    for (int i = 0; i < g->n_outputs; i++) {
        const tensor *other = g->outputs[i].to;
        if (other == to || (to->storage != NULL && other->storage == to->storage && other->offset == to->offset &&
                            tensor_same_sizes(other, to) && tensor_same_strides(other, to))) {
            return;
        }
    }
    if (!is_there(g, &o)) {
        o.value = own_value(g, v, to);
        g->outputs[g->n_outputs++] = o;
    }
}

/* A view of an input is that input's memory: whoever writes the input writes it. */
static bool is_view_of_input(const graph *g, const tensor *t) {
    int node, output;
    return t->storage != NULL && graph_find_maker(g, t, &node, &output) && g->nodes[node].call.op->row->is_view;
}

status capture(compiler *c, const graph *graph_in, error *err) {
    dag *g = &c->g;
    dag_capture *known = arena_make(c->memory, 1, sizeof *known);
    if (known == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    g->capture = known;
    aliases *names;
    TRY(aliases_make(c->memory, graph_in, &names, err));
    const capturing state = {g, graph_in, names};
    for (int i = 0; i < graph_in->n_nodes; i++) {
        TRY(capture_node(&state, i, err));
    }
    g->outputs = arena_make(c->memory, (size_t)(graph_in->n_outputs + known->n), sizeof *g->outputs);
    if (g->outputs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    for (int k = 0; k < graph_in->n_outputs; k++) {
        val v;
        const tensor *t = graph_in->outputs[k];
        bool made = dag_known(known, t, &v);
        assert(made);
        (void)made;
        if (!is_view_of_input(graph_in, t)) {
            add_output(g, v, t);
        }
    }
    for (int i = 0; i < known->n; i++) {
        if (known->written[i]) {
            add_output(g, known->values[i], known->tensors[i]);
        }
    }
    return ASSAY_OK;
}
