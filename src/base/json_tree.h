/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON into a tree that lives in an arena and knows where in the text each value stood. */
#ifndef BASE_JSON_TREE_H
#define BASE_JSON_TREE_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER, /* a number without '.', 'e' and 'E' that fits in 64 bits; `number` holds it too */
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
} json_kind;

/* Read only. Texts and children are the arena's. */
typedef struct json_value {
    json_kind kind;
    bool truth;        /* JSON_BOOL */
    int line, column;  /* 1-based, in bytes, of its first character */
    int64_t integer;
    double number;     /* of both kinds of number; one beyond a double's range is an infinity */
    const char *text;  /* JSON_STRING: UTF-8 with a NUL behind it; "\u0000" is refused, so that it holds none */
    size_t n;          /* bytes of a string, elements of an array, members of an object */
    const char *key;   /* of an object's member */
    const struct json_value *first; /* child of an array or object, in the order of the text */
    const struct json_value *next;  /* sibling */
} json_value;

enum { JSON_DEPTH_LIMIT = 256 };

/* Reads the n bytes at `source` (no NUL needed behind them), which must be one JSON value (RFC 8259) with white space
   around it and nothing else. PARSE with line and column: what is no JSON, text that is no UTF-8, nesting over
   JSON_DEPTH_LIMIT. OUT_OF_MEMORY. A key may come twice in an object: json_find finds the first. The source is not needed afterwards. */
status json_parse(arena *a, const char *source, size_t n, const json_value **out, error *err);

/* The member of that name, NULL when there is none or `object` is no object. */
const json_value *json_find(const json_value *object, const char *key);

/* "an object", "a number", ...: for messages. */
const char *json_kind_text(json_kind kind);

#endif
