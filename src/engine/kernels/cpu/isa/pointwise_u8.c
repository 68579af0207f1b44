/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in u8 and b8. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t elem;

/* The template asks about negative numbers, of which there are none here. */
#pragma GCC diagnostic ignored "-Wtype-limits"

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"

#include "engine/kernels/cpu/isa/pointwise_convert.h"

#if POINTWISE_STREAMS
#define INTEGER_LOOPS ISA_SYMBOL(pointwise_u8_streaming)
#else
#define INTEGER_LOOPS ISA_SYMBOL(pointwise_u8)
#endif
#include "engine/kernels/cpu/isa/pointwise_integer.h"
