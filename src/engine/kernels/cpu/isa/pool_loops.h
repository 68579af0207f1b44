/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, one row of output windows at a time. f16, bf16 and f32 compare and add in f32, f64 in f64, integers in i64. */
#ifndef ENGINE_KERNELS_CPU_ISA_POOL_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_POOL_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

/* Windows along one dimension: [from, to) inside the input and what an average divides by (the product over the two
   dimensions); the windows [first, last) that cover input position i. */
typedef struct pool_windows {
    int64_t n, in;
    int64_t *from, *to, *first, *last;
    double *count;
    int64_t kernel, stride, pad, dilation; /* kernel 0: adaptive windows */
} pool_windows;

/* Strides in elements: batch, channel, row, column. */
typedef struct pool_job {
    dtype dtype;
    int64_t channels;
    pool_windows rows, columns;
    const char *x; /* input; a backward's gradient */
    char *out;
    int64_t *index; /* of a maximum, or NULL */
    int64_t x_step[4], out_step[4], index_step[4];
} pool_job;

/* Output row y (a backward's: input row y) of one plane, or of all channels of image n when channels lie innermost.
   work: POOL_WORK(job) bytes of this thread's own. */
typedef void pool_plane_row_fn(const pool_job *job, int64_t n, int64_t c, int64_t y, void *work);
typedef void pool_channels_row_fn(const pool_job *job, int64_t n, int64_t y, void *work);

typedef struct pool_loops {
    pool_plane_row_fn *max_plane[3], *avg_plane[3], *avg_back_plane[3];          /* by compute type: f32, f64, i64 */
    pool_channels_row_fn *max_channels[3], *avg_channels[3], *avg_back_channels[3];
} pool_loops;

enum { POOL_F32, POOL_F64, POOL_I64 };

extern const pool_loops pool_loops_baseline, pool_loops_avx2, pool_loops_avx512;

#endif
