/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling: tables of sources and weights per axis, made in prepare; a backward is the same with the tables turned
   round, so that every output element is gathered and no two threads add to one. */
#include "engine/kernels/cpu/isa/resample_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/pool_back.h"
#include "engine/kernels/cpu/resample.h"
#include "engine/schema/resample.h"
#include "engine/schema/window.h"

#include <string.h>

/* Channels that lie side by side are vectors from so many on; fewer are taken each with weights of its own, by gathers: for 8
   channels in f32 0.71 ms where vectors take 0.41, for 6 0.54 (linear, 300 x 401 pixels, one thread of a Zen 4, 2026-11). */
enum { FEW_CHANNELS = 8 };

typedef struct resample_state {
    resample_job job;
    resample_plane_fn *plane;
    int64_t batch;
    int n_threads;
    char *work;
    size_t work_bytes; /* per thread */
} resample_state;

static status make_table(resample_table *t, int64_t targets, int64_t entries, arena *memory, error *err) {
    t->n = targets;
    t->start = arena_make(memory, (size_t)targets + 2, sizeof *t->start);
    t->source = arena_make(memory, (size_t)entries + 1, sizeof *t->source);
    t->weight = arena_make(memory, (size_t)entries + 1, sizeof *t->weight);
    t->weight_f32 = arena_make(memory, (size_t)entries + 1, sizeof *t->weight_f32);
    if (t->start == NULL || t->source == NULL || t->weight == NULL || t->weight_f32 == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a resampling's tables");
    }
    return ASSAY_OK;
}

static void set_entry(resample_table *t, int64_t k, int64_t source, double weight) {
    t->source[k] = (int32_t)source;
    t->weight[k] = weight;
    t->weight_f32[k] = (float)weight;
}

static status forward_table(const resample_axis *axis, arena *memory, resample_table *t, error *err) {
    int64_t index[RESAMPLE_MAX_TAPS];
    double weight[RESAMPLE_MAX_TAPS];
    TRY(make_table(t, axis->out, axis->out * (int64_t)axis->mode, memory, err));
    for (int64_t o = 0; o < axis->out; o++) {
        int n = resample_taps(axis, o, index, weight);
        t->start[o + 1] = t->start[o] + n;
        for (int k = 0; k < n; k++) {
            set_entry(t, t->start[o] + k, index[k], weight[k]);
        }
    }
    return ASSAY_OK;
}

/* For each input element the output positions that read it: counted, then filled in order. */
static status backward_table(const resample_axis *axis, arena *memory, resample_table *t, error *err) {
    int64_t index[RESAMPLE_MAX_TAPS];
    double weight[RESAMPLE_MAX_TAPS];
    TRY(make_table(t, axis->in, axis->out * (int64_t)axis->mode, memory, err));
    for (int64_t o = 0; o < axis->out; o++) {
        int n = resample_taps(axis, o, index, weight);
        for (int k = 0; k < n; k++) {
            t->start[index[k] + 2]++;
        }
    }
    for (int64_t i = 0; i < axis->in; i++) {
        t->start[i + 2] += t->start[i + 1];
    }
    for (int64_t o = 0; o < axis->out; o++) { /* start[i + 1] runs up to where start[i + 2] was */
        int n = resample_taps(axis, o, index, weight);
        for (int k = 0; k < n; k++) {
            set_entry(t, t->start[index[k] + 1]++, o, weight[k]);
        }
    }
    return ASSAY_OK;
}

/* The same of `times` elements side by side, each from its like. */
static status widen_table(resample_table *t, int64_t times, arena *memory, error *err) {
    const resample_table narrow = *t;
    TRY(make_table(t, narrow.n * times, narrow.start[narrow.n] * times, memory, err));
    for (int64_t i = 0; i < t->n; i++) {
        int64_t from = narrow.start[i / times], n = narrow.start[i / times + 1] - from;
        t->start[i + 1] = t->start[i] + n;
        for (int64_t k = 0; k < n; k++) {
            set_entry(t, t->start[i] + k, narrow.source[from + k] * times + i % times, narrow.weight[from + k]);
        }
    }
    return ASSAY_OK;
}

/* How many targets in a row read each source, or sources in a row make each target, where all do by weight 1. */
static void find_neighbours(const resample_table *t, int64_t n_sources, resample_lanes *l) {
    int64_t each = n_sources > 0 ? t->n / n_sources : 0, sums = t->n > 0 ? n_sources / t->n : 0;
    bool repeats = each > 1 && each * n_sources == t->n, adds = sums > 1 && sums * t->n == n_sources;
    for (int64_t i = 0; i < t->n && (repeats || adds); i++) {
        int64_t n = t->start[i + 1] - t->start[i];
        repeats = repeats && n == 1 && t->source[t->start[i]] == i / each;
        adds = adds && n == sums && t->source[t->start[i]] == i * sums;
        for (int64_t k = t->start[i]; k < t->start[i + 1]; k++) {
            repeats = repeats && t->weight[k] == 1;
            adds = adds && t->weight[k] == 1 && t->source[k] == t->source[t->start[i]] + k - t->start[i];
        }
    }
    l->each = repeats && (each == 2 || each == 4) ? (int)each : 0; /* for others there are no loops */
    l->sums = adds && (sums == 2 || sums == 4) ? (int)sums : 0;
}

