/* SPDX-License-Identifier: Apache-2.0 */
/* Cache eviction by flush instructions and by walking a large buffer. */
#include "lab/measure/cache.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LINE_BYTES = 64, MIB = 1024 * 1024 };
static const size_t assumed_cache_bytes = (size_t)64 * MIB;
static const size_t most_buffer_bytes = (size_t)4096 * MIB;

status cache_evictor_init(cache_evictor *e, size_t last_level_bytes, size_t line_bytes, error *err) {
    size_t size_bytes = 2 * assumed_cache_bytes;
    if (last_level_bytes > most_buffer_bytes / 2) {
        return fail(err, ASSAY_TOO_LARGE, "expected a last-level cache of at most %zu bytes, got %zu",
                    most_buffer_bytes / 2, last_level_bytes);
    }
    if (last_level_bytes > 0) {
        size_bytes = 2 * last_level_bytes;
    }
    unsigned char *buffer = malloc(size_bytes);
    if (buffer == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the %zu bytes that evict the caches", size_bytes);
    }
    /* Written, not only allocated: pages never written all read the one zero page, which sits in the cache. */
    memset(buffer, 1, size_bytes);
    *e = (cache_evictor){
        .buffer = buffer, .size_bytes = size_bytes, .line_bytes = line_bytes > 0 ? line_bytes : DEFAULT_LINE_BYTES};
    return ASSAY_OK;
}

void cache_evictor_clear(cache_evictor *e) {
    free(e->buffer);
    *e = (cache_evictor){0};
}

/* One line out of every cache of the coherence domain, written back first. False where the CPU has no instruction. */
static inline bool flush_line(const void *line) {
#if defined(__x86_64__)
    __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
    return true;
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
    return true;
#else
    (void)line;
    return false;
#endif
}

static inline void flush_barrier(void) {
#if defined(__x86_64__)
    __asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb ish" : : : "memory");
#endif
}

static void flush_range(const memory_range *range, size_t line_bytes) {
    uintptr_t at = (uintptr_t)range->data & ~(uintptr_t)(line_bytes - 1);
    uintptr_t end = (uintptr_t)range->data + range->size_bytes;
    for (; at < end; at += line_bytes) {
        if (!flush_line((const void *)at)) {
            return;
        }
    }
}

static unsigned walk(const unsigned char *buffer, size_t from, size_t to, size_t step) {
    unsigned sum = 0;
    for (size_t i = from; i < to; i += step) {
        sum += buffer[i];
    }
    return sum;
}

void cache_evict(cache_evictor *e, const memory_range *ranges, size_t n) {
    /* The private caches of the other cores keep tables and code that no range names, so each thread walks too. */
    unsigned sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
        size_t part = e->size_bytes / threads;
        sum += walk(e->buffer, me * part, (me + 1) * part, e->line_bytes);
    }
    sum += walk(e->buffer, 0, e->size_bytes, e->line_bytes);
    e->sum += sum;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].data != NULL && ranges[i].size_bytes > 0) {
            flush_range(&ranges[i], e->line_bytes);
        }
    }
    flush_barrier();
}
