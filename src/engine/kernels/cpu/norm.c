/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm and its backward. A row is brought in once and gone over in cache: for its mean, for its distances from it
   (two passes: nothing cancels), for its output. Accumulators: see row_loops.h; the parameters' gradients add up 256 rows
   in float, then go into double, for each thread, and threads add up in order. What goes past the caches is read and written in one
   type, a line read while the one before it is finished; it is gone over for its mean and its distances at once, about the mean of the
   line before it, and once more where that lies too far off. */
#include "engine/kernels/cpu/norm.h"

#include "device/caches.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/nest.h"
#include "engine/kernels/cpu/norm_lines.h"
#include "engine/kernels/cpu/norm_params.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Rows of LEAST_KEPT elements and more that stay in caches are better in flight than several of them gone over at once. */
enum { OUT, X, DY, OPERANDS, FLUSH_ROWS = 256, LEAST_KEPT = 320 };

typedef struct layer {
    const row_loops *l;
    norm_view v;
    loop lines; /* over the leading dimensions, in row-major order; OUT is row-major by nature */
    loop line;  /* over the normalized ones, likewise */
    dtype type[OPERANDS];
    const tensor *weight, *bias, *mean_in, *rstd_in;
    tensor mean_view, rstd_view; /* mean_in and rstd_in as one dimension, where they lie together */
    const tensor *mean_out, *rstd_out, *weight_out, *bias_out;
    bool wants_input, wants_params;
    int threads;
    norm_params params_of;
    char *params; /* weight and bias in the computing type */
    char *work;
    int64_t work_bytes;
    int64_t line_bytes; /* one line in the computing type, padded */
    bool streams;       /* the result goes past the caches */
    bool in_flight;     /* several lines, of one type, are on their way at once */
    bool short_lines;   /* one behind the other: several are gone over at once */
    int64_t turned;     /* of input lines that lie beside each other so many are turned round first; 0: none */
    int64_t turned_at;  /* into a thread's work */
    bool turned_stream; /* and their results go past the caches */
} layer;

/* Elements of the line at `at`, in the computing type: there if they lie together, else gathered in buffer. */
static const void *line_in(const layer *s, int k, char *buffer, const char *at) {
    const loop *l = &s->line;
    if (l->ndim == 1) {
        return row_fetch(s->l, buffer, at, s->type[k], l->strides[k][0], l->sizes[0]);
    }
    int64_t runs = nest_runs(l), index[TENSOR_MAX_DIMS] = {0}, offset[LOOP_MAX_OPERANDS] = {0};
    for (int64_t r = 0; r < runs; r++) {
        s->l->load(buffer + r * l->sizes[0] * (int64_t)s->l->size, at + offset[k], s->type[k], l->strides[k][0],
                   l->sizes[0]);
        nest_next(l, index, offset);
    }
    return buffer;
}

/* Where line i starts in each operand. */
static void seek_line(const layer *s, int64_t i, int64_t *offset) {
    int64_t index[TENSOR_MAX_DIMS];
    if (s->lines.ndim != 1) {
        loop_seek(&s->lines, i, index, offset);
        return;
    }
    for (int k = 0; k < s->lines.n_operands; k++) {
        offset[k] = i * s->lines.strides[k][0];
    }
}

/* Sends a piece of results past the caches. */
static void stream_piece(const layer *s, char *out, const void *made, int64_t n) {
    alignas(64) char raw[STREAM_PIECE * sizeof(double)];
    size_t size = dtype_size(s->type[OUT]);
    if (s->type[OUT] != s->l->type) {
        s->l->store(raw, s->type[OUT], (int64_t)size, made, n);
        made = raw;
    }
    s->l->stream(out, made, (size_t)n * size);
}

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
        stream_piece(s, out + at * (int64_t)dtype_size(s->type[OUT]), made, part);
    }
}

/* Whether lines of all operands lie one behind the other. */
static bool is_dense(const layer *s, int n_operands) {
    bool can = s->wants_input;
    for (int k = 0; k < n_operands; k++) {
        int64_t size = (int64_t)dtype_size(s->type[k]);
        can = can && s->line.ndim == 1 && s->line.strides[k][0] == size && s->lines.ndim == 1 &&
              s->lines.strides[k][0] == s->v.per_stat * size;
    }
    return can;
}

/* Whether dense lines are of one type, and as many as are on their way stay in L2, beside what is read ahead. */
static bool can_fly(const layer *s, int n_operands) {
    bool can = s->v.per_stat >= STREAM_LEAST && 4 * s->v.per_stat * (int64_t)s->l->size <= FLIGHT_BYTES;
    for (int k = 0; k < n_operands; k++) {
        bool is_half = s->l->type == ASSAY_F32 && dtype_size(s->type[k]) == 2;
        can = can && s->type[k] == s->type[X] && (s->type[k] == s->l->type || is_half);
    }
    return can;
}

