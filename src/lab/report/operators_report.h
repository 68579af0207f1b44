/* SPDX-License-Identifier: Apache-2.0 */
/* What `assay operators` prints when it is done. */
#ifndef LAB_REPORT_OPERATORS_REPORT_H
#define LAB_REPORT_OPERATORS_REPORT_H

#include "base/text.h"
#include "lab/report/operators_group.h"

typedef struct operators_report_options {
    bool color;
    int max_width;   /* columns of the terminal; 0: no limit */
    const char *source; /* where the inputs come from, "suite embedded", for a line that says what was measured; NULL: no such line */
    bool checked;       /* whether results were compared with the reference, for that line */
    int top_reasons; /* how many different reasons to name for each status; 0: 5. The rest is counted */
} operators_report_options;

/* Appends the table: per operator its inputs, the median time on each backend, each compared backend's speed-up over the
   baseline (20th, 50th, 80th quantile over inputs, and over the recorded steps), the operator's share of the recorded
   steps' time on the baseline; then geometric means; then, per backend, how many inputs passed, failed, were skipped, and
   why. Digits are trimmed to the noise. OUT_OF_MEMORY. */
status operators_report(arena *a, const operators_group *g, const operators_report_options *options, text *out,
                        error *err);

#endif
