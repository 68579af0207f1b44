/* SPDX-License-Identifier: Apache-2.0 */
/* Which recorded inputs a run is of: names and patterns, with the nearest names to those that match nothing. */
#include "lab/experiment/operators.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* By the whole name, without its namespace, or without its overload as well: 'relu' is all overloads of aten.relu. */
static bool matches_name(const char *glob, const char *name) {
    const char *own = name + (text_starts_with(name, "aten.") ? strlen("aten.") : 0), *dot = strchr(own, '.');
    char short_name[256];
    bool has_overload = own != name && dot != NULL && (size_t)(dot - name) < sizeof short_name;
    snprintf(short_name, sizeof short_name, "%.*s", has_overload ? (int)(dot - name) : 0, name);
    return text_matches(glob, name) || text_matches(glob, own) ||
           (has_overload && (text_matches(glob, short_name) || text_matches(glob, short_name + (own - name))));
}

/* What PyTorch prints, "torch.ops.aten.relu.default", names an operator, too. */
static const char *without_torch(const char *glob) {
    static const char before[] = "torch.ops.";
    return glob + (text_starts_with(glob, before) ? strlen(before) : 0);
}

static bool matches(const char *glob, const inputs_operator *o) {
    glob = without_torch(glob);
    return strcmp(glob, "all") == 0 || matches_name(glob, o->name) || matches_name(glob, o->recorded);
}

static bool any_matches(const char *const *globs, size_t n, const inputs_operator *o) {
    for (size_t i = 0; i < n; i++) {
        if (matches(globs[i], o)) {
            return true;
        }
    }
    return false;
}

/* A name without its namespace, and what is before its overload. NULL: no memory. */
static const char *base_of(arena *memory, const char *name) {
    const char *own = name + (text_starts_with(name, "aten.") ? strlen("aten.") : 0);
    return arena_text(memory, own, strcspn(own, "."));
}

/* The ways to write an operator's name: with its namespace and without, each with its overload and without. A graph has one. */
static size_t add_ways(arena *memory, const char *name, const char **ways) {
    const char *own = name + (text_starts_with(name, "aten.") ? strlen("aten.") : 0), *dot = strchr(own, '.');
    size_t n = 0;
    ways[n++] = name;
    if (own == name || dot == NULL) {
        return n;
    }
    ways[n++] = own;
    for (int whole = 0; whole < 2; whole++) {
        const char *from = whole == 1 ? name : own, *short_name = arena_text(memory, from, (size_t)(dot - from));
        ways[n] = short_name;
        n += short_name != NULL;
    }
    return n;
}

/* The recorded name that a mistyped one was meant for, its wildcards apart; NULL: none is near. What is before the overload must be near
   itself: ".default" makes all names alike. */
static const char *nearest_name(arena *memory, const inputs *set, const char *glob) {
    const char **ways = arena_make(memory, 4 * set->n_operators, sizeof *ways), **bases = arena_make(memory, set->n_operators, sizeof *bases);
    char *typed = arena_text(memory, glob, strlen(glob)), *end = typed;
    size_t n = 0;
    glob = without_torch(glob);
    if (ways == NULL || bases == NULL || typed == NULL) {
        return NULL;
    }
    for (const char *at = glob; *at != '\0'; at++) {
        *end = *at;
        end += *at != '*' && *at != '?';
    }
    *end = '\0';
    const char *typed_base = base_of(memory, typed);
    for (size_t i = 0; i < set->n_operators; i++) {
        bases[i] = base_of(memory, set->operators[i].name);
        if (bases[i] == NULL || typed_base == NULL) {
            return NULL;
        }
    }
    enum { MOST_DISTANCE = 96 };
    const char *base = text_nearest(typed_base, bases, set->n_operators);
    const bool is_part = base != NULL && text_has_part(base, typed_base);
    const int distance = base != NULL ? text_distance(typed_base, base, MOST_DISTANCE) : 0;
    for (size_t i = 0; base != NULL && i < set->n_operators; i++) { /* of those as near, the overload decides */
        bool is_near = is_part ? strcmp(bases[i], base) == 0 : text_distance(typed_base, bases[i], MOST_DISTANCE) == distance;
        n += is_near ? add_ways(memory, set->operators[i].name, ways + n) : 0;
    }
    const char *near = text_nearest(typed, ways, n);
    return near != NULL ? near : base;
}

