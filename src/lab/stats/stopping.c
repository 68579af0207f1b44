/* SPDX-License-Identifier: Apache-2.0 */
/* The stopping rules. */
#include "lab/stats/stopping.h"

#include "base/status.h"
#include "lab/stats/interval.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <string.h>

static bool always_enough(const stop_rule *self, const double *samples, size_t n, double *scratch) {
    (void)self;
    (void)samples;
    (void)n;
    (void)scratch;
    return true;
}

stop_rule stop_at_once(void) {
    return (stop_rule){.enough = always_enough};
}

bool stop_looks_at(size_t n) {
    static const size_t looks[] = {9, 14, 22, 35, 56, 89};
    for (size_t i = 0; i < countof(looks); i++) {
        if (looks[i] == n) {
            return true;
        }
    }
    return false;
}

static bool narrow_enough(const stop_rule *self, const double *samples, size_t n, double *scratch) {
    if (n == 0) {
        return false;
    }
    memcpy(scratch, samples, n * sizeof *samples);
    stats_sort(scratch, n);
    stats_interval interval = stats_median_interval(scratch, n, self->confidence);
    double median = stats_quantile_sorted(scratch, n, 0.5);
    return interval.confidence >= self->confidence && (interval.high - interval.low) / 2 <= self->target * fabs(median);
}

stop_rule stop_when_narrow(double confidence, double target) {
    return (stop_rule){.enough = narrow_enough, .confidence = confidence, .target = target};
}
