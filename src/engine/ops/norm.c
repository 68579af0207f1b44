/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, batch and group norm: what they share, and the forwards. Letters: N batch, C channels, S positions of a channel. */
#include "base/arena.h"
#include "engine/graph/dag.h"
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/normalization.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- forwards ------------------------------------------------------------------------------------------------------------- */

/* Batch and group norm keep channels-last, everything else becomes contiguous. */
static status add_like_input(const op_call *call, const norm_view *v, outputs *out, error *err) {
    const tensor *x = call_tensor(call, v->input_arg);
    if (!v->is_layer && tensor_is_channels_last(x)) {
        tensor *y = outputs_push(out);
        return y != NULL ? tensor_init_like(y, x->dtype, x, err)
                         : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return outputs_add(out, x->dtype, x->ndim, x->sizes, err);
}

static status forward_infer(const op_call *call, outputs *out, error *err) {
    norm_view v;
    TRY(norm_analyse(call, &v, err));
    for (int i = 0; v.trains && i < call->op->signature.n_params; i++) {
        TRY(op_writes(call->op, i) ? call_check_written(call, i, err) : ASSAY_OK);
    }
    const tensor *x = call_tensor(call, v.input_arg);
    dtype t = norm_stat_type(call, &v);
    int64_t sizes[TENSOR_MAX_DIMS] = {v.trains ? v.n_stats : 0};
    int ndim = 1;
    int group = signature_find_param(&call->op->signature, "group");
    int shape = signature_find_param(&call->op->signature, "normalized_shape");
    if (group >= 0) {
        if (call_int(call, 5) == 0) {
            return fail(err, ASSAY_INVALID, "%s: expected HxW above 0, got 0", call->op->signature.full);
        }
        sizes[0] = x->sizes[0];
        sizes[1] = call_int(call, group);
        ndim = 2;
    } else if (shape >= 0) {
        ndim = x->ndim;
        for (int d = 0; d < ndim; d++) {
            sizes[d] = d < ndim - call->args[shape].n ? x->sizes[d] : 1;
        }
    }
    TRY(add_like_input(call, &v, out, err));
    TRY(outputs_add(out, t, ndim, sizes, err));
    return outputs_add(out, t, ndim, sizes, err);
}

typedef struct forward_cache {
    norm_view v;
    double *mean, *rstd, *variance;
} forward_cache;

static forward_cache *forward_of(ref_ctx *ctx) {
    if (ctx->scratch != NULL) {
        return ctx->scratch;
    }
    forward_cache *c = ref_make(ctx, 1, sizeof *c);
    if (c == NULL || norm_analyse(ctx->call, &c->v, NULL) != ASSAY_OK) {
        return NULL;
    }
    const double *x = ref_real(ctx, c->v.input_arg);
    c->mean = ref_make(ctx, (size_t)c->v.n_stats, sizeof *c->mean);
    c->variance = ref_make(ctx, (size_t)c->v.n_stats, sizeof *c->variance);
    c->rstd = ref_make(ctx, (size_t)c->v.n_stats, sizeof *c->rstd);
    if (x == NULL || ctx->failed != ASSAY_OK) {
        return NULL;
    }
    if (c->v.trains) {
        norm_statistics(&c->v, x, tensor_numel(call_tensor(ctx->call, c->v.input_arg)), c->mean, c->variance);
    } else {
        const double *mean = ref_real(ctx, c->v.running_mean_arg), *variance = ref_real(ctx, c->v.running_var_arg);
        if (mean == NULL || variance == NULL) {
            return NULL;
        }
        memcpy(c->mean, mean, (size_t)c->v.n_stats * sizeof *mean);
        memcpy(c->variance, variance, (size_t)c->v.n_stats * sizeof *variance);
    }
    for (int64_t s = 0; s < c->v.n_stats; s++) {
        c->rstd[s] = c->v.per_stat > 0 ? 1 / sqrt(c->variance[s] + c->v.eps) : NAN;
        /* Training, a channel of equal numbers and no eps leave its bias (ATen's InvStd); evaluation does not. */
        c->rstd[s] = c->v.is_batch && c->v.trains && c->v.eps == 0 && c->variance[s] == 0 ? 0 : c->rstd[s];
    }
    ctx->scratch = c;
    return c;
}

static double forward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const forward_cache *c = forward_of(ctx);
    if (c == NULL) {
        return 0;
    }
    if (out == 1) {
        *norm += (c->variance[flat] + c->mean[flat] * c->mean[flat]) / fmax((double)c->v.per_stat, 1);
        return c->mean[flat];
    }
    if (out == 2) {
        return c->rstd[flat];
    }
    const double *x = ref_real(ctx, c->v.input_arg);
    const double *weight = ref_real(ctx, c->v.weight_arg), *bias = ref_real(ctx, c->v.bias_arg);
    int64_t s = flat / c->v.stat_div % c->v.n_stats, w = flat / c->v.weight_div % c->v.n_weights;
    double scale = c->rstd[s] * (weight != NULL ? weight[w] : 1), shift = bias != NULL ? bias[w] : 0;
    *norm += scale * scale * (x[flat] * x[flat] + c->mean[s] * c->mean[s]) + shift * shift;
    return (x[flat] - c->mean[s]) * scale + shift;
}

