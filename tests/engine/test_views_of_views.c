/* SPDX-License-Identifier: Apache-2.0 */
/* Views of views, which are one view where they go together: paddings by numbers that differ, indices that are read where indices say,
   and more of them than one view has room for. */
#include "engine/graph_cases.h"
#include "engine/links.h"

static graph_cases cases;

static int open_all(void **state) {
    (void)state;
    return op_table_new(&cases.table, NULL) != ASSAY_OK;
}

static int close_all(void **state) {
    (void)state;
    op_table_free(cases.table);
    return 0;
}

static void check_all(void) {
    backend *b;
    assert_int_equal(backend_compiled_open(cases.table, "compiled", &b, NULL), ASSAY_OK);
    cases_check(&cases, b);
    b->close(b);
    cases_forget(&cases);
}

static void paddings_of_paddings(void **state) {
    (void)state;
    static const char *const forms[] = {
        "%x = input(T([3, 4], c64))\n%a = constant_pad_nd(%x, [1, 1], (1+1j))\n%b = constant_pad_nd(%a, [1, 1], (1+2j))\nreturn %b\n",
        "%x = input(T([3, 4], c64))\n%a = constant_pad_nd(%x, [1, 1], (1+1j))\n%b = constant_pad_nd(%a, [1, 1], (1+1j))\nreturn %b\n",
        "%x = input(T([3, 4], f32))\n%a = constant_pad_nd(%x, [1, 1], 1.0)\n%b = constant_pad_nd(%a, [1, 1], 2.0)\nreturn %b\n",
        "%x = input(T([3, 4], i64))\n%a = constant_pad_nd(%x, [1, 1], 7)\n%b = constant_pad_nd(%a, [0, 2, 1, 1], 7)\nreturn %b\n",
        ("%x = input(T([3, 4], f32))\n%a = constant_pad_nd(%x, [1, 1], 0.0)\n%b = constant_pad_nd(%a, [1, 1], -0.0)\n"
         "%c = reciprocal(%b)\nreturn %c\n"),
    };
    for (size_t f = 0; f < countof(forms); f++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph paddings\n%s", forms[f]);
        cases_add(&cases, source);
    }
    check_all();
}

static void add_links(const char *inputs, const char *link, int links, const char *end) {
    text source = {0};
    links_add(&source, inputs, link, links, end);
    cases_add(&cases, source.data);
    text_clear(&source);
}

static void indices_of_indices(void **state) {
    (void)state;
    add_links("%p0 = input(T([100], i64), low=0, high=100)\n", "%pN = index_select(%pP, 0, %pP)\n", 12, "return %p12\n");
    add_links("%p0 = input(T([16, 16], f32))\n%i = input(T([16, 16], i64), low=0, high=16)\n%j = input(T([16, 16], i64), low=0, high=16)\n",
              "%pN = index.Tensor(%pP, [%i, %j])\n", 9, "return %p9\n");
    add_links("%p0 = input(T([16, 16], f32))\n%i = input(T([16, 16], i64), low=0, high=16)\n",
              "%qN = gather(%pP, 0, %i)\n%pN = gather(%qN, 1, %i)\n", 8, "return %p8\n");
    add_links("%p0 = input(T([16, 8], f32))\n", "%iN = input(T([16], i64), low=0, high=16)\n%pN = index_select(%pP, 0, %iN)\n", 40,
              "return %p40\n");
    check_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paddings_of_paddings),
        cmocka_unit_test(indices_of_indices),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
