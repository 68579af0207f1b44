/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's figures for people: tables on a text. */
#ifndef CLI_UTILIZATION_TABLE_H
#define CLI_UTILIZATION_TABLE_H

#include "base/text.h"
#include "lab/trace/diff.h"
#include "lab/trace/figures.h"

typedef struct utilization_style {
    bool color;
    int width;    /* of the terminal, in columns; 0: names are not cut */
    size_t n_top; /* kernels and operators to list */
} utilization_style;

void utilization_table(text *out, const char *path, const trace_figures *f, const utilization_style *style);
void utilization_diff_table(text *out, const char *path_a, const char *path_b, const trace_diff *d,
                            const utilization_style *style);

#endif
