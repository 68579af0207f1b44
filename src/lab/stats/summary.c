/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles, means and outliers. */
#include "lab/stats/summary.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    if (isnan(a) || isnan(b)) {
        return isnan(a) - isnan(b);
    }
    return (a > b) - (a < b);
}

void stats_sort(double *values, size_t n) {
    if (n > 1) {
        qsort(values, n, sizeof *values, compare_doubles);
    }
}

double stats_quantile_sorted(const double *sorted, size_t n, double q) {
    if (n == 0 || isnan(q)) {
        return NAN;
    }
    q = q < 0 ? 0 : q > 1 ? 1 : q;
    double rank = q * (double)(n - 1);
    size_t below = (size_t)floor(rank);
    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    double part = rank - (double)below;
    double low = sorted[below], high = sorted[below + 1];
    if (part == 0 || low == high) {
        return low;
    }
    if (isinf(low) || isinf(high)) { /* there is nothing to interpolate: all between a number and infinity is infinite */
        return low + high;
    }
    /* From the nearer end, as numpy does: the result never leaves [low, high] by rounding and is exact at both. */
    return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

/* qsort has no argument for the values, so that the order is a heap sort of its own: short, in place, n log n. */
static void sift_down(const double *values, size_t *order, size_t root, size_t n) {
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && values[order[child]] < values[order[child + 1]]) {
            child++;
        }
        if (!(values[order[root]] < values[order[child]])) {
            return;
        }
        size_t kept = order[root];
        order[root] = order[child];
        order[child] = kept;
        root = child;
    }
}

static void sort_order(const double *values, size_t *order, size_t n) {
    for (size_t i = n / 2; i-- > 0;) {
        sift_down(values, order, i, n);
    }
    for (size_t end = n; end-- > 1;) {
        size_t kept = order[0];
        order[0] = order[end];
        order[end] = kept;
        sift_down(values, order, 0, end);
    }
}

double stats_quantile_weighted(const double *values, const double *weights, size_t n, double q, size_t *order) {
    double whole = 0, squares = 0;
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        if (weights[i] != 0) {
            order[counted++] = i;
            whole += weights[i];
            squares += weights[i] * weights[i];
        }
    }
    if (counted == 0 || !(whole > 0) || isinf(whole) || isnan(q)) {
        return NAN;
    }
    sort_order(values, order, counted);
    q = q < 0 ? 0 : q > 1 ? 1 : q;
    /* As many equal weights would be as uneven. One of their parts of the whole, from `from` on, is what the quantile is the mean of. */
    double effective = fmax(whole * (whole / squares), 1), from = q * (effective - 1) / effective, to = from + 1 / effective;
    double reached = 0, sum = 0, taken = 0;
    for (size_t i = 0; i < counted; i++) {
        double before = reached;
        reached += weights[order[i]] / whole;
        double part = fmin(reached, to) - fmax(before, from);
        if (part > 0) {
            sum += part * (values[order[i]] - values[order[0]]);
            taken += part;
        }
    }
    return taken > 0 ? values[order[0]] + sum / taken : values[order[counted - 1]];
}

double stats_mean(const double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return n > 0 ? sum / (double)n : NAN;
}

double stats_geomean(const double *values, const double *weights, size_t n) {
    double sum = 0, whole = 0;
    for (size_t i = 0; i < n; i++) {
        double weight = weights != NULL ? weights[i] : 1;
        if (weight == 0) {
            continue;
        }
        if (!(values[i] > 0)) {
            return NAN;
        }
        sum += weight * log(values[i]);
        whole += weight;
    }
    return whole > 0 ? exp(sum / whole) : NAN;
}

static void count_outliers(const double *sorted, size_t n, stats_summary *s) {
    double q25 = stats_quantile_sorted(sorted, n, 0.25), q75 = stats_quantile_sorted(sorted, n, 0.75);
    double range = q75 - q25;
    for (size_t i = 0; i < n; i++) {
        double outside = fmax(q25 - sorted[i], sorted[i] - q75);
        s->n_outliers += outside > 1.5 * range;
        s->n_far += outside > 3 * range;
    }
}

status stats_summarise(const double *samples, size_t n, stats_summary *out, error *err) {
    if (n == 0) {
        return fail(err, ASSAY_INVALID, "expected at least one sample, got none");
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(samples[i])) {
            return fail(err, ASSAY_INVALID, "expected finite samples, number %zu is %g", i, samples[i]);
        }
    }
    size_t size_bytes = 0;
    double *sorted = mul_size(n, sizeof *sorted, &size_bytes) ? malloc(size_bytes) : NULL;
    if (sorted == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to sort %zu samples", n);
    }
    memcpy(sorted, samples, size_bytes);
    stats_sort(sorted, n);
    stats_summary s = {.n = n,
                       .min = sorted[0],
                       .q20 = stats_quantile_sorted(sorted, n, 0.2),
                       .median = stats_quantile_sorted(sorted, n, 0.5),
                       .q80 = stats_quantile_sorted(sorted, n, 0.8),
                       .max = sorted[n - 1],
                       .mean = stats_mean(sorted, n),
                       .standard_deviation = NAN};
    count_outliers(sorted, n, &s);
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        squares += (sorted[i] - s.mean) * (sorted[i] - s.mean);
    }
    if (n > 1) {
        s.standard_deviation = sqrt(squares / (double)(n - 1));
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = fabs(sorted[i] - s.median);
    }
    stats_sort(sorted, n);
    s.mad = stats_quantile_sorted(sorted, n, 0.5);
    free(sorted);
    *out = s;
    return ASSAY_OK;
}
