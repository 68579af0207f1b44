/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and their backwards. Reduction: 0 none, 1 mean, 2 sum. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/pointwise.h"
#include "engine/tensor/agree.h"

#include <inttypes.h>
#include <math.h>

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static status check_reduction(const op_call *call, int at, error *err) {
    int64_t how = call_int(call, at);
    if (how < REDUCE_NONE || how > REDUCE_SUM) {
        return fail(err, ASSAY_INVALID, "%s: expected reduction 0 (none), 1 (mean) or 2 (sum), got %" PRId64,
                    call->op->signature.full, how);
    }
    return ASSAY_OK;
}

/* --- nll_loss ----------------------------------------------------------------------------------------------------------- */

/* Where the two operators keep what they share. self is [N, C] or [C]. */
typedef struct nll {
    int self_arg, weight_arg, reduction_arg, ignore_arg;
    int64_t n_rows, n_classes;
    bool per_row; /* reduction none of [N, C]: a value for each row. [C] alone sums, as ATen does */
} nll;

static nll nll_of(const op_call *call) {
    const signature *s = &call->op->signature;
    nll l = {.self_arg = signature_find_param(s, "self"),
             .weight_arg = signature_find_param(s, "weight"),
             .reduction_arg = signature_find_param(s, "reduction"),
             .ignore_arg = signature_find_param(s, "ignore_index")};
    const tensor *self = call_tensor(call, l.self_arg);
    l.n_rows = self->ndim == 2 ? self->sizes[0] : 1;
    l.n_classes = self->ndim > 0 ? self->sizes[self->ndim - 1] : 1;
    l.per_row = call_int(call, l.reduction_arg) == REDUCE_NONE && self->ndim == 2;
    return l;
}

static status check_nll(const op_call *call, bool out_is_gradient, error *err) {
    nll l = nll_of(call);
    const tensor *self = call_tensor(call, l.self_arg), *target = call_tensor(call, l.self_arg + 1);
    const tensor *weight = call_tensor(call, l.weight_arg);
    const char *name = call->op->signature.full;
    char text[TENSOR_TEXT_BYTES];
    TRY(check_reduction(call, l.reduction_arg, err));
    if (self->ndim < 1 || self->ndim > 2 || !dtype_is_floating(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected floating self of 1 or 2 dimensions, got %.300s", name,
                    tensor_describe(text, self));
    }
    if (target->dtype != ASSAY_I64 && target->dtype != ASSAY_U8) {
        return fail(err, ASSAY_INVALID, "%s: expected targets of type i64 or u8, got %s", name,
                    assay_dtype_name(target->dtype));
    }
    if (target->ndim > 1 || tensor_numel(target) != l.n_rows || (self->ndim == 2 && target->ndim != 1)) {
        return fail(err, ASSAY_INVALID, "%s: expected one target for each of %" PRId64 " rows, got %.300s", name, l.n_rows,
                    tensor_describe(text, target));
    }
    if (out_is_gradient && self->ndim != target->ndim + 1) {
        return fail(err, ASSAY_INVALID, "%s: expected a target without dimensions beside self of classes alone, got %.300s", name,
                    tensor_describe(text, target));
    }
    if (weight != NULL && (weight->ndim != 1 || weight->sizes[0] != l.n_classes || !dtype_is_floating(weight->dtype))) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating weight for each of %" PRId64 " classes, got %.300s", name,
                    l.n_classes, tensor_describe(text, weight));
    }
    return ASSAY_OK;
}

static status nll_forward_infer(const op_call *call, outputs *out, error *err) {
    TRY(check_nll(call, false, err));
    nll l = nll_of(call);
    dtype t = call_tensor(call, l.self_arg)->dtype;
    TRY(outputs_add(out, t, l.per_row ? 1 : 0, &l.n_rows, err));
    return outputs_add(out, t, 0, NULL, err);
}

