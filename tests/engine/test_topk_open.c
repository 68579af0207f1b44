/* SPDX-License-Identifier: Apache-2.0 */
/* Where equal values, or no order asked for, leave topk more than one right answer: any of those passes, and nothing else. In a graph what
   follows from the one that was taken does. */
#include "engine/call_kit.h"

#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include <math.h>

enum { LINE = 6, K = 3 };

/* Results that a backend may have made of self, a line of LINE numbers. */
typedef struct answer {
    double values[K];
    int64_t places[K];
    bool is_right;
} answer;

static void expect(kit *k, dtype t, const double *self, bool largest, bool sorted, const answer *a) {
    tensor *x = kit_tensor(k, t, 1, (const int64_t[]){LINE}, NULL);
    for (int i = 0; i < LINE; i++) {
        element_store(t, tensor_data(x) + (size_t)i * dtype_size(t), self[i]);
    }
    const arg args[] = {arg_tensor(x), arg_int(K), arg_int(0), arg_bool(largest), arg_bool(sorted)};
    op_call call = kit_call(k, "topk.default", args, 5);
    const op_row *row = call.op->row;
    outputs out;
    error err = {0};
    kit_run(k, &call, &out);
    assert_int_equal(row->open(&call), sorted ? 2 : 3);
    assert_int_equal(row->check_open(&call, &out, &err), ASSAY_OK);
    for (int i = 0; i < K; i++) {
        element_store(t, tensor_data(&out.items[0]) + (size_t)i * dtype_size(t), a->values[i]);
        ((int64_t *)tensor_data(&out.items[1]))[i] = a->places[i];
    }
    status result = row->check_open(&call, &out, &err);
    outputs_clear(&out);
    assert_int_equal(result, a->is_right ? ASSAY_OK : ASSAY_INTERNAL);
    assert_true(a->is_right || err.message[0] != '\0');
}

static void test_sorted(void **state) {
    static const double self[LINE] = {5, 9, 5, 1, 9, 0};
    static const answer answers[] = {
        {{9, 9, 5}, {1, 4, 0}, true},      {{9, 9, 5}, {4, 1, 2}, true},  /* equal values in either order */
        {{9, 9, 5}, {1, 1, 0}, false},     {{9, 9, 5}, {1, 4, 3}, false}, /* one twice; another's place */
        {{9, 9, 5}, {1, 4, LINE}, false},  {{9, 9, 5}, {-1, 4, 0}, false},
        {{9, 9, 5}, {INT64_MAX, 4, 0}, false},
    };
    for (size_t i = 0; i < countof(answers); i++) {
        expect(*state, ASSAY_U8, self, true, true, &answers[i]);
        expect(*state, ASSAY_F64, self, true, true, &answers[i]);
    }
}

static void test_in_any_order(void **state) {
    static const double self[LINE] = {5, 9, 5, 1, 9, NAN};
    static const answer largest[] = {
        {{9, NAN, 9}, {4, 5, 1}, true},
        {{9, 9, 5}, {1, 4, 0}, false}, /* without the largest of all */
        {{NAN, 9, 5}, {5, 1, 2}, false},
        {{NAN, NAN, 9}, {5, 5, 1}, false},
    };
    static const answer smallest[] = {{{5, 1, 5}, {2, 3, 0}, true}, {{5, 1, 9}, {2, 3, 1}, false}};
    for (size_t i = 0; i < countof(largest); i++) {
        expect(*state, ASSAY_F32, self, true, false, &largest[i]);
    }
    for (size_t i = 0; i < countof(smallest); i++) {
        expect(*state, ASSAY_F32, self, false, false, &smallest[i]);
    }
}

/* --- in graphs ------------------------------------------------------------------------------------------------------------- */

static void set_output(tensor *t, const tensor *form, const double *values) {
    assert_int_equal(tensor_init_strided(t, form->dtype, form->ndim, form->sizes, form->strides, NULL), ASSAY_OK);
    assert_int_equal(tensor_allocate(t, &device_cpu, NULL), ASSAY_OK);
    fill_from(t, values);
}

