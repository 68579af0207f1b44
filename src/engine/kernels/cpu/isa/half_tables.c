/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 by look-up: each of the 65,536 numbers that there are has its result in a table. The few that numbers of a
   tensor are near to keep to L1 (bf16 that are normally distributed: 5 KB), or to L2. */
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/pointwise.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Asks for what lies further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
ALWAYS_INLINE void ask_ahead(const uint16_t *x) {
    enum { AHEAD_BYTES = 4096 };
    __builtin_prefetch((const char *)((uintptr_t)x + AHEAD_BYTES)); /* it may lie outside */
}

/* Four numbers by one load. */
ALWAYS_INLINE uint64_t four_numbers(const uint16_t *x) {
    uint64_t four;
    memcpy(&four, x, sizeof four);
    return four;
}

ALWAYS_INLINE size_t number_of(uint64_t four, int k) {
    return (uint16_t)(four >> (16 * k));
}

#if defined(__SSE2__)
ALWAYS_INLINE __m128i eight_results(const uint16_t *x, const uint16_t *table) {
    uint64_t a = four_numbers(x), b = four_numbers(x + 4);
    __m128i made = _mm_cvtsi32_si128(table[number_of(a, 0)]);
    made = _mm_insert_epi16(made, table[number_of(a, 1)], 1);
    made = _mm_insert_epi16(made, table[number_of(a, 2)], 2);
    made = _mm_insert_epi16(made, table[number_of(a, 3)], 3);
    made = _mm_insert_epi16(made, table[number_of(b, 0)], 4);
    made = _mm_insert_epi16(made, table[number_of(b, 1)], 5);
    made = _mm_insert_epi16(made, table[number_of(b, 2)], 6);
    return _mm_insert_epi16(made, table[number_of(b, 3)], 7);
}
#endif

enum { LINE = STREAM_LINE / sizeof(uint16_t) };

/* Results of a line, in registers. Put together there: the CPU has units for that beside those that take numbers apart, and starts one
   store a cycle, however small; through memory a register would wait for the stores of its parts. */
#if defined(__AVX512F__)
ALWAYS_INLINE void set_results(uint16_t *to, const uint16_t *x, const uint16_t *table, bool streams) {
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(eight_results(x, table)), eight_results(x + 8, table), 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(eight_results(x + 16, table)), eight_results(x + 24, table), 1);
    __m512i line = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    streams ? stream_line(to, &line) : (void)memcpy(to, &line, sizeof line);
}
#elif defined(__AVX2__)
ALWAYS_INLINE void set_results(uint16_t *to, const uint16_t *x, const uint16_t *table, bool streams) {
    for (int k = 0; k < LINE; k += 16) {
        __m256i part = _mm256_inserti128_si256(_mm256_castsi128_si256(eight_results(x + k, table)), eight_results(x + k + 8, table), 1);
        streams ? stream_register(to + k, &part) : (void)memcpy(to + k, &part, sizeof part);
    }
}
#elif defined(__SSE2__)
ALWAYS_INLINE void set_results(uint16_t *to, const uint16_t *x, const uint16_t *table, bool streams) {
    for (int k = 0; k < LINE; k += 8) {
        __m128i part = eight_results(x + k, table);
        streams ? stream_register(to + k, &part) : (void)memcpy(to + k, &part, sizeof part);
    }
}
#else
ALWAYS_INLINE void set_results(uint16_t *to, const uint16_t *x, const uint16_t *table, bool streams) {
    (void)streams;
    for (int i = 0; i < LINE; i++) {
        to[i] = table[x[i]];
    }
}
#endif

ALWAYS_INLINE void look_up(const pointwise_halves *h, bool streams) {
    uint16_t *out = h->chunk.out;
    const uint16_t *x = h->chunk.in[0], *table = h->table;
    int64_t i = 0, n = h->chunk.n;
    for (; i + LINE <= n; i += LINE) {
        if (h->fetches) {
            ask_ahead(x + i);
        }
        set_results(out + i, x + i, table, streams);
    }
    for (; i < n; i++) {
        out[i] = table[x[i]];
    }
}

void ISA_SYMBOL(pointwise_half_look_up)(const pointwise_halves *h) {
    if (h->streams) {
        look_up(h, true);
    } else {
        look_up(h, false);
    }
}
