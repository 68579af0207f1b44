/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums and products. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

enum { TAKES_NUMBERS = TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX }; /* all but booleans */

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

/* Whether argument i is a truth, or a tensor of them. */
static bool is_truth(const op_call *call, int i) {
    return call->args[i].kind == ARG_TENSOR ? call_tensor(call, i)->dtype == ASSAY_B8 : call_number(call, i).category == CATEGORY_BOOLEAN;
}

/* A truth is scaled by a truth: by -1 as by 1. */
static int64_t add_int(const int64_t *x, const op_call *call) {
    const int64_t alpha = call_number(call, 2).i;
    return wrapping_add(x[0], wrapping_mul(is_truth(call, 0) && is_truth(call, 1) ? alpha != 0 : alpha, x[1]));
}

/* x by a scale. One leaves it as it is: a product by 1 + 0i makes NaN beside what is infinite (docs/accuracy.md). */
static double complex scaled_complex(number by, double complex x) {
    return by.f == 1 && by.im == 0 ? x : complex_product(as_complex(by), x);
}

static double complex add_complex(const double complex *x, const op_call *call) {
    return x[0] + scaled_complex(call_number(call, 2), x[1]);
}

static double sub(const double *x, const op_call *call) {
    return x[0] - call_float(call, 2) * x[1];
}

static int64_t sub_int(const int64_t *x, const op_call *call) {
    return wrapping_sub(x[0], wrapping_mul(call_number(call, 2).i, x[1]));
}

static double complex sub_complex(const double complex *x, const op_call *call) {
    return x[0] - scaled_complex(call_number(call, 2), x[1]);
}

static double rsub(const double *x, const op_call *call) {
    return x[1] - call_float(call, 2) * x[0];
}

static int64_t rsub_int(const int64_t *x, const op_call *call) {
    return wrapping_sub(x[1], wrapping_mul(call_number(call, 2).i, x[0]));
}

static double complex rsub_complex(const double complex *x, const op_call *call) {
    return x[1] - scaled_complex(call_number(call, 2), x[0]);
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
    return complex_product(x[0], x[1]);
}

/* addcmul(self, tensor1, tensor2, value) = self + value * tensor1 * tensor2 */
static double addcmul(const double *x, const op_call *call) {
    return x[0] + call_float(call, 3) * x[1] * x[2];
}

static int64_t addcmul_int(const int64_t *x, const op_call *call) {
    const number value = call_number(call, 3);
    return wrapping_add(x[0], wrapping_mul(value.category > CATEGORY_INTEGRAL ? (int64_t)value.f : value.i, wrapping_mul(x[1], x[2])));
}

static double complex addcmul_complex(const double complex *x, const op_call *call) {
    return x[0] + complex_product(complex_product(as_complex(call_number(call, 3)), x[1]), x[2]);
}

/* ATen's alpha_check: an integer result cannot be scaled by a fraction, and only truths by a truth. */
static status scaled_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    const dtype_category scale = call_number(call, 2).category;
    const dtype t = out->items[0].dtype;
    if (scale > dtype_category_of(t) && scale > CATEGORY_INTEGRAL) {
        return fail(err, ASSAY_INVALID, "%s: alpha scales a result of %s: expected an integer", call->op->signature.full, assay_dtype_name(t));
    }
    return scale == CATEGORY_BOOLEAN && t != ASSAY_B8
               ? fail(err, ASSAY_INVALID, "%s: alpha scales a result of %s: expected a number, got a boolean", call->op->signature.full, assay_dtype_name(t))
               : ASSAY_OK;
}

/* Truths are not subtracted, whatever the other operand is (ATen's sub_check). */
static status sub_infer(const op_call *call, outputs *out, error *err) {
    for (int i = 0; i < 2; i++) {
        if (is_truth(call, i)) {
            return fail(err, ASSAY_INVALID, "%s: expected numbers, got a boolean as %s; logical_xor or bitwise_not may be meant", call->op->signature.full,
                        call->op->signature.params[i].name);
        }
    }
    TRY(scaled_infer(call, out, err));
    number minus = call_number(call, 2); /* what ATen adds the product with */
    minus = (number){.category = minus.category, .i = (int64_t)-(uint64_t)minus.i, .f = -minus.f, .im = -minus.im};
    return dtype_holds(out->items[0].dtype, minus)
               ? ASSAY_OK
               : fail(err, ASSAY_INVALID, "%s: expected alpha whose opposite %s can be, got %.17g", call->op->signature.full,
                      assay_dtype_name(out->items[0].dtype), call_number(call, 2).f);
}

