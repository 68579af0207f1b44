/* SPDX-License-Identifier: Apache-2.0 */
/* A thread has the same units in every step: it computes their gates' products, their gates and their states, and waits for the
   others once a step, because the next step's products read all states (or, backward, all gates' gradients). Its part of
   w_hh is packed once for all steps and stays in its L2. A product and a pointwise loop for each step, each with its threads to
   start and to wait for, took twice the time (T 32, B 8, H 128, two Sapphire Rapids cores, 2026-11). */
#include "engine/kernels/cpu/rnn_steps.h"

#include "engine/kernels/cpu/isa/conv_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/isa/index_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

enum { UNITS = 16 }; /* a thread has a multiple of these: whole lines of memory */

struct rnn_steps {
    const rnn_net *net;
    const conv_loops *l;
    const rnn_loops *gates;
    int threads;
    int64_t tall; /* gates H */
    float *weight; /* packed: [tile][depth][l->columns], each thread's tiles together */
    float *from_h; /* each thread's [B, gates, its units] */
    float *packed[2]; /* states, or gradients of gates: [block of rows][depth][l->rows]; of two steps in turn */
};

/* A thread's units [from, from + n), and where its tiles and its products are. */
typedef struct share {
    int64_t from, n, tiles, from_h;
} share;

bool rnn_steps_takes(const rnn_net *net) {
    return net->proj == 0;
}

static int64_t padded(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

status rnn_steps_prepare(const rnn_net *net, arena *memory, rnn_steps **out, error *err) {
    rnn_steps *s = arena_make(memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a recurrent network's steps");
    }
    s->net = net;
    s->l = conv_loops_best();
    s->gates = rnn_loops_best();
    s->tall = net->gates * net->hidden;
    s->threads = parallel_threads(2 * (double)(net->batch * s->tall) * (double)net->hidden);
    int64_t columns = s->l->columns, more = s->threads * columns, deep = padded(net->batch, s->l->rows) * s->tall;
    int64_t forward = (padded(s->tall, columns) + more) * net->hidden, back = (padded(net->hidden, columns) + more) * s->tall;
    s->weight = arena_make(memory, (size_t)(forward > back ? forward : back), sizeof(float));
    s->from_h = arena_make(memory, (size_t)net->batch, (size_t)s->tall * sizeof(float));
    s->packed[0] = arena_make(memory, (size_t)deep, sizeof(float));
    s->packed[1] = arena_make(memory, (size_t)deep, sizeof(float));
    if (s->weight == NULL || s->from_h == NULL || s->packed[0] == NULL || s->packed[1] == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a recurrent network's steps");
    }
    *out = s;
    return ASSAY_OK;
}

/* This thread's share where a unit has `columns` columns of the products. */
static share share_of(const rnn_steps *s, int64_t columns) {
    int64_t h = s->net->hidden, threads = omp_get_num_threads(), blocks = (h + UNITS - 1) / UNITS;
    share own = {0};
    for (int64_t i = 0; i <= omp_get_thread_num(); i++) {
        own.tiles += padded(own.n * columns, s->l->columns) / s->l->columns;
        own.from = least(blocks * i / threads * UNITS, h);
        own.n = least(blocks * (i + 1) / threads * UNITS, h) - own.from;
    }
    own.from_h = s->net->batch * columns * own.from;
    return own;
}

/* out [batch, n] = packed states (or gradients) times this thread's weight; a tile of weight at a time serves all rows. */
static void multiply(const rnn_steps *s, const share *own, int64_t n, int64_t depth, const float *packed, int64_t batch, float *out,
                     int64_t out_step) {
    int64_t width = s->l->columns;
    for (int64_t tile = 0; tile * width < n; tile++) {
        conv_run run = {out + tile * width, 0, least(width, n - tile * width)};
        conv_tile columns = {.columns = s->weight + (own->tiles + tile) * depth * width, .runs = &run, .n_runs = 1};
        conv_product p = {.rows = batch, .depth = depth, .weight = packed, .tiles = &columns, .n_tiles = 1, .out_step = out_step};
        s->l->multiply(&p);
    }
}

/* n numbers of sequences [b, end), which lie a step apart, from place `at` of the depth on, to where products read them. */
static void pack(const rnn_steps *s, float *packed, int64_t depth, int64_t b, int64_t end, int64_t at, int64_t n, const float *from,
                 int64_t step) {
    int64_t rows = s->l->rows;
    for (int64_t to; b < end; b = to) {
        to = least(b - b % rows + rows, end);
        copy_loops_best()->transpose((char *)(packed + (b / rows * depth + at) * rows + b % rows), (const char *)(from + b * step), 2,
                                     to - b, n, rows * (ptrdiff_t)sizeof *from, step * (ptrdiff_t)sizeof *from);
    }
}

/* --- forward ---------------------------------------------------------------------------------------------------------------- */

/* Column (gate, unit) of this thread's is a row of w_hh. */
static void pack_rows(const rnn_steps *s, const share *own, const float *w_hh) {
    int64_t h = s->net->hidden, width = s->l->columns;
    float *to = s->weight + own->tiles * h * width;
    for (int64_t c = 0; c < own->n * s->net->gates;) {
        int64_t gate = c / own->n, unit = c % own->n, n = least(own->n - unit, width - c % width);
        copy_loops_best()->transpose((char *)(to + c / width * h * width + c % width),
                                     (const char *)(w_hh + (gate * h + own->from + unit) * h), 2, n, h,
                                     width * (ptrdiff_t)sizeof *to, h * (ptrdiff_t)sizeof *to);
        c += n;
    }
}

/* A row's gates and states, of this thread's units. */
static void forward_row(const rnn_steps *s, const rnn_walk *w, const share *own, int64_t row, int64_t b) {
    const rnn_net *net = s->net;
    int64_t h = net->hidden, u = own->from;
    size_t bytes = (size_t)own->n * sizeof(float);
    float *state = w->h + b * h + u, *cell = w->c + b * h + u, *raw = state;
    if (w->gates != NULL) {
        memcpy(w->h_before + row * h + u, state, bytes);
        if (net->mode == RNN_LSTM) {
            memcpy(w->c_before + row * h + u, cell, bytes);
        }
    }
    rnn_row r = {.n = own->n,
                 .step = h,
                 .from_h_step = own->n,
                 .from_x = w->from_x + row * s->tall + u,
                 .from_h = s->from_h + own->from_h + b * net->gates * own->n,
                 .b_hh = w->b_hh != NULL ? w->b_hh + u : NULL,
                 .h_before = state,
                 .c_before = cell,
                 .c = cell,
                 .raw = raw,
                 .gates = w->gates != NULL ? w->gates + row * 4 * h + u : NULL};
    s->gates->forward_f32[net->mode](&r);
    if (w->raw != NULL) {
        memcpy(w->raw + row * h + u, raw, bytes);
    }
    memcpy(w->y + row * w->y_step + u, raw, bytes);
}

void rnn_steps_forward(rnn_steps *s, const rnn_walk *walk) {
    const rnn_net *net = s->net;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->threads)
    {
        parallel_enter(watch);
        int64_t h = net->hidden;
        share own = share_of(s, net->gates);
        pack_rows(s, &own, walk->w_hh);
        pack(s, s->packed[0], h, 0, net->batch, own.from, own.n, walk->h + own.from, h);
        for (int64_t i = 0; i < net->steps; i++) {
            int64_t t = walk->reverse ? net->steps - 1 - i : i, batch = rnn_batch(net, t);
            int64_t later = walk->reverse && i + 1 < net->steps ? rnn_batch(net, t - 1) : batch;
            float *next = s->packed[(i + 1) % 2];
#pragma omp barrier
            multiply(s, &own, own.n * net->gates, h, s->packed[i % 2], batch, s->from_h + own.from_h, own.n * net->gates);
            for (int64_t b = 0; b < batch; b++) {
                forward_row(s, walk, &own, walk->first[t] + b, b);
            }
            /* later: with sequences that begin here, from the end */
            pack(s, next, h, 0, later, own.from, own.n, walk->h + own.from, h);
        }
        parallel_leave(watch);
    }
}

