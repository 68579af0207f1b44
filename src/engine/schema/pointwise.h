/* SPDX-License-Identifier: Apache-2.0 */
/* What every element-wise operator shares: operands, type promotion, broadcast, output layout, the reference loop. */
#ifndef ENGINE_SCHEMA_POINTWISE_H
#define ENGINE_SCHEMA_POINTWISE_H

#include "engine/schema/op.h"
#include "engine/schema/reference.h"

enum { POINTWISE_MAX_OPERANDS = 8, POINTWISE_MAX_NUMBERS = 4 };

/* An element-wise call, looked at once: what it reads, the type it computes in, the shape it covers. */
typedef struct pointwise {
    int n;                                      /* tensor operands, in order of arguments (None left out) */
    tensor *operand[POINTWISE_MAX_OPERANDS];
    int n_numbers;                              /* numbers that are operands too (scalars_promote) */
    number numbers[POINTWISE_MAX_NUMBERS];
    dtype compute;                              /* the common type after promotion */
    dtype result;                               /* of the output */
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
} pointwise;

status pointwise_analyse(const op_call *call, pointwise *out, error *err);

/* ATen's result_type (aten/src/ATen/native/TypeProperties.cpp): tensors with dimensions outweigh 0-dim tensors, which
   outweigh Python numbers, unless the lighter one is of a higher category. scalars may be NULL when n_scalars is 0. */
dtype result_type(tensor *const *tensors, int n, const number *scalars, int n_scalars);

/* An output of the given type and sizes laid out as TensorIterator lays it out for these operands: contiguous or
   channels-last when all of them are so, the operands' own strides when they agree, else their order of dimensions. */
status pointwise_output(tensor *out, dtype t, int ndim, const int64_t *sizes, tensor *const *operands, int n, error *err);

/* The family's infer. */
status pointwise_infer(const op_call *call, outputs *out, error *err);

/* The type whose values numbers among the operands take, and 0-dim tensors of other types: the one that elements are computed
   in, or the wider one that it is accumulated in (op.h, rounds_numbers). */
dtype pointwise_number_type(const op_row *row, const pointwise *p);
/* An integer as it meets the others where they are computed in integers: -1 is 255 beside u8, as in ATen (op.h, keeps_integers). */
int64_t pointwise_integer(const op_row *row, const pointwise *p, int64_t value);

/* INVALID where arguments `low` and `high`, bounds of results of type t, None or, below 0, not there at all, leave no number of t within them, or where t, a floating type,
   cannot hold one. Bounds of integers may lie outside their type else: then they bind nothing. ATen's clamp. */
status pointwise_check_bounds(const op_call *call, int low, int high, dtype t, error *err);

/* The driver of reference_scalar, reference_int and reference_complex. */
status pointwise_reference(ref_ctx *ctx, ref_request *request, error *err);

/* Families for rows to name. unary and binary differ in nothing but what they are called in listings. */
extern const op_family family_pointwise;
extern const op_family family_activation_backward; /* no in-place variants */

#endif
