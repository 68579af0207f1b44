/* SPDX-License-Identifier: Apache-2.0 */
/* A few of lines that fit a few registers: all at once, of several lines. Few of not so many: the largest of all, as often as asked for.
   Else what may be among the k largest is collected; whenever the room is full, a radix selection leaves the k largest, and only larger
   ones come in from then on. At last they are sorted. All give equal keys by place. */
#include "engine/kernels/cpu/topk.h"

#include "engine/kernels/cpu/isa/topk_loops.h"

#include <string.h>

enum {
    SELECT_BITS = 8, SELECT_DIGITS = 1 << SELECT_BITS, TABLES = 4,
    SORT_BITS = 11, SORT_DIGITS = 1 << SORT_BITS, /* its counters stay in the first cache */
    LEAST_SORTED_BY_DIGITS = 160,
    LEAST_ROOM = 512,
    MOST_IN_ROUNDS = 4096 /* entries: in the first cache */
};

/* A round looks at each element, eight at a time. */
static bool goes_by_rounds(int64_t n, int64_t k) {
    return n <= MOST_IN_ROUNDS && k * (n / 6 + 25) < 2 * n + 1000;
}

/* Entries that are collected before the k largest of them are selected. */
static int64_t collected(int64_t n, int64_t k) {
    int64_t room = k < LEAST_ROOM / 4 ? LEAST_ROOM : 4 * k;
    return room < n ? room : n;
}

/* Fewer of shorter lines are found as soon in rounds. */
bool topk_goes_together(int64_t n, int64_t k) {
    enum { LEAST_LOOKS = 32 };
    return n <= TOPK_LINE && k > 1 && k <= TOPK_FEW && n * k >= LEAST_LOOKS;
}

void topk_together(topk_entry *entries, int32_t *keys, int64_t lines, int64_t n, int64_t k) {
    for (int64_t line = 0; line < lines && n < TOPK_LINE; line++) {
        for (int64_t i = n; i < TOPK_LINE; i++) {
            keys[line * TOPK_LINE + i] = INT32_MIN;
        }
    }
    topk_loops_best()->few(entries, keys, lines, n, k);
}

int64_t topk_room(int64_t n, int64_t k) {
    const int64_t one = goes_by_rounds(n, k) ? n + k : collected(n, k) + TOPK_BLOCK + 2 * k;
    return topk_goes_together(n, k) && one < TOPK_LINES * k ? TOPK_LINES * k : one;
}

void topk_keys(int32_t *keys, const float *x, int64_t n, bool largest) {
    topk_loops_best()->keys(keys, x, n, largest);
}

static int32_t key_of(topk_entry e) {
    return (int32_t)((uint32_t)(e >> 32) ^ UINT32_C(1) << 31);
}

/* How many of from[n] have each digit. Keys have few first digits: a counter that is raised again at once would be waited for. */
static void count_digits(const topk_entry *from, int64_t n, int shift, uint32_t *counts) {
    uint32_t tables[TABLES][SELECT_DIGITS] = {{0}};
    int64_t i = 0;
    for (; i + TABLES <= n; i += TABLES) {
        for (int t = 0; t < TABLES; t++) {
            tables[t][(from[i + t] >> shift) % SELECT_DIGITS]++;
        }
    }
    for (; i < n; i++) {
        tables[0][(from[i] >> shift) % SELECT_DIGITS]++;
    }
    for (int d = 0; d < SELECT_DIGITS; d++) {
        counts[d] = tables[0][d] + tables[1][d] + tables[2][d] + tables[3][d];
    }
}

/* Leaves the k largest of from[n] in chosen, equal ones in the order they came; from is overwritten. Digit by digit from the top: what
   lies above the k-th element's digit is in, what shares it goes on to the next. */
static void select_largest(topk_entry *from, int64_t n, int64_t k, topk_entry *chosen) {
    for (int shift = 64 - SELECT_BITS; shift >= 32 && k > 0 && k < n; shift -= SELECT_BITS) {
        uint32_t counts[SELECT_DIGITS];
        count_digits(from, n, shift, counts);
        int64_t digit = SELECT_DIGITS - 1, above = 0;
        while (above + counts[digit] < k) {
            above += counts[digit--];
        }
        int64_t in = 0, left = 0;
        for (int64_t i = 0; i < n; i++) {
            topk_entry e = from[i];
            int64_t own = (int64_t)((e >> shift) % SELECT_DIGITS);
            chosen[in] = e; /* kept or overwritten by the next: no branch to miss */
            in += own > digit;
            from[left] = e;
            left += own == digit;
        }
        chosen += in;
        k -= in;
        n = left;
    }
    memcpy(chosen, from, (size_t)k * sizeof *chosen); /* which are equal, or all */
}

/* Makes room: the k largest of those held stay. */
static void keep_largest(topk_line *l, topk_entry *chosen) {
    select_largest(l->room, l->held, l->k, chosen);
    memcpy(l->room, chosen, (size_t)l->k * sizeof *chosen);
    topk_entry least = chosen[0];
    for (int64_t i = 1; i < l->k; i++) {
        least = chosen[i] < least ? chosen[i] : least;
    }
    l->held = l->k;
    l->has_low = true;
    l->low = key_of(least);
}

void topk_add(topk_line *l, const int32_t *keys, int64_t place, int64_t count) {
    const topk_loops *loops = topk_loops_best();
    if (goes_by_rounds(l->n, l->k)) {
        loops->entries(l->room + l->held, keys, place, count);
        l->held += count;
        return;
    }
    const int64_t most = collected(l->n, l->k);
    for (int64_t i = 0; i < count; i += TOPK_BLOCK) {
        int64_t n = count - i < TOPK_BLOCK ? count - i : TOPK_BLOCK;
        if (l->held + n > most) {
            keep_largest(l, l->room + most + TOPK_BLOCK);
        }
        if (l->has_low) {
            l->held += loops->above(l->room + l->held, keys + i, place + i, n, l->low);
        } else {
            loops->entries(l->room + l->held, keys + i, place + i, n);
            l->held += n;
        }
    }
}

/* By falling key, equal ones in the order they came; answers which of the two arrays holds the result. */
static topk_entry *sort_falling(topk_entry *a, topk_entry *b, int64_t n) {
    if (n < LEAST_SORTED_BY_DIGITS) {
        topk_loops_best()->ranked(b, a, n, n);
        return b;
    }
    for (int shift = 32; shift < 64; shift += SORT_BITS) {
        uint32_t starts[SORT_DIGITS] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++) {
            starts[(a[i] >> shift) % SORT_DIGITS]++;
        }
        for (int d = SORT_DIGITS - 1; d >= 0; d--) {
            uint32_t count = starts[d];
            starts[d] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++) {
            b[starts[(a[i] >> shift) % SORT_DIGITS]++] = a[i];
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

const topk_entry *topk_take(topk_line *l) {
    if (goes_by_rounds(l->n, l->k)) {
        return take_in_rounds(l->room, l->n, l->k);
    }
    topk_entry *chosen = l->room + collected(l->n, l->k) + TOPK_BLOCK;
    if (l->n < LEAST_SORTED_BY_DIGITS) { /* all of them are held */
        topk_loops_best()->ranked(chosen, l->room, l->n, l->k);
        return chosen;
    }
    select_largest(l->room, l->held, l->k, chosen);
    return sort_falling(chosen, chosen + l->k, l->k);
}
