/* SPDX-License-Identifier: Apache-2.0 */
/* convolution and convolution_backward: the sums of schema/window.h, each by oneDNN or by own loops, with bias and its
   gradient around them. Own loops serve f64 and integers, and in f32 the shapes for which oneDNN's reorders take longer than
   its sums: kernels of one element, channels convolved each by itself, few channels (conv_tiles.h, conv_channels.h,
   conv_outer.h say which). In bf16 kernels of one element are oneDNN's matrix products (conv_products.h). */
#include "device/instructions.h"
#include "engine/kernels/cpu/conv_bias.h"
#include "engine/kernels/cpu/conv_channels.h"
#include "engine/kernels/cpu/conv_outer.h"
#include "engine/kernels/cpu/conv_own.h"
#include "engine/kernels/cpu/conv_products.h"
#include "engine/kernels/cpu/conv_tiles.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/onednn.h"
#include "engine/kernels/cpu/stage.h"

#include <string.h>

enum { NARROW, WIDE, WEIGHT, BIAS, N_SIDES };

/* One sum: which tensors take part, and what computes it. */
typedef struct conv_sum {
    onednn_conv spec;
    dtype compute;
    const tensor *side[N_SIDES];  /* NULL: no bias */
    bool staged[N_SIDES];
    stage stages[N_SIDES];
    onednn *library;              /* NULL: one of the others */
    conv_products *products;
    conv_own *own;
    conv_tiles *tiles;
    conv_channels *channels;
    conv_outer *outer;
    bool is_empty;                /* nothing to sum: the output is cleared */
    const tensor *added;          /* a bias that is added to the output as computed, before it is rounded */
} conv_sum;

typedef struct conv_state {
    conv_shape shape;
    int n_sums;
    conv_sum sums[2];
    const tensor *bias_grad; /* the output that takes the sums of `grad` over all but channels, or NULL */
    const tensor *grad;
} conv_state;

/* Strides of a side as [batch, channel, depth, height, width]. */
static void five_strides(const int64_t *strides, int spatial, int64_t *out) {
    out[0] = strides[0];
    out[1] = strides[1];
    for (int d = 0; d < WINDOW_DIMS; d++) {
        int k = d - (WINDOW_DIMS - spatial);
        out[2 + d] = k >= 0 ? strides[2 + k] : 0;
    }
    /* Dimensions that there are not have size 1: any stride that looks dense will do. */
    for (int d = WINDOW_DIMS - spatial - 1; d >= 0; d--) {
        out[2 + d] = out[2 + d + 1] > 0 ? out[2 + d + 1] : 1;
    }
}

static int output_side(onednn_direction direction) {
    return direction == ONEDNN_TO_NARROW ? NARROW : direction == ONEDNN_TO_WIDE ? WIDE : WEIGHT;
}

static status stage_sides(conv_sum *c, arena *memory, error *err) {
    int64_t *spec_strides[] = {c->spec.narrow, c->spec.wide, c->spec.weight};
    for (int i = 0; i < N_SIDES; i++) {
        const tensor *t = c->side[i];
        if (t == NULL) {
            continue;
        }
        c->staged[i] = t->dtype != c->compute || !stage_is_disjoint(t) || (i == BIAS && t->strides[0] != 1);
        if (c->staged[i]) {
            TRY(stage_prepare(&c->stages[i], t, c->compute, memory, err));
        }
        if (i < BIAS) {
            const int64_t *strides = c->staged[i] ? c->stages[i].layout.strides : t->strides;
            five_strides(strides, c->spec.shape->spatial, spec_strides[i]);
        }
    }
    return ASSAY_OK;
}

/* Without a batch, or without channels on the side that is summed up. */
static bool is_empty(const conv_shape *s) {
    return s->batch == 0 || s->narrow_channels == 0 || s->wide_channels == 0;
}

