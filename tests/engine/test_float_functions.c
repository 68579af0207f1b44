/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in f32 whose arithmetic serves ordinary numbers by whole blocks and others by another way: powers, erf, sin, cos, quotients,
   rests and roots, against double. Any length, results in place, in caches and past them, one operand a number, special numbers anywhere
   in a block, by all instruction sets that this CPU has. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/pointwise_tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SEED = 31, ROUNDS = 400, MOST = 700, GUARD = 64 };

/* Arguments are drawn so that ordinary blocks, and blocks with a few others, both come up. */
typedef enum kinds { ORDINARY, WIDE, SPECIAL } kinds;

typedef struct function {
    const char *name;
    pointwise_op id;
    int n;
    double (*exact)(double x, double y);
    double most_ulp; /* 0: to the bit */
} function;

static double erf_of(double x, double y) {
    (void)y;
    return erf(x);
}

static double sin_of(double x, double y) {
    (void)y;
    return sin(x);
}

static double cos_of(double x, double y) {
    (void)y;
    return cos(x);
}

static double sqrt_of(double x, double y) {
    (void)y;
    return sqrt(x);
}

static double rsqrt_of(double x, double y) {
    (void)y;
    return 1 / sqrt(x);
}

/* Python's rule, in float as ATen has it: a rest of the other sign than the divisor's is rounded once more. */
static double remainder_of(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? (float)((float)rest + (float)y) : rest;
}

/* The quotient's floor; as ATen's div_floor in float where that is beyond the whole numbers of a float, or none. */
static double floor_of(double x, double y) {
    if (fabs(x) < fabs(y) * 0x1p24 && fabs(y) < 0x1p100) {
        return floor(x / y);
    }
    float a = (float)x, b = (float)y, rest = fmodf(a, b), quotient = (a - rest) / b;
    if (b == 0) {
        return a / b;
    }
    quotient -= rest != 0 && (b < 0) != (rest < 0) ? 1 : 0;
    float down = floorf(quotient);
    return quotient == 0 ? 0 : quotient - down > 0.5f ? down + 1 : down;
}

static const function functions[] = {
    {"pow", PW_POW, 2, pow, 4},             {"erf", PW_ERF, 1, erf_of, 3},
    {"sin", PW_SIN, 1, sin_of, 2.5},        {"cos", PW_COS, 1, cos_of, 2.5},
    {"fmod", PW_FMOD, 2, fmod, 0},          {"remainder", PW_REMAINDER, 2, remainder_of, 0},
    {"floor", PW_DIV_FLOOR, 2, floor_of, 0}, {"sqrt", PW_SQRT, 1, sqrt_of, 0},
    {"rsqrt", PW_RSQRT, 1, rsqrt_of, 1.5},
};

typedef struct room {
    _Alignas(64) float in[2][MOST + GUARD];
    _Alignas(64) float made[MOST + GUARD];
} room;

static const float specials[] = {-INFINITY, -3e38f, -16777216, -8, -3, -1, -0.5f, -1e-40f, -0.0f, 0, 1e-44f, 1e-38f, 0.25f, 1,
                                 2, 3, 7.5f, 1e6f, 3e7f, 16777216, 3e38f, INFINITY, NAN};

static float draw(rng *r, const function *f, kinds kind, int operand) {
    if (kind == SPECIAL && rng_range(r, 0, 40) == 0) {
        return specials[rng_range(r, 0, countof(specials))];
    }
    double sign = rng_range(r, 0, 2) == 0 ? -1 : 1;
    if (f->id == PW_SQRT || f->id == PW_RSQRT) {
        return (float)exp((rng_uniform(r) - 0.5) * (kind == WIDE ? 170 : 12));
    }
    if (f->id == PW_POW) {
        bool is_whole = rng_range(r, 0, 4) == 0;
        double exponent = is_whole ? (double)rng_range(r, -9, 10) : (rng_uniform(r) * 12 - 6) * (kind == WIDE ? 9 : 1);
        double width = kind == WIDE ? 60 : 12;
        return operand == 1 ? (float)exponent : (float)(sign * exp((rng_uniform(r) - 0.5) * width));
    }
    if (f->n == 2 && operand == 1) {
        return (float)(sign * (0.3 + rng_uniform(r) * 5));
    }
    return (float)(sign * exp(rng_uniform(r) * (kind == WIDE ? 30 : 12) - (kind == WIDE ? 15 : 10)));
}

