/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the records in order of time, which adds up everything that is asked of a trace, in microseconds. */
#ifndef LAB_TRACE_SWEEP_H
#define LAB_TRACE_SWEEP_H

#include "lab/trace/classify.h"
#include "lab/trace/collect.h"

#include <stdbool.h>
#include <stdint.h>

/* The length of a union of intervals that come in order of their starts. */
typedef struct trace_union {
    double covered_us;
    double end_us; /* of the latest end so far; means something once any */
    bool any;
} trace_union;

typedef struct trace_split_sum {
    trace_union busy, compute, copy, set, communication;
    uint64_t n_events;
} trace_split_sum;

typedef enum trace_idle_cause {
    TRACE_IDLE_HOST_LATE, /* the call that launched what came next returned only after the device had gone idle */
    TRACE_IDLE_SHORT_GAP, /* what a device needs between two kernels that both wait for it */
    TRACE_IDLE_OTHER,
    TRACE_N_IDLE_CAUSES
} trace_idle_cause;

/* Gaps up to this long between kernels that were launched in time are the device's own: in the traces of an H200 half
   of all gaps are, at 0.8 to 1.6 us; where two streams take turns 2.8 us were seen, where they wait for one another. */
#define TRACE_SHORT_GAP_US 2.0

typedef struct trace_device_sum {
    uint32_t process;
    trace_split_sum split;
    trace_union kernels;      /* compute or communication */
    double first_us, last_us; /* the first start and the last end */
    double idle_us[TRACE_N_IDLE_CAUSES];
    uint64_t n_gaps[TRACE_N_IDLE_CAUSES];
    uint64_t n_launched; /* events whose launch is in the trace */
} trace_device_sum;

typedef struct trace_stream_sum {
    uint32_t lane;
    uint32_t device; /* in the devices */
    trace_split_sum split;
    uint32_t pending_flow; /* the arrow that ends where the next event begins; 0 for none */
} trace_stream_sum;

typedef struct trace_kernel_sum {
    uint64_t count;
    double total_us, min_us, max_us;
} trace_kernel_sum;

typedef struct trace_operator_sum {
    uint64_t n_kernels, n_copies; /* copies: memcpy and memset */
    double kernel_us, copy_us;
} trace_operator_sum;

/* Unions of kernels by what they work at. */
typedef struct trace_work_sum {
    trace_union by_work[TRACE_N_WORKS];
    trace_union mm_conv; /* matmul, convolution or attention */
} trace_work_sum;

typedef struct trace_sums {
    trace_union compat, compat_mm_conv;
    trace_union kernels;             /* of all devices */
    double kernel_us, attributed_us; /* of kernels, without taking unions; with a known operator */
    uint64_t n_kernels, n_attributed;
    trace_work_sum by_name, by_operator;
    trace_device_sum *devices;
    trace_stream_sum *streams;
    size_t n_devices, n_streams;
    trace_kernel_sum *kernel_sums;     /* by a kernel's number */
    trace_operator_sum *operator_sums; /* by an operator's number; NULL without by_operator */
    trace_operator_sum unattributed;
} trace_sums;

/* Uses up the collection's order; notes what is odd among its warnings. The caller clears `out`. */
status trace_sweep(trace_collection *c, trace_sums *out, error *err);
void trace_sums_clear(trace_sums *s);

#endif
