/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm. A row is brought in once and gone over in cache: for its mean, for its distances from it (two passes: nothing cancels),
   for its output. What goes past the caches is read and written in one type, a line read while the one before it is finished; it is gone
   over for its mean and its distances at once, about the mean of the line before it, and once more where that lies too far off. */
#include "device/caches.h"
#include "engine/kernels/cpu/norm_layer.h"
#include "engine/kernels/cpu/norm_lines.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>

/* Writes a line's output; what goes past the caches piece by piece. */
static void put_centred(const layer *s, char *out, const void *x, double mean, double rstd, const void *weight,
                        const void *bias, char *buffer) {
    const row_loops *l = s->l;
    int64_t n = s->v.per_stat, size = (int64_t)l->size;
    if (!s->streams) {
        void *y = row_target(l, buffer, out, s->type[OUT], s->line.strides[OUT][0]);
        l->centre(y, x, mean, rstd, weight, bias, n);
        row_put(l, out, s->type[OUT], s->line.strides[OUT][0], y, n);
        return;
    }
    for (int64_t at = 0; at < n; at += STREAM_PIECE) {
        alignas(64) char made[STREAM_PIECE * sizeof(double)];
        int64_t part = n - at < STREAM_PIECE ? n - at : STREAM_PIECE;
        const char *from = (const char *)x + at * size;
        l->centre(made, from, mean, rstd, weight != NULL ? (const char *)weight + at * size : NULL,
                  bias != NULL ? (const char *)bias + at * size : NULL, part);
        layer_stream_piece(s, out + at * (int64_t)dtype_size(s->type[OUT]), made, part);
    }
}

/* The sum of squared distances from a line's mean, which *mean becomes, from sums about the step's centre. Where the centre lies so
   far off that most of the squares' sum is taken off again, the line, which is in cache still, is gone over about its own mean. */
static double finish_moments(const layer *s, const layer_step *step, char *buffer, double *mean) {
    double n = (double)step->n, off = step->sum / n, m2 = step->squares - n * off * off, average = step->centre + off;
    if (!(m2 > step->squares / 16)) {
        double again, again_m2;
        s->l->moments(layer_line_in(s, X, buffer, step->x), step->n, &again, &again_m2);
        average = again;
        m2 = again_m2;
    }
    *mean = average;
    return m2;
}

/* The mean of the line before, in float for float, as the step has it; 0 where that is less than a deviation off: sums about it are as good then, and cost less. */
static double centre_near(const layer *s, double mean, double rstd) {
    double centre = fabs(mean) <= FLT_MAX && !(fabs(mean * rstd) < 1) ? mean : 0;
    return s->l->type == ASSAY_F32 ? (double)(float)centre : centre;
}

static double finish_stats(const layer *s, int64_t i, const layer_step *step, char *buffer, double *mean) {
    double m2 = finish_moments(s, step, buffer, mean), rstd = 1 / sqrt(m2 / (double)step->n + s->v.eps);
    norm_write(s->mean_out, i, *mean);
    norm_write(s->rstd_out, i, rstd);
    return rstd;
}

/* Of lines in flight one is read for its sums, about the mean of the line before it, while that one is finished.
   What is known of a line stands in variables of its own: the compiler reads neighbours in a struct as one, and such a load waits
   until what wrote them apart has left for memory, behind all that was stored past the caches before. */
static void stream_lines(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    const char *x = NULL;
    char *out = NULL;
    double mean = 0, rstd = 0;
    row_edge edge = {0};
    for (int64_t i = from; i <= to && from < to; i++) {
        layer_step step = {.type = s->type[X], .n = s->v.per_stat, .weight = weight, .bias = bias, .from = x, .to = out,
                           .centre = centre_near(s, mean, rstd), .mean = mean, .rstd = rstd, .edge = &edge, .past = s->streams};
        if (i < to) {
            int64_t offset[LOOP_MAX_OPERANDS];
            layer_seek(s, i, offset);
            x = s->lines.data[X] + offset[X];
            out = s->lines.data[OUT] + offset[OUT];
            step.x = x;
        }
        s->l->layer_stream(&step);
        if (i < to) {
            rstd = finish_stats(s, i, &step, buffer, &mean);
        }
    }
    row_edge_flush(&edge);
}

