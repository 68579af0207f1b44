/* SPDX-License-Identifier: Apache-2.0 */
/* A task's phases, one after the other. */
#ifndef ENGINE_COMPILE_EMIT_PHASES_H
#define ENGINE_COMPILE_EMIT_PHASES_H

#include "engine/compile/emit/writing.h"

/* Which element, or which lanes, each of a task's variables stands for, into `made` (room for KERNEL_MAX_VARIABLES + 2); answers how
   many definitions that makes. */
int emit_tasks(emitter *m, definition *made);
/* All phases of a task. */
void emit_phases(emitter *m);
/* What a row needs for a phase and for no other, and marks what its loops need: to be forgotten after them. */
void emit_row_alone(emitter *m, int phase);
/* The loops of one, which emit_want_phase has marked. */
void emit_loops(emitter *m, int phase);
/* Takes conditions out that were given names, other than those, from that place in the text on, before lanes that ask none of them. */
void emit_drop_unasked(emitter *m, size_t from, const bool *named);

#endif
