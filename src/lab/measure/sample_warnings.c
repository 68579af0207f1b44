/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of samples that were taken. */
#include "lab/measure/sample_warnings.h"

#include "base/text.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <string.h>

/* Under so many of the clock's steps what is timed is wrong by up to 2%. */
static const double steps_doubtful = 100;
enum { SAMPLES_FOR_INTERVAL = 6, SAMPLES_FOR_DRIFT = 9, SAMPLES_FOR_OUTLIERS = 8 };

double sample_clock_step_ns(const lab_clock *clock) {
    return fmax(clock->resolution_ns, clock->read_ns);
}

bool sample_lasts(const sample_series *series, const sample_options *options) {
    return options->cold != NULL || series->taken_ns >= options->min_time_s * 1e9;
}

static status warn(arena *a, sample_series *series, sample_warning_code code, const char *sentence, error *err) {
    static const char *const names[] = {
#define WARNING_NAME(name, text) text,
        SAMPLE_WARNING_LIST(WARNING_NAME)
#undef WARNING_NAME
    };
    char *warning = sentence != NULL ? arena_format(a, "%s: %s", names[code], sentence) : NULL;
    if (warning == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a warning");
    }
    series->warnings[series->n_warnings++] = warning;
    series->warning_bits |= 1u << code;
    return ASSAY_OK;
}

/* What a third of the samples is like. */
typedef struct part {
    double least, median, most;
} part;

static part part_of(const double *samples, size_t n, double *scratch) {
    memcpy(scratch, samples, n * sizeof *samples);
    stats_sort(scratch, n);
    return (part){scratch[0], stats_quantile_sorted(scratch, n, 0.5), scratch[n - 1]};
}

/* First and last third lie wholly apart and over 5% from each other. Apart alone happens to three against three samples of
   a steady source once in ten times (2 in 20 orders). */
static status warn_of_drift(arena *a, sample_series *s, double *scratch, error *err) {
    size_t third = s->n_samples / 3;
    if (s->n_samples < SAMPLES_FOR_DRIFT) {
        return ASSAY_OK;
    }
    const part first = part_of(s->samples_ns, third, scratch), last = part_of(s->samples_ns + s->n_samples - third, third, scratch);
    double from = first.median, to = last.median;
    bool apart = first.most < last.least || last.most < first.least;
    if (!apart || fabs(to - from) <= 0.05 * fmin(from, to)) {
        return ASSAY_OK;
    }
    return warn(a, s, SAMPLE_DRIFT,
                arena_format(a, "the last third is %+.0f%% off the first: the machine was warming up or others were at work",
                             from > 0 ? 100 * (to - from) / from : 0),
                err);
}

/* Fewer samples than asked for, or shorter ones: because time ran out, or because runs became faster than those from which the length of a
   sample was chosen. */
static status warn_of_little(arena *a, const sample_options *options, bool ended_by_deadline, sample_series *s, error *err) {
    char lasted[32], least[32];
    text_of_ns(lasted, s->taken_ns);
    text_of_ns(least, options->min_time_s * 1e9);
    if (ended_by_deadline && s->n_samples < (size_t)options->repeats) {
        return warn(a, s, SAMPLE_DEADLINE, arena_format(a, "time ran out after %zu of %d samples", s->n_samples, options->repeats), err);
    }
    if (s->result != ASSAY_OK || sample_lasts(s, options)) {
        return ASSAY_OK;
    }
    return ended_by_deadline
               ? warn(a, s, SAMPLE_DEADLINE, arena_format(a, "time ran out when the samples had lasted %s of %s", lasted, least), err)
               : warn(a, s, SAMPLE_MIN_TIME, arena_format(a, "all samples together lasted %s of %s: runs were slower when their number was chosen", lasted, least), err);
}

status sample_find_warnings(arena *a, const sample_options *options, bool ended_by_deadline, double *scratch, sample_series *s, error *err) {
    TRY(warn_of_little(a, options, ended_by_deadline, s, err));
    if (s->n_samples == 0) {
        return ASSAY_OK;
    }
    stats_summary summary;
    TRY(stats_summarise(s->samples_ns, s->n_samples, &summary, err));
    if (s->n_samples < SAMPLES_FOR_INTERVAL) {
        TRY(warn(a, s, SAMPLE_FEW_SAMPLES,
                 arena_format(a, "%zu, and a 95%% interval of the median needs %d", s->n_samples, SAMPLES_FOR_INTERVAL),
                 err));
    }
    /* Of runs that are timed one by one each is as wrong as the clock is, and all in the same direction. */
    double step_ns = sample_clock_step_ns(&options->clock);
    double sample_ns = summary.median * (s->clock_cost_ns > 0 ? 1 : (double)s->inner_loops);
    if (sample_ns < steps_doubtful * step_ns) {
        char lasts[32], step[32];
        TRY(warn(a, s, SAMPLE_SHORT,
                 arena_format(a, "what is timed lasts %s and the clock's step is %s", text_of_ns(lasts, sample_ns), text_of_ns(step, step_ns)), err));
    }
    TRY(warn_of_drift(a, s, scratch, err));
    if (s->n_samples >= 3 && summary.q80 - summary.q20 > 0.1 * summary.median) {
        TRY(warn(a, s, SAMPLE_SPREAD,
                 arena_format(a, "the middle 60%% of the samples span %.0f%% of the median",
                              summary.median > 0 ? 100 * (summary.q80 - summary.q20) / summary.median : 0),
                 err));
    }
    if (s->n_samples >= SAMPLES_FOR_OUTLIERS && summary.n_far > 0) {
        TRY(warn(a, s, SAMPLE_OUTLIERS,
                 arena_format(a, "%zu of %zu samples %s far outside, up to %.3g times the median", summary.n_far,
                              s->n_samples, summary.n_far == 1 ? "is" : "are", summary.median > 0 ? summary.max / summary.median : 0),
                 err));
    }
    return ASSAY_OK;
}
