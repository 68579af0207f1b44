/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of pooling kernels: rows of windows, and backwards that write a plane at a time. */
#ifndef ENGINE_KERNELS_CPU_POOL_BACK_H
#define ENGINE_KERNELS_CPU_POOL_BACK_H

#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/window.h"

/* Strides as [batch, channel, row, column]; a tensor without batch has 0 there. */
void pool_four_strides(const tensor *t, int64_t *out);

kernel_prepare_fn max_pool_back_prepare;

/* Whether averages with these windows can go back by pool_spread_prepare: no position lies in two windows. */
bool pool_windows_are_apart(const pool_windows *rows, const pool_windows *columns);

/* The backward of an average whose windows lie apart, over planes: `job` has its windows and strides already. */
status pool_spread_prepare(kernel_plan *plan, const pool_job *job, const pool_shape *shape, const tensor *grad, error *err);

#endif
