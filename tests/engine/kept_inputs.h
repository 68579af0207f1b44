/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's inputs as they are, kept or put back: what runs write in place is the next run's input otherwise. */
#ifndef TESTS_ENGINE_KEPT_INPUTS_H
#define TESTS_ENGINE_KEPT_INPUTS_H

#include "base/text.h"
#include "engine/graph/graph.h"

#include <string.h>

static inline void keep_inputs(const graph *g, text *kept, bool restore) {
    size_t at = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        const storage *s = g->inputs[i].value->storage;
        if (restore) {
            memcpy(s->data, kept->data + at, s->size_bytes);
            at += s->size_bytes;
        } else {
            text_add_bytes(kept, s->data, s->size_bytes);
        }
    }
}

#endif
