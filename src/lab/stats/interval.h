/* SPDX-License-Identifier: Apache-2.0 */
/* How sure a figure is: confidence intervals without assuming a distribution, and the digits that they leave. */
#ifndef LAB_STATS_INTERVAL_H
#define LAB_STATS_INTERVAL_H

#include <stddef.h>

typedef struct stats_interval {
    double low, high;
    double confidence; /* the probability that it holds the true value; may be below what was asked for */
} stats_interval;

/* For the median of the distribution that n >= 1 sorted samples come from: the narrowest pair of order statistics, equally
   far from both ends, whose binomial coverage is at least `confidence`; where even the least and largest sample do not
   cover that (n < 6 for 95%), those two, with the coverage they have. */
stats_interval stats_median_interval(const double *sorted, size_t n, double confidence);

/* Of two subjects that were sampled in turns, round by round. */
typedef struct stats_ratio {
    double median;           /* of a[i] / b[i] over the rounds; NaN when there is none, or one is no positive number */
    stats_interval interval; /* of that median: as stats_median_interval's */
} stats_ratio;

/* What drifts is the same for both samples of a round, so that their ratio is steadier than either. scratch: room for n. */
stats_ratio stats_paired_ratio(const double *a, const double *b, size_t n, double confidence, double *scratch);

/* The number of significant digits of value that an uncertainty of half_width leaves: the last digit shown is the first
   one that the uncertainty reaches. 1 to max_digits; max_digits when half_width is 0 or not finite. */
int stats_digits(double value, double half_width, int max_digits);

#endif
