/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm with channels apart in memory. */
#ifndef ENGINE_KERNELS_CPU_NORM_ROWS_H
#define ENGINE_KERNELS_CPU_NORM_ROWS_H

#include "engine/kernels/cpu/norm_stats.h"

/* All units: blocks of channels or groups. Every output but the parameters' gradients is written. */
void channel_rows_run(const channel_norm *s);

#endif
