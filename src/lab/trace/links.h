/* SPDX-License-Identifier: Apache-2.0 */
/* The latest launches, or operators, by the number that joins kernels to them; bounded. */
#ifndef LAB_TRACE_LINKS_H
#define LAB_TRACE_LINKS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct trace_link {
    uint32_t key;
    uint32_t operator_name; /* the operator at work then; TRACE_NO_OPERATOR when none */
    double end_us;          /* of the call */
    uint32_t older;         /* in the same slot, 1 + its place in the ring; 0 at the end */
} trace_link;

#define TRACE_NO_OPERATOR UINT32_MAX

/* Fed in order of time, so that a number which a trace uses again means the latest use. The oldest of `capacity` is
   forgotten for a new one: a device's queue holds about a thousand launches, 2^18 are kept. */
typedef struct trace_links {
    trace_link *ring;
    uint32_t *slots;
    size_t capacity; /* a power of two */
    uint64_t n_put;
} trace_links;

status trace_links_init(trace_links *t, size_t capacity, error *err);
void trace_links_clear(trace_links *t);
void trace_links_put(trace_links *t, trace_link link);
/* NULL where there is none, or it is forgotten. Valid until the next put. */
const trace_link *trace_links_find(const trace_links *t, uint32_t key);

#endif
