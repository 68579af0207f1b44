/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in the plug-in ABI's plain structs (include/assay/backend.h), with memory for its outputs. */
#ifndef ENGINE_BACKEND_PLUGIN_PROGRAM_H
#define ENGINE_BACKEND_PLUGIN_PROGRAM_H

#include "assay/backend.h"
#include "engine/graph/graph.h"

typedef struct plugin_program {
    arena memory;
    const graph *g;
    int n_tensors;
    tensor **tensors; /* by the program's index */
    assay_tensor_view *views;
    outputs own;        /* the graph's outputs as the program has them */
    assay_program lent; /* for as long as the plan lives */
} plugin_program;

/* Translates g, which must outlive it. with_memory: the outputs get memory; else their views have none, as the plug-in makes them itself.
   To be cleared also where it fails. OUT_OF_MEMORY; what op_infer fails with. */
status plugin_program_make(plugin_program *p, const graph *g, bool with_memory, error *err);
/* Whether anything was written around the memory of the outputs: INVALID with which and how much. */
status plugin_program_is_whole(const plugin_program *p, error *err);
void plugin_program_clear(plugin_program *p);

#endif
