/* SPDX-License-Identifier: Apache-2.0 */
/* Builds graphs and checks them. */
#include "engine/graph/graph.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a graph");
}

/* Room for one more behind n items. Arrays double when n is a power of two, so that no capacity is kept. */
static void *grow(arena *memory, void *items, int n, size_t size_bytes) {
    bool has_room = n > 0 && (n & (n - 1)) != 0;
    if (has_room) {
        return items;
    }
    void *grown = arena_make(memory, n == 0 ? 1 : 2 * (size_t)n, size_bytes);
    if (grown != NULL && n > 0) {
        memcpy(grown, items, (size_t)n * size_bytes);
    }
    return grown;
}

/* --- asking ----------------------------------------------------------------------------------------------------------------- */

int graph_find_input(const graph *g, const tensor *value) {
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i].value == value) {
            return i;
        }
    }
    return -1;
}

bool graph_find_maker(const graph *g, const tensor *value, int *node, int *output) {
    for (int i = 0; i < g->n_nodes; i++) {
        const outputs *out = g->nodes[i].out;
        if (out->n > 0 && value >= out->items && value < out->items + out->n) {
            *node = i;
            *output = (int)(value - out->items);
            return true;
        }
    }
    return false;
}

static bool same_name(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

tensor *graph_find_value(const graph *g, const char *name) {
    for (int i = 0; i < g->n_inputs; i++) {
        if (same_name(g->inputs[i].name, name)) {
            return g->inputs[i].value;
        }
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const graph_node *node = &g->nodes[i];
        for (int k = 0; node->names != NULL && k < node->out->n; k++) {
            if (same_name(node->names[k], name)) {
                return &node->out->items[k];
            }
        }
    }
    return NULL;
}

const char *graph_nearest_value(const graph *g, const char *name) {
    size_t n = (size_t)g->n_inputs;
    for (int i = 0; i < g->n_nodes; i++) {
        n += (size_t)g->nodes[i].out->n;
    }
    const char **names = malloc((n + 1) * sizeof *names);
    size_t filled = 0;
    for (int i = 0; names != NULL && i < g->n_inputs; i++) {
        names[filled++] = g->inputs[i].name;
    }
    for (int i = 0; names != NULL && i < g->n_nodes; i++) {
        const graph_node *node = &g->nodes[i];
        for (int k = 0; node->names != NULL && k < node->out->n; k++) {
            if (node->names[k] != NULL) {
                names[filled++] = node->names[k];
            }
        }
    }
    const char *near = names != NULL ? text_nearest(name, names, filled) : NULL;
    free(names);
    return near;
}

bool graph_is_random(const graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].call.op->row->is_random) {
            return true;
        }
    }
    return false;
}

bool graph_is_open(const graph *g) {
    bool any = false;
    for (int i = 0; i < g->n_nodes; i++) {
        const op_row *row = g->nodes[i].call.op->row;
        any |= row->open != NULL && row->open(&g->nodes[i].call) != 0;
    }
    return any;
}

/* --- one call --------------------------------------------------------------------------------------------------------------- */

static status add_argument_input(graph *g, tensor *value, const char *name, int item, error *err) {
    if (value == NULL || graph_find_input(g, value) >= 0) {
        return ASSAY_OK;
    }
    if (value->is_wrapped_number) {
        tensor **numbers = grow(g->memory, g->numbers, g->n_numbers, sizeof *numbers);
        if (numbers == NULL) {
            return no_memory(err);
        }
        g->numbers = numbers;
        g->numbers[g->n_numbers++] = value;
        return ASSAY_OK;
    }
    graph_input *inputs = grow(g->memory, g->inputs, g->n_inputs, sizeof *inputs);
    const char *own = item < 0 ? name : arena_format(g->memory, "%s_%d", name, item);
    if (inputs == NULL || own == NULL) {
        return no_memory(err);
    }
    g->inputs = inputs;
    g->inputs[g->n_inputs++] = (graph_input){.name = own, .value = value};
    return ASSAY_OK;
}

