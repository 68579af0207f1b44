/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over f16 and bf16 in one go, each against the loop in f32 by blocks: any bits, any length, numbers for operands, results in
   caches, in place and past the caches. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/pointwise_tiles.h"

#include <math.h>
#include <string.h>

enum { SEED = 29, ROUNDS = 24, MOST = 2 * HALVES_BLOCK, GUARD = 64 };

typedef struct room {
    _Alignas(64) uint16_t in[POINTWISE_INPUTS][MOST + GUARD];
    _Alignas(64) uint16_t made[2][MOST + GUARD];
    float number[HALVES_BLOCK]; /* the same again and again */
} room;

/* One loop: which operand is one number, if any. */
typedef struct loop_case {
    pointwise_op id;
    int n, number; /* -1: none */
} loop_case;

static bool is_nan_of(dtype t, uint16_t x) {
    return isnan(t == ASSAY_F16 ? f16_to_float(x) : bf16_to_float(x));
}

/* Numbers near each other, so that comparisons hold now and then, and any bits. */
static void fill(room *m, rng *r, dtype t) {
    static const float some[] = {-3, -1, -0.5f, -0.0f, 0, 0.25f, 1, 2.5f, 3, 6};
    for (int k = 0; k < POINTWISE_INPUTS; k++) {
        for (int i = 0; i < MOST + GUARD; i++) {
            float x = rng_range(r, 0, 3) == 0 ? some[rng_range(r, 0, countof(some) - 1)] : (float)(rng_uniform(r) * 12 - 6);
            uint16_t bits = t == ASSAY_F16 ? f16_from_float(x) : bf16_from_float(x);
            m->in[k][i] = rng_range(r, 0, 7) == 0 ? (uint16_t)rng_range(r, 0, 65535) : bits;
        }
    }
    for (int i = 0; i < MOST + GUARD; i++) {
        m->made[0][i] = m->made[1][i] = (uint16_t)(31 * i);
    }
}

static bool answers_truth(pointwise_op id) {
    return (id >= PW_LOGICAL_NOT && id <= PW_ISNAN) || (id >= PW_EQ && id <= PW_LOGICAL_XOR);
}

static void check_loop(room *m, loop_case c, dtype t, isa set, rng *r, int round) {
    static const double numbers[] = {0.375, -2, 0, NAN, INFINITY, 1e-3, -0.0};
    const number s[POINTWISE_SCALARS] = {number_of_double(numbers[rng_range(r, 0, countof(numbers) - 1)]), number_of_double(1.5),
                                         number_of_double(0.5)};
    bool is_fault = false;
    float x = (float)numbers[round % (int)countof(numbers)];
    for (int i = 0; i < HALVES_BLOCK; i++) {
        m->number[i] = x;
    }
    fill(m, r, t);
    pointwise_halves h = {.chunk = {.n = rng_range(r, 1, MOST), .s = s, .is_fault = &is_fault}, .type = t, .n = c.n};
    bool in_place = round % 3 == 0 && !answers_truth(c.id) && c.number != 0;
    for (int k = 0; k < c.n; k++) {
        h.chunk.in[k] = k == c.number ? (const void *)m->number : m->in[k];
        h.step[k] = k == c.number ? 0 : 2;
    }
    h.loop = pointwise_classes[CLASS_F32].loops[set]->op[c.id];
    h.out_step = answers_truth(c.id) ? 1 : 2;
    h.chunk.out = m->made[0];
    pointwise_halves_runs[set](&h);
    pointwise_halves_loop *in_one_go = pointwise_halves_in_one_go(set, c.id, h.step, h.n);
    h.streams = !in_place && round % 2 == 0;
    h.fetches = round % 4 == 0;
    h.chunk.out = m->made[1];
    if (in_place) {
        memcpy(m->made[1], m->in[0], sizeof m->made[1]);
        h.chunk.in[0] = m->made[1];
    }
    in_one_go(&h);
    pointwise_move_tables[set]->settle();
    const uint8_t *truths[2] = {(const uint8_t *)m->made[0], (const uint8_t *)m->made[1]};
    for (int64_t i = 0; i < h.chunk.n; i++) {
        bool both_nan = is_nan_of(t, m->made[0][i]) && is_nan_of(t, m->made[1][i]);
        bool same = h.out_step == 1 ? truths[0][i] == truths[1][i] : m->made[0][i] == m->made[1][i] || both_nan;
        if (!same) {
            print_error("operator %d, number %d, element %lld of %lld: %04x, in one go %04x (set %d, type %d, seed %d)\n", (int)c.id,
                        c.number, (long long)i, (long long)h.chunk.n, m->made[0][i], m->made[1][i], (int)set, (int)t, SEED);
            assert_true(false);
        }
    }
    if (!in_place) {
        assert_memory_equal((char *)m->made[0] + h.chunk.n * h.out_step, (char *)m->made[1] + h.chunk.n * h.out_step, GUARD);
    } else {
        assert_memory_equal(m->made[1] + h.chunk.n, m->in[0] + h.chunk.n, GUARD);
    }
}

static int operands_of(pointwise_op id) {
    return id < PW_ADD ? 1 : id < PW_CLAMP ? 2 : 3;
}

/* Functions of few digits are another matter (test_half_functions). */
static bool is_function(pointwise_op id) {
    return (id >= PW_RSQRT && id <= PW_ERF) || (id >= PW_GELU && id <= PW_ELU) || id == PW_POW ||
           (id >= PW_GELU_BACKWARD && id <= PW_SILU_BACKWARD) || id == PW_ELU_BACKWARD;
}

static void test_loops(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    int checked = 0;
    for (int set = 0; set <= (int)isa_best(); set++) {
        for (int id = 0; id < PW_COUNT; id++) {
            for (int which = -1; which < 2; which++) {
                int n = operands_of((pointwise_op)id), step[POINTWISE_INPUTS];
                for (int k = 0; k < POINTWISE_INPUTS; k++) {
                    step[k] = k == which ? 0 : 2;
                }
                bool exists = pointwise_halves_in_one_go((isa)set, (pointwise_op)id, step, n) != NULL;
                for (int round = 0; exists && !is_function((pointwise_op)id) && which < n && round < 2 * ROUNDS; round++) {
                    check_loop(&m, (loop_case){(pointwise_op)id, n, which}, round % 2 == 0 ? ASSAY_BF16 : ASSAY_F16, (isa)set,
                               &r, round / 2);
                    checked++;
                }
            }
        }
    }
    print_message("%d runs\n", checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