/* Whether a backend's results of a program over %x, with %i the places (seen: returned) and %v the values, agree with those that follow them. */
static bool agrees(kit *k, const char *program, dtype t, const double *self, const answer *a, const double *third, bool seen) {
    arena memory = {0};
    graph g;
    exact expected;
    tensor taken[3];
    text source = {0};
    const bind_options options = {.dtype = DTYPE_AS_RECORDED};
    double places[K];
    text_addf(&source, "graph g\n%%x = input(T([%d], %s))\n%sreturn %%v, %%w%s\n", LINE, assay_dtype_name(t), program, seen ? ", %i" : "");
    assert_int_equal(graph_read(&memory, k->table, text_get(&source), strlen(text_get(&source)), &options, &g, NULL), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    assert_true(graph_is_open(&g));
    fill_from(g.inputs[0].value, self);
    for (int i = 0; i < K; i++) {
        places[i] = (double)a->places[i];
    }
    set_output(&taken[0], g.outputs[0], a->values);
    set_output(&taken[1], g.outputs[1], third);
    if (seen) {
        set_output(&taken[2], g.outputs[2], places);
    }
    assert_int_equal(exact_make(&memory, &g, taken, 1, &expected, NULL), ASSAY_OK);
    bool all = true;
    for (int i = 0; i < g.n_outputs; i++) {
        agreement found;
        exact_compare(&expected, i, &taken[i], &found);
        all &= found.agrees;
        tensor_clear(&taken[i]);
    }
    text_clear(&source);
    graph_clear(&g);
    arena_clear(&memory);
    return all;
}

static void test_choices_are_followed(void **state) {
    static const double self[LINE] = {5, 9, 5, 1, 9, 0};
    static const char sorted[] = "%v, %i = topk(%x, 3, 0)\n%w = mul.Tensor(%i, 2)\n";
    static const char in_any_order[] = "%v, %i = topk(%x, 3, 0, True, False)\n%w = mul.Tensor(%i, 2)\n";
    static const answer others = {{9, 9, 5}, {4, 1, 2}, true}, turned = {{5, 9, 9}, {2, 4, 1}, true};
    static const answer twice = {{9, 9, 5}, {1, 1, 0}, false}, wrong = {{9, 9, 5}, {1, 4, 3}, false}, nowhere = {{9, 9, 5}, {1, 4, 17}, false};
    static const dtype types[] = {ASSAY_U8, ASSAY_F32};
    for (size_t i = 0; i < countof(types); i++) {
        assert_true(agrees(*state, sorted, types[i], self, &others, (double[]){8, 2, 4}, true));
        assert_false(agrees(*state, sorted, types[i], self, &others, (double[]){8, 2, 0}, true)); /* what follows does not */
        assert_false(agrees(*state, sorted, types[i], self, &turned, (double[]){4, 8, 2}, true));
        assert_true(agrees(*state, in_any_order, types[i], self, &turned, (double[]){4, 8, 2}, true));
        assert_false(agrees(*state, sorted, types[i], self, &twice, (double[]){2, 2, 0}, true));
        assert_false(agrees(*state, sorted, types[i], self, &wrong, (double[]){2, 8, 6}, true));
        assert_false(agrees(*state, sorted, types[i], self, &nowhere, (double[]){2, 8, 34}, true));
    }
}

/* Without the places the order of the values is followed, where none was asked for. */
static void test_values_are_followed(void **state) {
    static const double self[LINE] = {5, 8, 4, 1, 9, 0};
    static const char sorted[] = "%v, %i = topk(%x, 3, 0)\n%w = mul.Tensor(%v, 2)\n";
    static const char in_any_order[] = "%v, %i = topk(%x, 3, 0, True, False)\n%w = mul.Tensor(%v, 2)\n";
    static const answer turned = {{5, 9, 8}, {0}, true}, wrong = {{4, 9, 8}, {0}, false};
    assert_true(agrees(*state, in_any_order, ASSAY_F32, self, &turned, (double[]){10, 18, 16}, false));
    assert_false(agrees(*state, sorted, ASSAY_F32, self, &turned, (double[]){10, 18, 16}, false));
    assert_false(agrees(*state, in_any_order, ASSAY_F32, self, &turned, (double[]){18, 16, 10}, false));
    assert_false(agrees(*state, in_any_order, ASSAY_F32, self, &wrong, (double[]){8, 18, 16}, false));
}

/* What rounding before the call may take for each other: 9 and its neighbour in f32, of computed values; not of inputs. */
static void test_near_values_are_followed(void **state) {
    static const double self[LINE] = {5, 9, 4, 1, 9.00001, 0}, apart[LINE] = {5, 9, 4, 1, 9.1, 0};
    static const char computed[] = "%y = mul.Tensor(%x, 1.0)\n%v, %i = topk(%y, 3, 0)\n%w = mul.Tensor(%i, 2)\n";
    static const char given[] = "%v, %i = topk(%x, 3, 0)\n%w = mul.Tensor(%i, 2)\n";
    static const answer turned = {{9, 9, 5}, {1, 4, 0}, true};
    static const answer far = {{9, 9.1, 5}, {1, 4, 0}, false};
    assert_true(agrees(*state, computed, ASSAY_F32, self, &turned, (double[]){2, 8, 0}, true));
    assert_false(agrees(*state, given, ASSAY_F32, self, &turned, (double[]){2, 8, 0}, true));
    assert_false(agrees(*state, computed, ASSAY_F32, apart, &far, (double[]){2, 8, 0}, true));
}

int main(void) {
    static uint64_t seed = 1;
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_sorted, &seed),
        KIT_TEST(test_in_any_order, &seed),
        KIT_TEST(test_choices_are_followed, &seed),
        KIT_TEST(test_values_are_followed, &seed),
        KIT_TEST(test_near_values_are_followed, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
