/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of one tensor at given places, laid out in another: index, index_select, embedding. */
#ifndef ENGINE_KERNELS_CPU_TAKE_H
#define ENGINE_KERNELS_CPU_TAKE_H

#include "engine/kernels/cpu/places.h"

/* Sets up plan->run to write self at the indexing's places to output 0, whose dimensions are the indexing's (a dimension
   of size 1 may stand where a 0-dim index leaves none). */
status take_prepare(kernel_plan *plan, const tensor *self, const indexing *ix, error *err);

#endif
