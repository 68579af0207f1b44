/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels whose rows go past the caches and end within lines of memory, which the next row's beginning fills: every length about a
   line and a block, by threads whose shares begin anywhere, against the reference in double. Column sums of rows that no number of parts
   divides. */
#include "compiled_kit.h"

#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include <stdio.h>
#include <string.h>

static int open_all(void **state) {
    (void)state;
    compile_options *o = open_compiled();
    if (o == NULL) {
        return 1;
    }
    o->streams_all = o->no_twins = true;
    return 0;
}

/* word: what the emitted text must say, where it is not NULL */
static void check(const char *graph_text, dtype_mode mode, int threads, const char *word) {
    arena memory = {0};
    graph g;
    exact expected;
    plan *p;
    error err = {0};
    if (graph_read(&memory, table, graph_text, strlen(graph_text), &(bind_options){.dtype = mode}, &g, &err) != ASSAY_OK) {
        print_error("%s%s\n", graph_text, err.message);
        assert_true(false);
    }
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(&g, 11);
    assert_int_equal(graph_fill(&g, 11, NULL), ASSAY_OK);
    assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, &err), ASSAY_OK);
    assert_int_equal(compiled->prepare(compiled, &g, &p, &err), ASSAY_OK);
    compiled_plan *steps = (compiled_plan *)p;
    assert_true(word == NULL || strstr(steps->program.body, word) != NULL);
    for (int i = 0; i < steps->n_steps; i++) {
        steps->steps[i].threads = threads;
    }
    assert_int_equal(p->run(p, &err), ASSAY_OK);
    for (int i = 0; i < g.n_outputs; i++) {
        tensor t;
        agreement a;
        assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
        exact_compare(&expected, i, &t, &a);
        if (!a.agrees) {
            print_error("%s%d threads, output %d is %.9g at %lld, expected %.9g (tolerance %.3g)\n", graph_text, threads, i,
                        a.actual_at_worst, (long long)a.worst, a.expected_at_worst, a.tolerance_at_worst);
        }
        assert_true(a.agrees);
        tensor_clear(&t);
    }
    p->release(p);
    graph_clear(&g);
    arena_clear(&memory);
}

/* A length that fills lines in one type leaves a rest in another. */
static void softmax_of(int n, const char *word) {
    char lines[256];
    snprintf(lines, sizeof lines, "graph ends\n%%x = input(T([19, %d], f32))\n%%y = _softmax(%%x, -1, False)\nreturn %%y\n", n);
    for (int threads = 1; threads <= 4; threads++) {
        check(lines, DTYPE_F32, threads, word);
    }
    check(lines, DTYPE_BF16, 3, NULL);
    check(lines, DTYPE_F16, 2, NULL);
    check(lines, DTYPE_F64, 3, NULL);
}

static void rows_of_every_length_agree(void **state) {
    static const int lengths[] = {65, 66, 79, 80, 81, 95, 97, 111, 113, 126, 127, 129, 143, 145, 191, 193, 255, 257, 1001};
    (void)state;
    for (size_t i = 0; i < countof(lengths); i++) {
        softmax_of(lengths[i], lengths[i] % 16 != 0 ? "stream_to_edge(" : NULL);
    }
}

