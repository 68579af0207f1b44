/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of `--profile DIR`: one file for each operator of a run, with the ranges that say which input, repetition
   and backend an event belongs to. */
#ifndef LAB_EXPERIMENT_OPERATORS_PROFILE_H
#define LAB_EXPERIMENT_OPERATORS_PROFILE_H

#include "lab/experiment/operators.h"
#include "lab/experiment/profile.h"
#include "lab/measure/clock.h"
#include "lab/measure/sample.h"

/* A worker's; `{0}` is one without a trace, whose `p` is NULL. */
typedef struct operators_profile {
    profile *p; /* of the operator under way */
    trace_writer *writer;
    const char *operator_name;
} operators_profile;

/* DIR/operator_NAME.json.gz, in the arena; a '/' in the name is shown as '_'. NULL without memory. */
const char *operators_profile_path(arena *memory, const char *directory, const char *operator_name);

/* Makes sure that the trace of this operator is the one being written; another's is finished first. `clock` outlives it. IO,
   OUT_OF_MEMORY. */
status operators_profile_begin(operators_profile *t, const char *directory, const char *operator_name, lab_clock *clock,
                               error *err);
/* Finishes the trace under way, if there is one; t is then `{0}`. */
status operators_profile_end(operators_profile *t, error *err);
/* Drops the trace under way. */
void operators_profile_abandon(operators_profile *t);

/* In the supervisor: whether traces can be written there at all. Makes the directory. */
status operators_profile_check(const char *directory, error *err);
/* In the supervisor: removes what a worker that died at a point left of the traces that it was writing. */
void operators_profile_discard(const char *directory, const operators_point *points, size_t at, int process);

/* Makes ranges of the parts of a measurement: "warm_up_M", "rep_N", and "model_M" in it. */
enum { OPERATORS_PROFILE_DEPTH = 2 };
typedef struct operators_ranges {
    profile *p;
    const operators_backend *names; /* by backend */
    const size_t *which;            /* the backend of each subject */
    int64_t begin_ns[OPERATORS_PROFILE_DEPTH];
} operators_ranges;

sample_listener operators_ranges_listener(operators_ranges *ranges);

/* The range "iter_I" of a point, from start_ns until now. */
void operators_profile_point(profile *p, const operators_point *point, int64_t start_ns);
/* The range of one backend's preparation, from start_ns until now. */
void operators_profile_prepare(profile *p, const char *backend_name, int64_t start_ns);

#endif
