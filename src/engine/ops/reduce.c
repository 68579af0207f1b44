/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means, extremes and truth values over dimensions. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/reduction.h"
#include "engine/tensor/agree.h"

#include <inttypes.h>
#include <math.h>

enum { ALL = -1 }; /* dims_arg of rows that reduce everything */

/* --- sum and mean ------------------------------------------------------------------------------------------------------- */

/* Positions of the arguments of a sum or mean: dims (or ALL) and dtype. */
typedef struct sum_args {
    int dims;
    int dtype;
} sum_args;

static sum_args sum_args_of(const op_call *call) {
    const signature *s = &call->op->signature;
    return (sum_args){.dims = signature_find_param(s, "dim"), .dtype = signature_find_param(s, "dtype")};
}

static bool sum_keepdim(const op_call *call) {
    int at = signature_find_param(&call->op->signature, "keepdim");
    return at >= 0 && call_bool(call, at);
}

static status sum_infer(const op_call *call, outputs *out, error *err) {
    sum_args a = sum_args_of(call);
    dtype t = call_tensor(call, 0)->dtype;
    t = call_dtype(call, a.dtype, dtype_category_of(t) < CATEGORY_FLOATING ? ASSAY_I64 : t);
    return reduction_infer(call, a.dims, sum_keepdim(call), t, out, err);
}

static status mean_infer(const op_call *call, outputs *out, error *err) {
    sum_args a = sum_args_of(call);
    dtype t = call_dtype(call, a.dtype, call_tensor(call, 0)->dtype);
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating or complex type to average in, got %s",
                    call->op->signature.full, assay_dtype_name(t));
    }
    return reduction_infer(call, a.dims, sum_keepdim(call), t, out, err);
}

/* An integer sum wraps; a sum to bool asks whether anything is there. */
static double sum_ints(ref_ctx *ctx, int out, reduction_walk *w) {
    if (ctx->out->items[out].dtype == ASSAY_B8) {
        const double *x = ref_real(ctx, 0);
        int width = dtype_is_complex(call_tensor(ctx->call, 0)->dtype) ? 2 : 1;
        for (bool more = x != NULL && w->n > 0; more; more = reduction_next(w)) {
            if (x[w->at * width] != 0 || x[w->at * width + width - 1] != 0) {
                return 1;
            }
        }
        return 0;
    }
    const int64_t *x = ref_ints(ctx, 0);
    uint64_t sum = 0;
    for (bool more = x != NULL && w->n > 0; more; more = reduction_next(w)) {
        sum += (uint64_t)x[w->at];
    }
    return ref_wrapped(ctx, out, sum);
}

static double sum_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    reduction_walk w;
    dtype result = ctx->out->items[out].dtype;
    if (!reduction_start(ctx, sum_args_of(ctx->call).dims, flat, &w)) {
        return 0;
    }
    if (dtype_category_of(result) < CATEGORY_FLOATING) {
        return sum_ints(ctx, out, &w);
    }
    const double *x = ref_real(ctx, 0);
    int width = dtype_is_complex(call_tensor(ctx->call, 0)->dtype) ? 2 : 1; /* a real result drops imaginary parts */
    ref_sum sum = {0};
    for (bool more = x != NULL && w.n > 0; more; more = reduction_next(&w)) {
        double term = x[w.at * width];
        ref_sum_add(&sum, term);
        *norm += term * term;
    }
    return ref_sum_total(&sum);
}

/* A sum of what was cast to its type first, or was not. */
static double cast_sum_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    double squares = 0, sum = sum_element(ctx, out, flat, &squares);
    const double terms = reduction_length(ctx->call, sum_args_of(ctx->call).dims);
    *norm += squares * agree_cast_weight(call_tensor(ctx->call, 0)->dtype, ctx->out->items[out].dtype, terms);
    return sum;
}

static double mean_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    double n = reduction_length(ctx->call, sum_args_of(ctx->call).dims), squares = 0;
    double mean = sum_element(ctx, out, flat, &squares) / n;
    *norm += squares / (n * n);
    return mean;
}

/* Complex outputs, of any input: the sum over scale. */
static status sum_complex(ref_ctx *ctx, double scale) {
    int dims = sum_args_of(ctx->call).dims;
    const double *x = ref_real(ctx, 0);
    double *y = ref_output(ctx, 0);
    bool is_complex = dtype_is_complex(call_tensor(ctx->call, 0)->dtype);
    int width = is_complex ? 2 : 1;
    for (int64_t i = 0; x != NULL && y != NULL && i < tensor_numel(&ctx->out->items[0]); i++) {
        reduction_walk w;
        double re = 0, im = 0;
        bool walks = reduction_start(ctx, dims, i, &w);
        for (bool more = walks && w.n > 0; more; more = reduction_next(&w)) {
            re += x[w.at * width];
            im += is_complex ? x[w.at * width + 1] : 0;
        }
        y[2 * i] = re / scale;
        y[2 * i + 1] = im / scale;
    }
    return ASSAY_OK;
}

