/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in i32, which also serve i8 and i16. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int32_t elem;

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/pointwise_loops.h"

#include "engine/kernels/cpu/isa/pointwise_convert.h"

#define INTEGER_LOOPS ISA_SYMBOL(pointwise_i32)
#include "engine/kernels/cpu/isa/pointwise_integer.h"
