/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm with channels apart in memory (NCHW and any other layout but channels-last): a channel's positions
   are rows. A block of channels, or a group, is gone over for its statistics and again for its output, while it is in the
   cache if it fits. Accumulators: rows in float (double for f64) by blocks, rows together in double. */
#include "engine/kernels/cpu/norm_channels.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- rows ------------------------------------------------------------------------------------------------------------------- */

/* A walk over the blocks of one channel's positions. */
typedef struct row_walk {
    const channel_norm *s;
    int64_t runs_left, done, n; /* of the run at hand: elements gone over; n: of the block */
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    char *at[NORM_OPERANDS];
} row_walk;

static row_walk walk_start(const channel_norm *s, int64_t n, int64_t c) {
    row_walk w;
    w.s = s;
    w.runs_left = nest_runs(&s->positions);
    w.done = w.n = 0;
    memset(w.index, 0, (size_t)s->positions.ndim * sizeof w.index[0]);
    for (int k = 0; k < s->positions.n_operands; k++) {
        w.offset[k] = n * s->n_stride[k] + c * s->c_stride[k];
    }
    return w;
}

static bool walk_next(row_walk *w) {
    const channel_norm *s = w->s;
    const loop *l = &s->positions;
    w->done += w->n;
    if (w->done == l->sizes[0]) {
        w->runs_left--;
        w->done = 0;
        nest_next(l, w->index, w->offset);
    }
    if (w->runs_left <= 0) {
        return false;
    }
    w->n = l->sizes[0] - w->done < ROW_BLOCK ? l->sizes[0] - w->done : ROW_BLOCK;
    for (int k = 0; k < l->n_operands; k++) {
        w->at[k] = s->data[k] != NULL ? s->data[k] + w->offset[k] + w->done * l->strides[k][0] : NULL;
    }
    return true;
}

static const void *fetch(const row_walk *w, int k, void *buffer) {
    return row_fetch(w->s->l, buffer, w->at[k], w->s->type[k], w->s->positions.strides[k][0], w->n);
}

static void *target(const row_walk *w, void *buffer) {
    return row_target(w->s->l, buffer, w->at[NORM_OUT], w->s->type[NORM_OUT], w->s->positions.strides[NORM_OUT][0]);
}

static void put(const row_walk *w, const void *from) {
    row_put(w->s->l, w->at[NORM_OUT], w->s->type[NORM_OUT], w->s->positions.strides[NORM_OUT][0], from, w->n);
}

/* A block that goes past the caches is made and stored piece by piece, and each piece asks for as much of the unit behind
   this one, `ahead` bytes further on: so the memory reads while it writes. */
static void stream_scaled(const row_walk *w, double factor, double plus, int64_t ahead, char *made) {
    const row_loops *l = w->s->l;
    int64_t size = (int64_t)l->size;
    for (int64_t at = 0; at < w->n; at += STREAM_PIECE) {
        int64_t n = w->n - at < STREAM_PIECE ? w->n - at : STREAM_PIECE;
        const char *x = w->at[NORM_X] + at * size;
        fetch_soon(x + ahead, (size_t)(n * size));
        l->scale(made, x, factor, plus, n);
        l->stream(w->at[NORM_OUT] + at * size, made, (size_t)(n * size));
    }
}

static void stream_gradient(const row_walk *w, channel_factors f, int64_t ahead, char *made) {
    const row_loops *l = w->s->l;
    int64_t size = (int64_t)l->size;
    for (int64_t at = 0; at < w->n; at += STREAM_PIECE) {
        int64_t n = w->n - at < STREAM_PIECE ? w->n - at : STREAM_PIECE;
        const char *x = w->at[NORM_X] + at * size, *dy = w->at[NORM_DY] + at * size;
        if (!w->s->v.is_batch) { /* two channels of a batch, twice, are more than L2 holds */
            fetch_soon(x + ahead, (size_t)(n * size));
            fetch_soon(dy + ahead, (size_t)(n * size));
        }
        l->channel_grad(made, dy, x, f.mean, f.a, f.b, f.c, n);
        l->stream(w->at[NORM_OUT] + at * size, made, (size_t)(n * size));
    }
}

/* --- what both ways share -------------------------------------------------------------------------------------------------------- */

static void move_running(const tensor *t, int64_t i, double value, double momentum) {
    if (t != NULL) {
        norm_write(t, i, (1 - momentum) * norm_read(t, i) + momentum * value);
    }
}

