/* SPDX-License-Identifier: Apache-2.0 */
/* A program of operator calls, in order: what a backend prepares. One recorded input is a graph of one node. */
#ifndef ENGINE_GRAPH_GRAPH_H
#define ENGINE_GRAPH_GRAPH_H

#include "base/arena.h"
#include "engine/schema/op.h"

/* One call and its outputs as inferred. Arguments point to inputs, to outputs of earlier nodes, or to wrapped numbers. An
   output is shape only, but for views of inputs and inputs written in place once the inputs have memory. */
typedef struct graph_node {
    op_call call;
    outputs *out;
    const char *const *names; /* one for each output, without '%'; NULL: nobody refers to it. NULL altogether: no names */
} graph_node;

/* Values that an input must have where its consumers' rows do not see to it: uniform in [low, high), all low where both are
   equal. */
typedef struct graph_range {
    double low, high;
} graph_range;

typedef struct graph_input {
    const char *name;
    tensor *value;
    bool has_range;
    graph_range range;
} graph_input;

/* Plain data. Nodes, names and lists lie in the arena; the tensors of a graph that was built here are the graph's
   (graph_clear), those of graph_of_call are borrowed. */
typedef struct graph {
    const char *name; /* NULL for the graph of one call */
    const char *doc;  /* one line, or NULL */
    int n_inputs;
    graph_input *inputs;
    int n_nodes;
    graph_node *nodes;
    int n_outputs;
    tensor **outputs; /* inputs' are none of them; of any node, each once */
    int n_numbers;
    tensor **numbers; /* the wrapped numbers among the arguments */
    arena *memory;
} graph;

/* The graph of one call. call and out (from op_infer) are borrowed and must outlive it. Its inputs are named after the
   parameters. OUT_OF_MEMORY. */
status graph_of_call(arena *memory, const op_call *call, outputs *out, graph *g, error *err);

/* --- building --------------------------------------------------------------------------------------------------------------- */

/* Values keep their places in memory until graph_clear, also while the graph grows. */

/* An empty graph in the arena. name and doc are copied. */
status graph_init(graph *g, arena *memory, const char *name, const char *doc, error *err);

/* An input of the form's dtype, sizes and strides. name NULL: the least number that is free. range NULL: none.
   INVALID: a name in use, a range that makes no sense for the dtype. */
status graph_add_input(graph *g, const char *name, const tensor *form, const graph_range *range, tensor **out, error *err);

/* A node. args (n_params of them) are copied; the lists and texts they point to must lie in the graph's arena, wrapped
   numbers as well (the graph clears them). names: one for each output as inferred, or NULL for numbers; NULL items: nobody
   refers to them. INVALID: an argument that is no value of the graph, a name in use, another number of names; else what
   op_infer fails with. On failure the graph is as before. */
status graph_add_call(graph *g, const op *o, const arg *args, const char *const *names, int n_names, graph_node **out,
                      error *err);

/* INVALID: no value that a node makes, or an output already. */
status graph_add_output(graph *g, tensor *value, error *err);

/* Drops the tensors' hold on memory. The arena is the caller's. A zeroed graph is fine. */
void graph_clear(graph *g);

/* INTERNAL with the node at fault: an argument is used before it is made, shapes are not what op_infer says, an output is
   nobody's, names repeat. For passes over graphs to check each other. */
status graph_verify(const graph *g, error *err);

/* --- asking ----------------------------------------------------------------------------------------------------------------- */

/* Which input it is, or -1. */
int graph_find_input(const graph *g, const tensor *value);
/* Which node makes it, and which of its outputs; false for inputs, numbers and strangers. */
bool graph_find_maker(const graph *g, const tensor *value, int *node, int *output);
/* The value of that name, or NULL. */
tensor *graph_find_value(const graph *g, const char *name);
/* The nearest name of a value for a typo, or NULL. */
const char *graph_nearest_value(const graph *g, const char *name);

/* Whether any value depends on a random operator. */
bool graph_is_random(const graph *g);
/* Whether any call has more than one right answer (op.h: open). */
bool graph_is_open(const graph *g);

/* --- running ---------------------------------------------------------------------------------------------------------------- */

/* Memory that the inputs and, summed up, all values that are computed (no views) take. */
double graph_input_bytes(const graph *g);
double graph_value_bytes(const graph *g);

/* Gives every input memory on d, and every view of one its share of it. */
status graph_allocate(graph *g, const device *d, error *err);

/* The node's call with values of earlier nodes replaced by a plan's own: own[n] are the plan's outputs of node n. Arguments
   are copied into the arena. OUT_OF_MEMORY. */
status graph_redirect(arena *memory, const graph *g, int node, outputs *const *own, op_call *out, error *err);

/* A value as a plan has it: an output of one of its first n_own nodes, or the graph's own input. NULL stays NULL. */
tensor *graph_own_value(const graph *g, int n_own, outputs *const *own, tensor *value);

/* A plan's outputs, `actual` with one of each, in memory of their own as the graph lays them out: restoring the inputs leaves it alone. */
status graph_copy_outputs(const graph *g, const tensor *actual, outputs *copies, error *err);

/* The seed of each random node follows from one seed; the first node's is that seed itself. */
void graph_seed(graph *g, uint64_t seed);

/* Fills the inputs with valid values: default filling, then what the rows of the consumers ask for (where two of them ask,
   the first in the text has the last word), then ranges. Each input has its own random stream. */
status graph_fill(const graph *g, uint64_t seed, error *err);

/* flops and bytes of all nodes together; as bytes only what goes in and out of the whole graph has to move. The longest
   reduction. */
void graph_cost(const graph *g, op_cost *cost);

#endif
