/* SPDX-License-Identifier: Apache-2.0 */
/* From sums in microseconds to figures in seconds and shares. */
#include "lab/trace/figures.h"

#include "lab/trace/collect.h"

#include <stdlib.h>
#include <string.h>

#define US_PER_S 1e6

typedef struct maker {
    const trace_collection *c;
    const trace_sums *sums;
    arena *memory;
    trace_figures *out;
    double wall_us;
} maker;

static double share(const maker *m, double us) {
    double of_wall = m->wall_us > 0 ? us / m->wall_us : 0;
    return of_wall < 1 ? of_wall : 1;
}

static const char *keep(const maker *m, const char *name) {
    return name == NULL || name[0] == '\0' ? NULL : arena_text(m->memory, name, strlen(name));
}

static trace_split make_split(const maker *m, const trace_split_sum *sum) {
    double busy_us = sum->busy.covered_us;
    return (trace_split){
        .n_events = sum->n_events,
        .utilization = share(m, busy_us),
        .busy_s = busy_us / US_PER_S,
        .compute_s = sum->compute.covered_us / US_PER_S,
        .memcpy_s = sum->copy.covered_us / US_PER_S,
        .memset_s = sum->set.covered_us / US_PER_S,
        .communication_s = sum->communication.covered_us / US_PER_S,
        .idle_s = m->wall_us > busy_us ? (m->wall_us - busy_us) / US_PER_S : 0,
    };
}

static trace_idle make_idle(const maker *m, const trace_device_sum *d) {
    trace_idle idle = {.has_launches = d->n_launched > 0};
    for (int cause = 0; cause < TRACE_N_IDLE_CAUSES; cause++) {
        idle.by_cause_s[cause] = d->idle_us[cause] / US_PER_S;
        idle.n_gaps[cause] = d->n_gaps[cause];
    }
    double span_us = d->last_us - d->first_us;
    idle.outside_s = m->wall_us > span_us ? (m->wall_us - span_us) / US_PER_S : 0;
    return idle;
}

static trace_shares make_shares(const maker *m, const trace_work_sum *w) {
    return (trace_shares){
        .matmul = share(m, w->by_work[TRACE_WORK_MATMUL].covered_us),
        .convolution = share(m, w->by_work[TRACE_WORK_CONVOLUTION].covered_us),
        .attention = share(m, w->by_work[TRACE_WORK_ATTENTION].covered_us),
        .communication = share(m, w->by_work[TRACE_WORK_COMMUNICATION].covered_us),
        .mm_conv = share(m, w->mm_conv.covered_us),
    };
}

static status out_of_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's figures");
}

static status make_streams(maker *m, size_t device, trace_device *into, error *err) {
    const trace_sums *sums = m->sums;
    size_t n = 0;
    for (size_t i = 0; i < sums->n_streams; i++) {
        n += sums->streams[i].device == device && sums->streams[i].split.n_events > 0;
    }
    into->streams = arena_make(m->memory, n, sizeof *into->streams);
    if (into->streams == NULL) {
        return out_of_memory(err);
    }
    for (size_t i = 0; i < sums->n_streams; i++) {
        const trace_stream_sum *sum = &sums->streams[i];
        if (sum->device != device || sum->split.n_events == 0) {
            continue;
        }
        const trace_lane *lane = &m->c->lanes.lanes[sum->lane];
        trace_stream *stream = &into->streams[into->n_streams++];
        *stream = (trace_stream){.id = arena_text(m->memory, lane->id, strlen(lane->id)), .name = keep(m, lane->name)};
        if (stream->id == NULL) {
            return out_of_memory(err);
        }
        stream->split = make_split(m, &sum->split);
    }
    return ASSAY_OK;
}

