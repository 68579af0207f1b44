/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: chooses points, keeps a worker alive, turns its deaths into records. */
#include "lab/experiment/operators.h"

#include "engine/compile/build.h"
#include "lab/experiment/operators_point.h"
#include "lab/experiment/operators_profile.h"
#include "lab/experiment/save.h"
#include "lab/measure/worker.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the worker's side ----------------------------------------------------------------------------------------------------- */

typedef struct job {
    const operators_options *options;
    const operators_backend *names;
    const operators_point *points;
    size_t n_points;
    size_t first;              /* where to begin */
    const bool *excluded;      /* backends that already failed at point `first` */
    int worker;                /* which of the run's this one is, from 0 */
    int32_t alone;             /* a trial: the one backend to open, for point `first` and no other; -1: none */
    point_progress *progress;  /* shared memory */
    worker_link *link;         /* set in the worker */
} job;

static status renew(void *self, error *err) {
    job *j = self;
    return worker_begin(j->link, j->progress->point, err);
}

static status open_backends(const job *j, const op_table *table, backend **backends, error *err) {
    const operators_options *o = j->options;
    for (size_t b = 0; b < o->n_backends; b++) {
        if (j->alone >= 0 && (size_t)j->alone != b) {
            continue; /* loading is enough to do harm */
        }
        TRY(backend_open(table, o->backend_files != NULL ? o->backend_files[b] : o->backends[b], &backends[b], err));
    }
    return ASSAY_OK;
}

static status send_records(job *j, const bool *excluded, const record *records, error *err) {
    text line = {0};
    status result = ASSAY_OK;
    for (size_t b = 0; result == ASSAY_OK && b < j->options->n_backends; b++) {
        if (excluded[b]) {
            continue; /* its supervisor has written that one, or will hear of it from another worker */
        }
        text_reset(&line);
        record_write(&records[b], &line);
        result = line.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record")
                             : worker_send(j->link, text_get(&line), line.length, err);
    }
    text_clear(&line);
    return result;
}

/* The trace that point `i` goes into; writing out another operator's may take a while. */
static status choose_trace(job *j, point_context *context, operators_profile *trace, size_t i, error *err) {
    const char *directory = j->options->profile_directory;
    if (directory == NULL || j->alone >= 0) {
        return ASSAY_OK;
    }
    TRY(worker_begin(j->link, (int64_t)i, err));
    TRY(operators_profile_begin(trace, directory, j->points[i].recorded->name, &context->clock, err));
    context->profile = trace->p;
    return ASSAY_OK;
}

static status work_through(job *j, point_context *context, operators_profile *trace, error *err) {
    static const bool none[64] = {false};
    bool others[64];
    for (size_t b = 0; b < countof(others); b++) {
        others[b] = j->alone != (int32_t)b;
    }
    size_t end = j->alone >= 0 ? j->first + 1 : j->n_points;
    for (size_t i = j->first; i < end; i++) {
        const bool *excluded = j->alone >= 0 ? others : i == j->first ? j->excluded : none;
        arena memory = {0};
        j->progress->point = (int64_t)i;
        j->progress->backend = -1;
        j->progress->stage = STAGE_START;
        TRY(choose_trace(j, context, trace, i, err));
        record *records = arena_make(&memory, j->options->n_backends, sizeof *records);
        status result = records != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for records");
        if (result == ASSAY_OK) {
            result = point_run(&memory, context, &j->points[i], excluded, records, err);
        }
        if (result == ASSAY_OK) {
            result = send_records(j, excluded, records, err);
        }
        TRY(result); /* nothing is released: the process ends, and its memory may be damaged */
        arena_clear(&memory);
    }
    j->progress->backend = -1;
    j->progress->stage = STAGE_CLOSE;
    return ASSAY_OK;
}

static status worker_body_of_job(worker_link *link, void *self, error *err) {
    enum { MAX_BACKENDS = 64 };
    job *j = self;
    op_table *table = NULL;
    backend *backends[MAX_BACKENDS] = {NULL};
    cache_evictor evictor = {0};
    j->link = link;
    j->progress->point = (int64_t)j->first;
    j->progress->process = (int32_t)getpid();
    omp_set_num_threads(j->options->threads);
    omp_set_dynamic(0); /* as many as the records say */
    TRY(op_table_new(&table, err));
    TRY(open_backends(j, table, backends, err));
    point_context context = {.options = j->options,
                             .names = j->names,
                             .worker = j->worker,
                             .table = table,
                             .backends = backends,
                             .clock = clock_monotonic(),
                             .progress = j->progress,
                             .renew_deadline = renew,
                             .renew_arg = j};
    if (j->options->cold_cache) {
        const machine_facts *m = j->options->machine;
        TRY(cache_evictor_init(&evictor, m != NULL ? (size_t)machine_last_level_bytes(m) : 0, 0, err));
        context.cold = &evictor;
    }
    operators_profile trace = {0};
    status result = work_through(j, &context, &trace, err);
    if (result == ASSAY_OK) {
        result = operators_profile_end(&trace, err);
    } else {
        operators_profile_abandon(&trace);
        return result;
    }
    cache_evictor_clear(&evictor);
    for (size_t b = 0; b < j->options->n_backends; b++) {
        if (backends[b] != NULL) {
            backends[b]->close(backends[b]);
        }
    }
    op_table_free(table);
    return result;
}

