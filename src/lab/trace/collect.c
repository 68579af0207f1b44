/* SPDX-License-Identifier: Apache-2.0 */
/* Visits events: metadata to the lanes, complete events and flows to records. */
#include "lab/trace/collect.h"

#include "base/hash.h"
#include "base/rng.h"
#include "lab/trace/classify.h"

#include <math.h>
#include <string.h>

#define MAX_TIME_US 1e18 /* thirty thousand years: sums of such times stay finite */

/* Kernel names are C++ types of up to kilobytes, but few; a program with more than these has other trouble. Half of the
   room is kept for kernels that have a category. */
enum { MAX_NAMES = 64 * 1024, MAX_NAME_BYTES = 8 * 1024 * 1024 };

/* Of the host's events. A name beyond these is looked into each time that it comes. */
enum { MAX_OTHER_NAMES = 8 * 1024, MAX_OTHER_NAME_BYTES = 1024 * 1024 };

static inline bool name_is(const trace_event *e, const char *name) {
    size_t n = strlen(name);
    return e->has_name && e->name.length == n && memcmp(text_get(&e->name), name, n) == 0;
}

/* Valid UTF-8 is looked for in new names only, so it may be slow. */
static bool is_utf8(const char *name, size_t length) {
    const unsigned char *p = (const unsigned char *)name, *end = p + length;
    while (p < end) {
        unsigned char c = *p++;
        int more = c < 0x80                ? 0
                   : c >= 0xc2 && c < 0xe0 ? 1
                   : c >= 0xe0 && c < 0xf0 ? 2
                   : c >= 0xf0 && c < 0xf5 ? 3
                                           : -1;
        if (more < 0 || more > end - p) {
            return false;
        }
        while (more-- > 0) {
            if ((*p++ & 0xc0) != 0x80) {
                return false;
            }
        }
    }
    return true;
}

static void warn_of_name(trace_collection *c, const trace_event *e, uint32_t name, bool is_new) {
    if (name == TRACE_NAME_REST) {
        trace_warn(&c->warnings, TRACE_WARNING_NAMES_FULL, e->offset);
    }
    if (e->name_cut) {
        trace_warn(&c->warnings, TRACE_WARNING_NAME_CUT, e->offset);
    }
    if (is_new && !is_utf8(text_get(&e->name), e->name.length)) {
        trace_warn(&c->warnings, TRACE_WARNING_NOT_UTF8, e->offset);
    }
}

static status add_name(trace_collection *c, trace_names *names, const trace_event *e,
                       trace_work (*work_of)(const char *, size_t), trace_record *record, error *err) {
    uint32_t id = 0;
    bool is_new = false;
    const char *name = text_get(&e->name);
    TRY(trace_names_add(names, name, e->name.length, &id, &is_new, err));
    if (is_new) {
        names->rows[id].work = (uint8_t)work_of(name, e->name.length);
        names->rows[id].compat = trace_compat_mm_conv(name, e->name.length);
    }
    warn_of_name(c, e, id, is_new);
    record->name = id;
    record->compat = id == TRACE_NAME_REST ? trace_compat_mm_conv(name, e->name.length) : names->rows[id].compat;
    return ASSAY_OK;
}

/* What is known of the name of an event that figures name nowhere, until the next such event. */
static status look_up_other(trace_collection *c, const trace_event *e, const trace_name **out, error *err) {
    uint32_t id = 0;
    bool is_new = false;
    const char *name = text_get(&e->name);
    TRY(trace_names_add(&c->others, name, e->name.length, &id, &is_new, err));
    trace_name *row = &c->others.rows[id];
    if (is_new || id == TRACE_NAME_REST) {
        row->compat = trace_compat_mm_conv(name, e->name.length);
        row->launches = trace_call_launches(name, e->name.length);
    }
    *out = row;
    return ASSAY_OK;
}

/* A number that joins records, as 32 bits: itself where it fits, as CUPTI's do. */
static uint32_t key_of_number(double number) {
    if (number >= 0 && number <= UINT32_MAX && number == (double)(uint32_t)number) {
        return (uint32_t)number;
    }
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return isfinite(number) ? (uint32_t)rng_mix(bits) | 1 : 0;
}

