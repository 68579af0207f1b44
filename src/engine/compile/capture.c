/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of operators becomes a dag of primitives: each row's decomposition in turn, a library call where there is none. */
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
    int n = 0;
    for (int i = 0; i < p.n; i++) {
        const tensor *t = p.operand[i];
        val v = v_cast(g, v_tensor(g, t), compute);
        x[n++] = rounds && t->ndim == 0 && t->dtype != p.compute ? v_rounded(g, v, p.compute) : v;
    }
    for (int i = 0; i < p.n_numbers; i++) {
        val scalar = v_constant(g, compute, p.numbers[i]);
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

/* Values of the call's outputs into results[]; false when it must stay a call. */
static bool take_apart(dag *g, const op_call *call, const outputs *out) {
    const op_row *row = call->op->row;
    g->refused = NULL;
    for (int k = 0; k < out->n; k++) {
        g->results[k] = (val){-1};
    }
    if (row->is_view && (call->args[0].kind != ARG_TENSOR || (out->n > 0 && out->items[0].sparse != NULL))) {
        v_refuse(g, "a sparse tensor");
    } else if (row->is_view) {
        const tensor *base = call_tensor(call, 0);
        val known;
        bool computed = dag_known(g->capture, base, &known);
        for (int k = 0; k < out->n; k++) {
            g->results[k] = computed ? v_as_strided(g, known, base, &out->items[k]) : v_tensor(g, &out->items[k]);
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

/* The tensor whose memory t shows, through views and in-place results. */
static const tensor *root_of(const graph *g, const tensor *t) {
    int node, output;
    while (graph_find_maker(g, t, &node, &output)) {
        const op_call *call = &g->nodes[node].call;
        if (!(call->op->row->is_view || call->op->in_place) || call->args[0].kind != ARG_TENSOR) {
            break;
        }
        t = call->args[0].tensor;
    }
    return t;
}

static bool is_used_after(const graph *g, const tensor *t, int node) {
    for (int i = node + 1; i < g->n_nodes; i++) {
        const op_call *call = &g->nodes[i].call;
        for (int a = 0; a < call->op->signature.n_params; a++) {
            const arg *x = &call->args[a];
            if (x->kind == ARG_TENSOR && x->tensor == t) {
                return true;
            }
            for (int k = 0; x->kind == ARG_TENSORS && k < x->n; k++) {
                if (x->tensors[k] == t) {
                    return true;
                }
            }
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == t) {
            return true;
        }
    }
    return false;
}

static bool writes_in_place(const op_call *call) {
    return call->op->in_place && !call->op->row->is_view && call->args[0].kind == ARG_TENSOR;
}

/* Whether t is another name for memory that begins as origin's, `written` apart. */
static bool is_alias(const graph *g, const tensor *t, const tensor *origin, const tensor *written) {
    return t != written && t != origin && root_of(g, t) == origin;
}

/* An operator in place answers the memory that it was given. */
static bool shows_all(const tensor *t, const tensor *origin) {
    return t->offset == origin->offset && tensor_same_sizes(t, origin) && tensor_same_strides(t, origin);
}

static bool is_marked(const dag_capture *known, const tensor *t) {
    for (int i = 0; i < known->n; i++) {
        if (known->tensors[i] == t) {
            return known->written[i];
        }
    }
    return false;
}

/* Whether the node writes memory that another value shows, which is used afterwards or is to hold its last value. */
static bool is_hidden_write(const graph *g, const dag_capture *known, int node) {
    const op_call *call = &g->nodes[node].call;
    if (!writes_in_place(call)) {
        return false;
    }
    const tensor *written = call->args[0].tensor, *origin = root_of(g, written);
    bool hidden = origin != written && (is_used_after(g, origin, node) || is_marked(known, origin));
    for (int i = 0; i < node; i++) {
        for (int k = 0; k < g->nodes[i].out->n; k++) {
            const tensor *t = &g->nodes[i].out->items[k];
            hidden |= is_alias(g, t, origin, written) && (is_used_after(g, t, node) || is_marked(known, t));
        }
    }
    return hidden;
}

/* A value is what it was when it was made. Where memory is written under one name and read under another, what it begins as
   gets a new value with what was written put in, and every other name a view of that. */
static void follow_write(dag *g, const graph *graph_in, int node) {
    const tensor *written = graph_in->nodes[node].call.args[0].tensor, *origin = root_of(graph_in, written);
    val now = g->results[0];
    if (origin != written) {
        now = v_cast(g, now, origin->dtype);
        now = shows_all(written, origin) ? now : v_with_part(g, v_tensor(g, origin), origin, written, now);
        dag_learn(g, origin, now, true);
    }
    for (int i = 0; i < node && !g->failed; i++) {
        for (int k = 0; k < graph_in->nodes[i].out->n; k++) {
            const tensor *t = &graph_in->nodes[i].out->items[k];
            if (is_alias(graph_in, t, origin, written)) {
                dag_learn(g, t, shows_all(t, origin) ? now : v_as_strided(g, now, origin, t), false);
            }
        }
    }
}

static status capture_node(dag *g, const graph *graph_in, int index, error *err) {
    const graph_node *node = &graph_in->nodes[index];
    const op_call *call = &node->call;
    if (node->out->n > MOST_RESULTS) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: %d outputs, at most %d can be compiled", call->op->signature.full,
                    node->out->n, MOST_RESULTS);
    }
    val results[MOST_RESULTS];
    g->results = results;
    if (!take_apart(g, call, node->out) && !g->failed) {
        call_library(g, call, node->out);
    }
    for (int k = 0; !g->failed && k < node->out->n; k++) {
        dag_learn(g, &node->out->items[k], results[k], false);
    }
    if (call->op->in_place && !call->op->row->is_view && !g->failed && node->out->n > 0) {
        bool hidden = is_hidden_write(graph_in, g->capture, index);
        dag_learn(g, call_tensor(call, 0), results[0], true);
        if (hidden && dag_at(g, results[0])->kind == PRIM_CALL) {
            return fail(err, ASSAY_UNSUPPORTED,
                        "%s is a library call and writes memory that another value of the graph shows and that is used "
                        "afterwards: the compiler does not follow that",
                        call->op->signature.full);
        }
        if (hidden) {
            follow_write(g, graph_in, index);
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
    for (int i = 0; i < graph_in->n_nodes; i++) {
        TRY(capture_node(g, graph_in, i, err));
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
