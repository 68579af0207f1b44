/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise elementary functions: exponentials, logarithms, roots, powers, trigonometry, rounding. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"

#include <math.h>

static double exp_real(const double *x, const op_call *call) {
    (void)call;
    return exp(x[0]);
}

static double complex exp_complex(const double complex *x, const op_call *call) {
    (void)call;
    return cexp(x[0]);
}

static double log2_real(const double *x, const op_call *call) {
    (void)call;
    return log2(x[0]);
}

static double complex log2_complex(const double complex *x, const op_call *call) {
    (void)call;
    return clog(x[0]) / M_LN2;
}

static double sqrt_real(const double *x, const op_call *call) {
    (void)call;
    return sqrt(x[0]);
}

static double complex sqrt_complex(const double complex *x, const op_call *call) {
    (void)call;
    return csqrt(x[0]);
}

static double rsqrt_real(const double *x, const op_call *call) {
    (void)call;
    return 1 / sqrt(x[0]);
}

static double complex rsqrt_complex(const double complex *x, const op_call *call) {
    (void)call;
    return complex_quotient(1, csqrt(x[0]));
}

static double sin_real(const double *x, const op_call *call) {
    (void)call;
    return sin(x[0]);
}

static double complex sin_complex(const double complex *x, const op_call *call) {
    (void)call;
    return csin(x[0]);
}

static double cos_real(const double *x, const op_call *call) {
    (void)call;
    return cos(x[0]);
}

static double complex cos_complex(const double complex *x, const op_call *call) {
    (void)call;
    return ccos(x[0]);
}

static double erf_real(const double *x, const op_call *call) {
    (void)call;
    return erf(x[0]);
}

static double floor_real(const double *x, const op_call *call) {
    (void)call;
    return floor(x[0]);
}

/* Halves go to the even neighbour: the rounding mode is never changed here. */
static double round_real(const double *x, const op_call *call) {
    (void)call;
    return nearbyint(x[0]);
}

static int64_t same_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0];
}

/* --- powers ----------------------------------------------------------------------------------------------------------- */

/* Wraps around; a negative exponent leaves of all bases only 1 and -1 (ATen's powi). */
static int64_t power_int(int64_t base, int64_t exponent) {
    if (exponent < 0) {
        return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
    uint64_t result = 1, square = (uint64_t)base;
    for (; exponent != 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? square : 1;
        square *= square;
    }
    return (int64_t)result;
}

/* By 1/2 ATen takes the root, by -1/2 its inverse: of -inf neither is what pow answers. */
static double pow_number(const double *x, const op_call *call) {
    (void)call;
    return x[1] == 0.5 ? sqrt(x[0]) : x[1] == -0.5 ? 1 / sqrt(x[0]) : pow(x[0], x[1]);
}

static double pow_real(const double *x, const op_call *call) {
    (void)call;
    return pow(x[0], x[1]);
}

static int64_t pow_int(const int64_t *x, const op_call *call) {
    (void)call;
    return power_int(x[0], x[1]);
}

static double complex pow_complex(const double complex *x, const op_call *call) {
    (void)call;
    return cpow(x[0], x[1]);
}

/* To the power of the number 0, and the number 1 to any power, ATen fills in ones: of infinities and NaN cpow has none. */
static double complex pow_number_complex(const double complex *x, const op_call *call) {
    return x[1] == 0 ? 1 : pow_complex(x, call);
}

/* pow.Scalar(self, exponent): the tensor is the exponent, the number behind it the base. */
static double pow_of_number(const double *x, const op_call *call) {
    (void)call;
    return pow(x[1], x[0]);
}

static int64_t pow_of_number_int(const int64_t *x, const op_call *call) {
    (void)call;
    return power_int(x[1], x[0]);
}

static double complex pow_of_number_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[1] == 1 ? 1 : cpow(x[1], x[0]);
}

static status pow_number_infer(const op_call *call, outputs *out, error *err) {
    TRY(pointwise_infer(call, out, err));
    number exponent = call_number(call, 1);
    if (dtype_is_integral(out->items[0].dtype) && exponent.f < 0) {
        return fail(err, ASSAY_INVALID, "%s: expected an exponent of at least 0 for integers, got %g",
                    call->op->signature.full, exponent.f);
    }
    const dtype t = out->items[0].dtype;
    const bool holds = dtype_is_integral(t) || (dtype_is_floating(t) && dtype_size(t) == 2); /* of other types it is infinite then */
    return holds && !dtype_holds(t, exponent)
               ? fail(err, ASSAY_INVALID, "%s: expected an exponent that %s can be, got %g", call->op->signature.full, assay_dtype_name(t), exponent.f)
               : ASSAY_OK;
}

