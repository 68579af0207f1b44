/* SPDX-License-Identifier: Apache-2.0 */
/* 32 f16 or bf16, a line of memory, widened in registers. */
#ifndef ENGINE_KERNELS_CPU_ISA_HALF_PAIRS_H
#define ENGINE_KERNELS_CPU_ISA_HALF_PAIRS_H

#include "engine/kernels/cpu/isa/half.h"

#include <string.h>

/* 64 bytes, in as many registers as the instruction set needs. */
typedef float float_pack __attribute__((vector_size(64)));
typedef uint32_t half_bits __attribute__((vector_size(64)));
typedef uint16_t half_words __attribute__((vector_size(32)));

typedef struct float_pair {
    float_pack a, b;
} float_pair;

enum { HALF_PAIR = 32 };

static inline __attribute__((always_inline)) float_pair float_pair_of_f16(half_bits x) {
#if defined(__AVX512F__)
    return (float_pair){(float_pack)_mm512_cvtph_ps(_mm512_castsi512_si256((__m512i)x)),
                        (float_pack)_mm512_cvtph_ps(_mm512_extracti64x4_epi64((__m512i)x, 1))};
#else
    float floats[HALF_PAIR];
    uint16_t halves[HALF_PAIR];
    float_pair p;
    memcpy(halves, &x, sizeof halves);
    for (int k = 0; k < HALF_PAIR; k += 8) {
        floats_of_f16(floats + k, halves + k, 8);
    }
    memcpy(&p, floats, sizeof p);
    return p;
#endif
}

/* Of bf16 the first pack holds the elements of even places, the second those of odd ones: to widen them takes no instruction that moves
   numbers between lanes, of which the CPU starts one a cycle. t: a constant. */
static inline __attribute__((always_inline)) float_pair float_pair_of(dtype t, half_bits x) {
    return t == ASSAY_F16 ? float_pair_of_f16(x) : (float_pair){(float_pack)(x << 16), (float_pack)(x & 0xffff0000)};
}

/* The same in the order that they lie in: for bf16 a few instructions more. */
static inline __attribute__((always_inline)) float_pair float_pair_in_order(dtype t, half_bits x) {
    if (t == ASSAY_F16) {
        return float_pair_of_f16(x);
    }
    half_words words[2];
    memcpy(words, &x, sizeof words);
    return (float_pair){(float_pack)(__builtin_convertvector(words[0], half_bits) << 16),
                        (float_pack)(__builtin_convertvector(words[1], half_bits) << 16)};
}

/* Those at `at`. */
static inline __attribute__((always_inline)) float_pair float_pair_at(dtype t, const uint16_t *at) {
#if defined(__AVX512F__)
    if (t == ASSAY_F16) { /* either half by a load of its own: to part a register takes one more instruction */
        return (float_pair){(float_pack)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)at)),
                            (float_pack)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(at + HALF_PAIR / 2)))};
    }
#endif
    half_bits x;
    memcpy(&x, at, sizeof x);
    return float_pair_of(t, x);
}

#endif
