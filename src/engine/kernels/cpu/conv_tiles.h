/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in f32 as a matrix product on images as they lie, channel by channel: where bringing them to oneDNN's layouts
   and back costs more than the sums. */
#ifndef ENGINE_KERNELS_CPU_CONV_TILES_H
#define ENGINE_KERNELS_CPU_CONV_TILES_H

#include "engine/kernels/cpu/onednn.h"

typedef struct conv_tiles conv_tiles;

/* Whether this way takes it, and is the faster one: kernels of one element to the narrow side, or to the wide side when each
   of its elements belongs to one window; and few channels on the wide side, of which oneDNN fills up blocks of 16. f32,
   rows along memory; a bias is read by ONEDNN_TO_NARROW only. */
bool conv_tiles_takes(const onednn_conv *spec);
/* OUT_OF_MEMORY. Everything lives in memory; spec's shape need not live on. */
status conv_tiles_prepare(const onednn_conv *spec, arena *memory, conv_tiles **out, error *err);
/* Allocates nothing; one run at a time, on omp_get_max_threads() threads at the most. */
void conv_tiles_run(conv_tiles *c, const onednn_data *data);

#endif
