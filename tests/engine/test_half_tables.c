/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 by look-up: the loops of each instruction set against plain ones, and calls that are large enough for a
   table against the same call in parts that are not. */
#include "call_kit.h"

#include "engine/kernels/cpu/pointwise_tiles.h"

#include <math.h>

enum { SEED = 31, ALL = 1 << 16, MOST = 700, GUARD = 64 };

static float float_of(dtype t, uint16_t x) {
    return t == ASSAY_F16 ? f16_to_float(x) : bf16_to_float(x);
}

static bool is_same(dtype t, uint16_t a, uint16_t b) {
    return a == b || (isnan(float_of(t, a)) && isnan(float_of(t, b)));
}

/* --- loops ------------------------------------------------------------------------------------------------------------------ */

typedef struct room {
    _Alignas(64) uint16_t in[MOST + GUARD];
    _Alignas(64) uint16_t made[MOST + 2 * GUARD];
    uint16_t expected[MOST];
    uint16_t results[ALL];
} room;

static void check_loop(room *m, rng *r, isa set, dtype t, int round) {
    int64_t n = round < 100 ? round : rng_range(r, 1, MOST), shift = rng_range(r, 0, 3);
    bool in_place = round % 4 == 1, streams = !in_place && shift == 0 && round % 2 == 0;
    for (int64_t i = 0; i < MOST + GUARD; i++) {
        m->in[i] = (uint16_t)rng_range(r, 0, ALL - 1);
        m->made[i] = (uint16_t)(7 * i);
    }
    for (int64_t i = 0; i < n; i++) {
        m->expected[i] = m->results[m->in[i]];
    }
    uint16_t *out = in_place ? m->in : m->made + shift;
    pointwise_halves h = {
        .chunk = {.out = out, .in = {m->in}, .n = n}, .type = t, .n = 1, .streams = streams, .fetches = round % 3 == 0, .table = m->results};
    uint16_t behind[GUARD];
    memcpy(behind, out + n, sizeof behind);
    pointwise_half_look_ups[set](&h);
    pointwise_move_tables[set]->settle();
    for (int64_t i = 0; i < n; i++) {
        if (!is_same(t, out[i], m->expected[i])) {
            print_error("%s, %s, element %lld of %lld: %04x, expected %04x (seed %d)\n", isa_name(set), assay_dtype_name(t), (long long)i,
                        (long long)n, out[i], m->expected[i], SEED);
            assert_true(false);
        }
    }
    assert_memory_equal(out + n, behind, sizeof behind);
}

static void loops_look_up(void **state) {
    (void)state;
    room *m = aligned_alloc(64, sizeof *m);
    assert_non_null(m);
    rng r = rng_make(SEED);
    for (int i = 0; i < ALL; i++) {
        m->results[i] = (uint16_t)rng_range(&r, 0, ALL - 1);
    }
    for (int set = 0; set <= (int)isa_best(); set++) {
        for (int round = 0; round < 600; round++) {
            check_loop(m, &r, (isa)set, round % 2 == 0 ? ASSAY_BF16 : ASSAY_F16, round / 2);
        }
    }
    free(m);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

typedef struct function {
    const char *name;
    const char *in_place; /* NULL: not checked */
    bool has_number, number_first;
    double number;
} function;

static const function functions[] = {
    {"log2", "log2_", false, false, 0},
    {"sin", "sin_", false, false, 0},
    {"cos", NULL, false, false, 0},
    {"erf", "erf_", false, false, 0},
    {"elu", NULL, false, false, 0},
    {"pow.Tensor_Scalar", "pow_.Scalar", true, false, 2.5},
    {"pow.Tensor_Scalar", NULL, true, false, -3},
    {"pow.Scalar", NULL, true, true, 3.5},
    {"remainder.Scalar", "remainder_.Scalar", true, false, 3},
    {"fmod.Scalar", NULL, true, false, -0.75},
};

static op_call call_of(kit *k, const char *name, const function *f, tensor *x) {
    arg beside = arg_number(number_of_double(f->number)), args[2] = {arg_tensor(x), beside};
    if (f->number_first) {
        args[0] = beside;
        args[1] = arg_tensor(x);
    }
    return kit_call(k, name, args, f->has_number ? 2 : 1);
}

static const uint16_t *bits_of(const tensor *t) {
    return (const uint16_t *)(const void *)tensor_data(t);
}

/* Every number, several times over and some once more: bits are the same. */
static void check_call(kit *k, const function *f, dtype t) {
    int64_t all = ALL, n = 5 * ALL + 77;
    tensor *small_x = kit_tensor(k, t, 1, &all, NULL), *x = kit_tensor(k, t, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++) {
        ((uint16_t *)(void *)tensor_data(x))[i] = (uint16_t)i;
    }
    memcpy(tensor_data(small_x), tensor_data(x), 2 * ALL);
    op_call large = call_of(k, f->name, f, x), small = call_of(k, f->name, f, small_x);
    outputs made, expected, same;
    kit_run(k, &large, &made);
    kit_run(k, &small, &expected);
    const uint16_t *a = bits_of(&made.items[0]), *b = bits_of(&expected.items[0]);
    for (int64_t i = 0; i < n; i++) {
        if (!is_same(t, a[i], b[i % ALL])) {
            print_error("%s of %s %a: %a, without a table %a\n", f->name, assay_dtype_name(t), (double)float_of(t, (uint16_t)i),
                        (double)float_of(t, a[i]), (double)float_of(t, b[i % ALL]));
            assert_true(false);
        }
    }
    if (f->in_place != NULL) {
        op_call in_place = call_of(k, f->in_place, f, x);
        kit_run(k, &in_place, &same);
        assert_memory_equal(tensor_data(x), a, (size_t)(2 * n));
        outputs_clear(&same);
    }
    outputs_clear(&made);
    outputs_clear(&expected);
    kit_reset(k);
}

static void calls_agree(void **state) {
    kit *k = *state;
    for (size_t i = 0; i < countof(functions); i++) {
        check_call(k, &functions[i], ASSAY_BF16);
        check_call(k, &functions[i], ASSAY_F16);
    }
}

static uint64_t seed = SEED;

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_look_up), KIT_TEST(calls_agree, &seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