status graph_of_call(arena *memory, const op_call *call, outputs *out, graph *g, error *err) {
    graph made = {.n_nodes = 1, .n_outputs = out->n, .memory = memory};
    made.nodes = arena_make(memory, 1, sizeof *made.nodes);
    made.outputs = arena_make(memory, (size_t)out->n, sizeof(tensor *));
    if (made.nodes == NULL || made.outputs == NULL) {
        return no_memory(err);
    }
    made.nodes[0] = (graph_node){.call = *call, .out = out};
    for (int i = 0; i < out->n; i++) {
        made.outputs[i] = &out->items[i];
    }
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        const char *name = call->op->signature.params[i].name;
        if (a->kind == ARG_TENSOR) {
            TRY(add_argument_input(&made, a->tensor, name, -1, err));
        }
        for (int k = 0; a->kind == ARG_TENSORS && k < a->n; k++) {
            TRY(add_argument_input(&made, a->tensors[k], name, k, err));
        }
    }
    *g = made;
    return ASSAY_OK;
}

/* --- building --------------------------------------------------------------------------------------------------------------- */

status graph_init(graph *g, arena *memory, const char *name, const char *doc, error *err) {
    graph made = {.memory = memory};
    made.name = name != NULL ? arena_text(memory, name, strlen(name)) : NULL;
    made.doc = doc != NULL ? arena_text(memory, doc, strlen(doc)) : NULL;
    if ((name != NULL && made.name == NULL) || (doc != NULL && made.doc == NULL)) {
        return no_memory(err);
    }
    *g = made;
    return ASSAY_OK;
}

/* The given name, when it is free, or the least free number from `from` on. */
static status choose_name(const graph *g, const char *name, int from, const char **out, error *err) {
    char digits[16];
    if (name != NULL && graph_find_value(g, name) != NULL) {
        return fail(err, ASSAY_INVALID, "expected each name once, got %%%s again", name);
    }
    for (int i = from; name == NULL; i++) {
        snprintf(digits, sizeof digits, "%d", i);
        name = graph_find_value(g, digits) == NULL ? digits : NULL;
    }
    *out = arena_text(g->memory, name, strlen(name));
    return *out != NULL ? ASSAY_OK : no_memory(err);
}

static bool is_value_of(dtype t, double value) {
    uint64_t bits = 0;
    if (dtype_is_floating(t)) {
        return fabs(value) <= dtype_max(t);
    }
    element_store_int(t, &bits, (int64_t)value);
    return element_load_int(t, &bits) == (int64_t)value;
}

static status check_range(const tensor *form, const graph_range *range, error *err) {
    dtype_category c = dtype_category_of(form->dtype);
    if (c != CATEGORY_INTEGRAL && c != CATEGORY_FLOATING) {
        return fail(err, ASSAY_INVALID, "expected no range for values of %s", assay_dtype_name(form->dtype));
    }
    if (!(range->low <= range->high) || !isfinite(range->high - range->low)) { /* nor is it where one of them is not finite */
        return fail(err, ASSAY_INVALID, "expected low <= high, both and their distance finite, got %g and %g", range->low, range->high);
    }
    const double exact = 9007199254740992.0; /* 2^53: every integer up to there is a double */
    bool whole = floor(range->low) == range->low && floor(range->high) == range->high && fabs(range->low) <= exact &&
                 fabs(range->high) <= exact;
    if (!whole && c != CATEGORY_FLOATING) {
        return fail(err, ASSAY_INVALID, "expected integers up to 2^53 as the range of %s, got %g and %g", assay_dtype_name(form->dtype),
                    range->low, range->high);
    }
    double last = c == CATEGORY_INTEGRAL && range->high > range->low ? range->high - 1 : range->high;
    return is_value_of(form->dtype, range->low) && is_value_of(form->dtype, last)
               ? ASSAY_OK
               : fail(err, ASSAY_INVALID, "expected a range of values of %s, got %g to %g", assay_dtype_name(form->dtype), range->low, range->high);
}

status graph_add_input(graph *g, const char *name, const tensor *form, const graph_range *range, tensor **out, error *err) {
    const char *own = NULL;
    if (range != NULL) {
        TRY(check_range(form, range, err));
    }
    TRY(choose_name(g, name, g->n_inputs, &own, err));
    graph_input *inputs = grow(g->memory, g->inputs, g->n_inputs, sizeof *inputs);
    tensor *value = arena_make(g->memory, 1, sizeof *value);
    if (inputs == NULL || value == NULL) {
        return no_memory(err);
    }
    TRY(tensor_init_strided(value, form->dtype, form->ndim, form->sizes, form->strides, err));
    g->inputs = inputs;
    g->inputs[g->n_inputs++] = (graph_input){.name = own, .value = value, .has_range = range != NULL};
    if (range != NULL) {
        g->inputs[g->n_inputs - 1].range = *range;
    }
    *out = value;
    return ASSAY_OK;
}