/* oneDNN describes the wide side by the windows' reach, which output_padding may leave by a stride or more. */
static bool library_takes(const conv_shape *s) {
    for (int d = 0; d < WINDOW_DIMS; d++) {
        int64_t reach = (s->narrow[d] - 1) * s->stride[d] + s->dilation[d] * (s->kernel[d] - 1) + 1;
        if (reach - s->wide[d] - s->pad[d] <= -s->stride[d]) {
            return false;
        }
    }
    return true;
}

/* oneDNN 2.6's gradient of the weights in bf16 on AMX tiles works on blocks of rows where outputs lie as inputs do and are
   over 128 KiB: it divides the number of rows until a block is below 48 KiB. Blocks of no more rows than the padding give
   wrong sums (8 x 400 by a kernel of 3 x 3), and where one row is over 48 KiB the search never ends (64 x 752). A row is 16
   channels of both sides, each with a margin of up to 32 columns. A block of up to n rows comes of n^2 or 2 n + 1. */
static bool library_takes_bf16(const conv_sum *c) {
    enum { H = WINDOW_DIMS - 2, W = WINDOW_DIMS - 1, BLOCKED_BYTES = 128 * 1024, BLOCK_BYTES = 48 * 1024 };
    const conv_shape *s = c->spec.shape;
    bool in_place = s->spatial < WINDOW_DIMS;
    for (int d = H; d <= W; d++) {
        in_place = in_place && s->stride[d] == 1 && s->dilation[d] == 1 && s->narrow[d] == s->wide[d];
    }
    if (c->spec.direction != ONEDNN_TO_WEIGHT || !in_place) {
        return true;
    }
    int64_t row_bytes = 2 * 16 * 2 * (s->narrow[W] + 32), pad = s->pad[H];
    int64_t rows = pad * pad > 2 * pad + 1 ? pad * pad : 2 * pad + 1;
    return row_bytes * s->narrow[H] <= BLOCKED_BYTES || row_bytes * rows <= BLOCK_BYTES;
}

/* Whether bf16 are multiplied in f32 where that is faster: windows of several elements, Winograd's among them, and kernels of one element that
   go over all of the image forwards; where there is enough to multiply for the copies. 256 channels to as many of 16 x 14 x 14 by 3 x 3 take
   6.5 ms so, 23.8 in bf16, their gradients 20 and 50; the gradients of kernels of one element up to 1.3 times as long (two cores of an
   Emerald Rapids, 2026-11). */
static bool widens_bf16(const conv_sum *c) {
    enum { LEAST_OF_ELEMENT = 34, LEAST_OF_ONE = 48, LEAST_PRODUCTS = 2 << 20 };
    const conv_shape *s = c->spec.shape;
    double narrow = (double)s->batch * (double)s->narrow_channels, wide = (double)s->batch * (double)s->wide_channels;
    double weights = (double)s->narrow_channels * (double)(s->wide_channels / s->groups);
    bool by_one = c->spec.direction == ONEDNN_TO_NARROW, is_one = true;
    for (int d = 0; d < WINDOW_DIMS; d++) {
        narrow *= (double)s->narrow[d];
        wide *= (double)s->wide[d];
        weights *= (double)s->kernel[d];
        is_one = is_one && s->kernel[d] == 1;
        by_one = by_one && s->stride[d] == 1;
    }
    const double products = narrow * weights / (double)s->narrow_channels;
    return isa_multiplies_bf16_slowly() && (by_one || !is_one) && products >= LEAST_PRODUCTS &&
           products >= (narrow + wide + weights) * (is_one ? LEAST_OF_ONE : LEAST_OF_ELEMENT);
}

/* Own loops know no bias: one that is read is added behind them. */
static void take_bias_apart(conv_sum *c) {
    if (c->spec.direction == ONEDNN_TO_NARROW && c->side[BIAS] != NULL) {
        c->added = c->side[BIAS];
        c->side[BIAS] = NULL;
    }
}

