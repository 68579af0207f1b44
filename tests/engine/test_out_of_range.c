/* SPDX-License-Identifier: Apache-2.0 */
/* Indices read from data that are out of range are an error of the compiled program, also where nobody needs them: in a dimension
   of no elements, of one, or along which all is one. Those in range are as good there as anywhere. */
#include "engine/backend/compiled_plan.h"
#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include "engine/table_kit.h"

#include <string.h>

enum { MOST = 40 };

typedef struct index_case {
    const char *text; /* %i are the indices; their range follows */
    int low, high;
    bool good;
    int n; /* how many there are */
} index_case;

static const index_case cases[] = {
    /* no elements: whatever the index is; the memory ends before the row */
    {"%x = input(T([0, 2000000], f32))\n%y = index_select(%x, 0, %i)\nreturn %y\n", 0, 1, false, 6},
    {"%x = input(T([0, 40], f32))\n%y = embedding(%x, %i)\n%z = add.Tensor(%y, 1.0)\nreturn %z\n", 0, 1, false, 6},
    {"%x = input(T([1, 40], f32))\n%s = slice.Tensor(%x, 0, 0, 0)\n%c = clone(%s)\n%y = index_select(%c, 0, %i)\nreturn %y\n", 0, 1, false, 6},
    {"%x = input(T([0], f32))\n%y = gather(%x, 0, %i)\nreturn %y\n", 0, 1, false, 6},
    {"%x = input(T([40, 0], f32))\n%e = exp(%x)\n%y = index_select(%e, 1, %i)\n%z = sum.dim_IntList(%y, [0])\nreturn %z\n", 0, 1, false, 6},
    {"%x = input(T([0, 40], f32))\n%y = index_select(%x, 0, %i)\n%p = constant_pad_nd(%y, [0, 0, 1, 1], 0.5)\nreturn %p\n", 0, 1, false, 6},
    /* one element */
    {"%x = input(T([1, 40], f32))\n%y = index_select(%x, 0, %i)\nreturn %y\n", 1, 9, false, 6},
    {"%x = input(T([1, 40], f32))\n%y = index_select(%x, 0, %i)\nreturn %y\n", 0, 1, true, 6},
    /* all is one along the dimension: expanded, constant, a coordinate of another dimension */
    {"%x = input(T([1, 40], f32))\n%z = exp(%x)\n%e = expand(%z, [5, 40])\n%y = index_select(%e, 0, %i)\nreturn %y\n", 50, 90, false, 6},
    {"%x = input(T([1, 40], f32))\n%z = exp(%x)\n%e = expand(%z, [5, 40])\n%y = index_select(%e, 0, %i)\nreturn %y\n", -9, 0, false, 6},
    {"%x = input(T([1, 40], f32))\n%z = exp(%x)\n%e = expand(%z, [5, 40])\n%y = index_select(%e, 0, %i)\nreturn %y\n", 0, 5, true, 6},
    {"%x = input(T([10, 40], f32))\n%n = new_zeros(%x, [10, 40])\n%y = index_select(%n, 0, %i)\nreturn %y\n", 50, 90, false, 6},
    {"%x = input(T([10, 40], f32))\n%n = new_zeros(%x, [10, 40])\n%y = index_select(%n, 0, %i)\nreturn %y\n", 0, 10, true, 6},
    {"%x = input(T([10, 40], bf16))\n%n = new_ones(%x, [10, 40])\n%y = index_select(%n, 0, %i)\n%z = sum.dim_IntList(%y, [0, 1])\nreturn %z\n", 10, 11, false, 6},
    {"%x = input(T([40], f32))\n%e = expand(%x, [10, 40])\n%y = index_select(%e, 0, %i)\n%s = _softmax(%y, -1, False)\nreturn %s\n", 10, 11, false, 6},
    {"%x = input(T([40], f32))\n%e = expand(%x, [10, 40])\n%y = index_select(%e, 0, %i)\n%s = _softmax(%y, -1, False)\nreturn %s\n", 0, 10, true, 6},
    /* what is looked at has bounds of its own */
    {"%x = input(T([4, 1], f32))\n%e = expand(%x, [4, 5])\n%p = constant_pad_nd(%e, [0, 0, 1, 1], 0.5)\n%y = index_select(%p, 1, %i)\nreturn %y\n", 5, 9, false, 6},
    {"%x = input(T([4, 1], f32))\n%e = expand(%x, [4, 5])\n%p = constant_pad_nd(%e, [0, 0, 1, 1], 0.5)\n%y = index_select(%p, 1, %i)\nreturn %y\n", 0, 5, true, 6},
    {"%x = input(T([10, 40], f32))\n%y = index_select(%x, 0, %i)\nreturn %y\n", 10, 12, false, 6},
    {"%x = input(T([10, 40], f32))\n%y = index_select(%x, 0, %i)\nreturn %y\n", 0, 10, true, 6},
    /* lanes that each look elsewhere, with indices of their own: by a table for all rows, by places of a block */
    {"%x = input(T([100, 10], f32))\n%y = index_select(%x, 1, %i)\nreturn %y\n", 10, 12, false, 24},
    {"%x = input(T([100, 10], f32))\n%y = index.Tensor(%x, [None, %i])\nreturn %y\n", -12, -10, false, 24},
    {"%x = input(T([100, 10], f32))\n%y = index.Tensor(%x, [None, %i])\nreturn %y\n", -10, 10, true, 24},
    {"%x = input(T([100, 10], f16))\n%y = index_select(%x, 1, %i)\nreturn %y\n", 10, 12, false, 180},
    {"%x = input(T([100, 10], f16))\n%y = index.Tensor(%x, [None, %i])\nreturn %y\n", -12, -10, false, 180},
    {"%x = input(T([100, 10], f16))\n%y = index.Tensor(%x, [None, %i])\nreturn %y\n", -10, 10, true, 180},
    {"%x = input(T([10], f32))\n%y = gather(%x, 0, %i)\nreturn %y\n", 10, 12, false, 24},
    {"%x = input(T([10], f32))\n%y = gather(%x, 0, %i)\nreturn %y\n", 0, 10, true, 24},
    {"%x = input(T([10], f16))\n%y = gather(%x, 0, %i)\n%z = exp(%y)\nreturn %z\n", 10, 12, false, 180},
    {"%x = input(T([10], f16))\n%y = gather(%x, 0, %i)\n%z = exp(%y)\nreturn %z\n", 0, 10, true, 180},
};

