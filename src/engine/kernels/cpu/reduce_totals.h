/* SPDX-License-Identifier: Apache-2.0 */
/* One reduction's plan: what is folded how, and what becomes of the totals. */
#ifndef ENGINE_KERNELS_CPU_REDUCE_TOTALS_H
#define ENGINE_KERNELS_CPU_REDUCE_TOTALS_H

#include "engine/kernels/cpu/reduce_shape.h"

typedef enum finish_kind { FINISH_AS_IS, FINISH_DIVIDE, FINISH_ROOT, FINISH_NOT } finish_kind;

typedef struct reduction {
    reduce_shape s;
    row_kind kind;
    finish_kind finish;
    double divisor;
    dtype out;
    int threads;
    bool splits;        /* threads share the reduced dimensions, each with its own totals */
    row_wide *partials; /* [threads][kept.numel], where splits */
} reduction;

/* Whether a kind of fold makes sums. */
static inline bool row_kind_adds(row_kind kind) {
    return kind == ROW_SUM || kind == ROW_SQUARES || kind == ROW_SIZES;
}

/* Adds to a total what others have found, by the kind of fold. */
void reduction_combine(const reduction *r, row_wide *total, row_wide more);
/* The same of n totals. */
void reduction_combine_all(const reduction *r, row_wide *totals, const row_wide *more, int64_t n);

/* Finishes a total and stores it at `to`, in the output's type. */
void reduction_put(const reduction *r, char *to, row_wide total);
/* The same of n totals, `stride` bytes apart. */
void reduction_put_run(const reduction *r, char *to, int64_t stride, const row_wide *totals, int64_t n);

#endif
