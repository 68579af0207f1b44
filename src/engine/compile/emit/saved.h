/* SPDX-License-Identifier: Apache-2.0 */
/* What one phase computes and a later one reads back. */
#ifndef ENGINE_COMPILE_EMIT_SAVED_H
#define ENGINE_COMPILE_EMIT_SAVED_H

#include "engine/compile/emit/emitter.h"

/* Decides what is saved between phases, up to so many bytes of a task, and declares room for it. */
enum { EMIT_SAVED_BYTES = 256 * 1024 };
void emit_choose_saved(emitter *m, int64_t most_bytes);
void emit_declare_saved(emitter *m);
/* Asks for what a phase reads back some rows further on. */
void emit_fetch_saved(emitter *m, int rows_ahead);

#endif
