/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks: tanh, relu, LSTM, GRU. T steps, B sequences, R rows (step and sequence), widths I, H, O (schema/rnn.h).
   The rows; their reference is in rnn_reference.c. */
#include "engine/graph/dag.h"
#include "engine/ops/rnn_reference.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/rnn.h"

#include <math.h>
#include <string.h>

static tensor *push(outputs *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    tensor *result = outputs_push(out);
    if (result == NULL) {
        fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
        return NULL;
    }
    return tensor_init(result, t, ndim, sizes, err) == ASSAY_OK ? result : NULL;
}

/* cuDNN works step after step; ATen shows batch_first tensors as transposed views of that. */
static status push_sequence(outputs *out, dtype t, const rnn_net *net, int64_t width, error *err) {
    if (net->packed) {
        return push(out, t, 2, (const int64_t[]){net->rows, width}, err) != NULL ? ASSAY_OK : ASSAY_INVALID;
    }
    int64_t sizes[] = {net->batch_first ? net->batch : net->steps, net->batch_first ? net->steps : net->batch, width};
    tensor *result = outputs_push(out);
    if (result == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    int order[] = {net->batch_first ? 1 : 0, net->batch_first ? 0 : 1, 2};
    return tensor_init_permuted(result, t, 3, sizes, order, err);
}

static status push_state(outputs *out, dtype t, const rnn_net *net, int64_t width, bool wanted, error *err) {
    int64_t sizes[] = {wanted ? net->n_layers * net->n_dirs : 0, net->batch, width};
    return push(out, t, wanted ? 3 : 1, sizes, err) != NULL ? ASSAY_OK : ASSAY_INVALID;
}

/* The reserve has no bytes: the backward runs the forward again, so nothing has to be kept for it. The last output holds
   all weights in one piece, in the order of the list; a weight_buf that is given comes back as it is. */
static status rnn_infer(const op_call *call, outputs *out, error *err) {
    rnn_net net;
    TRY(rnn_analyse(call, &rnn_forward_args, &net, err));
    dtype t = call_tensor(call, 0)->dtype;
    TRY(push_sequence(out, t, &net, net.out * net.n_dirs, err));
    TRY(push_state(out, t, &net, net.out, true, err));
    TRY(push_state(out, t, &net, net.hidden, net.mode == RNN_LSTM, err));
    const tensor *buffer = call_tensor(call, 3);
    int64_t none = 0, n_weights = 0;
    int n;
    tensor **weights = call_tensors(call, 1, &n);
    for (int i = 0; i < n; i++) {
        n_weights += tensor_numel(weights[i]);
    }
    if (push(out, ASSAY_U8, 1, &none, err) == NULL) {
        return ASSAY_OUT_OF_MEMORY;
    }
    tensor *flat = buffer != NULL ? push(out, buffer->dtype, buffer->ndim, buffer->sizes, err) : push(out, t, 1, &n_weights, err);
    return flat != NULL ? ASSAY_OK : ASSAY_INVALID;
}

static status check_grad(const op_call *call, int which, const tensor *like, int ndim, const int64_t *sizes, error *err) {
    const tensor *grad = call_tensor(call, which);
    tensor wanted = {.dtype = like->dtype, .ndim = ndim};
    memcpy(wanted.sizes, sizes, (size_t)ndim * sizeof *sizes);
    sizes_contiguous_strides(ndim, sizes, wanted.strides);
    if (grad == NULL || (grad->dtype == like->dtype && tensor_same_sizes(grad, &wanted))) {
        return ASSAY_OK;
    }
    char expected[TENSOR_TEXT_BYTES], given[TENSOR_TEXT_BYTES];
    return fail(err, ASSAY_INVALID, "%s: expected %s to be %.120s, got %.120s", call->op->signature.full,
                call->op->signature.params[which].name, tensor_describe(expected, &wanted), tensor_describe(given, grad));
}

static status check_grads(const op_call *call, const rnn_net *net, error *err) {
    const tensor *input = call_tensor(call, 0);
    int64_t y[] = {input->sizes[0], net->packed ? net->out * net->n_dirs : input->sizes[1], net->out * net->n_dirs};
    int64_t states = net->n_layers * net->n_dirs;
    TRY(check_grad(call, RNN_GRAD_OUTPUT, input, net->packed ? 2 : 3, y, err));
    TRY(check_grad(call, RNN_GRAD_HY, input, 3, (const int64_t[]){states, net->batch, net->out}, err));
    if (net->mode == RNN_LSTM) {
        TRY(check_grad(call, RNN_GRAD_CY, input, 3, (const int64_t[]){states, net->batch, net->hidden}, err));
    }
    return call->args[RNN_OUTPUT_MASK].n == 4 ? ASSAY_OK
                                          : fail(err, ASSAY_INVALID, "%s: expected an output_mask of 4, got %d",
                                                 call->op->signature.full, (int)call->args[RNN_OUTPUT_MASK].n);
}

/* What the mask leaves out has no elements; the weights' gradients are left out of the list. */
static status rnn_backward_infer(const op_call *call, outputs *out, error *err) {
    rnn_net net;
    TRY(rnn_analyse(call, &rnn_backward_args, &net, err));
    TRY(check_grads(call, &net, err));
    const bool *wanted = call->args[RNN_OUTPUT_MASK].bools;
    dtype t = call_tensor(call, 0)->dtype;
    TRY(wanted[0] ? push_sequence(out, t, &net, net.in, err) : push_state(out, t, &net, 0, false, err));
    TRY(push_state(out, t, &net, net.out, wanted[1], err));
    TRY(push_state(out, t, &net, net.hidden, wanted[2] && net.mode == RNN_LSTM, err));
    int n;
    tensor **weights = call_tensors(call, 1, &n);
    for (int i = 0; i < n && wanted[3]; i++) {
        if (push(out, t, weights[i]->ndim, weights[i]->sizes, err) == NULL) {
            return ASSAY_OUT_OF_MEMORY;
        }
    }
    return ASSAY_OK;
}

/* --- inputs, cost, rows ----------------------------------------------------------------------------------------------------- */

/* Weights as networks start with: uniform within 1 / sqrt(H), so that gates do not saturate. */
static status rnn_inputs(const op_call *call, rng *r, error *err) {
    int n;
    bool backward = call->op->signature.n_params > RNN_OUTPUT_MASK;
    int64_t hidden = call_int(call, (backward ? rnn_backward_args : rnn_forward_args).mode + 1);
    tensor **weights = call_tensors(call, 1, &n);
    double bound = hidden > 0 ? 1 / sqrt((double)hidden) : 1;
    (void)err;
    for (int i = 0; i < n; i++) {
        fill_uniform(weights[i], r, -bound, bound);
    }
    return ASSAY_OK;
}

enum { RNN_WEIGHT_BUF = 3 }; /* in both signatures */

static double forward_flops(const rnn_net *net) {
    double flops = 0, rows = (double)net->rows, h = (double)net->hidden;
    for (int layer = 0; layer < net->n_layers; layer++) {
        double tall = net->gates * h, in = (double)(rnn_layer_in(net, layer) + net->out);
        flops += net->n_dirs * rows * (2 * tall * in + 2 * h * (double)net->proj + 12 * h);
    }
    return flops;
}

/* Errors of a step travel to the last one: sums of both products, step after step. */
static double travel(const rnn_net *net) {
    double widest = (double)(net->in > net->out * net->n_dirs ? net->in : net->out * net->n_dirs);
    return (double)net->steps * net->n_layers * (widest + (double)net->out);
}

static void rnn_cost(const op_call *call, const outputs *out, op_cost *cost) {
    rnn_net net;
    (void)out;
    if (rnn_analyse(call, &rnn_forward_args, &net, NULL) == ASSAY_OK) {
        cost->flops = forward_flops(&net);
        cost->reduction = travel(&net);
        op_cost_reads(call, RNN_WEIGHT_BUF, 0, cost); /* the weights once more */
    }
}

static void rnn_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    enum { OUTPUT = 6, RESERVE = 20 };
    rnn_net net;
    (void)out;
    if (rnn_analyse(call, &rnn_backward_args, &net, NULL) == ASSAY_OK) {
        /* The forward again, what inputs and states get, and what the weights get. */
        cost->flops = (call->args[RNN_OUTPUT_MASK].bools[3] ? 3 : 2) * forward_flops(&net);
        cost->reduction = travel(&net) + (double)net.rows + (double)(net.gates * net.hidden);
        static const int not_read[] = {RNN_WEIGHT_BUF, OUTPUT, RESERVE}; /* what these hold is worked out anew */
        for (size_t i = 0; i < countof(not_read); i++) {
            op_cost_reads(call, not_read[i], 0, cost);
        }
    }
}

