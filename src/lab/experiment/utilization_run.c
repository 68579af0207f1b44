/* SPDX-License-Identifier: Apache-2.0 */
/* Text to call, call to plan, plan to figures. */
#include "lab/experiment/utilization_run.h"

#include "engine/backend/backend.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/workload.h"
#include "lab/measure/clock.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* One call or graph, ready to run. */
typedef struct prepared {
    op_table *table;
    backend *backend;
    workload work;
    inputs read; /* the graph's file */
    plan *plan;
    profile *profile; /* made in the first run that is profiled */
} prepared;

static void prepared_clear(prepared *p) {
    if (p->plan != NULL) {
        p->plan->release(p->plan);
    }
    workload_clear(&p->work);
    inputs_clear(&p->read);
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

static status parse_input(arena *memory, const char *source, input *in, error *err) {
    const literal *call = NULL;
    TRY(literal_parse(memory, source, strlen(source), 1, 1, &call, err));
    const literal *parts = call->kind == LITERAL_TUPLE && call->list.n_items == 2 ? call->list.items : NULL;
    if (parts == NULL || parts[0].kind != LITERAL_TUPLE || parts[1].kind != LITERAL_DICT) {
        return fail_at(err, ASSAY_INVALID, call->line, call->column,
                       "expected the arguments as recorded, ((ARGS...), {KWARGS...}), got %s",
                       literal_kind_text(call->kind));
    }
    *in = (input){.text = source, .args = &parts[0], .kwargs = &parts[1]};
    return ASSAY_OK;
}

static status read_call(arena *memory, const utilization_run_options *options, prepared *p, error *err) {
    error why = {0};
    const op *o = NULL;
    input in;
    TRY(find_op(p->table, options->operator_name, &o, err));
    status result = parse_input(memory, options->input, &in, &why);
    if (result == ASSAY_OK) {
        result = workload_read(memory, p->table, o, &in, &options->bind, &p->work, &why);
    }
    if (result != ASSAY_OK && why.line > 0) {
        return fail_at(err, result, why.line, why.column, "input, column %d: %s", why.column, why.message);
    }
    return result == ASSAY_OK ? ASSAY_OK : fail(err, result, "%s", why.message);
}

static status read_graph(arena *memory, const utilization_run_options *options, prepared *p, error *err) {
    error why = {0};
    p->read.table = p->table;
    TRY(inputs_read_graph(&p->read, options->graph, err));
    status result = workload_read(memory, p->table, NULL, p->read.all[0], &options->bind, &p->work, &why);
    return result == ASSAY_OK ? ASSAY_OK
                              : fail_at(err, result, why.line, why.column, "%s:%d:%d: %s", options->graph, (int)why.line,
                                        (int)why.column, why.message);
}

static status prepare(arena *memory, const utilization_run_options *options, prepared *p, error *err) {
    TRY(op_table_new(&p->table, err));
    TRY(options->graph != NULL ? read_graph(memory, options, p, err) : read_call(memory, options, p, err));
    TRY(workload_fill(memory, &p->work, options->seed, 1, false, (double)INFINITY, err));
    if (options->threads > 0) {
        omp_set_num_threads(options->threads);
    }
    TRY(backend_open(p->table, options->backend, &p->backend, err));
    return p->backend->prepare(p->backend, &p->work.g, &p->plan, err);
}

static status run(void *self, const utilization_context *context, error *err) {
    prepared *p = self;
    if (context->writer != NULL && p->profile == NULL) {
        TRY(profile_new(context->writer, context->now_ns, context->clock, &p->profile, err));
        profile_set_backend(p->profile, p->backend->name);
    }
    pristine_restore(&p->work.kept, p->profile);
    return profile_run(p->profile, p->plan, &p->work.g, err);
}

static status measure(const utilization_run_options *options, prepared *p, arena *memory, utilization_result *out,
                      error *err) {
    const graph *g = &p->work.g;
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
    outputs_init(&p.work.inferred);
    status result = prepare(memory, options, &p, err);
    if (result == ASSAY_OK) {
        result = measure(options, &p, memory, out, err);
    }
    prepared_clear(&p);
    return result;
}
