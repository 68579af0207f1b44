/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping and figures. */
#include "lab/report/operators_group.h"

#include "lab/stats/summary.h"

#include <math.h>
#include <string.h>

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
}

/* The index of name among n, adding it at the end when it is new. */
static size_t index_of(const char **names, size_t *n, const char *name) {
    for (size_t i = *n; i-- > 0;) { /* the last first: records of one operator come together */
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    names[*n] = name;
    return (*n)++;
}

static status find_backends(arena *a, const record *records, size_t n, operators_group *g, error *err) {
    g->backends = arena_make(a, n, sizeof *g->backends);
    if (g->backends == NULL) {
        return no_memory(err);
    }
    const char *baseline = NULL;
    for (size_t i = 0; i < n; i++) {
        baseline = baseline == NULL && records[i].baseline ? records[i].backend : baseline;
    }
    g->has_baseline = baseline != NULL;
    if (baseline != NULL) {
        index_of(g->backends, &g->n_backends, baseline);
    }
    for (size_t i = 0; i < n; i++) {
        index_of(g->backends, &g->n_backends, records[i].backend);
    }
    return ASSAY_OK;
}

static bool same_input(const record *a, const record *b) {
    if (a->sample_index != b->sample_index) {
        return false;
    }
    return a->input == b->input || (a->input != NULL && b->input != NULL && strcmp(a->input, b->input) == 0);
}

/* Where each record belongs: its row, and its sample within the row. */
typedef struct places {
    size_t *row, *sample;
    size_t *previous;    /* the first record of the row's sample before this record's sample */
    size_t *last;        /* by row: the first record of its latest sample */
    const char **names;  /* by row */
    size_t *n_samples;   /* by row */
    size_t n_rows;
} places;

enum { NONE = -1 };

static void place(const record *records, size_t i, places *p) {
    size_t known = p->n_rows, row = index_of(p->names, &p->n_rows, records[i].operator_name);
    if (row == known) {
        p->last[row] = (size_t)NONE;
    }
    p->row[i] = row;
    for (size_t k = p->last[row]; k != (size_t)NONE; k = p->previous[k]) {
        if (same_input(&records[k], &records[i])) {
            p->sample[i] = p->sample[k];
            return;
        }
    }
    p->sample[i] = p->n_samples[row]++;
    p->previous[i] = p->last[row];
    p->last[row] = i;
}

static status find_places(arena *a, const record *records, size_t n, places *p, error *err) {
    *p = (places){.row = arena_make(a, n, sizeof(size_t)),
                  .sample = arena_make(a, n, sizeof(size_t)),
                  .previous = arena_make(a, n, sizeof(size_t)),
                  .last = arena_make(a, n, sizeof(size_t)),
                  .names = arena_make(a, n, sizeof(char *)),
                  .n_samples = arena_make(a, n, sizeof(size_t))};
    if (p->row == NULL || p->sample == NULL || p->previous == NULL || p->last == NULL || p->names == NULL ||
        p->n_samples == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        place(records, i, p);
    }
    return ASSAY_OK;
}

static status make_rows(arena *a, const places *p, operators_group *g, error *err) {
    g->n_rows = p->n_rows;
    g->rows = arena_make(a, p->n_rows, sizeof *g->rows);
    g->counts = arena_make(a, g->n_backends, sizeof *g->counts);
    if (g->rows == NULL || g->counts == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        operators_row *row = &g->rows[i];
        *row = (operators_row){.name = p->names[i],
                               .samples = arena_make(a, p->n_samples[i], sizeof *row->samples),
                               .n_samples = p->n_samples[i]};
        for (size_t k = 0; row->samples != NULL && k < row->n_samples; k++) {
            row->samples[k].by_backend = arena_make(a, g->n_backends, sizeof(record *));
            if (row->samples[k].by_backend == NULL) {
                return no_memory(err);
            }
        }
        if (row->samples == NULL) {
            return no_memory(err);
        }
    }
    return ASSAY_OK;
}

/* Each record of an input says how long its worker was at it, for all backends: each worker counts once. */
static double elapsed_of(const operators_sample *sample, size_t n_backends) {
    double sum = 0;
    for (size_t b = 0; b < n_backends; b++) {
        const record *r = sample->by_backend[b];
        double longest = r != NULL && isfinite(r->elapsed_s) ? r->elapsed_s : 0;
        bool is_first = r != NULL;
        for (size_t k = 0; k < n_backends && is_first; k++) {
            const record *other = sample->by_backend[k];
            bool is_same = other != NULL && record_took_turns(r, other);
            is_first = !is_same || k >= b;
            longest = is_same && other->elapsed_s > longest ? other->elapsed_s : longest;
        }
        sum += is_first ? longest : 0;
    }
    return sum;
}

static void fill(const record *records, size_t n, const places *p, operators_group *g) {
    for (size_t i = 0; i < n; i++) {
        const record *r = &records[i];
        operators_row *row = &g->rows[p->row[i]];
        operators_sample *sample = &row->samples[p->sample[i]];
        size_t backend = index_of(g->backends, &g->n_backends, r->backend);
        sample->by_backend[backend] = r;
        sample->calls = r->calls > 0 ? (double)r->calls : 1;
    }
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const operators_sample *sample = &g->rows[i].samples[k];
            for (size_t b = 0; b < g->n_backends; b++) {
                if (sample->by_backend[b] != NULL) {
                    g->counts[b][sample->by_backend[b]->status]++;
                }
            }
            g->rows[i].elapsed_s += elapsed_of(sample, g->n_backends);
        }
    }
}

