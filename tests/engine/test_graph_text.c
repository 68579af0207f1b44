/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text: what is read prints, what is printed reads back, and what is wrong is told with its place. */
#include "engine/graph/graph_text.h"

#include "base/file.h"
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static op_table *table;

static int open_table(void **state) {
    (void)state;
    return op_table_new(&table, NULL);
}

static int close_table(void **state) {
    (void)state;
    op_table_free(table);
    return 0;
}

static status read_text(arena *memory, const char *source, graph *g, error *err) {
    const bind_options options = {.dtype = DTYPE_AS_RECORDED};
    return graph_read(memory, table, source, strlen(source), &options, g, err);
}

static void print_of(const char *source, text *out) {
    arena memory = {0};
    graph g;
    error err = {0};
    if (read_text(&memory, source, &g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s in\n%s", (int)err.line, (int)err.column, err.message, source);
            assert_true(false);
    }
    assert_int_equal(graph_verify(&g, &err), ASSAY_OK);
    graph_print(&g, out);
    assert_false(out->failed);
    graph_clear(&g);
    arena_clear(&memory);
}

/* A canonical text is what it prints as, and so is what any other text prints as. */
static void check_round_trip(const char *source, const char *canonical) {
    text once = {0}, twice = {0};
    print_of(source, &once);
    assert_string_equal(text_get(&once), canonical);
    print_of(text_get(&once), &twice);
    assert_string_equal(text_get(&twice), canonical);
    text_clear(&once);
    text_clear(&twice);
}

static void reads_back_exactly(void **state) {
    (void)state;
    check_round_trip("graph everything-1.2_x: A sentence, with 'quotes', # and a backslash \\.\n"
                     "%x = input(T([4, 6], bf16))\n"
                     "%t = input(T([4, 6], f32, stride=(1, 4)))\n"
                     "%i = input(T([3], i64), low=0, high=4)\n"
                     "%p = input(T([], f32), low=1e-05, high=0.5)\n"
                     "%c = _to_copy(%x, dtype=f32)\n"
                     "%s = add.Tensor(%c, %t, alpha=2)\n"
                     "%m = mul.Tensor(%s, 0.1)\n"
                     "%y, %mean, _ = native_layer_norm(%m, [6], None, None, 1e-05)\n"
                     "%e = embedding(%y, %i)\n"
                     "%j = cat([%e, %y], 0)\n"
                     "%k = clone(%j, memory_format=torch.contiguous_format)\n"
                     "%g.1 = gelu(%k, approximate='tanh')\n"
                     "%in = mul_.Tensor(%g.1, %p)\n"
                     "%a, %b, %rest = split.Tensor(%in, 3)\n"
                     "return %rest, %mean, %a, %b\n",
                     "graph everything-1.2_x: A sentence, with 'quotes', # and a backslash \\.\n"
                     "%x = input(T([4, 6], bf16))\n"
                     "%t = input(T([4, 6], f32, stride=(1, 4)))\n"
                     "%i = input(T([3], i64), low=0, high=4)\n"
                     "%p = input(T([], f32), low=1e-05, high=0.5)\n"
                     "%c = _to_copy(%x, dtype=f32)\n"
                     "%s = add.Tensor(%c, %t, alpha=2)\n"
                     "%m = mul.Tensor(%s, 0.1)\n"
                     "%y, %mean, _ = native_layer_norm(%m, [6], None, None, 1e-05)\n"
                     "%e = embedding(%y, %i)\n"
                     "%j = cat([%e, %y])\n"
                     "%k = clone(%j, memory_format=torch.contiguous_format)\n"
                     "%g.1 = gelu(%k, approximate='tanh')\n"
                     "%in = mul_.Tensor(%g.1, %p)\n"
                     "%a, %b, %rest = split.Tensor(%in, 3)\n"
                     "return %rest, %mean, %a, %b\n");
}

static void takes_comments_blanks_and_other_spellings(void **state) {
    (void)state;
    check_round_trip("\xef\xbb\xbf# what this is\r\n\r\n  graph g\r\n"
                     "\t%x=input( T((2,3),torch.bfloat16) ) # the input\n"
                     "%y   =   aten::relu.default( %x , )\n"
                     "%z = aten.add.Tensor(%y, other=%x, alpha=1)\n\n"
                     "return %z",
                     "graph g\n"
                     "%x = input(T([2, 3], bf16))\n"
                     "%y = relu(%x)\n"
                     "%z = add.Tensor(%y, %x)\n"
                     "return %z\n");
}

static void converts_types_as_told(void **state) {
    (void)state;
    static const char source[] = "graph g\n%x = input(T([2], f16))\n%i = input(T([2], i8))\n"
                                 "%f = _to_copy(%i, dtype=bf16)\n%y = mul.Tensor(%x, %f)\nreturn %y\n";
    arena memory = {0};
    graph g;
    const bind_options options = {.dtype = DTYPE_F32};
    assert_int_equal(graph_read(&memory, table, source, strlen(source), &options, &g, NULL), ASSAY_OK);
    assert_int_equal(g.inputs[0].value->dtype, ASSAY_F32);
    assert_int_equal(g.inputs[1].value->dtype, ASSAY_I8);
    assert_int_equal(g.outputs[0]->dtype, ASSAY_F32);
    graph_clear(&g);
    arena_clear(&memory);
}

/* --- what is wrong ---------------------------------------------------------------------------------------------------------- */

#define HEAD "graph g\n%x = input(T([2, 3], f32))\n"

static void tells_what_is_wrong_and_where(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int line, column;
        const char *message; /* a part of it */
    } cases[] = {
        {"", 1, 1, "expected a line 'graph NAME"},
        {"# only this\n", 1, 1, "expected a line 'graph NAME"},
        {"%x = input(T([2], f32))\n", 1, 1, "expected 'graph NAME: WHAT IT IS' as the first line, got '%'"},
        {"graph\n", 1, 6, "expected the graph's name"},
        {"graph a b\n", 1, 9, "expected the end of the line, got 'b'"},
        {"graph a:\n", 1, 9, "expected a sentence behind ':'"},
        {"graph a: x\ty\n", 1, 11, "printable"},
        {"graph -a\n", 1, 7, "expected the graph's name"},
        {HEAD "graph h\n", 3, 1, "expected one graph in a text"},
        {HEAD, 2, 1, "expected a line 'return %NAME, ...'"},
        {HEAD "return %x\n", 3, 8, "expected an output that an operator makes, got an input"},
        {HEAD "%y = relu(%x)\nreturn %y, %y\n", 4, 12, "each output once"},
        {HEAD "%y = relu(%x)\nreturn %z\n", 4, 8, "expected a value from a line above, got %z"},
        {HEAD "%y = relu(%x)\nreturn\n", 4, 7, "expected a value's name such as %x, got the end of the line"},
        {HEAD "%y = relu(%x)\nreturn %y %y\n", 4, 11, "expected ',' or the end of the line"},
        {HEAD "%y = relu(%x)\nreturn %y\n%z = relu(%x)\n", 5, 1, "nothing behind the return line"},
        {HEAD "%y = rellu(%x)\n", 3, 6, "expected an operator or input, got 'rellu'; did you mean 'relu'?"},
        {HEAD "%y = relu(%c)\n", 3, 11, "relu.default: argument 'self': expected a value from a line above, got %c"},
        {HEAD "%long = relu(%x)\n%y = relu(%lomg)\n", 4, 11, "did you mean %long?"},
        {HEAD "%y = relu(%y)\n", 3, 11, "expected a value from a line above, got %y"},
        {HEAD "%x = relu(%x)\n", 3, 1, "expected each name once, got %x again"},
        {HEAD "%a, %a = native_dropout(%x, 0.5, True)\n", 3, 10, "expected each name once, got %a again"},
        {HEAD "%a = native_dropout(%x, 0.5, True)\n", 3, 6, "expected 2 names, one for each output, got 1"},
        {HEAD "%y = relu(T([2], f32))\n", 3, 11, "tensors are inputs"},
        {HEAD "%y = relu(%x\n", 3, 13, "expected ',' or the ')' that closes column 10"},
        {HEAD "%y = relu(%x) z\n", 3, 15, "expected the end of the line, got 'z'"},
        {HEAD "%y relu(%x)\n", 3, 4, "expected ',' and a name, or '=', got 'relu'"},
        {HEAD "y = relu(%x)\n", 3, 1, "expected '%NAME = OPERATOR(ARGUMENTS)' or 'return %NAME', got 'y'"},
        {HEAD "% = relu(%x)\n", 3, 2, "expected a name of letters"},
        {HEAD "%y = (%x)\n", 3, 6, "expected an operator or input, got '('"},
        {HEAD "%y = relu\n", 3, 10, "expected '(' and arguments, got the end of the line"},
        {HEAD "%y = add.Tensor(%x, alpha=1, %x)\n", 3, 30, "expected a keyword argument behind a keyword argument"},
        {HEAD "%y = add.Tensor(%x, %x, alpha=1, alpha=2)\n", 3, 34, "expected each keyword once, got 'alpha' again"},
        {HEAD "%y = add.Tensor(%x, %x, alpah=2)\n", 3, 31, "did you mean 'alpha'?"},
        {HEAD "%y = add.Tensor(%x)\n", 3, 16, "argument 'other' is missing"},
        {HEAD "%w = input(T([4, 5], f32))\n%y = mm(%x, %w)\n", 4, 6, "mm"},
        {HEAD "%y = nonzero(%x)\n", 3, 6, ""},
        {HEAD "%w = input(T([2], f32, stride=(3,)))\n%c = copy(%w, %w)\n%y = as_strided(%c, [3], [1], 0)\n", 5, 6, "between the elements"},
        {HEAD "%w = input(T([4, -5], f32))\n", 3, 12, "not negative"},
        {HEAD "%w = input(T([1000000000, 1000000000], f32))\n", 3, 12, "at most"},
        {HEAD "%w = input()\n", 3, 11, "expected the input's form"},
        {HEAD "%w = input(3)\n", 3, 12, "expected the input's form, T([SIZES], DTYPE), got an integer"},
        {HEAD "%w = input(T([2], f33))\n", 3, 19, "did you mean f32?"},
        {HEAD "%w, %v = input(T([2], f32))\n", 3, 1, "expected one name for an input"},
        {HEAD "%w = input(T([2], f32), lo=0)\n", 3, 28, "expected low or high, got 'lo'; did you mean low?"},
        {HEAD "%w = input(T([2], f32), low=0)\n", 3, 11, "both"},
        {HEAD "%w = input(T([2], f32), low=2, high=1)\n", 3, 12, "expected low <= high"},
        {HEAD "%w = input(T([2], f64), low=-1.7e308, high=1.7e308)\n", 3, 12, "distance finite"},
        {HEAD "%w = input(T([2], u8), low=-5, high=5)\n", 3, 12, "expected a range of values of u8, got -5 to 5"},
        {HEAD "%w = input(T([2], i8), low=0, high=129)\n", 3, 12, "expected a range of values of i8"},
        {HEAD "%w = input(T([2], f16), low=0, high=70000)\n", 3, 12, "expected a range of values of f16"},
        {HEAD "%w = input(T([2], i64), low=0.5, high=1)\n", 3, 12, "expected integers"},
        {HEAD "%w = input(T([2], b8), low=0, high=1)\n", 3, 12, "expected no range"},
        {HEAD "%w = input(T([2], f32), low=0, high=inf)\n", 3, 12, "finite"},
        {HEAD "%w = input(T([2], f32))\n%y = relu(%x)\nreturn %y\n", 5, 1, "nothing uses %w"},
        {HEAD "\x01\n", 3, 1, "got the byte 0x01"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        arena memory = {0};
        graph g;
        error err = {0};
        if (read_text(&memory, cases[i].source, &g, &err) == ASSAY_OK) {
            print_error("expected an error in\n%s", cases[i].source);
            assert_true(false);
        }
        if (err.line != cases[i].line || err.column != cases[i].column || strstr(err.message, cases[i].message) == NULL) {
            print_error("expected %d:%d: %s\ngot %d:%d: %s\nin\n%s", cases[i].line, cases[i].column, cases[i].message, (int)err.line,
                     (int)err.column, err.message, cases[i].source);
            assert_true(false);
        }
        arena_clear(&memory);
    }
}

/* --- the graphs of the suite ------------------------------------------------------------------------------------------------ */

static void suite_is_canonical_but_for_comments(void **state) {
    (void)state;
    DIR *directory = opendir(TEST_SOURCE "/suites/graphs");
    assert_non_null(directory);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (!text_ends_with(entry->d_name, ".graph")) {
            continue;
        }
        char path[1024];
        text source = {0}, canonical = {0}, stripped = {0};
        snprintf(path, sizeof path, "%s/suites/graphs/%s", TEST_SOURCE, entry->d_name);
        assert_int_equal(file_read(path, 1 << 20, &source, NULL), ASSAY_OK);
        print_of(text_get(&source), &canonical);
        for (const char *line = text_get(&source), *end; *line != '\0'; line = end) {
            end = strchr(line, '\n') + 1;
            if (*line != '#' && *line != '\n') {
                text_add_bytes(&stripped, line, (size_t)(end - line));
            }
        }
        assert_string_equal(text_get(&stripped), text_get(&canonical));
        text_clear(&source);
        text_clear(&canonical);
        text_clear(&stripped);
        n++;
    }
    closedir(directory);
    assert_true(n >= 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_exactly),
        cmocka_unit_test(takes_comments_blanks_and_other_spellings),
        cmocka_unit_test(converts_types_as_told),
        cmocka_unit_test(tells_what_is_wrong_and_where),
        cmocka_unit_test(suite_is_canonical_but_for_comments),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
