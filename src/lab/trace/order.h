/* SPDX-License-Identifier: Apache-2.0 */
/* Puts any number of records in order of time in bounded memory: an external merge sort.

   A trace's events come in no order, and which of them belong to a device is said at the end of the file (PyTorch) or
   nowhere. So they are kept as records of 32 bytes. What does not fit the buffer goes, sorted, to a temporary file
   without a name in $TMPDIR (or /tmp), at most 32 bytes an event, and is merged in one pass over the runs. */
#ifndef LAB_TRACE_ORDER_H
#define LAB_TRACE_ORDER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_record {
    double start_us;
    double duration_us;
    uint32_t lane;
    uint32_t name : 24;  /* in the names of kernels, or of operators */
    uint32_t kind : 7;   /* a trace_kind */
    uint32_t compat : 1; /* compat counts the name as matmul or convolution */
    uint32_t link;       /* what joins a kernel to its launch: the correlation, or a flow's id; 0 for none */
    uint32_t external;   /* what joins a kernel to its operator; 0 for none */
} trace_record;

typedef struct trace_order trace_order;

enum { TRACE_ORDER_RECORDS = 384 * 1024 }; /* 12 MiB of records and as much again to sort them with */

/* At most n_records (at least 64) are in memory, twice while sorting. */
status trace_order_new(size_t n_records, trace_order **out, error *err);
void trace_order_free(trace_order *o); /* NULL is fine */

status trace_order_add(trace_order *o, const trace_record *record, error *err);
/* Forgets every record. */
void trace_order_reset(trace_order *o);

/* Ends the adding. Afterwards trace_order_next lends each record in order of start_us; the order of adding decides
   between equals, save that the end of a flow goes before what begins with it. *out is NULL at the end. */
status trace_order_finish(trace_order *o, error *err);
status trace_order_next(trace_order *o, const trace_record **out, error *err);

/* Bytes that went to the temporary file. */
uint64_t trace_order_spilled_bytes(const trace_order *o);

#endif