void channel_finish_stat(const channel_norm *s, int64_t i) {
    channel_moment m = s->moments[i];
    s->mean[i] = m.mean;
    s->rstd[i] = 1 / sqrt(m.m2 / m.n + s->v.eps); /* of nothing: NaN */
    norm_write(s->mean_out, i, s->mean[i]);
    norm_write(s->rstd_out, i, s->rstd[i]);
    if (s->v.is_batch) {
        move_running(s->running_mean, i, m.mean, s->momentum);
        move_running(s->running_var, i, m.m2 / (m.n - 1), s->momentum);
    }
}

channel_factors channel_gradient(const channel_norm *s, int64_t n, int64_t c, double g, double gx) {
    int64_t i = channel_stat(s, n, c);
    double rstd = s->rstd[i], count = (double)s->v.per_stat;
    channel_factors f = {.mean = s->mean[i], .a = s->weights[c] * rstd};
    if (s->v.trains) {
        f.b = -rstd * rstd * rstd * gx / count;
        f.c = -rstd * g / count;
    }
    return f;
}

/* --- by rows ------------------------------------------------------------------------------------------------------------------------ */

static int64_t unit_count(const channel_norm *s) {
    return s->v.is_batch ? (s->C + s->block - 1) / s->block : s->N * s->groups;
}

/* A group whose channels lie one behind the other is one row. */
static void group_moments(const channel_norm *s, int64_t n, int64_t c, char *buffer) {
    channel_moment *m = &s->moments[channel_stat(s, n, c)];
    int64_t size = (int64_t)dtype_size(s->type[NORM_X]);
    const char *at = channel_at(s, NORM_X, n, c);
    for (int64_t done = 0; done < s->v.per_stat; done += ROW_BLOCK) {
        int64_t count = s->v.per_stat - done < ROW_BLOCK ? s->v.per_stat - done : ROW_BLOCK;
        double mean, m2;
        s->l->moments(row_fetch(s->l, buffer, at + done * size, s->type[NORM_X], size, count), count, &mean, &m2);
        channel_merge(m, (double)count, mean, m2);
    }
}

static void unit_moments(const channel_norm *s, channel_unit u, char *buffer) {
    int64_t first = channel_stat(s, u.n_from, u.c_from), last = channel_stat(s, u.n_to - 1, u.c_to - 1);
    memset(&s->moments[first], 0, (size_t)(last - first + 1) * sizeof *s->moments);
    if (s->short_rows && !s->v.is_batch) {
        group_moments(s, u.n_from, u.c_from, buffer);
        channel_finish_stat(s, first);
        return;
    }
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_moments(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment *m = &s->moments[channel_stat(s, n, c)];
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                double mean, m2;
                s->l->moments(fetch(&w, NORM_X, buffer), w.n, &mean, &m2);
                channel_merge(m, (double)w.n, mean, m2);
            }
        }
    }
    for (int64_t i = first; i <= last; i++) {
        channel_finish_stat(s, i);
    }
}

static void unit_forward(const channel_norm *s, channel_unit u, char *buffer) {
    if (s->v.trains) {
        unit_moments(s, u, buffer);
    }
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_forward(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            int64_t i = channel_stat(s, n, c);
            double factor = s->weights[c] * s->rstd[i], plus = s->biases[c] - s->mean[i] * factor;
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                if (s->streams) {
                    stream_scaled(&w, factor, plus, (u.c_to - u.c_from) * s->c_stride[NORM_X], buffer);
                    continue;
                }
                void *to = target(&w, buffer);
                s->l->scale(to, fetch(&w, NORM_X, buffer), factor, plus, w.n);
                put(&w, to);
            }
        }
    }
}

static void unit_sums(const channel_norm *s, channel_unit u, char *buffer) {
    char *more = buffer + ROW_BLOCK * s->l->size;
    for (int64_t n = u.n_from; n < u.n_to; n++) {
        for (int64_t c = u.c_from; c < u.c_to && (n == u.n_from || !s->v.is_batch); c++) {
            s->moments[channel_sum(s, n, c)] = (channel_moment){0};
        }
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_sums(s, n, c, rows, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment *m = &s->moments[channel_sum(s, n, c)];
            double mean = s->mean[channel_stat(s, n, c)];
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                const void *dy = fetch(&w, NORM_DY, buffer);
                row_wide sum = {.f = 0};
                s->l->fold[ROW_SUM](&sum, dy, w.n);
                m->mean += sum.f;
                m->m2 += s->l->dot_centred(dy, fetch(&w, NORM_X, more), mean, w.n);
            }
        }
    }
}

