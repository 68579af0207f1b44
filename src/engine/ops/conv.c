/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and its gradients, in the terms of schema/window.h: three sums tie the wide side, the narrow side and the
   weight together, and a transposed convolution only swaps which side is the input. */
#include "engine/graph/dag.h"
#include "engine/ops/conv_parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"
#include "engine/schema/window.h"

#include <inttypes.h>

/* What one element reference needs of a call, found once. */
typedef struct conv_ref {
    conv_shape s;
    int64_t wide_per_group, narrow_per_group;
    int64_t wide_area, narrow_area, kernel_area;
    const double *narrow, *wide, *weight, *bias;
} conv_ref;

static int64_t area(const int64_t *sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/* Row-major index over three sizes, taken apart. */
static void unravel(int64_t flat, const int64_t *sizes, int64_t *at) {
    at[2] = flat % sizes[2];
    at[1] = flat / sizes[2] % sizes[1];
    at[0] = flat / sizes[2] / sizes[1];
}

/* The wide position that tap k of window o reads; -1 in the padding. */
static int64_t wide_at(const conv_shape *s, const int64_t *o, const int64_t *k) {
    int64_t at = 0;
    for (int d = 0; d < WINDOW_DIMS; d++) {
        int64_t i = o[d] * s->stride[d] - s->pad[d] + k[d] * s->dilation[d];
        if (i < 0 || i >= s->wide[d]) {
            return -1;
        }
        at = at * s->wide[d] + i;
    }
    return at;
}

/* The window whose tap k reads wide position i; -1 when there is none. */
static int64_t narrow_at(const conv_shape *s, const int64_t *i, const int64_t *k) {
    int64_t at = 0;
    for (int d = 0; d < WINDOW_DIMS; d++) {
        int64_t reach = i[d] + s->pad[d] - k[d] * s->dilation[d];
        if (reach < 0 || reach % s->stride[d] != 0 || reach / s->stride[d] >= s->narrow[d]) {
            return -1;
        }
        at = at * s->narrow[d] + reach / s->stride[d];
    }
    return at;
}

static void add_term(double term, double *sum, double *norm) {
    *sum += term;
    *norm += term * term;
}

/* narrow[n, c, o] = sum over taps and the group's wide channels of wide * weight */
static double narrow_element(const conv_ref *r, int64_t flat, double *norm) {
    const conv_shape *s = &r->s;
    int64_t o[3], k[3];
    unravel(flat % r->narrow_area, s->narrow, o);
    int64_t c = flat / r->narrow_area % s->narrow_channels, n = flat / r->narrow_area / s->narrow_channels;
    int64_t first = c / r->narrow_per_group * r->wide_per_group;
    double sum = 0;
    for (int64_t tap = 0; tap < r->kernel_area; tap++) {
        unravel(tap, s->kernel, k);
        int64_t at = wide_at(s, o, k);
        for (int64_t w = 0; at >= 0 && w < r->wide_per_group; w++) {
            add_term(r->wide[(n * s->wide_channels + first + w) * r->wide_area + at] *
                         r->weight[(c * r->wide_per_group + w) * r->kernel_area + tap],
                     &sum, norm);
        }
    }
    return sum;
}

/* wide[n, c, i] = sum over taps and the group's narrow channels of narrow * weight */
static double wide_element(const conv_ref *r, int64_t flat, double *norm) {
    const conv_shape *s = &r->s;
    int64_t i[3], k[3];
    unravel(flat % r->wide_area, s->wide, i);
    int64_t c = flat / r->wide_area % s->wide_channels, n = flat / r->wide_area / s->wide_channels;
    int64_t first = c / r->wide_per_group * r->narrow_per_group, in_group = c % r->wide_per_group;
    double sum = 0;
    for (int64_t tap = 0; tap < r->kernel_area; tap++) {
        unravel(tap, s->kernel, k);
        int64_t at = narrow_at(s, i, k);
        for (int64_t m = first; at >= 0 && m < first + r->narrow_per_group; m++) {
            add_term(r->narrow[(n * s->narrow_channels + m) * r->narrow_area + at] *
                         r->weight[(m * r->wide_per_group + in_group) * r->kernel_area + tap],
                     &sum, norm);
        }
    }
    return sum;
}

/* weight[m, w, k] = sum over batch and windows of narrow * wide */
static double weight_element(const conv_ref *r, int64_t flat, double *norm) {
    const conv_shape *s = &r->s;
    int64_t o[3], k[3];
    unravel(flat % r->kernel_area, s->kernel, k);
    int64_t m = flat / r->kernel_area / r->wide_per_group;
    int64_t c = m / r->narrow_per_group * r->wide_per_group + flat / r->kernel_area % r->wide_per_group;
    double sum = 0;
    for (int64_t window = 0; window < r->narrow_area; window++) {
        unravel(window, s->narrow, o);
        int64_t at = wide_at(s, o, k);
        for (int64_t n = 0; at >= 0 && n < s->batch; n++) {
            add_term(r->narrow[(n * s->narrow_channels + m) * r->narrow_area + window] *
                         r->wide[(n * s->wide_channels + c) * r->wide_area + at],
                     &sum, norm);
        }
    }
    return sum;
}

/* Made on the first element; NULL when memory is out. */
static conv_ref *reference_of(ref_ctx *ctx, int input_arg, int stride_arg) {
    conv_ref *r = ctx->scratch;
    if (r != NULL) {
        return r;
    }
    r = ctx->scratch = ref_make(ctx, 1, sizeof *r);
    if (r == NULL || conv_shape_of(ctx->call, input_arg, stride_arg, &r->s, NULL) != ASSAY_OK) {
        return NULL; /* infer has accepted the shape: only memory can fail */
    }
    r->wide_per_group = r->s.wide_channels / r->s.groups;
    r->narrow_per_group = r->s.narrow_channels / r->s.groups;
    r->wide_area = area(r->s.wide);
    r->narrow_area = area(r->s.narrow);
    r->kernel_area = area(r->s.kernel);
    const double *input = ref_real(ctx, input_arg), *output = input_arg > 0 ? ref_real(ctx, 0) : NULL;
    r->narrow = r->s.transposed ? input : output;
    r->wide = r->s.transposed ? output : input;
    r->weight = ref_real(ctx, input_arg + 1);
    r->bias = input_arg == 0 ? ref_real(ctx, 2) : NULL;
    return ctx->failed == ASSAY_OK ? r : NULL;
}

/* --- convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) ------------------ */

static status convolution_infer(const op_call *call, outputs *out, error *err) {
    const tensor *input = call_tensor(call, 0), *bias = call_tensor(call, 2);
    conv_shape s;
    int64_t sizes[2 + WINDOW_DIMS];
    TRY(conv_shape_of(call, 0, 3, &s, err));
    int ndim = conv_output_sizes(&s, sizes);
    if (bias != NULL && (bias->ndim != 1 || bias->sizes[0] != sizes[1] || bias->dtype != input->dtype)) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected a bias %s[%" PRId64 "], got %.200s", call->op->signature.full,
                    assay_dtype_name(input->dtype), sizes[1], tensor_describe(got, bias));
    }
    return outputs_push_format(out, input->dtype, ndim, sizes, s.channels_last, err);
}

