/* SPDX-License-Identifier: Apache-2.0 */
/* What the reducing kernels share: the input's dimensions parted into those kept and those reduced, and which way to walk
   them.

   By rows: the fastest dimension is reduced; each output folds runs of memory. By columns: the fastest dimension is kept;
   a block of outputs folds row after row, so that memory is read in its order either way. */
#ifndef ENGINE_KERNELS_CPU_REDUCE_SHAPE_H
#define ENGINE_KERNELS_CPU_REDUCE_SHAPE_H

#include "engine/kernels/cpu/isa/row_halves.h"
#include "engine/kernels/cpu/nest.h"

/* Columns that are folded together at most. Where rows are brought in first, and where they are read as they lie: whole rows, if they are no
   longer, since parts of them take longer to read. */
enum { REDUCE_COLUMNS = 1024, REDUCE_WIDE_COLUMNS = 8192, REDUCE_MAX_OUTPUTS = 2 };
/* Shorter rows' moments, and places, are found faster by columns than for many rows together. */
enum { REDUCE_LEAST_TOGETHER = 8 };
/* Fewer columns than these are not worth a block of their own. */
enum { REDUCE_MIN_COLUMNS = 64 };

typedef struct reduce_shape {
    const row_loops *l;
    const row_halves *halves; /* for f16 and bf16 that lie together and are computed in float; else NULL */
    dtype in;     /* of elements as read: complex ones as their parts */
    loop kept;    /* operand 0 the input, 1 and 2 the outputs; its innermost dimension is the run of columns */
    loop reduced; /* operand 0 the input */
    bool by_columns;
} reduce_shape;

/* How complex tensors are read: their real parts alone, a further dimension of two that is kept or one that is reduced, or
   as whole numbers. Real ones do not care. */
typedef enum reduce_parts { PARTS_NONE, PARTS_KEPT, PARTS_REDUCED, PARTS_WHOLE } reduce_parts;

/* l computes; mask says what is reduced; outputs have the reduced dimensions as 1 or lack them. least_together: the least number of
   elements of short rows, one behind the other, that the caller takes together: shorter ones go by columns; INT64_MAX: all do. */
void reduce_shape_init(reduce_shape *s, const row_loops *l, tensor *self, uint32_t mask, reduce_parts parts, tensor *out_tensors,
                       int n_out, int64_t least_together);

#endif