static status sum_whole(ref_ctx *ctx, error *err) {
    (void)err;
    return sum_complex(ctx, 1);
}

static status mean_whole(ref_ctx *ctx, error *err) {
    (void)err;
    return sum_complex(ctx, reduction_length(ctx->call, sum_args_of(ctx->call).dims));
}

/* --- any, all ------------------------------------------------------------------------------------------------------------- */

static status truth_infer(const op_call *call, outputs *out, error *err) {
    int dims = signature_find_param(&call->op->signature, "dim");
    dtype t = call_tensor(call, 0)->dtype == ASSAY_U8 ? ASSAY_U8 : ASSAY_B8; /* u8 was the truth type once; ATen keeps it */
    return reduction_infer(call, dims, sum_keepdim(call), t, out, err);
}

/* Whether any element's truth is `wanted`. */
static bool truth_found(ref_ctx *ctx, int64_t flat, bool wanted) {
    reduction_walk w;
    const double *x = ref_real(ctx, 0);
    int width = dtype_is_complex(call_tensor(ctx->call, 0)->dtype) ? 2 : 1;
    if (x == NULL || !reduction_start(ctx, signature_find_param(&ctx->call->op->signature, "dim"), flat, &w)) {
        return false;
    }
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        if ((x[w.at * width] != 0 || x[w.at * width + width - 1] != 0) == wanted) {
            return true;
        }
    }
    return false;
}

static double any_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out, (void)norm;
    return truth_found(ctx, flat, true);
}

static double all_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out, (void)norm;
    return !truth_found(ctx, flat, false);
}

/* --- max, min ------------------------------------------------------------------------------------------------------------- */

static status extreme_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim_arg = signature_find_param(&call->op->signature, "dim");
    if (dtype_is_complex(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: complex numbers have no order (%s)", call->op->signature.full,
                    assay_dtype_name(self->dtype));
    }
    if (dim_arg < 0) {
        if (tensor_numel(self) == 0) {
            return fail(err, ASSAY_INVALID, "%s: expected at least one element, got none", call->op->signature.full);
        }
        return reduction_infer(call, ALL, false, self->dtype, out, err);
    }
    int dim;
    TRY(dim_wrap(call_int(call, dim_arg), self->ndim, &dim, err));
    if (self->ndim > 0 && self->sizes[dim] == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected dimension %d to have elements, its size is 0",
                    call->op->signature.full, dim);
    }
    TRY(reduction_infer(call, dim_arg, sum_keepdim(call), self->dtype, out, err));
    return reduction_infer(call, dim_arg, sum_keepdim(call), ASSAY_I64, out, err);
}

/* The first NaN, else the first of the largest (sign 1) or smallest (sign -1); output 1 is its place along dim. */
static double extreme_element(ref_ctx *ctx, int out, int64_t flat, double sign) {
    reduction_walk w;
    const double *x = ref_real(ctx, 0);
    if (x == NULL || !reduction_start(ctx, signature_find_param(&ctx->call->op->signature, "dim"), flat, &w)) {
        return 0;
    }
    int64_t best = w.at, place = 0, best_place = 0;
    for (bool more = w.n > 0; more; more = reduction_next(&w), place++) {
        if (isnan(x[best])) {
            break;
        }
        if (isnan(x[w.at]) || sign * x[w.at] > sign * x[best]) {
            best = w.at;
            best_place = place;
        }
    }
    return out == 1 ? (double)best_place : x[best];
}

static double max_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    return extreme_element(ctx, out, flat, 1);
}

static double min_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    return extreme_element(ctx, out, flat, -1);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* How far from 0 numbers of an integer type can lie. */
static double largest_of(dtype t) {
    return t == ASSAY_B8 ? 1 : ldexp(1, 8 * (int)dtype_size(t));
}

static val sum_of(dag *g, const op_call *call, const outputs *out) {
    uint32_t mask = 0;
    dtype compute = primitive_compute_type(out->items[0].dtype);
    if (reduction_mask(call, sum_args_of(call).dims, &mask, NULL) != ASSAY_OK) {
        v_refuse(g, "dimensions out of range");
    }
    val x = v_raw(g, call, 0);
    if (out->items[0].dtype == ASSAY_B8) {
        return v_reduce(g, RED_SUM, v_truth(g, x), mask, sum_keepdim(call));
    }
    /* Small integers add up in 64 bits before they wrap, or in 32 where so many of them cannot. */
    compute = compute == ASSAY_I32 ? ASSAY_I64 : compute;
    const bool narrow = compute == ASSAY_I64 && reduction_length(call, sum_args_of(call).dims) * largest_of(v_dtype(g, x)) <= INT32_MAX;
    val sum = v_sum_alone(g, v_cast(g, x, narrow ? ASSAY_I32 : compute), mask, sum_keepdim(call));
    return v_cast(g, sum, compute);
}

