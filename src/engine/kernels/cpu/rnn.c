/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks by matrix products: all steps' inputs in one, one more for each step, gates fused. Everything runs in
   f32 (f16, bf16 and f32) or f64, states included, and is rounded once at the end. Rows lie step after step (schema/rnn.h). */
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/isa/index_loops.h"
#include "engine/kernels/cpu/isa/rnn_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/schema/rnn.h"

#include <string.h>


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

typedef struct saved_cell { /* for the way back, per row */
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
    step_products *steps;   /* of distinct batch sizes */
    int n_steps;
    int *step_of;           /* per step: which of them */
    int64_t *first;         /* per step: its first row */
    gemm *w_hh, *w_hr;      /* d_h^T h_before; dh^T raw */
    char **x, **y;          /* per layer: [R, its input], [R, out dirs] */
    saved_cell *saved;      /* per cell; backward only */
    char *from_x, *from_h;  /* [R, gates H], [B, gates H] */
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

/* Moves a tensor to (or from) work space laid out densely, or as rows. */
static status add_move(kernel_plan *plan, rnn_state *s, const tensor *t, char *data, bool is_rows, bool to_tensor, error *err) {
    int64_t strides[TENSOR_MAX_DIMS];
    tensor work;
    box b;
    if (t == NULL || tensor_numel(t) == 0) {
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

/* --- forward ----------------------------------------------------------------------------------------------------------------- */

static char *at(const rnn_state *s, char *data, int64_t element) {
    return data != NULL ? data + element * (int64_t)s->size : NULL;
}

static const char *at_const(const rnn_state *s, const char *data, int64_t element) {
    return data != NULL ? data + element * (int64_t)s->size : NULL;
}

/* The gates of all rows of a step. */
static void step_gates(rnn_state *s, const cell_weights *w, const saved_cell *saved, int64_t row, int64_t batch) {
    const rnn_net *net = &s->net;
    int64_t h = net->hidden, tall = net->gates * h;
    char *raw = net->proj > 0 ? s->raw : s->h;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads((double)(batch * tall) * 16))
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int64_t b = 0; b < batch; b++) {
            if (saved != NULL) {
                memcpy(at(s, saved->h_before, (row + b) * net->out), at(s, s->h, b * net->out), (size_t)net->out * s->size);
                if (net->mode == RNN_LSTM) {
                    memcpy(at(s, saved->c_before, (row + b) * h), at(s, s->c, b * h), (size_t)h * s->size);
                }
            }
            rnn_row r = {.n = h, .from_x = at(s, s->from_x, (row + b) * tall), .from_h = at(s, s->from_h, b * tall),
                         .b_hh = w->b_hh, .h_before = at(s, s->h, b * net->out), .c_before = at(s, s->c, b * h),
                         .c = at(s, s->c, b * h), .raw = at(s, raw, b * h),
                         .gates = saved != NULL ? at(s, saved->gates, (row + b) * 4 * h) : NULL};
            (s->type == ASSAY_F64 ? s->loops->forward_f64 : s->loops->forward_f32)[net->mode](&r);
            if (saved != NULL) {
                memcpy(at(s, saved->raw, (row + b) * h), r.raw, (size_t)h * s->size);
            }
        }
        parallel_leave(watch);
    }
}

static status run_cell(rnn_state *s, int layer, int dir, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
    const cell_weights *w = &s->weights[cell];
    const saved_cell *saved = s->backward ? &s->saved[cell] : NULL;
    int64_t o = net->out, width = o * net->n_dirs;
    TRY(gemm_run(s->layers[layer].from_x, s->x[layer], w->w_ih, w->b_ih, s->from_x, err));
    memcpy(s->h, at(s, s->hx, cell * net->batch * o), (size_t)(net->batch * o) * s->size);
    if (net->mode == RNN_LSTM) {
        memcpy(s->c, at(s, s->cx, cell * net->batch * net->hidden), (size_t)(net->batch * net->hidden) * s->size);
    }
    for (int64_t i = 0; i < net->steps; i++) {
        int64_t t = dir == 1 ? net->steps - 1 - i : i, row = s->first[t];
        const step_products *p = &s->steps[s->step_of[t]];
        TRY(gemm_run(p->recur, s->h, w->w_hh, NULL, s->from_h, err));
        step_gates(s, w, saved, row, p->batch);
        if (net->proj > 0) {
            TRY(gemm_run(p->project, s->raw, w->w_hr, NULL, s->h, err));
        }
        for (int64_t b = 0; b < p->batch; b++) {
            memcpy(at(s, s->y[layer], (row + b) * width + dir * o), at(s, s->h, b * o), (size_t)o * s->size);
        }
    }
    if (!s->backward) {
        memcpy(at(s, s->hy, cell * net->batch * o), s->h, (size_t)(net->batch * o) * s->size);
    }
    if (!s->backward && net->mode == RNN_LSTM) {
        memcpy(at(s, s->cy, cell * net->batch * net->hidden), s->c, (size_t)(net->batch * net->hidden) * s->size);
    }
    return ASSAY_OK;
}