static status make_devices(maker *m, error *err) {
    const trace_sums *sums = m->sums;
    trace_figures *out = m->out;
    out->devices = arena_make(m->memory, sums->n_devices, sizeof *out->devices);
    if (out->devices == NULL) {
        return out_of_memory(err);
    }
    double kernel_utilization = 0;
    for (size_t i = 0; i < sums->n_devices; i++) {
        const trace_device_sum *sum = &sums->devices[i];
        if (!sum->split.busy.any) {
            continue;
        }
        const trace_process *process = &m->c->lanes.processes[sum->process];
        trace_device *d = &out->devices[out->n_devices++];
        d->id = arena_text(m->memory, process->id, strlen(process->id));
        if (d->id == NULL) {
            return out_of_memory(err);
        }
        bool is_labelled = process->labels != NULL && process->labels[0] != '\0';
        d->name = keep(m, is_labelled ? process->labels : process->name);
        d->label = is_labelled ? d->name : NULL;
        d->split = make_split(m, &sum->split);
        d->kernel_utilization = share(m, sum->kernels.covered_us);
        d->communication_hidden_s = d->split.compute_s + d->split.communication_s - sum->kernels.covered_us / US_PER_S;
        d->communication_hidden_s = d->communication_hidden_s > 0 ? d->communication_hidden_s : 0;
        d->idle = make_idle(m, sum);
        kernel_utilization += d->kernel_utilization;
        TRY(make_streams(m, i, d, err));
    }
    for (size_t i = 0; i < m->c->lanes.n_processes; i++) {
        out->n_idle_devices += trace_process_says_device(&m->c->lanes.processes[i]);
    }
    for (size_t i = 0; i < sums->n_devices; i++) {
        const trace_device_sum *sum = &sums->devices[i];
        out->n_idle_devices -= sum->split.busy.any && trace_process_says_device(&m->c->lanes.processes[sum->process]);
    }
    out->strict.mean_device_utilization = out->n_devices > 0 ? kernel_utilization / (double)out->n_devices : 0;
    return ASSAY_OK;
}

static int by_total_then_name(const void *a, const void *b) {
    const trace_kernel *x = a, *y = b;
    return x->total_s != y->total_s ? (x->total_s < y->total_s ? 1 : -1) : strcmp(x->name, y->name);
}

static status make_kernels(maker *m, error *err) {
    const trace_names *names = &m->c->kernels;
    trace_figures *out = m->out;
    size_t n = 0;
    for (size_t i = 0; i < names->n_rows; i++) {
        n += m->sums->kernel_sums[i].count > 0;
    }
    out->kernels = arena_make(m->memory, n, sizeof *out->kernels);
    for (size_t i = 0; out->kernels != NULL && i < names->n_rows; i++) {
        const trace_kernel_sum *sum = &m->sums->kernel_sums[i];
        if (sum->count == 0) {
            continue;
        }
        trace_kernel *k = &out->kernels[out->n_kernels_named++];
        *k = (trace_kernel){.name = arena_text(m->memory, names->rows[i].text, names->rows[i].length),
                            .work = (trace_work)names->rows[i].work,
                            .count = sum->count,
                            .total_s = sum->total_us / US_PER_S,
                            .min_s = sum->min_us / US_PER_S,
                            .max_s = sum->max_us / US_PER_S,
                            .share_of_kernels = m->sums->kernel_us > 0 ? sum->total_us / m->sums->kernel_us : 0};
        if (k->name == NULL) {
            return out_of_memory(err);
        }
    }
    if (out->kernels == NULL) {
        return out_of_memory(err);
    }
    qsort(out->kernels, out->n_kernels_named, sizeof *out->kernels, by_total_then_name);
    return ASSAY_OK;
}

static int by_kernel_time(const void *a, const void *b) {
    const trace_operator *x = a, *y = b;
    if (x->kernel_s != y->kernel_s) {
        return x->kernel_s < y->kernel_s ? 1 : -1;
    }
    return strcmp(x->name != NULL ? x->name : "", y->name != NULL ? y->name : "");
}

static trace_operator make_operator(const maker *m, const char *name, trace_work work, const trace_operator_sum *sum) {
    return (trace_operator){.name = name,
                            .work = work,
                            .n_kernels = sum->n_kernels,
                            .n_copies = sum->n_copies,
                            .kernel_s = sum->kernel_us / US_PER_S,
                            .copy_s = sum->copy_us / US_PER_S,
                            .share_of_kernels = m->sums->kernel_us > 0 ? sum->kernel_us / m->sums->kernel_us : 0};
}

static status make_operators(maker *m, error *err) {
    const trace_names *names = &m->c->operators;
    const trace_operator_sum *sums = m->sums->operator_sums, *rest = &m->sums->unattributed;
    trace_figures *out = m->out;
    size_t n = 1;
    for (size_t i = 0; i < names->n_rows; i++) {
        n += sums[i].n_kernels + sums[i].n_copies > 0;
    }
    out->operators = arena_make(m->memory, n, sizeof *out->operators);
    if (out->operators == NULL) {
        return out_of_memory(err);
    }
    for (size_t i = 0; i < names->n_rows; i++) {
        if (sums[i].n_kernels + sums[i].n_copies == 0) {
            continue;
        }
        const char *name = arena_text(m->memory, names->rows[i].text, names->rows[i].length);
        if (name == NULL) {
            return out_of_memory(err);
        }
        out->operators[out->n_operators++] = make_operator(m, name, (trace_work)names->rows[i].work, &sums[i]);
    }
    if (rest->n_kernels + rest->n_copies > 0) {
        out->operators[out->n_operators++] = make_operator(m, NULL, TRACE_WORK_OTHER, rest);
    }
    qsort(out->operators, out->n_operators, sizeof *out->operators, by_kernel_time);
    return ASSAY_OK;
}

