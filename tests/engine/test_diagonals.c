/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles, whose rows are parted where the diagonal goes through them, against the reference: diagonals of all rows, types, and what is
   fused before and behind. All graphs of a test are one module. */
#include "engine/own_kit.h"

#include <inttypes.h>
#include <string.h>

/* parted: whether its text has lanes in two parts. */
static void add(const char *source, bool parted) {
    arena memory = {0};
    compiled_program made;
    graph *g = cases_add(&cases, source);
    assert_int_equal(compile_graph(&memory, g, &(compile_options){.n_threads = 1}, &made, NULL), ASSAY_OK);
    if ((strstr(made.source, "inner_first") != NULL) != parted) {
        print_error("%s in\n%s", parted ? "not parted" : "parted", source);
        assert_true(false);
    }
    arena_clear(&memory);
}

static void check_all(void) {
    cases_check(&cases, own);
    cases_forget(&cases);
}

typedef struct triangle {
    int n, height, width;
    int64_t diagonal;
    bool parted;
} triangle;

/* The diagonal passes by where all or nothing is kept; rows of less than 64 are not worth parts. */
static const triangle shapes[] = {
    {1, 70, 70, 0, true},     {3, 70, 65, 1, true},      {2, 9, 200, -5, true},        {2, 9, 200, 150, true},
    {1, 100, 64, -40, true},  {1, 100, 64, -36, true},   {1, 5, 300, 299, true},       {1, 5, 300, 300, false},
    {1, 5, 300, -5, false},   {4, 16, 16, 2, false},     {1, 5, 64, INT64_MAX, false}, {1, 5, 64, INT64_MIN, false},
    {1, 300, 64, -250, true}, {1, 3, 2000, 1000, true},
};

static const char *const types[] = {"f32", "bf16", "u8", "i64", "f64"};

static void triangles_of_all_kinds(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t s = 0; s < countof(shapes); s++) {
            const triangle *a = &shapes[s];
            for (int lower = 0; lower < 2; lower++) {
                char source[CASE_SOURCE_BYTES];
                snprintf(source, sizeof source, "graph triangle\n%%x = input(T([%d, %d, %d], %s))\n%%y = %s(%%x, %" PRId64 ")\nreturn %%y\n", a->n,
                         a->height, a->width, types[t], lower ? "tril" : "triu", a->diagonal);
                bool passes = (lower && (a->diagonal == 299 || a->diagonal == -5)) || (!lower && a->diagonal == 299);
                if (passes || !a->parted) { /* upper and lower triangles end a row apart: whichever */
                    cases_add(&cases, source);
                } else {
                    add(source, true);
                }
            }
        }
        check_all();
    }
}

static void what_is_around_them(void **state) {
    (void)state;
    static const char *const forms[] = {
        "%%x = input(T([4, 80, 96], %s))\n%%e = exp(%%x)\n%%y = triu(%%e, 1)\n%%z = mul.Tensor(%%y, 0.5)\nreturn %%z\n",
        "%%x = input(T([4, 80, 96], %s))\n%%y = tril(%%x, -3)\n%%z = sum.dim_IntList(%%y, [2])\nreturn %%z\n",
        "%%x = input(T([4, 80, 96], %s))\n%%y = tril(%%x, 3)\n%%z = sum.dim_IntList(%%y, [1])\nreturn %%z\n",
        "%%x = input(T([4, 80, 96], %s))\n%%y = tril(%%x, 9)\n%%z = triu(%%y, -2)\nreturn %%z\n",
        "%%x = input(T([4, 80, 96], %s))\n%%y = tril(%%x, 9)\n%%z = add.Tensor(%%y, %%x)\nreturn %%z\n",
        "%%x = input(T([96, 80], %s, stride=(1, 96)))\n%%y = triu(%%x, -2)\nreturn %%y\n",
        "%%x = input(T([2, 96, 80], %s))\n%%y = triu(%%x)\n%%z = _softmax(%%y, -1, False)\nreturn %%z\n",
        "%%x = input(T([2, 96, 80], %s))\n%%y = triu(%%x)\n%%z = tril(%%x)\n%%s = sub.Tensor(%%y, %%z)\nreturn %%s, %%y\n",
        /* rows that indices choose, padded: beyond the edge there is no index to look at */
        "%%x = input(T([33, 40], %s))\n%%y = triu(%%x, 1)\n%%i = input(T([17], i64), low=0, high=33)\n%%s = index_select(%%y, -2, %%i)\n"
        "%%z = constant_pad_nd(%%s, [0, 0, 1, -1], 0)\nreturn %%z\n",
        "%%x = input(T([33, 80], %s))\n%%y = tril(%%x, 20)\n%%i = input(T([9], i64), low=0, high=33)\n%%s = index_select(%%y, 0, %%i)\n"
        "%%z = constant_pad_nd(%%s, [2, 3, 2, 1], 1.5)\nreturn %%z\n",
    };
    for (size_t t = 0; t < 2; t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES] = "graph triangles\n";
            snprintf(source + strlen(source), sizeof source - strlen(source), forms[f], types[t]);
            cases_add(&cases, source);
        }
    }
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles_of_all_kinds),
        cmocka_unit_test(what_is_around_them),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
