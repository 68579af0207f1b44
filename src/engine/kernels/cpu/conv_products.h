/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in bf16 by kernels of one element as oneDNN's matrix products, on images as they lie: bringing those to the layouts of its
   convolutions and back takes several times as long as the sums. */
#ifndef ENGINE_KERNELS_CPU_CONV_PRODUCTS_H
#define ENGINE_KERNELS_CPU_CONV_PRODUCTS_H

#include "engine/kernels/cpu/onednn.h"

typedef struct conv_products conv_products;

/* bf16, one group, one window on each position, positions of an image behind each other in memory; a bias is read by ONEDNN_TO_NARROW
   only. */
bool conv_products_takes(const onednn_conv *spec);
/* The gradient of the weight is summed up, and left, in f32: of spec's strides the weight's are those of a dense f32 tensor. UNSUPPORTED
   when oneDNN has nothing fast for bf16 on this CPU, OUT_OF_MEMORY. Work space comes from memory, the rest goes with conv_products_free. */
status conv_products_prepare(const onednn_conv *spec, arena *memory, conv_products **out, error *err);
/* Allocates nothing; one run at a time, on omp_get_max_threads() threads. */
status conv_products_run(conv_products *c, const onednn_data *data, error *err);
/* NULL is fine. */
void conv_products_free(conv_products *c);

#endif
