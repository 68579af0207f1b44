/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that build dags: leaves, views, functions of elements, casts, reductions, places, calls, in this order. */
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
/* Whether two paddings are the same to the last bit. */
bool dag_same_fill(number a, number b);
/* Gives a value memory, whatever it is. */
void dag_keep(dag *g, val x);
enum { DAG_MAX_SOURCES = 2 + 2 * TENSOR_MAX_DIMS };
/* The values that a map's DATA reads, behind the n that are there; answers how many there are then, of DAG_MAX_SOURCES at most. */
int dag_view_sources(const view_map *map, int n, val *sources);
/* Coordinates in a value of these sizes, one variable each. */
void dag_variables(dag *g, int ndim, const int64_t *sizes, index_sum *out);
/* Whether coordinates follow from where an element lies in memory laid out as `base`: each stride reaches past all that smaller ones do. */
bool dag_finds_within(const tensor *base);
/* Whether all memory that t shows is base's elements. */
bool dag_is_around(const tensor *base, const tensor *t);
/* Coordinates in the memory that a value laid out as `base` has, of each element of t, which shows a part of it, where
   dag_finds_within says so. */
void dag_coordinates_within(dag *g, const tensor *base, const tensor *t, index_sum *at);
/* Whether v is all of a value that is computed from reductions, in its order, under another shape, and of which value. */
bool dag_reshapes_normal(dag *g, val v, val *source);
/* Whether t is the result of a call, and which value. */
bool dag_known(const dag_capture *c, const tensor *t, val *out);
/* Whether t was learned as written. */
bool dag_is_written(const dag_capture *c, const tensor *t);
/* From here on t stands for v. */
void dag_learn(dag *g, const tensor *t, val v, bool written);

#endif
