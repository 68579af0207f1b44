/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions and their backwards. */
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"

#include <math.h>
#include <string.h>

static double relu(const double *x, const op_call *call) {
    (void)call;
    return isnan(x[0]) || x[0] > 0 ? x[0] : 0;
}

static int64_t relu_int(const int64_t *x, const op_call *call) {
    (void)call;
    return x[0] > 0 ? x[0] : 0;
}

/* x * Phi(x), by erf or by its tanh approximation (Hendrycks and Gimpel, 2016). */
static double gelu(const double *x, const op_call *call) {
    if (strcmp(call_str(call, 1), "tanh") == 0) {
        return 0.5 * x[0] * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x[0] + 0.044715 * x[0] * x[0] * x[0])));
    }
    return 0.5 * x[0] * erfc(-x[0] * M_SQRT1_2);
}

static double threshold_backward(const double *x, const op_call *call) {
    return x[1] <= call_float(call, 2) ? 0 : x[0];
}

static const op_row rows[] = {
    {.signature = "relu(Tensor self) -> Tensor",
     .doc = "The larger of self and 0; NaN stays.",
     .family = &family_pointwise,
     .reference_scalar = relu,
     .reference_int = relu_int},
    {.signature = "gelu(Tensor self, *, str approximate='none') -> Tensor",
     .doc = "Gaussian error linear unit.",
     .family = &family_pointwise,
     .reference_scalar = gelu,
     .flops_per_element = 10},
    {.signature = "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
     .doc = "grad_output where self exceeds the threshold, else 0: the gradient of relu.",
     .family = &family_activation_backward,
     .reference_scalar = threshold_backward},
};

const op_rows rows_activation = {rows, countof(rows)};
