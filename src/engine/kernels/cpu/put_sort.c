/* SPDX-License-Identifier: Apache-2.0 */
/* A stable sort groups the index positions by the place (slot) they name. It counts by slot, or goes by the digits of its number where few
   positions name some of very many: a group is then one of a named slot, else its number is the slot's. */
#include "engine/kernels/cpu/put_parts.h"

#include "engine/kernels/cpu/parallel.h"

#include <stdatomic.h>
#include <string.h>

typedef struct slots_share {
    const put *p;
    atomic_bool *good; /* cleared by any thread */
} slots_share;

static void share_slots(const void *context) {
    const slots_share *share = context;
    const put *p = share->p;
    int64_t from, to;
    parallel_share(p->at.numel, PUT_BLOCK, &from, &to);
    if (!places_resolve(&p->at, from, to - from, p->slot_of + from)) {
        *share->good = false;
    }
}

bool put_find_slots(put *p) {
    atomic_bool good = true;
    parallel_run(parallel_threads(16 * (double)p->at.numel), share_slots, &(const slots_share){p, &good});
    return good;
}

/* Positions by the digits of their slots' numbers, the last one first: each pass keeps the order of the one before it. */
void put_sort_by_digits(put *p) {
    enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
    const int64_t n = p->at.numel;
    int64_t *keys = p->slot_of, *next_keys = p->keys;
    ptrdiff_t *offsets = p->order, *next_offsets = p->moved;
    memcpy(offsets, p->k_offsets, (size_t)n * sizeof *offsets);
    for (int shift = 0; (p->n_slots - 1) >> shift > 0; shift += DIGIT_BITS) {
        int64_t next[DIGITS] = {0}, at = 0;
        for (int64_t k = 0; k < n; k++) {
            next[keys[k] >> shift & (DIGITS - 1)]++;
        }
        for (int d = 0; d < DIGITS; d++) {
            int64_t count = next[d];
            next[d] = at;
            at += count;
        }
        for (int64_t k = 0; k < n; k++) {
            int64_t to = next[keys[k] >> shift & (DIGITS - 1)]++;
            next_keys[to] = keys[k];
            next_offsets[to] = offsets[k];
        }
        int64_t *other_keys = keys;
        ptrdiff_t *other_offsets = offsets;
        keys = next_keys;
        next_keys = other_keys;
        offsets = next_offsets;
        next_offsets = other_offsets;
    }
    if (offsets != p->order) {
        memcpy(p->order, offsets, (size_t)n * sizeof *offsets);
    }
    p->n_touched = 0;
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && keys[k] == keys[k - 1]) {
            continue;
        }
        int64_t group = p->n_touched++;
        p->touched[group] = group;
        p->named[group] = keys[k];
        p->starts[group] = k;
        if (p->places != NULL) {
            p->places[group] = put_slot_place(p, p->dst, keys[k]) - p->dst;
        }
    }
    p->starts[p->n_touched] = n;
}

/* starts[s + 1] counts, then points at where slot s goes on; in the end starts[s] is where slot s begins. */
void put_sort_by_counts(put *p) {
    int64_t *next = p->starts + 1, at = 0;
    memset(p->starts, 0, ((size_t)p->n_slots + 2) * sizeof *p->starts);
    for (int64_t k = 0; k < p->at.numel; k++) {
        next[p->slot_of[k]]++;
    }
    p->n_touched = 0;
    for (int64_t s = 0; s < p->n_slots; s++) {
        int64_t count = next[s];
        if (count > 0 && p->options.mode != PUT_SUM) {
            if (p->places != NULL) {
                p->places[p->n_touched] = put_slot_place(p, p->dst, s) - p->dst;
            }
            p->touched[p->n_touched++] = s;
        }
        next[s] = at;
        at += count;
    }
    for (int64_t k = 0; k < p->at.numel; k++) {
        p->order[next[p->slot_of[k]]++] = p->k_offsets[k];
    }
    if (p->options.mode == PUT_SUM) {
        p->n_touched = p->n_slots;
    }
}