static double ulp_of(double exact) {
    double size = fabs(exact) < FLT_MIN ? FLT_MIN : fabs(exact);
    return ldexp(1, ilogb(size) - 23);
}

static bool is_right(const function *f, float actual, double exact) {
    if (isnan(exact)) {
        return isnan(actual);
    }
    if (f->most_ulp == 0) { /* ATen's way to large quotients rounds them before it takes the floor */
        bool is_near = f->id == PW_DIV_FLOOR && fabs(exact) > 0x1p20 && fabs(actual - exact) <= 1 + ulp_of(exact);
        return actual == (float)exact || is_near;
    }
    float wanted = (float)exact;
    bool same_sign = !signbit(actual) == !signbit(wanted);
    return (actual == wanted && (same_sign || f->n == 1)) || (same_sign && fabs(actual - exact) <= f->most_ulp * ulp_of(exact));
}

/* which: the operand that is one number, or -1. Answers how far off the results were. */
static double check_loop(room *m, const function *f, int which, bool streams, isa set, rng *r, int round) {
    const class_facts *facts = &pointwise_classes[CLASS_F32];
    const pointwise_loops *loops = streams ? facts->streaming[set] : facts->loops[set];
    pointwise_loop *tested = which < 0 ? loops->op[f->id] : which == 1 ? loops->number[f->id] : loops->number_first[f->id];
    static float kept[2][MOST + GUARD];
    for (int k = 0; k < f->n; k++) {
        kinds kind = (kinds)rng_range(r, 0, 3);
        for (int i = 0; i < MOST + GUARD; i++) {
            m->in[k][i] = draw(r, f, kind, k);
        }
        if (k == which && round % 2 == 0) {
            m->in[k][0] = specials[rng_range(r, 0, countof(specials))];
        }
    }
    for (int i = 0; i < MOST + GUARD; i++) {
        m->made[i] = (float)i;
    }
    memcpy(kept, m->in, sizeof kept);
    bool in_place = !streams && which != 0 && round % 3 == 0, is_fault = false;
    number none[POINTWISE_SCALARS] = {number_of_int(0)};
    int shift = streams ? 0 : (int)rng_range(r, 0, 16), from = which == 0 ? 0 : shift; /* of the first operand and the output */
    pointwise_chunk c = {.n = rng_range(r, 1, MOST - 16), .s = none, .is_fault = &is_fault};
    float *out = in_place ? m->in[0] + from : m->made + shift;
    c.out = out;
    c.in[0] = m->in[0] + from;
    c.in[1] = m->in[1];
    tested(&c);
    double worst = 0;
    for (int64_t i = 0; i < c.n; i++) {
        float x = kept[0][which == 0 ? 0 : from + i], y = kept[1][which == 1 ? 0 : i];
        double exact = f->exact(x, y);
        if (!is_right(f, out[i], exact)) {
            print_error("%s(%a, %a) is %a, expected %a: %lld of %lld, number %d, set %d, %s\n", f->name, (double)x, (double)y,
                        (double)out[i], exact, (long long)i, (long long)c.n, which, (int)set, streams ? "streams" : "");
            assert_true(false);
        }
        worst = isfinite(exact) && isfinite(out[i]) ? fmax(worst, fabs(out[i] - exact) / ulp_of(exact)) : worst;
    }
    for (int i = 0; i < GUARD - 16; i++) { /* what lies behind it */
        assert_true(in_place ? memcmp(&out[c.n + i], &kept[0][from + c.n + i], sizeof *out) == 0
                             : out[c.n + i] == (float)(shift + c.n + i));
    }
    return worst;
}