/* x *= what dropout keeps of layer's output, scaled. */
static void drop(const rnn_state *s, char *x, int layer) {
    const rnn_net *net = &s->net;
    int64_t n = net->rows * net->out * net->n_dirs;
    if (net->dropout == 0) {
        return;
    }
    double kept = net->dropout < 1 ? 1 / (1 - net->dropout) : 0;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads((double)n * 16))
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int64_t i = 0; i < n; i++) {
            double by = rnn_keeps(s->call->seed, layer, i, net->dropout) ? kept : 0;
            if (s->type == ASSAY_F64) {
                ((double *)(void *)x)[i] *= by;
            } else {
                ((float *)(void *)x)[i] *= (float)by;
            }
        }
        parallel_leave(watch);
    }
}

static status run_forward(rnn_state *s, error *err) {
    const rnn_net *net = &s->net;
    moves_run(s->in, s->n_in, false);
    for (int l = 0; l < net->n_layers; l++) {
        for (int dir = 0; dir < net->n_dirs; dir++) {
            TRY(run_cell(s, l, dir, err));
        }
        if (l + 1 < net->n_layers && net->dropout > 0) {
            memcpy(s->x[l + 1], s->y[l], (size_t)(net->rows * net->out * net->n_dirs) * s->size);
            drop(s, s->x[l + 1], l);
        }
    }
    return ASSAY_OK;
}

static status forward_run(kernel_plan *plan) {
    rnn_state *s = plan->state;
    TRY(run_forward(s, plan->err));
    moves_run(s->out, s->n_out, false);
    return ASSAY_OK;
}

/* --- backward ---------------------------------------------------------------------------------------------------------------- */

static void add_row(const rnn_state *s, char *to, const char *from, int64_t n) {
    index_loops_best()->add_row[s->type](to, from, n, 1);
}

static void step_back(rnn_state *s, const saved_cell *saved, int64_t row, int64_t batch, const char *d_raw) {
    const rnn_net *net = &s->net;
    int64_t h = net->hidden, tall = net->gates * h;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads((double)(batch * tall) * 16))
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int64_t b = 0; b < batch; b++) {
            rnn_row_back r = {.n = h, .gates = at(s, saved->gates, (row + b) * 4 * h), .h_before = at(s, saved->h_before, (row + b) * net->out),
                              .c_before = at(s, saved->c_before, (row + b) * h), .raw = at(s, saved->raw, (row + b) * h),
                              .d_raw = at_const(s, d_raw, b * h), .dc = at(s, s->dc, b * h), .d_x = at(s, s->d_x, (row + b) * tall),
                              .d_h = at(s, s->d_h, (row + b) * tall), .past = at(s, s->past, b * h)};
            (s->type == ASSAY_F64 ? s->loops->back_f64 : s->loops->back_f32)[net->mode](&r);
        }
        parallel_leave(watch);
    }
}

static status run_steps_back(rnn_state *s, int cell, int dir, error *err) {
    const rnn_net *net = &s->net;
    const cell_weights *w = &s->weights[cell];
    int64_t o = net->out, width = o * net->n_dirs, tall = net->gates * net->hidden;
    for (int64_t i = 0; i < net->steps; i++) {
        int64_t t = dir == 1 ? i : net->steps - 1 - i, row = s->first[t];
        const step_products *p = &s->steps[s->step_of[t]];
        for (int64_t b = 0; b < p->batch; b++) {
            add_row(s, at(s, s->dh, b * o), at(s, s->dy, (row + b) * width + dir * o), o);
        }
        const char *d_raw = s->dh;
        if (net->proj > 0) {
            memcpy(at(s, s->dh_rows, row * o), s->dh, (size_t)(p->batch * o) * s->size);
            TRY(gemm_run(p->unproject, s->dh, w->w_hr, NULL, s->raw, err));
            d_raw = s->raw;
        }
        step_back(s, &s->saved[cell], row, p->batch, d_raw);
        TRY(gemm_run(p->unrecur, at(s, s->d_h, row * tall), w->w_hh, NULL, s->dh, err));
        if (net->mode == RNN_GRU) {
            add_row(s, s->dh, s->past, p->batch * o);
        }
    }
    return ASSAY_OK;
}

