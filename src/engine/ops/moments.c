/* SPDX-License-Identifier: Apache-2.0 */
/* Variances, standard deviations and vector norms over dimensions. */
#include "engine/graph/dag.h"
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/reduction.h"

#include <math.h>

/* --- std, var, var_mean: (self, dim, correction, keepdim) ------------------------------------------------------------------ */

static status variance_infer(const op_call *call, outputs *out, error *err) {
    dtype t = call_tensor(call, 0)->dtype;
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating or complex tensor, got %s", call->op->signature.full,
                    assay_dtype_name(t));
    }
    TRY(reduction_infer(call, 1, call_bool(call, 3), dtype_real(t), out, err));
    return call->op->signature.n_returns == 2 ? reduction_infer(call, 1, call_bool(call, 3), t, out, err) : ASSAY_OK;
}

/* One output element's mean and variance, pass by pass. */
typedef struct moments {
    double re, im; /* the mean */
    double variance;
    double squares; /* square sum of the terms behind the variance */
    double left;    /* what the mean may be off by (agree.h), squared: left in the variance of equal elements. By so much of it, less
                       what tolerances count norms with */
} moments;

static moments moments_at(ref_ctx *ctx, int64_t flat) {
    const double *x = ref_real(ctx, 0);
    bool is_complex = dtype_is_complex(call_tensor(ctx->call, 0)->dtype);
    int width = is_complex ? 2 : 1;
    reduction_walk start;
    moments m = {0};
    if (x == NULL || !reduction_start(ctx, 1, flat, &start)) {
        return m;
    }
    reduction_walk w = start;
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        m.re += x[w.at * width] / (double)start.n;
        m.im += is_complex ? x[w.at * width + 1] / (double)start.n : 0;
    }
    /* The deviations' own mean is what rounding made of the first: without it equal numbers would vary. */
    double re_off = 0, im_off = 0;
    w = start;
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        re_off += (x[w.at * width] - m.re) / (double)start.n;
        im_off += is_complex ? (x[w.at * width + 1] - m.im) / (double)start.n : 0;
    }
    m.re += isfinite(re_off) ? re_off : 0;
    m.im += isfinite(im_off) ? im_off : 0;
    double correction = call_is_none(ctx->call, 2) ? 1 : call_float(ctx->call, 2);
    double divisor = fmax((double)start.n - correction, 0);
    w = start;
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        double re = x[w.at * width] - m.re, im = is_complex ? x[w.at * width + 1] - m.im : 0;
        double term = re * re + im * im;
        double shift = 2 * sqrt(term) * hypot(m.re, m.im); /* what a rounding of the mean moves the term by */
        m.variance += term;
        m.squares += term * term + shift * shift;
    }
    m.variance = start.n > 0 ? m.variance / divisor : NAN; /* 0 / 0 is NaN and anything else infinite, as it should be */
    m.left = divisor > 0 ? 8 * (1 + sqrt((double)start.n)) * ctx->rounding * (m.re * m.re + m.im * m.im) : 0;
    m.squares = divisor > 0 ? m.squares / (divisor * divisor) : 0;
    m.re = start.n > 0 ? m.re : NAN;
    m.im = start.n > 0 ? m.im : NAN;
    return m;
}

static double variance_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    moments m = moments_at(ctx, flat);
    if (out == 1) {
        double n = reduction_length(ctx->call, 1);
        *norm += (m.re * m.re + m.variance) / n; /* about the square sum of x / n */
        return m.re;
    }
    *norm += m.squares + m.left * m.left;
    return m.variance;
}

static double deviation_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    moments m = moments_at(ctx, flat);
    double deviation = sqrt(m.variance);
    /* d sqrt(v) = dv / (2 sqrt(v)), and of nearly equal elements at most the mean's own rounding */
    double mean = m.re * m.re + m.im * m.im;
    *norm += deviation > 0 ? (m.squares + fmin(m.left * m.left, 4 * m.variance * mean)) / (4 * m.variance) : mean;
    return deviation;
}

static status variance_whole(ref_ctx *ctx, error *err) {
    (void)err;
    double *variance = ref_output(ctx, 0), *mean = ref_output(ctx, 1), *squares = ref_squares(ctx, 0);
    for (int64_t i = 0; variance != NULL && mean != NULL && squares != NULL && i < tensor_numel(&ctx->out->items[0]); i++) {
        moments m = moments_at(ctx, i);
        variance[i] = m.variance;
        squares[i] = m.squares + m.left * m.left;
        mean[2 * i] = m.re;
        mean[2 * i + 1] = m.im;
    }
    return ASSAY_OK;
}

