/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recurrent network off its arguments, and checks them. */
#include "engine/schema/rnn.h"

#include <inttypes.h>
#include <string.h>

const rnn_args rnn_forward_args = {.input = 0, .weight = 1, .hx = 4, .cx = 5, .mode = 6};
const rnn_args rnn_backward_args = {.input = 0, .weight = 1, .hx = 4, .cx = 5, .mode = 10};

/* Behind the mode, in both signatures. */
enum { HIDDEN_SIZE = 1, PROJ_SIZE, NUM_LAYERS, BATCH_FIRST, DROPOUT, TRAIN, BIDIRECTIONAL, BATCH_SIZES };

static const int gates_of[] = {[RNN_RELU] = 1, [RNN_TANH] = 1, [RNN_LSTM] = 4, [RNN_GRU] = 3};

/* More than any real network; keeps every product of widths far from overflow. */
static const int64_t WIDTH_LIMIT = INT64_C(1) << 30;
enum { LAYERS_LIMIT = 1024 };

static status expect(const op_call *call, const tensor *t, dtype type, const char *name, int ndim, const int64_t *sizes,
                     error *err) {
    tensor wanted = {.dtype = type, .ndim = ndim};
    memcpy(wanted.sizes, sizes, (size_t)ndim * sizeof *sizes);
    sizes_contiguous_strides(ndim, sizes, wanted.strides);
    if (t != NULL && t->dtype == type && tensor_same_sizes(t, &wanted)) {
        return ASSAY_OK;
    }
    char expected[TENSOR_TEXT_BYTES], given[TENSOR_TEXT_BYTES] = "None";
    return fail(err, ASSAY_INVALID, "%s: expected %s to be %.120s, got %.120s", call->op->signature.full, name,
                tensor_describe(expected, &wanted), t != NULL ? tensor_describe(given, t) : given);
}

static status read_numbers(const op_call *call, int mode, rnn_net *net, error *err) {
    int64_t kind = call_int(call, mode), layers = call_int(call, mode + NUM_LAYERS);
    net->hidden = call_int(call, mode + HIDDEN_SIZE);
    net->proj = call_int(call, mode + PROJ_SIZE);
    double dropout = call_float(call, mode + DROPOUT);
    if (kind < RNN_RELU || kind > RNN_GRU || layers < 1 || layers > LAYERS_LIMIT || net->hidden < 1 ||
        net->hidden > WIDTH_LIMIT || net->proj < 0 || net->proj > WIDTH_LIMIT || !(dropout >= 0 && dropout <= 1)) {
        return fail(err, ASSAY_INVALID, "%s: expected mode 0 to 3, layers, widths and a dropout in [0, 1], got mode %" PRId64
                    ", %" PRId64 " layers, hidden %" PRId64 ", proj %" PRId64 ", dropout %g",
                    call->op->signature.full, kind, layers, net->hidden, net->proj, dropout);
    }
    if (net->proj > 0 && (kind != RNN_LSTM || net->proj >= net->hidden)) {
        return fail(err, ASSAY_INVALID, "%s: a projection needs an LSTM and to be narrower than hidden %" PRId64 ", got %" PRId64,
                    call->op->signature.full, net->hidden, net->proj);
    }
    net->mode = (rnn_mode)kind;
    net->gates = gates_of[kind];
    net->n_layers = (int)layers;
    net->batch_first = call_bool(call, mode + BATCH_FIRST);
    net->dropout = call_bool(call, mode + TRAIN) ? dropout : 0;
    net->n_dirs = call_bool(call, mode + BIDIRECTIONAL) ? 2 : 1;
    net->out = net->proj > 0 ? net->proj : net->hidden;
    return ASSAY_OK;
}

