/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the activation functions, as ATen's backward operators. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/functions.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"

#include <math.h>
#include <string.h>

/* The gradient comes first, then the forward's input or its result. */

/* A number as it is compared with elements of type t: cut off and wrapped around among integers, in the type that others are computed in. */
static number bound_of(const op_call *call, int i, dtype t) {
    number n = call_number(call, i);
    uint64_t bits = 0;
    if (dtype_is_integral(t)) {
        element_store_int(t, &bits, number_to_int(n));
        return number_of_int(element_load_int(t, &bits));
    }
    const dtype computed = dtype_is_floating(t) ? dtype_accumulator(t) : ASSAY_F64;
    element_store(computed, &bits, n.f);
    return number_of_double(element_load(computed, &bits));
}

/* grad_output and self come first of all. */
static number bound_of_both(const op_call *call, int i) {
    tensor *const both[] = {call_tensor(call, 0), call_tensor(call, 1)};
    return bound_of(call, i, result_type(both, 2, NULL, 0));
}

static double threshold_backward(const double *x, const op_call *call) {
    return x[1] <= bound_of_both(call, 2).f ? 0 : x[0];
}

static int64_t threshold_backward_int(const int64_t *x, const op_call *call) {
    return x[1] <= bound_of_both(call, 2).i ? 0 : x[0];
}

/* gelu's approximation is x s, s the logistic function of an argument u, and its slope s + b s (1 - s), where b is x times that of u. */
typedef struct gelu_slope {
    double u, s, rest, b; /* rest: 1 - s */
} gelu_slope;

static gelu_slope gelu_slope_at(double x) {
    const double beta = 2 * M_2_SQRTPI * M_SQRT1_2, kappa = 0.044715;
    const double near = fmin(fmax(x, -1e50), 1e50); /* the slope of what lies beyond is the same, but for an infinity's, NaN */
    const double u = beta * (near + kappa * near * near * near);
    return (gelu_slope){u, logistic(u), logistic(-u), near * beta * (1 + 3 * kappa * near * near)};
}

static double gelu_backward(const double *x, const op_call *call) {
    if (strcmp(call_str(call, 2), "tanh") == 0) {
        const gelu_slope g = gelu_slope_at(x[1]);
        return x[0] * (g.s + g.b * (g.s * g.rest) + (x[1] - x[1]));
    }
    return x[0] * (normal_share(x[1]) + x[1] * normal_density(x[1]));
}

static double gelu_backward_bends(const double *x, const op_call *call) {
    const gelu_slope g = gelu_slope_at(x[1]);
    return strcmp(call_str(call, 2), "tanh") == 0 ? x[0] * g.u * (g.s * g.rest) * (1 + fabs(g.b) * fabs(g.rest - g.s)) : 0;
}

static status gelu_backward_infer(const op_call *call, outputs *out, error *err) {
    const char *approximate = call_str(call, 2);
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected approximate 'none' or 'tanh', got '%.40s'",
                    call->op->signature.full, approximate);
    }
    return pointwise_infer(call, out, err);
}

static double silu_backward(const double *x, const op_call *call) {
    (void)call;
    double s = logistic(x[1]);
    return x[0] * s * (1 + x[1] * (1 - s));
}

/* ATen's complex silu_backward takes no conjugate, unlike the two below. */
static double complex silu_backward_complex(const double complex *x, const op_call *call) {
    (void)call;
    double complex s = complex_quotient(1, 1 + cexp(-x[1]));
    return complex_product(complex_product(x[0], s), 1 + complex_product(x[1], 1 - s));
}

static double sigmoid_backward(const double *x, const op_call *call) {
    (void)call;
    return x[0] * (1 - x[1]) * x[1];
}

static double complex sigmoid_backward_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_product(x[0], conj(complex_product(1 - x[1], x[1])));
}

static double tanh_backward(const double *x, const op_call *call) {
    (void)call;
    return x[0] * (1 - x[1] * x[1]);
}

static double complex tanh_backward_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_product(x[0], conj(1 - complex_product(x[1], x[1])));
}

/* elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) */
static double elu_backward(const double *x, const op_call *call) {
    double alpha = call_float(call, 1), scale = call_float(call, 2), input_scale = call_float(call, 3);
    if (!(x[1] <= 0)) {
        return x[0] * scale;
    }
    return call_bool(call, 4) ? x[0] * input_scale * (x[1] + alpha * scale)
                              : x[0] * input_scale * alpha * scale * exp(x[1] * input_scale);
}

static double hardtanh_backward(const double *x, const op_call *call) {
    return x[1] <= bound_of_both(call, 2).f || x[1] >= bound_of_both(call, 3).f ? 0 : x[0];
}

static double hardsigmoid_backward(const double *x, const op_call *call) {
    (void)call;
    return x[1] > -3 && x[1] < 3 ? x[0] / 6 : 0;
}

static double hardswish_backward(const double *x, const op_call *call) {
    (void)call;
    return x[1] <= -3 ? 0 : x[1] < 3 ? x[0] * (x[1] / 3 + 0.5) : x[0];
}

static double leaky_relu_backward(const double *x, const op_call *call) {
    return x[1] > 0 ? x[0] : x[0] * call_float(call, 2);
}

/* A result tells what went in only where the slope below 0 is none that turns it round (ATen's elu_backward and leaky_relu_backward). */
static status check_result_tells(const op_call *call, int slope_arg, int is_result_arg, error *err) {
    return call_bool(call, is_result_arg) && call_float(call, slope_arg) < 0
               ? fail(err, ASSAY_INVALID, "%s: expected %s of at least 0 beside %s, got %.17g", call->op->signature.full,
                      call->op->signature.params[slope_arg].name, call->op->signature.params[is_result_arg].name, call_float(call, slope_arg))
               : ASSAY_OK;
}

static status elu_backward_infer(const op_call *call, outputs *out, error *err) {
    TRY(check_result_tells(call, 1, 4, err));
    return pointwise_infer(call, out, err);
}

/* ATen asks self for the layout before the gradient in these two. */
static status self_first_infer(const op_call *call, outputs *out, error *err) {
    pointwise p;
    TRY(pointwise_analyse(call, &p, err));
    tensor *t = outputs_push(out);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    tensor *operands[] = {p.operand[1], p.operand[0]};
    return pointwise_output(t, p.result, p.ndim, p.sizes, operands, 2, err);
}

static status leaky_relu_backward_infer(const op_call *call, outputs *out, error *err) {
    TRY(check_result_tells(call, 2, 3, err));
    return self_first_infer(call, out, err);
}

/* The results of a forward pass lie within its range. */
static status sigmoid_result_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 1), r, 0, 1);
    return ASSAY_OK;
}

static status tanh_result_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 1), r, -1, 1);
    return ASSAY_OK;
}

static status elu_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    if (call_bool(call, 4)) {
        fill_uniform(call_tensor(call, 5), r, -call_float(call, 1) * call_float(call, 2), 2);
    }
    return ASSAY_OK;
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* x compared with a number. */
static val compared(dag *g, scalar_function how, val x, double with) {
    return v_2(g, how, x, v_real(g, v_dtype(g, x), with));
}

static val none_of(dag *g, val x) {
    return v_int(g, v_dtype(g, x), 0);
}

static val threshold_backward_parts(dag *g, const val *x, const op_call *call) {
    val threshold = v_constant(g, v_dtype(g, x[1]), bound_of_both(call, 2));
    return v_select(g, v_2(g, FN_LE, x[1], threshold), none_of(g, x[0]), x[0]);
}

/* gelu(x) = x/2 (1 + tanh u) = x s with s = 1 / (1 + e), e = exp(-2 u), u = b (x + k x^3). The slope is
   s (1 + 2 x u' (1 - s)), and 1 - s = e s has all its digits where s is near 1. Where one of e, x u' is nearly infinite the
   other is nearly 0: there the answer is known, but that of infinity is NaN, as ATen has it. */
