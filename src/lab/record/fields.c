/* SPDX-License-Identifier: Apache-2.0 */
/* Struct to JSON and back, one function per type of field. */
#include "lab/record/fields.h"

#include "lab/record/record.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- writing ---- */

static const void *at(const void *base, size_t offset) {
    return (const char *)base + offset;
}

static size_t count_of(const field *f, const void *from) {
    return *(const size_t *)at(from, f->count_offset);
}

/* The array that the field points to. memcpy, because the pointer's own type differs from field to field. */
static const void *array_of(const field *f, const void *from) {
    const void *array;
    memcpy(&array, at(from, f->offset), sizeof array);
    return array;
}

static void write_texts(json_writer *w, const field *f, const void *from) {
    const char *const *texts = array_of(f, from);
    json_begin_array(w);
    for (size_t i = 0; i < count_of(f, from); i++) {
        json_string(w, texts[i]);
    }
    json_end_array(w);
}

static void write_doubles(json_writer *w, const field *f, const void *from) {
    const double *values = array_of(f, from);
    json_begin_array(w);
    for (size_t i = 0; i < count_of(f, from); i++) {
        json_double(w, values[i]);
    }
    json_end_array(w);
}

static void write_int64s(json_writer *w, const field *f, const void *from) {
    const int64_t *values = array_of(f, from);
    if (values == NULL) {
        json_null(w);
        return;
    }
    json_begin_array(w);
    for (size_t i = 0; i < count_of(f, from); i++) {
        json_int(w, values[i]);
    }
    json_end_array(w);
}

static void write_pairs(json_writer *w, const field *f, const void *from) {
    const record_pair *pairs = array_of(f, from);
    json_begin_object(w);
    for (size_t i = 0; i < count_of(f, from); i++) {
        json_put_string(w, pairs[i].key, pairs[i].value);
    }
    json_end_object(w);
}

static void write_objects(json_writer *w, const field *f, const void *from) {
    const char *structs = array_of(f, from);
    json_begin_array(w);
    for (size_t i = 0; i < count_of(f, from); i++) {
        fields_write(w, f->inner, structs + i * f->inner->size_bytes);
    }
    json_end_array(w);
}

static void write_integer(json_writer *w, const field *f, int64_t value) {
    if (value < f->least) {
        json_null(w);
    } else {
        json_int(w, value);
    }
}

void fields_write_one(json_writer *w, const field *f, const void *from) {
    const void *value = at(from, f->offset);
    switch (f->type) {
    case FIELD_TEXT:
        json_string(w, *(const char *const *)value);
        break;
    case FIELD_BOOL:
        json_bool(w, *(const bool *)value);
        break;
    case FIELD_INT:
        write_integer(w, f, *(const int *)value);
        break;
    case FIELD_INT64:
        write_integer(w, f, *(const int64_t *)value);
        break;
    case FIELD_DOUBLE:
        json_double(w, *(const double *)value);
        break;
    case FIELD_NAME:
        json_string(w, f->names[*(const unsigned *)value]);
        break;
    case FIELD_TEXTS:
        write_texts(w, f, from);
        break;
    case FIELD_DOUBLES:
        write_doubles(w, f, from);
        break;
    case FIELD_INT64S:
        write_int64s(w, f, from);
        break;
    case FIELD_PAIRS:
        write_pairs(w, f, from);
        break;
    case FIELD_OBJECT:
        fields_write(w, f->inner, value);
        break;
    case FIELD_OBJECTS:
        write_objects(w, f, from);
        break;
    }
}

void fields_write(json_writer *w, const field_set *set, const void *from) {
    json_begin_object(w);
    for (size_t i = 0; i < set->n; i++) {
        json_key(w, set->fields[i].key);
        fields_write_one(w, &set->fields[i], from);
    }
    json_end_object(w);
}

/* ---- reading ---- */

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record");
}

static status wrong_type(const field *f, const json_value *value, const char *expected, error *err) {
    return fail_at(err, ASSAY_PARSE, value->line, value->column, "\"%s\": expected %s, got %s", f->key, expected,
                   json_kind_text(value->kind));
}

