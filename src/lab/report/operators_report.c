/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' table, its footer, and the account of what did not run. */
#include "lab/report/operators_report.h"

#include "lab/report/operators_csv.h"
#include "lab/report/table.h"
#include "lab/stats/interval.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 4, DEFAULT_REASONS = 5 };

/* A number in as many digits as its noise leaves. */
static void number_cell(table *t, double value, double relative_noise, table_style style) {
    char buffer[48];
    int digits = stats_digits(value, fabs(value) * relative_noise, MOST_DIGITS);
    digits = digits < 2 ? 2 : digits; /* one digit alone would hide a factor of two */
    table_cell(t, isfinite(value) ? table_number(buffer, value, digits) : NULL, style);
}

/* A median speed-up, with a '~' where its interval has 1 in it. */
static void speedup_cell(table *t, const operators_figures *f, double relative_noise) {
    char buffer[48];
    int digits = stats_digits(f->speedup[1], f->speedup[1] * relative_noise, MOST_DIGITS);
    const char *value = table_number(buffer, f->speedup[1], digits < 2 ? 2 : digits);
    operators_verdict verdict = operators_verdict_of(f);
    if (!isfinite(f->speedup[1])) {
        table_cell(t, NULL, TABLE_PLAIN);
    } else if (verdict == OPERATORS_ALIKE) {
        table_cellf(t, TABLE_DIM, "~%s", value);
    } else {
        table_cell(t, value, verdict == OPERATORS_FASTER ? TABLE_GOOD : TABLE_BAD);
    }
}

static table_style style_of_speedup(double speedup, double relative_noise) {
    double margin = isfinite(relative_noise) ? fmax(relative_noise, 0.05) : 0.05;
    return speedup > 1 + margin ? TABLE_GOOD : speedup < 1 - margin ? TABLE_BAD : TABLE_PLAIN;
}

