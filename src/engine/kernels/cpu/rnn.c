/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks: products, work space and moves are made here, once for all runs (rnn_state.h, rnn_run.c). */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/rnn_state.h"

#include <string.h>

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a recurrent network's work space");
}

static char *make(kernel_plan *plan, const rnn_state *s, int64_t rows, int64_t cols) {
    size_t n;
    return mul_size((size_t)rows, (size_t)cols, &n) ? arena_make(plan->memory, n, s->size) : NULL;
}

/* A tensor over work space; its storage is never counted or freed. */
static status describe(kernel_plan *plan, const rnn_state *s, char *data, int ndim, const int64_t *sizes,
                       const int64_t *strides, tensor *out, error *err) {
    storage *memory = arena_make(plan->memory, 1, sizeof *memory);
    if (memory == NULL || data == NULL) {
        return no_memory(err);
    }
    TRY(tensor_init_strided(out, s->type, ndim, sizes, strides, err));
    memory->data = data;
    out->storage = memory;
    return ASSAY_OK;
}

/* Strides of rows, step after step, as a sequence tensor of this call sees them. */
static void row_strides(const rnn_net *net, int64_t width, int64_t *strides) {
    strides[0] = net->packed || net->batch_first ? width : net->batch * width;
    strides[1] = net->packed ? 1 : net->batch_first ? net->batch * width : width;
    strides[2] = 1;
}

/* The tensor's own memory where it serves as work space as it is: dense (as rows where asked), of the type computed in. */
static char *as_it_lies(const rnn_state *s, const tensor *t, bool is_rows) {
    int64_t strides[TENSOR_MAX_DIMS];
    if (t->dtype != s->type || tensor_numel(t) == 0) {
        return NULL;
    }
    sizes_contiguous_strides(t->ndim, t->sizes, strides);
    if (is_rows) {
        row_strides(&s->net, t->sizes[t->ndim - 1], strides);
    }
    for (int d = 0; d < t->ndim; d++) {
        if (t->sizes[d] > 1 && t->strides[d] != strides[d]) {
            return NULL;
        }
    }
    return tensor_data(t);
}

/* Moves a tensor to (or from) work space laid out densely, or as rows. */
static status add_move(kernel_plan *plan, rnn_state *s, const tensor *t, char *data, bool is_rows, bool to_tensor, error *err) {
    int64_t strides[TENSOR_MAX_DIMS];
    tensor work;
    box b;
    if (t == NULL || tensor_numel(t) == 0 || data == as_it_lies(s, t, is_rows)) {
        return ASSAY_OK;
    }
    sizes_contiguous_strides(t->ndim, t->sizes, strides);
    if (is_rows) {
        row_strides(&s->net, t->sizes[t->ndim - 1], strides);
    }
    TRY(describe(plan, s, data, t->ndim, t->sizes, strides, &work, err));
    box_of_pair(&b, to_tensor ? t : &work, to_tensor ? &work : t);
    move_copy(to_tensor ? &s->out[s->n_out++] : &s->in[s->n_in++], &b, to_tensor ? t : &work, to_tensor ? &work : t);
    return ASSAY_OK;
}

/* --- products --------------------------------------------------------------------------------------------------------------- */

typedef struct operand {
    int64_t row, col; /* strides */
} operand;

static status product(kernel_plan *plan, rnn_state *s, int64_t m, int64_t n, int64_t k, operand a, operand b, const operand *summand,
                      gemm **out, error *err) {
    gemm_shape shape = gemm_shape_plain(s->type, m, n, k);
    shape.a[1] = a.row;
    shape.a[2] = a.col;
    shape.b[1] = b.row;
    shape.b[2] = b.col;
    if (summand != NULL) {
        shape.has_summand = true;
        shape.beta = number_of_double(1);
        shape.summand[1] = summand->row;
        shape.summand[2] = summand->col;
    }
    TRY(gemm_prepare(&shape, plan->memory, out, err));
    s->all[s->n_all++] = *out;
    return ASSAY_OK;
}

static status prepare_steps(kernel_plan *plan, rnn_state *s, error *err) {
    const rnn_net *net = &s->net;
    int64_t tall = net->gates * net->hidden, o = net->out, h = net->hidden;
    for (int64_t t = 0; t < net->steps; t++) {
        int64_t batch = rnn_batch(net, t);
        if (t > 0 && s->steps[s->n_steps - 1].batch == batch) {
            s->step_of[t] = s->n_steps - 1;
            continue;
        }
        step_products *p = &s->steps[s->n_steps];
        s->step_of[t] = s->n_steps++;
        p->batch = batch;
        TRY(product(plan, s, batch, tall, o, (operand){o, 1}, (operand){1, o}, NULL, &p->recur, err));
        if (net->proj > 0) {
            TRY(product(plan, s, batch, o, h, (operand){h, 1}, (operand){1, h}, NULL, &p->project, err));
        }
        if (s->backward) {
            TRY(product(plan, s, batch, o, tall, (operand){tall, 1}, (operand){o, 1}, NULL, &p->unrecur, err));
        }
        if (s->backward && net->proj > 0) {
            TRY(product(plan, s, batch, h, o, (operand){o, 1}, (operand){h, 1}, NULL, &p->unproject, err));
        }
    }
    return ASSAY_OK;
}

