/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 on the CPU at hand, which may have loops of their own for them: every number that there is, against the
   operators' references in double, however the elements lie. */
#include "call_kit.h"

#include <float.h>
#include <math.h>

enum { ALL = 1 << 16 };

typedef struct function {
    const char *name;
    const char *approximate; /* NULL: it has no such argument */
    bool has_gradient;       /* before its operand */
    int n;
    double numbers[3];
    bool number_first; /* before the operand */
    bool in_tensor;    /* of no dimensions */
    bool tells_result; /* after the numbers, and both before the operand */
} function;

#define OF_NUMBER(function, number)       {.name = function, .n = 1, .numbers = {number}}
#define OF_CELL(function, number)         {.name = function, .n = 1, .numbers = {number}, .in_tensor = true}
#define OF_NUMBER_FIRST(function, number) {.name = function, .n = 1, .numbers = {number}, .number_first = true}

static const function functions[] = {
    {.name = "exp"},
    {.name = "sigmoid"},
    {.name = "tanh"},
    {.name = "silu"},
    {.name = "gelu"},
    {.name = "gelu", .approximate = "tanh"},
    {.name = "gelu_backward", .has_gradient = true},
    {.name = "silu_backward", .has_gradient = true},
    {.name = "gelu_backward", .approximate = "tanh", .has_gradient = true},
    {.name = "sqrt"},
    {.name = "rsqrt"},
    {.name = "erf"},
    {.name = "log2"},
    {.name = "sin"},
    {.name = "cos"},
    {.name = "elu", .n = 3, .numbers = {1, 1, 1}},
    {.name = "elu", .n = 3, .numbers = {0.75, 1.5, 2}},
    {.name = "elu_backward", .has_gradient = true, .n = 3, .numbers = {1, 1, 1}, .tells_result = true},
    {.name = "elu_backward", .has_gradient = true, .n = 3, .numbers = {0.75, 1.5, 2}, .tells_result = true},
    OF_NUMBER("pow.Tensor_Scalar", 2.5),
    OF_NUMBER("pow.Tensor_Scalar", -0.1),
    OF_NUMBER("pow.Tensor_Scalar", -1.05),
    OF_NUMBER("pow.Tensor_Scalar", 3.05),
    OF_NUMBER("pow.Tensor_Scalar", 0.7),
    OF_NUMBER("pow.Tensor_Scalar", 5.5),
    OF_NUMBER("pow.Tensor_Scalar", 4),
    OF_NUMBER("pow.Tensor_Scalar", -3),
    OF_NUMBER("pow.Tensor_Scalar", 7),
    OF_NUMBER("pow.Tensor_Scalar", 0),
    OF_NUMBER("pow.Tensor_Scalar", INFINITY),
    OF_NUMBER("pow.Tensor_Scalar", -INFINITY),
    OF_NUMBER("pow.Tensor_Scalar", NAN),
    OF_NUMBER_FIRST("pow.Scalar", 10000),
    OF_NUMBER_FIRST("pow.Scalar", 0.3),
    OF_NUMBER_FIRST("pow.Scalar", 1),
    OF_NUMBER_FIRST("pow.Scalar", 0),
    OF_NUMBER_FIRST("pow.Scalar", -2),
    OF_NUMBER_FIRST("pow.Scalar", INFINITY),
    OF_NUMBER_FIRST("pow.Scalar", NAN),
    OF_NUMBER("fmod.Scalar", 3),
    OF_NUMBER("fmod.Scalar", -0.7),
    OF_NUMBER("fmod.Scalar", 0),
    OF_NUMBER("fmod.Scalar", INFINITY),
    OF_NUMBER("remainder.Scalar", 3),
    OF_NUMBER("remainder.Scalar", -0.7),
    OF_NUMBER("remainder.Scalar", 1e-20),
    OF_NUMBER("remainder.Scalar", 1e38),
    OF_NUMBER("remainder.Scalar", NAN),
    OF_CELL("floor_divide", 3),
    OF_CELL("floor_divide", -0.75),
    OF_CELL("floor_divide", 0),
    OF_CELL("floor_divide", -INFINITY),
};

static const double gradients[] = {1, -0.0625, 3};

/* How far a result may be, in units of its last place: half of one is its rounding. Well below docs/accuracy.md, which allows one or two. */
static const double MOST_ULP = 0.75;

/* What is below the normal numbers may be 0, and that times a number that is not too large for an exponential of it to be one. */
static double least_of(dtype t) {
    return t == ASSAY_F16 ? 0x1p-24 : 100 * (double)FLT_MIN;
}

