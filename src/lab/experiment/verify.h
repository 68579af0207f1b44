/* SPDX-License-Identifier: Apache-2.0 */
/* What a call must give, computed once by the reference, and whether a backend's outputs are that. */
#ifndef LAB_EXPERIMENT_VERIFY_H
#define LAB_EXPERIMENT_VERIFY_H

#include "engine/backend/backend.h"
#include "engine/graph/exact.h"
#include "engine/tensor/agree.h"
#include "lab/experiment/pristine.h"
#include "lab/record/record.h"

/* The expected values of one output: all of it, or of a seeded subset. */
typedef struct expected_output {
    int64_t n;
    int64_t *flat; /* NULL: all */
    double *value;
    double *norm;
} expected_output;

typedef struct expectation {
    const graph *g;      /* of a graph with a name, else NULL: */
    const pristine *kept;
    uint64_t seed;
    bool is_random;      /* then what is expected hangs on what a plan drew, and is computed for each */
    exact exact;
    const op_call *call; /* of a single call */
    const outputs *out; /* as inferred */
    expected_output *outputs;
    expected_output *written; /* by argument: what it leaves in those it writes besides its outputs (n of others is 0); or NULL */
    agree_rule rule;
    bool has_reference; /* false: views, random and undefined values, which are checked by other means */
} expectation;

/* How many elements of an output the reference computes: all up to this many, ... */
enum { VERIFY_MAX_ELEMENTS = 1 << 19 };
/* ... and no more than that the sums behind them stay below this many terms, but at least so many. */
#define VERIFY_MAX_TERMS 1e8
enum { VERIFY_MIN_ELEMENTS = 256 };

/* Runs the reference on the inputs' present values. The subset of a large output is drawn from the seed: runs of
   neighbouring elements, one in each equal part of the output, the first and last elements always among them. Everything
   lies in the arena; call and out (from op_infer) must outlive it. */
status expectation_make(arena *memory, const op_call *call, const outputs *out, uint64_t seed, expectation *e, error *err);

/* As expectation_make for a graph: every output is expected whole. kept is what a run writes among the inputs; both must
   outlive it. */
status expectation_make_graph(arena *memory, const graph *g, const pristine *kept, uint64_t seed, expectation *e, error *err);

/* Memory that expectation_make needs for this call, in bytes, over-estimated. */
double expectation_bytes(const op_call *call, const outputs *out);

/* Compares a plan's outputs after a run. OK: they agree. *differs: they do not, and err says where; else what failed is looking, which
   says nothing about them. stats and differs are written in every case: the figures are NaN and the counts -1 where nothing was compared
   with the reference, the figures also NaN where an element outside the tolerance has no distance from it (NaN, infinity). */
status expectation_check(const expectation *e, plan *p, record_error_stats *stats, bool *differs, error *err);

/* Fills the plan's outputs with what no kernel writes, but for those that alias an input which the call reads, and those of a plan that
   makes them itself. What was written there must be put back after the run (pristine_restore). */
status expectation_poison(const expectation *e, plan *p, error *err);

#endif