static void sum_parts(dag *g, const op_call *call, const outputs *out) {
    v_result(g, 0, sum_of(g, call, out));
}

static void mean_parts(dag *g, const op_call *call, const outputs *out) {
    v_result(g, 0, v_mul_real(g, sum_of(g, call, out), 1 / reduction_length(call, sum_args_of(call).dims)));
}

/* The extreme and, of one dimension, its place there. */
static void extreme_of(dag *g, const op_call *call, reduction value, reduction place) {
    uint32_t mask = 0;
    int dim = signature_find_param(&call->op->signature, "dim");
    val x = v_arg(g, call, 0);
    if (reduction_mask(call, dim, &mask, NULL) != ASSAY_OK) {
        v_refuse(g, "dimensions out of range");
        return;
    }
    v_result(g, 0, (dim >= 0 && mask != 0 ? v_beside_places : v_reduce)(g, value, x, mask, sum_keepdim(call)));
    if (dim >= 0) {
        v_result(g, 1, mask != 0 ? v_reduce(g, place, x, mask, sum_keepdim(call)) : v_int(g, ASSAY_I64, 0));
    }
}

static void max_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    extreme_of(g, call, RED_MAX, RED_ARGMAX);
}

static void min_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    extreme_of(g, call, RED_MIN, RED_ARGMIN);
}

static void truth_of(dag *g, const op_call *call, reduction how) {
    uint32_t mask = 0;
    if (reduction_mask(call, signature_find_param(&call->op->signature, "dim"), &mask, NULL) != ASSAY_OK) {
        v_refuse(g, "dimensions out of range");
        return;
    }
    v_result(g, 0, v_reduce(g, how, v_truth(g, v_raw(g, call, 0)), mask, sum_keepdim(call)));
}

/* Of truth values the sum is the or, the product the and. */
static void any_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    truth_of(g, call, RED_SUM);
}

static void all_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    truth_of(g, call, RED_PROD);
}

static const op_row rows[] = {
    {.signature = "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The sum of all elements; integers and booleans add up in i64.",
     .family = &family_reduction,
     .infer = sum_infer,
     .decompose = sum_parts,
     .reference_element = cast_sum_element,
     .reference = sum_whole},
    {.signature = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The sum over the given dimensions, over all when there are none; integers and booleans add up in i64.",
     .family = &family_reduction,
     .infer = sum_infer,
     .decompose = sum_parts,
     .reference_element = cast_sum_element,
     .reference = sum_whole},
    {.signature = "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The mean of all elements.",
     .family = &family_reduction,
     .infer = mean_infer,
     .decompose = mean_parts,
     .reference_element = mean_element,
     .reference = mean_whole},
    {.signature = "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The mean over the given dimensions, over all when there are none.",
     .family = &family_reduction,
     .infer = mean_infer,
     .decompose = mean_parts,
     .reference_element = mean_element,
     .reference = mean_whole},
    {.signature = "max(Tensor self) -> Tensor",
     .doc = "The largest element; NaN if there is one.",
     .family = &family_choice,
     .infer = extreme_infer,
     .decompose = max_parts,
     .reference_element = max_element},
    {.signature = "min(Tensor self) -> Tensor",
     .doc = "The smallest element; NaN if there is one.",
     .family = &family_choice,
     .infer = extreme_infer,
     .decompose = min_parts,
     .reference_element = min_element},
    {.signature = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .doc = "The largest element along a dimension and its first place there; NaN is the largest.",
     .family = &family_choice,
     .infer = extreme_infer,
     .decompose = max_parts,
     .reference_element = max_element},
    {.signature = "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .doc = "The smallest element along a dimension and its first place there; NaN is the smallest.",
     .family = &family_choice,
     .infer = extreme_infer,
     .decompose = min_parts,
     .reference_element = min_element},
    {.signature = "any(Tensor self) -> Tensor",
     .doc = "Whether an element differs from zero.",
     .family = &family_choice,
     .infer = truth_infer,
     .decompose = any_parts,
     .reference_element = any_element},
    {.signature = "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .doc = "Whether an element differs from zero along a dimension.",
     .family = &family_choice,
     .infer = truth_infer,
     .decompose = any_parts,
     .reference_element = any_element},
    {.signature = "all(Tensor self) -> Tensor",
     .doc = "Whether every element differs from zero.",
     .family = &family_choice,
     .infer = truth_infer,
     .decompose = all_parts,
     .reference_element = all_element},
    {.signature = "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .doc = "Whether every element differs from zero along a dimension.",
     .family = &family_choice,
     .infer = truth_infer,
     .decompose = all_parts,
     .reference_element = all_element},
};

const op_rows rows_reduce = {rows, countof(rows)};
