/* SPDX-License-Identifier: Apache-2.0 */
/* Few of not so many: the largest of all, as often as asked for. Few of many: a heap, which most elements never enter. Many of
   many: a radix selection, then a radix sort. All give equal keys by place. */
#include "engine/kernels/cpu/topk.h"

#include "engine/kernels/cpu/isa/topk_loops.h"

#include <string.h>

/* A digit's bits: its counters stay in the first cache. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, SUB_BLOCK = 64, MOST_IN_ROUNDS = 4096 /* entries: in the first cache */ };

static int64_t binary_digits(int64_t n) {
    return 64 - __builtin_clzll((unsigned long long)n | 1);
}

typedef enum way { BY_ROUNDS, BY_HEAP, BY_RADIX } way;

/* Which is quickest, in units of 0.3 ns. A round looks at each element, eight at a time. The heap looks at each once, and about
   k (1 + ln(n / k)) of them sink through log2(k) levels, whose branches are anybody's guess. The radix selection goes through
   all elements and all counters for each digit (measured on Zen 5 and Sapphire Rapids, 2026-11). */
static way way_for(int64_t n, int64_t k) {
    int64_t sinking = k * (1 + binary_digits(n / (k > 0 ? k : 1)) * 7 / 10) * binary_digits(k) * 10;
    int64_t radix = 3 * (7 * n + 2 * DIGITS), heap = n + sinking;
    if (n <= MOST_IN_ROUNDS && k * (n / 6 + 25) < (4 * heap < radix ? 4 * heap : radix)) {
        return BY_ROUNDS;
    }
    return heap < radix ? BY_HEAP : BY_RADIX;
}

int64_t topk_room(int64_t n, int64_t k) {
    way w = way_for(n, k);
    return w == BY_ROUNDS ? n + k : w == BY_HEAP ? k : 3 * n;
}

void topk_keys(int32_t *keys, const float *x, int64_t n, bool largest) {
    topk_loops_best()->keys(keys, x, n, largest);
}

static topk_entry entry_of(int32_t key, int64_t place) {
    return (topk_entry)((uint32_t)key ^ UINT32_C(1) << 31) << 32 | (uint32_t)~place;
}

/* The root is the last of those held. */
static void sift(topk_entry *heap, int64_t n, int64_t i) {
    topk_entry moved = heap[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= moved) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static bool any_above(const int32_t *keys, int32_t low, int64_t n) {
    int32_t above = 0;
    for (int64_t i = 0; i < n; i++) {
        above |= keys[i] > low;
    }
    return above != 0;
}

static int32_t key_of(topk_entry e) {
    return (int32_t)((uint32_t)(e >> 32) ^ UINT32_C(1) << 31);
}

static void add_to_heap(topk_entry *heap, int64_t *held, int64_t k, const int32_t *keys, int64_t place, int64_t count) {
    int64_t i = 0;
    while (i < count && *held < k) {
        heap[(*held)++] = entry_of(keys[i], place + i);
        i++;
        for (int64_t p = k / 2 - 1; *held == k && p >= 0; p--) {
            sift(heap, k, p);
        }
    }
    for (; i < count; i += SUB_BLOCK) {
        int64_t n = count - i < SUB_BLOCK ? count - i : SUB_BLOCK;
        if (!any_above(keys + i, key_of(heap[0]), n)) {
            continue;
        }
        for (int64_t j = i; j < i + n; j++) {
            if (keys[j] > key_of(heap[0])) { /* an equal one later on never displaces */
                heap[0] = entry_of(keys[j], place + j);
                sift(heap, k, 0);
            }
        }
    }
}

void topk_add(topk_entry *room, int64_t *held, int64_t n, int64_t k, const int32_t *keys, int64_t place, int64_t count) {
    if (way_for(n, k) == BY_HEAP) {
        add_to_heap(room, held, k, keys, place, count);
        return;
    }
    topk_loops_best()->entries(room + *held, keys, place, count);
    *held += count;
}

/* Leaves the k largest of from[n] in chosen, in the order they came; from is overwritten. Digit by digit from the top:
   what lies above the k-th element's digit is in, what shares it goes on to the next. */
static void select_largest(topk_entry *from, int64_t n, int64_t k, topk_entry *chosen) {
    for (int shift = 64 - DIGIT_BITS; k > 0 && k < n; shift = shift > 32 + DIGIT_BITS ? shift - DIGIT_BITS : 32) {
        uint32_t counts[DIGITS] = {0};
        for (int64_t i = 0; i < n; i++) {
            counts[(from[i] >> shift) % DIGITS]++;
        }
        int64_t digit = DIGITS - 1, above = 0;
        while (above + counts[digit] < k) {
            above += counts[digit--];
        }
        int64_t in = 0, left = 0;
        for (int64_t i = 0; i < n; i++) {
            topk_entry e = from[i];
            int64_t own = (int64_t)((e >> shift) % DIGITS);
            chosen[in] = e; /* kept or overwritten by the next: no branch to miss */
            in += own > digit;
            from[left] = e;
            left += own == digit;
        }
        chosen += in;
        k -= in;
        n = left;
        if (shift == 32) { /* the rest are equal */
            break;
        }
    }
    memcpy(chosen, from, (size_t)k * sizeof *chosen);
}

/* By falling key, equal ones in the order they came; answers which of the two arrays holds the result. */
static topk_entry *sort_falling(topk_entry *a, topk_entry *b, int64_t n) {
    for (int shift = 32; shift < 64; shift += DIGIT_BITS) {
        uint32_t starts[DIGITS] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++) {
            starts[(a[i] >> shift) % DIGITS]++;
        }
        for (int d = DIGITS - 1; d >= 0; d--) {
            uint32_t count = starts[d];
            starts[d] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++) {
            b[starts[(a[i] >> shift) % DIGITS]++] = a[i];
        }
        topk_entry *kept = a;
        a = b;
        b = kept;
    }
    return a;
}

/* The largest entries of n, k times one, behind them. */
static const topk_entry *take_in_rounds(topk_entry *entries, int64_t n, int64_t k) {
    const topk_loops *loops = topk_loops_best();
    for (int64_t i = 0; i < k; i++) {
        topk_entry largest = loops->largest(entries, n);
        entries[n + i] = largest;
        entries[topk_place(largest)] = 0; /* of no element: a key's complement of a place is not 0 */
    }
    return entries + n;
}

static const topk_entry *take_from_heap(topk_entry *heap, int64_t k) {
    for (int64_t i = k - 1; i > 0; i--) { /* the last goes behind */
        topk_entry last = heap[0];
        heap[0] = heap[i];
        heap[i] = last;
        sift(heap, i, 0);
    }
    return heap;
}

const topk_entry *topk_take(topk_entry *room, int64_t n, int64_t k) {
    switch (way_for(n, k)) {
    case BY_ROUNDS:
        return take_in_rounds(room, n, k);
    case BY_HEAP:
        return take_from_heap(room, k);
    default:
        select_largest(room, n, k, room + n);
        return sort_falling(room + n, room + 2 * n, k);
    }
}
