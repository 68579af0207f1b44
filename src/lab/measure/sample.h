/* SPDX-License-Identifier: Apache-2.0 */
/* The measurer: runs several subjects in turns, A B C, C B A, B C A, A C B ..., so that a clock or a neighbour that drifts hits all of
   them alike, and keeps every sample. It knows functions, their arguments and a clock; it has never heard of operators. */
#ifndef LAB_MEASURE_SAMPLE_H
#define LAB_MEASURE_SAMPLE_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/measure/cache.h"
#include "lab/measure/clock.h"
#include "lab/stats/stopping.h"

#include <stdbool.h>
#include <stdint.h>

/* Something to time. All pointers are borrowed for the call of sample_all. */
typedef struct sample_subject {
    const char *name;
    double expected_ns; /* of a run, roughly; 0: not known. Where time is short, those that take least begin */
    /* The timed part. Called on the thread that calls sample_all. A failure ends this subject's measuring. */
    status (*run)(void *arg, error *err);
    /* Waits until what `run` started is done, inside the timed part (a device's queue); NULL: run is done when it
       returns. Called once per sample, behind the inner loop. */
    status (*wait)(void *arg, error *err);
    /* Puts inputs back that `run` writes, outside the timed part; NULL: nothing to put back. */
    void (*before)(void *arg);
    /* True: `before` is due before every single run (an in-place operator), so every run is timed alone; a sample is the
       mean of several.
       False: `before` is called once before each sample. */
    bool restores_each_run;
    void *arg;
    /* What a run reads and writes; emptied from the caches before each sample when they are asked to be cold. May be
       NULL with n_ranges 0. */
    const memory_range *ranges;
    size_t n_ranges;
} sample_subject;

/* The parts of a measurement. */
typedef enum sample_part {
    SAMPLE_WARM_UP, /* of one subject, the search for its inner loop count included; index: the subject */
    SAMPLE_ROUND,   /* index: from 0 */
    SAMPLE_TURN     /* of one subject in a round; index: the subject */
} sample_part;

/* Told of each part as it begins and ends, outside all that is timed. */
typedef struct sample_listener {
    void (*begin)(void *self, sample_part part, size_t index);
    void (*end)(void *self, sample_part part, size_t index);
    void *self;
} sample_listener;

typedef struct sample_options {
    int repeats;         /* samples of each subject, at least 1 */
    int max_repeats;     /* the stopping rule may ask for more, up to this; below `repeats` it means `repeats` */
    double min_time_s;   /* the samples of one subject together last at least this long, what is put back between them included,
                            unless the deadline comes before: inner loops grow until `repeats` of them do, or, where the
                            stopping rule may ask for more, rounds go on until they do. Not with cold caches, where each run
                            is a sample. */
    double max_time_s;   /* so long after the first round the stopping rule is not asked any more; 0: no limit */
    stop_rule stopping;  /* {0}: stop_at_once. Judges each subject's samples over the baseline's of the same rounds, once
                            there are `repeats` of them and they last long enough, and then where stop_looks_at says */
    size_t baseline;     /* the subject that others are compared with */
    cache_evictor *cold; /* NULL: caches stay warm. Otherwise they are emptied before each run, each timed alone */
    lab_clock clock;
    int64_t deadline_ns; /* on `clock`: no sample begins after it, but for first ones that take next to nothing; 0: none. What was
                            measured until then counts. No subject's warm-up may take more than its share of the time */
    const sample_listener *listener; /* NULL: nobody */
} sample_options;

/* Conditions that make a number doubtful; each comes with a sentence that holds the figures. The one list of names. */
#define SAMPLE_WARNING_LIST(X)                                                     \
    X(FEW_SAMPLES, "few_samples")     /* the median has no interval of 95% */      \
    X(SHORT, "short")                 /* what is timed lasts under 100 clock steps */   \
    X(DRIFT, "drift")                 /* first and last third differ in median */  \
    X(SPREAD, "spread")               /* the middle 60% span over 10% of the median */ \
    X(OUTLIERS, "outliers")           /* far outside Tukey's fences */             \
    X(DEADLINE, "deadline")           /* time ran out before all samples were taken, or had lasted as long as they had to */ \
    X(MIN_TIME, "min_time")           /* they did not last as long as they had to, though there was time */

typedef enum sample_warning_code {
#define SAMPLE_WARNING_ENUM(name, text) SAMPLE_##name,
    SAMPLE_WARNING_LIST(SAMPLE_WARNING_ENUM)
#undef SAMPLE_WARNING_ENUM
    SAMPLE_WARNING_COUNT
} sample_warning_code;

/* One subject's result. Arrays and texts live in the arena that sample_all was given. */
typedef struct sample_series {
    status result;          /* OK; what run or wait answered; TIMEOUT when the deadline came before the first sample */
    error err;              /* filled in when result is not OK */
    double *samples_ns;     /* nanoseconds per RUN, in the order taken; those taken before a failure are kept */
    size_t n_samples;
    double taken_ns;        /* what the samples took together; with what is put back or emptied for them where runs are timed alone */
    int64_t inner_loops;    /* runs per sample; a sample is the time of them all, divided by it */
    double clock_cost_ns;   /* subtracted from each sample that was timed alone (which stays 1 ns at least); else 0 */
    double warm_ns;         /* the last run of the warm-up */
    double first_ns;        /* the very first run, caches and pages cold: never among the samples */
    const char **warnings;  /* "short: ..." sentences */
    size_t n_warnings;
    uint32_t warning_bits;  /* bit 1 << SAMPLE_SHORT and so on */
} sample_series;

/* Warms each subject up (at least one run, until two runs in a row take about the same time or a few were made), finds
   its inner loop count, then takes the samples in interleaved rounds. A first sample that is too short, because an interruption misled the
   search for the loop count, is taken anew with a larger one, three times at most. Writes series[0..n) in every case but failure; a
   subject that fails keeps its error and the others go on. Fails with INVALID (no subjects, repeats < 1, min_time_s
   negative or not finite, no such baseline, a clock without function) or OUT_OF_MEMORY only.
   Where the stopping rule may ask for more samples they are short, a quarter of a millisecond (or, for a long least time, as much
   as makes half of the most samples last so long): what else happens on the machine
   then spoils single samples, which a median does not see, and turns follow each other quickly.
   Warm means warm: a sample that is expected to take under 10 ms begins with runs (after `before`) that are not timed, for
   50 us and one at least, because the subject before it has left its own data in the caches; and with as many more (of 50 us,
   seven at most) until one is as fast as the fastest sample so far or no faster than the one before it, each to 5%. Above
   10 ms a refill from memory is lost in it.
   The loop around `run` costs one indirect call (about 1 ns) per run; it is not subtracted. */
status sample_all(arena *a, const sample_subject *subjects, size_t n, const sample_options *options,
                  sample_series *series, error *err);

#endif