static status read_text(arena *a, const json_value *value, const char **out, error *err) {
    char *copy = arena_text(a, value->text, value->n);
    if (copy == NULL) {
        return no_memory(err);
    }
    *out = copy;
    return ASSAY_OK;
}

static status read_integer(const field *f, const json_value *value, int64_t most, int64_t *out, error *err) {
    if (value->kind != JSON_INTEGER || value->integer > most || value->integer < -most) {
        return wrong_type(f, value, "an integer of its size", err);
    }
    *out = value->integer;
    return ASSAY_OK;
}

static status read_name(const field *f, const json_value *value, unsigned *out, error *err) {
    if (value->kind != JSON_STRING) {
        return wrong_type(f, value, "a name", err);
    }
    for (unsigned i = 0; i < f->n_names; i++) {
        if (strcmp(value->text, f->names[i]) == 0) {
            *out = i;
            return ASSAY_OK;
        }
    }
    const char *near = text_nearest(value->text, f->names, f->n_names);
    return fail_at(err, ASSAY_PARSE, value->line, value->column, "\"%s\": expected a name such as %s, got \"%s\"", f->key,
                   near != NULL ? near : f->names[0], value->text);
}

static bool is_number(const json_value *value) {
    return value->kind == JSON_INTEGER || value->kind == JSON_NUMBER;
}

/* One element of an array of plain values. */
static status read_element(arena *a, const field *f, const json_value *value, void *to, error *err) {
    if (f->type == FIELD_TEXTS) {
        return value->kind == JSON_STRING ? read_text(a, value, to, err) : wrong_type(f, value, "texts", err);
    }
    if (f->type == FIELD_INT64S) {
        return read_integer(f, value, INT64_MAX, to, err);
    }
    if (f->type == FIELD_OBJECTS) {
        return value->kind == JSON_OBJECT ? fields_read(a, f->inner, value, to, err)
                                          : wrong_type(f, value, "objects", err);
    }
    if (!is_number(value) && value->kind != JSON_NULL) {
        return wrong_type(f, value, "numbers", err);
    }
    *(double *)to = value->kind == JSON_NULL ? NAN : value->number;
    return ASSAY_OK;
}

static void put_array(const field *f, void *to, const void *array, size_t n) {
    memcpy((char *)to + f->offset, &array, sizeof array);
    memcpy((char *)to + f->count_offset, &n, sizeof n);
}

static status read_array(arena *a, const field *f, const json_value *value, void *to, error *err) {
    if (value->kind != JSON_ARRAY) {
        return wrong_type(f, value, "an array", err);
    }
    size_t element_bytes = f->type == FIELD_OBJECTS ? f->inner->size_bytes : 8;
    _Static_assert(sizeof(char *) <= 8 && sizeof(double) == 8, "an element fits in 8 bytes");
    element_bytes = f->type == FIELD_TEXTS ? sizeof(char *) : element_bytes;
    char *array = arena_make(a, value->n, element_bytes);
    if (array == NULL) {
        return no_memory(err);
    }
    char *element = array;
    for (const json_value *child = value->first; child != NULL; child = child->next) {
        TRY(read_element(a, f, child, element, err));
        element += element_bytes;
    }
    put_array(f, to, array, value->n);
    return ASSAY_OK;
}

static status read_pairs(arena *a, const field *f, const json_value *value, void *to, error *err) {
    if (value->kind != JSON_OBJECT) {
        return wrong_type(f, value, "an object", err);
    }
    record_pair *pairs = arena_make(a, value->n, sizeof *pairs);
    if (pairs == NULL) {
        return no_memory(err);
    }
    size_t n = 0;
    for (const json_value *item = value->first; item != NULL; item = item->next) {
        pairs[n].key = arena_text(a, item->key, strlen(item->key));
        if (pairs[n].key == NULL) {
            return no_memory(err);
        }
        if (item->kind == JSON_STRING) {
            TRY(read_text(a, item, &pairs[n].value, err));
        } else if (item->kind != JSON_NULL) {
            return wrong_type(f, item, "texts", err);
        }
        n++;
    }
    put_array(f, to, pairs, n);
    return ASSAY_OK;
}

