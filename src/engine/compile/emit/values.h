/* SPDX-License-Identifier: Apache-2.0 */
/* Index expressions and expressions as text: each has a name, and is given it in the order they need each other. */
#ifndef ENGINE_COMPILE_EMIT_VALUES_H
#define ENGINE_COMPILE_EMIT_VALUES_H

#include "engine/compile/emit/emitter.h"

/* An index expression, and the name or the literal that an expression goes by, as parts of a line. */
void emit_index(const emitter *m, text *out, index_sum a, int guard);
/* Of load i's place, which data say: the part where all lanes are alike, between these words; nothing where it is 0. */
void emit_still(emitter *m, text *out, int i, const char *before, const char *after);
void emit_name(const emitter *m, text *out, int i);
/* The statement that gives expression i its name. */
void emit_expr(emitter *m, int i);
/* A statement that notes in `rare` where the quick form of expression i fails. */
void emit_quick_check(emitter *m, int i);
/* Where among a task's rows the one at hand stands, times `stride`. */
void emit_row_position(const emitter *m, text *out, int64_t stride);
/* A line that names the address of a buffer's element between `before` and `after`. */
void emit_address_call(emitter *m, const char *before, int buffer, index_sum at, const char *after);

#endif
