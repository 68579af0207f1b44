/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and their backwards. Sums: blocks in float (double for f64), blocks and threads in double, in order. */
#include "device/caches.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/row_loops.h"
#include "engine/tensor/loop.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* --- nll_loss ----------------------------------------------------------------------------------------------------------- */

typedef struct nll {
    const tensor *self, *target, *weight, *grad, *total;
    const char *targets; /* the target's data, while it runs */
    tensor *out, *total_out;
    int64_t n_rows, n_classes, ignore;
    int64_t row_stride, class_stride, target_stride, weight_stride; /* elements */
    int64_t reduction;
    bool per_row;
    int threads;
    double *partials; /* [threads][3]: loss, weight, bad targets */
    int *team;        /* threads that there were, at most `threads` */
} nll;

static int64_t target_at(const nll *l, int64_t row) {
    const tensor *t = l->target;
    if (t->dtype == ASSAY_I64) {
        return ((const int64_t *)(const void *)l->targets)[row * l->target_stride];
    }
    return element_load_int(t->dtype, l->targets + row * l->target_stride * (int64_t)dtype_size(t->dtype));
}

static double value_at(const tensor *t, int64_t offset) {
    const char *at = tensor_data(t) + offset * (int64_t)dtype_size(t->dtype);
    return t->dtype == ASSAY_F32 ? (double)*(const float *)(const void *)at : element_load(t->dtype, at);
}

static double weight_at(const nll *l, int64_t class) {
    const tensor *w = l->weight;
    return w == NULL ? 1 : value_at(w, class * l->weight_stride);
}

static bool is_valid(const nll *l, int64_t class) {
    return class == l->ignore || (class >= 0 && class < l->n_classes);
}

/* Names the first target that is no class. */
static status check_targets(const nll *l, error *err) {
    for (int64_t i = 0; i < l->n_rows; i++) {
        int64_t class = target_at(l, i);
        if (!is_valid(l, class)) {
            return fail(err, ASSAY_INVALID, "target %" PRId64 " is %" PRId64 ", expected [0, %" PRId64 ")", i, class,
                        l->n_classes);
        }
    }
    return ASSAY_OK;
}

/* Targets that are no class are counted, and nothing is read through them. */
static void forward_rows(const nll *l, int64_t from, int64_t to, double *sums) {
    double sum = 0, weights = 0, bad = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t class = target_at(l, i);
        double term = 0;
        if (!is_valid(l, class)) {
            bad++;
        } else if (class != l->ignore) {
            double w = weight_at(l, class);
            term = -w * value_at(l->self, i * l->row_stride + class * l->class_stride);
            sum += term;
            weights += w;
        }
        if (l->per_row) {
            element_store(l->out->dtype, tensor_data(l->out) + i * (int64_t)dtype_size(l->out->dtype), term);
        }
    }
    sums[0] = sum;
    sums[1] = weights;
    sums[2] = bad;
}

/* As forward_rows, for i64 targets and no output by row. `type` is a constant to the compiler wherever this is called. */
static inline __attribute__((always_inline)) void forward_sum(const nll *l, int64_t from, int64_t to, double *sums, dtype type) {
    const int64_t *target = (const int64_t *)(const void *)tensor_data(l->target);
    const char *self = tensor_data(l->self), *weight = l->weight != NULL ? tensor_data(l->weight) : NULL;
    int64_t size = (int64_t)dtype_size(type), row_bytes = l->row_stride * size, class_bytes = l->class_stride * size;
    int64_t n_classes = l->n_classes, ignore = l->ignore, target_stride = l->target_stride, counted = 0, bad = 0;
    double sum = 0, weights = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t class = target[i * target_stride];
        if (class == ignore) {
            continue;
        }
        if ((uint64_t)class >= (uint64_t)n_classes) {
            bad++;
            continue;
        }
        const char *at = self + i * row_bytes + class * class_bytes;
        double value = type == ASSAY_F32   ? (double)*(const float *)(const void *)at
                       : type == ASSAY_F64 ? *(const double *)(const void *)at
                                           : (double)bf16_to_float(*(const uint16_t *)(const void *)at);
        if (weight != NULL) {
            const char *by = weight + class * l->weight_stride * size;
            double w = type == ASSAY_F32   ? (double)*(const float *)(const void *)by
                       : type == ASSAY_F64 ? *(const double *)(const void *)by
                                           : (double)bf16_to_float(*(const uint16_t *)(const void *)by);
            value *= w;
            weights += w;
        }
        sum -= value;
        counted++;
    }
    sums[0] = sum;
    sums[1] = weight != NULL ? weights : (double)counted;
    sums[2] = (double)bad;
}

