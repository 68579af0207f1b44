/* SPDX-License-Identifier: Apache-2.0 */
/* The vectorisable f64 functions against libm in long double, over their whole range and at its edges. */
#include "engine/kernels/cpu/isa/vector_doubles.h"
#include "engine/kernels/cpu/isa/vector_pow_f64.h"

#include "unit.h"

#include <float.h>
#include <stdbool.h>
#include <stdio.h>

static long double cdf_exact(long double x) {
    return 0.5L * erfcl(x * -0.70710678118654752440084436210485L);
}

static long double gelu_exact(long double x) {
    return x * cdf_exact(x);
}

static long double slope_exact(long double x) {
    return cdf_exact(x) + x * expl(-x * x / 2) * 0.398942280401432677939946059934L;
}

static long double sigmoid_exact(long double x) {
    return 1 / (1 + expl(-x));
}

/* What sin_f64 and cos_f64 are where multiplications are fused. */
static double sin_fused(double x) {
    uint64_t n;
    double r = half_turns_fused_f64(x, 0, &n);
    return sine_of_rest_f64(r, n);
}

static double cos_fused(double x) {
    uint64_t n;
    double r = half_turns_fused_f64(x, 1, &n);
    return sine_of_rest_f64(r, n);
}

typedef struct function {
    const char *name;
    double (*f)(double);
    long double (*exact)(long double);
    double low, high;
    double most_ulp; /* measured 2026-11, rounded up */
    bool by_magnitude;
} function;

static const function functions[] = {
    {"exp", exp_f64, expl, -745, 709.7, 1.5, false},
    {"exp of negatives", exp_negative_f64, expl, -708, 0, 1.5, false},
    {"expm1", expm1_f64, expm1l, -60, 709.7, 2.5, false},
    {"expm1 of negatives", expm1_negative_f64, expm1l, -60, -1e-300, 2, false},
    {"sigmoid", sigmoid_f64, sigmoid_exact, -707, 700, 3, false},
    {"sigmoid near 0", sigmoid_f64, sigmoid_exact, -5, 5, 3, false},
    {"tanh", tanh_f64, tanhl, -20, 20, 3, false},
    {"tanh near 0", tanh_f64, tanhl, -1, 1, 3, false},
    {"log2", log2_f64, log2l, 5e-324, 1.7e308, 2, true},
    {"log2 near 1", log2_f64, log2l, 0.25, 4, 2, true},
    {"log", log_f64, logl, 5e-324, 1.7e308, 2, true},
    {"log near 1", log_f64, logl, 0.25, 4, 2, true},
    {"erf", erf_f64, erfl, -7, 7, 2.5, false},
    {"normal share", normal_cdf_f64, cdf_exact, -37, 10, 8, false},
    {"gelu", gelu_f64, gelu_exact, -37, 37, 8, false},
    {"gelu's slope", normal_slope_f64, slope_exact, -0.25, 37, 8, false}, /* it crosses 0 at -0.75 */
    {"sin", sin_f64, sinl, -1e6, 1e6, 3, false},
    {"cos", cos_f64, cosl, -1e6, 1e6, 3, false},
    {"sin near 0", sin_f64, sinl, -10, 10, 3, false},
    {"cos near 0", cos_f64, cosl, -10, 10, 3, false},
    {"sin, fused", sin_fused, sinl, -1e6, 1e6, 3, false},
    {"cos, fused", cos_fused, cosl, -1e6, 1e6, 3, false},
};

static long double ulp_of(long double exact) {
    long double size = fabsl(exact) < DBL_MIN ? DBL_MIN : fabsl(exact);
    return ldexpl(1, ilogbl(size) - 52);
}

static void stay_within_their_error(void **state) {
    (void)state;
    enum { STEPS = 400000 };
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        const function *t = &functions[k];
        long double worst = 0;
        double at = 0;
        for (int i = 0; i <= STEPS; i++) {
            double part = (double)i / STEPS;
            /* evenly, or near 0 by magnitude too */
            double x = t->by_magnitude ? exp(log(t->low) + (log(t->high) - log(t->low)) * part)
                       : i % 2 == 0    ? t->low + (t->high - t->low) * part
                       : t->high <= 0  ? -pow(10, -12 + 12 * part)
                                       : pow(10, -12 + 12 * part) * (i % 4 == 1 ? 1 : -1);
            if (x < t->low || x > t->high) {
                continue;
            }
            long double exact = t->exact(x), ulps = fabsl((long double)t->f(x) - exact) / ulp_of(exact);
            if (!(ulps <= worst)) {
                worst = ulps;
                at = x;
            }
        }
        printf("%-20s %.2Lf ulp at %.17g\n", t->name, worst, at);
        if (!(worst <= (long double)t->most_ulp)) {
            print_error("%s is off by %.2Lf ulp at %.17g\n", t->name, worst, at);
            assert_true(false);
        }
    }
}

