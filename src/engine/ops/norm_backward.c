/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of layer, batch and group norm. With x^ = (x - mean) * rstd and g = grad_out * weight:
     grad_input = rstd * (g - mean(g) - x^ * mean(g * x^)), means over the elements that share statistics,
     grad_weight = sum(grad_out * x^), grad_bias = sum(grad_out), over the elements that share a weight.
   With running statistics (batch norm's evaluation) the two means drop out. */
#include "engine/schema/normalization.h"
#include "engine/graph/dag.h"
#include "engine/ops/parts.h"
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

/* What rounding of x - mean is relative to: its parts. */
static double size_of(double x, double mean) {
    return sqrt(x * x + mean * mean);
}

/* Rows share their statistic, and either share their weight too (channels) or have one each (layer norm). */
static void add_rows(backward_cache *c, const double *dy, const double *x, const double *weight, int64_t numel) {
    int64_t step = c->v.weight_div > 1 ? 0 : 1, most = step == 0 ? c->v.weight_div : c->v.n_weights;
    most = most < c->v.stat_div ? most : c->v.stat_div;
    for (int64_t row = 0; row < numel; row += most) {
        int64_t s = row / c->v.stat_div % c->v.n_stats, w = row / c->v.weight_div % c->v.n_weights;
        for (int64_t i = row; i < row + most; i++, w += step) {
            double g = dy[i] * (weight != NULL ? weight[w] : 1), normal = (x[i] - c->mean[s]) * c->rstd[s];
            double size = size_of(x[i], c->mean[s]) * c->rstd[s];
            add(&c->g[s], &c->g_squares[s], g, g);
            add(&c->gx[s], &c->gx_squares[s], g * normal, g * size);
            add(&c->bias[w], &c->bias_squares[w], dy[i], dy[i]);
            add(&c->weight[w], &c->weight_squares[w], dy[i] * normal, dy[i] * size);
        }
    }
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
    add_rows(c, dy, x, weight, tensor_numel(call_tensor(ctx->call, c->v.input_arg)));
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
    double size = size_of(x[flat], c->mean[s]) * rstd;
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

static void leave_out(const op_call *call, int i, bool is_read, op_cost *cost) {
    if (i >= 0 && !is_read) {
        op_cost_reads(call, i, 0, cost);
    }
}

static void backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    norm_view v;
    if (norm_analyse(call, &v, NULL) == ASSAY_OK) {
        const bool *mask = call->args[v.mask_arg].bools;
        const double numel = (double)tensor_numel(call_tensor(call, v.input_arg));
        const bool normalizes = mask[1] || (mask[0] && v.trains); /* x^ is needed */
        cost->flops = numel * ((mask[0] ? v.trains ? 7 : 1 : 0) + (normalizes ? 2 : 0) + (mask[1] ? 2 : 0) + (mask[2] ? 1 : 0));
        leave_out(call, v.input_arg, normalizes, cost);
        leave_out(call, v.weight_arg, mask[0], cost);
        leave_out(call, v.bias_arg, false, cost);
        leave_out(call, v.mean_arg, v.trains && normalizes, cost);
        leave_out(call, v.rstd_arg, v.trains && (normalizes || mask[0]), cost);
        leave_out(call, v.running_mean_arg, !v.trains && normalizes, cost);
        leave_out(call, v.running_var_arg, !v.trains && (normalizes || mask[0]), cost);
        cost->reduction = fmax(fmax((double)v.per_stat, numel / fmax((double)v.n_weights, 1)), 1);
    }
}

static const op_family family_norm_backward = {
    .name = "norm backward", .infer = backward_infer, .inputs = backward_inputs, .cost = backward_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* What all three begin with: dy, x, x^ (as far as mean and rstd are known) in the type to compute in, and the mask. */
typedef struct backward_values {
    norm_view v;
    val dy, x, normal;
    const bool *mask;
} backward_values;

/* An argument seen as `sizes`, which has its elements in their order. */
static val shaped(dag *g, const op_call *call, int at, dtype t, int ndim, const int64_t *sizes) {
    return v_reshape(g, v_cast(g, v_raw(g, call, at), t), ndim, sizes);
}

static bool backward_start(dag *g, const op_call *call, const outputs *out, backward_values *b) {
    if (norm_analyse(call, &b->v, NULL) != ASSAY_OK || b->v.per_stat == 0) {
        v_refuse(g, "statistics of nothing");
        return false;
    }
    b->mask = call->args[b->v.mask_arg].bools;
    b->x = v_arg(g, call, b->v.input_arg);
    b->dy = v_cast(g, v_raw(g, call, 0), v_dtype(g, b->x));
    for (int k = 0; k < 3; k++) {
        v_result(g, k, v_real(g, out->items[k].dtype, 0)); /* stays so where the mask leaves it out: no elements */
    }
    return true;
}

/* rstd * (s - mean(s) - x^ * mean(s * x^)), from the two sums */
static val through_statistics(dag *g, const backward_values *b, val s, val rstd, val sum, val product) {
    double n = (double)b->v.per_stat;
    val off = v_mul(g, b->normal, v_mul_real(g, product, 1 / n));
    return v_mul(g, v_sub(g, v_sub(g, s, v_mul_real(g, sum, 1 / n)), off), rstd);
}

static void layer_backward_parts(dag *g, const op_call *call, const outputs *out) {
    backward_values b;
    if (!backward_start(g, call, out, &b)) {
        return;
    }
    const tensor *t = call_tensor(call, b.v.input_arg);
    int n_shape, lead;
    int64_t per_row[TENSOR_MAX_DIMS];
    call_ints(call, signature_find_param(&call->op->signature, "normalized_shape"), &n_shape);
    lead = t->ndim - n_shape;
    for (int d = 0; d < t->ndim; d++) {
        per_row[d] = d < lead ? t->sizes[d] : 1;
    }
    uint64_t rows = ((uint64_t)1 << lead) - 1, columns = (((uint64_t)1 << t->ndim) - 1) & ~rows;
    dtype type = v_dtype(g, b.x);
    val rstd = shaped(g, call, b.v.rstd_arg, type, t->ndim, per_row);
    b.normal = v_mul(g, v_sub(g, b.x, shaped(g, call, b.v.mean_arg, type, t->ndim, per_row)), rstd);
    val s = b.dy;
    if (v_has(call, b.v.weight_arg)) {
        s = v_mul(g, s, v_cast(g, v_raw(g, call, b.v.weight_arg), type));
    }
    if (b.mask[0]) {
        val sum = v_reduce(g, RED_SUM, s, columns, true);
        val product = v_reduce(g, RED_SUM, v_mul(g, s, b.normal), columns, true);
        v_result(g, 0, through_statistics(g, &b, s, rstd, sum, product));
    }
    if (b.mask[1]) {
        v_result(g, 1, v_reduce(g, RED_SUM, v_mul(g, b.dy, b.normal), rows, false));
    }
    if (b.mask[2]) {
        v_result(g, 2, v_reduce(g, RED_SUM, b.dy, rows, false));
    }
}

/* The sums that the gradients of weight and bias are, are the statistics' sums too but for a factor of the channel. */
static void batch_backward_parts(dag *g, const op_call *call, const outputs *out) {
    backward_values b;
    if (!backward_start(g, call, out, &b)) {
        return;
    }
    dtype type = v_dtype(g, b.x);
    int ndim = v_ndim(g, b.x);
    int64_t per_channel[TENSOR_MAX_DIMS];
    for (int d = 0; d < ndim; d++) {
        per_channel[d] = d == 1 ? b.v.n_weights : 1;
    }
    val mean = shaped(g, call, b.v.trains ? b.v.mean_arg : b.v.running_mean_arg, type, ndim, per_channel);
    val rstd = shaped(g, call, b.v.trains ? b.v.rstd_arg : b.v.running_var_arg, type, ndim, per_channel);
    rstd = b.v.trains ? rstd : v_recip(g, v_1(g, FN_SQRT, v_add_real(g, rstd, b.v.eps)));
    b.normal = v_mul(g, v_sub(g, b.x, mean), rstd);
    uint64_t dims;
    const tensor *t = call_tensor(call, b.v.input_arg);
    const val dy = v_channels_behind(g, t, b.dy, &dims), of_product = v_channels_behind(g, t, v_mul(g, b.dy, b.normal), &dims);
    const val sum = v_reshape(g, v_reduce(g, RED_SUM, dy, dims, true), ndim, per_channel);
    const val product = v_reshape(g, v_reduce(g, RED_SUM, of_product, dims, true), ndim, per_channel);
    val scale = rstd;
    if (v_has(call, b.v.weight_arg)) {
        scale = v_mul(g, scale, shaped(g, call, b.v.weight_arg, type, ndim, per_channel));
    }
    if (b.mask[0]) {
        v_result(g, 0, b.v.trains ? through_statistics(g, &b, b.dy, scale, sum, product) : v_mul(g, b.dy, scale));
    }
    if (b.mask[1]) {
        v_result(g, 1, v_reshape(g, product, 1, &b.v.n_weights));
    }
    if (b.mask[2]) {
        v_result(g, 2, v_reshape(g, sum, 1, &b.v.n_weights));
    }
}

/* Sums by sample and channel first: those of groups and those of channels are sums of them. */
static void group_backward_parts(dag *g, const op_call *call, const outputs *out) {
    backward_values b;
    const tensor *t = call_tensor(call, signature_find_param(&call->op->signature, "input"));
    if (!backward_start(g, call, out, &b) || t->ndim + 1 > TENSOR_MAX_DIMS) {
        v_refuse(g, "too many dimensions");
        return;
    }
    dtype type = v_dtype(g, b.x);
    int64_t groups = call_int(call, signature_find_param(&call->op->signature, "group")), within = t->sizes[1] / groups;
    int64_t sizes[TENSOR_MAX_DIMS], per_group[TENSOR_MAX_DIMS], per_channel[TENSOR_MAX_DIMS];
    int ndim = t->ndim + 1;
    for (int d = 0; d < ndim; d++) {
        sizes[d] = d == 0 ? t->sizes[0] : d == 1 ? groups : d == 2 ? within : t->sizes[d - 1];
        per_group[d] = d < 2 ? sizes[d] : 1;
        per_channel[d] = d == 1 || d == 2 ? sizes[d] : 1;
    }
    b.x = v_reshape(g, b.x, ndim, sizes);
    b.dy = v_reshape(g, b.dy, ndim, sizes);
    val rstd = shaped(g, call, b.v.rstd_arg, type, ndim, per_group);
    b.normal = v_mul(g, v_sub(g, b.x, shaped(g, call, b.v.mean_arg, type, ndim, per_group)), rstd);
    uint64_t positions = (((uint64_t)1 << ndim) - 1) & ~(uint64_t)7;
    val sum = v_reduce(g, RED_SUM, b.dy, positions, true);
    val product = v_reduce(g, RED_SUM, v_mul(g, b.dy, b.normal), positions, true);
    if (b.mask[0]) {
        bool scales = v_has(call, b.v.weight_arg);
        val weight = scales ? shaped(g, call, b.v.weight_arg, type, ndim, per_channel) : v_real(g, type, 1);
        val of_group = v_reduce(g, RED_SUM, v_mul(g, sum, weight), 4, true);
        val of_product = v_reduce(g, RED_SUM, v_mul(g, product, weight), 4, true);
        val made = through_statistics(g, &b, v_mul(g, b.dy, weight), rstd, of_group, of_product);
        v_result(g, 0, v_reshape(g, v_cast(g, made, out->items[0].dtype), t->ndim, t->sizes));
    }
    if (b.mask[1]) {
        v_result(g, 1, v_reshape(g, v_reduce(g, RED_SUM, product, 1, true), 1, &b.v.n_weights));
    }
    if (b.mask[2]) {
        v_result(g, 2, v_reshape(g, v_reduce(g, RED_SUM, sum, 1, true), 1, &b.v.n_weights));
    }
}

static const op_row rows[] = {
    {.signature = "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor "
                  "rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of layer norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .decompose = layer_backward_parts,
     .reference_element = backward_element},
    {.signature = "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
                  "running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> "
                  "(Tensor, Tensor, Tensor)",
     .doc = "The gradients of batch norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .decompose = batch_backward_parts,
     .reference_element = backward_element},
    {.signature = "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt "
                  "N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of group norm for its input, weight and bias.",
     .family = &family_norm_backward,
     .decompose = group_backward_parts,
     .reference_element = backward_element},
};

const op_rows rows_norm_backward = {rows, countof(rows)};
