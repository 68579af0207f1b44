/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions. */
#include "engine/ops/rows.h"
#include "engine/schema/reduction.h"

#include <math.h>

static dtype sum_type(const op_call *call, int dtype_arg) {
    dtype t = call_tensor(call, 0)->dtype;
    return call_dtype(call, dtype_arg, dtype_category_of(t) < CATEGORY_FLOATING ? ASSAY_I64 : t);
}

/* sum.dim_IntList(self, dim, keepdim, dtype) */
static status sum_dim_infer(const op_call *call, outputs *out, error *err) {
    return reduction_infer(call, 1, call_bool(call, 2), sum_type(call, 3), out, err);
}

static double sum_dim_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    reduction_walk w;
    const double *x = ref_real(ctx, 0);
    double sum = 0;
    if (x == NULL || !reduction_start(ctx, 1, flat, &w)) {
        return 0;
    }
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        sum += x[w.at];
        *norm += x[w.at] * x[w.at];
    }
    return sum;
}

static const op_row rows[] = {
    {.signature = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The sum over the given dimensions, over all when there are none; integers and booleans add up in i64.",
     .family = &family_reduction,
     .infer = sum_dim_infer,
     .reference_element = sum_dim_element},
};

const op_rows rows_reduce = {rows, countof(rows)};