static status read_steps(const op_call *call, const tensor *input, int mode, rnn_net *net, error *err) {
    int n;
    const int64_t *sizes = call_ints(call, mode + BATCH_SIZES, &n);
    net->packed = n > 0;
    if (!net->packed) {
        if (input->ndim != 3) {
            return fail(err, ASSAY_INVALID, "%s: expected an input of 3 dimensions, got %d", call->op->signature.full, input->ndim);
        }
        net->steps = input->sizes[net->batch_first ? 1 : 0];
        net->batch = input->sizes[net->batch_first ? 0 : 1];
        net->rows = net->steps * net->batch;
        net->in = input->sizes[2];
        return net->steps > 0 && net->batch > 0 && net->in <= WIDTH_LIMIT
                   ? ASSAY_OK
                   : fail(err, ASSAY_INVALID, "%s: expected at least one step and one sequence", call->op->signature.full);
    }
    net->batch_first = false;
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 1 || (i > 0 && sizes[i] > sizes[i - 1]) || !add_i64(sum, sizes[i], &sum)) {
            return fail(err, ASSAY_INVALID, "%s: expected batch_sizes that are positive and never grow, got %" PRId64 " in place %d",
                        call->op->signature.full, sizes[i], i);
        }
    }
    if (input->ndim != 2 || input->sizes[0] != sum || input->sizes[1] > WIDTH_LIMIT) {
        return fail(err, ASSAY_INVALID, "%s: expected a packed input of %" PRId64 " rows, got %d dimensions, %" PRId64 " rows",
                    call->op->signature.full, sum, input->ndim, input->ndim > 0 ? input->sizes[0] : 0);
    }
    net->steps = n;
    net->batch = sizes[0];
    net->rows = sum;
    net->in = input->sizes[1];
    net->batch_sizes = sizes;
    return ASSAY_OK;
}

rnn_cell rnn_cell_at(const rnn_net *net, int layer, int dir) {
    int from = (layer * net->n_dirs + dir) * net->per_cell;
    return (rnn_cell){.w_ih = from,
                      .w_hh = from + 1,
                      .b_ih = net->has_bias ? from + 2 : -1,
                      .b_hh = net->has_bias ? from + 3 : -1,
                      .w_hr = net->proj > 0 ? from + net->per_cell - 1 : -1};
}

static status check_cell(const op_call *call, const rnn_net *net, int weight, dtype t, int layer, int dir, error *err) {
    tensor **w = call->args[weight].tensors;
    rnn_cell cell = rnn_cell_at(net, layer, dir);
    int64_t tall = net->gates * net->hidden;
    TRY(expect(call, w[cell.w_ih], t, "w_ih", 2, (const int64_t[]){tall, rnn_layer_in(net, layer)}, err));
    TRY(expect(call, w[cell.w_hh], t, "w_hh", 2, (const int64_t[]){tall, net->out}, err));
    if (net->has_bias) {
        TRY(expect(call, w[cell.b_ih], t, "b_ih", 1, &tall, err));
        TRY(expect(call, w[cell.b_hh], t, "b_hh", 1, &tall, err));
    }
    return net->proj == 0 ? ASSAY_OK
                          : expect(call, w[cell.w_hr], t, "w_hr", 2, (const int64_t[]){net->proj, net->hidden}, err);
}

static status check_weights(const op_call *call, rnn_net *net, const rnn_args *args, dtype t, error *err) {
    int n, cells = net->n_layers * net->n_dirs, extra = net->proj > 0 ? 1 : 0;
    call_tensors(call, args->weight, &n);
    net->has_bias = n == cells * (4 + extra);
    net->per_cell = (net->has_bias ? 4 : 2) + extra;
    if (n != cells * net->per_cell) {
        return fail(err, ASSAY_INVALID, "%s: expected %d or %d weights for %d cells, got %d", call->op->signature.full,
                    cells * (2 + extra), cells * (4 + extra), cells, n);
    }
    for (int c = 0; c < cells; c++) {
        TRY(check_cell(call, net, args->weight, t, c / net->n_dirs, c % net->n_dirs, err));
    }
    return ASSAY_OK;
}

status rnn_analyse(const op_call *call, const rnn_args *args, rnn_net *out, error *err) {
    const tensor *input = call_tensor(call, args->input), *cx = call_tensor(call, args->cx);
    rnn_net net = {0};
    if (!dtype_is_floating(input->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating type, got %s", call->op->signature.full,
                    assay_dtype_name(input->dtype));
    }
    TRY(read_numbers(call, args->mode, &net, err));
    TRY(read_steps(call, input, args->mode, &net, err));
    TRY(check_weights(call, &net, args, input->dtype, err));
    int64_t state[] = {net.n_layers * net.n_dirs, net.batch, net.out}, cell[] = {state[0], net.batch, net.hidden};
    TRY(expect(call, call_tensor(call, args->hx), input->dtype, "hx", 3, state, err));
    if (net.mode == RNN_LSTM) {
        TRY(expect(call, cx, input->dtype, "cx", 3, cell, err));
    } else if (cx != NULL) {
        return fail(err, ASSAY_INVALID, "%s: only an LSTM has a cx", call->op->signature.full);
    }
    *out = net;
    return ASSAY_OK;
}
