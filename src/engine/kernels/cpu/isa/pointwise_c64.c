/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in c64, which also serve c32. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float part;

#define COMPLEX_LOOPS ISA_SYMBOL(pointwise_c64)
#include "engine/kernels/cpu/isa/pointwise_complex.h"