static bool is_known(const graph *g, const tensor *value) {
    int node, output;
    return value->is_wrapped_number || graph_find_input(g, value) >= 0 || graph_find_maker(g, value, &node, &output);
}

static status check_arguments(const graph *g, const op_call *call, error *err) {
    const signature *s = &call->op->signature;
    for (int i = 0; i < s->n_params; i++) {
        const arg *a = &call->args[i];
        bool known = a->kind != ARG_TENSOR || is_known(g, a->tensor);
        for (int k = 0; a->kind == ARG_TENSORS && k < a->n; k++) {
            known = known && (a->tensors[k] == NULL || is_known(g, a->tensors[k]));
        }
        if (!known) {
            return fail(err, ASSAY_INVALID, "%s: argument '%s' is no value of the graph", s->full, s->params[i].name);
        }
    }
    return ASSAY_OK;
}

static status name_outputs(const graph *g, const outputs *out, const char *const *names, int n_names,
                           const char *const **made, error *err) {
    const char **own = arena_make(g->memory, (size_t)out->n, sizeof *own);
    if (own == NULL) {
        return no_memory(err);
    }
    if (names != NULL && n_names != out->n) {
        return fail(err, ASSAY_INVALID, "expected %d name%s, one for each output, got %d", out->n, out->n == 1 ? "" : "s",
                    n_names);
    }
    int from = g->n_inputs;
    for (int i = 0; i < g->n_nodes; i++) {
        from += g->nodes[i].out->n;
    }
    for (int k = 0; k < out->n; k++) {
        if (names != NULL && names[k] == NULL) {
            continue;
        }
        TRY(choose_name(g, names != NULL ? names[k] : NULL, from + k, &own[k], err));
        for (int other = 0; other < k; other++) {
            if (same_name(own[other], own[k])) {
                return fail(err, ASSAY_INVALID, "expected each name once, got %%%s again", own[k]);
            }
        }
    }
    *made = own;
    return ASSAY_OK;
}

static status keep_numbers(graph *g, const op_call *call, error *err) {
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        int n = a->kind == ARG_TENSOR ? 1 : a->kind == ARG_TENSORS ? a->n : 0;
        for (int k = 0; k < n; k++) {
            tensor *t = a->kind == ARG_TENSOR ? a->tensor : a->tensors[k];
            if (t == NULL || !t->is_wrapped_number) {
                continue;
            }
            tensor **numbers = grow(g->memory, g->numbers, g->n_numbers, sizeof *numbers);
            if (numbers == NULL) {
                return no_memory(err);
            }
            g->numbers = numbers;
            g->numbers[g->n_numbers++] = t;
        }
    }
    return ASSAY_OK;
}

static status refuse_sparse(const op_call *call, const outputs *out, error *err) {
    for (int i = 0; i < out->n; i++) {
        if (out->items[i].sparse != NULL) {
            return fail(err, ASSAY_UNSUPPORTED, "%s makes a sparse tensor, which graphs have no place for",
                        call->op->signature.full);
        }
    }
    return ASSAY_OK;
}

/* The value whose memory a value shows: what a node computed, or an input. */
static const tensor *value_behind(const graph *g, const tensor *value) {
    int node, output;
    while (graph_find_maker(g, value, &node, &output)) {
        const op_call *made = &g->nodes[node].call;
        if (!made->op->row->is_view && !made->op->in_place) {
            break;
        }
        value = call_tensor(made, 0);
    }
    return value;
}

/* What a node computes is written where its elements lie and nowhere else: what lies between them nobody knows. */
static status refuse_gaps(const graph *g, const op_call *call, const outputs *out, error *err) {
    const tensor *self = call->op->row->sees_storage ? call_tensor(call, 0) : NULL;
    const tensor *memory = self != NULL ? value_behind(g, self) : NULL;
    if (self == NULL || graph_find_input(g, memory) >= 0 || tensor_span(memory) <= tensor_numel(memory)) {
        return ASSAY_OK;
    }
    const tensor *shown = &out->items[0];
    const size_t bytes = (size_t)shown->ndim * sizeof *shown->sizes;
    if (shown->offset == self->offset && shown->ndim == self->ndim && memcmp(shown->sizes, self->sizes, bytes) == 0 &&
        memcmp(shown->strides, self->strides, bytes) == 0) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_UNSUPPORTED, "%s may show memory between the elements of a value that is computed, which nothing writes: make the "
                                        "value dense first, by clone(..., memory_format=torch.contiguous_format)", call->op->signature.full);
}

