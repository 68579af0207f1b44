/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that reduce, beside those of reduce.c. */
#ifndef ENGINE_KERNELS_CPU_REDUCE_H
#define ENGINE_KERNELS_CPU_REDUCE_H

#include "engine/kernels/kernel.h"

/* Mean and variance kernels (reduce_moments.c), extremes with places (reduce_extreme.c). */
kernel_prepare_fn prepare_variance;
kernel_prepare_fn prepare_extreme_dim;
/* Any norm and complex truth values, one element at a time (reduce_slow.c). */
kernel_prepare_fn prepare_reduce_slow;

#endif
