/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of f16 and bf16 through loops in f32 (pointwise_halves), against single elements: any length, operands of every kind,
   results in caches and past them. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/pointwise_tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 23, ROUNDS = 400, MOST = 3 * HALVES_BLOCK, GUARD = 64 };

typedef struct room {
    _Alignas(64) uint16_t half[2][MOST + GUARD];
    _Alignas(64) float wide[MOST];
    _Alignas(64) uint16_t made[MOST + GUARD];
    _Alignas(64) uint8_t answers[MOST + GUARD];
} room;

static uint16_t half_of(dtype t, float x) {
    return t == ASSAY_F16 ? f16_from_float(x) : bf16_from_float(x);
}

static float float_of(dtype t, uint16_t x) {
    return t == ASSAY_F16 ? f16_to_float(x) : bf16_to_float(x);
}

/* Any bits now and then: NaN, infinities and denormals are numbers like others. */
static void fill(room *m, dtype t, rng *r) {
    for (int64_t i = 0; i < MOST + GUARD; i++) {
        bool any = rng_range(r, 0, 8) == 0;
        for (int k = 0; k < 2; k++) {
            m->half[k][i] = any ? (uint16_t)rng_range(r, 0, 65535) : half_of(t, (float)(rng_uniform(r) * 8 - 4));
        }
        m->made[i] = (uint16_t)i;
        m->answers[i] = (uint8_t)i;
        if (i < MOST) {
            m->wide[i] = (float)(rng_uniform(r) * 8 - 4);
        }
    }
}

static void same(uint16_t made, float expected, dtype t, int round, int64_t i) {
    bool both_nan = isnan(float_of(t, made)) && isnan(expected);
    if (!both_nan && made != half_of(t, expected)) {
        print_error("element %lld: expected %g, got %g (round %d, seed %d)\n", (long long)i, (double)expected,
                    (double)float_of(t, made), round, SEED);
        assert_true(false);
    }
}

/* x + y, y halves, floats or one number; streams: past the caches. */
static void check_sum(room *m, dtype t, rng *r, isa set, int round) {
    static const int steps[] = {2, 4, 0};
    int64_t n = rng_range(r, 1, MOST);
    int step = steps[round % 3];
    bool in_place = round % 5 == 0;
    number s[POINTWISE_SCALARS] = {{0}};
    bool is_fault = false;
    static float before[MOST];
    if (step == 0) {
        for (int i = 0; i < HALVES_BLOCK; i++) {
            m->wide[i] = 0.375f;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        before[i] = float_of(t, m->half[0][i]);
    }
    const void *second = step == 2 ? (const void *)m->half[1] : m->wide;
    uint16_t *to = in_place ? m->half[0] : m->made, behind = to[n];
    pointwise_halves h = {.chunk = {.out = to, .in = {m->half[0], second}, .n = n, .s = s, .is_fault = &is_fault},
                          .loop = pointwise_classes[CLASS_F32].loops[set]->op[PW_ADD],
                          .type = t,
                          .n = 2,
                          .step = {2, step},
                          .out_step = 2,
                          .streams = !in_place && round % 2 == 0,
                          .fetches = round % 4 == 0};
    pointwise_halves_runs[set](&h);
    pointwise_move_tables[set]->settle();
    for (int64_t i = 0; i < n; i++) {
        float y = step == 2 ? float_of(t, m->half[1][i]) : step == 4 ? m->wide[i] : 0.375f;
        same(to[i], before[i] + y, t, round, i);
    }
    assert_int_equal(to[n], behind);
}

/* x < y, answers in bytes. */
static void check_less(room *m, dtype t, rng *r, isa set, int round) {
    int64_t n = rng_range(r, 1, MOST);
    uint8_t behind = m->answers[n];
    pointwise_halves h = {.chunk = {.out = m->answers, .in = {m->half[0], m->half[1]}, .n = n},
                          .loop = pointwise_classes[CLASS_F32].loops[set]->op[PW_LT],
                          .type = t,
                          .n = 2,
                          .step = {2, 2},
                          .out_step = 1,
                          .streams = round % 2 == 0};
    pointwise_halves_runs[set](&h);
    pointwise_move_tables[set]->settle();
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(m->answers[i], float_of(t, m->half[0][i]) < float_of(t, m->half[1][i]));
    }
    assert_int_equal(m->answers[n], behind);
}

static void test_blocks(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    for (int round = 0; round < ROUNDS; round++) {
        dtype t = round / 2 % 2 == 0 ? ASSAY_BF16 : ASSAY_F16;
        for (int set = 0; set <= (int)isa_best(); set++) {
            fill(&m, t, &r);
            check_sum(&m, t, &r, (isa)set, round);
            check_less(&m, t, &r, (isa)set, round);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
