/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, one row of output windows at a time. f16, bf16 and f32 compare and add in f32, f64 in f64, integers in i64. */
#ifndef ENGINE_KERNELS_CPU_ISA_POOL_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_POOL_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

#include <stdbool.h>

/* Windows along one dimension: [from, to) inside the input and what an average divides by (the product over the two
   dimensions); the windows [first, last) that cover input position i. */
typedef struct pool_windows {
    int64_t n, in;
    int64_t *from, *to, *first, *last;
    double *count;
    int64_t kernel, stride, pad, dilation; /* kernel 0: adaptive windows */
} pool_windows;

/* n, or so many that loops have no rest where there is room for them. */
enum { POOL_LANES = 16 };
static inline int64_t pool_lanes(int64_t n, bool has_room) {
    return has_room && n >= POOL_LANES ? (n + POOL_LANES - 1) / POOL_LANES * POOL_LANES : n;
}

/* The same where as many as n have room. */
static inline int64_t pool_wide_lanes(int64_t n, bool has_room) {
    return has_room && 2 * n > POOL_LANES ? (n + POOL_LANES - 1) / POOL_LANES * POOL_LANES : n;
}

/* Several rows of a plane at once, so that narrow ones fill vectors as well. First the rows of each window, or of the windows
   over each input row, become one row of `width`; then columns, over the ends of these rows, `outs` for each. Fixed windows
   begin `stride` apart there (width is outs times that, the columns behind the last window are dropped). Others take `taps`
   numbers each, tap by tap: tap[k * rows * outs + o] says which of rows * width; the last of each row is 0, for those that
   have fewer. */
typedef struct pool_block {
    int64_t rows, width, outs;
    int64_t inner_rows; /* of windows over so many input rows, at most */
    int64_t taps;       /* 0: fixed windows, or so many taps that each window is added up by itself */
    bool slides;        /* of a backward: the windows over each column are the next ones, `margin` of zeros before the first */
    int64_t margin;
    int64_t each;       /* of a backward: so many columns lie in each window, and in no other; 0: not so */
    int32_t *tap;
} pool_block;

/* Strides in elements: batch, channel, row, column. */
typedef struct pool_job {
    dtype dtype;
    int64_t size; /* bytes of an element */
    int64_t channels;
    pool_windows rows, columns;
    pool_block block;
    double divisor; /* of averages that all divide by the same; 0: by their counts */
    bool divisor_is_power; /* of two: multiplying by its inverse rounds nothing */
    const char *x; /* input; a backward's gradient */
    char *out;
    int64_t *index; /* of a maximum, or NULL */
    int64_t x_step[4], out_step[4], index_step[4];
} pool_job;

/* Output rows [y, end) (a backward's: input rows), a block at most, of one plane; output row y of all channels of image n when
   channels lie innermost. work: this thread's own, pool_work_elements of 8 bytes. */
typedef void pool_plane_rows_fn(const pool_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work);
typedef void pool_channels_row_fn(const pool_job *job, int64_t n, int64_t y, void *work);

typedef struct pool_loops {
    pool_plane_rows_fn *max_plane[3], *avg_plane[3], *avg_back_plane[3];          /* by compute type: f32, f64, i64 */
    pool_channels_row_fn *max_channels[3], *avg_channels[3], *avg_back_channels[3];
} pool_loops;

enum { POOL_F32, POOL_F64, POOL_I64 };

extern const pool_loops pool_loops_baseline, pool_loops_avx2, pool_loops_avx512;

#endif
