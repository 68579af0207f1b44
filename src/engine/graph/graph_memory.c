/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that are about to run: memory and values for the inputs, seeds, cost. */
#include "engine/graph/graph.h"

#include "engine/schema/fill.h"

#include <string.h>

static double bytes_of(const tensor *t) {
    return (double)tensor_span(t) * (double)dtype_size(t->dtype);
}

double graph_input_bytes(const graph *g) {
    double sum = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        sum += bytes_of(g->inputs[i].value);
    }
    return sum;
}

double graph_value_bytes(const graph *g) {
    double sum = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const graph_node *node = &g->nodes[i];
        bool computes = !node->call.op->row->is_view && !node->call.op->in_place;
        for (int k = 0; computes && k < node->out->n; k++) {
            sum += bytes_of(&node->out->items[k]);
        }
    }
    return sum;
}

/* Once more, into the same tensors: arguments point to them. */
static status infer_again(graph_node *node, error *err) {
    outputs fresh;
    TRY(op_infer(&node->call, &fresh, err));
    status result = fresh.n == node->out->n
                        ? ASSAY_OK
                        : fail(err, ASSAY_INTERNAL, "%s makes %d outputs now, %d before", node->call.op->signature.full,
                               fresh.n, node->out->n);
    for (int k = 0; result == ASSAY_OK && k < fresh.n; k++) {
        tensor_clear(&node->out->items[k]);
        tensor_share(&node->out->items[k], &fresh.items[k]);
    }
    outputs_clear(&fresh);
    return result;
}

status graph_allocate(graph *g, const device *d, error *err) {
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i].value->storage == NULL) {
            TRY(tensor_allocate(g->inputs[i].value, d, err));
        }
    }
    for (int i = 0; i < g->n_nodes; i++) {
        TRY(infer_again(&g->nodes[i], err));
    }
    return ASSAY_OK;
}

tensor *graph_own_value(const graph *g, int n_own, outputs *const *own, tensor *value) {
    for (int i = 0; value != NULL && i < n_own; i++) {
        const outputs *theirs = g->nodes[i].out;
        if (theirs->n > 0 && value >= theirs->items && value < theirs->items + theirs->n) {
            return &own[i]->items[value - theirs->items];
        }
    }
    return value;
}

