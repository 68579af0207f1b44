/* SPDX-License-Identifier: Apache-2.0 */
/* What a recurrent network's call describes: modes, sizes, weights and the order of its steps. */
#ifndef ENGINE_SCHEMA_RNN_H
#define ENGINE_SCHEMA_RNN_H

#include "base/rng.h"
#include "engine/schema/op.h"

/* The numbers of cuDNN's modes. */
typedef enum rnn_mode { RNN_RELU, RNN_TANH, RNN_LSTM, RNN_GRU } rnn_mode;

enum { RNN_MAX_GATES = 4, RNN_WEIGHTS = 5 };

/* A cell's weights, by their places in the list argument; -1 where it has none. */
typedef struct rnn_cell {
    int w_ih; /* [gates H, width of its input] */
    int w_hh; /* [gates H, O] */
    int b_ih; /* [gates H] */
    int b_hh;
    int w_hr; /* [P, H] */
} rnn_cell;

/* The network works on rows: one for each step and sequence, step after step. A packed input lies in memory that way; any
   other has B rows for each of its T steps. Sequences are sorted, longest first: at step t the first batch[t] still run. */
typedef struct rnn_net {
    rnn_mode mode;
    int gates;     /* H-sized blocks in w_ih: 1, LSTM 4 (i f g o), GRU 3 (r z n) */
    int n_layers;
    int n_dirs;    /* 2 when bidirectional */
    int per_cell;  /* weights in the list for each cell */
    bool has_bias, packed, batch_first;
    int64_t steps, batch, rows;
    int64_t in, hidden, proj; /* widths: I, H, P (0: no projection) */
    int64_t out;              /* P or H: what a cell hands on */
    const int64_t *batch_sizes; /* packed: steps of them; else NULL */
    double dropout;             /* between layers; 0 unless training */
} rnn_net;

/* Places of the arguments that forward and backward share. */
typedef struct rnn_args {
    int input, weight, hx, cx, mode; /* hidden_size ... dropout_state follow mode in order */
} rnn_args;
extern const rnn_args rnn_forward_args, rnn_backward_args;

/* Checks every shape and type; INVALID says which is wrong. */
status rnn_analyse(const op_call *call, const rnn_args *args, rnn_net *out, error *err);

/* Cell (layer, dir): where its weights are in the list. */
rnn_cell rnn_cell_at(const rnn_net *net, int layer, int dir);

static inline int64_t rnn_batch(const rnn_net *net, int64_t step) {
    return net->batch_sizes != NULL ? net->batch_sizes[step] : net->batch;
}

/* Width of what layer `layer` reads. */
static inline int64_t rnn_layer_in(const rnn_net *net, int layer) {
    return layer == 0 ? net->in : net->out * net->n_dirs;
}

/* Whether dropout keeps an element of what layer `layer` hands on (row-major among its rows). A function of the call's
   seed alone, so that the backward drops what the forward dropped, and a check can drop the same. */
static inline bool rnn_keeps(uint64_t seed, int layer, int64_t element, double dropout) {
    uint64_t bits = rng_mix(rng_mix(seed + (uint64_t)layer) + (uint64_t)element);
    return (double)(bits >> 11) * 0x1p-53 >= dropout;
}

#endif
