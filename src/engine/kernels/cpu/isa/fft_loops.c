/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, built once for each instruction set. */
#include "engine/kernels/cpu/isa/fft_loops.h"

#include "engine/kernels/cpu/isa/copy_loops.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const copy_loops *const copies = &ISA_SYMBOL(copy_loops);

/* Whether a square of a vector's edge fits the registers. */
#if defined(__AVX512F__)
enum { SQUARES_FIT = 1 };
#else
enum { SQUARES_FIT = 0 };
#endif

#define REAL         float
#define COMPLEX_LOG2 3
#define EVENS        0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS         1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define JOINED_LOW   0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define JOINED_HIGH  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define NAMED(name)  name##_f32
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef COMPLEX_LOG2
#undef EVENS
#undef ODDS
#undef JOINED_LOW
#undef JOINED_HIGH
#undef NAMED

#define REAL         double
#define COMPLEX_LOG2 4
#define EVENS        0, 2, 4, 6, 8, 10, 12, 14
#define ODDS         1, 3, 5, 7, 9, 11, 13, 15
#define JOINED_LOW   0, 8, 1, 9, 2, 10, 3, 11
#define JOINED_HIGH  4, 12, 5, 13, 6, 14, 7, 15
#define NAMED(name)  name##_f64
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef COMPLEX_LOG2
#undef EVENS
#undef ODDS
#undef JOINED_LOW
#undef JOINED_HIGH
#undef NAMED

const fft_loops ISA_SYMBOL(fft_loops) = {
    .f32 = {load_f32, store_f32, transform_f32},
    .f64 = {load_f64, store_f64, transform_f64},
};
