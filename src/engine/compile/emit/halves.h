/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of halves: those that lie wherever an index says, and those that are stored. */
#ifndef ENGINE_COMPILE_EMIT_HALVES_H
#define ENGINE_COMPILE_EMIT_HALVES_H

#include "engine/compile/emit/emitter.h"

/* Whether e reads a half that lies wherever an index says, a different one for each lane. */
bool emit_is_gathered_half(const emitter *m, const expr *e);
/* Whether e reads halves that lie so far apart, lane by lane, that each is loaded by itself. */
bool emit_is_apart_half(const emitter *m, const expr *e);
/* Whether bf16 that lie regularly apart are put side by side by the text. */
bool emit_puts_bf16_together(const emitter *m);
/* Whether cast i, one of those, is of few halves that lie together: they are read from there. */
bool emit_is_straight(const emitter *m, int i);
/* Decides which casts of such a block makes as a whole, before its lanes: what says where is none of them. */
void emit_choose_gathered(emitter *m);
/* Whether the last block of lanes begins where it ends with the last lane, where `rest` are left: of halves, each of which costs
   more by itself. */
bool emit_takes_lanes_twice(const emitter *m, int phase, int64_t rest);
/* Whether a root stores halves that blocks can be narrowed to; whether all that a phase does is to narrow what it reads, straight
   from where that lies; the call that stores root i's block of halves, of what `made` holds or of that. */
bool emit_can_narrow(const emitter *m, const root *r);
bool emit_passes_on(const emitter *m, int phase);
void emit_halves_store(emitter *m, const root *r, int i, bool passes);

#endif
