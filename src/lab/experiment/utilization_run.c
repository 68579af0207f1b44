/* SPDX-License-Identifier: Apache-2.0 */
/* Text to call, call to plan, plan to figures. */
#include "lab/experiment/utilization_run.h"

#include "engine/backend/backend.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/single.h"
#include "lab/measure/clock.h"

#include <omp.h>
#include <string.h>

/* One call or graph, ready to run. */
typedef struct prepared {
    single one;
    backend *backend;
    plan *plan;
    profile *profile; /* made in the first run that is profiled */
} prepared;

static void prepared_clear(prepared *p) {
    if (p->plan != NULL) {
        p->plan->release(p->plan);
    }
    profile_free(p->profile);
    if (p->backend != NULL) {
        p->backend->close(p->backend);
    }
    single_clear(&p->one);
}

static status prepare(arena *memory, const utilization_run_options *options, prepared *p, error *err) {
    const single_name name = {options->graph, options->operator_name, options->input, options->bind};
    TRY(single_read(memory, &name, &p->one, err));
    TRY(workload_fill(memory, &p->one.work, options->seed, 1, false, memory_limit_of_machine(), err));
    if (options->threads > 0) {
        omp_set_num_threads(options->threads);
    }
    omp_set_dynamic(0);
    TRY(backend_open(p->one.table, options->backend, &p->backend, err));
    return p->backend->prepare(p->backend, &p->one.work.g, &p->plan, err);
}

static status run(void *self, const utilization_context *context, error *err) {
    prepared *p = self;
    if (context->writer != NULL && p->profile == NULL) {
        TRY(profile_new(context->writer, context->now_ns, context->clock, &p->profile, err));
        profile_set_backend(p->profile, p->backend->name);
    }
    pristine_restore(&p->one.work.kept, p->profile);
    return profile_run(p->profile, p->plan, &p->one.work.g, err);
}

static status measure(const utilization_run_options *options, prepared *p, arena *memory, utilization_result *out,
                      error *err) {
    const graph *g = &p->one.work.g;
    lab_clock clock = clock_monotonic();
    const utilization_program program = {.run = run, .self = p};
    const utilization_options how = {
        .folder = options->folder,
        .trace_name = g->name != NULL ? arena_format(memory, "operator_%s.json.gz", g->name)
                                      : arena_format(memory, "operator_aten.%s.json.gz", g->nodes[0].call.op->signature.full),
        .n_runs = options->n_runs,
        .by_operator = options->by_operator,
        .label = options->label != NULL ? options->label : "CPU",
        .now_ns = clock.now_ns,
        .clock = clock.self,
    };
    if (how.trace_name == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's name");
    }
    return utilization_measure(&program, &how, memory, out, err);
}

status utilization_run(const utilization_run_options *options, arena *memory, utilization_result *out, error *err) {
    prepared p = {0};
    status result = prepare(memory, options, &p, err);
    if (result == ASSAY_OK) {
        result = measure(options, &p, memory, out, err);
    }
    prepared_clear(&p);
    return result;
}
