/* SPDX-License-Identifier: Apache-2.0 */
/* How convolutions are taken apart. */
#ifndef ENGINE_OPS_CONV_PARTS_H
#define ENGINE_OPS_CONV_PARTS_H

#include "engine/graph/dag.h"

/* Where the compiler is to compute products itself: convolutions of one place over all channels, and of few places within
   each channel. The library's call otherwise. */
void convolution_parts(dag *g, const op_call *call, const outputs *out);
/* The same of its gradients: the input's by windows; those of weight and bias are the library's. */
void convolution_backward_parts(dag *g, const op_call *call, const outputs *out);

#endif