/* Training moves the running statistics towards the batch's; the variance as of a sample: over n - 1. */
static double running_element(ref_ctx *ctx, int which, int64_t flat, double *norm) {
    const forward_cache *c = forward_of(ctx);
    const double *old = ref_real(ctx, which);
    if (c == NULL || old == NULL) {
        return 0;
    }
    if (!c->v.trains) {
        return old[flat];
    }
    double n = (double)c->v.per_stat, momentum = call_float(ctx->call, signature_find_param(&ctx->call->op->signature, "momentum"));
    double now = which == c->v.running_mean_arg ? c->mean[flat] : c->variance[flat] * n / (n - 1);
    double square = which == c->v.running_mean_arg ? c->variance[flat] + now * now : now * now;
    *norm += old[flat] * old[flat] * (1 - momentum) * (1 - momentum) + square * momentum * momentum;
    return (1 - momentum) * old[flat] + momentum * now;
}

static status forward_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    int variance = signature_find_param(&call->op->signature, "running_var");
    if (variance >= 0 && call_tensor(call, variance) != NULL) {
        fill_uniform(call_tensor(call, variance), r, 0.5, 1.5);
    }
    return ASSAY_OK;
}

static void forward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    norm_view v;
    if (norm_analyse(call, &v, NULL) == ASSAY_OK) {
        cost->flops = (v.trains ? 7 : 2) * (double)tensor_numel(call_tensor(call, v.input_arg));
        cost->reduction = v.trains ? fmax((double)v.per_stat, 1) : 1;
        const int running[] = {v.running_mean_arg, v.running_var_arg};
        for (size_t i = 0; v.trains && i < countof(running); i++) { /* which are written as well */
            const tensor *t = running[i] >= 0 ? call_tensor(call, running[i]) : NULL;
            cost->bytes += t != NULL ? tensor_bytes(t) : 0;
        }
    }
}

static const op_family family_norm_forward = {
    .name = "norm", .infer = forward_infer, .inputs = forward_inputs, .cost = forward_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* Mean and 1 / sqrt(variance + eps) over `dims`, kept as dimensions of size 1. */
static void statistics_parts(dag *g, val x, uint64_t dims, double n, double eps, val *mean, val *rstd) {
    val squares;
    v_moments_at_once(g, x, dims, n, mean, &squares);
    *rstd = v_recip(g, v_1(g, FN_SQRT, v_add_real(g, v_mul_real(g, squares, 1 / n), eps)));
}

static void layer_norm_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    norm_view v;
    if (norm_analyse(call, &v, NULL) != ASSAY_OK || v.per_stat == 0) {
        v_refuse(g, "rows without elements");
        return;
    }
    val x = v_arg(g, call, v.input_arg), mean, rstd;
    int ndim = call_tensor(call, v.input_arg)->ndim, n_shape;
    call_ints(call, 1, &n_shape);
    uint64_t dims = 0;
    for (int d = ndim - n_shape; d < ndim; d++) {
        dims |= (uint64_t)1 << d;
    }
    statistics_parts(g, x, dims, (double)v.per_stat, v.eps, &mean, &rstd);
    val y = v_mul(g, v_sub(g, x, mean), rstd);
    y = v_has(call, v.weight_arg) ? v_mul(g, y, v_cast(g, v_arg(g, call, v.weight_arg), v_dtype(g, x))) : y;
    y = v_has(call, v.bias_arg) ? v_add(g, y, v_cast(g, v_arg(g, call, v.bias_arg), v_dtype(g, x))) : y;
    v_result(g, 0, y);
    v_result(g, 1, mean);
    v_result(g, 2, rstd);
}

