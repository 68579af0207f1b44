/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise arithmetic and elementary functions. */
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

#include <math.h>

/* add(self, other, alpha) = self + alpha * other */
static double add(const double *x, const op_call *call) {
    return x[0] + call_float(call, 2) * x[1];
}

static int64_t add_int(const int64_t *x, const op_call *call) {
    return (int64_t)((uint64_t)x[0] + (uint64_t)call_number(call, 2).i * (uint64_t)x[1]);
}

static double complex add_complex(const double complex *x, const op_call *call) {
    number alpha = call_number(call, 2);
    return x[0] + CMPLX(alpha.f, alpha.im) * x[1];
}

static double exp_real(const double *x, const op_call *call) {
    (void)call;
    return exp(x[0]);
}

static double complex exp_complex(const double complex *x, const op_call *call) {
    (void)call;
    return cexp(x[0]);
}

static const op_row rows[] = {
    {.signature = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .doc = "self + alpha * other.",
     .family = &family_pointwise,
     .reference_scalar = add,
     .reference_int = add_int,
     .reference_complex = add_complex,
     .flops_per_element = 1},
    {.signature = "exp(Tensor self) -> Tensor",
     .doc = "e to the power of self.",
     .family = &family_pointwise,
     .promotion = PROMOTE_INT_TO_FLOAT,
     .reference_scalar = exp_real,
     .reference_complex = exp_complex,
     .flops_per_element = 10},
};

const op_rows rows_arithmetic = {rows, countof(rows)};
