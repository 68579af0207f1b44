/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of drawn values and how far they may be from what is expected: bounds that hold for any number of elements. */
#include "engine/ops/draws.h"

#include "engine/ops/functions.h"

#include "engine/schema/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A right generator breaks a bound with a probability of 2 exp(-TAIL) at most. */
static const double TAIL = 24;

/* Half-width of the interval that holds the mean of n independent values from [0, 1] around their expectation
   (Hoeffding, 1963). */
static double mean_bound(double n) {
    return sqrt(TAIL / (2 * n));
}

/* --- ones and zeros ------------------------------------------------------------------------------------------------------ */

/* Row-major doubles of a tensor, on the heap; NULL when memory is out. */
static double *dense_values(const tensor *t) {
    int64_t n = tensor_numel(t);
    double *values = malloc(((size_t)n > 0 ? (size_t)n : 1) * sizeof *values);
    if (values != NULL) {
        ref_gather(t, values);
    }
    return values;
}

/* Draws are 0 or 1 with mean p, or with means expected[i]; neighbours do not hang together. */
static status check_draws(const double *drawn, const double *expected, double p, int64_t n, error *err) {
    double excess = 0, pairs = 0;
    for (int64_t i = 0; i < n; i++) {
        double chance = expected != NULL ? expected[i] : p;
        bool certain = chance == 0 || chance == 1;
        if ((drawn[i] != 0 && drawn[i] != 1) || (certain && drawn[i] != chance)) {
            return fail(err, ASSAY_INTERNAL, "element %lld is %g, drawn with probability %g", (long long)i, drawn[i],
                        chance);
        }
        excess += drawn[i] - chance;
        if (i % 2 == 1) { /* disjoint pairs are independent of each other */
            double before = expected != NULL ? expected[i - 1] : p;
            pairs += drawn[i] * drawn[i - 1] - chance * before;
        }
    }
    if (n > 0 && fabs(excess) / (double)n > mean_bound((double)n)) {
        return fail(err, ASSAY_INTERNAL, "the mean of %lld draws is off by %g, more than %g", (long long)n,
                    excess / (double)n, mean_bound((double)n));
    }
    double half = floor((double)n / 2);
    if (half > 0 && fabs(pairs) / half > mean_bound(half)) {
        return fail(err, ASSAY_INTERNAL, "neighbouring draws agree too often or too rarely: off by %g, more than %g",
                    pairs / half, mean_bound(half));
    }
    return ASSAY_OK;
}

/* What is no boolean was never written, or written wrongly, and counts as true to whoever reads it. */
static status check_booleans(const tensor *t, error *err) {
    int64_t n = t->dtype == ASSAY_B8 ? tensor_numel(t) : 0;
    for (int64_t i = 0; i < n; i++) {
        uint8_t byte = *(const uint8_t *)(tensor_data(t) + tensor_offset_of(t, i));
        if (byte > 1) {
            return fail(err, ASSAY_INTERNAL, "element %lld is no boolean: its byte is %d", (long long)i, byte);
        }
    }
    return ASSAY_OK;
}

status draws_check_chances(const tensor *t, const tensor *probabilities, double p, error *err) {
    TRY(check_booleans(t, err));
    double *drawn = dense_values(t), *expected = NULL;
    status result = drawn != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to check random values");
    if (result == ASSAY_OK && probabilities != NULL) {
        tensor seen;
        tensor_share(&seen, probabilities);
        tensor_broadcast_strides(probabilities, t->ndim, t->sizes, seen.strides);
        memcpy(seen.sizes, t->sizes, (size_t)t->ndim * sizeof *seen.sizes);
        seen.ndim = t->ndim;
        expected = dense_values(&seen);
        tensor_clear(&seen);
        result = expected != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to check random values");
    }
    if (result == ASSAY_OK) {
        result = check_draws(drawn, expected, p, tensor_numel(t), err);
    }
    free(drawn);
    free(expected);
    return result;
}

/* --- distributions ------------------------------------------------------------------------------------------------------- */

/* A distribution, and the points below which shares of values are counted. */
typedef struct distribution {
    const char *name;
    double (*below)(double z);
    double first, step;
    int n_points;
} distribution;

enum { MOST_POINTS = 16 };

static double uniform_below(double z) {
    return fmin(fmax(z, 0), 1);
}

static const distribution uniform = {"uniform", uniform_below, 1.0 / 16, 1.0 / 16, 15};
static const distribution normal = {"normal", normal_share, -3, 0.4, 16};

