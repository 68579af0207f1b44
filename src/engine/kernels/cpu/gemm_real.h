/* SPDX-License-Identifier: Apache-2.0 */
/* What a matrix product is, and products of numbers with one part. */
#ifndef ENGINE_KERNELS_CPU_GEMM_REAL_H
#define ENGINE_KERNELS_CPU_GEMM_REAL_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/dtype.h"

/* c [m, n] = alpha * a [m, k] b [k, n] + beta * summand, for each batch. Strides in elements: batch, row, column; a, b
   and the summand may be broadcast (0) or overlap, c may not. The summand may be c itself with c's strides. Integers take
   alpha and beta as integers. All but b8 and c32. Sums run in f32 for f16, bf16 and f32, in f64 for f64, wrap for
   integers. */
typedef struct gemm_shape {
    dtype dtype;
    int64_t batch, m, n, k;
    int64_t a[3], b[3], c[3];
    bool has_summand;
    int64_t summand[3];
    number alpha, beta;
} gemm_shape;

/* For plain products: contiguous operands, alpha 1, no summand. */
gemm_shape gemm_shape_plain(dtype t, int64_t m, int64_t n, int64_t k);

typedef struct gemm_real gemm_real;

/* As gemm_prepare, gemm_run, gemm_clear and gemm_code (gemm.h), for types that are not complex and at least one element of c. */
status gemm_real_prepare(const gemm_shape *shape, arena *memory, gemm_real **out, error *err);
status gemm_real_run(gemm_real *g, const void *a, const void *b, const void *summand, void *c, error *err);
void gemm_real_clear(gemm_real *g);
const char *gemm_real_code(const gemm_real *g);

#endif
