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
    point_progress *progress;  /* shared memory */
    worker_link *link;         /* set in the worker */
} job;

static status renew(void *self, error *err) {
    job *j = self;
    return worker_begin(j->link, j->progress->point, err);
}

static status open_backends(const operators_options *o, const op_table *table, backend **backends, error *err) {
    for (size_t b = 0; b < o->n_backends; b++) {
        TRY(backend_open(table, o->backend_files != NULL ? o->backend_files[b] : o->backends[b], &backends[b], err));
    }
    return ASSAY_OK;
}

static status send_records(job *j, const record *records, error *err) {
    text line = {0};
    status result = ASSAY_OK;
    for (size_t b = 0; result == ASSAY_OK && b < j->options->n_backends; b++) {
        if (j->excluded[b] && (size_t)j->progress->point == j->first) {
            continue; /* its supervisor has written that one */
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
    if (directory == NULL) {
        return ASSAY_OK;
    }
    TRY(worker_begin(j->link, (int64_t)i, err));
    TRY(operators_profile_begin(trace, directory, j->points[i].recorded->name, &context->clock, err));
    context->profile = trace->p;
    return ASSAY_OK;
}

static status work_through(job *j, point_context *context, operators_profile *trace, error *err) {
    static const bool none[64] = {false};
    for (size_t i = j->first; i < j->n_points; i++) {
        arena memory = {0};
        j->progress->point = (int64_t)i;
        j->progress->backend = -1;
        j->progress->stage = STAGE_START;
        TRY(choose_trace(j, context, trace, i, err));
        record *records = arena_make(&memory, j->options->n_backends, sizeof *records);
        status result = records != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for records");
        if (result == ASSAY_OK) {
            result = point_run(&memory, context, &j->points[i], i == j->first ? j->excluded : none, records, err);
        }
        if (result == ASSAY_OK) {
            result = send_records(j, records, err);
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
    TRY(op_table_new(&table, err));
    TRY(open_backends(j->options, table, backends, err));
    point_context context = {.options = j->options,
                             .names = j->names,
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
        backends[b]->close(backends[b]);
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
    int64_t begun; /* the point that the worker was last heard to be at */
    bool *arrived; /* per backend: its record of that point is here */
} supervisor;

static void note_arrival(supervisor *s, const record *r) {
    for (size_t b = 0; b < s->j->options->n_backends; b++) {
        s->arrived[b] = s->arrived[b] || strcmp(s->j->names[b].name, r->backend) == 0;
    }
}

static status on_message(void *self, const worker_message *message, error *err) {
    supervisor *s = self;
    if (message->kind == WORKER_BEGIN) {
        if (message->point != s->begun) {
            memset(s->arrived, 0, s->j->options->n_backends * sizeof *s->arrived);
        }
        s->begun = message->point;
        s->events->on_progress(s->events->arg, (size_t)message->point, &s->j->points[message->point]);
        return ASSAY_OK;
    }
    record r;
    TRY(record_read(&s->reader, message->data, message->n, &r, err));
    note_arrival(s, &r);
    return s->events->on_record(s->events->arg, &r, message->data, message->n, err);
}

static void on_idle(void *self) {
    supervisor *s = self;
    size_t i = (size_t)s->j->progress->point;
    if (i < s->j->n_points) {
        s->events->on_progress(s->events->arg, i, &s->j->points[i]);
    }
}

static status write_verdict(supervisor *s, size_t point, size_t b, record_status verdict, const char *reason, error *err) {
    record r;
    const operators_options *o = s->j->options;
    point_record_base(s->memory, o, &s->j->points[point], s->j->names, b, &r);
    r.status = verdict;
    r.reason = reason;
    text line = {0};
    record_write(&r, &line);
    status result = line.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record")
                                : s->events->on_record(s->events->arg, &r, text_get(&line), line.length, err);
    text_clear(&line);
    return result;
}

/* The worker died at a point. The backend at work there, or all of them where none was, get their verdict, unless their record has
   come; the point is done again for the others, so that one crash costs one row. Where it was is what the worker itself wrote, and a
   worker that dies may have written anything. */
static status record_death(supervisor *s, const worker_outcome *outcome, bool *excluded, error *err) {
    const operators_options *o = s->j->options;
    int64_t point = s->j->progress->point;
    size_t at = point >= (int64_t)s->j->first && point < (int64_t)s->j->n_points ? (size_t)point : s->j->first;
    int32_t guilty = s->j->progress->backend < (int32_t)o->n_backends ? s->j->progress->backend : -1;
    record_status verdict = outcome->end == WORKER_END_HUNG ? RECORD_TIMEOUT : RECORD_FAILED;
    if (at != s->j->first) {
        memset(excluded, 0, o->n_backends * sizeof *excluded);
        s->j->first = at;
    }
    for (size_t b = 0; b < o->n_backends; b++) {
        excluded[b] = excluded[b] || (s->begun == (int64_t)at && s->arrived[b]);
    }
    guilty = guilty >= 0 && excluded[guilty] ? -1 : guilty;
    const char *reason = arena_format(s->memory, "%s while %s%s%s", outcome->err.message,
                                      point_stage_text(s->j->progress->stage), guilty >= 0 ? " on " : "",
                                      guilty >= 0 ? s->j->names[guilty].name : "");
    size_t left = 0;
    for (size_t b = 0; b < o->n_backends; b++) {
        if (!excluded[b] && (guilty < 0 || (size_t)guilty == b)) {
            excluded[b] = true;
            TRY(write_verdict(s, at, b, verdict, reason, err));
        }
        left += excluded[b] ? 0 : 1;
    }
    if (left == 0) {
        memset(excluded, 0, o->n_backends * sizeof *excluded);
        s->j->first = at + 1;
    }
    return ASSAY_OK;
}

static status supervise(supervisor *s, bool *excluded, operators_outcome *out, error *err) {
    const operators_options *o = s->j->options;
    /* Libraries, code and the worker's own bookkeeping come on top of what an input may take. */
    const double overhead_bytes = 2.0 * 1024 * 1024 * 1024;
    worker_options w = {.timeout_s = o->timeout_s,
                        .memory_bytes = (size_t)(o->max_memory_bytes + overhead_bytes),
                        .on_message = on_message,
                        .on_idle = on_idle,
                        .callback_arg = s};
    while (s->j->first < s->j->n_points) {
        worker_outcome outcome;
        s->j->progress->point = (int64_t)s->j->first;
        s->j->progress->backend = -1;
        s->j->progress->stage = STAGE_START;
        TRY(worker_run(&w, worker_body_of_job, s->j, &outcome, err));
        out->workers++;
        if (outcome.end != WORKER_END_OK && o->profile_directory != NULL) {
            operators_profile_discard(o->profile_directory, s->j->points, (size_t)s->j->progress->point,
                                      s->j->progress->process);
        }
        if (outcome.end == WORKER_END_OK) {
            s->j->first = s->j->n_points;
        } else if (outcome.end == WORKER_END_INTERRUPTED) {
            out->interrupted = true;
            break;
        } else if (s->j->progress->stage == STAGE_CLOSE && s->j->progress->point == (int64_t)s->j->n_points - 1) { /* all results are here */
            out->end = arena_format(s->memory, "%s while %s, after the last result", outcome.err.message, point_stage_text(STAGE_CLOSE));
            s->j->first = s->j->n_points;
        } else {
            TRY(record_death(s, &outcome, excluded, err));
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
    if (shared == MAP_FAILED || excluded == NULL || arrived == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a run");
    }
    job j = {.options = options,
             .names = backends,
             .points = points,
             .n_points = n,
             .excluded = excluded,
             .progress = shared};
    supervisor s = {.memory = memory, .j = &j, .events = events, .reader = {.memory = memory}, .begun = -1, .arrived = arrived};
    operators_outcome outcome = {0};
    status result = options->save_directory != NULL ? save_begin(options->save_directory, err) : ASSAY_OK;
    if (result == ASSAY_OK && options->profile_directory != NULL) {
        result = operators_profile_check(options->profile_directory, err);
    }
    if (result == ASSAY_OK) {
        result = supervise(&s, excluded, &outcome, err);
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
