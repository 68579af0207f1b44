/* SPDX-License-Identifier: Apache-2.0 */
/* The emitted C of some graphs as text: a refactoring leaves it as it is, a change of it is seen in review. A golden file
   holds what is the program's own, without the functions that it carries with it (src/engine/compile/prelude*.h). --bless
   writes what is emitted now to these files. And every program, complete, compiles without a warning, under gcc and clang. */
#include "base/file.h"
#include "base/process.h"
#include "engine/compile/compile.h"
#include "engine/graph/graph_text.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#define GOLDEN TEST_SOURCE "/tests/engine/golden/"
#define SUITE TEST_SOURCE "/suites/graphs/"

enum { THREADS = 2, LIMIT_BYTES = 1 << 20 }; /* how many threads there are to share work out to decides some loops */

/* Where a graph is read from; its C stands in GOLDEN. */
typedef struct golden {
    const char *folder;
    const char *name;
    bool own_products; /* matrix products as kernels of the compiler's own; the C's file is called so, too */
    bool streams;      /* results are stored past the caches, as large ones are; so is its file */
} golden;

static const golden files[] = {
    {GOLDEN, "softmax", false, false},
    {GOLDEN, "layer_norm", false, false},
    {GOLDEN, "softmax", false, true},
    {GOLDEN, "layer_norm", false, true},
    {GOLDEN, "transpose", false, false},
    {GOLDEN, "transpose_lines", false, true},
    {GOLDEN, "transposed_copy", false, true},
    {GOLDEN, "index_add", false, false},
    {GOLDEN, "padding", false, false},
    {GOLDEN, "triangle", false, false},
    {GOLDEN, "triangle", false, true},
    {GOLDEN, "windows", false, false},
    {GOLDEN, "gathered_halves", false, false},
    {GOLDEN, "swiglu_halves", false, false},
    {SUITE, "attention", false, false},
    {SUITE, "batch_norm_relu_conv_backward", false, false},
    {SUITE, "bias_dropout_residual_layer_norm", false, false},
    {SUITE, "bias_gelu_backward", false, false},
    {SUITE, "expert_gate", false, false},
    {SUITE, "group_norm_silu", false, false},
    {SUITE, "cross_entropy_backward", false, false},
    {SUITE, "embedding_bags", false, false},
    {SUITE, "int8_dequantize_matmul", false, false},
    {SUITE, "masked_softmax", false, false},
    {SUITE, "rms_norm_linear", false, false},
    {SUITE, "rotary_embedding", false, false},
    {SUITE, "swiglu", false, false},
    {SUITE, "attention", true, false},
    {SUITE, "int8_dequantize_matmul", true, false},
    {SUITE, "rms_norm_linear", true, false},
    {SUITE, "swiglu", true, false},
    {SUITE, "mobile_block", true, false},
    {SUITE, "batch_norm_relu_conv", true, false},
};

static op_table *table;
static bool bless;
static arena memory;
static compiled_program programs[countof(files)];

static void must(status result, const error *err, const char *name) {
    if (result != ASSAY_OK) {
        print_error("%s: %s\n", name, err->message);
    }
    assert_int_equal(result, ASSAY_OK);
}

/* The golden file's path. */
static void path_of(const golden *f, char *path, size_t size_bytes) {
    snprintf(path, size_bytes, "%s%s%s%s.c", GOLDEN, f->name, f->own_products ? "_own_products" : "", f->streams ? "_streamed" : "");
}

static void emit(const golden *f, compiled_program *program) {
    char path[sizeof SUITE + 100];
    error err = {0};
    text source = {0};
    graph g;
    snprintf(path, sizeof path, "%s%s.graph", f->folder, f->name);
    must(file_read(path, LIMIT_BYTES, &source, &err), &err, path);
    must(graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, &err), &err, path);
    must(graph_allocate(&g, &device_cpu, &err), &err, path); /* views and what they share */
    const compile_options options = {.n_threads = THREADS,
                                     .own_products = f->own_products,
                                     .streams_all = f->streams,
                                     .pairs = f->own_products ? PAIRS_BY_TILES : PAIRS_WIDENED};
    must(compile_graph(&memory, &g, &options, program, &err), &err, path);
    text_clear(&source);
    graph_clear(&g);
}

static int emit_all(void **state) {
    (void)state;
    if (op_table_new(&table, NULL) != ASSAY_OK) {
        return 1;
    }
    for (size_t i = 0; i < countof(files); i++) {
        emit(&files[i], &programs[i]);
    }
    return 0;
}

static int clear_all(void **state) {
    (void)state;
    arena_clear(&memory);
    op_table_free(table);
    return 0;
}

/* The first line in which they differ, and what it is in each. */
static void show_difference(const char *path, const char *expected, const char *actual) {
    int line = 1;
    const char *e = expected, *a = actual;
    for (size_t i = 0; expected[i] == actual[i] && expected[i] != '\0'; i++) {
        if (expected[i] == '\n') {
            line++;
            e = expected + i + 1;
            a = actual + i + 1;
        }
    }
    print_error("%s:%d: golden  %.*s\n", path, line, (int)strcspn(e, "\n"), e);
    print_error("%s:%d: emitted %.*s\n", path, line, (int)strcspn(a, "\n"), a);
}

static void emitted_code_is_as_it_was(void **state) {
    (void)state;
    int differ = 0;
    for (size_t i = 0; i < countof(files); i++) {
        char path[sizeof GOLDEN + 100];
        error err = {0};
        text expected = {0};
        const char *actual = programs[i].body;
        assert_true(actual[0] != '\0');
        path_of(&files[i], path, sizeof path);
        if (bless) {
            must(file_write(path, actual, strlen(actual), &err), &err, path);
        }
        must(file_read(path, LIMIT_BYTES, &expected, &err), &err, path);
        if (strcmp(text_get(&expected), actual) != 0) {
            show_difference(path, text_get(&expected), actual);
            differ++;
        }
        text_clear(&expected);
    }
    if (differ > 0) {
        print_error("%d of %d differ: look at the change, then run test_golden --bless\n", differ, (int)countof(files));
    }
    assert_int_equal(differ, 0);
}

static void compiles_without_a_warning(void **state) {
    const char *compiler = *state;
    char path[] = "golden-program.c";
    for (size_t i = 0; i < countof(files); i++) {
        const char *const arguments[] = {compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-march=native", "-fsyntax-only", path, NULL};
        process_result result;
        error err = {0};
        must(file_write(path, programs[i].source, strlen(programs[i].source), &err), &err, path);
        status ran = process_run(arguments, NULL, 120, LIMIT_BYTES, &result, &err);
        remove(path);
        if (ran == ASSAY_NOT_FOUND) {
            print_message("there is no %s\n", compiler);
            skip();
        }
        must(ran, &err, compiler);
        if (result.exit_code != 0 || result.signal != 0) {
            print_error("%s:\n%s\n", files[i].name, text_get(&result.errors));
        }
        assert_true(result.exit_code == 0 && result.signal == 0);
        process_result_clear(&result);
    }
}

int main(int argc, char **argv) {
    bless = argc == 2 && strcmp(argv[1], "--bless") == 0;
    if (argc > 1 && !bless) {
        print_error("usage: %s [--bless]\n", argv[0]);
        return 2;
    }
    static char gcc[] = "gcc", clang[] = "clang";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_code_is_as_it_was),
        cmocka_unit_test_prestate(compiles_without_a_warning, gcc),
        cmocka_unit_test_prestate(compiles_without_a_warning, clang),
    };
    return cmocka_run_group_tests(tests, emit_all, clear_all);
}