static status prepare_layers(kernel_plan *plan, rnn_state *s, error *err) {
    const rnn_net *net = &s->net;
    int64_t tall = net->gates * net->hidden, rows = net->rows, o = net->out, h = net->hidden;
    for (int l = 0; l < net->n_layers; l++) {
        int64_t in = rnn_layer_in(net, l);
        layer_products *p = &s->layers[l];
        operand bias = {0, 1}, more = {in, 1};
        TRY(product(plan, s, rows, tall, in, (operand){in, 1}, (operand){1, in}, net->has_bias ? &bias : NULL, &p->from_x, err));
        if (!s->backward) {
            continue;
        }
        TRY(product(plan, s, rows, in, tall, (operand){tall, 1}, (operand){in, 1}, NULL, &p->to_x, err));
        TRY(product(plan, s, rows, in, tall, (operand){tall, 1}, (operand){in, 1}, &more, &p->to_x_more, err));
        TRY(product(plan, s, tall, in, rows, (operand){1, tall}, (operand){in, 1}, NULL, &p->w_ih, err));
    }
    if (s->backward) {
        TRY(product(plan, s, tall, o, rows, (operand){1, tall}, (operand){o, 1}, NULL, &s->w_hh, err));
    }
    if (s->backward && net->proj > 0) {
        TRY(product(plan, s, o, h, rows, (operand){1, o}, (operand){h, 1}, NULL, &s->w_hr, err));
    }
    return ASSAY_OK;
}

/* --- work space ------------------------------------------------------------------------------------------------------------ */

static void rnn_clear(kernel_plan *plan) {
    rnn_state *s = plan->state;
    for (int i = 0; i < s->n_all; i++) {
        gemm_clear(s->all[i]);
    }
    s->n_all = 0;
}

static status make_tables(kernel_plan *plan, rnn_state *s, int n_weights, error *err) {
    const rnn_net *net = &s->net;
    size_t cells = (size_t)(net->n_layers * net->n_dirs), layers = (size_t)net->n_layers, steps = (size_t)net->steps;
    s->weights = arena_make(plan->memory, cells, sizeof *s->weights);
    s->saved = arena_make(plan->memory, cells, sizeof *s->saved);
    s->layers = arena_make(plan->memory, layers, sizeof *s->layers);
    s->steps = arena_make(plan->memory, steps, sizeof *s->steps);
    s->step_of = arena_make(plan->memory, steps, sizeof *s->step_of);
    s->first = arena_make(plan->memory, steps, sizeof *s->first);
    s->x = arena_make(plan->memory, layers, sizeof *s->x);
    s->y = arena_make(plan->memory, layers, sizeof *s->y);
    s->d_weights = arena_make(plan->memory, (size_t)n_weights, sizeof *s->d_weights);
    s->in = arena_make(plan->memory, (size_t)n_weights + 8, sizeof *s->in);
    s->out = arena_make(plan->memory, (size_t)n_weights + 8, sizeof *s->out);
    s->all = arena_make(plan->memory, 4 * (steps + layers) + 4, sizeof *s->all);
    if (s->weights == NULL || s->saved == NULL || s->layers == NULL || s->steps == NULL || s->step_of == NULL ||
        s->first == NULL || s->x == NULL || s->y == NULL || s->d_weights == NULL || s->in == NULL || s->out == NULL || s->all == NULL) {
        return no_memory(err);
    }
    for (int64_t t = 1; t < net->steps; t++) {
        s->first[t] = s->first[t - 1] + rnn_batch(net, t - 1);
    }
    return ASSAY_OK;
}

/* A weight as the products take it: itself when its type and layout serve, else a converted copy. */
static status take_weight(kernel_plan *plan, rnn_state *s, const tensor *t, const char **out, error *err) {
    if (t->dtype == s->type && tensor_is_contiguous(t)) {
        *out = tensor_data(t);
        return ASSAY_OK;
    }
    char *copy = make(plan, s, tensor_numel(t), 1);
    *out = copy;
    return copy != NULL ? add_move(plan, s, t, copy, false, false, err) : no_memory(err);
}