static void test_loops(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    for (size_t i = 0; i < countof(functions); i++) {
        const function *f = &functions[i];
        for (int set = 0; set <= (int)isa_best(); set++) {
            double worst = 0;
            for (int round = 0; round < ROUNDS; round++) {
                for (int which = -1; which < f->n; which++) {
                    const pointwise_loops *loops = pointwise_classes[CLASS_F32].loops[set];
                    bool exists = which < 0 || (which == 1 && loops->number[f->id] != NULL) ||
                                  (which == 0 && f->n == 2 && loops->number_first[f->id] != NULL);
                    worst = exists ? fmax(worst, check_loop(&m, f, which, round % 2 != 0, (isa)set, &r, round / 2)) : worst;
                }
            }
            print_message("%s, set %d: %.2f ulp\n", f->name, set, worst);
        }
    }
}

/* Every special number to the power of every other, among ordinary ones. */
static void powers_follow_c(void **state) {
    (void)state;
    enum { N = 64 };
    const size_t most = countof(specials);
    const function *f = &functions[0];
    for (size_t i = 0; i < most * most; i++) {
        float x[N], y[N], out[N];
        for (int k = 0; k < N; k++) {
            bool is_ordinary = k % 5 == 0;
            x[k] = is_ordinary ? 1.5f : specials[i / most];
            y[k] = is_ordinary ? -2.5f : specials[i % most];
        }
        for (int set = 0; set <= (int)isa_best(); set++) {
            const pointwise_loops *loops = pointwise_classes[CLASS_F32].loops[set];
            pointwise_loop *ways[] = {loops->op[PW_POW], loops->number[PW_POW], loops->number_first[PW_POW]};
            for (int way = 0; way < 3; way++) {
                pointwise_chunk c = {.out = out, .in = {way == 2 ? x + 1 : x, way == 1 ? y + 1 : y}, .n = N};
                ways[way](&c);
                for (int k = 0; k < N; k++) {
                    float base = way == 2 ? x[1] : x[k], exponent = way == 1 ? y[1] : y[k];
                    double exact = pow(base, exponent);
                    if (!is_right(f, out[k], exact)) {
                        print_error("pow(%g, %g) is %g, expected %g: way %d, set %d\n", (double)base, (double)exponent,
                                    (double)out[k], exact, way, set);
                        assert_true(false);
                    }
                }
            }
        }
    }
}

/* In f64 blocks with a number that vectors do not serve among others that they do. */
static void special_powers_of_doubles_follow_c(void **state) {
    (void)state;
    enum { N = 150 };
    const size_t most = countof(specials);
    for (size_t i = 0; i < most * most; i++) {
        double x[N], y[N], out[N];
        for (int k = 0; k < N; k++) {
            bool is_ordinary = k % 3 == 0;
            x[k] = is_ordinary ? 1.5 + k : (double)specials[i / most];
            y[k] = is_ordinary ? -2.5 : (double)specials[i % most];
        }
        for (int set = 0; set <= (int)isa_best(); set++) {
            pointwise_chunk c = {.out = out, .in = {x, y}, .n = N};
            pointwise_classes[CLASS_F64].loops[set]->op[PW_POW](&c);
            for (int k = 0; k < N; k++) {
                double exact = pow(x[k], y[k]), away = fabs(out[k] - exact);
                bool is_right = isnan(exact) ? isnan(out[k]) : isinf(exact) || exact == 0 ? out[k] == exact && !signbit(out[k]) == !signbit(exact)
                                                                                        : away <= 0x1p-51 * fabs(exact);
                if (!is_right) {
                    print_error("pow(%a, %a) is %a, expected %a: set %d\n", x[k], y[k], out[k], exact, set);
                    assert_true(false);
                }
            }
        }
    }
}

