/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm of channels of few positions with results that no cache holds. */
#ifndef ENGINE_KERNELS_CPU_NORM_NEIGHBOURS_H
#define ENGINE_KERNELS_CPU_NORM_NEIGHBOURS_H

#include "engine/kernels/cpu/norm_stats.h"

/* Positions of a unit's channels together, at most, and of one at least. */
enum { NEIGHBOUR_COLUMNS = 4096, NEIGHBOUR_LEAST_ROW = 16 };

/* Bytes that a thread needs for what is known of s->block channels. */
int64_t channel_neighbours_bytes(const channel_norm *s);

/* All units of the call, each read once; of a team: its units, or with s->shares_units some samples of every one. */
void channel_neighbours_run(const channel_norm *s);

#endif
