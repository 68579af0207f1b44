/* SPDX-License-Identifier: Apache-2.0 */
/* All steps' inputs in one product, gates fused with one more for each step (rnn_steps.h, or step by step here), and backward the
   gradients of weights and inputs in one product each. */
#include "engine/kernels/cpu/rnn_state.h"

#include "engine/kernels/cpu/isa/index_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

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
            rnn_row r = {.n = h, .step = h, .from_h_step = h, .from_x = at(s, s->from_x, (row + b) * tall), .from_h = at(s, s->from_h, b * tall),
                         .b_hh = w->b_hh, .h_before = at(s, s->h, b * net->out), .c_before = at(s, s->c, b * h),
                         .c = at(s, s->c, b * h), .raw = at(s, raw, b * h),
                         .gates = saved != NULL ? at(s, saved->gates, (row + b) * 4 * h) : NULL};
            (s->type == ASSAY_F64 ? s->loops->forward_f64 : s->loops->forward_f32)[net->mode](&r);
            if (saved != NULL && saved->raw != NULL) {
                memcpy(at(s, saved->raw, (row + b) * h), r.raw, (size_t)h * s->size);
            }
        }
        parallel_leave(watch);
    }
}

static float *floats_at(char *data, int64_t element) {
    return data != NULL ? (float *)(void *)data + element : NULL;
}

/* What rnn_steps.h wants to know of a cell. */
static rnn_walk walk_of(const rnn_state *s, int layer, int dir) {
    const rnn_net *net = &s->net;
    const cell_weights *w = &s->weights[layer * net->n_dirs + dir];
    rnn_walk walk = {.reverse = dir == 1,
                     .first = s->first,
                     .w_hh = (const float *)(const void *)w->w_hh,
                     .b_hh = (const float *)(const void *)w->b_hh,
                     .from_x = floats_at(s->from_x, 0),
                     .h = floats_at(s->h, 0),
                     .c = floats_at(s->c, 0),
                     .y = floats_at(s->y[layer], dir * net->out),
                     .y_step = net->out * net->n_dirs};
    if (s->backward) {
        const saved_cell *saved = &s->saved[layer * net->n_dirs + dir];
        walk.gates = floats_at(saved->gates, 0);
        walk.h_before = floats_at(saved->h_before, 0);
        walk.c_before = floats_at(saved->c_before, 0);
        walk.raw = floats_at(saved->raw, 0);
        walk.dy = floats_at(s->dy, dir * net->out);
        walk.dh = floats_at(s->dh, 0);
        walk.dc = floats_at(s->dc, 0);
        walk.d_x = floats_at(s->d_x, 0);
        walk.d_h = floats_at(s->d_h, 0);
        walk.past = floats_at(s->past, 0);
    }
    return walk;
}

static status run_steps(rnn_state *s, int layer, int dir, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
    const cell_weights *w = &s->weights[cell];
    const saved_cell *saved = s->backward ? &s->saved[cell] : NULL;
    int64_t o = net->out, width = o * net->n_dirs;
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
    return ASSAY_OK;
}

/* The LSTM's four gates take the place of what they are made from, and their gradients take theirs. */
static void choose_space(rnn_state *s, int cell) {
    if (s->backward && s->net.mode == RNN_LSTM) {
        s->from_x = s->d_x = s->d_h = s->saved[cell].gates;
    }
}

