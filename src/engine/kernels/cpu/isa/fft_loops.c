/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, built once for each instruction set. */
#include "engine/kernels/cpu/isa/fft_loops.h"

#include "engine/kernels/cpu/isa/copy_loops.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

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
#define QUARTER_LOW  0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define QUARTER_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define PAIRS_LOW    0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define PAIRS_HIGH   2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define QUARTERS_EVEN 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define QUARTERS_ODD 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define NAMED(name)  name##_f32
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef COMPLEX_LOG2
#undef EVENS
#undef ODDS
#undef JOINED_LOW
#undef JOINED_HIGH
#undef QUARTER_LOW
#undef QUARTER_HIGH
#undef PAIRS_LOW
#undef PAIRS_HIGH
#undef QUARTERS_EVEN
#undef QUARTERS_ODD
#undef NAMED

#define REAL         double
#define COMPLEX_LOG2 4
#define EVENS        0, 2, 4, 6, 8, 10, 12, 14
#define ODDS         1, 3, 5, 7, 9, 11, 13, 15
#define JOINED_LOW   0, 8, 1, 9, 2, 10, 3, 11
#define JOINED_HIGH  4, 12, 5, 13, 6, 14, 7, 15
#define QUARTER_LOW  0, 8, 2, 10, 4, 12, 6, 14
#define QUARTER_HIGH 1, 9, 3, 11, 5, 13, 7, 15
#define PAIRS_LOW    QUARTER_LOW /* a quarter has no pairs */
#define PAIRS_HIGH   QUARTER_HIGH
#define QUARTERS_EVEN 0, 1, 4, 5, 8, 9, 12, 13
#define QUARTERS_ODD 2, 3, 6, 7, 10, 11, 14, 15
#define NAMED(name)  name##_f64
#include "engine/kernels/cpu/isa/fft_template.h"
#undef REAL
#undef COMPLEX_LOG2
#undef EVENS
#undef ODDS
#undef JOINED_LOW
#undef JOINED_HIGH
#undef QUARTER_LOW
#undef QUARTER_HIGH
#undef PAIRS_LOW
#undef PAIRS_HIGH
#undef QUARTERS_EVEN
#undef QUARTERS_ODD
#undef NAMED

const fft_loops ISA_SYMBOL(fft_loops) = {
    .f32 = {load_f32, store_f32, transform_f32},
    .f64 = {load_f64, store_f64, transform_f64},
};
