/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's bias apart from its products. Tensors are [N, C, spatial...], in any order of dimensions. */
#ifndef ENGINE_KERNELS_CPU_CONV_BIAS_H
#define ENGINE_KERNELS_CPU_CONV_BIAS_H

#include "engine/tensor/tensor.h"

/* Adds bias, C numbers, to out, whose elements lie at data. */
void conv_add_bias(const tensor *out, char *data, const tensor *bias);

/* Sums of a gradient over all but its channels, to out, C numbers. */
void conv_sum_bias(const tensor *grad, const tensor *out);

#endif
