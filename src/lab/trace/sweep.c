/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: unions, gaps and their causes, and which operator each kernel came from. */
#include "lab/trace/sweep.h"

#include "lab/trace/links.h"

#include <stdlib.h>
#include <string.h>

enum { N_LAUNCHES = 1 << 18, N_OPERATORS = 1 << 20, MAX_STACK = 4096 };
#define NO_STREAM UINT32_MAX

/* The operators at work on one thread, outermost first. */
typedef struct stack_entry {
    double end_us;
    uint32_t operator_name;
} stack_entry;

typedef struct stack {
    stack_entry *entries;
    uint32_t n, capacity;
} stack;

typedef struct sweep {
    trace_collection *c;
    trace_sums *sums;
    uint32_t *stream_of_lane;
    stack *stacks; /* by lane */
    trace_links launches, flows, externals;
} sweep;

static void extend(trace_union *u, double start_us, double end_us) {
    if (!u->any) {
        *u = (trace_union){.covered_us = end_us - start_us, .end_us = end_us, .any = true};
        return;
    }
    double from = start_us > u->end_us ? start_us : u->end_us;
    u->covered_us += end_us > from ? end_us - from : 0;
    u->end_us = end_us > u->end_us ? end_us : u->end_us;
}

/* The seeds' arithmetic to the last bit: the first event counts its dur, the others the difference of their rounded
   ends; a negative dur counts only when it is the first. */
static void extend_compat(trace_union *u, const trace_record *r) {
    if (!u->any) {
        *u = (trace_union){.covered_us = r->duration_us, .end_us = r->start_us + r->duration_us, .any = true};
        return;
    }
    extend(u, r->start_us, r->start_us + r->duration_us);
}

static status push(sweep *s, const trace_record *r, error *err) {
    stack *t = &s->stacks[r->lane];
    while (t->n > 0 && t->entries[t->n - 1].end_us <= r->start_us) {
        t->n--;
    }
    if (t->n == MAX_STACK) {
        trace_warn(&s->c->warnings, TRACE_WARNING_DEEP_STACK, 0);
        return ASSAY_OK;
    }
    if (t->n == t->capacity) {
        uint32_t capacity = t->capacity == 0 ? 16 : t->capacity * 2;
        stack_entry *entries = realloc(t->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a stack of %u operators", capacity);
        }
        t->entries = entries;
        t->capacity = capacity;
    }
    /* What ends first lies on top, so that of two that begin together the inner one does, whichever the file had first.
     */
    double end_us = r->start_us + r->duration_us;
    uint32_t at = t->n++;
    while (at > 0 && t->entries[at - 1].end_us < end_us) {
        t->entries[at] = t->entries[at - 1];
        at--;
    }
    t->entries[at] = (stack_entry){.end_us = end_us, .operator_name = r->name};
    return ASSAY_OK;
}

static uint32_t operator_at(sweep *s, const trace_record *r) {
    if (s->stacks == NULL) {
        return TRACE_NO_OPERATOR;
    }
    stack *t = &s->stacks[r->lane];
    while (t->n > 0 && t->entries[t->n - 1].end_us <= r->start_us) {
        t->n--;
    }
    return t->n > 0 ? t->entries[t->n - 1].operator_name : TRACE_NO_OPERATOR;
}

static status note_operator(sweep *s, const trace_record *r, error *err) {
    if (r->external != 0) {
        trace_links_put(&s->externals, (trace_link){.key = r->external, .operator_name = r->name});
    }
    return push(s, r, err);
}

static void note_launch(sweep *s, trace_links *links, const trace_record *r) {
    const trace_link link = {
        .key = r->link, .operator_name = operator_at(s, r), .end_us = r->start_us + r->duration_us};
    trace_links_put(links, link);
}

static const trace_link *launch_of(sweep *s, trace_stream_sum *stream, const trace_record *r) {
    uint32_t flow = stream->pending_flow;
    stream->pending_flow = 0;
    if (r->link != 0) {
        return trace_links_find(&s->launches, r->link);
    }
    return flow != 0 ? trace_links_find(&s->flows, flow) : NULL;
}

static uint32_t operator_of(sweep *s, const trace_record *r, const trace_link *launch) {
    const trace_link *named =
        s->stacks != NULL && r->external != 0 ? trace_links_find(&s->externals, r->external) : NULL;
    return named != NULL ? named->operator_name : launch != NULL ? launch->operator_name : TRACE_NO_OPERATOR;
}

static trace_work work_of(const sweep *s, const trace_record *r) {
    return r->kind == TRACE_KIND_COPY  ? TRACE_WORK_COPY
           : r->kind == TRACE_KIND_SET ? TRACE_WORK_SET
                                       : (trace_work)s->c->kernels.rows[r->name].work;
}

