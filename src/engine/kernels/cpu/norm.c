/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm and its gradient: which way a call takes. Accumulators: see row_loops.h. */
#include "engine/kernels/cpu/norm.h"

#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/norm_layer.h"
#include "engine/kernels/cpu/norm_lines.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <string.h>

/* Rows of so many elements and more that stay in caches are better in flight than several of them gone over at once. */
enum { LEAST_KEPT = 320 };

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
    bool can = 4 * s->v.per_stat * (int64_t)s->l->size <= FLIGHT_BYTES;
    for (int k = 0; k < n_operands; k++) {
        bool is_half = s->l->type == ASSAY_F32 && dtype_size(s->type[k]) == 2;
        can = can && s->type[k] == s->type[X] && (s->type[k] == s->l->type || is_half);
    }
    return can;
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

/* How many lines are gone over by one call; 0: each by its own. Of short ones that spares calls: [262144, 128] floats took 9.4 ms a line at a time,
   and 3.5 so (two cores of a Zen 4), and on two of a Sapphire Rapids 11.6 and 5.2 (2026-11); of those that stay in caches lines of 128 take 0.5 of
   the time, of 768 0.7, of 4096 0.9, their gradients 0.5 to 0.95. Of long ones weights and biases come to L1 once for all: lines of 2048 floats
   6.6 -> 4.9 (Zen 4), where Intel's processors have been fast without. */
static int64_t lines_together(const layer *s, int n_operands) {
    const int64_t n = s->v.per_stat, bytes = n * (int64_t)dtype_size(s->type[X]);
    const bool is_backward = n_operands > DY, is_half = dtype_size(s->type[X]) < s->l->size;
    const int64_t most_kept = is_half && cpu_is_intel() ? MOST_HALVES_TOGETHER : MOST_KEPT_TOGETHER;
    const bool is_short = n >= LEAST_TOGETHER && (!s->streams   ? n <= most_kept
                                                  : is_backward ? bytes <= MOST_BACK_BYTES
                                                                : n <= MOST_TOGETHER);
    const bool is_long = s->streams && !is_backward && !cpu_is_intel() && n >= LEAST_ABREAST && bytes <= ABREAST_BYTES;
    const bool needs_params = is_backward && s->streams;
    bool can = n % LAYER_LINES_STEP == 0 && (is_short || is_long) && (!needs_params || (s->weight != NULL && s->wants_params)) && s->wants_input;
    for (int k = 0; k < n_operands; k++) {
        can = can && lines_follow(s, k);
    }
    if (!can || (s->streams && ((uintptr_t)bytes | (uintptr_t)s->lines.data[OUT]) % STREAM_LINE_BYTES != 0)) {
        return 0;
    }
    const int64_t some = is_long ? 0 : TOGETHER_BYTES / bytes;
    return some < LINES_ABREAST ? LINES_ABREAST : some < LINES_TOGETHER ? some : LINES_TOGETHER;
}

/* Whether operand k's lines lie one behind the other for as long as x's lie beside each other. */
static bool neighbours_follow(const layer *s, int k) {
    int64_t size = (int64_t)dtype_size(s->type[k]);
    return s->line.ndim == 1 && s->line.strides[k][0] == size && s->lines.ndim > 0 && s->lines.strides[k][0] == s->v.per_stat * size;
}

/* How many lines are turned round at a time, which L1 or L2 holds. */
static int64_t turned_lines(const layer *s) {
    enum { TURNED_BYTES = 64 * 1024, LEAST = 4, MOST = 64 };
    int64_t size = (int64_t)dtype_size(s->type[X]), n = s->v.per_stat;
    bool beside = s->line.ndim == 1 && n > 1 && s->line.strides[X][0] != size && s->lines.ndim > 0 && s->lines.strides[X][0] == size;
    int64_t some = beside && s->lines.sizes[0] >= LEAST ? TURNED_BYTES / (n * size) : 0;
    return some < LEAST ? 0 : some < MOST ? some : MOST;
}

