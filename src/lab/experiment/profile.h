/* SPDX-License-Identifier: Apache-2.0 */
/* Puts what the engine does into a trace: calls on the host's line, kernels on the CPU's lanes, one for each worker thread.

   Lane 0 is the calling thread: a kernel is one event there, from its begin to its end; what of that it waited for other
   threads is an event of category "wait" within. The other lanes have an event for each parallel region that their thread
   took part in. Nothing is recorded between the two stamps of a kernel but the events of those lanes, each behind its
   thread's share, so that recording hardly lengthens what it records.

   Every function takes NULL for a profile that is off, and is then one comparison. */
#ifndef LAB_EXPERIMENT_PROFILE_H
#define LAB_EXPERIMENT_PROFILE_H

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/kernels/observer.h"
#include "lab/trace/writer.h"

/* The processes of a trace as it shows them: numbers of ours, not the system's. */
enum { PROFILE_HOST = 0, PROFILE_CPU = 1 };

/* One thread's, but for the lanes. */
typedef struct profile profile;

/* Records into the writer, which stays the caller's, by a clock of the caller's. OUT_OF_MEMORY. */
status profile_new(trace_writer *writer, int64_t (*now_ns)(void *clock), void *clock, profile **out, error *err);
/* Before or after the writer is closed. NULL is fine. */
void profile_free(profile *p);

/* The writer given to profile_new. */
trace_writer *profile_writer(const profile *p);

/* To be told of calls and kernels (observer_swap, session_observe); NULL for NULL. */
const observer *profile_observer(profile *p);

/* The next calls are shown as that backend's; a text that outlives them. NULL: without one. */
void profile_set_backend(profile *p, const char *name);

/* Runs a plan of g as one call: of its operator, or of the graph where it has a name. A plan that tells of no kernel (a
   plug-in's) is shown as one kernel, but for views, which compute nothing. Without a profile this is ready->run. */
status profile_run(profile *p, plan *ready, const graph *g, error *err);

int64_t profile_record_now(const profile *p);
void profile_record_span(profile *p, const char *category, const char *name, int64_t start_ns, const trace_arg *args,
                         size_t n_args);
void profile_record_copy(profile *p, const char *name, int64_t start_ns, double size_bytes);
void profile_record_memory(profile *p);

/* The time on the profile's clock; 0 without one. */
static inline int64_t profile_now(const profile *p) {
    return p != NULL ? profile_record_now(p) : 0;
}

/* A range of the host, from start_ns until now: "iter_3", "prepare". category is a literal: "user_annotation", "compile". */
static inline void profile_span(profile *p, const char *category, const char *name, int64_t start_ns,
                                const trace_arg *args, size_t n_args) {
    if (p != NULL) {
        profile_record_span(p, category, name, start_ns, args, n_args);
    }
}

/* A copy on the CPU, from start_ns until now. */
static inline void profile_copy(profile *p, const char *name, int64_t start_ns, double size_bytes) {
    if (p != NULL) {
        profile_record_copy(p, name, start_ns, size_bytes);
    }
}

/* Puts the process's resident memory on its chart. Calls do so too, at most every millisecond. */
static inline void profile_memory(profile *p) {
    if (p != NULL) {
        profile_record_memory(p);
    }
}

#endif
