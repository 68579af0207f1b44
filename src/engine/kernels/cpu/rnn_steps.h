/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a recurrent cell in f32, one after the other in a single parallel region. */
#ifndef ENGINE_KERNELS_CPU_RNN_STEPS_H
#define ENGINE_KERNELS_CPU_RNN_STEPS_H

#include "base/arena.h"
#include "engine/kernels/cpu/isa/rnn_loops.h"
#include "engine/schema/rnn.h"

typedef struct rnn_steps rnn_steps;

/* One cell's way through all steps. R rows, B sequences, H units, in f32; `first` has each step's first row. Steps go from
   the last to the first where `reverse` says so: backward of a forward direction, forward of the other. */
typedef struct rnn_walk {
    bool reverse;
    const int64_t *first;
    const float *w_hh; /* [gates H, H] */
    const float *b_hh; /* [gates H] or NULL */
    /* forward: */
    const float *from_x; /* [R, gates H] */
    float *h, *c;        /* [B, H], before and after */
    float *y;            /* row r's H results are at y + r * y_step */
    int64_t y_step;
    /* kept forward, read backward; all NULL in a forward that is not followed by a backward: */
    float *gates, *h_before, *c_before, *raw; /* [R, 4 H], [R, H], ... */
    /* backward: */
    const float *dy; /* as y */
    float *dh, *dc;  /* [B, H]: of what follows the last step, then of what came before the first */
    float *d_x, *d_h; /* [R, gates H]; the same memory but for the GRU */
    float *past;     /* [B, H], the GRU's */
} rnn_walk;

/* Whether this way takes the network: no projection. */
bool rnn_steps_takes(const rnn_net *net);
/* OUT_OF_MEMORY. Everything lives in memory; net has to live as long. */
status rnn_steps_prepare(const rnn_net *net, arena *memory, rnn_steps **out, error *err);
/* Allocate nothing; one run at a time, on omp_get_max_threads() threads at the most. */
void rnn_steps_forward(rnn_steps *s, const rnn_walk *walk);
void rnn_steps_back(rnn_steps *s, const rnn_walk *walk);

#endif