static status take_weights(kernel_plan *plan, rnn_state *s, tensor **weights, error *err) {
    const rnn_net *net = &s->net;
    for (int c = 0; c < net->n_layers * net->n_dirs; c++) {
        rnn_cell cell = rnn_cell_at(net, c / net->n_dirs, c % net->n_dirs);
        cell_weights *w = &s->weights[c];
        TRY(take_weight(plan, s, weights[cell.w_ih], &w->w_ih, err));
        TRY(take_weight(plan, s, weights[cell.w_hh], &w->w_hh, err));
        if (net->has_bias) {
            TRY(take_weight(plan, s, weights[cell.b_ih], &w->b_ih, err));
            TRY(take_weight(plan, s, weights[cell.b_hh], &w->b_hh, err));
        }
        if (net->proj > 0) {
            TRY(take_weight(plan, s, weights[cell.w_hr], &w->w_hr, err));
        }
    }
    return ASSAY_OK;
}

static status make_forward_space(kernel_plan *plan, rnn_state *s, const tensor *input, error *err) {
    const rnn_net *net = &s->net;
    int64_t states = net->n_layers * net->n_dirs * net->batch, tall = net->gates * net->hidden;
    bool good = true, in_place = s->backward && net->mode == RNN_LSTM; /* rnn_run.c: choose_space */
    for (int l = 0; l < net->n_layers; l++) {
        char *in = l == 0 ? as_it_lies(s, input, true) : net->dropout == 0 ? s->y[l - 1] : NULL;
        char *out = l == net->n_layers - 1 && !s->backward ? as_it_lies(s, &plan->out->items[0], true) : NULL;
        s->x[l] = in != NULL ? in : make(plan, s, net->rows, rnn_layer_in(net, l));
        s->y[l] = out != NULL ? out : make(plan, s, net->rows, net->out * net->n_dirs);
        good = good && s->x[l] != NULL && s->y[l] != NULL;
    }
    s->from_x = in_place ? NULL : make(plan, s, net->rows, tall);
    s->from_h = make(plan, s, net->batch, tall);
    s->h = make(plan, s, net->batch, net->out);
    s->c = make(plan, s, net->batch, net->hidden);
    s->raw = make(plan, s, net->batch, net->hidden);
    s->hx = make(plan, s, states, net->out);
    s->cx = make(plan, s, states, net->hidden);
    s->hy = make(plan, s, states, net->out);
    s->cy = make(plan, s, states, net->hidden);
    good = good && (in_place || s->from_x != NULL) && s->from_h != NULL && s->h != NULL && s->c != NULL && s->raw != NULL && s->hx != NULL &&
           s->cx != NULL && s->hy != NULL && s->cy != NULL;
    return good ? ASSAY_OK : no_memory(err);
}

static status make_backward_space(kernel_plan *plan, rnn_state *s, tensor **weights, int n_weights, bool wanted, error *err) {
    const rnn_net *net = &s->net;
    int64_t states = net->n_layers * net->n_dirs * net->batch, tall = net->gates * net->hidden;
    int64_t widest = net->in > net->out * net->n_dirs ? net->in : net->out * net->n_dirs;
    bool good = true, in_place = net->mode == RNN_LSTM, raw = net->proj > 0 || net->mode == RNN_TANH || net->mode == RNN_RELU;
    for (int c = 0; c < net->n_layers * net->n_dirs; c++) {
        saved_cell *v = &s->saved[c];
        v->gates = make(plan, s, net->rows, 4 * net->hidden);
        v->h_before = make(plan, s, net->rows, net->out);
        v->c_before = make(plan, s, net->rows, net->hidden);
        v->raw = raw ? make(plan, s, net->rows, net->hidden) : NULL;
        good = good && v->gates != NULL && v->h_before != NULL && v->c_before != NULL && (!raw || v->raw != NULL);
    }
    for (int i = 0; i < n_weights; i++) {
        char *own = wanted ? as_it_lies(s, &plan->out->items[3 + i], false) : NULL;
        s->d_weights[i] = own != NULL ? own : make(plan, s, tensor_numel(weights[i]), 1);
        good = good && s->d_weights[i] != NULL;
    }
    s->dy = make(plan, s, net->rows, widest);
    s->dx = make(plan, s, net->rows, widest);
    s->dhy = make(plan, s, states, net->out);
    s->dcy = make(plan, s, states, net->hidden);
    s->dh = make(plan, s, net->batch, net->out);
    s->dc = make(plan, s, net->batch, net->hidden);
    s->d_x = in_place ? NULL : make(plan, s, net->rows, tall);
    s->d_h = net->mode == RNN_GRU ? make(plan, s, net->rows, tall) : s->d_x;
    s->past = make(plan, s, net->batch, net->hidden);
    s->dh_rows = make(plan, s, net->rows, net->out);
    good = good && s->dy != NULL && s->dx != NULL && s->dhy != NULL && s->dcy != NULL && s->dh != NULL && s->dc != NULL &&
           (in_place || (s->d_x != NULL && s->d_h != NULL)) && s->past != NULL && s->dh_rows != NULL;
    return good ? ASSAY_OK : no_memory(err);
}

