/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters of rows, of whose result each thread has a part: indices that name rows more than once, from the end and not at all, rows that
   parts cut unevenly, types, sums and the last one written, fewer threads than parts; and what stays by columns. Rows of halves, summed up
   one by one; and where they are not. */
#include "flow_kit.h"

#include <omp.h>

enum { PARTS = 3 };

static const char own[] = "own_first";

static void rows_agree(void **state) {
    (void)state;
    omp_set_num_threads(PARTS);
    const flow_case shared[] = {
        {"%x = input(T([700, 128], f32))\n%i = input(T([700], i64), low=0, high=41)\n", "%y = embedding_dense_backward(%x, %i, 41, 3, False)\n", "%y"},
        {"%x = input(T([700, 128], f32))\n%i = input(T([700], i64), low=0, high=41)\n", "%y = embedding_dense_backward(%x, %i, 41, -1, True)\n", "%y"},
        {"%x = input(T([7, 200], f32))\n%i = input(T([300], i64), low=-7, high=7)\n%v = input(T([300, 200], f32))\n",
         "%y = index_put(%x, [%i], %v, True)\n", "%y"},
        {"%x = input(T([64, 77], f64))\n%i = input(T([900], i64), low=0, high=64)\n%v = input(T([900, 77], f64))\n",
         "%y = index_add(%x, 0, %i, %v, alpha=-0.5)\n", "%y"},
        {"%x = input(T([50, 96], i32))\n%i = input(T([400], i64), low=0, high=50)\n%v = input(T([400, 96], i32))\n",
         "%y = index_add(%x, 0, %i, %v)\n", "%y"},
    };
    for (size_t i = 0; i < countof(shared); i++) {
        assert_true(is_in_text(&shared[i], own));
        for (int threads = 1; threads <= PARTS; threads++) {
            check(&shared[i], DTYPE_AS_RECORDED, threads, 0);
        }
    }
    check(&shared[0], DTYPE_BF16, 2, 0);
    check(&shared[2], DTYPE_F16, 3, 0);
}

/* Too few rows, rows too short, a result that lies across them, and what one thread does. */
static void others_go_by_columns(void **state) {
    (void)state;
    omp_set_num_threads(PARTS);
    const flow_case others[] = {
        {"%x = input(T([2, 400], f32))\n%i = input(T([300], i64), low=0, high=2)\n%v = input(T([300, 400], f32))\n",
         "%y = index_add(%x, 0, %i, %v)\n", "%y"},
        {"%x = input(T([90, 20], f32))\n%i = input(T([5000], i64), low=0, high=90)\n%v = input(T([5000, 20], f32))\n",
         "%y = index_add(%x, 0, %i, %v)\n", "%y"},
        {"%x = input(T([128, 40], f32))\n%i = input(T([600], i64), low=0, high=40)\n%v = input(T([128, 600], f32))\n",
         "%y = index_add(%x, 1, %i, %v)\n", "%y"},
    };
    for (size_t i = 0; i < countof(others); i++) {
        assert_false(is_in_text(&others[i], own));
        check(&others[i], DTYPE_AS_RECORDED, 2, 0);
    }
    omp_set_num_threads(1);
    const flow_case alone = {"%x = input(T([700, 128], f32))\n%i = input(T([700], i64), low=0, high=41)\n",
                             "%y = embedding_dense_backward(%x, %i, 41, 3, False)\n", "%y"};
    assert_false(is_in_text(&alone, own));
}

/* Widths of whole blocks, of less than one and of neither; indices of one and two loops; one thread and several. */
static void halves_are_listed(void **state) {
    (void)state;
    omp_set_num_threads(PARTS);
    const flow_case listed[] = {
        {"%x = input(T([700, 128], bf16))\n%i = input(T([700], i64), low=0, high=41)\n", "%y = embedding_dense_backward(%x, %i, 41, 3, False)\n", "%y"},
        {"%x = input(T([700, 40], f16))\n%i = input(T([700], i64), low=0, high=41)\n", "%y = embedding_dense_backward(%x, %i, 41, -1, False)\n", "%y"},
        {"%x = input(T([30, 20, 150], bf16))\n%i = input(T([30, 20], i64, stride=(0, 1)), low=0, high=300)\n",
         "%y = embedding_dense_backward(%x, %i, 300, -1, False)\n", "%y"},
        {"%x = input(T([7, 200], f16))\n%i = input(T([300], i64), low=-7, high=7)\n%v = input(T([300, 200], f16))\n",
         "%y = index_put(%x, [%i], %v, True)\n", "%y"},
        {"%x = input(T([64, 77], bf16))\n%i = input(T([900], i64), low=0, high=64)\n%v = input(T([900, 77], bf16))\n",
         "%y = index_add(%x, 0, %i, %v, alpha=-0.5)\n", "%y"},
        {"%x = input(T([64, 64], f16))\n%i = input(T([900], i64), low=0, high=64)\n%v = input(T([900, 64], f16))\n",
         "%y = index_add(%x, 0, %i, %v)\n", "%y"},
    };
    for (size_t i = 0; i < countof(listed); i++) {
        assert_true(is_in_text(&listed[i], "next_at"));
        for (int threads = 1; threads <= PARTS; threads++) {
            check(&listed[i], DTYPE_AS_RECORDED, threads, 0);
        }
    }
}

/* The floats are wanted as well; what is added to is not of halves; rows too short. */
static void some_halves_are_not(void **state) {
    (void)state;
    omp_set_num_threads(PARTS);
    const flow_case others[] = {
        {"%x = input(T([64, 64], f32))\n%i = input(T([90], i64), low=0, high=64)\n%v = input(T([90, 64], f32))\n",
         "%s = index_add(%x, 0, %i, %v)\n%y = _to_copy(%s, dtype=bf16)\n", "%y, %s"},
        {"%x = input(T([64, 64], f32))\n%i = input(T([90], i64), low=0, high=64)\n%v = input(T([90, 64], f32))\n",
         "%s = index_add(%x, 0, %i, %v)\n%y = _to_copy(%s, dtype=f16)\n", "%y"},
        {"%x = input(T([64, 4], bf16))\n%i = input(T([900], i64), low=0, high=64)\n%v = input(T([900, 4], bf16))\n",
         "%y = index_add(%x, 0, %i, %v)\n", "%y"},
    };
    for (size_t i = 0; i < countof(others); i++) {
        assert_false(is_in_text(&others[i], "next_at"));
        check(&others[i], DTYPE_AS_RECORDED, 2, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(others_go_by_columns),
        cmocka_unit_test(halves_are_listed),
        cmocka_unit_test(some_halves_are_not),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