static val gelu_tanh_slope(dag *g, val x) {
    const double b = M_2_SQRTPI * M_SQRT1_2, k = 0.044715, far = v_dtype(g, x) == ASSAY_F64 ? 708 : 80;
    val square = v_mul(g, x, x);
    val exponent = v_mul(g, x, v_add_real(g, v_mul_real(g, square, -2 * b * k), -2 * b));
    val e = v_1(g, FN_EXP, exponent);
    val s = v_recip(g, v_add_real(g, e, 1));
    val bend = v_mul(g, x, v_add_real(g, v_mul_real(g, square, 6 * b * k), 2 * b));
    val slope = v_mul(g, s, v_add_real(g, v_mul(g, bend, v_mul(g, e, s)), 1));
    val none = v_mul_real(g, x, 0);
    slope = v_select(g, compared(g, FN_GT, exponent, far), none, slope);
    return v_select(g, compared(g, FN_LT, exponent, -far), v_add_real(g, none, 1), slope);
}

static val gelu_backward_parts(dag *g, const val *x, const op_call *call) {
    bool by_tanh = strcmp(call_str(call, 2), "tanh") == 0;
    return v_mul(g, x[0], by_tanh ? gelu_tanh_slope(g, x[1]) : v_1(g, FN_NORMAL_SLOPE, x[1]));
}

/* 1 - y */
static val complement(dag *g, val y) {
    return v_sub(g, v_int(g, v_dtype(g, y), 1), y);
}

static val silu_backward_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    val s = v_1(g, FN_SIGMOID, x[1]);
    return v_mul(g, v_mul(g, x[0], s), v_add_real(g, v_mul(g, x[1], complement(g, s)), 1));
}

static val conjugate(dag *g, val x) {
    return dtype_is_complex(v_dtype(g, x)) ? v_1(g, FN_CONJ, x) : x;
}

static val sigmoid_backward_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    if (dtype_is_complex(v_dtype(g, x[1]))) {
        return v_mul(g, x[0], conjugate(g, v_mul(g, complement(g, x[1]), x[1])));
    }
    return v_mul(g, v_mul(g, x[0], complement(g, x[1])), x[1]);
}

static val tanh_backward_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_mul(g, x[0], conjugate(g, complement(g, v_mul(g, x[1], x[1]))));
}

static val elu_backward_parts(dag *g, const val *x, const op_call *call) {
    double alpha = call_float(call, 1), scale = call_float(call, 2), input_scale = call_float(call, 3);
    val below = call_bool(call, 4)
                    ? v_mul_real(g, v_add_real(g, x[1], alpha * scale), input_scale)
                    : v_mul_real(g, v_1(g, FN_EXP, v_mul_real(g, x[1], input_scale)), input_scale * alpha * scale);
    return v_mul(g, x[0], v_select(g, compared(g, FN_LE, x[1], 0), below, v_real(g, v_dtype(g, x[0]), scale)));
}

static val hardtanh_backward_parts(dag *g, const val *x, const op_call *call) {
    val outside = v_2(g, FN_OR, compared(g, FN_LE, x[1], call_float(call, 2)), compared(g, FN_GE, x[1], call_float(call, 3)));
    return v_select(g, outside, none_of(g, x[0]), x[0]);
}

static val hardsigmoid_backward_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    val inside = v_2(g, FN_AND, compared(g, FN_GT, x[1], -3), compared(g, FN_LT, x[1], 3));
    return v_select(g, inside, v_mul_real(g, x[0], 1.0 / 6), none_of(g, x[0]));
}

static val hardswish_backward_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    val bend = v_mul(g, x[0], v_add_real(g, v_mul_real(g, x[1], 1.0 / 3), 0.5));
    val right = v_select(g, compared(g, FN_LT, x[1], 3), bend, x[0]);
    return v_select(g, compared(g, FN_LE, x[1], -3), none_of(g, x[0]), right);
}

static val leaky_relu_backward_parts(dag *g, const val *x, const op_call *call) {
    return v_select(g, compared(g, FN_GT, x[1], 0), x[0], v_mul_real(g, x[0], call_float(call, 2)));
}

