/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates graphs in double: wide copies of the inputs, one reference after the other, errors of a known size thrown in. */
#include "engine/graph/exact.h"

#include "engine/graph/exact_take.h"
#include "engine/schema/fill.h"
#include "engine/schema/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often the deviation seen counts, of few samples and of many, of which the largest is larger: docs/accuracy.md. */
static const double SAFETY = 3, SAFETY_OF_MANY = 1.5;

/* Elements that share one estimate of how far errors reach. */
enum { BLOCK = 32 };

/* --- one node ---------------------------------------------------------------------------------------------------------------- */

/* What a call writes besides its outputs, found while every operand is as it was. values[i]: argument i's, or NULL. */
static status run_written(evaluation *e, const graph_node *n, ref_ctx *ctx, double **values) {
    for (int i = 0; i < n->call.op->signature.n_params; i++) {
        const tensor *t = ref_written_tensor(&n->call, i);
        if (t == NULL) {
            continue;
        }
        size_t numel = (size_t)tensor_numel(t);
        ref_request request = {.n = (int64_t)numel, .value = ref_make(ctx, numel, sizeof(double)),
                               .norm = ref_make(ctx, numel, sizeof(double))};
        TRY(ctx->failed == ASSAY_OK ? ASSAY_OK : evaluation_no_memory(e));
        TRY(ref_run_written(ctx, i, &request, e->err));
        TRY(e->perturbs ? evaluation_perturb(e, n, t, request.n, request.value, request.norm) : ASSAY_OK);
        values[i] = request.value;
    }
    return ASSAY_OK;
}

/* Where a call has more than one right answer: the one that was taken. */
static status follow(const evaluation *e, int node, const attempt *a, ref_request *requests) {
    enum { MOST_OUTPUTS = 8 };
    const graph_node *n = &e->g->nodes[node];
    const op_row *row = n->call.op->row;
    const tensor *taken[MOST_OUTPUTS] = {NULL};
    double *made[MOST_OUTPUTS];
    if (row->follow == NULL || e->taken == NULL || a->out.n > MOST_OUTPUTS) {
        return ASSAY_OK;
    }
    const tensor *of = call_tensor(&n->call, 0);
    const bool is_rounded = dtype_is_floating(of->dtype) && graph_find_input(e->g, of) < 0;
    for (int k = 0; k < a->out.n; k++) {
        int output = evaluation_shown(e->g, node, &n->out->items[k]);
        taken[k] = output >= 0 ? &e->taken[output] : NULL;
        made[k] = requests[k].value;
    }
    return row->follow(&a->call, taken, is_rounded ? sqrt(dtype_epsilon(of->dtype)) : 0, made, e->err);
}

