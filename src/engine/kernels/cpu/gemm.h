/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products for kernels: chosen once for a type and layout, run on any addresses. */
#ifndef ENGINE_KERNELS_CPU_GEMM_H
#define ENGINE_KERNELS_CPU_GEMM_H

#include "engine/kernels/cpu/gemm_real.h"

typedef struct gemm gemm;

/* Work space comes from memory and lives as long as it; gemm_clear drops the rest. UNSUPPORTED names the type. */
status gemm_prepare(const gemm_shape *shape, arena *memory, gemm **out, error *err);
/* summand: NULL where the shape has none. Allocates nothing; one run at a time. */
status gemm_run(gemm *g, const void *a, const void *b, const void *summand, void *c, error *err);
/* NULL is fine. */
void gemm_clear(gemm *g);
/* What was chosen: "oneDNN brg:avx512_core", "own f64". */
const char *gemm_code(const gemm *g);

#endif
