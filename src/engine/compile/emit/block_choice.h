/* SPDX-License-Identifier: Apache-2.0 */
/* What of a phase goes through arrays of a block of lanes. */
#ifndef ENGINE_COMPILE_EMIT_BLOCK_CHOICE_H
#define ENGINE_COMPILE_EMIT_BLOCK_CHOICE_H

#include "engine/compile/emit/lane_loops.h"

/* What a block makes as a whole: random bits of places in a row, the cast of a half that is read, or one that is about to be
   written. */
bool emit_can_widen(const emitter *m, int i, bool functions);
/* Whether the block makes it by a function. */
bool emit_is_function(const emitter *m, int i);
/* Chooses for a block, or for one that has fewer lanes, of which nothing is fetched and nothing goes past the caches; false: nothing goes
   through arrays. And chooses nothing again. */
bool emit_choose_block(emitter *m, int phase);
bool emit_choose_short(emitter *m, int phase);
void emit_choose_none(emitter *m);
/* The arrays of what is made as a whole, and what functions make of it. */
void emit_block_arrays(emitter *m);
void emit_functions(emitter *m, const lane_range *range);

#endif
