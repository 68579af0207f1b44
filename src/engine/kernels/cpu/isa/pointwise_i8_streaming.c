/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of pointwise_i8.c once more, with results that go past the caches. */
#define POINTWISE_STREAMS 1
#include "engine/kernels/cpu/isa/pointwise_i8.c"
