/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of literals: numbers and strings, and the messages that say what was expected and what came. */
#include "engine/literal/literal_reader.h"

#include "base/c_locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number has no more characters than this; Python's repr of a float has at most 24. */
enum { MAX_NUMBER_CHARS = 63 };

status reader_no_memory(reader *r) {
    return fail(r->err, ASSAY_OUT_OF_MEMORY, "no memory for the value");
}

const char *reader_came(const reader *r, const char *at, char buffer[READER_CAME_BYTES]) {
    if (at >= r->end || *at == '\n') {
        return "the end of the line";
    }
    unsigned char c = (unsigned char)*at;
    int n = 0;
    while (n < 24 && at + n < r->end && (is_word(at[n]) || at[n] == '.')) {
        n++;
    }
    if (n > 0) {
        snprintf(buffer, READER_CAME_BYTES, "'%.*s'", n, at);
    } else if (c >= 0x20 && c < 0x7f) {
        snprintf(buffer, READER_CAME_BYTES, "'%c'", c);
    } else {
        snprintf(buffer, READER_CAME_BYTES, "the byte 0x%02x", c);
    }
    return buffer;
}

status reader_expected(reader *r, const char *what) {
    char buffer[READER_CAME_BYTES];
    return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, r->at), "expected %s, got %s", what,
                   reader_came(r, r->at, buffer));
}

status reader_expected_kind(reader *r, const char *what, const literal *got) {
    return fail_at(r->err, ASSAY_PARSE, got->line, got->column, "expected %s, got %s", what,
                   literal_kind_text(got->kind));
}

void reader_skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\f' || *r->at == '\v')) {
        r->at++;
    }
}

status reader_push(reader *r, const literal *value) {
    if (r->n_stack == r->stack_capacity) {
        size_t capacity = r->stack_capacity == 0 ? 64 : r->stack_capacity * 2;
        size_t bytes = 0;
        literal *stack = mul_size(capacity, sizeof *stack, &bytes) ? realloc(r->stack, bytes) : NULL;
        if (stack == NULL) {
            return reader_no_memory(r);
        }
        r->stack = stack;
        r->stack_capacity = capacity;
    }
    r->stack[r->n_stack++] = *value;
    return ASSAY_OK;
}

status reader_enter(reader *r) {
    if (r->depth >= LITERAL_MAX_DEPTH) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, r->at),
                       "expected at most %d levels of nesting, got more", LITERAL_MAX_DEPTH);
    }
    r->depth++;
    r->at++;
    return ASSAY_OK;
}

status reader_comma(reader *r, char close, int32_t opened_column, bool *comma) {
    reader_skip_blanks(r);
    *comma = next_is(r, ',');
    r->at += *comma;
    reader_skip_blanks(r);
    if (*comma || next_is(r, close)) {
        return ASSAY_OK;
    }
    char buffer[READER_CAME_BYTES];
    return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, r->at),
                   "expected ',' or the '%c' that closes column %d, got %s", close, (int)opened_column,
                   reader_came(r, r->at, buffer));
}

status reader_name(reader *r, const char **out) {
    const char *start = ++r->at;
    while (r->at < r->end && (is_word(*r->at) || *r->at == '.')) {
        r->at++;
    }
    size_t length = (size_t)(r->at - start);
    if (length == 0) {
        return reader_expected(r, "a value's name behind '%'");
    }
    if (length > READER_MAX_NAME_CHARS) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, start),
                       "expected a name of at most %d characters, got %zu", READER_MAX_NAME_CHARS, length);
    }
    *out = arena_text(r->memory, start, length);
    return *out != NULL ? ASSAY_OK : reader_no_memory(r);
}

/* ---- numbers ---- */

typedef struct scanned {
    bool is_integer, is_imaginary;
    int64_t integer;
    double real;
} scanned;

static size_t count_digits(const char *at, const char *end) {
    size_t n = 0;
    while (at + n < end && is_digit(at[n])) {
        n++;
    }
    return n;
}

