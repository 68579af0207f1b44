/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of resampling kernels: upsampling by tables, sampling at grid points. */
#ifndef ENGINE_KERNELS_CPU_RESAMPLE_H
#define ENGINE_KERNELS_CPU_RESAMPLE_H

#include "engine/kernels/cpu/isa/resample_loops.h"
#include "engine/kernels/kernel.h"

const resample_loops *resample_loops_pick(void);

kernel_prepare_fn grid_sampler_prepare;
kernel_prepare_fn grid_sampler_backward_prepare;

#endif
