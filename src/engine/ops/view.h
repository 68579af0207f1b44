/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of views share: an output over argument 0's memory, and the dimension that an argument names. */
#ifndef ENGINE_OPS_VIEW_H
#define ENGINE_OPS_VIEW_H

#include "engine/schema/op.h"

/* Adds an output over argument 0's memory; offset counts elements from its first one. */
status view_push(const op_call *call, outputs *out, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                 error *err);

/* The dimension named by argument i; fails on tensors without dimensions, which have none to cut up. */
status view_take_dim(const op_call *call, int i, int *out, error *err);

/* A dimension that may be counted from the back, known to be valid. */
int view_wrapped(int64_t dim, int ndim);

#endif
