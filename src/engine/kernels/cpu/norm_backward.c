/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of layer norm. Those of the parameters add up 256 rows in float, then go into double, for each thread, and threads add up
   in order. */
#include "engine/kernels/cpu/norm_layer.h"
#include "engine/kernels/cpu/norm_lines.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>
#include <string.h>

enum { FLUSH_ROWS = 256 };

/* A thread's sums for the parameters' gradients. */
static param_sums sums_of(const layer *s, int thread) {
    char *at = s->work + thread * s->work_bytes + 3 * s->line_bytes;
    int64_t n = s->v.n_weights;
    return (param_sums){.weight = at,
                        .bias = at + s->line_bytes,
                        .weight_total = (double *)(void *)(at + 2 * s->line_bytes),
                        .bias_total = (double *)(void *)(at + 2 * s->line_bytes) + n};
}

/* Writes a line's gradient piece by piece, past the caches. */
static void put_gradient(const layer *s, char *out, const char *dy, const char *x, const char *weight, double mean,
                         double rstd, double g, double gx) {
    int64_t n = s->v.per_stat, size = (int64_t)s->l->size;
    for (int64_t at = 0; at < n; at += STREAM_PIECE) {
        alignas(64) char made[STREAM_PIECE * sizeof(double)];
        int64_t part = n - at < STREAM_PIECE ? n - at : STREAM_PIECE;
        /* the means of g and gx over the line: as many times less for a part as it is shorter */
        double share = (double)part / (double)n;
        s->l->layer_grad(made, dy + at * size, x + at * size, weight != NULL ? weight + at * size : NULL, mean, rstd, g * share,
                         gx * share, part);
        layer_stream_piece(s, out + at * (int64_t)dtype_size(s->type[OUT]), made, part);
    }
}

/* turned: the line of x, turned round; NULL: it lies where it is. */
static void backward_line(const layer *s, int64_t i, const char *turned, const void *weight, char *buffers, const param_sums *p) {
    const row_loops *l = s->l;
    int64_t n = s->v.per_stat, offset[LOOP_MAX_OPERANDS];
    layer_seek(s, i, offset);
    const void *x = turned != NULL ? row_fetch(l, buffers, turned, s->type[X], (int64_t)dtype_size(s->type[X]), n)
                                   : layer_line_in(s, X, buffers, s->lines.data[X] + offset[X]);
    const void *dy = layer_line_in(s, DY, buffers + s->line_bytes, s->lines.data[DY] + offset[DY]);
    double mean = norm_read(s->mean_in, i), rstd = norm_read(s->rstd_in, i), g, gx;
    if (s->wants_params) {
        l->layer_params(p->weight, p->bias, dy, x, mean, rstd, n);
    }
    if (s->wants_input && s->streams) {
        l->layer_sums(dy, x, weight, mean, rstd, n, &g, &gx);
        put_gradient(s, s->lines.data[OUT] + offset[OUT], dy, x, weight, mean, rstd, g, gx);
    } else if (s->wants_input) {
        char *out = s->lines.data[OUT] + offset[OUT];
        void *to = row_target(l, buffers + 2 * s->line_bytes, out, s->type[OUT], s->line.strides[OUT][0]);
        l->layer_sums(dy, x, weight, mean, rstd, n, &g, &gx);
        l->layer_grad(to, dy, x, weight, mean, rstd, g, gx, n);
        row_put(l, out, s->type[OUT], s->line.strides[OUT][0], to, n);
    }
}

