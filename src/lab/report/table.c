/* SPDX-License-Identifier: Apache-2.0 */
/* Collects cells, finds the widths, writes the lines. */
#include "lab/report/table.h"

#include "base/c_locale.h"
#include "lab/report/terminal.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_cell_text {
    const char *value;   /* NULL: nothing there */
    const char *shorter; /* NULL: it has no other form */
    table_style style;
} table_cell_text;

struct table_row {
    table_row *next;
    bool is_rule;
    table_cell_text *cells;
};

enum { GAP = 2, LEAST_SHRUNK = 8, LEAST_READ = 16, EASILY_READ = 28, LEAST_WRAPPED = 24, MOST_HEADER = 12 };
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

/* A plug-in's sentence may hold anything, terminal escapes too. NULL: memory is out. */
static const char *own_text(table *t, const char *value) {
    text shown = {0};
    text_add_shown(&shown, value, strlen(value));
    const char *own = shown.failed ? NULL : arena_text(t->memory, text_get(&shown), shown.length);
    text_clear(&shown);
    return own;
}

void table_cell(table *t, const char *value, table_style style) {
    if (t->failed) {
        return;
    }
    assert(t->last != NULL && !t->last->is_rule && t->filled < t->n_columns);
    table_cell_text *cell = &t->last->cells[t->filled++];
    cell->value = value != NULL ? own_text(t, value) : "-";
    cell->style = value != NULL ? style : TABLE_DIM;
    t->failed |= cell->value == NULL;
}

void table_cell_short(table *t, const char *value, const char *shorter, table_style style) {
    table_cell(t, value, style);
    if (!t->failed) {
        table_cell_text *cell = &t->last->cells[t->filled - 1];
        cell->shorter = shorter != NULL ? arena_text(t->memory, shorter, strlen(shorter)) : NULL;
        t->failed |= cell->shorter == NULL;
    }
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

/* How a table is written: what it says above its columns, how wide they are, and which there are. */
typedef struct layout {
    const char **headers; /* what is to be said, and */
    const char **shown;   /* how: in short, perhaps over several lines */
    size_t *widths;
    bool *left_out;
    bool is_short;
} layout;

/* What a cell of a row shows; "" where it has nothing. */
static const char *value_of(const table_row *row, size_t i, const layout *l) {
    const table_cell_text *cell = &row->cells[i];
    const char *value = l->is_short && cell->shorter != NULL ? cell->shorter : cell->value;
    return value != NULL ? value : "";
}

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

static int header_lines(const table *t, const layout *l) {
    int most = 1;
    for (size_t i = 0; i < t->n_columns; i++) {
        int own = 1;
        for (const char *p = l->left_out[i] ? "" : l->shown[i]; *p != '\0'; p++) {
            own += *p == '\n';
        }
        most = own > most ? own : most;
    }
    return most;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* "compiled:" over "autotune" where that is short. */
static status break_headers(const table *t, layout *l, error *err) {
    for (size_t i = 0; i < t->n_columns; i++) {
        text broken = {0};
        l->shown[i] = l->headers[i];
        for (const char *p = l->headers[i]; l->is_short && *p != '\0'; p++) {
            text_add_char(&broken, *p);
            text_add(&broken, *p == ':' ? "\n" : "");
        }
        if (broken.length > 0 || broken.failed) {
            l->shown[i] = broken.failed ? NULL : arena_text(t->memory, broken.data, broken.length);
        }
        text_clear(&broken);
        if (l->shown[i] == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
        }
    }
    return ASSAY_OK;
}

static status find_widths(const table *t, layout *l, error *err) {
    TRY(break_headers(t, l, err));
    int lines = header_lines(t, l);
    for (size_t i = 0; i < t->n_columns; i++) {
        l->widths[i] = 0;
        for (int k = 0; !l->left_out[i] && k < lines; k++) {
            size_t n = 0;
            const char *line = header_line(l->shown[i], k, lines, &n);
            size_t columns = text_columns(line, n);
            l->widths[i] = larger(l->widths[i], l->is_short && columns > MOST_HEADER ? MOST_HEADER : columns);
        }
        for (const table_row *row = t->first; row != NULL; row = row->next) {
            const char *value = row->is_rule ? "" : value_of(row, i, l);
            l->widths[i] = larger(l->widths[i], text_columns(value, strlen(value)));
        }
    }
    return ASSAY_OK;
}

static size_t whole_width(const table *t, const layout *l) {
    size_t whole = 0, n = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        whole += l->left_out[i] ? 0 : l->widths[i];
        n += !l->left_out[i];
    }
    return whole + (n > 0 ? (n - 1) * GAP : 0);
}

/* Takes columns away, one at a time, from the widest that may shrink, down to `least`. Whether it fits then. */
static bool shrink(const table *t, const layout *l, size_t room, size_t least) {
    while (whole_width(t, l) > room) {
        size_t widest = t->n_columns;
        for (size_t i = 0; i < t->n_columns; i++) {
            bool may = t->columns[i].shrinks && !l->left_out[i] && l->widths[i] > least;
            if (may && (widest == t->n_columns || l->widths[i] > l->widths[widest])) {
                widest = i;
            }
        }
        if (widest == t->n_columns) {
            return false;
        }
        l->widths[widest]--;
    }
    return true;
}

/* Column i goes; the first line of its header, where it stands above the next column's as well, goes on to that. */
static bool leave_out(const table *t, const layout *l, size_t i) {
    const char *own = l->headers[i], *end = strchr(own, '\n');
    l->left_out[i] = true;
    if (end == NULL || end == own || i + 1 == t->n_columns || l->headers[i + 1][0] != '\n') {
        return true;
    }
    l->headers[i + 1] = arena_format(t->memory, "%.*s%s", (int)(end - own), own, l->headers[i + 1]);
    return l->headers[i + 1] != NULL;
}

/* Whether column i may be left out now. */
static bool is_spare(const table *t, const layout *l, size_t i, bool late) {
    int spare = t->columns[i].spare;
    return !l->left_out[i] && (late ? spare < 0 : spare > 0);
}

/* Leaves out the columns that are easiest spared; false: there are none. */
static status spare_some(const table *t, const layout *l, bool late, bool *any, error *err) {
    int most = INT_MIN;
    for (size_t i = 0; i < t->n_columns; i++) {
        most = is_spare(t, l, i, late) && t->columns[i].spare > most ? t->columns[i].spare : most;
    }
    *any = most != INT_MIN;
    for (size_t i = 0; i < t->n_columns && *any; i++) {
        if (is_spare(t, l, i, late) && t->columns[i].spare == most && !leave_out(t, l, i)) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
        }
    }
    return ASSAY_OK;
}