static void variance_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    const tensor *self = call_tensor(call, 0);
    cost->flops = 4 * flops_of_add(self->dtype) * (double)tensor_numel(self);
    cost->reduction = fmax(reduction_length(call, 1), 1);
}

static const op_family family_variance = {.name = "reduction", .infer = variance_infer, .cost = variance_cost};

/* --- norm: (self, p, dim, keepdim) ------------------------------------------------------------------------------------------ */

static double norm_order(const op_call *call) {
    return call_is_none(call, 1) ? 2 : call_float(call, 1);
}

static int norm_dims(const op_call *call) {
    return signature_find_param(&call->op->signature, "dim");
}

static status norm_infer(const op_call *call, outputs *out, error *err) {
    dtype t = call_tensor(call, 0)->dtype;
    double p = norm_order(call);
    int dims = norm_dims(call);
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating or complex tensor, got %s", call->op->signature.full,
                    assay_dtype_name(t));
    }
    TRY(reduction_infer(call, dims, dims >= 0 && call_bool(call, 3), dtype_real(t), out, err));
    if ((p < 0 || p == INFINITY) && tensor_numel(&out->items[0]) > 0 && reduction_length(call, dims) == 0) {
        return fail(err, ASSAY_INVALID, "%s: a norm of order %g over no elements is not defined", call->op->signature.full,
                    p);
    }
    return ASSAY_OK;
}

/* (sum |x|^p)^(1/p); p = 0 counts what is not zero, +-infinity takes the largest or smallest. */
static double norm_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out, (void)norm;
    const double *x = ref_real(ctx, 0);
    int width = dtype_is_complex(call_tensor(ctx->call, 0)->dtype) ? 2 : 1;
    double p = norm_order(ctx->call);
    double extreme = p == -INFINITY ? INFINITY : 0;
    ref_sum sum = {0};
    reduction_walk w;
    if (x == NULL || !reduction_start(ctx, norm_dims(ctx->call), flat, &w)) {
        return 0;
    }
    for (bool more = w.n > 0; more; more = reduction_next(&w)) {
        double size = width == 2 ? hypot(x[2 * w.at], x[2 * w.at + 1]) : fabs(x[w.at]);
        if (isinf(p)) {
            extreme = isnan(extreme) || isnan(size) ? NAN : p > 0 ? fmax(extreme, size) : fmin(extreme, size);
        } else {
            ref_sum_add(&sum, p == 0 ? (size != 0) : p == 1 ? size : p == 2 ? size * size : pow(size, p));
        }
    }
    double total = ref_sum_total(&sum);
    if (w.n == 0) { /* 0 for an order that is none, too */
        return 0;
    }
    return isinf(p) ? extreme : p == 0 || p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
}

static void norm_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    const tensor *self = call_tensor(call, 0);
    const double p = norm_order(call), size = dtype_is_complex(self->dtype) ? p == 2 ? 3 : 4 : 1; /* |z|, or its square */
    const double power = p == 0 || p == 1 || p == 2 || isinf(p) ? 0 : 20, sum = isinf(p) ? 0 : 1;
    cost->flops = ((p == 0 ? 0 : size) + power + sum) * (double)tensor_numel(self);
    cost->reduction = fmax(reduction_length(call, norm_dims(call)), 1);
}

