/* SPDX-License-Identifier: Apache-2.0 */
/* Two open-addressing tables: processes by pid, lanes by process and tid. */
#include "lab/trace/lanes.h"

#include "base/rng.h"
#include "lab/trace/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_CAPACITY = 64, ID_TEXT_BYTES = 4 * 1024 * 1024 };

status trace_lanes_init(trace_lanes *t, error *err) {
    *t = (trace_lanes){0};
    for (size_t i = 0; i < countof(t->recent); i++) {
        t->recent[i] = TRACE_NO_LANE;
    }
    return trace_names_init(&t->id_texts, TRACE_MAX_LANES, ID_TEXT_BYTES, err);
}

void trace_lanes_clear(trace_lanes *t) {
    arena_clear(&t->memory);
    trace_names_clear(&t->id_texts);
    free(t->processes);
    free(t->lanes);
    free(t->process_slots);
    free(t->lane_slots);
    *t = (trace_lanes){0};
}

static status too_many(error *err) {
    return fail(err, ASSAY_TOO_LARGE, "more than %d processes or threads: no trace of a program", TRACE_MAX_LANES);
}

/* One word for a pid or tid: whole numbers, other numbers and texts never share one (texts: by their number in
   id_texts). */
static status key_of(trace_lanes *t, const trace_id *id, uint64_t *out, error *err) {
    uint32_t number = 0;
    bool is_new = false;
    uint64_t bits = 0;
    switch (id->kind) {
    case TRACE_ID_NUMBER:
        if (fabs(id->number) < 1e15 && id->number == (double)(int64_t)id->number) {
            *out = (uint64_t)(int64_t)id->number << 2;
            return ASSAY_OK;
        }
        memcpy(&bits, &id->number, sizeof bits);
        *out = rng_mix(bits) << 2 | 1;
        return ASSAY_OK;
    case TRACE_ID_TEXT:
        TRY(trace_names_add(&t->id_texts, text_get(&id->text), id->text.length, &number, &is_new, err));
        *out = (uint64_t)number << 2 | 2;
        return number == TRACE_NAME_REST ? too_many(err) : ASSAY_OK;
    default:
        *out = id->kind == TRACE_ID_NULL ? 3 : 7;
        return ASSAY_OK;
    }
}

static const char *text_of(trace_lanes *t, const trace_id *id) {
    switch (id->kind) {
    case TRACE_ID_NUMBER:
        return arena_format(&t->memory, "%.15g", id->number);
    case TRACE_ID_TEXT:
        return arena_text(&t->memory, text_get(&id->text), id->text.length);
    default:
        return id->kind == TRACE_ID_NULL ? "null" : "";
    }
}

/* Makes room for one more row and its slot; the slots are emptied, and *rehash set, when they grew. */
static status make_room(void **rows, size_t row_bytes, uint32_t **slots, size_t n, size_t *capacity, bool *rehash,
                        error *err) {
    *rehash = false;
    if (n < *capacity) {
        return ASSAY_OK;
    }
    if (n >= TRACE_MAX_LANES) {
        return too_many(err);
    }
    size_t grown = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
    void *more = realloc(*rows, grown * row_bytes);
    if (more == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu lanes", grown);
    }
    *rows = more;
    uint32_t *emptied = calloc(grown * 2, sizeof *emptied);
    if (emptied == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu lanes", grown);
    }
    free(*slots);
    *slots = emptied;
    *capacity = grown;
    *rehash = true;
    return ASSAY_OK;
}

static uint64_t lane_hash(uint32_t process, uint64_t key) {
    return rng_mix(key ^ (uint64_t)process << 40);
}

static void put(uint32_t *slots, size_t n_slots, uint64_t hash, size_t index) {
    size_t at = hash & (n_slots - 1);
    while (slots[at] != 0) {
        at = (at + 1) & (n_slots - 1);
    }
    slots[at] = (uint32_t)index + 1;
}

static status process_of_key(trace_lanes *t, uint64_t key, const trace_id *pid, uint32_t *out, error *err) {
    size_t mask = t->process_capacity * 2 - 1;
    for (size_t at = rng_mix(key) & mask; t->process_capacity > 0 && t->process_slots[at] != 0; at = (at + 1) & mask) {
        if (t->processes[t->process_slots[at] - 1].key == key) {
            *out = t->process_slots[at] - 1;
            return ASSAY_OK;
        }
    }
    bool rehash = false;
    void *rows = t->processes;
    status made =
        make_room(&rows, sizeof *t->processes, &t->process_slots, t->n_processes, &t->process_capacity, &rehash, err);
    t->processes = rows;
    TRY(made);
    for (size_t i = 0; rehash && i < t->n_processes; i++) {
        put(t->process_slots, t->process_capacity * 2, rng_mix(t->processes[i].key), i);
    }
    const char *id = text_of(t, pid);
    if (id == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a process");
    }
    t->processes[t->n_processes] = (trace_process){.key = key, .id = id};
    put(t->process_slots, t->process_capacity * 2, rng_mix(key), t->n_processes);
    *out = (uint32_t)t->n_processes++;
    return ASSAY_OK;
}

