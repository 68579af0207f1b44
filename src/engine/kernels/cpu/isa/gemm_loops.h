/* SPDX-License-Identifier: Apache-2.0 */
/* Our own matrix product, for the types that oneDNN lacks: f64, i64, i32 (smaller integers are widened to it) and f32 (for the
   parts of complex numbers, and for convolutions oneDNN refuses). Accumulates in the type itself; blocks of K bound the
   length of one running sum to 256 terms. */
#ifndef ENGINE_KERNELS_CPU_ISA_GEMM_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_GEMM_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c [m, n] = (accumulate ? c : 0) + alpha a [m, k] b [k, n], strides in elements: row, column. c does not overlap a and b. */
typedef struct gemm_block {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_column, b_row, b_column, c_row, c_column;
    double alpha;      /* f64 and f32; folded into the packed a */
    int64_t alpha_int; /* integers */
    bool accumulate;
} gemm_block;

/* One thread's work; `work` holds GEMM_WORK_BYTES of its own. */
typedef void gemm_block_fn(const gemm_block *g, void *work);
typedef struct gemm_loops {
    gemm_block_fn *f64, *f32, *i32, *i64;
} gemm_loops;

enum { GEMM_KC = 256, GEMM_MC = 96, GEMM_NC = 480 };
/* Packed blocks of a and b and one tile, for 8-byte elements, with room for the last tiles' padding. */
enum { GEMM_WORK_BYTES = (GEMM_KC * (GEMM_MC + 16) + GEMM_KC * (GEMM_NC + 64) + 2048) * 8 };

extern const gemm_loops gemm_loops_baseline, gemm_loops_avx2, gemm_loops_avx512;
/* For f64, f32, i32 or i64. */
gemm_block_fn *gemm_loops_pick(dtype t);

#endif