static void column_sums(const rnn_state *s, const char *rows, char *sums) {
    int64_t tall = s->net.gates * s->net.hidden;
    memset(sums, 0, (size_t)tall * s->size);
    for (int64_t r = 0; r < s->net.rows; r++) {
        add_row(s, sums, at_const(s, rows, r * tall), tall);
    }
}

static status cell_gradients(rnn_state *s, int layer, int dir, error *err) {
    const rnn_net *net = &s->net;
    rnn_cell w = rnn_cell_at(net, layer, dir);
    const saved_cell *saved = &s->saved[layer * net->n_dirs + dir];
    TRY(gemm_run(s->layers[layer].w_ih, s->d_x, s->x[layer], NULL, s->d_weights[w.w_ih], err));
    TRY(gemm_run(s->w_hh, s->d_h, saved->h_before, NULL, s->d_weights[w.w_hh], err));
    if (net->proj > 0) {
        TRY(gemm_run(s->w_hr, s->dh_rows, saved->raw, NULL, s->d_weights[w.w_hr], err));
    }
    if (net->has_bias) {
        column_sums(s, s->d_x, s->d_weights[w.b_ih]);
        column_sums(s, s->d_h, s->d_weights[w.b_hh]);
    }
    return ASSAY_OK;
}

static status cell_back(rnn_state *s, int layer, int dir, const bool *wanted, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
    int64_t h_size = net->batch * net->out, c_size = net->batch * net->hidden;
    memcpy(s->dh, at(s, s->dhy, cell * h_size), (size_t)h_size * s->size);
    memcpy(s->dc, at(s, s->dcy, cell * c_size), (size_t)c_size * s->size);
    TRY(run_steps_back(s, cell, dir, err));
    memcpy(at(s, s->hy, cell * h_size), s->dh, (size_t)h_size * s->size);
    memcpy(at(s, s->cy, cell * c_size), s->dc, (size_t)c_size * s->size);
    if (layer > 0 || wanted[0]) {
        const layer_products *p = &s->layers[layer];
        TRY(gemm_run(dir == 0 ? p->to_x : p->to_x_more, s->d_x, s->weights[cell].w_ih, dir == 0 ? NULL : s->dx, s->dx, err));
    }
    return wanted[3] ? cell_gradients(s, layer, dir, err) : ASSAY_OK;
}

enum { GRAD_OUTPUT = 7, GRAD_HY, GRAD_CY, OUTPUT_MASK = 21 };

/* The gradient's last move, from dx to the output, is out[0] when it is wanted; dy and dx change places from layer to
   layer, and the parity of layers is known when the moves are made. */
static status backward_run(kernel_plan *plan) {
    rnn_state *s = plan->state;
    const rnn_net *net = &s->net;
    const bool *wanted = s->call->args[OUTPUT_MASK].bools;
    char *dy = s->dy, *dx = s->dx;
    TRY(run_forward(s, plan->err));
    if (call_is_none(s->call, GRAD_OUTPUT)) { /* the run before left its own there */
        memset(s->dy, 0, (size_t)(net->rows * net->out * net->n_dirs) * s->size);
    }
    status result = ASSAY_OK;
    for (int l = net->n_layers - 1; l >= 0 && result == ASSAY_OK; l--) {
        for (int dir = 0; dir < net->n_dirs && result == ASSAY_OK; dir++) {
            result = cell_back(s, l, dir, wanted, plan->err);
        }
        if (l > 0) {
            drop(s, s->dx, l - 1);
            char *kept = s->dy;
            s->dy = s->dx;
            s->dx = kept;
        }
    }
    s->dy = dy;
    s->dx = dx;
    TRY(result);
    moves_run(s->out, s->n_out, false);
    return ASSAY_OK;
}

/* --- prepare ------------------------------------------------------------------------------------------------------------------ */

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

