/* SPDX-License-Identifier: Apache-2.0 */
/* What the pooling kernels share: rows of windows, the backward of maxima, and what others do by windows as well. */
#ifndef ENGINE_KERNELS_CPU_POOL_BACK_H
#define ENGINE_KERNELS_CPU_POOL_BACK_H

#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/window.h"

/* Strides as [batch, channel, row, column]; a tensor without batch has 0 there. */
void pool_four_strides(const tensor *t, int64_t *out);

kernel_prepare_fn max_pool_back_prepare;

/* Readies the plan to write each element of a plane of the first argument into a square of four, or to add such squares up. Both
   tensors have 4 dimensions, and one has rows and columns twice as many as the other. */
status pool_prepare_fours(kernel_plan *plan, bool adds, error *err);

#endif
