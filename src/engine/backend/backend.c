/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in backends by name. */
#include "engine/backend/backend.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

typedef status open_fn(const op_table *table, backend **out, error *err);

static status open_compiled(const op_table *table, backend **out, error *err) {
    return backend_compiled_open(table, "compiled", out, err);
}

static const char *const names[] = {"reference", "eager", "compiled"};
static open_fn *const opens[] = {backend_reference_open, backend_eager_open, open_compiled};

const char *const *backend_names(size_t *n) {
    *n = countof(names);
    return names;
}

/* The backend that is named before ":again", once more. */
static status open_again(const op_table *table, const char *name, backend **out, error *err) {
    char of_name[64];
    backend *of = NULL;
    int n = (int)(strlen(name) - strlen(BACKEND_AGAIN));
    if (n >= (int)sizeof of_name) {
        return fail(err, ASSAY_NOT_FOUND, "expected a backend's name and %s, got '%s'", BACKEND_AGAIN, name);
    }
    snprintf(of_name, sizeof of_name, "%.*s", n, name);
    TRY(backend_open(table, of_name, &of, err));
    return backend_again_open(of, out, err);
}

status backend_open(const op_table *table, const char *name, backend **out, error *err) {
    if (strchr(name, '/') != NULL) {
        return backend_plugin_open(name, out, err);
    }
    if (text_ends_with(name, BACKEND_AGAIN)) {
        return open_again(table, name, out, err);
    }
    if (text_starts_with(name, "compiled:")) {
        return backend_compiled_open(table, name, out, err);
    }
    for (size_t i = 0; i < countof(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return opens[i](table, out, err);
        }
    }
    if (text_ends_with(name, ".so")) {
        return fail(err, ASSAY_NOT_FOUND, "no backend is called '%s'; a plug-in is named by a path: ./%s", name, name);
    }
    static const char *const known[] = {"reference", "eager", "compiled", "torch", "inductor"}; /* the last two are plug-ins that assay builds */
    const char *near = text_nearest(name, known, countof(known));
    return fail(err, ASSAY_NOT_FOUND, "no backend is called '%s'; %s%s%sthere are reference, eager, compiled, torch, inductor and plug-ins (./LIB.so)",
                name, near != NULL ? "did you mean '" : "", near != NULL ? near : "", near != NULL ? "'? " : "");
}