/* "eager" over "[us]", and for each compared backend five columns; then the share. */
static status make_table(arena *a, const operators_group *g, table *t, error *err) {
    size_t most = 3 + g->n_backends * 5, n = 0;
    table_column *columns = arena_make(a, most, sizeof *columns);
    if (columns == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    columns[n++] = (table_column){"operator", .align = TABLE_LEFT, .shrinks = true};
    columns[n++] = (table_column){"inputs", .align = TABLE_RIGHT, .spare = 2};
    for (size_t b = 0; b < g->n_backends; b++) {
        columns[n++] = (table_column){arena_format(a, "%s\n[us]", g->backends[b]), .align = TABLE_RIGHT};
    }
    for (size_t b = 1; b < g->n_backends; b++) {
        columns[n++] = (table_column){arena_format(a, "%s\nx 20th", g->backends[b]), .align = TABLE_RIGHT, .spare = 4};
        columns[n++] = (table_column){"\nx 50th", .align = TABLE_RIGHT};
        columns[n++] = (table_column){"\nx 80th", .align = TABLE_RIGHT, .spare = 4};
        columns[n++] = (table_column){"\nx steps", .align = TABLE_RIGHT, .spare = 1};
    }
    columns[n++] = (table_column){"share of\nsteps [%]", .align = TABLE_RIGHT, .spare = 3};
    for (size_t i = 0; i < n; i++) {
        if (columns[i].header == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
        }
    }
    table_init(t, a, columns, n);
    return ASSAY_OK;
}

static status add_operator(arena *a, const operators_group *g, const operators_row *row, double whole_ns, table *t,
                           error *err) {
    operators_figures *f = arena_make(a, g->n_backends, sizeof *f);
    if (f == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    for (size_t b = 0; b < g->n_backends; b++) {
        TRY(operators_figures_of(a, row, b, 0, &f[b], err));
    }
    table_row_begin(t);
    table_cell(t, row->name, TABLE_PLAIN);
    table_cellf(t, TABLE_PLAIN, "%zu", row->n_samples);
    for (size_t b = 0; b < g->n_backends; b++) {
        number_cell(t, f[b].median_ns / 1000, f[b].noise, TABLE_PLAIN);
    }
    for (size_t b = 1; b < g->n_backends; b++) {
        double noise = (f[b].high[1] - f[b].low[1]) / 2 / f[b].speedup[1];
        noise = isfinite(noise) ? noise : f[b].noise + f[0].noise; /* relative errors add, at worst */
        number_cell(t, f[b].speedup[0], noise, TABLE_PLAIN);
        speedup_cell(t, &f[b], noise);
        number_cell(t, f[b].speedup[2], noise, TABLE_PLAIN);
        number_cell(t, f[b].step_speedup, noise, TABLE_PLAIN);
    }
    if (f[0].n_ok > 0) {
        table_cellf(t, TABLE_PLAIN, "%.1f", 100 * f[0].step_ns / whole_ns);
    } else {
        table_cell(t, NULL, TABLE_PLAIN);
    }
    return ASSAY_OK;
}

/* A footer row: words, then under each compared backend one figure, in its column `column` of four. */
static void add_footer(const operators_group *g, table *t, const char *words, const double *figures, size_t column) {
    table_row_begin(t);
    table_cell(t, words, TABLE_BOLD);
    for (size_t i = 0; i < 1 + g->n_backends; i++) {
        table_cell(t, "", TABLE_PLAIN);
    }
    for (size_t b = 1; b < g->n_backends; b++) {
        for (size_t i = 0; i < 4; i++) {
            if (i == column) {
                number_cell(t, figures[b], 0.005, style_of_speedup(figures[b], 0));
            } else {
                table_cell(t, "", TABLE_PLAIN);
            }
        }
    }
}

static status add_footers(arena *a, const operators_group *g, const operators_totals *totals, table *t, error *err) {
    static const struct {
        const char *words;
        size_t offset, column;
    } rows[] = {{"geometric mean over operators", offsetof(operators_totals, geomean), 1},
                {"... over calls, each as often as made", offsetof(operators_totals, weighted_geomean), 1},
                {"all recorded steps together", offsetof(operators_totals, step_speedup), 3}};
    double *figures = arena_make(a, g->n_backends, sizeof *figures);
    if (figures == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    table_rule(t);
    for (size_t i = 0; i < countof(rows); i++) {
        for (size_t b = 1; b < g->n_backends; b++) {
            figures[b] = *(const double *)((const char *)&totals[b] + rows[i].offset);
        }
        add_footer(g, t, rows[i].words, figures, rows[i].column);
    }
    return ASSAY_OK;
}

/* ---- what did not run, and why ---- */

typedef struct reason_count {
    const char *reason;
    size_t n;
} reason_count;

static int by_count(const void *left, const void *right) {
    const reason_count *a = left, *b = right;
    return a->n != b->n ? (a->n < b->n ? 1 : -1) : strcmp(a->reason, b->reason);
}

static size_t collect_reasons(const operators_group *g, size_t backend, record_status wanted, reason_count *reasons) {
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r == NULL || r->status != wanted) {
                continue;
            }
            const char *reason = r->reason != NULL ? r->reason : "no reason was recorded";
            size_t at = 0;
            while (at < n && strcmp(reasons[at].reason, reason) != 0) {
                at++;
            }
            n += at == n;
            reasons[at].reason = reason;
            reasons[at].n++;
        }
    }
    qsort(reasons, n, sizeof *reasons, by_count);
    return n;
}

static status add_reasons(arena *a, const operators_group *g, size_t backend, record_status s, size_t most, text *out,
                          error *err) {
    size_t count = g->counts[backend][s];
    reason_count *reasons = arena_make(a, count, sizeof *reasons);
    if (reasons == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reasons");
    }
    size_t n = collect_reasons(g, backend, s, reasons), rest = 0;
    for (size_t i = 0; i < n; i++) {
        if (i < most) {
            text_addf(out, "    %s, %zu x: %s\n", record_status_text(s), reasons[i].n, reasons[i].reason);
        } else {
            rest += reasons[i].n;
        }
    }
    if (rest > 0) {
        text_addf(out, "    %s, %zu x: %zu other reasons, in the records\n", record_status_text(s), rest, n - most);
    }
    return ASSAY_OK;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* "1.2 ms": a duration in the unit that leaves one to three digits before the point. */
static void add_duration(text *out, double ns) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    char buffer[48];
    size_t i = 0;
    while (i + 1 < countof(units) && ns < units[i].ns) {
        i++;
    }
    text_addf(out, "%s %s", table_number(buffer, ns / units[i].ns, 2), units[i].unit);
}

