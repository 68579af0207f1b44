/* SPDX-License-Identifier: Apache-2.0 */
/* The vectorisable f32 functions against libm in double, over their whole range and at its edges. */
#include "engine/kernels/cpu/isa/vector_math.h"

#include "unit.h"

#include <float.h>
#include <stdbool.h>
#include <stdio.h>

static double gelu_exact(double x) {
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}

static double gelu_slope_exact(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-x * x / 2) * 0.39894228040143267794;
}

static double sigmoid_exact(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* What sin_f32 and cos_f32 are where multiplications are fused. */
static float sin_fused(float x) {
    uint32_t n;
    float r = half_turns_fused(x, 0, &n);
    return sine_of_rest(r, n);
}

static float cos_fused(float x) {
    uint32_t n;
    float r = half_turns_fused(x, 1, &n);
    return sine_of_rest(r, n);
}

typedef struct function {
    const char *name;
    float (*f)(float);
    double (*exact)(double);
    double low, high;
    double most_ulp; /* measured 2026-11, rounded up */
} function;

static const function functions[] = {
    {"exp", exp_f32, exp, -87, 88.7, 1.5},
    {"exp of negatives", exp_negative_f32, exp, -87, 0, 1.5},
    {"expm1 of negatives", expm1_negative_f32, expm1, -80, -1e-30, 3},
    {"erf", erf_f32, erf, -6, 6, 3},
    {"gelu", gelu_f32, gelu_exact, -12, 12, 8},
    {"gelu's slope", gelu_slope_f32, gelu_slope_exact, -0.25, 12, 8}, /* it crosses 0 at -0.75 */
    {"sigmoid", sigmoid_f32, sigmoid_exact, -86, 86, 3},
    {"tanh", tanh_f32, tanh, -12, 12, 3},
    {"log2", log2_f32, log2, 1e-44, 3e38, 2},
    {"sin", sin_f32, sin, -1e6, 1e6, 2.5},
    {"cos", cos_f32, cos, -1e6, 1e6, 2.5},
    {"sin, fused", sin_fused, sin, -1e6, 1e6, 2.5},
    {"cos, fused", cos_fused, cos, -1e6, 1e6, 3},
};

static double ulp_of(double exact) {
    double size = fabs(exact) < FLT_MIN ? FLT_MIN : fabs(exact);
    return ldexp(1, ilogb(size) - 23);
}

static void stay_within_their_error(void **state) {
    (void)state;
    enum { STEPS = 400000 };
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        const function *t = &functions[k];
        double worst = 0, at = 0;
        for (int i = 0; i <= STEPS; i++) {
            double part = (double)i / STEPS;
            /* logarithms see every magnitude; the others evenly and, near 0, by magnitude too */
            double x = t->exact == log2 ? t->low * pow(t->high / t->low, part)
                       : i % 2 == 0     ? t->low + (t->high - t->low) * part
                       : t->high <= 0   ? -pow(10, -8 + 8 * part)
                                        : pow(10, -8 + 8 * part) * (i % 4 == 1 ? 1 : -1);
            float narrow = (float)x;
            if (narrow < t->low || narrow > t->high) {
                continue;
            }
            double exact = t->exact(narrow), ulps = fabs(t->f(narrow) - exact) / ulp_of(exact);
            if (!(ulps <= worst)) {
                worst = ulps;
                at = narrow;
            }
        }
        printf("%-20s %.2f ulp at %.9g\n", t->name, worst, at);
        if (!(worst <= t->most_ulp)) {
            print_error("%s is off by %.2f ulp at %.9g\n", t->name, worst, at);
            assert_true(false);
        }
    }
}

static float power(float x, float y) {
    return pow_signed(pow_magnitude(x, y), x, y);
}

static void powers_follow_c(void **state) {
    (void)state;
    static const float x[] = {-INFINITY, -8, -1, -0.5f, -0.0f, 0, 1e-40f, 0.5f, 1, 2.5f, 8, 3e38f, INFINITY, NAN};
    static const float y[] = {-INFINITY, -3, -2, -0.5f, -0.0f,       0,        1.0f / 3, 0.5f,
                              1,         2,  3,  7.5f,  16777217.0f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        for (size_t k = 0; k < sizeof y / sizeof y[0]; k++) {
            float exact = powf(x[i], y[k]), actual = power(x[i], y[k]);
            bool same = (isnan(exact) && isnan(actual)) || exact == actual ||
                        fabs((double)exact - (double)actual) <= 1.01 * ulp_of(exact);
            if (!same) {
                print_error("pow(%g, %g) is %g, expected %g\n", (double)x[i], (double)y[k], (double)actual,
                            (double)exact);
                assert_true(false);
            }
        }
    }
}

static void keep_nan_and_limits(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        assert_true(isnan(functions[k].f(NAN)));
    }
    assert_true(exp_f32(-INFINITY) == 0 && isinf(exp_f32(INFINITY)) && isinf(exp_f32(89)) && exp_f32(-104) == 0);
    assert_true(sigmoid_f32(-INFINITY) == 0 && sigmoid_f32(INFINITY) == 1);
    assert_true(tanh_f32(-INFINITY) == -1 && tanh_f32(INFINITY) == 1);
    assert_true(erf_f32(-INFINITY) == -1 && erf_f32(INFINITY) == 1);
    assert_true(isnan(gelu_f32(-INFINITY)) && isinf(gelu_f32(INFINITY)) && gelu_f32(-20) == 0 && gelu_f32(20) == 20);
    assert_true(gelu_f32(-FLT_MAX) == 0 && gelu_f32(FLT_MAX) == FLT_MAX);
    assert_true(isnan(gelu_slope_f32(-INFINITY)) && isnan(gelu_slope_f32(INFINITY))); /* an infinity times nothing */
    assert_true(gelu_slope_f32(-20) == 0 && gelu_slope_f32(20) == 1);
    assert_true(exp_negative_f32(-INFINITY) == 0 && expm1_negative_f32(-INFINITY) == -1);
    assert_true(isinf(log2_f32(0)) && isinf(log2_f32(INFINITY)) && isnan(log2_f32(-1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stay_within_their_error),
        cmocka_unit_test(powers_follow_c),
        cmocka_unit_test(keep_nan_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
