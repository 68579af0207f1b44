/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise arithmetic: sums, products, quotients and remainders, extremes, signs. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    TAKES_NUMBERS = TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX, /* all but booleans */
    TAKES_ORDERED = TAKES_INTEGRAL | TAKES_FLOATING,
};

/* --- sums and products ------------------------------------------------------------------------------------------------ */

static int64_t wrapping_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t wrapping_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static double complex as_complex(number n) {
    return CMPLX(n.f, n.im);
}

/* The scale of add, sub and rsub stands third, as a keyword or not. */
static double add(const double *x, const op_call *call) {
    return x[0] + call_float(call, 2) * x[1];
}

static int64_t add_int(const int64_t *x, const op_call *call) {
    return wrapping_add(x[0], wrapping_mul(call_number(call, 2).i, x[1]));
}

static double complex add_complex(const double complex *x, const op_call *call) {
    return x[0] + as_complex(call_number(call, 2)) * x[1];
}

static double sub(const double *x, const op_call *call) {
    return x[0] - call_float(call, 2) * x[1];
}

static int64_t sub_int(const int64_t *x, const op_call *call) {
    return wrapping_sub(x[0], wrapping_mul(call_number(call, 2).i, x[1]));
}

static double complex sub_complex(const double complex *x, const op_call *call) {
    return x[0] - as_complex(call_number(call, 2)) * x[1];
}

static double rsub(const double *x, const op_call *call) {
    return x[1] - call_float(call, 2) * x[0];
}

static int64_t rsub_int(const int64_t *x, const op_call *call) {
    return wrapping_sub(x[1], wrapping_mul(call_number(call, 2).i, x[0]));
}

static double complex rsub_complex(const double complex *x, const op_call *call) {
    return x[1] - as_complex(call_number(call, 2)) * x[0];
}

static double mul(const double *x, const op_call *call) {
    (void)call;
    return x[0] * x[1];
}

static int64_t mul_int(const int64_t *x, const op_call *call) {
    (void)call;
    return wrapping_mul(x[0], x[1]);
}

static double complex mul_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] * x[1];
}

/* addcmul(self, tensor1, tensor2, value) = self + value * tensor1 * tensor2 */
static double addcmul(const double *x, const op_call *call) {
    return x[0] + call_float(call, 3) * x[1] * x[2];
}

static int64_t addcmul_int(const int64_t *x, const op_call *call) {
    return wrapping_add(x[0], wrapping_mul(call_number(call, 3).i, wrapping_mul(x[1], x[2])));
}

static double complex addcmul_complex(const double complex *x, const op_call *call) {
    return x[0] + as_complex(call_number(call, 3)) * x[1] * x[2];
}

/* An integer result cannot be scaled by a fraction. */
static status check_scale(const op_call *call, int scale_arg, const outputs *out, error *err) {
    dtype_category scale = call_number(call, scale_arg).category;
    if (scale > dtype_category_of(out->items[0].dtype) && scale > CATEGORY_INTEGRAL) {
        return fail(err, ASSAY_INVALID, "%s: %s scales a result of %s: expected an integer", call->op->signature.full,
                    call->op->signature.params[scale_arg].name, assay_dtype_name(out->items[0].dtype));
    }
    return ASSAY_OK;
}

static status scaled_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    return check_scale(call, 2, out, err);
}

static status addcmul_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    return check_scale(call, 3, out, err);
}

/* --- quotients -------------------------------------------------------------------------------------------------------- */

static double div_true(const double *x, const op_call *call) {
    (void)call;
    return x[0] / x[1];
}

static double complex div_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] / x[1];
}

/* The quotient rounded down, from the exact remainder: a quotient rounded first could fall on the wrong side of an
   integer (ATen's div_floor, after CPython's float_divmod). */
static double quotient_floor(double a, double b) {
    if (b == 0) {
        return a / b;
    }
    double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign(0, a / b);
    }
    double down = floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
}

/* No machine divides by zero or INT64_MIN by -1 here: inputs that would are refused by the kernels, and a reference asked
   all the same answers 0 and the wrapped quotient. */
static int64_t quotient_trunc_int(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? wrapping_sub(0, a) : a / b;
}

