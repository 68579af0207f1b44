/* SPDX-License-Identifier: Apache-2.0 */
/* Norms analysed once for rows and kernels: sizes, which elements share what, the types of statistics. */
#include "engine/schema/normalization.h"

#include <inttypes.h>
#include <string.h>

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
    const bool needs_elements = v->trains && v->mask_arg < 0; /* for statistics of them */
    if (x->ndim < 2 || (needs_elements && tensor_numel(x) == 0)) {
        char text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected an input of at least 2 dimensions%s, got %.300s", call->op->signature.full,
                    needs_elements ? " that is not empty" : "", tensor_describe(text, x));
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
    if (c < 1 || groups < 1 || c % groups != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected channels, and a number of groups that divides them, got %" PRId64 " and %" PRId64,
                    call->op->signature.full, c, groups);
    }
    v->n_stats = n * groups;
    v->per_stat = v->stat_div = c / groups * s;
    v->n_weights = c;
    v->weight_div = s;
    return ASSAY_OK;
}

/* An optional parameter with n elements, of the input's type or, beside a lesser one, of f32 (ATen's mixed_dtype.h). */
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
    const dtype x = call_tensor(call, signature_find_param(&call->op->signature, "input"))->dtype;
    if (t->dtype != x && (t->dtype != ASSAY_F32 || dtype_size(x) != 2)) {
        return fail(err, ASSAY_INVALID, "%s: expected %s of %s%s, got %s", call->op->signature.full, call->op->signature.params[at].name,
                    assay_dtype_name(x), dtype_size(x) == 2 ? " or f32" : " as the input", assay_dtype_name(t->dtype));
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
    if (v->is_batch && !is_backward && is_missing(call, v->running_mean_arg) != is_missing(call, v->running_var_arg)) {
        return fail(err, ASSAY_INVALID, "%s: expected running_mean and running_var, or neither, got one of them", call->op->signature.full);
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
        if (!tensor_same_sizes(grad, x) || grad->dtype != x->dtype || call->args[v.mask_arg].n != 3) {
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

/* The sum over a row of x - shift, or of its squares. Four sums in turn, as one would wait for itself. */
static double row_sum(const double *x, int64_t n, double shift, bool squared) {
    enum { SUMS = 4 };
    double sums[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS) {
        for (int k = 0; k < SUMS; k++) {
            double term = x[i + k] - shift;
            sums[k] += squared ? term * term : term;
        }
    }
    for (; i < n; i++) {
        double term = x[i] - shift;
        sums[i % SUMS] += squared ? term * term : term;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* out[s] = sum over statistic s of x - shift[s] (0 where shift is NULL), or of its squares, over per_stat. */
static void statistics_mean(const norm_view *v, const double *x, int64_t numel, const double *shift, double *out) {
    for (int64_t s = 0; s < v->n_stats; s++) {
        out[s] = 0;
    }
    for (int64_t i = 0, s = 0; i < numel; i += v->stat_div, s = s + 1 < v->n_stats ? s + 1 : 0) {
        out[s] += row_sum(x + i, v->stat_div, shift != NULL ? shift[s] : 0, shift != NULL);
    }
    for (int64_t s = 0; numel > 0 && s < v->n_stats; s++) {
        out[s] /= (double)v->per_stat;
    }
}

void norm_statistics(const norm_view *v, const double *x, int64_t numel, double *mean, double *variance) {
    statistics_mean(v, x, numel, NULL, mean);
    if (variance != NULL) {
        statistics_mean(v, x, numel, mean, variance);
    }
}
