/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a node on the values of an evaluation: in double, or as the graph has it where that means something else. */
#include "engine/graph/attempt.h"

#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"
#include "engine/schema/primitive.h"
#include "engine/tensor/agree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

dtype evaluation_wide_type(dtype t) {
    return dtype_is_complex(t) ? ASSAY_C128 : dtype_is_floating(t) ? ASSAY_F64 : t;
}

status evaluation_no_memory(const evaluation *e) {
    return fail(e->err, ASSAY_OUT_OF_MEMORY, "no memory for the reference of a graph");
}

static void convert(dtype from, const char *at, dtype to, char *into) {
    if (dtype_is_complex(from)) {
        element_store_complex(to, into, element_load_complex(from, at));
    } else if (dtype_is_floating(from)) {
        element_store(to, into, element_load(from, at));
    } else {
        element_store_int(to, into, element_load_int(from, at));
    }
}

status evaluation_copy(const evaluation *e, const tensor *from, dtype t, tensor *out) {
    TRY(tensor_init_strided(out, t, from->ndim, from->sizes, from->strides, e->err));
    TRY(tensor_allocate(out, &device_cpu, e->err));
    out->is_wrapped_number = from->is_wrapped_number;
    int64_t n = tensor_span(from), from_size = (int64_t)dtype_size(from->dtype), size = (int64_t)dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        convert(from->dtype, tensor_data(from) + i * from_size, t, tensor_data(out) + i * size);
    }
    return ASSAY_OK;
}

tensor *evaluation_value(const evaluation *e, int node, tensor *t) {
    int input = t != NULL ? graph_find_input(e->g, t) : -1;
    return input >= 0 ? &e->inputs[input] : graph_own_value(e->g, node, e->own, t);
}

void evaluation_put(const tensor *from, const tensor *into) {
    int64_t n = tensor_numel(into), from_size = (int64_t)dtype_size(from->dtype), size = (int64_t)dtype_size(into->dtype);
    for (int64_t i = 0; i < n; i++) {
        convert(from->dtype, tensor_data(from) + tensor_offset_of(from, i) * from_size, into->dtype,
                tensor_data(into) + tensor_offset_of(into, i) * size);
    }
}

static bool is_lost(const evaluation *e, const tensor *value) {
    bool lost = false;
    for (int i = 0; value != NULL && i < e->n_lost; i++) {
        lost |= e->lost[i] == value->storage;
    }
    return lost;
}

bool evaluation_knows(const evaluation *e, int node, const tensor *t) {
    int maker = 0, output = 0;
    if (t == NULL || t->is_wrapped_number) {
        return true;
    }
    bool is_made = graph_find_maker(e->g, t, &maker, &output) && maker < node;
    return (!is_made || e->known[maker][output]) && !is_lost(e, evaluation_value(e, node, (tensor *)t));
}

int evaluation_width(const tensor *t) {
    return dtype_is_complex(t->dtype) ? 2 : 1;
}

/* Whether the row only chooses among its operands' values: there is nothing to round. */
static bool is_exact(const op_call *call, const tensor *out, double terms) {
    const op_row *row = call->op->row;
    bool chooses = row->reference_scalar != NULL || row->reference_moves != NULL;
    if (!chooses || row->flops_per_element != 0 || terms > 1) {
        return false;
    }
    tensor *first = NULL;
    bool same = true;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        for (int k = 0; k < (a->kind == ARG_TENSOR ? 1 : a->kind == ARG_TENSORS ? a->n : 0); k++) {
            tensor *t = a->kind == ARG_TENSOR ? a->tensor : a->tensors[k];
            bool counts = t != NULL && !t->is_wrapped_number && dtype_category_of(t->dtype) >= CATEGORY_FLOATING;
            first = counts && first == NULL ? t : first;
            same = same && (!counts || t->dtype == out->dtype);
        }
    }
    return first != NULL && same;
}

status evaluation_perturb(evaluation *e, const graph_node *node, const tensor *t, int64_t n, double *values, const double *norm) {
    op_cost cost;
    op_cost_of(&node->call, node->out, &cost);
    if (dtype_category_of(t->dtype) < CATEGORY_FLOATING || is_exact(&node->call, t, cost.reduction)) {
        return ASSAY_OK;
    }
    const agree_rule rule = {.reduction = cost.reduction, .roundings = node->call.op->row->roundings};
    const double most = dtype_max(dtype_real(t->dtype));
    int64_t parts = n * evaluation_width(t);
    double *off = malloc((size_t)(parts > 0 ? parts : 1) * sizeof *off);
    if (off == NULL) {
        return evaluation_no_memory(e);
    }
    agree_tolerances(t->dtype, parts, values, norm, &rule, off);
    uint64_t bits = 0;
    for (int64_t i = 0; i < parts; i++) {
        bits = i % 64 == 0 ? rng_next(&e->coins) ^ (e->turns ? UINT64_MAX : 0) : bits >> 1;
        bool stays = !isfinite(values[i]) || (values[i] == 0 && norm[i / evaluation_width(t)] == 0 && cost.reduction <= 1);
        values[i] += stays ? 0 : (bits & 1) != 0 ? off[i] : -off[i];
        values[i] = e->overflows && fabs(values[i]) > most ? copysign(INFINITY, values[i]) : values[i];
    }
    free(off);
    return ASSAY_OK;
}