/* Many to one power, which may go by tables made for it: numbers of all sizes and the special ones, few and many in a block. */
static void many_to_one_power_follow_c(void **state) {
    (void)state;
    enum { N = (1 << 14) + 61, SIDE_BY_SIDE = 32 };
    static const float powers[] = {-3.01f, -3, -2.5f, -2, -1, -0.7f, -1e-3f, 1e-3f, 0.25f, 0.5f,
                                   1,      1.5f, 2,   2.5f, 3,  4,     5,      6.75f, 7,    7.01f};
    static _Alignas(64) float x[N + GUARD], out[N + GUARD];
    const function *f = &functions[0];
    rng r = rng_make(SEED);
    for (int i = 0; i < N; i++) {
        bool may_be_special = i / SIDE_BY_SIDE % 3 != 0;
        double width = i / SIDE_BY_SIDE % 5 == 0 ? 174 : 20, size = exp((rng_uniform(&r) - 0.5) * width);
        x[i] = may_be_special && rng_range(&r, 0, 20) == 0 ? specials[rng_range(&r, 0, countof(specials))]
                                                           : (float)(rng_range(&r, 0, 6) == 0 ? -size : size);
    }
    for (size_t at = 0; at < countof(powers); at++) {
        for (int way = 0; way < 2 * ((int)isa_best() + 1); way++) {
            const pointwise_loops *const *sets = way % 2 == 0 ? pointwise_classes[CLASS_F32].loops : pointwise_classes[CLASS_F32].streaming;
            if (sets[way / 2] == NULL || sets[way / 2]->number[PW_POW] == NULL) {
                continue;
            }
            double worst = 0;
            out[N] = 77;
            sets[way / 2]->number[PW_POW](&(pointwise_chunk){.out = out, .in = {x, &powers[at]}, .n = N});
            assert_true(out[N] == 77);
            for (int i = 0; i < N; i++) {
                double exact = pow(x[i], powers[at]);
                if (!is_right(f, out[i], exact)) {
                    print_error("pow(%a, %g) is %a, expected %a: way %d\n", (double)x[i], (double)powers[at], (double)out[i], exact, way);
                    assert_true(false);
                }
                bool counts = isfinite(exact) && exact != 0 && fabs(exact) <= FLT_MAX;
                worst = counts ? fmax(worst, fabs(out[i] - exact) / ulp_of(exact)) : worst;
            }
            if (way == 2 * (int)isa_best()) {
                print_message("to %g: %.2f ulp\n", (double)powers[at], worst);
            }
        }
    }
}

/* --- what activations and their slopes are at the ends --- */

