/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are arranged in more than one way: each way has a copy of its own. */
#include "engine/compile/passes.h"

#include <string.h>

kernel *copy_kernel(compiler *c, const kernel *k) {
    kernel *copy = arena_make(c->memory, 1, sizeof *copy);
    expr *exprs = arena_make(c->memory, (size_t)k->n_exprs, sizeof *exprs);
    root *roots = arena_make(c->memory, (size_t)k->n_roots, sizeof *roots);
    if (copy == NULL || exprs == NULL || roots == NULL) {
        c->failed = true;
        return NULL;
    }
    memcpy(exprs, k->exprs, (size_t)k->n_exprs * sizeof *exprs);
    memcpy(roots, k->roots, (size_t)k->n_roots * sizeof *roots);
    *copy = *k;
    copy->exprs = exprs;
    copy->roots = roots;
    copy->expr_capacity = k->n_exprs;
    copy->root_capacity = k->n_roots;
    return copy;
}
