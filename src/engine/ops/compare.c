/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, tests for special values, bitwise and logical operators. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

#include <math.h>

enum {
    TAKES_ORDERED = TAKES_BOOLEAN | TAKES_INTEGRAL | TAKES_FLOATING,
    TAKES_BITS = TAKES_BOOLEAN | TAKES_INTEGRAL,
};

static double eq(const double *x, const op_call *call) {
    (void)call;
    return x[0] == x[1];
}

static int64_t eq_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] == x[1];
}

static double complex eq_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] == x[1];
}

static double ne(const double *x, const op_call *call) {
    (void)call;
    return x[0] != x[1];
}

static int64_t ne_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] != x[1];
}

static double complex ne_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] != x[1];
}

static double lt(const double *x, const op_call *call) {
    (void)call;
    return x[0] < x[1];
}

static int64_t lt_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] < x[1];
}

static double le(const double *x, const op_call *call) {
    (void)call;
    return x[0] <= x[1];
}

static int64_t le_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] <= x[1];
}

static double gt(const double *x, const op_call *call) {
    (void)call;
    return x[0] > x[1];
}

static int64_t gt_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] > x[1];
}

static double ge(const double *x, const op_call *call) {
    (void)call;
    return x[0] >= x[1];
}

static int64_t ge_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] >= x[1];
}

static double is_infinite(const double *x, const op_call *call) {
    (void)call;
    return isinf(x[0]) != 0;
}

static double complex is_infinite_complex(const double complex *x, const op_call *call) {
    (void)call;
    return isinf(creal(x[0])) || isinf(cimag(x[0]));
}

static double is_nan(const double *x, const op_call *call) {
    (void)call;
    return isnan(x[0]) != 0;
}

static double complex is_nan_complex(const double complex *x, const op_call *call) {
    (void)call;
    return isnan(creal(x[0])) || isnan(cimag(x[0]));
}

static int64_t bitwise_and(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] & x[1];
}

static int64_t bitwise_or(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] | x[1];
}

static int64_t bitwise_xor(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] ^ x[1];
}

/* Of a boolean the other one. */
static int64_t bitwise_not(const int64_t *x, const op_call *call) {
    return call_tensor(call, 0)->dtype == ASSAY_B8 ? x[0] == 0 : ~x[0];
}

static double logical_and(const double *x, const op_call *call) {
    (void)call;
    return x[0] != 0 && x[1] != 0;
}

static int64_t logical_and_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] != 0 && x[1] != 0;
}

static double complex logical_and_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] != 0 && x[1] != 0;
}

static double logical_or(const double *x, const op_call *call) {
    (void)call;
    return x[0] != 0 || x[1] != 0;
}

static int64_t logical_or_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] != 0 || x[1] != 0;
}

static double complex logical_or_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] != 0 || x[1] != 0;
}

static double logical_xor(const double *x, const op_call *call) {
    (void)call;
    return (x[0] != 0) != (x[1] != 0);
}

static int64_t logical_xor_int(const int64_t *x, const op_call *call) {
    (void)call;
    return (x[0] != 0) != (x[1] != 0);
}

static double complex logical_xor_complex(const double complex *x, const op_call *call) {
    (void)call;
    return (x[0] != 0) != (x[1] != 0);
}

static double logical_not(const double *x, const op_call *call) {
    (void)call;
    return x[0] == 0;
}

static int64_t logical_not_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] == 0;
}

static double complex logical_not_complex(const double complex *x, const op_call *call) {
    (void)call;
    return x[0] == 0;
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static val eq_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_EQ, x[0], x[1]);
}

static val ne_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_NE, x[0], x[1]);
}

static val lt_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_LT, x[0], x[1]);
}

static val le_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_LE, x[0], x[1]);
}

static val gt_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_GT, x[0], x[1]);
}

static val ge_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_GE, x[0], x[1]);
}

static val isinf_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_IS_INF, x[0]);
}

static val isnan_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_IS_NAN, x[0]);
}

static val bitwise_and_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_AND, x[0], x[1]);
}

static val bitwise_or_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_OR, x[0], x[1]);
}

static val bitwise_xor_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_XOR, x[0], x[1]);
}

static val bitwise_not_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_NOT, x[0]);
}

static val logical_and_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_AND, v_truth(g, x[0]), v_truth(g, x[1]));
}

static val logical_or_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_OR, v_truth(g, x[0]), v_truth(g, x[1]));
}

static val logical_xor_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_2(g, FN_XOR, v_truth(g, x[0]), v_truth(g, x[1]));
}

static val logical_not_parts(dag *g, const val *x, const op_call *call) {
    (void)call;
    return v_1(g, FN_NOT, v_truth(g, x[0]));
}

