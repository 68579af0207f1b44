/* SPDX-License-Identifier: Apache-2.0 */
/* Group norm whose channels lie one behind the other, with results that no cache holds. */
#ifndef ENGINE_KERNELS_CPU_NORM_GROUP_H
#define ENGINE_KERNELS_CPU_NORM_GROUP_H

#include "engine/kernels/cpu/norm_stats.h"

/* Whether groups go that way; n_operands of s have been found. */
bool channel_group_suits(const channel_norm *s, int n_operands);
/* Bytes of work that a thread takes. */
int64_t channel_group_bytes(const channel_norm *s);
/* Units [from, to). */
void channel_group_run(const channel_norm *s, int64_t from, int64_t to, char *work);

#endif
