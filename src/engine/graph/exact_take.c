/* SPDX-License-Identifier: Apache-2.0 */
/* What a random operator drew is taken from the outputs that show it, and judged by the operator's row. */
#include "engine/graph/exact_take.h"

#include "engine/schema/reference.h"

#include <math.h>
#include <stdlib.h>

static bool knows_arguments(const evaluation *e, int node) {
    tensor *arguments[64];
    int n = call_all_tensors(&e->g->nodes[node].call, arguments, countof(arguments));
    bool all = n <= (int)countof(arguments);
    for (int i = 0; all && i < n; i++) {
        all = evaluation_knows(e, node, arguments[i]);
    }
    return all;
}

/* Whether all that node draws is seen, so that the rest follows from that and from its arguments. */
static bool is_settled(const evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    const op_row *row = n->call.op->row;
    bool all = e->taken != NULL && row->is_random && row->drawn != 0 && !n->call.op->in_place && knows_arguments(e, node);
    for (int k = 0; all && k < n->out->n; k++) {
        all = (row->drawn >> k & 1) == 0 || evaluation_shown(e->g, node, &n->out->items[k]) >= 0;
    }
    return all;
}

static status settle_by(evaluation *e, int node, const attempt *a, arena *memory) {
    enum { MOST_OUTPUTS = 8 };
    const graph_node *n = &e->g->nodes[node];
    const tensor *taken[MOST_OUTPUTS] = {NULL};
    double *made[MOST_OUTPUTS];
    if (n->out->n > MOST_OUTPUTS) {
        return fail(e->err, ASSAY_INTERNAL, "%s has too many outputs to follow", n->call.op->signature.full);
    }
    for (int k = 0; k < n->out->n; k++) {
        int output = evaluation_shown(e->g, node, &n->out->items[k]);
        taken[k] = output >= 0 ? &e->taken[output] : NULL;
        made[k] = arena_make(memory, (size_t)tensor_numel(&n->out->items[k]) + 1, sizeof(double));
        TRY(made[k] != NULL ? ASSAY_OK : evaluation_no_memory(e));
    }
    TRY(n->call.op->row->follow(&a->call, taken, 0, made, e->err));
    for (int k = 0; k < n->out->n; k++) {
        const tensor *form = &n->out->items[k];
        tensor *t = NULL;
        TRY(e->perturbs ? evaluation_perturb(e, n, form, tensor_numel(form), made[k], made[k]) : ASSAY_OK);
        TRY(outputs_next(e->own[node], &t, e->err));
        TRY(evaluation_target(e, node, k, t));
        evaluation_store(t, made[k]);
        e->known[node][k] = true;
    }
    return ASSAY_OK;
}

static status settle(evaluation *e, int node) {
    attempt a;
    arena memory = {0};
    bool wide = true;
    status result = attempt_make(e, &a, node, &wide);
    result = result == ASSAY_OK ? settle_by(e, node, &a, &memory) : result;
    attempt_clear(&a);
    arena_clear(&memory);
    return result;
}

/* The operator's own judgement of values that it might have made, where all of them are at hand. What follows from others is not
   judged: outputs are compared with it. */
static status judge(const evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    attempt a = {0};
    outputs_init(&a.out);
    bool all = n->call.op->row->check != NULL && !n->call.op->in_place && knows_arguments(e, node);
    for (int k = 0; all && k < n->out->n; k++) {
        all = e->known[node][k];
    }
    if (!all) {
        return ASSAY_OK;
    }
    const uint32_t drawn = n->call.op->row->drawn;
    status result = attempt_arguments(e, &a, node, false);
    for (int k = 0; result == ASSAY_OK && k < n->out->n; k++) {
        const tensor *form = &n->out->items[k];
        tensor *t = NULL;
        result = outputs_next(&a.out, &t, e->err);
        if (result == ASSAY_OK && drawn != 0 && (drawn >> k & 1) == 0) {
            result = evaluation_copy(e, &e->own[node]->items[k], form->dtype, t);
        } else if (result == ASSAY_OK) {
            tensor_share(t, &e->taken[evaluation_shown(e->g, node, form)]);
        }
    }
    result = result == ASSAY_OK ? n->call.op->row->check(&a.call, &a.out, e->err) : result;
    attempt_clear(&a);
    return result;
}

/* What is taken has been rounded to its type; what a kernel goes on with need not have been. */
static status unround(evaluation *e, int node, int k, tensor *t) {
    const graph_node *n = &e->g->nodes[node];
    int64_t numel = tensor_numel(t), parts = numel * evaluation_width(t);
    double *values = malloc((size_t)(parts + numel + 1) * sizeof *values), *norm = values != NULL ? values + parts : NULL;
    if (values == NULL || dtype_category_of(t->dtype) < CATEGORY_FLOATING) {
        free(values);
        return values == NULL ? evaluation_no_memory(e) : ASSAY_OK;
    }
    ref_gather(t, values);
    for (int64_t i = 0; i < numel; i++) {
        norm[i] = parts == numel ? fabs(values[i]) : hypot(values[2 * i], values[2 * i + 1]);
    }
    status result = evaluation_perturb(e, n, &n->out->items[k], numel, values, norm);
    if (result == ASSAY_OK) {
        evaluation_store(t, values);
    }
    free(values);
    return result;
}

static status take_drawn(evaluation *e, int node) {
    const graph_node *n = &e->g->nodes[node];
    for (int k = 0; k < n->out->n; k++) {
        tensor *t = NULL;
        int output = evaluation_shown(e->g, node, &n->out->items[k]);
        TRY(outputs_next(e->own[node], &t, e->err));
        TRY(evaluation_target(e, node, k, t));
        e->known[node][k] = e->taken != NULL && output >= 0;
        if (e->known[node][k]) {
            evaluation_put(&e->taken[output], t);
            TRY(e->perturbs && !n->call.op->row->draws_exactly ? unround(e, node, k, t) : ASSAY_OK);
        } else if (n->call.op->in_place) {
            e->lost[e->n_lost++] = t->storage;
        }
    }
    return ASSAY_OK;
}

status evaluation_take(evaluation *e, int node) {
    const op_row *row = e->g->nodes[node].call.op->row;
    TRY(is_settled(e, node) ? settle(e, node) : take_drawn(e, node));
    return (row->is_random || row->check != NULL) && !e->perturbs && e->taken != NULL ? judge(e, node) : ASSAY_OK;
}

