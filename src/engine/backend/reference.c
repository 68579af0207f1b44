/* SPDX-License-Identifier: Apache-2.0 */
/* The reference as a backend: the rows' references over every element, one node after the other, each rounded once to its
   output's type. */
#include "engine/backend/backend.h"

#include "engine/schema/reference.h"

#include <stdlib.h>

typedef struct step {
    op_call call; /* with this plan's own values */
    outputs out;
} step;

typedef struct reference_plan {
    plan base;
    arena memory;
    const graph *g;
    int n_steps;
    step *steps;
    outputs **own; /* each step's */
} reference_plan;

static void store_dense(tensor *t, const double *values) {
    int64_t n = tensor_numel(t);
    char *data = tensor_data(t);
    for (int64_t i = 0; i < n; i++) {
        char *at = data + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype);
        if (dtype_is_complex(t->dtype)) {
            element_store_complex(t->dtype, at, CMPLX(values[2 * i], values[2 * i + 1]));
        } else {
            element_store(t->dtype, at, values[i]);
        }
    }
}

static bool make_request(ref_ctx *ctx, const tensor *t, ref_request *request) {
    size_t n = (size_t)tensor_numel(t), width = dtype_is_complex(t->dtype) ? 2 : 1;
    *request = (ref_request){.n = (int64_t)n, .value = ref_make(ctx, n * width, sizeof(double))};
    return request->value != NULL;
}

/* Nothing is stored before all is computed: what is stored may be an input (running statistics, self). */
static status compute(ref_ctx *ctx, ref_request *results, ref_request *written, error *err) {
    const int n_params = ctx->call->op->signature.n_params;
    bool has_room = results != NULL && written != NULL;
    for (int i = 0; has_room && i < ctx->out->n; i++) {
        has_room = make_request(ctx, &ctx->out->items[i], &results[i]);
    }
    for (int i = 0; has_room && i < n_params; i++) {
        const tensor *t = ref_written_tensor(ctx->call, i);
        has_room = t == NULL || make_request(ctx, t, &written[i]);
    }
    if (!has_room) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reference of %s", ctx->call->op->signature.full);
    }
    TRY(ref_run(ctx, results, err));
    for (int i = 0; i < n_params; i++) {
        TRY(written[i].value != NULL ? ref_run_written(ctx, i, &written[i], err) : ASSAY_OK);
    }
    return ASSAY_OK;
}

static status run_step(step *p, error *err) {
    if (p->call.op->row->is_view) {
        return ASSAY_OK;
    }
    const int n_params = p->call.op->signature.n_params;
    ref_ctx ctx;
    TRY(ref_init(&ctx, &p->call, &p->out, err));
    ref_request *requests = ref_make(&ctx, (size_t)p->out.n, sizeof *requests);
    ref_request *written = ref_make(&ctx, (size_t)n_params, sizeof *written);
    status result = compute(&ctx, requests, written, err);
    for (int i = 0; result == ASSAY_OK && i < p->out.n; i++) {
        store_dense(&p->out.items[i], requests[i].value);
    }
    for (int i = 0; result == ASSAY_OK && i < n_params; i++) {
        if (written[i].value != NULL) {
            store_dense(p->call.args[i].tensor, written[i].value);
        }
    }
    ref_clear(&ctx);
    return result;
}

static status run(plan *base, error *err) {
    reference_plan *p = (reference_plan *)base;
    for (int i = 0; i < p->n_steps; i++) {
        TRY(run_step(&p->steps[i], err));
    }
    return ASSAY_OK;
}

static status output(plan *base, int i, tensor *out, error *err) {
    reference_plan *p = (reference_plan *)base;
    if (i < 0 || i >= p->g->n_outputs) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", p->g->n_outputs - 1, i);
    }
    tensor_share(out, graph_own_value(p->g, p->n_steps, p->own, p->g->outputs[i]));
    return ASSAY_OK;
}

static void release(plan *base) {
    reference_plan *p = (reference_plan *)base;
    for (int i = 0; i < p->n_steps; i++) {
        outputs_clear(&p->steps[i].out);
    }
    arena_clear(&p->memory);
    free(p);
}

static status covers(backend *b, const op *o, error *err) {
    (void)b;
    const op_row *row = o->row;
    bool has = row->is_view || row->reference != NULL || row->reference_element != NULL || row->reference_scalar != NULL ||
               row->reference_int != NULL || row->reference_moves != NULL;
    return has ? ASSAY_OK : fail(err, ASSAY_UNSUPPORTED, "values are not determined, so there is nothing to refer to");
}

static status prepare_step(backend *b, reference_plan *p, int index, error *err) {
    step *s = &p->steps[index];
    TRY(covers(b, p->g->nodes[index].call.op, err));
    p->own[index] = &s->out;
    TRY(graph_redirect(&p->memory, p->g, index, p->own, &s->call, err));
    TRY(op_infer(&s->call, &s->out, err));
    for (int i = 0; i < s->out.n; i++) {
        tensor *t = &s->out.items[i];
        if (t->sparse != NULL) {
            return fail(err, ASSAY_UNSUPPORTED, "reference makes no sparse tensors");
        }
        if (t->storage == NULL) {
            TRY(tensor_allocate(t, &device_cpu, err));
        }
    }
    return ASSAY_OK;
}

static status prepare(backend *b, const graph *g, plan **out, error *err) {
    reference_plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base = (plan){.run = run, .output = output, .release = release};
    p->g = g;
    p->steps = arena_make(&p->memory, (size_t)g->n_nodes, sizeof *p->steps);
    p->own = arena_make(&p->memory, (size_t)g->n_nodes, sizeof *p->own);
    status result = p->steps != NULL && p->own != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    while (result == ASSAY_OK && p->n_steps < g->n_nodes) {
        outputs_init(&p->steps[p->n_steps].out);
        result = prepare_step(b, p, p->n_steps, err);
        p->n_steps++; /* counted even when it failed, so that what it made is released */
    }
    if (result != ASSAY_OK) {
        release(&p->base);
        return result;
    }
    *out = &p->base;
    return ASSAY_OK;
}

static void close_reference(backend *b) {
    free(b);
}

status backend_reference_open(const op_table *table, backend **out, error *err) {
    (void)table;
    backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reference backend");
    }
    *b = (backend){.name = "reference",
                   .doc = "the operators' definitions in double, slow and plain",
                   .prepare = prepare,
                   .covers = covers,
                   .close = close_reference};
    *out = b;
    return ASSAY_OK;
}
