/* SPDX-License-Identifier: Apache-2.0 */
/* The reference as a backend: a row's reference over every element, rounded once to the output's type. */
#include "engine/backend/backend.h"

#include "engine/schema/reference.h"

#include <stdlib.h>

typedef struct reference_plan {
    plan base;
    const op_call *call;
    outputs out;
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

static status run(plan *base, error *err) {
    reference_plan *p = (reference_plan *)base;
    if (p->call->op->row->is_view) {
        return ASSAY_OK;
    }
    ref_ctx ctx;
    TRY(ref_init(&ctx, p->call, &p->out, err));
    ref_request *requests = ref_make(&ctx, (size_t)p->out.n, sizeof *requests);
    status result = requests != NULL ? ASSAY_OK : ASSAY_OUT_OF_MEMORY;
    for (int i = 0; result == ASSAY_OK && i < p->out.n; i++) {
        int64_t n = tensor_numel(&p->out.items[i]);
        int width = dtype_is_complex(p->out.items[i].dtype) ? 2 : 1;
        requests[i] = (ref_request){.n = n, .value = ref_make(&ctx, (size_t)n * (size_t)width, sizeof(double))};
        result = requests[i].value != NULL ? ASSAY_OK : ASSAY_OUT_OF_MEMORY;
    }
    if (result != ASSAY_OK) {
        fail(err, result, "no memory for the reference of %s", p->call->op->signature.full);
    } else {
        result = ref_run(&ctx, requests, err);
    }
    for (int i = 0; result == ASSAY_OK && i < p->out.n; i++) {
        store_dense(&p->out.items[i], requests[i].value);
    }
    ref_clear(&ctx);
    return result;
}

static status output(plan *base, int i, tensor *out, error *err) {
    reference_plan *p = (reference_plan *)base;
    if (i < 0 || i >= p->out.n) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", p->out.n - 1, i);
    }
    tensor_share(out, &p->out.items[i]);
    return ASSAY_OK;
}

static void release(plan *base) {
    reference_plan *p = (reference_plan *)base;
    outputs_clear(&p->out);
    free(p);
}

static status covers(backend *b, const op *o, error *err) {
    (void)b;
    const op_row *row = o->row;
    bool has = row->is_view || row->reference != NULL || row->reference_element != NULL || row->reference_scalar != NULL ||
               row->reference_int != NULL || row->reference_moves != NULL;
    return has ? ASSAY_OK : fail(err, ASSAY_UNSUPPORTED, "values are not determined, so there is nothing to refer to");
}

static status prepare(backend *b, const graph *g, plan **out, error *err) {
    if (g->n_nodes != 1) {
        return fail(err, ASSAY_UNSUPPORTED, "reference runs single operators");
    }
    TRY(covers(b, g->nodes[0].call.op, err));
    reference_plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base = (plan){.run = run, .output = output, .release = release};
    p->call = &g->nodes[0].call;
    status result = op_infer(p->call, &p->out, err);
    for (int i = 0; result == ASSAY_OK && i < p->out.n; i++) {
        tensor *t = &p->out.items[i];
        if (t->sparse != NULL) {
            result = fail(err, ASSAY_UNSUPPORTED, "reference makes no sparse tensors");
        } else if (t->storage == NULL) {
            result = tensor_allocate(t, &device_cpu, err);
        }
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
