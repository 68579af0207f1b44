/* SPDX-License-Identifier: Apache-2.0 */
/* A register of f16 or bf16, widened and narrowed in registers. */
#ifndef ENGINE_KERNELS_CPU_ISA_HALF_PAIRS_H
#define ENGINE_KERNELS_CPU_ISA_HALF_PAIRS_H

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/registers.h"

#include <string.h>

/* Vectors wider than registers are passed between inlined functions only, where no ABI is involved. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

typedef float float_pack __attribute__((vector_size(REGISTER_BYTES)));
typedef uint32_t half_bits __attribute__((vector_size(REGISTER_BYTES)));
typedef uint16_t half_words __attribute__((vector_size(REGISTER_BYTES / 2)));

typedef struct float_pair {
    float_pack a, b;
} float_pair;

/* A pack by sixteen bytes: number by number the compiler would take each out of it. */
typedef float four_floats __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) four_floats fours_sum(float_pack p) {
#if REGISTER_BYTES == 64
    typedef float eight_floats __attribute__((vector_size(32)));
    eight_floats eight[2];
    four_floats four[2];
    memcpy(eight, &p, sizeof p);
    eight[0] += eight[1];
    memcpy(four, &eight[0], sizeof four);
    return four[0] + four[1];
#elif REGISTER_BYTES == 32
    four_floats four[2];
    memcpy(four, &p, sizeof p);
    return four[0] + four[1];
#else
    return p;
#endif
}

enum { HALF_PAIR = REGISTER_BYTES / 2 /* elements */ };

static inline __attribute__((always_inline)) float_pair float_pair_of_f16(half_bits x) {
#if defined(__AVX512F__)
    return (float_pair){(float_pack)_mm512_cvtph_ps(_mm512_castsi512_si256((__m512i)x)),
                        (float_pack)_mm512_cvtph_ps(_mm512_extracti64x4_epi64((__m512i)x, 1))};
#elif defined(__AVX2__)
    return (float_pair){(float_pack)_mm256_cvtph_ps(_mm256_castsi256_si128((__m256i)x)),
                        (float_pack)_mm256_cvtph_ps(_mm256_extracti128_si256((__m256i)x, 1))};
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
#elif defined(__AVX2__)
    if (t == ASSAY_F16) {
        return (float_pair){(float_pack)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at)),
                            (float_pack)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + HALF_PAIR / 2)))};
    }
#endif
    half_bits x;
    memcpy(&x, at, sizeof x);
    return float_pair_of(t, x);
}

/* bf16 in the upper half of each place: to nearest, ties to even. NaN stays NaN as long as its lower half is 0: so is that of any that
   comes of bf16 or of arithmetic; the caller keeps others out. */
static inline __attribute__((always_inline)) half_bits bf16_places(float_pack p) {
#if defined(__AVX512F__)
    __m512i bits = (__m512i)p, rounded = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    __mmask16 is_odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    return (half_bits)_mm512_mask_add_epi32(rounded, is_odd, rounded, _mm512_set1_epi32(1));
#else
    half_bits bits = (half_bits)p;
    return bits + 0x7fff + (bits >> 16 & 1);
#endif
}

static inline __attribute__((always_inline)) half_bits half_bits_of_f16(float_pair p) {
#if defined(__AVX512F__)
    __m256i low = _mm512_cvtps_ph((__m512)p.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i high = _mm512_cvtps_ph((__m512)p.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (half_bits)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#elif defined(__AVX2__)
    __m128i low = _mm256_cvtps_ph((__m256)p.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m128i high = _mm256_cvtps_ph((__m256)p.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (half_bits)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
#else
    float floats[HALF_PAIR];
    uint16_t halves[HALF_PAIR];
    half_bits made;
    memcpy(floats, &p, sizeof floats);
    for (int k = 0; k < HALF_PAIR; k += 8) {
        f16_of_floats(halves + k, floats + k, 8);
    }
    memcpy(&made, halves, sizeof made);
    return made;
#endif
}

/* Two upper halves' bits, by even and odd places, of numbers that are rounded already. */
static inline __attribute__((always_inline)) half_bits bf16_joined(half_bits even, half_bits odd) {
#if defined(__AVX512BW__)
    return (half_bits)_mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32((__m512i)even, 16), (__m512i)odd);
#elif defined(__AVX2__)
    return (half_bits)_mm256_blend_epi16(_mm256_srli_epi32((__m256i)even, 16), (__m256i)odd, 0xaa);
#else
    return (odd & 0xffff0000) | even >> 16;
#endif
}

/* What float_pair_of takes apart. */
static inline __attribute__((always_inline)) half_bits half_bits_of(dtype t, float_pair p) {
    return t == ASSAY_F16 ? half_bits_of_f16(p) : bf16_joined(bf16_places(p.a), bf16_places(p.b));
}

/* As bf16_places, but ties go away from 0, which takes a third of the instructions: for results that have ties but by chance. */
static inline __attribute__((always_inline)) half_bits bf16_near_places(float_pack p) {
    return (half_bits)p + 0x8000;
}

static inline __attribute__((always_inline)) half_bits half_bits_near(dtype t, float_pair p) {
    return t == ASSAY_F16 ? half_bits_of_f16(p) : bf16_joined(bf16_near_places(p.a), bf16_near_places(p.b));
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
