/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a line's elements, entries of keys, of all or of those above one, and the largest of entries (topk.h says what these are). */
#ifndef ENGINE_KERNELS_CPU_ISA_TOPK_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_TOPK_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOPK_BLOCK = 64, TOPK_FEW = 4 };

typedef struct topk_loops {
    void (*keys)(int32_t *keys, const float *x, int64_t n, bool largest);
    void (*entries)(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n);
    /* Of keys above `low`, in their order; how many. n <= TOPK_BLOCK. Up to TOPK_BLOCK entries are written, these first. */
    int64_t (*above)(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n, int32_t low);
    /* The k largest of n entries, all different, in order. */
    void (*ranked)(uint64_t *to, const uint64_t *entries, int64_t n, int64_t k);
    uint64_t (*largest)(const uint64_t *entries, int64_t n); /* 0 for n = 0 */
    /* The k (2 to TOPK_FEW) largest entries of each of so many lines, in order. keys: TOPK_BLOCK of each, of which n >= k count, the others
       lowest. */
    void (*few)(uint64_t *entries, const int32_t *keys, int64_t lines, int64_t n, int64_t k);
} topk_loops;

extern const topk_loops topk_loops_baseline;
#if defined(__x86_64__)
extern const topk_loops topk_loops_avx2;
extern const topk_loops topk_loops_avx512;
#endif

static inline const topk_loops *topk_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &topk_loops_avx512 : best == ISA_AVX2 ? &topk_loops_avx2 : &topk_loops_baseline;
#else
    return &topk_loops_baseline;
#endif
}

#endif
