/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of recurrent networks: cell by cell and row by row in double; the backward runs the forward again and keeps
   every gate. T steps, B sequences, R rows (step and sequence), widths I, H, O (schema/rnn.h). */
#include "engine/ops/rnn_reference.h"

#include "engine/schema/rnn.h"

#include <math.h>
#include <string.h>

/* --- one cell over all rows -------------------------------------------------------------------------------------- */

typedef struct cell_run {
    const rnn_net *net;
    const int64_t *first; /* of each step: its first row */
    bool reverse;
    int64_t in;
    const double *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
    const double *x, *hx, *cx;
    double *y;            /* [R, y_width], this direction's columns */
    int64_t y_width;
    double *gates;        /* [R, 4, H]: i f g o; r z n and n's recurrent part; h */
    double *c, *raw;      /* [R, H]: cell state, output before projection */
    const double *x_squares;    /* [R, I]: what is behind x, or NULL: it is exact */
    double *y_squares;          /* [R, y_width], this direction's columns: the same of y; NULL: not known */
} cell_run;

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* y += a * x */
static void add_scaled(double *y, double a, const double *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* The square sum of the terms w x, and of what w makes of the rounding that x brings along. */
static double squares_behind(const double *w, const double *x, const double *x_squares, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += w[i] * w[i] * (x[i] * x[i] + (x_squares != NULL ? x_squares[i] : 0));
    }
    return sum;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* The row of the same sequence one step earlier in the direction of travel; -1 at its start. */
static int64_t row_before(const cell_run *r, int64_t t, int64_t b) {
    if (!r->reverse) {
        return t > 0 ? r->first[t - 1] + b : -1;
    }
    return t + 1 < r->net->steps && b < rnn_batch(r->net, t + 1) ? r->first[t + 1] + b : -1;
}

static const double *h_before(const cell_run *r, int64_t t, int64_t b) {
    int64_t before = row_before(r, t, b);
    return before >= 0 ? r->y + before * r->y_width : r->hx + b * r->net->out;
}

static const double *c_before(const cell_run *r, int64_t t, int64_t b) {
    int64_t before = row_before(r, t, b);
    return before >= 0 ? r->c + before * r->net->hidden : r->cx + b * r->net->hidden;
}

/* Where a unit is one function of one sum: the square sum of that one's terms, and of those behind them. A network that makes its states
   grow from step to step makes their rounding grow as much, also where a state comes out small. The slope of relu counts where rounding
   may take the sum beyond 0. */
static double squares_of_unit(const cell_run *r, int64_t t, int64_t b, int64_t j, double sum) {
    enum { NEAR_0 = 10000 };
    const rnn_net *net = r->net;
    const int64_t row = r->first[t] + b, before = row_before(r, t, b);
    const double *x_squares = r->x_squares != NULL ? r->x_squares + row * r->in : NULL;
    const double *h_squares = before >= 0 ? r->y_squares + before * r->y_width : NULL;
    double bias_ih = r->b_ih != NULL ? r->b_ih[j] : 0, bias_hh = r->b_hh != NULL ? r->b_hh[j] : 0;
    double squares = squares_behind(r->w_ih + j * r->in, r->x + row * r->in, x_squares, r->in) + bias_ih * bias_ih +
                     squares_behind(r->w_hh + j * net->out, h_before(r, t, b), h_squares, net->out) + bias_hh * bias_hh;
    if (net->mode == RNN_TANH) {
        double y = tanh(sum), slope = 1 - y * y;
        return slope * slope * squares;
    }
    return sum > 0 || NEAR_0 * sum * sum <= squares ? squares : 0;
}

/* Unit j of one row: its gates, cell state and output. */
static void run_unit(const cell_run *r, int64_t t, int64_t b, int64_t j) {
    const rnn_net *net = r->net;
    int64_t h_size = net->hidden, row = r->first[t] + b;
    const double *h = h_before(r, t, b);
    double from_x[RNN_MAX_GATES] = {0}, from_h[RNN_MAX_GATES] = {0};
    for (int g = 0; g < net->gates; g++) {
        int64_t at = g * h_size + j;
        from_x[g] = dot(r->w_ih + at * r->in, r->x + row * r->in, r->in) + (r->b_ih != NULL ? r->b_ih[at] : 0);
        from_h[g] = dot(r->w_hh + at * net->out, h, net->out) + (r->b_hh != NULL ? r->b_hh[at] : 0);
    }
    double *gate = r->gates + row * 4 * h_size + j, *raw = r->raw + row * h_size + j;
    if (net->mode == RNN_LSTM) {
        double i = sigmoid(from_x[0] + from_h[0]), f = sigmoid(from_x[1] + from_h[1]);
        double g = tanh(from_x[2] + from_h[2]), o = sigmoid(from_x[3] + from_h[3]);
        double c = f * c_before(r, t, b)[j] + i * g;
        gate[0] = i, gate[h_size] = f, gate[2 * h_size] = g, gate[3 * h_size] = o;
        r->c[row * h_size + j] = c;
        *raw = o * tanh(c);
    } else if (net->mode == RNN_GRU) {
        double reset = sigmoid(from_x[0] + from_h[0]), z = sigmoid(from_x[1] + from_h[1]);
        double n = tanh(from_x[2] + reset * from_h[2]);
        gate[0] = reset, gate[h_size] = z, gate[2 * h_size] = n, gate[3 * h_size] = from_h[2];
        *raw = (1 - z) * n + z * h[j];
    } else {
        double a = from_x[0] + from_h[0];
        *raw = net->mode == RNN_TANH ? tanh(a) : a > 0 ? a : 0;
        if (r->y_squares != NULL) { /* nothing is projected: a unit is an output */
            r->y_squares[row * r->y_width + j] = squares_of_unit(r, t, b, j, a);
        }
    }
}

static void run_cell(const cell_run *r) {
    const rnn_net *net = r->net;
    for (int64_t s = 0; s < net->steps; s++) {
        int64_t t = r->reverse ? net->steps - 1 - s : s, batch = rnn_batch(net, t);
#pragma omp parallel for
        for (int64_t i = 0; i < batch * net->hidden; i++) {
            run_unit(r, t, i / net->hidden, i % net->hidden);
        }
        for (int64_t b = 0; b < batch; b++) {
            int64_t row = r->first[t] + b;
            const double *raw = r->raw + row * net->hidden;
            for (int64_t o = 0; o < net->out; o++) {
                r->y[row * r->y_width + o] = net->proj > 0 ? dot(r->w_hr + o * net->hidden, raw, net->hidden) : raw[o];
            }
        }
    }
}

/* --- the whole network ------------------------------------------------------------------------------------------ */

typedef struct net_run {
    rnn_net net;
    const rnn_args *args;
    int64_t *first;
    cell_run *cells;   /* n_layers * n_dirs */
    double **inputs;   /* per layer: what it reads, [R, width] */
    double **y;        /* per layer: what it writes, before dropout */
    double **squares;  /* per layer, and one before them: what is behind what it writes; all NULL where that is not known */
} net_run;

/* Of gates' products nothing is said: what they bring along is damped. */
static bool knows_squares(const rnn_net *net) {
    return net->mode == RNN_RELU || net->mode == RNN_TANH;
}

/* Copies between a sequence tensor's dense order and rows; batch_first is the one that differs. */
static void to_rows(const rnn_net *net, const double *dense, double *rows, int64_t width, bool back) {
    for (int64_t r = 0; r < net->rows; r++) {
        int64_t at = net->batch_first ? r % net->batch * net->steps + r / net->batch : r;
        const double *from = back ? rows + r * width : dense + at * width;
        memcpy(back ? (double *)dense + at * width : rows + r * width, from, (size_t)width * sizeof *rows);
    }
}

static double kept_scale(const ref_ctx *ctx, const rnn_net *net, int layer, int64_t element) {
    return rnn_keeps(ctx->call->seed, layer, element, net->dropout) ? 1 / (1 - net->dropout) : 0;
}

static const double *weight_of(ref_ctx *ctx, const net_run *n, int item) {
    return item >= 0 ? ref_real_item(ctx, n->args->weight, item) : NULL;
}

static void cell_init(ref_ctx *ctx, net_run *n, int layer, int dir) {
    const rnn_net *net = &n->net;
    rnn_cell w = rnn_cell_at(net, layer, dir);
    int64_t state = layer * net->n_dirs + dir;
    const double *hx = ref_real(ctx, n->args->hx), *cx = ref_real(ctx, n->args->cx);
    size_t units = (size_t)net->rows * (size_t)net->hidden;
    n->cells[state] = (cell_run){
        .net = net, .first = n->first, .reverse = dir == 1, .in = rnn_layer_in(net, layer),
        .w_ih = weight_of(ctx, n, w.w_ih), .w_hh = weight_of(ctx, n, w.w_hh), .b_ih = weight_of(ctx, n, w.b_ih),
        .b_hh = weight_of(ctx, n, w.b_hh), .w_hr = weight_of(ctx, n, w.w_hr),
        .x = n->inputs[layer], .hx = hx != NULL ? hx + state * net->batch * net->out : NULL,
        .cx = cx != NULL ? cx + state * net->batch * net->hidden : NULL,
        .y = n->y[layer] != NULL ? n->y[layer] + dir * net->out : NULL, .y_width = net->out * net->n_dirs,
        .gates = ref_make(ctx, units, 4 * sizeof(double)), .c = ref_make(ctx, units, sizeof(double)),
        .raw = ref_make(ctx, units, sizeof(double))};
    if (n->squares != NULL) {
        cell_run *r = &n->cells[state];
        r->x_squares = n->squares[layer];
        r->y_squares = n->squares[layer + 1] != NULL ? n->squares[layer + 1] + dir * net->out : NULL;
    }
}

static net_run *net_make(ref_ctx *ctx, const rnn_args *args, bool with_squares) {
    net_run *n = ref_make(ctx, 1, sizeof *n);
    if (n == NULL || rnn_analyse(ctx->call, args, &n->net, NULL) != ASSAY_OK) {
        return NULL;
    }
    const rnn_net *net = &n->net;
    n->args = args;
    n->first = ref_make(ctx, (size_t)net->steps, sizeof *n->first);
    n->cells = ref_make(ctx, (size_t)(net->n_layers * net->n_dirs), sizeof *n->cells);
    n->inputs = ref_make(ctx, (size_t)net->n_layers, sizeof *n->inputs);
    n->y = ref_make(ctx, (size_t)net->n_layers, sizeof *n->y);
    n->squares = with_squares && knows_squares(net) ? ref_make(ctx, (size_t)net->n_layers + 1, sizeof *n->squares) : NULL;
    if (ctx->failed != ASSAY_OK) {
        return NULL;
    }
    for (int64_t t = 1; t < net->steps; t++) {
        n->first[t] = n->first[t - 1] + rnn_batch(net, t - 1);
    }
    for (int layer = 0; layer < net->n_layers; layer++) {
        n->inputs[layer] = ref_make(ctx, (size_t)net->rows * (size_t)rnn_layer_in(net, layer), sizeof(double));
        n->y[layer] = ref_make(ctx, (size_t)net->rows * (size_t)(net->out * net->n_dirs), sizeof(double));
        if (n->squares != NULL) {
            n->squares[layer + 1] = ref_make(ctx, (size_t)net->rows * (size_t)(net->out * net->n_dirs), sizeof(double));
        }
        for (int dir = 0; dir < net->n_dirs; dir++) {
            cell_init(ctx, n, layer, dir);
        }
    }
    return ctx->failed == ASSAY_OK && ref_real(ctx, args->input) != NULL ? n : NULL;
}

static void run_net(ref_ctx *ctx, net_run *n) {
    const rnn_net *net = &n->net;
    to_rows(net, ref_real(ctx, n->args->input), n->inputs[0], net->in, false);
    for (int layer = 0; layer < net->n_layers; layer++) {
        for (int dir = 0; dir < net->n_dirs; dir++) {
            run_cell(&n->cells[layer * net->n_dirs + dir]);
        }
        int64_t size = net->rows * net->out * net->n_dirs;
        for (int64_t i = 0; i < size && layer + 1 < net->n_layers; i++) {
            const double scale = kept_scale(ctx, net, layer, i);
            n->inputs[layer + 1][i] = n->y[layer][i] * scale;
            if (n->squares != NULL && scale > 1) {
                n->squares[layer + 1][i] *= scale * scale;
            }
        }
    }
}

/* The row at which sequence b ends in the direction of travel. */
static int64_t last_row(const cell_run *r, int64_t b) {
    int64_t t = 0;
    while (!r->reverse && t + 1 < r->net->steps && b < rnn_batch(r->net, t + 1)) {
        t++;
    }
    return r->first[t] + b;
}

static void copy_weights(ref_ctx *ctx) {
    double *flat = ref_output(ctx, 4);
    const double *buffer = ref_real(ctx, 3);
    int n;
    if (flat == NULL) {
        return;
    }
    if (buffer != NULL) {
        memcpy(flat, buffer, (size_t)tensor_numel(&ctx->out->items[4]) * sizeof *flat);
        return;
    }
    tensor **weights = call_tensors(ctx->call, 1, &n);
    for (int i = 0; i < n; i++) {
        const double *w = ref_real_item(ctx, 1, i);
        int64_t size = tensor_numel(weights[i]);
        for (int64_t k = 0; w != NULL && k < size; k++) {
            *flat++ = w[k];
        }
    }
}

status rnn_reference(ref_ctx *ctx, error *err) {
    (void)err;
    net_run *n = net_make(ctx, &rnn_forward_args, true);
    double *y = ref_output(ctx, 0), *hy = ref_output(ctx, 1), *cy = ref_output(ctx, 2);
    if (n == NULL || y == NULL || hy == NULL || cy == NULL || ref_output(ctx, 3) == NULL) {
        return ctx->failed;
    }
    const rnn_net *net = &n->net;
    double *y_squares = n->squares != NULL ? ref_squares(ctx, 0) : NULL, *hy_squares = n->squares != NULL ? ref_squares(ctx, 1) : NULL;
    if (ctx->failed != ASSAY_OK) {
        return ctx->failed;
    }
    run_net(ctx, n);
    to_rows(net, y, n->y[net->n_layers - 1], net->out * net->n_dirs, true);
    if (y_squares != NULL) {
        to_rows(net, y_squares, n->squares[net->n_layers], net->out * net->n_dirs, true);
    }
    for (int64_t s = 0; s < net->n_layers * net->n_dirs; s++) {
        const cell_run *r = &n->cells[s];
        for (int64_t b = 0; b < net->batch; b++) {
            int64_t row = last_row(r, b), to = s * net->batch + b;
            memcpy(hy + to * net->out, r->y + row * r->y_width, (size_t)net->out * sizeof *hy);
            if (hy_squares != NULL) {
                memcpy(hy_squares + to * net->out, r->y_squares + row * r->y_width, (size_t)net->out * sizeof *hy);
            }
            if (net->mode == RNN_LSTM) {
                memcpy(cy + to * net->hidden, r->c + row * net->hidden, (size_t)net->hidden * sizeof *cy);
            }
        }
    }
    copy_weights(ctx);
    return ctx->failed;
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

typedef struct cell_grads {
    const cell_run *run;
    const double *dy;          /* [R, y_width], this direction's columns */
    double *dx;                /* [R, in], added to */
    double *dh, *dc;           /* [B, O], [B, H]: of the state in travel; start at dhy, dcy, end as dhx, dcx */
    double *d_x, *d_h;         /* [R, gates H]: of the gates' parts from x and from h */
    double *d_raw;             /* [H] of work space */
    double *w_hr;              /* the projection's gradient, added to */
} cell_grads;

/* Gate gradients of unit j from that of its raw output; returns what flows past the recurrent product (the GRU's z). */
static double unit_backward(const cell_grads *g, int64_t t, int64_t b, int64_t j, double d_raw) {
    const cell_run *r = g->run;
    int64_t h_size = r->net->hidden, row = r->first[t] + b, at = row * r->net->gates * h_size + j;
    const double *gate = r->gates + row * 4 * h_size + j;
    double *dx = g->d_x + at, *dh = g->d_h + at, raw = r->raw[row * h_size + j], past = 0;
    if (r->net->mode == RNN_LSTM) {
        double i = gate[0], f = gate[h_size], n = gate[2 * h_size], o = gate[3 * h_size];
        double tanh_c = tanh(r->c[row * h_size + j]);
        double dc = g->dc[b * h_size + j] + d_raw * o * (1 - tanh_c * tanh_c);
        dx[0] = dc * n * i * (1 - i);
        dx[h_size] = dc * c_before(r, t, b)[j] * f * (1 - f);
        dx[2 * h_size] = dc * i * (1 - n * n);
        dx[3 * h_size] = d_raw * tanh_c * o * (1 - o);
        g->dc[b * h_size + j] = dc * f;
    } else if (r->net->mode == RNN_GRU) {
        double reset = gate[0], z = gate[h_size], n = gate[2 * h_size], hn = gate[3 * h_size];
        double dn = d_raw * (1 - z) * (1 - n * n);
        dx[0] = dn * hn * reset * (1 - reset);
        dx[h_size] = d_raw * (h_before(r, t, b)[j] - n) * z * (1 - z);
        dx[2 * h_size] = dn;
        past = d_raw * z;
    } else {
        dx[0] = d_raw * (r->net->mode == RNN_TANH ? 1 - raw * raw : raw > 0 ? 1 : 0);
    }
    for (int k = 0; k < r->net->gates; k++) {
        dh[k * h_size] = dx[k * h_size] * (r->net->mode == RNN_GRU && k == 2 ? gate[0] : 1);
    }
    return past;
}

static void row_backward(const cell_grads *g, int64_t t, int64_t b) {
    const cell_run *r = g->run;
    const rnn_net *net = r->net;
    int64_t row = r->first[t] + b, h_size = net->hidden;
    double *dh = g->dh + b * net->out;
    add_scaled(dh, 1, g->dy + row * r->y_width, net->out);
    memset(g->d_raw, 0, (size_t)h_size * sizeof *g->d_raw);
    if (net->proj > 0) {
        for (int64_t o = 0; o < net->out; o++) {
            add_scaled(g->d_raw, dh[o], r->w_hr + o * h_size, h_size);
            if (g->w_hr != NULL) {
                add_scaled(g->w_hr + o * h_size, dh[o], r->raw + row * h_size, h_size);
            }
        }
    } else {
        memcpy(g->d_raw, dh, (size_t)h_size * sizeof *dh);
    }
    memset(dh, 0, (size_t)net->out * sizeof *dh);
    for (int64_t j = 0; j < h_size; j++) {
        double past = unit_backward(g, t, b, j, g->d_raw[j]);
        if (net->mode == RNN_GRU) {
            dh[j] = past;
        }
    }
    for (int64_t k = 0; k < net->gates * h_size; k++) {
        add_scaled(dh, g->d_h[row * net->gates * h_size + k], r->w_hh + k * net->out, net->out);
        add_scaled(g->dx + row * r->in, g->d_x[row * net->gates * h_size + k], r->w_ih + k * r->in, r->in);
    }
}

static void cell_backward(const cell_grads *g) {
    const cell_run *r = g->run;
    for (int64_t s = 0; s < r->net->steps; s++) {
        int64_t t = r->reverse ? s : r->net->steps - 1 - s;
        for (int64_t b = 0; b < rnn_batch(r->net, t); b++) {
            row_backward(g, t, b);
        }
    }
}

/* Gradients of w_ih, w_hh, b_ih, b_hh from the gates'. */
static void weights_backward(ref_ctx *ctx, const cell_grads *g, rnn_cell w) {
    const cell_run *r = g->run;
    const rnn_net *net = r->net;
    int64_t tall = net->gates * net->hidden;
    double *w_ih = ref_output(ctx, 3 + w.w_ih), *w_hh = ref_output(ctx, 3 + w.w_hh);
    double *b_ih = net->has_bias ? ref_output(ctx, 3 + w.b_ih) : NULL, *b_hh = net->has_bias ? ref_output(ctx, 3 + w.b_hh) : NULL;
    if (ctx->failed != ASSAY_OK) {
        return;
    }
#pragma omp parallel for
    for (int64_t k = 0; k < tall; k++) {
        for (int64_t t = 0; t < net->steps; t++) {
            for (int64_t b = 0; b < rnn_batch(net, t); b++) {
                int64_t row = r->first[t] + b;
                double dx = g->d_x[row * tall + k], dh = g->d_h[row * tall + k];
                add_scaled(w_ih + k * r->in, dx, r->x + row * r->in, r->in);
                add_scaled(w_hh + k * net->out, dh, h_before(r, t, b), net->out);
                if (net->has_bias) {
                    b_ih[k] += dx;
                    b_hh[k] += dh;
                }
            }
        }
    }
}

static void copy_if(double *to, const double *from, int64_t n) {
    if (to != NULL && from != NULL) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* Runs cell s back: dy to dx, its states' and its weights' gradients. */
static void run_cell_back(ref_ctx *ctx, net_run *n, int64_t s, const double *dy, double *dx) {
    const rnn_net *net = &n->net;
    const bool *wanted = ctx->call->args[RNN_OUTPUT_MASK].bools;
    const double *dhy = ref_real(ctx, RNN_GRAD_HY), *dcy = net->mode == RNN_LSTM ? ref_real(ctx, RNN_GRAD_CY) : NULL;
    rnn_cell w = rnn_cell_at(net, (int)(s / net->n_dirs), (int)(s % net->n_dirs));
    size_t gates = (size_t)net->rows * (size_t)(net->gates * net->hidden);
    int64_t h_size = net->batch * net->out, c_size = net->batch * net->hidden;
    cell_grads g = {.run = &n->cells[s], .dy = dy, .dx = dx,
                    .dh = ref_make(ctx, (size_t)h_size, sizeof(double)), .dc = ref_make(ctx, (size_t)c_size, sizeof(double)),
                    .d_x = ref_make(ctx, gates, sizeof(double)), .d_h = ref_make(ctx, gates, sizeof(double)),
                    .d_raw = ref_make(ctx, (size_t)net->hidden, sizeof(double)),
                    .w_hr = wanted[3] && w.w_hr >= 0 ? ref_output(ctx, 3 + w.w_hr) : NULL};
    if (ctx->failed != ASSAY_OK) {
        return;
    }
    copy_if(g.dh, dhy != NULL ? dhy + s * h_size : NULL, h_size);
    copy_if(g.dc, dcy != NULL ? dcy + s * c_size : NULL, c_size);
    cell_backward(&g);
    if (wanted[3]) {
        weights_backward(ctx, &g, w);
    }
    if (wanted[1]) {
        copy_if(ref_output(ctx, 1) + s * h_size, g.dh, h_size);
    }
    if (wanted[2] && net->mode == RNN_LSTM) {
        copy_if(ref_output(ctx, 2) + s * c_size, g.dc, c_size);
    }
}

status rnn_backward_reference(ref_ctx *ctx, error *err) {
    (void)err;
    net_run *n = net_make(ctx, &rnn_backward_args, false);
    for (int i = 0; i < ctx->out->n; i++) {
        ref_output(ctx, i);
    }
    if (n == NULL || ctx->failed != ASSAY_OK) {
        return ctx->failed;
    }
    const rnn_net *net = &n->net;
    int64_t width = net->out * net->n_dirs;
    double *dy = ref_make(ctx, (size_t)(net->rows * width), sizeof *dy);
    const double *given = ref_real(ctx, RNN_GRAD_OUTPUT);
    run_net(ctx, n);
    if (dy != NULL && given != NULL) {
        to_rows(net, given, dy, width, false);
    }
    for (int layer = net->n_layers - 1; layer >= 0 && ctx->failed == ASSAY_OK; layer--) {
        int64_t in = rnn_layer_in(net, layer);
        double *dx = ref_make(ctx, (size_t)(net->rows * in), sizeof *dx);
        for (int dir = 0; dir < net->n_dirs && dx != NULL; dir++) {
            run_cell_back(ctx, n, layer * net->n_dirs + dir, dy + dir * net->out, dx);
        }
        for (int64_t i = 0; layer > 0 && dx != NULL && i < net->rows * in; i++) {
            dx[i] *= kept_scale(ctx, net, layer - 1, i);
        }
        dy = dx;
    }
    if (ctx->failed == ASSAY_OK && ctx->call->args[RNN_OUTPUT_MASK].bools[0]) {
        to_rows(net, ref_output(ctx, 0), dy, net->in, true);
    }
    return ctx->failed;
}
