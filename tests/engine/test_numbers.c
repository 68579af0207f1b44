/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers beside tensors: one that the type it is to become cannot hold is refused, with what was expected; others wrap around or are
   cut as in ATen, on eager's kernels and compiled ones as in the reference. */
#include "engine/graph_cases.h"
#include "engine/table_kit.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct refused_call {
    const char *type, *call, *says;
} refused_call;

static const refused_call refused[] = {
    {"i8", "masked_fill.Scalar(%x, %m, 300)", "expected value that i8 can be, got 300"},
    {"i8", "masked_fill_.Scalar(%x, %m, -129)", "that i8 can be"},
    {"i16", "masked_fill.Scalar(%x, %m, -65504.0)", "that i16 can be, got -65504"},
    {"u8", "fill_.Scalar(%x, -256)", "that u8 can be"},
    {"u8", "fill_.Scalar(%x, -1.0)", "that u8 can be"},
    {"i32", "fill_.Scalar(%x, 2147483648)", "that i32 can be, got 2147483648"},
    {"i64", "fill_.Scalar(%x, 9223372036854775808.0)", "that i64 can be"},
    {"i64", "fill_.Scalar(%x, -inf)", "that i64 can be, got -inf"},
    {"f16", "fill_.Scalar(%x, 65520.0)", "that f16 can be"},
    {"bf16", "fill_.Scalar(%x, -1e+39)", "that bf16 can be"},
    {"f32", "fill_.Scalar(%x, 1e+39)", "that f32 can be"},
    {"i8", "constant_pad_nd(%x, [1, 1], -inf)", "that i8 can be"},
    {"i8", "new_full(%x, [3], 128)", "expected fill_value that i8 can be"},
    {"f16", "new_full(%x, [3], 70000, dtype=i16)", "that i16 can be"},
    {"i8", "scatter.value(%x, 1, %i, 1e+20)", "that i8 can be"},
    {"i8", "pow.Tensor_Scalar(%x, 300)", "expected an exponent that i8 can be"},
    {"f16", "pow.Tensor_Scalar(%x, 1e+300)", "expected an exponent that f16 can be"},
    {"i8", "hardtanh(%x, 300, 400)", "expected min_val that i8 can reach, got 300"},
    {"u8", "hardtanh(%x, -3, -1.5)", "expected max_val that u8 can reach"},
    {"i64", "hardtanh(%x, -1e+300, 1)", "expected min_val that i64 can reach"},
    {"f16", "hardtanh(%x, -1e+300, 1.0)", "expected min_val that f16 can reach"},
    {"u8", "clamp(%x, 300, 400)", "expected min that u8 can reach, got 300"},
    {"u8", "clamp(%x, 2, -5)", "expected max that u8 can reach, got -5"},
    {"f16", "clamp(%x, None, 1000000.0)", "expected max that f16 can reach"},
    {"i8", "clamp_min(%x, 300)", "expected min that i8 can reach"},
    {"i64", "add.Scalar(%x, 3, 2.5)", "alpha scales a result of i64: expected an integer"},
    {"i64", "rsub.Scalar(%x, 3, 2.5)", "alpha scales a result of i64: expected an integer"},
    {"b8", "add.Tensor(%x, %m, alpha=0.5)", "alpha scales a result of b8: expected an integer"},
    {"f32", "add.Tensor(%x, %m, alpha=True)", "expected a number, got a boolean"},
    {"f32", "addcmul(%x, %x, %x, value=2j)", "expected a real number"},
    {"i32", "threshold_backward(%x, %x, 3000000000)", "expected threshold that i32 can be"},
    {"u8", "addcmul(%x, %x, %x, value=300)", "expected value that u8 can be"},
    {"b8", "rsub.Scalar(%x, 1.0)", "got a boolean as self"},
    {"b8", "sub.Tensor(%x, %f)", "got a boolean as self"},
    {"f32", "sub.Tensor(%x, %m)", "got a boolean as other"},
    {"f32", "sub.Scalar(%x, True)", "got a boolean as other"},
    {"i64", "floor_divide(%x, 0)", "an integer is divided by zero"},
    {"i32", "div.Tensor_mode(%x, 0, rounding_mode='trunc')", "an integer is divided by zero"},
    {"i8", "remainder.Scalar(%x, 256)", "an integer is divided by zero"},
    {"b8", "fmod.Scalar(%x, 0)", "an integer is divided by zero"},
    {"i64", "addmm(%x, %x, %p, beta=1e+30)", "expected beta that i64 can be"},
    {"i64", "addmm(%x, %x, %p, alpha=-inf)", "expected alpha that i64 can be"},
    {"i16", "index_add(%x, 1, %j, %x, alpha=inf)", "expected alpha that i16 can be"},
    {"f16", "index_add(%x, 1, %j, %x, alpha=70000)", "expected alpha that f16 can be"},
    {"i8", "add.Tensor(%x, %x, alpha=300)", "expected alpha that i8 can be, got 300"},
    {"u8", "add.Scalar(%x, 1, -300)", "expected alpha that u8 can be"},
    {"i32", "add_.Tensor(%x, %x, alpha=2147483648)", "expected alpha that i32 can be"},
    {"f16", "add.Tensor(%x, %x, alpha=70000)", "expected alpha that f16 can be"},
    {"c64", "add.Tensor(%x, %x, alpha=1e+39)", "expected alpha that c64 can be"},
    {"i8", "sub.Tensor(%x, %x, alpha=300)", "expected alpha whose opposite i8 can be, got 300"},
    {"i8", "sub.Scalar(%x, 1, -128)", "expected alpha whose opposite i8 can be"},
    {"bf16", "rsub.Scalar(%x, 1, 1e+39)", "expected alpha whose opposite bf16 can be"},
    {"f32", "addcmul(%x, %x, %x, value=1e+39)", "expected value that f32 can be"},
    {"f16", "threshold_backward(%x, %x, 1e+39)", "expected threshold that f32 can be"},
    {"bf16", "hardtanh_backward(%x, %x, -1, 1e+39)", "expected max_val that f32 can be"},
    {"f16", "leaky_relu(%x, 1e+39)", "expected negative_slope that f32 can be"},
    {"f32", "elu(%x, 1e+39)", "expected alpha that f32 can be"},
};

