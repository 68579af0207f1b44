/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program unprofiled and profiled, and reads its trace back. */
#include "lab/experiment/utilization.h"

#include "base/file.h"
#include "lab/experiment/profile.h"
#include "lab/measure/clock.h"

/* Where the runs themselves are shown in the trace. */
static const trace_place runs_place = {.process = PROFILE_HOST, .thread = 0};

static status run_once(const utilization_program *p, const utilization_context *c, error *err) {
    TRY(p->run(p->self, c, err));
    return p->wait != NULL ? p->wait(p->self, err) : ASSAY_OK;
}

/* Times n runs; with a recorder, each is a range as well. */
static status run_all(const utilization_program *p, utilization_context *c, int n, trace_recorder *recorder,
                      double *wall_s, error *err) {
    int64_t begin_ns = c->now_ns(c->clock), from_ns = begin_ns;
    for (c->run = 0; c->run < n; c->run++) {
        TRY(run_once(p, c, err));
        if (recorder != NULL) {
            int64_t to_ns = c->now_ns(c->clock);
            trace_range(recorder, runs_place, "rep", c->run, from_ns, to_ns);
            from_ns = to_ns;
        }
    }
    *wall_s = (double)(c->now_ns(c->clock) - begin_ns) / 1e9;
    return ASSAY_OK;
}

static status run_profiled(const utilization_program *p, utilization_context *c, int n, const char *path,
                           double *wall_s, error *err) {
    TRY(trace_writer_open(path, &c->writer, err));
    trace_recorder *recorder = trace_writer_recorder(c->writer);
    trace_name_process(recorder, runs_place.process, "assay", "host");
    trace_name_thread(recorder, runs_place, "calls");
    status result = p->wait != NULL ? p->wait(p->self, err) : ASSAY_OK;
    if (result == ASSAY_OK) {
        result = run_all(p, c, n, recorder, wall_s, err);
    }
    if (result != ASSAY_OK) {
        trace_writer_abandon(c->writer);
        return result;
    }
    return trace_writer_close(c->writer, err);
}

status utilization_measure(const utilization_program *program, const utilization_options *options, arena *memory,
                           utilization_result *out, error *err) {
    if (options->n_runs < 1) {
        return fail(err, ASSAY_INVALID, "expected at least one run, got %d", options->n_runs);
    }
    TRY(file_make_directories(options->folder, err));
    const char *name = options->trace_name != NULL ? options->trace_name : "trace.json.gz";
    utilization_result result = {.path = arena_format(memory, "%s/%s", options->folder, name)};
    if (result.path == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's name");
    }
    utilization_context context = {.now_ns = options->now_ns, .clock = options->clock};
    if (options->now_ns == NULL) {
        lab_clock system = clock_monotonic();
        context.now_ns = system.now_ns;
        context.clock = system.self;
    }
    double unused_s = 0;
    TRY(run_all(program, &context, UTILIZATION_WARMUPS, NULL, &unused_s, err));
    TRY(run_all(program, &context, options->n_runs, NULL, &result.wall_s, err));
    TRY(run_profiled(program, &context, options->n_runs, result.path, &result.profiled_wall_s, err));
    if (!(result.wall_s > 0)) {
        return fail(err, ASSAY_INVALID, "%d runs took no time on this clock: more runs are needed", options->n_runs);
    }
    const trace_options reading = {.base = TRACE_BASE_GIVEN,
                                   .wall_time_s = result.wall_s,
                                   .is_of_runs = true,
                                   .by_operator = options->by_operator,
                                   .label = options->label};
    TRY(trace_figures_of_file(result.path, &reading, memory, &result.figures, err));
    *out = result;
    return ASSAY_OK;
}
