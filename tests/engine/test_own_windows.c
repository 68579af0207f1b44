/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's own convolutions by windows of 3 x 3 against the reference: images that tiles do not divide, narrow and long ones, many
   small ones, what is fused before and behind, types and strides; gradients. All graphs of a test are one module. */
#include "engine/own_kit.h"

#include <string.h>

/* With so many threads to share tiles out to, its one product is made of tiles. */
static void goes_by_tiles(const graph *g, int n_threads) {
    arena memory = {0};
    compiled_program made;
    const compile_options options = {.own_products = true, .n_threads = n_threads};
    assert_int_equal(compile_graph(&memory, g, &options, &made, NULL), ASSAY_OK);
    assert_non_null(strstr(made.source, "winograd_results(sums"));
    arena_clear(&memory);
}

static void add(const char *source) {
    graph *g = cases_add(&cases, source);
    goes_by_tiles(g, 1);
    goes_by_tiles(g, 3);
}

static void check_all(void) {
    cases_check(&cases, own);
    cases_forget(&cases);
}

typedef struct image_shape {
    int n, channels, columns, height, width, pad_down, pad_across;
} image_shape;

static const image_shape shapes[] = {
    {1, 16, 20, 33, 33, 1, 1}, {2, 32, 64, 23, 30, 1, 1}, {1, 48, 70, 34, 37, 0, 0},  {5, 16, 17, 16, 15, 2, 1},
    {1, 16, 16, 5, 300, 1, 0}, {300, 16, 16, 2, 2, 1, 1}, {1, 16, 130, 600, 3, 2, 1}, {3, 144, 33, 20, 21, 1, 2},
};

static const char *const types[] = {"f32", "bf16", "f16"};

static void shapes_and_types(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t s = 0; s < countof(shapes); s++) {
            const image_shape *i = &shapes[s];
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph windows\n%%x = input(T([%d, %d, %d, %d], %s))\n%%w = input(T([%d, %d, 3, 3], %s))\n%%b = input(T([%d], %s))\n"
                     "%%y = convolution(%%x, %%w, %%b, [1, 1], [%d, %d], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
                     i->n, i->channels, i->height, i->width, types[t], i->columns, i->channels, types[t], i->columns, types[t], i->pad_down,
                     i->pad_across);
            add(source);
        }
    }
    check_all();
}

/* Norms and activations; what padding shows where it is not 0; a residual; an image that is a part of another; weights turned round. */
static void what_is_around_them(void **state) {
    (void)state;
    static const char *const forms[] = {
        "graph before\n%%x = input(T([2, 32, 24, 23], %s))\n%%w = input(T([24, 32, 3, 3], %s))\n%%a = input(T([1, 32, 1, 1], %s))\n"
        "%%s = mul.Tensor(%%x, %%a)\n%%t = sub.Tensor(%%s, 0.25)\n%%r = relu(%%t)\n"
        "%%y = convolution(%%r, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
        "graph behind\n%%x = input(T([2, 32, 24, 23], %s))\n%%w = input(T([24, 32, 3, 3], %s))\n%%r = input(T([2, 24, 24, 23], %s))\n"
        "%%p = convolution(%%x, %%w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n%%s = add.Tensor(%%p, %%r)\n%%y = silu(%%s)\n"
        "return %%y, %%p\n",
        "graph beside\n%%x = input(T([2, 16, 24, 23], %s))\n%%w = input(T([24, 16, 3, 3], %s))\n%%b = input(T([24], %s))\n"
        "%%p = constant_pad_nd(%%x, [1, 2, 3, 1], 0.5)\n"
        "%%y = convolution(%%p, %%w, %%b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
        "graph part\n%%x = input(T([2, 40, 28, 40], %s))\n%%w = input(T([16, 32, 3, 3], %s))\n%%b = input(T([16], %s))\n"
        "%%c = slice.Tensor(%%x, 1, 5, 37)\n%%d = slice.Tensor(%%c, 3, 1, 40, 2)\n"
        "%%y = convolution(%%d, %%w, %%b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
        "graph turned\n%%x = input(T([1, 32, 36, 36], %s))\n%%w = input(T([32, 20, 3, 3], %s))\n%%b = input(T([20], %s))\n"
        "%%t = transpose.int(%%w, 0, 1)\n%%f = flip(%%t, [2, 3])\n"
        "%%y = convolution(%%x, %%f, %%b, [1, 1], [2, 2], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
    };
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, forms[f], types[t], types[t], types[t]);
            add(source);
        }
    }
    check_all();
}

/* The input's gradient, alone and beside what the library computes of the same call; with padding that leaves windows outside. */
static void gradients(void **state) {
    (void)state;
    static const image_shape gradient_shapes[] = {
        {1, 20, 16, 33, 33, 1, 1}, {2, 24, 32, 23, 30, 0, 2}, {1, 17, 48, 31, 37, 4, 3}, {300, 16, 16, 4, 3, 1, 0}, {2, 70, 64, 28, 28, 1, 1},
    };
    static const char *const masks[] = {"True, False, False", "True, True, False", "True, True, True", "True, False, True"};
    static const char *const returned[] = {"%a", "%a, %b", "%a, %b, %c", "%a, %c"};
    static const char *const named[] = {"%a, _, _", "%a, %b, _", "%a, %b, %c", "%a, _, %c"};
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t s = 0; s < countof(gradient_shapes); s++) {
            const image_shape *i = &gradient_shapes[s];
            size_t mask = (s + t) % countof(masks);
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph gradients\n%%g = input(T([%d, %d, %d, %d], %s))\n%%x = input(T([%d, %d, %d, %d], %s))\n"
                     "%%w = input(T([%d, %d, 3, 3], %s))\n"
                     "%s = convolution_backward(%%g, %%x, %%w, [%d], [1, 1], [%d, %d], [1, 1], False, [0, 0], 1, [%s])\nreturn %s\n",
                     i->n, i->columns, i->height + 2 * i->pad_down - 2, i->width + 2 * i->pad_across - 2, types[t], i->n, i->channels,
                     i->height, i->width, types[t], i->columns, i->channels, types[t], named[mask], i->columns, i->pad_down, i->pad_across,
                     masks[mask], returned[mask]);
            add(source);
        }
    }
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_and_types),
        cmocka_unit_test(what_is_around_them),
        cmocka_unit_test(gradients),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