static void unit_backward(const channel_norm *s, channel_unit u, char *buffer) {
    char *more = buffer + ROW_BLOCK * s->l->size;
    double g = 0, gx = 0; /* group norm: over the whole unit */
    if (s->v.trains || s->wants_params) {
        unit_sums(s, u, buffer);
    }
    for (int64_t c = u.c_from; !s->v.is_batch && c < u.c_to; c++) {
        g += s->weights[c] * s->moments[channel_sum(s, u.n_from, c)].mean;
        gx += s->weights[c] * s->moments[channel_sum(s, u.n_from, c)].m2;
    }
    for (int64_t n = u.n_from; s->wants_input && n < u.n_to; n++) {
        for (int64_t c = u.c_from, rows; s->short_rows && c < u.c_to; c += rows) {
            rows = channel_short_count(s, c, u.c_to);
            channel_short_backward(s, n, c, rows, g, gx, buffer);
        }
        for (int64_t c = u.c_from; !s->short_rows && c < u.c_to; c++) {
            channel_moment m = s->moments[channel_sum(s, n, c)];
            double own_g = s->v.is_batch ? s->weights[c] * m.mean : g;
            double own_gx = s->v.is_batch ? s->weights[c] * m.m2 : gx;
            channel_factors f = channel_gradient(s, n, c, own_g, own_gx);
            for (row_walk w = walk_start(s, n, c); walk_next(&w);) {
                if (s->streams) {
                    stream_gradient(&w, f, (u.c_to - u.c_from) * s->c_stride[NORM_X], buffer);
                    continue;
                }
                void *to = target(&w, buffer);
                s->l->channel_grad(to, fetch(&w, NORM_DY, buffer), fetch(&w, NORM_X, more), f.mean, f.a, f.b, f.c, w.n);
                put(&w, to);
            }
        }
    }
}

static void share_units(const void *context) {
    const channel_norm *s = context;
    alignas(64) char buffer[2 * ROW_BLOCK * sizeof(double)];
    int64_t from, to;
    parallel_share(unit_count(s), 1, &from, &to);
    if (s->ring != NULL) {
        channel_ring_run(s, from, to, s->ring + omp_get_thread_num() * s->ring_bytes);
        from = to;
    }
    for (int64_t u = from; u < to; u++) {
        (s->is_backward ? unit_backward : unit_forward)(s, channel_unit_at(s, u), buffer);
    }
    s->l->settle();
}

static void run_units(const channel_norm *s) {
    parallel_run(s->threads, share_units, s);
}

/* --- a run --------------------------------------------------------------------------------------------------------------------------- */

static void read_statistics(const channel_norm *s) {
    for (int64_t i = 0; i < s->v.n_stats; i++) {
        if (!s->v.trains) {
            s->mean[i] = norm_read(s->running_mean, i);
            s->rstd[i] = 1 / sqrt(norm_read(s->running_var, i) + s->v.eps);
        } else if (s->is_backward) {
            s->mean[i] = norm_read(s->mean_in, i);
            s->rstd[i] = norm_read(s->rstd_in, i);
        }
    }
    for (int64_t c = 0; c < s->C; c++) {
        s->weights[c] = s->weight != NULL ? norm_read(s->weight, c) : 1;
        s->biases[c] = s->bias != NULL ? norm_read(s->bias, c) : 0;
    }
}

static void write_params(const channel_norm *s) {
    for (int64_t c = 0; c < s->C; c++) {
        double weight = 0, bias = 0;
        for (int64_t n = 0; n < (s->v.is_batch ? 1 : s->N); n++) {
            channel_moment m = s->moments[channel_sum(s, n, c)];
            weight += m.m2 * s->rstd[channel_stat(s, n, c)];
            bias += m.mean;
        }
        if (s->weight_out != NULL) {
            norm_write(s->weight_out, c, weight);
        }
        if (s->bias_out != NULL) {
            norm_write(s->bias_out, c, bias);
        }
    }
}

static status run_channel_norm(kernel_plan *plan) {
    const channel_norm *s = plan->state;
    read_statistics(s);
    if (!s->by_columns) {
        run_units(s);
    } else if (s->is_backward) {
        channel_columns_backward(s);
    } else {
        channel_columns_forward(s);
    }
    if (s->wants_params) {
        write_params(s);
    }
    return ASSAY_OK;
}

