/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and sizes of sliding windows. */
#include "engine/schema/window.h"

#include <inttypes.h>

/* Larger parameters could not be meant, and with this bound no product below leaves int64. */
static const int64_t PARAM_MAX = INT64_C(1) << 30;

status outputs_push_format(outputs *out, dtype t, int ndim, const int64_t *sizes, bool channels_last, error *err) {
    tensor *made = outputs_push(out);
    if (made == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    if (channels_last && ndim == 4) {
        return tensor_init_permuted(made, t, 4, sizes, (const int[]){0, 2, 3, 1}, err);
    }
    if (channels_last && ndim == 5) {
        return tensor_init_permuted(made, t, 5, sizes, (const int[]){0, 2, 3, 4, 1}, err);
    }
    return tensor_init(made, t, ndim, sizes, err);
}

status outputs_push_left_out(outputs *out, dtype t, error *err) {
    return outputs_push_format(out, t, 1, (const int64_t[]){0}, false, err);
}

/* --- convolution ------------------------------------------------------------------------------------------------------- */

static status check_param(const op_call *call, int i, int spatial, int64_t least, error *err) {
    int n;
    const int64_t *items = call_ints(call, i, &n);
    const char *name = call->op->signature.params[i].name;
    if (n != 1 && n != spatial) {
        return fail(err, ASSAY_INVALID, "%s: expected %s of 1 or %d numbers, got %d", call->op->signature.full, name,
                    spatial, n);
    }
    for (int k = 0; k < n; k++) {
        if (items[k] < least || items[k] > PARAM_MAX) {
            return fail(err, ASSAY_INVALID, "%s: expected %s from %" PRId64 " to 2^30, got %" PRId64,
                        call->op->signature.full, name, least, items[k]);
        }
    }
    return ASSAY_OK;
}

static status check_tensors(const op_call *call, const tensor *input, const tensor *weight, int64_t groups, bool transposed,
                            error *err) {
    const char *name = call->op->signature.full;
    char got[TENSOR_TEXT_BYTES];
    if (input->ndim < 3 || input->ndim > 2 + WINDOW_DIMS || weight->ndim != input->ndim) {
        return fail(err, ASSAY_INVALID,
                    "%s: expected input and weight of the same 3 to 5 dimensions (with a batch), got %d and %d", name,
                    input->ndim, weight->ndim);
    }
    if (input->dtype != weight->dtype || dtype_is_complex(input->dtype) || input->dtype == ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected input and weight of one real dtype, got %s and %s", name,
                    assay_dtype_name(input->dtype), assay_dtype_name(weight->dtype));
    }
    bool channels_fit = transposed ? weight->sizes[0] == input->sizes[1] && input->sizes[1] % groups == 0
                                   : input->sizes[1] % groups == 0 && weight->sizes[1] == input->sizes[1] / groups &&
                                         weight->sizes[0] % groups == 0;
    if (!channels_fit || weight->sizes[0] == 0 || weight->sizes[1] > PARAM_MAX) {
        return fail(err, ASSAY_INVALID,
                    "%s: the weight %.200s with %" PRId64 " groups does not fit an input of %" PRId64 " channels", name,
                    tensor_describe(got, weight), groups, input->sizes[1]);
    }
    for (int d = 0; d < input->ndim; d++) {
        if (input->sizes[d] > PARAM_MAX || weight->sizes[d] > PARAM_MAX || (d >= 2 && weight->sizes[d] == 0)) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d of input or weight is out of range: %" PRId64 ", %" PRId64,
                        name, d, input->sizes[d], weight->sizes[d]);
        }
    }
    return ASSAY_OK;
}