static const op_family family_rnn = {.name = "recurrent network", .inputs = rnn_inputs};

static void rnn_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call, (void)out;
    v_refuse(g, "a recurrent network is the library's algorithm");
}

/* roundings: ATen's own steps round the hidden state to the tensor's type at every step. */
static const op_row rows[] = {
    {.signature = "_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, "
                  "int mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, "
                  "bool bidirectional, SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
     .doc = "A recurrent network over whole sequences: relu, tanh, LSTM or GRU cells, by mode.",
     .family = &family_rnn,
     .decompose = rnn_parts,
     .infer = rnn_infer,
     .cost = rnn_cost,
     .reference = rnn_reference,
     .roundings = 16},
    {.signature = "_cudnn_rnn_backward(Tensor input, Tensor[] weight, int weight_stride0, Tensor weight_buf, Tensor hx, "
                  "Tensor? cx, Tensor output, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, int mode, "
                  "SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, "
                  "bool bidirectional, SymInt[] batch_sizes, Tensor? dropout_state, Tensor reserve, bool[4] output_mask) "
                  "-> (Tensor, Tensor, Tensor, Tensor[])",
     .doc = "The gradients of a recurrent network's inputs, first states and weights; it runs the forward again.",
     .family = &family_rnn,
     .decompose = rnn_parts,
     .infer = rnn_backward_infer,
     .cost = rnn_backward_cost,
     .reference = rnn_backward_reference,
     .roundings = 16},
};

const op_rows rows_rnn = {rows, countof(rows)};
