/* SPDX-License-Identifier: Apache-2.0 */
/* Collects cells, finds the widths, writes the lines. */
#include "lab/report/table.h"

#include "lab/report/terminal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_cell_text {
    const char *value; /* NULL: nothing there */
    table_style style;
} table_cell_text;

struct table_row {
    table_row *next;
    bool is_rule;
    table_cell_text *cells;
};

enum { GAP = 2, LEAST_SHRUNK = 8 };
static const char rule_piece[] = "\xe2\x94\x80"; /* a horizontal box line */
static const char ellipsis[] = "\xe2\x80\xa6";
static const char *const style_codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};

void table_init(table *t, arena *a, const table_column *columns, size_t n) {
    *t = (table){.memory = a, .columns = arena_make(a, n, sizeof *columns), .n_columns = n};
    for (size_t i = 0; t->columns != NULL && i < n; i++) {
        t->columns[i] = columns[i];
        t->columns[i].header = arena_text(a, columns[i].header, strlen(columns[i].header));
        t->failed |= t->columns[i].header == NULL;
    }
    t->failed |= t->columns == NULL;
}

static table_row *add_row(table *t) {
    table_row *row = t->failed ? NULL : arena_make(t->memory, 1, sizeof *row);
    if (row == NULL) {
        t->failed = true;
        return NULL;
    }
    if (t->last != NULL) {
        t->last->next = row;
    } else {
        t->first = row;
    }
    t->last = row;
    return row;
}

void table_row_begin(table *t) {
    table_row *row = add_row(t);
    t->filled = 0;
    if (row != NULL) {
        row->cells = arena_make(t->memory, t->n_columns, sizeof *row->cells);
        t->failed |= row->cells == NULL;
    }
}

void table_rule(table *t) {
    table_row *row = add_row(t);
    if (row != NULL) {
        row->is_rule = true;
    }
}

void table_cell(table *t, const char *value, table_style style) {
    if (t->failed) {
        return;
    }
    assert(t->last != NULL && !t->last->is_rule && t->filled < t->n_columns);
    table_cell_text *cell = &t->last->cells[t->filled++];
    cell->value = value != NULL ? arena_text(t->memory, value, strlen(value)) : "-";
    cell->style = value != NULL ? style : TABLE_DIM;
    t->failed |= cell->value == NULL;
}

void table_cellf(table *t, table_style style, const char *format, ...) {
    text value = {0};
    va_list args;
    va_start(args, format);
    text_addv(&value, format, args);
    va_end(args);
    t->failed |= value.failed;
    table_cell(t, text_get(&value), style);
    text_clear(&value);
}

/* ---- rendering ---- */

/* The k-th line of a header, bottom-aligned over `lines` lines; its length in *n, 0 where it has none. */
static const char *header_line(const char *header, int k, int lines, size_t *n) {
    int own = 1;
    for (const char *p = header; *p != '\0'; p++) {
        own += *p == '\n';
    }
    k -= lines - own;
    for (; k > 0; k--) {
        header = strchr(header, '\n') + 1;
    }
    *n = k < 0 ? 0 : strcspn(header, "\n");
    return header;
}

static int header_lines(const table *t) {
    int most = 1;
    for (size_t i = 0; i < t->n_columns; i++) {
        int own = 1;
        for (const char *p = t->columns[i].header; *p != '\0'; p++) {
            own += *p == '\n';
        }
        most = own > most ? own : most;
    }
    return most;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void find_widths(const table *t, size_t *widths) {
    int lines = header_lines(t);
    for (size_t i = 0; i < t->n_columns; i++) {
        widths[i] = 0;
        for (int k = 0; k < lines; k++) {
            size_t n = 0;
            const char *line = header_line(t->columns[i].header, k, lines, &n);
            widths[i] = larger(widths[i], text_columns(line, n));
        }
        for (const table_row *row = t->first; row != NULL; row = row->next) {
            const char *value = row->is_rule ? NULL : row->cells[i].value;
            widths[i] = larger(widths[i], value != NULL ? text_columns(value, strlen(value)) : 0);
        }
    }
}

static size_t whole_width(const table *t, const size_t *widths) {
    size_t whole = t->n_columns > 0 ? (t->n_columns - 1) * GAP : 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        whole += widths[i];
    }
    return whole;
}