/* The share of the n values below any point is as near to the distribution's as a mean is (Dvoretzky, Kiefer and Wolfowitz, 1956, with
   Massart's constant, 1990). Rounding to the tensor's type may have moved a value by slack. */
static status check_shares(const distribution *d, const double *z, int64_t n, double slack, error *err) {
    int64_t counts[MOST_POINTS + 1] = {0}, below = 0;
    for (int64_t i = 0; i < n; i++) {
        double points = floor((z[i] - d->first) / d->step) + 1; /* at or below the value */
        counts[(int)fmin(fmax(points, 0), d->n_points)]++;
    }
    for (int k = 0; k < d->n_points; k++) {
        below += counts[k];
        double at = d->first + k * d->step, share = (double)below / (double)n, bound = mean_bound((double)n);
        if (share < d->below(at - slack) - bound || share > d->below(at + slack) + bound) {
            return fail(err, ASSAY_INTERNAL, "%.3g of %lld %s values are below %g (in standard form), expected %.3g", share, (long long)n,
                        d->name, at, d->below(at));
        }
    }
    return ASSAY_OK;
}

/* The mean product of neighbours that are independent of each other: of disjoint pairs. */
static double mean_of_products(const double *z, int64_t n, double centre) {
    double sum = 0;
    for (int64_t i = 1; i < n; i += 2) {
        sum += (z[i] - centre) * (z[i - 1] - centre);
    }
    return n > 1 ? sum / floor((double)n / 2) : 0;
}

static status fail_neighbours(double off, double bound, error *err) {
    return fail(err, ASSAY_INTERNAL, "neighbouring values hang together: their mean product is off by %.3g, more than %.3g", off, bound);
}

/* Both ends may be hit by rounding to the tensor's type. */
static status check_range(const double *drawn, int64_t n, double from, double to, double slack, error *err) {
    for (int64_t i = 0; i < n; i++) {
        if (!(drawn[i] >= from - slack && drawn[i] <= to + slack)) {
            return fail(err, ASSAY_INTERNAL, "element %lld is %g, outside %g to %g", (long long)i, drawn[i], from, to);
        }
    }
    return ASSAY_OK;
}

/* u: the values of a range as those of [0, 1], off by at most slack each. */
static status check_uniform(const double *u, int64_t n, double slack, error *err) {
    double sum = 0, squares = 0, half = floor((double)n / 2), grain = 4 * slack, bound = mean_bound((double)n) + grain;
    for (int64_t i = 0; i < n; i++) {
        sum += u[i];
        squares += (u[i] - 0.5) * (u[i] - 0.5);
    }
    if (fabs(sum / (double)n - 0.5) > bound) {
        return fail(err, ASSAY_INTERNAL, "the mean of %lld uniform values is off by %g of the range", (long long)n,
                    sum / (double)n - 0.5);
    }
    if (fabs(squares / (double)n - 1.0 / 12) > bound / 4) { /* (u - 1/2)^2 lies in [0, 1/4] */
        return fail(err, ASSAY_INTERNAL, "the variance of %lld uniform values is %g of the range's square, not 1/12",
                    (long long)n, squares / (double)n);
    }
    double product = mean_of_products(u, n, 0.5), most = mean_bound(half) / 2 + grain; /* products lie in [-1/4, 1/4] */
    if (fabs(product) > most) {
        return fail_neighbours(product, most, err);
    }
    return check_shares(&uniform, u, n, slack, err);
}

status draws_check_uniform(const tensor *t, double from, double to, error *err) {
    const int64_t n = tensor_numel(t);
    const double width = to - from, slack = dtype_epsilon(t->dtype) * (fabs(from) + fabs(width));
    double *drawn = dense_values(t);
    if (drawn == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to check random values");
    }
    status result = check_range(drawn, n, from, to, slack, err);
    for (int64_t i = 0; width > 0 && i < n; i++) {
        drawn[i] = (drawn[i] - from) / width;
    }
    if (result == ASSAY_OK && width > 0 && n > 0) {
        result = check_uniform(drawn, n, slack / width, err);
    }
    free(drawn);
    return result;
}

/* z: the values in standard form, off by at most a few slack each. Mean within normal tails, variance within those of chi-square (Laurent
   and Massart, 2000, lemma 1). The sum of m products of independent normal values has the logarithmic moments -m log(1 - s^2) / 2, at most
   m s^2 / (2 (1 - |s|)), which bounds its tails as there (Boucheron, Lugosi and Massart, Concentration Inequalities, 2.4). */
