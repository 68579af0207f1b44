/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of pooling kernels: rows of windows, and the backward of maxima, a plane at a time. */
#ifndef ENGINE_KERNELS_CPU_POOL_BACK_H
#define ENGINE_KERNELS_CPU_POOL_BACK_H

#include "engine/kernels/cpu/isa/pool_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/window.h"

/* Strides as [batch, channel, row, column]; a tensor without batch has 0 there. */
void pool_four_strides(const tensor *t, int64_t *out);

kernel_prepare_fn max_pool_back_prepare;

#endif
