/* SPDX-License-Identifier: Apache-2.0 */
/* What the place that text goes to can show: colours, a line that is drawn over, how wide it is. Looks, never writes. */
#ifndef LAB_REPORT_TERMINAL_H
#define LAB_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_mode;

/* "auto", "always" or "never" into *out; false for anything else. */
bool color_mode_parse(const char *name, color_mode *out);

/* Colours for text that goes to fd? `auto`: it is a terminal, TERM is not "dumb", and NO_COLOR is unset or empty
   (no-color.org). `always` overrides all of these. */
bool terminal_color(color_mode mode, int fd);

/* Can a line on fd be drawn over? It is a terminal and TERM is not "dumb". */
bool terminal_is_live(int fd);

/* Columns of the terminal at fd now (so a resized one is seen at the next call, without a SIGWINCH handler), else of
   $COLUMNS, else 0: unknown, do not cut. */
int terminal_width(int fd);

/* How many columns n bytes of UTF-8 take: wide East Asian characters and emoji 2, combining marks 0, escape sequences
   that set colours 0, a byte that is no UTF-8 1. */
size_t text_columns(const char *s, size_t n);
/* The length of the longest prefix of s that takes at most `columns` columns. */
size_t text_prefix_of_columns(const char *s, size_t n, size_t columns);

#endif
