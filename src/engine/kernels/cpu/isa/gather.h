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

/* *to = from[at[0]] to from[at[15]]. Vectors are not returned: how depends on the instruction set. */
static inline void gather_f32(gather_lanes *to, const float *from, const int32_t *at) {
#if defined(__AVX512F__)
    __m512 all = _mm512_i32gather_ps(_mm512_loadu_si512(at), from, 4);
    memcpy(to, &all, sizeof all);
#elif defined(__AVX2__)
    __m256 low = _mm256_i32gather_ps(from, _mm256_loadu_si256((const __m256i *)(const void *)at), 4);
    __m256 high = _mm256_i32gather_ps(from, _mm256_loadu_si256((const __m256i *)(const void *)(at + 8)), 4);
    memcpy(to, &low, sizeof low);
    memcpy((char *)to + sizeof low, &high, sizeof high);
#else
    for (int i = 0; i < GATHER_LANES; i++) {
        (*to)[i] = from[at[i]];
    }
#endif
}

#endif