/* Several results, of which one waits for its lines; values of rows; sums down the rows beside them; rows of several dimensions. */
static void what_is_beside_them_agrees(void **state) {
    static const char *const graphs[] = {
        "graph ends\n%x = input(T([23, 203], f32))\n%y = _softmax(%x, -1, False)\n%z = _log_softmax(%x, -1, False)\nreturn %y, %z\n",
        "graph ends\n%x = input(T([23, 203], f32))\n%w = input(T([203], f32))\n%b = input(T([203], f32))\n"
        "%y, %m, %r = native_layer_norm(%x, [203], %w, %b, 1e-05)\nreturn %y, %m, %r\n",
        "graph ends\n%x = input(T([3, 5, 7, 131], f32))\n%y = _softmax(%x, -1, False)\nreturn %y\n",
        "graph ends\n%x = input(T([2, 5, 7, 131], f32, stride=(4585, 131, 655, 1)))\n%y = _softmax(%x, -1, False)\nreturn %y\n",
        "graph ends\n%g = input(T([23, 203], f32))\n%x = input(T([23, 203], f32))\n%y = _softmax_backward_data(%g, %x, -1, f32)\nreturn %y\n",
        "graph ends\n%g = input(T([36, 203], f32))\n%x = input(T([36, 203], f32))\n%w = input(T([203], f32))\n%b = input(T([203], f32))\n"
        "%m = input(T([36, 1], f32))\n%r = input(T([36, 1], f32), low=0.5, high=2.0)\n"
        "%y, %p, %q = native_layer_norm_backward(%g, %x, [203], %m, %r, %w, %b, [True, True, True])\nreturn %y, %p, %q\n",
        "graph ends\n%x = input(T([203, 203], f32))\n%t = triu(%x)\n%y = _softmax(%t, -1, False)\nreturn %y\n",
        "graph ends\n%x = input(T([203, 203], f32))\n%s = _softmax(%x, -1, False)\n%y = tril(%s)\nreturn %y\n",
        "graph ends\n%x = input(T([23, 203], f32))\n%z = input(T([23, 100], f32))\n%s = _softmax(%x, -1, False)\n%c = cat([%z, %s], 1)\n"
        "%y = mul.Tensor(%c, 2.0)\nreturn %y\n",
        "graph ends\n%x = input(T([6, 9, 11, 13], f32))\n%w = input(T([9], f32))\n%b = input(T([9], f32))\n"
        "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\nreturn %y, %m, %r\n",
    };
    (void)state;
    for (size_t i = 0; i < countof(graphs); i++) {
        check(graphs[i], DTYPE_F32, 1, NULL);
        check(graphs[i], DTYPE_F32, 3, NULL);
        check(graphs[i], DTYPE_BF16, 2, NULL);
        check(graphs[i], DTYPE_F16, 3, NULL);
    }
}

/* Single passes, whose tasks are rows or blocks of lanes: the last block of a row may be shorter than a line. */
static void single_passes_agree(void **state) {
    static const int lengths[] = {33, 47, 65, 129, 255, 331, 1001, 1025, 1029, 1056, 1057, 2047, 2081};
    static const char *const calls[] = {"%y = repeat(%x, [1, 3])", "%y = mul.Tensor(%x, %w)", "%y = cat([%x, %x], 1)", "%y = flip(%x, [0])",
                                        "%y = triu(%x)", "%a = sin(%x)\n%y = mul.Tensor(%a, %v)", "%y = _to_copy(%x, dtype=f64)",
                                        "%y = lt.Tensor(%x, %w)", "%y = roll(%x, [7], [1])"};
    (void)state;
    for (size_t i = 0; i < countof(lengths); i++) {
        for (size_t k = 0; k < countof(calls); k++) {
            char lines[512], row[64], column[64];
            const int n = lengths[i];
            snprintf(row, sizeof row, "%%w = input(T([%d], f32))\n", n);
            snprintf(column, sizeof column, "%%v = input(T([13, 1], f32))\n");
            snprintf(lines, sizeof lines, "graph ends\n%%x = input(T([13, %d], f32))\n%s%s%s\nreturn %%y\n", n,
                     strstr(calls[k], "%w") != NULL ? row : "", strstr(calls[k], "%v") != NULL ? column : "", calls[k]);
            check(lines, DTYPE_F32, 1 + (int)i % 4, NULL);
            if (i % 4 == 0) {
                check(lines, k % 2 == 0 ? DTYPE_BF16 : DTYPE_F16, 2, NULL);
            }
        }
    }
}

/* The same on processors that store in other ways, or take rows in pairs. */
static void other_processors_agree(void **state) {
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options, chosen = *o;
    for (int way = 0; way < 4; way++) {
        o->few_stores = o->asks_far = (way & 1) != 0;
        o->no_twins = (way & 2) != 0;
        softmax_of(331, NULL);
        what_is_beside_them_agrees(state);
    }
    *o = chosen;
}

/* 16411 is a prime: what no part has is summed up by itself. */
static void columns_of_any_number_of_rows_agree(void **state) {
    static const char sums[] = "graph ends\n%x = input(T([16411, 1024], f32))\n%y = sum.dim_IntList(%x, [0], True)\nreturn %y\n";
    static const char means[] = "graph ends\n%x = input(T([7, 2347, 1021], f32))\n%y = mean.dim(%x, [0, 1])\nreturn %y\n";
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        check(sums, DTYPE_AS_RECORDED, threads, NULL);
        check(means, DTYPE_AS_RECORDED, threads, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_agree),
        cmocka_unit_test(what_is_beside_them_agrees),
        cmocka_unit_test(single_passes_agree),
        cmocka_unit_test(other_processors_agree),
        cmocka_unit_test(columns_of_any_number_of_rows_agree),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
