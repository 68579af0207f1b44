/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of one point, in the order of the data: inputs, expectation, plans, verdicts, samples, records. */
#include "lab/experiment/operators_point.h"

#include "base/rng.h"
#include "device/process_state.h"
#include "lab/experiment/left_alone.h"
#include "lab/experiment/operators_check.h"
#include "lab/experiment/operators_profile.h"
#include "lab/experiment/repro.h"
#include "lab/experiment/save.h"
#include "lab/experiment/verify.h"
#include "lab/experiment/workload.h"
#include "lab/measure/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *point_stage_text(int32_t stage) {
    static const char *const texts[] = {"starting", "making inputs", "running the reference", "preparing",
                                        "checking", "measuring",     "releasing",             "closing"};
    return stage >= 0 && (size_t)stage < countof(texts) ? texts[stage] : "working";
}

/* --- records -------------------------------------------------------------------------------------------------------------- */

void point_record_base(arena *memory, const operators_options *options, const operators_point *what,
                       const operators_backend *backends, size_t b, record *out) {
    *out = RECORD_EMPTY;
    size_t n = what->in->n_uses;
    const char **models = arena_make(memory, n, sizeof *models);
    int64_t *calls = arena_make(memory, n, sizeof *calls);
    for (size_t i = 0; models != NULL && calls != NULL && i < n; i++) {
        models[i] = what->in->uses[i].file->name;
        calls[i] = what->in->uses[i].n_calls;
    }
    out->kind = "operator";
    out->status = RECORD_OK;
    out->operator_name = what->recorded->name;
    out->input = what->in->text;
    out->models = models;
    out->model_calls = calls;
    out->n_models = models != NULL && calls != NULL ? n : 0;
    out->calls = what->in->n_calls;
    out->sample_index = what->sample_index;
    out->backend = backends[b].name;
    out->baseline = backends[b].is_baseline;
    out->device = "cpu";
    out->dtype = dtype_mode_name(repro_dtype(options, what->in));
    out->threads = options->threads;
    out->cache = options->cold_cache ? "cold" : "warm";
    out->channels_last = options->bind.channels_last;
    out->seed = (int64_t)options->seed;
    out->precision = options->precision > 0 ? options->precision : NAN;
    out->machine = options->machine;
    out->assay_version = options->version;
    out->is_view = what->o != NULL && what->o->row->is_view;
    out->repro = repro_make(memory, options, what, backends, b);
}

static void set_verdict(arena *memory, record *r, record_status s, const char *reason) {
    r->status = s;
    r->reason = arena_text(memory, reason, strlen(reason));
}

static record_status status_of(status code) {
    return code == ASSAY_UNSUPPORTED || code == ASSAY_NO_DEVICE ? RECORD_UNSUPPORTED
           : code == ASSAY_TIMEOUT                              ? RECORD_TIMEOUT
                                                                : RECORD_FAILED;
}

/* Of inputs, results and what is expected of them, before a backend has had them: those for which there is no memory do not fit. */
static record_status unmade_status(status code) {
    return code == ASSAY_TOO_LARGE || code == ASSAY_OUT_OF_MEMORY ? RECORD_SKIPPED : status_of(code);
}

/* Work space that does not fit beside the tensors is like tensors that do not fit. */
static void set_unprepared(arena *memory, const operators_options *o, record *r, status result, const error *why) {
    if (result != ASSAY_OUT_OF_MEMORY) {
        set_verdict(memory, r, status_of(result), why->message);
        return;
    }
    char limit[32];
    const char *reason = arena_format(memory, "%s beside the tensors, the limit is %s (%s)", why->message,
                                      text_of_bytes(limit, (double)o->max_memory_bytes), o->max_memory_from);
    set_verdict(memory, r, RECORD_SKIPPED, reason != NULL ? reason : why->message);
}

/* --- one point ------------------------------------------------------------------------------------------------------------- */

typedef struct point {
    arena *memory;
    const point_context *context;
    const operators_point *what;
    workload work;
    expectation expected;
    size_t n_backends;
    output_memory outputs; /* the same for all plans: what differs between them is their code */
    plan **plans;          /* NULL where there is none */
    record *records;
    left_alone inputs;     /* as they were made, from the first plug-in on */
    double *checked_ns;    /* what the checked run took; 0 where there was none */
    const bool *excluded;
    memory_range *ranges;
    size_t n_ranges;
} point;