/* A program that makes %r by the call, with the inputs that it names. */
static void write_program(char *source, const char *type, const char *call) {
    static const char *const inputs[][2] = {{"%m", "%m = input(T([4, 5], b8))\n"},
                                            {"%f", "%f = input(T([4, 5], f32))\n"},
                                            {"%p", "%p = input(T([5, 5], i64))\n"},
                                            {"%j", "%j = input(T([5], i64), low=0, high=5)\n"},
                                            {"%i", "%i = input(T([4, 2], i64), low=0, high=2)\n"}};
    int n = snprintf(source, CASE_SOURCE_BYTES, "graph numbers\n%%x = input(T([4, 5], %s))\n", type);
    for (size_t i = 0; i < countof(inputs); i++) {
        n += snprintf(source + n, CASE_SOURCE_BYTES - (size_t)n, "%s", strstr(call, inputs[i][0]) != NULL ? inputs[i][1] : "");
    }
    snprintf(source + n, CASE_SOURCE_BYTES - (size_t)n, "%%r = %s\nreturn %%r\n", call);
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(refused); i++) {
        arena memory = {0};
        char source[CASE_SOURCE_BYTES];
        graph g;
        error err = {0};
        write_program(source, refused[i].type, refused[i].call);
        print_message("%s %s\n", refused[i].type, refused[i].call);
        assert_int_equal(graph_read(&memory, table, source, strlen(source), &(bind_options){0}, &g, &err), ASSAY_INVALID);
        if (strstr(err.message, refused[i].says) == NULL) {
            print_error("said: %s\n", err.message);
        }
        assert_non_null(strstr(err.message, refused[i].says));
        arena_clear(&memory);
    }
}

