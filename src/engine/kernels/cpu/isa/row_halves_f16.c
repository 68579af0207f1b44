/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over rows of f16. */
#define HALF_TYPE ASSAY_F16
#include "engine/kernels/cpu/isa/row_halves_template.h"

const row_halves ISA_SYMBOL(row_halves_f16) = {ROW_HALVES_LOOPS};