static double convolution_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const conv_ref *r = reference_of(ctx, 0, 3);
    if (r == NULL) {
        return 0;
    }
    double sum = r->s.transposed ? wide_element(r, flat, norm) : narrow_element(r, flat, norm);
    if (r->bias != NULL) {
        const tensor *o = &ctx->out->items[out];
        int64_t plane = r->s.transposed ? r->wide_area : r->narrow_area;
        add_term(r->bias[flat / plane % o->sizes[1]], &sum, norm);
    }
    if (dtype_is_integral(ctx->out->items[out].dtype)) { /* kernels' integers wrap */
        int64_t stored = 0;
        element_store_int(ctx->out->items[out].dtype, &stored, (int64_t)sum);
        return (double)element_load_int(ctx->out->items[out].dtype, &stored);
    }
    return sum;
}

/* Multiplications and additions of one of the three sums; taps in the padding are counted like any other. */
static double conv_flops(const conv_shape *s) {
    return 2 * (double)s->batch * (double)s->narrow_channels * (double)area(s->narrow) *
           ((double)s->wide_channels / (double)s->groups) * (double)area(s->kernel);
}

static void convolution_cost(const op_call *call, const outputs *out, op_cost *cost) {
    conv_shape s;
    if (conv_shape_of(call, 0, 3, &s, NULL) != ASSAY_OK) {
        return;
    }
    double channels = (double)(s.transposed ? s.narrow_channels : s.wide_channels) / (double)s.groups;
    cost->flops = conv_flops(&s) + (call_is_none(call, 2) ? 0 : (double)tensor_numel(&out->items[0]));
    cost->reduction = channels * (double)area(s.kernel) + 1;
}

