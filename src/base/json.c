/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer (RFC 8259). */
#include "base/json.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void new_line(json_writer *w) {
    if (w->indent > 0) {
        text_add_char(w->out, '\n');
        for (int i = 0; i < w->indent * w->depth; i++) {
            text_add_char(w->out, ' ');
        }
    }
}

static void before_value(json_writer *w) {
    if (w->need_comma) {
        text_add_char(w->out, ',');
        if (w->indent == 0) {
            text_add_char(w->out, ' ');
        }
    }
    if (w->depth > 0 && (w->need_comma || (w->out->length > 0 && strchr("[{", w->out->data[w->out->length - 1])))) {
        new_line(w);
    }
    w->need_comma = true;
}

static void begin(json_writer *w, char bracket) {
    before_value(w);
    text_add_char(w->out, bracket);
    w->depth++;
    w->need_comma = false;
}

static void end(json_writer *w, char bracket) {
    bool had_items = w->need_comma;
    w->depth--;
    if (had_items) {
        new_line(w);
    }
    text_add_char(w->out, bracket);
    w->need_comma = true;
}

void json_begin_object(json_writer *w) {
    begin(w, '{');
}

void json_end_object(json_writer *w) {
    end(w, '}');
}

void json_begin_array(json_writer *w) {
    begin(w, '[');
}

void json_end_array(json_writer *w) {
    end(w, ']');
}

static void add_escaped(text *out, const char *value, size_t n) {
    static const char escapes[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const unsigned char *p = (const unsigned char *)value;
    text_add_char(out, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = p[i];
        const char *special = c != 0 ? strchr(escapes, c) : NULL;
        size_t length = utf8_length(value + i, n - i);
        if (special != NULL) {
            text_add_char(out, '\\');
            text_add_char(out, letters[special - escapes]);
        } else if (c < 0x20 || c == 0x7f) {
            text_addf(out, "\\u%04x", c);
        } else if (length == 0) {
            text_add(out, "\xef\xbf\xbd");
        } else {
            text_add_bytes(out, value + i, length);
        }
        i += length > 0 ? length : 1;
    }
    text_add_char(out, '"');
}

void json_key(json_writer *w, const char *key) {
    before_value(w);
    add_escaped(w->out, key, strlen(key));
    text_add(w->out, ": ");
    w->need_comma = false;
}

void json_string_n(json_writer *w, const char *value, size_t n) {
    before_value(w);
    add_escaped(w->out, value, n);
}

void json_string(json_writer *w, const char *value) {
    if (value == NULL) {
        json_null(w);
    } else {
        json_string_n(w, value, strlen(value));
    }
}

void json_int(json_writer *w, int64_t value) {
    before_value(w);
    text_addf(w->out, "%" PRId64, value);
}

void json_uint(json_writer *w, uint64_t value) {
    before_value(w);
    text_addf(w->out, "%" PRIu64, value);
}

void json_double(json_writer *w, double value) {
    if (!isfinite(value)) {
        json_null(w);
        return;
    }
    before_value(w);
    text_add_plain_double(w->out, value);
}

void json_bool(json_writer *w, bool value) {
    before_value(w);
    text_add(w->out, value ? "true" : "false");
}

void json_null(json_writer *w) {
    before_value(w);
    text_add(w->out, "null");
}

void json_put_string(json_writer *w, const char *key, const char *value) {
    json_key(w, key);
    json_string(w, value);
}

void json_put_int(json_writer *w, const char *key, int64_t value) {
    json_key(w, key);
    json_int(w, value);
}

void json_put_double(json_writer *w, const char *key, double value) {
    json_key(w, key);
    json_double(w, value);
}

void json_put_bool(json_writer *w, const char *key, bool value) {
    json_key(w, key);
    json_bool(w, value);
}

void json_put_null(json_writer *w, const char *key) {
    json_key(w, key);
    json_null(w);
}
