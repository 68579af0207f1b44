/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for a terminal: columns as wide as their widest cell, numbers right-aligned, units in the headers. */
#ifndef LAB_REPORT_TABLE_H
#define LAB_REPORT_TABLE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum table_align { TABLE_LEFT, TABLE_RIGHT } table_align;
typedef enum table_style { TABLE_PLAIN, TABLE_BOLD, TABLE_DIM, TABLE_GOOD, TABLE_WARN, TABLE_BAD } table_style;

typedef struct table_column {
    const char *header; /* "median [us]"; a '\n' in it starts a second header line */
    table_align align;
    bool shrinks;       /* gives up width, with an ellipsis, when the table is wider than max_width */
    bool wraps;         /* of the last column: goes on over several lines then */
    int spare;          /* not 0: left out then, the highest first, those below 0 only when names have shrunk a lot; what its header says
                           above its neighbour's goes to that one */
} table_column;

typedef struct table_row table_row;

/* Caller's storage, filled in by table_init. All memory is the arena's; there is nothing to clear. One thread. */
typedef struct table {
    arena *memory;
    table_column *columns;
    size_t n_columns;
    table_row *first, *last;
    size_t filled; /* cells of the last row */
    bool failed;   /* memory ran out: table_render says so */
} table;

/* Copies the columns and their headers. OUT_OF_MEMORY shows at table_render. */
void table_init(table *t, arena *a, const table_column *columns, size_t n);

/* Begins a row; cells are then added from the left, and those left out are empty. */
void table_row_begin(table *t);
/* A line across: before a footer, say. */
void table_rule(table *t);

/* The next cell of the row, copied. NULL is shown as "-" dimmed: there is no such number. Cells beyond the last column
   are a bug of the caller (assert). */
void table_cell(table *t, const char *value, table_style style);
/* A cell with a shorter form of it for a table that is too wide; that goes before columns are left out. Both are copied. NULL for it:
   there was no memory to make it, which shows at table_render. */
void table_cell_short(table *t, const char *value, const char *shorter, table_style style);
void table_cellf(table *t, table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* What became of a table for which there was too little room. */
typedef struct table_cuts {
    bool *left_out; /* by column, in the table's arena */
    bool is_short;  /* cells have their shorter forms, and what stands above columns is broken at ':' and cut where that is not enough */
} table_cuts;

typedef struct table_options {
    bool color;
    int max_width; /* columns of the terminal; 0: no limit */
    int indent;    /* spaces before each line */
    table_cuts *cuts; /* filled in; NULL: nobody asks */
} table_options;

/* Appends the table. Lines carry no trailing spaces. In a narrow place names shrink to what can still be told apart, then take their
   shorter forms, then spare columns are left out, then names shrink further; a table that is wider than max_width even so is written at
   the width it needs: no number is ever cut. OUT_OF_MEMORY. */
status table_render(const table *t, const table_options *options, text *out, error *err);

/* value with `digits` significant digits (1 to 17), never in exponent form below 1e15, "-" when it is not finite.
   buffer has at least 48 bytes; returns it. How many digits a median deserves: stats/interval.h. */
char *table_number(char *buffer, double value, int digits);

#endif