static status make_forward_space(kernel_plan *plan, rnn_state *s, error *err) {
    const rnn_net *net = &s->net;
    int64_t states = net->n_layers * net->n_dirs * net->batch, tall = net->gates * net->hidden;
    bool good = true;
    for (int l = 0; l < net->n_layers; l++) {
        s->x[l] = l == 0 || net->dropout > 0 ? make(plan, s, net->rows, rnn_layer_in(net, l)) : s->y[l - 1];
        s->y[l] = make(plan, s, net->rows, net->out * net->n_dirs);
        good = good && s->x[l] != NULL && s->y[l] != NULL;
    }
    s->from_x = make(plan, s, net->rows, tall);
    s->from_h = make(plan, s, net->batch, tall);
    s->h = make(plan, s, net->batch, net->out);
    s->c = make(plan, s, net->batch, net->hidden);
    s->raw = make(plan, s, net->batch, net->hidden);
    s->hx = make(plan, s, states, net->out);
    s->cx = make(plan, s, states, net->hidden);
    s->hy = make(plan, s, states, net->out);
    s->cy = make(plan, s, states, net->hidden);
    good = good && s->from_x != NULL && s->from_h != NULL && s->h != NULL && s->c != NULL && s->raw != NULL && s->hx != NULL &&
           s->cx != NULL && s->hy != NULL && s->cy != NULL;
    return good ? ASSAY_OK : no_memory(err);
}

static status make_backward_space(kernel_plan *plan, rnn_state *s, tensor **weights, int n_weights, error *err) {
    const rnn_net *net = &s->net;
    int64_t states = net->n_layers * net->n_dirs * net->batch, tall = net->gates * net->hidden;
    int64_t widest = net->in > net->out * net->n_dirs ? net->in : net->out * net->n_dirs;
    bool good = true;
    for (int c = 0; c < net->n_layers * net->n_dirs; c++) {
        saved_cell *v = &s->saved[c];
        v->gates = make(plan, s, net->rows, 4 * net->hidden);
        v->h_before = make(plan, s, net->rows, net->out);
        v->c_before = make(plan, s, net->rows, net->hidden);
        v->raw = make(plan, s, net->rows, net->hidden);
        good = good && v->gates != NULL && v->h_before != NULL && v->c_before != NULL && v->raw != NULL;
    }
    for (int i = 0; i < n_weights; i++) {
        s->d_weights[i] = make(plan, s, tensor_numel(weights[i]), 1);
        good = good && s->d_weights[i] != NULL;
    }
    s->dy = make(plan, s, net->rows, widest);
    s->dx = make(plan, s, net->rows, widest);
    s->dhy = make(plan, s, states, net->out);
    s->dcy = make(plan, s, states, net->hidden);
    s->dh = make(plan, s, net->batch, net->out);
    s->dc = make(plan, s, net->batch, net->hidden);
    s->d_x = make(plan, s, net->rows, tall);
    s->d_h = net->mode == RNN_GRU ? make(plan, s, net->rows, tall) : s->d_x;
    s->past = make(plan, s, net->batch, net->hidden);
    s->dh_rows = make(plan, s, net->rows, net->out);
    good = good && s->dy != NULL && s->dx != NULL && s->dhy != NULL && s->dcy != NULL && s->dh != NULL && s->dc != NULL &&
           s->d_x != NULL && s->d_h != NULL && s->past != NULL && s->dh_rows != NULL;
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
    TRY(make_forward_space(plan, s, err));
    TRY(take_weights(plan, s, weights, err));
    TRY(add_move(plan, s, input, s->x[0], true, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, args->hx), s->hx, false, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, args->cx), s->cx, false, false, err));
    TRY(prepare_steps(plan, s, err));
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
    plan->run = forward_run;
    TRY(add_move(plan, s, &out[0], s->y[s->net.n_layers - 1], true, true, err));
    TRY(add_move(plan, s, &out[1], s->hy, false, true, err));
    TRY(add_move(plan, s, &out[2], s->cy, false, true, err));
    return copy_weights(plan, s, err);
}

static status backward_prepare(kernel_plan *plan, error *err) {
    rnn_state *s;
    int n_weights;
    tensor **weights = call_tensors(plan->call, 1, &n_weights);
    const bool *wanted = plan->call->args[OUTPUT_MASK].bools;
    const tensor *out = plan->out->items;
    TRY(prepare_any(plan, true, &s, err));
    plan->run = backward_run;
    TRY(make_backward_space(plan, s, weights, n_weights, err));
    TRY(add_move(plan, s, call_tensor(plan->call, GRAD_OUTPUT), s->dy, true, false, err));
    TRY(add_move(plan, s, call_tensor(plan->call, GRAD_HY), s->dhy, false, false, err));
    if (s->net.mode == RNN_LSTM) {
        TRY(add_move(plan, s, call_tensor(plan->call, GRAD_CY), s->dcy, false, false, err));
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
