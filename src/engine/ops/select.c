/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise choice between values: where and masked_fill. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

/* where.self(condition, self, other) */
static double where(const double *x, const op_call *call) {
    (void)call;
    return x[0] != 0 ? x[1] : x[2];
}

static int64_t where_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] != 0 ? x[1] : x[2];
}

static double complex where_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] != 0 ? x[1] : x[2];
}

/* u8 is an old spelling of bool that where still takes. */
static status where_infer(const op_call *call, outputs *out, error *err) {
    dtype condition = call_tensor(call, 0)->dtype;
    if (condition != ASSAY_B8 && condition != ASSAY_U8) {
        return fail(err, ASSAY_INVALID, "%s: expected a condition of b8, got %s", call->op->signature.full,
                    assay_dtype_name(condition));
    }
    return pointwise_infer(call, out, err);
}

/* masked_fill.Scalar(self, mask, value), the value a number; masked_fill.Tensor with the value a 0-dim tensor. */
static double fill_number(const double *x, const op_call *call) {
    return x[1] != 0 ? call_float(call, 2) : x[0];
}

static bool fills_truth(const op_call *call) {
    return call_tensor(call, 0)->dtype == ASSAY_B8; /* a fraction cut down to 0 is true all the same */
}

static int64_t fill_number_int(const int64_t *x, const op_call *call) {
    number value = call_number(call, 2);
    if (x[1] != 0 && fills_truth(call)) {
        return value.f != 0;
    }
    return x[1] == 0 ? x[0] : value.category <= CATEGORY_INTEGRAL ? value.i : (int64_t)value.f;
}

static double complex fill_number_complex(const double complex *x, const op_call *call) {
    number value = call_number(call, 2);
    return x[1] != 0 ? CMPLX(value.f, value.im) : x[0];
}

static double fill_tensor(const double *x, const op_call *call) {
    (void)call;
    return x[1] != 0 ? x[2] : x[0];
}

static int64_t fill_tensor_int(const int64_t *x, const op_call *call) {
    if (x[1] != 0 && fills_truth(call)) {
        const tensor *value = call_tensor(call, 2);
        return element_load(value->dtype, tensor_data(value)) != 0;
    }
    return x[1] != 0 ? x[2] : x[0];
}

static double complex fill_tensor_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[1] != 0 ? x[2] : x[0];
}

/* The result is a contiguous copy of self that the mask writes into. */
static status masked_fill_infer(const op_call *call, outputs *out, error *err) {
    const tensor *mask = call_tensor(call, 1);
    pointwise p;
    if (mask->dtype != ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected a mask of b8, got %s", call->op->signature.full,
                    assay_dtype_name(mask->dtype));
    }
    if (call->args[2].kind == ARG_TENSOR && call->args[2].tensor->ndim != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a value of no dimensions, got %d", call->op->signature.full,
                    call->args[2].tensor->ndim);
    }
    TRY(pointwise_analyse(call, &p, err));
    if (call->args[2].kind == ARG_TENSOR && dtype_is_complex(call->args[2].tensor->dtype) && !dtype_is_complex(p.result) && p.result != ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected a real value for a tensor of %s, got %s", call->op->signature.full, assay_dtype_name(p.result),
                    assay_dtype_name(call->args[2].tensor->dtype));
    }
    tensor *t = outputs_push(out);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return tensor_init(t, p.result, p.ndim, p.sizes, err);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val where_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_select(g, v_truth(g, x[0]), x[1], x[2]);
}

static val fill_number_parts(dag *g, const val *x, const op_call *call) {
    return v_select(g, v_truth(g, x[1]), v_constant(g, v_dtype(g, x[0]), call_number(call, 2)), x[0]);
}

static val fill_tensor_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_select(g, v_truth(g, x[1]), x[2], x[0]);
}

static const op_row rows[] = {
    {.signature = "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     .doc = "self where the condition holds, other elsewhere.",
     .family = &family_pointwise,
     .infer = where_infer,
     .promote_mask = 6,
     .no_in_place = true,
     .decompose_scalar = where_parts,
     .reference_scalar = where,
     .reference_int = where_int,
     .reference_complex = where_complex},
    {.signature = "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     .doc = "A number where the mask holds, self elsewhere.",
     .family = &family_pointwise,
     .fits_output = 1 << 2,
     .infer = masked_fill_infer,
     .promote_mask = 1,
     .decompose_scalar = fill_number_parts,
     .reference_scalar = fill_number,
     .reference_int = fill_number_int,
     .reference_complex = fill_number_complex},
    {.signature = "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
     .doc = "One value where the mask holds, self elsewhere.",
     .family = &family_pointwise,
     .infer = masked_fill_infer,
     .promote_mask = 1,
     .decompose_scalar = fill_tensor_parts,
     .reference_scalar = fill_tensor,
     .reference_int = fill_tensor_int,
     .reference_complex = fill_tensor_complex},
};

const op_rows rows_select = {rows, countof(rows)};