static status run_cell(rnn_state *s, int layer, int dir, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
    choose_space(s, cell);
    const cell_weights *w = &s->weights[cell];
    int64_t o = net->out;
    TRY(gemm_run(s->layers[layer].from_x, s->x[layer], w->w_ih, w->b_ih, s->from_x, err));
    memcpy(s->h, at(s, s->hx, cell * net->batch * o), (size_t)(net->batch * o) * s->size);
    if (net->mode == RNN_LSTM) {
        memcpy(s->c, at(s, s->cx, cell * net->batch * net->hidden), (size_t)(net->batch * net->hidden) * s->size);
    }
    if (s->together != NULL) {
        rnn_walk walk = walk_of(s, layer, dir);
        rnn_steps_forward(s->together, &walk);
    } else {
        TRY(run_steps(s, layer, dir, err));
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

status rnn_run_forward(kernel_plan *plan) {
    rnn_state *s = plan->state;
    TRY(run_forward(s, plan->err));
    moves_run(s->out, s->n_out, false);
    return ASSAY_OK;
}

/* --- backward ---------------------------------------------------------------------------------------------------------------- */

static void add_row(const rnn_state *s, char *to, const char *from, int64_t n) {
    index_loops_best()->add_row[s->type](to, from, n, row_once());
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
            rnn_row_back r = {.n = h, .step = h, .gates = at(s, saved->gates, (row + b) * 4 * h), .h_before = at(s, saved->h_before, (row + b) * net->out),
                              .c_before = at(s, saved->c_before, (row + b) * h), .raw = at(s, saved->raw, (row + b) * h),
                              .d_raw = at_const(s, d_raw, b * h), .dc = at(s, s->dc, b * h), .d_x = at(s, s->d_x, (row + b) * tall),
                              .d_h = at(s, s->d_h, (row + b) * tall), .past = at(s, s->past, b * h)};
            (s->type == ASSAY_F64 ? s->loops->back_f64 : s->loops->back_f32)[net->mode](&r);
        }
        parallel_leave(watch);
    }
}

static status run_steps_back(rnn_state *s, int layer, int dir, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
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
        if (s->d_h == s->d_x) {
            memcpy(s->d_weights[w.b_hh], s->d_weights[w.b_ih], (size_t)(net->gates * net->hidden) * s->size);
        } else {
            column_sums(s, s->d_h, s->d_weights[w.b_hh]);
        }
    }
    return ASSAY_OK;
}

static status cell_back(rnn_state *s, int layer, int dir, const bool *wanted, error *err) {
    const rnn_net *net = &s->net;
    int cell = layer * net->n_dirs + dir;
    int64_t h_size = net->batch * net->out, c_size = net->batch * net->hidden;
    choose_space(s, cell);
    memcpy(s->dh, at(s, s->dhy, cell * h_size), (size_t)h_size * s->size);
    memcpy(s->dc, at(s, s->dcy, cell * c_size), (size_t)c_size * s->size);
    if (s->together != NULL) {
        rnn_walk walk = walk_of(s, layer, dir);
        walk.reverse = dir == 0;
        rnn_steps_back(s->together, &walk);
    } else {
        TRY(run_steps_back(s, layer, dir, err));
    }
    memcpy(at(s, s->hy, cell * h_size), s->dh, (size_t)h_size * s->size);
    memcpy(at(s, s->cy, cell * c_size), s->dc, (size_t)c_size * s->size);
    if (layer > 0 || wanted[0]) {
        const layer_products *p = &s->layers[layer];
        TRY(gemm_run(dir == 0 ? p->to_x : p->to_x_more, s->d_x, s->weights[cell].w_ih, dir == 0 ? NULL : s->dx, s->dx, err));
    }
    return wanted[3] ? cell_gradients(s, layer, dir, err) : ASSAY_OK;
}

/* The gradient's last move, from dx to the output, is out[0] when it is wanted; dy and dx change places from layer to
   layer, and the parity of layers is known when the moves are made. */
status rnn_run_backward(kernel_plan *plan) {
    rnn_state *s = plan->state;
    const rnn_net *net = &s->net;
    const bool *wanted = s->call->args[RNN_OUTPUT_MASK].bools;
    char *dy = s->dy, *dx = s->dx;
    TRY(run_forward(s, plan->err));
    if (call_is_none(s->call, RNN_GRAD_OUTPUT)) { /* the run before left its own there */
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
