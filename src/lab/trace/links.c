/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of links with a hash table of chains through it. */
#include "lab/trace/links.h"

#include "base/rng.h"

#include <stdlib.h>

status trace_links_init(trace_links *t, size_t capacity, error *err) {
    /* calloc: pages that no link reaches are never touched, so a small trace costs little. */
    trace_links made = {.ring = calloc(capacity, sizeof(trace_link)),
                        .slots = calloc(capacity, sizeof(uint32_t)),
                        .capacity = capacity};
    if (made.ring == NULL || made.slots == NULL) {
        trace_links_clear(&made);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu launches", capacity);
    }
    *t = made;
    return ASSAY_OK;
}

void trace_links_clear(trace_links *t) {
    free(t->ring);
    free(t->slots);
    *t = (trace_links){0};
}

/* Numbers come as they were counted, so those that follow each other lie in one line of a cache. Stretches of 2^18 of
   them are moved against each other, so that numbers which differ only above that do not meet. */
static uint32_t *slot_of(const trace_links *t, uint32_t key) {
    return &t->slots[(key ^ rng_mix(key >> 18)) & (t->capacity - 1)];
}

static void forget(trace_links *t, uint32_t place) {
    uint32_t *at = slot_of(t, t->ring[place - 1].key);
    while (*at != 0 && *at != place) {
        at = &t->ring[*at - 1].older;
    }
    if (*at == place) {
        *at = t->ring[place - 1].older;
    }
}

void trace_links_put(trace_links *t, trace_link link) {
    uint32_t place = (uint32_t)(t->n_put % t->capacity) + 1;
    if (t->n_put >= t->capacity) {
        forget(t, place);
    }
    /* The same number again: the new one takes the old one's room, so that chains stay short. */
    uint32_t *slot = slot_of(t, link.key);
    for (uint32_t at = *slot; at != 0; at = t->ring[at - 1].older) {
        if (t->ring[at - 1].key == link.key) {
            link.older = t->ring[at - 1].older;
            t->ring[at - 1] = link;
            return;
        }
    }
    link.older = *slot;
    t->ring[place - 1] = link;
    *slot = place;
    t->n_put++;
}

const trace_link *trace_links_find(const trace_links *t, uint32_t key) {
    for (uint32_t at = *slot_of(t, key); at != 0; at = t->ring[at - 1].older) {
        if (t->ring[at - 1].key == key) {
            return &t->ring[at - 1];
        }
    }
    return NULL;
}