static const char *const taken[][2] = {
    {"u8", "fill_.Scalar(%x, -255)"},
    {"u8", "masked_fill.Scalar(%x, %m, -7)"},
    {"i8", "fill_.Scalar(%x, 127.9)"},
    {"f16", "fill_.Scalar(%x, inf)"},
    {"f32", "masked_fill.Scalar(%x, %m, -inf)"},
    {"b8", "masked_fill.Scalar(%x, %m, 0.5)"},
    {"b8", "scatter.value(%x, 1, %i, 300)"},
    {"b8", "scatter.value(%x, 1, %i, 0.5)"},
    {"u8", "scatter.value(%x, 1, %i, -7)"},
    {"i8", "scatter_.value(%x, 1, %i, -7.9)"},
    /* wrapped around: 3000000000 is 0 in i8 and 24064 in i16, 300 is 44 in i8 and in u8 */
    {"i8", "eq.Scalar(%x, 3000000000)"},
    {"i8", "ne.Scalar(%x, 3000000000)"},
    {"i8", "gt.Scalar(%x, 3000000000)"},
    {"i8", "le.Scalar(%x, -4294967291)"},
    {"i16", "lt.Scalar(%x, 65541)"},
    {"i16", "ge.Scalar(%x, 3000000000)"},
    {"u8", "ge.Scalar(%x, -251)"},
    {"i8", "remainder.Scalar(%x, 259)"},
    {"i8", "fmod.Scalar(%x, -253)"},
    {"i16", "floor_divide(%x, 65539)"},
    {"i8", "add.Scalar(%x, 300)"},
    {"i8", "mul.Scalar(%x, 259)"},
    /* bounds are not: none of these is below 300 */
    {"i8", "clamp(%x, None, 300)"},
    {"u8", "clamp(%x, -5, 300)"},
    {"i8", "hardtanh(%x, -3000000000, 5.5)"},
    {"u8", "hardtanh(%x, -1.5, 2)"},
    {"i64", "hardtanh(%x, 2.9, 5.9)"},
    {"i64", "addcmul(%x, %x, %x, value=0.5)"},
    {"i8", "addcmul(%x, %x, %x, value=-3.7)"},
    {"b8", "pow.Tensor_Scalar(%x, True)"},
    {"b8", "pow.Tensor_Scalar(%x, False)"},
    {"b8", "pow.Tensor_Scalar(%x, 2)"},
    {"i64", "pow.Tensor_Scalar(%x, 1e+300)"},
    {"f32", "pow.Scalar(1e+300, %x)"},
    {"c64", "add.Scalar(%x, inf)"},
    {"b8", "add.Scalar(%x, True, 2)"},
    {"b8", "add.Tensor(%x, %m, alpha=300)"},
    {"u8", "add.Tensor(%x, %x, alpha=-200)"},
    {"u8", "sub.Scalar(%x, 1, -200)"},
    {"i8", "sub.Tensor(%x, %x, alpha=128)"}, /* -128 */
    {"f16", "addcmul(%x, %x, %x, value=70000)"},
    {"f32", "sub.Tensor(%x, %x, alpha=inf)"},
};

/* What one backend makes of all of them. */
static void check_taken(backend *b) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(taken); i++) {
        write_program(source, taken[i][0], taken[i][1]);
        plan *p = cases_check_one(&cases, b, source);
        p->release(p);
    }
    cases_forget(&cases);
}

static void others_are_as_in_the_reference(void **state) {
    (void)state;
    cases_by_both(table, check_taken);
}

/* Values that are easily taken for others: -0 for what is not 0, an i16's bits for a half's, numbers that an integer type does not have, integers
   as they are for what they are rounded to. */
static void check_easily_mistaken(backend *b) {
    static const char *const sources[] = {
        "graph truths\n%x = input(T([4, 3], $), low=-3.0, high=-1.0)\n%m = input(T([4, 3], i32), low=0, high=2)\n%p = mul.Tensor(%x, %m)\n"
        "%a = all(%p)\n%e = any.dim(%p, 1)\n%f = all.dim(%p, 0)\n%z = new_zeros(%x, [3])\n%n = neg(%z)\n%u = any(%n)\n"
        "return %a, %e, %f, %u\n",
        "graph chosen\n%c = input(T([], b8))\n%x = input(T([], $))\n%i = input(T([], i16), low=8, high=8)\n%m = max(%i)\n"
        "%n = logical_not(%c)\n%y = where.self(%c, %m, %x)\n%z = where.self(%n, %m, %x)\nreturn %y, %z\n",
        "graph far\n%x = input(T([3], $))\n%f = new_full(%x, [3], 60000)\n%g = mul.Tensor(%f, 60000)\n%s = new_full(%x, [3], 1e+10, dtype=f32)\n"
        "%a = _to_copy(%s, dtype=i32)\n%d = _to_copy(%s, dtype=i8)\n%h = _to_copy(%s, dtype=i64)\n%k = _to_copy(%f, dtype=i16)\n"
        "return %g, %a, %d, %h, %k\n",
        /* integers with more digits than what they are promoted to */
        "graph chosen_of_wide\n%b = input(T([16, 4, 3], b8))\n%x = input(T([1, 4, 1], $), low=-4.0, high=4.0)\n"
        "%i = input(T([16, 4, 3], i16), low=-32768, high=-32765)\n%w = where.self(%b, %x, %i)\n%y = _softmax(%w, 1, False)\nreturn %y\n",
        "graph wide\n%i = input(T([70], i64), low=1099511627776, high=1099511637776)\n"
        "%j = input(T([70], i32), low=-2147483640, high=-2147480000)\n%h = input(T([70], $))\n%y = sin(%i)\n%z = fmod.Tensor(%j, %h)\n"
        "%w = minimum(%i, %h)\n%v = sum.dim_IntList(%w, [0], dtype=f64)\nreturn %y, %z, %v\n"};
    static const char *const types[] = {"f32", "bf16", "f16"};
    static graph_cases cases;
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(sources) * countof(types); i++) {
        text source = {0};
        for (const char *at = sources[i / countof(types)]; *at != '\0'; at++) {
            text_add_bytes(&source, *at == '$' ? types[i % countof(types)] : at, *at == '$' ? strlen(types[i % countof(types)]) : 1);
        }
        plan *p = cases_check_one(&cases, b, text_get(&source));
        p->release(p);
        text_clear(&source);
    }
    cases_forget(&cases);
}

