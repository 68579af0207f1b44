/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm by running statistics, where rows are scaled as they lie, against the same in double: rows that begin on lines of memory and not,
   that fill blocks and not, results past the caches and in them, every type, channels last, memory with gaps. */
#include "call_kit.h"

#include <math.h>

typedef struct running_case {
    dtype type;
    int64_t n, c, s;
    bool weighs, is_last, has_gaps;
} running_case;

static const running_case list[] = {
    {ASSAY_F32, 64, 128, 1024, true, false, false},  {ASSAY_F32, 150, 131, 440, true, false, false}, {ASSAY_F32, 301, 517, 49, true, false, false},
    {ASSAY_F32, 90, 509, 196, false, false, false},  {ASSAY_F64, 61, 77, 1031, true, false, false},  {ASSAY_BF16, 120, 140, 1089, true, false, false},
    {ASSAY_F16, 90, 509, 400, true, false, false},   {ASSAY_F16, 3, 5, 200003, true, false, false},  {ASSAY_F32, 60, 130, 1100, true, false, true},
    /* what caches hold */
    {ASSAY_F32, 3, 7, 1031, true, false, false},     {ASSAY_F32, 3, 7, 64, false, false, false},     {ASSAY_BF16, 2, 9, 320, true, false, false},
    {ASSAY_F16, 2, 9, 1027, true, false, false},     {ASSAY_F64, 2, 5, 128, true, false, false},     {ASSAY_F32, 3, 7, 130, true, false, true},
    /* rows of channels: several at a time, in blocks of them */
    {ASSAY_F32, 7, 515, 2100, true, true, false},    {ASSAY_F32, 9, 1024, 900, true, true, false},   {ASSAY_BF16, 9, 640, 2100, false, true, false},
};

static double load(const tensor *t, int64_t i) {
    return element_load(t->dtype, tensor_data(t) + i * (int64_t)dtype_size(t->dtype));
}

static void check_case(kit *k, const running_case *b) {
    const int64_t gap = b->has_gaps ? 5 : 0, row = b->s + gap;
    const int64_t sizes[] = {b->n, b->c, b->s, 1}, plain[] = {b->c * row, row, 1, 1}, last[] = {b->c * b->s, 1, b->c, b->c};
    const int64_t *strides = b->is_last ? last : plain;
    const dtype wide = b->type == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    tensor *x = kit_tensor(k, b->type, 4, sizes, strides), *of_channels[4];
    for (int i = 0; i < 4; i++) {
        of_channels[i] = kit_tensor(k, wide, 1, &b->c, NULL);
    }
    tensor *variance = of_channels[3];
    for (int64_t c = 0; c < b->c; c++) {
        element_store(wide, tensor_data(variance) + c * (int64_t)dtype_size(wide), 0.5 + fabs(load(variance, c)));
    }
    arg none = {.kind = ARG_NONE};
    outputs out;
    op_call call = kit_call(k, "native_batch_norm",
                            (arg[]){arg_tensor(x), b->weighs ? arg_tensor(of_channels[0]) : none, b->weighs ? arg_tensor(of_channels[1]) : none,
                                    arg_tensor(of_channels[2]), arg_tensor(variance), arg_bool(false), arg_float(0.1), arg_float(1e-5)}, 8);
    kit_run(k, &call, &out);
    const tensor *y = &out.items[0];
    const double digits = b->type == ASSAY_BF16 ? 0x1p-8 : b->type == ASSAY_F16 ? 0x1p-10 : b->type == ASSAY_F32 ? 1e-6 : 1e-14;
    for (int64_t i = 0; i < b->n * b->c; i++) {
        const int64_t n = i / b->c, c = i % b->c;
        const double rstd = 1 / sqrt(load(variance, c) + 1e-5), weight = b->weighs ? load(of_channels[0], c) : 1;
        const double bias = b->weighs ? load(of_channels[1], c) : 0, mean = load(of_channels[2], c);
        for (int64_t s = 0; s < b->s; s += s < 64 || s + 65 > b->s ? 1 : 1 + b->s / 97) { /* all of both ends */
            double in = load(x, n * x->strides[0] + c * x->strides[1] + s * x->strides[2]);
            double made = load(y, n * y->strides[0] + c * y->strides[1] + s * y->strides[2]), wanted = (in - mean) * rstd * weight + bias;
            double tolerance = digits * (fabs(wanted) + 4 * (fabs(in) + fabs(mean)) * rstd * fabs(weight) + fabs(bias)) + 1e-30;
            if (!(fabs(made - wanted) <= tolerance)) {
                print_error("[%d, %d, %d] at %d, %d, %d: %g, not %g\n", (int)b->n, (int)b->c, (int)b->s, (int)n, (int)c, (int)s, made, wanted);
                assert_true(false);
            }
        }
    }
    outputs_clear(&out);
    kit_reset(k);
}

static void rows_are_scaled(void **state) {
    for (size_t i = 0; i < countof(list); i++) {
        check_case(*state, &list[i]);
    }
}

static uint64_t seed = 23;

int main(void) {
    const struct CMUnitTest tests[] = {KIT_TEST(rows_are_scaled, &seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
