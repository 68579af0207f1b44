/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that need to know an element's size and nothing else: turning tiles round, storing past the caches. */
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/isa/stream_edge.h"
#include "engine/kernels/cpu/pointwise.h"

#include <string.h>

/* Reads run along the outer dimension, where the source is dense or nearly so; what they scatter stays in L1. */
static void turn_1(uint8_t *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer) {
    for (int64_t o = 0; (inner <= outer || n_outer == 1) && o < n_outer; o++) { /* the row's elements lie nearer together */
        for (int64_t i = 0; i < n_inner; i++) {
            to[o * n_inner + i] = *(const uint8_t *)(const void *)(from + i * inner + o * outer);
        }
    }
    for (int64_t i = 0; inner > outer && n_outer > 1 && i < n_inner; i++, from += inner) {
        for (int64_t o = 0; o < n_outer; o++) {
            to[o * n_inner + i] = *(const uint8_t *)(from + o * outer);
        }
    }
}

static void turn_2(uint16_t *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer) {
    for (int64_t o = 0; (inner <= outer || n_outer == 1) && o < n_outer; o++) { /* the row's elements lie nearer together */
        for (int64_t i = 0; i < n_inner; i++) {
            to[o * n_inner + i] = *(const uint16_t *)(const void *)(from + i * inner + o * outer);
        }
    }
    for (int64_t i = 0; inner > outer && n_outer > 1 && i < n_inner; i++, from += inner) {
        for (int64_t o = 0; o < n_outer; o++) {
            to[o * n_inner + i] = *(const uint16_t *)(const void *)(from + o * outer);
        }
    }
}

#if defined(__AVX2__)
/* Four by four in registers: a quarter of the loads and stores. */
static void turn_4x4_of_8(uint64_t *to, int64_t to_row, const char *from, int64_t inner) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)from);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(from + inner));
    __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(from + 2 * inner));
    __m256i d = _mm256_loadu_si256((const __m256i *)(const void *)(from + 3 * inner));
    __m256i ab_even = _mm256_unpacklo_epi64(a, b), ab_odd = _mm256_unpackhi_epi64(a, b);
    __m256i cd_even = _mm256_unpacklo_epi64(c, d), cd_odd = _mm256_unpackhi_epi64(c, d);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute2x128_si256(ab_even, cd_even, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(to + to_row), _mm256_permute2x128_si256(ab_odd, cd_odd, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(to + 2 * to_row), _mm256_permute2x128_si256(ab_even, cd_even, 0x31));
    _mm256_storeu_si256((__m256i *)(void *)(to + 3 * to_row), _mm256_permute2x128_si256(ab_odd, cd_odd, 0x31));
}

/* Four source rows at a time, dense ones; answers how many are done. */
static int64_t turn_fours_of_8(uint64_t *to, const char *from, int64_t inner, int64_t n_inner, int64_t n_outer) {
    int64_t i = 0;
    for (; i + 4 <= n_inner; i += 4) {
        int64_t o = 0;
        for (; o + 4 <= n_outer; o += 4) {
            turn_4x4_of_8(to + o * n_inner + i, n_inner, from + i * inner + o * 8, inner);
        }
        for (; o < n_outer; o++) {
            for (int64_t k = 0; k < 4; k++) {
                to[o * n_inner + i + k] = *(const uint64_t *)(const void *)(from + (i + k) * inner + o * 8);
            }
        }
    }
    return i;
}
#else
static int64_t turn_fours_of_8(uint64_t *to, const char *from, int64_t inner, int64_t n_inner, int64_t n_outer) {
    (void)to, (void)from, (void)inner, (void)n_inner, (void)n_outer;
    return 0;
}
#endif

static void turn_8(uint64_t *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer) {
    for (int64_t o = 0; (inner <= outer || n_outer == 1) && o < n_outer; o++) { /* the row's elements lie nearer together */
        for (int64_t i = 0; i < n_inner; i++) {
            to[o * n_inner + i] = *(const uint64_t *)(const void *)(from + i * inner + o * outer);
        }
    }
    if (inner <= outer || n_outer == 1) {
        return;
    }
    for (int64_t i = outer == 8 ? turn_fours_of_8(to, from, inner, n_inner, n_outer) : 0; i < n_inner; i++) {
        for (int64_t o = 0; o < n_outer; o++) {
            to[o * n_inner + i] = *(const uint64_t *)(const void *)(from + i * inner + o * outer);
        }
    }
}

