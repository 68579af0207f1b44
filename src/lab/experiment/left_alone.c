/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of each input's whole memory. */
#include "lab/experiment/left_alone.h"

#include "base/hash.h"

static bool is_looked_at(const left_alone *noted, int i) {
    const storage *s = noted->g->inputs[i].value->storage;
    return s != NULL && !pristine_holds(noted->kept, s);
}

static uint64_t hash_of(const left_alone *noted, int i) {
    const storage *s = noted->g->inputs[i].value->storage;
    return hash_words(s->data, s->size_bytes);
}

status left_alone_note(arena *memory, const graph *g, const pristine *kept, left_alone *out, error *err) {
    left_alone noted = {.g = g, .kept = kept, .hashes = arena_make(memory, (size_t)g->n_inputs, sizeof *noted.hashes)};
    if (noted.hashes == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to note the inputs");
    }
    for (int i = 0; i < g->n_inputs; i++) {
        noted.hashes[i] = is_looked_at(&noted, i) ? hash_of(&noted, i) : 0;
    }
    *out = noted;
    return ASSAY_OK;
}

const graph_input *left_alone_find(const left_alone *noted) {
    for (int i = 0; noted->g != NULL && i < noted->g->n_inputs; i++) {
        if (is_looked_at(noted, i) && hash_of(noted, i) != noted->hashes[i]) {
            return &noted->g->inputs[i];
        }
    }
    return NULL;
}