static status nll_forward(ref_ctx *ctx, error *err) {
    nll l = nll_of(ctx->call);
    const double *x = ref_real(ctx, l.self_arg), *weight = ref_real(ctx, l.weight_arg);
    const int64_t *target = ref_ints(ctx, l.self_arg + 1);
    double *loss = ref_output(ctx, 0), *total = ref_output(ctx, 1), *loss_squares = ref_squares(ctx, 0);
    double sum = 0, weights = 0, squares = 0;
    if (x == NULL || target == NULL || loss == NULL || total == NULL || loss_squares == NULL) {
        return ASSAY_OK; /* ctx->failed says so */
    }
    for (int64_t i = 0; i < l.n_rows; i++) {
        if (target[i] == call_int(ctx->call, l.ignore_arg)) {
            continue;
        }
        if (target[i] < 0 || target[i] >= l.n_classes) {
            return fail(err, ASSAY_INVALID, "nll_loss_forward: target %" PRId64 " is %" PRId64 ", expected [0, %" PRId64 ")",
                        i, target[i], l.n_classes);
        }
        double w = weight != NULL ? weight[target[i]] : 1;
        double term = -w * x[i * l.n_classes + target[i]];
        sum += term;
        weights += w;
        squares += term * term;
        if (l.per_row) {
            loss[i] = term;
            loss_squares[i] = term * term;
        }
    }
    if (!l.per_row) {
        bool is_mean = call_int(ctx->call, l.reduction_arg) == REDUCE_MEAN;
        loss[0] = is_mean ? sum / weights : sum;
        loss_squares[0] = is_mean ? squares / (weights * weights) : squares;
        total[0] = weights;
    }
    return ASSAY_OK;
}

static status nll_backward_infer(const op_call *call, outputs *out, error *err) {
    TRY(check_nll(call, true, err));
    nll l = nll_of(call);
    const tensor *grad = call_tensor(call, 0), *self = call_tensor(call, l.self_arg), *total = call_tensor(call, 6);
    char text[TENSOR_TEXT_BYTES];
    if (tensor_numel(grad) != (l.per_row ? l.n_rows : 1) || grad->ndim > 1 || (l.per_row && grad->ndim == 0) || !dtype_is_floating(grad->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating grad_output%s with %" PRId64 " elements, got %.300s",
                    call->op->signature.full, l.per_row ? " of one dimension" : "", l.per_row ? l.n_rows : 1, tensor_describe(text, grad));
    }
    if (tensor_numel(total) != 1 || !dtype_is_floating(total->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected total_weight to be one floating number, got %.300s",
                    call->op->signature.full, tensor_describe(text, total));
    }
    return outputs_add(out, self->dtype, self->ndim, self->sizes, err);
}

static double nll_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out, (void)norm;
    nll l = nll_of(ctx->call);
    const double *grad = ref_real(ctx, 0), *weight = ref_real(ctx, l.weight_arg), *total = ref_real(ctx, 6);
    const int64_t *target = ref_ints(ctx, l.self_arg + 1);
    if (grad == NULL || target == NULL || total == NULL) {
        return 0;
    }
    int64_t row = flat / l.n_classes, class = flat % l.n_classes;
    if (target[row] != class || target[row] == call_int(ctx->call, l.ignore_arg)) {
        return 0;
    }
    double value = -(weight != NULL ? weight[class] : 1) * grad[l.per_row ? row : 0];
    return call_int(ctx->call, l.reduction_arg) == REDUCE_MEAN ? value / total[0] : value;
}

/* Classes, one in 16 of them ignored; positive weights; the total weight that goes with them. */
static status nll_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    nll l = nll_of(call);
    tensor *target = call_tensor(call, l.self_arg + 1), *weight = call_tensor(call, l.weight_arg);
    int64_t ignored = call_int(call, l.ignore_arg);
    bool can_ignore = target->dtype == ASSAY_I64 || (ignored >= 0 && ignored < 256);
    char *data = tensor_data(target);
    double total = 0;
    if (weight != NULL) {
        fill_uniform(weight, r, 0.5, 1.5);
    }
    if (data == NULL) {
        return ASSAY_OK;
    }
    int64_t classes = target->dtype == ASSAY_U8 && l.n_classes > 256 ? 256 : l.n_classes;
    size_t size = dtype_size(target->dtype), weight_size = weight != NULL ? dtype_size(weight->dtype) : 0;
    for (int64_t i = 0; i < l.n_rows; i++) {
        bool ignores = can_ignore && rng_range(r, 0, 16) == 0 && i > 0;
        int64_t class = ignores ? ignored : rng_range(r, 0, classes);
        element_store_int(target->dtype, data + (size_t)tensor_offset_of(target, i) * size, class);
        if (!ignores && class != ignored && class < l.n_classes) {
            total += weight == NULL ? 1
                                    : element_load(weight->dtype, tensor_data(weight) +
                                                                      (size_t)tensor_offset_of(weight, class) * weight_size);
        }
    }
    int total_arg = signature_find_param(&call->op->signature, "total_weight");
    if (total_arg >= 0) {
        fill_constant(call_tensor(call, total_arg), total > 0 ? total : 1);
    }
    return ASSAY_OK;
}

