/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions are matrix products of images as they lie. */
#ifndef ENGINE_KERNELS_CPU_CONV_LAYOUT_H
#define ENGINE_KERNELS_CPU_CONV_LAYOUT_H

#include "engine/schema/window.h"

/* Whether an image's positions follow each other in memory: strides of a side as onednn_conv has them, its spatial sizes. */
static inline bool conv_is_joined(const int64_t *steps, const int64_t *sizes) {
    return steps[4] == 1 && (sizes[1] == 1 || steps[3] == sizes[2]) && (sizes[0] == 1 || steps[2] == sizes[1] * sizes[2]);
}

/* Whether kernels have one element, and each position one window. */
static inline bool conv_is_plain(const conv_shape *s) {
    bool plain = true;
    for (int d = 0; d < WINDOW_DIMS; d++) {
        plain = plain && s->kernel[d] == 1 && s->stride[d] == 1 && s->pad[d] == 0 && s->narrow[d] == s->wide[d];
    }
    return plain;
}

#endif
