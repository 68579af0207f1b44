/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: dimensions, shapes and walks. */
#include "engine/schema/reduction.h"

#include <inttypes.h>

status reduction_mask(const op_call *call, int dims_arg, uint32_t *out, error *err) {
    int ndim = call_tensor(call, 0)->ndim;
    int n = 0;
    const arg *a = dims_arg >= 0 ? &call->args[dims_arg] : NULL;
    const int64_t *dims = a != NULL && a->kind == ARG_INT ? &a->i : NULL;
    if (dims != NULL) {
        n = 1;
    } else if (a != NULL) {
        dims = call_ints(call, dims_arg, &n);
    }
    uint32_t mask = n == 0 ? (1u << ndim) - 1 : 0;
    for (int i = 0; i < n; i++) {
        int d;
        TRY(dim_wrap(dims[i], ndim, &d, err));
        if ((mask >> d & 1) != 0) {
            return fail(err, ASSAY_INVALID, "dimension %" PRId64 " is named twice", dims[i]);
        }
        mask |= 1u << d;
    }
    *out = mask;
    return ASSAY_OK;
}

status reduction_infer(const op_call *call, int dims_arg, bool keepdim, dtype result, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    uint32_t mask;
    TRY(reduction_mask(call, dims_arg, &mask, err));
    int64_t sizes[TENSOR_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < self->ndim; d++) {
        bool is_reduced = (mask >> d & 1) != 0;
        if (!is_reduced || keepdim) {
            sizes[n++] = is_reduced ? 1 : self->sizes[d];
        }
    }
    return outputs_add(out, result, n, sizes, err);
}

bool reduction_start(const ref_ctx *ctx, int dims_arg, int64_t flat, reduction_walk *out) {
    const tensor *self = call_tensor(ctx->call, 0);
    uint32_t mask;
    if (reduction_mask(ctx->call, dims_arg, &mask, NULL) != ASSAY_OK) {
        return false;
    }
    int64_t stride = 1;
    *out = (reduction_walk){.n = 1};
    for (int d = self->ndim - 1; d >= 0; d--) {
        if ((mask >> d & 1) != 0) {
            out->sizes[out->ndim] = self->sizes[d];
            out->strides[out->ndim] = stride;
            out->n *= self->sizes[d];
            out->ndim++;
        } else {
            out->at += flat % self->sizes[d] * stride;
            flat /= self->sizes[d];
        }
        stride *= self->sizes[d];
    }
    return true;
}

bool reduction_next(reduction_walk *w) {
    for (int d = 0; d < w->ndim; d++) { /* dimension 0 of the walk is the innermost */
        w->at += w->strides[d];
        if (++w->index[d] < w->sizes[d]) {
            return true;
        }
        w->at -= w->strides[d] * w->sizes[d];
        w->index[d] = 0;
    }
    return false;
}

double reduction_length(const op_call *call, int dims_arg) {
    const tensor *self = call_tensor(call, 0);
    uint32_t mask;
    double n = 1;
    if (reduction_mask(call, dims_arg, &mask, NULL) == ASSAY_OK) {
        for (int d = 0; d < self->ndim; d++) {
            n *= (mask >> d & 1) != 0 ? (double)self->sizes[d] : 1;
        }
    }
    return n;
}

/* Comparisons count 0. */
static void choice_cost(const op_call *call, const outputs *out, op_cost *cost) {
    double n = (double)tensor_numel(call_tensor(call, 0));
    double kept = out->n > 0 ? (double)tensor_numel(&out->items[0]) : 1;
    cost->reduction = kept > 0 && n > kept ? n / kept : 1;
}

/* An addition for each input element. */
static void reduction_cost(const op_call *call, const outputs *out, op_cost *cost) {
    choice_cost(call, out, cost);
    cost->flops = flops_of_add(out->items[0].dtype) * (double)tensor_numel(call_tensor(call, 0));
}

const op_family family_choice = {.name = "reduction", .infer = NULL, .cost = choice_cost};
const op_family family_reduction = {.name = "reduction", .infer = NULL, .cost = reduction_cost};