static int64_t rest_int(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t quotient_floor_int(int64_t a, int64_t b) {
    int64_t rest = rest_int(a, b);
    return quotient_trunc_int(a, b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}

static double floor_divide(const double *x, const op_call *call) {
    (void)call;
    return quotient_floor(x[0], x[1]);
}

static int64_t floor_divide_int(const int64_t *x, const op_call *call) {
    (void)call;
    return quotient_floor_int(x[0], x[1]);
}

typedef enum rounding { ROUNDING_NONE, ROUNDING_TRUNC, ROUNDING_FLOOR } rounding;

/* div.*_mode carries the mode third. */
static rounding rounding_of(const op_call *call) {
    const char *mode = call_str(call, 2);
    return mode == NULL ? ROUNDING_NONE : strcmp(mode, "trunc") == 0 ? ROUNDING_TRUNC : ROUNDING_FLOOR;
}

static double div_mode(const double *x, const op_call *call) {
    rounding mode = rounding_of(call);
    return mode == ROUNDING_FLOOR   ? quotient_floor(x[0], x[1])
           : mode == ROUNDING_TRUNC ? trunc(x[0] / x[1])
                                    : x[0] / x[1];
}

/* Without a mode it is true division, whose integers go to f32: the one thing here that a row cannot say by itself. It
   has no reference of its own for integers, so that both meanings compute in double. */
static status div_mode_infer(const op_call *call, outputs *out, error *err) {
    const char *mode = call_str(call, 2);
    if (mode != NULL && strcmp(mode, "trunc") != 0 && strcmp(mode, "floor") != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected rounding_mode None, 'trunc' or 'floor', got '%.40s'",
                    call->op->signature.full, mode);
    }
    TRY(pointwise_infer(call, out, err));
    dtype_category category = dtype_category_of(out->items[0].dtype);
    if (mode != NULL && (category == CATEGORY_COMPLEX || category == CATEGORY_BOOLEAN)) {
        return fail(err, ASSAY_INVALID, "%s: rounding is not defined for %s", call->op->signature.full,
                    assay_dtype_name(out->items[0].dtype));
    }
    if (mode == NULL && category < CATEGORY_FLOATING) {
        out->items[0].dtype = ASSAY_F32;
        out->all_alike = false;
    }
    return ASSAY_OK;
}

/* remainder takes the divisor's sign, as Python's % does; fmod the dividend's, as C's does. */
static double remainder_real(const double *x, const op_call *call) {
    (void)call;
    double rest = fmod(x[0], x[1]);
    return rest != 0 && (x[1] < 0) != (rest < 0) ? rest + x[1] : rest;
}

static int64_t remainder_int(const int64_t *x, const op_call *call) {
    (void)call;
    int64_t rest = rest_int(x[0], x[1]);
    return rest != 0 && (rest < 0) != (x[1] < 0) ? rest + x[1] : rest;
}

static double fmod_real(const double *x, const op_call *call) {
    (void)call;
    return fmod(x[0], x[1]);
}

static int64_t fmod_int(const int64_t *x, const op_call *call) {
    (void)call;
    return rest_int(x[0], x[1]);
}

static double reciprocal(const double *x, const op_call *call) {
    (void)call;
    return 1 / x[0];
}

static double complex reciprocal_complex(const double complex *x, const op_call *call) {
    (void)call;
    return 1 / x[0];
}

/* Divisors away from 0: a normal draw may fall so near that f16 overflows, and an integer draw may be 0 itself. */
static void fill_divisor(tensor *t, rng *r) {
    if (dtype_category_of(t->dtype) <= CATEGORY_INTEGRAL) {
        fill_integers(t, r, 1, t->dtype == ASSAY_B8 ? 2 : 10);
    } else {
        fill_uniform(t, r, 0.25, 4);
    }
}

static status divisor_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    tensor *divisor = call_tensor(call, 1);
    if (!divisor->is_wrapped_number) {
        fill_divisor(divisor, r);
    }
    return ASSAY_OK;
}

static status reciprocal_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_divisor(call_tensor(call, 0), r);
    return ASSAY_OK;
}

/* --- signs and extremes ----------------------------------------------------------------------------------------------- */

static double neg(const double *x, const op_call *call) {
    (void)call;
    return -x[0];
}

static int64_t neg_int(const int64_t *x, const op_call *call) {
    (void)call;
    return wrapping_sub(0, x[0]);
}

static double complex neg_complex(const double complex *x, const op_call *call) {
    (void)call;
    return -x[0];
}

static double abs_real(const double *x, const op_call *call) {
    (void)call;
    return fabs(x[0]);
}

static int64_t abs_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] < 0 ? wrapping_sub(0, x[0]) : x[0];
}

static double complex abs_complex(const double complex *x, const op_call *call) {
    (void)call;
    return cabs(x[0]);
}

static double sgn(const double *x, const op_call *call) {
    (void)call;
    return (x[0] > 0) - (x[0] < 0);
}

static int64_t sgn_int(const int64_t *x, const op_call *call) {
    (void)call;
    return (x[0] > 0) - (x[0] < 0);
}

static double complex sgn_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] == 0 ? 0 : x[0] / cabs(x[0]);
}

