/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that everything is timed with: what it reads, how fine it is, and what reading it costs. Tests put a fake
   one in its place, so that nothing that measures is ever tested against real time. */
#ifndef LAB_MEASURE_CLOCK_H
#define LAB_MEASURE_CLOCK_H

#include <stdint.h>

/* Plain data, copied freely. resolution_ns and read_ns are measured on this machine, not what the system claims. */
typedef struct lab_clock {
    const char *name;             /* static text, such as "CLOCK_MONOTONIC_RAW" */
    int64_t (*now_ns)(void *self); /* nanoseconds since some fixed moment; never goes back */
    void *self;                   /* passed to now_ns; NULL for the system's clock */
    double resolution_ns;         /* the smallest step seen between two readings */
    double read_ns;               /* median of what two readings in a row are apart: an empty timed part's length */
} lab_clock;

/* The system's monotonic clock, not slewed by NTP where the kernel offers that cheaply (see clock.c), with resolution
   and cost measured now, in about a millisecond. Cannot fail. Any thread. */
lab_clock clock_monotonic(void);

static inline int64_t clock_now_ns(const lab_clock *clock) {
    return clock->now_ns(clock->self);
}

/* A clock for tests: time passes only by step_ns at each reading and when the test says so. */
typedef struct fake_clock {
    int64_t now_ns;
    int64_t step_ns; /* added at every reading, before it is answered */
} fake_clock;

/* The clock that reads `fake`, which must outlive it; its resolution and cost are both step_ns. */
lab_clock clock_fake(fake_clock *fake);
static inline void clock_fake_advance(fake_clock *fake, int64_t time_ns) {
    fake->now_ns += time_ns;
}

#endif
