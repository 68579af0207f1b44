/* SPDX-License-Identifier: Apache-2.0 */
/* Text to call, call to plan, plan to figures. */
#include "lab/experiment/utilization_run.h"

#include "engine/backend/backend.h"
#include "lab/experiment/pristine.h"
#include "lab/experiment/profile.h"
#include "lab/measure/clock.h"

#include <omp.h>
#include <string.h>

/* One call, ready to run. */
typedef struct prepared {
    op_table *table;
    backend *backend;
    bound_call bound;
    outputs inferred;
    graph g;
    pristine kept;
    plan *plan;
    profile *profile; /* made in the first run that is profiled */
} prepared;

static void prepared_clear(prepared *p) {
    if (p->plan != NULL) {
        p->plan->release(p->plan);
    }
    pristine_clear(&p->kept);
    outputs_clear(&p->inferred);
    bound_clear(&p->bound);
    profile_free(p->profile);
    if (p->backend != NULL) {
        p->backend->close(p->backend);
    }
    op_table_free(p->table);
}

static status find_op(const op_table *table, const char *name, const op **out, error *err) {
    *out = op_table_find(table, name);
    if (*out != NULL) {
        return ASSAY_OK;
    }
    const char *near = op_table_nearest(table, name);
    return fail(err, ASSAY_NOT_FOUND, "no operator is called '%s'%s%s%s", name, near != NULL ? "; did you mean '" : "",
                near != NULL ? near : "", near != NULL ? "'?" : "");
}

static status bind_text_plainly(arena *memory, const op *o, const utilization_run_options *options, bound_call *out,
                                error *err) {
    const literal *call = NULL;
    TRY(literal_parse(memory, options->input, strlen(options->input), 1, 1, &call, err));
    const literal *parts = call->kind == LITERAL_TUPLE && call->list.n_items == 2 ? call->list.items : NULL;
    if (parts == NULL || parts[0].kind != LITERAL_TUPLE || parts[1].kind != LITERAL_DICT) {
        return fail_at(err, ASSAY_INVALID, call->line, call->column,
                       "expected the arguments as recorded, ((ARGS...), {KWARGS...}), got %s",
                       literal_kind_text(call->kind));
    }
    return bind_call(memory, o, &parts[0], &parts[1], &options->bind, out, err);
}

static status bind_text(arena *memory, const op *o, const utilization_run_options *options, bound_call *out, error *err) {
    error why = {0};
    status result = bind_text_plainly(memory, o, options, out, &why);
    if (result != ASSAY_OK && why.line > 0) {
        return fail_at(err, result, why.line, why.column, "input, column %d: %s", why.column, why.message);
    }
    return result == ASSAY_OK ? ASSAY_OK : fail(err, result, "%s", why.message);
}

static status fill(arena *memory, const utilization_run_options *options, prepared *p, error *err) {
    TRY(bound_allocate(&p->bound, &device_cpu, err));
    p->bound.call.seed = options->seed;
    TRY(op_fill_inputs(&p->bound.call, options->seed, err));
    TRY(op_infer(&p->bound.call, &p->inferred, err));
    TRY(pristine_keep(memory, &p->bound.call, &p->kept, err));
    return graph_of_call(memory, &p->bound.call, &p->inferred, &p->g, err);
}

static status prepare(arena *memory, const utilization_run_options *options, prepared *p, const op **o, error *err) {
    TRY(op_table_new(&p->table, err));
    TRY(find_op(p->table, options->operator_name, o, err));
    TRY(bind_text(memory, *o, options, &p->bound, err));
    TRY(fill(memory, options, p, err));
    if (options->threads > 0) {
        omp_set_num_threads(options->threads);
    }
    TRY(backend_open(p->table, options->backend, &p->backend, err));
    return p->backend->prepare(p->backend, &p->g, &p->plan, err);
}

static status run(void *self, const utilization_context *context, error *err) {
    prepared *p = self;
    if (context->writer != NULL && p->profile == NULL) {
        TRY(profile_new(context->writer, context->now_ns, context->clock, &p->profile, err));
        profile_set_backend(p->profile, p->backend->name);
    }
    pristine_restore(&p->kept, p->profile);
    return profile_run(p->profile, p->plan, &p->bound.call, &p->inferred, err);
}

static status measure(const utilization_run_options *options, const op *o, prepared *p, arena *memory,
                      utilization_result *out, error *err) {
    lab_clock clock = clock_monotonic();
    const utilization_program program = {.run = run, .self = p};
    const utilization_options how = {
        .folder = options->folder,
        .trace_name = arena_format(memory, "operator_aten.%s.json.gz", o->signature.full),
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
    const op *o = NULL;
    outputs_init(&p.inferred);
    status result = prepare(memory, options, &p, &o, err);
    if (result == ASSAY_OK) {
        result = measure(options, o, &p, memory, out, err);
    }
    prepared_clear(&p);
    return result;
}
