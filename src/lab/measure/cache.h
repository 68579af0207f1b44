/* SPDX-License-Identifier: Apache-2.0 */
/* Empties the caches between samples, for `--cache cold`. */
#ifndef LAB_MEASURE_CACHE_H
#define LAB_MEASURE_CACHE_H

#include "base/status.h"

#include <stddef.h>

/* Memory that a subject reads or writes; borrowed. */
typedef struct memory_range {
    const void *data;
    size_t size_bytes;
} memory_range;

/* A buffer larger than the last-level cache that is walked to push everything else out. Caller's storage;
   `cache_evictor e = {0}` is an empty one, which cache_evictor_clear may take. */
typedef struct cache_evictor {
    unsigned char *buffer;
    size_t size_bytes;
    size_t line_bytes;
    unsigned sum; /* what was read, kept so that no compiler drops the walk */
} cache_evictor;

/* Takes twice last_level_bytes (the sum over all last-level caches, as machine_facts says; 0 where it is unknown, then
   64 MiB is assumed) and touches it, so that its pages exist. line_bytes may be 0 (64 is assumed).
   OUT_OF_MEMORY, TOO_LARGE (over 4 GiB): e is untouched. */
status cache_evictor_init(cache_evictor *e, size_t last_level_bytes, size_t line_bytes, error *err);
void cache_evictor_clear(cache_evictor *e);

/* Walks the buffer, every OpenMP thread in its own part and then this one as a whole, which pushes out what nobody names
   (code, tables, the allocator's); then takes each line of the ranges out of every core's caches, where the CPU has an
   instruction for it (x86: clflush, aarch64: dc civac). The ranges must be mapped. n may be 0. One thread at a time. */
void cache_evict(cache_evictor *e, const memory_range *ranges, size_t n);

#endif
