/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm along one dimension, and their backwards. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/reduction.h"

#include <math.h>
#include <stdlib.h>

/* The shape seen along the dimension: lines of n elements, `inner` apart, in a row-major tensor. */
typedef struct lines {
    int64_t n;
    int64_t inner;
} lines;

static lines lines_of(const tensor *t, int64_t dim) {
    lines l = {1, 1};
    int wrapped;
    if (t->ndim > 0 && dim_wrap(dim, t->ndim, &wrapped, NULL) == ASSAY_OK) {
        l.n = t->sizes[wrapped];
        for (int d = wrapped + 1; d < t->ndim; d++) {
            l.inner *= t->sizes[d];
        }
    }
    return l;
}

static int64_t line_of(const lines *l, int64_t flat) {
    return flat / (l->n * l->inner) * l->inner + flat % l->inner;
}

static int64_t line_start(const lines *l, int64_t line) {
    return line / l->inner * l->n * l->inner + line % l->inner;
}

/* --- forward: (self, dim, half_to_float) -------------------------------------------------------------------------------------- */

static status softmax_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    if (!dtype_is_floating(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating tensor, got %s", call->op->signature.full,
                    assay_dtype_name(self->dtype));
    }
    /* PyTorch's GPUs know this of halves, its CPU not at all. Wider types stay: recorded inputs that are computed in them keep the flag. */
    bool to_float = call_bool(call, 2) && self->dtype != ASSAY_F64;
    return outputs_add(out, to_float ? ASSAY_F32 : self->dtype, self->ndim, self->sizes, err);
}

/* One line's largest element and the sum of exp(x - largest), kept for every line seen: ascending elements visit `inner`
   lines in turn. */
typedef struct line_sums {
    double *largest; /* NaN-marked in `known` until asked for */
    double *sum;
    bool *known;
} line_sums;

static line_sums *sums_of(ref_ctx *ctx, int64_t n_lines) {
    if (ctx->scratch == NULL) {
        line_sums *s = ref_make(ctx, 1, sizeof *s);
        if (s != NULL) {
            s->largest = ref_make(ctx, (size_t)n_lines, sizeof *s->largest);
            s->sum = ref_make(ctx, (size_t)n_lines, sizeof *s->sum);
            s->known = ref_make(ctx, (size_t)n_lines, sizeof *s->known);
        }
        ctx->scratch = ctx->failed == ASSAY_OK ? s : NULL;
    }
    return ctx->scratch;
}

static double softmax_value(ref_ctx *ctx, int64_t flat, bool logarithm, double *norm) {
    const tensor *self = call_tensor(ctx->call, 0);
    lines l = lines_of(self, call_int(ctx->call, 1));
    const double *x = ref_real(ctx, 0);
    line_sums *s = sums_of(ctx, tensor_numel(self) / l.n);
    if (x == NULL || s == NULL) {
        return 0;
    }
    int64_t line = line_of(&l, flat), start = line_start(&l, line);
    if (!s->known[line]) {
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < l.n; i++) {
            largest = fmax(largest, x[start + i * l.inner]);
        }
        for (int64_t i = 0; i < l.n; i++) {
            sum += exp(x[start + i * l.inner] - largest);
        }
        s->largest[line] = largest;
        s->sum[line] = sum;
        s->known[line] = true;
    }
    double shifted = x[flat] - s->largest[line];
    if (logarithm) {
        double log_sum = log(s->sum[line]);
        *norm += x[flat] * x[flat] + s->largest[line] * s->largest[line] + log_sum * log_sum;
        return shifted - log_sum;
    }
    double value = exp(shifted) / s->sum[line];
    *norm += value * value * (1 + shifted * shifted); /* the exponent's rounding moves the result in proportion */
    return value;
}

static double softmax_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return softmax_value(ctx, flat, false, norm);
}

static double log_softmax_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return softmax_value(ctx, flat, true, norm);
}

static void softmax_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    cost->flops = 5 * (double)tensor_numel(call_tensor(call, 0));
    cost->reduction = fmax((double)lines_of(call_tensor(call, 0), call_int(call, 1)).n, 1);
}

/* --- backward: (grad_output, output, dim, input_dtype) -------------------------------------------------------------------------- */

