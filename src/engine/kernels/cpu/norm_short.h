/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm over channels of few positions. */
#ifndef ENGINE_KERNELS_CPU_NORM_SHORT_H
#define ENGINE_KERNELS_CPU_NORM_SHORT_H

#include "engine/kernels/cpu/norm_stats.h"

/* Short rows: channels [c, c + rows) of sample n in one go, as many as channel_short_count says. buffer: two blocks of rows.
   Moments and sums are merged into s->moments. */
int64_t channel_short_count(const channel_norm *s, int64_t c, int64_t c_to);
void channel_short_moments(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer);
void channel_short_forward(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer);
void channel_short_sums(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer);
void channel_short_backward(const channel_norm *s, int64_t n, int64_t c, int64_t rows, double g, double gx, char *buffer);

#endif
