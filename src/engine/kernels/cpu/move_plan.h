/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are nothing but a list of moves. */
#ifndef ENGINE_KERNELS_CPU_MOVE_PLAN_H
#define ENGINE_KERNELS_CPU_MOVE_PLAN_H

#include "engine/kernels/cpu/move.h"
#include "engine/kernels/kernel.h"

typedef struct move_plan {
    move *moves;
    int64_t n;
    int64_t capacity;
    bool together; /* see moves_run */
    arena *memory; /* the plan's */
    move only;     /* spares a single move the arena */
} move_plan;

/* The kernel's state, for at most so many moves; it runs them. */
status move_plan_start(kernel_plan *plan, int64_t capacity, move_plan **out, error *err);
/* Both drop boxes without elements. A bug (assert) beyond the capacity. */
void move_plan_copy(move_plan *p, const box *b, const tensor *dst, const tensor *src);
void move_plan_fill(move_plan *p, const box *b, const tensor *dst, number value);
/* All moves there are run side by side, shared out among threads. */
void move_plan_share(move_plan *p);
/* Fills what of `whole` lies outside of `inner`, slab after slab: at most 2 * ndim moves. */
void move_plan_fill_around(move_plan *p, const box *whole, const int64_t *inner_from, const int64_t *inner_sizes,
                           const tensor *dst, number value);

#endif
