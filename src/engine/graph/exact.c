/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates graphs in double: wide copies of the inputs, one reference after the other, errors of a known size thrown in. */
#include "engine/graph/exact.h"

#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"
#include "engine/schema/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often the deviation seen counts: docs/accuracy.md. */
static const double SAFETY = 3;

/* Elements that share one estimate of how far errors reach. */
enum { BLOCK = 32 };

/* One evaluation. own[i] are node i's values, wide. */
typedef struct evaluation {
    arena memory;
    const graph *g;
    const tensor *taken;
    tensor *inputs; /* wide copies */
    outputs **own;
    bool **known;   /* per node and output */
    bool perturbs;
    rng coins;
    error *err;
} evaluation;

static dtype widened(dtype t) {
    return dtype_is_complex(t) ? ASSAY_C128 : dtype_is_floating(t) ? ASSAY_F64 : t;
}

static status no_memory(const evaluation *e) {
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

/* A tensor of another type with memory of its own, laid out as `from`, and its values: everything that the strides reach. */
static status copy_as(const evaluation *e, const tensor *from, dtype t, tensor *out) {
    TRY(tensor_init_strided(out, t, from->ndim, from->sizes, from->strides, e->err));
    TRY(tensor_allocate(out, &device_cpu, e->err));
    out->is_wrapped_number = from->is_wrapped_number;
    int64_t n = tensor_span(from), from_size = (int64_t)dtype_size(from->dtype), size = (int64_t)dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        convert(from->dtype, tensor_data(from) + i * from_size, t, tensor_data(out) + i * size);
    }
    return ASSAY_OK;
}

/* --- the call of a node, wide or as the graph has it ------------------------------------------------------------------------- */

static tensor *value_of(const evaluation *e, int node, tensor *t) {
    int input = t != NULL ? graph_find_input(e->g, t) : -1;
    return input >= 0 ? &e->inputs[input] : graph_own_value(e->g, node, e->own, t);
}

static bool is_known(const evaluation *e, int node, const tensor *t) {
    int maker = 0, output = 0;
    if (t == NULL || t->is_wrapped_number || !graph_find_maker(e->g, t, &maker, &output) || maker >= node) {
        return true;
    }
    return e->known[maker][output];
}

/* A call under way, with the tensors made for it alone. */
typedef struct attempt {
    arena memory;
    op_call call;
    outputs out;
    tensor *narrow;
    int n_narrow;
} attempt;

static void attempt_clear(attempt *a) {
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
    return t->ndim == 0 && node->out->items[0].ndim > 0 && type != ASSAY_I64 && dtype_is_floating(t->dtype) && (t->is_wrapped_number || t->dtype != type);
}

/* A wide operand as it is; one of no dimensions, which meets the others as a number would, in the type of numbers. */
static status take_tensor(const evaluation *e, attempt *a, int node, bool wide, dtype numbers, tensor *of_graph, tensor **out) {
    tensor *mine = value_of(e, node, of_graph);
    *out = mine;
    bool is_number = wide && mine != NULL && meets_as_number(&e->g->nodes[node], of_graph, numbers);
    if (mine == NULL || (wide && !is_number) || (!wide && (mine->is_wrapped_number || mine->dtype == of_graph->dtype))) {
        return ASSAY_OK;
    }
    tensor *copy = &a->narrow[a->n_narrow];
    TRY(copy_as(e, mine, wide ? numbers : of_graph->dtype, copy));
    a->n_narrow++;
    *out = copy;
    return ASSAY_OK;
}

static status make_arguments(const evaluation *e, attempt *a, int node, bool wide) {
    const op_call *from = &e->g->nodes[node].call;
    int n = from->op->signature.n_params;
    arg *args = arena_make(&a->memory, (size_t)n, sizeof *args);
    a->narrow = arena_make(&a->memory, (size_t)call_all_tensors(from, NULL, 0), sizeof *a->narrow);
    if (args == NULL || a->narrow == NULL) {
        return no_memory(e);
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
                return no_memory(e);
            }
            for (int k = 0; k < args[i].n; k++) {
                TRY(take_tensor(e, a, node, wide, numbers, args[i].tensors[k], &items[k]));
            }
            args[i].tensors = items;
        } else if (args[i].kind == ARG_DTYPE && wide) {
            args[i].dtype = widened(args[i].dtype);
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
    TRY(make_arguments(e, a, node, wide));
    TRY(op_infer(&a->call, &a->out, err));
    return same_meaning(&a->out, e->g->nodes[node].out)
               ? ASSAY_OK
               : fail(err, ASSAY_UNSUPPORTED, "%s means something else in f64", a->call.op->signature.full);
}

