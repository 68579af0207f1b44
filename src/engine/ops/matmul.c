/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. Shapes: M rows of self, N columns of mat2, K summed over, B batches. */
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <inttypes.h>

static status matrices_agree(const op_call *call, const tensor *a, const tensor *b, int ndim, error *err) {
    if (a->ndim != ndim || b->ndim != ndim) {
        return fail(err, ASSAY_INVALID, "%s: expected tensors of %d dimensions, got %d and %d", call->op->signature.full,
                    ndim, a->ndim, b->ndim);
    }
    if (a->dtype != b->dtype) {
        return fail(err, ASSAY_INVALID, "%s: expected one dtype, got %s and %s", call->op->signature.full,
                    assay_dtype_name(a->dtype), assay_dtype_name(b->dtype));
    }
    if (a->sizes[ndim - 1] != b->sizes[ndim - 2] || (ndim == 3 && a->sizes[0] != b->sizes[0])) {
        return fail(err, ASSAY_INVALID,
                    "%s: shapes do not multiply: the last of self is %" PRId64 ", the last but one of mat2 is %" PRId64,
                    call->op->signature.full, a->sizes[ndim - 1], b->sizes[ndim - 2]);
    }
    return ASSAY_OK;
}

/* mm(self [M, K], mat2 [K, N]) -> [M, N] */
static status mm_infer(const op_call *call, outputs *out, error *err) {
    const tensor *a = call_tensor(call, 0), *b = call_tensor(call, 1);
    TRY(matrices_agree(call, a, b, 2, err));
    tensor *t = outputs_push(out);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return tensor_init(t, a->dtype, 2, (const int64_t[]){a->sizes[0], b->sizes[1]}, err);
}

static double mm_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const double *a = ref_real(ctx, 0), *b = ref_real(ctx, 1);
    int64_t k_size = call_tensor(ctx->call, 0)->sizes[1], n_size = ctx->out->items[out].sizes[1];
    int64_t m = flat / n_size, n = flat % n_size;
    double sum = 0;
    for (int64_t k = 0; a != NULL && b != NULL && k < k_size; k++) {
        double term = a[m * k_size + k] * b[k * n_size + n];
        sum += term;
        *norm += term * term;
    }
    return sum;
}

static void mm_cost(const op_call *call, const outputs *out, op_cost *cost) {
    double k = (double)call_tensor(call, 0)->sizes[1];
    cost->flops = 2 * k * (double)tensor_numel(&out->items[0]);
    cost->reduction = k;
}

static const op_family family_matmul = {.name = "matrix product", .cost = mm_cost};

static const op_row rows[] = {
    {.signature = "mm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "The matrix product of self [M, K] and mat2 [K, N].",
     .family = &family_matmul,
     .infer = mm_infer,
     .reference_element = mm_element},
};

const op_rows rows_matmul = {rows, countof(rows)};
