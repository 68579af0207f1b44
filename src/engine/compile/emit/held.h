/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulators in registers. */
#ifndef ENGINE_COMPILE_EMIT_HELD_H
#define ENGINE_COMPILE_EMIT_HELD_H

#include "engine/compile/emit/lane_loops.h"

/* Whether root i's accumulators stay in registers while a block of lanes is gone over, or all of a row's. */
bool emit_is_held(const emitter *m, int i);
/* Whether lanes of columns, a whole block or less, are added to arrays beside that: to bring less than a block to registers takes
   longer than many blocks. */
bool emit_goes_past_held(const emitter *m, bool is_block);
/* Before and behind the lanes of a phase: what its roots take in, put together; and that they take it. */
void emit_open_held(emitter *m, int phase, const lane_range *range);
void emit_close_held(emitter *m, int phase);
/* Before and behind the rows of a group, a block of lanes of each: lanes come from arrays, and go back there. Of phase `only`, or where
   that is -1 of all that go on side by side. */
void emit_open_held_group(emitter *m, int only);
void emit_close_held_group(emitter *m, int only);

#endif
