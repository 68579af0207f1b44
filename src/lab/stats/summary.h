/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in, figures out: quantiles, means, spread, outliers. */
#ifndef LAB_STATS_SUMMARY_H
#define LAB_STATS_SUMMARY_H

#include "base/status.h"

#include <stddef.h>

/* Sorts n doubles upwards, in place; NaN goes to the end. */
void stats_sort(double *values, size_t n);

/* The q-quantile (q in [0, 1]) of n sorted values, by linear interpolation between the two nearest ranks: numpy's
   default, Hyndman and Fan's type 7. NaN for n = 0. */
double stats_quantile_sorted(const double *sorted, size_t n, double q);

/* The q-quantile of n finite values with weights, which where these are equal is that of stats_quantile_sorted, whatever their size. With
   m = (sum of weights)^2 / sum of squared weights, the number of values that they are worth, it is the mean of the weighted distribution's
   quantiles from q (m - 1) / m to 1 / m beyond that (Akinshin, Weighted quantile estimators, 2023: type 7). `order` has room for n; a
   weight of 0 does not count. NaN when the weights' sum is not a positive number. */
double stats_quantile_weighted(const double *values, const double *weights, size_t n, double q, size_t *order);

double stats_mean(const double *values, size_t n); /* NaN for n = 0 */
/* exp of the mean logarithm; NaN for n = 0 or when a value is not above 0. weights NULL: all 1. */
double stats_geomean(const double *values, const double *weights, size_t n);

typedef struct stats_summary {
    size_t n;
    double min, q20, median, q80, max, mean;
    double mad;          /* median absolute deviation from the median, not scaled */
    double standard_deviation; /* with n - 1; NaN for n = 1 */
    size_t n_outliers;   /* beyond Tukey's inner fences: 1.5 interquartile ranges outside the quartiles */
    size_t n_far;        /* of those, beyond the outer fences: 3 ranges */
} stats_summary;

/* Of n >= 1 finite samples. INVALID (none, or one that is not finite), OUT_OF_MEMORY; out is untouched then. */
status stats_summarise(const double *samples, size_t n, stats_summary *out, error *err);

#endif