/* A parameter of the channels, or of nothing (an invalid value: look at v_has), seen over x's dimensions. */
static val of_channels(dag *g, const op_call *call, int at, val like) {
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d < v_ndim(g, like); d++) {
        sizes[d] = d == 1 ? v_size(g, like, 1) : 1;
    }
    return v_reshape(g, v_cast(g, v_raw(g, call, at), v_dtype(g, like)), v_ndim(g, like), sizes);
}

val v_channels_behind(dag *g, const tensor *t, val x, uint64_t *dims) {
    int ndim = v_ndim(g, x), order[TENSOR_MAX_DIMS];
    *dims = (((uint64_t)1 << ndim) - 1) & ~(uint64_t)2;
    if (!tensor_suggests_channels_last(t)) {
        return x;
    }
    for (int d = 0; d < ndim; d++) {
        order[d] = d == 0 ? 0 : d == ndim - 1 ? 1 : d + 1;
    }
    *dims = ((uint64_t)1 << (ndim - 1)) - 1;
    return v_permute(g, x, order);
}

/* Means of channels, and the sums of squares of deviations from them, over x's dimensions. */
static void channel_moments(dag *g, const norm_view *v, const tensor *t, val x, val *mean, val *squares) {
    uint64_t dims, all = (((uint64_t)1 << t->ndim) - 1) & ~(uint64_t)2;
    double n = (double)v->per_stat;
    val behind = v_channels_behind(g, t, x, &dims);
    if ((dims == all && t->ndim > 2) || !v_moments_by_samples(g, behind, dims, n, mean, squares)) {
        v_moments_at_once(g, x, all, n, mean, squares);
        return;
    }
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++) {
        sizes[d] = d == 1 ? v->n_stats : 1;
    }
    *mean = v_reshape(g, *mean, t->ndim, sizes);
    *squares = v_reshape(g, *squares, t->ndim, sizes);
}

/* (x - mean) * rstd * weight + bias, the scale computed once for each channel. */
static val normalised(dag *g, const op_call *call, const norm_view *v, val x, val mean, val rstd) {
    val scale = v_has(call, v->weight_arg) ? v_mul(g, rstd, of_channels(g, call, v->weight_arg, x)) : rstd;
    val y = v_mul(g, v_sub(g, x, mean), scale);
    return v_has(call, v->bias_arg) ? v_add(g, y, of_channels(g, call, v->bias_arg, x)) : y;
}

/* running = (1 - momentum) * running + momentum * now */
static void move_running(dag *g, const op_call *call, int at, double momentum, val now) {
    if (v_has(call, at)) {
        int64_t channels = call_tensor(call, at)->sizes[0];
        val old = v_mul_real(g, v_cast(g, v_raw(g, call, at), v_dtype(g, now)), 1 - momentum);
        v_write(g, call, at, v_add(g, old, v_mul_real(g, v_reshape(g, now, 1, &channels), momentum)));
    }
}

