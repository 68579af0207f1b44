/* SPDX-License-Identifier: Apache-2.0 */
/* Random words and what they are turned into. */
#ifndef ENGINE_KERNELS_CPU_ISA_RANDOM_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_RANDOM_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

typedef struct random_loops {
    /* Philox blocks [first, first + n) of the seed's stream, four words each, as base/philox.h has them. */
    void (*words)(uint32_t *out, uint64_t seed, uint64_t first, int64_t n);
    /* The element `one` of 1 << log2 bytes (log2 up to 3) where the word is below the limit, else zero bytes. */
    void (*choose)(void *out, int log2, uint64_t one, const uint32_t *words, uint64_t limit, int64_t n);
    /* 1 where word / 2^32 < p, rounded down to 24 bits; else 0. */
    void (*choose_each)(float *out, const float *p, const uint32_t *words, int64_t n);
    /* from + width * u, u of so many upper bits of the word. */
    void (*uniform)(float *out, const uint32_t *words, int bits, float from, float width, int64_t n);
    void (*uniform_f64)(double *out, const uint32_t *words, double from, double width, int64_t n); /* two words each */
    /* scale * in where the word is below the limit, else 0; mask says which. */
    void (*drop)(float *out, uint8_t *mask, const float *in, const uint32_t *words, uint64_t limit, float scale, int64_t n);
    void (*drop_f64)(double *out, uint8_t *mask, const double *in, const uint32_t *words, uint64_t limit, double scale,
                     int64_t n);
} random_loops;

extern const random_loops random_loops_baseline;
#if defined(__x86_64__)
extern const random_loops random_loops_avx2;
extern const random_loops random_loops_avx512;
#endif

static inline const random_loops *random_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &random_loops_avx512 : best == ISA_AVX2 ? &random_loops_avx2 : &random_loops_baseline;
#else
    return &random_loops_baseline;
#endif
}

#endif