/* The weight's gradient goes through a stage: products leave it in f32. */
static status prepare_products(conv_sum *c, arena *memory, error *err) {
    if (!conv_products_takes(&c->spec)) {
        return ASSAY_UNSUPPORTED;
    }
    onednn_conv spec = c->spec;
    stage sums;
    bool is_weight = spec.direction == ONEDNN_TO_WEIGHT;
    if (is_weight) {
        TRY(stage_prepare(&sums, c->side[WEIGHT], ASSAY_F32, memory, err));
        five_strides(sums.layout.strides, spec.shape->spatial, spec.weight);
    }
    TRY(conv_products_prepare(&spec, memory, &c->products, err));
    if (is_weight) {
        c->staged[WEIGHT] = true;
        c->stages[WEIGHT] = sums;
    }
    return ASSAY_OK;
}

/* Of bf16 oneDNN has code for channels each by themselves, which reorders small images in less time than they take to be widened, and
   gradients of strides; for weights of more than 3 x 3 it takes up to seven times as long (Granite Rapids, 2026-11). */
static bool library_is_faster(const conv_sum *c) {
    enum { H = WINDOW_DIMS - 2, W = WINDOW_DIMS - 1, LEAST_POSITIONS = 400, LEAST_TO_WIDE = 196, FEW_TAPS = 9 };
    const conv_shape *s = c->spec.shape;
    int64_t positions = s->narrow[H] * s->narrow[W];
    switch (c->spec.direction) {
    case ONEDNN_TO_NARROW:
        return positions < LEAST_POSITIONS;
    case ONEDNN_TO_WIDE:
        return positions < LEAST_TO_WIDE || s->stride[H] > 1 || s->stride[W] > 1;
    default:
        return s->kernel[H] * s->kernel[W] <= FEW_TAPS;
    }
}

/* Channels each by itself, in halves as they are: their copies in f32 would go to memory and back. */
static status prepare_halves(conv_sum *c, dtype t, arena *memory, error *err) {
    bool is_half = t == ASSAY_F16 || (t == ASSAY_BF16 && !library_is_faster(c));
    if (!is_half || c->added != NULL) {
        return ASSAY_UNSUPPORTED;
    }
    c->compute = c->spec.dtype = t;
    c->spec.bias = c->side[BIAS] != NULL;
    TRY(stage_sides(c, memory, err));
    return conv_channels_takes(&c->spec) ? conv_channels_prepare(&c->spec, memory, &c->channels, err) : ASSAY_UNSUPPORTED;
}

/* The fastest of what sums in f32, or multiplies bf16: UNSUPPORTED where there is nothing for the shape, or no such instructions. */
static status prepare_in(conv_sum *c, dtype compute, arena *memory, error *err) {
    c->compute = c->spec.dtype = compute;
    c->spec.bias = c->side[BIAS] != NULL;
    TRY(stage_sides(c, memory, err));
    if (compute == ASSAY_F32 && conv_channels_takes(&c->spec)) {
        return conv_channels_prepare(&c->spec, memory, &c->channels, err);
    }
    if (conv_tiles_takes(&c->spec)) {
        return conv_tiles_prepare(&c->spec, memory, &c->tiles, err);
    }
    if (conv_outer_takes(&c->spec)) {
        return conv_outer_prepare(&c->spec, memory, &c->outer, err);
    }
    status result = prepare_products(c, memory, err);
    if (result == ASSAY_UNSUPPORTED) {
        result = onednn_conv_prepare(&c->spec, memory, &c->library, err);
    }
    if (result == ASSAY_UNSUPPORTED && conv_channels_takes(&c->spec)) { /* bf16 on a CPU without the instructions */
        result = conv_channels_prepare(&c->spec, memory, &c->channels, err);
    }
    return result;
}

