/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of layer, batch and group norm. With x^ = (x - mean) * rstd and g = grad_out * weight:
     grad_input = rstd * (g - mean(g) - x^ * mean(g * x^)), means over the elements that share statistics,
     grad_weight = sum(grad_out * x^), grad_bias = sum(grad_out), over the elements that share a weight.
   With running statistics (batch norm's evaluation) the two means drop out. */
#include "engine/schema/normalization.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the mask leaves out is an output without elements, f32[0]: ATen returns no tensor at all. */
static status backward_infer(const op_call *call, outputs *out, error *err) {
    norm_view v;
    TRY(norm_analyse(call, &v, err));
    const tensor *x = call_tensor(call, v.input_arg), *weight = call_tensor(call, v.weight_arg);
    const bool *mask = call->args[v.mask_arg].bools;
    int shape = signature_find_param(&call->op->signature, "normalized_shape");
    static const int64_t nothing = 0;
    int64_t channels = v.n_weights;
    const int64_t *sizes = shape >= 0 ? call->args[shape].ints : &channels;
    dtype t = weight != NULL ? weight->dtype : norm_stat_type(call, &v);
    if (mask[0] && shape < 0 && tensor_is_channels_last(x)) {
        tensor *grad = outputs_push(out);
        if (grad == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
        }
        TRY(tensor_init_like(grad, x->dtype, x, err));
    } else {
        TRY(outputs_add(out, x->dtype, mask[0] ? x->ndim : 1, mask[0] ? x->sizes : &nothing, err));
    }
    for (int i = 1; i < 3; i++) {
        TRY(outputs_add(out, t, mask[i] && shape >= 0 ? call->args[shape].n : 1, mask[i] ? sizes : &nothing, err));
    }
    return ASSAY_OK;
}

/* Sums and square sums of what was summed, by statistic and by weight. */
typedef struct backward_cache {
    norm_view v;
    double *mean, *rstd;
    double *g, *g_squares, *gx, *gx_squares;             /* per statistic */
    double *bias, *bias_squares, *weight, *weight_squares; /* per weight */
} backward_cache;

static bool make_sums(ref_ctx *ctx, backward_cache *c) {
    double **per_stat[] = {&c->mean, &c->rstd, &c->g, &c->g_squares, &c->gx, &c->gx_squares};
    double **per_weight[] = {&c->bias, &c->bias_squares, &c->weight, &c->weight_squares};
    for (size_t i = 0; i < countof(per_stat); i++) {
        *per_stat[i] = ref_make(ctx, (size_t)c->v.n_stats, sizeof(double));
    }
    for (size_t i = 0; i < countof(per_weight); i++) {
        *per_weight[i] = ref_make(ctx, (size_t)c->v.n_weights, sizeof(double));
    }
    return ctx->failed == ASSAY_OK;
}

static bool find_statistics(ref_ctx *ctx, backward_cache *c) {
    const double *mean = ref_real(ctx, c->v.trains ? c->v.mean_arg : c->v.running_mean_arg);
    const double *spread = ref_real(ctx, c->v.trains ? c->v.rstd_arg : c->v.running_var_arg);
    for (int64_t s = 0; mean != NULL && spread != NULL && s < c->v.n_stats; s++) {
        c->mean[s] = mean[s];
        c->rstd[s] = c->v.trains ? spread[s] : 1 / sqrt(spread[s] + c->v.eps);
    }
    return mean != NULL && spread != NULL;
}

static void add(double *sum, double *squares, double term, double size) {
    *sum += term;
    *squares += size * size;
}

static backward_cache *backward_of(ref_ctx *ctx) {
    if (ctx->scratch != NULL) {
        return ctx->scratch;
    }
    backward_cache *c = ref_make(ctx, 1, sizeof *c);
    if (c == NULL || norm_analyse(ctx->call, &c->v, NULL) != ASSAY_OK || !make_sums(ctx, c) || !find_statistics(ctx, c)) {
        return NULL;
    }
    const double *dy = ref_real(ctx, 0), *x = ref_real(ctx, c->v.input_arg), *weight = ref_real(ctx, c->v.weight_arg);
    if (dy == NULL || x == NULL || ctx->failed != ASSAY_OK) {
        return NULL;
    }
    int64_t numel = tensor_numel(call_tensor(ctx->call, c->v.input_arg));
    for (int64_t i = 0; i < numel; i++) {
        int64_t s = i / c->v.stat_div % c->v.n_stats, w = i / c->v.weight_div % c->v.n_weights;
        double g = dy[i] * (weight != NULL ? weight[w] : 1), normal = (x[i] - c->mean[s]) * c->rstd[s];
        /* The difference x - mean rounds relative to its parts. */
        double size = hypot(x[i], c->mean[s]) * c->rstd[s];
        add(&c->g[s], &c->g_squares[s], g, g);
        add(&c->gx[s], &c->gx_squares[s], g * normal, g * size);
        add(&c->bias[w], &c->bias_squares[w], dy[i], dy[i]);
        add(&c->weight[w], &c->weight_squares[w], dy[i] * normal, dy[i] * size);
    }
    ctx->scratch = c;
    return c;
}

static double backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const backward_cache *c = backward_of(ctx);
    if (c == NULL) {
        return 0;
    }
    if (out > 0) {
        *norm += out == 1 ? c->weight_squares[flat] : c->bias_squares[flat];
        return out == 1 ? c->weight[flat] : c->bias[flat];
    }
    const double *dy = ref_real(ctx, 0), *x = ref_real(ctx, c->v.input_arg), *weight = ref_real(ctx, c->v.weight_arg);
    int64_t s = flat / c->v.stat_div % c->v.n_stats, w = flat / c->v.weight_div % c->v.n_weights;
    double g = dy[flat] * (weight != NULL ? weight[w] : 1), rstd = c->rstd[s];
    if (!c->v.trains) {
        return g * rstd;
    }
    double n = (double)c->v.per_stat, normal = (x[flat] - c->mean[s]) * rstd;
    double size = hypot(x[flat], c->mean[s]) * rstd;
    *norm += rstd * rstd * (g * g + c->g_squares[s] / (n * n) + normal * normal * c->gx_squares[s] / (n * n) +
                            size * size * c->gx[s] * c->gx[s] / (n * n));
    return rstd * (g - c->g[s] / n - normal * c->gx[s] / n);
}