static status enter(const point *p, point_stage stage, int32_t index, error *err) {
    p->context->progress->backend = index;
    p->context->progress->stage = (int32_t)stage;
    return p->context->renew_deadline(p->context->renew_arg, err);
}

static void verdict_for_all(const point *p, record_status s, const char *reason) {
    for (size_t b = 0; b < p->n_backends; b++) {
        set_verdict(p->memory, &p->records[b], s, reason);
    }
}

static void restore(const point *p) {
    pristine_restore(&p->work.kept, p->context->profile);
}

static status collect_ranges(point *p, error *err) {
    const graph *g = &p->work.g;
    p->ranges = arena_make(p->memory, (size_t)g->n_inputs, sizeof *p->ranges);
    if (p->ranges == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a list of inputs");
    }
    for (int i = 0; i < g->n_inputs; i++) {
        const storage *s = g->inputs[i].value->storage;
        if (s != NULL) {
            p->ranges[p->n_ranges++] = (memory_range){.data = s->data, .size_bytes = s->size_bytes};
        }
    }
    return ASSAY_OK;
}

static status bind_and_fill(point *p, error *err) {
    const operators_options *o = p->context->options;
    TRY(point_read(p->memory, p->context->table, o, p->what, &p->work, err));
    TRY(workload_fill(p->memory, &p->work, o->seed, (int)p->n_backends, o->check_accuracy,
                      (memory_limit){o->max_memory_bytes, o->max_memory_from}, err));
    TRY(output_memory_make(&p->outputs, &p->work.g, err));
    return collect_ranges(p, err);
}

static status expect(point *p, error *err) {
    const workload *w = &p->work;
    uint64_t seed = p->context->options->seed;
    return w->is_graph ? expectation_make_graph(p->memory, &w->g, &w->kept, seed, &p->expected, err)
                       : expectation_make(p->memory, &w->bound.call, &w->inferred, seed, &p->expected, err);
}

/* Ends the worker where a plan has written what is nobody's to write: its supervisor hears who, and goes on with a new one. */
static status stop_if_damaged(const plan *ready, error *err) {
    return ready->is_whole != NULL ? ready->is_whole((plan *)ready, err) : ASSAY_OK;
}

/* A run that no trace shows; what it changes for the whole process is put back. */
static status run_unseen(plan *ready, error *err) {
    const process_state ours = process_state_read();
    status result = ready->run(ready, err);
    process_state_restore(&ours);
    return result;
}

/* A run whose results nobody looks at, on other values than those that are checked: what a plug-in keeps of it and hands out again is
   not what is expected. */
static status run_on_other_values(point *p, size_t b, error *reason, status *ran, error *err) {
    const uint64_t seed = p->context->options->seed;
    bool same_form;
    TRY(enter(p, STAGE_CHECK, (int32_t)b, err));
    TRY(workload_refill(&p->work, rng_mix(seed + 1), &same_form, err));
    *ran = same_form ? run_unseen(p->plans[b], reason) : ASSAY_OK;
    TRY(stop_if_damaged(p->plans[b], err));
    return workload_refill(&p->work, seed, &same_form, err);
}

/* Makes inputs that somebody has written to what they were; *written is the first of them, or NULL. */
static status mend_inputs(point *p, const graph_input **written, error *err) {
    bool same_form;
    *written = left_alone_find(&p->inputs);
    return *written != NULL ? workload_refill(&p->work, p->context->options->seed, &same_form, err) : ASSAY_OK;
}

/* A plug-in whose run has just written to what it was to read gets its verdict. */
static status check_inputs(point *p, size_t b, error *err) {
    const graph_input *written;
    TRY(mend_inputs(p, &written, err));
    if (written != NULL) {
        const char *reason = arena_format(p->memory, "wrote to input '%s'", written->name);
        set_verdict(p->memory, &p->records[b], RECORD_FAILED, reason != NULL ? reason : "wrote to an input");
    }
    return ASSAY_OK;
}

