/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of what runs across the lanes in memory, turned round. */
#ifndef ENGINE_COMPILE_EMIT_TURNED_H
#define ENGINE_COMPILE_EMIT_TURNED_H

#include "engine/compile/emit/emitter.h"

/* All of a task whose lanes only move what runs across them: from where it lies to where it belongs. False: it does more. */
bool emit_turned_over(emitter *m);
/* Reads what runs across the vector into arrays that run along it. */
void emit_turned(emitter *m);
/* In the loop over what these hold: asks for what the next task reads so. */
void emit_turned_ahead(emitter *m);

#endif
