/* SPDX-License-Identifier: Apache-2.0 */
/* When to stop sampling: a rule behind one function, so that the measurer knows no statistics (the idea is nvbench's). */
#ifndef LAB_STATS_STOPPING_H
#define LAB_STATS_STOPPING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stop_rule stop_rule;
struct stop_rule {
    /* Are n samples, in the order taken, enough? scratch has room for n doubles. Asked a few times only, see stop_looks_at. */
    bool (*enough)(const stop_rule *self, const double *samples, size_t n, double *scratch);
    double confidence; /* of the interval, such as STOP_CONFIDENCE */
    double target;     /* what the rule compares with; see the rule */
};

/* Always enough: the fixed count of repeats decides alone. */
stop_rule stop_at_once(void);

/* Who stops as soon as an interval happens to be narrow, and looks at it after every sample, has intervals of 95% that hold the true
   median 92 times in 100. So the rule is asked a few times, and each time for an interval of STOP_CONFIDENCE: the one that is left
   then holds it 95 times in 100 or more. That is STOPPED_CONFIDENCE, and was simulated (2026-11) with independent log-normal samples
   of spreads from 0.5% to 15%, a target of 2%, first looks at 9 to 90 samples and an end at 12 to 100: 95.1% at least. */
#define STOP_CONFIDENCE 0.96
#define STOPPED_CONFIDENCE 0.95

/* Whether the rule is asked at n samples, behind its first time: at 9, 14, 22, 35, 56 and 89, each about 1.6 times the one before. */
bool stop_looks_at(size_t n);

/* Enough when the confidence interval of the median, half its width over the median, is at most target (such as 0.01),
   and as many samples are there as that interval needs (6 for 95%). */
stop_rule stop_when_narrow(double confidence, double target);

#endif
