/* SPDX-License-Identifier: Apache-2.0 */
/* The few largest of a short row at once. Each lane sorts what it holds of the row, and lanes merge their lists, two of which leave one with
   the larger half of both. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_RANKS_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_RANKS_H

#include "engine/kernels/cpu/isa/vector_math.h"

#if !defined(HAS_SHUFFLE) && (defined(__clang__) || __GNUC__ >= 12)
#define HAS_SHUFFLE 1
#endif

typedef int32_t eight_orders __attribute__((vector_size(32), aligned(4), may_alias));
/* x where it is above y, else y. */
VECTOR_INLINE void keep_larger_orders(eight_orders *x, const eight_orders *y) {
#if defined(__AVX2__)
    __asm__("vpmaxsd %1, %0, %0" : "+x"(*x) : "x"(*y));
#else
    const eight_orders keeps = *x > *y;
    *x = (*x & keeps) | (*y & ~keeps);
#endif
}

/* The larger of each two to x, the smaller to y. */
VECTOR_INLINE void sort_orders(eight_orders *x, eight_orders *y) {
    const eight_orders first = *x;
    keep_larger_orders(x, y);
#if defined(__AVX2__)
    __asm__("vpminsd %1, %0, %0" : "+x"(*y) : "x"(first));
#else
    *y ^= first ^ *x;
#endif
}

/* Of two lists of four in each lane, falling, the four largest, falling. */
VECTOR_INLINE void merge_orders(eight_orders *x, const eight_orders *y) {
    for (int i = 0; i < 4; i++) {
        keep_larger_orders(&x[i], &y[3 - i]);
    }
    sort_orders(&x[0], &x[2]);
    sort_orders(&x[1], &x[3]);
    sort_orders(&x[0], &x[1]);
    sort_orders(&x[2], &x[3]);
}

/* What each lane holds of 32, falling. */
VECTOR_INLINE void take_orders(eight_orders *x, const int32_t *from) {
    for (int i = 0; i < 4; i++) {
        x[i] = *(const eight_orders *)(from + 8 * i);
    }
    sort_orders(&x[0], &x[1]);
    sort_orders(&x[2], &x[3]);
    sort_orders(&x[0], &x[2]);
    sort_orders(&x[1], &x[3]);
    sort_orders(&x[1], &x[2]);
}

/* The four largest of 64, falling. */
VECTOR_INLINE void four_largest_of_64(const int32_t *from, int32_t *four) {
#if HAS_SHUFFLE
    eight_orders x[4], y[4];
    take_orders(x, from);
    take_orders(y, from + 32);
    merge_orders(x, y);
    for (int i = 0; i < 4; i++) {
        y[i] = __builtin_shufflevector(x[i], x[i], 4, 5, 6, 7, 0, 1, 2, 3);
    }
    merge_orders(x, y);
    for (int i = 0; i < 4; i++) {
        y[i] = __builtin_shufflevector(x[i], x[i], 2, 3, 0, 1, 6, 7, 4, 5);
    }
    merge_orders(x, y);
    for (int i = 0; i < 4; i++) {
        y[i] = __builtin_shufflevector(x[i], x[i], 1, 0, 3, 2, 5, 4, 7, 6);
    }
    merge_orders(x, y);
    for (int i = 0; i < 4; i++) {
        four[i] = x[i][0];
    }
#else
    for (int i = 0; i < 4; i++) {
        four[i] = -0x7fffffff - 1;
    }
    for (int l = 0; l < 64; l++) {
        int32_t x = from[l];
        for (int i = 0; i < 4; i++) {
            const int32_t most = x > four[i] ? x : four[i];
            x ^= four[i] ^ most;
            four[i] = most;
        }
    }
#endif
}

/* Ranks of the n <= 4 largest of 64 orders, but for the places in them, which nobody asks for. */
VECTOR_INLINE void orders_of_largest(const int32_t *orders, int n, int64_t *ranks) {
    int32_t four[4];
    four_largest_of_64(orders, four);
    for (int i = 0; i < n; i++) {
        ranks[i] = (int64_t)four[i] << 32;
    }
}

/* One after the other, each the largest below the one before. */
static void ranks_in_rounds(const int32_t *orders, int last, int n, int64_t *ranks) __attribute__((noinline, unused));
static void ranks_in_rounds(const int32_t *orders, int last, int n, int64_t *ranks) {
    for (int i = 0; i < n; i++) {
        const int64_t below = i > 0 ? ranks[i - 1] : 0x7fffffffffffffff;
        int64_t best = -0x7fffffffffffffff - 1;
        for (int l = 0; l <= last; l++) {
            const int64_t rank = (int64_t)((uint64_t)(int64_t)orders[l] << 32 | (uint32_t)(last - l));
            best = ((rank < below) & (rank > best)) ? rank : best;
        }
        ranks[i] = best;
    }
}

/* Ranks of the n <= 4 largest of 64 orders, of which those up to `last` are elements' and the others lowest: an element's order in the
   upper half, its place from the end in the lower. They are found by orders whose last 6 bits are a place; where two elements differ by
   no more than what those bits were, and it matters, by rounds. */
VECTOR_INLINE void ranks_of_largest(const int32_t *orders, int last, int n, int64_t *ranks) {
    int32_t marked[64] __attribute__((aligned(64))), four[4], near = 0, falls = 1;
    for (int l = 0; l < 64; l++) {
        marked[l] = (orders[l] & ~63) | (63 - l);
    }
    four_largest_of_64(marked, four);
    const int32_t least = four[n - 1] & ~63;
    for (int l = 0; l < 64; l++) {
        near += marked[l] >= least;
    }
    for (int i = 0; i < n; i++) {
        const int32_t place = 63 - (four[i] & 63);
        ranks[i] = (int64_t)((uint64_t)(int64_t)orders[place] << 32 | (uint32_t)(last - place));
        falls &= i == 0 || ranks[i] < ranks[i - 1];
    }
    if (near != n || !falls) {
        ranks_in_rounds(orders, last, n, ranks);
    }
}

#endif
