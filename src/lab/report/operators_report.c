/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' table, and what its columns mean. */
#include "lab/report/operators_report.h"

#include "lab/report/operators_account.h"
#include "lab/report/table.h"
#include "lab/stats/interval.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 4 };

/* As many digits as the noise leaves. One alone would hide a factor of two; more are not known to be there where the noise is not. */
static int digits_of(double value, double relative_noise) {
    enum { LEAST_DIGITS = 2 };
    int digits = isnan(relative_noise) ? LEAST_DIGITS : stats_digits(value, fabs(value) * relative_noise, MOST_DIGITS);
    return digits < LEAST_DIGITS ? LEAST_DIGITS : digits;
}

static void number_cell(table *t, double value, double relative_noise, table_style style) {
    char buffer[48];
    table_cell(t, isfinite(value) ? table_number(buffer, value, digits_of(value, relative_noise)) : NULL, style);
}

/* A median speed-up, with a '~' where its interval has 1 in it. */
static void speedup_cell(table *t, const operators_figures *f, double relative_noise) {
    char buffer[48];
    const char *value = table_number(buffer, f->speedup[1], digits_of(f->speedup[1], relative_noise));
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

/* What a column is for: columns of one kind are left out together, and explained together. */
typedef enum column_kind { COLUMN_NAME, COLUMN_INPUTS, COLUMN_TIME, COLUMN_X20, COLUMN_X50, COLUMN_X80, COLUMN_STEPS, COLUMN_SHARE, COLUMN_KINDS } column_kind;

static const char *const kind_names[COLUMN_KINDS] = {"operator", "inputs", "times", "x 20th", "x 50th", "x 80th", "x steps", "share of steps"};

/* A table, the kinds of its columns, and what there was no room for. */
typedef struct report {
    table t;
    column_kind *kinds;
    table_cuts cuts;
} report;

static void add_column(report *r, table_column *columns, size_t *n, column_kind kind, table_column column) {
    r->kinds[*n] = kind;
    columns[(*n)++] = column;
}

/* "eager" over "[us]", and for each compared backend five columns; then the share. The last backends go first. */
static status make_table(arena *a, const operators_group *g, report *r, error *err) {
    size_t most = 3 + g->n_backends * 5, n = 0;
    table_column *columns = arena_make(a, most, sizeof *columns);
    r->kinds = arena_make(a, most, sizeof *r->kinds);
    if (columns == NULL || r->kinds == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    add_column(r, columns, &n, COLUMN_NAME, (table_column){"operator", .align = TABLE_LEFT, .shrinks = true});
    add_column(r, columns, &n, COLUMN_INPUTS, (table_column){"inputs", .align = TABLE_RIGHT, .spare = 2});
    for (size_t b = 0; b < g->n_backends; b++) {
        table_column time = {arena_format(a, "%s\n[us]", g->backends[b]), .align = TABLE_RIGHT, .spare = b > 0 ? -1 : 0};
        add_column(r, columns, &n, COLUMN_TIME, time);
    }
    for (size_t b = 1; b < g->n_backends; b++) {
        table_column first = {arena_format(a, "%s\nx 20th", g->backends[b]), .align = TABLE_RIGHT, .spare = 4};
        add_column(r, columns, &n, COLUMN_X20, first);
        add_column(r, columns, &n, COLUMN_X50, (table_column){"\nx 50th", .align = TABLE_RIGHT, .spare = -2 - (int)(g->n_backends - 1 - b)});
        add_column(r, columns, &n, COLUMN_X80, (table_column){"\nx 80th", .align = TABLE_RIGHT, .spare = 4});
        add_column(r, columns, &n, COLUMN_STEPS, (table_column){"\nx steps", .align = TABLE_RIGHT, .spare = 1});
    }
    add_column(r, columns, &n, COLUMN_SHARE, (table_column){"share of\nsteps [%]", .align = TABLE_RIGHT, .spare = 3});
    for (size_t i = 0; i < n; i++) {
        if (columns[i].header == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
        }
    }
    table_init(&r->t, a, columns, n);
    return ASSAY_OK;
}

/* "native_layer_norm" for aten.native_layer_norm.default: what is left out is what most names have. */
static const char *short_name(arena *a, const char *name) {
    const char *own = name + (text_starts_with(name, "aten.") ? strlen("aten.") : 0);
    size_t n = strlen(own) - (own != name && text_ends_with(own, ".default") ? strlen(".default") : 0);
    return arena_text(a, own, n);
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
    table_cell_short(t, row->name, short_name(a, row->name), TABLE_PLAIN);
    size_t n_common = 0;
    for (size_t i = 0; i < row->n_samples; i++) {
        n_common += operators_is_common(g, row, &row->samples[i]);
    }
    table_cellf(t, TABLE_PLAIN, n_common == row->n_samples ? "%zu" : "%zu/%zu", n_common, row->n_samples);
    for (size_t b = 0; b < g->n_backends; b++) {
        double median_ns;
        TRY(operators_common_median_ns(a, g, row, b, &median_ns, err));
        number_cell(t, median_ns / 1000, f[b].noise, TABLE_PLAIN);
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
static void add_footer(const operators_group *g, table *t, const char *const *words, const double *figures, size_t column) {
    table_row_begin(t);
    table_cell_short(t, words[0], words[1], TABLE_BOLD);
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
        const char *words[2]; /* and in short */
        size_t offset, column;
    } rows[] = {{{"geometric mean over operators", "geometric mean"}, offsetof(operators_totals, geomean), 1},
                {{"... over calls, each as often as made", "... over calls"}, offsetof(operators_totals, weighted_geomean), 1},
                {{"all recorded steps together", "all steps"}, offsetof(operators_totals, step_speedup), 3}};
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

/* ---- what the columns mean ---- */

static bool has_kind(const report *r, column_kind kind, bool left_out) {
    for (size_t i = 0; i < r->t.n_columns; i++) {
        if (r->kinds[i] == kind && r->cuts.left_out[i] == left_out) {
            return true;
        }
    }
    return false;
}

/* Of the columns that are there, and where something stands in them. */
static void add_meanings(const operators_group *g, const operators_totals *totals, const report *r, text *out) {
    bool any_time = false, any_speedup = false, is_partial = false; /* some inputs are not in the times */
    for (size_t b = 0; b < g->n_backends; b++) {
        any_time = any_time || totals[b].step_ns > 0;
        any_speedup = any_speedup || (b > 0 && totals[b].n_operators > 0);
    }
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples && g->n_backends > 1; k++) {
            is_partial = is_partial || !operators_is_common(g, &g->rows[i], &g->rows[i].samples[k]);
        }
    }
    if (!any_time) {
        return;
    }
    text_addf(out, "Times are medians over an operator's inputs%s", is_partial ? " that ran on all backends" : "");
    if (any_speedup && has_kind(r, COLUMN_X50, false)) {
        text_addf(out, "; x is the speed-up over %s%s, ~ where that may be 1", g->backends[0],
                  g->has_baseline ? "" : " (no record names a baseline)");
    }
    if (has_kind(r, COLUMN_SHARE, false) || (any_speedup && has_kind(r, COLUMN_STEPS, false))) {
        text_add(out, "; steps weigh each input by its calls");
        if (g->n_models > 0) {
            text_addf(out, " in %zu model%s", g->n_models, g->n_models == 1 ? "" : "s");
        }
    }
    text_add(out, ".\n");
}

/* "a" or "a and b": what the records name, each once. */
static void add_once(const operators_group *g, size_t offset, text *out) {
    enum { MOST = 4 };
    const char *seen[MOST];
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples * g->n_backends && n < MOST; k++) {
            const record *r = g->rows[i].samples[k / g->n_backends].by_backend[k % g->n_backends];
            const char *name = r != NULL ? *(const char *const *)((const char *)r + offset) : NULL;
            size_t at = 0;
            while (name != NULL && at < n && strcmp(seen[at], name) != 0) {
                at++;
            }
            if (name != NULL && at == n) {
                seen[n++] = name;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        text_addf(out, "%s%s", i > 0 ? " and " : "", seen[i]);
    }
}

static const record *any_record(const operators_group *g) {
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples * g->n_backends; k++) {
            const record *r = g->rows[i].samples[k / g->n_backends].by_backend[k % g->n_backends];
            if (r != NULL) {
                return r;
            }
        }
    }
    return NULL;
}

