/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows that begin anywhere within a line of memory. */
#ifndef ENGINE_COMPILE_EMIT_JOINED_H
#define ENGINE_COMPILE_EMIT_JOINED_H

#include "engine/compile/emit/emitter.h"

/* Room for what waits of such; an array `name` for what a root's block makes; the call that stores it. */
void emit_joined_room(emitter *m);
void emit_block_room(emitter *m, int root, const char *name, dtype t);
void emit_joined_store(emitter *m, int root);

#endif