static void add_split(trace_split_sum *split, trace_work work, double start_us, double end_us) {
    trace_union *part = work == TRACE_WORK_COPY            ? &split->copy
                        : work == TRACE_WORK_SET           ? &split->set
                        : work == TRACE_WORK_COMMUNICATION ? &split->communication
                                                           : &split->compute;
    extend(part, start_us, end_us);
    extend(&split->busy, start_us, end_us);
    split->n_events++;
}

static void add_gap(trace_device_sum *d, double start_us, const trace_link *launch) {
    const trace_union *busy = &d->split.busy;
    double gap_us = start_us - busy->end_us;
    if (!busy->any || gap_us <= 0) {
        return;
    }
    /* A kernel may begin before the call that launched it is back; then it was launched when it began. */
    double launched_us = launch == NULL ? busy->end_us : launch->end_us < start_us ? launch->end_us : start_us;
    trace_idle_cause cause = launched_us > busy->end_us     ? TRACE_IDLE_HOST_LATE
                             : gap_us <= TRACE_SHORT_GAP_US ? TRACE_IDLE_SHORT_GAP
                                                            : TRACE_IDLE_OTHER;
    d->idle_us[cause] += gap_us;
    d->n_gaps[cause]++;
}

static void add_work(trace_work_sum *sum, trace_work work, double start_us, double end_us) {
    extend(&sum->by_work[work], start_us, end_us);
    if (work == TRACE_WORK_MATMUL || work == TRACE_WORK_CONVOLUTION || work == TRACE_WORK_ATTENTION) {
        extend(&sum->mm_conv, start_us, end_us);
    }
}

static void add_to_operator(sweep *s, uint32_t operator_name, bool is_kernel, double duration_us) {
    trace_operator_sum *o =
        operator_name != TRACE_NO_OPERATOR ? &s->sums->operator_sums[operator_name] : &s->sums->unattributed;
    o->n_kernels += is_kernel;
    o->n_copies += !is_kernel;
    o->kernel_us += is_kernel ? duration_us : 0;
    o->copy_us += is_kernel ? 0 : duration_us;
}

static void add_kernel(sweep *s, const trace_record *r, trace_work work, uint32_t operator_name) {
    trace_sums *sums = s->sums;
    double end_us = r->start_us + r->duration_us;
    trace_kernel_sum *k = &sums->kernel_sums[r->name];
    k->min_us = k->count == 0 || r->duration_us < k->min_us ? r->duration_us : k->min_us;
    k->max_us = r->duration_us > k->max_us ? r->duration_us : k->max_us;
    k->total_us += r->duration_us;
    k->count++;
    sums->kernel_us += r->duration_us;
    sums->n_kernels++;
    extend(&sums->kernels, r->start_us, end_us);
    add_work(&sums->by_name, work, r->start_us, end_us);
    if (s->stacks == NULL) {
        return;
    }
    /* An operator that is a product makes all that it launches part of one; any other says nothing of a kernel that is
       one by its name. */
    bool known = operator_name != TRACE_NO_OPERATOR;
    trace_work of_operator = known ? (trace_work)s->c->operators.rows[operator_name].work : TRACE_WORK_OTHER;
    add_work(&sums->by_operator, of_operator != TRACE_WORK_OTHER ? of_operator : work, r->start_us, end_us);
    sums->attributed_us += known ? r->duration_us : 0;
    sums->n_attributed += known;
}

static void add_device_event(sweep *s, const trace_record *r) {
    trace_stream_sum *stream = &s->sums->streams[s->stream_of_lane[r->lane]];
    trace_device_sum *device = &s->sums->devices[stream->device];
    double end_us = r->start_us + r->duration_us;
    const trace_link *launch = launch_of(s, stream, r);
    trace_work work = work_of(s, r);
    bool is_kernel = work != TRACE_WORK_COPY && work != TRACE_WORK_SET;
    uint32_t operator_name = operator_of(s, r, launch);
    if (r->kind == TRACE_KIND_PLAIN && r->name == TRACE_NAME_REST) {
        trace_warn(&s->c->warnings, TRACE_WARNING_NAMES_FULL, 0);
    }
    add_gap(device, r->start_us, launch);
    device->n_launched += launch != NULL;
    device->first_us = device->split.busy.any ? device->first_us : r->start_us;
    add_split(&device->split, work, r->start_us, end_us);
    add_split(&stream->split, work, r->start_us, end_us);
    device->last_us = device->split.busy.end_us;
    if (is_kernel) {
        extend(&device->kernels, r->start_us, end_us);
        add_kernel(s, r, work, operator_name);
    }
    if (s->stacks != NULL) {
        add_to_operator(s, operator_name, is_kernel, r->duration_us);
    }
}

