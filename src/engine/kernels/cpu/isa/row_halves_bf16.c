/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over rows of bf16. */
#define HALF_TYPE ASSAY_BF16
#include "engine/kernels/cpu/isa/row_halves_template.h"

const row_halves ISA_SYMBOL(row_halves_bf16) = {ROW_HALVES_LOOPS};
