/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the text of a failing graph smaller while it still fails. Whatever reads as a graph may be tried: lines left out, a
   call made an input or passed over, sizes made small throughout. */
#ifndef TESTS_ENGINE_SHRINK_GRAPH_H
#define TESTS_ENGINE_SHRINK_GRAPH_H

#include "engine/graph/graph_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the graph of this text fails as the first one did. */
typedef bool shrink_fails_fn(void *self, const char *source);

typedef struct shrinker {
    const op_table *table;
    shrink_fails_fn *fails;
    void *self;
    text best;
    int tries_left; /* each costs a compilation */
} shrinker;

enum { SHRINK_LINES = 128, SHRINK_TRIES = 400 };

typedef struct shrink_lines {
    int n;
    char *items[SHRINK_LINES]; /* without line breaks */
    char *memory;
} shrink_lines;

static inline void shrink_split(const char *source, shrink_lines *out) {
    *out = (shrink_lines){.memory = strdup(source)};
    for (char *save = NULL, *line = strtok_r(out->memory, "\n", &save); line != NULL && out->n < SHRINK_LINES;
         line = strtok_r(NULL, "\n", &save)) {
        out->items[out->n++] = line;
    }
}

/* The next place of a word with no letter or digit around it. */
static inline const char *shrink_find_word(const char *at, const char *word) {
    size_t n = strlen(word);
    for (; (at = strstr(at, word)) != NULL; at += n) {
        if (!isalnum((unsigned char)at[n]) && at[n] != '.' && at[n] != '_') {
            return at;
        }
    }
    return NULL;
}

/* source with each `word` made `other`. */
static inline void shrink_replace(text *out, const char *source, const char *word, const char *other) {
    for (const char *at; (at = shrink_find_word(source, word)) != NULL; source = at + strlen(word)) {
        text_add_bytes(out, source, (size_t)(at - source));
        text_add(out, other);
    }
    text_add(out, source);
}

/* Whether a line's values are needed by another one. In-place calls work without being named. */
static inline bool shrink_is_needed(const shrink_lines *l, int line) {
    const char *end = strstr(l->items[line], " = ");
    if (end == NULL || strstr(end, "_(") != NULL || strstr(end, "_.") != NULL) {
        return true;
    }
    for (const char *at = l->items[line]; at < end; at++) {
        char name[80];
        size_t n = strcspn(at, ", ");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        for (int i = 0; i < l->n && name[0] == '%'; i++) {
            if (i != line && l->items[i] != NULL && shrink_find_word(l->items[i], name) != NULL) {
                return true;
            }
        }
        at += n;
    }
    return false;
}

/* source less the lines that nothing needs. */
static inline void shrink_tidy(const char *source, text *out) {
    shrink_lines l;
    shrink_split(source, &l);
    for (int i = l.n - 1; i > 0; i--) { /* from the end: what only a line without use needs goes as well */
        l.items[i] = shrink_is_needed(&l, i) ? l.items[i] : NULL;
    }
    for (int i = 0; i < l.n; i++) {
        if (l.items[i] != NULL) {
            text_addf(out, "%s\n", l.items[i]);
        }
    }
    free(l.memory);
}

/* Takes the candidate when it is a graph, is another one, and fails. */
static inline bool shrink_try(shrinker *s, const char *candidate) {
    text tidy = {0};
    arena memory = {0};
    graph g;
    shrink_tidy(candidate, &tidy);
    bool good = s->tries_left > 0 && strcmp(text_get(&tidy), text_get(&s->best)) != 0 &&
                graph_read(&memory, s->table, text_get(&tidy), tidy.length, &(bind_options){0}, &g, NULL) == ASSAY_OK;
    if (good) {
        graph_clear(&g);
        s->tries_left--;
        good = s->fails(s->self, text_get(&tidy));
    }
    if (good) {
        text_reset(&s->best);
        text_add(&s->best, text_get(&tidy));
    }
    text_clear(&tidy);
    arena_clear(&memory);
    return good;
}

/* Line `at` of the best so far replaced (NULL: left out). */
static inline bool shrink_try_line(shrinker *s, int at, const char *other) {
    shrink_lines l;
    text candidate = {0};
    shrink_split(text_get(&s->best), &l);
    for (int i = 0; i < l.n; i++) {
        if (i != at || other != NULL) {
            text_addf(&candidate, "%s\n", i == at ? other : l.items[i]);
        }
    }
    bool good = shrink_try(s, text_get(&candidate));
    text_clear(&candidate);
    free(l.memory);
    return good;
}