static void batch_norm_parts(dag *g, const op_call *call, const outputs *out) {
    norm_view v;
    if (norm_analyse(call, &v, NULL) != ASSAY_OK) {
        v_refuse(g, "statistics that do not fit");
        return;
    }
    val x = v_arg(g, call, v.input_arg), mean, rstd;
    if (!v.trains) {
        mean = of_channels(g, call, v.running_mean_arg, x);
        val variance = of_channels(g, call, v.running_var_arg, x);
        rstd = v_recip(g, v_1(g, FN_SQRT, v_add_real(g, variance, v.eps)));
        v_result(g, 1, v_real(g, out->items[1].dtype, 0)); /* without elements */
        v_result(g, 2, v_real(g, out->items[2].dtype, 0));
        v_result(g, 0, normalised(g, call, &v, x, mean, rstd));
        return;
    }
    double n = (double)v.per_stat, momentum = call_float(call, signature_find_param(&call->op->signature, "momentum"));
    val squares;
    channel_moments(g, &v, call_tensor(call, v.input_arg), x, &mean, &squares);
    rstd = v_recip(g, v_1(g, FN_SQRT, v_add_real(g, v_mul_real(g, squares, 1 / n), v.eps)));
    if (v.eps == 0) { /* a channel of equal numbers leaves its bias */
        val zero = v_real(g, v_dtype(g, squares), 0);
        rstd = v_select(g, v_2(g, FN_EQ, squares, zero), zero, rstd);
    }
    v_result(g, 0, normalised(g, call, &v, x, mean, rstd));
    v_result(g, 1, v_reshape(g, mean, 1, &v.n_stats));
    v_result(g, 2, v_reshape(g, rstd, 1, &v.n_stats));
    move_running(g, call, v.running_mean_arg, momentum, mean);
    move_running(g, call, v.running_var_arg, momentum, v_mul_real(g, squares, 1 / (n - 1)));
}

/* The channels' dimension is seen as two, groups and channels within one, so that all is one loop nest. */
static void group_norm_parts(dag *g, const op_call *call, const outputs *out) {
    norm_view v;
    if (norm_analyse(call, &v, NULL) != ASSAY_OK || v.per_stat == 0) {
        v_refuse(g, "groups without elements");
        return;
    }
    val x = v_arg(g, call, v.input_arg), mean, rstd;
    const tensor *t = call_tensor(call, v.input_arg);
    int64_t groups = out->items[1].sizes[1], sizes[TENSOR_MAX_DIMS] = {t->sizes[0], groups, t->sizes[1] / groups};
    int64_t of_weight[TENSOR_MAX_DIMS] = {1, groups, t->sizes[1] / groups};
    if (t->ndim + 1 > TENSOR_MAX_DIMS) {
        v_refuse(g, "too many dimensions");
        return;
    }
    for (int d = 2; d < t->ndim; d++) {
        sizes[d + 1] = t->sizes[d];
        of_weight[d + 1] = 1;
    }
    x = v_reshape(g, x, t->ndim + 1, sizes);
    statistics_parts(g, x, (((uint64_t)1 << (t->ndim + 1)) - 1) & ~(uint64_t)3, (double)v.per_stat, v.eps, &mean, &rstd);
    val y = v_mul(g, v_sub(g, x, mean), rstd);
    if (v_has(call, v.weight_arg)) {
        val weight = v_cast(g, v_raw(g, call, v.weight_arg), v_dtype(g, x));
        y = v_mul(g, y, v_reshape(g, weight, t->ndim + 1, of_weight));
    }
    if (v_has(call, v.bias_arg)) {
        val bias = v_cast(g, v_raw(g, call, v.bias_arg), v_dtype(g, x));
        y = v_add(g, y, v_reshape(g, bias, t->ndim + 1, of_weight));
    }
    v_result(g, 0, v_reshape(g, v_cast(g, y, out->items[0].dtype), t->ndim, t->sizes));
    v_result(g, 1, v_reshape(g, mean, 2, sizes));
    v_result(g, 2, v_reshape(g, rstd, 2, sizes));
}

static const op_row rows[] = {
    {.signature = "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
                  "(Tensor, Tensor, Tensor)",
     .doc = "Each row brought to mean 0 and variance 1, then scaled and shifted; and the rows' means and inverse deviations.",
     .family = &family_norm_forward,
     .decompose = layer_norm_parts,
     .reference_element = forward_element},
    {.signature = "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
                  "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "Each channel brought to mean 0 and variance 1 by its own or by running statistics; training moves the running "
            "ones.",
     .family = &family_norm_forward,
     .written_args = 1u << 3 | 1u << 4,
     .reference_written = running_element,
     .decompose = batch_norm_parts,
     .reference_element = forward_element},
    {.signature = "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
                  "float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "Each group of channels of each sample brought to mean 0 and variance 1, then scaled and shifted by channel.",
     .family = &family_norm_forward,
     .decompose = group_norm_parts,
     .reference_element = forward_element},
};

const op_rows rows_norm = {rows, countof(rows)};
