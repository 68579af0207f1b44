/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at windows by way of a copy within a frame, against the reference: windows, strides and holes of all kinds, images
   of which several tasks have parts, types, and what is fused before and behind. All graphs of a test are one module. */
#include "engine/own_kit.h"

#include <string.h>

/* Adds a program; says whether it has a frame, with so many threads to share tasks out to, and whether several tasks share an image. */
static void add(const char *source, int n_threads, bool is_framed, bool is_parted) {
    arena memory = {0};
    compiled_program made;
    const compile_options options = {.own_products = true, .n_threads = n_threads};
    graph *g = cases_add(&cases, source);
    assert_int_equal(compile_graph(&memory, g, &options, &made, NULL), ASSAY_OK);
    bool framed = strstr(made.source, " frame[") != NULL, parted = strstr(made.source, "const int64_t above") != NULL;
    if (framed != is_framed || parted != is_parted) {
        print_error("%s frame, image %s in\n%s", framed ? "a" : "no", parted ? "in parts" : "whole", source);
        assert_true(false);
    }
    arena_clear(&memory);
}

static void check_all(void) {
    cases_check(&cases, own);
    cases_forget(&cases);
}

typedef struct windows {
    int n, channels, height, width, kernel_down, kernel_across, step_down, step_across, pad_down, pad_across, hole_down, hole_across;
    bool is_framed, is_parted;
} windows;

static const windows shapes[] = {
    {2, 6, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, true, false},    {2, 5, 19, 37, 3, 3, 1, 1, 2, 2, 2, 2, true, false},
    {1, 3, 21, 40, 5, 5, 2, 2, 2, 2, 1, 1, true, false},    {3, 4, 17, 18, 5, 6, 2, 2, 3, 2, 2, 1, true, false},
    {2, 3, 14, 33, 5, 5, 1, 3, 2, 2, 1, 1, true, false},    {2, 3, 40, 23, 6, 5, 3, 1, 2, 1, 1, 1, true, false},
    {8, 9, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, true, false},      {1, 2, 301, 64, 3, 3, 1, 1, 1, 1, 1, 1, true, true},
    {1, 2, 290, 90, 5, 5, 2, 2, 4, 1, 2, 2, true, true},    {2, 3, 12, 50, 1, 9, 1, 1, 0, 4, 1, 1, true, false},
    {1, 3, 13, 24, 3, 3, 1, 1, 0, 1, 1, 1, false, false},    {1, 3, 5, 24, 3, 3, 1, 1, 6, 5, 1, 1, true, false},
    {2, 6, 20, 20, 3, 3, 2, 2, 1, 1, 1, 1, false, false},   {2, 6, 20, 20, 3, 3, 1, 1, 0, 0, 1, 1, false, false},
    {2, 6, 9, 3, 3, 3, 1, 1, 1, 1, 1, 1, false, false},
};

static const char *const types[] = {"f32", "bf16", "f16"};

static void windows_of_all_kinds(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t s = 0; s < countof(shapes); s++) {
            const windows *w = &shapes[s];
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph frames\n%%x = input(T([%d, %d, %d, %d], %s))\n%%w = input(T([%d, 1, %d, %d], %s))\n%%b = input(T([%d], %s))\n"
                     "%%y = convolution(%%x, %%w, %%b, [%d, %d], [%d, %d], [%d, %d], False, [0, 0], %d)\nreturn %%y\n",
                     w->n, w->channels, w->height, w->width, types[t], w->channels, w->kernel_down, w->kernel_across, types[t], w->channels,
                     types[t], w->step_down, w->step_across, w->pad_down, w->pad_across, w->hole_down, w->hole_across, w->channels);
            add(source, 1, w->is_framed, w->is_parted);
        }
    }
    check_all();
}

/* Rows, and images within images; functions of what is looked at and of results; padding that is no 0; a chain behind a product. */
static void what_is_around_them(void **state) {
    (void)state;
    static const char *const forms[] = {
        "graph row\n%%x = input(T([2, 8, 300], %s))\n%%w = input(T([8, 1, 31], %s))\n"
        "%%y = convolution(%%x, %%w, None, [1], [15], [1], False, [0], 8)\nreturn %%y\n",
        "graph deep\n%%x = input(T([2, 4, 5, 12, 14], %s))\n%%w = input(T([4, 1, 3, 3, 3], %s))\n"
        "%%y = convolution(%%x, %%w, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 4)\nreturn %%y\n",
        "graph fused\n%%x = input(T([2, 8, 24, 23], %s))\n%%w = input(T([8, 1, 3, 3], %s))\n%%a = mul.Tensor(%%x, 1.5)\n%%r = relu(%%a)\n"
        "%%p = convolution(%%r, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 8)\n%%y = silu(%%p)\nreturn %%y\n",
        "graph wide\n%%x = input(T([1, 4, 11, 100], %s))\n%%w = input(T([4, 1, 3, 3], %s))\n"
        "%%p = convolution(%%x, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)\n%%s = gelu(%%p)\n%%y = sin(%%s)\nreturn %%y, %%p\n",
        "graph parts\n%%x = input(T([2, 8, 22, 40], %s))\n%%w = input(T([4, 1, 3, 3], %s))\n%%c = slice.Tensor(%%x, 1, 3, 7)\n"
        "%%d = slice.Tensor(%%c, 3, 1, 40, 2)\n%%p = convolution(%%d, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)\n"
        "%%y = add.Tensor(%%p, %%d)\nreturn %%y\n",
        "graph chain\n%%x = input(T([4, 16, 18, 18], %s))\n%%w = input(T([16, 1, 3, 3], %s))\n%%v = slice.Tensor(%%w, 2, 0, 1)\n"
        "%%u = slice.Tensor(%%v, 3, 0, 1)\n%%e = expand(%%u, [16, 16, 1, 1])\n"
        "%%a = convolution(%%x, %%e, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n%%h = hardswish(%%a)\n"
        "%%p = convolution(%%h, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 16)\n%%y = relu(%%p)\nreturn %%y\n",
    };
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, forms[f], types[t], types[t]);
            add(source, 1, true, false);
        }
    }
    check_all();
}

/* Where there are threads for more tasks than images these are cut. */
static void images_are_shared_out(void **state) {
    (void)state;
    add("graph shared\n%x = input(T([1, 2, 64, 40], f32))\n%w = input(T([2, 1, 3, 3], f32))\n"
        "%y = convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)\nreturn %y\n",
        2, true, true);
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_all_kinds),
        cmocka_unit_test(what_is_around_them),
        cmocka_unit_test(images_are_shared_out),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