static bool matches_any(const inputs *set, const char *glob) {
    for (size_t i = 0; i < set->n_operators; i++) {
        if (matches(glob, &set->operators[i])) {
            return true;
        }
    }
    return false;
}

/* "--op relu --op add" for 'relu,add'; false: it is no list. */
static bool add_repeated(text *out, const char *option, const char *glob) {
    size_t n = strcspn(glob, ",");
    bool is_list = glob[n] == ',' && strchr(glob, '[') == NULL; /* [a,b] is a set of characters */
    for (; is_list; glob += n + 1, n = strcspn(glob, ",")) {
        text_addf(out, "%s%s %.*s", out->length > 0 ? " " : "", option, (int)n, glob);
        is_list = glob[n] == ',';
    }
    return out->length > 0;
}

/* All that match nothing are told of at once. */
static status check_globs(arena *memory, const inputs *set, const char *option, const char *const *globs, size_t n,
                          error *err) {
    text missing = {0}, nearest = {0}, repeated = {0};
    int count = 0;
    for (size_t g = 0; g < n; g++) {
        if (matches_any(set, globs[g])) {
            continue;
        }
        text_addf(&missing, "%s'%s'", count++ > 0 ? ", " : "", globs[g]);
        const char *near = repeated.length > 0 || add_repeated(&repeated, option, globs[g]) ? NULL : nearest_name(memory, set, globs[g]);
        if (near != NULL) {
            text_addf(&nearest, "%s'%s'", nearest.length > 0 ? ", " : "", near);
        }
    }
    status result = ASSAY_OK;
    if (count > 0) {
        text advice = {0};
        if (repeated.length > 0) {
            text_addf(&advice, "; of several names each has an option of its own: %.200s", text_get(&repeated));
        } else {
            bool is_near = nearest.length > 0;
            text_addf(&advice, "; %s%.200s%s`--dry-run` without %s lists them", is_near ? "did you mean " : "", text_get(&nearest),
                      is_near ? "? " : "", option);
        }
        result = fail(err, ASSAY_INVALID, "%s %.200s %s none of the %zu recorded operator%s%s", option, text_get(&missing),
                      count == 1 ? "matches" : "match", set->n_operators, set->n_operators == 1 ? "" : "s", text_get(&advice));
        text_clear(&advice);
    }
    text_clear(&missing);
    text_clear(&nearest);
    text_clear(&repeated);
    return result;
}

status operators_select(arena *memory, const op_table *table, const inputs *set, const operators_options *options,
                        const operators_point **points, size_t *n, error *err) {
    TRY(check_globs(memory, set, "--op", options->ops, options->n_ops, err));
    TRY(check_globs(memory, set, "--skip", options->skips, options->n_skips, err));
    operators_point *made = arena_make(memory, set->n_all, sizeof *made);
    if (made == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a list of points");
    }
    size_t count = 0;
    for (size_t i = 0; i < set->n_operators; i++) {
        const inputs_operator *recorded = &set->operators[i];
        bool wanted = options->n_ops == 0 || any_matches(options->ops, options->n_ops, recorded);
        if (!wanted || any_matches(options->skips, options->n_skips, recorded)) {
            continue;
        }
        const op *o = op_table_find(table, recorded->name);
        int64_t from = options->start_index, to = (int64_t)recorded->n_items;
        if (to - from > options->max_samples) {
            to = from + options->max_samples;
        }
        for (int64_t k = from; k < to; k++) {
            made[count++] = (operators_point){.recorded = recorded,
                                              .in = recorded->items[k],
                                              .o = o,
                                              .sample_index = k,
                                              .n_samples = to - from,
                                              .sample = k - from};
        }
    }
    *points = made;
    *n = count;
    return ASSAY_OK;
}
