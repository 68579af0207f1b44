/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in f64 whose arithmetic serves ordinary numbers by whole blocks and others by another way: functions of one operand against long
   doubles, quotients and rests against libm to the bit. By eager's loops, all instruction sets that this CPU has, and as emitted code, in
   which also what tells of others has to be right. */
#include "unit.h"

#include "base/rng.h"
#include "engine/compile/build.h"
#include "engine/compile/dialect.h"
#include "engine/kernels/cpu/pointwise_tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SEED = 32, ROUNDS = 150, MOST = 1100, GUARD = 32 };

static const double specials[] = {-INFINITY, -1e308, -9007199254740993.0, -8, -3, -1, -0.5, -1e-310, -0.0, 0, 5e-324, 1e-308, 0.25, 1,
                                  2, 3, 7.5, 1e6, 3e15, 9007199254740993.0, 1e308, INFINITY, NAN};

/* --- functions of one operand --- */

static long double sigmoid_of(long double x) {
    return 1 / (1 + expl(-x));
}

static long double gelu_of(long double x) {
    return x * 0.5L * erfcl(x * -0.70710678118654752440084436210485L);
}

static long double silu_of(long double x) {
    return x * sigmoid_of(x);
}

static const struct unary_function {
    const char *name;
    pointwise_op id;
    scalar_function fn; /* FN_COUNT: none */
    long double (*exact)(long double x);
    double most, most_ulp;
} unaries[] = {
    {"exp", PW_EXP, FN_EXP, expl, 720, 1.5},
    {"log2", PW_LOG2, FN_LOG2, log2l, 1e300, 2},
    {"sin", PW_SIN, FN_SIN, sinl, 1e6, 3},
    {"cos", PW_COS, FN_COS, cosl, 1e6, 3},
    {"sin of any", PW_SIN, FN_SIN, sinl, 1e9, 3},
    {"erf", PW_ERF, FN_ERF, erfl, 8, 2.5},
    {"tanh", PW_TANH, FN_TANH, tanhl, 30, 3},
    {"sigmoid", PW_SIGMOID, FN_SIGMOID, sigmoid_of, 700, 3},
    {"silu", PW_SILU, FN_COUNT, silu_of, 700, 4},
    {"gelu", PW_GELU, FN_COUNT, gelu_of, 36, 9},
    {"expm1", PW_COUNT, FN_EXPM1, expm1l, 720, 2.5},
    {"log", PW_COUNT, FN_LOG, logl, 1e300, 2},
};

typedef struct room {
    _Alignas(64) double in[2][MOST + GUARD];
    _Alignas(64) double made[MOST + GUARD];
} room;

static void fill_operand(rng *r, double *x, double most, bool has_specials) {
    for (int i = 0; i < MOST + GUARD; i++) {
        double sign = rng_range(r, 0, 2) == 0 ? -1 : 1;
        double size = i % 2 == 0 ? most * rng_uniform(r) : most * exp(rng_uniform(r) * -40);
        x[i] = has_specials && rng_range(r, 0, 40) == 0 ? specials[rng_range(r, 0, countof(specials))] : sign * size;
    }
}

static void check_unary(const struct unary_function *f, const double *x, const double *made, int64_t n, const char *way) {
    for (int64_t i = 0; i < n; i++) {
        long double exact = f->exact(x[i]), size = fabsl(exact) < DBL_MIN ? DBL_MIN : fabsl(exact);
        double rounded = (double)exact;
        bool beyond = isinf(x[i]) && f->id == PW_GELU && x[i] < 0; /* NaN, as an infinity times nothing is */
        bool same = isnan(exact) || beyond ? isnan(made[i])
                    : isinf(rounded)       ? made[i] == rounded || (double)made[i] > 0x1.ffffffffffff0p1023
                                           : fabsl((long double)made[i] - exact) <= (long double)f->most_ulp * ldexpl(1, ilogbl(size) - 52);
        if (!same) {
            print_error("%s(%a) is %a, expected %a: %s\n", f->name, x[i], made[i], rounded, way);
            assert_true(false);
        }
    }
}

