/* SPDX-License-Identifier: Apache-2.0 */
/* Records, grouped as the reports need them: operator by operator, input by input, backend by backend; and the figures
   of an operator on a backend. */
#ifndef LAB_REPORT_OPERATORS_GROUP_H
#define LAB_REPORT_OPERATORS_GROUP_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/record/record.h"

/* One input of an operator: its record on each backend, NULL where there is none. */
typedef struct operators_sample {
    const record **by_backend;
    double calls; /* the weight of this input: how often the recorded steps make this call; 1 where that is not known */
} operators_sample;

typedef struct operators_row {
    const char *name;
    operators_sample *samples;
    size_t n_samples;
    double elapsed_s; /* over its inputs, each on all backends */
} operators_row;

typedef struct operators_group {
    const char **backends; /* the baseline first, then in the order of the records */
    size_t n_backends;
    bool has_baseline;     /* some record said so; otherwise the first backend stands in */
    operators_row *rows;   /* in the order of the records */
    size_t n_rows;
    size_t n_models;       /* distinct model files; 0: not known */
    size_t (*counts)[RECORD_STATUS_COUNT]; /* of each backend's records, by status */
} operators_group;

/* Groups n records, which must outlive the group; of two records of the same point the later counts. OUT_OF_MEMORY: out
   untouched. */
status operators_group_make(arena *a, const record *records, size_t n, operators_group *out, error *err);

/* What an operator costs on a backend. NaN where no input gives a figure. */
typedef struct operators_figures {
    size_t n_ok;            /* inputs that ran there */
    size_t n_pairs;         /* inputs that ran there and on the other one, in turns: the others are not compared */
    double median_ns;       /* over its inputs, of their medians */
    double noise;           /* median over its inputs of the 95% interval's half width over the median */
    double speedup[3];      /* 20th, 50th, 80th quantile over the pairs of other's time / its time (numpy's quantile): of an
                               input the median over the rounds of their samples' ratio, of the medians' where samples are
                               missing */
    double low[3], high[3];  /* those quantiles of the ends of the pairs' 95% intervals: as each pair's ratio lies in its own
                               interval, the quantile lies between these. A pair of too few samples may be anything: 0 and
                               infinity */
    double weighted[3];     /* the same, each input counted as often as it is called */
    double step_ns;         /* calls times median, summed over its inputs */
    double step_speedup;    /* the same sums over the pairs, divided */
} operators_figures;

/* The backend's figures with `other` (an index too) as what it is compared with. OUT_OF_MEMORY. */
status operators_figures_of(arena *a, const operators_row *row, size_t backend, size_t other, operators_figures *out,
                            error *err);

/* Whether this input ran at all, and on every backend that any input of the operator ran on: times over other inputs could not be
   compared. */
bool operators_is_common(const operators_group *g, const operators_row *row, const operators_sample *sample);

/* The median over those inputs of their medians on the backend; NaN where there is none. OUT_OF_MEMORY. */
status operators_common_median_ns(arena *a, const operators_group *g, const operators_row *row, size_t backend, double *out, error *err);

/* What can be said of an operator's median speed-up: all of the interval lies on one side of 1. */
typedef enum operators_verdict { OPERATORS_ALIKE, OPERATORS_FASTER, OPERATORS_SLOWER } operators_verdict;
operators_verdict operators_verdict_of(const operators_figures *f);

/* Whether both are figures and can be compared: they were sampled in turns. Two NULLs are none. */
bool operators_is_pair(const record *a, const record *b);

/* How many inputs ran on the backend and on the baseline, but apart, so that they are in none of its speed-ups. */
size_t operators_count_apart(const operators_group *g, size_t backend);

/* The record's median where it is a figure: status ok and a positive time; NaN otherwise (also for NULL). */
double operators_time_ns(const record *r);

#endif
