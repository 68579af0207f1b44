/* SPDX-License-Identifier: Apache-2.0 */
/* What code that moves much memory assumes of a processor's caches. */
#ifndef DEVICE_CACHES_H
#define DEVICE_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* From this size on a result is stored past the caches: it would push everything out of them, itself included, and a
       store that has not read its line first saves a quarter to a third of the traffic. Last-level caches hold 32 MiB and
       more per socket. */
    STREAM_MIN_BYTES = 32 << 20,
    /* From this size on, more than cores' own caches hold, results of what reads while it stores may go there too, although the last
       cache would hold them: cross entropy over 4096 classes takes half the time, softmax over rows of 1024 and norms of 16 MiB and
       more half of it (two cores). In loops that only compute, mostly not. */
    STREAM_MIDDLING_BYTES = 4 << 20,
    /* What is read and written may be that much for a last-level cache of 32 MiB, which neighbours share, to have it all from one run to
       the next. */
    CACHED_BYTES = 22 << 20,
    STREAM_LINE_BYTES = 64, /* loops stream whole lines of this size */
    /* A core's own cache (L2): lines this far apart share a set of so many (Sapphire Rapids, Zen 5). */
    SET_BYTES = 128 << 10,
    SET_LINES = 16,
};

/* Whether it was measured on Intel's processors what this one should do: others differ in how many pages they read ahead in at once, and
   in what that costs while stores pass the caches. Threads: any. */
bool cpu_is_intel(void);

/* Whether loops that only read take less time where they ask for what lies further on: Intel's processors read ahead within a page only,
   and AMD's from Zen 5 on read ahead by themselves, but less than memory has to give (sums of 128 MiB: 3.0 ms instead of 3.5, places of
   extremes 3.0 instead of 4.2; two cores of a Zen 5, 2026-11). A Zen 4 reads on far enough. Any thread. */
bool cpu_asks_along(void);

/* A core's own cache; 1 MiB where nobody says. Threads: any. */
int64_t cpu_l2_bytes(void);

/* Whether what makes each result from elements beside each other stores results past the caches. results: their bytes; read: those of what is
   read. On a Zen 4 sums of two tensors of 12 MiB take 0.6 to 0.9 of the time so, of 16 MiB 0.58; relu of 22 MiB 0.53, and 1.14 while the
   machine's memory is slow; of 16 MiB 1.8. Not measured on Intel's processors. Threads: any. */
bool streams_pointwise(double results, double read);

/* Whether what reads more than one number for each result stores results past the caches. results: their bytes; all: and those of what is
   read. On a Zen 4 layer norm of 16 MiB in all takes 141 us from the last cache and 303 past it, of 20 MiB 219 and 384, of 32 MiB 669 and
   609; two cores of a Granite Rapids, whose last cache gives them as much as memory does, take 347 us instead of 517 for the gradient of
   softmax of 6 MiB and 249 instead of 329 for batch norm past it. Threads: any. */
bool streams_norm(double results, double all);

#endif