/* The sum of squared distances from a line's mean, which *mean becomes, from sums about the step's centre. Where the centre lies so
   far off that most of the squares' sum is taken off again, the line, which is in cache still, is gone over about its own mean. */
static double finish_moments(const layer *s, const layer_step *step, char *buffer, double *mean) {
    double n = (double)step->n, off = step->sum / n, m2 = step->squares - n * off * off, average = step->centre + off;
    if (!(m2 > step->squares / 16)) {
        double again, again_m2;
        s->l->moments(line_in(s, X, buffer, step->x), step->n, &again, &again_m2);
        average = again;
        m2 = again_m2;
    }
    *mean = average;
    return m2;
}

/* Of lines in flight one is read for its sums, about the mean of the line before it, while that one is finished.
   What is known of a line stands in variables of its own: the compiler reads neighbours in a struct as one, and such a load waits
   until what wrote them apart has left for memory, behind all that was stored past the caches before. */
/* In float for float, as the step has it; 0 where that is less than a deviation off: sums about it are as good then, and cost less. */
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
            seek_line(s, i, offset);
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

/* One after the other: where the CPU itself reads on from row to row (Zen 4), this takes 8 to 17% less time, whatever rows are asked for
   ahead in stream_lines. The gradient, which adds to the parameters' sums meanwhile, takes 10% more so. */
static void stream_lines_apart(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    double mean = 0, rstd = 0;
    row_edge edge = {0};
    for (int64_t i = from; i < to; i++) {
        int64_t offset[LOOP_MAX_OPERANDS];
        seek_line(s, i, offset);
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
        seek_line(s, i, offset);
        if (s->v.per_stat > 0) {
            const void *x = line_in(s, X, buffer, s->lines.data[X] + offset[X]);
            run_line(s, i, x, s->lines.data[OUT] + offset[OUT], weight, bias, buffer);
            continue;
        }
        norm_write(s->mean_out, i, 0);
        norm_write(s->rstd_out, i, NAN);
    }
}

/* Of lines [i, to), which lie beside each other element by element, some are turned round into rows; answers how many. Gathered one by one,
   200704 lines of 24 in f16 took 15 ms instead of 4.3 (Zen 4, 2026-11). */
static int64_t turn_lines(const layer *s, int64_t i, int64_t to, int64_t *offset, char *rows) {
    int64_t n = s->v.per_stat, size = (int64_t)dtype_size(s->type[X]), beside = s->lines.sizes[0], some = beside - i % beside;
    some = some < to - i ? some : to - i;
    some = some < s->turned ? some : s->turned;
    seek_line(s, i, offset);
    copy_loops_best()->transpose(rows, s->lines.data[X] + offset[X], __builtin_ctz((unsigned)size), n, some, n * size,
                                 s->line.strides[X][0]);
    return some;
}

