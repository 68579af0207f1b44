/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to rows of accumulators; sums of rows that lie shifted against each other. */
#ifndef ENGINE_KERNELS_CPU_ISA_ADD_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_ADD_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

/* Rows of which place (y, x) is element at + y * pitch + x, and counts for from <= (y, x) < to in both. */
typedef struct shifted_rows {
    int64_t at, from[2], to[2];
} shifted_rows;

/* acc[i * step] += x[i] for n elements; step may be negative. The rows do not overlap. */
typedef struct add_loops {
    void (*f32)(float *acc, int64_t step, const float *x, int64_t n);
    void (*f64)(double *acc, int64_t step, const double *x, int64_t n);
    /* to[y * to_pitch + x] = the sum of base's place (y, x), y < rows, x < n, in each of n_parts parts; a part's from may be below 0
       and its to beyond. */
    void (*f32_sum)(float *to, int64_t to_pitch, int64_t rows, int64_t n, const float *base, int64_t pitch,
                    const shifted_rows *parts, int64_t n_parts);
    void (*f64_sum)(double *to, int64_t to_pitch, int64_t rows, int64_t n, const double *base, int64_t pitch,
                    const shifted_rows *parts, int64_t n_parts);
    /* Row after row: to[(i * phases + p) * unit + u] = from[p * phase_room + i * unit + u], as many as are below n. Rows of `to` lie
       to_pitch apart, those of `from` from_pitch. */
    void (*f32_interleave)(float *to, int64_t to_pitch, int64_t rows, int64_t n, const float *from, int64_t from_pitch,
                           int64_t phase_room, int64_t phases, int64_t unit);
    void (*f64_interleave)(double *to, int64_t to_pitch, int64_t rows, int64_t n, const double *from, int64_t from_pitch,
                           int64_t phase_room, int64_t phases, int64_t unit);
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
