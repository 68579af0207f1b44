/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the traces of a run, and names the ranges in them. */
#include "lab/experiment/operators_profile.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *operators_profile_path(arena *memory, const char *directory, const char *operator_name) {
    char *path = arena_format(memory, "%s/operator_%s.json.gz", directory, operator_name);
    for (char *at = path != NULL ? path + strlen(directory) + 1 : NULL; at != NULL && *at != '\0'; at++) {
        *at = *at == '/' ? '_' : *at;
    }
    return path;
}

status operators_profile_end(operators_profile *t, error *err) {
    trace_writer *writer = t->writer;
    profile_memory(t->p);
    profile_free(t->p);
    *t = (operators_profile){0};
    return trace_writer_close(writer, err);
}

void operators_profile_abandon(operators_profile *t) {
    profile_free(t->p);
    trace_writer_abandon(t->writer);
    *t = (operators_profile){0};
}

status operators_profile_begin(operators_profile *t, const char *directory, const char *operator_name, lab_clock *clock,
                               error *err) {
    if (t->operator_name != NULL && strcmp(t->operator_name, operator_name) == 0) {
        return ASSAY_OK;
    }
    TRY(operators_profile_end(t, err));
    arena memory = {0};
    const char *path = operators_profile_path(&memory, directory, operator_name);
    status result = path != NULL ? trace_writer_open(path, &t->writer, err)
                                 : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's name");
    arena_clear(&memory);
    if (result == ASSAY_OK) {
        result = profile_new(t->writer, clock->now_ns, clock->self, &t->p, err);
    }
    if (result != ASSAY_OK) {
        operators_profile_abandon(t);
        return result;
    }
    t->operator_name = operator_name;
    return ASSAY_OK;
}

status operators_profile_check(const char *directory, error *err) {
    arena memory = {0};
    trace_writer *probe = NULL;
    TRY(file_make_directories(directory, err));
    const char *path = operators_profile_path(&memory, directory, "probe");
    status result = path != NULL ? trace_writer_open(path, &probe, err)
                                 : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's name");
    if (result == ASSAY_OK) {
        trace_writer_abandon(probe);
    }
    arena_clear(&memory);
    return result;
}

/* The operator before this point's may still have been under way, being written out. */
void operators_profile_discard(const char *directory, const operators_point *points, size_t at, int process) {
    arena memory = {0};
    for (size_t i = at > 0 ? at - 1 : at; i <= at; i++) {
        const char *path = operators_profile_path(&memory, directory, points[i].recorded->name);
        if (path != NULL) {
            trace_writer_discard(path, process);
        }
    }
    arena_clear(&memory);
}

/* --- ranges ----------------------------------------------------------------------------------------------------------------- */

static int depth_of(sample_part part) {
    return part == SAMPLE_TURN ? 1 : 0;
}

static void begin(void *self, sample_part part, size_t index) {
    operators_ranges *r = self;
    r->begin_ns[depth_of(part)] = profile_now(r->p);
    if (part != SAMPLE_ROUND) {
        profile_set_backend(r->p, r->names[r->which[index]].name);
    }
}

static void end(void *self, sample_part part, size_t index) {
    static const char *const texts[] = {
        [SAMPLE_WARM_UP] = "warm_up", [SAMPLE_ROUND] = "rep", [SAMPLE_TURN] = "model"};
    operators_ranges *r = self;
    bool of_backend = part != SAMPLE_ROUND;
    size_t shown = of_backend ? r->which[index] : index;
    char name[48];
    snprintf(name, sizeof name, "%s_%zu", texts[part], shown);
    const trace_arg which = {
        .key = "backend", .kind = TRACE_ARG_TEXT, .text = of_backend ? r->names[shown].name : ""};
    profile_span(r->p, "user_annotation", name, r->begin_ns[depth_of(part)], &which, of_backend ? 1 : 0);
}

sample_listener operators_ranges_listener(operators_ranges *ranges) {
    return (sample_listener){.begin = begin, .end = end, .self = ranges};
}

void operators_profile_point(profile *p, const operators_point *point, int64_t start_ns) {
    char name[48];
    snprintf(name, sizeof name, "iter_%" PRId64, point->sample);
    const trace_arg args[] = {
        {.key = "operator", .kind = TRACE_ARG_TEXT, .text = point->recorded->name},
        {.key = "input", .kind = TRACE_ARG_TEXT, .text = point->in->text},
        {.key = "sample_index", .kind = TRACE_ARG_INT, .integer = point->sample_index},
    };
    profile_span(p, "user_annotation", name, start_ns, args, countof(args));
}

void operators_profile_prepare(profile *p, const char *backend_name, int64_t start_ns) {
    const trace_arg which = {.key = "backend", .kind = TRACE_ARG_TEXT, .text = backend_name};
    profile_span(p, "compile", "prepare", start_ns, &which, 1);
}