/* Spatial dimension d (of WINDOW_DIMS), whose size in the input is `in`. */
static status set_spatial(const op_call *call, conv_shape *s, int d, int64_t in, int64_t output_pad, error *err) {
    int64_t reach = s->dilation[d] * (s->kernel[d] - 1) + 1;
    if (s->transposed) {
        s->narrow[d] = in;
        s->wide[d] = (in - 1) * s->stride[d] - 2 * s->pad[d] + reach + output_pad;
        if (output_pad >= s->stride[d] && output_pad >= s->dilation[d]) {
            return fail(err, ASSAY_INVALID, "%s: expected output_padding below stride or dilation, got %" PRId64,
                        call->op->signature.full, output_pad);
        }
    } else {
        s->wide[d] = in;
        s->narrow[d] = in + 2 * s->pad[d] < reach ? 0 : (in + 2 * s->pad[d] - reach) / s->stride[d] + 1;
    }
    int64_t made = s->transposed ? s->wide[d] : s->narrow[d];
    if (made <= 0) {
        return fail(err, ASSAY_INVALID,
                    "%s: an input of size %" PRId64 " with padding %" PRId64 " leaves no room for a kernel of %" PRId64
                    " with dilation %" PRId64,
                    call->op->signature.full, in, s->pad[d], s->kernel[d], s->dilation[d]);
    }
    return ASSAY_OK;
}

static bool prefers_channels_last(const tensor *input, const tensor *weight) {
    if (!tensor_suggests_channels_last(input) && !tensor_suggests_channels_last(weight)) {
        return false;
    }
    /* ATen's own 3-d convolution, which serves the types that oneDNN does not, answers contiguous tensors. */
    return input->ndim == 4 || input->dtype == ASSAY_F32 || input->dtype == ASSAY_BF16;
}

/* As in ATen an image without pixels is none, save where there are no images, or none of its channels, anyway. */
static status check_pixels(const op_call *call, const tensor *input, error *err) {
    if (tensor_numel(input) > 0 || input->sizes[0] == 0 || input->sizes[1] == 0) {
        return ASSAY_OK;
    }
    char got[TENSOR_TEXT_BYTES];
    return fail(err, ASSAY_INVALID, "%s: expected an input with elements, or of no batch or channels, got %.200s", call->op->signature.full,
                tensor_describe(got, input));
}

status conv_shape_of(const op_call *call, int input_arg, int stride_arg, conv_shape *out, error *err) {
    const tensor *input = call_tensor(call, input_arg), *weight = call_tensor(call, input_arg + 1);
    conv_shape s = {.transposed = call_bool(call, stride_arg + 3), .groups = call_int(call, stride_arg + 5)};
    s.spatial = input->ndim - 2;
    if (s.groups < 1 || s.groups > PARAM_MAX) {
        return fail(err, ASSAY_INVALID, "%s: expected groups from 1 to 2^30, got %" PRId64, call->op->signature.full,
                    s.groups);
    }
    TRY(check_tensors(call, input, weight, s.groups, s.transposed, err));
    TRY(check_pixels(call, input, err));
    TRY(check_param(call, stride_arg, s.spatial, 1, err));
    TRY(check_param(call, stride_arg + 1, s.spatial, 0, err));
    TRY(check_param(call, stride_arg + 2, s.spatial, 1, err));
    TRY(check_param(call, stride_arg + 4, s.spatial, 0, err));
    s.batch = input->sizes[0];
    s.narrow_channels = weight->sizes[0];
    s.wide_channels = weight->sizes[1] * s.groups;
    s.channels_last = prefers_channels_last(input, weight);
    for (int d = 0; d < WINDOW_DIMS; d++) {
        int k = d - (WINDOW_DIMS - s.spatial);
        s.kernel[d] = s.stride[d] = s.dilation[d] = s.narrow[d] = s.wide[d] = 1;
        if (k < 0) {
            continue;
        }
        s.kernel[d] = weight->sizes[2 + k];
        s.stride[d] = call_int_at(call, stride_arg, k, 1);
        s.pad[d] = call_int_at(call, stride_arg + 1, k, 0);
        s.dilation[d] = call_int_at(call, stride_arg + 2, k, 1);
        TRY(set_spatial(call, &s, d, input->sizes[2 + k], call_int_at(call, stride_arg + 4, k, 0), err));
    }
    *out = s;
    return ASSAY_OK;
}