/* --- inputs ----------------------------------------------------------------------------------------------------------- */

/* Logarithms and roots want positive arguments, not so near 0 that f16 overflows. */
static status positive_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    tensor *self = call_tensor(call, 0);
    if (dtype_is_floating(self->dtype)) {
        fill_uniform(self, r, 0.0625, 4);
    } else if (dtype_is_integral(self->dtype)) {
        fill_integers(self, r, 1, 10);
    }
    return ASSAY_OK;
}

/* A power of a negative number exists for whole exponents alone. */
static status pow_inputs(const op_call *call, rng *r, error *err) {
    bool whole = call->args[1].kind != ARG_TENSOR && call_float(call, 1) >= 0 &&
                 call_float(call, 1) == floor(call_float(call, 1));
    return whole ? ASSAY_OK : positive_inputs(call, r, err);
}

/* --- cost --------------------------------------------------------------------------------------------------------------- */

/* Exponents that ATen, too, does by multiplications, a division or a root. */
static void pow_number_cost(const op_call *call, const outputs *out, op_cost *cost) {
    static const struct {
        double exponent, flops;
    } cheap[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {0.5, 1}, {-0.5, 2}, {-1, 1}, {-2, 2}};
    double exponent = call_number(call, 1).f;
    for (size_t i = 0; i < countof(cheap) && !dtype_is_complex(out->items[0].dtype); i++) {
        if (cheap[i].exponent == exponent) {
            cost->flops = cheap[i].flops * (double)tensor_numel(&out->items[0]);
        }
    }
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val exp_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_EXP, x[0]);
}

static val log2_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_LOG2, x[0]);
}

static val sqrt_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_SQRT, x[0]);
}

static val sin_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_SIN, x[0]);
}

static val cos_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_COS, x[0]);
}

static val erf_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_ERF, x[0]);
}

static val floor_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_FLOOR, x[0]);
}

static val round_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_ROUND, x[0]);
}

static val rsqrt_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_RSQRT, x[0]);
}

/* x to a whole power of at least 1, by squaring. */
static val multiplied(dag *g, val x, int64_t power) {
    val result = x;
    bool any = false;
    for (; power > 0; power >>= 1) {
        if ((power & 1) != 0) {
            result = any ? v_mul(g, result, x) : x;
            any = true;
        }
        x = power > 1 ? v_mul(g, x, x) : x;
    }
    return result;
}

/* A real number to a power of 1.5, 2.5 or 3.5: the root times as many of it, one after the other, which neither passes the largest number nor
   loses digits below the smallest before the power does. Of numbers below 0 there is none, but for -infinity as C has it. */
static val root_times(dag *g, val x, int factors) {
    const dtype t = v_dtype(g, x);
    val size = v_1(g, FN_ABS, x), made = v_1(g, FN_SQRT, size);
    for (int i = 0; i < factors; i++) {
        made = v_mul(g, made, size);
    }
    val has_none = v_2(g, FN_AND, v_2(g, FN_LT, x, v_real(g, t, 0)), v_2(g, FN_GT, x, v_real(g, t, -INFINITY)));
    return v_select(g, has_none, v_real(g, t, NAN), made);
}

/* Powers that are products, roots or reciprocals: of reals, while the products' rounding stays within 2 ulp; of integers,
   which do not round, up to as many products as a power in general takes. */
static val pow_number_parts(dag *g, const val *x, const op_call *call) {
    enum { MOST_ROUNDED = 4, MOST_EXACT = 64 };
    dtype t = v_dtype(g, x[0]);
    bool exact = dtype_category_of(t) < CATEGORY_FLOATING;
    number exponent = call_number(call, 1);
    double size = fabs(exponent.f);
    const bool divides_cheaply = t == ASSAY_F64; /* than the power in general: f32 to that of -1.5 takes 1.2 times as long by root and quotient */
    const bool has_root = size != 0.5 && size - floor(size) == 0.5 && size < MOST_ROUNDED && dtype_category_of(t) == CATEGORY_FLOATING &&
                          (exponent.f > 0 || divides_cheaply);
    if (exponent.im != 0 || (size != 0.5 && !has_root && (size > (exact ? MOST_EXACT : MOST_ROUNDED) || size != floor(size)))) {
        return v_2(g, FN_POW, x[0], x[1]);
    }
    if (size == 0) {
        return v_int(g, t, 1);
    }
    if (size == 0.5) {
        return v_1(g, exponent.f < 0 ? FN_RSQRT : FN_SQRT, x[0]);
    }
    val value = has_root ? root_times(g, x[0], (int)size) : multiplied(g, x[0], (int64_t)size);
    return exponent.f < 0 ? v_recip(g, value) : value;
}

static val pow_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_POW, x[0], x[1]);
}