static double larger(double a, double b) {
    return isnan(a) || a > b ? a : b;
}

static double smaller(double a, double b) {
    return isnan(a) || a < b ? a : b;
}

static double maximum(const double *x, const op_call *call) {
    (void)call;
    return larger(x[0], x[1]);
}

static int64_t maximum_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] > x[1] ? x[0] : x[1];
}

static double minimum(const double *x, const op_call *call) {
    (void)call;
    return smaller(x[0], x[1]);
}

static int64_t minimum_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] < x[1] ? x[0] : x[1];
}

/* clamp(self, min, max): the bounds that are there are the second and third operand; where min exceeds max, max wins. */
static double clamp(const double *x, const op_call *call) {
    int at = 1;
    double value = x[0];
    value = call_is_none(call, 1) ? value : larger(value, x[at++]);
    return call_is_none(call, 2) ? value : smaller(value, x[at]);
}

static int64_t clamp_int(const int64_t *x, const op_call *call) {
    int at = 1;
    int64_t value = x[0];
    if (!call_is_none(call, 1)) {
        value = value > x[at] ? value : x[at];
        at++;
    }
    return call_is_none(call, 2) || value < x[at] ? value : x[at];
}

static status clamp_infer(const op_call *call, outputs *out, error *err) {
    if (call_is_none(call, 1) && call_is_none(call, 2)) {
        return fail(err, ASSAY_INVALID, "%s: expected min, max or both, got neither", call->op->signature.full);
    }
    return pointwise_infer(call, out, err);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* other by its factor, in the type computed in. */
static val scaled(dag *g, val other, const op_call *call) {
    number alpha = call_number(call, 2);
    return v_mul(g, other, v_constant(g, v_dtype(g, other), alpha));
}

static val add_parts(dag *g, const val *x, const op_call *call) {
    return v_add(g, x[0], scaled(g, x[1], call));
}

static val mul_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_mul(g, x[0], x[1]);
}