static void forward_share(const nll *l, int64_t from, int64_t to, double *sums) {
    dtype type = l->self->dtype;
    bool is_plain = l->target->dtype == ASSAY_I64 && !l->per_row && (l->weight == NULL || l->weight->dtype == type);
    if (is_plain && type == ASSAY_F32) {
        forward_sum(l, from, to, sums, ASSAY_F32);
    } else if (is_plain && type == ASSAY_F64) {
        forward_sum(l, from, to, sums, ASSAY_F64);
    } else if (is_plain && type == ASSAY_BF16) {
        forward_sum(l, from, to, sums, ASSAY_BF16);
    } else {
        forward_rows(l, from, to, sums);
    }
}

static void share_nll_forward(const void *context) {
    const nll *l = context;
    int64_t from, to;
    if (omp_get_thread_num() == 0) {
        *l->team = omp_get_num_threads();
    }
    parallel_share(l->n_rows, 32, &from, &to);
    forward_share(l, from, to, &l->partials[3 * omp_get_thread_num()]);
}

static status run_nll_forward(kernel_plan *plan) {
    nll *l = plan->state;
    l->targets = tensor_data(l->target);
    parallel_run(l->threads, share_nll_forward, l);
    double sum = 0, weights = 0, bad = 0;
    for (int t = 0; t < *l->team; t++) {
        sum += l->partials[3 * t];
        weights += l->partials[3 * t + 1];
        bad += l->partials[3 * t + 2];
    }
    if (bad > 0) {
        return check_targets(l, plan->err);
    }
    if (!l->per_row) {
        element_store(l->out->dtype, tensor_data(l->out), l->reduction == REDUCE_MEAN ? sum / weights : sum);
    }
    element_store(l->total_out->dtype, tensor_data(l->total_out), l->per_row ? 0 : weights);
    return ASSAY_OK;
}

/* Past the caches where they do not hold the gradient. */
static void set_zero(const nll *l, char *at, int64_t n_bytes) {
    static const char zero[16];
    const copy_loops *copies = copy_loops_best();
    if (tensor_bytes(l->out) >= STREAM_MIN_BYTES) {
        copies->fill(at, zero, 0, n_bytes, true);
        copies->settle();
    } else {
        memset(at, 0, (size_t)n_bytes);
    }
}

/* Zeros, then one element a row. */
static void backward_rows(const nll *l, int64_t from, int64_t to) {
    int64_t size = (int64_t)dtype_size(l->out->dtype), grad_size = (int64_t)dtype_size(l->grad->dtype);
    char *out = tensor_data(l->out);
    const char *grad = tensor_data(l->grad);
    int64_t grad_stride = l->per_row && l->grad->ndim > 0 ? l->grad->strides[0] * grad_size : 0;
    double scale = l->reduction == REDUCE_MEAN ? 1 / element_load(l->total->dtype, tensor_data(l->total)) : 1;
    set_zero(l, out + from * l->n_classes * size, (to - from) * l->n_classes * size);
    bool is_one = !l->per_row && l->weight == NULL; /* number for all rows */
    char one[16];
    if (is_one) {
        element_store(l->out->dtype, one, -element_load(l->grad->dtype, grad) * scale);
    }
    for (int64_t i = from; i < to; i++) {
        int64_t class = target_at(l, i);
        if (class != l->ignore && is_one) {
            char *to_one = out + (i * l->n_classes + class) * size; /* of constant size: no call */
            size == 4 ? memcpy(to_one, one, 4) : size == 2 ? memcpy(to_one, one, 2) : memcpy(to_one, one, (size_t)size);
        } else if (class != l->ignore) {
            double value = -weight_at(l, class) * element_load(l->grad->dtype, grad + i * grad_stride) * scale;
            element_store(l->out->dtype, out + (i * l->n_classes + class) * size, value);
        }
    }
}

/* A few rows at a time: of all zeros at once the first would have left the caches when their elements are set. */
static void share_nll_backward(const void *context) {
    enum { ROWS_BYTES = 64 * 1024 };
    const nll *l = context;
    int64_t from, to, row_bytes = l->n_classes * (int64_t)dtype_size(l->out->dtype);
    int64_t some = tensor_bytes(l->out) >= STREAM_MIN_BYTES ? l->n_rows : row_bytes < ROWS_BYTES ? ROWS_BYTES / row_bytes : 1;
    parallel_share(l->n_rows, 1, &from, &to);
    for (int64_t i = from; i < to; i += some) {
        backward_rows(l, i, to - i < some ? to : i + some);
    }
}

static status run_nll_backward(kernel_plan *plan) {
    nll *l = plan->state;
    l->targets = tensor_data(l->target);
    TRY(check_targets(l, plan->err));
    if (l->n_rows * l->n_classes == 0) {
        return ASSAY_OK;
    }
    parallel_run(l->threads, share_nll_backward, l);
    return ASSAY_OK;
}