static bool within(const trace_cover *cover, double start_us, double end_us) {
    return cover->start_us <= start_us && end_us <= cover->end_us;
}

/* An event of the host is recorded only because its process may turn out to be labelled as a device, and then counts in
   unions only. Nested in what was recorded already it adds exactly nothing, and most are: operators nest. */
static bool adds_nothing(trace_lane *lane, const trace_record *r) {
    double end_us = r->start_us + r->duration_us;
    bool covered = within(&lane->cover, r->start_us, end_us);
    bool compat_covered = !r->compat || within(&lane->compat_cover, r->start_us, end_us);
    if (!covered) {
        lane->cover = (trace_cover){r->start_us, end_us};
    }
    if (!compat_covered) {
        lane->compat_cover = (trace_cover){r->start_us, end_us};
    }
    return covered && compat_covered && r->duration_us >= 0;
}

/* Known before the end of the file. A name alone says little: PyTorch calls a GPU's process "python3". */
static bool is_surely_host(const trace_process *p) {
    bool named_host = p->name != NULL && strncmp(p->name, "/host:", 6) == 0;
    return !trace_process_says_device(p) && (p->labels != NULL || named_host);
}

static status name_record(trace_collection *c, const trace_event *e, trace_lane *lane, trace_record *r, bool *launches,
                          error *err) {
    bool is_host = c->lanes.processes[lane->process].is_surely_host;
    switch (r->kind) {
    case TRACE_KIND_KERNEL:
        return add_name(c, &c->kernels, e, trace_work_of_kernel, r, err);
    case TRACE_KIND_OPERATOR:
        if (c->by_operator) {
            return add_name(c, &c->operators, e, trace_work_of_operator, r, err);
        }
        break;
    case TRACE_KIND_PLAIN:
        if (!is_host && c->kernels.n_rows < MAX_NAMES / 2 && c->kernels.used_bytes < MAX_NAME_BYTES / 2) {
            return add_name(c, &c->kernels, e, trace_work_of_kernel, r, err);
        }
        break;
    default:
        break;
    }
    const trace_name *other = NULL;
    TRY(look_up_other(c, e, &other, err));
    r->compat = other->compat;
    *launches = other->launches;
    return ASSAY_OK;
}

static void count_event(trace_collection *c, trace_lane *lane, const trace_record *r) {
    bool device = r->kind == TRACE_KIND_KERNEL || r->kind == TRACE_KIND_COPY || r->kind == TRACE_KIND_SET;
    lane->n_device_events += device;
    lane->n_plain_events += r->kind == TRACE_KIND_PLAIN;
    c->lanes.processes[lane->process].n_device_events += device;
    c->has_correlations = c->has_correlations || (device && r->link != 0);
    double end_us = r->start_us + r->duration_us;
    if (r->kind != TRACE_KIND_PROFILER && r->duration_us >= 0) {
        c->first_us = r->start_us < c->first_us ? r->start_us : c->first_us;
        c->last_us = end_us > c->last_us ? end_us : c->last_us;
    }
}

/* Whether the record is wanted for more than compat's unions. */
static bool is_wanted(const trace_collection *c, const trace_record *r, bool launches) {
    switch (r->kind) {
    case TRACE_KIND_HOST:
    case TRACE_KIND_PROFILER:
        return false;
    case TRACE_KIND_CALL:
        return r->link != 0 && launches;
    case TRACE_KIND_OPERATOR:
        return c->by_operator;
    default:
        return true;
    }
}