static status prepare_any(kernel_plan *plan, bool backward, rnn_state **out, error *err) {
    const rnn_args *args = backward ? &rnn_backward_args : &rnn_forward_args;
    rnn_state *s = arena_make(plan->memory, 1, sizeof *s);
    int n_weights;
    tensor **weights = call_tensors(plan->call, args->weight, &n_weights);
    if (s == NULL) {
        return no_memory(err);
    }
    TRY(rnn_analyse(plan->call, args, &s->net, err));
    const tensor *input = call_tensor(plan->call, args->input);
    s->call = plan->call;
    s->backward = backward;
    s->loops = rnn_loops_best();
    s->type = input->dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    s->size = dtype_size(s->type);
    TRY(make_tables(plan, s, n_weights, err));
    plan->state = s;
    plan->clear = rnn_clear;
    TRY(make_forward_space(plan, s, input, err));
    TRY(take_weights(plan, s, weights, err));
    TRY(add_move(plan, s, input, s->x[0], true, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, args->hx), s->hx, false, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, args->cx), s->cx, false, false, err));
    if (s->type == ASSAY_F32 && rnn_steps_takes(&s->net)) {
        TRY(rnn_steps_prepare(&s->net, plan->memory, &s->together, err));
    } else {
        TRY(prepare_steps(plan, s, err));
    }
    TRY(prepare_layers(plan, s, err));
    *out = s;
    return ASSAY_OK;
}

/* The last output: the given buffer as it is, or all weights in a row. */
static status copy_weights(kernel_plan *plan, rnn_state *s, error *err) {
    tensor *flat = &plan->out->items[4];
    const tensor *buffer = call_tensor(plan->call, 3);
    int n;
    tensor **weights = call_tensors(plan->call, 1, &n);
    int64_t from = 0;
    for (int i = 0; i < (buffer != NULL ? 1 : n); i++) {
        const tensor *t = buffer != NULL ? buffer : weights[i];
        tensor part;
        box b;
        TRY(tensor_init(&part, flat->dtype, t->ndim, t->sizes, err));
        part.storage = flat->storage;
        part.offset = flat->offset + from;
        from += tensor_numel(t);
        if (tensor_numel(t) > 0) {
            box_of_pair(&b, &part, t);
            move_copy(&s->out[s->n_out++], &b, &part, t);
        }
    }
    return ASSAY_OK;
}

static status forward_prepare(kernel_plan *plan, error *err) {
    rnn_state *s;
    TRY(prepare_any(plan, false, &s, err));
    const tensor *out = plan->out->items;
    plan->run = rnn_run_forward;
    TRY(add_move(plan, s, &out[0], s->y[s->net.n_layers - 1], true, true, err));
    TRY(add_move(plan, s, &out[1], s->hy, false, true, err));
    TRY(add_move(plan, s, &out[2], s->cy, false, true, err));
    return copy_weights(plan, s, err);
}

static status backward_prepare(kernel_plan *plan, error *err) {
    rnn_state *s;
    int n_weights;
    tensor **weights = call_tensors(plan->call, 1, &n_weights);
    const bool *wanted = plan->call->args[RNN_OUTPUT_MASK].bools;
    const tensor *out = plan->out->items;
    TRY(prepare_any(plan, true, &s, err));
    plan->run = rnn_run_backward;
    TRY(make_backward_space(plan, s, weights, n_weights, wanted[3], err));
    TRY(add_move(plan, s, call_tensor(plan->call, RNN_GRAD_OUTPUT), s->dy, true, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, RNN_GRAD_HY), s->dhy, false, false, err));
    if (s->net.mode == RNN_LSTM) {
        TRY(add_move(plan, s, call_tensor(plan->call, RNN_GRAD_CY), s->dcy, false, false, err));
    }
    char *dx = s->net.n_layers % 2 == 1 ? s->dx : s->dy; /* they change places between layers */
    TRY(add_move(plan, s, &out[0], dx, true, true, err));
    TRY(add_move(plan, s, &out[1], s->hy, false, true, err));
    TRY(add_move(plan, s, &out[2], s->cy, false, true, err));
    for (int i = 0; i < n_weights && wanted[3]; i++) {
        TRY(add_move(plan, s, &out[3 + i], s->d_weights[i], false, true, err));
    }
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "_cudnn_rnn.default", .prepare = forward_prepare, .note = "f16 and bf16 convert to f32"},
    {.op = "_cudnn_rnn_backward.default", .prepare = backward_prepare, .note = "f16 and bf16 convert to f32"},
};

const kernel_rows kernels_rnn = {rows, countof(rows)};