/* --- plans ---------------------------------------------------------------------------------------------------------------------------- */

static bool make_memory(channel_norm *s, arena *memory) {
    int64_t sums = s->is_backward ? (s->v.is_batch ? s->C : s->N * s->C) : s->v.n_stats;
    s->mean = arena_make(memory, (size_t)s->v.n_stats, sizeof *s->mean);
    s->rstd = arena_make(memory, (size_t)s->v.n_stats, sizeof *s->rstd);
    s->moments = arena_make(memory, (size_t)(sums > 0 ? sums : 1), sizeof *s->moments);
    s->weights = arena_make(memory, (size_t)s->C, sizeof *s->weights);
    s->biases = arena_make(memory, (size_t)s->C, sizeof *s->biases);
    bool made = s->mean != NULL && s->rstd != NULL && s->moments != NULL && s->weights != NULL && s->biases != NULL;
    if (made && s->by_columns) {
        s->columns_bytes = (7 * s->C * (int64_t)s->l->size + 63) / 64 * 64 + 7 * 64;
        s->partials = arena_make(memory, (size_t)s->threads * (size_t)s->C, sizeof *s->partials);
        s->columns = arena_make(memory, (size_t)s->threads, (size_t)s->columns_bytes);
        made = s->partials != NULL && s->columns != NULL;
    }
    return made;
}

static void find_tensors(channel_norm *s, kernel_plan *plan) {
    const op_call *call = plan->call;
    const norm_view *v = &s->v;
    s->weight = call_tensor(call, v->weight_arg);
    s->running_mean = v->running_mean_arg >= 0 ? call_tensor(call, v->running_mean_arg) : NULL;
    s->running_var = v->running_var_arg >= 0 ? call_tensor(call, v->running_var_arg) : NULL;
    if (s->is_backward) {
        const bool *mask = call->args[v->mask_arg].bools;
        s->mean_in = call_tensor(call, v->mean_arg);
        s->rstd_in = call_tensor(call, v->rstd_arg);
        s->weight_out = mask[1] ? &plan->out->items[1] : NULL;
        s->bias_out = mask[2] ? &plan->out->items[2] : NULL;
        s->wants_input = mask[0];
        s->wants_params = mask[1] || mask[2];
        return;
    }
    s->bias = call_tensor(call, v->bias_arg);
    s->mean_out = &plan->out->items[1];
    s->rstd_out = &plan->out->items[2];
    s->wants_input = true;
    int momentum = signature_find_param(&call->op->signature, "momentum");
    s->momentum = momentum >= 0 ? call_float(call, momentum) : 0;
}

/* Rows of channels that lie together, where each operand has them so. */
static bool has_columns(const channel_norm *s, int n_operands) {
    bool has = s->C > 1;
    for (int k = 0; k < n_operands; k++) {
        bool is_read = k != NORM_OUT || s->wants_input;
        has = has && (!is_read || s->c_stride[k] == (int64_t)dtype_size(s->type[k]));
    }
    return has;
}

/* Whether channels of few positions lie one behind the other in every operand. */
static bool has_short_rows(const channel_norm *s, int n_operands) {
    bool has = s->S > 0 && s->S <= ROW_BLOCK / 2 && nest_runs(&s->positions) == 1;
    for (int k = 0; k < n_operands; k++) {
        int64_t size = (int64_t)dtype_size(s->type[k]);
        bool is_read = k != NORM_OUT || s->wants_input;
        has = has && (!is_read || ((s->positions.strides[k][0] == size || s->S == 1) && s->c_stride[k] == s->S * size));
    }
    return has;
}

/* Whether results go past the caches: types as computed in, positions dense, all of one stride from channel to channel. */
static bool can_stream(const channel_norm *s, int n_operands, double out_bytes) {
    int64_t size = (int64_t)s->l->size;
    bool can = s->wants_input && out_bytes >= STREAM_MIN_BYTES && s->positions.numel > 0;
    for (int k = 0; k < n_operands; k++) {
        can = can && s->type[k] == s->l->type && s->positions.strides[k][0] == size && s->c_stride[k] == s->c_stride[NORM_X];
    }
    return can;
}

/* Enough channels together to read a few pages in a row, few enough that each thread gets some. */
static int64_t block_channels(const channel_norm *s) {
    enum { BLOCK_ELEMENTS = 4096, UNITS_A_THREAD = 4 };
    int64_t block = s->S > 0 ? BLOCK_ELEMENTS / s->S : s->C, most = s->C / (UNITS_A_THREAD * s->threads);
    block = block < most ? block : most;
    return block > 1 ? block : 1;
}