/* The forward reads one element of each row, the backward none: that is what must move. */
static void nll_cost(const op_call *call, const outputs *out, op_cost *cost) {
    nll l = nll_of(call);
    const bool is_forward = out->n == 2;
    op_cost_reads(call, l.self_arg, is_forward ? (double)l.n_rows * (double)dtype_size(call_tensor(call, l.self_arg)->dtype) : 0, cost);
    if (is_forward) {
        cost->reduction = l.per_row ? 1 : fmax((double)l.n_rows, 1);
    }
    cost->flops = 2 * (double)l.n_rows;
}

/* --- mse_loss(self, target, reduction) -------------------------------------------------------------------------------------- */

/* Row-major index in t of the element that broadcasts to `flat` of the common shape. */
static int64_t broadcast_flat(const tensor *t, int ndim, const int64_t *sizes, int64_t flat) {
    int64_t at = 0, stride = 1;
    for (int d = ndim - 1, own = t->ndim - 1; own >= 0; d--, own--) {
        at += t->sizes[own] == 1 ? 0 : flat % sizes[d] * stride;
        stride *= t->sizes[own];
        flat /= sizes[d];
    }
    return at;
}

static status mse_types(const op_call *call, const pointwise *p, error *err) {
    return dtype_is_floating(p->compute) ? ASSAY_OK
                                         : fail(err, ASSAY_INVALID, "%s: expected floating tensors, got %s",
                                                call->op->signature.full, assay_dtype_name(p->compute));
}

static status mse_infer(const op_call *call, outputs *out, error *err) {
    pointwise p;
    TRY(check_reduction(call, 2, err));
    TRY(pointwise_analyse(call, &p, err));
    TRY(mse_types(call, &p, err));
    if (call_int(call, 2) != REDUCE_NONE) {
        return outputs_add(out, p.result, 0, NULL, err);
    }
    return pointwise_infer(call, out, err);
}

/* x, or what it is in the type computed in where t, without dimensions, may be rounded to that first. */
static double rounded_operand(const pointwise *p, int k, double x) {
    const tensor *t = p->operand[k];
    uint64_t bits = 0;
    if (t->ndim > 0 || t->dtype == p->compute || dtype_size(p->compute) != 2) {
        return x;
    }
    element_store(p->compute, &bits, x);
    return element_load(p->compute, &bits);
}

static double mse_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    pointwise p;
    const double *x = ref_real(ctx, 0), *y = ref_real(ctx, 1);
    if (x == NULL || y == NULL || pointwise_analyse(ctx->call, &p, NULL) != ASSAY_OK) {
        return 0;
    }
    int64_t how = call_int(ctx->call, 2), n = sizes_numel(p.ndim, p.sizes);
    int64_t from = how == REDUCE_NONE ? flat : 0, to = how == REDUCE_NONE ? flat + 1 : n;
    double scale = how == REDUCE_MEAN ? 1 / (double)n : 1, sum = 0, of_rounded = 0;
    for (int64_t i = from; i < to; i++) {
        double a = x[broadcast_flat(p.operand[0], p.ndim, p.sizes, i)];
        double b = y[broadcast_flat(p.operand[1], p.ndim, p.sizes, i)];
        double term = (a - b) * (a - b) * scale, distance = rounded_operand(&p, 0, a) - rounded_operand(&p, 1, b);
        sum += term;
        of_rounded += distance * distance * scale;
        *norm += term * term;
    }
    const double slack = agree_norm_of_slack(p.compute, (double)(to - from), fabs(of_rounded - sum));
    *norm += isfinite(slack) ? slack * slack : 0; /* either is right (docs/accuracy.md) */
    return n == 0 && how == REDUCE_MEAN ? NAN : sum;
}

static void mse_cost(const op_call *call, const outputs *out, op_cost *cost) {
    pointwise p;
    if (pointwise_analyse(call, &p, NULL) == ASSAY_OK) {
        double n = (double)sizes_numel(p.ndim, p.sizes);
        cost->reduction = fmax(n / fmax((double)tensor_numel(&out->items[0]), 1), 1);
        cost->flops = (cost->reduction > 1 ? 3 : 2) * n;
    }
}

