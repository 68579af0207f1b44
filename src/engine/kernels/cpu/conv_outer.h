/* SPDX-License-Identifier: Apache-2.0 */
/* The weight's gradient of convolutions whose kernels are one element, in f32, on images as they lie: sums of outer products of
   both sides' channels. */
#ifndef ENGINE_KERNELS_CPU_CONV_OUTER_H
#define ENGINE_KERNELS_CPU_CONV_OUTER_H

#include "engine/kernels/cpu/onednn.h"

typedef struct conv_outer conv_outer;

/* Whether this way takes it: f32, both sides of one size, their images' positions one behind the other, enough images for
   all threads, and a weight of which every thread can have one of its own; no bias is written. */
bool conv_outer_takes(const onednn_conv *spec);
/* OUT_OF_MEMORY. Everything lives in memory; spec's shape need not live on. */
status conv_outer_prepare(const onednn_conv *spec, arena *memory, conv_outer **out, error *err);
/* Allocates nothing; one run at a time, on omp_get_max_threads() threads at the most. */
void conv_outer_run(conv_outer *c, const onednn_data *data);

#endif
