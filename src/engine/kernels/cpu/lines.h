/* SPDX-License-Identifier: Apache-2.0 */
/* The loop nest of gather and scatter: over the elements of the index, beside them those of a tensor of the same shape
   (`own`) and those of the tensor that the index points into (`far`). */
#ifndef ENGINE_KERNELS_CPU_LINES_H
#define ENGINE_KERNELS_CPU_LINES_H

#include "engine/kernels/cpu/isa/index_loops.h"
#include "engine/kernels/kernel.h"

enum { LINES_BLOCK = 512 };

/* Dimensions outermost first; the last is the inner loop. Sizes of 1 are gone and neighbours are joined where all three
   layouts allow it; there is always at least one dimension. Plain data: a thread narrows its own copy to its share. */
typedef struct lines {
    const op_call *call;
    const index_loops *loops;
    const tensor *index;
    int dim;              /* of the index, for messages */
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t index_strides[TENSOR_MAX_DIMS]; /* elements */
    ptrdiff_t own_strides[TENSOR_MAX_DIMS], far_strides[TENSOR_MAX_DIMS]; /* bytes; far: 0 along the indexed dimension */
    bool is_indexed[TENSOR_MAX_DIMS];
    const char *index_data;
    char *own, *far;
    int64_t far_size;     /* of the indexed dimension */
    ptrdiff_t far_step;   /* bytes */
} lines;

/* own may be NULL. own and far elements may be of other types than the tensors': bytes of one are given, and far's
   strides (elements) as they are in the memory at far_data. */
void lines_init(lines *l, const op_call *call, const tensor *index, int dim, const tensor *own, size_t own_bytes,
                const tensor *far, const int64_t *far_strides, char *far_data, size_t far_bytes);

/* One stretch of the inner loop: n <= LINES_BLOCK elements and their offsets from far. */
typedef void lines_use(void *context, char *own, ptrdiff_t own_stride, char *far, ptrdiff_t far_stride,
                       const int64_t *offsets, int64_t n);

/* Calls use for all stretches, in order. False when an index is out of bounds: then what lies before it has been used. */
bool lines_walk(const lines *l, lines_use *use, void *context);

/* The same by a team of threads, each with its part of dimension `split`; -1: one thread, all of it. */
bool lines_run(const lines *l, int split, int threads, lines_use *use, void *context);

/* Narrows dimension d to [from, to). */
void lines_cut(lines *l, int d, int64_t from, int64_t to);

/* The largest dimension that work can be split along: any, or (for writers) none but those not indexed; -1 when none. */
int lines_widest(const lines *l, bool may_be_indexed);

/* Names the index that is out of bounds; INVALID. */
status lines_fail(const lines *l, error *err);

#endif
