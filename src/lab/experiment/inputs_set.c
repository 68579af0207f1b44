/* SPDX-License-Identifier: Apache-2.0 */
/* The growing arrays and the hash index behind a set of inputs, all in its one arena. */
#include "lab/experiment/inputs_set.h"

#include "base/file.h"

#include <string.h>

void *inputs_grow(arena *memory, void *items, size_t n, size_t size_bytes) {
    bool has_room = (n & (n - 1)) != 0; /* full exactly at 0 and at each power of two */
    if (has_room) {
        return items;
    }
    size_t room = 0;
    void *grown = mul_size(n, 2, &room) ? arena_make(memory, n == 0 ? 1 : room, size_bytes) : NULL;
    if (grown != NULL && n > 0) {
        memcpy(grown, items, n * size_bytes);
    }
    return grown;
}

bool inputs_index_next(const inputs_index *index, uint64_t hash, size_t *probe, size_t *out_position) {
    if (index->n_slots == 0) {
        return false;
    }
    for (;;) {
        const struct inputs_slot *slot = &index->slots[(hash + (*probe)++) & (index->n_slots - 1)];
        if (slot->position == 0) {
            return false;
        }
        if (slot->hash == hash) {
            *out_position = slot->position - 1;
            return true;
        }
    }
}

static void place(struct inputs_slot *slots, size_t n_slots, struct inputs_slot slot) {
    size_t at = slot.hash & (n_slots - 1);
    while (slots[at].position != 0) {
        at = (at + 1) & (n_slots - 1);
    }
    slots[at] = slot;
}

bool inputs_index_add(inputs_index *index, arena *memory, uint64_t hash, size_t position) {
    if (2 * index->n_used >= index->n_slots) {
        size_t n_slots = index->n_slots == 0 ? 64 : 4 * index->n_slots;
        struct inputs_slot *slots = arena_make(memory, n_slots, sizeof *slots);
        if (slots == NULL) {
            return false;
        }
        for (size_t i = 0; i < index->n_slots; i++) {
            if (index->slots[i].position != 0) {
                place(slots, n_slots, index->slots[i]);
            }
        }
        index->slots = slots;
        index->n_slots = n_slots;
    }
    place(index->slots, index->n_slots, (struct inputs_slot){hash, position + 1});
    index->n_used++;
    return true;
}

/* The model's name in a path. */
static size_t name_length(const char *name) {
    static const char *const endings[] = {".gz", ".txt", ".graph", "_training"};
    size_t length = strlen(name);
    for (size_t i = 0; i < countof(endings); i++) {
        size_t n = strlen(endings[i]);
        length -= length > n && memcmp(name + length - n, endings[i], n) == 0 ? n : 0;
    }
    return length;
}

/* A path from that many folders above the file on. */
static const char *from_folder(const char *path, int n_folders) {
    const char *at = file_basename(path);
    for (int i = 0; i < n_folders; i++) {
        while (at > path && at[-1] == '/') {
            at--;
        }
        while (at > path && at[-1] != '/') {
            at--;
        }
    }
    return at;
}

static bool is_same_name(const char *a, const char *b) {
    size_t length = name_length(a);
    return length == name_length(b) && memcmp(a, b, length) == 0;
}

/* Files of one name are different models: both get as many folders in front as it takes, if any number does. */
static bool name_apart(arena *memory, inputs_file *one, inputs_file *other) {
    int n = 0;
    const char *a = from_folder(one->path, 0), *b = from_folder(other->path, 0);
    if (!is_same_name(a, b)) {
        return true;
    }
    while (is_same_name(a, b) && (a > one->path || b > other->path)) {
        n++;
        a = from_folder(one->path, n);
        b = from_folder(other->path, n);
    }
    if (is_same_name(a, b)) { /* beside each other, with other endings */
        return true;
    }
    /* Another pair may have needed more. */
    one->name = strlen(one->name) < name_length(a) ? arena_text(memory, a, name_length(a)) : one->name;
    other->name = strlen(other->name) < name_length(b) ? arena_text(memory, b, name_length(b)) : other->name;
    return one->name != NULL && other->name != NULL;
}

inputs_file *inputs_add_file(inputs *set, const char *path) {
    for (size_t i = 0; i < set->n_files; i++) {
        if (strcmp(set->files[i]->path, path) == 0) {
            return set->files[i];
        }
    }
    const char *name = strcmp(path, "-") == 0 ? "standard input" : file_basename(path);
    inputs_file **files = inputs_grow(&set->memory, set->files, set->n_files, sizeof *files);
    inputs_file *file = arena_make(&set->memory, 1, sizeof *file);
    char *own_path = arena_text(&set->memory, path, strlen(path));
    char *own_name = arena_text(&set->memory, name, name_length(name));
    if (files == NULL || file == NULL || own_path == NULL || own_name == NULL) {
        return NULL;
    }
    *file = (inputs_file){.path = own_path, .name = own_name};
    for (size_t i = 0; i < set->n_files; i++) {
        if (!name_apart(&set->memory, file, set->files[i])) {
            return NULL;
        }
    }
    set->files = files;
    set->files[set->n_files++] = file;
    return file;
}

status inputs_add_diagnostic(inputs *set, const inputs_diagnostic *diagnostic, error *err) {
    inputs_diagnostic *grown = inputs_grow(&set->memory, set->diagnostics, set->n_diagnostics, sizeof *grown);
    char *message = arena_text(&set->memory, diagnostic->message, strlen(diagnostic->message));
    if (grown == NULL || message == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the recorded inputs");
    }
    set->diagnostics = grown;
    grown[set->n_diagnostics] = *diagnostic;
    grown[set->n_diagnostics++].message = message;
    return ASSAY_OK;
}

status inputs_reject_binary(const char *name, const char *data, size_t n, error *err) {
    const char *nul = n > 0 ? memchr(data, '\0', n) : NULL;
    if (nul == NULL) {
        return ASSAY_OK;
    }
    int32_t line = 1;
    const char *line_start = data;
    for (const char *at = data; (at = memchr(at, '\n', (size_t)(nul - at))) != NULL; line++) {
        line_start = ++at;
    }
    int column = (int)(nul - line_start) + 1;
    return fail_at(err, ASSAY_PARSE, line, column, "%s:%d:%d: expected text, got a NUL byte: a binary file", name,
                   (int)line, column);
}