static int64_t l2_bytes(void) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? bytes : 1 << 20;
#else
    return 1 << 20;
#endif
}

/* A ring for what is gone over twice, where results go past the caches, rows are dense and a unit stays in L2. */
static void choose_ring(channel_norm *s, int n_operands, double out_bytes, arena *memory) {
    bool twice = s->is_backward ? s->wants_input && s->v.trains : s->v.trains;
    /* Elements: in shorter rows, starting and ending each costs more than memory does; conversions cost more still. */
    enum { LEAST_ROW = 256, LEAST_CONVERTED_ROW = 1024 };
    bool steps = true, is_dense = nest_runs(&s->positions) == 1;
    for (int k = 0; k < n_operands; k++) {
        bool is_half = s->l->type == ASSAY_F32 && dtype_size(s->type[k]) == 2;
        steps = steps && s->type[k] == s->type[NORM_X] && (s->type[k] == s->l->type || is_half);
        is_dense = is_dense && s->positions.strides[k][0] == (int64_t)dtype_size(s->type[k]);
    }
    bool can = twice && is_dense && !s->by_columns && out_bytes >= STREAM_MIN_BYTES &&
               s->S >= (steps ? LEAST_ROW : LEAST_CONVERTED_ROW);
    if (!can) {
        return;
    }
    s->ring_size = steps ? (int64_t)dtype_size(s->type[NORM_X]) : (int64_t)s->l->size;
    int64_t channel = (s->v.is_batch ? s->N : 1) * s->S * s->ring_size * (s->is_backward ? 2 : 1);
    int64_t most = l2_bytes() / 8 * 7 / channel, width = s->v.is_batch ? s->block : s->C / s->groups;
    if (most < (s->v.is_batch ? 1 : width)) {
        return;
    }
    s->block = most < s->block ? most : s->block;
    s->ring_steps = steps;
    s->ring_piece = s->ring_steps ? ROW_RING : STREAM_PIECE;
    s->ring_bytes = ((s->v.is_batch ? s->block : width) * channel + 127) / 128 * 128;
    s->ring = arena_make(memory, (size_t)s->threads, (size_t)s->ring_bytes); /* without memory for one: as without */
}

status prepare_channel_norm(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    channel_norm *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    TRY(norm_analyse(call, &s->v, err));
    tensor *x = call_tensor(call, s->v.input_arg);
    s->is_backward = s->v.mask_arg >= 0;
    find_tensors(s, plan);
    tensor *operands[NORM_OPERANDS] = {x, s->wants_input ? &plan->out->items[0] : x,
                                       s->is_backward ? call_tensor(call, 0) : NULL};
    int n_operands = s->is_backward ? NORM_OPERANDS : NORM_DY;
    double bytes = 0;
    for (int k = 0; k < n_operands; k++) {
        int64_t size = (int64_t)dtype_size(operands[k]->dtype);
        s->type[k] = operands[k]->dtype;
        s->data[k] = k != NORM_OUT || s->wants_input ? tensor_data(operands[k]) : NULL;
        s->n_stride[k] = operands[k]->strides[0] * size;
        s->c_stride[k] = operands[k]->strides[1] * size;
        bytes += (double)tensor_numel(x) * (double)size;
    }
    int group = signature_find_param(&call->op->signature, "group");
    s->l = norm_loops(call);
    s->N = x->sizes[0];
    s->C = x->sizes[1];
    s->S = sizes_numel(x->ndim - 2, x->sizes + 2);
    s->groups = group >= 0 ? call_int(call, group) : 1;
    s->threads = parallel_threads(bytes);
    s->block = block_channels(s);
    s->by_columns = has_columns(s, n_operands);
    nest_init(&s->positions, operands, n_operands, nest_all(x->ndim) & ~3u);
    nest_init(&s->rows, operands, n_operands, nest_all(x->ndim) & ~(s->v.is_batch ? 2u : 3u));
    s->short_rows = has_short_rows(s, n_operands);
    s->streams = can_stream(s, n_operands, bytes / n_operands);
    choose_ring(s, n_operands, bytes / n_operands, plan->memory);
    if (!make_memory(s, plan->memory)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %lld channels' statistics", (long long)s->C);
    }
    plan->state = s;
    plan->run = run_channel_norm;
    return ASSAY_OK;
}
