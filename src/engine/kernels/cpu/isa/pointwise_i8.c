/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in i8. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int8_t elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"

#include "engine/kernels/cpu/isa/pointwise_convert.h"

#if POINTWISE_STREAMS
#define INTEGER_LOOPS ISA_SYMBOL(pointwise_i8_streaming)
#else
#define INTEGER_LOOPS ISA_SYMBOL(pointwise_i8)
#endif
#include "engine/kernels/cpu/isa/pointwise_integer.h"