/* Takes columns away, one at a time, from the widest that may shrink. */
static void shrink(const table *t, size_t *widths, size_t room) {
    while (whole_width(t, widths) > room) {
        size_t widest = t->n_columns;
        for (size_t i = 0; i < t->n_columns; i++) {
            bool may = t->columns[i].shrinks && widths[i] > LEAST_SHRUNK;
            if (may && (widest == t->n_columns || widths[i] > widths[widest])) {
                widest = i;
            }
        }
        if (widest == t->n_columns) {
            return;
        }
        widths[widest]--;
    }
}

static void add_spaces(text *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        text_add_char(out, ' ');
    }
}

/* One cell, padded to its width. Trailing spaces of a line are left out by the caller's order: `pending` counts those that
   are only due when something follows. */
static void add_cell(text *out, const char *value, size_t n, size_t width, table_align align, const char *style,
                     size_t *pending) {
    size_t columns = text_columns(value, n);
    bool cut = columns > width;
    if (cut) {
        n = text_prefix_of_columns(value, n, width - 1);
        columns = text_columns(value, n) + 1;
    }
    size_t padding = width - columns;
    if (n > 0) {
        add_spaces(out, *pending + (align == TABLE_RIGHT ? padding : 0));
        text_add(out, style);
        text_add_bytes(out, value, n);
        text_add(out, cut ? ellipsis : "");
        text_add(out, style[0] != '\0' ? "\033[0m" : "");
        *pending = align == TABLE_RIGHT ? 0 : padding;
    } else {
        *pending += width;
    }
    *pending += GAP;
}

static void add_header(const table *t, const table_options *options, const size_t *widths, text *out) {
    int lines = header_lines(t);
    for (int k = 0; k < lines; k++) {
        size_t pending = (size_t)options->indent;
        for (size_t i = 0; i < t->n_columns; i++) {
            size_t n = 0;
            const char *line = header_line(t->columns[i].header, k, lines, &n);
            add_cell(out, line, n, widths[i], t->columns[i].align, style_codes[options->color ? TABLE_BOLD : 0],
                     &pending);
        }
        text_add_char(out, '\n');
    }
}

static void add_rule(const table *t, const table_options *options, const size_t *widths, text *out) {
    add_spaces(out, (size_t)options->indent);
    text_add(out, style_codes[options->color ? TABLE_DIM : 0]);
    for (size_t i = whole_width(t, widths); i > 0; i--) {
        text_add(out, rule_piece);
    }
    text_add(out, options->color ? "\033[0m\n" : "\n");
}

static void add_table_row(const table *t, const table_row *row, const table_options *options, const size_t *widths,
                          text *out) {
    size_t pending = (size_t)options->indent;
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *value = row->cells[i].value != NULL ? row->cells[i].value : "";
        const char *style = style_codes[options->color ? row->cells[i].style : TABLE_PLAIN];
        add_cell(out, value, strlen(value), widths[i], t->columns[i].align, style, &pending);
    }
    text_add_char(out, '\n');
}

status table_render(const table *t, const table_options *options, text *out, error *err) {
    size_t *widths = t->failed ? NULL : arena_make(t->memory, t->n_columns, sizeof *widths);
    if (widths == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    find_widths(t, widths);
    if (options->max_width > 0) {
        size_t room = options->max_width > options->indent ? (size_t)(options->max_width - options->indent) : 1;
        shrink(t, widths, room);
    }
    add_header(t, options, widths, out);
    add_rule(t, options, widths, out);
    for (const table_row *row = t->first; row != NULL; row = row->next) {
        if (row->is_rule) {
            add_rule(t, options, widths, out);
        } else {
            add_table_row(t, row, options, widths, out);
        }
    }
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table") : ASSAY_OK;
}

char *table_number(char *buffer, double value, int digits) {
    enum { ROOM = 48 };
    if (!isfinite(value)) {
        return strcpy(buffer, "-");
    }
    digits = digits < 1 ? 1 : digits > 17 ? 17 : digits;
    if (value == 0) {
        return strcpy(buffer, "0");
    }
    /* Round first, by the exponent form: 9.99 at two digits is 10, not 10.0. */
    char rounded[ROOM];
    snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value);
    int exponent = (int)strtol(strchr(rounded, 'e') + 1, NULL, 10);
    if (exponent >= 15 || exponent < -15) {
        return memcpy(buffer, rounded, strlen(rounded) + 1);
    }
    int decimals = digits - 1 - exponent;
    snprintf(buffer, ROOM, "%.*f", decimals > 0 ? decimals : 0, strtod(rounded, NULL));
    return buffer;
}
