/* SPDX-License-Identifier: Apache-2.0 */
/* Where plans have their outputs. Plans of one graph that run in turns may have them in the same memory: then they differ in
   their code alone, not in which cache sets and pages they write. */
#ifndef ENGINE_BACKEND_OUTPUT_MEMORY_H
#define ENGINE_BACKEND_OUTPUT_MEMORY_H

#include "engine/graph/graph.h"

/* By the graph's outputs: memory, or NULL where each plan makes its own. Begins as {0}. */
typedef struct output_memory {
    int n;
    storage **of;
} output_memory;

/* New memory for every output of g that needs some of its own: not for inputs written in place, their views and sparse
   tensors. OUT_OF_MEMORY: nothing is kept. */
status output_memory_make(output_memory *m, const graph *g, error *err);
/* A list without memory. OUT_OF_MEMORY. */
status output_memory_init(output_memory *m, const graph *g, error *err);
/* The very memory that t holds becomes output i's, unless there is some, or it is another output's. */
void output_memory_adopt(output_memory *m, int i, const tensor *t);
/* Drops the hold; plans keep theirs. */
void output_memory_clear(output_memory *m);

/* Gives t, which is to be output i (-1: none), that output's memory where there is some and it is large enough, else memory
   of its own: an output's at place i + 1 (device.h), as output_memory_make has it, what is none at `place`. m may be NULL.
   OUT_OF_MEMORY. */
status output_memory_take(const output_memory *m, int i, int place, tensor *t, error *err);

/* Which output of g the value is, or -1. */
int output_memory_find(const graph *g, const tensor *value);

#endif
