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

/* How elements of one plane come about: the sum over taps and over the other side's planes, of what a tap reads there times its
   weight. */
typedef int64_t reach_fn(const conv_shape *s, const int64_t *at, const int64_t *k);
typedef struct plane_sum {
    const int64_t *sizes; /* of the elements' own plane */
    reach_fn *reach;
    const double *planes; /* plane p begins at planes + p * plane_step, its taps' weights at weights + p * weight_step */
    const double *weights;
    int64_t n_planes, plane_step, weight_step;
} plane_sum;

/* narrow[n, c, o] = sum over taps and the group's wide channels of wide * weight */
static plane_sum narrow_plane(const conv_ref *r, int64_t plane) {
    int64_t c = plane % r->s.narrow_channels, n = plane / r->s.narrow_channels;
    int64_t first = n * r->s.wide_channels + c / r->narrow_per_group * r->wide_per_group;
    return (plane_sum){.sizes = r->s.narrow, .reach = wide_at, .n_planes = r->wide_per_group,
                       .planes = r->wide + first * r->wide_area, .plane_step = r->wide_area,
                       .weights = r->weight + c * r->wide_per_group * r->kernel_area, .weight_step = r->kernel_area};
}

/* wide[n, c, i] = sum over taps and the group's narrow channels of narrow * weight */
static plane_sum wide_plane(const conv_ref *r, int64_t plane) {
    int64_t c = plane % r->s.wide_channels, n = plane / r->s.wide_channels;
    int64_t first = c / r->wide_per_group * r->narrow_per_group;
    return (plane_sum){.sizes = r->s.wide, .reach = narrow_at, .n_planes = r->narrow_per_group,
                       .planes = r->narrow + (n * r->s.narrow_channels + first) * r->narrow_area,
                       .plane_step = r->narrow_area,
                       .weights = r->weight + (first * r->wide_per_group + c % r->wide_per_group) * r->kernel_area,
                       .weight_step = r->wide_per_group * r->kernel_area};
}

/* The n <= OP_RUN elements of a plane from `flat` on; adds to their sums and square sums, tap after tap, plane after plane.
   Neighbours lie near each other on the other side as well, whose planes are far apart: so they go through these together. */
static void sum_planes(const conv_ref *r, const plane_sum *p, int64_t flat, int64_t n, double *sums, double *squares) {
    int64_t own[OP_RUN][WINDOW_DIMS], from[OP_RUN], where[OP_RUN], k[WINDOW_DIMS];
    for (int64_t j = 0; j < n; j++) {
        unravel(flat + j, p->sizes, own[j]);
    }
    for (int64_t tap = 0; tap < r->kernel_area; tap++) {
        int64_t inside = 0;
        unravel(tap, r->s.kernel, k);
        for (int64_t j = 0; j < n; j++) {
            from[inside] = p->reach(&r->s, own[j], k);
            where[inside] = j;
            inside += from[inside] >= 0;
        }
        for (int64_t i = 0; inside > 0 && i < p->n_planes; i++) {
            const double *plane = p->planes + i * p->plane_step, weight = p->weights[i * p->weight_step + tap];
            for (int64_t j = 0; j < inside; j++) {
                add_term(plane[from[j]] * weight, &sums[where[j]], &squares[where[j]]);
            }
        }
    }
}

/* Elements of the wide or of the narrow side from `flat` on, in pieces within a plane. */
static void sum_side(const conv_ref *r, bool wide, int64_t flat, int64_t n, double *sums, double *squares) {
    int64_t size = wide ? r->wide_area : r->narrow_area, piece;
    for (int64_t done = 0; done < n; done += piece) {
        int64_t at = flat + done, left = size - at % size;
        plane_sum p = wide ? wide_plane(r, at / size) : narrow_plane(r, at / size);
        piece = n - done < left ? n - done : left;
        sum_planes(r, &p, at % size, piece, sums + done, squares + done);
    }
}

/* The windows o of a line whose tap at `shift` from their start lies inside the wide line: [*from, *to). */
static void windows_inside(const conv_shape *s, int64_t shift, int64_t *from, int64_t *to) {
    int64_t stride = s->stride[2], last = s->wide[2] - 1 - shift;
    *from = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *to = last < 0 ? 0 : last / stride + 1;
    *to = *to < s->narrow[2] ? *to : s->narrow[2];
}

