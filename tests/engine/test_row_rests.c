/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled rows are that fill no whole blocks, and what is left of them: lengths about a line and a block, of all floating types, whose
   last line is taken once more; and rows that lie across memory, which are turned round some at a time, threads beginning anywhere. Against
   the reference in double. */
#include "engine/compiled_cases.h"

#include <math.h>

static const char *const types[] = {"f32", "f64", "f16", "bf16"};

/* calls: of %x, a tensor of these sizes and strides */
static graph *add(const char *layout, const char *type, const char *calls, const char *results) {
    char source[CASE_SOURCE_BYTES], input[128];
    const char *rest = strchr(layout, ']') + 1; /* strides, which follow the type */
    snprintf(input, sizeof input, "T(%.*s, %s%s)", (int)(rest - layout), layout, type, rest);
    snprintf(source, sizeof source, "graph rows\n%%x = input(%s)\n%sreturn %s\n", input, calls, results);
    return cases_add(&cases, source);
}

static void check_all(void) {
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

static const char exponentials[] = "%y = _softmax(%x, -1, False)\n%z = _log_softmax(%x, -1, False)\n";
static const char moments[] = "%m = mean.dim(%x, [-1], True)\n%d = sub.Tensor(%x, %m)\n%q = mul.Tensor(%d, %d)\n"
                              "%v = mean.dim(%q, [-1], True)\n%r = rsqrt(%v)\n%y = mul.Tensor(%d, %r)\n";
static const char places[] = "%v, %i = max.dim(%x, -1)\n%w, %j = min.dim(%x, -1, True)\n";

static void rows_of_every_length_agree(void **state) {
    (void)state;
    static const int lengths[] = {15, 16, 17, 20, 31, 32, 33, 47, 48, 49, 63, 64, 65, 66, 79, 80, 90, 127, 129, 200};
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(lengths); i++) {
            char layout[64];
            snprintf(layout, sizeof layout, "[9, %d]", lengths[i]);
            add(layout, types[t], exponentials, "%y, %z");
            add(layout, types[t], moments, "%y, %v");
            add(layout, types[t], places, "%v, %i, %w, %j");
        }
        check_all();
    }
}

static void lanes_come_again_where_they_may(void **state) {
    (void)state;
    static const int lengths[] = {17, 49, 77, 93};
    for (size_t i = 0; i < countof(lengths); i++) {
        char layout[64];
        snprintf(layout, sizeof layout, "[%d]", lengths[i]);
        add(layout, "f32", "%y = mul_.Tensor(%x, 1.5)\n%z = exp(%y)\n", "%y, %z");
        add(layout, "f16", "%y = mul_.Tensor(%x, 1.5)\n%z = exp(%y)\n", "%y, %z");
        add(layout, "i64", "%s = sum(%x)\n", "%s");
        add(layout, "i32", "%s = sum(%x)\n%m = max(%x)\n", "%s, %m");
        add(layout, "f32", "%e = exp(%x)\n%s = sum(%e)\n%c = cumsum(%e, 0)\n", "%e, %s, %c");
        add(layout, "f32", "%g = gt.Scalar(%x, 0.5)\n%s = any(%g)\n%e = exp(%x)\n", "%s, %e");
    }
    check_all();
}

static void no_numbers_stay_where_they_are(void **state) {
    (void)state;
    graph *g = add("[6, 50]", "f32", exponentials, "%y, %z");
    float *x = (float *)tensor_data(graph_find_value(g, "x"));
    x[1 * 50 + 49] = NAN; /* in lanes that come again, before them, behind them */
    x[2 * 50 + 35] = NAN;
    x[3 * 50 + 3] = INFINITY;
    for (int l = 0; l < 50; l++) {
        x[4 * 50 + l] = -INFINITY;
    }
    check_all();
}