/* Wide where the operator can be asked so. Where it cannot (it takes narrow types alone, or rounds numbers to the type of its
   operands), its operands are rounded as the graph says. */
static status make_attempt(const evaluation *e, attempt *a, int node, bool *wide) {
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

/* --- one node ---------------------------------------------------------------------------------------------------------------- */

static int width_of(const tensor *t) {
    return dtype_is_complex(t->dtype) ? 2 : 1;
}

/* Whether the row only chooses among its operands' values: there is nothing to round. */
static bool is_exact(const op_call *call, const tensor *out, double reduction) {
    const op_row *row = call->op->row;
    bool chooses = row->reference_scalar != NULL || row->reference_moves != NULL;
    if (!chooses || row->flops_per_element != 0 || reduction > 1) {
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

/* Each value off by its tolerance, up or down. A zero that comes of one rounding is a zero for every kernel. */
static status perturb(evaluation *e, const graph_node *node, const tensor *t, int64_t n, double *values, const double *norm) {
    op_cost cost;
    op_cost_of(&node->call, node->out, &cost);
    if (dtype_category_of(t->dtype) < CATEGORY_FLOATING || is_exact(&node->call, t, cost.reduction)) {
        return ASSAY_OK;
    }
    const agree_rule rule = {.reduction = cost.reduction, .roundings = node->call.op->row->roundings};
    int64_t parts = n * width_of(t);
    double *off = malloc((size_t)(parts > 0 ? parts : 1) * sizeof *off);
    if (off == NULL) {
        return no_memory(e);
    }
    agree_tolerances(t->dtype, parts, values, norm, &rule, off);
    uint64_t bits = 0;
    for (int64_t i = 0; i < parts; i++) {
        bits = i % 64 == 0 ? rng_next(&e->coins) : bits >> 1;
        bool stays = !isfinite(values[i]) || (values[i] == 0 && cost.reduction <= 1);
        values[i] += stays ? 0 : (bits & 1) != 0 ? off[i] : -off[i];
    }
    free(off);
    return ASSAY_OK;
}

static void store_values(tensor *t, const double *values) {
    if (!dtype_is_complex(t->dtype)) {
        fill_from(t, values);
        return;
    }
    int64_t n = tensor_numel(t), size = (int64_t)dtype_size(t->dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = tensor_data(t) + tensor_offset_of(t, i) * size;
        element_store_complex(t->dtype, at, CMPLX(values[2 * i], values[2 * i + 1]));
    }
}

/* The tensor that takes output k: for an operator in place its first argument, else a new one. */
static status target_of(const evaluation *e, int node, int k, tensor *out) {
    const graph_node *n = &e->g->nodes[node];
    if (n->call.op->in_place) {
        tensor_share(out, value_of(e, node, call_tensor(&n->call, 0)));
        return ASSAY_OK;
    }
    const tensor *form = &n->out->items[k];
    TRY(tensor_init_strided(out, widened(form->dtype), form->ndim, form->sizes, form->strides, e->err));
    return tensor_allocate(out, &device_cpu, e->err);
}

/* What a call writes besides its outputs, found while every operand is as it was. values[i]: argument i's, or NULL. */
static status run_written(evaluation *e, const graph_node *n, ref_ctx *ctx, double **values) {
    for (int i = 0; i < n->call.op->signature.n_params; i++) {
        const tensor *t = n->call.args[i].kind == ARG_TENSOR ? n->call.args[i].tensor : NULL;
        if (n->call.op->row->reference_written == NULL || t == NULL || (n->call.op->row->written_args >> i & 1) == 0) {
            continue;
        }
        size_t numel = (size_t)tensor_numel(t);
        ref_request request = {.n = (int64_t)numel, .value = ref_make(ctx, numel, sizeof(double)),
                               .norm = ref_make(ctx, numel, sizeof(double))};
        TRY(ctx->failed == ASSAY_OK ? ASSAY_OK : no_memory(e));
        TRY(ref_run_written(ctx, i, &request, e->err));
        TRY(e->perturbs ? perturb(e, n, t, request.n, request.value, request.norm) : ASSAY_OK);
        values[i] = request.value;
    }
    return ASSAY_OK;
}

static status run_reference(evaluation *e, int node, const attempt *a) {
    const graph_node *n = &e->g->nodes[node];
    outputs *own = e->own[node];
    ref_ctx ctx;
    TRY(ref_init(&ctx, &a->call, &a->out, e->err));
    ref_judge(&ctx, n->out);
    ref_request *requests = ref_make(&ctx, (size_t)a->out.n, sizeof *requests);
    status result = requests != NULL ? ASSAY_OK : no_memory(e);
    for (int k = 0; result == ASSAY_OK && k < a->out.n; k++) {
        size_t numel = (size_t)tensor_numel(&a->out.items[k]);
        requests[k] = (ref_request){.n = (int64_t)numel,
                                    .value = ref_make(&ctx, numel * (size_t)width_of(&a->out.items[k]), sizeof(double)),
                                    .norm = ref_make(&ctx, numel, sizeof(double))};
        result = ctx.failed == ASSAY_OK ? ASSAY_OK : no_memory(e);
    }
    double *written[SIGNATURE_MAX_PARAMS] = {NULL};
    result = result == ASSAY_OK ? ref_run(&ctx, requests, e->err) : result;
    result = result == ASSAY_OK ? run_written(e, n, &ctx, written) : result;
    for (int i = 0; result == ASSAY_OK && i < n->call.op->signature.n_params; i++) {
        if (written[i] != NULL) {
            store_values(value_of(e, node, call_tensor(&n->call, i)), written[i]);
        }
    }
    for (int k = 0; result == ASSAY_OK && k < a->out.n; k++) {
        tensor *t = NULL;
        result = e->perturbs ? perturb(e, n, &n->out->items[k], requests[k].n, requests[k].value, requests[k].norm) : ASSAY_OK;
        result = result == ASSAY_OK ? outputs_next(own, &t, e->err) : result;
        result = result == ASSAY_OK ? target_of(e, node, k, t) : result;
        if (result == ASSAY_OK) {
            store_values(t, requests[k].value);
        }
    }
    ref_clear(&ctx);
    return result;
}

static status share_views(outputs *own, const outputs *made, error *err) {
    for (int k = 0; k < made->n; k++) {
        tensor *t = NULL;
        TRY(outputs_next(own, &t, err));
        tensor_share(t, &made->items[k]);
    }
    return ASSAY_OK;
}

/* --- what is not determined -------------------------------------------------------------------------------------------------- */

static int index_of_output(const graph *g, const tensor *value) {
    for (int i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == value) {
            return i;
        }
    }
    return -1;
}

/* The operator's own judgement of values that it might have made, where all of them are at hand. */
static status judge(const evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    attempt a = {0};
    outputs_init(&a.out);
    bool all = n->call.op->row->check != NULL && !n->call.op->in_place;
    for (int k = 0; all && k < n->out->n; k++) {
        all = e->known[node][k];
    }
    tensor *arguments[64];
    int n_arguments = call_all_tensors(&n->call, arguments, countof(arguments));
    for (int i = 0; all && i < n_arguments; i++) {
        all = n_arguments <= (int)countof(arguments) && is_known(e, node, arguments[i]);
    }
    if (!all) {
        return ASSAY_OK;
    }
    status result = make_arguments(e, &a, node, false);
    for (int k = 0; result == ASSAY_OK && k < n->out->n; k++) {
        tensor *t = NULL;
        result = outputs_next(&a.out, &t, e->err);
        if (result == ASSAY_OK) {
            tensor_share(t, &e->taken[index_of_output(e->g, &n->out->items[k])]);
        }
    }
    result = result == ASSAY_OK ? n->call.op->row->check(&a.call, &a.out, e->err) : result;
    attempt_clear(&a);
    return result;
}

static status take_undetermined(evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    for (int k = 0; k < n->out->n; k++) {
        tensor *t = NULL;
        int output = index_of_output(e->g, &n->out->items[k]);
        TRY(outputs_next(e->own[node], &t, e->err));
        e->known[node][k] = e->taken != NULL && output >= 0;
        if (e->known[node][k]) {
            TRY(copy_as(e, &e->taken[output], widened(n->out->items[k].dtype), t));
        } else {
            TRY(target_of(e, node, k, t));
        }
    }
    bool makes_it_up = n->call.op->row->is_random || n->call.op->row->check != NULL;
    return makes_it_up && !e->perturbs && e->taken != NULL ? judge(e, node) : ASSAY_OK;
}

static bool is_determined(const evaluation *e, int node) {
    const op_call *call = &e->g->nodes[node].call;
    bool determined = !call->op->row->is_random && call->op->row->check == NULL;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        for (int k = 0; k < (a->kind == ARG_TENSOR ? 1 : a->kind == ARG_TENSORS ? a->n : 0); k++) {
            determined = determined && is_known(e, node, a->kind == ARG_TENSOR ? a->tensor : a->tensors[k]);
        }
    }
    return determined;
}

/* --- all nodes ---------------------------------------------------------------------------------------------------------------- */

static bool has_reference(const op_row *row) {
    return row->is_view || row->reference != NULL || row->reference_element != NULL || row->reference_scalar != NULL ||
           row->reference_int != NULL || row->reference_moves != NULL;
}

static status run_node(evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    const op_row *row = n->call.op->row;
    if (!is_determined(e, node)) {
        return take_undetermined(e, node);
    }
    if (!has_reference(row)) {
        return fail(e->err, ASSAY_UNSUPPORTED, "%s has no reference", n->call.op->signature.full);
    }
    attempt a;
    bool wide = true;
    status result = make_attempt(e, &a, node, &wide);
    if (result == ASSAY_OK) {
        result = !row->is_view ? run_reference(e, node, &a)
                 : wide        ? share_views(e->own[node], &a.out, e->err)
                               : fail(e->err, ASSAY_UNSUPPORTED, "%s is no view in f64", n->call.op->signature.full);
    }
    attempt_clear(&a);
    for (int k = 0; k < n->out->n; k++) {
        e->known[node][k] = true;
    }
    return result;
}

static status prepare(evaluation *e) {
    const graph *g = e->g;
    e->inputs = arena_make(&e->memory, (size_t)g->n_inputs, sizeof *e->inputs);
    e->own = arena_make(&e->memory, (size_t)g->n_nodes, sizeof *e->own);
    e->known = arena_make(&e->memory, (size_t)g->n_nodes, sizeof *e->known);
    outputs *all = arena_make(&e->memory, (size_t)g->n_nodes, sizeof *all);
    if (e->inputs == NULL || e->own == NULL || e->known == NULL || all == NULL) {
        return no_memory(e);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        outputs_init(&all[i]);
        e->own[i] = &all[i];
        e->known[i] = arena_make(&e->memory, (size_t)g->nodes[i].out->n, sizeof(bool));
        if (e->known[i] == NULL) {
            return no_memory(e);
        }
    }
    for (int i = 0; i < g->n_inputs; i++) {
        const tensor *from = g->inputs[i].value;
        TRY(copy_as(e, from, widened(from->dtype), &e->inputs[i]));
    }
    return ASSAY_OK;
}

static void evaluation_clear(evaluation *e) {
    for (int i = 0; e->own != NULL && i < e->g->n_nodes && e->own[i] != NULL; i++) {
        outputs_clear(e->own[i]);
    }
    for (int i = 0; e->inputs != NULL && i < e->g->n_inputs; i++) {
        tensor_clear(&e->inputs[i]);
    }
    arena_clear(&e->memory);
}

/* Hands every output's dense values to `take`. */
typedef void take_fn(exact_output *out, const double *values, int64_t n_parts);

static status evaluate(evaluation *e, exact *out, take_fn *take) {
    status result = prepare(e);
    for (int i = 0; result == ASSAY_OK && i < e->g->n_nodes; i++) {
        result = run_node(e, i);
    }
    for (int i = 0; result == ASSAY_OK && i < e->g->n_outputs; i++) {
        int node = 0, k = 0;
        graph_find_maker(e->g, e->g->outputs[i], &node, &k);
        const tensor *t = graph_own_value(e->g, e->g->n_nodes, e->own, e->g->outputs[i]);
        int64_t n_parts = tensor_numel(t) * width_of(t);
        double *values = malloc((size_t)(n_parts > 0 ? n_parts : 1) * sizeof *values);
        out->outputs[i].is_known = e->known[node][k];
        if (values == NULL) {
            result = no_memory(e);
        } else if (out->outputs[i].is_known) {
            ref_gather(t, values);
            take(&out->outputs[i], values, n_parts);
        }
        free(values);
    }
    evaluation_clear(e);
    return result;
}

/* --- from deviations to slack ------------------------------------------------------------------------------------------------- */

static void take_value(exact_output *out, const double *values, int64_t n_parts) {
    if (n_parts > 0) {
        memcpy(out->value, values, (size_t)n_parts * sizeof *values);
    }
}

/* In slack, until finish_output: the largest deviation seen. A value that is a number here and none there may be anything. */
static void take_deviation(exact_output *out, const double *values, int64_t n_parts) {
    for (int64_t i = 0; i < n_parts; i++) {
        double a = out->value[i], b = values[i];
        bool same = a == b || (isnan(a) && isnan(b));
        double deviation = same ? 0 : isfinite(a) && isfinite(b) ? fabs(a - b) : (double)INFINITY;
        out->slack[i] = fmax(out->slack[i], deviation);
    }
}

static double mean_square(const double *values, int64_t n) {
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += isfinite(values[i]) ? values[i] * values[i] : 0;
        finite += isfinite(values[i]) ? 1 : 0;
    }
    return finite > 0 ? sum / (double)finite : 0;
}