static double device_window_us(const trace_sums *sums) {
    double first = 0, last = 0;
    bool any = false;
    for (size_t i = 0; i < sums->n_devices; i++) {
        const trace_device_sum *d = &sums->devices[i];
        if (d->split.busy.any) {
            first = !any || d->first_us < first ? d->first_us : first;
            last = !any || d->last_us > last ? d->last_us : last;
            any = true;
        }
    }
    return last - first;
}

static double wall_us_of(const trace_options *options, const trace_collection *c, const trace_sums *sums) {
    switch (options->base) {
    case TRACE_BASE_GIVEN:
        return options->wall_time_s * US_PER_S;
    case TRACE_BASE_DEVICE:
        return device_window_us(sums);
    default:
        return c->last_us > c->first_us ? c->last_us - c->first_us : 0;
    }
}

static status make_figures(trace_collection *c, const trace_sums *sums, const trace_options *options, arena *memory,
                           trace_figures *out, error *err) {
    maker m = {.c = c, .sums = sums, .memory = memory, .out = out, .wall_us = wall_us_of(options, c, sums)};
    *out = (trace_figures){.base = options->base,
                           .wall_time_s = m.wall_us / US_PER_S,
                           .kernel_s = sums->kernel_us / US_PER_S,
                           .n_kernels = sums->n_kernels,
                           .n_events = c->n_events,
                           .n_complete = c->n_complete,
                           .by_operator = c->by_operator};
    if (m.wall_us > 0) {
        out->compat.utilization = sums->compat.covered_us / m.wall_us;
        out->compat.mm_conv = sums->compat_mm_conv.covered_us / m.wall_us;
    } else {
        trace_warn(&c->warnings, TRACE_WARNING_NO_WINDOW, 0);
    }
    if (options->base == TRACE_BASE_GIVEN && sums->kernels.covered_us > m.wall_us) {
        trace_warn(&c->warnings, options->is_of_runs ? TRACE_WARNING_BUSY_BEYOND_RUNS : TRACE_WARNING_BUSY_BEYOND_WALL, 0);
    }
    out->strict.utilization = share(&m, sums->kernels.covered_us);
    out->strict.by_name = make_shares(&m, &sums->by_name);
    out->strict.by_operator = make_shares(&m, &sums->by_operator);
    out->strict.attributed = sums->kernel_us > 0 ? sums->attributed_us / sums->kernel_us : 0;
    TRY(make_devices(&m, err));
    TRY(make_kernels(&m, err));
    if (c->by_operator) {
        TRY(make_operators(&m, err));
    }
    out->warnings = c->warnings;
    return ASSAY_OK;
}

status trace_figures_of_source(trace_source *source, const trace_options *options, arena *memory, trace_figures *out,
                               error *err) {
    if (options->base == TRACE_BASE_GIVEN && !(options->wall_time_s > 0 && options->wall_time_s <= 1e18)) {
        return fail(err, ASSAY_INVALID, "expected a wall time of more than 0 seconds, got %g", options->wall_time_s);
    }
    trace_collection c = {0};
    trace_sums sums = {0};
    trace_figures figures = {0};
    const char *label = options->label != NULL ? options->label : "GPU";
    status result = trace_collect(source, label, options->by_operator, options->sort_records, &c, err);
    if (result == ASSAY_OK) {
        result = trace_sweep(&c, &sums, err);
    }
    if (result == ASSAY_OK) {
        result = make_figures(&c, &sums, options, memory, &figures, err);
    }
    if (result == ASSAY_OK) {
        *out = figures;
    }
    trace_sums_clear(&sums);
    trace_collection_clear(&c);
    return result;
}

status trace_figures_of_file(const char *path, const trace_options *options, arena *memory, trace_figures *out,
                             error *err) {
    trace_source *source = NULL;
    status result = trace_source_open(path, &source, err);
    if (result == ASSAY_OK) {
        result = trace_figures_of_source(source, options, memory, out, err);
        trace_source_close(source);
    }
    const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
    return result == ASSAY_OK ? ASSAY_OK : fail_within(err, result, "%s", shown);
}
