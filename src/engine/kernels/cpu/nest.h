/* SPDX-License-Identifier: Apache-2.0 */
/* Loop nests over some of the dimensions of tensors: those a reduction keeps, those it takes away, one channel's. */
#ifndef ENGINE_KERNELS_CPU_NEST_H
#define ENGINE_KERNELS_CPU_NEST_H

#include "engine/tensor/loop.h"

/* Loops over dimensions d with bit d of mask set. All operands have the same number of dimensions (a size of 1 broadcasts);
   operand 0 decides the order. Operands are read for layout and address only. */
static inline void nest_init(loop *l, tensor *const *operands, int n, uint32_t mask) {
    tensor views[LOOP_MAX_OPERANDS];
    tensor *list[LOOP_MAX_OPERANDS];
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0;
    for (int k = 0; k < n; k++) {
        views[k].dtype = operands[k]->dtype;
        views[k].storage = operands[k]->storage;
        views[k].offset = operands[k]->offset;
        list[k] = &views[k];
    }
    for (int d = 0; d < operands[0]->ndim; d++) {
        if ((mask >> d & 1) == 0) {
            continue;
        }
        sizes[ndim] = 1;
        for (int k = 0; k < n; k++) {
            views[k].sizes[ndim] = operands[k]->sizes[d];
            views[k].strides[ndim] = operands[k]->strides[d];
            sizes[ndim] = operands[k]->sizes[d] != 1 ? operands[k]->sizes[d] : sizes[ndim];
        }
        ndim++;
    }
    for (int k = 0; k < n; k++) {
        views[k].ndim = ndim;
    }
    loop_init(l, ndim, sizes, list, n);
}

/* To the next run: all dimensions but the innermost. index and offsets as loop_seek leaves them, index[0] being 0. */
static inline void nest_next(const loop *l, int64_t *index, int64_t *offsets) {
    for (int d = 1; d < l->ndim; d++) {
        for (int k = 0; k < l->n_operands; k++) {
            offsets[k] += l->strides[k][d];
        }
        if (++index[d] < l->sizes[d]) {
            return;
        }
        for (int k = 0; k < l->n_operands; k++) {
            offsets[k] -= l->strides[k][d] * l->sizes[d];
        }
        index[d] = 0;
    }
}

/* How many runs there are; a nest without dimensions has one element. */
static inline int64_t nest_runs(const loop *l) {
    return l->numel == 0 ? 0 : l->numel / l->sizes[0];
}

/* The mask of all ndim dimensions. */
static inline uint32_t nest_all(int ndim) {
    return (1u << ndim) - 1;
}

#endif