/* What was measured and how, where the caller says so: "suite embedded, f32, 2 threads, warm caches, every result checked". */
static void add_subject(const operators_group *g, const operators_report_options *options, text *out) {
    const record *r = any_record(g);
    if (options->source == NULL || r == NULL) {
        return;
    }
    size_t from = out->length;
    text_add_shown(out, options->source, strlen(options->source));
    text_add(out, ", ");
    add_once(g, offsetof(record, dtype), out);
    text_addf(out, ", %d thread%s, ", r->threads, r->threads == 1 ? "" : "s");
    add_once(g, offsetof(record, cache), out);
    text_addf(out, " caches%s, %s\n", r->channels_last ? ", channels last" : "", options->checked ? "every result checked" : "results not checked");
    if (!out->failed && out->data[from] >= 'a' && out->data[from] <= 'z') {
        out->data[from] = (char)(out->data[from] - 'a' + 'A');
    }
}

/* Which columns a wider terminal would show. */
static void add_cuts(const report *r, text *out) {
    int n = 0;
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        if (has_kind(r, (column_kind)kind, true)) {
            bool some = has_kind(r, (column_kind)kind, false);
            const char *which = !some ? "" : kind == COLUMN_TIME ? " of all but the baseline" : " of the last backends";
            text_addf(out, "%s%s%s", n++ > 0 ? ", " : "The terminal is too narrow for: ", kind_names[kind], which);
        }
    }
    text_add(out, n > 0 ? "; --jsonl keeps all figures.\n" : "");
}

status operators_report(arena *a, const operators_group *g, const operators_report_options *options, text *out,
                        error *err) {
    report r = {0};
    operators_totals *totals = arena_make(a, g->n_backends, sizeof *totals);
    if (totals == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
    }
    for (size_t b = 0; b < g->n_backends; b++) {
        TRY(operators_totals_of(a, g, b, &totals[b], err));
    }
    if (g->n_rows > 0) {
        TRY(make_table(a, g, &r, err));
        for (size_t i = 0; i < g->n_rows; i++) {
            TRY(add_operator(a, g, &g->rows[i], totals[0].step_ns, &r.t, err));
        }
        if (g->n_backends > 1) {
            TRY(add_footers(a, g, totals, &r.t, err));
        }
        const table_options shown = {.color = options->color, .max_width = options->max_width, .cuts = &r.cuts};
        TRY(table_render(&r.t, &shown, out, err));
        text_add_char(out, '\n');
        add_subject(g, options, out);
        add_meanings(g, totals, &r, out);
        add_cuts(&r, out);
        operators_doubts(g, out);
    }
    TRY(operators_account(a, g, totals, options->top_reasons, out, err));
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report") : ASSAY_OK;
}
