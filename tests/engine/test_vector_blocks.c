/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of blocks that emitted code carries, built as emitted code is, for the processor at hand: against libm in double
   over all magnitudes and both signs, and at the edges of what floats hold. */
#include "engine/compile/build.h"
#include "engine/compile/dialect.h"

#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double rsqrt_exact(double x) {
    return 1 / sqrt(x);
}

static double expm1_below_exact(double x) {
    return expm1(x > 0 ? 0 : x);
}

static double sigmoid_exact(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double normal_cdf_exact(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double normal_slope_part(double x) {
    return x * exp(-x * x / 2) * 0.39894228040143267794;
}

static double normal_slope_exact(double x) {
    return normal_cdf_exact(x) + normal_slope_part(x);
}

/* It crosses 0 at -0.75: it has the digits of what it is the sum of. */
static double normal_slope_size(double x) {
    return normal_cdf_exact(x) + fabs(normal_slope_part(x));
}

/* BELOW_0: where arguments are: of what is far above it becomes anything but a number. DIVIDED: by a quotient. */
typedef enum function_form { PLAIN, BELOW_0, DIVIDED } function_form;

typedef struct function {
    scalar_function fn;
    dtype digits; /* what results are rounded to afterwards */
    double (*exact)(double);
    double most_ulp;  /* measured over all floats, 2026-11, rounded up; with tables and without */
    double least;     /* below this size results may have no digits */
    function_form form;
    double (*size)(double); /* whose digits it has, if not its own; then it has either sign */
} function;

/* In units in the last place of f32. */
#define RELATIVE(error) ((error)*0x1p24)

static const function functions[] = {
    {FN_EXP, ASSAY_F32, exp, 1.5, 0, PLAIN, NULL},
    {FN_EXP, ASSAY_F32, exp, 1.5, 0, BELOW_0, NULL},
    {FN_RSQRT, ASSAY_F32, rsqrt_exact, 1.5, 0, PLAIN, NULL},
    {FN_SIGMOID, ASSAY_F32, sigmoid_exact, 3.5, FLT_MIN, PLAIN, NULL},
    {FN_SIGMOID, ASSAY_F32, sigmoid_exact, 3.5, FLT_MIN, DIVIDED, NULL},
    {FN_TANH, ASSAY_F32, tanh, 3, 0, PLAIN, NULL},
    {FN_ERF, ASSAY_F32, erf, 2.5, 0, PLAIN, NULL},
    {FN_LOG2, ASSAY_F32, log2, 2, 0, PLAIN, NULL},
    {FN_SIN, ASSAY_F32, sin, 3, 0, PLAIN, NULL},
    {FN_COS, ASSAY_F32, cos, 3, 0, PLAIN, NULL},
    {FN_NORMAL_CDF, ASSAY_F32, normal_cdf_exact, 8, FLT_MIN, PLAIN, NULL},
    {FN_NORMAL_SLOPE, ASSAY_F32, normal_slope_exact, 4, 6.5e-38, PLAIN, normal_slope_size},
    {FN_EXPM1_BELOW, ASSAY_F32, expm1_below_exact, 1.5, 0, PLAIN, NULL},
    /* relative errors, of which half a unit in the last place is 2^-9 to 2^-8 in bf16 and 2^-12 to 2^-11 in f16 */
    {FN_EXP, ASSAY_BF16, exp, RELATIVE(9.5e-5), 0, PLAIN, NULL},
    {FN_SIGMOID, ASSAY_BF16, sigmoid_exact, RELATIVE(1.5e-4), FLT_MIN, PLAIN, NULL},
    {FN_TANH, ASSAY_BF16, tanh, RELATIVE(7e-4), 0, PLAIN, NULL},
    {FN_NORMAL_CDF, ASSAY_BF16, normal_cdf_exact, RELATIVE(3.3e-4), 2.5e-38, PLAIN, NULL},
    {FN_EXP, ASSAY_F16, exp, RELATIVE(1.2e-5), 0, PLAIN, NULL},
    {FN_SIGMOID, ASSAY_F16, sigmoid_exact, RELATIVE(1.5e-4), FLT_MIN, PLAIN, NULL},
    {FN_TANH, ASSAY_F16, tanh, RELATIVE(2.2e-4), 0, PLAIN, NULL},
    {FN_NORMAL_CDF, ASSAY_F16, normal_cdf_exact, RELATIVE(6e-4), 5e-9, PLAIN, NULL},
    {FN_RSQRT, ASSAY_BF16, rsqrt_exact, RELATIVE(6.2e-5), 0, PLAIN, NULL},
    {FN_RSQRT, ASSAY_F16, rsqrt_exact, RELATIVE(6.2e-5), 0, PLAIN, NULL},
    {FN_SQRT, ASSAY_BF16, sqrt, RELATIVE(1.2e-7), 1.1e-19, PLAIN, NULL},
    {FN_SQRT, ASSAY_F16, sqrt, RELATIVE(1.2e-7), 1.1e-19, PLAIN, NULL},
    {FN_ERF, ASSAY_BF16, erf, RELATIVE(1.2e-3), 0, PLAIN, NULL},
    {FN_ERF, ASSAY_F16, erf, RELATIVE(1.3e-4), 0, PLAIN, NULL},
    {FN_LOG2, ASSAY_BF16, log2, RELATIVE(6.5e-6), 0, PLAIN, NULL},
    {FN_LOG2, ASSAY_F16, log2, RELATIVE(6.5e-6), 0, PLAIN, NULL},
    {FN_SIN, ASSAY_BF16, sin, RELATIVE(1.2e-4), 0, PLAIN, NULL},
    {FN_SIN, ASSAY_F16, sin, RELATIVE(1.5e-6), 0, PLAIN, NULL},
    {FN_COS, ASSAY_BF16, cos, RELATIVE(1.2e-4), 0, PLAIN, NULL},
    {FN_COS, ASSAY_F16, cos, RELATIVE(1.5e-6), 0, PLAIN, NULL},
    {FN_EXPM1, ASSAY_BF16, expm1, RELATIVE(6.3e-4), 0, PLAIN, NULL},
    {FN_EXPM1, ASSAY_F16, expm1, RELATIVE(2.3e-5), 0, PLAIN, NULL},
    {FN_EXPM1_BELOW, ASSAY_BF16, expm1_below_exact, RELATIVE(6.3e-4), 0, PLAIN, NULL},
    {FN_EXPM1_BELOW, ASSAY_F16, expm1_below_exact, RELATIVE(2.3e-5), 0, PLAIN, NULL},
};

enum { LANES = 64 };

static double ulp_of(double exact) {
    double size = fabs(exact) < FLT_MIN ? FLT_MIN : fabs(exact);
    return ldexp(1, ilogb(size) - 23);
}

static bool is_right(const function *f, float x, float actual) {
    double exact = f->exact(x);
    if (isnan(x) || isnan(exact)) {
        return isnan(actual);
    }
    if (isinf((float)exact)) {
        return f->form == BELOW_0 ? !isfinite(actual) : actual == (float)exact;
    }
    if (fabs(exact) < f->least) {
        return fabs(actual) <= f->least * 1.001 && (f->size != NULL || !(actual < 0));
    }
    if (f->size != NULL) {
        return fabs(actual - exact) <= f->most_ulp * ulp_of(f->size(x));
    }
    return fabs(actual - exact) <= f->most_ulp * ulp_of(exact) && (exact == 0 || !signbit(actual) == !signbit(exact));
}

static const char *name_of(const function *f) {
    return f->form == BELOW_0   ? dialect_block_below_0(f->fn, ASSAY_F32)
           : f->form == DIVIDED ? dialect_block_divided(f->fn, ASSAY_F32)
                                : dialect_block(f->fn, ASSAY_F32, f->digits);
}

static void check_function(const function *f) {
    text body = {0}, source = {0};
    module *m;
    error err = {0};
    text_addf(&body, "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n    (void)first;\n    %s(buffers[0], buffers[1], last);\n"
                     "    return 1;\n}\n", name_of(f));
    dialect_prelude(&source, text_get(&body));
    text_add(&source, text_get(&body));
    assert_int_equal(module_build(text_get(&source), BUILD_TO_LAST, &m, &err), ASSAY_OK);
    compiled_kernel_fn *probe = module_find(m, "probe");
    assert_non_null(probe);
    float x[LANES], y[LANES + 1];
    void *buffers[] = {y, x};
    const uint32_t step = 4001; /* odd: every last bit comes up */
    int wrong = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32 && wrong < 5; bits += (uint64_t)step * LANES) {
        for (uint32_t l = 0; l < LANES; l++) {
            x[l] = float_of_bits((uint32_t)bits + l * step);
        }
        x[0] = bits == 0 ? INFINITY : x[0];
        x[1] = bits == 0 ? -INFINITY : x[1];
        x[2] = bits == 0 ? -0.0f : x[2];
        x[3] = bits == 0 ? NAN : x[3];
        y[LANES] = 7;
        probe(buffers, 0, LANES);
        for (int l = 0; l < LANES; l++) {
            if (!is_right(f, x[l], y[l])) {
                print_error("%s(%a) for %s is %a, expected %a\n", scalar_function_name(f->fn), x[l], assay_dtype_name(f->digits), y[l],
                            f->exact(x[l]));
                wrong++;
            }
        }
        assert_true(y[LANES] == 7);
    }
    assert_int_equal(wrong, 0);
    /* in place, a line alone */
    float alone[16];
    for (int l = 0; l < 16; l++) {
        alone[l] = x[l] = (float)l / 4 - 2;
    }
    probe(buffers, 0, 16);
    probe((void *[]){alone, alone}, 0, 16);
    assert_memory_equal(alone, y, sizeof alone);
    module_free(m);
    text_clear(&body);
    text_clear(&source);
}

static void stay_within_their_error(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        check_function(&functions[i]);
    }
}

static void others_have_none(void **state) {
    (void)state;
    assert_null(dialect_block(FN_EXP, ASSAY_F64, ASSAY_F64));
    assert_null(dialect_block(FN_ADD, ASSAY_F32, ASSAY_BF16));
    assert_null(dialect_block(FN_EXPM1, ASSAY_F32, ASSAY_F32));
    assert_null(dialect_block_below_0(FN_EXP, ASSAY_F64));
    assert_null(dialect_block_below_0(FN_TANH, ASSAY_F32));
    assert_null(dialect_block_divided(FN_TANH, ASSAY_F32));
    assert_null(dialect_block_divided(FN_SIGMOID, ASSAY_F64));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stay_within_their_error), cmocka_unit_test(others_have_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