/* Saved statistics are those of the input at hand. */
static status backward_inputs(const op_call *call, rng *r, error *err) {
    norm_view v;
    TRY(norm_analyse(call, &v, err));
    tensor *x = call_tensor(call, v.input_arg), *mean = call_tensor(call, v.mean_arg), *rstd = call_tensor(call, v.rstd_arg);
    tensor *variance = v.running_var_arg >= 0 ? call_tensor(call, v.running_var_arg) : NULL;
    if (variance != NULL) {
        fill_uniform(variance, r, 0.5, 1.5);
    }
    if (mean == NULL || rstd == NULL || tensor_numel(mean) != v.n_stats || tensor_numel(rstd) != v.n_stats ||
        tensor_data(x) == NULL || tensor_numel(x) == 0) {
        return ASSAY_OK;
    }
    enum { VALUES, MEANS, VARIANCES, N };
    double *d[N] = {malloc((size_t)tensor_numel(x) * sizeof(double)), malloc((size_t)v.n_stats * sizeof(double)),
                    malloc((size_t)v.n_stats * sizeof(double))};
    bool has_memory = d[VALUES] != NULL && d[MEANS] != NULL && d[VARIANCES] != NULL;
    if (has_memory) {
        ref_gather(x, d[VALUES]);
        norm_statistics(&v, d[VALUES], tensor_numel(x), d[MEANS], d[VARIANCES]);
        for (int64_t s = 0; s < v.n_stats; s++) {
            d[VARIANCES][s] = 1 / sqrt(d[VARIANCES][s] + (v.eps > 0 ? v.eps : 1e-5));
        }
        fill_from(mean, d[MEANS]);
        fill_from(rstd, d[VARIANCES]);
    }
    for (int i = 0; i < N; i++) {
        free(d[i]);
    }
    return has_memory ? ASSAY_OK
                      : fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory for statistics", call->op->signature.full);
}

static void backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    norm_view v;
    if (norm_analyse(call, &v, NULL) == ASSAY_OK) {
        double numel = (double)tensor_numel(call_tensor(call, v.input_arg));
        cost->flops = 12 * numel;
        cost->reduction = fmax(fmax((double)v.per_stat, numel / fmax((double)v.n_weights, 1)), 1);
    }
}

static const op_family family_norm_backward = {
    .name = "norm backward", .infer = backward_infer, .inputs = backward_inputs, .cost = backward_cost};

static const op_row rows[] = {
    {.signature = "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor "
                  "rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of layer norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .reference_element = backward_element},
    {.signature = "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
                  "running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> "
                  "(Tensor, Tensor, Tensor)",
     .doc = "The gradients of batch norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .reference_element = backward_element},
    {.signature = "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt "
                  "N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of group norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .reference_element = backward_element},
};

const op_rows rows_norm_backward = {rows, countof(rows)};
