/* SPDX-License-Identifier: Apache-2.0 */
/* Embeddings and their gradient: rows by their indices. Bags of them are in embedding_bag.c. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/put.h"
#include "engine/kernels/cpu/take.h"

#include <string.h>

static status embedding_prepare(kernel_plan *plan, error *err) {
    const tensor *weight = call_tensor(plan->call, 0);
    indexing ix;
    indexing_of_dim(&ix, weight, 0, call_tensor(plan->call, 1));
    return take_prepare(plan, weight, &ix, err);
}

static status sum_run(kernel_plan *plan) {
    return put_run(plan->state, plan->err);
}

static status nothing_run(kernel_plan *plan) {
    (void)plan;
    return ASSAY_OK;
}

/* The gradient's rows as slices, its leading dimensions running beside those of the indices; where they do not match one
   to one, a flat look at the same rows will do when the gradient is contiguous. */
static status embedding_backward_prepare(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *indices = call_tensor(plan->call, 1), *out = &plan->out->items[0];
    plan->run = nothing_run;
    if (tensor_numel(out) == 0) {
        return ASSAY_OK;
    }
    indexing ix;
    int64_t strides[TENSOR_MAX_DIMS] = {0};
    indexing_of_dim(&ix, out, 0, indices);
    bool matches = grad->ndim == indices->ndim + 1 && memcmp(grad->sizes, indices->sizes, (size_t)indices->ndim * 8) == 0;
    if (matches) {
        memcpy(strides, grad->strides, (size_t)grad->ndim * sizeof strides[0]);
    } else if (tensor_is_contiguous(grad)) {
        sizes_contiguous_strides(ix.ndim, ix.sizes, strides);
    } else {
        return fail(err, ASSAY_UNSUPPORTED, "%s: grad_output is neither contiguous nor shaped like the indices",
                    plan->call->op->signature.full);
    }
    int64_t padding = call_int(plan->call, 3);
    put_options options = {.mode = PUT_SUM, .alpha = row_once(), .by_count = call_bool(plan->call, 4), .skip = padding};
    put *p;
    TRY(put_make(&p, plan, &ix, out, grad, strides, &options, err));
    plan->state = p;
    plan->run = sum_run;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "embedding.default", .prepare = embedding_prepare},
    {.op = "embedding_dense_backward.default", .prepare = embedding_backward_prepare, .note = "f16 and bf16 add in f32"},
};

const kernel_rows kernels_embedding = {rows, countof(rows)};