/* --- convolution_backward(grad_output, input, weight, bias_sizes, stride, ..., groups, output_mask) ------------------- */

static const bool *mask_of(const op_call *call) {
    return call->args[10].bools;
}

static status backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *input = call_tensor(call, 1), *weight = call_tensor(call, 2);
    conv_shape s;
    int64_t sizes[2 + WINDOW_DIMS];
    TRY(conv_shape_of(call, 1, 4, &s, err));
    int ndim = conv_output_sizes(&s, sizes);
    bool fits = grad->ndim == ndim && grad->dtype == input->dtype && dtype_is_floating(input->dtype);
    for (int d = 0; fits && d < ndim; d++) {
        fits = grad->sizes[d] == sizes[d];
    }
    if (!fits || call->args[10].n != 3) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: expected floating-point tensors, a gradient of the convolution's output and three masks, got %.200s",
                    call->op->signature.full, tensor_describe(got, grad));
    }
    const bool *mask = mask_of(call);
    TRY(mask[0] ? outputs_push_format(out, input->dtype, ndim, input->sizes, s.channels_last, err)
                : outputs_push_left_out(out, input->dtype, err));
    TRY(mask[1] ? outputs_push_format(out, input->dtype, ndim, weight->sizes, s.channels_last, err)
                : outputs_push_left_out(out, input->dtype, err));
    return mask[2] ? outputs_push_format(out, input->dtype, 1, &sizes[1], false, err)
                   : outputs_push_left_out(out, input->dtype, err);
}

static double bias_gradient(ref_ctx *ctx, const conv_ref *r, int64_t channel, double *norm) {
    const tensor *grad = call_tensor(ctx->call, 0);
    const double *g = ref_real(ctx, 0);
    int64_t plane = r->s.transposed ? r->wide_area : r->narrow_area;
    double sum = 0;
    for (int64_t n = 0; g != NULL && n < r->s.batch; n++) {
        const double *at = g + (n * grad->sizes[1] + channel) * plane;
        for (int64_t i = 0; i < plane; i++) {
            add_term(at[i], &sum, norm);
        }
    }
    return sum;
}

static double backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const conv_ref *r = reference_of(ctx, 1, 4);
    if (r == NULL) {
        return 0;
    }
    if (out == 2) {
        return bias_gradient(ctx, r, flat, norm);
    }
    if (out == 1) {
        return weight_element(r, flat, norm);
    }
    return r->s.transposed ? narrow_element(r, flat, norm) : wide_element(r, flat, norm);
}

static void backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    conv_shape s;
    (void)out;
    if (conv_shape_of(call, 1, 4, &s, NULL) != ASSAY_OK) {
        return;
    }
    const bool *mask = mask_of(call);
    const tensor *grad = call_tensor(call, 0);
    double windows = (double)s.batch * (double)area(s.narrow);
    double taps = (double)area(s.kernel) / (double)s.groups;
    double taken_up = taps * (double)(s.transposed ? s.wide_channels : s.narrow_channels);
    cost->flops = conv_flops(&s) * ((mask[0] ? 1 : 0) + (mask[1] ? 1 : 0)) + (mask[2] ? (double)tensor_numel(grad) : 0);
    cost->reduction = 1;
    if (mask[0] && taken_up > cost->reduction) {
        cost->reduction = taken_up;
    }
    if ((mask[1] || mask[2]) && windows > cost->reduction) {
        cost->reduction = windows;
    }
}

static const op_family family_convolution = {.name = "convolution"};

static const op_row rows[] = {
    {.signature = "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
                  "dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     .doc = "Correlation of input with weight over 1 to 3 spatial dimensions, or its adjoint when transposed.",
     .family = &family_convolution,
     .infer = convolution_infer,
     .cost = convolution_cost,
     .decompose = convolution_parts,
     .reference_element = convolution_element},
    {.signature = "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] "
                  "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
                  "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of convolution for input, weight and bias, those that output_mask asks for.",
     .family = &family_convolution,
     .infer = backward_infer,
     .cost = backward_cost,
     .decompose = v_library,
     .reference_element = backward_element},
};

const op_rows rows_conv = {rows, countof(rows)};
