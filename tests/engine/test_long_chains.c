/* SPDX-License-Identifier: Apache-2.0 */
/* Long chains of element-wise operators in which each result is read twice: the ways through them are more than can be counted, so
   the compiler must not follow each. One that does never comes back from here. */
#include "engine/compile/compile.h"
#include "engine/graph/graph_text.h"

#include "engine/links.h"
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

/* How many steps a program of links (links.h) becomes. */
static int steps_of(const char *inputs, const char *link, int links, const char *end) {
    arena memory = {0};
    text source = {0};
    graph g;
    error err = {0};
    compiled_program made;
    links_add(&source, inputs, link, links, end);
    if (graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s\n", (int)err.line, (int)err.column, err.message);
        assert_true(false);
    }
    assert_int_equal(compile_graph(&memory, &g, &(compile_options){0}, &made, &err), ASSAY_OK);
    int n = made.n_steps;
    print_message("%d steps, %.1f MiB to compile\n", n, (double)memory.used_bytes / (1 << 20));
    assert_true(memory.used_bytes < (size_t)512 << 20);
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
    return n;
}

/* Places that are read at places that are read: each link names all before it again, so that some are cut off in memory. */
static void indices_of_indices(void **state) {
    (void)state;
    assert_true(steps_of("%p0 = input(T([1024], i64), low=0, high=1024)\n", "%pN = index_select(%pP, 0, %pP)\n", 15, "return %p15\n") > 1);
    assert_true(steps_of("%p0 = input(T([16, 16], f32))\n%i = input(T([16, 16], i64), low=0, high=16)\n"
                         "%j = input(T([16, 16], i64), low=0, high=16)\n",
                         "%pN = index.Tensor(%pP, [%i, %j])\n", 24, "return %p24\n") > 1);
    assert_true(steps_of("%p0 = input(T([16, 16], f32))\n%i = input(T([16, 16], i64), low=0, high=16)\n",
                         "%qN = gather(%pP, 0, %i)\n%pN = gather(%qN, 1, %i)\n", 20, "return %p20\n") > 1);
}

/* More indices than one view may look at. */
static void indices_of_many(void **state) {
    (void)state;
    assert_true(steps_of("%p0 = input(T([16, 8], f32))\n", "%iN = input(T([16], i64), low=0, high=16)\n%pN = index_select(%pP, 0, %iN)\n", 40,
                         "return %p40\n") > 1);
}

/* What is written in place again and again is read in front of each time: no kernel can have two of them. */
static void writes_in_place(void **state) {
    (void)state;
    steps_of("%p0 = input(T([8, 8], f32))\n%s0 = slice.Tensor(%p0, 0, 0, 4)\n", "%tN = tanh_(%s0)\n%uN = tanh_(%p0)\n", 150, "return %u150\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_before_rows),
        cmocka_unit_test(chains_before_products),
        cmocka_unit_test(indices_of_indices),
        cmocka_unit_test(indices_of_many),
        cmocka_unit_test(writes_in_place),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