/* A fraction that scales integers is cut off. */
static status addcmul_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    const dtype t = out->items[0].dtype;
    return call_number(call, 3).category == CATEGORY_COMPLEX && !dtype_is_complex(t)
               ? fail(err, ASSAY_INVALID, "%s: value scales a result of %s: expected a real number", call->op->signature.full, assay_dtype_name(t))
               : ASSAY_OK;
}

/* --- cost --------------------------------------------------------------------------------------------------------------- */

/* Besides what the row says: the multiplication by alpha. */
static void scaled_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *made = &out->items[0];
    cost->flops += flops_of_scale(made->dtype, call_number(call, 2)) * (double)tensor_numel(made);
}

static void addcmul_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *made = &out->items[0];
    cost->flops += flops_of_scale(made->dtype, call_number(call, 3)) * (double)tensor_numel(made);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* x by the call's number `at`. */
static val by_number(dag *g, val x, const op_call *call, int at) {
    return v_mul(g, x, v_constant(g, v_dtype(g, x), call_number(call, at)));
}

static val add_parts(dag *g, const val *x, const op_call *call) {
    return v_add(g, x[0], by_number(g, x[1], call, 2));
}

static val sub_parts(dag *g, const val *x, const op_call *call) {
    return v_sub(g, x[0], by_number(g, x[1], call, 2));
}

static val rsub_parts(dag *g, const val *x, const op_call *call) {
    return v_sub(g, x[1], by_number(g, x[0], call, 2));
}

static val mul_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_mul(g, x[0], x[1]);
}

static val addcmul_parts(dag *g, const val *x, const op_call *call) {
    return v_add(g, x[0], v_mul(g, by_number(g, x[1], call, 3), x[2]));
}

static const op_row rows[] = {
    {.signature = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .doc = "self + alpha * other.",
     .family = &family_pointwise,
     .fits_output = 1 << 2,
     .infer = scaled_infer,
     .cost = scaled_cost,
     .decompose_scalar = add_parts,
     .reference_scalar = add,
     .reference_int = add_int,
     .reference_complex = add_complex,
     .flops_per_element = 1},
    {.signature = "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "self + alpha * other, a number.",
     .family = &family_pointwise,
     .fits_output = 1 << 2,
     .infer = scaled_infer,
     .cost = scaled_cost,
     .scalars_promote = true,
     .scales = 1 << 2,
     .decompose_scalar = add_parts,
     .reference_scalar = add,
     .reference_int = add_int,
     .reference_complex = add_complex,
     .flops_per_element = 1},
    {.signature = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .doc = "self - alpha * other.",
     .family = &family_pointwise,
     .infer = sub_infer,
     .cost = scaled_cost,
     .takes = TAKES_NUMBERS,
     .decompose_scalar = sub_parts,
     .reference_scalar = sub,
     .reference_int = sub_int,
     .reference_complex = sub_complex,
     .flops_per_element = 1},
    {.signature = "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "self - alpha * other, a number.",
     .family = &family_pointwise,
     .infer = sub_infer,
     .cost = scaled_cost,
     .takes = TAKES_NUMBERS,
     .scalars_promote = true,
     .scales = 1 << 2,
     .decompose_scalar = sub_parts,
     .reference_scalar = sub,
     .reference_int = sub_int,
     .reference_complex = sub_complex,
     .flops_per_element = 1},
    {.signature = "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .doc = "other - alpha * self, with other a number.",
     .family = &family_pointwise,
     .infer = sub_infer,
     .cost = scaled_cost,
     .takes = TAKES_NUMBERS,
     .scalars_promote = true,
     .scales = 1 << 2,
     .no_in_place = true,
     .decompose_scalar = rsub_parts,
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
     .flops_per_element = 1,
     .complex_flops = 6},
    {.signature = "mul.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "self * other, a number.",
     .family = &family_pointwise,
     .scalars_promote = true,
     .decompose_scalar = mul_parts,
     .reference_scalar = mul,
     .reference_int = mul_int,
     .reference_complex = mul_complex,
     .flops_per_element = 1,
     .complex_flops = 6},
    {.signature = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     .doc = "self + value * tensor1 * tensor2.",
     .family = &family_pointwise,
     .fits_computed = 1 << 3,
     .infer = addcmul_infer,
     .cost = addcmul_cost,
     .takes = TAKES_NUMBERS,
     .decompose_scalar = addcmul_parts,
     .reference_scalar = addcmul,
     .reference_int = addcmul_int,
     .reference_complex = addcmul_complex,
     .flops_per_element = 2,
     .complex_flops = 8},
};

const op_rows rows_arithmetic = {rows, countof(rows)};
