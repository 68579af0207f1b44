/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressing table over names in an arena. */
#include "lab/trace/names.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 256 };

/* Eight bytes at a time: kernel names are hundreds of bytes long and every kernel's is looked up. */
static uint64_t hash_name(const char *name, size_t n) {
    uint64_t h = n * 0x9e3779b97f4a7c15u;
    while (n >= 8) {
        uint64_t word;
        memcpy(&word, name, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
        name += 8;
        n -= 8;
    }
    uint64_t word = 0;
    memcpy(&word, name, n);
    return rng_mix(h ^ word);
}

static void put(trace_names *t, uint64_t hash, size_t row) {
    size_t at = hash & (t->n_slots - 1);
    while (t->slots[at] != 0) {
        at = (at + 1) & (t->n_slots - 1);
    }
    t->slots[at] = (uint32_t)row + 1;
}

static status grow(trace_names *t, error *err) {
    size_t capacity = t->row_capacity == 0 ? FIRST_ROWS : t->row_capacity * 2;
    trace_name *rows = realloc(t->rows, capacity * sizeof *rows);
    if (rows == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu names", capacity);
    }
    t->rows = rows;
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (slots == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu names", capacity);
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = capacity * 2;
    t->row_capacity = capacity;
    for (size_t row = 1; row < t->n_rows; row++) { /* row 0 is not found by its text */
        put(t, t->rows[row].hash, row);
    }
    return ASSAY_OK;
}

status trace_names_init(trace_names *t, size_t limit_names, size_t limit_bytes, error *err) {
    *t = (trace_names){.limit_names = limit_names, .limit_bytes = limit_bytes};
    TRY(grow(t, err));
    t->rows[TRACE_NAME_REST] = (trace_name){.text = "(other names)", .length = sizeof "(other names)" - 1};
    t->n_rows = 1;
    return ASSAY_OK;
}

void trace_names_clear(trace_names *t) {
    arena_clear(&t->memory);
    free(t->rows);
    free(t->slots);
    *t = (trace_names){0};
}

status trace_names_add(trace_names *t, const char *name, size_t length, uint32_t *id, bool *is_new, error *err) {
    uint64_t hash = hash_name(name, length);
    *is_new = false;
    for (size_t at = hash & (t->n_slots - 1); t->slots[at] != 0; at = (at + 1) & (t->n_slots - 1)) {
        const trace_name *row = &t->rows[t->slots[at] - 1];
        if (row->hash == hash && row->length == length && memcmp(row->text, name, length) == 0) {
            *id = t->slots[at] - 1;
            return ASSAY_OK;
        }
    }
    if (t->n_rows > t->limit_names || t->used_bytes + length > t->limit_bytes) {
        *id = TRACE_NAME_REST;
        return ASSAY_OK;
    }
    if (t->n_rows == t->row_capacity) {
        TRY(grow(t, err));
    }
    char *text = arena_text(&t->memory, name, length);
    if (text == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a name of %zu bytes", length);
    }
    t->used_bytes += length;
    t->rows[t->n_rows] = (trace_name){.text = text, .hash = hash, .length = (uint32_t)length};
    put(t, hash, t->n_rows);
    *id = (uint32_t)t->n_rows++;
    *is_new = true;
    return ASSAY_OK;
}
