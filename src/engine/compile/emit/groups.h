/* SPDX-License-Identifier: Apache-2.0 */
/* Rows gone down in groups: a block of lanes of each, then the next block. */
#ifndef ENGINE_COMPILE_EMIT_GROUPS_H
#define ENGINE_COMPILE_EMIT_GROUPS_H

#include "engine/compile/emit/emitter.h"
#include "engine/compile/emit/writing.h"

/* Before what is done with a block of lanes of one row, in a phase (>= 0) or in all that are side by side (-1); behind that, and before what
   is done with the lanes that make no block, so many, from the row's last whole block on: 0: there are none; and behind all. at_place: where
   the lanes at hand lie among what is saved. */
void emit_open_groups(emitter *m, int only, definition *at_place);
int64_t emit_open_group_rest(emitter *m, int only, definition *at_place);
void emit_close_groups(emitter *m, int64_t rest, definition *at_place);

#endif
