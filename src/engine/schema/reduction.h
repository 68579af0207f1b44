/* SPDX-License-Identifier: Apache-2.0 */
/* What every reduction shares: which dimensions go, the output's shape, a walk over what one output element sums. */
#ifndef ENGINE_SCHEMA_REDUCTION_H
#define ENGINE_SCHEMA_REDUCTION_H

#include "engine/schema/op.h"
#include "engine/schema/reference.h"

/* Bit d set: dimension d of the ndim is reduced. An empty list or None (dims_arg < 0 too) reduces all. INVALID for a
   dimension out of range or named twice. */
status reduction_mask(const op_call *call, int dims_arg, uint32_t *out, error *err);

/* Pushes one output: argument 0's shape with reduced dimensions of size 1 (keepdim) or gone. Contiguous whatever the
   input's layout, as ATen's reductions make it. */
status reduction_infer(const op_call *call, int dims_arg, bool keepdim, dtype result, outputs *out, error *err);

/* The flat row-major indices (into argument 0) that output element `flat` reduces, in row-major order:
     for (bool more = w.n > 0; more; more = reduction_next(&w)) use(w.at); */
typedef struct reduction_walk {
    int64_t at;
    int64_t n; /* how many there are */
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t strides[TENSOR_MAX_DIMS];
    int64_t index[TENSOR_MAX_DIMS];
} reduction_walk;
bool reduction_start(const ref_ctx *ctx, int dims_arg, int64_t flat, reduction_walk *out);
bool reduction_next(reduction_walk *w);

/* Elements behind one output element. */
double reduction_length(const op_call *call, int dims_arg);

extern const op_family family_reduction; /* adds up */
extern const op_family family_choice;    /* compares */

#endif
