/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive-descent JSON reader (RFC 8259), strict, with positions. */
#include "base/json_tree.h"

#include "base/c_locale.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    arena *memory;
    const char *start, *at, *end;
    const char *line_start;
    int line, depth;
    error *err;
} reader;

/* `where` is on the line that is being read: no token but white space holds a newline. */
static int column_of(const reader *r, const char *where) {
    return (int)(where - r->line_start) + 1;
}

static status malformed(const reader *r, const char *where, const char *message) {
    const char *ends = where >= r->end ? ", and the text ends here" : "";
    return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, where), "%s%s", message, ends);
}

static status no_memory(const reader *r) {
    return fail(r->err, ASSAY_OUT_OF_MEMORY, "no memory for JSON of %zu bytes", (size_t)(r->end - r->start));
}

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) {
        if (*r->at++ == '\n') {
            r->line++;
            r->line_start = r->at;
        }
    }
}

static bool next_is(reader *r, char c) {
    return r->at < r->end && *r->at == c;
}

/* Four hexadecimal digits at p, or -1. */
static int hex4(const reader *r, const char *p) {
    int value = 0;
    if (r->end - p < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* At the 'u' of an escape: its code point, two surrogates joined; moves behind it. */
static status read_code_point(reader *r, uint32_t *out) {
    const char *where = r->at - 1;
    int high = hex4(r, r->at + 1);
    if (high < 0) {
        return malformed(r, where, "expected four hexadecimal digits behind \\u");
    }
    r->at += 5;
    *out = (uint32_t)high;
    if (high >= 0xd800 && high <= 0xdfff) {
        int low = r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u' ? hex4(r, r->at + 2) : -1;
        if (high >= 0xdc00 || low < 0xdc00 || low > 0xdfff) {
            return malformed(r, where, "expected a pair of surrogates");
        }
        r->at += 6;
        *out = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
    }
    return *out != 0 ? ASSAY_OK : malformed(r, where, "expected a text without NUL characters");
}

/* At a backslash: the bytes that it stands for, appended at *to. */
static status read_escape(reader *r, char **to) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    r->at++;
    const char *found = r->at < r->end && *r->at != '\0' ? strchr(letters, *r->at) : NULL;
    if (found != NULL) {
        *(*to)++ = meanings[found - letters];
        r->at++;
        return ASSAY_OK;
    }
    if (!next_is(r, 'u')) {
        return malformed(r, r->at, "expected one of \" \\ / b f n r t u behind a backslash");
    }
    uint32_t code_point = 0;
    TRY(read_code_point(r, &code_point));
    *to += utf8_encode(code_point, *to);
    return ASSAY_OK;
}

/* The length of the string's source, so that its memory is known: escapes only ever get shorter. */
static status find_quote(const reader *r, size_t *n) {
    for (const char *p = r->at; p < r->end; p++) {
        if (*p == '"') {
            *n = (size_t)(p - r->at);
            return ASSAY_OK;
        }
        p += *p == '\\';
    }
    return malformed(r, r->end, "expected a closing quote");
}

static status read_string(reader *r, const char **out, size_t *out_n) {
    if (!next_is(r, '"')) {
        return malformed(r, r->at, "expected a string");
    }
    r->at++;
    size_t n = 0;
    TRY(find_quote(r, &n));
    char *copy = arena_make(r->memory, n + 1, 1), *to = copy;
    if (copy == NULL) {
        return no_memory(r);
    }
    while (*r->at != '"') {
        if (*r->at == '\\') {
            TRY(read_escape(r, &to));
            continue;
        }
        size_t length = utf8_length(r->at, (size_t)(r->end - r->at));
        if (length == 0) {
            return malformed(r, r->at, "expected UTF-8");
        }
        if ((unsigned char)*r->at < 0x20) {
            return malformed(r, r->at, "expected control characters to be escaped");
        }
        memcpy(to, r->at, length);
        to += length;
        r->at += length;
    }
    r->at++;
    *to = '\0';
    *out = copy;
    *out_n = (size_t)(to - copy);
    return ASSAY_OK;
}

static bool skip_digits(reader *r) {
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return r->at > from;
}

static status read_number(reader *r, json_value *value) {
    const char *from = r->at;
    bool whole = true;
    r->at += *r->at == '-';
    bool leading_zero = next_is(r, '0');
    const char *digits = r->at;
    if (!skip_digits(r) || (leading_zero && r->at - digits > 1)) {
        return malformed(r, from, "expected a value");
    }
    if (next_is(r, '.')) {
        whole = false;
        r->at++;
        if (!skip_digits(r)) {
            return malformed(r, r->at, "expected digits behind the point");
        }
    }
    if (next_is(r, 'e') || next_is(r, 'E')) {
        whole = false;
        r->at++;
        r->at += next_is(r, '+') || next_is(r, '-');
        if (!skip_digits(r)) {
            return malformed(r, r->at, "expected digits in the exponent");
        }
    }
    /* strtod wants an end, which the source need not have; any sane number fits the buffer. */
    char buffer[64];
    size_t n = (size_t)(r->at - from);
    char *copy = n < sizeof buffer ? memcpy(buffer, from, n) : arena_text(r->memory, from, n);
    if (copy == NULL) {
        return no_memory(r);
    }
    copy[n] = '\0';
    value->number = c_strtod(copy, NULL);
    value->kind = JSON_NUMBER;
    errno = 0;
    int64_t integer = whole ? strtoll(copy, NULL, 10) : 0;
    if (whole && errno == 0) {
        value->kind = JSON_INTEGER;
        value->integer = integer;
    }
    return ASSAY_OK;
}

static bool take_word(reader *r, const char *word) {
    size_t n = strlen(word);
    bool matches = (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
    r->at += matches ? n : 0;
    return matches;
}

static status read_value(reader *r, json_value *value);

static status read_key(reader *r, json_value *member) {
    size_t n = 0;
    skip_space(r);
    if (!next_is(r, '"')) {
        return malformed(r, r->at, "expected a key in double quotes");
    }
    TRY(read_string(r, &member->key, &n));
    skip_space(r);
    if (!next_is(r, ':')) {
        return malformed(r, r->at, "expected ':'");
    }
    r->at++;
    return ASSAY_OK;
}

/* An array's elements or an object's members, from behind its bracket to behind the closing one. */
static status read_children(reader *r, json_value *parent, char closing) {
    const json_value **link = &parent->first;
    r->at++;
    skip_space(r);
    while (!next_is(r, closing)) {
        json_value *child = arena_make(r->memory, 1, sizeof *child);
        if (child == NULL) {
            return no_memory(r);
        }
        if (parent->n > 0) {
            if (!next_is(r, ',')) {
                return malformed(r, r->at, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
            }
            r->at++;
        }
        skip_space(r);
        if (closing == '}') {
            TRY(read_key(r, child));
        }
        TRY(read_value(r, child));
        *link = child;
        link = (const json_value **)&child->next;
        parent->n++;
        skip_space(r);
    }
    r->at++;
    return ASSAY_OK;
}

static status read_value(reader *r, json_value *value) {
    skip_space(r);
    value->line = r->line;
    value->column = column_of(r, r->at);
    if (r->at >= r->end) {
        return malformed(r, r->at, "expected a value");
    }
    char c = *r->at;
    if (c == '{' || c == '[') {
        if (r->depth == JSON_DEPTH_LIMIT) {
            return malformed(r, r->at, "nested too deeply");
        }
        value->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
        r->depth++;
        TRY(read_children(r, value, c == '{' ? '}' : ']'));
        r->depth--;
        return ASSAY_OK;
    }
    if (c == '"') {
        value->kind = JSON_STRING;
        return read_string(r, &value->text, &value->n);
    }
    if (take_word(r, "null")) {
        value->kind = JSON_NULL;
        return ASSAY_OK;
    }
    if (take_word(r, "true") || take_word(r, "false")) {
        value->kind = JSON_BOOL;
        value->truth = c == 't';
        return ASSAY_OK;
    }
    return read_number(r, value);
}

status json_parse(arena *a, const char *source, size_t n, const json_value **out, error *err) {
    reader r = {.memory = a, .start = source, .at = source, .end = source + n,
                .line_start = source, .line = 1, .err = err};
    json_value *root = arena_make(a, 1, sizeof *root);
    if (root == NULL) {
        return no_memory(&r);
    }
    TRY(read_value(&r, root));
    skip_space(&r);
    if (r.at < r.end) {
        return malformed(&r, r.at, "expected the end of the text behind the value");
    }
    *out = root;
    return ASSAY_OK;
}

const json_value *json_find(const json_value *object, const char *key) {
    if (object->kind != JSON_OBJECT) {
        return NULL;
    }
    for (const json_value *member = object->first; member != NULL; member = member->next) {
        if (strcmp(member->key, key) == 0) {
            return member;
        }
    }
    return NULL;
}

const char *json_kind_text(json_kind kind) {
    static const char *const texts[] = {"null", "true or false", "an integer", "a number", "a string", "an array",
                                        "an object"};
    return (size_t)kind < countof(texts) ? texts[kind] : "unknown";
}