static status sum_prepare(conv_sum *c, arena *memory, error *err) {
    dtype t = c->side[NARROW]->dtype;
    c->is_empty = is_empty(c->spec.shape);
    if (c->is_empty) {
        take_bias_apart(c);
        return ASSAY_OK;
    }
    bool is_float = t == ASSAY_F32 || t == ASSAY_F16 || t == ASSAY_BF16;
    if (is_float && library_takes(c->spec.shape)) {
        bool in_bf16 = t == ASSAY_BF16 && c->added == NULL && library_takes_bf16(c) && !widens_bf16(c);
        status result = prepare_halves(c, t, memory, err);
        result = result == ASSAY_UNSUPPORTED && in_bf16 ? prepare_in(c, ASSAY_BF16, memory, err) : result;
        result = result == ASSAY_UNSUPPORTED ? prepare_in(c, ASSAY_F32, memory, err) : result;
        if (result != ASSAY_UNSUPPORTED) {
            return result;
        }
    }
    c->compute = c->spec.dtype = is_float ? ASSAY_F32 : dtype_is_integral(t) && t != ASSAY_I64 ? ASSAY_I32 : t;
    take_bias_apart(c);
    TRY(stage_sides(c, memory, err));
    return conv_own_prepare(&c->spec, memory, &c->own, err);
}

static void clear_tensor(const tensor *t) {
    if (tensor_numel(t) > 0) { /* outputs are dense */
        memset(tensor_data(t), 0, (size_t)tensor_span(t) * dtype_size(t->dtype));
    }
}

static status sum_run(conv_sum *c, error *err) {
    int to = output_side(c->spec.direction);
    bool writes_bias = to == WEIGHT;
    onednn_data data = {{NULL}};
    if (c->is_empty) {
        clear_tensor(c->side[to]);
        if (c->added != NULL) {
            conv_add_bias(c->side[to], tensor_data(c->side[to]), c->added);
        }
        return ASSAY_OK;
    }
    for (int i = 0; i < N_SIDES; i++) {
        if (c->side[i] == NULL) {
            continue;
        }
        data.at[i] = c->staged[i] ? c->stages[i].data : tensor_data(c->side[i]);
        if (c->staged[i] && i != to && !(i == BIAS && writes_bias)) {
            stage_load(&c->stages[i], tensor_data(c->side[i]));
        }
    }
    if (c->library != NULL) {
        TRY(onednn_run(c->library, &data, err));
    } else if (c->products != NULL) {
        TRY(conv_products_run(c->products, &data, err));
    } else if (c->channels != NULL) {
        conv_channels_run(c->channels, &data);
    } else if (c->outer != NULL) {
        conv_outer_run(c->outer, &data);
    } else if (c->tiles != NULL) {
        conv_tiles_run(c->tiles, &data);
    } else {
        conv_own_run(c->own, &data);
    }
    if (c->added != NULL) {
        conv_add_bias(c->staged[to] ? &c->stages[to].layout : c->side[to], data.at[to], c->added);
    }
    if (c->staged[to]) {
        stage_store(&c->stages[to], tensor_data(c->side[to]));
    }
    if (c->side[BIAS] != NULL && writes_bias && c->staged[BIAS]) {
        stage_store(&c->stages[BIAS], tensor_data(c->side[BIAS]));
    }
    return ASSAY_OK;
}

static status run(kernel_plan *plan) {
    conv_state *s = plan->state;
    for (int i = 0; i < s->n_sums; i++) {
        TRY(sum_run(&s->sums[i], plan->err));
    }
    if (s->bias_grad != NULL) {
        conv_sum_bias(s->grad, s->bias_grad);
    }
    return ASSAY_OK;
}

static void clear(kernel_plan *plan) {
    conv_state *s = plan->state;
    for (int i = 0; s != NULL && i < s->n_sums; i++) {
        onednn_free(s->sums[i].library);
        conv_products_free(s->sums[i].products);
    }
}

