/* SPDX-License-Identifier: Apache-2.0 */
/* topk of few and short lines, which the compiler makes of its own, against the reference: values and places, types, both
   directions, ties, what is no number, and what is computed before and behind. */
#include "engine/compiled_cases.h"

#include <math.h>

static graph *add(const char *source) {
    return cases_add(&cases, source);
}

/* Compiles what was added as one module, and compares; forgets it. */
static void check_all(void) {
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

static graph *add_line(const char *sizes, const char *type, int k, int dim, bool largest) {
    char source[CASE_SOURCE_BYTES];
    snprintf(source, sizeof source, "graph order\n%%x = input(T(%s, %s))\n%%v, %%i = topk(%%x, %d, %d, %s)\nreturn %%v, %%i\n", sizes,
             type, k, dim, largest ? "True" : "False");
    return add(source);
}

static void types_and_shapes_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "i16", "i8", "u8"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        add_line("[5, 33]", types[t], 3, 1, true);
        add_line("[5, 33]", types[t], 3, 1, false);
    }
    for (int n = 15; n <= 65; n += n == 17 ? 46 : 1) { /* about the rows whose largest are found together */
        char sizes[24];
        snprintf(sizes, sizeof sizes, "[37, %d]", n);
        for (int k = 2; k <= 5; k++) {
            add_line(sizes, k % 2 == 0 ? "f32" : "i32", k, 1, k != 3);
        }
        add_line(sizes, "bf16", 4, 1, true); /* many are equal */
        add_line(sizes, "u8", 4, 1, false);
    }
    add_line("[40, 64]", "f32", 4, -1, true);
    add_line("[64, 40]", "f32", 8, 0, false);
    add_line("[3, 17, 5]", "f32", 2, 1, true);
    add_line("[7, 3]", "f32", 3, 1, true);
    add_line("[7, 1]", "f32", 1, 1, false);
    add_line("[9]", "f32", 1, 0, true);
    add_line("[3, 512]", "f32", 8, 1, true);
    add_line("[0, 4]", "f32", 2, 1, true);
    check_all();
}

/* Of equal elements the first wins; NaN is the largest, and the last where the smallest are asked for, even after infinity; both
   zeros are equal; what was taken once is not taken again, though nothing is smaller. */
static void what_ties_and_is_no_number(void **state) {
    (void)state;
    static const float rows[][6] = {
        {1, NAN, 3, NAN, 3, 1},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {INFINITY, NAN, INFINITY, -INFINITY, NAN, -INFINITY},
        {0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f},
        {-0.0f, 0.0f, -1e-45f, 1e-45f, 0.0f, -0.0f},
        {2, 2, 2, 2, 2, 2},
    };
    for (int largest = 0; largest < 2; largest++) {
        for (int k = 1; k <= 6; k += 5) {
            const tensor *x = graph_find_value(add_line("[6, 6]", "f32", k, 1, largest == 1), "x");
            memcpy(tensor_data(x), rows, sizeof rows);
        }
        const tensor *least = graph_find_value(add_line("[1, 4]", "i32", 4, 1, largest == 1), "x");
        memcpy(tensor_data(least), (int32_t[]){INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX}, 16);
    }
    check_all();
}

/* Rows whose elements differ in the last bits of their orders alone, or not at all, here and there by place: what is found by fewer bits
   is found again. */
static void what_differs_by_little(void **state) {
    (void)state;
    enum { ROWS = 64, N = 64 };
    for (int type = 0; type < 2; type++) {
        for (int k = 2; k <= 4; k++) {
            for (int largest = 0; largest < 2; largest++) {
                const tensor *x = graph_find_value(add_line("[64, 64]", type == 0 ? "i32" : "f32", k, 1, largest == 1), "x");
                for (int r = 0; r < ROWS; r++) {
                    for (int i = 0; i < N; i++) {
                        int32_t bits = (r * 37 + i * (r % 7 + 1) * 29) % (1 << r % 8) + (r % 3 == 0 ? -40 : 0x3f800000 - 7);
                        bits = type == 0 && r % 16 == 5 && i % 9 == 0 ? INT32_MIN + i % 2 : bits;
                        const float whole = (float)bits;
                        memcpy((char *)tensor_data(x) + 4 * (r * N + i), type == 1 && bits < 0 ? (const void *)&whole : &bits, 4);
                    }
                }
            }
        }
    }
    check_all();
}

static void what_surrounds_joins(void **state) {
    (void)state;
    add("graph gate\n%x = input(T([130, 64], f32))\n%p = _softmax(%x, 1, False)\n%v, %i = topk(%p, 4, 1)\n"
        "%s = sum.dim_IntList(%v, [1], True)\n%w = div.Tensor(%v, %s)\n%l = mean.dim(%p, [0])\nreturn %w, %i, %l\n");
    add("graph values\n%x = input(T([130, 64], f32))\n%p = _softmax(%x, 1, False)\n%v, %_ = topk(%p, 4, 1)\n"
        "%s = sum.dim_IntList(%v, [1], True)\n%w = div.Tensor(%v, %s)\n%l = mean.dim(%p, [0])\nreturn %w, %l, %p\n");
    add("graph lowest\n%x = input(T([33, 24], f32))\n%v, %_ = topk(%x, 3, 1, False)\n%s = sum.dim_IntList(%v, [1])\n"
        "%m, %at = max.dim(%v, 1)\nreturn %s, %m\n");
    add("graph across\n%x = input(T([48, 300], f32))\n%t = t(%x)\n%v, %i = topk(%t, 3, 1)\n%w, %_ = topk(%t, 2, 1, False)\n"
        "return %v, %i, %w\n");
    add("graph beside\n%x = input(T([70, 32, 3], f32))\n%v, %i = topk(%x, 2, 1)\nreturn %v, %i\n");
    add("graph two\n%x = input(T([90, 32], f32))\n%y = input(T([90, 32], f32))\n%v, %i = topk(%x, 2, 1)\n%w, %_ = topk(%y, 4, 1)\n"
        "%m, %_2 = max.dim(%w, 1)\n%l, %_3 = topk(%x, 3, 1, False)\nreturn %v, %i, %w, %m, %l\n");
    add("graph all\n%x = input(T([33, 20], bf16))\n%v, %i = topk(%x, 2, 1)\n%s = sum.dim_IntList(%v, [1], True)\n"
        "%d = sub.Tensor(%x, %s)\nreturn %d, %i\n");
    add("graph only_places\n%x = input(T([13, 8], f32))\n%s = sigmoid(%x)\n%_, %i = topk(%s, 2, 1)\nreturn %i\n");
    add("graph gathered\n%x = input(T([13, 8], f32))\n%v, %i = topk(%x, 2, 1)\n%g = gather(%x, 1, %i)\n%d = sub.Tensor(%g, %v)\n"
        "return %d\n");
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_shapes_agree),
        cmocka_unit_test(what_ties_and_is_no_number),
        cmocka_unit_test(what_differs_by_little),
        cmocka_unit_test(what_surrounds_joins),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
