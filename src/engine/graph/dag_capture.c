/* SPDX-License-Identifier: Apache-2.0 */
/* Which value each tensor of a captured program stands for: a table by the tensor's address. */
#include "engine/graph/dag_build.h"

#include "base/hash.h"

/* The slot of t: its own, or the free one where it would stand. */
static size_t slot_of(const dag_capture *c, const tensor *t) {
    size_t at = (size_t)hash_bytes(&t, sizeof(tensor *), 0) & (c->n_slots - 1);
    while (c->slots[at] != 0 && c->tensors[c->slots[at] - 1] != t) {
        at = (at + 1) & (c->n_slots - 1);
    }
    return at;
}

/* Its place in the lists; -1: none. */
static int place_of(const dag_capture *c, const tensor *t) {
    return c->n_slots > 0 ? c->slots[slot_of(c, t)] - 1 : -1;
}

bool dag_known(const dag_capture *c, const tensor *t, val *out) {
    int i = place_of(c, t);
    if (i >= 0) {
        *out = c->values[i];
    }
    return i >= 0;
}

bool dag_is_written(const dag_capture *c, const tensor *t) {
    int i = place_of(c, t);
    return i >= 0 && c->written[i];
}

/* Room for twice as many; the arena keeps the old lists: no more than the new ones. */
static bool grow(dag *g, dag_capture *c) {
    int capacity = 2 * c->capacity + 16;
    size_t n_slots = c->n_slots > 0 ? c->n_slots : 16;
    while (n_slots < 2 * (size_t)capacity) {
        n_slots *= 2;
    }
    dag_capture wider = {.n = c->n,
                         .capacity = capacity,
                         .tensors = arena_make(g->memory, (size_t)capacity, sizeof(tensor *)),
                         .values = arena_make(g->memory, (size_t)capacity, sizeof(val)),
                         .written = arena_make(g->memory, (size_t)capacity, sizeof(bool)),
                         .n_slots = n_slots,
                         .slots = arena_make(g->memory, n_slots, sizeof(int))};
    if (wider.tensors == NULL || wider.values == NULL || wider.written == NULL || wider.slots == NULL) {
        return false;
    }
    for (int i = 0; i < c->n; i++) {
        wider.tensors[i] = c->tensors[i];
        wider.values[i] = c->values[i];
        wider.written[i] = c->written[i];
        wider.slots[slot_of(&wider, c->tensors[i])] = 1 + i;
    }
    *c = wider;
    return true;
}

void dag_learn(dag *g, const tensor *t, val v, bool written) {
    dag_capture *c = g->capture;
    int i = place_of(c, t);
    if (i >= 0) {
        c->values[i] = v;
        c->written[i] |= written;
        return;
    }
    if (c->n == c->capacity && !grow(g, c)) {
        g->failed = true;
        return;
    }
    c->tensors[c->n] = t;
    c->values[c->n] = v;
    c->written[c->n++] = written;
    c->slots[slot_of(c, t)] = c->n;
}
