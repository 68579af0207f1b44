/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by windows of 3 x 3 as text. */
#ifndef ENGINE_COMPILE_EMIT_WINDOWS_H
#define ENGINE_COMPILE_EMIT_WINDOWS_H

#include "engine/compile/emit/emitter.h"

/* Names what each thread has room for, before its tasks. */
void emit_windows_room(emitter *m);
/* One task: some tiles of 4 x 4 results in up to 64 columns (channels of the result). */
void emit_windows(emitter *m);

#endif
