/* SPDX-License-Identifier: Apache-2.0 */
/* A loop nest over several tensors of one shape: dimensions ordered by stride and joined where memory allows it. */
#ifndef ENGINE_TENSOR_LOOP_H
#define ENGINE_TENSOR_LOOP_H

#include "engine/tensor/tensor.h"

enum { LOOP_MAX_OPERANDS = 10 };

/* Dimension 0 is the innermost. Strides count bytes. Operand 0, by custom the output, decides the order. */
typedef struct loop {
    int ndim; /* at least 1 unless numel is 0 */
    int n_operands;
    int64_t numel;
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t strides[LOOP_MAX_OPERANDS][TENSOR_MAX_DIMS];
    char *data[LOOP_MAX_OPERANDS];
} loop;

/* Every operand must broadcast to the ndim sizes. Dimensions of size 1 go; neighbours join where all operands allow. */
void loop_init(loop *l, int ndim, const int64_t *sizes, tensor *const *operands, int n);

/* Byte offsets of flat iteration index i (innermost dimension fastest) for every operand; index[] receives the position
   in each dimension. */
void loop_seek(const loop *l, int64_t i, int64_t *index, int64_t *offsets);

#endif