static status prepare_nll(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    const signature *sig = &call->op->signature;
    nll *l = arena_make(plan->memory, 1, sizeof *l);
    if (l == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    int self = signature_find_param(sig, "self"), total = signature_find_param(sig, "total_weight");
    l->self = call_tensor(call, self);
    l->target = call_tensor(call, self + 1);
    l->weight = call_tensor(call, self + 2);
    l->reduction = call_int(call, self + 3);
    l->ignore = call_int(call, self + 4);
    l->n_rows = l->self->ndim == 2 ? l->self->sizes[0] : 1;
    l->n_classes = l->self->sizes[l->self->ndim - 1];
    l->row_stride = l->self->ndim == 2 ? l->self->strides[0] : 0;
    l->class_stride = l->self->strides[l->self->ndim - 1];
    l->target_stride = l->target->ndim > 0 ? l->target->strides[0] : 0;
    l->weight_stride = l->weight != NULL ? l->weight->strides[0] : 0;
    l->per_row = l->reduction == REDUCE_NONE && l->self->ndim == 2;
    l->out = &plan->out->items[0];
    plan->state = l;
    if (total >= 0) {
        l->grad = call_tensor(call, 0);
        l->total = call_tensor(call, total);
        l->threads = parallel_threads((double)tensor_numel(l->out) * (double)dtype_size(l->out->dtype));
        plan->run = run_nll_backward;
        return ASSAY_OK;
    }
    l->total_out = &plan->out->items[1];
    /* Each row is a cache miss or two. */
    l->threads = parallel_threads(128 * (double)l->n_rows);
    l->partials = arena_make(plan->memory, (size_t)l->threads, 3 * sizeof *l->partials);
    l->team = arena_make(plan->memory, 1, sizeof *l->team);
    plan->run = run_nll_forward;
    return l->partials != NULL && l->team != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial sums");
}

/* --- mse_loss --------------------------------------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = 4 };

typedef struct mse mse;
/* One block of n elements: at[] where the operands are, buffers of ROW_BLOCK for each; answers what it adds to the sum. */
typedef double mse_block_fn(const mse *m, char *const *at, char *const *buffer, int64_t n);

struct mse {
    const row_loops *l;
    loop loop; /* operand 0 the output, save where it is reduced */
    dtype type[MAX_OPERANDS];
    int64_t reduction, count;
    double factor;
    tensor *out;
    mse_block_fn *block;
    bool is_row; /* see run_row */
    int threads;
    int *team; /* threads that there were, at most `threads` */
    double *partials;
};

static const void *fetch(const mse *m, int k, char *const *at, char *const *buffer, int64_t n) {
    return row_fetch(m->l, buffer[k], at[k], m->type[k], m->loop.strides[k][0], n);
}

static double block_none(const mse *m, char *const *at, char *const *buffer, int64_t n) {
    void *to = row_target(m->l, buffer[0], at[0], m->type[0], m->loop.strides[0][0]);
    m->l->square_difference(to, fetch(m, 1, at, buffer, n), fetch(m, 2, at, buffer, n), n);
    row_put(m->l, at[0], m->type[0], m->loop.strides[0][0], to, n);
    return 0;
}

static double block_sum(const mse *m, char *const *at, char *const *buffer, int64_t n) {
    return m->l->distance(fetch(m, 0, at, buffer, n), fetch(m, 1, at, buffer, n), n);
}

static double block_backward(const mse *m, char *const *at, char *const *buffer, int64_t n) {
    void *to = row_target(m->l, buffer[0], at[0], m->type[0], m->loop.strides[0][0]);
    /* One gradient for the whole run (a reduced loss) goes into the factor. */
    bool is_one = m->loop.strides[1][0] == 0;
    double factor = is_one ? m->factor * element_load(m->type[1], at[1]) : m->factor;
    const void *grad = is_one ? NULL : fetch(m, 1, at, buffer, n);
    m->l->scaled_difference(to, grad, fetch(m, 2, at, buffer, n), fetch(m, 3, at, buffer, n), factor, n);
    row_put(m->l, at[0], m->type[0], m->loop.strides[0][0], to, n);
    return 0;
}

static double run_range(const mse *m, int64_t from, int64_t to) {
    alignas(64) char buffers[MAX_OPERANDS][ROW_BLOCK * sizeof(double)];
    char *at[MAX_OPERANDS], *buffer[MAX_OPERANDS] = {buffers[0], buffers[1], buffers[2], buffers[3]};
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    double sum = 0;
    while (from < to) {
        loop_seek(&m->loop, from, index, offset);
        int64_t n = m->loop.sizes[0] - index[0];
        n = n < to - from ? n : to - from;
        n = n < ROW_BLOCK ? n : ROW_BLOCK;
        for (int k = 0; k < m->loop.n_operands; k++) {
            at[k] = m->loop.data[k] + offset[k];
        }
        sum += m->block(m, at, buffer, n);
        from += n;
    }
    return sum;
}

/* Elements of one row that all operands are, of one type, without blocks of them on the way. */
static double run_row(const mse *m, int64_t from, int64_t to) {
    int64_t size = (int64_t)dtype_size(m->type[0]), n = to - from;
    char *const *at = m->loop.data;
    if (m->block == block_sum) {
        return m->l->distance_of(m->type[0], at[0] + from * size, at[1] + from * size, n);
    }
    double factor = m->factor * element_load(m->type[1], at[1]);
    bool past = m->loop.numel * size >= STREAM_MIN_BYTES;
    m->l->difference_stream(m->type[0], at[0] + from * size, at[2] + from * size, at[3] + from * size, factor, n, past);
    m->l->settle();
    return 0;
}

static void share_mse(const void *context) {
    const mse *m = context;
    int64_t from, to;
    if (omp_get_thread_num() == 0) {
        *m->team = omp_get_num_threads();
    }
    parallel_share(m->loop.numel, ROW_BLOCK, &from, &to);
    m->partials[omp_get_thread_num()] = m->is_row ? run_row(m, from, to) : run_range(m, from, to);
}

/* Whether run_row serves it: sums of squares, and gradients of a reduced loss. */
static bool is_one_row(const mse *m) {
    bool is_sum = m->block == block_sum, is_gradient = m->block == block_backward && m->loop.strides[1][0] == 0;
    int64_t size = (int64_t)dtype_size(m->type[0]);
    bool is_half = m->type[0] == ASSAY_F16 || m->type[0] == ASSAY_BF16;
    bool serves = m->type[0] == m->l->type || (is_half && m->l->type == ASSAY_F32);
    for (int k = 0; k < m->loop.n_operands; k++) {
        bool is_number = is_gradient && k == 1;
        serves = serves && (is_number || (m->type[k] == m->type[0] && m->loop.strides[k][0] == size));
    }
    return serves && m->loop.ndim == 1 && (is_sum || is_gradient);
}

static status run_mse(kernel_plan *plan) {
    const mse *m = plan->state;
    parallel_run(m->threads, share_mse, m);
    if (m->block == block_sum) {
        double sum = 0;
        for (int t = 0; t < *m->team; t++) {
            sum += m->partials[t];
        }
        element_store(m->out->dtype, tensor_data(m->out), m->reduction == REDUCE_MEAN ? sum / (double)m->count : sum);
    }
    return ASSAY_OK;
}

static status prepare_mse(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    mse *m = arena_make(plan->memory, 1, sizeof *m);
    if (m == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    bool is_backward = call->op->signature.n_params == 4;
    int n = 0, ndim = 0;
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *operands[MAX_OPERANDS];
    m->out = &plan->out->items[0];
    m->reduction = call_int(call, is_backward ? 3 : 2);
    bool reduces = !is_backward && m->reduction != REDUCE_NONE;
    if (!reduces) {
        operands[n++] = m->out;
    }
    for (int i = 0; i < (is_backward ? 3 : 2); i++) {
        operands[n++] = call_tensor(call, i);
    }
    bool has_double = false;
    double bytes = 0;
    for (int k = 0; k < n; k++) {
        TRY(sizes_broadcast(&ndim, sizes, operands[k]->ndim, operands[k]->sizes, err));
        m->type[k] = operands[k]->dtype;
        has_double = has_double || m->type[k] == ASSAY_F64;
        bytes += tensor_bytes(operands[k]);
    }
    loop_init(&m->loop, ndim, sizes, operands, n);
    m->l = row_loops_for(has_double ? ASSAY_F64 : ASSAY_F32);
    m->count = m->loop.numel;
    m->factor = is_backward && m->reduction == REDUCE_MEAN ? 2 / (double)tensor_numel(call_tensor(call, 1)) : 2;
    m->block = is_backward ? block_backward : reduces ? block_sum : block_none;
    m->is_row = is_one_row(m);
    m->threads = parallel_threads(bytes);
    m->partials = arena_make(plan->memory, (size_t)m->threads, sizeof *m->partials);
    m->team = arena_make(plan->memory, 1, sizeof *m->team);
    plan->state = m;
    plan->run = run_mse;
    return m->partials != NULL && m->team != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial sums");
}

static const kernel_row rows[] = {
    {.op = "nll_loss_forward.default", .prepare = prepare_nll},
    {.op = "nll_loss_backward.default", .prepare = prepare_nll},
    {.op = "mse_loss.default", .prepare = prepare_mse},
    {.op = "mse_loss_backward.default", .prepare = prepare_mse},
};

const kernel_rows kernels_loss = {rows, countof(rows)};
