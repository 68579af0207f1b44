/* SPDX-License-Identifier: Apache-2.0 */
/* Translates a graph for plug-ins: tensors by index, calls with their arguments, outputs of their own. */
#include "engine/backend/plugin_program.h"

#include <inttypes.h>

static void fill_view(assay_tensor_view *v, const tensor *t) {
    *v = (assay_tensor_view){.data = tensor_data(t),
                             .sizes = t->sizes,
                             .strides = t->sparse != NULL ? NULL : t->strides,
                             .ndim = t->ndim,
                             .dtype = (int32_t)t->dtype,
                             .layout = t->sparse != NULL ? ASSAY_SPARSE_COO : ASSAY_STRIDED,
                             .is_wrapped_number = t->is_wrapped_number};
}

static status add_view(plugin_program *p, assay_tensor_view *v, const tensor *t, error *err) {
    fill_view(v, t);
    if (t->sparse != NULL) {
        assay_tensor_view *parts = arena_make(&p->memory, 2, sizeof *parts);
        if (parts == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
        }
        fill_view(&parts[0], &t->sparse->indices);
        fill_view(&parts[1], &t->sparse->values);
        v->indices = &parts[0];
        v->values = &parts[1];
        v->is_coalesced = t->sparse->is_coalesced;
    }
    return ASSAY_OK;
}

/* An output of the graph is the one that this plan has memory for. */
static tensor *own_of(plugin_program *p, tensor *t) {
    for (int i = 0; i < p->own.n; i++) {
        if (p->g->outputs[i] == t) {
            return &p->own.items[i];
        }
    }
    return t;
}

static int32_t index_of(const plugin_program *p, const tensor *t) {
    for (int i = 0; i < p->n_tensors; i++) {
        if (p->tensors[i] == t) {
            return i;
        }
    }
    return -1;
}

static void add_tensor(plugin_program *p, tensor *t) {
    tensor *own = own_of(p, t);
    if (own != NULL && index_of(p, own) < 0) {
        p->tensors[p->n_tensors++] = own;
    }
}

static size_t count_tensors(const graph *g) {
    size_t n = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        n += (size_t)call_all_tensors(&g->nodes[i].call, NULL, 0) + (size_t)g->nodes[i].out->n;
    }
    return n;
}

static void collect_tensors(plugin_program *p) {
    for (int i = 0; i < p->g->n_nodes; i++) {
        const graph_node *node = &p->g->nodes[i];
        for (int a = 0; a < node->call.op->signature.n_params; a++) {
            const arg *argument = &node->call.args[a];
            if (argument->kind == ARG_TENSOR) {
                add_tensor(p, argument->tensor);
            }
            for (int k = 0; argument->kind == ARG_TENSORS && k < argument->n; k++) {
                add_tensor(p, argument->tensors[k]);
            }
        }
        for (int k = 0; k < node->out->n; k++) {
            add_tensor(p, &node->out->items[k]);
        }
    }
}

static status translate_tensors_of(plugin_program *p, const arg *from, assay_argument *to, error *err) {
    int n = from->kind == ARG_TENSOR ? 1 : from->n;
    int32_t *indices = arena_make(&p->memory, (size_t)n, sizeof *indices);
    if (indices == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int k = 0; k < n; k++) {
        tensor *t = from->kind == ARG_TENSOR ? from->tensor : from->tensors[k];
        indices[k] = t != NULL ? index_of(p, own_of(p, t)) : -1;
    }
    to->n = n;
    to->tensors = indices;
    return ASSAY_OK;
}

/* The internal kinds and the ABI's are two lists on purpose: the ABI's numbers never change. */
static const int32_t abi_kinds[] = {
    [ARG_NONE] = ASSAY_ARG_NONE,       [ARG_TENSOR] = ASSAY_ARG_TENSOR,
    [ARG_TENSORS] = ASSAY_ARG_TENSORS, [ARG_NUMBER] = ASSAY_ARG_NUMBER,
    [ARG_INT] = ASSAY_ARG_INT,         [ARG_FLOAT] = ASSAY_ARG_FLOAT,
    [ARG_BOOL] = ASSAY_ARG_BOOL,       [ARG_STR] = ASSAY_ARG_STR,
    [ARG_INTS] = ASSAY_ARG_INTS,       [ARG_FLOATS] = ASSAY_ARG_FLOATS,
    [ARG_BOOLS] = ASSAY_ARG_BOOLS,     [ARG_DTYPE] = ASSAY_ARG_DTYPE,
    [ARG_LAYOUT] = ASSAY_ARG_LAYOUT,   [ARG_DEVICE] = ASSAY_ARG_DEVICE,
    [ARG_MEMORY_FORMAT] = ASSAY_ARG_MEMORY_FORMAT, [ARG_GENERATOR] = ASSAY_ARG_GENERATOR,
};