/* The table t, of n_sources elements, tap by tap; where some target has more than MOST_TAPS, they stay in the table. */
static status make_lanes(const resample_table *t, int64_t n_sources, arena *memory, resample_lanes *l, error *err) {
    enum { MOST_TAPS = 8 };
    int64_t most = 1;
    l->is_plain = true;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t n = t->start[i + 1] - t->start[i];
        most = n > most ? n : most;
        l->is_plain &= n == 0 || t->weight[t->start[i]] == 1;
    }
    find_neighbours(t, n_sources, l);
    l->lanes = (t->n + RESAMPLE_LANES - 1) / RESAMPLE_LANES * RESAMPLE_LANES;
    l->is_plain &= most == 1;
    if (most > MOST_TAPS) {
        return ASSAY_OK;
    }
    l->taps = (int)most;
    size_t n = (size_t)(most * l->lanes) + 1;
    l->source = arena_make(memory, n, sizeof *l->source);
    l->weight = arena_make(memory, n, sizeof *l->weight);
    l->weight_f32 = arena_make(memory, n, sizeof *l->weight_f32);
    if (l->source == NULL || l->weight == NULL || l->weight_f32 == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a resampling's tables");
    }
    for (int64_t i = 0; i < l->lanes; i++) {
        for (int64_t k = 0; k < most; k++) {
            int64_t to = k * l->lanes + i, from = i < t->n && k < t->start[i + 1] - t->start[i] ? t->start[i] + k : -1;
            l->source[to] = from >= 0 ? t->source[from] : i < t->n ? (int32_t)n_sources : 0; /* lanes behind n: anything */
            l->weight[to] = from >= 0 ? t->weight[from] : 0;
            l->weight_f32[to] = (float)l->weight[to];
            l->has_gaps |= from < 0 && i < t->n;
        }
    }
    return ASSAY_OK;
}