static status check_plan(point *p, size_t b, error *err) {
    record *r = &p->records[b];
    plan *ready = p->plans[b];
    error reason = {0};
    status ran = ASSAY_OK;
    if (p->context->backends[b]->is_plugin) {
        TRY(run_on_other_values(p, b, &reason, &ran, err));
    }
    TRY(enter(p, STAGE_CHECK, (int32_t)b, err));
    ran = ran == ASSAY_OK ? expectation_poison(&p->expected, ready, &reason) : ran;
    int64_t from = profile_now(p->context->profile);
    profile_set_backend(p->context->profile, r->backend);
    if (ran == ASSAY_OK) {
        const process_state ours = process_state_read();
        int64_t begun = clock_now_ns(&p->context->clock);
        ran = profile_run(p->context->profile, ready, &p->work.g, &reason);
        p->checked_ns[b] = (double)(clock_now_ns(&p->context->clock) - begun);
        process_state_restore(&ours);
        TRY(stop_if_damaged(ready, err));
    }
    if (ran != ASSAY_OK) {
        set_verdict(p->memory, r, status_of(ran), reason.message);
    } else {
        bool differs;
        status agrees = expectation_check(&p->expected, ready, &r->error, &differs, &reason);
        if (agrees != ASSAY_OK) {
            set_verdict(p->memory, r, differs ? RECORD_MISMATCH : status_of(agrees), reason.message);
        }
        save_outputs(p->context->options->save_directory, p->what, r->backend, ready, p->work.g.n_outputs,
                     p->work.cost.reduction, &p->context->progress->saved);
    }
    profile_span(p->context->profile, "user_annotation", "check", from, NULL, 0);
    restore(p);
    return check_inputs(p, b, err);
}

/* Whether a plan that has been timed still computes. What is expected of the engine's own where it drew at random takes too long to
   find once more. */
static status check_again(point *p, size_t b, error *err) {
    plan *ready = p->plans[b];
    TRY(enter(p, STAGE_CHECK, (int32_t)b, err));
    TRY(stop_if_damaged(ready, err));
    bool is_plugin = p->context->backends[b]->is_plugin;
    if (!p->context->options->check_accuracy || (p->expected.is_random && !is_plugin)) {
        return ASSAY_OK;
    }
    const graph_input *written; /* by whom, shows when its turn comes */
    TRY(mend_inputs(p, &written, err));
    error reason = {0};
    record_error_stats stats;
    bool differs = false;
    pristine_restore(&p->work.kept, NULL);
    status result = expectation_poison(&p->expected, ready, &reason);
    if (result == ASSAY_OK) {
        result = run_unseen(ready, &reason);
        TRY(stop_if_damaged(ready, err));
    }
    if (result == ASSAY_OK) {
        result = expectation_check(&p->expected, ready, &stats, &differs, &reason);
    }
    pristine_restore(&p->work.kept, NULL);
    if (result != ASSAY_OK) {
        const char *why = arena_format(p->memory, "after the timed runs: %s", reason.message);
        set_verdict(p->memory, &p->records[b], differs ? RECORD_MISMATCH : status_of(result), why != NULL ? why : reason.message);
    }
    return check_inputs(p, b, err);
}

static status prepare_plan(point *p, size_t b, error *err) {
    record *r = &p->records[b];
    TRY(enter(p, STAGE_PREPARE, (int32_t)b, err));
    error reason = {0};
    backend *by = p->context->backends[b];
    by->outputs = &p->outputs;
    if (by->is_plugin && p->inputs.hashes == NULL && p->context->options->check_accuracy) {
        TRY(left_alone_note(p->memory, &p->work.g, &p->work.kept, &p->inputs, err));
    }
    int64_t from = clock_now_ns(&p->context->clock);
    status prepared = by->prepare(by, &p->work.g, &p->plans[b], &reason);
    int64_t to = clock_now_ns(&p->context->clock);
    by->outputs = NULL;
    operators_profile_prepare(p->context->profile, r->backend, from);
    if (prepared != ASSAY_OK) {
        p->plans[b] = NULL;
        set_unprepared(p->memory, p->context->options, r, prepared, &reason);
        return ASSAY_OK;
    }
    r->prepare_ns = (double)(to - from);
    r->fallback = p->plans[b]->is_fallback;
    if (p->plans[b]->bytes_moved > 0) {
        r->kernels = p->plans[b]->n_kernels;
        r->library_calls = p->plans[b]->n_calls;
        r->bytes_moved = p->plans[b]->bytes_moved;
    }
    const char *note = p->plans[b]->note, *not_kept = p->plans[b]->not_kept;
    if (note != NULL || not_kept != NULL) {
        r->note = arena_format(p->memory, "%s%s%s", note != NULL ? note : "", note != NULL && not_kept != NULL ? "; " : "",
                               not_kept != NULL ? not_kept : "");
    }
    return p->context->options->check_accuracy ? check_plan(p, b, err) : ASSAY_OK;
}

