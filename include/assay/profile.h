/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of a session's calls, for Perfetto, chrome://tracing and `assay utilization`. */
#ifndef ASSAY_PROFILE_H
#define ASSAY_PROFILE_H

#include "assay/assay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on each assay_call of the session becomes an event with its shapes, dtypes, flops and bytes, and so do the
   kernels in it, on a line for each thread; until assay_profile_stop. Recording takes up to some hundred nanoseconds a call,
   behind the call's own event. gzip'd when path ends in ".gz"; what is at path stays there until the stop. INVALID: the
   session is profiled already; IO: path cannot be created; OUT_OF_MEMORY. Threads: as the session. */
ASSAY_API assay_status assay_profile_start(assay_session *session, const char *path, assay_error *error);

/* Writes the trace, which takes about a second for a million calls. Due before the session is freed. INVALID: there was no
   start; IO, OUT_OF_MEMORY: the trace is not there or lacks events, as the message says. The session is not profiled any
   more, whatever the answer. */
ASSAY_API assay_status assay_profile_stop(assay_session *session, assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
