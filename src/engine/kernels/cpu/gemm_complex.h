/* SPDX-License-Identifier: Apache-2.0 */
/* Products of complex matrices by four products of their real and imaginary parts. */
#ifndef ENGINE_KERNELS_CPU_GEMM_COMPLEX_H
#define ENGINE_KERNELS_CPU_GEMM_COMPLEX_H

#include "engine/kernels/cpu/gemm_real.h"

typedef struct gemm_complex gemm_complex;

/* As gemm_prepare, gemm_run and gemm_clear, for c64 and c128 and at least one element of c. */
status gemm_complex_prepare(const gemm_shape *shape, arena *memory, gemm_complex **out, error *err);
status gemm_complex_run(gemm_complex *g, const void *a, const void *b, const void *summand, void *c, error *err);
void gemm_complex_clear(gemm_complex *g);

#endif
