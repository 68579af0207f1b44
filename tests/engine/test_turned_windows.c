/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that turn round what lies channels last and look beyond its edges: columns of windows, and what is padded. Against the reference:
   channels that fill no tile, windows, strides and holes of all kinds, types, padding that is no 0, and what is computed from it. */
#include "engine/compiled_cases.h"

#include <string.h>

/* Adds a program; says whether it turns what it reads, and only where lanes may look. */
static void add(const char *source, bool is_turned) {
    arena memory = {0};
    compiled_program made;
    graph *g = cases_add(&cases, source);
    assert_int_equal(compile_graph(&memory, g, &(compile_options){0}, &made, NULL), ASSAY_OK);
    if ((strstr(made.source, "lanes_to - lanes_from, ") != NULL) != is_turned) {
        print_error("%s in\n%s", is_turned ? "nothing is turned" : "something is turned", source);
        assert_true(false);
    }
    arena_clear(&memory);
}

typedef struct windows {
    int channels, height, width, kernel, hole, pad, step;
} windows;

static const windows shapes[] = {
    {3, 9, 14, 3, 1, 1, 2},  {17, 20, 33, 3, 1, 1, 1}, {33, 7, 70, 3, 2, 2, 1}, {64, 20, 33, 2, 1, 1, 3}, {70, 3, 140, 3, 1, 1, 1},
    {32, 28, 28, 3, 1, 1, 2}, {40, 14, 14, 5, 1, 2, 1},  {5, 30, 17, 1, 1, 3, 1},
};

static void columns_of_windows(void **state) {
    static const char *const types[] = {"f32", "f16", "f64"};
    (void)state;
    for (size_t i = 0; i < countof(shapes) * countof(types); i++) {
        const windows *w = &shapes[i % countof(shapes)];
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source,
                 "graph windows\n%%x = input(T([2, %d, %d, %d], %s, stride=(%d, 1, %d, %d)))\n"
                 "%%y = im2col(%%x, [%d, %d], [%d, %d], [%d, %d], [%d, %d])\nreturn %%y\n",
                 w->channels, w->height, w->width, types[i / countof(shapes)], w->channels * w->height * w->width, w->width * w->channels,
                 w->channels, w->kernel, w->kernel, w->hole, w->hole, w->pad, w->pad, w->step, w->step);
        add(source, true);
    }
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

static void what_is_padded(void **state) {
    static const char *const forms[] = {
        "graph rows\n%x = input(T([4, 50, 40], f32, stride=(2000, 1, 50)))\n%y = constant_pad_nd(%x, [1, 3], 0.0)\nreturn %y\n",
        "graph number\n%x = input(T([3, 37, 90], f32, stride=(3330, 1, 37)))\n%y = constant_pad_nd(%x, [5, 0], -1.5)\nreturn %y\n",
        "graph fewer\n%x = input(T([3, 37, 90], u8, stride=(3330, 1, 37)))\n%y = constant_pad_nd(%x, [-5, 2], 7)\nreturn %y\n",
        ("graph more\n%x = input(T([4, 50, 40], f32, stride=(2000, 1, 50)))\n%p = constant_pad_nd(%x, [2, 2], 0.5)\n"
         "%y = mul.Tensor(%p, %p)\nreturn %y\n"),
    };
    (void)state;
    for (size_t i = 0; i < countof(forms); i++) {
        add(forms[i], true);
    }
    add("graph dense\n%x = input(T([4, 50, 40], f32))\n%y = constant_pad_nd(%x, [1, 3], 0.0)\nreturn %y\n", false);
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_of_windows), cmocka_unit_test(what_is_padded)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