static const op_row rows[] = {
    {.signature = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .doc = "self + alpha * other.",
     .family = &family_pointwise,
     .infer = scaled_infer,
     .decompose_scalar = add_parts,
     .reference_scalar = add,
     .reference_int = add_int,
     .reference_complex = add_complex,
     .flops_per_element = 1},
    {.signature = "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "self + alpha * other, a number.",
     .family = &family_pointwise,
     .infer = scaled_infer,
     .scalars_promote = true,
     .reference_scalar = add,
     .reference_int = add_int,
     .reference_complex = add_complex,
     .flops_per_element = 1},
    {.signature = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .doc = "self - alpha * other.",
     .family = &family_pointwise,
     .infer = scaled_infer,
     .takes = TAKES_NUMBERS,
     .reference_scalar = sub,
     .reference_int = sub_int,
     .reference_complex = sub_complex,
     .flops_per_element = 1},
    {.signature = "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "self - alpha * other, a number.",
     .family = &family_pointwise,
     .infer = scaled_infer,
     .takes = TAKES_NUMBERS,
     .scalars_promote = true,
     .reference_scalar = sub,
     .reference_int = sub_int,
     .reference_complex = sub_complex,
     .flops_per_element = 1},
    {.signature = "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "other - alpha * self, with other a number.",
     .family = &family_pointwise,
     .infer = scaled_infer,
     .takes = TAKES_NUMBERS,
     .scalars_promote = true,
     .no_in_place = true,
     .reference_scalar = rsub,
     .reference_int = rsub_int,
     .reference_complex = rsub_complex,
     .flops_per_element = 1},
    {.signature = "mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "self * other.",
     .family = &family_pointwise,
     .decompose_scalar = mul_parts,
     .reference_scalar = mul,
     .reference_int = mul_int,
     .reference_complex = mul_complex,
     .flops_per_element = 1},
    {.signature = "mul.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "self * other, a number.",
     .family = &family_pointwise,
     .scalars_promote = true,
     .decompose_scalar = mul_parts,
     .reference_scalar = mul,
     .reference_int = mul_int,
     .reference_complex = mul_complex,
     .flops_per_element = 1},
    {.signature = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     .doc = "self + value * tensor1 * tensor2.",
     .family = &family_pointwise,
     .infer = addcmul_infer,
     .takes = TAKES_NUMBERS,
     .reference_scalar = addcmul,
     .reference_int = addcmul_int,
     .reference_complex = addcmul_complex,
     .flops_per_element = 3},
    {.signature = "div.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "self / other; integers divide as f32.",
     .family = &family_pointwise,
     .inputs = divisor_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .reference_scalar = div_true,
     .reference_complex = div_complex,
     .flops_per_element = 1},
    {.signature = "div.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "self / other, a number; integers divide as f32.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .scalars_promote = true,
     .reference_scalar = div_true,
     .reference_complex = div_complex,
     .flops_per_element = 1},
    {.signature = "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     .doc = "self / other, rounded toward zero, down, or not at all.",
     .family = &family_pointwise,
     .infer = div_mode_infer,
     .inputs = divisor_inputs,
     .reference_scalar = div_mode,
     .reference_complex = div_complex,
     .flops_per_element = 1},
    {.signature = "floor_divide(Tensor self, Tensor other) -> Tensor",
     .doc = "self / other rounded down.",
     .family = &family_pointwise,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .in_place_overload = "Tensor",
     .reference_scalar = floor_divide,
     .reference_int = floor_divide_int,
     .flops_per_element = 1},
    {.signature = "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "What remains of self over other rounded down: the divisor's sign.",
     .family = &family_pointwise,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .scalars_promote = true,
     .reference_scalar = remainder_real,
     .reference_int = remainder_int,
     .flops_per_element = 1},
    {.signature = "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "What remains of self over other rounded down: the divisor's sign.",
     .family = &family_pointwise,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .reference_scalar = remainder_real,
     .reference_int = remainder_int,
     .flops_per_element = 1},
    {.signature = "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "What remains of self over other rounded toward zero: the dividend's sign.",
     .family = &family_pointwise,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .scalars_promote = true,
     .reference_scalar = fmod_real,
     .reference_int = fmod_int,
     .flops_per_element = 1},
    {.signature = "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "What remains of self over other rounded toward zero: the dividend's sign.",
     .family = &family_pointwise,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .reference_scalar = fmod_real,
     .reference_int = fmod_int,
     .flops_per_element = 1},
    {.signature = "reciprocal(Tensor self) -> Tensor",
     .doc = "1 / self; integers go to f32.",
     .family = &family_pointwise,
     .inputs = reciprocal_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .reference_scalar = reciprocal,
     .reference_complex = reciprocal_complex,
     .flops_per_element = 1},
    {.signature = "neg(Tensor self) -> Tensor",
     .doc = "-self.",
     .family = &family_pointwise,
     .takes = TAKES_NUMBERS,
     .reference_scalar = neg,
     .reference_int = neg_int,
     .reference_complex = neg_complex,
     .flops_per_element = 1},
    {.signature = "abs(Tensor self) -> Tensor",
     .doc = "The magnitude of self: real for complex numbers.",
     .family = &family_pointwise,
     .promotion = PROMOTE_COMPLEX_TO_FLOAT,
     .takes = TAKES_NUMBERS,
     .reference_scalar = abs_real,
     .reference_int = abs_int,
     .reference_complex = abs_complex,
     .flops_per_element = 1},
    {.signature = "sgn(Tensor self) -> Tensor",
     .doc = "The sign of self, -1, 0 or 1; self over its magnitude for complex numbers.",
     .family = &family_pointwise,
     .reference_scalar = sgn,
     .reference_int = sgn_int,
     .reference_complex = sgn_complex},
    {.signature = "maximum(Tensor self, Tensor other) -> Tensor",
     .doc = "The larger of self and other; NaN where either is.",
     .family = &family_pointwise,
     .takes = TAKES_BOOLEAN | TAKES_ORDERED,
     .no_in_place = true,
     .reference_scalar = maximum,
     .reference_int = maximum_int},
    {.signature = "minimum(Tensor self, Tensor other) -> Tensor",
     .doc = "The smaller of self and other; NaN where either is.",
     .family = &family_pointwise,
     .takes = TAKES_BOOLEAN | TAKES_ORDERED,
     .no_in_place = true,
     .reference_scalar = minimum,
     .reference_int = minimum_int},
    {.signature = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .doc = "self, no smaller than min and no larger than max.",
     .family = &family_pointwise,
     .infer = clamp_infer,
     .takes = TAKES_ORDERED,
     .scalars_promote = true,
     .reference_scalar = clamp,
     .reference_int = clamp_int},
    {.signature = "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     .doc = "self, no smaller than min and no larger than max, element by element.",
     .family = &family_pointwise,
     .infer = clamp_infer,
     .takes = TAKES_ORDERED,
     .reference_scalar = clamp,
     .reference_int = clamp_int},
    {.signature = "clamp_min(Tensor self, Scalar min) -> Tensor",
     .doc = "self, no smaller than min.",
     .family = &family_pointwise,
     .takes = TAKES_ORDERED,
     .scalars_promote = true,
     .reference_scalar = maximum,
     .reference_int = maximum_int},
};

const op_rows rows_arithmetic = {rows, countof(rows)};
