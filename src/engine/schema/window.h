/* SPDX-License-Identifier: Apache-2.0 */
/* What convolution and pooling share: windows that slide over up to three spatial dimensions. */
#ifndef ENGINE_SCHEMA_WINDOW_H
#define ENGINE_SCHEMA_WINDOW_H

#include "engine/schema/op.h"

enum { WINDOW_DIMS = 3 };

/* The windows of a convolution, seen as ATen's forward one: the `narrow` side has one position per window, the `wide` side
   is what windows slide over. An ordinary convolution reads wide and writes narrow, a transposed one the other way round;
   the weight is [narrow_channels, wide_channels / groups, kernel...] for both. Fewer than three spatial dimensions are
   led by dimensions of size 1, so that code has one case. */
typedef struct conv_shape {
    int spatial; /* dimensions there really are: 1, 2, 3 */
    bool transposed;
    bool channels_last; /* layout of outputs, by ATen's rule: input or weight suggests it */
    int64_t batch, groups;
    int64_t narrow_channels, wide_channels;
    int64_t narrow[WINDOW_DIMS], wide[WINDOW_DIMS];
    int64_t kernel[WINDOW_DIMS], stride[WINDOW_DIMS], pad[WINDOW_DIMS], dilation[WINDOW_DIMS];
} conv_shape;

/* From the arguments input, weight (input_arg + 1), stride, padding, dilation, transposed, output_padding, groups
   (stride_arg and on). INVALID where ATen refuses. */
status conv_shape_of(const op_call *call, int input_arg, int stride_arg, conv_shape *out, error *err);
/* The result's sizes (input's dimensions and order): [batch, channels, spatial...]. Returns how many dimensions. */
int conv_output_sizes(const conv_shape *s, int64_t *sizes);

/* The windows of a 2-d pool over [batch, channels, height, width], or without batch (then batch is 1). */
typedef struct pool_shape {
    bool batched;
    bool channels_last; /* layout of outputs: the input suggests it */
    int64_t batch, channels;
    int64_t in[2], out[2];
    int64_t kernel[2], stride[2], pad[2], dilation[2];
} pool_shape;

/* From kernel_size, stride, padding at kernel_arg and on; dilation_arg < 0: none. INVALID where ATen refuses. */
status pool_shape_of(const op_call *call, int input_arg, int kernel_arg, int dilation_arg, bool ceil_mode, pool_shape *out,
                     error *err);
/* _adaptive_avg_pool2d: windows of their own size each, kernel and the rest stay 0. */
status pool_shape_adaptive(const op_call *call, int input_arg, int64_t out_height, int64_t out_width, pool_shape *out,
                           error *err);
/* [batch,] channels, out: returns how many dimensions. */
int pool_output_sizes(const pool_shape *s, int64_t *sizes);

/* Rows or columns [*from, *to) that window o covers inside the input, and how many it covers with padding (which at the
   far end stops at the padded edge): dilation 1. */
void pool_window(const pool_shape *s, int dim, int64_t o, int64_t *from, int64_t *to, int64_t *padded);
/* As above for adaptive windows: floor(o * in / out) to ceil((o + 1) * in / out). */
void pool_window_adaptive(const pool_shape *s, int dim, int64_t o, int64_t *from, int64_t *to);
/* How many elements of a plane lie under all its windows, each counted as often as windows are over it; padding does not count. */
double pool_taps(const pool_shape *s);

/* Pushes a dense output, channels-last or contiguous. */
status outputs_push_format(outputs *out, dtype t, int ndim, const int64_t *sizes, bool channels_last, error *err);
/* Pushes what stands for an output that the call's output_mask leaves out: a tensor of size [0]. */
status outputs_push_left_out(outputs *out, dtype t, error *err);

#endif
