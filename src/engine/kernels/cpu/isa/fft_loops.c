/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, built once for each instruction set. */
#include "engine/kernels/cpu/isa/fft_loops.h"

#include <stddef.h>
#include <string.h>

enum { TURN = 16 };

#define REAL        float
#define NAMED(name) name##_f32
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef NAMED

#define REAL        double
#define NAMED(name) name##_f64
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef NAMED

const fft_loops ISA_SYMBOL(fft_loops) = {
    .f32 = {load_f32, store_f32, transform_f32},
    .f64 = {load_f64, store_f64, transform_f64},
};
