/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for memory before it is read. */
#ifndef ENGINE_COMPILE_EMIT_FETCHING_H
#define ENGINE_COMPILE_EMIT_FETCHING_H

#include "engine/compile/emit/emitter.h"

/* Whether a phase asks for what is read soon; and it does so, for so many lanes. */
bool emit_fetches_in(const emitter *m, int phase);
void emit_fetches(emitter *m, int phase, int64_t lanes);

/* The same of what a block of lanes at `first` reads where a condition holds, as it does for some of them: some rows ahead, as what lies behind
   the lanes that it holds for is not read. */
void emit_guarded_fetches(emitter *m, const char *first, int64_t lanes);

/* Whether both sums of deviations are taken row by row of what comes from memory, rather than by groups of rows. */
bool emit_passes_rows(const emitter *m);

/* Whether a phase that only adds up takes rows, which lie apart in memory, in turns: a block of lanes of each of EMIT_PAGES rows, then
   the next block. Each is a place that memory is read from straight on, and the next group's rows are asked for, to come to L2. */
bool emit_takes_turns(const emitter *m, int phase);

#endif
