/* SPDX-License-Identifier: Apache-2.0 */
/* The system's monotonic clock and the fake one. */
#include "lab/measure/clock.h"

#include "lab/stats/summary.h"

#include <time.h>

/* CLOCK_MONOTONIC_RAW is not slewed by NTP, so that two samples of one run have the same second. Linux answers it from
   the vDSO (no system call) since 5.3; the measured read cost decides: where RAW is far dearer, MONOTONIC serves. */
static int64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_monotonic(void *self) {
    (void)self;
    return read_clock(CLOCK_MONOTONIC);
}

#ifdef CLOCK_MONOTONIC_RAW
static int64_t now_raw(void *self) {
    (void)self;
    return read_clock(CLOCK_MONOTONIC_RAW);
}
#endif

enum { READINGS = 4096 };

/* The smallest positive step between two readings in a row is the resolution, their median the cost of one. */
static void measure(lab_clock *clock) {
    double apart[READINGS];
    double least = 0;
    int64_t before = clock_now_ns(clock);
    for (int i = 0; i < READINGS; i++) {
        int64_t now = clock_now_ns(clock);
        apart[i] = (double)(now - before);
        if (now > before && (least == 0 || apart[i] < least)) {
            least = apart[i];
        }
        before = now;
    }
    stats_sort(apart, READINGS);
    clock->read_ns = stats_quantile_sorted(apart, READINGS, 0.5);
    clock->resolution_ns = least > 0 ? least : 1;
}

lab_clock clock_monotonic(void) {
    lab_clock plain = {.name = "CLOCK_MONOTONIC", .now_ns = now_monotonic};
    measure(&plain);
#ifdef CLOCK_MONOTONIC_RAW
    lab_clock raw = {.name = "CLOCK_MONOTONIC_RAW", .now_ns = now_raw};
    measure(&raw);
    if (raw.read_ns <= 2 * plain.read_ns + 10) {
        return raw;
    }
#endif
    return plain;
}

static int64_t now_fake(void *self) {
    fake_clock *fake = self;
    fake->now_ns += fake->step_ns;
    return fake->now_ns;
}

lab_clock clock_fake(fake_clock *fake) {
    return (lab_clock){.name = "fake",
                       .now_ns = now_fake,
                       .self = fake,
                       .resolution_ns = (double)fake->step_ns,
                       .read_ns = (double)fake->step_ns};
}