int conv_output_sizes(const conv_shape *s, int64_t *sizes) {
    sizes[0] = s->batch;
    sizes[1] = s->transposed ? s->wide_channels : s->narrow_channels;
    for (int k = 0; k < s->spatial; k++) {
        int d = WINDOW_DIMS - s->spatial + k;
        sizes[2 + k] = s->transposed ? s->wide[d] : s->narrow[d];
    }
    return 2 + s->spatial;
}

/* --- pools --------------------------------------------------------------------------------------------------------------- */

static status pool_input(const op_call *call, int input_arg, pool_shape *s, error *err) {
    const tensor *t = call_tensor(call, input_arg);
    const char *name = call->op->signature.full;
    char got[TENSOR_TEXT_BYTES];
    if (t->ndim != 3 && t->ndim != 4) {
        return fail(err, ASSAY_INVALID, "%s: expected 3 or 4 dimensions, got %.200s", name, tensor_describe(got, t));
    }
    const int64_t *last = t->sizes + t->ndim - 3;
    if ((last[0] == 0 && s->kernel[0] > 0) || last[1] == 0 || last[2] == 0 || last[1] > PARAM_MAX || last[2] > PARAM_MAX) {
        return fail(err, ASSAY_INVALID, "%s: expected %sheight and width of 1 to 2^30, got %.200s", name, s->kernel[0] > 0 ? "channels, " : "",
                    tensor_describe(got, t));
    }
    s->batched = t->ndim == 4;
    s->batch = s->batched ? t->sizes[0] : 1;
    s->channels = last[0];
    s->in[0] = last[1];
    s->in[1] = last[2];
    s->channels_last = tensor_suggests_channels_last(t);
    return ASSAY_OK;
}

/* Windows along one dimension; in ceil_mode the last may hang over the edge, but must start inside input or padding. */
static int64_t pool_out_size(const pool_shape *s, int d, bool ceil_mode) {
    int64_t room = s->in[d] + 2 * s->pad[d] - s->dilation[d] * (s->kernel[d] - 1) - 1;
    int64_t slack = ceil_mode ? s->stride[d] - 1 : 0;
    int64_t most = room + slack < 0 ? 0 : (room + slack) / s->stride[d] + 1;
    return ceil_mode && (most - 1) * s->stride[d] >= s->in[d] + s->pad[d] ? most - 1 : most;
}

static status pool_param(const op_call *call, int param_index, int k, int64_t if_empty, int64_t least, int64_t *out, error *err) {
    int n;
    call_ints(call, param_index, &n);
    int64_t value = call_int_at(call, param_index, k, if_empty);
    if (n > 2 || value < least || value > PARAM_MAX) {
        return fail(err, ASSAY_INVALID, "%s: expected one or two numbers from %" PRId64 " to 2^30 for %s, got %" PRId64,
                    call->op->signature.full, least, call->op->signature.params[param_index].name, value);
    }
    *out = value;
    return ASSAY_OK;
}

