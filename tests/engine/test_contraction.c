/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and convolutions: kernels against references, in every type and layout; bad shapes. */
#include "engine/kernel_check.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static const dtype all_types[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64, ASSAY_I64,
                                  ASSAY_I8,  ASSAY_U8,   ASSAY_C64, ASSAY_C128};
static const dtype floats[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64};

/* M, K, N: odd, single, empty, and beyond one block of every loop. */
static const int64_t shapes[][3] = {{17, 33, 9}, {1, 40, 65}, {50, 70, 1}, {3, 0, 5},
                                    {0, 4, 5},   {33, 63, 64}, {130, 300, 40}};

static void products_agree(void **state) {
    (void)state;
    static const int transposed[] = {1, 0};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(shapes) * countof(all_types) * 4; i++) {
        const int64_t *s = shapes[i / 4 % countof(shapes)];
        dtype t = all_types[i / 4 / countof(shapes)];
        arg args[2] = {check_tensor(&k, t, 2, (const int64_t[]){s[0], s[1]}, i % 2 ? transposed : NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){s[1], s[2]}, i / 2 % 2 ? transposed : NULL)};
        check_agrees(&k, "mm", args, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void batches_agree(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(all_types); i++) {
        arg args[2] = {check_tensor(&k, all_types[i], 3, (const int64_t[]){5, 7, 11}, (const int[]){1, 0, 2}),
                       check_tensor(&k, all_types[i], 3, (const int64_t[]){5, 11, 3}, (const int[]){0, 2, 1})};
        check_agrees(&k, "bmm", args, false);
        for (int side = 1; side >= 0; side--) { /* one matrix for all batches */
            int64_t step = args[side].tensor->strides[0];
            args[side].tensor->strides[0] = 0;
            check_agrees(&k, "bmm", args, false);
            args[side].tensor->strides[0] = step;
        }
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Rows by the thousand of few columns, whose copies are made for some rows at a time, with summands of every kind. */
static void long_products_agree(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_I8};
    static const int64_t rows[] = {8192, 6272, 8190, 4099}, summands[][2] = {{0, 9}, {1, 9}, {0, 1}, {1, 1}}; /* 0: rows */
    static const int turned[] = {1, 0};
    int threads = omp_get_max_threads();
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(types) * countof(rows) * countof(summands); i++) {
        dtype t = types[i / countof(summands) / countof(rows)];
        int64_t m = rows[i / countof(summands) % countof(rows)];
        const int64_t *summand = summands[i % countof(summands)];
        arg args[5] = {check_tensor(&k, t, 2, (const int64_t[]){summand[0] != 0 ? 1 : m, summand[1]}, NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){m, 20}, i % 2 ? turned : NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){20, 9}, i % 3 ? turned : NULL),
                       {.kind = ARG_NUMBER, .number = number_of_int(i % 2 ? 1 : 3)},
                       {.kind = ARG_NUMBER, .number = number_of_int(i % 3 ? 1 : 2)}};
        omp_set_num_threads(1 + (int)i % 3);
        check_agrees(&k, "addmm", args, false);
        check_agrees(&k, "mm", args + 1, false);
        assert_int_equal(omp_get_max_threads(), 1 + (int)i % 3); /* small products run on one, and leave the others there */
        check_drop_tensors(&k);
    }
    omp_set_num_threads(threads);
    check_close(&k);
}

/* More than two threads' caches hold of copies: a few batches at a time, whatever the batches' strides and the summand's. */
static void parts_of_batches_agree(void **state) {
    (void)state;
    static const dtype copied[] = {ASSAY_F16, ASSAY_I8};
    static const int64_t summands[][3] = {{8, 400, 500}, {8, 1, 500}, {1, 400, 1}, {1, 1, 500}};
    int threads = omp_get_max_threads();
    kernel_check k;
    check_open(&k);
    omp_set_num_threads(2);
    for (size_t i = 0; i < countof(copied) * countof(summands); i++) {
        dtype t = copied[i % countof(copied)];
        const int64_t *summand = summands[i / countof(copied)];
        arg a = check_tensor(&k, t, 3, (const int64_t[]){8, 400, 20}, (const int[]){1, 0, 2});
        arg b = check_tensor(&k, t, 3, (const int64_t[]){8, 20, 500}, (const int[]){0, 2, 1});
        arg args[5] = {check_tensor(&k, t, 3, summand, NULL), a, b, {.kind = ARG_NUMBER, .number = number_of_int(2)},
                       {.kind = ARG_NUMBER, .number = number_of_int(3)}};
        check_agrees(&k, "baddbmm", args, false);
        b.tensor->strides[0] = i % 3 == 0 ? 0 : b.tensor->strides[0]; /* one matrix for all batches */
        check_agrees(&k, "bmm", args + 1, false);
        check_drop_tensors(&k);
    }
    omp_set_num_threads(threads);
    check_close(&k);
}

