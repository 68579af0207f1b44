/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of halves that others are added to, each summed up by itself. */
#ifndef ENGINE_COMPILE_EMIT_ROW_LISTS_H
#define ENGINE_COMPILE_EMIT_ROW_LISTS_H

#include "engine/compile/emit/writing.h"

/* A task of a kernel that lists rows: all of its phase. */
void emit_row_lists(emitter *m, int phase);

#endif
