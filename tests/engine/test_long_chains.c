/* SPDX-License-Identifier: Apache-2.0 */
/* Long chains of element-wise operators in which each result is read twice: the ways through them are more than can be counted, so
   the compiler must not follow each. One that does never comes back from here. */
#include "engine/compile/compile.h"
#include "engine/graph/graph_text.h"

#include "engine/table_kit.h"

#include <string.h>

enum { LINKS = 200 };

/* x <- x + 0.01 x, many times, then `end`, which makes y of x. */
static void compiles(const char *inputs, const char *end, bool own_products) {
    arena memory = {0};
    text source = {0};
    graph g;
    error err = {0};
    compiled_program made;
    text_addf(&source, "graph chain\n%%p0 = input(T([64, 64], f32))\n%s", inputs);
    for (int i = 0; i < LINKS; i++) {
        text_addf(&source, "%%s%d = mul.Scalar(%%p%d, 0.01)\n%%p%d = add.Tensor(%%p%d, %%s%d)\n", i, i, i + 1, i, i);
    }
    text_addf(&source, "%%x = relu(%%p%d)\n%s\nreturn %%y\n", LINKS, end);
    if (graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s\n", (int)err.line, (int)err.column, err.message);
        assert_true(false);
    }
    assert_int_equal(compile_graph(&memory, &g, &(compile_options){.own_products = own_products, .variants = true}, &made, &err), ASSAY_OK);
    assert_true(strlen(made.source) > 0);
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
}

static void chains_before_rows(void **state) {
    (void)state;
    compiles("", "%y = _softmax(%x, -1, False)", false);
    compiles("", "%y, %m, %r = native_layer_norm(%x, [64], None, None, 1e-05)", false);
    compiles("", "%y = cumsum(%x, 1)", false);
}

static void chains_before_products(void **state) {
    (void)state;
    compiles("%w = input(T([64, 64], f32))\n", "%y = mm(%x, %w)", true);
    compiles("%w = input(T([64, 64], f32))\n", "%y = mm(%w, %x)", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_before_rows),
        cmocka_unit_test(chains_before_products),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
