/* SPDX-License-Identifier: Apache-2.0 */
/* Inner loops of convolutions in f32 that read and write images as they lie, channel by channel: tiles of columns times a
   weight, and single channels under windows of their own. */
#ifndef ENGINE_KERNELS_CPU_ISA_CONV_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_CONV_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdbool.h>
#include <stdint.h>

/* Columns [first, first + n) of a tile and where row 0 of them is stored. */
typedef struct conv_run {
    float *out;
    int64_t first, n;
} conv_run;

/* A tile: as many columns as conv_loops.columns, or fewer, and where they are stored. */
typedef struct conv_tile {
    const float *columns; /* [depth][tile's columns], */
    const int64_t *place; /* or, unless NULL, a depth's columns are so many elements on; then up to slack past the last are read */
    const conv_run *runs;
    int n_runs;
} conv_tile;

/* out = weight times columns, for some tiles. */
typedef struct conv_product {
    int64_t rows, depth;
    const float *weight;  /* blocks of conv_loops.rows rows: [block][depth][row], the last one padded */
    const conv_tile *tiles;
    int n_tiles;
    int64_t out_step;     /* elements from row to row of out */
    const float *bias;    /* of each row; NULL: none */
    bool accumulate;      /* out is added to; bias is left out */
    bool stream;          /* out goes past the caches where it lies on lines, visible to others at the end */
    /* Memory that is read next: so many cache lines at each of soon_depth places, a step of elements apart; NULL: nothing. */
    const float *soon;
    int64_t soon_step, soon_depth, soon_lines;
} conv_product;

/* Rows of one channel: out[r][i] = bias + sum over taps of weight[t] * in[r * in_step + tap[t] + i]. Reads up to
   conv_loops.slack elements past the last. */
typedef struct conv_rows {
    int64_t rows, n;
    const float *in;
    int64_t in_step;
    float *out;
    int64_t out_step;
    int64_t taps;
    const int64_t *tap;
    const float *weight;
    float bias;
} conv_rows;

/* sums[t] += sum over rows and i of grad[r][i] * in[r * in_step + tap[t] + i]; reads in as conv_rows. */
typedef struct conv_row_sums {
    int64_t rows, n;
    const float *in;
    int64_t in_step;
    const float *grad;
    int64_t grad_step;
    int64_t taps;
    const int64_t *tap;
    double *sums;
} conv_row_sums;

/* Rows of an image for lines: to[i] = from[i * step] of each, and where step is 2 and n_between not 0 between[i] = from[2 i + 1]. */
typedef struct conv_spread {
    const float *from;
    int64_t from_row, rows, step;
    float *to, *between;
    int64_t to_row, n, n_between;
} conv_spread;

typedef struct conv_loops {
    int rows, columns; /* of a tile in registers */
    int slack;
    void (*multiply)(const conv_product *p);
    /* depth rows of the columns of tiles side by side, a step of elements apart; tiles come to lie tile_step apart. */
    void (*pack)(float *to, int64_t tile_step, const float *from, int64_t step, int64_t depth, int tiles);
    void (*gather)(float *to, const float *from, int64_t step, int64_t n); /* to[i] = from[i * step] */
    void (*spread)(const conv_spread *s);
    void (*slide)(const conv_rows *r);
    void (*sum)(const conv_row_sums *r);
} conv_loops;

extern const conv_loops conv_loops_baseline;
#if defined(__x86_64__)
extern const conv_loops conv_loops_avx2, conv_loops_avx512;
#endif

static inline const conv_loops *conv_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &conv_loops_avx512 : best == ISA_AVX2 ? &conv_loops_avx2 : &conv_loops_baseline;
#else
    return &conv_loops_baseline;
#endif
}

#endif