/* The width of a last column that wraps: what the others leave of the room. */
static void wrap(const table *t, const layout *l, size_t room) {
    size_t last = t->n_columns - 1, whole = whole_width(t, l);
    if (t->columns[last].wraps && !l->left_out[last] && whole > room) {
        size_t others = whole - l->widths[last], left = room > others ? room - others : 0;
        l->widths[last] = larger(left, LEAST_WRAPPED);
    }
}

/* Leaves out columns until names need shrink no further than to `least`, or no column is spare. */
static status make_room(const table *t, layout *l, size_t room, size_t least, bool late, error *err) {
    bool any = true;
    while (any && !shrink(t, l, room, least)) {
        TRY(spare_some(t, l, late, &any, err));
        TRY(find_widths(t, l, err));
        wrap(t, l, room);
    }
    return ASSAY_OK;
}

static status lay_out(const table *t, const table_options *options, layout *l, error *err) {
    for (size_t i = 0; i < t->n_columns; i++) {
        l->headers[i] = t->columns[i].header;
    }
    TRY(find_widths(t, l, err));
    if (options->max_width == 0 || t->n_columns == 0) {
        return ASSAY_OK;
    }
    size_t room = options->max_width > options->indent ? (size_t)(options->max_width - options->indent) : 1;
    wrap(t, l, room);
    if (!shrink(t, l, room, EASILY_READ)) {
        l->is_short = true;
        TRY(find_widths(t, l, err));
        wrap(t, l, room);
    }
    TRY(make_room(t, l, room, EASILY_READ, false, err));
    TRY(make_room(t, l, room, LEAST_READ, true, err));
    (void)shrink(t, l, room, LEAST_SHRUNK);
    return ASSAY_OK;
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

static void add_header(const table *t, const table_options *options, const layout *l, text *out) {
    int lines = header_lines(t, l);
    for (int k = 0; k < lines; k++) {
        size_t pending = (size_t)options->indent;
        for (size_t i = 0; i < t->n_columns; i++) {
            size_t n = 0;
            const char *line = header_line(l->shown[i], k, lines, &n);
            if (!l->left_out[i]) {
                add_cell(out, line, n, l->widths[i], t->columns[i].align, style_codes[options->color ? TABLE_BOLD : 0], &pending);
            }
        }
        text_add_char(out, '\n');
    }
}

static void add_rule(const table *t, const table_options *options, const layout *l, text *out) {
    add_spaces(out, (size_t)options->indent);
    text_add(out, style_codes[options->color ? TABLE_DIM : 0]);
    for (size_t i = whole_width(t, l); i > 0; i--) {
        text_add(out, rule_piece);
    }
    text_add(out, options->color ? "\033[0m\n" : "\n");
}

/* The bytes of the next line of a value that wraps at spaces; what is longer than a line is broken. */
static size_t wrapped_line(const char *value, size_t width) {
    size_t whole = strlen(value), n = text_prefix_of_columns(value, whole, width);
    if (n == whole || value[n] == ' ') {
        return n;
    }
    for (size_t at = n; at > 0; at--) {
        if (value[at - 1] == ' ') {
            return at - 1;
        }
    }
    return n;
}

static void add_table_row(const table *t, const table_row *row, const table_options *options, const layout *l, text *out) {
    size_t last = t->n_columns - 1, pending = (size_t)options->indent, before = pending;
    const char *rest = "", *style = "";
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *value = value_of(row, i, l);
        size_t n = strlen(value);
        style = style_codes[options->color ? row->cells[i].style : TABLE_PLAIN];
        if (i == last && t->columns[i].wraps && !l->left_out[i] && text_columns(value, n) > l->widths[i]) {
            n = wrapped_line(value, l->widths[i]);
            rest = value + n;
        }
        if (!l->left_out[i]) {
            add_cell(out, value, n, l->widths[i], t->columns[i].align, style, &pending);
            before += i < last ? l->widths[i] + GAP : 0;
        }
    }
    text_add_char(out, '\n');
    while (*(rest += strspn(rest, " ")) != '\0') {
        size_t n = wrapped_line(rest, l->widths[last]);
        pending = before;
        add_cell(out, rest, n, l->widths[last], TABLE_LEFT, style, &pending);
        text_add_char(out, '\n');
        rest += n;
    }
}

