/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm, and its gradient: what a plan knows, and its lines. */
#ifndef ENGINE_KERNELS_CPU_NORM_LAYER_H
#define ENGINE_KERNELS_CPU_NORM_LAYER_H

#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/nest.h"
#include "engine/kernels/cpu/norm.h"
#include "engine/kernels/cpu/norm_params.h"

enum { OUT, X, DY, OPERANDS };

/* Of lines that are gone over by one call: short ones, which stay in caches or not, and long ones past the caches. The gradient of 256 floats
   a line takes longer so past them (1.15), of 128 less (0.86); on a Sapphire Rapids 768 bf16 in caches 1.06 of the time, 384 0.9. */
enum { LINES_TOGETHER = 16, TOGETHER_BYTES = 8 << 10, LEAST_TOGETHER = 64, MOST_TOGETHER = 256, MOST_KEPT_TOGETHER = 4096,
       MOST_HALVES_TOGETHER = 512, MOST_BACK_BYTES = 512, LINES_ABREAST = 4, LEAST_ABREAST = 1536, ABREAST_BYTES = 64 << 10 };

typedef struct layer {
    const row_loops *l;
    norm_view v;
    loop lines; /* over the leading dimensions, in row-major order; OUT is row-major by nature */
    loop line;  /* over the normalized ones, likewise */
    dtype type[OPERANDS];
    const tensor *weight, *bias, *mean_in, *rstd_in;
    tensor mean_view, rstd_view; /* mean_in and rstd_in as one dimension, where they lie together */
    const tensor *mean_out, *rstd_out, *weight_out, *bias_out;
    bool wants_input, wants_params;
    int threads;
    norm_params params_of;
    char *params; /* weight and bias in the computing type */
    const void *plain_weight, *plain_bias; /* what stands there for one that there is not, or NULL */
    char *work;
    int64_t work_bytes;
    int64_t line_bytes; /* one line in the computing type, padded */
    bool streams;       /* the result goes past the caches */
    bool in_flight;     /* several lines, of one type, are on their way at once */
    int64_t together;   /* one behind the other, so many are gone over by one call; 0: each by its own */
    bool short_lines;   /* one behind the other: several are gone over at once */
    int64_t turned;     /* of input lines that lie beside each other so many are turned round first; 0: none */
    bool turned_short;  /* and by loops for short lines, in a gradient */
    int64_t turned_at;  /* into a thread's work */
    bool turned_stream; /* and their results go past the caches */
} layer;

/* What threads share of a run. */
typedef struct lines_share {
    const layer *s;
    const void *weight, *bias;
    int *team; /* threads that there were */
} lines_share;

/* Elements of operand k's line at `at`, in the computing type: there if they lie together, else gathered in buffer. */
const void *layer_line_in(const layer *s, int k, char *buffer, const char *at);
/* Where line i starts in each operand. */
void layer_seek(const layer *s, int64_t i, int64_t *offset);
/* Sends a piece of results, STREAM_PIECE at most, past the caches. */
void layer_stream_piece(const layer *s, char *out, const void *made, int64_t n);
/* Of lines [i, to), which lie beside each other element by element, some are turned round into rows; answers how many. Gathered one by one,
   200704 lines of 24 in f16 took 15 ms instead of 4.3 (Zen 4, 2026-11). */
int64_t layer_turn(const layer *s, int64_t i, int64_t to, int64_t *offset, char *rows);
/* Plans' runs, whose state is a layer. */
status layer_forward(kernel_plan *plan);
status layer_backward(kernel_plan *plan);

#endif
