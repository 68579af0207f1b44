/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel shares its work out among threads (OpenMP). */
#ifndef ENGINE_KERNELS_CPU_PARALLEL_H
#define ENGINE_KERNELS_CPU_PARALLEL_H

#include "engine/kernels/observer.h"

#include <omp.h>
#include <stdint.h>

/* Below this many bytes of traffic one thread is faster: waking a second costs about 2 us here (two Zen 5 cores,
   2026-11), in which one core streams some 64 KiB from L2. */
enum { PARALLEL_MIN_BYTES = 128 * 1024 };

/* Threads worth using for work that moves `bytes` (or an equal time of arithmetic), for `omp parallel num_threads`. */
static inline int parallel_threads(double bytes) {
    int most = omp_get_max_threads();
    if (bytes < PARALLEL_MIN_BYTES) {
        return 1;
    }
    double useful = bytes / (PARALLEL_MIN_BYTES / 2);
    return useful < most ? (int)useful : most;
}

/* The part [*from, *to) of n items, in multiples of grain, that falls to thread `self` of so many. */
static inline void parallel_share_of(int64_t n, int64_t grain, int64_t self, int64_t threads, int64_t *from, int64_t *to) {
    int64_t grains = (n + grain - 1) / grain;
    int64_t first = grains * self / threads, last = grains * (self + 1) / threads;
    *from = first * grain < n ? first * grain : n;
    *to = last * grain < n ? last * grain : n;
}

/* The same of this thread of the running team. */
static inline void parallel_share(int64_t n, int64_t grain, int64_t *from, int64_t *to) {
    parallel_share_of(n, grain, omp_get_thread_num(), omp_get_num_threads(), from, to);
}

/* What one thread's work space of so many bytes takes where threads' lie side by side: whole lines of memory, in pairs, as they
   are fetched. Two threads that write one line wait for each other at every store. */
static inline size_t parallel_room(size_t bytes) {
    return (bytes + 127) / 128 * 128;
}

/* Behind what columns come to, where as much comes behind it: a page apart, both would be in one set of the nearest cache all the time,
   which some processors take for one line (emit/lane_arrays.c). */
enum { PARALLEL_APART_BYTES = 256 };

/* Around a thread's work in a parallel region, so that an observer sees each thread. `watch` is observer_of_thread of the
   thread that opens the region, read before it. Kernels that leave this out are shown as their calling thread's alone. */
static inline void parallel_enter(const observer *watch) {
    if (watch != NULL) {
        watch->enter(watch->self, omp_get_thread_num());
    }
}

static inline void parallel_leave(const observer *watch) {
    if (watch != NULL) {
        watch->leave(watch->self, omp_get_thread_num());
    }
}

/* A thread's part of some work: omp_get_thread_num of omp_get_num_threads. */
typedef void parallel_work(const void *context);

/* Has a team of `threads` do the work, each thread its part. One alone goes without OpenMP's region, which takes longer than a
   small tensor (0.7 us, Sapphire Rapids, 2026-11); not within someone's parallel region, whose numbers would be taken for these. */
static inline void parallel_run(int threads, parallel_work *work, const void *context) {
    const observer *watch = observer_of_thread;
    if (threads <= 1 && !omp_in_parallel()) {
        parallel_enter(watch);
        work(context);
        parallel_leave(watch);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
        work(context);
        parallel_leave(watch);
    }
}

#endif
