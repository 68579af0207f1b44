/* SPDX-License-Identifier: Apache-2.0 */
/* Writes comma-separated values (RFC 4180): a field with a comma, a quote or a line break is quoted. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/text.h"

/* Appends to `out`, which the caller owns; out of memory shows in out->failed. `csv_writer w = {.out = &t}`. */
typedef struct csv_writer {
    text *out;
    bool in_row;
} csv_writer;

void csv_field(csv_writer *w, const char *value); /* NULL: an empty field */
void csv_fieldf(csv_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
/* Ends the row with "\r\n", as the RFC and Python's csv module do. */
void csv_end_row(csv_writer *w);

#endif