status graph_add_call(graph *g, const op *o, const arg *args, const char *const *names, int n_names, graph_node **out,
                      error *err) {
    size_t n = (size_t)o->signature.n_params;
    graph_node *nodes = grow(g->memory, g->nodes, g->n_nodes, sizeof *nodes);
    arg *own = arena_make(g->memory, n, sizeof *own);
    graph_node made = {.call = {.op = o, .args = own}};
    made.out = arena_make(g->memory, 1, sizeof *made.out);
    if (nodes == NULL || own == NULL || made.out == NULL) {
        return no_memory(err);
    }
    if (n > 0) {
        memcpy(own, args, n * sizeof *own);
    }
    g->nodes = nodes;
    TRY(check_arguments(g, &made.call, err));
    TRY(op_infer(&made.call, made.out, err));
    int n_numbers = g->n_numbers;
    status result = refuse_sparse(&made.call, made.out, err);
    result = result == ASSAY_OK ? refuse_gaps(g, &made.call, made.out, err) : result;
    result = result == ASSAY_OK ? name_outputs(g, made.out, names, n_names, &made.names, err) : result;
    result = result == ASSAY_OK ? keep_numbers(g, &made.call, err) : result;
    if (result != ASSAY_OK) {
        g->n_numbers = n_numbers; /* a failing call leaves its numbers to the caller */
        outputs_clear(made.out);
        return result;
    }
    g->nodes[g->n_nodes] = made;
    *out = &g->nodes[g->n_nodes++];
    return ASSAY_OK;
}

status graph_add_output(graph *g, tensor *value, error *err) {
    int node, output;
    if (!graph_find_maker(g, value, &node, &output)) {
        return fail(err, ASSAY_INVALID, "expected an output that an operator makes, got %s",
                    graph_find_input(g, value) >= 0 ? "an input" : "no value of the graph");
    }
    for (int i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == value) {
            return fail(err, ASSAY_INVALID, "expected each output once, got one again");
        }
    }
    tensor **grown = grow(g->memory, g->outputs, g->n_outputs, sizeof *grown);
    if (grown == NULL) {
        return no_memory(err);
    }
    g->outputs = grown;
    g->outputs[g->n_outputs++] = value;
    return ASSAY_OK;
}

void graph_clear(graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        outputs_clear(g->nodes[i].out);
    }
    for (int i = 0; i < g->n_inputs; i++) {
        tensor_clear(g->inputs[i].value);
    }
    for (int i = 0; i < g->n_numbers; i++) {
        tensor_clear(g->numbers[i]);
    }
    *g = (graph){0};
}

/* --- checking --------------------------------------------------------------------------------------------------------------- */

static bool same_form(const tensor *a, const tensor *b) {
    return a->dtype == b->dtype && tensor_same_sizes(a, b) && tensor_same_strides(a, b);
}

static status verify_node(const graph *before, const graph_node *node, int index, error *err) {
    outputs fresh;
    error why = {0};
    status result = check_arguments(before, &node->call, &why);
    if (result == ASSAY_OK) {
        result = op_infer(&node->call, &fresh, &why);
    }
    if (result != ASSAY_OK) {
        return fail(err, ASSAY_INTERNAL, "node %d: %s", index, why.message);
    }
    bool same = fresh.n == node->out->n;
    for (int k = 0; same && k < fresh.n; k++) {
        same = same_form(&fresh.items[k], &node->out->items[k]);
    }
    outputs_clear(&fresh);
    if (!same) {
        return fail(err, ASSAY_INTERNAL, "node %d: the outputs of %s are not as inferred", index,
                    node->call.op->signature.full);
    }
    for (int k = 0; node->names != NULL && k < node->out->n; k++) {
        if (node->names[k] != NULL && graph_find_value(before, node->names[k]) != NULL) {
            return fail(err, ASSAY_INTERNAL, "node %d: the name %%%s repeats", index, node->names[k]);
        }
    }
    return ASSAY_OK;
}

status graph_verify(const graph *g, error *err) {
    graph before = *g;
    for (before.n_nodes = 0; before.n_nodes < g->n_nodes; before.n_nodes++) {
        TRY(verify_node(&before, &g->nodes[before.n_nodes], before.n_nodes, err));
    }
    for (int i = 0; i < g->n_outputs; i++) {
        int node, output;
        if (!graph_find_maker(g, g->outputs[i], &node, &output)) {
            return fail(err, ASSAY_INTERNAL, "output %d of the graph is made by no node", i);
        }
    }
    return ASSAY_OK;
}
