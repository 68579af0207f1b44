/* SPDX-License-Identifier: Apache-2.0 */
/* A struct's fields as a table, from which its JSON is both written and read: the two cannot fall out of step. */
#ifndef LAB_RECORD_FIELDS_H
#define LAB_RECORD_FIELDS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum field_type {
    FIELD_TEXT,    /* const char *; NULL is null */
    FIELD_BOOL,    /* bool */
    FIELD_INT,     /* int; below `least` is null */
    FIELD_INT64,   /* int64_t; below `least` is null */
    FIELD_DOUBLE,  /* double; not finite is null */
    FIELD_NAME,    /* an enum as one of `names`, counted from 0 */
    FIELD_TEXTS,   /* const char *const * and a count */
    FIELD_DOUBLES, /* const double * and a count */
    FIELD_INT64S,  /* const int64_t * and a count; NULL is null */
    FIELD_PAIRS,   /* const record_pair * and a count: an object of texts */
    FIELD_OBJECT,  /* a struct inside the struct */
    FIELD_OBJECTS, /* a pointer to structs and a count */
} field_type;

typedef struct field_set field_set;

typedef struct field {
    const char *key;
    field_type type;
    size_t offset;
    size_t count_offset;      /* of the size_t that counts an array's elements */
    int64_t least;            /* the smallest integer that says something; null reads as one less */
    bool required;            /* a reader fails without it; otherwise it reads as missing */
    const field_set *inner;   /* of FIELD_OBJECT and FIELD_OBJECTS */
    const char *const *names; /* of FIELD_NAME */
    size_t n_names;
} field;

struct field_set {
    const field *fields;
    size_t n;
    size_t size_bytes; /* of the struct */
};

/* Writes the struct at `from` as one object, or the value of one of its fields, without its key. */
void fields_write(json_writer *w, const field_set *set, const void *from);
void fields_write_one(json_writer *w, const field *f, const void *from);

/* Fills the struct at `to` from an object; texts and arrays are made in the arena. Keys that no field names are passed
   over. PARSE with the position;
   OUT_OF_MEMORY. On failure the struct is partly filled. */
status fields_read(arena *a, const field_set *set, const json_value *object, void *to, error *err);

#endif
