/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, batch and group norm: what they share, and the forwards. Letters: N batch, C channels, S positions of a channel. */
#include "engine/ops/norm.h"

#include "base/arena.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- the view ------------------------------------------------------------------------------------------------------------- */

static int64_t product(const int64_t *sizes, int n) {
    return sizes_numel(n, sizes);
}

static status view_layer(const op_call *call, norm_view *v, error *err) {
    const tensor *x = call_tensor(call, v->input_arg);
    int n_dims, at = signature_find_param(&call->op->signature, "normalized_shape");
    const int64_t *shape = call_ints(call, at, &n_dims);
    int axis = x->ndim - n_dims;
    if (n_dims < 1 || axis < 0 || memcmp(shape, x->sizes + axis, (size_t)n_dims * sizeof *shape) != 0) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected normalized_shape to be the last dimensions of %.300s",
                    call->op->signature.full, tensor_describe(text, x));
    }
    v->n_stats = product(x->sizes, axis);
    v->per_stat = v->stat_div = v->n_weights = product(shape, n_dims);
    v->weight_div = 1;
    v->is_layer = true;
    return ASSAY_OK;
}

static status view_batch(const op_call *call, norm_view *v, error *err) {
    const tensor *x = call_tensor(call, v->input_arg);
    if (x->ndim < 2 || tensor_numel(x) == 0) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected an input of at least 2 dimensions that is not empty, got %.300s",
                    call->op->signature.full, tensor_describe(text, x));
    }
    v->is_batch = true;
    v->n_stats = v->n_weights = x->sizes[1];
    v->stat_div = v->weight_div = product(x->sizes + 2, x->ndim - 2);
    v->per_stat = x->sizes[0] * v->stat_div;
    return ASSAY_OK;
}

static status view_group(const op_call *call, norm_view *v, error *err) {
    const tensor *x = call_tensor(call, v->input_arg);
    int at = signature_find_param(&call->op->signature, "N");
    int64_t n = call_int(call, at), c = call_int(call, at + 1), s = call_int(call, at + 2), groups = call_int(call, at + 3);
    int64_t numel = 0;
    if (n < 0 || c < 0 || s < 0 || !mul_i64(n, c, &numel) || !mul_i64(numel, s, &numel) || numel != tensor_numel(x) ||
        x->ndim < 2 || x->sizes[0] != n || x->sizes[1] != c) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: expected an input of N = %" PRId64 ", C = %" PRId64 ", HxW = %" PRId64 ", got %.200s",
                    call->op->signature.full, n, c, s, tensor_describe(text, x));
    }
    if (groups < 1 || c % groups != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a number of groups that divides %" PRId64 " channels, got %" PRId64,
                    call->op->signature.full, c, groups);
    }
    v->n_stats = n * groups;
    v->per_stat = v->stat_div = c / groups * s;
    v->n_weights = c;
    v->weight_div = s;
    return ASSAY_OK;
}

/* An optional parameter with n elements, of the input's type or, beside a lesser one, of f32. */
static status check_parameter(const op_call *call, int at, int64_t n, error *err) {
    const tensor *t = at >= 0 ? call_tensor(call, at) : NULL;
    if (t == NULL) {
        return ASSAY_OK;
    }
    if (!dtype_is_floating(t->dtype) || tensor_numel(t) != n) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected %s of a floating type with %" PRId64 " elements, got %.300s",
                    call->op->signature.full, call->op->signature.params[at].name, n, tensor_describe(text, t));
    }
    return ASSAY_OK;
}

static int first_param(const signature *s, const char *a, const char *b) {
    int at = signature_find_param(s, a);
    return at >= 0 ? at : signature_find_param(s, b);
}

static void find_params(const op_call *call, norm_view *v) {
    const signature *s = &call->op->signature;
    *v = (norm_view){.input_arg = signature_find_param(s, "input"),
                     .weight_arg = signature_find_param(s, "weight"),
                     .bias_arg = signature_find_param(s, "bias"),
                     .mean_arg = first_param(s, "mean", "save_mean"),
                     .rstd_arg = first_param(s, "rstd", "save_invstd"),
                     .mask_arg = signature_find_param(s, "output_mask"),
                     .running_mean_arg = signature_find_param(s, "running_mean"),
                     .running_var_arg = signature_find_param(s, "running_var"),
                     .trains = true};
    int eps = signature_find_param(s, "eps"), training = first_param(s, "training", "train");
    v->eps = eps >= 0 ? call_float(call, eps) : 0;
    v->trains = training < 0 || call_bool(call, training);
}

static bool is_missing(const op_call *call, int at) {
    return call_tensor(call, at) == NULL;
}