/* A few samples may miss how far one element's error reaches; its neighbours and the size of its value tell as well. */
static void finish_output(exact_output *out, dtype t, int64_t n_parts) {
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        return;
    }
    double values = mean_square(out->value, n_parts), deviations = mean_square(out->slack, n_parts);
    double share = values > 0 ? sqrt(deviations / values) : 0;
    for (int64_t from = 0; from < n_parts; from += BLOCK) {
        int64_t n = n_parts - from < BLOCK ? n_parts - from : BLOCK;
        double near = sqrt(mean_square(out->slack + from, n));
        for (int64_t i = from; i < from + n; i++) {
            double by_size = isfinite(out->value[i]) ? share * fabs(out->value[i]) : 0;
            out->slack[i] = SAFETY * fmax(out->slack[i], fmax(near, by_size));
        }
    }
}

status exact_make(arena *memory, const graph *g, const tensor *taken, uint64_t seed, exact *out, error *err) {
    exact made = {.outputs = arena_make(memory, (size_t)g->n_outputs, sizeof *made.outputs)};
    for (int i = 0; made.outputs != NULL && i < g->n_outputs; i++) {
        exact_output *o = &made.outputs[i];
        o->n = tensor_numel(g->outputs[i]);
        o->value = arena_make(memory, (size_t)o->n * (size_t)width_of(g->outputs[i]), sizeof(double));
        o->slack = arena_make(memory, (size_t)o->n * (size_t)width_of(g->outputs[i]), sizeof(double));
        if (o->value == NULL || o->slack == NULL) {
            made.outputs = NULL;
        }
    }
    if (made.outputs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
    }
    for (int s = 0; s <= EXACT_SAMPLES; s++) {
        evaluation e = {.g = g,
                        .taken = taken,
                        .perturbs = s > 0,
                        .coins = rng_make_stream(seed, (uint64_t)s),
                        .err = err};
        TRY(evaluate(&e, &made, s > 0 ? take_deviation : take_value));
    }
    for (int i = 0; i < g->n_outputs; i++) {
        finish_output(&made.outputs[i], g->outputs[i]->dtype, made.outputs[i].n * width_of(g->outputs[i]));
    }
    *out = made;
    return ASSAY_OK;
}

double exact_bytes(const graph *g) {
    double elements = 0, largest = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        elements += (double)tensor_span(g->inputs[i].value);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        double sum = 0;
        for (int k = 0; k < g->nodes[i].out->n; k++) {
            sum += (double)tensor_span(&g->nodes[i].out->items[k]);
        }
        elements += sum;
        largest = sum > largest ? sum : largest;
    }
    for (int i = 0; i < g->n_outputs; i++) {
        elements += 3 * (double)tensor_numel(g->outputs[i]);
    }
    /* 16: a complex number. A reference has dense copies of what it reads and its values and norms beside the tensors. */
    return 16 * (elements + 6 * largest);
}

void exact_compare(const exact *e, int i, const tensor *actual, agreement *out) {
    const exact_output *o = &e->outputs[i];
    const agree_rule rule = {.reduction = 1, .roundings = 1, .slack = o->slack};
    *out = (agreement){.agrees = true, .worst = -1};
    if (o->is_known) {
        agree_compare(actual, NULL, o->n, o->value, NULL, &rule, out);
    }
}
