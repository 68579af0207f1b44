/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows that go past the caches begin and end within a line of memory. */
#ifndef ENGINE_COMPILE_EMIT_ROW_ENDS_H
#define ENGINE_COMPILE_EMIT_ROW_ENDS_H

#include "engine/compile/emit/writing.h"

/* Whether what a task stores goes on where that of the task before it ends: what ends the one and begins the other makes a whole line. To be
   asked once it is known how tasks go. unaligned: the last phase's emit_unaligned_root. */
void emit_choose_carried(emitter *m, int unaligned);
/* Room for such a line; to be dropped where nothing came to use it. */
void emit_carried_room(emitter *m, definition *room);
/* A phase's `head` lanes up to the first whole line of what it stores, from `from` on; its last n lanes, which begin with one, `most` at
   most. */
void emit_row_head(emitter *m, int phase, const char *from);
void emit_row_rest(emitter *m, int phase, const char *n, const char *from, int64_t most);

#endif
