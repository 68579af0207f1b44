/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the literals' parser share; for the literal*.c of this room and the reader of graphs alone. */
#ifndef ENGINE_LITERAL_LITERAL_READER_H
#define ENGINE_LITERAL_LITERAL_READER_H

#include "engine/literal/literal.h"

/* One parse under way: `at` runs from begin to end. */
typedef struct reader {
    arena *memory;
    const char *begin, *at, *end;
    int32_t line, column; /* of begin */
    int depth;
    bool allows_names; /* whether %NAME is a value */
    literal *stack; /* on the heap; finished items whose list is still open */
    size_t n_stack, stack_capacity;
    error *err;
} reader;

/* Locale-free: recorded files are ASCII outside strings. */
static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_word(char c) {
    return is_letter(c) || is_digit(c);
}

static inline bool next_is(const reader *r, char c) {
    return r->at < r->end && *r->at == c;
}

static inline int32_t column_of(const reader *r, const char *at) {
    return r->column + (int32_t)(at - r->begin);
}

void reader_skip_blanks(reader *r);

enum { READER_CAME_BYTES = 40 };

/* What stands at `at`, for a message: a quoted word or byte, or the end of the line. */
const char *reader_came(const reader *r, const char *at, char buffer[READER_CAME_BYTES]);

/* PARSE at the current position: "expected WHAT, got ...". */
status reader_expected(reader *r, const char *what);

/* PARSE at a literal that was read but is of the wrong kind. */
status reader_expected_kind(reader *r, const char *what, const literal *got);

status reader_no_memory(reader *r);

/* Keeps a finished item until its list closes. */
status reader_push(reader *r, const literal *value);

/* Steps over an opening bracket. PARSE beyond LITERAL_MAX_DEPTH. */
status reader_enter(reader *r);

/* Behind one item: a comma, whose presence is told, or the closing bracket. */
status reader_comma(reader *r, char close, int32_t opened_column, bool *comma);

enum { READER_MAX_NAME_CHARS = 64 };

/* `%NAME`: letters, digits, '_' and '.'. Without its '%' in the arena. */
status reader_name(reader *r, const char **out);

/* Whether inf or nan stands here, on its own or as an imaginary part. */
bool reader_at_special(const reader *r);

/* An int, a float, or complex as Python prints it; at a digit, a sign, a dot or inf or nan. Fills kind and value of
 * out. */
status reader_number(reader *r, literal *out);

/* A quoted string; at its opening quote. Fills kind and value of out, whose column says where it began. */
status reader_string(reader *r, literal *out);

#endif
