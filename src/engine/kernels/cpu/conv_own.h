/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by our own loops: f64, integers, and shapes oneDNN refuses. Windows are laid out as columns of a matrix, a
   cache's worth at a time, and multiplied by the weight. */
#ifndef ENGINE_KERNELS_CPU_CONV_OWN_H
#define ENGINE_KERNELS_CPU_CONV_OWN_H

#include "engine/kernels/cpu/onednn.h"

typedef struct conv_own conv_own;

/* As onednn_conv, for f32, f64 and i64 (sums in the type itself), without bias; everything lives in memory. */
status conv_own_prepare(const onednn_conv *shape, arena *memory, conv_own **out, error *err);
void conv_own_run(conv_own *c, const onednn_data *data);

#endif