/* mse_loss_backward(grad_output, self, target, reduction): the shape that all three broadcast to, contiguous; of self's type. */
static status mse_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 1);
    pointwise p;
    TRY(check_reduction(call, 3, err));
    TRY(pointwise_analyse(call, &p, err));
    TRY(mse_types(call, &p, err));
    if (!dtype_is_floating(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected floating self, got %s", call->op->signature.full,
                    assay_dtype_name(self->dtype));
    }
    return outputs_add(out, self->dtype, p.ndim, p.sizes, err);
}

static double mse_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const tensor *grad = call_tensor(ctx->call, 0), *self = call_tensor(ctx->call, 1);
    const tensor *target = call_tensor(ctx->call, 2), *made = &ctx->out->items[out];
    const double *g = ref_real(ctx, 0), *x = ref_real(ctx, 1), *y = ref_real(ctx, 2);
    if (g == NULL || x == NULL || y == NULL) {
        return 0;
    }
    double scale = call_int(ctx->call, 3) == REDUCE_MEAN ? 2 / (double)tensor_numel(self) : 2;
    double by = g[broadcast_flat(grad, made->ndim, made->sizes, flat)], a = x[broadcast_flat(self, made->ndim, made->sizes, flat)];
    double b = y[broadcast_flat(target, made->ndim, made->sizes, flat)];
    *norm += scale * by * scale * by * (a * a + b * b);
    return scale * (a - b) * by;
}

static const op_family family_nll = {.name = "loss", .infer = nll_forward_infer, .inputs = nll_inputs, .cost = nll_cost};
static const op_family family_mse = {.name = "loss", .infer = mse_infer, .cost = mse_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* What both operators read of a row's target: its class, found to lie in range when the program runs, and whether it
   counts. */
typedef struct nll_rows {
    index_sum class;  /* by the row, variable 0 */
    val valid;        /* b8 [rows] */
    val weight;       /* [rows], of the class */
} nll_rows;

static nll_rows rows_of(dag *g, const op_call *call, const nll *l, dtype t) {
    nll_rows r = {0};
    val target = v_reshape(g, v_cast(g, v_raw(g, call, l->self_arg + 1), ASSAY_I64), 1, &l->n_rows);
    r.valid = v_2(g, FN_NE, target, v_int(g, ASSAY_I64, call_int(call, l->ignore_arg)));
    val safe = v_select(g, r.valid, target, v_int(g, ASSAY_I64, 0));
    index_sum row = index_variable(&g->indices, 0, l->n_rows);
    r.class = v_index_of(g, safe, &row, l->n_classes);
    r.weight = v_real(g, t, 1);
    if (v_has(call, l->weight_arg)) {
        val weight = v_cast(g, v_arg(g, call, l->weight_arg), t);
        r.weight = v_view(g, weight, 1, &l->n_rows, &(view_map){.n_at = 1, .at = &r.class});
    }
    return r;
}

static void nll_forward_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    nll l = nll_of(call);
    val x = v_reshape(g, v_arg(g, call, l.self_arg), 2, (int64_t[]){l.n_rows, l.n_classes});
    if (g->failed || g->refused != NULL) {
        return;
    }
    dtype t = v_dtype(g, x);
    val none = v_real(g, t, 0);
    nll_rows r = rows_of(g, call, &l, t);
    index_sum at[] = {index_variable(&g->indices, 0, l.n_rows), r.class};
    val chosen = v_view(g, x, 1, &l.n_rows, &(view_map){.n_at = 2, .at = at});
    val terms = v_select(g, r.valid, v_1(g, FN_NEG, v_mul(g, r.weight, chosen)), none);
    if (l.per_row) {
        v_result(g, 0, terms);
        v_result(g, 1, none);
        return;
    }
    val weights = v_reduce(g, RED_SUM, v_select(g, r.valid, r.weight, none), 1, false);
    val sum = v_reduce(g, RED_SUM, terms, 1, false);
    v_result(g, 0, call_int(call, l.reduction_arg) == REDUCE_MEAN ? v_div(g, sum, weights) : sum);
    v_result(g, 1, weights);
}

