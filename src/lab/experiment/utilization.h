/* SPDX-License-Identifier: Apache-2.0 */
/* How well a program uses its devices: run unprofiled for the wall time, then profiled for the trace, as PyTorch's
   benchmark_utilization does. */
#ifndef LAB_EXPERIMENT_UTILIZATION_H
#define LAB_EXPERIMENT_UTILIZATION_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/trace/figures.h"
#include "lab/trace/writer.h"

enum { UTILIZATION_WARMUPS = 5 };

/* What one run is given. */
typedef struct utilization_context {
    trace_writer *writer;           /* NULL in unprofiled runs; threads get their recorders from it */
    int64_t (*now_ns)(void *clock); /* the clock that events are recorded by */
    void *clock;
    int run; /* from 0 among the runs of its kind */
} utilization_context;

/* What is run. `run` returns when the work is done, or `wait` (NULL: nothing to wait for) does. Both are called from
   one thread. A failure ends the measurement and comes back. */
typedef struct utilization_program {
    status (*run)(void *self, const utilization_context *context, error *err);
    status (*wait)(void *self, error *err);
    void *self;
} utilization_program;

typedef struct utilization_options {
    const char *folder;     /* made when it is not there */
    const char *trace_name; /* of the file in it, ".json" or ".json.gz" included; NULL: "trace.json.gz" */
    int n_runs;             /* at least 1 */
    bool by_operator;
    const char *label; /* whose processes compat counts; NULL: "GPU". "CPU" where worker threads are the lanes */
    int64_t (*now_ns)(void *clock); /* NULL: the system's monotonic clock */
    void *clock;
} utilization_options;

typedef struct utilization_result {
    double wall_s;          /* of the n unprofiled runs: what the figures are shares of */
    double profiled_wall_s; /* of the n profiled ones */
    const char *path;       /* of the trace, in `memory` */
    trace_figures figures;
} utilization_result;

/* Five runs to warm up, n unprofiled, n profiled; each profiled one is a range "rep_I" of the trace. What lies at the
   trace's path is replaced. INVALID for options that make no sense; IO where the folder or the trace cannot be made. */
status utilization_measure(const utilization_program *program, const utilization_options *options, arena *memory,
                           utilization_result *out, error *err);

#endif