/* Whether all that a row says besides its name was left out. */
static bool says_nothing(const table *t, const table_row *row, const layout *l) {
    bool left_out = false, shown = false;
    for (size_t i = 1; i < t->n_columns; i++) {
        bool any = row->cells[i].value != NULL && row->cells[i].value[0] != '\0';
        left_out |= any && l->left_out[i];
        shown |= any && !l->left_out[i];
    }
    return left_out && !shown;
}

status table_render(const table *t, const table_options *options, text *out, error *err) {
    layout l = {0};
    if (!t->failed) {
        l = (layout){.headers = arena_make(t->memory, t->n_columns, sizeof *l.headers),
                     .shown = arena_make(t->memory, t->n_columns, sizeof *l.shown),
                     .widths = arena_make(t->memory, t->n_columns, sizeof *l.widths),
                     .left_out = arena_make(t->memory, t->n_columns, sizeof *l.left_out)};
    }
    if (l.headers == NULL || l.shown == NULL || l.widths == NULL || l.left_out == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a table");
    }
    TRY(lay_out(t, options, &l, err));
    add_header(t, options, &l, out);
    add_rule(t, options, &l, out);
    for (const table_row *row = t->first; row != NULL; row = row->next) {
        if (row->is_rule) {
            add_rule(t, options, &l, out);
        } else if (!says_nothing(t, row, &l)) {
            add_table_row(t, row, options, &l, out);
        }
    }
    if (options->cuts != NULL) {
        *options->cuts = (table_cuts){.left_out = l.left_out, .is_short = l.is_short};
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
    c_snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value);
    int exponent = (int)strtol(strchr(rounded, 'e') + 1, NULL, 10);
    if (exponent >= 15 || exponent < -15) {
        return memcpy(buffer, rounded, strlen(rounded) + 1);
    }
    int decimals = digits - 1 - exponent;
    c_snprintf(buffer, ROOM, "%.*f", decimals > 0 ? decimals : 0, c_strtod(rounded, NULL));
    return buffer;
}
