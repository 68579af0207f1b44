/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text, and names that may turn out not to be needed. */
#include "engine/compile/emit/writing.h"

#include "base/c_locale.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void emit_line(emitter *m, const char *format, ...) {
    for (int i = 0; i < m->depth; i++) {
        text_add(&m->out, "    ");
    }
    va_list args;
    va_start(args, format);
    text_addv(&m->out, format, args);
    va_end(args);
    text_add(&m->out, "\n");
}

void emit_define(emitter *m, definition *d, const char *type, const char *format, ...) {
    char value[200];
    va_list args;
    va_start(args, format);
    c_vsnprintf(value, sizeof value, format, args);
    va_end(args);
    snprintf(d->name, sizeof d->name, "%.*s", (int)strcspn(value, " "), value);
    d->from = m->out.length;
    emit_line(m, "%s%s;", type, value);
    d->to = m->out.length;
}

void emit_drop_unused(emitter *m, const definition *d) {
    if (m->out.failed) {
        return;
    }
    size_t n = strlen(d->name);
    for (const char *at = m->out.data + d->to; (at = strstr(at, d->name)) != NULL; at += n) {
        if (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && !isalnum((unsigned char)at[n]) && at[n] != '_') {
            return;
        }
    }
    memmove(m->out.data + d->from, m->out.data + d->to, m->out.length - d->to + 1);
    m->out.length -= d->to - d->from;
}
