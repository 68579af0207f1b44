/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to rows of accumulators. */
#ifndef ENGINE_KERNELS_CPU_ISA_ADD_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_ADD_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

/* acc[i * step] += x[i] for n elements; step may be negative. The rows do not overlap. */
typedef struct add_loops {
    void (*f32)(float *acc, int64_t step, const float *x, int64_t n);
    void (*f64)(double *acc, int64_t step, const double *x, int64_t n);
    /* `rows` rows of n: acc rows lie acc_row elements apart, those of x x_row. */
    void (*f32_rows)(float *acc, int64_t acc_row, int64_t step, const float *x, int64_t x_row, int64_t n, int64_t rows);
    void (*f64_rows)(double *acc, int64_t acc_row, int64_t step, const double *x, int64_t x_row, int64_t n, int64_t rows);
} add_loops;

extern const add_loops add_loops_baseline;
#if defined(__x86_64__)
extern const add_loops add_loops_avx2;
extern const add_loops add_loops_avx512;
#endif

static inline const add_loops *add_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &add_loops_avx512 : best == ISA_AVX2 ? &add_loops_avx2 : &add_loops_baseline;
#else
    return &add_loops_baseline;
#endif
}

#endif