static status run_reference(evaluation *e, int node, const attempt *a) {
    const graph_node *n = &e->g->nodes[node];
    outputs *own = e->own[node];
    ref_ctx ctx;
    TRY(ref_init(&ctx, &a->call, &a->out, e->err));
    ref_judge(&ctx, n->out);
    ref_request *requests = ref_make(&ctx, (size_t)a->out.n, sizeof *requests);
    status result = requests != NULL ? ASSAY_OK : evaluation_no_memory(e);
    for (int k = 0; result == ASSAY_OK && k < a->out.n; k++) {
        size_t numel = (size_t)tensor_numel(&a->out.items[k]);
        requests[k] = (ref_request){.n = (int64_t)numel,
                                    .value = ref_make(&ctx, numel * (size_t)evaluation_width(&a->out.items[k]), sizeof(double)),
                                    .norm = ref_make(&ctx, numel, sizeof(double))};
        result = ctx.failed == ASSAY_OK ? ASSAY_OK : evaluation_no_memory(e);
    }
    double *written[SIGNATURE_MAX_PARAMS] = {NULL};
    result = result == ASSAY_OK ? ref_run(&ctx, requests, e->err) : result;
    result = result == ASSAY_OK ? run_written(e, n, &ctx, written) : result;
    for (int i = 0; result == ASSAY_OK && i < n->call.op->signature.n_params; i++) {
        if (written[i] != NULL) {
            evaluation_store(evaluation_value(e, node, call_tensor(&n->call, i)), written[i]);
        }
    }
    result = result == ASSAY_OK ? follow(e, node, a, requests) : result;
    for (int k = 0; result == ASSAY_OK && k < a->out.n; k++) {
        tensor *t = NULL;
        result = e->perturbs ? evaluation_perturb(e, n, &n->out->items[k], requests[k].n, requests[k].value, requests[k].norm) : ASSAY_OK;
        result = result == ASSAY_OK ? outputs_next(own, &t, e->err) : result;
        result = result == ASSAY_OK ? evaluation_target(e, node, k, t) : result;
        if (result == ASSAY_OK) {
            evaluation_store(t, requests[k].value);
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

static bool is_determined(const evaluation *e, int node) {
    const op_call *call = &e->g->nodes[node].call;
    bool determined = !call->op->row->is_random && call->op->row->check == NULL;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        for (int k = 0; k < (a->kind == ARG_TENSOR ? 1 : a->kind == ARG_TENSORS ? a->n : 0); k++) {
            determined = determined && evaluation_knows(e, node, a->kind == ARG_TENSOR ? a->tensor : a->tensors[k]);
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
        return evaluation_take(e, node);
    }
    if (!has_reference(row)) {
        return fail(e->err, ASSAY_UNSUPPORTED, "%s has no reference", n->call.op->signature.full);
    }
    attempt a;
    bool wide = true;
    status result = attempt_make(e, &a, node, &wide);
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
    e->lost = arena_make(&e->memory, (size_t)g->n_nodes, sizeof *e->lost);
    outputs *all = arena_make(&e->memory, (size_t)g->n_nodes, sizeof *all);
    if (e->inputs == NULL || e->own == NULL || e->known == NULL || e->lost == NULL || all == NULL) {
        return evaluation_no_memory(e);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        outputs_init(&all[i]);
        e->own[i] = &all[i];
        e->known[i] = arena_make(&e->memory, (size_t)g->nodes[i].out->n, sizeof(bool));
        if (e->known[i] == NULL) {
            return evaluation_no_memory(e);
        }
    }
    for (int i = 0; i < g->n_inputs; i++) {
        const tensor *from = g->inputs[i].value;
        TRY(evaluation_copy(e, from, evaluation_wide_type(from->dtype), &e->inputs[i]));
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
        const tensor *t = graph_own_value(e->g, e->g->n_nodes, e->own, e->g->outputs[i]);
        int64_t n_parts = tensor_numel(t) * evaluation_width(t);
        double *values = malloc((size_t)(n_parts > 0 ? n_parts : 1) * sizeof *values);
        out->outputs[i].is_known = evaluation_knows(e, e->g->n_nodes, e->g->outputs[i]);
        if (values == NULL) {
            result = evaluation_no_memory(e);
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
static void finish_output(exact_output *out, dtype t, int64_t n_parts, double safety) {
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
            out->slack[i] = safety * fmax(out->slack[i], fmax(near, by_size));
        }
    }
}

/* Samples beyond the first few go in pairs, one with the coins of the other turned over: what one error decides is seen by either. */
static evaluation sample(const graph *g, const tensor *taken, uint64_t seed, int s, error *err) {
    const bool turns = s > EXACT_SAMPLES && (s - EXACT_SAMPLES) % 2 == 0;
    return (evaluation){.g = g,
                        .taken = taken,
                        .perturbs = s > 0,
                        .turns = turns,
                        .overflows = s % 2 == 1,
                        .coins = rng_make_stream(seed, (uint64_t)(turns ? s - 1 : s)),
                        .err = err};
}

static status make(arena *memory, const graph *g, const tensor *taken, uint64_t seed, int samples, exact *out, error *err) {
    exact made = {.outputs = arena_make(memory, (size_t)g->n_outputs, sizeof *made.outputs)};
    for (int i = 0; made.outputs != NULL && i < g->n_outputs; i++) {
        exact_output *o = &made.outputs[i];
        o->n = tensor_numel(g->outputs[i]);
        o->value = arena_make(memory, (size_t)o->n * (size_t)evaluation_width(g->outputs[i]), sizeof(double));
        o->slack = arena_make(memory, (size_t)o->n * (size_t)evaluation_width(g->outputs[i]), sizeof(double));
        if (o->value == NULL || o->slack == NULL) {
            made.outputs = NULL;
        }
    }
    if (made.outputs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
    }
    for (int s = 0; s <= samples; s++) {
        evaluation e = sample(g, taken, seed, s, err);
        TRY(evaluate(&e, &made, s > 0 ? take_deviation : take_value));
    }
    const double safety = samples > EXACT_SAMPLES ? SAFETY_OF_MANY : SAFETY;
    for (int i = 0; i < g->n_outputs; i++) {
        finish_output(&made.outputs[i], g->outputs[i]->dtype, made.outputs[i].n * evaluation_width(g->outputs[i]), safety);
    }
    *out = made;
    return ASSAY_OK;
}

status exact_make(arena *memory, const graph *g, const tensor *taken, uint64_t seed, exact *out, error *err) {
    return make(memory, g, taken, seed, EXACT_SAMPLES, out, err);
}

status exact_make_well(arena *memory, const graph *g, const tensor *taken, uint64_t seed, exact *out, error *err) {
    return make(memory, g, taken, seed, EXACT_MANY_SAMPLES, out, err);
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