/* What making ready to run took: compiling, for a compiler. */
static status add_preparation(arena *a, const operators_group *g, size_t backend, text *out, error *err) {
    size_t most = g->counts[backend][RECORD_OK], n = 0;
    double *times = arena_make(a, most, sizeof *times);
    if (times == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
    }
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r != NULL && r->status == RECORD_OK && isfinite(r->prepare_ns) && n < most) {
                times[n++] = r->prepare_ns;
            }
        }
    }
    if (n > 0) {
        qsort(times, n, sizeof *times, by_size);
        text_add(out, "; prepared in ");
        add_duration(out, stats_quantile_sorted(times, n, 0.5));
        text_add(out, " (median), ");
        add_duration(out, times[n - 1]);
        text_add(out, " at most");
    }
    return ASSAY_OK;
}

/* What a compiler cut the work into, beside the least there can be: a kernel for each input. */
static void add_traffic(const operators_group *g, size_t backend, text *out) {
    double moved = 0, least = 0;
    long long kernels = 0, calls = 0, n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r != NULL && r->status == RECORD_OK && isfinite(r->bytes_moved) && isfinite(r->bytes)) {
                moved += r->bytes_moved;
                least += r->bytes;
                kernels += r->kernels;
                calls += r->library_calls;
                n++;
            }
        }
    }
    if (n > 0) {
        char all[32], needed[32];
        text_addf(out, "; %lld kernels and %lld library calls, at least %lld, move about %s, at least %s", kernels, calls, n,
                  text_of_bytes(all, moved), text_of_bytes(needed, least));
    }
}

/* How many operators are slower than on the baseline, chance set aside. */
static void add_verdicts(const operators_group *g, const operators_totals *t, text *out) {
    text_addf(out, "    of %zu operators %zu are beyond doubt faster than %s, %zu slower, %zu of these by more than %.0f%%\n",
              t->n_operators, t->n_faster, g->backends[0], t->n_slower, t->n_much_slower,
              100 * (1 - OPERATORS_MUCH_SLOWER));
}

static status add_account(arena *a, const operators_group *g, const operators_totals *totals,
                          const operators_report_options *options, text *out, error *err) {
    size_t most = options->top_reasons > 0 ? (size_t)options->top_reasons : DEFAULT_REASONS;
    for (size_t b = 0; b < g->n_backends; b++) {
        const char *separator = ": ";
        text_add(out, g->backends[b]);
        for (int s = 0; s < RECORD_STATUS_COUNT; s++) {
            if (g->counts[b][s] > 0 || s == RECORD_OK) {
                text_addf(out, "%s%zu %s", separator, g->counts[b][s], record_status_text((record_status)s));
                separator = ", ";
            }
        }
        TRY(add_preparation(a, g, b, out, err));
        add_traffic(g, b, out);
        text_add_char(out, '\n');
        for (int s = RECORD_OK + 1; s < RECORD_STATUS_COUNT; s++) {
            TRY(add_reasons(a, g, b, (record_status)s, most, out, err));
        }
        if (b > 0 && totals[b].n_operators > 0) {
            add_verdicts(g, &totals[b], out);
        }
    }
    return ASSAY_OK;
}

status operators_report(arena *a, const operators_group *g, const operators_report_options *options, text *out,
                        error *err) {
    table t;
    operators_totals *totals = arena_make(a, g->n_backends, sizeof *totals);
    if (totals == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
    }
    for (size_t b = 0; b < g->n_backends; b++) {
        TRY(operators_totals_of(a, g, b, &totals[b], err));
    }
    if (g->n_rows > 0) {
        TRY(make_table(a, g, &t, err));
        for (size_t i = 0; i < g->n_rows; i++) {
            TRY(add_operator(a, g, &g->rows[i], totals[0].step_ns, &t, err));
        }
        if (g->n_backends > 1) {
            TRY(add_footers(a, g, totals, &t, err));
        }
        const table_options shown = {.color = options->color,
                                     .max_width = options->max_width,
                                     .when_left_out = "The terminal is too narrow for all columns: a wider one shows them, --csv has them."};
        TRY(table_render(&t, &shown, out, err));
        text_addf(out, "\nTimes are medians over an operator's inputs; x is the speed-up over %s%s, ~ where that may be 1; steps "
                       "weigh each input by its calls",
                  g->backends[0], g->has_baseline ? "" : " (no record names a baseline)");
        if (g->n_models > 0) {
            text_addf(out, " in %zu model%s", g->n_models, g->n_models == 1 ? "" : "s");
        }
        text_add(out, ".\n");
    }
    TRY(add_account(a, g, totals, options, out, err));
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report") : ASSAY_OK;
}