/* Of equals the first is meant, zeros of either sign among them, and before all others what is no number. */
static void first_of_equals_is_found(void **state) {
    (void)state;
    static const int lengths[] = {2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 49, 63, 64, 65, 100, 128, 129, 200};
    static const char rounded[] = "%r = round(%x)\n%v, %i = max.dim(%r, -1)\n%w, %j = min.dim(%r, -1, True)\n";
    static const char zeros[] = "%r = mul.Scalar(%x, 0.0)\n%v, %i = max.dim(%r, -1)\n%w, %j = min.dim(%r, -1, True)\n";
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(lengths); i++) {
            char layout[64];
            snprintf(layout, sizeof layout, "[37, %d]", lengths[i]);
            add(layout, types[t], rounded, "%v, %i, %w, %j");
            add(layout, types[t], zeros, "%v, %i, %w, %j");
        }
        check_all();
    }
    for (size_t i = 0; i < countof(lengths); i++) {
        const int n = lengths[i];
        char layout[64];
        snprintf(layout, sizeof layout, "[37, %d]", n);
        float *x = (float *)tensor_data(graph_find_value(add(layout, "f32", places, "%v, %i, %w, %j"), "x"));
        for (int r = 0; r < 37; r++) {
            x[r * n + r * 7 % n] = r % 3 == 0 ? NAN : r % 3 == 1 ? INFINITY : -INFINITY;
            x[r * n + r * 11 % n] = r % 3 == 0 ? NAN : r % 2 == 0 ? -NAN : INFINITY;
        }
    }
    check_all();
}

/* --- rows that lie across memory ------------------------------------------------------------------------------------------- */

static void rows_across_memory_agree(void **state) {
    (void)state;
    static const char *const layouts[] = {"[40, 50], stride=(1, 40)",           "[7, 64], stride=(1, 9)",
                                          "[3, 21, 33], stride=(700, 1, 21)",   "[2, 5, 37, 17], stride=(4000, 740, 1, 40)",
                                          "[16, 129], stride=(1, 16)",          "[5, 3, 40], stride=(1, 5, 15)"};
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(layouts); i++) {
            add(layouts[i], types[t], exponentials, "%y, %z");
            add(layouts[i], types[t], moments, "%y, %v");
            add(layouts[i], types[t], places, "%v, %i, %w, %j");
        }
        check_all();
    }
}

/* Bands begin and end with threads' shares, which begin anywhere. */
static void bands_end_with_shares(void **state) {
    (void)state;
    graph *g = add("[3, 37, 30], stride=(1110, 1, 37)", "f32", "%y = _softmax(%x, -1, False)\n", "%y");
    plan *p;
    assert_int_equal(compiled->prepare(compiled, g, &p, NULL), ASSAY_OK);
    compiled_plan *steps = (compiled_plan *)p;
    assert_non_null(strstr(steps->program.body, "turn_round(b"));
    for (int threads = 1; threads <= 7; threads++) {
        for (int i = 0; i < steps->n_steps; i++) {
            steps->steps[i].threads = threads;
        }
        case_compare(&cases.list[0], p);
    }
    p->release(p);
    cases_forget(&cases);
}

/* Two operands of which one lies across, and both. */
static void gradients_across_memory_agree(void **state) {
    (void)state;
    static const char *const forms[][2] = {{"T([40, 50], f32, stride=(1, 40))", "T([40, 50], f32)"},
                                           {"T([40, 50], f32)", "T([40, 50], f32, stride=(1, 40))"},
                                           {"T([40, 50], f32, stride=(1, 40))", "T([40, 50], f32, stride=(1, 44))"},
                                           {"T([40, 50], f16, stride=(1, 40))", "T([40, 50], f16, stride=(1, 44))"}};
    for (size_t i = 0; i < countof(forms); i++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph rows\n%%g = input(%s)\n%%o = input(%s)\n%%y = _softmax_backward_data(%%g, %%o, -1, %s)\nreturn %%y\n",
                 forms[i][0], forms[i][1], i == 3 ? "f16" : "f32");
        cases_add(&cases, source);
    }
    check_all();
}

/* Halves that lie wherever an index says, and functions of them. */
static void gathered_rows_agree(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (int n = 15; n < 90; n += 17) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph rows\n%%t = input(T([9, 50], %s))\n%%i = input(T([%d], i64), low=0, high=49)\n%%x = index_select(%%t, 1, %%i)\n"
                     "%sreturn %%y, %%z\n", types[t], n, exponentials);
            cases_add(&cases, source);
        }
    }
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_agree),     cmocka_unit_test(lanes_come_again_where_they_may),
        cmocka_unit_test(no_numbers_stay_where_they_are), cmocka_unit_test(rows_across_memory_agree),
        cmocka_unit_test(bands_end_with_shares),          cmocka_unit_test(gradients_across_memory_agree),
        cmocka_unit_test(gathered_rows_agree),            cmocka_unit_test(first_of_equals_is_found),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