static status check_normal(const double *z, int64_t n, double slack, error *err) {
    double sum = 0, squares = 0, count = (double)n, half = floor(count / 2), grain = 4 * slack * (1 + slack);
    for (int64_t i = 0; i < n; i++) {
        sum += z[i];
        squares += z[i] * z[i];
    }
    if (!(fabs(sum) / count <= sqrt(2 * TAIL / count) + slack)) {
        return fail(err, ASSAY_INTERNAL, "the mean of %lld normal values is off by %g standard deviations", (long long)n, sum / count);
    }
    if (!(fabs(squares / count - 1) <= 2 * sqrt(TAIL / count) + 2 * TAIL / count + grain)) {
        return fail(err, ASSAY_INTERNAL, "the variance of %lld normal values is %g times what it should be", (long long)n, squares / count);
    }
    double product = mean_of_products(z, n, 0), most = sqrt(2 * TAIL / half) + TAIL / half + grain;
    if (fabs(product) > most) {
        return fail_neighbours(product, most, err);
    }
    return check_shares(&normal, z, n, 4 * slack, err); /* the farthest point is 3 deviations away */
}

/* Without a deviation, and about a mean that is none, all values are the mean, as the type has it. */
static status check_constant(const double *drawn, int64_t n, dtype t, double mean, double slack, error *err) {
    uint64_t bits = 0;
    element_store(t, &bits, mean);
    const double expected = element_load(t, &bits);
    for (int64_t i = 0; i < n; i++) {
        const bool is_it = isnan(expected) ? isnan(drawn[i]) : drawn[i] == expected || (isfinite(expected) && fabs(drawn[i] - mean) <= slack);
        if (!is_it) {
            return fail(err, ASSAY_INTERNAL, "element %lld is %g, expected the mean, %g, of normal values that do not deviate", (long long)i,
                        drawn[i], mean);
        }
    }
    return ASSAY_OK;
}

/* Values of which some are beyond the type's largest: standard form says no more of those than on which side they are. The shares below
   points in between are known all the same. Nobody draws more than 8 deviations from the mean. */
static status check_saturated(double *drawn, int64_t n, double most, double mean, double sd, double slack, error *err) {
    const double farthest = 8, low = fmax(-3, (-most - mean) / sd), high = fmin(3, (most - mean) / sd);
    for (int64_t i = 0; i < n; i++) {
        const double nearest = drawn[i] > 0 ? (most - mean) / sd : (most + mean) / sd;
        if (isinf(drawn[i]) && nearest > farthest) {
            return fail(err, ASSAY_INTERNAL, "element %lld is %g, of normal values about %g that deviate by %g", (long long)i, drawn[i], mean, sd);
        }
        drawn[i] = isinf(drawn[i]) ? drawn[i] : (drawn[i] - mean) / sd;
    }
    const double step = (high - low) / (MOST_POINTS - 1);
    const distribution between = {"normal", normal_share, low, step > 0 ? step : 1, step > 0 ? MOST_POINTS : step == 0 ? 1 : 0};
    return check_shares(&between, drawn, n, slack, err);
}

status draws_check_normal(const tensor *t, double mean, double sd, error *err) {
    const int64_t n = tensor_numel(t);
    const double slack = dtype_epsilon(t->dtype) * (fabs(mean) + sd);
    double *drawn = dense_values(t);
    if (drawn == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to check random values");
    }
    status result = ASSAY_OK;
    bool saturates = false;
    for (int64_t i = 0; i < n && isfinite(mean) && result == ASSAY_OK; i++) {
        saturates = saturates || isinf(drawn[i]);
        result = isnan(drawn[i]) ? fail(err, ASSAY_INTERNAL, "element %lld is no number", (long long)i) : ASSAY_OK;
    }
    if (result != ASSAY_OK || sd == 0 || !isfinite(mean)) {
        result = result == ASSAY_OK ? check_constant(drawn, n, t->dtype, mean, slack, err) : result;
    } else if (saturates) {
        const double grain = isfinite(sd) ? slack / sd : 0;
        result = check_saturated(drawn, n, dtype_max(t->dtype), mean, sd, 4 * grain, err);
    } else if (n > 0) {
        for (int64_t i = 0; i < n; i++) {
            drawn[i] = (drawn[i] - mean) / sd;
        }
        result = check_normal(drawn, n, slack / sd, err);
    }
    free(drawn);
    return result;
}