status graph_redirect(arena *memory, const graph *g, int node, outputs *const *own, op_call *out, error *err) {
    const op_call *from = &g->nodes[node].call;
    int n = from->op->signature.n_params;
    arg *args = arena_make(memory, (size_t)n, sizeof *args);
    if (args == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    memcpy(args, from->args, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++) {
        if (args[i].kind == ARG_TENSOR) {
            args[i].tensor = graph_own_value(g, node, own, args[i].tensor);
        } else if (args[i].kind == ARG_TENSORS) {
            tensor **items = arena_make(memory, (size_t)args[i].n, sizeof(tensor *));
            if (items == NULL) {
                return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
            }
            for (int k = 0; k < args[i].n; k++) {
                items[k] = graph_own_value(g, node, own, args[i].tensors[k]);
            }
            args[i].tensors = items;
        }
    }
    *out = (op_call){.op = from->op, .args = args, .seed = from->seed};
    return ASSAY_OK;
}

void graph_seed(graph *g, uint64_t seed) {
    for (int i = 0; i < g->n_nodes; i++) {
        g->nodes[i].call.seed = i == 0 ? seed : rng_mix(seed + (uint64_t)i);
    }
}

/* --- values ----------------------------------------------------------------------------------------------------------------- */

/* A node's call with memory behind every argument: a row may look at any of them. What it writes to values that are yet to
   be computed is of no consequence. */
typedef struct filler {
    arena memory;
    tensor *made;
    int n_made;
    uint64_t seed;
} filler;

static status with_memory(filler *f, tensor *t, tensor **out, error *err) {
    *out = t;
    if (t == NULL || t->storage != NULL) {
        return ASSAY_OK;
    }
    tensor *own = &f->made[f->n_made];
    TRY(tensor_init_strided(own, t->dtype, t->ndim, t->sizes, t->strides, err));
    TRY(tensor_allocate(own, &device_cpu, err));
    rng stream = rng_make_stream(f->seed, (uint64_t)f->n_made);
    f->n_made++;
    fill_default(own, &stream);
    *out = own;
    return ASSAY_OK;
}

static status give_memory(filler *f, const op_call *call, arg *args, error *err) {
    int n = call->op->signature.n_params;
    memcpy(args, call->args, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++) {
        if (args[i].kind == ARG_TENSOR) {
            TRY(with_memory(f, args[i].tensor, &args[i].tensor, err));
        } else if (args[i].kind == ARG_TENSORS) {
            tensor **items = arena_make(&f->memory, (size_t)args[i].n, sizeof(tensor *));
            if (items == NULL) {
                return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to fill inputs");
            }
            for (int k = 0; k < args[i].n; k++) {
                TRY(with_memory(f, args[i].tensors[k], &items[k], err));
            }
            args[i].tensors = items;
        }
    }
    return ASSAY_OK;
}

static status fill_for(const op_call *call, uint64_t seed, error *err) {
    const op_row *row = call->op->row;
    op_inputs_fn *own = row->inputs != NULL ? row->inputs : row->family->inputs;
    if (own == NULL) {
        return ASSAY_OK;
    }
    filler f = {.seed = seed};
    int n = call_all_tensors(call, NULL, 0);
    f.made = arena_make(&f.memory, (size_t)n, sizeof *f.made);
    arg *args = arena_make(&f.memory, (size_t)call->op->signature.n_params, sizeof *args);
    status result = f.made != NULL && args != NULL ? give_memory(&f, call, args, err)
                                                   : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to fill inputs");
    if (result == ASSAY_OK) {
        op_call filled = {.op = call->op, .args = args, .seed = call->seed};
        rng stream = rng_make_stream(seed, (uint64_t)n);
        result = own(&filled, &stream, err);
    }
    for (int i = 0; i < f.n_made; i++) {
        tensor_clear(&f.made[i]);
    }
    arena_clear(&f.memory);
    return result;
}

static void fill_range(const graph_input *in, rng *stream) {
    const graph_range *r = &in->range;
    if (r->low == r->high) {
        fill_constant(in->value, r->low);
    } else if (dtype_is_floating(in->value->dtype)) {
        fill_uniform(in->value, stream, r->low, r->high);
    } else {
        fill_integers(in->value, stream, (int64_t)r->low, (int64_t)r->high);
    }
}

status graph_fill(const graph *g, uint64_t seed, error *err) {
    for (int i = 0; i < g->n_inputs; i++) {
        rng stream = rng_make_stream(seed, (uint64_t)i);
        fill_default(g->inputs[i].value, &stream);
    }
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        TRY(fill_for(&g->nodes[i].call, rng_mix(seed + (uint64_t)i), err));
    }
    for (int i = 0; i < g->n_inputs; i++) {
        rng stream = rng_make_stream(seed, (uint64_t)(g->n_inputs + i));
        if (g->inputs[i].has_range) {
            fill_range(&g->inputs[i], &stream);
        }
    }
    return ASSAY_OK;
}

/* --- cost ------------------------------------------------------------------------------------------------------------------- */

void graph_cost(const graph *g, op_cost *cost) {
    op_cost sum = {.reduction = 1};
    for (int i = 0; i < g->n_nodes; i++) {
        op_cost one;
        op_cost_of(&g->nodes[i].call, g->nodes[i].out, &one);
        sum.flops += one.flops;
        sum.reduction = one.reduction > sum.reduction ? one.reduction : sum.reduction;
        sum.bytes = one.bytes;
    }
    if (g->n_nodes != 1) {
        sum.bytes = 0;
        for (int i = 0; i < g->n_inputs; i++) {
            sum.bytes += tensor_bytes(g->inputs[i].value);
        }
        for (int i = 0; i < g->n_outputs; i++) {
            sum.bytes += tensor_bytes(g->outputs[i]);
        }
    }
    *cost = sum;
}

status graph_copy_outputs(const graph *g, const tensor *actual, outputs *copies, error *err) {
    for (int i = 0; i < g->n_outputs; i++) {
        const tensor *form = g->outputs[i], *from = &actual[i];
        tensor *t = NULL;
        TRY(outputs_next(copies, &t, err));
        TRY(tensor_init_strided(t, form->dtype, form->ndim, form->sizes, form->strides, err));
        TRY(tensor_allocate(t, &device_cpu, err));
        int64_t n = tensor_numel(form), size = (int64_t)dtype_size(form->dtype);
        for (int64_t k = 0; k < n; k++) {
            memcpy(tensor_data(t) + tensor_offset_of(t, k) * size, tensor_data(from) + tensor_offset_of(from, k) * size, (size_t)size);
        }
    }
    return ASSAY_OK;
}
