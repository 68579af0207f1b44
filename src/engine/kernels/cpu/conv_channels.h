/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution whose channels are convolved each by itself ("depthwise"), on images as they lie: sums run in f32. */
#ifndef ENGINE_KERNELS_CPU_CONV_CHANNELS_H
#define ENGINE_KERNELS_CPU_CONV_CHANNELS_H

#include "engine/kernels/cpu/onednn.h"

typedef struct conv_channels conv_channels;

/* Whether this way takes it: f32, f16 or bf16, up to two dimensions, one wide channel in a group, rows along memory; to the wide side one
   narrow channel in a group as well; a bias that is read, not written. */
bool conv_channels_takes(const onednn_conv *spec);
/* OUT_OF_MEMORY. Everything lives in memory; spec's shape need not live on. */
status conv_channels_prepare(const onednn_conv *spec, arena *memory, conv_channels **out, error *err);
/* Allocates nothing; one run at a time, on omp_get_max_threads() threads at the most. */
void conv_channels_run(conv_channels *c, const onednn_data *data);

#endif
