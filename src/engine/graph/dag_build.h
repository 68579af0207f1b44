/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that build dags. */
#ifndef ENGINE_GRAPH_DAG_BUILD_H
#define ENGINE_GRAPH_DAG_BUILD_H

#include "engine/graph/dag.h"

/* The values that tensors stand for so far: the graph's intermediate results, and inputs that a call has written. */
typedef struct dag_capture {
    int n, capacity;
    const tensor **tensors;
    val *values;
    bool *written; /* an input, changed: the program must write it back */
    size_t n_slots; /* a power of two, at most half of them taken */
    int *slots;     /* by a hash of the tensor's address: 1 + its place in the lists; 0: free */
} dag_capture;

/* What memory's end leaves behind: some value of the right shape of nothing. Every builder stops at it. */
bool dag_stopped(const dag *g);
/* The node, or the equal one that is there already. */
val dag_intern(dag *g, const dag_node *n);
/* Whether v is all of a value that is computed from reductions, in its order, under another shape, and of which value. */
bool dag_reshapes_normal(dag *g, val v, val *source);
/* Whether t is the result of a call, and which value. */
bool dag_known(const dag_capture *c, const tensor *t, val *out);
/* Whether t was learned as written. */
bool dag_is_written(const dag_capture *c, const tensor *t);
/* From here on t stands for v. */
void dag_learn(dag *g, const tensor *t, val v, bool written);

#endif
