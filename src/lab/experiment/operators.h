/* SPDX-License-Identifier: Apache-2.0 */
/* The main experiment: recorded inputs on every backend, checked against the reference, measured in turns. */
#ifndef LAB_EXPERIMENT_OPERATORS_H
#define LAB_EXPERIMENT_OPERATORS_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/schema/op.h"
#include "engine/literal/bind.h"
#include "lab/experiment/inputs.h"
#include "lab/measure/machine.h"
#include "lab/record/record.h"

#include <stdbool.h>
#include <stdint.h>

/* What a record's `repro` repeats of how a run was asked for; NULL or false: not said. */
typedef struct operators_repro {
    const char *inputs;  /* "--suite embedded": where they come from, as a shell reads it */
    bool has_files;      /* by --inputs, */
    bool reads_standard; /* one of which is '-' */
    const char *suites_place, *compiler, *torch_place; /* ASSAY_SUITES where it was looked into, ASSAY_CC, ASSAY_TORCH_PYTHON */
    const char *torch_python;                          /* --torch-python */
    bool has_timeout, has_max_memory;                  /* the numbers are the options' */
} operators_repro;

/* Everything a run is told; copied into each record's conditions where a reader needs it. */
typedef struct operators_options {
    const char *const *ops; /* globs over "aten.NAME.OVERLOAD" and "NAME.OVERLOAD"; none: all */
    size_t n_ops;
    const char *const *skips;
    size_t n_skips;
    bind_options bind;
    dtype_mode graph_dtype; /* of graphs, instead of bind.dtype: their text says what is computed in which type */
    const char *const *backends; /* names or paths of plug-ins as the user gave them, in the order of columns */
    const char *const *backend_files; /* what backend_open is given for each: where a name stands for a plug-in found by other
                                         means, its path; NULL: backends themselves */
    size_t n_backends;
    const char *baseline;   /* one of the backends, by the name that it gives itself or as it stands in `backends` */
    int64_t max_samples;    /* inputs per operator */
    int64_t start_index;
    int repeats;            /* 0: each backend runs once and is checked; nothing is measured */
    double precision;       /* more samples than `repeats`, within limits, until the 95% interval of each ratio to the
                               baseline is this narrow: half its width over the ratio; 0: no more */
    double min_time_s;
    double timeout_s;       /* of one stage (inputs, reference, one backend's preparation, the measuring) of one input */
    double max_memory_bytes;
    const char *max_memory_from; /* who says so, for messages */
    bool check_accuracy;
    bool cold_cache;
    int threads;
    uint64_t seed;
    const char *save_directory; /* NULL: none */
    /* Where each operator's trace is written (operators_profile.h); NULL: none, at no cost. A crash costs the events of the
       operator under way until then; its trace begins anew, and the others' are whole. */
    const char *profile_directory;
    const char *version;
    operators_repro repro;
    const machine_facts *machine;
} operators_options;

/* One (operator, input) to measure. */
typedef struct operators_point {
    const inputs_operator *recorded;
    const input *in;
    const op *o;          /* NULL: unknown operator */
    int64_t sample_index; /* among the operator's inputs */
    int64_t n_samples;    /* points of this operator in this run */
    int64_t sample;       /* 0-based among them */
} operators_point;

/* The points of a run, in the order of the inputs: globs, start index and most samples applied. INVALID when a glob
   matches no recorded operator (the nearest name is told). OUT_OF_MEMORY. */
status operators_select(arena *memory, const op_table *table, const inputs *set, const operators_options *options,
                        const operators_point **points, size_t *n, error *err);

/* Whether the point could be measured at all, as far as that is known without its memory: the operator is there, the input is a call
   of it, its shapes go together and it fits. *reason says why not, in the arena or constant. */
status operators_check(arena *memory, const op_table *table, const operators_options *options, const operators_point *what,
                       const char **reason);

/* A backend as a run will use it. */
typedef struct operators_backend {
    const char *name; /* what it calls itself */
    const char *doc;
    const char *argument; /* how it was asked for: its name, or a plug-in's path */
    bool is_baseline;     /* of one in a run */
} operators_backend;

/* Whether two arguments ask for one backend: the same words, or two paths of one file. */
bool operators_is_same_backend(const char *a, const char *b);

/* Opens each backend in a process of its own and asks for its name, so that a plug-in that crashes at loading is an error
   message. INVALID: two of one name; the baseline is not among them (the nearest name is told). Fails with what opening fails with. */
status operators_probe(arena *memory, const operators_options *options, const operators_backend **backends, error *err);

/* Where a run is. */
typedef struct operators_progress {
    size_t point;
    const operators_point *at;
    const char *stage;   /* what is being done: "preparing" */
    const char *backend; /* on which one; NULL: none in particular */
    double stage_s;      /* for how long */
} operators_progress;

/* What the caller hears of a run, on its own thread. A failure from on_record ends the run with that failure. */
typedef struct operators_events {
    status (*on_record)(void *arg, const record *r, const char *line, size_t n, error *err);
    void (*on_progress)(void *arg, const operators_progress *where); /* also from time to time while a point lasts */
    void *arg;
} operators_events;

typedef struct operators_outcome {
    bool interrupted;
    size_t points_done;
    int workers; /* processes it took: 1 when nothing crashed */
    int unsaved;          /* files and lines of the manifest that --save could not write, */
    const char *why;      /* and what the first of them failed with */
    const char *end; /* how the last one ended where that was after its last result, and not well; else NULL */
} operators_outcome;

/* Measures all points in worker processes. Records come in the order of points, one for each backend. The calling process
   must have one thread. `memory` holds the records handed to on_record. */
status operators_run(arena *memory, const operators_options *options, const operators_backend *backends,
                     const operators_point *points, size_t n, const operators_events *events, operators_outcome *out,
                     error *err);

#endif
