/* SPDX-License-Identifier: Apache-2.0 */
/* The gates of a recurrent cell, one row at a time, forward and back. */
#ifndef ENGINE_KERNELS_CPU_ISA_RNN_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_RNN_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

/* n units of a row, floats or doubles. A gate's numbers lie `step` behind those of the gate before. gates: i f g o; r z n and n's
   recurrent part; unused by tanh and relu. */
typedef struct rnn_row {
    int64_t n, step;
    int64_t from_h_step;  /* of from_h alone */
    const void *from_x;   /* [gates, n], b_ih within */
    const void *from_h;   /* [gates, n] */
    const void *b_hh;     /* [gates, n] or NULL */
    const void *h_before; /* the GRU's [n] */
    const void *c_before; /* the LSTM's [n] */
    void *c, *raw;        /* out: [n]; c may be c_before */
    void *gates;          /* out, in for the way back: [4, n], or NULL */
} rnn_row;

typedef struct rnn_row_back {
    int64_t n, step;
    const void *gates, *h_before, *c_before, *raw;
    const void *d_raw; /* of the cell's output */
    void *dc;          /* [n], of the cell state: in for this row, out for the row before */
    void *d_x, *d_h;   /* [gates, n]; the same memory but for the GRU */
    void *past;        /* the GRU's [n]: what reaches the row before beside the product */
} rnn_row_back;

/* By mode: relu, tanh, LSTM, GRU (schema/rnn.h). */
typedef struct rnn_loops {
    void (*forward_f32[4])(const rnn_row *r);
    void (*forward_f64[4])(const rnn_row *r);
    void (*back_f32[4])(const rnn_row_back *r);
    void (*back_f64[4])(const rnn_row_back *r);
} rnn_loops;

extern const rnn_loops rnn_loops_baseline;
#if defined(__x86_64__)
extern const rnn_loops rnn_loops_avx2;
extern const rnn_loops rnn_loops_avx512;
#endif

static inline const rnn_loops *rnn_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &rnn_loops_avx512 : best == ISA_AVX2 ? &rnn_loops_avx2 : &rnn_loops_baseline;
#else
    return &rnn_loops_baseline;
#endif
}

#endif
