/* SPDX-License-Identifier: Apache-2.0 */
/* What makes the samples of a subject doubtful. */
#ifndef LAB_MEASURE_SAMPLE_WARNINGS_H
#define LAB_MEASURE_SAMPLE_WARNINGS_H

#include "lab/measure/sample.h"

/* How wrong one reading of the clock may be. */
double sample_clock_step_ns(const lab_clock *clock);

/* Whether the samples last as long as they have to; what is put back between them counts, as it does where their length is chosen. */
bool sample_lasts(const sample_series *series, const sample_options *options);

/* Adds to the series' warnings, which have room for one of each. scratch: room for as many numbers as there are samples. OUT_OF_MEMORY;
   INVALID where a sample is not finite. */
status sample_find_warnings(arena *a, const sample_options *options, bool ended_by_deadline, double *scratch, sample_series *s, error *err);

#endif