static status backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *output = call_tensor(call, 1);
    dtype t = call_dtype(call, 3, grad->dtype);
    int dim;
    TRY(dim_wrap(call_int(call, 2), grad->ndim, &dim, err));
    if (!tensor_same_sizes(grad, output)) {
        char a[TENSOR_TEXT_BYTES], b[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected grad_output and output of one shape, got %.160s and %.160s",
                    call->op->signature.full, tensor_describe(a, grad), tensor_describe(b, output));
    }
    if (!dtype_is_floating(grad->dtype) || !dtype_is_floating(output->dtype) || !dtype_is_floating(t)) {
        return fail(err, ASSAY_INVALID, "%s: expected floating types, got %s, %s and input_dtype %s",
                    call->op->signature.full, assay_dtype_name(grad->dtype), assay_dtype_name(output->dtype),
                    assay_dtype_name(t));
    }
    /* The gradient's own type, save back through half_to_float, which PyTorch's GPUs know. */
    const bool narrows = grad->dtype == ASSAY_F32 && t == ASSAY_F16;
    return outputs_add(out, narrows ? t : grad->dtype, grad->ndim, grad->sizes, err);
}

/* softmax: (g - sum(g * y)) * y; log_softmax: g - exp(y) * sum(g). `largest` holds the square sum of the sum's terms. */
static double backward_value(ref_ctx *ctx, int64_t flat, bool logarithm, double *norm) {
    const tensor *grad = call_tensor(ctx->call, 0);
    lines l = lines_of(grad, call_int(ctx->call, 2));
    const double *g = ref_real(ctx, 0), *y = ref_real(ctx, 1);
    line_sums *s = sums_of(ctx, tensor_numel(grad) / l.n);
    if (g == NULL || y == NULL || s == NULL) {
        return 0;
    }
    int64_t line = line_of(&l, flat), start = line_start(&l, line);
    if (!s->known[line]) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < l.n; i++) {
            int64_t at = start + i * l.inner;
            double term = logarithm ? g[at] : g[at] * y[at];
            sum += term;
            squares += term * term;
        }
        s->sum[line] = sum;
        s->largest[line] = squares;
        s->known[line] = true;
    }
    double factor = logarithm ? exp(y[flat]) : y[flat];
    double own = logarithm ? g[flat] : g[flat] * factor;
    *norm += own * own + factor * factor * s->largest[line] + (logarithm ? y[flat] * y[flat] * factor * factor : 0);
    return own - factor * s->sum[line];
}

static double softmax_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return backward_value(ctx, flat, false, norm);
}

static double log_softmax_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return backward_value(ctx, flat, true, norm);
}

/* The forward's output is a distribution (or its logarithm): the values at hand become the logits of one. */
static status fill_distribution(const op_call *call, bool logarithm, error *err) {
    tensor *output = call_tensor(call, 1);
    int64_t n = tensor_numel(output);
    lines l = lines_of(output, call_int(call, 2));
    if (tensor_data(output) == NULL || n == 0) {
        return ASSAY_OK;
    }
    double *x = malloc((size_t)n * sizeof *x);
    if (x == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to make a distribution", call->op->signature.full);
    }
    ref_gather(output, x);
    for (int64_t line = 0; line < n / l.n; line++) {
        int64_t start = line_start(&l, line);
        double sum = 0;
        for (int64_t i = 0; i < l.n; i++) {
            sum += exp(x[start + i * l.inner]);
        }
        for (int64_t i = 0; i < l.n; i++) {
            double *at = &x[start + i * l.inner];
            *at = logarithm ? *at - log(sum) : exp(*at) / sum;
        }
    }
    fill_from(output, x);
    free(x);
    return ASSAY_OK;
}

static status softmax_backward_inputs(const op_call *call, rng *r, error *err) {
    (void)r;
    return fill_distribution(call, false, err);
}

static status log_softmax_backward_inputs(const op_call *call, rng *r, error *err) {
    (void)r;
    return fill_distribution(call, true, err);
}

static void backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    cost->flops = 4 * (double)tensor_numel(call_tensor(call, 0));
    cost->reduction = fmax((double)lines_of(call_tensor(call, 0), call_int(call, 2)).n, 1);
}

