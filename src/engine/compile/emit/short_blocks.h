/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that are fewer than a block. */
#ifndef ENGINE_COMPILE_EMIT_SHORT_BLOCKS_H
#define ENGINE_COMPILE_EMIT_SHORT_BLOCKS_H

#include "engine/compile/emit/ranges.h"

/* A range of lanes that make no block: in arrays of a block where that pays, which is filled up, else as they are. What the phase needs is
   wanted. */
void emit_short_range(emitter *m, int phase, const lane_range *range);

#endif
