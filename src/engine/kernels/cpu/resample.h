/* SPDX-License-Identifier: Apache-2.0 */
/* The files of resampling kernels: upsampling by tables, sampling at grid points, the same in f32 vector code. */
#ifndef ENGINE_KERNELS_CPU_RESAMPLE_H
#define ENGINE_KERNELS_CPU_RESAMPLE_H

#include "engine/kernels/cpu/isa/resample_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/resample.h"

const resample_loops *resample_loops_pick(void);

kernel_prepare_fn grid_sampler_prepare;
kernel_prepare_fn grid_sampler_backward_prepare;

/* Whether grid_quick.c serves these; grad: NULL for the forward; axes: two, rows first. Then it prepares the plan. */
bool grid_quick_fits(const tensor *x, const tensor *grid, const tensor *grad, const outputs *out, const grid_axis *axes);
status grid_quick_prepare(kernel_plan *plan, const tensor *x, const tensor *grid, const tensor *grad, const grid_axis *axes,
                          error *err);
/* Whether grid_few.c serves what grid_quick.c does, better; then it prepares the plan. */
bool grid_few_fits(const tensor *x, const tensor *grid, const tensor *grad, const outputs *out, const grid_axis *axes);
status grid_few_prepare(kernel_plan *plan, const tensor *x, const tensor *grid, const tensor *grad,
                        const grid_quick_axis axes[2], bool is_nearest, error *err);

#endif
