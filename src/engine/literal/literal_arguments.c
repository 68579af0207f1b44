/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call as graphs are written: literals and names of values, by position and by keyword. */
#include "engine/literal/literal_parse.h"
#include "engine/literal/literal_reader.h"

#include <stdlib.h>
#include <string.h>

/* `KEY=` at hand? Then the key, and the reader stands behind the '='. */
static status take_key(reader *r, const char **key) {
    const char *start = r->at, *at = start;
    *key = NULL;
    while (at < r->end && is_word(*at)) {
        at++;
    }
    size_t length = (size_t)(at - start);
    while (at < r->end && *at == ' ') {
        at++;
    }
    if (length == 0 || !is_letter(*start) || at == r->end || *at != '=') {
        return ASSAY_OK;
    }
    r->at = at + 1;
    *key = arena_text(r->memory, start, length);
    return *key != NULL ? ASSAY_OK : reader_no_memory(r);
}

typedef struct arguments {
    literal_pair pairs[LITERAL_MAX_KEYS];
    size_t n_pairs;
} arguments;

static status take_pair(reader *r, arguments *a, const char *key, int32_t column) {
    for (size_t i = 0; i < a->n_pairs; i++) {
        if (strcmp(a->pairs[i].key, key) == 0) {
            return fail_at(r->err, ASSAY_PARSE, r->line, column, "expected each keyword once, got '%.60s' again", key);
        }
    }
    if (a->n_pairs == LITERAL_MAX_KEYS) {
        return fail_at(r->err, ASSAY_PARSE, r->line, column, "expected at most %d keywords, got more", LITERAL_MAX_KEYS);
    }
    literal *value = arena_make(r->memory, 1, sizeof *value);
    if (value == NULL) {
        return reader_no_memory(r);
    }
    TRY(reader_value(r, value));
    a->pairs[a->n_pairs++] = (literal_pair){key, value};
    return ASSAY_OK;
}

static status take_one(reader *r, arguments *a, int32_t opened_column) {
    const char *key = NULL;
    int32_t column = column_of(r, r->at);
    bool comma = false;
    TRY(take_key(r, &key));
    if (key != NULL) {
        TRY(take_pair(r, a, key, column));
    } else if (a->n_pairs > 0) {
        return reader_expected(r, "a keyword argument behind a keyword argument");
    } else {
        literal item;
        TRY(reader_value(r, &item));
        TRY(reader_push(r, &item));
    }
    return reader_comma(r, ')', opened_column, &comma);
}

static status take_all(reader *r, arguments *a, literal *args, literal *kwargs) {
    int32_t opened_column = column_of(r, r->at);
    if (!next_is(r, '(')) {
        return reader_expected(r, "'(' and arguments");
    }
    TRY(reader_enter(r));
    reader_skip_blanks(r);
    while (!next_is(r, ')')) {
        TRY(take_one(r, a, opened_column));
    }
    r->at++;
    literal *items = arena_make(r->memory, r->n_stack, sizeof *items);
    literal_pair *pairs = arena_make(r->memory, a->n_pairs, sizeof *pairs);
    if (items == NULL || pairs == NULL) {
        return reader_no_memory(r);
    }
    if (r->n_stack > 0) {
        memcpy(items, r->stack, r->n_stack * sizeof *items);
    }
    memcpy(pairs, a->pairs, a->n_pairs * sizeof *pairs);
    *args = (literal){.kind = LITERAL_TUPLE, .line = r->line, .column = opened_column};
    args->list.items = items;
    args->list.n_items = r->n_stack;
    *kwargs = (literal){.kind = LITERAL_DICT, .line = r->line, .column = opened_column};
    kwargs->dict.pairs = pairs;
    kwargs->dict.n_pairs = a->n_pairs;
    return ASSAY_OK;
}

status literal_parse_arguments(arena *a, const char *source, size_t n, int32_t line, int32_t column, const literal **args,
                               const literal **kwargs, size_t *out_used, error *err) {
    if (n > (size_t)(INT32_MAX - column)) {
        return fail_at(err, ASSAY_TOO_LARGE, line, column, "expected a line of at most 2 GiB, got %zu bytes", n);
    }
    reader r = {.memory = a,
                .begin = source,
                .at = source,
                .end = source + n,
                .line = line,
                .column = column,
                .allows_names = true,
                .err = err};
    arguments *given = calloc(1, sizeof *given);
    literal *both = arena_make(a, 2, sizeof *both);
    status result = given != NULL && both != NULL ? take_all(&r, given, &both[0], &both[1]) : reader_no_memory(&r);
    free(given);
    free(r.stack);
    if (result == ASSAY_OK) {
        *args = &both[0];
        *kwargs = &both[1];
        *out_used = (size_t)(r.at - source);
    }
    return result;
}
