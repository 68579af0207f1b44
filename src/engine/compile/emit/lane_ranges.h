/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of lanes as text. */
#ifndef ENGINE_COMPILE_EMIT_LANE_RANGES_H
#define ENGINE_COMPILE_EMIT_LANE_RANGES_H

#include "engine/compile/emit/lane_loops.h"

/* A range as one loop, which computes what a phase wants. */
void emit_plain_range(emitter *m, int phase, const lane_range *range);
/* A block of halves that lie here and there, side by side, and what they are in f32. */
void emit_gathered(emitter *m, const lane_range *range);

#endif
