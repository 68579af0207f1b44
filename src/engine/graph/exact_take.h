/* SPDX-License-Identifier: Apache-2.0 */
/* Inside exact.c: what an evaluation does with a node's values, and with those that no reference determines. */
#ifndef ENGINE_GRAPH_EXACT_TAKE_H
#define ENGINE_GRAPH_EXACT_TAKE_H

#include "engine/graph/attempt.h"

/* Each of t's n values off by its tolerance, up or down. A zero that comes of one rounding is a zero for every kernel. norm: as the
   reference says it of each. Fails for lack of memory. */
status evaluation_perturb(evaluation *e, const graph_node *node, const tensor *t, int64_t n, double *values, const double *norm);

/* Puts values, row-major, complex ones as two parts each, into t. */
void evaluation_store(tensor *t, const double *values);

/* The tensor that takes output k: for an operator in place its first argument, else a new one, which the caller clears. */
status evaluation_target(const evaluation *e, int node, int k, tensor *out);

/* Which of the graph's outputs value is, or -1. */
int evaluation_output(const graph *g, const tensor *value);

/* The values of a node that the reference does not determine: those taken, and what follows from them. INTERNAL: they are not
   possible. */
status evaluation_take(evaluation *e, int node);

#endif