static status count_models(arena *a, const record *records, size_t n, operators_group *g, error *err) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        most += records[i].n_models;
    }
    const char **names = arena_make(a, most, sizeof *names);
    if (names == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < records[i].n_models; k++) {
            index_of(names, &g->n_models, records[i].models[k]);
        }
    }
    return ASSAY_OK;
}

status operators_group_make(arena *a, const record *records, size_t n, operators_group *out, error *err) {
    operators_group g = {0};
    places p;
    TRY(find_backends(a, records, n, &g, err));
    TRY(find_places(a, records, n, &p, err));
    TRY(make_rows(a, &p, &g, err));
    fill(records, n, &p, &g);
    TRY(count_models(a, records, n, &g, err));
    *out = g;
    return ASSAY_OK;
}

double operators_time_ns(const record *r) {
    return r != NULL && r->status == RECORD_OK && r->median_ns > 0 && isfinite(r->median_ns) ? r->median_ns : NAN;
}

bool operators_is_pair(const record *a, const record *b) {
    return !isnan(operators_time_ns(a)) && !isnan(operators_time_ns(b)) && record_took_turns(a, b);
}

size_t operators_count_apart(const operators_group *g, size_t backend) {
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *own = g->rows[i].samples[k].by_backend[backend], *base = g->rows[i].samples[k].by_backend[0];
            n += !isnan(operators_time_ns(own)) && !isnan(operators_time_ns(base)) && !record_took_turns(own, base);
        }
    }
    return n;
}

/* Whether or not it was timed. */
static bool ran(const record *r) {
    return r != NULL && r->status == RECORD_OK;
}

static bool ran_anywhere(const operators_row *row, size_t backend) {
    for (size_t i = 0; i < row->n_samples; i++) {
        if (ran(row->samples[i].by_backend[backend])) {
            return true;
        }
    }
    return false;
}

bool operators_is_common(const operators_group *g, const operators_row *row, const operators_sample *sample) {
    bool any = false;
    for (size_t b = 0; b < g->n_backends; b++) {
        bool here = ran(sample->by_backend[b]);
        if (!here && ran_anywhere(row, b)) {
            return false;
        }
        any = any || here;
    }
    return any;
}

static const double CONFIDENCE = 0.95;

/* Half of the median's 95% interval over the median; NaN where there are no two samples to differ. */
static double noise_of(const record *r, double *scratch) {
    if (r->n_samples < 2) {
        return NAN;
    }
    memcpy(scratch, r->samples_ns, r->n_samples * sizeof *scratch);
    stats_sort(scratch, r->n_samples);
    stats_interval interval = stats_median_interval(scratch, r->n_samples, CONFIDENCE);
    return (interval.high - interval.low) / 2 / r->median_ns;
}

/* Room for what one operator's figures are made of. */
typedef struct workbench {
    double *times, *noises, *ratios, *lows, *highs, *weights;
    double *scratch; /* as long as the longest record */
    size_t *order;
} workbench;

static status make_workbench(arena *a, const operators_row *row, size_t backend, workbench *w, error *err) {
    size_t longest = 1, n = row->n_samples;
    for (size_t i = 0; i < n; i++) {
        const record *r = row->samples[i].by_backend[backend];
        longest = r != NULL && r->n_samples > longest ? r->n_samples : longest;
    }
    double *room = arena_make(a, n, 6 * sizeof *room);
    *w = (workbench){.scratch = arena_make(a, longest, sizeof(double)), .order = arena_make(a, n, sizeof(size_t))};
    if (room == NULL || w->scratch == NULL || w->order == NULL) {
        return no_memory(err);
    }
    w->times = room;
    w->noises = room + n;
    w->ratios = room + 2 * n;
    w->weights = room + 3 * n;
    w->lows = room + 4 * n;
    w->highs = room + 5 * n;
    return ASSAY_OK;
}