/* What stands for "missing"; arrays and texts are zeroed already. */
static void set_missing(const field *f, void *to) {
    void *value = (char *)to + f->offset;
    if (f->type == FIELD_INT) {
        *(int *)value = (int)(f->least - 1);
    } else if (f->type == FIELD_INT64) {
        *(int64_t *)value = f->least - 1;
    } else if (f->type == FIELD_DOUBLE) {
        *(double *)value = NAN;
    } else if (f->type == FIELD_OBJECT) {
        for (size_t i = 0; i < f->inner->n; i++) {
            set_missing(&f->inner->fields[i], value);
        }
    }
}

static status read_field(arena *a, const field *f, const json_value *json, void *to, error *err) {
    void *value = (char *)to + f->offset;
    int64_t integer = 0;
    switch (f->type) {
    case FIELD_TEXT:
        return json->kind == JSON_STRING ? read_text(a, json, value, err) : wrong_type(f, json, "a text", err);
    case FIELD_BOOL:
        if (json->kind != JSON_BOOL) {
            return wrong_type(f, json, "true or false", err);
        }
        *(bool *)value = json->truth;
        return ASSAY_OK;
    case FIELD_INT:
        TRY(read_integer(f, json, INT_MAX, &integer, err));
        *(int *)value = (int)integer;
        return ASSAY_OK;
    case FIELD_INT64:
        return read_integer(f, json, INT64_MAX, value, err);
    case FIELD_DOUBLE:
        if (!is_number(json)) {
            return wrong_type(f, json, "a number", err);
        }
        *(double *)value = json->number;
        return ASSAY_OK;
    case FIELD_NAME:
        return read_name(f, json, value, err);
    case FIELD_PAIRS:
        return read_pairs(a, f, json, to, err);
    case FIELD_OBJECT:
        return json->kind == JSON_OBJECT ? fields_read(a, f->inner, json, value, err)
                                         : wrong_type(f, json, "an object", err);
    default:
        return read_array(a, f, json, to, err);
    }
}

static bool is_array(const field *f) {
    return f->type == FIELD_TEXTS || f->type == FIELD_DOUBLES || f->type == FIELD_INT64S || f->type == FIELD_OBJECTS;
}

static size_t length_of(const json_value *array) {
    return array != NULL && array->kind == JSON_ARRAY ? array->n : 0;
}

/* Arrays that have one count between them are as long as each other: whoever reads them goes by it. */
static status check_lengths(const field_set *set, const field *f, const json_value *object, const json_value *value, error *err) {
    bool is_left_out = f->type == FIELD_INT64S && (value == NULL || value->kind == JSON_NULL);
    for (const field *other = set->fields; is_array(f) && !is_left_out && other < f; other++) {
        size_t n = length_of(value), as_many = length_of(json_find(object, other->key));
        if (is_array(other) && other->count_offset == f->count_offset && n != as_many) {
            return fail_at(err, ASSAY_PARSE, object->line, object->column, "expected as many of \"%s\" as of \"%s\", got %zu and %zu",
                           f->key, other->key, n, as_many);
        }
    }
    return ASSAY_OK;
}

status fields_read(arena *a, const field_set *set, const json_value *object, void *to, error *err) {
    memset(to, 0, set->size_bytes);
    for (size_t i = 0; i < set->n; i++) {
        const field *f = &set->fields[i];
        const json_value *value = json_find(object, f->key);
        TRY(check_lengths(set, f, object, value, err));
        set_missing(f, to);
        if (value != NULL && value->kind != JSON_NULL) {
            TRY(read_field(a, f, value, to, err));
        } else if (f->required) {
            return fail_at(err, ASSAY_PARSE, object->line, object->column, "expected a \"%s\" in the object", f->key);
        }
    }
    return ASSAY_OK;
}
