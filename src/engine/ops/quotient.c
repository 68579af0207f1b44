/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise quotients and remainders. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"

#include <math.h>
#include <string.h>

enum { TAKES_ORDERED = TAKES_INTEGRAL | TAKES_FLOATING };

static double div_true(const double *x, const op_call *call) {
    (void)call;
    return x[0] / x[1];
}

static double complex div_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_quotient(x[0], x[1]);
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
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
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

/* Integers by a number that is 0 in their type are refused before any kernel runs; by elements of a tensor kernels refuse it. */
static status divisor_infer(const op_call *call, outputs *out, error *err) {
    pointwise p;
    TRY(pointwise_analyse(call, &p, err));
    const arg *divisor = &call->args[1];
    const bool is_tensor = divisor->kind == ARG_TENSOR;
    if (dtype_category_of(p.compute) <= CATEGORY_INTEGRAL && (!is_tensor || (divisor->tensor->is_wrapped_number && divisor->tensor->storage != NULL))) {
        int64_t value = is_tensor ? element_load_int(divisor->tensor->dtype, tensor_data(divisor->tensor)) : call_number(call, 1).i;
        if (pointwise_integer(call->op->row, &p, value) == 0 && sizes_numel(p.ndim, p.sizes) > 0) {
            return fail(err, ASSAY_INVALID, "%s: an integer is divided by zero", call->op->signature.full);
        }
    }
    return pointwise_infer(call, out, err);
}

/* Without a mode it is true division, whose integers go to f32: the one thing here that a row cannot say by itself. It
   has no reference of its own for integers, so that both meanings compute in double. */
static status div_mode_infer(const op_call *call, outputs *out, error *err) {
    const char *mode = call_str(call, 2);
    if (mode != NULL && strcmp(mode, "trunc") != 0 && strcmp(mode, "floor") != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected rounding_mode None, 'trunc' or 'floor', got '%.40s'",
                    call->op->signature.full, mode);
    }
    TRY(mode != NULL ? divisor_infer(call, out, err) : pointwise_infer(call, out, err));
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
    return complex_quotient(1, x[0]);
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

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val div_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_div(g, x[0], x[1]);
}

/* y, and where an element of it is an integer 0 what any index that is out of range is: noted, so that the run fails. It is looked at
   along a dimension of size 1, at place 0 or, there, 1. */
static val divisor_part(dag *g, val y) {
    int64_t sizes[TENSOR_MAX_DIMS];
    index_sum at[TENSOR_MAX_DIMS];
    const int ndim = v_ndim(g, y);
    if (dtype_category_of(v_dtype(g, y)) > CATEGORY_INTEGRAL || ndim == TENSOR_MAX_DIMS) {
        return y;
    }
    for (int d = 0; d < ndim; d++) {
        sizes[d] = v_size(g, y, d);
    }
    for (int d = 0; d < ndim; d++) {
        at[d] = v_dim(g, sizes, d);
    }
    sizes[ndim] = 1;
    at[ndim] = v_index_of(g, v_2(g, FN_EQ, y, v_int(g, v_dtype(g, y), 0)), at, 1);
    return v_view(g, v_reshape(g, y, ndim + 1, sizes), ndim, sizes, &(view_map){.n_at = ndim + 1, .at = at});
}

static val floor_divide_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_FLOOR_DIV, x[0], divisor_part(g, x[1]));
}

static val div_mode_parts(dag *g, const val *x, const op_call *call) {
    rounding mode = rounding_of(call);
    bool whole = dtype_category_of(v_dtype(g, x[0])) < CATEGORY_FLOATING;
    if (mode == ROUNDING_FLOOR) {
        return floor_divide_parts(g, x, call);
    }
    if (mode == ROUNDING_TRUNC) {
        return whole ? v_div(g, x[0], divisor_part(g, x[1])) : v_1(g, FN_TRUNC, v_div(g, x[0], x[1]));
    }
    return whole ? v_div(g, v_cast(g, x[0], ASSAY_F32), v_cast(g, x[1], ASSAY_F32)) : v_div(g, x[0], x[1]);
}

static val remainder_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_REMAINDER, x[0], divisor_part(g, x[1]));
}

static val fmod_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_FMOD, x[0], divisor_part(g, x[1]));
}

static val reciprocal_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_recip(g, x[0]);
}

static const op_row rows[] = {
    {.signature = "div.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "self / other; integers divide as f32.",
     .family = &family_pointwise,
     .inputs = divisor_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = div_parts,
     .reference_scalar = div_true,
     .reference_complex = div_complex,
     .flops_per_element = 1,
     .complex_flops = 11},
    {.signature = "div.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "self / other, a number; integers divide as f32.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .scalars_promote = true,
     .decompose_scalar = div_parts,
     .reference_scalar = div_true,
     .reference_complex = div_complex,
     .flops_per_element = 1,
     .complex_flops = 11},
    {.signature = "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     .doc = "self / other, rounded toward zero, down, or not at all.",
     .family = &family_pointwise,
     .infer = div_mode_infer,
     .inputs = divisor_inputs,
     .decompose_scalar = div_mode_parts,
     .reference_scalar = div_mode,
     .reference_complex = div_complex,
     .flops_per_element = 1,
     .complex_flops = 11},
    {.signature = "floor_divide(Tensor self, Tensor other) -> Tensor",
     .doc = "self / other rounded down.",
     .family = &family_pointwise,
     .infer = divisor_infer,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .in_place_overload = "Tensor",
     .decompose_scalar = floor_divide_parts,
     .reference_scalar = floor_divide,
     .reference_int = floor_divide_int,
     .flops_per_element = 1},
    {.signature = "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "What remains of self over other rounded down: the divisor's sign.",
     .family = &family_pointwise,
     .infer = divisor_infer,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .scalars_promote = true,
     .decompose_scalar = remainder_parts,
     .reference_scalar = remainder_real,
     .reference_int = remainder_int,
     .flops_per_element = 1},
    {.signature = "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "What remains of self over other rounded down: the divisor's sign.",
     .family = &family_pointwise,
     .infer = divisor_infer,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .decompose_scalar = remainder_parts,
     .reference_scalar = remainder_real,
     .reference_int = remainder_int,
     .flops_per_element = 1},
    {.signature = "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "What remains of self over other rounded toward zero: the dividend's sign.",
     .family = &family_pointwise,
     .infer = divisor_infer,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .scalars_promote = true,
     .decompose_scalar = fmod_parts,
     .reference_scalar = fmod_real,
     .reference_int = fmod_int,
     .flops_per_element = 1},
    {.signature = "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "What remains of self over other rounded toward zero: the dividend's sign.",
     .family = &family_pointwise,
     .infer = divisor_infer,
     .inputs = divisor_inputs,
     .takes = TAKES_ORDERED,
     .rounds_numbers = true,
     .decompose_scalar = fmod_parts,
     .reference_scalar = fmod_real,
     .reference_int = fmod_int,
     .flops_per_element = 1},
    {.signature = "reciprocal(Tensor self) -> Tensor",
     .doc = "1 / self; integers go to f32.",
     .family = &family_pointwise,
     .inputs = reciprocal_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = reciprocal_parts,
     .reference_scalar = reciprocal,
     .reference_complex = reciprocal_complex,
     .flops_per_element = 1,
     .complex_flops = 5},
};

const op_rows rows_quotient = {rows, countof(rows)};
