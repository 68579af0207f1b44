/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows that go past the caches begin and end within a line of memory. */
#ifndef ENGINE_COMPILE_EMIT_ROW_ENDS_H
#define ENGINE_COMPILE_EMIT_ROW_ENDS_H

#include "engine/compile/emit/emitter.h"

/* Whether a task's row goes on where that of the task before it ends: what ends the one and begins the other makes a whole line. */
void emit_choose_carried(emitter *m);
/* Room for such a line. */
void emit_carried_room(emitter *m);
/* A phase's `head` lanes up to the first whole line of what it stores; its last n lanes, from `from` on, which begin with one, `most` at
   most. */
void emit_row_head(emitter *m, int phase);
void emit_row_rest(emitter *m, int phase, const char *n, const char *from, int64_t most);

#endif
