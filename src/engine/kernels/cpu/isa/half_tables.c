/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 by look-up: each of the 65,536 numbers that there are has its result in a table. The few that numbers of a
   tensor are near to keep to L1 (bf16 that are normally distributed: 5 KB), or to L2. */
#include "engine/kernels/cpu/isa/half_pairs.h"
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

/* Eights of a line in one vector: through memory it would wait for the stores of its parts. */
ALWAYS_INLINE half_bits line_of(const void *parts) {
#if defined(__AVX512F__)
    const __m128i *part = parts;
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(part[0]), part[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(part[2]), part[3], 1);
    return (half_bits)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    half_bits line;
    memcpy(&line, parts, sizeof line);
    return line;
#endif
}

/* Results of a line of 32. Put together in vector registers where it can be: the CPU has units for that beside those that take numbers
   apart, and starts one store a cycle, however small. */
ALWAYS_INLINE half_bits results_of(const uint16_t *x, const uint16_t *table) {
#if defined(__SSE2__)
    __m128i parts[4];
    for (int i = 0; i < 4; i++) {
        parts[i] = eight_results(x + 8 * i, table);
    }
#else
    uint16_t parts[HALF_PAIR];
    for (int i = 0; i < HALF_PAIR; i++) {
        parts[i] = table[x[i]];
    }
#endif
    return line_of(parts);
}

ALWAYS_INLINE void look_up(const pointwise_halves *h, bool streams) {
    uint16_t *out = h->chunk.out;
    const uint16_t *x = h->chunk.in[0], *table = h->table;
    int64_t i = 0, n = h->chunk.n;
    for (; i + HALF_PAIR <= n; i += HALF_PAIR) {
        if (h->fetches) {
            ask_ahead(x + i);
        }
        half_bits made = results_of(x + i, table);
        if (streams) {
            stream_line(out + i, &made);
        } else {
            memcpy(out + i, &made, sizeof made);
        }
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