static double ulp_of(dtype t, double x) {
    int digits = t == ASSAY_F16 ? 11 : 8;
    double least = t == ASSAY_F16 ? 0x1p-14 : 0x1p-126, size = fabs(x) < least ? least : fabs(x);
    return ldexp(1, ilogb(size) - digits + 1);
}

/* f16 keeps what is below its normal numbers, too. */
static bool is_right(dtype t, double exact, double actual) {
    if (isnan(exact) || isnan(actual)) {
        return isnan(exact) && isnan(actual);
    }
    double most = t == ASSAY_F16 ? 65504 : 0x1.fep127;
    if (fabs(exact) > most || isinf(actual)) {
        return signbit(exact) == signbit(actual) && fabs(exact) > most * 0.998 && fabs(actual) >= most * 0.998;
    }
    return fabs(actual - exact) <= MOST_ULP * ulp_of(t, exact) || fabs(actual - exact) <= least_of(t);
}

static arg text_arg(const char *s) {
    return (arg){.kind = ARG_STR, .str = s};
}

/* The reference of gelu's approximation adds 1 to a hyperbolic tangent near -1. */
static double gelu_tanh(double x) {
    double u = 2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-u));
}

static double gelu_tanh_slope(double x) {
    double u = 2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x), slope = 2 * M_2_SQRTPI * M_SQRT1_2 * (1 + 3 * 0.044715 * x * x);
    double rest = slope / (1 + exp(u)); /* 0 times infinity is 0 here */
    return (1 + (fabs(x) > 40 ? 0 : x * rest)) / (1 + exp(-u));
}

static op_call call_of(kit *k, const function *f, tensor *g, tensor *x) {
    arg args[6];
    int n = 0;
    if (f->has_gradient) {
        args[n++] = arg_tensor(g);
    }
    if (!f->number_first && !f->tells_result) {
        args[n++] = arg_tensor(x);
    }
    for (int i = 0; i < f->n; i++) {
        args[n++] = arg_number(number_of_double(f->numbers[i]));
        if (f->in_tensor) {
            tensor *cell = kit_tensor(k, x->dtype, 0, NULL, NULL);
            element_store(x->dtype, tensor_data(cell), f->numbers[i]);
            args[n - 1] = arg_tensor(cell);
        }
    }
    if (f->tells_result) {
        args[n++] = arg_bool(false);
    }
    if (f->number_first || f->tells_result) {
        args[n++] = arg_tensor(x);
    }
    if (f->approximate != NULL) {
        args[n++] = text_arg(f->approximate);
    }
    return kit_call(k, f->name, args, n);
}

static void check_all(kit *k, const function *f, dtype t, double gradient) {
    int64_t n = ALL;
    tensor *x = kit_tensor(k, t, 1, &n, NULL), *g = kit_tensor(k, t, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++) {
        ((uint16_t *)(void *)tensor_data(x))[i] = (uint16_t)i;
        element_store(t, tensor_data(g) + 2 * i, gradient);
    }
    op_call call = call_of(k, f, g, x);
    outputs out;
    kit_run(k, &call, &out);
    double *norms[1], **exact = kit_reference(&call, &out, norms);
    int wrong = 0;
    double worst = 0;
    for (int64_t i = 0; i < n && wrong < 10; i++) {
        double actual = element_load(t, tensor_data(&out.items[0]) + 2 * i), e = exact[0][i];
        if (f->approximate != NULL && isfinite(e)) {
            double at = element_load(t, tensor_data(x) + 2 * i);
            e = f->has_gradient ? gradient * gelu_tanh_slope(at) : gelu_tanh(at);
        }
        if (!is_right(t, e, actual)) {
            print_error("%s of %s %a (%04llx), gradient %g, number %g: %a, expected %a\n", f->name, assay_dtype_name(t),
                        element_load(t, tensor_data(x) + 2 * i), (long long)i, gradient, f->numbers[0], actual, e);
            wrong++;
        } else if (isfinite(e) && isfinite(actual) && fabs(e) > 1000 * least_of(t)) {
            worst = fmax(worst, fabs(actual - e) / ulp_of(t, e));
        }
    }
    print_message("%s of %s: %.3f ulp\n", f->name, assay_dtype_name(t), worst);
    assert_int_equal(wrong, 0);
    free(exact[0]);
    free(norms[0]);
    free(exact);
    outputs_clear(&out);
    kit_reset(k);
}

