/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a trace's figures: names of fields carry their units. */
#include "lab/trace/figures_json.h"

static const char *const base_texts[] = {"trace_window", "device_window", "given"};
static const char *const cause_texts[] = {"host_late", "short_gap", "other"};

static void put_count(json_writer *w, const char *key, uint64_t value) {
    json_key(w, key);
    json_uint(w, value);
}

static void put_shares(json_writer *w, const char *key, const trace_shares *s) {
    json_key(w, key);
    json_begin_object(w);
    json_put_double(w, "matmul", s->matmul);
    json_put_double(w, "convolution", s->convolution);
    json_put_double(w, "attention", s->attention);
    json_put_double(w, "communication", s->communication);
    json_put_double(w, "mm_conv", s->mm_conv);
    json_end_object(w);
}

static void put_strict(json_writer *w, const trace_figures *f) {
    json_key(w, "strict");
    json_begin_object(w);
    json_put_double(w, "utilization", f->strict.utilization);
    json_put_double(w, "mm_conv", f->strict.by_name.mm_conv);
    json_put_double(w, "wall_time_s", f->wall_time_s);
    json_put_string(w, "time_base", base_texts[f->base]);
    json_put_double(w, "mean_device_utilization", f->strict.mean_device_utilization);
    put_shares(w, "by_name", &f->strict.by_name);
    if (f->by_operator) {
        put_shares(w, "by_operator", &f->strict.by_operator);
        json_put_double(w, "attributed_share_of_kernels", f->strict.attributed);
    }
    json_end_object(w);
}

/* Into an open object. */
static void put_split(json_writer *w, const trace_split *s) {
    put_count(w, "n_events", s->n_events);
    json_put_double(w, "utilization", s->utilization);
    json_put_double(w, "busy_s", s->busy_s);
    json_put_double(w, "compute_s", s->compute_s);
    json_put_double(w, "memcpy_s", s->memcpy_s);
    json_put_double(w, "memset_s", s->memset_s);
    json_put_double(w, "communication_s", s->communication_s);
    json_put_double(w, "idle_s", s->idle_s);
}

static void put_devices(json_writer *w, const trace_figures *f) {
    json_key(w, "devices");
    json_begin_array(w);
    for (size_t i = 0; i < f->n_devices; i++) {
        const trace_device *d = &f->devices[i];
        json_begin_object(w);
        json_put_string(w, "id", d->id);
        json_put_string(w, "name", d->name);
        put_split(w, &d->split);
        json_put_double(w, "kernel_utilization", d->kernel_utilization);
        json_put_double(w, "communication_hidden_s", d->communication_hidden_s);
        json_end_object(w);
    }
    json_end_array(w);
    put_count(w, "n_devices_without_events", f->n_idle_devices);
}

static void put_streams(json_writer *w, const trace_figures *f) {
    json_key(w, "streams");
    json_begin_array(w);
    for (size_t i = 0; i < f->n_devices; i++) {
        for (size_t k = 0; k < f->devices[i].n_streams; k++) {
            const trace_stream *s = &f->devices[i].streams[k];
            json_begin_object(w);
            json_put_string(w, "device", f->devices[i].id);
            json_put_string(w, "id", s->id);
            json_put_string(w, "name", s->name);
            put_split(w, &s->split);
            json_end_object(w);
        }
    }
    json_end_array(w);
}

static void put_idle(json_writer *w, const trace_figures *f) {
    json_key(w, "idle");
    json_begin_array(w);
    for (size_t i = 0; i < f->n_devices; i++) {
        const trace_idle *idle = &f->devices[i].idle;
        json_begin_object(w);
        json_put_string(w, "device", f->devices[i].id);
        json_put_double(w, "idle_s", f->devices[i].split.idle_s);
        json_put_double(w, "outside_s", idle->outside_s);
        json_put_bool(w, "has_launches", idle->has_launches);
        json_put_double(w, "short_gap_limit_s", TRACE_SHORT_GAP_US / 1e6);
        for (int cause = 0; cause < TRACE_N_IDLE_CAUSES; cause++) {
            json_key(w, cause_texts[cause]);
            json_begin_object(w);
            json_put_double(w, "time_s", idle->by_cause_s[cause]);
            put_count(w, "n_gaps", idle->n_gaps[cause]);
            json_end_object(w);
        }
        json_end_object(w);
    }
    json_end_array(w);
}