/* --- measuring --------------------------------------------------------------------------------------------------------------- */

typedef struct subject {
    const point *p;
    plan *plan;
    int32_t index;
} subject;

static status run_subject(void *self, error *err) {
    subject *s = self;
    s->p->context->progress->backend = s->index;
    return profile_run(s->p->context->profile, s->plan, &s->p->work.g, err);
}

static void restore_subject(void *self) {
    restore(((subject *)self)->p);
}

static void take_series(const point *p, record *r, const sample_series *series) {
    if (series->result != ASSAY_OK) {
        set_verdict(p->memory, r, status_of(series->result), series->err.message);
        return;
    }
    r->samples_ns = series->samples_ns;
    r->n_samples = series->n_samples;
    r->inner_loops = series->inner_loops;
    r->flops = p->work.cost.flops;
    r->bytes = p->work.cost.bytes;
    r->warnings = series->warnings;
    r->n_warnings = series->n_warnings;
    error err = {0};
    if (record_summarise(r, &err) != ASSAY_OK) {
        set_verdict(p->memory, r, RECORD_FAILED, err.message);
    }
}

/* What more samples than asked for may cost one input. */
enum { MOST_REPEATS = 100 };
static const double more_samples_s = 0.25;

static status measure(point *p, error *err) {
    const operators_options *o = p->context->options;
    sample_subject *subjects = arena_make(p->memory, p->n_backends, sizeof *subjects);
    subject *args = arena_make(p->memory, p->n_backends, sizeof *args);
    size_t *which = arena_make(p->memory, p->n_backends, sizeof *which);
    sample_series *series = arena_make(p->memory, p->n_backends, sizeof *series);
    if (subjects == NULL || args == NULL || which == NULL || series == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to measure");
    }
    size_t n = 0, baseline = 0;
    for (size_t b = 0; b < p->n_backends; b++) {
        if (p->plans[b] == NULL || p->records[b].status != RECORD_OK) {
            continue;
        }
        args[n] = (subject){.p = p, .plan = p->plans[b], .index = (int32_t)b};
        subjects[n] = (sample_subject){.name = p->records[b].backend,
                                       .expected_ns = p->checked_ns[b],
                                       .run = run_subject,
                                       .before = p->work.kept.n > 0 ? restore_subject : NULL,
                                       .restores_each_run = p->work.kept.n > 0,
                                       .arg = &args[n],
                                       .ranges = p->ranges,
                                       .n_ranges = p->n_ranges};
        baseline = p->records[b].baseline ? n : baseline;
        which[n++] = b;
    }
    if (n == 0) {
        return ASSAY_OK;
    }
    TRY(enter(p, STAGE_MEASURE, -1, err));
    operators_ranges ranges = {.p = p->context->profile, .names = p->context->names, .which = which};
    const sample_listener listener = operators_ranges_listener(&ranges);
    int64_t budget_ns = o->timeout_s > 0 ? (int64_t)(0.8e9 * o->timeout_s) : 0;
    sample_options options = {.repeats = o->repeats,
                              .max_repeats = o->precision > 0 ? MOST_REPEATS : o->repeats,
                              .min_time_s = o->min_time_s,
                              .max_time_s = more_samples_s,
                              .stopping = o->precision > 0 ? stop_when_narrow(STOP_CONFIDENCE, o->precision) : stop_at_once(),
                              .baseline = baseline,
                              .cold = p->context->cold,
                              .clock = p->context->clock,
                              .listener = p->context->profile != NULL ? &listener : NULL,
                              .deadline_ns = budget_ns > 0 ? clock_now_ns(&p->context->clock) + budget_ns : 0};
    TRY(sample_all(p->memory, subjects, n, &options, series, err));
    for (size_t i = 0; i < n; i++) {
        if (series[i].result == ASSAY_OK) {
            TRY(check_again(p, which[i], err));
        }
        if (p->records[which[i]].status == RECORD_OK) {
            take_series(p, &p->records[which[i]], &series[i]);
        }
    }
    const record *base = &p->records[which[baseline]];
    for (size_t i = 0; i < n && base->baseline && base->status == RECORD_OK; i++) {
        record *r = &p->records[which[i]];
        if (r != base && r->status == RECORD_OK) {
            TRY(record_compare(r, base, &r->speedup, err));
        }
    }
    return ASSAY_OK;
}

