/* SPDX-License-Identifier: Apache-2.0 */
/* CSV rows, totals and summary lines. */
#include "lab/report/operators_csv.h"

#include "base/csv.h"
#include "base/json.h"
#include "lab/stats/summary.h"

#include <math.h>

static const char *const quantile_names[] = {"20th", "50th", "80th"};

/* Plain decimals, more than these where four digits would not be left of a small number: the seconds of one call of nanoseconds. */
static void number_field(csv_writer *w, double value, int decimals) {
    enum { DIGITS = 4, MOST_DECIMALS = 30 };
    if (isfinite(value)) {
        int needed = value != 0 ? DIGITS - 1 - (int)floor(log10(fabs(value))) : 0;
        needed = needed < MOST_DECIMALS ? needed : MOST_DECIMALS;
        csv_fieldf(w, "%.*f", needed > decimals ? needed : decimals, value);
    } else {
        csv_field(w, NULL);
    }
}

/* PyTorch's program, with two compared backends, also announces an "A/B abs" for which it has no value, so that its rows
   are shorter than its header. Here header and rows agree: there is no such column. */
static void add_header(csv_writer *w, const operators_group *g) {
    csv_field(w, "operator");
    for (size_t b = 1; b < g->n_backends; b++) {
        for (size_t q = 0; q < countof(quantile_names); q++) {
            csv_fieldf(w, "%s %s", g->backends[b], quantile_names[q]);
        }
    }
    for (size_t q = 0; g->n_backends == 3 && q < countof(quantile_names); q++) {
        csv_fieldf(w, "%s/%s %s", g->backends[1], g->backends[2], quantile_names[q]);
    }
    csv_field(w, "elapsed");
    for (size_t b = 0; b < g->n_backends; b++) {
        csv_fieldf(w, "%s abs", g->backends[b]);
    }
    csv_end_row(w);
}

static double mean_seconds(const operators_group *g, const operators_row *row, size_t backend) {
    double sum_ns = 0;
    size_t n = 0;
    for (size_t i = 0; i < row->n_samples; i++) {
        double time_ns = operators_time_ns(row->samples[i].by_backend[backend]);
        if (!isnan(time_ns) && operators_is_common(g, row, &row->samples[i])) {
            sum_ns += time_ns;
            n++;
        }
    }
    return n > 0 ? sum_ns / (double)n * 1e-9 : NAN;
}

static status add_row(arena *a, const operators_group *g, const operators_row *row, csv_writer *w, error *err) {
    operators_figures f;
    csv_field(w, row->name);
    for (size_t b = 1; b < g->n_backends; b++) {
        TRY(operators_figures_of(a, row, b, 0, &f, err));
        for (size_t q = 0; q < countof(f.speedup); q++) {
            number_field(w, f.speedup[q], 6);
        }
    }
    if (g->n_backends == 3) {
        TRY(operators_figures_of(a, row, 2, 1, &f, err));
        for (size_t q = 0; q < countof(f.speedup); q++) {
            number_field(w, f.speedup[q], 6);
        }
    }
    number_field(w, row->elapsed_s, 6);
    for (size_t b = 0; b < g->n_backends; b++) {
        number_field(w, mean_seconds(g, row, b), 8);
    }
    csv_end_row(w);
    return ASSAY_OK;
}

status operators_csv(arena *a, const operators_group *g, text *out, error *err) {
    csv_writer w = {.out = out};
    add_header(&w, g);
    for (size_t i = 0; i < g->n_rows; i++) {
        TRY(add_row(a, g, &g->rows[i], &w, err));
    }
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the CSV") : ASSAY_OK;
}

/* ---- totals ---- */

typedef struct weighted_logs {
    double log_sum, weight_sum, own_ns, base_ns;
} weighted_logs;

static void add_pairs(const operators_row *row, size_t backend, weighted_logs *logs) {
    for (size_t i = 0; i < row->n_samples; i++) {
        const operators_sample *sample = &row->samples[i];
        const record *own = sample->by_backend[backend], *base = sample->by_backend[0];
        if (operators_is_pair(own, base)) {
            double own_ns = operators_time_ns(own), base_ns = operators_time_ns(base);
            logs->log_sum += sample->calls * log(base_ns / own_ns);
            logs->weight_sum += sample->calls;
            logs->own_ns += sample->calls * own_ns;
            logs->base_ns += sample->calls * base_ns;
        }
    }
}