/* weight[m, w, k] = sum over batch and windows of narrow * wide */
static double weight_element(const conv_ref *r, int64_t flat, double *norm) {
    const conv_shape *s = &r->s;
    int64_t o[3] = {0}, k[3], from, to;
    unravel(flat % r->kernel_area, s->kernel, k);
    int64_t m = flat / r->kernel_area / r->wide_per_group;
    int64_t c = m / r->narrow_per_group * r->wide_per_group + flat / r->kernel_area % r->wide_per_group;
    int64_t shift = k[2] * s->dilation[2] - s->pad[2], lines = s->narrow[0] * s->narrow[1];
    double sum = 0, squares = 0;
    windows_inside(s, shift, &from, &to);
    for (int64_t line = 0; from < to && line < s->batch * lines; line++) {
        o[0] = line % lines / s->narrow[1];
        o[1] = line % s->narrow[1];
        o[2] = from;
        int64_t at = wide_at(s, o, k);
        if (at < 0) {
            continue;
        }
        const double *x = r->narrow + (line / lines * s->narrow_channels + m) * r->narrow_area + line % lines * s->narrow[2];
        const double *y = r->wide + (line / lines * s->wide_channels + c) * r->wide_area + at;
        for (int64_t i = from; i < to; i++) {
            add_term(x[i] * y[(i - from) * s->stride[2]], &sum, &squares);
        }
    }
    *norm += squares;
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

static bool convolution_neighbours(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *values, double *squares) {
    const conv_ref *r = reference_of(ctx, 0, 3);
    const tensor *o = &ctx->out->items[out];
    if (r == NULL || dtype_is_integral(o->dtype)) {
        return false;
    }
    sum_side(r, r->s.transposed, flat, n, values, squares);
    int64_t plane = r->s.transposed ? r->wide_area : r->narrow_area;
    for (int64_t i = 0; r->bias != NULL && i < n; i++) {
        add_term(r->bias[(flat + i) / plane % o->sizes[1]], &values[i], &squares[i]);
    }
    return true;
}

static double convolution_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    double sum = 0;
    const conv_ref *r = reference_of(ctx, 0, 3);
    if (r == NULL || convolution_neighbours(ctx, out, flat, 1, &sum, norm)) {
        return sum;
    }
    int64_t plane = r->s.transposed ? r->wide_area : r->narrow_area;
    sum_side(r, r->s.transposed, flat, 1, &sum, norm);
    sum += r->bias != NULL ? r->bias[flat / plane % ctx->out->items[out].sizes[1]] : 0;
    return ref_wrapped(ctx, out, (uint64_t)(int64_t)sum);
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
    for (int d = 0; !s.transposed && d < s.spatial; d++) { /* the forward reads past it */
        if (call_int_at(call, 8, d, 0) != 0) {
            return fail(err, ASSAY_INVALID, "%s: expected output_padding of 0 where nothing is transposed, got %" PRId64, call->op->signature.full,
                        call_int_at(call, 8, d, 0));
        }
    }
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

static bool backward_neighbours(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *values, double *squares) {
    const conv_ref *r = reference_of(ctx, 1, 4);
    if (r == NULL || out != 0) {
        return false;
    }
    sum_side(r, !r->s.transposed, flat, n, values, squares);
    return true;
}

static double backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const conv_ref *r = reference_of(ctx, 1, 4);
    double sum = 0;
    if (r == NULL || backward_neighbours(ctx, out, flat, 1, &sum, norm)) {
        return sum;
    }
    return out == 2 ? bias_gradient(ctx, r, flat, norm) : weight_element(r, flat, norm);
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
    if (!mask[1]) {
        op_cost_reads(call, 1, 0, cost);
    }
    if (!mask[0]) {
        op_cost_reads(call, 2, 0, cost);
    }
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
     .reference_element = convolution_element,
     .reference_run = convolution_neighbours},
    {.signature = "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] "
                  "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
                  "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of convolution for input, weight and bias, those that output_mask asks for.",
     .family = &family_convolution,
     .infer = backward_infer,
     .cost = backward_cost,
     .decompose = convolution_backward_parts,
     .reference_element = backward_element,
     .reference_run = backward_neighbours},
};

const op_rows rows_conv = {rows, countof(rows)};
