/* SPDX-License-Identifier: Apache-2.0 */
/* Quoting and commas. */
#include "base/csv.h"

#include <string.h>

void csv_field(csv_writer *w, const char *value) {
    if (w->in_row) {
        text_add_char(w->out, ',');
    }
    w->in_row = true;
    if (value == NULL) {
        return;
    }
    if (value[strcspn(value, ",\"\r\n")] == '\0') {
        text_add(w->out, value);
        return;
    }
    text_add_char(w->out, '"');
    for (const char *p = value; *p != '\0'; p++) {
        text_add(w->out, *p == '"' ? "\"" : "");
        text_add_char(w->out, *p);
    }
    text_add_char(w->out, '"');
}

void csv_fieldf(csv_writer *w, const char *format, ...) {
    text value = {0};
    va_list args;
    va_start(args, format);
    text_addv(&value, format, args);
    va_end(args);
    csv_field(w, text_get(&value));
    w->out->failed |= value.failed;
    text_clear(&value);
}

void csv_end_row(csv_writer *w) {
    text_add(w->out, "\r\n");
    w->in_row = false;
}