static val pow_of_number_parts(dag *g, const val *x, const op_call *call) {
    number base = call_number(call, 0);
    if (base.f == 1 && base.im == 0) {
        return v_int(g, v_dtype(g, x[0]), 1);
    }
    return v_2(g, FN_POW, x[1], x[0]);
}

static const op_row rows[] = {
    {.signature = "exp(Tensor self) -> Tensor",
     .doc = "e to the power of self.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = exp_parts,
     .reference_scalar = exp_real,
     .reference_complex = exp_complex,
     .flops_per_element = 10,
     .complex_flops = 42},
    {.signature = "log2(Tensor self) -> Tensor",
     .doc = "The logarithm of self to base 2.",
     .family = &family_pointwise,
     .inputs = positive_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = log2_parts,
     .reference_scalar = log2_real,
     .reference_complex = log2_complex,
     .flops_per_element = 10,
     .complex_flops = 30},
    {.signature = "sqrt(Tensor self) -> Tensor",
     .doc = "The square root of self.",
     .family = &family_pointwise,
     .inputs = positive_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = sqrt_parts,
     .reference_scalar = sqrt_real,
     .reference_complex = sqrt_complex,
     .flops_per_element = 1,
     .complex_flops = 10},
    {.signature = "rsqrt(Tensor self) -> Tensor",
     .doc = "1 over the square root of self.",
     .family = &family_pointwise,
     .inputs = positive_inputs,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = rsqrt_parts,
     .reference_scalar = rsqrt_real,
     .reference_complex = rsqrt_complex,
     .flops_per_element = 2,
     .complex_flops = 15},
    {.signature = "sin(Tensor self) -> Tensor",
     .doc = "The sine of self, in radians.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = sin_parts,
     .reference_scalar = sin_real,
     .reference_complex = sin_complex,
     .flops_per_element = 15,
     .complex_flops = 47},
    {.signature = "cos(Tensor self) -> Tensor",
     .doc = "The cosine of self, in radians.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .decompose_scalar = cos_parts,
     .reference_scalar = cos_real,
     .reference_complex = cos_complex,
     .flops_per_element = 15,
     .complex_flops = 47},
    {.signature = "erf(Tensor self) -> Tensor",
     .doc = "The error function of self.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .takes = TAKES_FLOATING,
     .decompose_scalar = erf_parts,
     .reference_scalar = erf_real,
     .flops_per_element = 20},
    {.signature = "floor(Tensor self) -> Tensor",
     .doc = "The largest whole number not above self.",
     .family = &family_pointwise,
     .takes = TAKES_INTEGRAL | TAKES_FLOATING,
     .decompose_scalar = floor_parts,
     .reference_scalar = floor_real,
     .reference_int = same_int,
     .flops_per_element = 1},
    {.signature = "round(Tensor self) -> Tensor",
     .doc = "The whole number nearest to self; halves go to the even one.",
     .family = &family_pointwise,
     .takes = TAKES_INTEGRAL | TAKES_FLOATING,
     .decompose_scalar = round_parts,
     .reference_scalar = round_real,
     .reference_int = same_int,
     .flops_per_element = 1},
    {.signature = "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .doc = "self to the power of a number.",
     .family = &family_pointwise,
     .infer = pow_number_infer,
     .cost = pow_number_cost,
     .inputs = pow_inputs,
     .takes = TAKES_BOOLEAN | TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX,
     .scalars_promote = true,
     .in_place_overload = "Scalar",
     .decompose_scalar = pow_number_parts,
     .reference_scalar = pow_number,
     .reference_int = pow_int,
     .reference_complex = pow_number_complex,
     .flops_per_element = 20,
     .complex_flops = 78},
    {.signature = "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .doc = "A number to the power of exponent.",
     .family = &family_pointwise,
     .takes = TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX,
     .scalars_promote = true,
     .rounds_numbers = true,
     .no_in_place = true,
     .decompose_scalar = pow_of_number_parts,
     .reference_scalar = pow_of_number,
     .reference_int = pow_of_number_int,
     .reference_complex = pow_of_number_complex,
     .flops_per_element = 20,
     .complex_flops = 78},
    {.signature = "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .doc = "self to the power of exponent.",
     .family = &family_pointwise,
     .inputs = pow_inputs,
     .takes = TAKES_INTEGRAL | TAKES_FLOATING | TAKES_COMPLEX,
     .in_place_overload = "Tensor",
     .decompose_scalar = pow_parts,
     .reference_scalar = pow_real,
     .reference_int = pow_int,
     .reference_complex = pow_complex,
     .flops_per_element = 20,
     .complex_flops = 78},
};

const op_rows rows_elementary = {rows, countof(rows)};
