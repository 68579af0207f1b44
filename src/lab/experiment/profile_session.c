/* SPDX-License-Identifier: Apache-2.0 */
/* The public profiler: a session's observer, a profile and a writer, made and ended together. */
#include "assay/profile.h"

#include "engine/api/session.h"
#include "lab/experiment/profile.h"
#include "lab/measure/clock.h"

assay_status assay_profile_start(assay_session *session, const char *path, assay_error *err) {
    trace_writer *writer = NULL;
    profile *made = NULL;
    if (session_observer(session) != NULL) {
        return fail(err, ASSAY_INVALID, "%s: this session is being profiled already", path);
    }
    TRY(trace_writer_open(path, &writer, err));
    lab_clock clock = clock_monotonic();
    status result = profile_new(writer, clock.now_ns, clock.self, &made, err);
    if (result != ASSAY_OK) {
        trace_writer_abandon(writer);
        return result;
    }
    profile_set_backend(made, "eager");
    session_observe(session, profile_observer(made));
    return ASSAY_OK;
}

assay_status assay_profile_stop(assay_session *session, assay_error *err) {
    const observer *watch = session_observer(session);
    if (watch == NULL) {
        return fail(err, ASSAY_INVALID, "this session is not being profiled");
    }
    session_observe(session, NULL);
    profile *p = watch->self;
    trace_writer *writer = profile_writer(p);
    profile_memory(p);
    profile_free(p);
    return trace_writer_close(writer, err);
}