/* One after the other: where the CPU itself reads on far enough from row to row (Zen 4), this takes 8 to 17% less time, whatever rows are asked for
   ahead in stream_lines. The gradient, which adds to the parameters' sums meanwhile, takes 10% more so. */
static void stream_lines_apart(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    double mean = 0, rstd = 0;
    row_edge edge = {0};
    for (int64_t i = from; i < to; i++) {
        int64_t offset[LOOP_MAX_OPERANDS];
        layer_seek(s, i, offset);
        const char *x = s->lines.data[X] + offset[X];
        layer_step sums = {.type = s->type[X], .n = s->v.per_stat, .x = x, .centre = centre_near(s, mean, rstd), .past = s->streams};
        s->l->layer_stream(&sums);
        rstd = finish_stats(s, i, &sums, buffer, &mean);
        layer_step step = {.type = s->type[X], .n = s->v.per_stat, .weight = weight, .bias = bias, .from = x,
                           .to = s->lines.data[OUT] + offset[OUT], .mean = mean, .rstd = rstd, .edge = &edge,
                           .past = s->streams};
        s->l->layer_stream(&step);
    }
    row_edge_flush(&edge);
}

/* What the sums of lines from i on come to. In vectors two of them would be read as one, as above. */
static void finish_together(const layer *s, int64_t i, const layer_lines *lines, double *means, double *rstds, char *buffer) {
    const bool is_plain = s->mean_out->dtype == ASSAY_F32 && s->mean_out->ndim == 1 && s->rstd_out->ndim == 1;
    const int64_t bytes = lines->n * (int64_t)dtype_size(lines->type);
    float *mean_to = is_plain ? (float *)(void *)tensor_data(s->mean_out) + i : NULL;
    float *rstd_to = is_plain ? (float *)(void *)tensor_data(s->rstd_out) + i : NULL;
    for (int64_t k = 0; k < lines->lines; k++) {
        layer_step own = {.n = lines->n, .x = (const char *)lines->x + k * bytes, .centre = lines->centre, .sum = lines->sum[k],
                          .squares = lines->squares[k]};
        double mean, m2 = finish_moments(s, &own, buffer, &mean), rstd = 1 / sqrt(m2 / (double)own.n + s->v.eps);
        if (is_plain) { /* less than a call and a look at the type */
            mean_to[k] = (float)mean;
            rstd_to[k] = (float)rstd;
        } else {
            norm_write(s->mean_out, i + k, mean);
            norm_write(s->rstd_out, i + k, rstd);
        }
        means[k] = mean;
        rstds[k] = rstd;
    }
}

/* Lines one behind the other: some are finished while the sums of as many are found, about the mean of the line before those. */
static void stream_lines_together(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    double mean[LINES_TOGETHER] = {0}, rstd[LINES_TOGETHER] = {0}, sum[LINES_TOGETHER], squares[LINES_TOGETHER];
    layer_lines lines = {.type = s->type[X], .n = s->v.per_stat, .sum = sum, .squares = squares, .mean = mean, .rstd = rstd, .weight = weight,
                         .bias = bias, .past = s->streams};
    lines.ahead = s->streams && lines.n > MOST_TOGETHER ? s->together * lines.n * (int64_t)dtype_size(lines.type) : 0;
    for (int64_t i = from; i < to || lines.lines > 0; i += lines.lines) {
        int64_t offset[LOOP_MAX_OPERANDS];
        lines.from = lines.x;
        lines.finished = lines.lines;
        if (lines.finished > 0) {
            layer_seek(s, i - lines.finished, offset);
            lines.to = s->lines.data[OUT] + offset[OUT];
            lines.centre = centre_near(s, mean[lines.finished - 1], rstd[lines.finished - 1]);
        }
        lines.lines = to - i < s->together ? to - i : s->together;
        if (lines.lines > 0) {
            layer_seek(s, i, offset);
            lines.x = s->lines.data[X] + offset[X];
        }
        s->l->layer_lines(&lines);
        finish_together(s, i, &lines, mean, rstd, buffer);
    }
}

