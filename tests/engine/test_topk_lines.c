/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest of a line by keys (topk.h), against a sort of all of them: lines that rise, fall, repeat themselves or are all one
   number, of any length, in blocks of any length. And what is picked from a block, by all instruction sets that this processor has. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/isa/topk_loops.h"
#include "engine/kernels/cpu/topk.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 61, ROUNDS = 1500, MOST = 9000, KINDS = 6 };

static int32_t key(rng *r, int kind, int64_t i) {
    switch (kind) {
    case 0:
        return (int32_t)rng_range(r, INT32_MIN, (int64_t)INT32_MAX + 1);
    case 1:
        return (int32_t)rng_range(r, 0, 5) - 2;
    case 2:
        return (int32_t)i * 3 - 5000;
    case 3:
        return 5000 - (int32_t)(i / 2);
    case 4:
        return rng_range(r, 0, 2) == 0 ? INT32_MIN : INT32_MAX;
    default:
        return -7;
    }
}

typedef struct placed {
    int32_t key;
    int32_t place;
} placed;

static int falling(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : (x->place > y->place) - (x->place < y->place);
}

static void lines_are_as_sorted(void **state) {
    (void)state;
    static int32_t keys[MOST];
    static placed sorted[MOST];
    rng r = rng_make(SEED);
    for (int round = 0; round < ROUNDS; round++) {
        int kind = round % KINDS;
        int64_t n = rng_range(&r, 1, round % 3 == 0 ? MOST : 700), k = rng_range(&r, 1, (round % 2 == 0 ? n : n / 20) + 2);
        k = k < n ? k : n;
        for (int64_t i = 0; i < n; i++) {
            keys[i] = key(&r, kind, i);
            sorted[i] = (placed){keys[i], (int32_t)i};
        }
        qsort(sorted, (size_t)n, sizeof *sorted, falling);
        /* No more room than is asked for: a sanitizer sees what is written behind it. */
        topk_line line = {.room = malloc((size_t)topk_room(n, k) * sizeof(topk_entry)), .n = n, .k = k};
        assert_non_null(line.room);
        for (int64_t i = 0, m; i < n; i += m) {
            m = rng_range(&r, 1, 600);
            m = n - i < m ? n - i : m;
            topk_add(&line, keys + i, i, m);
        }
        const topk_entry *taken = topk_take(&line);
        for (int64_t i = 0; i < k; i++) {
            if (topk_place(taken[i]) != sorted[i].place) {
                print_error("kind %d, n %d, k %d, answer %d: place %d, expected %d (seed %d, round %d)\n", kind, (int)n, (int)k, (int)i,
                            (int)topk_place(taken[i]), (int)sorted[i].place, SEED, round);
                assert_true(false);
            }
        }
        free(line.room);
    }
}

static const topk_loops *loops_of(isa set) {
#if defined(__x86_64__)
    return set == ISA_AVX512 ? &topk_loops_avx512 : set == ISA_AVX2 ? &topk_loops_avx2 : &topk_loops_baseline;
#else
    (void)set;
    return &topk_loops_baseline;
#endif
}

static void blocks_are_picked_from(void **state) {
    (void)state;
    rng r = rng_make(SEED);
    for (int round = 0; round < 600 * ((int)isa_best() + 1); round++) {
        const topk_loops *loops = loops_of((isa)(round / 600));
        int64_t n = rng_range(&r, 0, TOPK_BLOCK + 1), place = rng_range(&r, 0, INT64_C(4000000000)), kept = 0;
        int32_t keys[TOPK_BLOCK], low = round % 5 == 0 ? INT32_MAX : round % 5 == 1 ? INT32_MIN : (int32_t)rng_range(&r, -4, 4);
        topk_entry all[TOPK_BLOCK], picked[TOPK_BLOCK + 1] = {0};
        for (int64_t i = 0; i < n; i++) {
            keys[i] = round % 5 == 1 ? key(&r, 4, i) : (int32_t)rng_range(&r, -5, 5);
        }
        picked[TOPK_BLOCK] = 77;
        loops->entries(all, keys, place, n);
        int64_t said = loops->above(picked, keys, place, n, low);
        for (int64_t i = 0; i < n; i++) {
            if (keys[i] > low) {
                assert_true(picked[kept] == all[i]);
                kept++;
            }
        }
        assert_int_equal(said, kept);
        assert_int_equal(picked[TOPK_BLOCK], 77);
    }
}

/* Lines of all kinds, and such whose keys differ in their last bits alone, which are found again by rounds. */
static void lines_go_together(void **state) {
    (void)state;
    rng r = rng_make(SEED);
    for (int round = 0; round < 900 * ((int)isa_best() + 1); round++) {
        const topk_loops *loops = loops_of((isa)(round / 900));
        int64_t k = rng_range(&r, 2, TOPK_FEW + 1), n = rng_range(&r, k, TOPK_LINE + 1), lines = rng_range(&r, 1, TOPK_LINES + 1);
        int32_t keys[TOPK_LINES * TOPK_LINE];
        placed sorted[TOPK_LINES][TOPK_LINE];
        topk_entry entries[TOPK_LINES * TOPK_FEW + 1];
        entries[lines * k] = 77;
        for (int64_t l = 0; l < lines; l++) {
            for (int64_t i = 0; i < TOPK_LINE; i++) {
                int32_t x = round % 2 == 0 ? key(&r, (int)(l % KINDS), i) : 64 * (int32_t)rng_range(&r, -3, 3) + (int32_t)rng_range(&r, 0, 70);
                keys[l * TOPK_LINE + i] = i < n ? x : INT32_MIN;
                sorted[l][i] = (placed){x, (int32_t)i};
            }
            qsort(sorted[l], (size_t)n, sizeof *sorted[l], falling);
        }
        loops->few(entries, keys, lines, n, k);
        for (int64_t l = 0; l < lines; l++) {
            for (int64_t i = 0; i < k; i++) {
                assert_int_equal(topk_place(entries[l * k + i]), sorted[l][i].place);
            }
        }
        assert_int_equal(entries[lines * k], 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_as_sorted), cmocka_unit_test(blocks_are_picked_from),
                                       cmocka_unit_test(lines_go_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
