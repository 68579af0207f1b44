/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are nothing but a list of moves. */
#include "engine/kernels/cpu/move_plan.h"

#include "engine/kernels/cpu/parallel.h"

#include <assert.h>

static_assert(sizeof(move_plan) <= KERNEL_INLINE_BYTES, "a plan of one move fits a kernel's own space");

static status run(kernel_plan *plan) {
    const move_plan *p = plan->state;
    moves_run(p->moves, p->n, p->together);
    return ASSAY_OK;
}

status move_plan_start(kernel_plan *plan, int64_t capacity, move_plan **out, error *err) {
    move_plan *p = (move_plan *)plan->inline_state;
    p->moves = capacity <= 1 ? &p->only : arena_make(plan->memory, (size_t)capacity, sizeof *p->moves);
    if (p->moves == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    p->n = 0;
    p->capacity = capacity < 1 ? 1 : capacity;
    p->together = false;
    p->memory = plan->memory;
    plan->state = p;
    plan->run = run;
    *out = p;
    return ASSAY_OK;
}

static bool is_empty(const box *b) {
    for (int d = 0; d < b->ndim; d++) {
        if (b->sizes[d] == 0) {
            return true;
        }
    }
    return false;
}

void move_plan_copy(move_plan *p, const box *b, const tensor *dst, const tensor *src) {
    if (!is_empty(b)) {
        assert(p->n < p->capacity);
        move *m = &p->moves[p->n++];
        move_copy(m, b, dst, src);
        move_take_buffers(m, p->memory);
    }
}

void move_plan_fill(move_plan *p, const box *b, const tensor *dst, number value) {
    if (!is_empty(b)) {
        assert(p->n < p->capacity);
        move_fill(&p->moves[p->n++], b, dst, value);
    }
}

void move_plan_share(move_plan *p) {
    double bytes = 0;
    for (int64_t i = 0; i < p->n; i++) {
        bytes += p->moves[i].bytes;
    }
    const int threads = parallel_threads(bytes);
    for (int64_t i = 0; threads > 1 && i < p->n; i++) {
        move_share(&p->moves[i], threads);
    }
    p->together = true;
}

void move_plan_fill_around(move_plan *p, const box *whole, const int64_t *inner_from, const int64_t *inner_sizes,
                           const tensor *dst, number value) {
    box rest = *whole; /* what is left between the slabs already filled */
    for (int d = 0; d < whole->ndim; d++) {
        int64_t end = inner_from[d] + inner_sizes[d];
        box slab = rest;
        box_cut(&slab, d, 0, inner_from[d]);
        move_plan_fill(p, &slab, dst, value);
        slab = rest;
        box_cut(&slab, d, end, rest.sizes[d] - end);
        move_plan_fill(p, &slab, dst, value);
        box_cut(&rest, d, inner_from[d], inner_sizes[d]);
    }
}