/* Bases of all sizes, near 1 and below the normal numbers, negative ones too; exponents that take the power as far as it goes. */
static void powers_stay_within_their_error(void **state) {
    (void)state;
    enum { STEPS = 300000 };
    uint64_t bits = 0x9e3779b97f4a7c15u;
    long double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double part[2];
        for (int k = 0; k < 2; k++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            part[k] = (double)(bits >> 11) * 0x1p-53;
        }
        const int kind = i % 5;
        double x = kind == 0   ? exp2(part[0] * 2090 - 1070)
                   : kind == 1 ? 1 + (part[0] - 0.5) * exp2(-(i % 41))
                   : kind == 2 ? 0.6 + part[0]
                   : kind == 3 ? -part[0] * 9
                               : part[0] * 0x1p-1022;
        double y = kind == 3 ? floor((part[1] - 0.5) * 40) : (part[1] * 2 - 1) * 699 / fmax(fabs(log(fabs(x))), 1e-300);
        double exponent, made = pow_normal_f64(x, y, &exponent);
        if (isnan(exponent)) {
            assert_true(x == 0 || isinf(y) || fabs(y * log(fabs(x))) > 699);
            continue;
        }
        long double exact = powl(x, y), ulps = fabsl((long double)made - exact) / ulp_of(exact);
        if (!(ulps <= 1.75L)) {
            print_error("pow(%a, %a) is %a, off by %.2Lf ulp\n", x, y, made, ulps);
            assert_true(false);
        }
        worst = ulps > worst ? ulps : worst;
    }
    printf("%-20s %.2Lf ulp\n", "pow", worst);
    double exponent;
    assert_true(isnan(pow_normal_f64(-2.5, 0.5, &exponent)) && !isnan(exponent) && pow_normal_f64(-2, 3, &exponent) == -8);
    static const double unserved[][2] = {{0, 2}, {-0.0, 3}, {NAN, 1}, {2, NAN}, {INFINITY, 2}, {2, INFINITY}, {1, INFINITY}, {2, 1100}, {2, -1060}};
    for (size_t i = 0; i < sizeof unserved / sizeof unserved[0]; i++) {
        pow_normal_f64(unserved[i][0], unserved[i][1], &exponent);
        assert_true(isnan(exponent));
    }
}

static void keep_nan_and_limits(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        assert_true(isnan(functions[k].f((double)NAN)));
    }
    const double infinite = (double)INFINITY;
    assert_true(exp_f64(-infinite) == 0 && isinf(exp_f64(infinite)) && isinf(exp_f64(710)) && exp_f64(-746) == 0);
    assert_true(exp_f64(-745) == 4.9406564584124654e-324 && exp_negative_f64(-infinite) == 0 && exp_negative_f64(-800) == 0);
    assert_true(expm1_f64(-infinite) == -1 && isinf(expm1_f64(infinite)) && isinf(expm1_f64(710)) && expm1_negative_f64(-infinite) == -1);
    assert_true(sigmoid_f64(-infinite) == 0 && sigmoid_f64(infinite) == 1 && sigmoid_f64(0) == 0.5);
    assert_true(tanh_f64(-infinite) == -1 && tanh_f64(infinite) == 1 && signbit(tanh_f64(-0.0)));
    assert_true(erf_f64(-infinite) == -1 && erf_f64(infinite) == 1 && signbit(erf_f64(-0.0)));
    assert_true(isnan(gelu_f64(-infinite)) && isinf(gelu_f64(infinite)) && gelu_f64(-60) == 0 && gelu_f64(60) == 60);
    assert_true(gelu_f64(-DBL_MAX) == 0 && gelu_f64(DBL_MAX) == DBL_MAX);
    assert_true(isnan(normal_slope_f64(-infinite)) && isnan(normal_slope_f64(infinite))); /* an infinity times nothing */
    assert_true(normal_cdf_f64(-infinite) == 0 && normal_cdf_f64(infinite) == 1);
    assert_true(isinf(log2_f64(0)) && isinf(log2_f64(infinite)) && isnan(log2_f64(-1)) && log2_f64(1) == 0 && log2_f64(0x1p-1074) == -1074);
    assert_true(isinf(log_f64(0)) && isinf(log_f64(infinite)) && isnan(log_f64(-1)) && log_f64(1) == 0);
    assert_true(isnan(sin_f64(infinite)) && isnan(cos_f64(-infinite)) && signbit(sin_f64(-0.0)) && cos_f64(0) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stay_within_their_error),
        cmocka_unit_test(powers_stay_within_their_error),
        cmocka_unit_test(keep_nan_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