static status translate_argument(plugin_program *p, const arg *from, assay_argument *to, error *err) {
    *to = (assay_argument){.kind = abi_kinds[from->kind], .n = from->n};
    switch (from->kind) {
    case ARG_TENSOR:
    case ARG_TENSORS:
        return translate_tensors_of(p, from, to, err);
    case ARG_NUMBER:
        to->number_category = (int32_t)from->number.category;
        to->i = from->number.i;
        to->f = from->number.f;
        to->imaginary = from->number.im;
        break;
    case ARG_INT:
        to->i = from->i;
        break;
    case ARG_BOOL:
        to->i = from->b;
        break;
    case ARG_DTYPE:
        to->i = (int64_t)from->dtype;
        break;
    case ARG_FLOAT:
        to->f = from->f;
        break;
    case ARG_INTS:
        to->ints = from->ints;
        break;
    case ARG_FLOATS:
        to->floats = from->floats;
        break;
    case ARG_BOOLS:
        to->bools = from->bools;
        break;
    case ARG_STR:
    case ARG_LAYOUT:
    case ARG_DEVICE:
    case ARG_MEMORY_FORMAT:
        to->str = from->str;
        break;
    case ARG_NONE:
    case ARG_GENERATOR:
        break;
    }
    return ASSAY_OK;
}

static status translate_node(plugin_program *p, int i, assay_node *to, error *err) {
    const graph_node *from = &p->g->nodes[i];
    const signature *s = &from->call.op->signature;
    assay_argument *arguments = arena_make(&p->memory, (size_t)s->n_params, sizeof *arguments);
    int32_t *outs = arena_make(&p->memory, (size_t)from->out->n, sizeof *outs);
    if (arguments == NULL || outs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int a = 0; a < s->n_params; a++) {
        TRY(translate_argument(p, &from->call.args[a], &arguments[a], err));
    }
    for (int k = 0; k < from->out->n; k++) {
        outs[k] = index_of(p, own_of(p, &from->out->items[k]));
    }
    *to = (assay_node){.op = s->full,
                       .signature = s->text,
                       .n_arguments = s->n_params,
                       .n_outputs = from->out->n,
                       .arguments = arguments,
                       .outputs = outs,
                       .seed = from->call.seed,
                       .is_view = from->call.op->row->is_view,
                       .is_in_place = from->call.op->in_place};
    return ASSAY_OK;
}

static status translate(plugin_program *p, error *err) {
    size_t n = count_tensors(p->g);
    p->tensors = arena_make(&p->memory, n, sizeof(tensor *));
    p->views = arena_make(&p->memory, n, sizeof *p->views);
    assay_node *nodes = arena_make(&p->memory, (size_t)p->g->n_nodes, sizeof *nodes);
    if (p->tensors == NULL || p->views == NULL || nodes == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    collect_tensors(p);
    for (int i = 0; i < p->n_tensors; i++) {
        TRY(add_view(p, &p->views[i], p->tensors[i], err));
    }
    for (int i = 0; i < p->g->n_nodes; i++) {
        TRY(translate_node(p, i, &nodes[i], err));
    }
    int32_t *outs = arena_make(&p->memory, (size_t)p->own.n, sizeof *outs);
    if (outs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int i = 0; i < p->own.n; i++) {
        outs[i] = index_of(p, &p->own.items[i]);
    }
    p->lent = (assay_program){.tensors = p->views,
                              .nodes = nodes,
                              .outputs = outs,
                              .n_tensors = p->n_tensors,
                              .n_nodes = p->g->n_nodes,
                              .n_outputs = p->own.n};
    return ASSAY_OK;
}

static status make_outputs(plugin_program *p, bool with_memory, error *err) {
    if (p->g->n_nodes == 1 && p->g->n_outputs > 0 && p->g->outputs[0]->sparse != NULL) {
        return op_infer(&p->g->nodes[0].call, &p->own, err); /* indices and values that are not the graph's */
    }
    for (int i = 0; i < p->g->n_outputs; i++) {
        tensor *t = NULL;
        TRY(outputs_next(&p->own, &t, err));
        tensor_share(t, p->g->outputs[i]);
        if (with_memory && t->storage == NULL && t->sparse == NULL) {
            TRY(tensor_allocate_at(t, &device_guarded, i + 1, err));
        }
    }
    return ASSAY_OK;
}

status plugin_program_make(plugin_program *p, const graph *g, bool with_memory, error *err) {
    *p = (plugin_program){.g = g};
    outputs_init(&p->own);
    TRY(make_outputs(p, with_memory, err));
    return translate(p, err);
}

status plugin_program_is_whole(const plugin_program *p, error *err) {
    for (int i = 0; i < p->own.n; i++) {
        const storage *s = p->own.items[i].storage;
        if (s == NULL || s->device != &device_guarded) {
            continue; /* an input's, or the plug-in's */
        }
        int64_t before, behind;
        device_guarded_changes(s->data, s->size_bytes, &before, &behind);
        if (before + behind > 0) {
            return fail(err, ASSAY_INVALID, "wrote outside output %d: %" PRId64 " bytes before it and %" PRId64 " behind it", i, before, behind);
        }
    }
    return ASSAY_OK;
}

void plugin_program_clear(plugin_program *p) {
    outputs_clear(&p->own);
    arena_clear(&p->memory);
}