/* Item k of the last line left out. */
static inline bool shrink_outputs(shrinker *s) {
    bool any = false;
    for (int k = 0; k < SHRINK_LINES; k++) {
        shrink_lines l;
        text line = {0};
        int n = 0;
        shrink_split(text_get(&s->best), &l);
        int last = l.n - 1;
        text_add(&line, "return");
        for (char *save = NULL, *name = strtok_r(l.items[last] + 6, ", ", &save); name != NULL; name = strtok_r(NULL, ", ", &save)) {
            text_addf(&line, n != k ? " %s," : "%.0s", name);
            n++;
        }
        if (line.length > 6) {
            line.data[--line.length] = '\0';
        }
        bool went = n > 1 && k < n && shrink_try_line(s, last, text_get(&line));
        any |= went;
        k -= went ? 1 : 0;
        text_clear(&line);
        free(l.memory);
        if (k >= n - 1) {
            break;
        }
    }
    return any;
}

/* A call's first value made an input of its form. */
static inline bool shrink_to_input(shrinker *s, int at, const char *name) {
    arena memory = {0};
    graph g;
    text line = {0};
    bool good = graph_read(&memory, s->table, text_get(&s->best), s->best.length, &(bind_options){0}, &g, NULL) == ASSAY_OK;
    if (good) {
        const tensor *t = graph_find_value(&g, name + 1);
        text_addf(&line, "%s = input(T([", name);
        for (int d = 0; t != NULL && d < t->ndim; d++) {
            text_addf(&line, d > 0 ? ", %lld" : "%lld", (long long)t->sizes[d]);
        }
        text_addf(&line, "], %s))", t != NULL ? assay_dtype_name(t->dtype) : "f32");
        good = t != NULL && shrink_try_line(s, at, text_get(&line));
        graph_clear(&g);
    }
    text_clear(&line);
    arena_clear(&memory);
    return good;
}

/* Each call left out: as an input, or by what it reads. */
static inline bool shrink_calls(shrinker *s) {
    bool any = false;
    shrink_lines l;
    shrink_split(text_get(&s->best), &l);
    int n = l.n;
    free(l.memory);
    for (int i = 1; i + 1 < n; i++) {
        char name[80] = "", operand[80] = "";
        shrink_split(text_get(&s->best), &l);
        bool call = i + 1 < l.n && strstr(l.items[i], " = input(") == NULL;
        if (call) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(l.items[i], ", "), l.items[i]);
            const char *at = strchr(strstr(l.items[i], " = ") + 3, '%');
            snprintf(operand, sizeof operand, "%.*s", at != NULL ? (int)strcspn(at, ",)] ") : 0, at != NULL ? at : "");
        }
        n = l.n;
        free(l.memory);
        bool went = call && (shrink_try_line(s, i, NULL) || shrink_to_input(s, i, name));
        if (call && !went && operand[0] != '\0') {
            text candidate = {0};
            shrink_replace(&candidate, text_get(&s->best), name, operand);
            went = shrink_try(s, text_get(&candidate));
            text_clear(&candidate);
        }
        any |= went;
    }
    return any;
}

/* One number made another throughout. */
static inline bool shrink_number(shrinker *s, long value, long other) {
    char word[24], by[24];
    text candidate = {0};
    snprintf(word, sizeof word, "%ld", value);
    snprintf(by, sizeof by, "%ld", other);
    const char *source = text_get(&s->best), *done = source;
    for (const char *at = source; (at = shrink_find_word(at, word)) != NULL; at += strlen(word)) {
        if (isalnum((unsigned char)at[-1]) || at[-1] == '.' || at[-1] == '%') {
            continue;
        }
        text_add_bytes(&candidate, done, (size_t)(at - done));
        text_add(&candidate, by);
        done = at + strlen(word);
    }
    text_add(&candidate, done);
    bool good = shrink_try(s, text_get(&candidate));
    text_clear(&candidate);
    return good;
}

static inline bool shrink_sizes(shrinker *s) {
    bool any = false;
    for (long value = 200; value > 1; value--) {
        char word[24];
        snprintf(word, sizeof word, "%ld", value);
        if (shrink_find_word(text_get(&s->best), word) == NULL) {
            continue;
        }
        any |= (value > 2 && shrink_number(s, value, 2)) || shrink_number(s, value, 1) ||
               (value > 4 && shrink_number(s, value, value / 2)) || (value > 8 && shrink_number(s, value, value - 1));
    }
    return any;
}

/* The smallest failing text that it comes to; the caller clears s->best. */
static inline void shrink_graph(shrinker *s, const char *source) {
    s->tries_left = SHRINK_TRIES;
    text_reset(&s->best);
    shrink_tidy(source, &s->best);
    for (bool any = true; any && s->tries_left > 0;) {
        any = shrink_outputs(s);
        any |= shrink_calls(s);
        any |= shrink_sizes(s);
    }
}

#endif
