/* SPDX-License-Identifier: Apache-2.0 */
/* When to stop sampling: a rule behind one function, so that the measurer knows no statistics (the idea is nvbench's). */
#ifndef LAB_STATS_STOPPING_H
#define LAB_STATS_STOPPING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stop_rule stop_rule;
struct stop_rule {
    /* Are n samples, in the order taken, enough? scratch has room for n doubles. Called after each round. */
    bool (*enough)(const stop_rule *self, const double *samples, size_t n, double *scratch);
    double confidence; /* of the interval, such as 0.95 */
    double target;     /* what the rule compares with; see the rule */
};

/* Always enough: the fixed count of repeats decides alone. */
stop_rule stop_at_once(void);

/* Enough when the confidence interval of the median, half its width over the median, is at most target (such as 0.01),
   and as many samples are there as that interval needs (6 for 95%). */
stop_rule stop_when_narrow(double confidence, double target);

#endif