/* What a record without samples still says: how much work it stands for. */
static status leave_unmeasured(point *p, error *err) {
    for (size_t b = 0; b < p->n_backends; b++) {
        record *r = &p->records[b];
        if (p->plans[b] != NULL && r->status == RECORD_OK) {
            r->flops = p->work.cost.flops;
            r->bytes = p->work.cost.bytes;
            TRY(record_summarise(r, err));
        }
    }
    return ASSAY_OK;
}

static status run_stages(point *p, error *err) {
    error reason = {0};
    TRY(enter(p, STAGE_INPUTS, -1, err));
    int64_t from = profile_now(p->context->profile);
    status made = bind_and_fill(p, &reason);
    profile_span(p->context->profile, "user_annotation", "make inputs", from, NULL, 0);
    profile_memory(p->context->profile);
    if (made != ASSAY_OK) {
        made = point_blame(p->memory, p->context->table, p->context->options, p->what, made, &reason);
        verdict_for_all(p, unmade_status(made), point_reason(p->memory, p->what, &reason));
        return ASSAY_OK;
    }
    save_inputs(p->context->options->save_directory, p->what, &p->work, p->context->options->seed, &p->context->progress->saved);
    if (p->context->options->check_accuracy) {
        TRY(enter(p, STAGE_REFERENCE, -1, err));
        from = profile_now(p->context->profile);
        made = expect(p, &reason);
        profile_span(p->context->profile, "user_annotation", "reference", from, NULL, 0);
        if (made != ASSAY_OK) {
            verdict_for_all(p, unmade_status(made), reason.message);
            return ASSAY_OK;
        }
    }
    for (size_t b = 0; b < p->n_backends; b++) {
        if (!p->excluded[b]) {
            TRY(prepare_plan(p, b, err));
        }
    }
    return p->context->options->repeats > 0 ? measure(p, err) : leave_unmeasured(p, err);
}

status point_run(arena *memory, const point_context *context, const operators_point *what, const bool *excluded,
                 record *records, error *err) {
    const operators_options *o = context->options;
    point p = {.memory = memory,
               .context = context,
               .what = what,
               .n_backends = o->n_backends,
               .records = records,
               .excluded = excluded};
    int64_t from = clock_now_ns(&context->clock);
    outputs_init(&p.work.inferred);
    for (size_t b = 0; b < p.n_backends; b++) {
        point_record_base(memory, o, what, context->names, b, &records[b]);
        records[b].worker = context->worker;
    }
    p.plans = arena_make(memory, p.n_backends, sizeof *p.plans);
    p.checked_ns = arena_make(memory, p.n_backends, sizeof *p.checked_ns);
    if (p.plans == NULL || p.checked_ns == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for plans");
    }
    TRY(run_stages(&p, err));
    status result = ASSAY_OK;
    operators_profile_point(context->profile, what, from);
    for (size_t b = 0; b < p.n_backends; b++) {
        if (p.plans[b] != NULL) {
            result = result == ASSAY_OK ? enter(&p, STAGE_RELEASE, (int32_t)b, err) : result;
            p.plans[b]->release(p.plans[b]);
        }
        result = result == ASSAY_OK ? record_warn_of_compile(memory, &records[b], err) : result;
        records[b].elapsed_s = (double)(clock_now_ns(&context->clock) - from) * 1e-9;
    }
    context->progress->backend = -1;
    output_memory_clear(&p.outputs);
    workload_clear(&p.work);
    return result;
}