static const op_family family_norm = {.name = "reduction", .infer = norm_infer, .cost = norm_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* |x|^2 of real or complex x, real. */
static val square_size(dag *g, val x) {
    if (!dtype_is_complex(v_dtype(g, x))) {
        return v_mul(g, x, x);
    }
    val re = v_1(g, FN_REAL, x), im = v_1(g, FN_IMAG, x);
    return v_add(g, v_mul(g, re, re), v_mul(g, im, im));
}

void v_moments_at_once(dag *g, val x, uint64_t dims, double n, val *mean, val *squares) {
    *mean = v_mul_real(g, v_reduce(g, RED_SUM, x, dims, true), 1 / n);
    *squares = v_reduce(g, RED_SUM, square_size(g, v_sub(g, x, *mean)), dims, true);
}

/* The same by parts of samples (Chan, Golub and LeVeque 1979). */
bool v_moments_by_samples(dag *g, val x, uint64_t dims, double n, val *mean, val *squares) {
    sample_parts by;
    val means, within, rest_mean, rest_within;
    const int64_t parts = v_by_samples(g, x, dims, &by);
    if (parts == 0) {
        return false;
    }
    const double n_rest = (double)by.n_rest, each = (n - n_rest) / (double)parts;
    v_moments_at_once(g, by.in_parts, by.inner, each, &means, &within);
    if (parts == 1 && n_rest == 0) {
        *mean = means;
        *squares = within;
        return true;
    }
    *mean = v_mul_real(g, v_reduce(g, RED_SUM, means, by.outer, true), each / n);
    if (n_rest > 0) {
        v_moments_at_once(g, by.rest, by.inner, n_rest, &rest_mean, &rest_within);
        *mean = v_add(g, *mean, v_mul_real(g, rest_mean, n_rest / n));
    }
    val between = v_reduce(g, RED_SUM, square_size(g, v_sub(g, means, *mean)), by.outer, true);
    *squares = v_add(g, v_reduce(g, RED_SUM, within, by.outer, true), v_mul_real(g, between, each));
    if (n_rest > 0) {
        val beside = v_mul_real(g, square_size(g, v_sub(g, rest_mean, *mean)), n_rest);
        *squares = v_add(g, *squares, v_add(g, rest_within, beside));
    }
    return true;
}

/* The variance; the mean if there are two outputs. */
static val variance_of(dag *g, const op_call *call, const outputs *out) {
    uint32_t mask = 0;
    val x = v_arg(g, call, 0);
    if (reduction_mask(call, 1, &mask, NULL) != ASSAY_OK) {
        v_refuse(g, "dimensions out of range");
    }
    double n = reduction_length(call, 1), correction = call_is_none(call, 2) ? 1 : call_float(call, 2);
    val mean, squares;
    if (!v_moments_by_samples(g, x, mask, n, &mean, &squares)) {
        v_moments_at_once(g, x, mask, n, &mean, &squares);
    }
    if (g->refused != NULL) {
        return squares;
    }
    const tensor *t = &out->items[0];
    if (out->n == 2) {
        v_result(g, 1, v_reshape(g, mean, t->ndim, t->sizes));
    }
    return v_mul_real(g, v_reshape(g, squares, t->ndim, t->sizes), n > 0 ? 1 / fmax(n - correction, 0) : NAN);
}

static void variance_parts(dag *g, const op_call *call, const outputs *out) {
    v_result(g, 0, variance_of(g, call, out));
}

static void deviation_parts(dag *g, const op_call *call, const outputs *out) {
    v_result(g, 0, v_1(g, FN_SQRT, variance_of(g, call, out)));
}

static void norm_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    uint32_t mask = 0;
    double p = norm_order(call);
    int dims = norm_dims(call);
    val x = v_arg(g, call, 0);
    if (reduction_mask(call, dims, &mask, NULL) != ASSAY_OK) {
        v_refuse(g, "dimensions out of range");
        return;
    }
    bool keepdim = dims >= 0 && call_bool(call, 3);
    if (p == 2) {
        v_result(g, 0, v_1(g, FN_SQRT, v_reduce(g, RED_SUM, square_size(g, x), mask, keepdim)));
        return;
    }
    val size = v_1(g, FN_ABS, x), order = v_real(g, dtype_real(v_dtype(g, x)), p);
    if (p == 0) {
        size = v_cast(g, v_truth(g, size), v_dtype(g, size));
    } else if (p != 1 && !isinf(p)) {
        size = v_2(g, FN_POW, size, order);
    }
    const bool is_empty = reduction_length(call, dims) == 0; /* 0 for an order that is none, too */
    val sum = v_reduce(g, isinf(p) ? (p > 0 ? RED_MAX : RED_MIN) : RED_SUM, size, mask, keepdim);
    v_result(g, 0, p == 0 || p == 1 || isinf(p) || is_empty ? sum : v_2(g, FN_POW, sum, v_real(g, v_dtype(g, sum), 1 / p)));
}

static const op_row rows[] = {
    {.signature =
         "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .doc = "The standard deviation over dimensions, with n - correction (1 unless given) in the divisor.",
     .family = &family_variance,
     .decompose = deviation_parts,
     .reference_element = deviation_element},
    {.signature =
         "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .doc = "The variance over dimensions, with n - correction (1 unless given) in the divisor.",
     .family = &family_variance,
     .decompose = variance_parts,
     .reference_element = variance_element},
    {.signature = "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
                  "(Tensor, Tensor)",
     .doc = "The variance and the mean over dimensions.",
     .family = &family_variance,
     .decompose = variance_parts,
     .reference_element = variance_element,
     .reference = variance_whole},
    {.signature = "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     .doc = "The vector norm of order p (2 unless given) over dimensions.",
     .family = &family_norm,
     .decompose = norm_parts,
     .reference_element = norm_element},
    {.signature = "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
     .doc = "The vector norm of order p of all elements.",
     .family = &family_norm,
     .decompose = norm_parts,
     .reference_element = norm_element},
};

const op_rows rows_moments = {rows, countof(rows)};