static double normal_share(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double logistic_of(double u) {
    return u < 0 ? exp(u) / (1 + exp(u)) : 1 / (1 + exp(-u));
}

static double tanh_argument(double x) {
    return 1.5957691216057308 * (x + 0.044715 * x * x * x);
}

static double gelu_of(double x) {
    return x * normal_share(x);
}

static double gelu_slope_of(double x) {
    return normal_share(x) + x * exp(-x * x / 2) * 0.39894228040143267794;
}

static double gelu_tanh_of(double x) {
    return x * logistic_of(tanh_argument(x));
}

static double gelu_tanh_slope_of(double x) {
    double u = tanh_argument(x), slope = 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
    return logistic_of(u) + x * slope * (logistic_of(u) * logistic_of(-u));
}

static double silu_of(double x) {
    return x * logistic_of(x);
}

static double silu_slope_of(double x) {
    return logistic_of(x) + x * (logistic_of(x) * logistic_of(-x));
}

typedef struct activation {
    const char *name;
    pointwise_op id;
    bool is_slope;
    double (*exact)(double x);
} activation;

static const activation activations[] = {
    {"gelu", PW_GELU, false, gelu_of},
    {"gelu by tanh", PW_GELU_TANH, false, gelu_tanh_of},
    {"silu", PW_SILU, false, silu_of},
    {"gelu's slope", PW_GELU_BACKWARD, true, gelu_slope_of},
    {"slope of gelu by tanh", PW_GELU_TANH_BACKWARD, true, gelu_tanh_slope_of},
    {"silu's slope", PW_SILU_BACKWARD, true, silu_slope_of},
};

/* Infinities times nothing are NaN, as in ATen; what is so low that its exponential is a denormal keeps its size. */
static void activations_hold_at_the_ends(void **state) {
    (void)state;
    static const float ends[] = {-INFINITY, INFINITY, NAN, -FLT_MAX, FLT_MAX, -1e20f, 1e20f, -90, 90,
                                 -88,       88,       -20, 20,       -10,     10,     -0.0f, 0,   2};
    enum { N = 7 * countof(ends), LEAST_NORMALS = 100, MOST_ULP = 16 };
    for (size_t a = 0; a < countof(activations); a++) {
        const activation *f = &activations[a];
        for (int set = 0; set <= (int)isa_best(); set++) {
            float x[N], g[N], out[N];
            for (int i = 0; i < N; i++) {
                x[i] = ends[i % (int)countof(ends)];
                g[i] = 1;
            }
            pointwise_chunk c = {.out = out, .in = {f->is_slope ? g : x, x}, .n = N};
            pointwise_classes[CLASS_F32].loops[set]->op[f->id](&c);
            for (int i = 0; i < N; i++) {
                double exact = f->exact(x[i]), off = fabs(out[i] - exact);
                bool is_same = isnan(exact) ? isnan(out[i]) : out[i] == exact;
                if (!is_same && !(off <= MOST_ULP * ulp_of(exact)) && !(off <= LEAST_NORMALS * (double)FLT_MIN)) {
                    print_error("%s of %g is %g, expected %g: set %d\n", f->name, (double)x[i], (double)out[i], exact,
                                set);
                    assert_true(false);
                }
            }
        }
    }
}

typedef struct end {
    const char *name;
    pointwise_op id;
    float from, value; /* of `from`, and of all that is as large and larger, or as small and smaller */
} end;

static const end value_ends[] = {
    {"tanh", PW_TANH, 9.02f, 1}, {"tanh", PW_TANH, -9.02f, -1}, {"erf", PW_ERF, 3.93f, 1}, {"erf", PW_ERF, -3.93f, -1}, {"elu", PW_ELU, -17.4f, -1},
};

/* Where a function's value is nearest to its limit it is the limit: what is left of 1 - tanh may be multiplied by anything. */
static void limits_are_reached(void **state) {
    (void)state;
    enum { N = 100 };
    const number ones[] = {number_of_double(1), number_of_double(1), number_of_double(1)};
    for (size_t e = 0; e < countof(value_ends); e++) {
        const end *f = &value_ends[e];
        for (int set = 0; set <= (int)isa_best(); set++) {
            float x[N], out[N];
            for (int i = 0; i < N; i++) {
                x[i] = i % 10 == 9 ? copysignf(INFINITY, f->from) : f->from * powf(2, 1.25f * (float)i);
            }
            pointwise_chunk c = {.out = out, .in = {x}, .n = N, .s = ones};
            pointwise_classes[CLASS_F32].loops[set]->op[f->id](&c);
            for (int i = 0; i < N; i++) {
                if (out[i] != f->value) {
                    print_error("%s of %.9g is %.9g, expected %g: set %d\n", f->name, (double)x[i], (double)out[i], (double)f->value, set);
                }
                assert_true(out[i] == f->value);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_reached), cmocka_unit_test(test_loops), cmocka_unit_test(powers_follow_c),
                                       cmocka_unit_test(special_powers_of_doubles_follow_c), cmocka_unit_test(many_to_one_power_follow_c),
                                       cmocka_unit_test(activations_hold_at_the_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
