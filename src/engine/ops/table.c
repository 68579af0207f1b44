/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the family files' rows into one table: parses signatures, adds in-place variants, finds by name. */
#include "engine/ops/rows.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const op_rows *const families[] = {
    &rows_arithmetic,
    &rows_quotient,
    &rows_extremes,
    &rows_activation,
    &rows_compare,
    &rows_reduce,
    &rows_moments,
    &rows_norm,
    &rows_norm_backward,
    &rows_softmax,
    &rows_loss,
    &rows_matmul,
    &rows_conv,
    &rows_pool,
    &rows_resample,
    &rows_view,
    &rows_slice,
    &rows_copy,
    &rows_shape,
    &rows_triangle,
    &rows_create,
    &rows_index,
    &rows_index_put,
    &rows_scatter,
    &rows_embedding,
    &rows_sort,
    &rows_random,
    &rows_rnn,
    &rows_fft,
    &rows_sparse,
    &rows_elementary,
    &rows_activation_backward,
    &rows_select,
    &rows_fold,
};

struct op_table {
    arena memory;
    int n;
    op *ops;
    uint32_t *slots; /* open addressing by the full name's hash; 0 is empty, else id + 1 */
    size_t n_slots;  /* a power of two */
};

/* Recorded names that mean another operator: older spellings of ATen. */
typedef struct alias {
    const char *name;
    const char *means;
} alias;

static const alias aliases[] = {
    {"sum.SymInt", "sum.dim_IntList"},
};

static bool wants_in_place(const op_row *row) {
    return (row->family->has_in_place || row->has_in_place) && !row->no_in_place && !row->is_in_place;
}

static status rename_overload(arena *memory, const char *overload, signature *s, error *err) {
    const bool has_none = strcmp(overload, "default") == 0;
    s->text = arena_format(memory, "%s%s%s%s", s->name, has_none ? "" : ".", has_none ? "" : overload, strchr(s->text, '('));
    s->full = arena_format(memory, "%s.%s", s->name, overload);
    s->overload = overload;
    return s->text != NULL && s->full != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
}

static status add_op(op_table *table, const op_row *row, bool in_place, error *err) {
    op *added = &table->ops[table->n];
    *added = (op){.row = row, .in_place = in_place || row->is_in_place, .id = table->n};
    signature functional;
    if (signature_parse(&table->memory, row->signature, &functional, err) != ASSAY_OK) {
        return fail_within(err, ASSAY_INTERNAL, "operator table");
    }
    added->signature = functional;
    if (in_place) {
        TRY(signature_in_place(&table->memory, &functional, &added->signature, err));
        if (row->in_place_overload != NULL) {
            TRY(rename_overload(&table->memory, row->in_place_overload, &added->signature, err));
        }
    }
    table->n++;
    return ASSAY_OK;
}

static status index_names(op_table *table, error *err) {
    table->n_slots = 64;
    while (table->n_slots < 2 * (size_t)table->n) {
        table->n_slots *= 2;
    }
    table->slots = arena_make(&table->memory, table->n_slots, sizeof *table->slots);
    if (table->slots == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the operator table");
    }
    for (int i = 0; i < table->n; i++) {
        size_t slot = hash_text(table->ops[i].signature.full) & (table->n_slots - 1);
        while (table->slots[slot] != 0) {
            if (strcmp(table->ops[table->slots[slot] - 1].signature.full, table->ops[i].signature.full) == 0) {
                return fail(err, ASSAY_INTERNAL, "operator table: %s is defined twice", table->ops[i].signature.full);
            }
            slot = (slot + 1) & (table->n_slots - 1);
        }
        table->slots[slot] = (uint32_t)i + 1;
    }
    return ASSAY_OK;
}

static status fill_table(op_table *table, error *err) {
    size_t n = 0;
    for (size_t f = 0; f < countof(families); f++) {
        n += 2 * families[f]->n;
    }
    table->ops = arena_make(&table->memory, n, sizeof *table->ops);
    if (table->ops == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the operator table");
    }
    for (size_t f = 0; f < countof(families); f++) {
        for (size_t i = 0; i < families[f]->n; i++) {
            const op_row *row = &families[f]->rows[i];
            TRY(add_op(table, row, false, err));
            if (wants_in_place(row)) {
                TRY(add_op(table, row, true, err));
            }
        }
    }
    return index_names(table, err);
}

status op_table_new(op_table **out, error *err) {
    op_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the operator table");
    }
    status result = fill_table(table, err);
    if (result != ASSAY_OK) {
        op_table_free(table);
        return result;
    }
    *out = table;
    return ASSAY_OK;
}

void op_table_free(op_table *table) {
    if (table != NULL) {
        arena_clear(&table->memory);
        free(table);
    }
}

int op_table_size(const op_table *table) {
    return table->n;
}

const op *op_table_at(const op_table *table, int id) {
    return &table->ops[id];
}

static const op *find_full(const op_table *table, const char *full) {
    for (size_t i = 0; i < countof(aliases); i++) {
        if (strcmp(full, aliases[i].name) == 0) {
            full = aliases[i].means;
        }
    }
    size_t slot = hash_text(full) & (table->n_slots - 1);
    for (; table->slots[slot] != 0; slot = (slot + 1) & (table->n_slots - 1)) {
        const op *found = &table->ops[table->slots[slot] - 1];
        if (strcmp(found->signature.full, full) == 0) {
            return found;
        }
    }
    return NULL;
}

static const char *without_namespace(const char *name) {
    return text_starts_with(name, "aten.") ? name + 5 : text_starts_with(name, "aten::") ? name + 6 : name;
}

const op *op_table_find(const op_table *table, const char *name) {
    name = without_namespace(name);
    if (strchr(name, '.') != NULL) {
        return find_full(table, name);
    }
    char full[128];
    size_t n = strlen(name);
    if (n + sizeof ".default" > sizeof full) {
        return NULL;
    }
    memcpy(full, name, n);
    memcpy(full + n, ".default", sizeof ".default");
    return find_full(table, full);
}

const char *op_table_nearest(const op_table *table, const char *name) {
    const char **names = malloc((size_t)table->n * sizeof *names);
    if (names == NULL) {
        return NULL;
    }
    /* What is before the overload must be near itself: ".default" is in so many names that it makes them alike. */
    char typed[128];
    name = without_namespace(name);
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(name, "."), name);
    for (int i = 0; i < table->n; i++) {
        names[i] = table->ops[i].signature.name;
    }
    const char *base = text_nearest(typed, names, (size_t)table->n), *plain = NULL, *first = NULL;
    const bool is_part = base != NULL && text_has_part(base, typed);
    const int distance = base != NULL ? text_distance(typed, base, sizeof typed) : 0;
    size_t n = 0;
    for (int i = 0; base != NULL && i < table->n; i++) {
        const signature *s = &table->ops[i].signature;
        if (strcmp(s->name, base) == 0) {
            first = first == NULL ? s->full : first;
            plain = strcmp(s->overload, "default") == 0 ? s->name : plain;
        }
        /* Of those as near, the overload decides. */
        if (is_part ? strcmp(s->name, base) == 0 : text_distance(typed, s->name, sizeof typed) == distance) {
            names[n++] = s->full;
        }
    }
    const char *nearest = text_nearest(name, names, n);
    free(names);
    if (strchr(name, '.') == NULL && plain != NULL) {
        return plain; /* "relu" is how people write it */
    }
    return nearest != NULL ? nearest : first;
}
