/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says of how well its devices were used. All times in seconds, all shares of the wall time, unless a name
   says otherwise. docs/utilization.md defines each figure. */
#ifndef LAB_TRACE_FIGURES_H
#define LAB_TRACE_FIGURES_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/trace/classify.h"
#include "lab/trace/source.h"
#include "lab/trace/sweep.h"
#include "lab/trace/warning.h"

/* What shares are taken of. */
typedef enum trace_time_base {
    TRACE_BASE_TRACE,  /* from the first start to the last end of the complete events, but the profiler's own */
    TRACE_BASE_DEVICE, /* from the first start to the last end on a device */
    TRACE_BASE_GIVEN,  /* wall_time_s of the options */
} trace_time_base;

typedef struct trace_options {
    trace_time_base base;
    double wall_time_s; /* for TRACE_BASE_GIVEN: more than 0 */
    bool is_of_runs;    /* it was measured, without the profiler, and nobody gave it: for the warnings */
    bool by_operator;
    const char *label;   /* whose processes compat counts; NULL: "GPU" */
    size_t sort_records; /* kept in memory at a time; 0: as many as fit the promise of 64 MiB */
} trace_options;

/* Exactly the arithmetic of PyTorch's benchmark_utils.compute_utilization. */
typedef struct trace_compat {
    double utilization;
    double mm_conv;
} trace_compat;

/* Shares of kernels by what they work at; unions, so that each is at most 1 and those that overlap add up to more. */
typedef struct trace_shares {
    double matmul, convolution, attention, communication, mm_conv;
} trace_shares;

typedef struct trace_strict {
    double utilization;             /* any device runs a kernel */
    double mean_device_utilization; /* over the devices that ran anything */
    trace_shares by_name;
    trace_shares by_operator; /* zeros without by_operator */
    double attributed;        /* of the kernels' time, what has a known operator; likewise */
} trace_strict;

typedef struct trace_split {
    uint64_t n_events;
    double utilization; /* busy over the wall time, at most 1 */
    double busy_s, compute_s, memcpy_s, memset_s, communication_s, idle_s;
} trace_split;

typedef struct trace_stream {
    const char *id;   /* the tid */
    const char *name; /* NULL when the trace gives none */
    trace_split split;
} trace_stream;

typedef struct trace_idle {
    bool has_launches; /* without them host_late cannot be told from the rest */
    double by_cause_s[TRACE_N_IDLE_CAUSES];
    uint64_t n_gaps[TRACE_N_IDLE_CAUSES];
    double outside_s; /* of the wall time: before the device's first event and behind its last */
} trace_idle;

typedef struct trace_device {
    const char *id;   /* the pid */
    const char *name; /* its label, or else its name; NULL when the trace gives neither */
    const char *label; /* NULL when the trace gives none */
    trace_split split;
    double kernel_utilization;     /* kernels alone, at most 1 */
    double communication_hidden_s; /* under compute */
    trace_idle idle;
    trace_stream *streams;
    size_t n_streams;
} trace_device;

typedef struct trace_kernel {
    const char *name;
    trace_work work;
    uint64_t count;
    double total_s, min_s, max_s;
    double share_of_kernels; /* of the kernels' summed time */
} trace_kernel;

typedef struct trace_operator {
    const char *name; /* NULL: the kernels whose operator the trace does not tell */
    trace_work work;
    uint64_t n_kernels, n_copies;
    double kernel_s, copy_s;
    double share_of_kernels;
} trace_operator;

typedef struct trace_figures {
    trace_time_base base;
    double wall_time_s;
    trace_compat compat;
    trace_strict strict;
    double kernel_s; /* summed, overlaps counted twice */
    uint64_t n_kernels, n_events, n_complete;
    trace_device *devices; /* those with events, in the order in which the trace first names them */
    size_t n_devices;
    size_t n_idle_devices; /* labelled as devices, without an event */
    trace_kernel *kernels; /* longest total first, equals by name */
    size_t n_kernels_named;
    trace_operator *operators; /* likewise; none without by_operator */
    size_t n_operators;
    bool by_operator;
    trace_warnings warnings;
} trace_figures;

/* Reads the trace at path ("-": standard input), of any size, in bounded memory (docs/utilization.md, "Memory"). Texts
   and arrays of `out` are in `memory`. A file that is no trace is PARSE, its message with the byte offset and the path.
   A second thread reads ahead while it runs. */
status trace_figures_of_file(const char *path, const trace_options *options, arena *memory, trace_figures *out,
                             error *err);

/* As above from an open source, which stays the caller's. */
status trace_figures_of_source(trace_source *source, const trace_options *options, arena *memory, trace_figures *out,
                               error *err);

#endif