/* Written once, in order: each element asks whether it is its row's target. */
static void nll_backward_parts(dag *g, const op_call *call, const outputs *out) {
    nll l = nll_of(call);
    dtype t = primitive_compute_type(out->items[0].dtype);
    nll_rows r = rows_of(g, call, &l, t);
    int64_t sizes[] = {l.n_rows, l.n_classes}, per_row[] = {l.n_rows, 1}, one[] = {1};
    val grad = v_reshape(g, v_cast(g, v_arg(g, call, 0), t), 1, l.per_row ? &l.n_rows : one);
    val value = v_1(g, FN_NEG, v_mul(g, r.weight, grad));
    if (call_int(call, l.reduction_arg) == REDUCE_MEAN) {
        value = v_div(g, value, v_reshape(g, v_cast(g, v_arg(g, call, 6), t), 1, one));
    }
    value = v_select(g, r.valid, value, v_real(g, t, 0));
    val class = v_view(g, v_iota(g, 1, &l.n_classes, 0), 1, &l.n_rows, &(view_map){.n_at = 1, .at = &r.class});
    val column = v_iota(g, 2, sizes, 1);
    if (l.n_classes <= INT32_MAX) { /* as wide as what is written, or nearly: they are compared for every element */
        class = v_cast(g, class, ASSAY_I32);
        column = v_cast(g, column, ASSAY_I32);
    }
    value = v_cast(g, value, out->items[0].dtype);
    val here = v_2(g, FN_EQ, column, v_reshape(g, class, 2, per_row));
    val spread = v_select(g, here, v_reshape(g, value, 2, per_row), v_int(g, v_dtype(g, value), 0));
    v_result(g, 0, v_reshape(g, spread, out->items[0].ndim, out->items[0].sizes));
}

/* Operand i of a call of operands that broadcast, in the type computed in. */
static val broadcast_operand(dag *g, const pointwise *p, int i) {
    return v_cast(g, v_tensor(g, p->operand[i]), primitive_compute_type(p->compute));
}

static void mse_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    pointwise p;
    if (pointwise_analyse(call, &p, NULL) != ASSAY_OK) {
        v_refuse(g, "operands that do not go together");
        return;
    }
    val difference = v_sub(g, broadcast_operand(g, &p, 0), broadcast_operand(g, &p, 1));
    val square = v_mul(g, difference, difference);
    int64_t how = call_int(call, 2);
    if (how != REDUCE_NONE) {
        square = v_reduce(g, RED_SUM, square, ((uint64_t)1 << p.ndim) - 1, false);
    }
    double n = (double)sizes_numel(p.ndim, p.sizes);
    v_result(g, 0, how == REDUCE_MEAN ? v_mul_real(g, square, 1 / n) : square);
}

static void mse_backward_parts(dag *g, const op_call *call, const outputs *out) {
    pointwise p;
    if (pointwise_analyse(call, &p, NULL) != ASSAY_OK) {
        v_refuse(g, "operands that do not go together");
        return;
    }
    (void)out;
    double n = (double)tensor_numel(call_tensor(call, 1));
    val difference = v_sub(g, broadcast_operand(g, &p, 1), broadcast_operand(g, &p, 2));
    val slope = v_mul_real(g, difference, call_int(call, 3) == REDUCE_MEAN ? 2 / n : 2);
    v_result(g, 0, v_mul(g, slope, broadcast_operand(g, &p, 0))); /* in ATen's order: what is 0 stays so beside a large gradient */
}

static const op_row rows[] = {
    {.signature = "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> "
                  "(Tensor output, Tensor total_weight)",
     .doc = "Minus the log-probability of each row's target class, weighted, summed or averaged; and the weights' sum.",
     .family = &family_nll,
     .decompose = nll_forward_parts,
     .reference = nll_forward},
    {.signature = "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
                  "ignore_index, Tensor total_weight) -> Tensor",
     .doc = "The gradient of nll_loss_forward: zero save at each row's target.",
     .family = &family_nll,
     .infer = nll_backward_infer,
     .decompose = nll_backward_parts,
     .reference_element = nll_backward_element},
    {.signature = "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .doc = "Squared differences, as they are, averaged or summed.",
     .family = &family_mse,
     .decompose = mse_parts,
     .reference_element = mse_element},
    {.signature = "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
     .doc = "The gradient of mse_loss for self: twice the difference, scaled.",
     .family = &family_mse,
     .infer = mse_backward_infer,
     .decompose = mse_backward_parts,
     .reference_element = mse_backward_element,
     .flops_per_element = 3},
};

const op_rows rows_loss = {rows, countof(rows)};
