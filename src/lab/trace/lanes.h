/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's processes and the lanes (threads, streams) in them, and which of them are devices. */
#ifndef LAB_TRACE_LANES_H
#define LAB_TRACE_LANES_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/trace/event.h"
#include "lab/trace/names.h"

#include <stdbool.h>
#include <stdint.h>

/* Far more than any real trace has; a trace with more is refused, since dropping processes would make figures wrong. */
enum { TRACE_MAX_LANES = 1 << 17 };
#define TRACE_NO_LANE UINT32_MAX

typedef struct trace_process {
    uint64_t key;
    const char *id;           /* the pid as text */
    const char *name;         /* NULL while unknown */
    const char *labels;       /* likewise */
    bool labelled;            /* compat counts its events */
    bool is_surely_host;      /* known before the end of the file; set by whoever sets its name or labels */
    bool is_device;           /* at least one of its lanes is; set by trace_lanes_settle */
    uint64_t n_device_events; /* with a category that only devices have */
    uint64_t n_begin_end;
    uint64_t first_begin_end_byte;
} trace_process;

/* An interval that was seen on a lane. What lies within it adds nothing to a union. */
typedef struct trace_cover {
    double start_us, end_us;
} trace_cover;

typedef struct trace_lane {
    uint64_t key; /* of the tid */
    uint32_t process;
    bool is_device;   /* set by trace_lanes_settle */
    const char *id;   /* the tid as text */
    const char *name; /* NULL while unknown */
    uint64_t n_device_events, n_plain_events;
    trace_cover cover,
        compat_cover; /* of HOST events; the second of those that compat counts as matmul or convolution */
} trace_lane;

typedef struct trace_lanes {
    arena memory;
    trace_names id_texts; /* pids and tids that are texts */
    trace_process *processes;
    trace_lane *lanes;
    uint32_t *process_slots, *lane_slots; /* index + 1, or 0 */
    size_t n_processes, process_capacity, n_lanes, lane_capacity;
    uint32_t recent[8]; /* a lane, by the tid's key: events come from few threads at a time */
} trace_lanes;

status trace_lanes_init(trace_lanes *t, error *err);
void trace_lanes_clear(trace_lanes *t);

/* The index of a process, or of a lane in it, added when new. A missing tid is a lane of its own. TOO_LARGE beyond
   TRACE_MAX_LANES. */
status trace_lanes_process(trace_lanes *t, const trace_id *pid, uint32_t *out, error *err);
status trace_lanes_lane(trace_lanes *t, const trace_id *pid, const trace_id *tid, uint32_t *out, error *err);

/* Notes what metadata said. Labels may come several times: a process once labelled stays so. */
status trace_lanes_set_name(trace_lanes *t, const char **name, const text *value, error *err);

/* After the last event: which lanes are a device's. Those with events that only devices have; where a process that says
   it is a device has none such, its lanes with plain events (JAX: those named after streams, or else "XLA Ops", since
   the other lanes of such a process repeat the same time under other names). */
status trace_lanes_settle(trace_lanes *t, error *err);

/* What its labels say, or where it has none its name; a process that compat counts is a device. */
bool trace_process_says_device(const trace_process *p);

#endif
