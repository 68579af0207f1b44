/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' figures for other programs: the CSV that PyTorch's operator benchmark writes, and summary lines. */
#ifndef LAB_REPORT_OPERATORS_CSV_H
#define LAB_REPORT_OPERATORS_CSV_H

#include "base/text.h"
#include "lab/report/operators_group.h"

/* Appends the header and one row per operator: `operator`; per backend but the baseline its speed-up over the baseline as
   `NAME 20th`, `NAME 50th`, `NAME 80th` quantile over inputs; with exactly two such backends A and B also `A/B 20th` ...,
   the time on A over the time on B; `elapsed` in seconds; the mean over inputs in seconds as `NAME abs`, the baseline's
   first, over those inputs that ran on every backend that the operator ran on. What has no figure is empty.
   OUT_OF_MEMORY. */
status operators_csv(arena *a, const operators_group *g, text *out, error *err);

/* Appends, as JSON lines, one "operator_summary" per operator and backend with the figures, weighted by call counts and
   not, and one "run_summary" per backend with geometric means and counts. store_read passes them over. OUT_OF_MEMORY. */
status operators_summary_lines(arena *a, const operators_group *g, text *out, error *err);

/* Of the baseline's speed. */
#define OPERATORS_MUCH_SLOWER 0.95

/* Geometric means of a backend over all operators, and how it compares over the whole recorded work. NaN where nothing
   can be compared. */
typedef struct operators_totals {
    double geomean;          /* of the operators' median speed-ups */
    double weighted_geomean; /* of all inputs' speed-ups, each counted as often as it is called */
    double step_speedup;     /* calls times median, summed over all pairs, the baseline's over its own */
    double step_ns;          /* calls times median, summed over all inputs that ran */
    size_t n_operators;      /* with a speed-up */
    size_t n_faster, n_slower; /* of them, beyond doubt (operators_verdict) */
    size_t n_much_slower;    /* of the slower ones, those that are beyond doubt under OPERATORS_MUCH_SLOWER */
} operators_totals;
status operators_totals_of(arena *a, const operators_group *g, size_t backend, operators_totals *out, error *err);

#endif
