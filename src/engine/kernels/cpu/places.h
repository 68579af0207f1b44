/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors of indices to offsets, checked: the first half of every kernel that reads or writes at given places. */
#ifndef ENGINE_KERNELS_CPU_PLACES_H
#define ENGINE_KERNELS_CPU_PLACES_H

#include "engine/kernels/cpu/isa/index_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/indexing.h"

typedef struct place_source {
    index_source from;
    int64_t size;       /* of the dimension, for integer indices */
    int64_t step;       /* what one index counts */
    bool is_flat;       /* the flat position in the index shape is the element's place in memory */
    int64_t *positions; /* a mask's offsets, found anew in every run */
    int64_t mask_steps[TENSOR_MAX_DIMS];
} place_source;

/* Plain data in the plan's memory. */
typedef struct places {
    const op_call *call;
    const index_loops *loops;
    int n;
    place_source *source;
    int ndim; /* of the broadcast index shape */
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t numel;
} places;

/* steps: per dimension of self, what one step along it adds to an offset (bytes, or slots). */
status places_init(places *p, const kernel_plan *plan, const indexing *ix, const tensor *self, const int64_t *steps,
                   error *err);

/* Finds the masks' true elements; INVALID when there are not as many as when the shapes were made. First thing in a run,
   by one thread. */
status places_find(places *p, error *err);

/* The offsets of flat positions [from, from + n) of the index shape. False when an index is out of bounds. Any thread. */
bool places_resolve(const places *p, int64_t from, int64_t n, int64_t *offsets);

/* Names the index that is out of bounds; INVALID. */
status places_fail(const places *p, error *err);

/* The indexing of one dimension by one tensor of integers, as index_select and embedding do it; dimensions of the index
   stand in its place. A 0-dim self counts as having one dimension of size 1. */
void indexing_of_dim(indexing *out, const tensor *self, int dim, const tensor *index);

#endif