static void what_is_easily_mistaken_agrees(void **state) {
    (void)state;
    cases_by_both(table, check_easily_mistaken);
}

/* By elements of a tensor each backend finds it while it runs. */
static void zero_divisors_are_refused_by(backend *b) {
    static const char *const calls[] = {"floor_divide(%x, %d)", "remainder.Tensor(%x, %d)", "fmod.Tensor(%x, %d)",
                                        "div.Tensor_mode(%x, %d, rounding_mode='trunc')", "div.Tensor_mode(%x, %d, rounding_mode='floor')"};
    static graph_cases cases;
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < 2 * countof(calls); i++) {
        const int low = i % 2 == 0 ? 0 : 1;
        char source[CASE_SOURCE_BYTES];
        plan *p;
        error err = {0};
        snprintf(source, sizeof source, "graph zero\n%%x = input(T([3, 70], i32), low=-9, high=9)\n%%d = input(T([70], i32), low=%d, high=%d)\n"
                 "%%q = %s\n%%r = add.Scalar(%%q, 1)\nreturn %%r\n", low, low == 0 ? 1 : 5, calls[i / 2]);
        const graph *g = cases_add(&cases, source);
        assert_int_equal(b->prepare(b, g, &p, &err), ASSAY_OK);
        if (p->run(p, &err) != (low == 0 ? ASSAY_INVALID : ASSAY_OK) || (low == 0 && strstr(err.message, "divided by zero") == NULL)) {
            print_error("%s: %s\n", calls[i / 2], err.message);
            assert_true(false);
        }
        p->release(p);
    }
    cases_forget(&cases);
}

static void zero_divisors_are_refused(void **state) {
    (void)state;
    cases_by_both(table, zero_divisors_are_refused_by);
}

static void types_hold_what_c10_says(void **state) {
    (void)state;
    assert_true(dtype_holds(ASSAY_I8, number_of_int(-128)) && !dtype_holds(ASSAY_I8, number_of_int(128)));
    assert_true(dtype_holds(ASSAY_I8, number_of_double(127.5)) && !dtype_holds(ASSAY_I8, number_of_double(128)));
    assert_true(dtype_holds(ASSAY_U8, number_of_int(-255)) && !dtype_holds(ASSAY_U8, number_of_int(-256)));
    assert_true(dtype_holds(ASSAY_I64, number_of_double(-0x1p63)) && !dtype_holds(ASSAY_I64, number_of_double(0x1p63)));
    assert_true(!dtype_holds(ASSAY_I32, number_of_double(NAN)) && dtype_holds(ASSAY_BF16, number_of_double(NAN)));
    assert_true(dtype_holds(ASSAY_F16, number_of_double(65504)) && !dtype_holds(ASSAY_F16, number_of_int(65520)));
    assert_true(dtype_holds(ASSAY_F32, number_of_double(FLT_MAX)) && !dtype_holds(ASSAY_F32, number_of_double(1e39)));
    assert_true(dtype_holds(ASSAY_B8, number_of_double(1e300)) && dtype_holds(ASSAY_F64, number_of_double(1e300)));
    assert_true(dtype_holds(ASSAY_C64, number_of_complex(1, -INFINITY)) && !dtype_holds(ASSAY_C64, number_of_complex(1, 1e39)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(others_are_as_in_the_reference),
        cmocka_unit_test(what_is_easily_mistaken_agrees),
        cmocka_unit_test(zero_divisors_are_refused),
        cmocka_unit_test(types_hold_what_c10_says),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
