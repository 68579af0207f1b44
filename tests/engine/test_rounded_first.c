/* SPDX-License-Identifier: Apache-2.0 */
/* Operands with more digits than the type a call answers in: results pass whether or not they are rounded to it first, as PyTorch does
   (docs/accuracy.md), and others do not. */
#include "engine/call_kit.h"

#include <math.h>

/* Whether actual values of t, the call's one output, pass for right. */
static bool passes(const op_call *call, const outputs *out, tensor *t) {
    op_cost cost;
    double *norms[1];
    agreement a;
    op_cost_of(call, out, &cost);
    double **expected = kit_reference(call, out, norms);
    agree_compare(t, NULL, tensor_numel(t), expected[0], norms[0], &(agree_rule){.reduction = cost.reduction}, &a);
    free(expected[0]);
    free(norms[0]);
    free(expected);
    return a.agrees;
}

/* A sum into a lesser type may round its terms to that first, as PyTorch's does, and no more than that. */
static void sums_may_round_their_terms(void **state) {
    kit *k = *state;
    enum { ROWS = 300 };
    static const dtype types[] = {ASSAY_BF16, ASSAY_F16};
    for (size_t i = 0; i < countof(types); i++) {
        arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){ROWS, 40}, NULL));
        arg args[4] = {x, INTS(0), arg_bool(false), arg_dtype(types[i])};
        op_call call = kit_call(k, "sum.dim_IntList", args, 4);
        outputs out;
        assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
        tensor *made = kit_tensor(k, types[i], 1, (int64_t[]){40}, NULL), *off = kit_tensor(k, types[i], 1, (int64_t[]){40}, NULL);
        for (int64_t c = 0; c < 40; c++) {
            double sum = 0, squares = 0;
            for (int64_t r = 0; r < ROWS; r++) {
                uint16_t bits;
                double value = element_load(ASSAY_F32, tensor_data(x.tensor) + (r * 40 + c) * (int64_t)sizeof(float));
                element_store(types[i], &bits, value);
                sum += element_load(types[i], &bits);
                squares += value * value;
            }
            element_store(types[i], tensor_data(made) + c * 2, sum);
            element_store(types[i], tensor_data(off) + c * 2, sum + 8 * dtype_epsilon(types[i]) * (fabs(sum) + sqrt(squares)));
        }
        assert_true(passes(&call, &out, made));
        assert_false(passes(&call, &out, off));
        outputs_clear(&out);
        kit_check(k, "sum.dim_IntList", args, 4);
        kit_check(k, "cumsum", (arg[]){x, arg_int(0), arg_dtype(types[i])}, 3);
        kit_reset(k);
    }
}

/* The same of a tensor without dimensions that is added to others of a lesser type. */
static void addends_without_dimensions_may_be_rounded(void **state) {
    kit *k = *state;
    static const double third = 1.0 / 3;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F16, 1, (int64_t[]){300}, NULL)), y = arg_tensor(kit_values(k, ASSAY_F32, 0, NULL, &third));
    op_call call = kit_call(k, "sub.Tensor", (arg[]){x, y}, 2);
    tensor *made = kit_tensor(k, ASSAY_F16, 1, (int64_t[]){300}, NULL), *off = kit_tensor(k, ASSAY_F16, 1, (int64_t[]){300}, NULL);
    outputs out;
    uint16_t bits;
    assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
    for (int64_t i = 0; i < 300; i++) { /* sums that cancel */
        element_store(ASSAY_F16, tensor_data(x.tensor) + i * 2, third + 1e-3 * (double)i);
        element_store(ASSAY_F16, &bits, third);
        double value = element_load(ASSAY_F16, tensor_data(x.tensor) + i * 2) - element_load(ASSAY_F16, &bits);
        element_store(ASSAY_F16, tensor_data(made) + i * 2, value);
        element_store(ASSAY_F16, tensor_data(off) + i * 2, value + 1e-3);
    }
    assert_true(passes(&call, &out, made));
    assert_false(passes(&call, &out, off));
    outputs_clear(&out);
    kit_check(k, "sub.Tensor", (arg[]){x, y}, 2);
}

/* And of such a target, which the loss's squares are of the distance to. */
static void targets_without_dimensions_may_be_rounded(void **state) {
    kit *k = *state;
    static const double third = 1.0 / 3;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F16, 1, (int64_t[]){300}, NULL)), y = arg_tensor(kit_values(k, ASSAY_F32, 0, NULL, &third));
    op_call call = kit_call(k, "mse_loss", (arg[]){x, y, arg_int(0)}, 3);
    tensor *made = kit_tensor(k, ASSAY_F16, 1, (int64_t[]){300}, NULL);
    outputs out;
    uint16_t bits;
    assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
    for (int64_t i = 0; i < 300; i++) {
        element_store(ASSAY_F16, tensor_data(x.tensor) + i * 2, third + 1e-2 * (double)i);
        element_store(ASSAY_F16, &bits, third);
        double distance = element_load(ASSAY_F16, tensor_data(x.tensor) + i * 2) - element_load(ASSAY_F16, &bits);
        element_store(ASSAY_F16, tensor_data(made) + i * 2, distance * distance);
    }
    assert_true(passes(&call, &out, made));
    outputs_clear(&out);
    kit_check(k, "mse_loss", (arg[]){x, y, arg_int(0)}, 3);
}

static uint64_t seed = 20261129;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(sums_may_round_their_terms, &seed),
        KIT_TEST(addends_without_dimensions_may_be_rounded, &seed),
        KIT_TEST(targets_without_dimensions_may_be_rounded, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
