/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, entries and the largest of a line, built once for each instruction set. */
#include "engine/kernels/cpu/isa/topk_loops.h"

#include <string.h>

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

static void entries_of(uint64_t *entries, const int32_t *keys, int64_t place, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t key = (uint32_t)keys[i] ^ UINT32_C(1) << 31;
        entries[i] = (uint64_t)key << 32 | (uint32_t)~(uint32_t)(place + i);
    }
}

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

const topk_loops ISA_SYMBOL(topk_loops) = {.keys = keys_of, .entries = entries_of, .largest = largest};