static void functions_are_near(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    number none[POINTWISE_SCALARS] = {number_of_int(0)};
    for (size_t at = 0; at < countof(unaries); at++) {
        const struct unary_function *f = &unaries[at];
        for (int way = 0; way < 2 * ((int)isa_best() + 1) && f->id != PW_COUNT; way++) {
            const class_facts *facts = &pointwise_classes[CLASS_F64];
            const pointwise_loops *loops = way % 2 == 0 ? facts->loops[way / 2] : facts->streaming[way / 2];
            for (int round = 0; round < ROUNDS; round++) {
                bool is_fault = false;
                fill_operand(&r, m.in[0], f->most, round % 2 != 0);
                int from = way % 2 == 0 ? (int)rng_range(&r, 0, 8) : 0;
                pointwise_chunk c = {.n = rng_range(&r, 1, MOST - 8), .s = none, .is_fault = &is_fault};
                c.out = m.made + from;
                c.in[0] = m.in[0] + from;
                m.made[from + c.n] = 77;
                loops->op[f->id](&c);
                assert_true(m.made[from + c.n] == 77);
                check_unary(f, m.in[0] + from, m.made + from, c.n, way % 2 == 0 ? "loops" : "streaming");
            }
        }
    }
}

/* --- quotients --- */

/* Python's rule, in double as ATen has it: a rest of the other sign than the divisor's is rounded once more. */
static double remainder_of(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* As ATen's div_floor. */
static double floor_of(double x, double y) {
    if (y == 0) {
        return x / y;
    }
    double rest = fmod(x, y), quotient = (x - rest) / y;
    quotient -= rest != 0 && (y < 0) != (rest < 0) ? 1 : 0;
    double down = floor(quotient);
    return quotient == 0 ? 0 : quotient - down > 0.5 ? down + 1 : down;
}

static const struct quotient {
    const char *name;
    pointwise_op id;
    scalar_function fn;
    double (*exact)(double x, double y);
} quotients[] = {{"fmod", PW_FMOD, FN_FMOD, fmod}, {"remainder", PW_REMAINDER, FN_REMAINDER, remainder_of},
                 {"floor", PW_DIV_FLOOR, FN_FLOOR_DIV, floor_of}};

static const double divisors[] = {3, -0.7, 1, 1e-3, 0x1p-1000, 1e301, 0, INFINITY, NAN, -7};

static void fill_quotients(rng *r, room *m, int kind, double divisor) {
    for (int i = 0; i < MOST + GUARD; i++) {
        double y = isnan(divisor) || divisor != 0.125 ? divisor : (rng_range(r, 0, 2) == 0 ? -1 : 1) * (0.3 + 5 * rng_uniform(r));
        double ratio = exp(rng_uniform(r) * (kind == 0 ? 30 : 45) - 10) * (rng_range(r, 0, 2) == 0 ? -1 : 1);
        ratio = i % 4 == 0 ? rint(ratio) : ratio;
        bool is_special = kind == 2 && rng_range(r, 0, 40) == 0;
        m->in[0][i] = is_special ? specials[rng_range(r, 0, countof(specials))] : ratio * (isfinite(y) && y != 0 && fabs(y) < 1e300 ? y : 1);
        m->in[1][i] = kind == 2 && divisor == 0.125 && rng_range(r, 0, 60) == 0 ? specials[rng_range(r, 0, countof(specials))] : y;
    }
}

static bool is_quotient(const struct quotient *q, double x, double y, double made) {
    double exact = q->exact(x, y);
    bool is_near = q->id == PW_DIV_FLOOR && fabs(exact) > 0x1p49 && fabs(made - exact) <= fabs(exact) * 0x1p-52;
    bool same = isnan(exact) ? isnan(made) : made == exact || is_near;
    if (!same) {
        print_error("%s(%a, %a) is %a, expected %a\n", q->name, x, y, made, exact);
    }
    return same;
}

static void quotients_are_exact(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    number none[POINTWISE_SCALARS] = {number_of_int(0)};
    for (int at = 0; at < 3 * 2 * ((int)isa_best() + 1); at++) {
        const struct quotient *q = &quotients[at % 3];
        const class_facts *facts = &pointwise_classes[CLASS_F64];
        const pointwise_loops *loops = at / 3 % 2 == 0 ? facts->loops[at / 6] : facts->streaming[at / 6];
        for (int round = 0; round < ROUNDS; round++) {
            bool is_number = round % 2 != 0, is_fault = false;
            double divisor = is_number ? divisors[round / 2 % (int)countof(divisors)] : 0.125;
            fill_quotients(&r, &m, round % 3, divisor);
            pointwise_chunk c = {.out = m.made, .in = {m.in[0], m.in[1]}, .n = rng_range(&r, 1, MOST), .s = none, .is_fault = &is_fault};
            (is_number ? loops->number[q->id] : loops->op[q->id])(&c);
            for (int64_t i = 0; i < c.n; i++) {
                assert_true(is_quotient(q, m.in[0][i], m.in[1][is_number ? 0 : i], m.made[i]));
            }
        }
    }
}

/* --- emitted --- */

static const char without[] = "#undef __AVX512F__\n#undef __AVX512DQ__\n#undef __FMA__\n";

/* made: out[0], what is told: out[1], out[2] the form that holds for all. */
static module *build_of(scalar_function fn, bool plain) {
    static const char *const operands[] = {"x[l]", "y[l]"};
    bool quick = dialect_has_quick(fn, ASSAY_F64);
    text body = {0}, whole = {0};
    error err = {0};
    module *m;
    text_add(&body, "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n    double *const out = buffers[0];\n"
                    "    const double *const x = buffers[1], *const y = buffers[2];\n    uint32_t *const fails = buffers[3];\n"
                    "    double *const all = buffers[4];\n    for (int64_t l = first; l < last; l++) {\n        (void)y[l];\n        fails[l] = ");
    quick ? dialect_quick_fails(&body, fn, ASSAY_F64, operands) : (void)text_add(&body, "0");
    text_add(&body, ";\n        out[l] = ");
    quick ? dialect_quick(&body, fn, ASSAY_F64, operands) : (void)dialect_function(&body, fn, ASSAY_F64, operands);
    text_add(&body, ";\n        all[l] = ");
    dialect_function(&body, fn, ASSAY_F64, operands);
    text_add(&body, ";\n    }\n    return 1;\n}\n");
    text_add(&whole, plain ? without : "");
    dialect_prelude(&whole, text_get(&body));
    text_add(&whole, text_get(&body));
    if (module_build(text_get(&whole), BUILD_TO_LAST, &m, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    text_clear(&whole);
    text_clear(&body);
    return m;
}

static void emitted_code_agrees(void **state) {
    (void)state;
    static room m;
    static double all[MOST + GUARD];
    static uint32_t fails[MOST + GUARD];
    void *buffers[] = {m.made, m.in[0], m.in[1], fails, all};
    rng r = rng_make(SEED);
    for (size_t at = 0; at < 2 * (countof(unaries) + countof(quotients)); at++) {
        size_t which = at / 2;
        const struct unary_function *f = which < countof(unaries) ? &unaries[which] : NULL;
        const struct quotient *q = f == NULL ? &quotients[which - countof(unaries)] : NULL;
        if (f != NULL && f->fn == FN_COUNT) {
            continue;
        }
        bool plain = at % 2 != 0;
        module *built = build_of(f != NULL ? f->fn : q->fn, plain);
        compiled_kernel_fn *probe = module_find(built, "probe");
        for (int round = 0; round < ROUNDS; round++) {
            if (f != NULL) {
                fill_operand(&r, m.in[0], f->most, round % 2 != 0);
            } else {
                fill_quotients(&r, &m, round % 3, 0.125);
            }
            probe(buffers, 0, MOST);
            for (int i = 0; i < MOST; i++) { /* ordinary ones have to be served, unless that takes fused products */
                assert_true(round % (f != NULL ? 2 : 3) != 0 || fails[i] == 0 || (f == NULL && plain) || (f != NULL && f->most > 1e6));
                m.made[i] = fails[i] == 0 ? m.made[i] : all[i];
                assert_true(f != NULL || (is_quotient(q, m.in[0][i], m.in[1][i], m.made[i]) && is_quotient(q, m.in[0][i], m.in[1][i], all[i])));
            }
            if (f != NULL) {
                check_unary(f, m.in[0], m.made, MOST, plain ? "emitted, without fused products" : "emitted");
                check_unary(f, m.in[0], all, MOST, "emitted for all");
            }
        }
        module_free(built);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_near), cmocka_unit_test(quotients_are_exact),
                                       cmocka_unit_test(emitted_code_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