static const op_row rows[] = {
    {.signature = "eq.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self equals other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = eq_parts,
     .reference_scalar = eq,
     .reference_int = eq_int,
     .reference_complex = eq_complex},
    {.signature = "eq.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self equals other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .decompose_scalar = eq_parts,
     .reference_scalar = eq,
     .reference_int = eq_int,
     .reference_complex = eq_complex},
    {.signature = "ne.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self differs from other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = ne_parts,
     .reference_scalar = ne,
     .reference_int = ne_int,
     .reference_complex = ne_complex},
    {.signature = "ne.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self differs from other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .decompose_scalar = ne_parts,
     .reference_scalar = ne,
     .reference_int = ne_int,
     .reference_complex = ne_complex},
    {.signature = "lt.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self is less than other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .takes = TAKES_ORDERED,
     .decompose_scalar = lt_parts,
     .reference_scalar = lt,
     .reference_int = lt_int},
    {.signature = "lt.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self is less than other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .takes = TAKES_ORDERED,
     .decompose_scalar = lt_parts,
     .reference_scalar = lt,
     .reference_int = lt_int},
    {.signature = "le.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self is at most other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .takes = TAKES_ORDERED,
     .decompose_scalar = le_parts,
     .reference_scalar = le,
     .reference_int = le_int},
    {.signature = "le.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self is at most other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .takes = TAKES_ORDERED,
     .decompose_scalar = le_parts,
     .reference_scalar = le,
     .reference_int = le_int},
    {.signature = "gt.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self is more than other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .takes = TAKES_ORDERED,
     .decompose_scalar = gt_parts,
     .reference_scalar = gt,
     .reference_int = gt_int},
    {.signature = "gt.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self is more than other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .takes = TAKES_ORDERED,
     .decompose_scalar = gt_parts,
     .reference_scalar = gt,
     .reference_int = gt_int},
    {.signature = "ge.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether self is at least other.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .takes = TAKES_ORDERED,
     .decompose_scalar = ge_parts,
     .reference_scalar = ge,
     .reference_int = ge_int},
    {.signature = "ge.Scalar(Tensor self, Scalar other) -> Tensor",
     .doc = "Whether self is at least other, a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .scalars_promote = true,
     .takes = TAKES_ORDERED,
     .decompose_scalar = ge_parts,
     .reference_scalar = ge,
     .reference_int = ge_int},
    {.signature = "isinf(Tensor self) -> Tensor",
     .doc = "Whether self is infinite.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .no_in_place = true,
     .decompose_scalar = isinf_parts,
     .reference_scalar = is_infinite,
     .reference_complex = is_infinite_complex},
    {.signature = "isnan(Tensor self) -> Tensor",
     .doc = "Whether self is not a number.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .no_in_place = true,
     .decompose_scalar = isnan_parts,
     .reference_scalar = is_nan,
     .reference_complex = is_nan_complex},
    {.signature = "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "The bits set in both.",
     .family = &family_pointwise,
     .takes = TAKES_BITS,
     .decompose_scalar = bitwise_and_parts,
     .reference_int = bitwise_and},
    {.signature = "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "The bits set in either.",
     .family = &family_pointwise,
     .takes = TAKES_BITS,
     .decompose_scalar = bitwise_or_parts,
     .reference_int = bitwise_or},
    {.signature = "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
     .doc = "The bits set in one and not in the other.",
     .family = &family_pointwise,
     .takes = TAKES_BITS,
     .decompose_scalar = bitwise_xor_parts,
     .reference_int = bitwise_xor},
    {.signature = "bitwise_not(Tensor self) -> Tensor",
     .doc = "The bits not set; of booleans the other one.",
     .family = &family_pointwise,
     .takes = TAKES_BITS,
     .decompose_scalar = bitwise_not_parts,
     .reference_int = bitwise_not},
    {.signature = "logical_and(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether neither is 0.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = logical_and_parts,
     .reference_scalar = logical_and,
     .reference_int = logical_and_int,
     .reference_complex = logical_and_complex},
    {.signature = "logical_or(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether they are not both 0.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = logical_or_parts,
     .reference_scalar = logical_or,
     .reference_int = logical_or_int,
     .reference_complex = logical_or_complex},
    {.signature = "logical_xor(Tensor self, Tensor other) -> Tensor",
     .doc = "Whether one of them is 0 and the other is not.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = logical_xor_parts,
     .reference_scalar = logical_xor,
     .reference_int = logical_xor_int,
     .reference_complex = logical_xor_complex},
    {.signature = "logical_not(Tensor self) -> Tensor",
     .doc = "Whether self is 0.",
     .family = &family_pointwise,
     .promotion = PROMOTE_BOOL_OUT,
     .decompose_scalar = logical_not_parts,
     .reference_scalar = logical_not,
     .reference_int = logical_not_int,
     .reference_complex = logical_not_complex},
};

const op_rows rows_compare = {rows, countof(rows)};