void evaluation_store(tensor *t, const double *values) {
    int64_t n = tensor_numel(t), size = (int64_t)dtype_size(t->dtype);
    if (!dtype_is_complex(t->dtype)) {
        fill_from(t, values);
        for (int64_t i = 0; t->dtype == ASSAY_I64 && i < n; i++) {
            if (values[i] >= 0x1p63) { /* rounded up: i64 holds less */
                element_store_int(t->dtype, tensor_data(t) + tensor_offset_of(t, i) * size, INT64_MAX);
            }
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        char *at = tensor_data(t) + tensor_offset_of(t, i) * size;
        element_store_complex(t->dtype, at, CMPLX(values[2 * i], values[2 * i + 1]));
    }
}

status evaluation_target(const evaluation *e, int node, int k, tensor *out) {
    const graph_node *n = &e->g->nodes[node];
    if (n->call.op->in_place) {
        tensor_share(out, evaluation_value(e, node, call_tensor(&n->call, 0)));
        return ASSAY_OK;
    }
    const tensor *form = &n->out->items[k];
    TRY(tensor_init_strided(out, evaluation_wide_type(form->dtype), form->ndim, form->sizes, form->strides, e->err));
    return tensor_allocate(out, &device_cpu, e->err);
}

/* The value in whose memory it lies. */
static const tensor *memory_of(const graph *g, const tensor *value) {
    int node = 0, k = 0;
    while (value != NULL && graph_find_maker(g, value, &node, &k) && (g->nodes[node].call.op->row->is_view || g->nodes[node].call.op->in_place)) {
        value = call_tensor(&g->nodes[node].call, 0);
    }
    return value;
}

static bool is_written_later(const graph *g, int node, const tensor *value) {
    bool written = false;
    for (int i = node + 1; i < g->n_nodes; i++) {
        const op_call *call = &g->nodes[i].call;
        written |= call->op->in_place && memory_of(g, call_tensor(call, 0)) == memory_of(g, value);
    }
    return written;
}

int evaluation_shown(const graph *g, int node, const tensor *value) {
    for (int i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == value) {
            return is_written_later(g, node, value) ? -1 : i;
        }
    }
    return -1;
}

void attempt_clear(attempt *a) {
    for (int i = 0; i < a->n_narrow; i++) {
        tensor_clear(&a->narrow[i]);
    }
    outputs_clear(&a->out);
    arena_clear(&a->memory);
}

/* What a number becomes before it meets the graph's tensors is no rounding on the way, but a part of what the call means: 0.1
   compared with bf16 is 0.10009765625, and so is what it fills a tensor of bf16 with. Numbers of other operators are within
   the tolerance of what they make; i64 stands for all types that round nothing. */
static dtype number_type(const graph_node *node) {
    const op_row *row = node->call.op->row;
    pointwise p;
    bool chooses = row->reference_moves != NULL || (row->reference_scalar != NULL && row->flops_per_element == 0);
    if ((row->scalars_promote || row->promotion == PROMOTE_BOOL_OUT) && row->reference_scalar != NULL &&
        pointwise_analyse(&node->call, &p, NULL) == ASSAY_OK) {
        return dtype_is_floating(p.compute) ? pointwise_number_type(row, &p) : ASSAY_I64;
    }
    dtype t = node->out->n > 0 ? dtype_real(node->out->items[0].dtype) : ASSAY_I64;
    return chooses && dtype_is_floating(t) ? t : ASSAY_I64;
}

static double rounded(dtype t, double value) {
    uint64_t bits = 0;
    element_store(t, &bits, value);
    return element_load(t, &bits);
}

/* The category stays as it was where that has a say in types; a tensor's elements are numbers of its own category. */
static number rounded_number(const op_row *row, dtype t, number x) {
    x.f = rounded(t, x.f);
    x.im = rounded(t, x.im);
    x.category = row->reference_moves != NULL && x.category < CATEGORY_FLOATING ? CATEGORY_FLOATING : x.category;
    return x;
}

static bool meets_as_number(const graph_node *node, const tensor *t, dtype type) {
    return t->ndim == 0 && node->out->items[0].ndim > 0 && type != ASSAY_I64 && dtype_is_floating(t->dtype) &&
           (t->is_wrapped_number || t->dtype != type);
}

/* The floating-point type that integers become which meet others element by element, or go into a function of such; i64: they stay what they
   are. */
static dtype promoted_type(const graph_node *node) {
    pointwise p;
    const bool is_pointwise = node->call.op->row->reference_scalar != NULL && pointwise_analyse(&node->call, &p, NULL) == ASSAY_OK;
    return is_pointwise && dtype_is_floating(p.compute) ? p.compute : ASSAY_I64;
}

