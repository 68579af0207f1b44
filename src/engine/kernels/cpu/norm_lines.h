/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm of short lines that lie one behind the other. */
#ifndef ENGINE_KERNELS_CPU_NORM_LINES_H
#define ENGINE_KERNELS_CPU_NORM_LINES_H

#include "engine/kernels/cpu/norm.h"
#include "engine/kernels/cpu/streaming.h"

/* Lines of no more elements: several of them make up a block. */
enum { SHORT_LINE = STREAM_PIECE / 2 };

typedef struct short_lines {
    const row_loops *l;
    dtype x_type, out_type;
    int64_t n;                 /* elements of a line, 1 to SHORT_LINE */
    bool streams;              /* results go past the caches */
    double eps;
    const tensor *mean, *rstd; /* a number for each line */
    const void *weight, *bias; /* in the computing type; NULL: none */
} short_lines;

/* Lines [first, first + lines), which begin at x and at out. */
void norm_short_lines(const short_lines *s, const char *x, char *out, int64_t first, int64_t lines);

/* Its gradient. */
typedef struct short_gradient {
    const row_loops *l;
    dtype dy_type, x_type, out_type;
    int64_t n;
    bool streams;
    const tensor *mean, *rstd;
    const void *weight;             /* as above */
    void *weight_sums, *bias_sums;  /* in the computing type, added to; NULL: not wanted */
} short_gradient;

/* out NULL: only the sums are wanted. */
void norm_short_gradient(const short_gradient *s, const char *dy, const char *x, char *out, int64_t first, int64_t lines);

#endif