static status add_record(sweep *s, const trace_record *r, error *err) {
    const trace_lane *lane = &s->c->lanes.lanes[r->lane];
    bool is_flow = r->kind == TRACE_KIND_FLOW_START || r->kind == TRACE_KIND_FLOW_END;
    if (s->c->lanes.processes[lane->process].labelled && !is_flow) {
        extend_compat(&s->sums->compat, r);
        if (r->compat) {
            extend_compat(&s->sums->compat_mm_conv, r);
        }
    }
    if (r->duration_us < 0) {
        return ASSAY_OK;
    }
    switch (r->kind) {
    case TRACE_KIND_OPERATOR:
        return note_operator(s, r, err);
    case TRACE_KIND_CALL:
        note_launch(s, &s->launches, r);
        return ASSAY_OK;
    case TRACE_KIND_FLOW_START:
        note_launch(s, &s->flows, r);
        return ASSAY_OK;
    case TRACE_KIND_FLOW_END:
        if (lane->is_device) {
            s->sums->streams[s->stream_of_lane[r->lane]].pending_flow = r->link;
        }
        return ASSAY_OK;
    case TRACE_KIND_HOST:
        return ASSAY_OK;
    case TRACE_KIND_PLAIN:
        /* Where device events have categories, what has none is no kernel. */
        if (lane->is_device && s->c->lanes.processes[lane->process].n_device_events == 0) {
            add_device_event(s, r);
        }
        return ASSAY_OK;
    default:
        add_device_event(s, r);
        return ASSAY_OK;
    }
}

/* Numbers the devices and their streams in the order in which the trace first names them. */
static status make_sums(sweep *s, error *err) {
    const trace_lanes *lanes = &s->c->lanes;
    trace_sums *sums = s->sums;
    uint32_t *device_of_process = calloc(lanes->n_processes + 1, sizeof *device_of_process);
    sums->devices = calloc(lanes->n_processes + 1, sizeof *sums->devices);
    sums->streams = calloc(lanes->n_lanes + 1, sizeof *sums->streams);
    sums->kernel_sums = calloc(s->c->kernels.n_rows, sizeof *sums->kernel_sums);
    s->stream_of_lane = calloc(lanes->n_lanes + 1, sizeof *s->stream_of_lane);
    bool made = device_of_process != NULL && sums->devices != NULL && sums->streams != NULL &&
                sums->kernel_sums != NULL && s->stream_of_lane != NULL;
    if (s->c->by_operator) {
        sums->operator_sums = calloc(s->c->operators.n_rows, sizeof *sums->operator_sums);
        s->stacks = calloc(lanes->n_lanes + 1, sizeof *s->stacks);
        made = made && sums->operator_sums != NULL && s->stacks != NULL;
    }
    for (uint32_t i = 0; made && i < lanes->n_processes; i++) {
        if (lanes->processes[i].is_device) {
            device_of_process[i] = (uint32_t)sums->n_devices;
            sums->devices[sums->n_devices++].process = i;
        }
    }
    for (uint32_t i = 0; made && i < lanes->n_lanes; i++) {
        s->stream_of_lane[i] = lanes->lanes[i].is_device ? (uint32_t)sums->n_streams : NO_STREAM;
        if (lanes->lanes[i].is_device) {
            sums->streams[sums->n_streams++] =
                (trace_stream_sum){.lane = i, .device = device_of_process[lanes->lanes[i].process]};
        }
    }
    free(device_of_process);
    return made ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the sums of %zu lanes", lanes->n_lanes);
}

static status walk(sweep *s, error *err) {
    TRY(make_sums(s, err));
    TRY(trace_links_init(&s->launches, N_LAUNCHES, err));
    TRY(trace_links_init(&s->flows, N_LAUNCHES, err));
    if (s->c->by_operator) {
        TRY(trace_links_init(&s->externals, N_OPERATORS, err));
    }
    for (;;) {
        const trace_record *r = NULL;
        TRY(trace_order_next(s->c->order, &r, err));
        if (r == NULL) {
            return ASSAY_OK;
        }
        TRY(add_record(s, r, err));
    }
}

status trace_sweep(trace_collection *c, trace_sums *out, error *err) {
    *out = (trace_sums){0};
    sweep s = {.c = c, .sums = out};
    status result = walk(&s, err);
    for (size_t i = 0; s.stacks != NULL && i < c->lanes.n_lanes; i++) {
        free(s.stacks[i].entries);
    }
    free(s.stacks);
    free(s.stream_of_lane);
    trace_links_clear(&s.launches);
    trace_links_clear(&s.flows);
    trace_links_clear(&s.externals);
    if (result != ASSAY_OK) {
        trace_sums_clear(out);
    }
    return result;
}

void trace_sums_clear(trace_sums *s) {
    free(s->devices);
    free(s->streams);
    free(s->kernel_sums);
    free(s->operator_sums);
    *s = (trace_sums){0};
}
