/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators share that take their places from tensors of indices: ATen's advanced indexing, and index checks. */
#ifndef ENGINE_SCHEMA_INDEXING_H
#define ENGINE_SCHEMA_INDEXING_H

#include "engine/schema/op.h"
#include "engine/schema/reference.h"

/* One given index: integers for one dimension of self, or a mask for as many dimensions as it has itself. A mask without any is left out
   beside others, as in ATen. Alone it adds a dimension, of size 1 where it is true and else 0 (NumPy's meaning; ATen's index fails). */
typedef struct index_source {
    const tensor *t;
    int item;         /* its place in the list argument */
    bool is_mask;
    int dim;          /* of self, the first it stands for */
    int n_dims;
    int64_t count;    /* true elements of a mask */
    int64_t strides[TENSOR_MAX_DIMS]; /* elements, from the broadcast index shape; a mask's count as 1 per true element */
} index_source;

/* self[indices] after ATen (aten/src/ATen/native/TensorAdvancedIndexing.cpp): the indices broadcast together; the result
   has the broadcast index shape in place of the indexed dimensions when those are neighbours, else in front. */
typedef struct indexing {
    int n;
    index_source source[TENSOR_MAX_DIMS];
    int index_ndim;
    int64_t index_sizes[TENSOR_MAX_DIMS];
    int64_t index_numel;
    int ndim; /* of the result */
    int64_t sizes[TENSOR_MAX_DIMS];
    int at;       /* the result's first dimension that belongs to the index shape */
    int plain[TENSOR_MAX_DIMS]; /* per dimension of the result: the dimension of self it runs along, -1 inside the index */
} indexing;

/* Analyses arguments 0 (self) and 1 (indices). Counts masks, so needs their values; UNSUPPORTED where they have none.
   INVALID: too many indices, a type that is no index, a mask of another shape than self, indices that do not broadcast. */
status indexing_analyse(const op_call *call, indexing *out, error *err);

/* i in [-n, n) to [0, n); -1 when it is outside. */
static inline int64_t index_wrap(int64_t i, int64_t n) {
    int64_t wrapped = i < 0 ? i + n : i;
    return wrapped >= 0 && wrapped < n ? wrapped : -1;
}

/* The elements of a tensor that are not zero. */
int64_t tensor_count_nonzero(const tensor *t);

/* Writes, for each element of t that is not zero and in row-major order, its coordinates: t->ndim numbers each. */
void tensor_find_nonzero(const tensor *t, int64_t *coordinates);

/* "index 7 is out of bounds for dimension 1 of size 5" as INVALID. */
status index_fail(const op_call *call, int64_t index, int dim, int64_t size, error *err);

/* INVALID unless t is i32 or i64. */
status index_check_type(const op_call *call, const tensor *t, error *err);

/* --- for references -------------------------------------------------------------------------------------------------------- */

/* An advanced indexing call with its indices read. Lives in the context's memory. */
typedef struct index_ref {
    indexing ix;
    const tensor *self;
    const int64_t *values[TENSOR_MAX_DIMS]; /* dense indices, or a mask's coordinates */
    int64_t strides[TENSOR_MAX_DIMS];       /* of a dense self */
    int64_t slot_strides[TENSOR_MAX_DIMS];  /* of the indexed dimensions alone, dense; 0 for plain dimensions */
    int64_t n_slots;                        /* the product of the indexed dimensions */
} index_ref;

/* NULL when memory is out. */
index_ref *index_ref_make(ref_ctx *ctx);
/* Where the indices at flat position `at` of the broadcast index shape point: the sum of wrapped indices times the given
   strides of self's dimensions; -1 when one is out of bounds. */
int64_t index_ref_offset(const index_ref *r, int64_t at, const int64_t *strides);
/* Flat index into a dense self of element `flat` of the result; -1 as above. */
int64_t index_ref_place(const index_ref *r, int64_t flat);

#endif
