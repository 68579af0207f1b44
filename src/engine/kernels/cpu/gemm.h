/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products for kernels: chosen once for a type and layout, run on any addresses. */
#ifndef ENGINE_KERNELS_CPU_GEMM_H
#define ENGINE_KERNELS_CPU_GEMM_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/dtype.h"

typedef struct gemm gemm;

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

/* Work space comes from memory and lives as long as it; gemm_clear drops the rest. UNSUPPORTED names the type. */
status gemm_prepare(const gemm_shape *shape, arena *memory, gemm **out, error *err);
/* summand: NULL where the shape has none. Allocates nothing; one run at a time. */
status gemm_run(gemm *g, const void *a, const void *b, const void *summand, void *c, error *err);
/* NULL is fine. */
void gemm_clear(gemm *g);
/* What was chosen: "oneDNN brg:avx512_core", "own f64". */
const char *gemm_code(const gemm *g);

#endif
