/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks by matrix products: what preparing (rnn.c) and running (rnn_run.c) share. Everything runs in f32 (f16, bf16
   and f32) or f64, states included, and is rounded once at the end. Rows lie step after step (schema/rnn.h). */
#ifndef ENGINE_KERNELS_CPU_RNN_STATE_H
#define ENGINE_KERNELS_CPU_RNN_STATE_H

#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/move.h"
#include "engine/kernels/cpu/rnn_steps.h"
#include "engine/kernels/kernel.h"

/* The products of a step whose batch has `batch` rows; steps with as many share them. */
typedef struct step_products {
    int64_t batch;
    gemm *recur;    /* h [batch, O] w_hh^T -> [batch, gates H] */
    gemm *project;  /* raw [batch, H] w_hr^T -> [batch, P] */
    gemm *unrecur;  /* d_h [batch, gates H] w_hh -> [batch, O] */
    gemm *unproject; /* dh [batch, P] w_hr -> [batch, H] */
} step_products;

typedef struct layer_products {
    gemm *from_x;        /* x [R, I] w_ih^T + b_ih */
    gemm *to_x, *to_x_more; /* d_x [R, gates H] w_ih -> [R, I]; the second direction adds */
    gemm *w_ih;          /* d_x^T x */
} layer_products;

typedef struct cell_weights {
    const char *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
} cell_weights;

typedef struct saved_cell { /* for the way back, per row; raw: NULL where none asks for it */
    char *gates, *h_before, *c_before, *raw;
} saved_cell;

typedef struct rnn_state {
    rnn_net net;
    const op_call *call;
    const rnn_loops *loops;
    dtype type;          /* f32 or f64 */
    size_t size;
    bool backward;
    cell_weights *weights;  /* per cell */
    layer_products *layers;
    rnn_steps *together;    /* f32 without projection: all steps in one region; NULL: by the products of `steps` */
    step_products *steps;   /* of distinct batch sizes */
    int n_steps;
    int *step_of;           /* per step: which of them */
    int64_t *first;         /* per step: its first row */
    gemm *w_hh, *w_hr;      /* d_h^T h_before; dh^T raw */
    char **x, **y;          /* per layer: [R, its input], [R, out dirs] */
    saved_cell *saved;      /* per cell; backward only */
    char *from_x, *from_h;  /* [R, gates H], [B, gates H]; the former, d_x and d_h of an LSTM's backward are a cell's saved gates */
    char *h, *c, *raw;      /* in travel: [B, O], [B, H], [B, H] */
    char *hx, *cx;          /* per cell: [B, O], [B, H] */
    char *hy, *cy;
    char *dy, *dx, *dhy, *dcy, *dh, *dc, *d_x, *d_h, *past, *dh_rows;
    char **d_weights;       /* per weight of the list */
    move *in, *out;         /* arguments to work space, work space to outputs */
    int n_in, n_out;
    gemm **all;             /* every product, to be cleared */
    int n_all, max_all;
} rnn_state;

/* Places of the backward's arguments. */
enum { RNN_GRAD_OUTPUT = 7, RNN_GRAD_HY, RNN_GRAD_CY, RNN_OUTPUT_MASK = 21 };

/* The plan's run, state an rnn_state. */
status rnn_run_forward(kernel_plan *plan);
status rnn_run_backward(kernel_plan *plan);

#endif
