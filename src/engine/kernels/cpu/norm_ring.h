/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm by rows with results that no cache holds. */
#ifndef ENGINE_KERNELS_CPU_NORM_RING_H
#define ENGINE_KERNELS_CPU_NORM_RING_H

#include "engine/kernels/cpu/norm_stats.h"

/* Units [from, to), each read once; kept: ring_bytes. */
void channel_ring_run(const channel_norm *s, int64_t from, int64_t to, char *kept);

#endif