#if defined(__SSE2__)
/* Four by four in registers: a quarter of the loads and stores. */
static void turn_4x4(float *to, int64_t to_row, const char *from, int64_t inner) {
    __m128 a = _mm_loadu_ps((const float *)(const void *)from);
    __m128 b = _mm_loadu_ps((const float *)(const void *)(from + inner));
    __m128 c = _mm_loadu_ps((const float *)(const void *)(from + 2 * inner));
    __m128 d = _mm_loadu_ps((const float *)(const void *)(from + 3 * inner));
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + to_row, b);
    _mm_storeu_ps(to + 2 * to_row, c);
    _mm_storeu_ps(to + 3 * to_row, d);
}
#endif

static void turn_4(float *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer) {
    int64_t i = 0;
    for (int64_t o = 0; (inner <= outer || n_outer == 1) && o < n_outer; o++) {
        for (int64_t k = 0; k < n_inner; k++) {
            to[o * n_inner + k] = *(const float *)(const void *)(from + k * inner + o * outer);
        }
    }
    if (inner <= outer || n_outer == 1) {
        return;
    }
#if defined(__SSE2__)
    for (; outer == 4 && i + 4 <= n_inner; i += 4) {
        int64_t o = 0;
        for (; o + 4 <= n_outer; o += 4) {
            turn_4x4(to + o * n_inner + i, n_inner, from + i * inner + o * 4, inner);
        }
        for (; o < n_outer; o++) {
            for (int64_t k = 0; k < 4; k++) {
                to[o * n_inner + i + k] = *(const float *)(const void *)(from + (i + k) * inner + o * 4);
            }
        }
    }
#endif
    for (; i < n_inner; i++) {
        for (int64_t o = 0; o < n_outer; o++) {
            to[o * n_inner + i] = *(const float *)(const void *)(from + i * inner + o * outer);
        }
    }
}

static void turn(void *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer,
                 int64_t size) {
    switch (size) {
    case 1:
        turn_1(to, from, inner, outer, n_inner, n_outer);
        return;
    case 2:
        turn_2(to, from, inner, outer, n_inner, n_outer);
        return;
    case 4:
        turn_4(to, from, inner, outer, n_inner, n_outer);
        return;
    case 8:
        turn_8(to, from, inner, outer, n_inner, n_outer);
        return;
    default:
        for (int64_t i = 0; i < n_inner; i++) {
            for (int64_t o = 0; o < n_outer; o++) {
                memcpy((char *)to + (o * n_inner + i) * size, from + i * inner + o * outer, (size_t)size);
            }
        }
    }
}

static void stream(row_edge *edge, void *to, const void *from, size_t bytes) {
    stream_with_edge(edge, to, from, (int64_t)bytes);
}

static void settle(void) {
    stream_settle();
}

/* One value n times, for the sizes of numbers in vector code. */
static void repeat_1(uint8_t *to, const char *from, int64_t n) {
    memset(to, *(const uint8_t *)from, (size_t)n);
}

static void repeat_2(uint16_t *to, const char *from, int64_t n) {
    uint16_t x = *(const uint16_t *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat_4(float *to, const char *from, int64_t n) {
    float x = *(const float *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat_8(uint64_t *to, const char *from, int64_t n) {
    uint64_t x = *(const uint64_t *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat(void *to, const char *from, int64_t n, int64_t size) {
    switch (size) {
    case 1:
        repeat_1(to, from, n);
        return;
    case 2:
        repeat_2(to, from, n);
        return;
    case 4:
        repeat_4(to, from, n);
        return;
    case 8:
        repeat_8(to, from, n);
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *)to + i * size, from, (size_t)size);
        }
    }
}

static void copy_rows(void *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer,
                      int64_t size) {
    char *out = to;
    if (inner != 0) {
        ISA_SYMBOL(copy_loops).rows(out, from, (size_t)(n_inner * size), n_outer, (ptrdiff_t)(n_inner * size), (ptrdiff_t)outer);
        return;
    }
    for (int64_t o = 0; o < n_outer; o++, out += n_inner * size, from += outer) {
        repeat(out, from, n_inner, size);
    }
}

const pointwise_moves ISA_SYMBOL(pointwise_moves) = {
    .turn = turn, .stream = stream, .settle = settle, .copy_rows = copy_rows};