/* Whole numbers as f, or what computes in its place, has them. */
static void round_integers(const tensor *t, dtype f) {
    const int64_t n = tensor_span(t), size = (int64_t)dtype_size(t->dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = tensor_data(t) + i * size;
        const double value = (double)element_load_int(t->dtype, at), narrow = rounded(f, value);
        const double near = isfinite(narrow) ? narrow : rounded(primitive_compute_type(f), value);
        if (dtype_holds(t->dtype, number_of_double(near))) {
            element_store_int(t->dtype, at, (int64_t)near);
        }
    }
}

/* A wide operand as it is; one of no dimensions, which meets the others as a number would, in the type of numbers. An evaluation that is off
   by roundings rounds integers to what they are promoted to. */
static status take_tensor(const evaluation *e, attempt *a, int node, bool wide, dtype numbers, tensor *of_graph, tensor **out) {
    tensor *mine = evaluation_value(e, node, of_graph);
    *out = mine;
    const bool is_integral = mine != NULL && dtype_category_of(mine->dtype) == CATEGORY_INTEGRAL && !mine->is_wrapped_number;
    const dtype promoted = e->perturbs && is_integral ? promoted_type(&e->g->nodes[node]) : ASSAY_I64;
    if (promoted != ASSAY_I64 && promoted != ASSAY_F64) {
        tensor *copy = &a->narrow[a->n_narrow];
        TRY(evaluation_copy(e, mine, mine->dtype, copy));
        a->n_narrow++;
        round_integers(copy, promoted);
        *out = copy;
        return ASSAY_OK;
    }
    bool is_number = wide && mine != NULL && meets_as_number(&e->g->nodes[node], of_graph, numbers);
    if (mine == NULL || (wide && !is_number) || (!wide && (mine->is_wrapped_number || mine->dtype == of_graph->dtype))) {
        return ASSAY_OK;
    }
    tensor *copy = &a->narrow[a->n_narrow];
    TRY(evaluation_copy(e, mine, wide ? numbers : of_graph->dtype, copy));
    a->n_narrow++;
    *out = copy;
    return ASSAY_OK;
}

status attempt_arguments(const evaluation *e, attempt *a, int node, bool wide) {
    const op_call *from = &e->g->nodes[node].call;
    int n = from->op->signature.n_params;
    arg *args = arena_make(&a->memory, (size_t)n, sizeof *args);
    a->narrow = arena_make(&a->memory, (size_t)call_all_tensors(from, NULL, 0), sizeof *a->narrow);
    if (args == NULL || a->narrow == NULL) {
        return evaluation_no_memory(e);
    }
    memcpy(args, from->args, (size_t)n * sizeof *args);
    dtype numbers = wide ? number_type(&e->g->nodes[node]) : ASSAY_I64;
    for (int i = 0; i < n; i++) {
        if (args[i].kind == ARG_NUMBER && numbers != ASSAY_I64) {
            args[i].number = rounded_number(from->op->row, numbers, args[i].number);
        } else if (args[i].kind == ARG_TENSOR) {
            TRY(take_tensor(e, a, node, wide, numbers, args[i].tensor, &args[i].tensor));
        } else if (args[i].kind == ARG_TENSORS) {
            tensor **items = arena_make(&a->memory, (size_t)args[i].n, sizeof(tensor *));
            if (items == NULL) {
                return evaluation_no_memory(e);
            }
            for (int k = 0; k < args[i].n; k++) {
                TRY(take_tensor(e, a, node, wide, numbers, args[i].tensors[k], &items[k]));
            }
            args[i].tensors = items;
        } else if (args[i].kind == ARG_DTYPE && wide) {
            args[i].dtype = evaluation_wide_type(args[i].dtype);
        }
    }
    a->call = (op_call){.op = from->op, .args = args, .seed = from->seed};
    return ASSAY_OK;
}

/* Whether the wide call means the same: the outputs' sizes and kinds of numbers. */
static bool same_meaning(const outputs *wide, const outputs *of_graph) {
    bool same = wide->n == of_graph->n;
    for (int k = 0; same && k < wide->n; k++) {
        const tensor *a = &wide->items[k], *b = &of_graph->items[k];
        same = tensor_same_sizes(a, b) && dtype_category_of(a->dtype) == dtype_category_of(b->dtype) && a->sparse == NULL;
    }
    return same;
}

static status infer_attempt(const evaluation *e, attempt *a, int node, bool wide, error *err) {
    TRY(attempt_arguments(e, a, node, wide));
    TRY(op_infer(&a->call, &a->out, err));
    return same_meaning(&a->out, e->g->nodes[node].out)
               ? ASSAY_OK
               : fail(err, ASSAY_UNSUPPORTED, "%s means something else in f64", a->call.op->signature.full);
}

status attempt_make(const evaluation *e, attempt *a, int node, bool *wide) {
    error why = {0};
    *wide = !e->g->nodes[node].call.op->row->rounds_numbers;
    *a = (attempt){0};
    outputs_init(&a->out);
    if (*wide) {
        status result = infer_attempt(e, a, node, true, &why);
        if (result == ASSAY_OK || result == ASSAY_OUT_OF_MEMORY) {
            return result;
        }
        attempt_clear(a);
        *a = (attempt){0};
        outputs_init(&a->out);
        *wide = false;
    }
    return infer_attempt(e, a, node, false, e->err);
}
