/* SPDX-License-Identifier: Apache-2.0 */
/* Right-aligned columns with their units in the header, a name at the end of the line. */
#include "cli/utilization_table.h"

#include <stdlib.h>
#include <string.h>

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

enum { MAX_COLUMNS = 10, MIN_NAME_COLUMNS = 24, COLUMN_GAP = 2 };

/* Lines of cells, laid out when all are known. Cells are kept one behind the other, each ended by a NUL. */
typedef struct table {
    const char *const *headers;
    size_t n_columns; /* the last one is left-aligned and may be cut */
    text cells;
    size_t n_cells;
    const utilization_style *style;
    const char *const *colors; /* by row; NULL for none */
} table;

static void cell(table *t, const char *format, ...) PRINTF_LIKE(2, 3);

static void cell(table *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_addv(&t->cells, format, args);
    va_end(args);
    text_add_char(&t->cells, '\0');
    t->n_cells++;
}

/* A trace's name may hold anything, terminal escapes too. */
static void name_cell(table *t, const char *prefix, const char *name) {
    text_add(&t->cells, prefix);
    text_add_shown(&t->cells, name, strlen(name));
    text_add_bytes(&t->cells, "", 1);
    t->n_cells++;
}

/* Columns that a text takes: bytes but for UTF-8's followers. */
static int columns_of(const char *s) {
    int n = 0;
    for (; *s != '\0'; s++) {
        n += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return n;
}

static void add_padding(text *out, int n) {
    for (int i = 0; i < n; i++) {
        text_add_char(out, ' ');
    }
}

static void add_name(text *out, const char *name, int room) {
    if (room <= 0 || columns_of(name) <= room) {
        text_add(out, name);
        return;
    }
    const char *end = name;
    for (int n = 0; n < room - 3; n++) {
        do {
            end++;
        } while (((unsigned char)*end & 0xc0) == 0x80);
    }
    text_add_bytes(out, name, (size_t)(end - name));
    text_add(out, "...");
}

static void add_line(const table *t, text *out, const char *const *cells, const int *widths, int name_room) {
    for (size_t i = 0; i + 1 < t->n_columns; i++) {
        add_padding(out, widths[i] - columns_of(cells[i]));
        text_add(out, cells[i]);
        add_padding(out, COLUMN_GAP);
    }
    add_name(out, cells[t->n_columns - 1], name_room);
}

/* Lays the table out and forgets its cells. */
static void table_end(table *t, text *out) {
    const bool color = t->style->color;
    int widths[MAX_COLUMNS] = {0};
    int taken = 0;
    const char *at = text_get(&t->cells);
    for (size_t i = 0; i + 1 < t->n_columns; i++) {
        widths[i] = columns_of(t->headers[i]);
    }
    for (size_t i = 0; i < t->n_cells; i++, at += strlen(at) + 1) {
        int n = columns_of(at);
        widths[i % t->n_columns] = n > widths[i % t->n_columns] ? n : widths[i % t->n_columns];
    }
    for (size_t i = 0; i + 1 < t->n_columns; i++) {
        taken += widths[i] + COLUMN_GAP;
    }
    int room = t->style->width > 0 ? t->style->width - taken : 0;
    room = t->style->width > 0 && room < MIN_NAME_COLUMNS ? MIN_NAME_COLUMNS : room;
    text_add(out, color ? BOLD : "");
    add_line(t, out, t->headers, widths, 0);
    text_add(out, color ? PLAIN "\n" : "\n");
    at = text_get(&t->cells);
    for (size_t row = 0; row < t->n_cells / t->n_columns; row++) {
        const char *cells[MAX_COLUMNS];
        for (size_t i = 0; i < t->n_columns; i++, at += strlen(at) + 1) {
            cells[i] = at;
        }
        const char *paint = color && t->colors != NULL ? t->colors[row] : NULL;
        text_add(out, paint != NULL ? paint : "");
        add_line(t, out, cells, widths, room);
        text_add(out, paint != NULL ? PLAIN "\n" : "\n");
    }
    out->failed = out->failed || t->cells.failed;
    text_clear(&t->cells);
}

static void add_title(text *out, const utilization_style *style, const char *title) {
    text_addf(out, "\n%s%s%s\n", style->color ? BOLD : "", title, style->color ? PLAIN : "");
}

static void percent_cell(table *t, double share) {
    cell(t, "%.2f", share * 100);
}

static void add_shares(text *out, const trace_figures *f, const utilization_style *style) {
    static const char *const headers[] = {"utilization %", "mm+conv %", "matmul %",  "conv %",
                                          "attention %",   "comm %",    "definition"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    percent_cell(&t, f->compat.utilization);
    percent_cell(&t, f->compat.mm_conv);
    for (int i = 0; i < 4; i++) {
        cell(&t, "-");
    }
    name_cell(&t, "", "compat");
    const trace_shares *shares[] = {&f->strict.by_name, &f->strict.by_operator};
    for (size_t i = 0; i < (f->by_operator ? 2 : 1); i++) {
        percent_cell(&t, f->strict.utilization);
        percent_cell(&t, shares[i]->mm_conv);
        percent_cell(&t, shares[i]->matmul);
        percent_cell(&t, shares[i]->convolution);
        percent_cell(&t, shares[i]->attention);
        percent_cell(&t, shares[i]->communication);
        name_cell(&t, "", i == 0 ? "strict, by kernel name" : "strict, by operator");
    }
    table_end(&t, out);
}

static void split_cells(table *t, const trace_split *s) {
    percent_cell(t, s->utilization);
    const double times_s[] = {s->compute_s, s->memcpy_s, s->memset_s, s->communication_s, s->idle_s};
    for (size_t i = 0; i < countof(times_s); i++) {
        cell(t, "%.3f", times_s[i] * 1e3);
    }
    cell(t, "%llu", (unsigned long long)s->n_events);
}

/* "GPU 0" and the like: the name where there is one, else the id. */
static void place_cell(table *t, const char *indent, const char *kind, const char *id, const char *name) {
    text shown = {0};
    text_addf(&shown, "%s%s", indent, name != NULL ? "" : kind);
    name_cell(t, text_get(&shown), name != NULL ? name : id);
    text_clear(&shown);
}

static void add_devices(text *out, const trace_figures *f, const utilization_style *style) {
    static const char *const headers[] = {"busy %",  "compute ms", "memcpy ms", "memset ms",
                                          "comm ms", "idle ms",    "events",    "device and stream"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    for (size_t i = 0; i < f->n_devices; i++) {
        const trace_device *d = &f->devices[i];
        split_cells(&t, &d->split);
        place_cell(&t, "", "process ", d->id, d->name);
        for (size_t k = 0; k < d->n_streams; k++) {
            split_cells(&t, &d->streams[k].split);
            place_cell(&t, "  ", "stream ", d->streams[k].id, d->streams[k].name);
        }
    }
    add_title(out, style, "Devices");
    table_end(&t, out);
}

static void add_idle(text *out, const trace_figures *f, const utilization_style *style) {
    static const char *const headers[] = {"idle ms",  "host late ms", "gaps",       "short gaps ms", "gaps",
                                          "other ms", "gaps",         "outside ms", "device"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    for (size_t i = 0; i < f->n_devices; i++) {
        const trace_device *d = &f->devices[i];
        cell(&t, "%.3f", d->split.idle_s * 1e3);
        for (int cause = 0; cause < TRACE_N_IDLE_CAUSES; cause++) {
            bool unknown = cause == TRACE_IDLE_HOST_LATE && !d->idle.has_launches;
            cell(&t, unknown ? "-" : "%.3f", d->idle.by_cause_s[cause] * 1e3);
            cell(&t, unknown ? "-" : "%llu", (unsigned long long)d->idle.n_gaps[cause]);
        }
        cell(&t, "%.3f", d->idle.outside_s * 1e3);
        place_cell(&t, "", "process ", d->id, d->name);
    }
    add_title(out, style, "Why idle");
    table_end(&t, out);
}

static size_t at_most(size_t n, size_t limit) {
    return n < limit ? n : limit;
}

static void add_rest(text *out, size_t shown, size_t n) {
    if (shown < n) {
        text_addf(out, "... %zu more (--top %zu shows all)\n", n - shown, n);
    }
}

static void add_kernels(text *out, const trace_figures *f, const utilization_style *style) {
    static const char *const headers[] = {"total ms", "share %", "count", "mean us",
                                          "min us",   "max us",  "work",  "kernel"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    size_t n = at_most(f->n_kernels_named, style->n_top);
    for (size_t i = 0; i < n; i++) {
        const trace_kernel *k = &f->kernels[i];
        cell(&t, "%.3f", k->total_s * 1e3);
        percent_cell(&t, k->share_of_kernels);
        cell(&t, "%llu", (unsigned long long)k->count);
        cell(&t, "%.2f", k->total_s / (double)k->count * 1e6);
        cell(&t, "%.2f", k->min_s * 1e6);
        cell(&t, "%.2f", k->max_s * 1e6);
        cell(&t, "%s", k->work == TRACE_WORK_OTHER ? "" : trace_work_text(k->work));
        name_cell(&t, "", k->name);
    }
    add_title(out, style, "Kernels");
    table_end(&t, out);
    add_rest(out, n, f->n_kernels_named);
}

static const char *operator_text(const char *name) {
    return name != NULL ? name : "(operator not in the trace)";
}

static void add_operators(text *out, const trace_figures *f, const utilization_style *style) {
    static const char *const headers[] = {"kernels ms", "share %", "kernels", "copies ms",
                                          "copies",     "work",    "operator"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    size_t n = at_most(f->n_operators, style->n_top);
    for (size_t i = 0; i < n; i++) {
        const trace_operator *o = &f->operators[i];
        cell(&t, "%.3f", o->kernel_s * 1e3);
        percent_cell(&t, o->share_of_kernels);
        cell(&t, "%llu", (unsigned long long)o->n_kernels);
        cell(&t, "%.3f", o->copy_s * 1e3);
        cell(&t, "%llu", (unsigned long long)o->n_copies);
        cell(&t, "%s", o->work == TRACE_WORK_OTHER ? "" : trace_work_text(o->work));
        name_cell(&t, "", operator_text(o->name));
    }
    add_title(out, style, "Operators, by the kernels that they launched");
    table_end(&t, out);
    add_rest(out, n, f->n_operators);
}

void utilization_table(text *out, const char *path, const trace_figures *f, const utilization_style *style) {
    static const char *const bases[] = {"the trace's window", "the devices' window", "given"};
    char wall[32];
    text_addf(out, "%s: %llu events, %llu kernels, wall time %s (%s)\n\n", path, (unsigned long long)f->n_events,
              (unsigned long long)f->n_kernels, text_of_ns(wall, f->wall_time_s * 1e9), bases[f->base]);
    add_shares(out, f, style);
    if (f->n_devices == 0) {
        text_add(out, "\nNo device ran anything in this trace.\n");
        return;
    }
    add_devices(out, f, style);
    add_idle(out, f, style);
    add_kernels(out, f, style);
    if (f->by_operator) {
        add_operators(out, f, style);
    }
}

static void add_changes(text *out, const char *what, const trace_change *changes, size_t n_changes,
                        const utilization_style *style) {
    const char *const headers[] = {"change ms", "a ms", "b ms", "a count", "b count", "work", what};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    const trace_change **largest = calloc(style->n_top + 1, sizeof *largest);
    const char **colors = calloc(style->n_top + 1, sizeof *colors);
    out->failed = out->failed || largest == NULL || colors == NULL;
    size_t n = largest != NULL && colors != NULL ? trace_diff_largest(changes, n_changes, style->n_top, largest) : 0;
    for (size_t i = 0; i < n; i++) {
        const trace_change *c = largest[i];
        cell(&t, "%+.3f", c->change_s * 1e3);
        cell(&t, "%.3f", c->time_a_s * 1e3);
        cell(&t, "%.3f", c->time_b_s * 1e3);
        cell(&t, "%llu", (unsigned long long)c->count_a);
        cell(&t, "%llu", (unsigned long long)c->count_b);
        cell(&t, "%s", c->work == TRACE_WORK_OTHER ? "" : trace_work_text(c->work));
        name_cell(&t, "", operator_text(c->name));
        colors[i] = c->change_s > 0 ? RED : c->change_s < 0 ? GREEN : NULL;
    }
    t.colors = colors;
    text_add_char(out, '\n');
    table_end(&t, out);
    add_rest(out, n, n_changes);
    free(largest);
    free(colors);
}

void utilization_diff_table(text *out, const char *path_a, const char *path_b, const trace_diff *d,
                            const utilization_style *style) {
    static const char *const headers[] = {"wall ms", "kernels ms", "kernels", "utilization %", "mm+conv %", "trace"};
    table t = {.headers = headers, .n_columns = countof(headers), .style = style};
    const trace_figures *sides[] = {d->a, d->b};
    for (size_t i = 0; i < countof(sides); i++) {
        cell(&t, "%.3f", sides[i]->wall_time_s * 1e3);
        cell(&t, "%.3f", sides[i]->kernel_s * 1e3);
        cell(&t, "%llu", (unsigned long long)sides[i]->n_kernels);
        percent_cell(&t, sides[i]->strict.utilization);
        percent_cell(&t, sides[i]->strict.by_name.mm_conv);
        name_cell(&t, i == 0 ? "a  " : "b  ", i == 0 ? path_a : path_b);
    }
    table_end(&t, out);
    add_changes(out, "kernel", d->kernels, d->n_kernels, style);
    if (d->n_operators > 0) {
        add_changes(out, "operator, by its kernels", d->operators, d->n_operators, style);
    }
}
