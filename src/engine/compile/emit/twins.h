/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight, two at a time. */
#ifndef ENGINE_COMPILE_EMIT_TWINS_H
#define ENGINE_COMPILE_EMIT_TWINS_H

#include "engine/compile/emit/emitter.h"

/* Decides whether tasks in flight go in pairs. */
void emit_choose_twins(emitter *m, bool has_room);
/* The text behind `from` once more, for the second of a pair. */
void emit_twin(emitter *m, size_t from);

#endif
