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
/* A sum of complex numbers, divided by how many there are or not, in runs that lie together (reduce_pairs.c). False, with nothing settled:
   they lie otherwise, or are of another type than the result. */
bool prepare_pair_sums(kernel_plan *plan, bool divides);

#endif
