/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics and digits. */
#include "lab/stats/interval.h"

#include "lab/stats/summary.h"

#include <math.h>

/* P(at most k of n fair coins show heads): the weight of one tail of the binomial. Summed from k downwards in logarithms'
   safety: each term is the one before times a ratio, so nothing overflows; an underflow to 0 is what the term is worth. */
static double coin_tail(size_t n, size_t k) {
    double log_term = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * M_LN2;
    double term = exp(log_term), sum = 0;
    for (size_t i = k;; i--) {
        sum += term;
        if (i == 0 || term < 1e-18 * sum) {
            return sum;
        }
        term *= (double)i / (double)(n - i + 1);
    }
}

stats_interval stats_median_interval(const double *sorted, size_t n, double confidence) {
    /* The true median lies in [x(k), x(n-1-k)], counted from 0, unless at most k samples fall on one side of it (David and
       Nagaraja, Order Statistics, 7.1). Widen from the middle until that is rare enough. */
    size_t k = (n - 1) / 2;
    double covered = 1 - 2 * coin_tail(n, k);
    while (k > 0 && covered < confidence) {
        k--;
        covered = 1 - 2 * coin_tail(n, k);
    }
    covered = covered > 0 ? covered : 0; /* a single sample covers nothing */
    return (stats_interval){.low = sorted[k], .high = sorted[n - 1 - k], .confidence = covered};
}

stats_ratio stats_paired_ratio(const double *a, const double *b, size_t n, double confidence, double *scratch) {
    stats_ratio unknown = {NAN, {NAN, NAN, 0}};
    for (size_t i = 0; i < n; i++) {
        scratch[i] = a[i] / b[i];
        if (!(scratch[i] > 0) || isinf(scratch[i])) {
            return unknown;
        }
    }
    if (n == 0) {
        return unknown;
    }
    stats_sort(scratch, n);
    return (stats_ratio){.median = stats_quantile_sorted(scratch, n, 0.5),
                         .interval = stats_median_interval(scratch, n, confidence)};
}

int stats_digits(double value, double half_width, int max_digits) {
    if (!(half_width > 0) || !isfinite(half_width) || value == 0 || !isfinite(value)) {
        return max_digits;
    }
    int digits = (int)floor(log10(fabs(value))) - (int)floor(log10(half_width)) + 1;
    return digits < 1 ? 1 : digits > max_digits ? max_digits : digits;
}