/* --- the supervisor's side ------------------------------------------------------------------------------------------------- */

typedef struct supervisor {
    arena *memory;
    job *j;
    const operators_events *events;
    record_reader reader;
    worker_options worker;
    operators_outcome *out;
    lab_clock clock;
    int64_t begun;  /* the point that the worker was last heard to be at */
    int64_t stage_ns; /* since when its stage lasts */
    int64_t point_ns; /* since when a worker for all backends has been at that point; trials go on from there */
    double lost_s;    /* what a worker took whose death is nobody's */
    bool *arrived;  /* per backend: its record of that point is here */
    bool *excluded; /* per backend: it is done with the job's first point */
    text *held;     /* per backend: the record of a trial */
} supervisor;

/* The record's backend, or SIZE_MAX where it is nobody's. */
static size_t note_arrival(supervisor *s, const record *r) {
    for (size_t b = 0; b < s->j->options->n_backends; b++) {
        if (strcmp(s->j->names[b].name, r->backend) == 0) {
            s->arrived[b] = true;
            return b;
        }
    }
    return SIZE_MAX;
}

static void forget_arrivals(supervisor *s) {
    memset(s->arrived, 0, s->j->options->n_backends * sizeof *s->arrived);
}

static status hold(supervisor *s, size_t b, const worker_message *message, error *err) {
    if (b == SIZE_MAX) {
        return ASSAY_OK;
    }
    text_reset(&s->held[b]);
    text_add_bytes(&s->held[b], message->data, message->n);
    return s->held[b].failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record") : ASSAY_OK;
}

static double since_s(const supervisor *s, int64_t from_ns) {
    return (double)(clock_now_ns(&s->clock) - from_ns) * 1e-9;
}

static void tell_progress(const supervisor *s, size_t point) {
    const point_progress *now = s->j->progress;
    const int32_t b = now->backend, stage = now->stage; /* the worker writes them meanwhile */
    bool is_one = b >= 0 && (size_t)b < s->j->options->n_backends && stage != STAGE_MEASURE; /* which takes turns */
    const operators_progress where = {.point = point,
                                      .at = &s->j->points[point],
                                      .stage = point_stage_text(stage),
                                      .backend = is_one ? s->j->names[b].name : NULL,
                                      .stage_s = since_s(s, s->stage_ns)};
    s->events->on_progress(s->events->arg, &where);
}

static status on_message(void *self, const worker_message *message, error *err) {
    supervisor *s = self;
    if (message->kind == WORKER_BEGIN) {
        if (message->point != s->begun) {
            forget_arrivals(s);
            s->point_ns = s->j->alone < 0 ? clock_now_ns(&s->clock) : s->point_ns;
        }
        s->begun = message->point;
        s->stage_ns = clock_now_ns(&s->clock);
        tell_progress(s, (size_t)message->point);
        return ASSAY_OK;
    }
    record r;
    TRY(record_read(&s->reader, message->data, message->n, &r, err));
    size_t b = note_arrival(s, &r);
    return s->j->alone >= 0 ? hold(s, b, message, err) : s->events->on_record(s->events->arg, &r, message->data, message->n, err);
}

static void on_idle(void *self) {
    supervisor *s = self;
    size_t i = (size_t)s->j->progress->point;
    if (i < s->j->n_points) {
        tell_progress(s, i);
    }
}

static status hand_on(supervisor *s, const record *r, error *err) {
    text line = {0};
    record_write(r, &line);
    status result = line.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record")
                                : s->events->on_record(s->events->arg, r, text_get(&line), line.length, err);
    text_clear(&line);
    return result;
}

static status write_verdict(supervisor *s, size_t point, size_t b, record_status verdict, const char *reason, error *err) {
    record r;
    const operators_options *o = s->j->options;
    point_record_base(s->memory, o, &s->j->points[point], s->j->names, b, &r);
    r.status = verdict;
    r.reason = reason;
    r.worker = s->out->workers - 1;
    r.elapsed_s = since_s(s, s->point_ns);
    return hand_on(s, &r, err);
}