static void sums_agree(void **state) {
    (void)state;
    static const struct {
        int ndim;
        int64_t sizes[2];
        int64_t beta, alpha;
    } cases[] = {{1, {9}, 1, 1}, {1, {9}, 1, 2}, {2, {17, 1}, 2, 1}, {2, {17, 9}, -1, 3}, {0, {0}, 1, 1}, {1, {1}, 0, 1}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases) * countof(all_types); i++) {
        size_t c = i % countof(cases);
        dtype t = all_types[i / countof(cases)];
        arg args[5] = {check_tensor(&k, t, cases[c].ndim, cases[c].sizes, NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){17, 33}, NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){33, 9}, NULL),
                       {.kind = ARG_NUMBER, .number = number_of_int(cases[c].beta)},
                       {.kind = ARG_NUMBER, .number = number_of_int(cases[c].alpha)}};
        check_agrees(&k, "addmm", args, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* The product is 2^53 + 1, which is no double, and the summand or the scaled overflow takes away all but the 1. */
static void integers_are_exact_beyond_doubles(void **state) {
    (void)state;
    static const struct {
        int64_t summand, left, right, beta, alpha;
    } cases[] = {{INT64_C(-9007199254740992), 3, INT64_C(3002399751580331), 1, 1},
                 {INT64_C(9007199254740992), 3, INT64_C(3002399751580331), -1, 1},
                 {INT64_C(-9007199254740993) * 8 + 1, 3, INT64_C(3002399751580331), 1, 8},
                 {1, INT64_C(4294967296), INT64_C(4294967296), 1, 3}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases); i++) {
        const int64_t one[] = {1, 1};
        arg args[5] = {check_tensor(&k, ASSAY_I64, 2, one, NULL), check_tensor(&k, ASSAY_I64, 2, one, NULL),
                       check_tensor(&k, ASSAY_I64, 2, one, NULL), {.kind = ARG_NUMBER, .number = number_of_int(cases[i].beta)},
                       {.kind = ARG_NUMBER, .number = number_of_int(cases[i].alpha)}};
        const int64_t values[] = {cases[i].summand, cases[i].left, cases[i].right};
        for (int t = 0; t < 3; t++) {
            *(int64_t *)tensor_data(args[t].tensor) = values[t];
        }
        op_call call = check_call(&k, "addmm", args);
        outputs out;
        double value = 0, norm = 0;
        ref_ctx ctx;
        assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
        assert_int_equal(ref_init(&ctx, &call, &out, NULL), ASSAY_OK);
        assert_int_equal(ref_run(&ctx, &(ref_request){.n = 1, .value = &value, .norm = &norm}, NULL), ASSAY_OK);
        assert_true(value == 1);
        ref_clear(&ctx);
        outputs_clear(&out);
        check_agrees(&k, "addmm", args, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* A product that counts for nothing leaves the summand, whatever lay in the result's memory. */
static void no_product_leaves_the_summand(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F64};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(types) * 2; i++) {
        dtype t = types[i / 2];
        int64_t depth = i % 2 ? 20 : 1;
        arg args[5] = {check_tensor(&k, t, 1, (const int64_t[]){127}, NULL), check_tensor(&k, t, 2, (const int64_t[]){128, depth}, NULL),
                       check_tensor(&k, t, 2, (const int64_t[]){depth, 127}, NULL), {.kind = ARG_NUMBER, .number = number_of_int(1)},
                       {.kind = ARG_NUMBER, .number = number_of_int(0)}};
        tensor *wide = check_tensor(&k, t, 2, (const int64_t[]){128, 3 * depth}, NULL).tensor;
        args[1].tensor = wide; /* rows that lie apart */
        wide->sizes[1] = depth;
        check_agrees(&k, "addmm", args, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* With beta 0 the summand is not read: its NaN do not show. */
static void beta_zero_reads_nothing(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    arg args[5] = {check_tensor(&k, ASSAY_F32, 1, (const int64_t[]){9}, NULL),
                   check_tensor(&k, ASSAY_F32, 2, (const int64_t[]){4, 33}, NULL),
                   check_tensor(&k, ASSAY_F32, 2, (const int64_t[]){33, 9}, NULL),
                   {.kind = ARG_NUMBER, .number = number_of_int(0)},
                   {.kind = ARG_NUMBER, .number = number_of_int(1)}};
    op_call call = check_call(&k, "addmm", args);
    assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
    agree_poison(args[0].tensor);
    check_agrees(&k, "addmm", args, true);
    check_close(&k);
}

static void bad_products(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    arg a = check_tensor(&k, ASSAY_F32, 2, (const int64_t[]){4, 5}, NULL);
    arg b = check_tensor(&k, ASSAY_F32, 2, (const int64_t[]){6, 3}, NULL);
    arg half = check_tensor(&k, ASSAY_F16, 2, (const int64_t[]){5, 3}, NULL);
    arg vector = check_tensor(&k, ASSAY_F32, 1, (const int64_t[]){5}, NULL);
    check_refused(&k, "mm", (const arg[]){a, b});
    check_refused(&k, "mm", (const arg[]){a, half});
    check_refused(&k, "mm", (const arg[]){a, vector});
    check_refused(&k, "bmm", (const arg[]){a, b});
    check_close(&k);
}

/* --- convolutions --------------------------------------------------------------------------------------------------------- */

typedef struct conv_case {
    int spatial;
    int64_t batch, in, out, size, kernel, stride, pad, dilation, groups, output_pad;
    bool transposed, channels_last;
} conv_case;

static const conv_case convs[] = {
    {2, 2, 4, 6, 9, 3, 1, 1, 1, 1, 0, false, false},  {2, 2, 4, 6, 9, 3, 2, 1, 1, 2, 0, false, true},
    {2, 3, 8, 8, 11, 5, 2, 2, 1, 8, 0, false, false}, {2, 2, 4, 6, 9, 3, 1, 2, 2, 1, 0, false, false},
    {2, 2, 4, 6, 9, 3, 2, 1, 1, 2, 1, true, false},   {1, 2, 4, 6, 9, 3, 1, 1, 1, 1, 0, false, false},
    {3, 2, 4, 6, 5, 3, 1, 0, 1, 1, 0, false, false},  {3, 2, 4, 6, 5, 3, 2, 1, 1, 1, 0, true, true},
    {2, 2, 16, 32, 9, 1, 2, 0, 1, 1, 0, false, true}, {2, 2, 4, 6, 7, 2, 1, 0, 2, 1, 1, true, false},
    {2, 0, 4, 6, 9, 3, 1, 1, 1, 1, 0, false, false},
    /* kernels of one element: windows of several images in a tile, more terms than one sum takes, strides, padding */
    {2, 3, 40, 24, 7, 1, 1, 0, 1, 1, 0, false, false},  {2, 2, 30, 20, 9, 1, 1, 0, 1, 2, 0, false, false},
    {2, 2, 521, 9, 6, 1, 1, 0, 1, 1, 0, false, false},  {2, 2, 24, 16, 9, 1, 2, 0, 1, 1, 0, false, false},
    {2, 2, 24, 16, 9, 1, 1, 1, 1, 1, 0, false, false},  {1, 2, 16, 19, 150, 1, 1, 0, 1, 1, 0, false, false},
    {3, 2, 16, 16, 5, 1, 1, 0, 1, 1, 0, false, false},  {2, 2, 16, 24, 9, 1, 1, 0, 1, 1, 0, true, false},
    {2, 2, 16, 24, 9, 1, 2, 0, 1, 1, 1, true, false},   {2, 9, 17, 50, 17, 1, 1, 0, 1, 1, 0, false, false},
    {2, 8, 40, 16, 5, 1, 1, 0, 1, 2, 0, false, false},  {2, 83, 24, 18, 3, 1, 1, 0, 1, 2, 0, false, false},
    {2, 23, 8, 9, 17, 1, 1, 0, 1, 1, 0, false, false},  {2, 2, 63, 20, 12, 1, 1, 0, 1, 1, 0, false, false},
    {2, 2, 20, 63, 12, 1, 1, 0, 1, 1, 0, false, false}, {1, 2, 16, 19, 63, 1, 1, 0, 1, 1, 0, false, false},
    {2, 2, 16, 1, 12, 1, 1, 0, 1, 1, 0, false, false},
    /* few channels */
    {2, 2, 3, 17, 33, 7, 2, 3, 1, 1, 0, false, false},  {2, 2, 3, 8, 20, 5, 1, 2, 2, 1, 0, false, false},
    {2, 2, 6, 16, 9, 3, 1, 1, 1, 2, 0, false, false},   {3, 1, 3, 8, 7, 3, 1, 1, 1, 1, 0, false, false},
    {2, 2, 1, 8, 60, 3, 1, 1, 1, 1, 0, false, false},   {2, 2, 3, 24, 32, 16, 16, 0, 1, 1, 0, false, false},
    {2, 2, 12, 3, 9, 3, 2, 1, 1, 1, 1, true, false},    {2, 1, 4, 9, 3, 3, 1, 5, 1, 1, 0, false, false},
    /* by Winograd's algorithm: padding, sizes that are no multiple of its tiles, layouts */
    {2, 4, 16, 32, 16, 3, 1, 1, 1, 1, 0, false, false}, {2, 3, 32, 16, 21, 3, 1, 0, 1, 1, 0, false, false},
    {2, 4, 16, 16, 18, 3, 1, 1, 1, 1, 0, false, true},  {2, 4, 32, 16, 17, 3, 1, 1, 1, 1, 0, true, false},
    {2, 1, 16, 48, 33, 3, 1, 1, 1, 1, 0, false, false},
    /* channels each by itself: strips, strides, dilation, more padding than kernel, several channels of one */
    {2, 2, 5, 5, 19, 3, 1, 1, 1, 5, 0, false, false},   {2, 2, 5, 5, 40, 7, 2, 3, 1, 5, 0, false, false},
    {2, 2, 5, 10, 19, 3, 1, 1, 1, 5, 0, false, false},  {2, 2, 5, 5, 19, 3, 2, 2, 2, 5, 0, false, false},
    {2, 2, 5, 5, 20, 2, 3, 0, 1, 5, 0, false, false},   {2, 2, 5, 5, 9, 3, 1, 4, 1, 5, 0, false, false},
    {2, 2, 5, 5, 9, 1, 3, 2, 1, 5, 0, false, false},    {1, 2, 5, 5, 70, 5, 1, 2, 1, 5, 0, false, false},
    {2, 1, 3, 3, 150, 5, 1, 2, 1, 3, 0, false, false},  {2, 1, 3, 3, 150, 3, 2, 1, 1, 3, 0, false, false},
    {2, 2, 5, 5, 9, 3, 2, 1, 1, 5, 1, true, false},     {2, 2, 5, 5, 12, 3, 1, 1, 1, 5, 0, true, false},
    {3, 2, 5, 5, 6, 3, 1, 1, 1, 5, 0, false, false},    {2, 2, 5, 5, 19, 3, 1, 1, 1, 5, 0, false, true},
};

/* The arguments of convolution; lists point into `lists`. */
static void conv_args(kernel_check *k, const conv_case *c, dtype t, int64_t lists[4][3], arg *args) {
    static const int last_4[] = {0, 2, 3, 1}, last_5[] = {0, 2, 3, 4, 1};
    int64_t input[5] = {c->batch, c->in}, weight[5] = {c->out, c->in / c->groups};
    if (c->transposed) {
        weight[0] = c->in;
        weight[1] = c->out / c->groups;
    }
    for (int d = 0; d < c->spatial; d++) {
        input[2 + d] = c->size + d;
        weight[2 + d] = c->kernel;
        lists[0][d] = c->stride;
        lists[1][d] = c->pad;
        lists[2][d] = c->dilation;
        lists[3][d] = c->output_pad;
    }
    const int *order = !c->channels_last ? NULL : c->spatial == 2 ? last_4 : last_5;
    args[0] = check_tensor(k, t, 2 + c->spatial, input, order);
    args[1] = check_tensor(k, t, 2 + c->spatial, weight, NULL);
    args[2] = check_tensor(k, t, 1, &c->out, NULL);
    args[3] = check_ints(c->spatial, lists[0]);
    args[4] = check_ints(c->spatial, lists[1]);
    args[5] = check_ints(c->spatial, lists[2]);
    args[6] = (arg){.kind = ARG_BOOL, .b = c->transposed};
    args[7] = check_ints(c->spatial, lists[3]);
    args[8] = (arg){.kind = ARG_INT, .i = c->groups};
}

static void convolutions_agree(void **state) {
    (void)state;
    static const bool masks[][3] = {{true, true, true}, {true, false, false}, {false, true, false}, {false, false, true}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(convs) * countof(floats); i++) {
        arg args[9], back[11];
        int64_t lists[4][3];
        conv_args(&k, &convs[i / countof(floats)], floats[i % countof(floats)], lists, args);
        check_agrees(&k, "convolution", args, false);
        for (size_t m = 0; m < countof(masks); m++) {
            check_backward_args(&k, args, masks[m], back);
            check_agrees(&k, "convolution_backward", back, false);
        }
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* The library's gradient of weights in bf16 is wrong for some wide images, and never made for others (kernels/cpu/conv.c). */
static void wide_images_agree(void **state) {
    (void)state;
    static const struct {
        int64_t height, width, kernel;
    } images[] = {{8, 400, 3}, {7, 300, 3}, {3, 752, 3}, {4, 752, 3}, {1, 2200, 3}, {24, 120, 7}, {20, 60, 5}};
    static const bool weight_and_bias[] = {false, true, true};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(images); i++) {
        arg args[9], back[11];
        int64_t lists[4][3];
        conv_case c = {2, 1, 3, 4, 1, images[i].kernel, 1, images[i].kernel / 2, 1, 1, 0, false, false};
        conv_args(&k, &c, ASSAY_BF16, lists, args);
        args[0] = check_tensor(&k, ASSAY_BF16, 4, (const int64_t[]){1, 3, images[i].height, images[i].width}, NULL);
        check_backward_args(&k, args, weight_and_bias, back);
        check_agrees(&k, "convolution_backward", back, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Results of over 32 MiB, which f32 kernels of one element store past the caches; and the same without lines to store. */
static void large_results_agree(void **state) {
    (void)state;
    static const int64_t widths[] = {512, 509};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(widths); i++) {
        arg args[9];
        int64_t lists[4][3];
        conv_case c = {2, 2, 3, 20, 1, 1, 1, 0, 1, 1, 0, false, false};
        conv_args(&k, &c, ASSAY_F32, lists, args);
        args[0] = check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){2, 3, 416, widths[i]}, NULL);
        check_agrees(&k, "convolution", args, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Every third column, which no window covers, is NaN: code that reads it beside others must not let it into a result. */
static void what_windows_leave_out_stays_out(void **state) {
    (void)state;
    static const bool mask[] = {true, true, true};
    static const conv_case cases[] = {{2, 2, 5, 5, 20, 2, 3, 0, 1, 5, 0, false, false},
                                      {2, 2, 5, 5, 60, 2, 3, 0, 1, 5, 0, false, false},
                                      {2, 2, 24, 16, 20, 1, 3, 0, 1, 1, 0, false, false},
                                      {2, 2, 3, 16, 110, 2, 3, 0, 1, 1, 0, false, false}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases); i++) {
        arg args[9], back[11];
        int64_t lists[4][3];
        conv_args(&k, &cases[i], ASSAY_F32, lists, args);
        op_call call = check_call(&k, "convolution", args);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        check_backward_args(&k, args, mask, back);
        call = check_call(&k, "convolution_backward", back);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        tensor *x = args[0].tensor;
        for (int64_t at = 0; at < tensor_numel(x); at++) {
            if (at % x->sizes[3] % 3 == 2) {
                ((float *)(void *)tensor_data(x))[at] = NAN;
            }
        }
        check_agrees(&k, "convolution", args, true);
        check_agrees(&k, "convolution_backward", back, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void bad_convolutions(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    conv_case good = convs[0];
    for (int i = 0; i < 6; i++) {
        arg args[9];
        int64_t lists[4][3];
        conv_args(&k, &good, ASSAY_F32, lists, args);
        lists[0][0] = i == 0 ? 0 : lists[0][0];                        /* stride */
        lists[1][1] = i == 1 ? -1 : lists[1][1];                       /* padding */
        lists[2][0] = i == 2 ? INT64_C(1) << 40 : lists[2][0];         /* dilation */
        args[8].i = i == 3 ? 3 : i == 4 ? 0 : i == 5 ? INT64_MAX : 1;  /* groups */
        check_refused(&k, "convolution", args);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree),          cmocka_unit_test(batches_agree),
        cmocka_unit_test(parts_of_batches_agree),  cmocka_unit_test(long_products_agree),
        cmocka_unit_test(sums_agree),              cmocka_unit_test(beta_zero_reads_nothing),
        cmocka_unit_test(no_product_leaves_the_summand), cmocka_unit_test(integers_are_exact_beyond_doubles),
        cmocka_unit_test(bad_products),            cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(bad_convolutions),        cmocka_unit_test(wide_images_agree),
        cmocka_unit_test(large_results_agree),     cmocka_unit_test(what_windows_leave_out_stays_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
