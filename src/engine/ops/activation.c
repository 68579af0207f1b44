/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions; their backwards lie in activation_backward.c. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/functions.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

#include <math.h>
#include <string.h>

enum { TAKES_ORDERED = TAKES_INTEGRAL | TAKES_FLOATING };

static double relu(const double *x, const op_call *call) {
    (void)call;
    return isnan(x[0]) || x[0] > 0 ? x[0] : 0;
}

static int64_t relu_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] > 0 ? x[0] : 0;
}

/* Twice what gelu's approximation takes the tanh of: (1 + tanh u) / 2 is the logistic function of 2 u, without cancellation. */
static double gelu_argument(double x) {
    return 2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x);
}

/* x * Phi(x), by erf or by its tanh approximation (Hendrycks and Gimpel, 2016). */
static double gelu(const double *x, const op_call *call) {
    return x[0] * (strcmp(call_str(call, 1), "tanh") == 0 ? logistic(gelu_argument(x[0])) : normal_share(x[0]));
}

static double gelu_bends(const double *x, const op_call *call) {
    double u = gelu_argument(x[0]);
    return strcmp(call_str(call, 1), "tanh") == 0 ? x[0] * u * logistic(u) * logistic(-u) : 0;
}

static status gelu_infer(const op_call *call, outputs *out, error *err) {
    const char *approximate = call_str(call, 1);
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected approximate 'none' or 'tanh', got '%.40s'",
                    call->op->signature.full, approximate);
    }
    return pointwise_infer(call, out, err);
}

static double sigmoid(const double *x, const op_call *call) {
    (void)call;
    return logistic(x[0]);
}

static double complex sigmoid_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_quotient(1, 1 + cexp(-x[0]));
}

static double silu(const double *x, const op_call *call) {
    (void)call;
    return x[0] * logistic(x[0]);
}

static double complex silu_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_quotient(x[0], 1 + cexp(-x[0]));
}

static double tanh_real(const double *x, const op_call *call) {
    (void)call;
    return tanh(x[0]);
}

static double complex tanh_complex(const double complex *x, const op_call *call) {
    (void)call;
    return ctanh(x[0]);
}

/* elu(self, alpha, scale, input_scale) */
static double elu(const double *x, const op_call *call) {
    double scale = call_float(call, 2);
    return x[0] <= 0 ? call_float(call, 1) * scale * expm1(x[0] * call_float(call, 3)) : x[0] * scale;
}

static double clip(double x, double low, double high) {
    double above = x < low ? low : x;
    return above > high ? high : above;
}

/* As clamp: where min exceeds max, max wins, and a bound that is NaN makes NaN. */
static double hardtanh(const double *x, const op_call *call) {
    double low = call_float(call, 1), high = call_float(call, 2);
    return isnan(low) || isnan(high) ? NAN : clip(x[0], low, high);
}

/* Bounds of integers are cut off toward zero. */
static int64_t whole_bound(const op_call *call, int i) {
    const number n = call_number(call, i);
    return n.category > CATEGORY_INTEGRAL ? (int64_t)n.f : n.i;
}

static int64_t hardtanh_int(const int64_t *x, const op_call *call) {
    int64_t low = whole_bound(call, 1), high = whole_bound(call, 2);
    int64_t above = x[0] < low ? low : x[0];
    return above > high ? high : above;
}

static double hardsigmoid(const double *x, const op_call *call) {
    (void)call;
    return clip(x[0] + 3, 0, 6) / 6;
}

static double hardswish(const double *x, const op_call *call) {
    (void)call;
    return x[0] * (clip(x[0] + 3, 0, 6) / 6);
}

static double leaky_relu(const double *x, const op_call *call) {
    return x[0] > 0 ? x[0] : x[0] * call_float(call, 1);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val relu_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_MAXIMUM, x[0], v_int(g, v_dtype(g, x[0]), 0));
}

static val gelu_parts(dag *g, const val *x, const op_call *call) {
    if (strcmp(call_str(call, 1), "tanh") != 0) {
        return v_mul(g, x[0], v_1(g, FN_NORMAL_CDF, x[0]));
    }
    val cube = v_mul(g, v_mul(g, x[0], x[0]), x[0]);
    val inner = v_mul_real(g, v_add(g, x[0], v_mul_real(g, cube, 0.044715)), 2 * 0.79788456080286535588);
    return v_mul(g, x[0], v_1(g, FN_SIGMOID, inner)); /* (1 + tanh u) / 2 = sigmoid(2 u), whose lower tail keeps its digits */
}

static val sigmoid_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_SIGMOID, x[0]);
}

static val silu_parts(dag *g, const val *x, const op_call *call) {
    return v_mul(g, x[0], sigmoid_parts(g, x, call));
}

static val tanh_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_TANH, x[0]);
}

static val elu_parts(dag *g, const val *x, const op_call *call) {
    double alpha = call_float(call, 1), scale = call_float(call, 2), input_scale = call_float(call, 3);
    const scalar_function grows = input_scale >= 0 ? FN_EXPM1_BELOW : FN_EXPM1;
    val below = v_mul_real(g, v_1(g, grows, v_mul_real(g, x[0], input_scale)), alpha * scale);
    val is_below = v_2(g, FN_LE, x[0], v_int(g, v_dtype(g, x[0]), 0));
    return v_select(g, is_below, below, v_mul_real(g, x[0], scale));
}

