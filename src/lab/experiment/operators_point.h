/* SPDX-License-Identifier: Apache-2.0 */
/* One point, inside the worker: make inputs, refer, prepare, check, measure, one record for each backend. */
#ifndef LAB_EXPERIMENT_OPERATORS_POINT_H
#define LAB_EXPERIMENT_OPERATORS_POINT_H

#include "engine/backend/backend.h"
#include "lab/experiment/operators.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/save.h"
#include "lab/measure/cache.h"
#include "lab/measure/clock.h"

/* What a worker is doing right now, in memory shared with its supervisor: a crash tells nothing itself. */
typedef enum point_stage {
    STAGE_START,
    STAGE_INPUTS,
    STAGE_REFERENCE,
    STAGE_PREPARE,
    STAGE_CHECK,
    STAGE_MEASURE,
    STAGE_RELEASE,
    STAGE_CLOSE
} point_stage;

typedef struct point_progress {
    volatile int64_t point;
    volatile int32_t backend; /* index, or -1 while none is at work */
    volatile int32_t stage;
    volatile int32_t process; /* the worker's */
    save_log saved;
} point_progress;

const char *point_stage_text(int32_t stage);

/* A worker's own things, made once. */
typedef struct point_context {
    const operators_options *options;
    const operators_backend *names;
    int worker; /* which of its run's, from 0 */
    const op_table *table;
    struct backend **backends; /* open; in the order of options */
    lab_clock clock;
    cache_evictor *cold;  /* NULL: warm */
    point_progress *progress;
    status (*renew_deadline)(void *arg, error *err); /* called at each stage */
    void *renew_arg;
    profile *profile; /* NULL: no trace is written */
} point_context;

/* Fills in what every record of a point on backend b has: operator, input, models, options, machine, repro. */
void point_record_base(arena *memory, const operators_options *options, const operators_point *what,
                       const operators_backend *backends, size_t b, record *out);

/* Measures the point on every backend b with excluded[b] false and writes records[b]; all in `memory`. Fails only when the
   worker cannot go on: the supervisor is gone, or a plug-in has written where nothing is its own. Then nothing is released. */
status point_run(arena *memory, const point_context *context, const operators_point *point, const bool *excluded,
                 record *records, error *err);

#endif
