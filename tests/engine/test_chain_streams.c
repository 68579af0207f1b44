/* SPDX-License-Identifier: Apache-2.0 */
/* What passes the caches in chains, and what is asked for ahead in them, as the emitted text says it: that results are right either
   way is compared elsewhere, with all of them past the caches (test_flow, test_random_graphs). */
#include "engine/compile/compile.h"
#include "engine/graph/graph_text.h"

#include "engine/table_kit.h"

#include <stdio.h>
#include <string.h>

/* A group norm and the gradients of it and of what follows, of so many images of `channels` channels in groups of 4. */
static const char source_format[] =
    "graph norm\n%%grad = input(T([%d, %d, 64, 64], f32))\n%%x = input(T([%d, %d, 64, 64], f32))\n%%w = input(T([%d], f32))\n"
    "%%b = input(T([%d], f32))\n%%n, %%m, %%r = native_group_norm(%%x, %%w, %%b, %d, %d, 4096, %d, 1e-05)\n%%g = silu_backward(%%grad, %%n)\n"
    "%%gx, %%gw, %%gb = native_group_norm_backward(%%g, %%x, %%m, %%r, %%w, %d, %d, 4096, %d, [True, True, True])\nreturn %%gx, %%gw, %%gb\n";

typedef struct told {
    bool streams, asks; /* past the caches; ahead */
    bool asks_late;     /* only after the deviation is known: beside the activation */
    int n_chains;
} told;

static told compile_norm(int images, int channels, bool asks_far) {
    char source[1024];
    arena memory = {0};
    error err = {0};
    graph g;
    compiled_program program;
    int n = channels, groups = channels / 4;
    snprintf(source, sizeof source, source_format, images, n, images, n, n, n, images, n, groups, images, n, groups);
    assert_int_equal(graph_read(&memory, table, source, strlen(source), &(bind_options){0}, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, &err), ASSAY_OK);
    const compile_options options = {.n_threads = 2, .asks_far = asks_far};
    assert_int_equal(compile_graph(&memory, &g, &options, &program, &err), ASSAY_OK);
    const char *asks = strstr(program.body, "fetch_far("), *root = strstr(program.body, "sqrt");
    told t = {strstr(program.body, "stream_lines(") != NULL, asks != NULL, asks != NULL && root != NULL && asks > root, program.n_chains};
    graph_clear(&g);
    arena_clear(&memory);
    return t;
}

static void large_programs_stream_results_of_chains(void **state) {
    (void)state;
    told large = compile_norm(4, 128, false), near = compile_norm(2, 128, false); /* 24 MiB, of which 8 are stored; 12 MiB and 4 */
    assert_int_equal(large.n_chains, 1);
    assert_int_equal(near.n_chains, 1);
    assert_true(large.streams);
    assert_false(near.streams);
}

static void tasks_of_rows_ask_for_the_next(void **state) {
    (void)state;
    assert_true(compile_norm(2, 128, true).asks);
    assert_false(compile_norm(2, 128, false).asks);
    assert_false(compile_norm(1, 32, true).asks); /* 512 KiB: near anyway */
}

/* Whether a program, which is one chain of so many parts, has those words in it. */
static bool asks_in_chain(const char *source, int64_t parts, const char *words) {
    arena memory = {0};
    error err = {0};
    graph g;
    compiled_program program;
    assert_int_equal(graph_read(&memory, table, source, strlen(source), &(bind_options){0}, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, &err), ASSAY_OK);
    assert_int_equal(compile_graph(&memory, &g, &(compile_options){.n_threads = 2}, &program, &err), ASSAY_OK);
    assert_int_equal(program.n_chains, 1);
    assert_int_equal(program.chains[0].parts, parts);
    bool asks = strstr(program.body, words) != NULL;
    graph_clear(&g);
    arena_clear(&memory);
    return asks;
}

/* What the last kernel of a chain reads once more, where its results pass the caches, lets it ask for what the first reads of the next part. */
static void last_kernels_ask_for_the_next_part(void **state) {
    (void)state;
    static const char format[] = "graph back\n%%g = input(T([%d, 64, 64, 64], f32))\n%%x = input(T([%d, 64, 64, 64], f32))\n"
                                 "%%m = input(T([%d, 4], f32))\n%%r = input(T([%d, 4], f32))\n%%w = input(T([64], f32))\n"
                                 "%%gx, %%gw, %%gb = native_group_norm_backward(%%g, %%x, %%m, %%r, %%w, %d, 64, 4096, 4, [True, True, True])\n"
                                 "return %%gx, %%gw, %%gb\n";
    for (int large = 0; large < 2; large++) {
        char source[1024];
        const int n = large ? 32 : 2;
        snprintf(source, sizeof source, format, n, n, n, n, n);
        assert_true(asks_in_chain(source, 4 * n, "+ 65536, 256)") == large); /* 16 channels of 64 x 64 on */
    }
}

/* Two kernels that read a buffer's one end and its other read nothing twice: the second has memory to wait for itself. */
static void kernels_of_two_ends_do_not(void **state) {
    (void)state;
    assert_false(asks_in_chain("graph turned\n%x = input(T([32, 512, 1024], f32))\n%y = roll(%x, [3], [1])\nreturn %y\n", 32, "fetch_far(b"));
}

/* Sums of squares have no time for it. */
static void dear_phases_ask_for_the_next(void **state) {
    (void)state;
    assert_true(compile_norm(2, 128, true).asks_late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_programs_stream_results_of_chains),
        cmocka_unit_test(tasks_of_rows_ask_for_the_next),
        cmocka_unit_test(dear_phases_ask_for_the_next),
        cmocka_unit_test(last_kernels_ask_for_the_next_part),
        cmocka_unit_test(kernels_of_two_ends_do_not),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
