/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text, and names that may turn out not to be needed. */
#ifndef ENGINE_COMPILE_EMIT_WRITING_H
#define ENGINE_COMPILE_EMIT_WRITING_H

#include "engine/compile/emit/emitter.h"

/* One line of text, indented. */
void emit_line(emitter *m, const char *format, ...) PRINTF_LIKE(2, 3);

/* A line that gives `name` to something. */
typedef struct definition {
    size_t from, to; /* its place in the text */
    char name[24];
} definition;

/* A name, the first word of what the format makes, and its value, as a line that begins with its type. */
void emit_define(emitter *m, definition *d, const char *type, const char *format, ...) PRINTF_LIKE(4, 5);
/* Takes the line out again when nothing behind it, up to the end of the text so far, says the name: C compilers warn of
   such. */
void emit_drop_unused(emitter *m, const definition *d);

#endif
