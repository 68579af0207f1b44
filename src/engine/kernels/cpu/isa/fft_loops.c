/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, built once for each instruction set. */
#include "engine/kernels/cpu/isa/fft_loops.h"

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/isa/registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

static const copy_loops *const copies = &ISA_SYMBOL(copy_loops);

/* Whether lines are turned round in registers, a vector's lanes of them at a time. */
#if defined(__AVX512F__) || defined(__AVX2__)
enum { SQUARES_FIT = 1 };
#else
enum { SQUARES_FIT = 0 };
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Number i of register k becomes number k of register i. */
static inline void turn_square_f32(__m256 v[8]) {
    __m256 a[8], b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) { /* number j of b[i + j] in either half: those of registers i to i + 3 */
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

static inline void turn_square_f64(__m256d v[4]) {
    __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
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