static void every_number_is_right(void **state) {
    kit *k = *state;
    for (size_t i = 0; i < countof(functions); i++) {
        for (int t = 0; t < 2; t++) {
            for (size_t g = 0; g < (functions[i].has_gradient ? countof(gradients) : 1); g++) {
                check_all(k, &functions[i], t == 0 ? ASSAY_BF16 : ASSAY_F16, gradients[g]);
            }
        }
    }
}

/* Columns of a matrix, of which as many are left out: the same numbers as where they lie side by side. */
static void check_strided(kit *k, const function *f, dtype t, int64_t rows, int64_t columns) {
    int64_t sizes[] = {rows, columns}, strides[] = {2 * columns + 2, 1};
    tensor *x = kit_tensor(k, t, 2, sizes, strides), *g = kit_tensor(k, t, 2, sizes, strides);
    tensor *dense_x = kit_tensor(k, t, 2, sizes, NULL), *dense_g = kit_tensor(k, t, 2, sizes, NULL);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(tensor_data(dense_x) + 2 * r * columns, tensor_data(x) + 2 * r * strides[0], (size_t)(2 * columns));
        memcpy(tensor_data(dense_g) + 2 * r * columns, tensor_data(g) + 2 * r * strides[0], (size_t)(2 * columns));
    }
    op_call call = call_of(k, f, g, x), dense = call_of(k, f, dense_g, dense_x);
    outputs made, expected;
    kit_run(k, &call, &made);
    kit_run(k, &dense, &expected);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            const tensor *out = &made.items[0];
            double a = element_load(t, tensor_data(out) + 2 * (r * out->strides[0] + c * out->strides[1]));
            double e = element_load(t, tensor_data(&expected.items[0]) + 2 * (r * columns + c));
            bool same = a == e || (isnan(a) && isnan(e));
            if (!same && !(isfinite(a) && isfinite(e) && fabs(a - e) <= ulp_of(t, e))) { /* a loop in f32 may round the other way */
                print_error("%s of %s, %lld x %lld: %g, expected %g\n", f->name, assay_dtype_name(t), (long long)rows,
                            (long long)columns, a, e);
                assert_true(false);
            }
        }
    }
    outputs_clear(&made);
    outputs_clear(&expected);
    kit_reset(k);
}

static void rows_are_as_one(void **state) {
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {2, 63}, {2, 64}, {7, 65}, {9, 127}, {4, 1000}, {4100, 4099}};
    kit *k = *state;
    for (size_t i = 0; i < countof(functions); i++) {
        for (int t = 0; t < 2; t++) {
            for (size_t s = 0; s < countof(sizes); s++) {
                if (sizes[s][0] < 1000 || i % 3 == 1) {
                    check_strided(k, &functions[i], t == 0 ? ASSAY_BF16 : ASSAY_F16, sizes[s][0], sizes[s][1]);
                }
            }
        }
    }
}

/* Lengths that leave a rest, results past the caches among them, the last element's neighbour untouched; and in place. */
static void lengths_agree(void **state) {
    static const int64_t sizes[] = {1, 31, 32, 33, 63, 64, 65, 129, 5000, (32 << 20) / 2 + 77};
    kit *k = *state;
    for (size_t s = 0; s < countof(sizes); s++) {
        dtype t = s % 2 == 0 ? ASSAY_BF16 : ASSAY_F16;
        int64_t n = sizes[s];
        tensor *x = kit_tensor(k, t, 1, &n, NULL);
        for (int64_t i = 0; i < n; i++) {
            element_store(t, tensor_data(x) + 2 * i, (double)(i % 97) / 16 - 3);
        }
        arg args[] = {arg_tensor(x)};
        op_call call = kit_call(k, "tanh", args, 1), in_place = kit_call(k, "tanh_", args, 1);
        outputs out, same;
        kit_run(k, &call, &out);
        for (int64_t i = 0; i < n; i++) {
            double given = element_load(t, tensor_data(x) + 2 * i), a = element_load(t, tensor_data(&out.items[0]) + 2 * i);
            double e = tanh(given);
            assert_true(given == 0 ? a == 0 : fabs(a - e) <= MOST_ULP * ulp_of(t, e));
        }
        kit_run(k, &in_place, &same);
        assert_memory_equal(tensor_data(x), tensor_data(&out.items[0]), (size_t)(2 * n));
        outputs_clear(&out);
        outputs_clear(&same);
        kit_reset(k);
    }
}

static uint64_t seed = 7;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(every_number_is_right, &seed),
        KIT_TEST(rows_are_as_one, &seed),
        KIT_TEST(lengths_agree, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
