/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise signs, magnitudes and extremes. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

#include <math.h>

enum {
    TAKES_NUMBERS = TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX, /* all but booleans */
    TAKES_ORDERED = TAKES_INTEGRAL | TAKES_FLOATING,
};

static int64_t wrapping_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

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

/* In place the result would not have self's type. */
static status abs_infer(const op_call *call, outputs *out, error *err) {
    return call->op->in_place && dtype_is_complex(call_tensor(call, 0)->dtype)
               ? fail(err, ASSAY_INVALID, "%s is not defined for complex numbers in place", call->op->signature.full)
               : pointwise_infer(call, out, err);
}

static status clamp_infer(const op_call *call, outputs *out, error *err) {
    if (call_is_none(call, 1) && call_is_none(call, 2)) {
        return fail(err, ASSAY_INVALID, "%s: expected min, max or both, got neither", call->op->signature.full);
    }
    TRY(pointwise_infer(call, out, err));
    if (out->items[0].dtype == ASSAY_B8 && !call_is_none(call, 1) && !call_is_none(call, 2)) {
        return fail(err, ASSAY_INVALID, "%s: expected one bound of booleans, got two", call->op->signature.full); /* as ATen */
    }
    return call->op->row->scalars_promote ? pointwise_check_bounds(call, 1, 2, out->items[0].dtype, err) : ASSAY_OK;
}

static status clamp_min_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    return pointwise_check_bounds(call, 1, -1, out->items[0].dtype, err);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val neg_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_NEG, x[0]);
}

static val abs_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_ABS, x[0]);
}

static val sgn_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_SIGN, x[0]);
}

static val maximum_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_MAXIMUM, x[0], x[1]);
}

static val minimum_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_MINIMUM, x[0], x[1]);
}

static val clamp_parts(dag *g, const val *x, const op_call *call) {
    val value = *x++;
    value = v_has(call, 1) ? v_2(g, FN_MAXIMUM, value, *x++) : value;
    return v_has(call, 2) ? v_2(g, FN_MINIMUM, value, *x) : value;
}

static const op_row rows[] = {
    {.signature = "neg(Tensor self) -> Tensor",
     .doc = "-self.",
     .family = &family_pointwise,
     .takes = TAKES_NUMBERS,
     .decompose_scalar = neg_parts,
     .reference_scalar = neg,
     .reference_int = neg_int,
     .reference_complex = neg_complex,
     .flops_per_element = 1},
    {.signature = "abs(Tensor self) -> Tensor",
     .doc = "The magnitude of self: real for complex numbers.",
     .family = &family_pointwise,
     .infer = abs_infer,
     .promotion = PROMOTE_COMPLEX_TO_FLOAT,
     .takes = TAKES_NUMBERS,
     .decompose_scalar = abs_parts,
     .reference_scalar = abs_real,
     .reference_int = abs_int,
     .reference_complex = abs_complex,
     .flops_per_element = 1,
     .complex_flops = 4},
    {.signature = "sgn(Tensor self) -> Tensor",
     .doc = "The sign of self, -1, 0 or 1; self over its magnitude for complex numbers.",
     .family = &family_pointwise,
     .decompose_scalar = sgn_parts,
     .reference_scalar = sgn,
     .reference_int = sgn_int,
     .reference_complex = sgn_complex,
     .complex_flops = 6},
    {.signature = "maximum(Tensor self, Tensor other) -> Tensor",
     .doc = "The larger of self and other; NaN where either is.",
     .family = &family_pointwise,
     .takes = TAKES_BOOLEAN | TAKES_ORDERED,
     .no_in_place = true,
     .decompose_scalar = maximum_parts,
     .reference_scalar = maximum,
     .reference_int = maximum_int},
    {.signature = "minimum(Tensor self, Tensor other) -> Tensor",
     .doc = "The smaller of self and other; NaN where either is.",
     .family = &family_pointwise,
     .takes = TAKES_BOOLEAN | TAKES_ORDERED,
     .no_in_place = true,
     .decompose_scalar = minimum_parts,
     .reference_scalar = minimum,
     .reference_int = minimum_int},
    {.signature = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .doc = "self, no smaller than min and no larger than max.",
     .family = &family_pointwise,
     .infer = clamp_infer,
     .takes = TAKES_ORDERED,
     .scalars_promote = true,
     .keeps_integers = true,
     .decompose_scalar = clamp_parts,
     .reference_scalar = clamp,
     .reference_int = clamp_int},
    {.signature = "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     .doc = "self, no smaller than min and no larger than max, element by element.",
     .family = &family_pointwise,
     .infer = clamp_infer,
     .takes = TAKES_BOOLEAN | TAKES_ORDERED,
     .decompose_scalar = clamp_parts,
     .reference_scalar = clamp,
     .reference_int = clamp_int},
    {.signature = "clamp_min(Tensor self, Scalar min) -> Tensor",
     .doc = "self, no smaller than min.",
     .family = &family_pointwise,
     .infer = clamp_min_infer,
     .takes = TAKES_ORDERED,
     .scalars_promote = true,
     .keeps_integers = true,
     .decompose_scalar = maximum_parts,
     .reference_scalar = maximum,
     .reference_int = maximum_int},
};

const op_rows rows_extremes = {rows, countof(rows)};
