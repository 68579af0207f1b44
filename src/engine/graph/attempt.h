/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation of a graph in double (exact.c), and the call of a node on its values. */
#ifndef ENGINE_GRAPH_ATTEMPT_H
#define ENGINE_GRAPH_ATTEMPT_H

#include "base/rng.h"
#include "engine/graph/graph.h"

/* One evaluation. own[i] are node i's values, wide. */
typedef struct evaluation {
    arena memory;
    const graph *g;
    const tensor *taken;
    tensor *inputs; /* wide copies */
    outputs **own;
    bool **known;   /* per node and output */
    const storage **lost; /* memory that was written in place with values nobody gave, whatever shows it */
    int n_lost;
    bool perturbs;
    bool turns; /* the coins are turned over */
    bool overflows; /* what lies beyond the largest of its type is infinite, as for a kernel that rounds it there */
    rng coins;
    error *err;
} evaluation;

/* A call under way, with the tensors made for it alone. */
typedef struct attempt {
    arena memory;
    op_call call;
    outputs out;
    tensor *narrow;
    int n_narrow;
} attempt;

/* The type that values of t have in an evaluation: c128, f64 or t itself. */
dtype evaluation_wide_type(dtype t);

/* Records that memory is short. */
status evaluation_no_memory(const evaluation *e);

/* A tensor of type t with memory of its own, laid out as `from`, and its values: everything that the strides reach. The
   caller clears it. Fails for lack of memory. */
status evaluation_copy(const evaluation *e, const tensor *from, dtype t, tensor *out);

/* The same values into a tensor of these sizes that is there. */
void evaluation_put(const tensor *from, const tensor *into);

/* The evaluation's value for the graph's tensor t, which node reads; NULL for NULL. Belongs to the evaluation. */
tensor *evaluation_value(const evaluation *e, int node, tensor *t);

/* Whether t, which node reads, is determined: not made by a random operator whose values nobody gave. */
bool evaluation_knows(const evaluation *e, int node, const tensor *t);

/* Numbers that an element of t is: 2 of complex ones. */
int evaluation_width(const tensor *t);

/* Each of t's n values off by its tolerance, up or down. A zero that comes of one rounding is a zero for every kernel. norm: as the
   reference says it of each. Fails for lack of memory. */
status evaluation_perturb(evaluation *e, const graph_node *node, const tensor *t, int64_t n, double *values, const double *norm);

/* Puts values, row-major, complex ones as two parts each, into t. */
void evaluation_store(tensor *t, const double *values);

/* The tensor that takes output k: for an operator in place its first argument, else a new one, which the caller clears. */
status evaluation_target(const evaluation *e, int node, int k, tensor *out);

/* Which of the graph's outputs shows the value as node, which makes it, left it; -1: none, or it is written to later. */
int evaluation_shown(const graph *g, int node, const tensor *value);

/* Node's arguments on the evaluation's values: wide, or rounded to the graph's types. For an attempt that is zero but for its
   outputs' start. Fails for lack of memory. */
status attempt_arguments(const evaluation *e, attempt *a, int node, bool wide);

/* The call and its inferred outputs. *wide: whether the operator could be asked in double; where it cannot (it takes narrow
   types alone, or rounds numbers to the type of its operands), its operands are rounded as the graph says. Whatever it
   returns, the caller clears the attempt. */
status attempt_make(const evaluation *e, attempt *a, int node, bool *wide);

void attempt_clear(attempt *a);

#endif
