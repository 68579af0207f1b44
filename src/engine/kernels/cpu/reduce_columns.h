/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions by columns. */
#ifndef ENGINE_KERNELS_CPU_REDUCE_COLUMNS_H
#define ENGINE_KERNELS_CPU_REDUCE_COLUMNS_H

#include "engine/kernels/cpu/reduce_totals.h"

/* Columns shared among threads; or, where there are few, their rows, each thread with its own totals (r->partials). */
void reduction_run_columns(const reduction *r);
void reduction_split_columns(const reduction *r);

#endif
