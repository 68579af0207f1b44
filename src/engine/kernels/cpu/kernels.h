/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's kernel files, each a list of kernel rows. A new file is named here and in table.c, nowhere else. */
#ifndef ENGINE_KERNELS_CPU_KERNELS_H
#define ENGINE_KERNELS_CPU_KERNELS_H

#include "engine/kernels/kernel.h"

extern const kernel_rows kernels_pointwise;
extern const kernel_rows kernels_reduce;
extern const kernel_rows kernels_norm;
extern const kernel_rows kernels_softmax;
extern const kernel_rows kernels_loss;
extern const kernel_rows kernels_sort;
extern const kernel_rows kernels_cumsum;
extern const kernel_rows kernels_copy;
extern const kernel_rows kernels_shape;
extern const kernel_rows kernels_reflect;
extern const kernel_rows kernels_fold;
extern const kernel_rows kernels_reflect_back;
extern const kernel_rows kernels_triangle;
extern const kernel_rows kernels_create;
extern const kernel_rows kernels_random;
extern const kernel_rows kernels_index;
extern const kernel_rows kernels_scatter;
extern const kernel_rows kernels_embedding;
extern const kernel_rows kernels_embedding_bag;
extern const kernel_rows kernels_rnn;
extern const kernel_rows kernels_fft;
extern const kernel_rows kernels_sparse;
extern const kernel_rows kernels_matmul;
extern const kernel_rows kernels_conv;
extern const kernel_rows kernels_pool;
extern const kernel_rows kernels_resample;

#endif
