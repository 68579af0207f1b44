/* SPDX-License-Identifier: Apache-2.0 */
/* A program of operator calls, in order: what a backend prepares. One recorded input is a graph of one node. */
#ifndef ENGINE_GRAPH_GRAPH_H
#define ENGINE_GRAPH_GRAPH_H

#include "base/arena.h"
#include "engine/schema/op.h"

/* One call and its outputs as inferred (shape only, but for views). Arguments point to input tensors or to the outputs of
   earlier nodes. */
typedef struct graph_node {
    op_call call;
    outputs *out;
} graph_node;

/* Borrows its tensors and calls; nodes lie in the arena it was made in. */
typedef struct graph {
    int n_nodes;
    graph_node *nodes;
    int n_outputs;
    tensor **outputs; /* the last node's, in order */
} graph;

/* The graph of one call. call and out (from op_infer) are borrowed and must outlive it. OUT_OF_MEMORY. */
status graph_of_call(arena *memory, const op_call *call, outputs *out, graph *g, error *err);

#endif
