/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks whose rows lie one behind the other, read in the order of memory. */
#ifndef ENGINE_COMPILE_EMIT_ORDERED_H
#define ENGINE_COMPILE_EMIT_ORDERED_H

#include "engine/compile/emit/writing.h"

/* Whether each load along the lanes goes on in the next task's row where this one's ends, and elsewhere in the next turn of the loops, of
   which there are some, in memory that no cache holds. */
bool emit_rows_follow(const emitter *m);
/* Decides it: m->ordered_tasks. The loops over tasks, then; made: room for what a task defines. */
void emit_choose_ordered(emitter *m);
void emit_ordered(emitter *m, definition *made);

#endif
