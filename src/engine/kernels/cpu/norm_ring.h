/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm by rows with results that no cache holds. */
#ifndef ENGINE_KERNELS_CPU_NORM_RING_H
#define ENGINE_KERNELS_CPU_NORM_RING_H

#include "engine/kernels/cpu/norm_stats.h"

/* Units [from, to), each read once; kept: ring_bytes. */
void channel_ring_run(const channel_norm *s, int64_t from, int64_t to, char *kept);

/* All units, each read once, by a team of s->threads in which each thread has some samples of every unit: batch norm. */
void channel_ring_share(const channel_norm *s, char *kept);

/* A thread of a team that shares units: where it adds up what it reads, and where what all have read. Behind a barrier it joins the latter,
   in the threads' order, for a unit's channels. */
void channel_share_start(const channel_norm *s, channel_norm *reads, channel_norm *whole);
void channel_join_threads(const channel_norm *s, const channel_unit *u, const channel_norm *whole);

/* What a unit begins and ends with: its sums at 0; what follows of them. */
void channel_start_unit(const channel_norm *s, const channel_unit *u);
void channel_end_unit(const channel_norm *s, channel_unit *u);

/* A step's numbers that finish channel c of a sample, and those that read it; the latter answers where its sums go. */
ring_numbers channel_step_to(const channel_norm *s, const channel_unit *u, int64_t sample, int64_t c);
channel_moment *channel_step_from(const channel_norm *s, int64_t sample, int64_t c, ring_step *step);
/* Runs a step, and adds what it read to *m; NULL: it read nothing. */
void channel_step_run(const channel_norm *s, ring_step *step, channel_moment *m);

#endif
