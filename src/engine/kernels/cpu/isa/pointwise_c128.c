/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops in c128. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double part;

#define COMPLEX_LOOPS ISA_SYMBOL(pointwise_c128)
#include "engine/kernels/cpu/isa/pointwise_complex.h"
