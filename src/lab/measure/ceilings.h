/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best, measured: the clock of a core and the bandwidth of its memory and caches. */
#ifndef LAB_MEASURE_CEILINGS_H
#define LAB_MEASURE_CEILINGS_H

#include "base/status.h"
#include "lab/measure/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes per nanosecond are GB/s (10^9). A copy counts what it reads and what it writes; it is memcpy's or that of a loop with stores past the
   caches, whichever is faster: two cores of a Zen 4 in a virtual machine did 37 GB/s by the former and 60 by the latter (2026-11). */
typedef struct bandwidth {
    size_t size_bytes; /* the footprint: of the buffer that is read, of both buffers that are copied */
    int threads;
    double read_gbytes_per_s;
    double copy_gbytes_per_s;
} bandwidth;

/* The best of several passes of plain loops over size_bytes of memory (at least 4096), each thread in its own part, for
   at least min_time_s each way, and up to four times that while the fastest passes differ. A footprint that fits in a cache measures that cache. threads >= 1. INVALID,
   OUT_OF_MEMORY: out is untouched. */
status ceilings_bandwidth(size_t size_bytes, int threads, double min_time_s, const lab_clock *clock, bandwidth *out,
                          error *err);

/* Whether other work must have kept the nearer memory's rate so low: it is none at all, or by far below that of memory further away. */
bool ceilings_is_disturbed(double nearer_gbytes_per_s, double further_gbytes_per_s);

/* The loops themselves, for who takes turns with them. */
typedef struct bandwidth_loops bandwidth_loops;

/* As ceilings_bandwidth; free with bandwidth_loops_free (NULL is fine). */
status bandwidth_loops_new(size_t size_bytes, int threads, bandwidth_loops **out, error *err);
void bandwidth_loops_free(bandwidth_loops *b);
/* One round over all of the memory is size_bytes read; a copy reads one half and writes the other. rounds >= 1. */
void bandwidth_loops_read(bandwidth_loops *b, int rounds);
void bandwidth_loops_copy(bandwidth_loops *b, int rounds);
/* The same with stores past the caches. */
void bandwidth_loops_stream(bandwidth_loops *b, int rounds);

#endif