/* x between two numbers; NaN stays. */
static val between(dag *g, val x, double low, double high) {
    dtype t = v_dtype(g, x);
    return v_2(g, FN_MINIMUM, v_2(g, FN_MAXIMUM, x, v_real(g, t, low)), v_real(g, t, high));
}

static status hardtanh_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    return pointwise_check_bounds(call, 1, 2, out->items[0].dtype, err);
}

static val hardtanh_parts(dag *g, const val *x, const op_call *call) {
    dtype t = v_dtype(g, x[0]);
    if (!dtype_is_floating(t)) { /* in a type wider than self's: what it does not hold is beyond all of self */
        const int64_t least = t == ASSAY_I64 ? INT64_MIN : INT32_MIN, largest = t == ASSAY_I64 ? INT64_MAX : INT32_MAX;
        int64_t low = whole_bound(call, 1), high = whole_bound(call, 2);
        low = low < least ? least : low;
        high = high > largest ? largest : high;
        return v_2(g, FN_MINIMUM, v_2(g, FN_MAXIMUM, x[0], v_int(g, t, low)), v_int(g, t, high));
    }
    return between(g, x[0], call_float(call, 1), call_float(call, 2));
}

static val hardsigmoid_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_mul_real(g, between(g, v_add_real(g, x[0], 3), 0, 6), 1.0 / 6);
}

static val hardswish_parts(dag *g, const val *x, const op_call *call) {
    return v_mul(g, x[0], hardsigmoid_parts(g, x, call));
}

static val leaky_relu_parts(dag *g, const val *x, const op_call *call) {
    val is_above = v_2(g, FN_GT, x[0], v_int(g, v_dtype(g, x[0]), 0));
    return v_select(g, is_above, x[0], v_mul_real(g, x[0], call_float(call, 1)));
}

static const op_row rows[] = {
    {.signature = "relu(Tensor self) -> Tensor",
     .doc = "The larger of self and 0; NaN stays.",
     .family = &family_pointwise,
     .takes = TAKES_ORDERED,
     .reference_scalar = relu,
     .decompose_scalar = relu_parts,
     .reference_int = relu_int},
    {.signature = "gelu(Tensor self, *, str approximate='none') -> Tensor",
     .doc = "Gaussian error linear unit: self times the normal distribution's share below it.",
     .family = &family_pointwise,
     .infer = gelu_infer,
     .takes = TAKES_FLOATING,
     .reference_scalar = gelu,
     .reference_bends = gelu_bends,
     .decompose_scalar = gelu_parts,
     .flops_per_element = 10},
    {.signature = "silu(Tensor self) -> Tensor",
     .doc = "self times its logistic function.",
     .family = &family_pointwise,
     .takes = TAKES_FLOATING | TAKES_COMPLEX,
     .decompose_scalar = silu_parts,
     .reference_scalar = silu,
     .reference_complex = silu_complex,
     .flops_per_element = 12,
     .complex_flops = 54},
    {.signature = "sigmoid(Tensor self) -> Tensor",
     .doc = "The logistic function, 1 / (1 + exp(-self)).",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = sigmoid_parts,
     .reference_scalar = sigmoid,
     .reference_complex = sigmoid_complex,
     .flops_per_element = 12,
     .complex_flops = 48},
    {.signature = "tanh(Tensor self) -> Tensor",
     .doc = "The hyperbolic tangent of self.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = tanh_parts,
     .reference_scalar = tanh_real,
     .reference_complex = tanh_complex,
     .flops_per_element = 12,
     .complex_flops = 57},
    {.signature = "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     .fits_computed = 1 << 1 | 1 << 2 | 1 << 3,
     .doc = "Exponential linear unit: scale * self above 0, an exponential that settles at -alpha * scale below.",
     .family = &family_pointwise,
     .takes = TAKES_FLOATING,
     .decompose_scalar = elu_parts,
     .reference_scalar = elu,
     .flops_per_element = 12},
    {.signature = "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     .doc = "self cut off below min_val and above max_val.",
     .family = &family_pointwise,
     .infer = hardtanh_infer,
     .takes = TAKES_ORDERED,
     .decompose_scalar = hardtanh_parts,
     .reference_scalar = hardtanh,
     .reference_int = hardtanh_int},
    {.signature = "hardsigmoid(Tensor self) -> Tensor",
     .doc = "A logistic function of straight lines: (self + 3) / 6 within 0 and 1.",
     .family = &family_pointwise,
     .takes = TAKES_FLOATING,
     .decompose_scalar = hardsigmoid_parts,
     .reference_scalar = hardsigmoid,
     .flops_per_element = 2},
    {.signature = "hardswish(Tensor self) -> Tensor",
     .doc = "self times its hardsigmoid.",
     .family = &family_pointwise,
     .takes = TAKES_FLOATING,
     .decompose_scalar = hardswish_parts,
     .reference_scalar = hardswish,
     .flops_per_element = 3},
    {.signature = "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     .fits_computed = 1 << 1,
     .doc = "self above 0, negative_slope * self below.",
     .family = &family_pointwise,
     .takes = TAKES_FLOATING,
     .decompose_scalar = leaky_relu_parts,
     .reference_scalar = leaky_relu,
     .flops_per_element = 1},
};

const op_rows rows_activation = {rows, countof(rows)};
