/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph must give: its nodes' references one after the other in double, and how far rounding on the way may lead.

   Between nodes values stay in double; nothing is rounded to the graph's types. What rounding does is found by doing it: the
   graph is evaluated again, several times, with every result of every node off by as much as the rule for single operators
   (engine/tensor/agree.h) allows at most, up or down by a coin. How far that carries each element of the outputs becomes a
   part of its tolerance. docs/accuracy.md says why that is enough, and not too much. */
#ifndef ENGINE_GRAPH_EXACT_H
#define ENGINE_GRAPH_EXACT_H

#include "engine/graph/graph.h"
#include "engine/tensor/agree.h"

/* Evaluations with errors, besides the one without; as many again several times where few elements disagree. */
enum { EXACT_SAMPLES = 3, EXACT_MANY_SAMPLES = 27 };

/* One output of a graph, in row-major order. */
typedef struct exact_output {
    bool is_known;  /* false: what a random operator (or memory that nobody wrote) made of it; then there are no values */
    int64_t n;      /* elements */
    double *value;  /* n, of complex outputs 2 n parts */
    double *slack;  /* of each part: what rounding before the output's own may do to it; infinite: anything */
} exact_output;

typedef struct exact {
    exact_output *outputs; /* one for each of the graph's */
} exact;

/* Evaluates the graph on the inputs' present values; the inputs stay as they are. taken (NULL, or one tensor for each output
   with memory and of its form): values for outputs that are not determined, so that what hangs on them is, and choices to follow where a
   call has more than one right answer. Results lie in the arena. UNSUPPORTED: an operator without a reference whose value is determined; OUT_OF_MEMORY; INTERNAL: a random operator's
   taken values are not possible. */
status exact_make(arena *memory, const graph *g, const tensor *taken, uint64_t seed, exact *out, error *err);

/* The same by EXACT_MANY_SAMPLES: where rounding decides between values that lie apart (a comparison, the place of the largest, a whole number)
   a few samples may miss that it does. */
status exact_make_well(arena *memory, const graph *g, const tensor *taken, uint64_t seed, exact *out, error *err);

/* Bytes that exact_make needs at most besides the inputs', over-estimated. */
double exact_bytes(const graph *g);

/* Compares output i. An unknown one always agrees; nothing is checked then. */
void exact_compare(const exact *e, int i, const tensor *actual, agreement *out);

#endif