status pool_shape_of(const op_call *call, int input_arg, int kernel_arg, int dilation_arg, bool ceil_mode, pool_shape *out,
                     error *err) {
    pool_shape s = {.batch = 1};
    for (int d = 0; d < 2; d++) {
        TRY(pool_param(call, kernel_arg, d, 0, 1, &s.kernel[d], err));
    }
    TRY(pool_input(call, input_arg, &s, err));
    for (int d = 0; d < 2; d++) {
        TRY(pool_param(call, kernel_arg + 1, d, s.kernel[d], 1, &s.stride[d], err));
        TRY(pool_param(call, kernel_arg + 2, d, 0, 0, &s.pad[d], err));
        s.dilation[d] = 1;
        if (dilation_arg >= 0) {
            TRY(pool_param(call, dilation_arg, d, 1, 1, &s.dilation[d], err));
        }
        if (s.pad[d] > s.kernel[d] / 2) { /* as it is, not spread by the dilation */
            return fail(err, ASSAY_INVALID,
                        "%s: expected padding of at most half the kernel, got %" PRId64 " for a kernel of %" PRId64,
                        call->op->signature.full, s.pad[d], s.kernel[d]);
        }
        s.out[d] = pool_out_size(&s, d, ceil_mode);
        if (s.out[d] < 1) {
            return fail(err, ASSAY_INVALID, "%s: a kernel of %" PRId64 " does not fit an input of %" PRId64,
                        call->op->signature.full, s.kernel[d], s.in[d]);
        }
    }
    *out = s;
    return ASSAY_OK;
}

status pool_shape_adaptive(const op_call *call, int input_arg, int64_t out_height, int64_t out_width, pool_shape *out,
                           error *err) {
    pool_shape s = {.batch = 1, .out = {out_height, out_width}};
    TRY(pool_input(call, input_arg, &s, err));
    for (int d = 0; d < 2; d++) {
        if (s.out[d] < 0 || s.out[d] > PARAM_MAX) {
            return fail(err, ASSAY_INVALID, "%s: expected an output size from 0 to 2^30, got %" PRId64,
                        call->op->signature.full, s.out[d]);
        }
    }
    *out = s;
    return ASSAY_OK;
}

int pool_output_sizes(const pool_shape *s, int64_t *sizes) {
    int n = 0;
    if (s->batched) {
        sizes[n++] = s->batch;
    }
    sizes[n++] = s->channels;
    sizes[n++] = s->out[0];
    sizes[n++] = s->out[1];
    return n;
}

void pool_window(const pool_shape *s, int dim, int64_t o, int64_t *from, int64_t *to, int64_t *padded) {
    int64_t start = o * s->stride[dim] - s->pad[dim];
    int64_t end = start + s->kernel[dim], edge = s->in[dim] + s->pad[dim];
    end = end < edge ? end : edge;
    *padded = end - start;
    *from = start > 0 ? start : 0;
    *to = end < s->in[dim] ? end : s->in[dim];
}

void pool_window_adaptive(const pool_shape *s, int dim, int64_t o, int64_t *from, int64_t *to) {
    *from = o * s->in[dim] / s->out[dim];
    *to = ((o + 1) * s->in[dim] + s->out[dim] - 1) / s->out[dim];
}

/* By the kernel's taps: tap k is over the input at those o for which 0 <= o * stride - pad + k * dilation < in. */
static double taps_along(const pool_shape *s, int dim) {
    int64_t stride = s->stride[dim], sum = 0;
    for (int64_t k = 0; k < s->kernel[dim]; k++) {
        int64_t low = s->pad[dim] - k * s->dilation[dim], high = s->in[dim] - 1 + low; /* o * stride lies from low to high */
        int64_t first = low > 0 ? (low + stride - 1) / stride : 0, end = high < 0 ? 0 : high / stride + 1;
        end = end < s->out[dim] ? end : s->out[dim];
        sum += end > first ? end - first : 0;
    }
    return (double)sum;
}

/* Two neighbours share an element where o * in / out, between them, is no whole number: at all but gcd - 1 of out - 1 places. */
static double taps_along_adaptive(const pool_shape *s, int dim) {
    int64_t gcd = s->in[dim], rest = s->out[dim];
    while (rest != 0) {
        int64_t next = gcd % rest;
        gcd = rest;
        rest = next;
    }
    return (double)(s->in[dim] + s->out[dim] - gcd);
}

double pool_taps(const pool_shape *s) {
    double taps = 1;
    for (int d = 0; d < 2; d++) {
        taps *= s->kernel[d] > 0 ? taps_along(s, d) : taps_along_adaptive(s, d);
    }
    return taps;
}