/* --- backward --------------------------------------------------------------------------------------------------------------- */

/* This thread's units are columns of w_hh. */
static void pack_columns(const rnn_steps *s, const share *own, const float *w_hh) {
    int64_t h = s->net->hidden, width = s->l->columns;
    for (int64_t c = 0; c < own->n; c += width) {
        float *to = s->weight + (own->tiles + c / width) * s->tall * width;
        size_t bytes = (size_t)least(width, own->n - c) * sizeof *to;
        for (int64_t d = 0; d < s->tall; d++) {
            memcpy(to + d * width, w_hh + d * h + own->from + c, bytes);
        }
    }
}

static void back_row(const rnn_steps *s, const rnn_walk *w, const share *own, int64_t row, int64_t b) {
    const rnn_net *net = s->net;
    int64_t h = net->hidden, u = own->from;
    float *dh = w->dh + b * h + u;
    index_loops_best()->add_row[ASSAY_F32](dh, w->dy + row * w->y_step + u, own->n, row_once());
    rnn_row_back r = {.n = own->n,
                      .step = h,
                      .gates = w->gates + row * 4 * h + u,
                      .h_before = w->h_before + row * h + u,
                      .c_before = w->c_before + row * h + u,
                      .raw = w->raw != NULL ? w->raw + row * h + u : NULL,
                      .d_raw = dh,
                      .dc = w->dc + b * h + u,
                      .d_x = w->d_x + row * s->tall + u,
                      .d_h = w->d_h + row * s->tall + u,
                      .past = w->past + b * h + u};
    s->gates->back_f32[net->mode](&r);
}

void rnn_steps_back(rnn_steps *s, const rnn_walk *walk) {
    const rnn_net *net = s->net;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(s->threads)
    {
        parallel_enter(watch);
        int64_t h = net->hidden;
        share own = share_of(s, 1);
        pack_columns(s, &own, walk->w_hh);
        for (int64_t i = 0; i < net->steps; i++) {
            int64_t t = walk->reverse ? net->steps - 1 - i : i, batch = rnn_batch(net, t);
            float *packed = s->packed[i % 2], *dh = walk->dh + own.from;
            for (int64_t b = 0; b < batch; b++) {
                back_row(s, walk, &own, walk->first[t] + b, b);
            }
            for (int64_t at = own.from; at < s->tall; at += h) {
                pack(s, packed, s->tall, 0, batch, at, own.n, walk->d_h + walk->first[t] * s->tall + at, s->tall);
            }
#pragma omp barrier
            multiply(s, &own, own.n, s->tall, packed, batch, dh, h);
            for (int64_t b = 0; b < batch && net->mode == RNN_GRU; b++) {
                index_loops_best()->add_row[ASSAY_F32](dh + b * h, walk->past + b * h + own.from, own.n, row_once());
            }
        }
        parallel_leave(watch);
    }
}
