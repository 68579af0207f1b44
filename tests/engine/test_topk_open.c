/* SPDX-License-Identifier: Apache-2.0 */
/* Where equal values, or no order asked for, leave topk more than one right answer: any of those passes, and nothing else. */
#include "engine/call_kit.h"

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

int main(void) {
    static uint64_t seed = 1;
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_sorted, &seed),
        KIT_TEST(test_in_any_order, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
