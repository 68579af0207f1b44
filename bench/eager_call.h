/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded input, bound, filled and prepared for the eager backend: what every bench here measures. */
#ifndef BENCH_EAGER_CALL_H
#define BENCH_EAGER_CALL_H

#include "engine/backend/backend.h"
#include "engine/literal/bind.h"
#include "lab/experiment/inputs.h"
#include "lab/experiment/pristine.h"

typedef struct eager_call {
    arena memory;
    bound_call bound;
    outputs out;
    graph graph; /* the plan keeps it */
    pristine kept; /* what a run writes among the inputs: numbers that are multiplied again and again end as denormals */
    plan *plan;
} eager_call;

/* Close with eager_call_close, whatever the answer. NOT_FOUND names the operator. */
status eager_call_open(eager_call *c, const op_table *table, backend *eager, const input *in, const char *name,
                       dtype_mode mode, error *err);
void eager_call_close(eager_call *c);

#endif