static const op_row rows[] = {
    {.signature = "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
     .doc = "grad_output where self exceeds the threshold, else 0: the gradient of relu.",
     .family = &family_activation_backward,
     .fits_computed = 1 << 2,
     .infer = self_first_infer,
     .takes = TAKES_INTEGRAL | TAKES_FLOATING,
     .decompose_scalar = threshold_backward_parts,
     .reference_scalar = threshold_backward,
     .reference_int = threshold_backward_int},
    {.signature = "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
     .doc = "grad_output times the slope of gelu at self.",
     .family = &family_activation_backward,
     .infer = gelu_backward_infer,
     .takes = TAKES_FLOATING,
     .decompose_scalar = gelu_backward_parts,
     .reference_scalar = gelu_backward,
     .reference_bends = gelu_backward_bends,
     .flops_per_element = 25},
    {.signature = "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
     .doc = "grad_output times the slope of silu at self.",
     .family = &family_activation_backward,
     .takes = TAKES_FLOATING | TAKES_COMPLEX,
     .decompose_scalar = silu_backward_parts,
     .reference_scalar = silu_backward,
     .reference_complex = silu_backward_complex,
     .flops_per_element = 16,
     .complex_flops = 69},
    {.signature = "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
     .doc = "grad_output times the slope of sigmoid where its result is output.",
     .family = &family_activation_backward,
     .inputs = sigmoid_result_inputs,
     .takes = TAKES_FLOATING | TAKES_COMPLEX,
     .decompose_scalar = sigmoid_backward_parts,
     .reference_scalar = sigmoid_backward,
     .reference_complex = sigmoid_backward_complex,
     .flops_per_element = 3,
     .complex_flops = 14},
    {.signature = "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
     .doc = "grad_output times the slope of tanh where its result is output.",
     .family = &family_activation_backward,
     .inputs = tanh_result_inputs,
     .takes = TAKES_FLOATING | TAKES_COMPLEX,
     .decompose_scalar = tanh_backward_parts,
     .reference_scalar = tanh_backward,
     .reference_complex = tanh_backward_complex,
     .flops_per_element = 3,
     .complex_flops = 14},
    {.signature = "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
                  "Tensor self_or_result) -> Tensor",
     .doc = "grad_output times the slope of elu, at self or where its result is given.",
     .family = &family_activation_backward,
     .infer = elu_backward_infer,
     .fits_computed = 1 << 1 | 1 << 2 | 1 << 3,
     .inputs = elu_inputs,
     .takes = TAKES_FLOATING,
     .decompose_scalar = elu_backward_parts,
     .reference_scalar = elu_backward,
     .flops_per_element = 13},
    {.signature = "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
     .doc = "grad_output where self lies between min_val and max_val, else 0.",
     .family = &family_activation_backward,
     .fits_computed = 1 << 2 | 1 << 3,
     .takes = TAKES_FLOATING,
     .decompose_scalar = hardtanh_backward_parts,
     .reference_scalar = hardtanh_backward},
    {.signature = "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
     .doc = "grad_output / 6 where self lies between -3 and 3, else 0.",
     .family = &family_activation_backward,
     .takes = TAKES_FLOATING,
     .decompose_scalar = hardsigmoid_backward_parts,
     .reference_scalar = hardsigmoid_backward,
     .flops_per_element = 1},
    {.signature = "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .doc = "grad_output times the slope of hardswish at self.",
     .family = &family_activation_backward,
     .takes = TAKES_FLOATING,
     .decompose_scalar = hardswish_backward_parts,
     .reference_scalar = hardswish_backward,
     .flops_per_element = 3},
    {.signature = "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) "
                  "-> Tensor",
     .fits_computed = 1 << 2,
     .doc = "grad_output where self exceeds 0, negative_slope * grad_output elsewhere.",
     .family = &family_activation_backward,
     .infer = leaky_relu_backward_infer,
     .takes = TAKES_FLOATING,
     .decompose_scalar = leaky_relu_backward_parts,
     .reference_scalar = leaky_relu_backward,
     .flops_per_element = 1},
};

const op_rows rows_activation_backward = {rows, countof(rows)};
