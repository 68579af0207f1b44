/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph writes among its own inputs, kept as it was, so that each run begins with the same values. */
#ifndef LAB_EXPERIMENT_PRISTINE_H
#define LAB_EXPERIMENT_PRISTINE_H

#include "engine/graph/graph.h"
#include "lab/experiment/profile.h"

/* `{0}` keeps nothing. */
typedef struct pristine {
    struct pristine_copy *copies; /* in the arena; what they point to is the heap's */
    int n;
} pristine;

/* Copies every input, views of inputs included, that a run of the graph writes, as it is now. OUT_OF_MEMORY: pristine_clear
   takes care of the rest. */
status pristine_keep(arena *memory, const graph *g, pristine *out, error *err);
/* Whether s is among them. */
bool pristine_holds(const pristine *p, const storage *s);
/* Puts them back; a profile (NULL: none) shows that as copies. */
void pristine_restore(const pristine *p, profile *shown);
void pristine_clear(pristine *p);

#endif
