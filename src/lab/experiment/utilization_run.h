/* SPDX-License-Identifier: Apache-2.0 */
/* How well one operator on one input, or one graph, uses the CPU's threads: utilization_measure on a backend's plan. */
#ifndef LAB_EXPERIMENT_UTILIZATION_RUN_H
#define LAB_EXPERIMENT_UTILIZATION_RUN_H

#include "engine/literal/bind.h"
#include "lab/experiment/utilization.h"

typedef struct utilization_run_options {
    const char *graph;         /* a file *.graph; NULL: an operator on an input */
    const char *operator_name; /* "aten.mm.default", "mm" */
    const char *input;         /* as recorded: "((T([512, 512], f32), T([512, 512], f32)), {})" */
    const char *backend;       /* a name, or a path of a plug-in */
    bind_options bind;
    int n_runs;  /* at least 1 */
    int threads; /* 0: as OpenMP has it */
    uint64_t seed;
    const char *folder; /* of the trace, operator_NAME.json.gz */
    bool by_operator;
    const char *label; /* as in utilization_options; NULL: "CPU" */
} utilization_run_options;

/* In this process, so a backend that crashes takes it along. What a run writes among its inputs is put back before the next
   one, shown as a copy and part of the wall time. NOT_FOUND: no such operator or backend, with the nearest; INVALID, PARSE:
   the input, with line and column in it; else what the backend or utilization_measure fails with. */
status utilization_run(const utilization_run_options *options, arena *memory, utilization_result *out, error *err);

#endif
