/* SPDX-License-Identifier: Apache-2.0 */
/* One chrome trace event at a time (the Trace Event Format), from a trace of any size in bounded memory. */
#ifndef LAB_TRACE_EVENT_H
#define LAB_TRACE_EVENT_H

#include "base/status.h"
#include "base/text.h"
#include "lab/trace/source.h"
#include "lab/trace/warning.h"

#include <stdbool.h>
#include <stdint.h>

/* A pid, tid or flow id. JSON lets them be numbers or texts; they are equal as Python's values are: 1 and 1.0 and true
   are one, 1 and "1" are two. */
typedef enum trace_id_kind { TRACE_ID_MISSING, TRACE_ID_NULL, TRACE_ID_NUMBER, TRACE_ID_TEXT } trace_id_kind;

typedef struct trace_id {
    trace_id_kind kind;
    double number;
    text text; /* when kind is TEXT; memory kept from event to event */
} trace_id;

/* What an event says, with the last of duplicate keys. Texts are valid until the next event. */
typedef struct trace_event {
    uint64_t offset; /* of its '{', in bytes from the start of the (unpacked) trace */
    char phase;      /* its "ph" when that is one letter, else 0 */
    bool has_name;   /* a text */
    bool name_cut;   /* longer than what a scan keeps */
    text name;
    text category; /* empty when there is none */
    trace_id pid;
    trace_id tid;
    trace_id flow;      /* "id" */
    double start_us;    /* "ts"; NaN when absent or not a number */
    double duration_us; /* "dur"; likewise */
    double correlation; /* args: NaN when absent */
    double external_id; /* args "External id"; NaN when absent */
    bool has_labels;    /* args "labels" is a text or an array */
    bool labels_match;  /* the text contains, or the array has as an element, the label asked for */
    text labels;        /* args "labels" when a text, else empty */
    text arg_name;      /* args "name": of a process or thread */
} trace_event;

/* Called for each event in file order. What it returns other than OK ends the reading and comes back. */
typedef status trace_visitor(void *context, const trace_event *event, error *err);

/* Called when a second "traceEvents" replaces the first: forget what was visited. */
typedef void trace_forget(void *context);

typedef struct trace_reading {
    const char *label; /* what a device's process label says, "GPU" for PyTorch's traces */
    trace_visitor *visit;
    trace_forget *forget;
    void *context;
} trace_reading;

/* Reads a whole trace: an object with "traceEvents", or an array of events. A file that ends early, an element that is
   no object, a comma too many at the end of the events: warnings, and the reading goes on with what is valid. Anything
   else that is not JSON is PARSE with the byte offset; a root that holds no events is PARSE as well.
   On failure `warnings` has what was warned of until then. */
status trace_read(trace_source *source, const trace_reading *reading, trace_warnings *warnings, error *err);

#endif