static double median_in_place(double *values, size_t n) {
    stats_sort(values, n);
    return stats_quantile_sorted(values, n, 0.5);
}

/* What two records of one point say: the ratio of `other` to `own` and its interval. That to itself is 1 however few samples there are. */
static void compare(const record *own, const record *other, workbench *w, size_t at) {
    if (own == other) {
        w->ratios[at] = w->lows[at] = w->highs[at] = 1;
        return;
    }
    stats_ratio found = record_ratio(own, other, w->scratch);
    bool known = isfinite(found.median), sure = known && found.interval.confidence >= CONFIDENCE;
    w->ratios[at] = known ? found.median : operators_time_ns(other) / operators_time_ns(own);
    w->lows[at] = sure ? found.interval.low : 0;
    w->highs[at] = sure ? found.interval.high : INFINITY;
}

static void add_quantiles(operators_figures *f, workbench *w) {
    static const double quantiles[] = {0.2, 0.5, 0.8};
    for (size_t q = 0; q < countof(quantiles); q++) {
        f->weighted[q] = stats_quantile_weighted(w->ratios, w->weights, f->n_pairs, quantiles[q], w->order);
    }
    stats_sort(w->ratios, f->n_pairs); /* the weights belong to the old order; they are done with */
    stats_sort(w->lows, f->n_pairs);
    stats_sort(w->highs, f->n_pairs);
    for (size_t q = 0; q < countof(quantiles); q++) {
        f->speedup[q] = stats_quantile_sorted(w->ratios, f->n_pairs, quantiles[q]);
        f->low[q] = stats_quantile_sorted(w->lows, f->n_pairs, quantiles[q]);
        f->high[q] = stats_quantile_sorted(w->highs, f->n_pairs, quantiles[q]);
    }
}

status operators_figures_of(arena *a, const operators_row *row, size_t backend, size_t other, operators_figures *out,
                            error *err) {
    workbench w;
    TRY(make_workbench(a, row, backend, &w, err));
    operators_figures f = {.step_ns = 0};
    double own_sum = 0, other_sum = 0;
    size_t n_noises = 0;
    for (size_t i = 0; i < row->n_samples; i++) {
        const operators_sample *sample = &row->samples[i];
        const record *own_record = sample->by_backend[backend], *other_record = sample->by_backend[other];
        double own_ns = operators_time_ns(own_record);
        if (isnan(own_ns)) {
            continue;
        }
        w.times[f.n_ok++] = own_ns;
        f.step_ns += sample->calls * own_ns;
        double noise = noise_of(own_record, w.scratch);
        if (isfinite(noise)) {
            w.noises[n_noises++] = noise;
        }
        if (operators_is_pair(own_record, other_record)) {
            compare(own_record, other_record, &w, f.n_pairs);
            w.weights[f.n_pairs++] = sample->calls;
            own_sum += sample->calls * own_ns;
            other_sum += sample->calls * operators_time_ns(other_record);
        }
    }
    f.median_ns = median_in_place(w.times, f.n_ok);
    f.noise = median_in_place(w.noises, n_noises);
    f.step_ns = f.n_ok > 0 ? f.step_ns : NAN;
    f.step_speedup = f.n_pairs > 0 ? other_sum / own_sum : NAN;
    add_quantiles(&f, &w);
    *out = f;
    return ASSAY_OK;
}

status operators_common_median_ns(arena *a, const operators_group *g, const operators_row *row, size_t backend, double *out, error *err) {
    double *times = arena_make(a, row->n_samples, sizeof *times);
    size_t n = 0;
    if (times == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < row->n_samples; i++) {
        double time_ns = operators_time_ns(row->samples[i].by_backend[backend]);
        if (!isnan(time_ns) && operators_is_common(g, row, &row->samples[i])) {
            times[n++] = time_ns;
        }
    }
    *out = median_in_place(times, n);
    return ASSAY_OK;
}

operators_verdict operators_verdict_of(const operators_figures *f) {
    return f->low[1] > 1 ? OPERATORS_FASTER : f->high[1] < 1 ? OPERATORS_SLOWER : OPERATORS_ALIKE;
}