static status run(kernel_plan *plan) {
    resample_state *s = plan->state;
    resample_job *job = &s->job;
    job->x = tensor_data(call_tensor(plan->call, 0));
    job->out = tensor_data(&plan->out->items[0]);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->n_threads)
    {
        parallel_enter(watch);
        void *work = s->work + (size_t)omp_get_thread_num() * s->work_bytes;
        int64_t from, to;
        parallel_share(s->batch * job->channels * job->rows.n, 1, &from, &to);
        for (int64_t i = from, y, end; i < to; i += end - y) {
            int64_t plane = i / job->rows.n;
            y = i % job->rows.n;
            end = y + to - i < job->rows.n ? y + to - i : job->rows.n;
            s->plane(job, plane / job->channels, plane % job->channels, y, end, work);
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

/* Whether targets are twice the sources, each read by two. */
static bool doubles(const resample_axis *axis) {
    bool yes = axis->mode == RESAMPLE_NEAREST && axis->in > 0 && axis->out == 2 * axis->in;
    for (int64_t o = 0; yes && o < axis->out; o++) {
        int64_t index[RESAMPLE_MAX_TAPS];
        double weight[RESAMPLE_MAX_TAPS];
        yes = resample_taps(axis, o, index, weight) == 1 && index[0] == o / 2 && weight[0] == 1;
    }
    return yes;
}

/* Whether channels lie side by side in the input's rows, without gaps. */
static bool has_channels_inside(const tensor *x) {
    int64_t channels = x->sizes[1];
    return channels > 1 && x->strides[1] == 1 && x->strides[3] == channels && x->sizes[3] * channels < INT32_MAX;
}

/* Such rows are added up as they lie. Where channels stay inside, columns are pixels, or for few channels elements with weights each;
   else each channel's columns are taken from among the others'. */
static status take_channels_inside(resample_job *job, arena *memory, error *err) {
    int64_t channels = job->channels;
    bool stay_inside = job->out_step[1] == 1 && job->out_step[3] == channels;
    job->x_columns *= channels;
    job->channels = job->x_step[3] = 1;
    if (stay_inside) {
        job->out_step[3] = 1;
        job->pixel = channels < FEW_CHANNELS ? 1 : channels;
        return channels < FEW_CHANNELS ? widen_table(&job->columns, channels, memory, err) : ASSAY_OK;
    }
    job->inside = channels;
    for (int64_t k = 0; k < job->columns.start[job->columns.n]; k++) {
        job->columns.source[k] *= (int32_t)channels;
    }
    return ASSAY_OK;
}

/* Whether the columns of the input's rows are made first: rows of the output are more, each of neighbours among them. */
static bool keeps_rows(const resample_job *job) {
    const resample_table *t = &job->rows;
    bool keeps = job->pixel == 1 && job->inside == 1 && t->n > job->x_rows && job->across.taps > 1 && job->across.taps <= RESAMPLE_KEPT_ROWS;
    for (int64_t y = 0; y < t->n && keeps; y++) {
        const int64_t taps = t->start[y + 1] - t->start[y];
        keeps = taps >= 1 && taps <= RESAMPLE_KEPT_ROWS &&
                t->source[t->start[y + 1] - 1] - t->source[t->start[y]] < RESAMPLE_KEPT_ROWS;
    }
    return keeps;
}

static status prepare(kernel_plan *plan, resample_mode mode, bool backward, error *err) {
    const tensor *x = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    const int64_t *in = backward ? plan->call->args[2].ints : x->sizes;
    int align_arg = mode == RESAMPLE_NEAREST ? -1 : backward ? 3 : 2;
    int factor_arg = (backward ? 3 : 2) + (align_arg >= 0 ? 1 : 0);
    resample_axis axes[2];
    TRY(resample_axes(plan->call, mode, in, 1, align_arg, factor_arg, x->dtype, axes, err));
    bool by_channels = tensor_suggests_channels_last(x) && x->strides[1] == 1 && out->strides[1] == 1;
    if (doubles(&axes[0]) && doubles(&axes[1]) && !by_channels && dtype_is_floating(x->dtype)) {
        return pool_prepare_fours(plan, backward, err);
    }
    resample_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a resampling");
    }
    plan->state = s;
    plan->run = run;
    s->batch = x->sizes[0];
    s->job.dtype = x->dtype;
    s->job.channels = x->sizes[1];
    s->job.x_rows = x->sizes[2];
    s->job.x_columns = x->sizes[3];
    memcpy(s->job.x_step, x->strides, sizeof s->job.x_step);
    memcpy(s->job.out_step, out->strides, sizeof s->job.out_step);
    TRY((backward ? backward_table : forward_table)(&axes[0], plan->memory, &s->job.rows, err));
    TRY((backward ? backward_table : forward_table)(&axes[1], plan->memory, &s->job.columns, err));
    s->job.inside = s->job.pixel = 1;
    if (has_channels_inside(x)) {
        TRY(take_channels_inside(&s->job, plan->memory, err));
    }
    TRY(make_lanes(&s->job.columns, s->job.x_columns, plan->memory, &s->job.across, err));
    int type = x->dtype == ASSAY_F64 ? 1 : 0;
    const bool keeps = keeps_rows(&s->job);
    s->plane = keeps ? resample_loops_pick()->plane_kept[type] : resample_loops_pick()->plane[type];
    s->n_threads = parallel_threads(tensor_bytes(x) + tensor_bytes(out));
    int64_t elements = 2 * s->job.x_columns + s->job.columns.n * s->job.pixel + 64 + s->job.inside;
    elements += keeps ? RESAMPLE_KEPT_ROWS * s->job.across.lanes : 0;
    s->work_bytes = parallel_room((size_t)elements * 8);
    s->work = arena_make(plan->memory, (size_t)s->n_threads, s->work_bytes);
    return s->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a resampling");
}

static status prepare_nearest(kernel_plan *plan, error *err) {
    return prepare(plan, RESAMPLE_NEAREST, false, err);
}

static status prepare_nearest_back(kernel_plan *plan, error *err) {
    return prepare(plan, RESAMPLE_NEAREST, true, err);
}

static status prepare_bilinear(kernel_plan *plan, error *err) {
    return prepare(plan, RESAMPLE_LINEAR, false, err);
}

static status prepare_bilinear_back(kernel_plan *plan, error *err) {
    return prepare(plan, RESAMPLE_LINEAR, true, err);
}

static status prepare_bicubic(kernel_plan *plan, error *err) {
    return prepare(plan, RESAMPLE_CUBIC, false, err);
}

static const kernel_row rows[] = {
    {"upsample_nearest2d.vec", prepare_nearest, NULL},
    {"upsample_nearest2d_backward.vec", prepare_nearest_back, NULL},
    {"upsample_bilinear2d.vec", prepare_bilinear, NULL},
    {"upsample_bilinear2d_backward.vec", prepare_bilinear_back, NULL},
    {"upsample_bicubic2d.vec", prepare_bicubic, NULL},
    {"grid_sampler_2d.default", grid_sampler_prepare, NULL},
    {"grid_sampler_2d_backward.default", grid_sampler_backward_prepare, NULL},
};

const kernel_rows kernels_resample = {rows, countof(rows)};