status trace_lanes_process(trace_lanes *t, const trace_id *pid, uint32_t *out, error *err) {
    uint64_t key = 0;
    TRY(key_of(t, pid, &key, err));
    return process_of_key(t, key, pid, out, err);
}

static status add_lane(trace_lanes *t, uint32_t process, uint64_t key, const trace_id *tid, uint32_t *out, error *err) {
    bool rehash = false;
    void *rows = t->lanes;
    status made = make_room(&rows, sizeof *t->lanes, &t->lane_slots, t->n_lanes, &t->lane_capacity, &rehash, err);
    t->lanes = rows;
    TRY(made);
    for (size_t i = 0; rehash && i < t->n_lanes; i++) {
        put(t->lane_slots, t->lane_capacity * 2, lane_hash(t->lanes[i].process, t->lanes[i].key), i);
    }
    const char *id = text_of(t, tid);
    if (id == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a thread");
    }
    const trace_cover nothing = {.start_us = INFINITY, .end_us = -INFINITY};
    t->lanes[t->n_lanes] =
        (trace_lane){.key = key, .process = process, .id = id, .cover = nothing, .compat_cover = nothing};
    put(t->lane_slots, t->lane_capacity * 2, lane_hash(process, key), t->n_lanes);
    *out = (uint32_t)t->n_lanes++;
    return ASSAY_OK;
}

status trace_lanes_lane(trace_lanes *t, const trace_id *pid, const trace_id *tid, uint32_t *out, error *err) {
    uint64_t pid_key = 0, tid_key = 0;
    TRY(key_of(t, pid, &pid_key, err));
    TRY(key_of(t, tid, &tid_key, err));
    uint32_t *recent = &t->recent[(tid_key >> 2) % countof(t->recent)];
    if (*recent != TRACE_NO_LANE) {
        const trace_lane *last = &t->lanes[*recent];
        if (last->key == tid_key && t->processes[last->process].key == pid_key) {
            *out = *recent;
            return ASSAY_OK;
        }
    }
    uint32_t process = 0;
    TRY(process_of_key(t, pid_key, pid, &process, err));
    size_t mask = t->lane_capacity * 2 - 1;
    for (size_t at = lane_hash(process, tid_key) & mask; t->lane_capacity > 0 && t->lane_slots[at] != 0;
         at = (at + 1) & mask) {
        uint32_t lane = t->lane_slots[at] - 1;
        if (t->lanes[lane].process == process && t->lanes[lane].key == tid_key) {
            *out = *recent = lane;
            return ASSAY_OK;
        }
    }
    TRY(add_lane(t, process, tid_key, tid, out, err));
    *recent = *out;
    return ASSAY_OK;
}

status trace_lanes_set_name(trace_lanes *t, const char **name, const text *value, error *err) {
    if (*name != NULL && strcmp(*name, text_get(value)) == 0) {
        return ASSAY_OK; /* PyTorch says it several times */
    }
    const char *copy = arena_text(&t->memory, text_get(value), value->length);
    if (copy == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a thread's name");
    }
    *name = copy;
    return ASSAY_OK;
}

typedef enum lane_style { EVERY_LANE, XLA_OPS, STREAMS } lane_style;

static lane_style style_of(const trace_lane *lane) {
    const char *name = lane->name != NULL ? lane->name : "";
    return strncasecmp(name, "stream", 6) == 0 ? STREAMS : strcmp(name, "XLA Ops") == 0 ? XLA_OPS : EVERY_LANE;
}

status trace_lanes_settle(trace_lanes *t, error *err) {
    lane_style *wanted = calloc(t->n_processes + 1, sizeof *wanted);
    if (wanted == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu processes", t->n_processes);
    }
    for (size_t i = 0; i < t->n_lanes; i++) {
        const trace_lane *lane = &t->lanes[i];
        lane_style style = lane->n_plain_events > 0 ? style_of(lane) : EVERY_LANE;
        wanted[lane->process] = style > wanted[lane->process] ? style : wanted[lane->process];
    }
    for (size_t i = 0; i < t->n_lanes; i++) {
        trace_lane *lane = &t->lanes[i];
        trace_process *process = &t->processes[lane->process];
        lane_style style = wanted[lane->process];
        bool by_name = process->n_device_events == 0 && trace_process_says_device(process) &&
                       lane->n_plain_events > 0 && (style == EVERY_LANE || style_of(lane) == style);
        lane->is_device = lane->n_device_events > 0 || by_name;
        process->is_device = process->is_device || lane->is_device;
    }
    free(wanted);
    return ASSAY_OK;
}

bool trace_process_says_device(const trace_process *p) {
    const char *said = p->labels != NULL ? p->labels : p->name;
    return p->labelled || (said != NULL && trace_says_device(said));
}
