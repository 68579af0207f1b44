/* SPDX-License-Identifier: Apache-2.0 */
/* Results that lie between each other's elements: what is stacked along the last dimension. Alone, each writes a part of every line of
   memory; beside each other they fill lines, and compilers put vectors of both together. */
#include "engine/compile/passes.h"

#include <stdlib.h>

/* The least step of a root's elements along any variable; 0: where that differs from place to place, or there is none. */
static int64_t least_step(const kernel *k, const root *r) {
    int64_t least = 0;
    for (int v = 0; v < k->n_variables; v++) {
        int64_t stride;
        if (!index_stride(r->at, v, &stride) || stride < 0) {
            return 0;
        }
        least = stride > 0 && (least == 0 || stride < least) ? stride : least;
    }
    return least;
}

int64_t roots_interleave(const kernel *k, const root *a, const root *b) {
    index_sum to = a->at, from = b->at;
    int64_t apart = to.constant - from.constant;
    to.constant = from.constant = 0;
    if (a->kind != ROOT_STORE || b->kind != ROOT_STORE || a->buffer < 0 || a->buffer != b->buffer || apart == 0 || !index_equal(to, from)) {
        return 0;
    }
    int64_t step = least_step(k, a);
    return step == 2 || step == 3 || step == 4 || step == 8 ? (llabs(apart) < step ? step : 0) : 0;
}

bool root_fills_lines(const kernel *k, const root *r) {
    int64_t beside = 1, step = 0;
    for (int i = 0; i < k->n_roots; i++) {
        int64_t apart = &k->roots[i] != r ? roots_interleave(k, r, &k->roots[i]) : 0;
        step = apart > 0 ? apart : step;
        beside += apart > 0;
    }
    return step > 0 && beside == step;
}
