/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm: which way a call is gone over, and what comes before and behind. */
#include "engine/kernels/cpu/norm_columns.h"
#include "engine/kernels/cpu/norm_group.h"
#include "engine/kernels/cpu/norm_neighbours.h"
#include "engine/kernels/cpu/norm_rows.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <math.h>

/* --- a run --------------------------------------------------------------------------------------------------------------------------- */

static void read_or_fill(const tensor *t, double otherwise, double *to, int64_t n) {
    if (t != NULL) {
        norm_read_some(t, 0, n, to);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = otherwise;
    }
}

static void read_statistics(const channel_norm *s) {
    if (!s->v.trains) {
        norm_read_some(s->running_mean, 0, s->v.n_stats, s->mean);
        norm_read_some(s->running_var, 0, s->v.n_stats, s->rstd);
        for (int64_t i = 0; i < s->v.n_stats; i++) {
            s->rstd[i] = 1 / sqrt(s->rstd[i] + s->v.eps);
        }
    } else if (s->is_backward) {
        norm_read_some(s->mean_in, 0, s->v.n_stats, s->mean);
        norm_read_some(s->rstd_in, 0, s->v.n_stats, s->rstd);
    }
    read_or_fill(s->weight, 1, s->weights, s->C);
    read_or_fill(s->bias, 0, s->biases, s->C);
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
        channel_rows_run(s);
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
    if (made && s->shares_units) {
        s->partials = arena_make(memory, 2 * (size_t)s->threads * (size_t)s->C, sizeof *s->partials);
        made = s->partials != NULL;
        if (made && !s->is_backward) {
            s->own_stats = arena_make(memory, 2 * (size_t)s->threads * (size_t)s->C, sizeof *s->own_stats);
            made = s->own_stats != NULL;
        }
    }
    if (made && s->takes_neighbours) {
        s->columns_bytes = channel_neighbours_bytes(s) + 7 * 64;
        s->columns = arena_make(memory, (size_t)s->threads, (size_t)s->columns_bytes);
        made = s->columns != NULL;
    }
    if (made && s->by_columns) {
        s->columns_bytes = (7 * s->C * (int64_t)s->l->size + 63) / 64 * 64 + 7 * (64 + PARALLEL_APART_BYTES); /* norm_columns.c: factors */
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
static bool can_stream(const channel_norm *s, int n_operands) {
    int64_t size = (int64_t)s->l->size;
    bool can = s->wants_input && s->past && s->positions.numel > 0;
    for (int k = 0; k < n_operands; k++) {
        can = can && s->type[k] == s->l->type && s->positions.strides[k][0] == size && s->c_stride[k] == s->c_stride[NORM_X];
    }
    return can;
}

/* Whether rows lie one behind the other, of one type that rows are scaled in: shorter ones are gone over several at a time. */
static bool can_scale_rows(const channel_norm *s) {
    enum { LEAST = 64 };
    const int64_t size = (int64_t)dtype_size(s->type[NORM_X]);
    bool can = s->type[NORM_X] == s->type[NORM_OUT] && (s->type[NORM_X] == s->l->type || (s->l->type == ASSAY_F32 && size == 2)) &&
               s->S >= LEAST && nest_runs(&s->positions) == 1;
    for (int k = NORM_X; k <= NORM_OUT; k++) {
        can = can && s->positions.strides[k][0] == size && s->c_stride[k] == s->S * size;
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

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many rows at a time come from memory, from as many places. On two cores of a Granite Rapids batch norm of [64, 256, 56, 56] takes
   12.5 ms by one, 10.6 by two and 9.2 by four, its gradient 20.4, 19.3 and 19.4, group norm 10.8, 9.4 and 9.5 to 10.1; on two cores of a
   Zen 4 10.2, 9.7 and 9.7, 17.2, 16.4 and 17.1, 8.0, 7.2 and 7.5 (2026-11). The gradient of group norm has sums of its own for each
   channel. */
static int64_t rows_side_by_side(const channel_norm *s) {
    if (s->is_backward && !s->v.is_batch) {
        return 1;
    }
    return cpu_is_intel() && s->v.is_batch && !s->is_backward ? RING_ROWS : RING_ROWS / 2;
}

/* Whether threads may go over each unit together: half of a channel stays in a core's own cache where a whole one, beside what is read
   meanwhile, does not. Two cores of a Granite Rapids: batch norm of [64, 64, 112, 112] 16.1 -> 10.6 ms, the gradient of [64, 256, 56, 56]
   20.0 -> 16.4; blocks of channels that take more than a quarter of L2 up to a tenth more. Of a Zen 4: 13.7 -> 9.9, 19.2 -> 16.4.
   On 4, 8 and 16 cores of a Sapphire Rapids the gradient of [128, 512, 28, 28] takes 0.89, 0.80 and 0.82 of the time so (2026-11). */
static bool may_share_units(const channel_norm *s) {
    return s->v.is_batch && s->threads > 1 && s->N >= (int64_t)s->threads * RING_ROWS;
}

/* How many neighbours of so many bytes end where a line of memory does. */
static int64_t whole_lines(int64_t bytes) {
    enum { LINE = 64 };
    int64_t n = 1;
    while (bytes * n % LINE != 0) { /* a power of two up to LINE */
        n *= 2;
    }
    return n;
}

/* The longest rows that are gone over with their neighbours' on other processors than Intel's. Batch norm on two cores of a Zen 4, ms with
   neighbours and without, f32: [512, 1024, 7, 7] 8.0 and 12.9, [256, 512, 14, 14] 7.4 and 8.6; f16: the former 8.7 and 11.0, [512, 512, 10, 10]
   9.3 and 11.0, [512, 512, 14, 14] 17.4 and 16.4; gradients in f32: [512, 1024, 4, 8] 14.0 and 15.7, [512, 512, 10, 10] both 21.2, [256, 512,
   14, 14] 16.8 and 13.7 (2026-11). */
static int64_t most_neighbour_row(const channel_norm *s) {
    enum { BACKWARD = 64, HALVES = 128 };
    return cpu_is_intel() ? INT64_MAX : s->is_backward ? BACKWARD : s->type[NORM_X] != s->l->type ? HALVES : INT64_MAX;
}

/* A ring of short rows: of so many neighbouring channels as L2 holds what is kept of them, which end where lines of memory do: [256, 512,
   14, 14] by nine 10.0 ms, by eight 7.4 (two cores of a Zen 4, 2026-11). Halves are kept as they are where all are of one type. */
static void choose_neighbours(channel_norm *s, int n_operands, arena *memory) {
    const int64_t fits = cpu_l2_bytes() / 8 * 7, wanted = least_of(NEIGHBOUR_COLUMNS / s->S, s->C);
    bool is_one = true;
    for (int k = 0; k < n_operands; k++) {
        is_one = is_one && s->type[k] == s->type[NORM_X];
    }
    s->ring_size = (int64_t)(is_one ? dtype_size(s->type[NORM_X]) : s->l->size);
    int64_t channel = s->N * s->S * s->ring_size * (s->is_backward ? 2 : 1);
    if (may_share_units(s) && wanted * channel > fits) {
        s->shares_units = true;
        channel = channel / s->N * ((s->N + s->threads - 1) / s->threads);
    }
    if (fits < channel) {
        s->shares_units = false;
        return;
    }
    s->takes_neighbours = true;
    s->block = least_of(wanted, fits / channel);
    if (!s->shares_units) { /* as many units for each thread, as wide as each other */
        const int64_t units = (s->C + s->block - 1) / s->block, all = (units + s->threads - 1) / s->threads * s->threads;
        s->block = (s->C + all - 1) / all;
    }
    const int64_t lines = whole_lines(s->S * (int64_t)dtype_size(s->type[NORM_OUT]));
    s->block -= s->block > lines ? s->block % lines : 0;
    s->ring_bytes = (s->block * channel + 127) / 128 * 128;
    s->ring = arena_make(memory, (size_t)s->threads, (size_t)s->ring_bytes);
}

/* Whether a ring is worth it that keeps some of a channel's samples, while the others are read twice. Two cores of a Granite Rapids, f32:
   the gradient of [64, 64, 112, 112] 27.8 -> 22.6 ms, of which 18 of a thread's 32 samples are kept; batch norm of [512, 64, 112, 112] 167 ->
   111, 36 of 256; of a Zen 4 the first 21.3 -> 19.4 (2026-11; threads share such channels as well then). */
static bool keeps_part(const channel_norm *s, int64_t fits, int64_t sample) {
    return s->ring_steps && s->v.is_batch && fits / sample >= s->ring_rows;
}

/* Elements: in shorter rows, starting and ending each costs more than memory does, or than going over several at once where caches hold
   them. Groups whose channels lie together are one row as it is: of [4, 64, 32, 32] floats 33 us, and 41 by channels (two cores of a Zen 4,
   2026-11). */
static int64_t least_kept_row(const channel_norm *s) {
    static const int64_t forward[2][2] = {{ROW_BLOCK / 2 + 1, 1024}, {640, 256}}, backward[2][2] = {{768, 768}, {384, 256}};
    const bool is_half = s->type[NORM_X] != s->l->type;
    return s->is_backward ? backward[is_half][s->v.is_batch] : forward[is_half][s->v.is_batch];
}

/* Whether rows side by side are kept a block of each in turn, one place to write instead of several. Two cores of a Zen 5 whose memory is
   read at 73 to 80 GB/s, [64, 256, 56, 56] floats: group norm 9.1 -> 6.0 ms, batch norm 6.8 -> 5.9, its gradient 9.6 -> 8.5; no other where
   it is read at 40 (2026-11). What is finished would run ahead of it where a row's results begin within a line. */
static bool keeps_in_turn(const channel_norm *s) {
    enum { LINE = 64 };
    int64_t row = s->S * (int64_t)dtype_size(s->type[NORM_OUT]);
    uintptr_t places = (uintptr_t)s->data[NORM_OUT] | (uintptr_t)s->n_stride[NORM_OUT] | (uintptr_t)s->c_stride[NORM_OUT] | (uintptr_t)row;
    return s->ring_rows > 1 && places % LINE == 0;
}

/* A ring for what is gone over twice, where results go past the caches, rows are dense and a unit stays in L2; where it does not, and
   where caches hold all, rows of one type are gone over twice where they lie. */
static void choose_ring(channel_norm *s, int n_operands, arena *memory) {
    bool twice = s->is_backward ? s->wants_input && s->v.trains : s->v.trains;
    enum { LEAST_ROW = 256, LEAST_CONVERTED_ROW = 1024 };
    bool steps = true, is_dense = nest_runs(&s->positions) == 1;
    for (int k = 0; k < n_operands; k++) {
        bool is_half = s->l->type == ASSAY_F32 && dtype_size(s->type[k]) == 2;
        steps = steps && s->type[k] == s->type[NORM_X] && (s->type[k] == s->l->type || is_half);
        is_dense = is_dense && s->positions.strides[k][0] == (int64_t)dtype_size(s->type[k]);
    }
    bool can = twice && is_dense && !s->by_columns && (steps || s->past) &&
               s->S >= (!steps ? LEAST_CONVERTED_ROW : s->past ? LEAST_ROW : least_kept_row(s));
    if (!can && twice && is_dense && s->past && s->v.is_batch && s->short_rows && s->S >= NEIGHBOUR_LEAST_ROW && s->S <= most_neighbour_row(s)) {
        choose_neighbours(s, n_operands, memory);
    }
    if (!can) {
        return;
    }
    if (channel_group_suits(s, n_operands)) {
        s->by_groups = true;
        s->ring_bytes = channel_group_bytes(s);
        s->ring = arena_make(memory, (size_t)s->threads, (size_t)s->ring_bytes);
        return;
    }
    if (!s->past) {
        s->twice = true;
        s->block = 1;
        return;
    }
    s->ring_size = steps ? (int64_t)dtype_size(s->type[NORM_X]) : (int64_t)s->l->size;
    s->ring_steps = steps;
    s->ring_piece = s->ring_steps ? ROW_RING : STREAM_PIECE;
    s->ring_rows = s->ring_steps ? rows_side_by_side(s) : 1;
    s->ring_samples = INT64_MAX;
    s->ring_in_turn = keeps_in_turn(s);
    int64_t sample = s->S * s->ring_size * (s->is_backward ? 2 : 1), channel = (s->v.is_batch ? s->N : 1) * sample;
    const int64_t l2 = cpu_l2_bytes(), fits = l2 / 8 * 7, width = s->v.is_batch ? s->block : s->C / s->groups;
    int64_t most = fits / channel;
    if (steps && may_share_units(s) && least_of(most > 1 ? most : 1, s->block) * channel > l2 / 2) {
        const int64_t own = sample * ((s->N + s->threads - 1) / s->threads); /* of a thread's samples */
        s->shares_units = own <= fits || keeps_part(s, fits, sample);
        channel = s->shares_units ? own : channel;
        most = s->shares_units ? (own <= l2 / 4 ? l2 / 4 / own : 1) : most;
    }
    if (channel > fits && keeps_part(s, fits, sample)) {
        s->ring_samples = fits / sample / s->ring_rows * s->ring_rows;
        channel = s->ring_samples * sample;
        most = 1;
    }
    if (most < (s->v.is_batch ? 1 : width)) {
        s->twice = steps;
        s->block = steps ? 1 : s->block;
        return;
    }
    s->block = least_of(most, s->block);
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
    s->past = streams_norm((double)tensor_numel(x) * (double)dtype_size(s->type[NORM_OUT]), bytes);
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
    bool are_halves = s->type[NORM_X] == s->type[NORM_OUT] && (s->type[NORM_X] == ASSAY_F16 || s->type[NORM_X] == ASSAY_BF16);
    bool are_dense = s->positions.strides[NORM_X][0] == (int64_t)sizeof(uint16_t) && s->positions.strides[NORM_OUT][0] == (int64_t)sizeof(uint16_t);
    s->halves = are_halves && are_dense ? row_halves_for(s->type[NORM_X]) : NULL;
    s->streams = s->by_columns ? s->past : can_stream(s, n_operands);
    enum { BLOCK = 64, LONG = 768 };
    const bool by_running = !s->is_backward && s->v.is_batch && !s->v.trains && !s->by_columns;
    const bool scales = by_running && can_scale_rows(s);
    s->scales_past = scales && s->N * s->C * s->S * (int64_t)dtype_size(s->type[NORM_OUT]) >= STREAM_MIN_BYTES;
    s->scales_rows = scales && (s->scales_past || s->S % BLOCK == 0 || s->S >= LONG); /* elsewhere ends take longer than calls */
    s->in_order = by_running && (s->scales_rows || s->streams);
    choose_ring(s, n_operands, plan->memory);
    if (!make_memory(s, plan->memory)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %lld channels' statistics", (long long)s->C);
    }
    plan->state = s;
    plan->run = run_channel_norm;
    return ASSAY_OK;
}