status operators_totals_of(arena *a, const operators_group *g, size_t backend, operators_totals *out, error *err) {
    double *medians = arena_make(a, g->n_rows, sizeof *medians);
    if (medians == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
    }
    weighted_logs logs = {0};
    operators_totals t = {0};
    for (size_t i = 0; i < g->n_rows; i++) {
        operators_figures f;
        TRY(operators_figures_of(a, &g->rows[i], backend, 0, &f, err));
        if (f.n_pairs > 0) {
            medians[t.n_operators++] = f.speedup[1];
            t.n_faster += operators_verdict_of(&f) == OPERATORS_FASTER;
            t.n_slower += operators_verdict_of(&f) == OPERATORS_SLOWER;
            t.n_much_slower += f.high[1] < OPERATORS_MUCH_SLOWER;
        }
        t.step_ns += f.n_ok > 0 ? f.step_ns : 0;
        add_pairs(&g->rows[i], backend, &logs);
    }
    t.geomean = stats_geomean(medians, NULL, t.n_operators);
    t.weighted_geomean = logs.weight_sum > 0 ? exp(logs.log_sum / logs.weight_sum) : NAN;
    t.step_speedup = logs.own_ns > 0 ? logs.base_ns / logs.own_ns : NAN;
    *out = t;
    return ASSAY_OK;
}

/* ---- summary lines ---- */

static void put_quantiles(json_writer *w, const char *key, const double *values) {
    static const char *const keys[] = {"q20", "q50", "q80"};
    json_key(w, key);
    json_begin_object(w);
    for (size_t q = 0; q < countof(keys); q++) {
        json_put_double(w, keys[q], values[q]);
    }
    json_end_object(w);
}

static void begin_line(json_writer *w, const char *kind, const char *backend, bool baseline) {
    json_begin_object(w);
    json_put_int(w, "schema_version", RECORD_SCHEMA_VERSION);
    json_put_string(w, "kind", kind);
    json_put_string(w, "backend", backend);
    json_put_bool(w, "baseline", baseline);
}

static void end_line(json_writer *w) {
    json_end_object(w);
    text_add_char(w->out, '\n');
}

static status add_operator_line(arena *a, const operators_group *g, const operators_row *row, size_t backend,
                                double whole_ns, text *out, error *err) {
    operators_figures f;
    TRY(operators_figures_of(a, row, backend, 0, &f, err));
    json_writer w = {.out = out};
    begin_line(&w, "operator_summary", g->backends[backend], backend == 0);
    json_put_string(&w, "operator", row->name);
    json_put_int(&w, "samples", (int64_t)row->n_samples);
    json_put_int(&w, "samples_ok", (int64_t)f.n_ok);
    json_put_int(&w, "samples_compared", (int64_t)f.n_pairs);
    json_put_double(&w, "median_ns", f.median_ns);
    json_put_double(&w, "mean_s", mean_seconds(g, row, backend));
    put_quantiles(&w, "speedup", f.speedup);
    put_quantiles(&w, "speedup_low", f.low);
    put_quantiles(&w, "speedup_high", f.high);
    put_quantiles(&w, "weighted_speedup", f.weighted);
    json_put_double(&w, "step_ns", f.step_ns);
    json_put_double(&w, "step_share", f.step_ns / whole_ns);
    json_put_double(&w, "step_speedup", f.step_speedup);
    json_put_double(&w, "elapsed_s", row->elapsed_s);
    end_line(&w);
    return ASSAY_OK;
}

static void add_run_line(const operators_group *g, size_t backend, const operators_totals *t, text *out) {
    json_writer w = {.out = out};
    begin_line(&w, "run_summary", g->backends[backend], backend == 0);
    json_put_int(&w, "operators", (int64_t)g->n_rows);
    json_put_int(&w, "operators_compared", (int64_t)t->n_operators);
    json_put_int(&w, "operators_faster", (int64_t)t->n_faster);
    json_put_int(&w, "operators_slower", (int64_t)t->n_slower);
    json_put_int(&w, "operators_much_slower", (int64_t)t->n_much_slower);
    json_put_int(&w, "models", (int64_t)g->n_models);
    json_put_double(&w, "geomean_speedup", t->geomean);
    json_put_double(&w, "weighted_geomean_speedup", t->weighted_geomean);
    json_put_double(&w, "step_speedup", t->step_speedup);
    json_put_double(&w, "step_ns", t->step_ns);
    json_key(&w, "counts");
    json_begin_object(&w);
    for (int s = 0; s < RECORD_STATUS_COUNT; s++) {
        json_put_int(&w, record_status_text((record_status)s), (int64_t)g->counts[backend][s]);
    }
    json_end_object(&w);
    end_line(&w);
}

status operators_summary_lines(arena *a, const operators_group *g, text *out, error *err) {
    for (size_t b = 0; b < g->n_backends; b++) {
        operators_totals totals;
        TRY(operators_totals_of(a, g, b, &totals, err));
        for (size_t i = 0; i < g->n_rows; i++) {
            TRY(add_operator_line(a, g, &g->rows[i], b, totals.step_ns, out, err));
        }
        add_run_line(g, b, &totals, out);
    }
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the summary") : ASSAY_OK;
}
