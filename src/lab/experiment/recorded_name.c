/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a name's parts, and for the operator that somebody who wrote too few of them had in mind. */
#include "lab/experiment/recorded_name.h"

#include "engine/schema/op.h"

#include <stdio.h>
#include <string.h>

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *recorded_name_wrong(const char *name, const char *end) {
    int n_parts = 1;
    for (const char *at = name; at < end; at++) {
        bool is_dot = *at == '.' && n_parts < 3 && at > name && at[-1] != '.';
        if (!is_name_char(*at) && !is_dot) {
            return at;
        }
        n_parts += is_dot;
    }
    return n_parts == 3 && is_name_char(end[-1]) ? NULL : end;
}

/* "relu" is relu.default, "add" the first of its overloads, "rleu" what is near. */
static const op *likely(const op_table *table, const char *name) {
    const op *found = op_table_find(table, name);
    size_t n = strcspn(name, ".");
    for (int i = 0; found == NULL && i < op_table_size(table); i++) {
        const op *o = op_table_at(table, i);
        found = strlen(o->signature.name) == n && strncmp(o->signature.name, name, n) == 0 ? o : NULL;
    }
    const char *near = found == NULL ? op_table_nearest(table, name) : NULL;
    return near != NULL ? op_table_find(table, near) : found;
}

void recorded_name_add_missing(const struct op_table *table, const char *name, size_t n, text *out) {
    char typed[96];
    bool fits = n < sizeof typed;
    snprintf(typed, sizeof typed, "%.*s", fits ? (int)n : 0, name);
    for (size_t length = strlen(typed); length > 0 && typed[length - 1] == '.'; length--) {
        typed[length - 1] = '\0';
    }
    bool has_namespace = text_starts_with(typed, "aten.");
    const char *own = typed + (has_namespace ? strlen("aten.") : 0);
    bool has_overload = strchr(own, '.') != NULL;
    text_addf(out, "%s%.*s%s", n > 0 ? "'" : "nothing", fits ? (int)n : 24, name, n > 0 ? fits ? "'" : "...'" : "");
    if (own[0] == '\0' || strcmp(typed, "aten") == 0) {
        return;
    }
    static const char *const lacks[2][2] = {{"its namespace and its overload", "its namespace or its overload"}, {"its overload", "nothing"}};
    text_addf(out, ", which lacks %s", lacks[has_namespace][has_overload]);
    const op *meant = table != NULL ? likely(table, own) : NULL;
    if (meant != NULL) {
        text_addf(out, "; did you mean aten.%s?", meant->signature.full);
    }
}
