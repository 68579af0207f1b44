/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm with channels together in memory. */
#ifndef ENGINE_KERNELS_CPU_NORM_COLUMNS_H
#define ENGINE_KERNELS_CPU_NORM_COLUMNS_H

#include "engine/kernels/cpu/norm_stats.h"

/* By columns: channels lie together in memory. Both leave every output but the parameters' gradients written. */
void channel_columns_forward(const channel_norm *s);
void channel_columns_backward(const channel_norm *s);

#endif
