/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, views, pads, folds: layouts and values that PyTorch 2.15 answers. */
#include "engine/call_kit.h"

#include <math.h>

typedef struct layout_case {
    const char *op;
    int layout; /* of the input: 0 channels-last 2x3x4x5, 1 a slice of such, 2 expanded */
    int64_t a[4];
    int n_a;
    int64_t b[2];
    int n_b;
    int64_t strides[5];
} layout_case;

static tensor *torch_input(kit *k, int which) {
    static const int64_t last[] = {2, 3, 4, 5}, sliced[] = {4, 3, 3, 5}, expanded[] = {4, 5, 3, 1};
    static const int64_t strides[3][4] = {{60, 1, 15, 3}, {90, 1, 15, 3}, {3, 0, 1, 1}};
    return kit_tensor(k, ASSAY_F32, which == 2 ? 3 : 4,
                      which == 0   ? last
                      : which == 1 ? sliced
                                   : expanded,
                      strides[which]);
}

static void test_layouts_are_those_of_torch(void **state) {
    static const layout_case cases[] = {
        {"clone", 1, {0}, 0, {0}, 0, {45, 1, 15, 3}},
        {"clone", 2, {0}, 0, {0}, 0, {15, 3, 1}},
        {"lift_fresh_copy", 1, {0}, 0, {0}, 0, {45, 15, 5, 1}},
        {"flip", 0, {1}, 1, {0}, 0, {60, 1, 15, 3}},
        {"flip", 1, {0}, 1, {0}, 0, {45, 1, 15, 3}},
        {"roll", 0, {1, 1}, 2, {2, 1}, 2, {60, 1, 15, 3}},
        {"roll", 0, {1}, 1, {0}, 0, {60, 20, 5, 1}},
        {"roll", 1, {1}, 1, {2}, 1, {45, 1, 15, 3}},
        {"repeat", 0, {1, 2, 1, 1}, 4, {0}, 0, {120, 20, 5, 1}},
        {"constant_pad_nd", 0, {1, 1}, 2, {0}, 0, {84, 1, 21, 3}},
        {"constant_pad_nd", 0, {-1, 0}, 2, {0}, 0, {48, 1, 12, 3}},
        {"reflection_pad2d", 0, {1, 1, 1, 1}, 4, {0}, 0, {126, 1, 21, 3}},
        {"view", 0, {2, 3, 20}, 3, {0}, 0, {60, 1, 3}},
    };
    kit *k = *state;
    for (size_t i = 0; i < countof(cases); i++) {
        const layout_case *c = &cases[i];
        arg args[3] = {arg_tensor(torch_input(k, c->layout)), arg_ints(c->a, c->n_a), arg_ints(c->b, c->n_b)};
        outputs out;
        int n = c->n_a == 0 ? 1 : c->n_b == 0 ? 2 : 3;
        assert_int_equal(kit_infer(k, c->op, args, n, &out, NULL), ASSAY_OK);
        for (int d = 0; d < out.items[0].ndim; d++) {
            assert_int_equal(out.items[0].strides[d], c->strides[d]);
        }
        outputs_clear(&out);
    }
    tensor *last[] = {torch_input(k, 0), torch_input(k, 0)};
    static const int64_t stacked[3][5] = {{120, 60, 1, 15, 3}, {120, 3, 1, 30, 6}, {120, 40, 10, 2, 1}};
    static const int dims[] = {0, 1, 4};
    for (int i = 0; i < 3; i++) {
        outputs out;
        assert_int_equal(kit_infer(k, "stack", (arg[]){arg_tensors(last, 2), arg_int(dims[i])}, 2, &out, NULL),
                         ASSAY_OK);
        for (int d = 0; d < 5; d++) {
            assert_int_equal(out.items[0].strides[d], stacked[i][d]);
        }
        outputs_clear(&out);
    }
}

static void test_values_are_those_of_torch(void **state) {
    kit *k = *state;
    static const double count[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    arg image = arg_tensor(kit_values(k, ASSAY_F32, 3, (const int64_t[]){1, 3, 3}, count));
    arg six = arg_tensor(kit_values(k, ASSAY_F32, 2, (const int64_t[]){2, 3}, count));
    kit_expect(k, "roll", (arg[]){six, INTS(1, -1), INTS(0, 1)}, 3, (const double[]){4, 5, 3, 1, 2, 0}, 6, NULL);
    kit_expect(k, "roll", (arg[]){six, INTS(2)}, 2, (const double[]){4, 5, 0, 1, 2, 3}, 6, NULL);
    kit_expect(k, "flip", (arg[]){six, INTS(1)}, 2, (const double[]){2, 1, 0, 5, 4, 3}, 6, NULL);
    kit_expect(k, "triu", (arg[]){six, arg_int(1)}, 2, (const double[]){0, 1, 2, 0, 0, 5}, 6, NULL);
    kit_expect(k, "tril", (arg[]){six}, 1, (const double[]){0, 0, 0, 3, 4, 0}, 6, NULL);
    kit_expect(k, "constant_pad_nd", (arg[]){six, INTS(-1, 1, 1, 0), arg_number(number_of_int(9))}, 3,
               (const double[]){9, 9, 9, 1, 2, 9, 4, 5, 9}, 9, NULL);
    kit_expect(k, "reflection_pad2d", (arg[]){image, INTS(2, 0, 0, 1)}, 2,
               (const double[]){2, 1, 0, 1, 2, 5, 4, 3, 4, 5, 8, 7, 6, 7, 8, 5, 4, 3, 4, 5}, 20, NULL);
    kit_expect(k, "reflection_pad2d_backward",
               (arg[]){arg_tensor(kit_values(k, ASSAY_F32, 3, (const int64_t[]){1, 2, 4}, count)),
                       arg_tensor(kit_values(k, ASSAY_F32, 3, (const int64_t[]){1, 2, 2}, count)), INTS(1, 1, 0, 0)},
               3, (const double[]){4, 2, 12, 10}, 4, NULL);
    kit_expect(k, "im2col", (arg[]){image, INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)}, 5,
               (const double[]){0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8}, 16, NULL);
    kit_expect(k, "col2im",
               (arg[]){arg_tensor(kit_values(k, ASSAY_F32, 2, (const int64_t[]){4, 4}, count)), INTS(3, 3), INTS(2, 2),
                       INTS(1, 1), INTS(0, 0), INTS(1, 1)},
               6, (const double[]){0, 5, 5, 10, 30, 20, 10, 25, 15}, 9, NULL);
    kit_expect(k, "unfold_backward",
               (arg[]){arg_tensor(kit_values(k, ASSAY_F32, 2, (const int64_t[]){2, 3}, count)), INTS(5), arg_int(0),
                       arg_int(3), arg_int(2)},
               5, (const double[]){0, 1, 5, 4, 5}, 5, NULL);
    kit_expect(k, "slice_backward",
               (arg[]){arg_tensor(kit_values(k, ASSAY_F32, 1, (const int64_t[]){2}, count + 1)), INTS(5), arg_int(0),
                       arg_int(1), arg_int(-1), arg_int(2)},
               6, (const double[]){0, 1, 0, 2, 0}, 5, NULL);
}

static uint64_t seed = 20261121;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_layouts_are_those_of_torch, &seed),
        KIT_TEST(test_values_are_those_of_torch, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