/* Line i, whose elements are at x in the computing type. */
static void run_line(const layer *s, int64_t i, const void *x, char *out, const void *weight, const void *bias, char *buffer) {
    double mean, m2, rstd;
    s->l->moments(x, s->v.per_stat, &mean, &m2);
    rstd = 1 / sqrt(m2 / (double)s->v.per_stat + s->v.eps);
    put_centred(s, out, x, mean, rstd, weight, bias, buffer);
    norm_write(s->mean_out, i, mean);
    norm_write(s->rstd_out, i, rstd);
}

/* Lines of any kind, one after the other. */
static void run_lines(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    int64_t offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i++) {
        layer_seek(s, i, offset);
        if (s->v.per_stat > 0) {
            const void *x = layer_line_in(s, X, buffer, s->lines.data[X] + offset[X]);
            run_line(s, i, x, s->lines.data[OUT] + offset[OUT], weight, bias, buffer);
            continue;
        }
        norm_write(s->mean_out, i, 0);
        norm_write(s->rstd_out, i, NAN);
    }
}

static void run_turned_lines(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    const short_lines lines = {s->l, s->type[X], s->type[OUT], s->v.per_stat, s->turned_stream, s->v.eps, s->mean_out, s->rstd_out, weight, bias};
    int64_t n = s->v.per_stat, size = (int64_t)dtype_size(s->type[X]), some;
    char *rows = buffer + s->turned_at;
    for (int64_t i = from; i < to; i += some) {
        int64_t offset[LOOP_MAX_OPERANDS];
        some = layer_turn(s, i, to, offset, rows);
        char *out = s->lines.data[OUT] + offset[OUT];
        if (n <= SHORT_LINE) {
            norm_short_lines(&lines, rows, out, i, some);
            continue;
        }
        for (int64_t k = 0; k < some; k++) {
            const void *x = row_fetch(s->l, buffer, rows + k * n * size, s->type[X], size, n);
            run_line(s, i + k, x, out + k * n * (int64_t)dtype_size(s->type[OUT]), weight, bias, buffer);
        }
    }
}

static void share_forward(const void *context) {
    const lines_share *share = context;
    const layer *s = share->s;
    char *buffer = s->work + omp_get_thread_num() * s->work_bytes;
    int64_t from, to;
    parallel_share(s->v.n_stats, 1, &from, &to);
    if (s->together > 0) {
        stream_lines_together(s, from, to, share->weight, share->bias, buffer);
    } else if (s->in_flight && cpu_asks_along()) {
        stream_lines(s, from, to, share->weight, share->bias, buffer);
    } else if (s->in_flight) {
        stream_lines_apart(s, from, to, share->weight, share->bias, buffer);
    } else if (s->short_lines && from < to) {
        int64_t offset[LOOP_MAX_OPERANDS];
        layer_seek(s, from, offset);
        const short_lines lines = {s->l, s->type[X], s->type[OUT], s->v.per_stat, s->streams, s->v.eps, s->mean_out, s->rstd_out,
                                   share->weight, share->bias};
        norm_short_lines(&lines, s->lines.data[X] + offset[X], s->lines.data[OUT] + offset[OUT], from, to - from);
    } else if (s->turned > 0) {
        run_turned_lines(s, from, to, share->weight, share->bias, buffer);
    } else {
        run_lines(s, from, to, share->weight, share->bias, buffer);
    }
    s->l->settle();
}

status layer_forward(kernel_plan *plan) {
    const layer *s = plan->state;
    char *weights = s->params, *biases = s->params + s->line_bytes;
    const void *weight = s->plain_weight != NULL ? s->plain_weight : norm_params_in(&s->params_of, s->weight, weights, s->work);
    const void *bias = s->plain_bias != NULL ? s->plain_bias : norm_params_in(&s->params_of, s->bias, biases, s->work);
    parallel_run(s->threads, share_forward, &(const lines_share){.s = s, .weight = weight, .bias = bias});
    return ASSAY_OK;
}
