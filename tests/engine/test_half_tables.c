/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 by look-up: the loops of each instruction set against plain ones, and calls that are large enough for a
   table against the same call in parts that are not. */
#include "call_kit.h"

#include "engine/kernels/cpu/pointwise_tiles.h"

#include <float.h>
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
    _Alignas(64) uint16_t in[2][MOST + GUARD];
    _Alignas(64) uint16_t made[MOST + 2 * GUARD];
    uint16_t expected[MOST];
    uint16_t results[ALL];
    float factors[ALL];
} room;

static void check_loop(room *m, rng *r, isa set, dtype t, bool is_factors, int round) {
    int64_t n = round < 100 ? round : rng_range(r, 1, MOST), shift = rng_range(r, 0, 3);
    bool in_place = round % 4 == 1, streams = !in_place && shift == 0 && round % 2 == 0;
    for (int64_t i = 0; i < MOST + GUARD; i++) {
        m->in[0][i] = (uint16_t)rng_range(r, 0, ALL - 1);
        m->in[1][i] = (uint16_t)rng_range(r, 0, ALL - 1);
        m->made[i] = (uint16_t)(7 * i);
    }
    for (int64_t i = 0; i < n; i++) {
        float product = float_of(t, m->in[0][i]) * m->factors[m->in[1][i]];
        uint16_t rounded = t == ASSAY_F16 ? f16_from_float(product) : bf16_from_float(product);
        m->expected[i] = is_factors ? rounded : m->results[m->in[0][i]];
    }
    uint16_t *out = in_place ? m->in[0] : m->made + shift;
    pointwise_halves h = {.chunk = {.out = out, .in = {m->in[0], m->in[1]}, .n = n},
                          .type = t,
                          .n = is_factors ? 2 : 1,
                          .streams = streams,
                          .fetches = round % 3 == 0,
                          .table = is_factors ? (const void *)m->factors : m->results};
    uint16_t behind[GUARD];
    memcpy(behind, out + n, sizeof behind);
    const pointwise_half_look_ups *look_ups = pointwise_half_look_ups_of[set];
    (is_factors ? look_ups->factors : look_ups->results)(&h);
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
        m->factors[i] = i % 1000 == 0 ? NAN : i % 1000 == 1 ? -INFINITY : (float)(rng_uniform(&r) * 8 - 4);
    }
    for (int set = 0; set <= (int)isa_best(); set++) {
        for (int round = 0; round < 4 * 300; round++) {
            check_loop(m, &r, (isa)set, round % 2 == 0 ? ASSAY_BF16 : ASSAY_F16, round / 2 % 2 == 0, round / 4);
        }
    }
    free(m);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

typedef struct function {
    const char *name;
    const char *in_place; /* NULL: not checked */
    bool has_gradient, has_number;
    double number;
    bool by_tanh;
    bool number_first;
} function;

static const function functions[] = {
    {"log2", "log2_", false, false, 0, false, false},
    {"sin", "sin_", false, false, 0, false, false},
    {"cos", NULL, false, false, 0, false, false},
    {"erf", "erf_", false, false, 0, false, false},
    {"elu", NULL, false, false, 0, false, false},
    {"pow.Tensor_Scalar", "pow_.Scalar", false, true, 2.5, false, false},
    {"pow.Tensor_Scalar", NULL, false, true, -3, false, false},
    {"pow.Scalar", NULL, false, true, 3.5, false, true},
    {"remainder.Scalar", "remainder_.Scalar", false, true, 3, false, false},
    {"fmod.Scalar", NULL, false, true, -0.75, false, false},
    {"silu_backward", NULL, true, false, 0, false, false},
    {"gelu_backward", NULL, true, false, 0, true, false},
};

static op_call call_of(kit *k, const char *name, const function *f, tensor *g, tensor *x) {
    arg args[3] = {arg_tensor(f->has_gradient ? g : x)};
    int n = 1;
    if (f->has_gradient) {
        args[n++] = arg_tensor(x);
    }
    if (f->number_first) {
        args[0] = arg_number(number_of_double(f->number));
        args[n++] = arg_tensor(x);
    } else if (f->has_number) {
        args[n++] = arg_number(number_of_double(f->number));
    }
    if (f->by_tanh) {
        args[n++] = (arg){.kind = ARG_STR, .str = "tanh"};
    }
    return kit_call(k, name, args, n);
}

/* Bits are the same, but that a factor is rounded before it is multiplied: one unit of the last place, and less than the least normal
   number where it is 0. */
static bool is_near(dtype t, uint16_t a, uint16_t b) {
    double x = (double)float_of(t, a), y = (double)float_of(t, b), least = t == ASSAY_F16 ? 0x1p-24 : (double)FLT_MIN;
    return is_same(t, a, b) || fabs(x - y) <= fmax(fabs(y) * (t == ASSAY_F16 ? 0x1p-10 : 0x1p-7), least);
}

static const uint16_t *bits_of(const tensor *t) {
    return (const uint16_t *)(const void *)tensor_data(t);
}

/* Every number, several times over and some once more. */
static void check_call(kit *k, const function *f, dtype t, double gradient) {
    int64_t all = ALL, n = 5 * ALL + 77;
    tensor *small_x = kit_tensor(k, t, 1, &all, NULL), *small_g = kit_tensor(k, t, 1, &all, NULL);
    tensor *x = kit_tensor(k, t, 1, &n, NULL), *g = kit_tensor(k, t, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++) {
        ((uint16_t *)(void *)tensor_data(x))[i] = (uint16_t)i;
        element_store(t, tensor_data(g) + 2 * i, gradient);
    }
    memcpy(tensor_data(small_x), tensor_data(x), 2 * ALL);
    memcpy(tensor_data(small_g), tensor_data(g), 2 * ALL);
    op_call large = call_of(k, f->name, f, g, x), small = call_of(k, f->name, f, small_g, small_x);
    outputs made, expected, same;
    kit_run(k, &large, &made);
    kit_run(k, &small, &expected);
    const uint16_t *a = bits_of(&made.items[0]), *b = bits_of(&expected.items[0]);
    for (int64_t i = 0; i < n; i++) {
        if (!(f->has_gradient ? is_near(t, a[i], b[i % ALL]) : is_same(t, a[i], b[i % ALL]))) {
            print_error("%s of %s %a, gradient %g: %a, without a table %a\n", f->name, assay_dtype_name(t),
                        (double)float_of(t, (uint16_t)i), gradient, (double)float_of(t, a[i]), (double)float_of(t, b[i % ALL]));
            assert_true(false);
        }
    }
    if (f->in_place != NULL) {
        op_call in_place = call_of(k, f->in_place, f, g, x);
        kit_run(k, &in_place, &same);
        assert_memory_equal(tensor_data(x), a, (size_t)(2 * n));
        outputs_clear(&same);
    }
    outputs_clear(&made);
    outputs_clear(&expected);
    kit_reset(k);
}

static void calls_agree(void **state) {
    static const double gradients[] = {1, -0.0625, 3};
    kit *k = *state;
    for (size_t i = 0; i < countof(functions); i++) {
        for (size_t g = 0; g < (functions[i].has_gradient ? countof(gradients) : 1); g++) {
            check_call(k, &functions[i], ASSAY_BF16, gradients[g]);
            check_call(k, &functions[i], ASSAY_F16, gradients[g]);
        }
    }
}

static uint64_t seed = SEED;

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_look_up), KIT_TEST(calls_agree, &seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
