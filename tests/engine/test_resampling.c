/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling and grid sampling: kernels against references in every type and layout, known answers, bad input. */
#include "engine/image_kit.h"

#include <math.h>
#include <omp.h>
#include <string.h>

typedef struct scale_case {
    int64_t out[2];
    double factors[2]; /* 0: by size */
} scale_case;

static const scale_case scales[] = {{{26, 22}, {0, 0}}, {{13, 11}, {0, 0}},     {{7, 50}, {0, 0}},
                                    {{26, 22}, {2, 2}}, {{32, 14}, {2.5, 1.3}}, {{9, 4}, {0.7, 0.4}},
                                    {{52, 44}, {0, 0}}, {{39, 33}, {0, 0}},     {{104, 88}, {0, 0}},
                                    {{130, 110}, {0, 0}}, {{5, 3}, {0, 0}}};

static void upsampling_agrees(void **state) {
    (void)state;
    static const char *const names[] = {"upsample_nearest2d.vec", "upsample_bilinear2d.vec", "upsample_bicubic2d.vec"};
    static const char *const backs[] = {"upsample_nearest2d_backward.vec", "upsample_bilinear2d_backward.vec", NULL};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(scales) * countof(floats) * 12; i++) {
        const scale_case *c = &scales[i / 12 / countof(floats)];
        const int *order = i & 1 ? channels_last : NULL;
        size_t mode = i / 4 % 3;
        arg x = check_tensor(&k, floats[i / 12 % countof(floats)], 4, pools[0].sizes, order), none = {.kind = ARG_NONE};
        arg size = c->factors[0] > 0 ? none : check_ints(2, c->out);
        arg factors = c->factors[0] > 0 ? (arg){.kind = ARG_FLOATS, .n = 2, .floats = c->factors} : none;
        arg align = a_bool(i & 2), in = check_ints(4, pools[0].sizes);
        arg nearest[] = {x, size, factors}, other[] = {x, size, align, factors};
        const arg *args = mode == 0 ? nearest : other;
        check_agrees(&k, names[mode], args, false);
        arg grad = gradient_of(&k, names[mode], args, order);
        arg nearest_back[] = {grad, size, in, factors}, other_back[] = {grad, size, in, align, factors};
        if (backs[mode] != NULL) {
            check_agrees(&k, backs[mode], mode == 0 ? nearest_back : other_back, false);
        }
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* 4 x 4 counting up, doubled and more: values that PyTorch 2.15 gives for row 1. */
static void known_interpolation(void **state) {
    (void)state;
    static const float by_halves[] = {0.4F, 0.9F, 1.566667F, 2.233333F, 2.9F, 3.4F};
    static const double factors[] = {2.5, 1.5};
    kernel_check k;
    check_open(&k);
    arg args[4] = {check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){1, 1, 4, 4}, NULL), {.kind = ARG_NONE}, a_bool(false),
                   {.kind = ARG_FLOATS, .n = 2, .floats = factors}};
    for (int i = 0; i < 16; i++) {
        ((float *)tensor_data(args[0].tensor))[i] = (float)i;
    }
    op_call call = check_call(&k, "upsample_bilinear2d.vec", args);
    outputs out;
    arena memory = {0};
    assert_int_equal(run_kernel(&k, &call, &out, &memory), ASSAY_OK);
    assert_int_equal(out.items[0].sizes[2], 10);
    for (int i = 0; i < 6; i++) {
        assert_float_equal(((float *)tensor_data(&out.items[0]))[6 + i], by_halves[i], 1e-5F);
    }
    outputs_clear(&out);
    arena_clear(&memory);
    check_close(&k);
}