static bool parse_int64(const char *at, const char *end, bool negative, int64_t *out) {
    int64_t value = 0;
    for (; at < end; at++) {
        int64_t digit = negative ? -(*at - '0') : *at - '0';
        if (!mul_i64(value, 10, &value) || !add_i64(value, digit, &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

bool reader_at_special(const reader *r) {
    size_t left = (size_t)(r->end - r->at);
    bool is_special = left >= 3 && (memcmp(r->at, "inf", 3) == 0 || memcmp(r->at, "nan", 3) == 0);
    return is_special && (left == 3 || !is_word(r->at[3]) || r->at[3] == 'j');
}

static status parse_digits(reader *r, const char *start, bool negative, scanned *out) {
    const char *digits = r->at;
    size_t n_whole = count_digits(r->at, r->end);
    r->at += n_whole;
    size_t n_part = 0;
    out->is_integer = true;
    if (next_is(r, '.')) {
        out->is_integer = false;
        n_part = count_digits(r->at + 1, r->end);
        r->at += 1 + n_part;
    }
    if (n_whole + n_part == 0) {
        r->at = digits;
        return reader_expected(r, "a digit");
    }
    if (n_whole > 1 && digits[0] == '0') {
        r->at = digits;
        return reader_expected(r, "a number without leading zeros");
    }
    if (next_is(r, 'e') || next_is(r, 'E')) {
        out->is_integer = false;
        r->at++;
        r->at += next_is(r, '+') || next_is(r, '-');
        size_t n_exponent = count_digits(r->at, r->end);
        if (n_exponent == 0) {
            return reader_expected(r, "the digits of an exponent");
        }
        r->at += n_exponent;
    }
    size_t length = (size_t)(r->at - start);
    int32_t column = column_of(r, start);
    if (out->is_integer && !next_is(r, 'j')) {
        if (!parse_int64(digits, r->at, negative, &out->integer)) {
            return fail_at(r->err, ASSAY_PARSE, r->line, column,
                           "expected an integer of 64 bits, got one of %zu digits", n_whole);
        }
        out->real =
            negative ? -fabs((double)out->integer) : (double)out->integer; /* keeps the sign of -0 for complex */
        return ASSAY_OK;
    }
    if (length > MAX_NUMBER_CHARS) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column, "expected a number of at most %d characters, got %zu",
                       MAX_NUMBER_CHARS, length);
    }
    char buffer[MAX_NUMBER_CHARS + 1];
    memcpy(buffer, start, length);
    buffer[length] = '\0';
    out->is_integer = false;
    out->real = c_strtod(buffer, NULL);
    return ASSAY_OK;
}

static status parse_part(reader *r, scanned *out) {
    const char *start = r->at;
    *out = (scanned){0};
    bool negative = next_is(r, '-');
    r->at += negative || next_is(r, '+');
    if (reader_at_special(r)) {
        double special = *r->at == 'i' ? (double)INFINITY : (double)NAN;
        out->real = negative ? -special : special;
        r->at += 3;
    } else {
        TRY(parse_digits(r, start, negative, out));
    }
    out->is_imaginary = next_is(r, 'j');
    r->at += out->is_imaginary;
    return ASSAY_OK;
}

/* An int, a float, or complex as Python prints it: 1j, or (1+2j) in its parentheses. */
status reader_number(reader *r, literal *out) {
    scanned first, second;
    TRY(parse_part(r, &first));
    if (first.is_imaginary) {
        out->kind = LITERAL_COMPLEX;
        out->complex_number.real = 0;
        out->complex_number.imaginary = first.real;
        return ASSAY_OK;
    }
    if (next_is(r, '+') || next_is(r, '-')) {
        const char *sign = r->at;
        TRY(parse_part(r, &second));
        if (!second.is_imaginary) {
            r->at = sign;
            return reader_expected(r, "one number (sums are not computed)");
        }
        out->kind = LITERAL_COMPLEX;
        out->complex_number.real = first.real;
        out->complex_number.imaginary = second.real;
        return ASSAY_OK;
    }
    out->kind = first.is_integer ? LITERAL_INT : LITERAL_FLOAT;
    if (first.is_integer) {
        out->integer = first.integer;
    } else {
        out->real = first.real;
    }
    return ASSAY_OK;
}

/* ---- strings ---- */

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

static status parse_code_point(reader *r, int n_digits, char **to) {
    static const char hexadecimal[] = "0123456789abcdefABCDEF";
    uint32_t code = 0;
    for (int i = 0; i < n_digits; i++, r->at++) {
        const char *digit = r->at < r->end ? strchr(hexadecimal, *r->at) : NULL;
        if (digit == NULL || *digit == '\0') {
            return reader_expected(r, "a hexadecimal digit of the escape");
        }
        int value = (int)(digit - hexadecimal);
        code = code << 4 | (uint32_t)(value < 16 ? value : value - 6);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, r->at - n_digits),
                       "expected a Unicode character, got the code U+%04X", (unsigned)code);
    }
    *to = put_utf8(*to, code);
    return ASSAY_OK;
}

/* The escape behind a backslash; one that Python does not know stays as it stands, backslash and all. */
static status parse_escape(reader *r, char **to) {
    static const char simple[][2] = {{'\\', '\\'}, {'\'', '\''}, {'"', '"'},  {'n', '\n'}, {'r', '\r'},
                                     {'t', '\t'},  {'a', '\a'},  {'b', '\b'}, {'f', '\f'}, {'v', '\v'}};
    if (r->at >= r->end) {
        return reader_expected(r, "an escaped character");
    }
    char c = *r->at++;
    for (size_t i = 0; i < countof(simple); i++) {
        if (simple[i][0] == c) {
            *(*to)++ = simple[i][1];
            return ASSAY_OK;
        }
    }
    if (c == 'x' || c == 'u' || c == 'U') {
        return parse_code_point(r, c == 'x' ? 2 : c == 'u' ? 4 : 8, to);
    }
    if (c >= '0' && c <= '7') {
        uint32_t code = (uint32_t)(c - '0');
        for (int i = 1; i < 3 && r->at < r->end && *r->at >= '0' && *r->at <= '7'; i++) {
            code = code << 3 | (uint32_t)(*r->at++ - '0');
        }
        *to = put_utf8(*to, code);
        return ASSAY_OK;
    }
    *(*to)++ = '\\';
    *(*to)++ = c;
    return ASSAY_OK;
}

status reader_string(reader *r, literal *out) {
    char quote = *r->at++;
    /* no escape is shorter than what it stands for, so the rest of the line bounds the string */
    const char *close = r->at;
    while (close < r->end && *close != quote) {
        close += close + 1 < r->end && *close == '\\' ? 2 : 1;
    }
    if (close >= r->end) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, r->end),
                       "expected the closing %c of the string that began at column %d, got the end of the line", quote,
                       (int)out->column);
    }
    char *data = arena_make(r->memory, (size_t)(close - r->at) + 1, 1);
    if (data == NULL) {
        return reader_no_memory(r);
    }
    char *to = data;
    while (r->at < close) {
        char c = *r->at++;
        if (c == '\\') {
            TRY(parse_escape(r, &to));
        } else {
            *to++ = c;
        }
    }
    r->at = close + 1;
    out->kind = LITERAL_STRING;
    out->string.data = data;
    out->string.length = (size_t)(to - data);
    return ASSAY_OK;
}
