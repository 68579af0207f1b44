/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its gradients down columns, and batch norm of channels that lie together, against the reference in double: columns that a core's
   cache holds and that it does not, whole blocks of them and a few more, types, phases that are done again, numbers far from 0. */
#include "engine/graph_ways.h"
#include "engine/table_kit.h"

#define SOFTMAX(shape, type, more) "%x = input(T(" shape ", " type ")" more ")\n%y = _softmax(%x, 0, False)\nreturn %y\n"
#define LOGARITHM(shape, type, more) "%x = input(T(" shape ", " type ")" more ")\n%y = _log_softmax(%x, 0, False)\nreturn %y\n"
#define GRADIENT(name, shape, type)                                                                                                      \
    "%g = input(T(" shape ", " type "))\n%y = input(T(" shape ", " type "), low=0.0, high=0.01)\n%x = " name "(%g, %y, 0, " type ")\nreturn %x\n"
#define WEIGHT(n) "%w = input(T([" n "], f32))\n"
#define NORM(shape, strides, type, n, more)                                                                                               \
    "%x = input(T(" shape ", " type strides ")" more ")\n" WEIGHT(n) "%b = input(T([" n "], f32))\n"                                      \
    "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n%z = relu(%y)\nreturn %z, %m, %r\n"
#define NORM_GRADIENT(shape, strides, type, n)                                                                                            \
    "%g = input(T(" shape ", " type strides "))\n%x = input(T(" shape ", " type strides "))\n" WEIGHT(n)                                  \
    "%m = input(T([" n "], f32))\n%r = input(T([" n "], f32), low=0.5, high=2.0)\n"                                                        \
    "%p, %q, %s = native_batch_norm_backward(%g, %x, %w, None, None, %m, %r, True, 1e-05, [True, True, True])\nreturn %p, %q, %s\n"

static const char *const list[] = {
    /* blocks of 256 columns, 64 and 32, and columns that are read more than once */
    SOFTMAX("[160, 640]", "f32", ""), SOFTMAX("[1200, 512]", "f32", ""), SOFTMAX("[1200, 569]", "f32", ""),
    SOFTMAX("[12, 100, 4, 160]", "f32", ""),
    /* some are far from what was guessed, so that their sums are made once more */
    SOFTMAX("[1200, 545]", "f32", ", low=-90.0, high=90.0"), SOFTMAX("[5200, 513]", "f32", ", low=-90.0, high=90.0"),
    SOFTMAX("[600, 1040]", "f16", ""), SOFTMAX("[600, 1040]", "bf16", ", low=-60.0, high=60.0"), SOFTMAX("[700, 520]", "f64", ""),
    LOGARITHM("[1200, 544]", "f32", ", low=-90.0, high=90.0"), LOGARITHM("[600, 1041]", "bf16", ""),
    GRADIENT("_softmax_backward_data", "[640, 512]", "f32"), GRADIENT("_softmax_backward_data", "[640, 1040]", "bf16"),
    GRADIENT("_log_softmax_backward_data", "[640, 530]", "f32"), GRADIENT("_log_softmax_backward_data", "[640, 1024]", "f16"),
    NORM("[3, 96, 40, 41]", ", stride=(157440, 1, 3936, 96)", "f32", "96", ", low=1000.0, high=1001.0"),
    NORM("[5, 130, 50, 43]", ", stride=(279500, 1, 5590, 130)", "bf16", "130", ""),
    NORM("[2, 48, 5, 61, 31]", ", stride=(453840, 1, 90768, 1488, 48)", "f32", "48", ""), NORM("[1031, 517]", "", "f32", "517", ""),
    NORM("[3, 96, 40, 41]", ", stride=(160000, 1, 3936, 96)", "f32", "96", ""), /* with gaps */
    NORM_GRADIENT("[3, 96, 40, 41]", ", stride=(157440, 1, 3936, 96)", "f32", "96"),
    NORM_GRADIENT("[2, 48, 5, 61, 31]", ", stride=(453840, 1, 90768, 1488, 48)", "f32", "48"),
    NORM_GRADIENT("[5, 130, 25, 43]", ", stride=(139750, 1, 5590, 130)", "f16", "130"), NORM_GRADIENT("[1024, 512]", "", "f32", "512"),
};

/* What comes from past all caches. */
static const char *const large[] = {
    GRADIENT("_softmax_backward_data", "[1024, 8192]", "f32"), GRADIENT("_softmax_backward_data", "[4096, 2080]", "f32"),
    GRADIENT("_log_softmax_backward_data", "[2048, 4097]", "bf16"), SOFTMAX("[10400, 512]", "f32", ""),
};

static size_t source_of(const char *const *from, size_t n, size_t i, char *source) {
    if (i < n) {
        snprintf(source, CASE_SOURCE_BYTES, "graph columns\n%s", from[i]);
    }
    return n;
}

static size_t listed(size_t i, char *source) {
    return source_of(list, countof(list), i, source);
}

static size_t large_one(size_t i, char *source) {
    return source_of(large, countof(large), i, source);
}

static void columns_agree(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        check_way(table, way, listed, NULL);
    }
}

static void large_columns_agree(void **state) {
    (void)state;
    check_way(table, 1, large_one, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_agree), cmocka_unit_test(large_columns_agree)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
