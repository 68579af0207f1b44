/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled backend: its configurations, and what each makes of a graph. */
#include "engine/backend/compiled_plan.h"

#include "base/text.h"
#include "engine/backend/tune.h"
#include "engine/compile/processor.h"

#include <stdlib.h>
#include <string.h>

/* What is to run. Where the tuner found another plan faster it is that one itself: a run of it costs nothing extra. */
static plan *chosen_of(compiled_plan *p) {
    plan *chosen = p->instead;
    if (chosen == NULL) {
        return &p->base;
    }
    chosen->note = p->base.note; /* its own, or a literal */
    chosen->is_fallback = p->base.is_fallback;
    if (p->base.not_kept != NULL) {
        free(chosen->not_kept);
        chosen->not_kept = p->base.not_kept;
        p->base.not_kept = NULL;
    }
    p->instead = NULL;
    p->base.release(&p->base);
    return chosen;
}

static status prepare(backend *base, const graph *g, plan **out, error *err) {
    compiled_backend *b = (compiled_backend *)base;
    compiled_plan *p = NULL;
    error why = {0};
    status result = compiled_prepare(b, g, &b->options, &p, &why);
    if (result == ASSAY_UNSUPPORTED && compiled_prepare_eager(b, g, out, NULL) == ASSAY_OK) {
        (*out)->is_fallback = true;
        (*out)->note = "not compiled: eager's kernels run it, operator by operator";
        return ASSAY_OK;
    }
    if (result != ASSAY_OK) {
        if (err != NULL) {
            *err = why;
        }
        return result;
    }
    result = b->tunes ? tune_plan(b, p, err) : ASSAY_OK;
    if (result != ASSAY_OK) {
        p->base.release(&p->base);
        return result;
    }
    *out = chosen_of(p);
    return ASSAY_OK;
}

static void close_compiled(backend *base) {
    compiled_backend *b = (compiled_backend *)base;
    if (b->eager != NULL) {
        b->eager->close(b->eager);
    }
    kernel_index_free(b->kernels);
    free(b);
}

/* What `compiled:NAME` means. */
typedef struct configuration {
    const char *name; /* the column's */
    const char *doc;
    bool no_fusion;
    bool tunes;
    bool own_products;
} configuration;

static const configuration configurations[] = {
    {"compiled", "operators taken apart into primitives, fused, emitted as C, built by the system's compiler", false, false, false},
    {"compiled:nofuse", "as compiled, but without joining operators: a kernel for each value that one answers", true, false, false},
    {"compiled:autotune", "as compiled, with each kernel built in several ways: what runs fastest here is kept, be it eager's", false, true, false},
    {"compiled:own-products", "as compiled, with its own kernels for matrix products and convolutions instead of the library's", false, false, true},
};

status backend_compiled_open(const op_table *table, const char *name, backend **out, error *err) {
    const configuration *chosen = NULL;
    const char *names[countof(configurations)];
    for (size_t i = 0; i < countof(configurations); i++) {
        names[i] = configurations[i].name;
        chosen = strcmp(configurations[i].name, name) == 0 ? &configurations[i] : chosen;
    }
    if (chosen == NULL) {
        const char *near = text_nearest(name, names, countof(names));
        return fail(err, ASSAY_NOT_FOUND, "expected compiled, compiled:autotune, compiled:nofuse or compiled:own-products, got '%s'%s%s%s", name,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    compiled_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compiled backend");
    }
    b->options = (compile_options){.no_fusion = chosen->no_fusion, .variants = chosen->tunes, .own_products = chosen->own_products};
    compile_options_of_cpu(&b->options);
    b->base = (backend){.name = chosen->name,
                        .doc = chosen->doc,
                        .prepare = prepare,
                        .close = close_compiled};
    b->tunes = chosen->tunes;
    status result = kernel_index_new(table, &b->kernels, err);
    result = result == ASSAY_OK ? backend_eager_open(table, &b->eager, err) : result;
    if (result != ASSAY_OK) {
        close_compiled(&b->base);
        return result;
    }
    *out = &b->base;
    return ASSAY_OK;
}
