/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over long rows, which are cut into parts, and over small images; sums of very many equal terms; weights that are not finite. */
#include "engine/kernel_check.h"

#include <math.h>
#include <string.h>

/* One image row of `size`, a kernel row of `kernel`. */
typedef struct row_case {
    int64_t batch, in, out, size, kernel, stride, pad, dilation, groups;
} row_case;

typedef struct row_lists {
    int64_t one[4];
} row_lists;

static void row_args(kernel_check *k, const row_case *c, row_lists *lists, arg *args) {
    *lists = (row_lists){{c->stride, c->pad, c->dilation, 0}};
    args[0] = check_tensor(k, ASSAY_F32, 3, (const int64_t[]){c->batch, c->in, c->size}, NULL);
    args[1] = check_tensor(k, ASSAY_F32, 3, (const int64_t[]){c->out, c->in / c->groups, c->kernel}, NULL);
    args[2] = check_tensor(k, ASSAY_F32, 1, &c->out, NULL);
    args[3] = check_ints(1, &lists->one[0]);
    args[4] = check_ints(1, &lists->one[1]);
    args[5] = check_ints(1, &lists->one[2]);
    args[6] = (arg){.kind = ARG_BOOL};
    args[7] = check_ints(1, &lists->one[3]);
    args[8] = (arg){.kind = ARG_INT, .i = c->groups};
}