/* Ones for a weight and zeros for a bias that there is not: fewer loops than one for each such case. */
static void stand_in(layer *s) {
    const int64_t n = s->line_bytes / (int64_t)s->l->size;
    if (s->weight == NULL) {
        s->l->fill(s->params, 1, n);
        s->plain_weight = s->params;
    }
    if (s->bias == NULL) {
        s->l->fill(s->params + s->line_bytes, 0, n);
        s->plain_bias = s->params + s->line_bytes;
    }
}

/* Of no rows, or of channels without elements: nothing to norm, and gradients of parameters that are sums of nothing. */
static status run_of_nothing(kernel_plan *plan) {
    for (int i = 0; i < plan->out->n; i++) {
        const size_t bytes = (size_t)tensor_bytes(&plan->out->items[i]);
        if (bytes > 0) {
            memset(tensor_data(&plan->out->items[i]), 0, bytes);
        }
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
    if (s->v.n_stats == 0) { /* before room is taken for a row, which may be as long as no memory is */
        plan->run = run_of_nothing;
        return ASSAY_OK;
    }
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
    s->weight = s->v.weight_arg >= 0 ? call_tensor(call, s->v.weight_arg) : NULL;
    s->bias = !is_backward ? call_tensor(call, s->v.bias_arg) : NULL;
    s->wants_params = is_backward && (mask[1] || mask[2]);
    bool dense = is_dense(s, n_operands);
    const bool past = streams_norm((double)tensor_numel(x) * (double)dtype_size(s->type[OUT]), bytes);
    s->streams = dense && past;
    const bool can = dense && can_fly(s, n_operands);
    s->together = can ? lines_together(s, n_operands) : 0;
    s->in_flight = s->together > 0 || (can && s->v.per_stat >= STREAM_LEAST && (s->streams || is_backward || s->v.per_stat >= LEAST_KEPT));
    s->short_lines = dense && !s->in_flight && s->v.per_stat > 0 && s->v.per_stat <= SHORT_LINE;
    s->threads = parallel_threads(bytes);
    s->threads = s->v.n_stats < s->threads ? (int)s->v.n_stats : s->threads;
    s->line_bytes = ((s->in_flight ? row_beside_room(s->v.per_stat) : s->v.per_stat) * (int64_t)s->l->size + 63) / 64 * 64;
    s->turned = dense ? 0 : turned_lines(s);
    s->turned_short = s->v.per_stat <= SHORT_LINE && is_backward && s->wants_input && neighbours_follow(s, DY) && neighbours_follow(s, OUT);
    s->turned_stream = past;
    s->work_bytes = s->line_bytes;
    if (is_backward) {
        s->mean_in = norm_as_line(call_tensor(call, s->v.mean_arg), &s->mean_view);
        s->rstd_in = norm_as_line(call_tensor(call, s->v.rstd_arg), &s->rstd_view);
        s->weight_out = mask[1] ? &plan->out->items[1] : NULL;
        s->bias_out = mask[2] ? &plan->out->items[2] : NULL;
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
    if (s->together > 0 && !s->streams) {
        stand_in(s);
    }
    plan->state = s;
    plan->run = is_backward ? layer_backward : layer_forward;
    return ASSAY_OK;
}

static status prepare_batch_norm(kernel_plan *plan, error *err) {
    if (tensor_numel(call_tensor(plan->call, signature_find_param(&plan->call->op->signature, "input"))) > 0) {
        return prepare_channel_norm(plan, err);
    }
    plan->run = run_of_nothing;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "native_layer_norm.default", .prepare = prepare_layer},
    {.op = "native_layer_norm_backward.default", .prepare = prepare_layer},
    {.op = "native_batch_norm.default", .prepare = prepare_batch_norm},
    {.op = "native_batch_norm_backward.default", .prepare = prepare_batch_norm},
    {.op = "native_group_norm.default", .prepare = prepare_channel_norm},
    {.op = "native_group_norm_backward.default", .prepare = prepare_channel_norm},
};

const kernel_rows kernels_norm = {rows, countof(rows)};
