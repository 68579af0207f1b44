/* SPDX-License-Identifier: Apache-2.0 */
/* The auto-tuner's choices in the cache. */
#include "engine/backend/tune_kept.h"

#include "base/file.h"
#include "device/instructions.h"
#include "engine/compile/cache.h"
#include "engine/kernels/identity.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A file of these, one for each step, and one more that holds what is settled. */
typedef struct choice {
    int32_t variant;
    int32_t threads;
} choice;

/* Which nodes write what they read: relu and relu_ are the same code, and not as fast where only one result lies in a cache. */
static uint64_t written_by(const graph *g) {
    uint64_t mixed = 1469598103934665603u;
    for (int i = 0; i < g->n_nodes; i++) {
        mixed = (mixed ^ (uint64_t)g->nodes[i].call.op->in_place) * 1099511628211u;
    }
    return mixed;
}

static cache_key key_of(const compiled_plan *p) {
    static const char version[] = "tune 11";
    int threads = omp_get_max_threads();
    uint64_t written = written_by(p->g);
    char eager[IDENTITY_BYTES]; /* what kernels were compared with: others may be faster or slower */
    kernel_identity(eager, sizeof eager);
    const char *instructions = isa_name(isa_best());
    uint32_t cpu[CPU_IDENTITY_WORDS]; /* code's own identity has it too, but a plan may be the library's calls alone */
    cpu_identity(cpu);
    cache_piece pieces[] = {{version, sizeof version},
                            {p->program.source, strlen(p->program.source)},
                            {p->program.dag_text, strlen(p->program.dag_text)},
                            {p->code != NULL ? module_identity(p->code) : "", p->code != NULL ? strlen(module_identity(p->code)) : 0},
                            {eager, strlen(eager)},
                            {instructions, strlen(instructions)},
                            {cpu, sizeof cpu},
                            {&threads, sizeof threads},
                            {&written, sizeof written}};
    return cache_key_of(pieces, countof(pieces));
}

/* Behind a plan's steps: false where that is none, or was left open. */
static bool read_settled(choice c, settled *all) {
    if (c.variant < 0 || c.variant >= 2 * COMPUTERS) {
        return false;
    }
    *all = (settled){.by = (computer)(c.variant % COMPUTERS),
                     .whole = c.variant >= COMPUTERS,
                     .library_products = (uint32_t)c.threads};
    return true;
}

static choice settled_as_choice(const settled *what) {
    int open = what->is_open ? 2 * COMPUTERS : 0;
    return (choice){(int32_t)what->by + (what->whole ? COMPUTERS : 0) + open, (int32_t)what->library_products};
}

static choice choice_at(const text *bytes, int i) {
    choice c;
    memcpy(&c, bytes->data + (size_t)i * sizeof c, sizeof c);
    return c;
}

/* Asked of all before any is taken: a plan of which some steps are as they were once and some not was never measured. */
static bool all_fit(const compiled_plan *p, const text *bytes) {
    for (int i = 0; i < p->n_steps; i++) {
        const choice c = choice_at(bytes, i);
        if (p->steps[i].kernel != NULL && (c.variant < 0 || c.variant >= p->steps[i].described->n_variants || c.threads < 0)) {
            return false;
        }
    }
    return true;
}

bool tune_recall(compiled_plan *p, settled *all) {
    const cache_key key = key_of(p);
    char path[4096];
    text bytes = {0};
    bool good = cache_find(&key, ".tune", path, sizeof path, NULL) == ASSAY_OK &&
                file_read(path, 1 << 20, &bytes, NULL) == ASSAY_OK &&
                bytes.length >= ((size_t)p->n_steps + 1) * sizeof(choice) && read_settled(choice_at(&bytes, p->n_steps), all);
    good = good && all_fit(p, &bytes);
    for (int i = 0; good && i < p->n_steps; i++) {
        choice c = choice_at(&bytes, i);
        if (p->steps[i].kernel != NULL) {
            good = compiled_use_variant(p, i, c.variant, NULL) == ASSAY_OK;
            p->steps[i].threads = c.threads;
        }
    }
    text_clear(&bytes);
    return good;
}

status tune_keep(const compiled_plan *p, const settled *what, error *err) {
    const cache_key key = key_of(p);
    choice *all = calloc((size_t)p->n_steps + 1, sizeof *all);
    char path[4096];
    if (all == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to keep it");
    }
    for (int i = 0; i < p->n_steps; i++) {
        all[i] = (choice){p->steps[i].variant, p->steps[i].threads};
    }
    all[p->n_steps] = settled_as_choice(what);
    status kept = cache_store(&key, ".tune", all, ((size_t)p->n_steps + 1) * sizeof *all, path, sizeof path, err);
    free(all);
    return kept;
}
