/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, entries and the largest of a line, built once for each instruction set. */
#include "engine/kernels/cpu/isa/topk_loops.h"
#include "engine/kernels/cpu/isa/vector_ranks.h"

#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

static void keys_of(int32_t *keys, const float *x, int64_t n, bool largest) {
    int32_t turn = largest ? 0 : -1;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        int32_t key = bits ^ ((bits >> 31) & INT32_MAX); /* negative numbers count backwards */
        key = x[i] == 0 ? 0 : key;
        key = x[i] != x[i] ? INT32_MAX : key;
        keys[i] = key ^ turn;
    }
}

static inline uint64_t entry_of(int32_t key, int64_t place) {
    return (uint64_t)((uint32_t)key ^ UINT32_C(1) << 31) << 32 | (uint32_t)~(uint32_t)place;
}

static void entries_of(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        entries[i] = entry_of(keys[i], place + i);
    }
}

#if defined(__AVX512F__)
/* Eight at a time are packed in a register: the instruction that packs them into memory takes a hundred cycles on Zen 4. */
static int64_t above(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n, int32_t low) {
    enum { LANES = 16 };
    const __m512i least = _mm512_set1_epi32(low), turn = _mm512_set1_epi32(INT32_MIN);
    const __m512i counted = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        __mmask16 own = (__mmask16)(n - i < LANES ? (1u << (n - i)) - 1 : 0xffff);
        __m512i key = _mm512_maskz_loadu_epi32(own, keys + i);
        __mmask16 in = _mm512_mask_cmpgt_epi32_mask(own, key, least);
        if (in == 0) {
            continue;
        }
        __m512i high = _mm512_xor_si512(key, turn);
        __m512i after = _mm512_sub_epi32(_mm512_set1_epi32((int32_t)~(uint32_t)(place + i)), counted); /* ~(p + k) is ~p - k */
        for (int half = 0; half < 2; half++) {
            __m256i h = half == 0 ? _mm512_castsi512_si256(high) : _mm512_extracti64x4_epi64(high, 1);
            __m256i p = half == 0 ? _mm512_castsi512_si256(after) : _mm512_extracti64x4_epi64(after, 1);
            __m512i e = _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(h), 32), _mm512_cvtepu32_epi64(p));
            __mmask8 these = (__mmask8)(in >> 8 * half);
            _mm512_storeu_si512(entries + kept, _mm512_maskz_compress_epi64(these, e));
            kept += __builtin_popcount(these);
        }
    }
    return kept;
}
#else
static int64_t above(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n, int32_t low) {
    int32_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= keys[i] > low;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < n && any != 0; i++) {
        entries[kept] = entry_of(keys[i], place + i); /* kept or overwritten by the next: no branch to miss */
        kept += keys[i] > low;
    }
    return kept;
}
#endif

/* Compared as signed numbers, for which instruction sets before AVX-512 have vector comparisons too. */
static uint64_t largest(const uint64_t *entries, int64_t n) {
    const uint64_t sign = UINT64_C(1) << 63;
    int64_t best = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t e = (int64_t)(entries[i] ^ sign);
        best = e > best ? e : best;
    }
    return (uint64_t)best ^ sign;
}

/* Each goes where as many are larger: no comparison decides where to go on. */
static void ranked(uint64_t *to, const uint64_t *entries, int64_t n, int64_t k) {
    const uint64_t sign = UINT64_C(1) << 63;
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = (int64_t)(entries[i] ^ sign);
        int64_t above = 0;
        for (int64_t j = 0; j < n; j++) {
            above += (int64_t)(entries[j] ^ sign) > e;
        }
        if (above < k) {
            to[above] = entries[i];
        }
    }
}

static inline __attribute__((always_inline)) void few_of_lines(uint64_t *entries, const int32_t *keys, int64_t lines, int64_t n, int k) {
    for (int64_t line = 0; line < lines; line++) {
        int64_t ranks[TOPK_FEW];
        ranks_of_largest(keys + line * TOPK_BLOCK, (int)n - 1, k, ranks);
        for (int i = 0; i < k; i++) {
            entries[line * k + i] = entry_of((int32_t)(ranks[i] >> 32), n - 1 - (int64_t)(uint32_t)ranks[i]);
        }
    }
}

static void few_of_64(uint64_t *entries, const int32_t *keys, int64_t lines, int64_t n, int64_t k) {
    k == 2 ? few_of_lines(entries, keys, lines, n, 2) : k == 3 ? few_of_lines(entries, keys, lines, n, 3) : few_of_lines(entries, keys, lines, n, 4);
}

const topk_loops ISA_SYMBOL(topk_loops) = {.keys = keys_of, .entries = entries_of, .above = above, .ranked = ranked, .largest = largest, .few = few_of_64};
