/* SPDX-License-Identifier: Apache-2.0 */
/* A backend under a second name: plans of the same code in memory of their own. What a measurement says of the two is its
   noise. */
#include "engine/backend/backend.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct again_backend {
    backend base;
    backend *of;
    char name[64];
} again_backend;

static status prepare(backend *base, const graph *g, plan **out, error *err) {
    backend *of = ((again_backend *)base)->of;
    of->outputs = base->outputs;
    status result = of->prepare(of, g, out, err);
    of->outputs = NULL;
    return result;
}

static status covers(backend *base, const op *o, error *err) {
    backend *of = ((again_backend *)base)->of;
    return of->covers != NULL ? of->covers(of, o, err) : ASSAY_OK;
}

static void close_again(backend *base) {
    again_backend *b = (again_backend *)base;
    if (b->of != NULL) {
        b->of->close(b->of);
    }
    free(b);
}

status backend_again_open(const op_table *table, const char *name, backend **out, error *err) {
    size_t n = strlen(name), tail = strlen(BACKEND_AGAIN);
    again_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a backend");
    }
    status result = n < sizeof b->name && text_ends_with(name, BACKEND_AGAIN)
                        ? ASSAY_OK
                        : fail(err, ASSAY_NOT_FOUND, "expected a backend's name and %s, got '%s'", BACKEND_AGAIN, name);
    if (result == ASSAY_OK) {
        memcpy(b->name, name, n - tail);
        result = backend_open(table, b->name, &b->of, err);
    }
    if (result != ASSAY_OK) {
        close_again(&b->base);
        return result;
    }
    memcpy(b->name, name, n + 1);
    b->base = (backend){.name = b->name, .doc = b->of->doc, .prepare = prepare, .covers = b->of->covers != NULL ? covers : NULL,
                        .close = close_again};
    *out = &b->base;
    return ASSAY_OK;
}