static status collect_complete(trace_collection *c, const trace_event *e, error *err) {
    c->n_complete++;
    bool usable = fabs(e->start_us) <= MAX_TIME_US && fabs(e->duration_us) <= MAX_TIME_US; /* NaN is not */
    if (!usable || e->pid.kind == TRACE_ID_MISSING) {
        trace_warn(&c->warnings, TRACE_WARNING_NO_TIME, e->offset);
        return ASSAY_OK;
    }
    trace_record r = {.start_us = e->start_us, .duration_us = e->duration_us};
    r.kind = trace_kind_of(text_get(&e->category), e->category.length) & 0x7f;
    if (r.duration_us < 0) {
        trace_warn(&c->warnings, TRACE_WARNING_NEGATIVE_DURATION, e->offset);
    }
    uint32_t at = 0;
    TRY(trace_lanes_lane(&c->lanes, &e->pid, &e->tid, &at, err));
    trace_lane *lane = &c->lanes.lanes[at];
    r.lane = at;
    r.link = key_of_number(e->correlation);
    r.external = key_of_number(e->external_id);
    bool launches = false;
    TRY(name_record(c, e, lane, &r, &launches, err));
    count_event(c, lane, &r);
    if (!is_wanted(c, &r, launches)) {
        r.kind = TRACE_KIND_HOST;
        if (adds_nothing(lane, &r)) {
            return ASSAY_OK;
        }
    }
    return trace_order_add(c->order, &r, err);
}

/* Flow arrows join what has no correlation. PyTorch's repeat its correlations. */
static status collect_flow(trace_collection *c, const trace_event *e, error *err) {
    bool usable =
        e->flow.kind != TRACE_ID_MISSING && e->pid.kind != TRACE_ID_MISSING && fabs(e->start_us) <= MAX_TIME_US;
    if (c->has_correlations || !usable) {
        return ASSAY_OK;
    }
    trace_record r = {.start_us = e->start_us, .kind = e->phase == 's' ? TRACE_KIND_FLOW_START : TRACE_KIND_FLOW_END};
    TRY(trace_lanes_lane(&c->lanes, &e->pid, &e->tid, &r.lane, err));
    uint64_t salt =
        hash_bytes(text_get(&e->category), e->category.length, 0); /* ids are told apart within a category */
    uint64_t bits = 0;
    memcpy(&bits, &e->flow.number, sizeof bits);
    uint64_t mixed = e->flow.kind == TRACE_ID_TEXT ? hash_bytes(text_get(&e->flow.text), e->flow.text.length, salt)
                                                   : rng_mix(bits ^ salt);
    r.link = (uint32_t)mixed | 1;
    return trace_order_add(c->order, &r, err);
}

static status collect_labels(trace_collection *c, const trace_event *e, error *err) {
    if (!e->has_labels || e->pid.kind == TRACE_ID_MISSING) {
        trace_warn(&c->warnings, TRACE_WARNING_BAD_LABELS, e->offset);
        return ASSAY_OK;
    }
    uint32_t at = 0;
    TRY(trace_lanes_process(&c->lanes, &e->pid, &at, err));
    trace_process *process = &c->lanes.processes[at];
    process->labelled = process->labelled || e->labels_match;
    TRY(trace_lanes_set_name(&c->lanes, &process->labels, &e->labels, err));
    process->is_surely_host = is_surely_host(process);
    return ASSAY_OK;
}

static status collect_metadata(trace_collection *c, const trace_event *e, error *err) {
    if (e->pid.kind == TRACE_ID_MISSING || e->arg_name.length == 0) {
        return ASSAY_OK;
    }
    uint32_t at = 0;
    if (name_is(e, "process_name")) {
        TRY(trace_lanes_process(&c->lanes, &e->pid, &at, err));
        trace_process *process = &c->lanes.processes[at];
        TRY(trace_lanes_set_name(&c->lanes, &process->name, &e->arg_name, err));
        process->is_surely_host = is_surely_host(process);
        return ASSAY_OK;
    }
    if (name_is(e, "thread_name")) {
        TRY(trace_lanes_lane(&c->lanes, &e->pid, &e->tid, &at, err));
        return trace_lanes_set_name(&c->lanes, &c->lanes.lanes[at].name, &e->arg_name, err);
    }
    return ASSAY_OK;
}

static status collect_begin_end(trace_collection *c, const trace_event *e, error *err) {
    uint32_t at = 0;
    if (e->pid.kind == TRACE_ID_MISSING) {
        return ASSAY_OK;
    }
    TRY(trace_lanes_process(&c->lanes, &e->pid, &at, err));
    trace_process *process = &c->lanes.processes[at];
    if (process->n_begin_end++ == 0) {
        process->first_begin_end_byte = e->offset;
    }
    return ASSAY_OK;
}