/* Lines of x that lie beside each other. */
static void backward_turned_lines(const layer *s, int64_t from, int64_t to, const void *weight, char *buffers, const param_sums *p) {
    const short_gradient lines = {s->l, s->type[DY], s->type[X], s->type[OUT], s->v.per_stat, s->turned_stream, s->mean_in, s->rstd_in,
                                  weight, s->wants_params ? p->weight : NULL, p->bias};
    char *rows = buffers + s->turned_at;
    for (int64_t i = from, some, added = 0; i < to; i += some) {
        int64_t offset[LOOP_MAX_OPERANDS];
        some = layer_turn(s, i, to, offset, rows);
        if (s->turned_short) {
            norm_short_gradient(&lines, s->lines.data[DY] + offset[DY], rows, s->lines.data[OUT] + offset[OUT], i, some);
        }
        for (int64_t k = 0; k < some && !s->turned_short; k++) {
            backward_line(s, i + k, rows + k * s->v.per_stat * (int64_t)dtype_size(s->type[X]), weight, buffers, p);
        }
        added += some;
        if (s->wants_params && (added >= FLUSH_ROWS || i + some == to)) {
            norm_params_flush(&s->params_of, p);
            added = 0;
        }
    }
}

static void backward_lines(const layer *s, int64_t from, int64_t to, const void *weight, char *buffers, const param_sums *p) {
    for (int64_t i = from; s->short_lines && i < to; i += FLUSH_ROWS) {
        int64_t offset[LOOP_MAX_OPERANDS];
        layer_seek(s, i, offset);
        const short_gradient lines = {s->l, s->type[DY], s->type[X], s->type[OUT], s->v.per_stat, s->streams, s->mean_in, s->rstd_in,
                                      weight, s->wants_params ? p->weight : NULL, p->bias};
        norm_short_gradient(&lines, s->lines.data[DY] + offset[DY], s->lines.data[X] + offset[X], s->lines.data[OUT] + offset[OUT], i,
                            to - i < FLUSH_ROWS ? to - i : FLUSH_ROWS);
        if (s->wants_params) {
            norm_params_flush(&s->params_of, p);
        }
    }
    for (int64_t i = from; !s->short_lines && i < to; i++) {
        backward_line(s, i, NULL, weight, buffers, p);
        if (s->wants_params && ((i - from) % FLUSH_ROWS == FLUSH_ROWS - 1 || i == to - 1)) {
            norm_params_flush(&s->params_of, p);
        }
    }
}

/* Of lines in flight one is read for its sums while the line before it is finished. */
static void stream_backward(const layer *s, int64_t from, int64_t to, const void *weight, const param_sums *p) {
    const char *x = NULL, *dy = NULL;
    char *out = NULL;
    double mean = 0, rstd = 0, g = 0, gx = 0, share = 1 / (double)s->v.per_stat;
    row_edge edge = {0};
    for (int64_t i = from; i <= to && from < to; i++) {
        layer_back_step step = {.type = s->type[X], .n = s->v.per_stat, .weight = weight, .from_dy = dy, .from_x = x, .to = out,
                                .from_mean = mean, .from_rstd = rstd, .from_g = g, .from_gx = gx, .edge = &edge,
                                .past = s->streams};
        if (i < to) {
            int64_t offset[LOOP_MAX_OPERANDS];
            layer_seek(s, i, offset);
            out = s->lines.data[OUT] + offset[OUT];
            dy = s->lines.data[DY] + offset[DY];
            x = s->lines.data[X] + offset[X];
            mean = norm_read(s->mean_in, i);
            rstd = norm_read(s->rstd_in, i);
            step.dy = dy;
            step.x = x;
            step.mean = mean;
            step.rstd = rstd;
        }
        if (s->wants_params && (i - from) % 2 == 1) { /* of the row before it as well */
            step.weight_sums = p->weight;
            step.bias_sums = p->bias;
        }
        s->l->layer_back_stream(&step);
        g = step.g * share;
        gx = step.gx * share;
        if (s->wants_params && ((i - from) % FLUSH_ROWS == FLUSH_ROWS - 1 || i == to)) {
            norm_params_flush(&s->params_of, p);
        }
    }
    row_edge_flush(&edge);
}

