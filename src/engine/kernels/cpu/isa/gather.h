/* SPDX-License-Identifier: Apache-2.0 */
/* 16 numbers from where 16 indices say, as one vector. Compilers load such one by one where they are not tuned for one CPU. */
#ifndef ENGINE_KERNELS_CPU_ISA_GATHER_H
#define ENGINE_KERNELS_CPU_ISA_GATHER_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { GATHER_LANES = 16 };
typedef float gather_lanes __attribute__((vector_size(4 * GATHER_LANES)));

/* from[at[0]] to from[at[15]]. */
static inline gather_lanes gather_f32(const float *from, const int32_t *at) {
    gather_lanes v;
#if defined(__AVX512F__)
    __m512 all = _mm512_i32gather_ps(_mm512_loadu_si512(at), from, 4);
    memcpy(&v, &all, sizeof v);
#elif defined(__AVX2__)
    __m256 low = _mm256_i32gather_ps(from, _mm256_loadu_si256((const __m256i *)(const void *)at), 4);
    __m256 high = _mm256_i32gather_ps(from, _mm256_loadu_si256((const __m256i *)(const void *)(at + 8)), 4);
    memcpy(&v, &low, sizeof low);
    memcpy((char *)&v + sizeof low, &high, sizeof high);
#else
    for (int i = 0; i < GATHER_LANES; i++) {
        v[i] = from[at[i]];
    }
#endif
    return v;
}

/* 16 numbers that lie in a row. */
static inline gather_lanes gather_load(const float *from) {
    gather_lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

#endif
