/* SPDX-License-Identifier: Apache-2.0 */
/* A backend under a second name: plans of the same code in memory of their own. What a measurement says of the two is its
   noise. */
#include "engine/backend/backend.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct again_backend {
    backend base;
    backend *of;
    char name[80];
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
    b->of->close(b->of);
    free(b);
}

status backend_again_open(backend *of, backend **out, error *err) {
    again_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        of->close(of);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a backend");
    }
    b->of = of;
    snprintf(b->name, sizeof b->name, "%s%s", of->name, BACKEND_AGAIN);
    b->base = (backend){.name = b->name, .doc = of->doc, .prepare = prepare, .covers = of->covers != NULL ? covers : NULL,
                        .close = close_again};
    *out = &b->base;
    return ASSAY_OK;
}
