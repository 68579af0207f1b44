/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on one input, or one graph, as a command line names it. */
#ifndef LAB_EXPERIMENT_SINGLE_H
#define LAB_EXPERIMENT_SINGLE_H

#include "lab/experiment/workload.h"

typedef struct single_name {
    const char *graph;         /* a file *.graph or *.graph.gz; NULL: an operator on an input */
    const char *operator_name; /* "aten.mm.default", "mm" */
    const char *input;         /* as recorded: "((T([512, 512], f32), T([512, 512], f32)), {})" */
    bind_options bind;
} single_name;

/* Zeroed is empty. Not to be copied: it points into itself. */
typedef struct single {
    op_table *table;
    workload work;
    inputs read; /* the graph's file */
} single;

/* Text to shapes; no memory yet. NOT_FOUND: no such operator, with the nearest; INVALID, PARSE: the input, with line and column
   in it. */
status single_read(arena *memory, const single_name *name, single *out, error *err);
void single_clear(single *one);

#endif