/* Lines one behind the other: some are finished while the sums of as many are found. */
static void together_backward(const layer *s, int64_t from, int64_t to, const void *weight, const param_sums *p) {
    double mean[2][LINES_TOGETHER], rstd[2][LINES_TOGETHER], g[2][LINES_TOGETHER], gx[2][LINES_TOGETHER];
    layer_back_lines lines = {.type = s->type[X], .n = s->v.per_stat, .weight = weight, .past = s->streams,
                              .share = 1 / (double)s->v.per_stat,
                              .weight_sums = s->wants_params ? p->weight : NULL,
                              .bias_sums = s->wants_params ? p->bias : NULL};
    int64_t added = 0;
    for (int64_t i = from, step = 0; i < to || lines.lines > 0; i += lines.lines, step++) {
        const int64_t now = step % 2, before = 1 - now;
        int64_t offset[LOOP_MAX_OPERANDS];
        lines.finished = lines.lines;
        lines.from_dy = lines.dy;
        lines.from_x = lines.x;
        if (lines.finished > 0) {
            layer_seek(s, i - lines.finished, offset);
            lines.to = s->lines.data[OUT] + offset[OUT];
        }
        lines.lines = to - i < s->together ? to - i : s->together;
        if (lines.lines > 0) {
            layer_seek(s, i, offset);
            lines.dy = s->lines.data[DY] + offset[DY];
            lines.x = s->lines.data[X] + offset[X];
        }
        norm_read_some(s->mean_in, i, lines.lines, mean[now]);
        norm_read_some(s->rstd_in, i, lines.lines, rstd[now]);
        lines.mean = mean[now];
        lines.rstd = rstd[now];
        lines.g = g[now];
        lines.gx = gx[now];
        lines.from_mean = mean[before];
        lines.from_rstd = rstd[before];
        lines.from_g = g[before];
        lines.from_gx = gx[before];
        s->l->layer_back_lines(&lines);
        added += lines.finished;
        if (!s->wants_params) {
            continue;
        }
        if (added >= FLUSH_ROWS || (lines.lines == 0 && added > 0)) {
            norm_params_flush(&s->params_of, p);
            added = 0;
        }
    }
}

static void share_gradient(const void *context) {
    const lines_share *share = context;
    const layer *s = share->s;
    int64_t n = s->v.n_weights;
    char *buffers = s->work + omp_get_thread_num() * s->work_bytes;
    param_sums p = sums_of(s, omp_get_thread_num());
    int64_t from, to;
    if (omp_get_thread_num() == 0) {
        *share->team = omp_get_num_threads();
    }
    if (s->wants_params) {
        memset(p.weight, 0, (size_t)(2 * s->line_bytes) + 2 * (size_t)n * sizeof(double));
    }
    parallel_share(n > 0 ? s->v.n_stats : 0, 1, &from, &to);
    if (s->together > 0) {
        together_backward(s, from, to, share->weight, &p);
    } else if (s->in_flight) {
        stream_backward(s, from, to, share->weight, &p);
    } else if (s->turned > 0) {
        backward_turned_lines(s, from, to, share->weight, buffers, &p);
    } else {
        backward_lines(s, from, to, share->weight, buffers, &p);
    }
    s->l->settle();
}

status layer_backward(kernel_plan *plan) {
    const layer *s = plan->state;
    const void *weight = s->plain_weight != NULL ? s->plain_weight : norm_params_in(&s->params_of, s->weight, s->params, s->work);
    int n_threads = 1;
    parallel_run(s->threads, share_gradient, &(const lines_share){.s = s, .weight = weight, .team = &n_threads});
    if (s->wants_params) {
        param_sums all = sums_of(s, 0);
        for (int t = 1; t < n_threads; t++) {
            param_sums more = sums_of(s, t);
            norm_params_add(&s->params_of, &all, &more);
        }
        norm_params_store(&s->params_of, &all, s->weight_out, s->bias_out);
    }
    return ASSAY_OK;
}
