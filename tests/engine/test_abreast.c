/* SPDX-License-Identifier: Apache-2.0 */
/* Short rows, several of which the compiler takes through each phase together, against the reference in double: as many rows as fill
   groups and a few more, rows of all lengths, what is kept between phases, indices read from data, no numbers and infinities. */
#include "engine/compiled_cases.h"

#include <math.h>

/* Whether the graph's kernels take rows together; its parts begin anywhere. */
static void check_alone(graph *g, bool together) {
    plan *p;
    error err = {0};
    assert_int_equal(compiled->prepare(compiled, g, &p, &err), ASSAY_OK);
    compiled_plan *steps = (compiled_plan *)p;
    assert_int_equal(strstr(steps->program.body, "int64_t next = first;") != NULL, together);
    for (int threads = 1; threads <= 3; threads++) {
        for (int i = 0; i < steps->n_steps; i++) {
            steps->steps[i].threads = threads;
        }
        case_compare(&cases.list[cases.n - 1], p);
    }
    p->release(p);
}

static graph *add(const char *sizes, const char *type, const char *calls, const char *results) {
    char source[CASE_SOURCE_BYTES];
    snprintf(source, sizeof source, "graph rows\n%%x = input(T(%s, %s))\n%sreturn %s\n", sizes, type, calls, results);
    return cases_add(&cases, source);
}

static void rows_are_taken_together(void **state) {
    (void)state;
    static const struct {
        const char *sizes;
        bool together;
    } forms[] = {{"[16, 64]", true}, {"[19, 64]", true}, {"[23, 48]", true}, {"[9, 130]", true},  {"[3, 7, 191]", true},
                 {"[15, 64]", false}, /* too few */      {"[7, 65]", false}, {"[40, 8]", false}, {"[40, 192]", false}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        check_alone(add(forms[i].sizes, "f32", "%y = _softmax(%x, -1, False)\n", "%y"), forms[i].together);
    }
    check_alone(add("[9, 383]", "f32", "%y = _log_softmax(%x, -1, False)\n", "%y"), true);
    check_alone(add("[40, 513]", "f32", "%y, %m, %r = native_layer_norm(%x, [513], None, None, 1e-5)\n", "%y"), false);
    /* one number to wait for */
    check_alone(add("[40, 64]", "f32", "%m = mean.dim(%x, [1], True)\n%y = sub.Tensor(%x, %m)\n", "%y"), false);
    cases_forget(&cases);
}

static void what_rows_hold_agrees(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    static const char *const sizes[] = {"[17, 16]", "[18, 33]", "[35, 64]", "[21, 100]", "[2, 9, 256]", "[11, 500]"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            add(sizes[s], types[t], "%y = _log_softmax(%x, -1, False)\n%s = _softmax(%y, -1, False)\n", "%y, %s");
            add(sizes[s], types[t], "%m = mean.dim(%x, [-1], True)\n%d = sub.Tensor(%x, %m)\n%q = mul.Tensor(%d, %d)\n"
                                    "%v = mean.dim(%q, [-1], True)\n%r = rsqrt(%v)\n%y = mul.Tensor(%d, %r)\n", "%y, %v");
            if (strcmp(types[t], "f64") == 0) {
                continue; /* whose order is a library's */
            }
            add(sizes[s], types[t], "%y = _softmax(%x, -1, False)\n%v, %i = topk(%y, 3, -1)\n%p, %j = max.dim(%y, -1)\n", "%y, %v, %i, %p, %j");
        }
    }
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

/* A NaN, infinities of both signs, nothing but the lowest: of rows and columns, short and long. */
static void spoil(graph *g) {
    const tensor *t = graph_find_value(g, "x");
    const int64_t rows = t->sizes[0], n = t->sizes[1];
    float *x = (float *)tensor_data(t);
    x[1 * n + 3] = NAN;
    x[6 * n + n - 1] = INFINITY;
    x[(rows - 1) * n] = -INFINITY;
    for (int64_t l = 0; l < n; l++) {
        x[11 * n + l] = -INFINITY;
    }
    for (int64_t r = 0; r < rows; r++) {
        x[r * n + 7] = -INFINITY;
    }
}

static void rows_of_no_numbers_are_their_own(void **state) {
    (void)state;
    static const char *const sizes[] = {"[22, 40]", "[22, 700]", "[33, 1000]", "[70, 64]", "[300, 21]"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        spoil(add(sizes[i], "f32", "%y = _softmax(%x, -1, False)\n%v, %i = topk(%y, 2, 1)\n", "%y, %v, %i"));
        spoil(add(sizes[i], "f32", "%y = _log_softmax(%x, 1, False)\n", "%y"));
        spoil(add(sizes[i], "f32", "%y = _softmax(%x, 0, False)\n", "%y"));
        spoil(add(sizes[i], "f32", "%y = _log_softmax(%x, 0, False)\n", "%y"));
        /* the largest is asked for itself */
        spoil(add(sizes[i], "f32", "%m, %_ = max.dim(%x, 1, True)\n%d = sub.Tensor(%x, %m)\n%e = exp(%d)\n"
                                   "%s = sum.dim_IntList(%e, [1], True)\n%y = div.Tensor(%e, %s)\n", "%y, %m"));
    }
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

static void indices_are_checked(void **state) {
    (void)state;
    static const char source[] = "graph rows\n%t = input(T([50, 64], f32))\n%i = input(T([37], i64), low=0, high=49)\n"
                                 "%x = index_select(%t, 0, %i)\n%y = _softmax(%x, -1, False)\nreturn %y\n";
    graph *g = cases_add(&cases, source);
    plan *p;
    assert_int_equal(compiled->prepare(compiled, g, &p, NULL), ASSAY_OK);
    assert_non_null(strstr(((compiled_plan *)p)->program.body, "int64_t next = first;"));
    case_compare(&cases.list[0], p);
    int64_t *index = (int64_t *)tensor_data(graph_find_value(g, "i"));
    for (int i = 0; i < 37; i++) { /* in each place of a group, and in what is left over */
        int64_t was = index[i];
        index[i] = 50;
        assert_int_not_equal(p->run(p, NULL), ASSAY_OK);
        index[i] = was;
    }
    p->release(p);
    cases_forget(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_taken_together),
        cmocka_unit_test(what_rows_hold_agrees),
        cmocka_unit_test(rows_of_no_numbers_are_their_own),
        cmocka_unit_test(indices_are_checked),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
