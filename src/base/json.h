/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON: commas, escapes and numbers are this file's business, so that no caller can emit an invalid line. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends to `out`, which the caller owns. NaN and infinities become null; bytes that are not UTF-8 become U+FFFD. */
typedef struct json_writer {
    text *out;
    int indent;        /* spaces a level; 0 writes one line */
    int depth;
    bool need_comma;
} json_writer;

void json_begin_object(json_writer *w);
void json_end_object(json_writer *w);
void json_begin_array(json_writer *w);
void json_end_array(json_writer *w);
void json_key(json_writer *w, const char *key);
void json_string(json_writer *w, const char *value); /* NULL writes null */
void json_string_n(json_writer *w, const char *value, size_t n);
void json_int(json_writer *w, int64_t value);
void json_uint(json_writer *w, uint64_t value);
void json_double(json_writer *w, double value);
void json_bool(json_writer *w, bool value);
void json_null(json_writer *w);

/* key and value at once, for the common case */
void json_put_string(json_writer *w, const char *key, const char *value);
void json_put_int(json_writer *w, const char *key, int64_t value);
void json_put_double(json_writer *w, const char *key, double value);
void json_put_bool(json_writer *w, const char *key, bool value);
void json_put_null(json_writer *w, const char *key);

#endif
