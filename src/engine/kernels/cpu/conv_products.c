/* SPDX-License-Identifier: Apache-2.0 */
/* An image is a matrix [channels][positions]. The narrow one is weight x wide, the wide one's gradient weight^T x narrow: both for all
   images at once. The weight's gradient is the sum over images of narrow x wide^T, in f32. */
#include "engine/kernels/cpu/conv_products.h"

#include "engine/kernels/cpu/conv_layout.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

/* Shorter rows of a product leave most of a tile idle, and the weight, turned round for the wide side, is turned again for every image.
   BAD_DEPTH: of which oneDNN 2.6 multiplies wrongly (gemm_real.c). */
enum { NARROW, WIDE, WEIGHT, BIAS };
enum { LEAST_POSITIONS = 32, LEAST_TO_WIDE = 128, BAD_DEPTH = 63 };

struct conv_products {
    onednn_direction direction;
    int64_t images, channels, positions, image_step, channel_step; /* of the narrow side */
    int64_t wide_step;                                             /* of an image of the wide side */
    int64_t weights;
    bool adds_bias;
    onednn *product;
};

static int64_t positions_of(const conv_shape *s) {
    return s->narrow[0] * s->narrow[1] * s->narrow[2];
}

static int64_t depth_of(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    return spec->direction == ONEDNN_TO_NARROW ? s->wide_channels
           : spec->direction == ONEDNN_TO_WIDE ? s->narrow_channels
                                               : positions_of(s);
}

bool conv_products_takes(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    bool is_weight = spec->direction == ONEDNN_TO_WEIGHT;
    bool has_rows = spec->weight[1] == 1 || (spec->weight[0] == 1 && !is_weight);
    bool is_long = positions_of(s) >= (spec->direction == ONEDNN_TO_WIDE ? LEAST_TO_WIDE : LEAST_POSITIONS);
    bool has_matrices = has_rows && conv_is_joined(spec->narrow, s->narrow) && conv_is_joined(spec->wide, s->wide);
    return spec->dtype == ASSAY_BF16 && s->groups == 1 && conv_is_plain(s) && is_long && has_matrices &&
           depth_of(spec) != BAD_DEPTH && !(is_weight && spec->bias);
}

static onednn_matmul product_of(const onednn_conv *spec) {
    const conv_shape *s = spec->shape;
    const int64_t *narrow = spec->narrow, *wide = spec->wide, *weight = spec->weight;
    onednn_matmul m = {.dtype = spec->dtype, .batch = s->batch, .alpha = 1, .n = positions_of(s)};
    if (spec->direction == ONEDNN_TO_NARROW) {
        m.m = s->narrow_channels, m.k = s->wide_channels, m.adds_c = spec->bias;
        m.a[1] = weight[0], m.a[2] = weight[1];
        m.b[0] = wide[0], m.b[1] = wide[1], m.b[2] = 1;
        m.c[0] = narrow[0], m.c[1] = narrow[1], m.c[2] = 1;
    } else if (spec->direction == ONEDNN_TO_WIDE) {
        m.m = s->wide_channels, m.k = s->narrow_channels;
        m.a[1] = weight[1], m.a[2] = weight[0];
        m.b[0] = narrow[0], m.b[1] = narrow[1], m.b[2] = 1;
        m.c[0] = wide[0], m.c[1] = wide[1], m.c[2] = 1;
    } else {
        m.batch = 1, m.m = s->narrow_channels, m.n = s->wide_channels, m.k = positions_of(s), m.adds_c = true, m.sums_f32 = true;
        m.a[1] = narrow[1], m.a[2] = 1;
        m.b[1] = 1, m.b[2] = wide[1];
        m.c[1] = weight[0], m.c[2] = weight[1];
    }
    return m;
}

status conv_products_prepare(const onednn_conv *spec, arena *memory, conv_products **out, error *err) {
    conv_products *c = arena_make(memory, 1, sizeof *c);
    if (c == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a convolution");
    }
    const conv_shape *s = spec->shape;
    *c = (conv_products){.direction = spec->direction,
                         .images = s->batch,
                         .channels = s->narrow_channels,
                         .positions = positions_of(s),
                         .image_step = spec->narrow[0],
                         .channel_step = spec->narrow[1],
                         .wide_step = spec->wide[0],
                         .weights = s->narrow_channels * s->wide_channels,
                         .adds_bias = spec->bias};
    onednn_matmul m = product_of(spec);
    TRY(onednn_matmul_prepare(&m, memory, &c->product, err));
    *out = c;
    return ASSAY_OK;
}

void conv_products_free(conv_products *c) {
    if (c != NULL) {
        onednn_free(c->product);
        c->product = NULL;
    }
}

/* Each row of the narrow images becomes its channel's bias: a bf16 as it is, to which the product is added before it is rounded. */
static void fill_bias(const conv_products *c, const uint16_t *bias, uint16_t *narrow) {
    const observer *watch = observer_of_thread;
    int64_t rows = c->images * c->channels;
#pragma omp parallel num_threads(parallel_threads((double)(rows * c->positions) * sizeof *narrow))
    {
        parallel_enter(watch);
#pragma omp for schedule(static) nowait
        for (int64_t r = 0; r < rows; r++) {
            uint16_t *row = narrow + r / c->channels * c->image_step + r % c->channels * c->channel_step, value = bias[r % c->channels];
            for (int64_t i = 0; i < c->positions; i++) {
                row[i] = value;
            }
        }
        parallel_leave(watch);
    }
}

static status sum_weight(const conv_products *c, const onednn_data *data, error *err) {
    memset(data->at[WEIGHT], 0, (size_t)c->weights * sizeof(float));
    for (int64_t i = 0; i < c->images; i++) {
        uint16_t *narrow = (uint16_t *)data->at[NARROW] + i * c->image_step, *wide = (uint16_t *)data->at[WIDE] + i * c->wide_step;
        TRY(onednn_run(c->product, &(onednn_data){{narrow, wide, data->at[WEIGHT]}}, err));
    }
    return ASSAY_OK;
}

status conv_products_run(conv_products *c, const onednn_data *data, error *err) {
    if (c->direction == ONEDNN_TO_WEIGHT) {
        return sum_weight(c, data, err);
    }
    if (c->direction == ONEDNN_TO_WIDE) {
        return onednn_run(c->product, &(onednn_data){{data->at[WEIGHT], data->at[NARROW], data->at[WIDE]}}, err);
    }
    if (c->adds_bias) {
        fill_bias(c, data->at[BIAS], data->at[NARROW]);
    }
    return onednn_run(c->product, &(onednn_data){{data->at[WEIGHT], data->at[WIDE], data->at[NARROW]}}, err);
}