static void grids_agree(void **state) {
    (void)state;
    static const bool masks[][2] = {{true, true}, {false, true}};
    kernel_check k;
    check_open(&k);
    static const int64_t many_planes[] = {1, 11, 6, 9}; /* planes by eights, and some left over */
    for (size_t i = 0; i < countof(floats) * 72; i++) {
        dtype t = floats[i / 72];
        const int64_t *sizes = i / 36 % 2 ? many_planes : pools[0].sizes;
        arg x = check_tensor(&k, t, 4, sizes, i & 1 ? channels_last : NULL);
        arg grid = check_tensor(&k, t, 4, (const int64_t[]){sizes[0], 6, 7, 2}, NULL);
        arg args[5] = {x, grid, {.kind = ARG_INT, .i = (int64_t)(i / 4 % 3)}, {.kind = ARG_INT, .i = (int64_t)(i / 12 % 3)},
                       a_bool(i & 2)};
        check_agrees(&k, "grid_sampler_2d", args, false);
        arg grad = gradient_of(&k, "grid_sampler_2d", args, NULL);
        arg mask = {.kind = ARG_BOOLS, .n = 2, .bools = masks[i & 1]};
        check_agrees(&k, "grid_sampler_2d_backward", (const arg[]){grad, x, grid, args[2], args[3], args[4], mask}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Fewer groups of planes than threads: each thread takes images of its own, or one more than another, or points of each. */
static void images_are_shared_out(void **state) {
    (void)state;
    static const int64_t images[][4] = {{3, 16, 6, 9}, {3, 1, 20, 30}};
    int threads = omp_get_max_threads();
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(floats) * 16; i++) {
        dtype t = floats[i / 16];
        omp_set_num_threads(i & 8 ? 5 : threads);
        const int64_t *sizes = images[i & 1];
        arg x = check_tensor(&k, t, 4, sizes, NULL), grid = check_tensor(&k, t, 4, (const int64_t[]){3, 96, 70, 2}, NULL);
        arg args[5] = {x, grid, {.kind = ARG_INT, .i = i / 2 % 2}, {.kind = ARG_INT, .i = i / 4 % 2}, a_bool(false)};
        check_agrees(&k, "grid_sampler_2d", args, false);
        arg grad = gradient_of(&k, "grid_sampler_2d", args, NULL), mask = {.kind = ARG_BOOLS, .n = 2, .bools = (const bool[]){true, true}};
        check_agrees(&k, "grid_sampler_2d_backward", (const arg[]){grad, x, grid, args[2], args[3], args[4], mask}, false);
        check_drop_tensors(&k);
    }
    omp_set_num_threads(threads);
    check_close(&k);
}

/* More points than a table has, which end within rows, and planes of more elements than points have taps. */
static void points_in_blocks_agree(void **state) {
    (void)state;
    static const int64_t cases[][6] = {{2, 1, 4, 5, 270, 250}, {1, 2, 3, 4, 2, 35000}, {2, 3, 90, 110, 6, 7}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases) * countof(floats) * 2; i++) {
        const int64_t *c = cases[i / 2 % countof(cases)];
        dtype t = floats[i / 2 / countof(cases)];
        arg x = check_tensor(&k, t, 4, c, i & 1 ? channels_last : NULL);
        arg grid = check_tensor(&k, t, 4, (const int64_t[]){c[0], c[4], c[5], 2}, NULL);
        arg args[] = {x, grid, {.kind = ARG_INT, .i = i & 1}, {.kind = ARG_INT, .i = 2}, a_bool(false)};
        check_agrees(&k, "grid_sampler_2d", args, false);
        arg grad = gradient_of(&k, "grid_sampler_2d", args, NULL), mask = {.kind = ARG_BOOLS, .n = 2, .bools = (const bool[]){i & 1, true}};
        check_agrees(&k, "grid_sampler_2d_backward", (const arg[]){grad, x, grid, args[2], args[3], args[4], mask}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Bytes that a plan takes for itself. */
static size_t plan_bytes(kernel_check *k, const char *name, const arg *args) {
    op_call call = check_call(k, name, args);
    outputs out;
    arena memory = {0};
    kernel_plan plan = {.call = &call, .out = &out, .memory = &memory};
    assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
    assert_int_equal(kernel_find_cpu(k->kernels, call.op)->prepare(&plan, NULL), ASSAY_OK);
    size_t bytes = memory.used_bytes;
    arena_clear(&memory);
    outputs_clear(&out);
    return bytes;
}

/* What a plan takes goes neither with a plane that a few points are of nor with the number of points. */
static void grids_take_little(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(floats) * 2; i++) {
        dtype t = floats[i / 2];
        const int64_t large[] = {1, 2, 1500, 1400}, small[] = {1, 2, 3, 4};
        arg x = check_tensor(&k, t, 4, i & 1 ? large : small, channels_last);
        arg grid = check_tensor(&k, t, 4, i & 1 ? (const int64_t[]){1, 30, 30, 2} : (const int64_t[]){1, 1500, 1400, 2}, NULL);
        arg args[] = {x, grid, {.kind = ARG_INT, .i = 0}, {.kind = ARG_INT, .i = 2}, a_bool(false)};
        assert_true(plan_bytes(&k, "grid_sampler_2d", args) < (size_t)(i & 1 ? 1 << 20 : 24 << 20));
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* All points of a grid in one place, near an edge between elements as well: what falls on few elements is a sum of many terms,
   and a position that is off by its rounding moves them all the same way. */
static void points_in_one_place_agree(void **state) {
    (void)state;
    static const double places[][2] = {{0, 0}, {0.3125, -0.71875}, {0.0078130, 0.0117193}, {-0.9843740, 0.9921870}};
    enum { ROWS = 512, COLUMNS = 384 };
    static const int64_t images[][4] = {{1, 2, 8, 9}, {2, 1, 64, 128}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(floats) * countof(places) * 4; i++) {
        dtype t = floats[i / countof(places) / 4];
        const int64_t *sizes = images[i & 1];
        arg x = check_tensor(&k, t, 4, sizes, NULL), grid = check_tensor(&k, t, 4, (const int64_t[]){sizes[0], ROWS, COLUMNS, 2}, NULL);
        arg grad = check_tensor(&k, t, 4, (const int64_t[]){sizes[0], sizes[1], ROWS, COLUMNS}, NULL);
        arg mask = {.kind = ARG_BOOLS, .n = 2, .bools = (const bool[]){true, true}};
        arg args[] = {grad, x, grid, {.kind = ARG_INT, .i = i & 2 ? 2 : 0}, {.kind = ARG_INT, .i = (int64_t)(i % 3)}, a_bool(i & 4), mask};
        op_call call = check_call(&k, "grid_sampler_2d_backward", args);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        for (int64_t at = 0; at < tensor_numel(grid.tensor); at++) {
            element_store(t, tensor_data(grid.tensor) + at * (int64_t)dtype_size(t), places[i / 4 % countof(places)][at & 1]);
        }
        check_agrees(&k, "grid_sampler_2d_backward", args, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* The same number everywhere has no slope: what is left is rounding, and judged as that. */
static void plain_images_have_no_slope(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(floats) * 9; i++) {
        dtype t = floats[i / 9];
        arg x = check_tensor(&k, t, 4, (const int64_t[]){2, 3, 8, 9}, NULL), grid = check_tensor(&k, t, 4, (const int64_t[]){2, 6, 7, 2}, NULL);
        arg grad = check_tensor(&k, t, 4, (const int64_t[]){2, 3, 6, 7}, NULL);
        x.tensor->strides[2] = x.tensor->strides[3] = 0;
        arg mask = {.kind = ARG_BOOLS, .n = 2, .bools = (const bool[]){true, true}};
        check_agrees(&k, "grid_sampler_2d_backward", (const arg[]){grad, x, grid, {.kind = ARG_INT, .i = (int64_t)(i % 3)},
                                                                   {.kind = ARG_INT, .i = (int64_t)(i / 3 % 3)}, a_bool(false), mask}, false);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Coordinates far away or not numbers read nothing out of bounds. */
static void wild_coordinates(void **state) {
    (void)state;
    static const double wild[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e9};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(wild) * 9; i++) {
        arg args[5] = {check_tensor(&k, ASSAY_F32, 4, pools[0].sizes, NULL),
                       check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){2, 2, 3, 2}, NULL),
                       {.kind = ARG_INT, .i = (int64_t)(i % 3)}, {.kind = ARG_INT, .i = (int64_t)(i / 3 % 3)}, a_bool(false)};
        op_call call = check_call(&k, "grid_sampler_2d", args);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        for (int j = 0; j < 24; j += 3) {
            ((float *)tensor_data(args[1].tensor))[j] = (float)wild[i / 9];
        }
        check_agrees(&k, "grid_sampler_2d", args, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Up to seven planes, whose points are sampled together; what a row of the grid has behind its end, where there is something, is skipped.
   Some coordinates are no numbers or far outside, and some of the image's edge is not finite, which no point outside may see. */
static void grids_of_few_planes_agree(void **state) {
    (void)state;
    static const int64_t cases[][6] = {{3, 3, 9, 7, 11, 13}, {2, 1, 1, 5, 3, 131}, {2, 7, 6, 1, 5, 3}, {1, 5, 33, 41, 34, 61},
                                       {2, 4, 2, 2, 90, 131}, {5, 2, 20, 30, 50, 60}, {1, 3, 4, 4, 0, 9}};
    static const double wild[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 3, -3, 1, -1, 1.01, -1.01};
    static const bool masks[][2] = {{false, true}, {true, true}, {true, false}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(cases) * countof(floats) * 24; i++) {
        const int64_t *c = cases[i / 24 / countof(floats)];
        dtype t = floats[i / 12 % countof(floats)];
        int64_t size = (int64_t)dtype_size(t), gap = i & 1 ? 3 : 0;
        arg x = check_tensor(&k, t, 4, c, NULL), grid = check_tensor(&k, t, 4, (const int64_t[]){c[0], c[4], c[5] + gap, 2}, NULL);
        grid.tensor->sizes[2] -= gap;
        arg args[5] = {x, grid, {.kind = ARG_INT, .i = i / 12 / countof(floats) % 2}, {.kind = ARG_INT, .i = (int64_t)(i / 4 % 3)}, a_bool(i & 2)};
        op_call call = check_call(&k, "grid_sampler_2d", args);
        arg grad = gradient_of(&k, "grid_sampler_2d", args, NULL), mask = {.kind = ARG_BOOLS, .n = 2, .bools = masks[i % 3]};
        arg back_args[] = {grad, x, grid, args[2], args[3], args[4], mask};
        check_agrees(&k, "grid_sampler_2d_backward", back_args, false);
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, NULL), ASSAY_OK);
        for (int64_t at = 0; at < c[0] * c[4] * (c[5] + gap) * 2; at += 5) {
            element_store(t, tensor_data(grid.tensor) + at * size, wild[at / 5 % (int64_t)countof(wild)]);
        }
        check_agrees(&k, "grid_sampler_2d", args, true);
        check_agrees(&k, "grid_sampler_2d_backward", back_args, true);
        for (int64_t at = 0; at < tensor_numel(x.tensor); at += c[3]) {
            element_store(t, tensor_data(x.tensor) + at * size, INFINITY);
        }
        check_agrees(&k, "grid_sampler_2d", args, true);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Nothing of an image whose every element is infinite is seen from outside. */
static void outside_is_zero(void **state) {
    (void)state;
    kernel_check k;
    check_open(&k);
    for (int64_t channels = 1; channels < 10; channels++) {
        arg args[5] = {check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){1, channels, 5, 6}, NULL),
                       check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){1, 5, 8, 2}, NULL),
                       {.kind = ARG_INT, .i = 0}, {.kind = ARG_INT, .i = 0}, a_bool(channels & 1)};
        for (int64_t i = 0; i < channels * 30; i++) {
            ((float *)tensor_data(args[0].tensor))[i] = INFINITY;
        }
        for (int i = 0; i < 80; i++) { /* one of the two is outside, by more than a pixel */
            ((float *)tensor_data(args[1].tensor))[i] = i % 2 == i / 2 % 2 ? 0.3F : i % 3 ? 1.7F : -1.7F;
        }
        op_call call = check_call(&k, "grid_sampler_2d", args);
        outputs out;
        arena memory = {0};
        assert_int_equal(run_kernel(&k, &call, &out, &memory), ASSAY_OK);
        for (int64_t i = 0; i < channels * 40; i++) {
            assert_true(((float *)tensor_data(&out.items[0]))[i] == 0);
        }
        outputs_clear(&out);
        arena_clear(&memory);
        check_drop_tensors(&k);
    }
    check_close(&k);
}

/* Channels side by side: few and many, and those of one image, whose strides do not say so, so that the output's are not. */
static void channels_inside_agree(void **state) {
    (void)state;
    static const char *const names[] = {"upsample_nearest2d.vec", "upsample_bilinear2d.vec", "upsample_bicubic2d.vec"};
    static const char *const backs[] = {"upsample_nearest2d_backward.vec", "upsample_bilinear2d_backward.vec", NULL};
    static const int64_t channels[] = {2, 3, 7, 8, 9, 33}, outs[][2] = {{13, 21}, {18, 22}, {4, 5}, {70, 90}, {9, 11}};
    kernel_check k;
    check_open(&k);
    for (size_t i = 0; i < countof(channels) * countof(floats) * countof(outs) * 6; i++) {
        size_t mode = i % 3, which = i / 6;
        bool is_odd = i & 1;
        int64_t c = channels[which % countof(channels)], sizes[] = {is_odd ? 1 : 2, c, 9, 11};
        const int64_t *to = outs[which / countof(channels) % countof(outs)];
        arg x = check_tensor(&k, floats[which / countof(channels) / countof(outs)], 4, sizes, channels_last), none = {.kind = ARG_NONE};
        if (is_odd) {
            x.tensor->strides[0] = c;
        }
        arg nearest[] = {x, check_ints(2, to), none}, other[] = {x, check_ints(2, to), a_bool(which & 1), none};
        const arg *args = mode == 0 ? nearest : other;
        check_agrees(&k, names[mode], args, false);
        arg grad = gradient_of(&k, names[mode], args, channels_last), in = check_ints(4, sizes);
        if (is_odd) {
            grad.tensor->strides[0] = c;
        }
        arg nearest_back[] = {grad, check_ints(2, to), in, none}, other_back[] = {grad, check_ints(2, to), in, a_bool(which & 1), none};
        if (backs[mode] != NULL) {
            check_agrees(&k, backs[mode], mode == 0 ? nearest_back : other_back, false);
        }
        check_drop_tensors(&k);
    }
    check_close(&k);
}

static void bad_resampling(void **state) {
    (void)state;
    static const int64_t zero[] = {0, 3}, one_item[] = {3}, fine[] = {3, 3};
    static const double huge[] = {1e300, 2}, negative[] = {-1, 1};
    kernel_check k;
    check_open(&k);
    arg x = check_tensor(&k, ASSAY_F32, 4, pools[0].sizes, NULL), none = {.kind = ARG_NONE};
    arg ints = check_tensor(&k, ASSAY_I64, 4, pools[0].sizes, NULL);
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){x, check_ints(2, zero), none});
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){x, check_ints(1, one_item), none});
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){x, none, none});
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){ints, check_ints(2, fine), none});
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){x, none, {.kind = ARG_FLOATS, .n = 2, .floats = huge}});
    check_refused(&k, "upsample_nearest2d.vec", (const arg[]){x, none, {.kind = ARG_FLOATS, .n = 2, .floats = negative}});
    arg mode = {.kind = ARG_INT, .i = 3}, padding = {.kind = ARG_INT, .i = 0};
    arg grid = check_tensor(&k, ASSAY_F32, 4, (const int64_t[]){2, 6, 7, 2}, NULL);
    check_refused(&k, "grid_sampler_2d", (const arg[]){x, grid, mode, padding, a_bool(true)});
    check_refused(&k, "grid_sampler_2d", (const arg[]){x, x, padding, padding, a_bool(true)});
    check_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upsampling_agrees),
        cmocka_unit_test(known_interpolation),
        cmocka_unit_test(grids_agree),
        cmocka_unit_test(images_are_shared_out),
        cmocka_unit_test(wild_coordinates),
        cmocka_unit_test(plain_images_have_no_slope),
        cmocka_unit_test(points_in_one_place_agree),
        cmocka_unit_test(points_in_blocks_agree),
        cmocka_unit_test(grids_take_little),
        cmocka_unit_test(grids_of_few_planes_agree),
        cmocka_unit_test(outside_is_zero),
        cmocka_unit_test(channels_inside_agree),
        cmocka_unit_test(bad_resampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
