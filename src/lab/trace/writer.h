/* SPDX-License-Identifier: Apache-2.0 */
/* Writes chrome traces that Perfetto and chrome://tracing open, and that `assay utilization` reads.

   Events go as they are into a buffer of the calling thread, without a lock, and full buffers into a temporary file
   without a name; only trace_writer_close turns them into JSON. So recording costs a copy of a few dozen bytes, memory
   is bounded by one buffer a thread, and nothing is ever dropped. A NULL recorder is a writer that is off: every call
   below is then one comparison. Callers pass the times, in nanoseconds of a clock of theirs. */
#ifndef LAB_TRACE_WRITER_H
#define LAB_TRACE_WRITER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_writer trace_writer;
typedef struct trace_recorder trace_recorder; /* one thread's; not for two at once */

/* Begins a trace at path, gzip'd when that ends in ".gz". What is at path stays there until trace_writer_close
   replaces it. */
status trace_writer_open(const char *path, trace_writer **out, error *err);

/* Writes the trace and frees the writer with all its recorders, whose threads are done with them. A failure of any
   event's recording (no memory, no room for the temporary file) is told here as well, after what was recorded has been
   written. NULL is fine. */
status trace_writer_close(trace_writer *w, error *err);

/* Frees the writer and writes nothing. NULL is fine. */
void trace_writer_abandon(trace_writer *w);

/* Removes what a writer of path in a process that is gone, killed before it could close, left beside it. */
void trace_writer_discard(const char *path, int process);

/* A recorder for the calling thread, owned by the writer. NULL without a writer; without memory too, and then
   trace_writer_close fails. Any thread. */
trace_recorder *trace_writer_recorder(trace_writer *w);

/* Where an event is shown: a process and a thread or stream in it. Both are made-up numbers as well as real ones. */
typedef struct trace_place {
    int32_t process;
    int32_t thread;
} trace_place;

/* Sizes of one tensor, such as {2, {64, 128}}. */
typedef struct trace_dims {
    int n;
    const int64_t *sizes;
} trace_dims;

typedef enum trace_arg_kind {
    TRACE_ARG_INT,
    TRACE_ARG_REAL,
    TRACE_ARG_TEXT,
    TRACE_ARG_TEXTS,
    TRACE_ARG_DIMS
} trace_arg_kind;

/* One entry of an event's args. The key is a literal: it is kept by its address until the writer is closed. Everything
   else is copied. */
typedef struct trace_arg {
    const char *key;
    trace_arg_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text;
        struct {
            const char *const *items;
            int n;
        } texts; /* an array of texts: dtypes */
        struct {
            const trace_dims *items;
            int n;
        } dims; /* an array of arrays of numbers: shapes */
    };
} trace_arg;

enum { TRACE_MAX_ARGS = 32 }; /* of one event; more are a bug of the caller (assert) */

/* What happened from start_ns to end_ns. category: a literal, kept by its address; "cpu_op" for an operator call,
   "kernel" for a kernel, "gpu_memcpy" for a copy between devices, as PyTorch names them, so that tools know them. The
   name and the args are copied; what of an event is beyond 48 KiB is cut, the args first. */
void trace_record_complete(trace_recorder *r, trace_place at, const char *category, const char *name, int64_t start_ns,
                           int64_t end_ns, const trace_arg *args, size_t n_args);
/* An end of the arrow `id`, on the event at that place and time: a call's, or that of the kernel it launched. */
void trace_record_flow(trace_recorder *r, trace_place at, bool is_start, uint64_t id, int64_t time_ns);
/* Values from now on, one line of a chart each: args of kind INT or REAL. */
void trace_record_counter(trace_recorder *r, int32_t process, const char *name, int64_t time_ns,
                          const trace_arg *values, size_t n_values);
void trace_record_process(trace_recorder *r, int32_t process, const char *name,
                          const char *labels); /* labels: NULL for none */
void trace_record_thread(trace_recorder *r, trace_place at, const char *name);

/* The same, for recorders that may be NULL. */
static inline void trace_complete(trace_recorder *r, trace_place at, const char *category, const char *name,
                                  int64_t start_ns, int64_t end_ns, const trace_arg *args, size_t n_args) {
    if (r != NULL) {
        trace_record_complete(r, at, category, name, start_ns, end_ns, args, n_args);
    }
}

/* A named range, "rep_3" and the like: name, '_' and index. */
void trace_record_range(trace_recorder *r, trace_place at, const char *name, int64_t index, int64_t start_ns,
                        int64_t end_ns);

static inline void trace_range(trace_recorder *r, trace_place at, const char *name, int64_t index, int64_t start_ns,
                               int64_t end_ns) {
    if (r != NULL) {
        trace_record_range(r, at, name, index, start_ns, end_ns);
    }
}

static inline void trace_flow(trace_recorder *r, trace_place at, bool is_start, uint64_t id, int64_t time_ns) {
    if (r != NULL) {
        trace_record_flow(r, at, is_start, id, time_ns);
    }
}

static inline void trace_counter(trace_recorder *r, int32_t process, const char *name, int64_t time_ns,
                                 const trace_arg *values, size_t n_values) {
    if (r != NULL) {
        trace_record_counter(r, process, name, time_ns, values, n_values);
    }
}

static inline void trace_name_process(trace_recorder *r, int32_t process, const char *name, const char *labels) {
    if (r != NULL) {
        trace_record_process(r, process, name, labels);
    }
}

static inline void trace_name_thread(trace_recorder *r, trace_place at, const char *name) {
    if (r != NULL) {
        trace_record_thread(r, at, name);
    }
}

#endif