static void check(graph *g, arena *memory, plan *p, const index_case *c) {
    error err = {0};
    status result = p->run(p, &err);
    if (result != (c->good ? ASSAY_OK : ASSAY_INVALID)) {
        print_error("answered %d (%s) with indices from %d to %d of\n%s", (int)result, err.message, c->low, c->high - 1, c->text);
    }
    assert_int_equal(result, c->good ? ASSAY_OK : ASSAY_INVALID);
    if (!c->good) {
        assert_non_null(strstr(err.message, "an index is out of range"));
        return;
    }
    exact expected;
    assert_int_equal(exact_make(memory, g, NULL, 1, &expected, &err), ASSAY_OK);
    tensor t;
    agreement a;
    assert_int_equal(p->output(p, 0, &t, NULL), ASSAY_OK);
    exact_compare(&expected, 0, &t, &a);
    tensor_clear(&t);
    assert_true(a.agrees);
}

static void all_are_found(const char *name, bool streams) {
    static arena memory[MOST];
    static graph graphs[MOST];
    const graph *list[MOST];
    plan *plans[MOST];
    backend *b;
    error err = {0};
    int n = (int)(sizeof cases / sizeof cases[0]);
    assert_int_equal(backend_compiled_open(table, name, &b, NULL), ASSAY_OK);
    ((compiled_backend *)b)->options.streams_all = streams;
    for (int i = 0; i < n; i++) {
        text source = {0};
        text_addf(&source, "graph out_of_range\n%%i = input(T([%d], i64), low=%d, high=%d)\n%s", cases[i].n, cases[i].low, cases[i].high, cases[i].text);
        memory[i] = (arena){0};
        if (graph_read(&memory[i], table, source.data, source.length, &(bind_options){0}, &graphs[i], &err) != ASSAY_OK) {
            print_error("%d:%d: %s in\n%s", (int)err.line, (int)err.column, err.message, text_get(&source));
            assert_true(false);
        }
        text_clear(&source);
        assert_int_equal(graph_allocate(&graphs[i], &device_cpu, NULL), ASSAY_OK);
        graph_seed(&graphs[i], 7);
        assert_int_equal(graph_fill(&graphs[i], 7, NULL), ASSAY_OK);
        list[i] = &graphs[i];
    }
    if (compiled_prepare_many(b, list, n, BUILD_TO_TEST, plans, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    for (int i = 0; i < n; i++) {
        check(&graphs[i], &memory[i], plans[i], &cases[i]);
        plans[i]->release(plans[i]);
        graph_clear(&graphs[i]);
        arena_clear(&memory[i]);
    }
    b->close(b);
}

static void indices_out_of_range_are_found(void **state) {
    (void)state;
    all_are_found("compiled", false);
    all_are_found("compiled", true);
}

static void without_fusion_too(void **state) {
    (void)state;
    all_are_found("compiled:nofuse", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_out_of_range_are_found),
        cmocka_unit_test(without_fusion_too),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