/* Backend b, or where it is negative every one that is not done, gets the verdict that a worker's death is. */
static status record_verdicts(supervisor *s, const worker_outcome *outcome, int32_t b, error *err) {
    record_status verdict = outcome->end == WORKER_END_HUNG ? RECORD_TIMEOUT : RECORD_FAILED;
    const char *reason = arena_format(s->memory, "%s while %s%s%s", outcome->err.message, point_stage_text(s->j->progress->stage),
                                      b >= 0 ? " on " : "", b >= 0 ? s->j->names[b].name : "");
    for (size_t i = 0; i < s->j->options->n_backends; i++) {
        if (!s->excluded[i] && (b < 0 || (size_t)b == i)) {
            s->excluded[i] = true;
            TRY(write_verdict(s, s->j->first, i, verdict, reason, err));
        }
    }
    return ASSAY_OK;
}

static status run_worker(supervisor *s, int32_t alone, worker_outcome *outcome, error *err) {
    s->j->alone = alone;
    s->j->worker = s->out->workers;
    s->j->progress->point = (int64_t)s->j->first;
    s->j->progress->backend = -1;
    s->j->progress->stage = STAGE_START;
    s->stage_ns = clock_now_ns(&s->clock);
    s->point_ns = alone < 0 ? s->stage_ns : s->point_ns;
    status result = worker_run(&s->worker, worker_body_of_job, s->j, outcome, err);
    s->j->alone = -1;
    s->out->workers++;
    return result;
}

/* A plug-in of the user's: code that may do anything to the worker. Others are known by name. */
static bool is_strange(const supervisor *s, size_t b) {
    return strchr(s->j->options->backends[b], '/') != NULL;
}

/* Whether another than the backend at work may have brought about the worker's death: a plug-in beside it, which may have damaged the
   memory of both or taken all of it. A reference that takes too long does so whoever else is there. */
static bool is_doubtful(const supervisor *s, const worker_outcome *outcome, int32_t at_work) {
    size_t n_left = 0, n_suspects = 0;
    for (size_t b = 0; b < s->j->options->n_backends; b++) {
        n_left += !s->excluded[b];
        n_suspects += !s->excluded[b] && (int32_t)b != at_work && is_strange(s, b);
    }
    return n_left > 1 && n_suspects > 0 && (at_work >= 0 || outcome->end != WORKER_END_HUNG);
}

static status hand_on_held(supervisor *s, error *err) {
    for (size_t b = 0; b < s->j->options->n_backends; b++) {
        record r;
        if (s->excluded[b]) {
            continue;
        }
        s->excluded[b] = true;
        TRY(record_read(&s->reader, text_get(&s->held[b]), s->held[b].length, &r, err));
        r.elapsed_s += s->lost_s;
        s->lost_s = 0;
        TRY(hand_on(s, &r, err));
    }
    return ASSAY_OK;
}

/* Who is it? Each backend does the point in a worker of its own, the one that was at work first, then plug-ins, until one of them dies
   there too and gets the verdict: the others then do the point together. Where all live, what they measured apart is what there is. */
static status try_apart(supervisor *s, int32_t at_work, error *err) {
    size_t n = s->j->options->n_backends;
    bool found = false;
    s->lost_s = since_s(s, s->point_ns);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t b = 0; b < n && !found && !s->out->interrupted; b++) {
            int turn_of_b = (int32_t)b == at_work ? 0 : is_strange(s, b) ? 1 : 2;
            if (s->excluded[b] || turn_of_b != turn) {
                continue;
            }
            worker_outcome outcome;
            forget_arrivals(s);
            TRY(run_worker(s, (int32_t)b, &outcome, err));
            s->out->interrupted = outcome.end == WORKER_END_INTERRUPTED;
            if (!s->out->interrupted && !s->arrived[b]) {
                found = true;
                TRY(record_verdicts(s, &outcome, (int32_t)b, err));
            }
        }
    }
    forget_arrivals(s); /* what is held has not been handed on */
    return found || s->out->interrupted ? ASSAY_OK : hand_on_held(s, err);
}

/* The worker died at a point. The backend at work there, or all of them where none was, get their verdict, unless their record has
   come or it may have been another; the point is done again for the others, so that one crash costs one row. Where it was is what the
   worker itself wrote, and a worker that dies may have written anything. */