/* A speech model's first layer and the like: few channels, or each by itself. */
static void long_rows_agree(void **state) {
    (void)state;
    static const row_case cases[] = {{1, 1, 16, 40000, 10, 5, 0, 1, 1}, {1, 3, 9, 21001, 7, 1, 3, 1, 1},
                                     {2, 1, 8, 30011, 3, 2, 1, 2, 1},   {1, 3, 3, 20001, 5, 1, 2, 1, 3},
                                     {1, 2, 2, 30000, 3, 3, 1, 2, 2},   {1, 2, 4, 9000, 4, 2, 5, 1, 2},
                                     {64, 1, 1, 257, 5, 1, 2, 1, 1},    {2, 1, 1, 30000, 7, 3, 3, 2, 1}};
    static const bool mask[] = {true, true, true};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases); i++) {
        arg args[9], back[11];
        row_lists lists;
        row_args(&k, &cases[i], &lists, args);
        check_agrees(&k, "convolution", args, false);
        check_backward_args(&k, args, mask, back);
        check_agrees(&k, "convolution_backward", back, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Channels each by itself, or with two of the other side, or the only one there is, on images whose rows fill no vector, one, or a
   little more. */
static void small_images_agree(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{7, 7}, {5, 16}, {14, 17}, {9, 31}, {6, 33}, {3, 49}, {33, 5}};
    static const int64_t kernels[][2] = {{3, 3}, {5, 5}, {1, 4}}, steps[] = {1, 2, 3};
    static const bool mask[] = {true, true, true};
    kernel_check k;
    check_open(&k);
    static const dtype types[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16};
    for (size_t i = 0; i < countof(sizes) * countof(kernels) * countof(steps) * 5; i++) {
        const int64_t *size = sizes[i % countof(sizes)], *kernel = kernels[i / countof(sizes) % countof(kernels)];
        int64_t step = steps[i / countof(sizes) / countof(kernels) % countof(steps)];
        size_t kind = i / countof(sizes) / countof(kernels) / countof(steps);
        int64_t each = kind == 1 ? 2 : 1, n = kind < 2 ? 3 : 1;
        dtype t = types[kind < 2 ? 0 : kind - 2];
        int64_t stride[] = {step, step}, pad[] = {kernel[0] / 2, kernel[1] / 2}, dilation[] = {1, i % 5 == 0 ? 2 : 1}, zero[] = {0, 0};
        pad[1] += dilation[1] - 1;
        arg args[9] = {check_tensor(&k, t, 4, (const int64_t[]){2, n, size[0], size[1]}, NULL),
                       check_tensor(&k, t, 4, (const int64_t[]){n * each, 1, kernel[0], kernel[1]}, NULL),
                       check_tensor(&k, t, 1, (const int64_t[]){n * each}, NULL),
                       check_ints(2, stride),
                       check_ints(2, pad),
                       check_ints(2, dilation),
                       {.kind = ARG_BOOL},
                       check_ints(2, zero),
                       {.kind = ARG_INT, .i = n}};
        arg back[11];
        check_agrees(&k, "convolution", args, false);
        check_backward_args(&k, args, mask, back);
        check_agrees(&k, "convolution_backward", back, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void fill_with(const arg *a, float value) {
    float *at = (float *)(void *)tensor_data(a->tensor);
    for (int64_t i = 0; i < tensor_numel(a->tensor); i++) {
        at[i] = value;
    }
}

/* What one output holds after the kernel has run. */
static void run_output(kernel_check *k, const arg *args, int which, float *values, int64_t n) {
    op_call call = check_call(k, "convolution_backward", args);
    outputs out;
    arena memory = {0};
    error err = {0};
    check_ok("convolution_backward", op_infer(&call, &out, &err), &err);
    for (int i = 0; i < out.n; i++) {
        assert_int_equal(tensor_allocate(&out.items[i], &device_cpu, NULL), ASSAY_OK);
        agree_poison(&out.items[i]);
    }
    kernel_plan plan = {.call = &call, .out = &out, .err = &err, .memory = &memory};
    check_ok("prepare", kernel_find_cpu(k->kernels, call.op)->prepare(&plan, &err), &err);
    check_ok("run", plan.run(&plan), &err);
    assert_int_equal(tensor_numel(&out.items[which]), n);
    memcpy(values, tensor_data(&out.items[which]), (size_t)n * sizeof *values);
    if (plan.clear != NULL) {
        plan.clear(&plan);
    }
    outputs_clear(&out);
    arena_clear(&memory);
}

/* Equal terms round the same way each time: a sum of a million of them in f32 alone is off in the third digit. */
static void many_equal_terms_keep_their_digits(void **state) {
    (void)state;
    static const bool mask[] = {false, true, false};
    static const row_case cases[] = {{16, 8, 8, 262144, 1, 1, 0, 1, 1}, {1, 2, 2, 1048576, 1, 1, 0, 1, 2}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases); i++) {
        const row_case *c = &cases[i];
        arg args[9], back[11];
        row_lists lists;
        float sums[64];
        row_args(&k, c, &lists, args);
        check_backward_args(&k, args, mask, back);
        fill_with(&back[0], 0.1F);
        fill_with(&args[0], 0.7F);
        fill_with(&args[1], 1);
        double exact = (double)0.1F * (double)0.7F * (double)(c->batch * c->size);
        int64_t n = tensor_numel(args[1].tensor);
        run_output(&k, back, 1, sums, n);
        for (int64_t s = 0; s < n; s++) {
            assert_true(fabs((double)sums[s] - exact) <= 2e-5 * exact);
        }
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* The gradient of a strided convolution's input meets each tap at some places only: an infinite one must not reach others. */
static void infinite_weights_stay_where_they_are(void **state) {
    (void)state;
    static const bool mask[] = {true, false, false};
    static const row_case c = {1, 2, 2, 40, 3, 2, 1, 1, 2};
    kernel_check k;
    check_open(&k);
    arg args[9], back[11];
    row_lists lists;
    float grad[80];
    row_args(&k, &c, &lists, args);
    check_backward_args(&k, args, mask, back);
    fill_with(&back[0], 1);
    fill_with(&args[0], 1);
    fill_with(&args[1], 1);
    ((float *)(void *)tensor_data(args[1].tensor))[0] = INFINITY; /* tap 0 of the first channel reads odd places */
    run_output(&k, back, 0, grad, 80);
    for (int i = 0; i < 80; i++) {
        float expected = i % 2 == 0 ? 1 : i % 40 == 39 ? 1 : i < 40 ? INFINITY : 2;
        assert_true(grad[i] == expected);
    }
    check_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_rows_agree),
        cmocka_unit_test(small_images_agree),
                                       cmocka_unit_test(many_equal_terms_keep_their_digits),
                                       cmocka_unit_test(infinite_weights_stay_where_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
