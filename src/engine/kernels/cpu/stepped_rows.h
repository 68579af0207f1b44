/* SPDX-License-Identifier: Apache-2.0 */
/* Whole rows set apart among rows of zeros. */
#ifndef ENGINE_KERNELS_CPU_STEPPED_ROWS_H
#define ENGINE_KERNELS_CPU_STEPPED_ROWS_H

#include "engine/kernels/kernel.h"

/* Along dimension dim of dst, from `start` on, n rows of src `step` apart, each of all the dimensions behind dim; zeros elsewhere. */
typedef struct stepped_rows {
    const tensor *dst, *src;
    int dim;
    int64_t start, n, step;
} stepped_rows;

/* Whether this way takes it: contiguous tensors of one type that caches hold, as many rows of src as go there, and none too short. */
bool stepped_rows_take(const stepped_rows *s);
/* The kernel's state and run. OUT_OF_MEMORY. The tensors have to live as long as the plan. */
status stepped_rows_prepare(kernel_plan *plan, const stepped_rows *s, error *err);

#endif
