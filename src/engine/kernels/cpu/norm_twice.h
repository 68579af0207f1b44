/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm by rows with results that no cache holds, of units that L2 does not hold either. */
#ifndef ENGINE_KERNELS_CPU_NORM_TWICE_H
#define ENGINE_KERNELS_CPU_NORM_TWICE_H

#include "engine/kernels/cpu/norm_stats.h"

/* Units [from, to), each read twice. */
void channel_twice_run(const channel_norm *s, int64_t from, int64_t to);

#endif