static size_t at_most(size_t n, size_t limit) {
    return limit > 0 && n > limit ? limit : n;
}

static void put_kernels(json_writer *w, const trace_figures *f, size_t n_top) {
    put_count(w, "n_kernel_names", f->n_kernels_named);
    json_key(w, "kernels");
    json_begin_array(w);
    for (size_t i = 0; i < at_most(f->n_kernels_named, n_top); i++) {
        const trace_kernel *k = &f->kernels[i];
        json_begin_object(w);
        json_put_string(w, "name", k->name);
        json_put_string(w, "work", trace_work_text(k->work));
        put_count(w, "count", k->count);
        json_put_double(w, "total_s", k->total_s);
        json_put_double(w, "mean_s", k->total_s / (double)k->count);
        json_put_double(w, "min_s", k->min_s);
        json_put_double(w, "max_s", k->max_s);
        json_put_double(w, "share_of_kernels", k->share_of_kernels);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_operators(json_writer *w, const trace_figures *f, size_t n_top) {
    put_count(w, "n_operator_names", f->n_operators);
    json_key(w, "operators");
    json_begin_array(w);
    for (size_t i = 0; i < at_most(f->n_operators, n_top); i++) {
        const trace_operator *o = &f->operators[i];
        json_begin_object(w);
        json_put_string(w, "name", o->name);
        json_put_string(w, "work", trace_work_text(o->work));
        put_count(w, "n_kernels", o->n_kernels);
        json_put_double(w, "kernel_s", o->kernel_s);
        put_count(w, "n_copies", o->n_copies);
        json_put_double(w, "copy_s", o->copy_s);
        json_put_double(w, "share_of_kernels", o->share_of_kernels);
        json_end_object(w);
    }
    json_end_array(w);
}

void trace_warnings_json(json_writer *w, const trace_warnings *warnings) {
    json_key(w, "warnings");
    json_begin_array(w);
    for (int i = 0; i < TRACE_N_WARNINGS; i++) {
        if (warnings->count[i] > 0) {
            json_begin_object(w);
            json_put_string(w, "kind", trace_warning_key((trace_warning)i));
            json_put_string(w, "text", trace_warning_text((trace_warning)i));
            put_count(w, "count", warnings->count[i]);
            put_count(w, "first_byte", warnings->first_byte[i]);
            json_end_object(w);
        }
    }
    json_end_array(w);
}

void trace_figures_json(json_writer *w, const char *path, const trace_figures *f, size_t n_top) {
    json_begin_object(w);
    json_put_string(w, "trace", path);
    json_key(w, "compat");
    json_begin_object(w);
    json_put_double(w, "utilization", f->compat.utilization);
    json_put_double(w, "mm_conv", f->compat.mm_conv);
    json_put_double(w, "wall_time_s", f->wall_time_s);
    json_end_object(w);
    put_strict(w, f);
    put_count(w, "n_events", f->n_events);
    put_count(w, "n_complete_events", f->n_complete);
    put_count(w, "n_kernels", f->n_kernels);
    json_put_double(w, "kernel_s", f->kernel_s);
    put_devices(w, f);
    put_streams(w, f);
    put_idle(w, f);
    put_kernels(w, f, n_top);
    if (f->by_operator) {
        put_operators(w, f, n_top);
    }
    trace_warnings_json(w, &f->warnings);
    json_end_object(w);
}