static status record_death(supervisor *s, const worker_outcome *outcome, error *err) {
    const operators_options *o = s->j->options;
    int64_t point = s->j->progress->point;
    size_t at = point >= (int64_t)s->j->first && point < (int64_t)s->j->n_points ? (size_t)point : s->j->first;
    int32_t at_work = s->j->progress->backend < (int32_t)o->n_backends ? s->j->progress->backend : -1;
    if (at != s->j->first) {
        memset(s->excluded, 0, o->n_backends * sizeof *s->excluded);
        s->j->first = at;
    }
    for (size_t b = 0; b < o->n_backends; b++) {
        s->excluded[b] = s->excluded[b] || (s->begun == (int64_t)at && s->arrived[b]);
    }
    at_work = at_work >= 0 && s->excluded[at_work] ? -1 : at_work;
    TRY(is_doubtful(s, outcome, at_work) ? try_apart(s, at_work, err) : record_verdicts(s, outcome, at_work, err));
    size_t left = 0;
    for (size_t b = 0; b < o->n_backends; b++) {
        left += s->excluded[b] ? 0 : 1;
    }
    if (left == 0) {
        memset(s->excluded, 0, o->n_backends * sizeof *s->excluded);
        s->j->first = at + 1;
    }
    return ASSAY_OK;
}

static status supervise(supervisor *s, error *err) {
    const operators_options *o = s->j->options;
    operators_outcome *out = s->out;
    while (s->j->first < s->j->n_points && !out->interrupted) {
        worker_outcome outcome;
        TRY(run_worker(s, -1, &outcome, err));
        if (outcome.end != WORKER_END_OK && o->profile_directory != NULL) {
            operators_profile_discard(o->profile_directory, s->j->points, (size_t)s->j->progress->point,
                                      s->j->progress->process);
        }
        if (outcome.end == WORKER_END_OK) {
            s->j->first = s->j->n_points;
        } else if (outcome.end == WORKER_END_INTERRUPTED) {
            out->interrupted = true;
        } else if (s->j->progress->stage == STAGE_CLOSE && s->j->progress->point == (int64_t)s->j->n_points - 1) { /* all results are here */
            out->end = arena_format(s->memory, "%s while %s, after the last result", outcome.err.message, point_stage_text(STAGE_CLOSE));
            s->j->first = s->j->n_points;
        } else {
            TRY(record_death(s, &outcome, err));
        }
    }
    out->points_done = out->interrupted ? (size_t)s->j->progress->point : s->j->n_points;
    return ASSAY_OK;
}

status operators_run(arena *memory, const operators_options *options, const operators_backend *backends,
                     const operators_point *points, size_t n, const operators_events *events, operators_outcome *out,
                     error *err) {
    point_progress *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool *excluded = arena_make(memory, options->n_backends, sizeof *excluded), *arrived = arena_make(memory, options->n_backends, sizeof *arrived);
    text *held = arena_make(memory, options->n_backends, sizeof *held);
    if (shared == MAP_FAILED || excluded == NULL || arrived == NULL || held == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a run");
    }
    /* Libraries, code and the worker's own bookkeeping come on top of what an input may take. */
    const double overhead_bytes = 2.0 * 1024 * 1024 * 1024;
    job j = {.options = options,
             .names = backends,
             .points = points,
             .n_points = n,
             .excluded = excluded,
             .alone = -1,
             .progress = shared};
    operators_outcome outcome = {0};
    supervisor s = {.memory = memory,
                    .j = &j,
                    .events = events,
                    .reader = {.memory = memory},
                    .out = &outcome,
                    .clock = clock_monotonic(),
                    .begun = -1,
                    .arrived = arrived,
                    .excluded = excluded,
                    .held = held};
    s.worker = (worker_options){.timeout_s = options->timeout_s,
                                .memory_bytes = (size_t)(options->max_memory_bytes + overhead_bytes),
                                .on_message = on_message,
                                .on_idle = on_idle,
                                .callback_arg = &s};
    status result = options->save_directory != NULL ? save_begin(options->save_directory, err) : ASSAY_OK;
    if (result == ASSAY_OK && options->profile_directory != NULL) {
        result = operators_profile_check(options->profile_directory, err);
    }
    if (result == ASSAY_OK) {
        result = supervise(&s, err);
    }
    for (size_t b = 0; b < options->n_backends; b++) {
        text_clear(&held[b]);
    }
    outcome.unsaved = shared->saved.n_failures;
    outcome.why = outcome.unsaved > 0 ? arena_text(memory, shared->saved.first, strnlen(shared->saved.first, sizeof shared->saved.first)) : NULL;
    module_sweep(); /* what workers that died while they compiled have left */
    munmap(shared, sizeof *shared);
    if (result == ASSAY_OK) {
        *out = outcome;
    }
    return result;
}