static const op_family family_softmax = {.name = "softmax", .infer = softmax_infer, .cost = softmax_cost};
static const op_family family_softmax_backward = {
    .name = "softmax backward", .infer = backward_infer, .cost = backward_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* self less its largest along the dimension, and the sum of its exponentials; `dim` as a set. */
static val shifted_of(dag *g, const op_call *call, val *exponential, val *sum) {
    val x = v_arg(g, call, 0);
    int dim = 0;
    bool flat = call_tensor(call, 0)->ndim == 0;
    if (!flat && dim_wrap(call_int(call, 1), call_tensor(call, 0)->ndim, &dim, NULL) != ASSAY_OK) {
        v_refuse(g, "dimension out of range");
    }
    uint64_t dims = flat ? 0 : (uint64_t)1 << dim;
    val shifted = v_sub(g, x, v_reduce_again(g, RED_MAX, x, dims, true, 1));
    *exponential = v_1(g, FN_EXP, shifted);
    *sum = v_reduce_again(g, RED_SUM, *exponential, dims, true, 1);
    return shifted;
}

static void softmax_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    val exponential, sum;
    shifted_of(g, call, &exponential, &sum);
    v_result(g, 0, v_mul(g, exponential, v_recip(g, sum)));
}

static void log_softmax_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    val exponential, sum, shifted = shifted_of(g, call, &exponential, &sum);
    v_result(g, 0, v_sub(g, shifted, v_1(g, FN_LOG, sum)));
}

/* Gradient and output, and the dimension as a set. */
static uint64_t backward_operands(dag *g, const op_call *call, const outputs *out, val *grad, val *y) {
    dtype t = primitive_compute_type(out->items[0].dtype);
    const tensor *first = call_tensor(call, 0);
    t = first->dtype == ASSAY_F64 || call_tensor(call, 1)->dtype == ASSAY_F64 ? ASSAY_F64 : t;
    *grad = v_cast(g, v_raw(g, call, 0), t);
    *y = v_cast(g, v_raw(g, call, 1), t);
    int dim = 0;
    if (first->ndim > 0 && dim_wrap(call_int(call, 2), first->ndim, &dim, NULL) != ASSAY_OK) {
        v_refuse(g, "dimension out of range");
    }
    return first->ndim > 0 ? (uint64_t)1 << dim : 0;
}

static void softmax_backward_parts(dag *g, const op_call *call, const outputs *out) {
    val grad, y;
    uint64_t dims = backward_operands(g, call, out, &grad, &y);
    val share = v_mul(g, grad, y);
    v_result(g, 0, v_sub(g, share, v_mul(g, y, v_reduce_again(g, RED_SUM, share, dims, true, 2))));
}

static void log_softmax_backward_parts(dag *g, const op_call *call, const outputs *out) {
    val grad, y;
    uint64_t dims = backward_operands(g, call, out, &grad, &y);
    v_result(g, 0, v_sub(g, grad, v_mul(g, v_1(g, FN_EXP, y), v_reduce_again(g, RED_SUM, grad, dims, true, 2))));
}

static const op_row rows[] = {
    {.signature = "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .doc = "exp(self) over its sum along a dimension; half_to_float answers halves in f32.",
     .family = &family_softmax,
     .decompose = softmax_parts,
     .reference_element = softmax_element},
    {.signature = "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .doc = "self less the logarithm of the sum of exp(self) along a dimension; half_to_float answers halves in f32.",
     .family = &family_softmax,
     .decompose = log_softmax_parts,
     .reference_element = log_softmax_element},
    {.signature = "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .doc = "The gradient of softmax from its output.",
     .family = &family_softmax_backward,
     .inputs = softmax_backward_inputs,
     .decompose = softmax_backward_parts,
     .reference_element = softmax_backward_element},
    {.signature = "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .doc = "The gradient of log_softmax from its output.",
     .family = &family_softmax_backward,
     .inputs = log_softmax_backward_inputs,
     .decompose = log_softmax_backward_parts,
     .reference_element = log_softmax_backward_element},
};

const op_rows rows_softmax = {rows, countof(rows)};