static void run_turned_lines(const layer *s, int64_t from, int64_t to, const void *weight, const void *bias, char *buffer) {
    const short_lines lines = {s->l, s->type[X], s->type[OUT], s->v.per_stat, s->turned_stream, s->v.eps, s->mean_out, s->rstd_out, weight, bias};
    int64_t n = s->v.per_stat, size = (int64_t)dtype_size(s->type[X]), some;
    char *rows = buffer + s->turned_at;
    for (int64_t i = from; i < to; i += some) {
        int64_t offset[LOOP_MAX_OPERANDS];
        some = turn_lines(s, i, to, offset, rows);
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

/* Whether operand k's lines lie one behind the other, though another's do not. */
static bool lines_follow(const layer *s, int k) {
    int64_t size = (int64_t)dtype_size(s->type[k]), next = s->v.per_stat * size;
    bool follow = s->line.ndim == 1 && s->line.strides[k][0] == size;
    for (int d = 0; d < s->lines.ndim; d++) {
        follow = follow && s->lines.strides[k][d] == next;
        next *= s->lines.sizes[d];
    }
    return follow;
}

/* How many lines are turned round at a time, which L1 or L2 holds. */
static int64_t turned_lines(const layer *s, bool is_backward) {
    enum { TURNED_BYTES = 64 * 1024, LEAST = 4, MOST = 64 };
    int64_t size = (int64_t)dtype_size(s->type[X]), n = s->v.per_stat;
    if (is_backward && (n > SHORT_LINE || !s->wants_input || !lines_follow(s, DY) || !lines_follow(s, OUT))) {
        return 0;
    }
    bool beside = s->line.ndim == 1 && n > 1 && s->line.strides[X][0] != size && s->lines.ndim > 0 && s->lines.strides[X][0] == size;
    int64_t some = beside && s->lines.sizes[0] >= LEAST ? TURNED_BYTES / (n * size) : 0;
    return some < LEAST ? 0 : some < MOST ? some : MOST;
}

/* What threads share of a run. */
typedef struct lines_share {
    const layer *s;
    const void *weight, *bias;
    int *team; /* threads that there were */
} lines_share;

static void share_forward(const void *context) {
    const lines_share *share = context;
    const layer *s = share->s;
    char *buffer = s->work + omp_get_thread_num() * s->work_bytes;
    int64_t from, to;
    parallel_share(s->v.n_stats, 1, &from, &to);
    if (s->in_flight && cpu_is_intel()) {
        stream_lines(s, from, to, share->weight, share->bias, buffer);
    } else if (s->in_flight) {
        stream_lines_apart(s, from, to, share->weight, share->bias, buffer);
    } else if (s->short_lines && from < to) {
        int64_t offset[LOOP_MAX_OPERANDS];
        seek_line(s, from, offset);
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

static status run_forward(kernel_plan *plan) {
    const layer *s = plan->state;
    const void *weight = norm_params_in(&s->params_of, s->weight, s->params, s->work);
    const void *bias = norm_params_in(&s->params_of, s->bias, s->params + s->line_bytes, s->work);
    parallel_run(s->threads, share_forward, &(const lines_share){.s = s, .weight = weight, .bias = bias});
    return ASSAY_OK;
}

/* A thread's sums for the parameters' gradients. */
static param_sums sums_of(const layer *s, int thread) {
    char *at = s->work + thread * s->work_bytes + 3 * s->line_bytes;
    int64_t n = s->v.n_weights;
    return (param_sums){.weight = at,
                        .bias = at + s->line_bytes,
                        .weight_total = (double *)(void *)(at + 2 * s->line_bytes),
                        .bias_total = (double *)(void *)(at + 2 * s->line_bytes) + n};
}

/* As put_centred. */
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
        stream_piece(s, out + at * (int64_t)dtype_size(s->type[OUT]), made, part);
    }
}

static void backward_line(const layer *s, int64_t i, const void *weight, char *buffers, const param_sums *p) {
    const row_loops *l = s->l;
    int64_t n = s->v.per_stat, offset[LOOP_MAX_OPERANDS];
    seek_line(s, i, offset);
    const void *x = line_in(s, X, buffers, s->lines.data[X] + offset[X]);
    const void *dy = line_in(s, DY, buffers + s->line_bytes, s->lines.data[DY] + offset[DY]);
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

/* As run_turned_lines; the other operands' lines lie one behind the other. */
static void backward_turned_lines(const layer *s, int64_t from, int64_t to, const void *weight, char *buffers, const param_sums *p) {
    const short_gradient lines = {s->l, s->type[DY], s->type[X], s->type[OUT], s->v.per_stat, s->turned_stream, s->mean_in, s->rstd_in,
                                  weight, s->wants_params ? p->weight : NULL, p->bias};
    char *rows = buffers + s->turned_at;
    for (int64_t i = from, some, added = 0; i < to; i += some) {
        int64_t offset[LOOP_MAX_OPERANDS];
        some = turn_lines(s, i, to, offset, rows);
        norm_short_gradient(&lines, s->lines.data[DY] + offset[DY], rows, s->lines.data[OUT] + offset[OUT], i, some);
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
        seek_line(s, i, offset);
        const short_gradient lines = {s->l, s->type[DY], s->type[X], s->type[OUT], s->v.per_stat, s->streams, s->mean_in, s->rstd_in,
                                      weight, s->wants_params ? p->weight : NULL, p->bias};
        norm_short_gradient(&lines, s->lines.data[DY] + offset[DY], s->lines.data[X] + offset[X], s->lines.data[OUT] + offset[OUT], i,
                            to - i < FLUSH_ROWS ? to - i : FLUSH_ROWS);
        if (s->wants_params) {
            norm_params_flush(&s->params_of, p);
        }
    }
    for (int64_t i = from; !s->short_lines && i < to; i++) {
        backward_line(s, i, weight, buffers, p);
        if (s->wants_params && ((i - from) % FLUSH_ROWS == FLUSH_ROWS - 1 || i == to - 1)) {
            norm_params_flush(&s->params_of, p);
        }
    }
}

/* As stream_lines: one is read for its sums while the line before it is finished. */
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
            seek_line(s, i, offset);
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
    if (s->in_flight) {
        stream_backward(s, from, to, share->weight, &p);
    } else if (s->turned > 0) {
        backward_turned_lines(s, from, to, share->weight, buffers, &p);
    } else {
        backward_lines(s, from, to, share->weight, buffers, &p);
    }
    s->l->settle();
}

static status run_backward(kernel_plan *plan) {
    const layer *s = plan->state;
    const void *weight = norm_params_in(&s->params_of, s->weight, s->params, s->work);
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

static status prepare_layer(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    layer *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    TRY(norm_analyse(call, &s->v, err));
    bool is_backward = s->v.mask_arg >= 0;
    const bool *mask = is_backward ? call->args[s->v.mask_arg].bools : NULL;
    tensor *x = call_tensor(call, s->v.input_arg), *out = &plan->out->items[0];
    tensor order; /* row-major: stands in for an output that is not wanted */
    TRY(tensor_init(&order, x->dtype, x->ndim, x->sizes, err));
    s->wants_input = !is_backward || mask[0];
    tensor *operands[OPERANDS] = {s->wants_input ? out : &order, x, is_backward ? call_tensor(call, 0) : NULL};
    int n_operands = is_backward ? OPERANDS : DY;
    double bytes = 0;
    for (int k = 0; k < n_operands; k++) {
        s->type[k] = operands[k]->dtype;
        bytes += (double)tensor_numel(x) * (double)dtype_size(s->type[k]);
    }
    int n_dims;
    call_ints(call, signature_find_param(&call->op->signature, "normalized_shape"), &n_dims);
    uint32_t leading = nest_all(x->ndim - n_dims);
    nest_init(&s->lines, operands, n_operands, leading);
    nest_init(&s->line, operands, n_operands, nest_all(x->ndim) & ~leading);
    s->l = norm_loops(call);
    bool dense = is_dense(s, n_operands);
    s->streams = dense && streams_norm((double)s->v.n_stats * (double)s->v.per_stat, dtype_size(s->type[OUT]), s->l->size);
    s->in_flight = dense && can_fly(s, n_operands) && (s->streams || is_backward || s->v.per_stat >= LEAST_KEPT);
    s->short_lines = dense && !s->in_flight && s->v.per_stat > 0 && s->v.per_stat <= SHORT_LINE;
    s->weight = s->v.weight_arg >= 0 ? call_tensor(call, s->v.weight_arg) : NULL;
    s->bias = !is_backward ? call_tensor(call, s->v.bias_arg) : NULL;
    s->threads = parallel_threads(bytes);
    s->threads = s->v.n_stats < s->threads ? (s->v.n_stats > 0 ? (int)s->v.n_stats : 1) : s->threads;
    s->line_bytes = ((s->in_flight ? row_beside_room(s->v.per_stat) : s->v.per_stat) * (int64_t)s->l->size + 63) / 64 * 64;
    s->turned = dense ? 0 : turned_lines(s, is_backward);
    s->turned_stream = streams_norm((double)s->v.n_stats * (double)s->v.per_stat, dtype_size(s->type[OUT]), s->l->size);
    s->work_bytes = s->line_bytes;
    if (is_backward) {
        s->mean_in = norm_as_line(call_tensor(call, s->v.mean_arg), &s->mean_view);
        s->rstd_in = norm_as_line(call_tensor(call, s->v.rstd_arg), &s->rstd_view);
        s->weight_out = mask[1] ? &plan->out->items[1] : NULL;
        s->bias_out = mask[2] ? &plan->out->items[2] : NULL;
        s->wants_params = mask[1] || mask[2];
        s->work_bytes = 5 * s->line_bytes + 2 * s->v.n_weights * (int64_t)sizeof(double) + 64;
    } else {
        s->mean_out = norm_as_line(&plan->out->items[1], &s->mean_view);
        s->rstd_out = norm_as_line(&plan->out->items[2], &s->rstd_view);
    }
    s->params_of = (norm_params){.l = s->l, .n = s->v.n_weights, .rows = s->type[X], .beside = s->in_flight};
    s->params = arena_make(plan->memory, 2, (size_t)s->line_bytes);
    s->turned_at = (s->work_bytes + 63) / 64 * 64;
    s->work_bytes = (s->turned_at + s->turned * s->v.per_stat * (int64_t)dtype_size(s->type[X]) + 63) / 64 * 64;
    s->work = arena_make(plan->memory, (size_t)s->threads, (size_t)s->work_bytes);
    if (s->work == NULL || s->params == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %d threads' rows", s->threads);
    }
    plan->state = s;
    plan->run = is_backward ? run_backward : run_forward;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "native_layer_norm.default", .prepare = prepare_layer},
    {.op = "native_layer_norm_backward.default", .prepare = prepare_layer},
    {.op = "native_batch_norm.default", .prepare = prepare_channel_norm},
    {.op = "native_batch_norm_backward.default", .prepare = prepare_channel_norm},
    {.op = "native_group_norm.default", .prepare = prepare_channel_norm},
    {.op = "native_group_norm_backward.default", .prepare = prepare_channel_norm},
};

const kernel_rows kernels_norm = {rows, countof(rows)};