/* Adds a sum and prepares it. Counted first, so that clear() releases what a failure leaves. */
static status add_sum(kernel_plan *plan, onednn_direction direction, const tensor *narrow, const tensor *wide,
                      const tensor *weight, const tensor *bias, const tensor *added, error *err) {
    conv_state *s = plan->state;
    conv_sum *c = &s->sums[s->n_sums++];
    c->added = added;
    c->spec.direction = direction;
    c->spec.shape = &s->shape;
    c->side[NARROW] = narrow;
    c->side[WIDE] = wide;
    c->side[WEIGHT] = weight;
    c->side[BIAS] = bias;
    return sum_prepare(c, plan->memory, err);
}

static status start(kernel_plan *plan, int input_arg, int stride_arg, error *err) {
    conv_state *s = plan->state = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    plan->run = run;
    plan->clear = clear;
    return conv_shape_of(plan->call, input_arg, stride_arg, &s->shape, err);
}

static status prepare_forward(kernel_plan *plan, error *err) {
    TRY(start(plan, 0, 3, err));
    conv_state *s = plan->state;
    const tensor *input = call_tensor(plan->call, 0), *weight = call_tensor(plan->call, 1);
    const tensor *bias = call_tensor(plan->call, 2), *out = &plan->out->items[0];
    if (s->shape.transposed) {
        return add_sum(plan, ONEDNN_TO_WIDE, input, out, weight, NULL, bias, err);
    }
    return add_sum(plan, ONEDNN_TO_NARROW, out, input, weight, bias, NULL, err);
}

static status prepare_backward(kernel_plan *plan, error *err) {
    TRY(start(plan, 1, 4, err));
    conv_state *s = plan->state;
    const op_call *call = plan->call;
    const bool *mask = call->args[10].bools;
    const tensor *grad = call_tensor(call, 0), *input = call_tensor(call, 1), *weight = call_tensor(call, 2);
    const tensor *out = plan->out->items;
    bool transposed = s->shape.transposed, library_bias = false;
    if (mask[0]) {
        TRY(transposed ? add_sum(plan, ONEDNN_TO_NARROW, &out[0], grad, weight, NULL, NULL, err)
                       : add_sum(plan, ONEDNN_TO_WIDE, grad, &out[0], weight, NULL, NULL, err));
    }
    if (mask[1]) {
        /* oneDNN adds a channel up in one running f32 sum: 614000 equal terms came out 0.6% short. */
        bool short_sum = tensor_numel(grad) <= 1024 * grad->sizes[1];
        const int64_t *kernel = s->shape.kernel; /* of these conv_channels.h and conv_outer.h sum no bias */
        bool alone = s->shape.wide_channels == s->shape.groups || kernel[0] * kernel[1] * kernel[2] == 1;
        library_bias = mask[2] && !transposed && grad->dtype != ASSAY_F64 && short_sum && !alone;
        TRY(add_sum(plan, ONEDNN_TO_WEIGHT, transposed ? input : grad, transposed ? grad : input, &out[1],
                    library_bias ? &out[2] : NULL, NULL, err));
        const conv_sum *c = &s->sums[s->n_sums - 1];
        library_bias = library_bias && c->library != NULL; /* an empty sum has terms of the bias all the same */
    }
    if (mask[2] && !library_bias) {
        s->bias_grad = &out[2];
        s->grad = grad;
    }
    return ASSAY_OK;
}

static const char note[] =
    "f32 by oneDNN (windows of 3 x 3 by Winograd's algorithm) or own loops (kernels of one element, depthwise, few channels); bf16 by "
    "oneDNN (kernels of one element as matrix products) or own loops (depthwise windows over large images), in f32 where the "
    "processor has no instructions for it, or slow ones; f16 converted to f32; f64 and integers by own loops";

static const kernel_row rows[] = {
    {"convolution.default", prepare_forward, note},
    {"convolution_backward.default", prepare_backward, note},
};

const kernel_rows kernels_conv = {rows, countof(rows)};
