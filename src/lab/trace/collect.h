/* SPDX-License-Identifier: Apache-2.0 */
/* From events to what the figures need: records in order of time, names, lanes, the window. */
#ifndef LAB_TRACE_COLLECT_H
#define LAB_TRACE_COLLECT_H

#include "lab/trace/event.h"
#include "lab/trace/lanes.h"
#include "lab/trace/names.h"
#include "lab/trace/order.h"
#include "lab/trace/warning.h"

/* Everything one pass over a trace leaves behind. Bounded: the buffer to sort in, and the tables' own limits. */
typedef struct trace_collection {
    trace_order *order;
    trace_lanes lanes;
    trace_names kernels;
    trace_names operators;
    trace_names others;       /* names of the host's events, for what is asked of each */
    bool by_operator;         /* operators are recorded only then */
    double first_us, last_us; /* of complete events but the profiler's own; first > last when there were none */
    uint64_t n_events;
    uint64_t n_complete;
    bool has_correlations; /* a kernel had one, so that flow arrows, which say the same, are not recorded */
    trace_warnings warnings;
} trace_collection;

/* Reads the whole source. label: see trace_reading. sort_records: see trace_order_new; 0 is TRACE_ORDER_RECORDS. On
   failure `out` is cleared but for its warnings. */
status trace_collect(trace_source *source, const char *label, bool by_operator, size_t sort_records,
                     trace_collection *out, error *err);
void trace_collection_clear(trace_collection *c);

#endif