static status visit(void *context, const trace_event *e, error *err) {
    trace_collection *c = context;
    c->n_events++;
    if (name_is(e, "process_labels")) {
        TRY(collect_labels(c, e, err)); /* whatever its phase: compat asks for the name alone */
    }
    switch (e->phase) {
    case 'X':
        return collect_complete(c, e, err);
    case 'M':
        return collect_metadata(c, e, err);
    case 's':
    case 'f':
        return collect_flow(c, e, err);
    case 'B':
    case 'E':
        return collect_begin_end(c, e, err);
    default:
        return ASSAY_OK;
    }
}

/* Names and lanes that were seen stay known: they count nothing. */
static void forget(void *context) {
    trace_collection *c = context;
    trace_order_reset(c->order);
    for (size_t i = 0; i < c->lanes.n_processes; i++) {
        trace_process *p = &c->lanes.processes[i];
        *p = (trace_process){.key = p->key, .id = p->id};
    }
    for (size_t i = 0; i < c->lanes.n_lanes; i++) {
        trace_lane *l = &c->lanes.lanes[i];
        const trace_cover nothing = {.start_us = INFINITY, .end_us = -INFINITY};
        *l = (trace_lane){.key = l->key, .process = l->process, .id = l->id, .cover = nothing, .compat_cover = nothing};
    }
    c->first_us = INFINITY;
    c->last_us = -INFINITY;
    c->n_events = c->n_complete = 0;
    c->has_correlations = false;
}

static void settle_warnings(trace_collection *c) {
    bool labelled = false;
    for (size_t i = 0; i < c->lanes.n_processes; i++) {
        const trace_process *p = &c->lanes.processes[i];
        labelled = labelled || p->labelled;
        if (p->n_begin_end > 0 && trace_process_says_device(p)) {
            trace_warn(&c->warnings, TRACE_WARNING_BEGIN_END, p->first_begin_end_byte);
        }
    }
    if (!labelled) {
        trace_warn(&c->warnings, TRACE_WARNING_NO_LABEL, 0);
    }
}

status trace_collect(trace_source *source, const char *label, bool by_operator, size_t sort_records,
                     trace_collection *out, error *err) {
    *out = (trace_collection){.by_operator = by_operator, .first_us = INFINITY, .last_us = -INFINITY};
    const trace_reading reading = {.label = label, .visit = visit, .forget = forget, .context = out};
    status result = trace_order_new(sort_records > 0 ? sort_records : TRACE_ORDER_RECORDS, &out->order, err);
    result = result != ASSAY_OK ? result : trace_lanes_init(&out->lanes, err);
    result = result != ASSAY_OK ? result : trace_names_init(&out->kernels, MAX_NAMES, MAX_NAME_BYTES, err);
    result = result != ASSAY_OK ? result : trace_names_init(&out->operators, MAX_NAMES, MAX_NAME_BYTES, err);
    result = result != ASSAY_OK ? result : trace_names_init(&out->others, MAX_OTHER_NAMES, MAX_OTHER_NAME_BYTES, err);
    result = result != ASSAY_OK ? result : trace_read(source, &reading, &out->warnings, err);
    result = result != ASSAY_OK ? result : trace_lanes_settle(&out->lanes, err);
    result = result != ASSAY_OK ? result : trace_order_finish(out->order, err);
    if (result != ASSAY_OK) {
        trace_warnings warnings = out->warnings;
        trace_collection_clear(out);
        out->warnings = warnings;
        return result;
    }
    settle_warnings(out);
    return ASSAY_OK;
}

void trace_collection_clear(trace_collection *c) {
    trace_order_free(c->order);
    trace_lanes_clear(&c->lanes);
    trace_names_clear(&c->kernels);
    trace_names_clear(&c->operators);
    trace_names_clear(&c->others);
    *c = (trace_collection){0};
}