/* Batch norm needs running statistics to evaluate, saved ones to go back through training. */
static status check_statistics(const op_call *call, const norm_view *v, error *err) {
    bool is_backward = v->mask_arg >= 0;
    bool needs_running = v->is_batch && !v->trains;
    bool needs_saved = is_backward && v->trains;
    if (needs_running && (is_missing(call, v->running_mean_arg) || is_missing(call, v->running_var_arg))) {
        return fail(err, ASSAY_INVALID, "%s: expected running_mean and running_var when not training, got None",
                    call->op->signature.full);
    }
    if (needs_saved && (is_missing(call, v->mean_arg) || is_missing(call, v->rstd_arg))) {
        return fail(err, ASSAY_INVALID, "%s: expected saved statistics when training, got None", call->op->signature.full);
    }
    TRY(check_parameter(call, v->running_mean_arg, v->n_stats, err));
    TRY(check_parameter(call, v->running_var_arg, v->n_stats, err));
    if (needs_saved) {
        TRY(check_parameter(call, v->mean_arg, v->n_stats, err));
        TRY(check_parameter(call, v->rstd_arg, v->n_stats, err));
    }
    return ASSAY_OK;
}

status norm_analyse(const op_call *call, norm_view *out, error *err) {
    norm_view v;
    find_params(call, &v);
    const tensor *x = call_tensor(call, v.input_arg);
    if (!dtype_is_floating(x->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected a floating input, got %s", call->op->signature.full,
                    assay_dtype_name(x->dtype));
    }
    if (signature_find_param(&call->op->signature, "normalized_shape") >= 0) {
        TRY(view_layer(call, &v, err));
    } else if (signature_find_param(&call->op->signature, "group") >= 0) {
        TRY(view_group(call, &v, err));
    } else {
        TRY(view_batch(call, &v, err));
    }
    TRY(check_parameter(call, v.weight_arg, v.n_weights, err));
    TRY(check_parameter(call, v.bias_arg, v.n_weights, err));
    TRY(check_statistics(call, &v, err));
    if (v.mask_arg >= 0) {
        const tensor *grad = call_tensor(call, 0);
        if (!tensor_same_sizes(grad, x) || !dtype_is_floating(grad->dtype) || call->args[v.mask_arg].n != 3) {
            char a[TENSOR_TEXT_BYTES], b[TENSOR_TEXT_BYTES];
            return fail(err, ASSAY_INVALID, "%s: expected grad_out like input and 3 mask bits, got %.160s and %.160s",
                        call->op->signature.full, tensor_describe(a, grad), tensor_describe(b, x));
        }
    }
    *out = v;
    return ASSAY_OK;
}

dtype norm_stat_type(const op_call *call, const norm_view *v) {
    const int args[] = {v->weight_arg, v->bias_arg, v->running_mean_arg, v->running_var_arg};
    dtype t = call_tensor(call, v->input_arg)->dtype;
    for (size_t i = 0; i < countof(args); i++) {
        const tensor *p = args[i] >= 0 ? call_tensor(call, args[i]) : NULL;
        t = p != NULL && p->dtype == ASSAY_F32 && dtype_size(t) == 2 ? ASSAY_F32 : t;
    }
    return t;
}

void norm_statistics(const norm_view *v, const double *x, int64_t numel, double *mean, double *variance) {
    for (int64_t s = 0; s < v->n_stats; s++) {
        mean[s] = 0;
    }
    for (int64_t i = 0, s = 0; i < numel; i += v->stat_div, s = s + 1 < v->n_stats ? s + 1 : 0) {
        for (int64_t k = 0; k < v->stat_div; k++) {
            mean[s] += x[i + k] / (double)v->per_stat;
        }
    }
    for (int64_t s = 0; variance != NULL && s < v->n_stats; s++) {
        variance[s] = 0;
    }
    for (int64_t i = 0, s = 0; variance != NULL && i < numel; i += v->stat_div, s = s + 1 < v->n_stats ? s + 1 : 0) {
        for (int64_t k = 0; k < v->stat_div; k++) {
            variance[s] += (x[i + k] - mean[s]) * (x[i + k] - mean[s]) / (double)v->per_stat;
        }
    }
}

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
    const tensor *x = call_tensor(call, v.input_arg);
    dtype t = norm_stat_type(call, &v);
    int64_t sizes[TENSOR_MAX_DIMS] = {v.trains ? v.n_stats : 0};
    int ndim = 1;
    int group = signature_find_param(&call->op->signature, "group");
    int shape = signature_find_param(&call->op->signature, "normalized_shape");
    if (group >= 0) {
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
    }
}

static const op_family family_norm_forward = {
    .name = "norm", .infer = forward_infer, .inputs = forward_inputs, .cost = forward_cost};

static const op_row rows[] = {
    {.signature = "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
                  "(Tensor, Tensor, Tensor)",
     .doc = "Each row brought to mean 0 and variance 1, then scaled and shifted; and the rows' means and inverse deviations.",
     .family = &family_norm_forward,
     .reference_element = forward_element},
    {.signature = "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
                  "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "Each channel brought to mean 0 and variance 1 by its own or by running statistics; training moves the running "
            "ones.",
     .family = &family_norm_forward,
     .written_args = 1u << 3 | 1u << 4,
     .reference_element = forward_element},
    {.signature = "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
                  "float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "Each group of channels of each sample brought to mean 0 and variance 1, then scaled and shifted by channel.",
     .family = &family_norm_forward,
     .reference_element = forward_element},
};

const op_rows rows_norm = {rows, countof(rows)};
