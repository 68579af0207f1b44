/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled loads from where data say, against the reference in double, with and without the processor's instruction for floats: rows of whole
   vectors and of some lanes more, rows that several tasks share, indices that all rows share, what several loads look up in one place, sums,
   functions of blocks, behind which lanes are left. */
#include "engine/graph_cases.h"

static const char *const sources[] = {
    "%x = input(T([33, 130], f32))\n%i = input(T([75], i64))\n%y = index_select(%x, 1, %i)\nreturn %y\n",
    "%x = input(T([500, 63], f32))\n%i = input(T([256], i64))\n%y = index_select(%x, 1, %i)\nreturn %y\n",
    "%x = input(T([40, 9, 17], f32))\n%i = input(T([3000], i64))\n%y = index_select(%x, 2, %i)\nreturn %y\n",
    "%x = input(T([20, 700], f32))\n%i = input(T([20, 1100], i64), low=0, high=700)\n%y = gather(%x, 1, %i)\nreturn %y\n",
    "%x = input(T([20, 700], bf16))\n%i = input(T([20, 1100], i64), low=0, high=700)\n%y = gather(%x, 1, %i)\nreturn %y\n",
    "%x = input(T([64, 90], f32))\n%i = input(T([64, 90], i64), low=0, high=90)\n%g = gather(%x, 1, %i)\n"
    "%y = sum.dim_IntList(%g, [0])\nreturn %y\n",
    "%x = input(T([2, 3, 9, 70], f32))\n%g = input(T([2, 5, 83, 2], f32), low=-1.2, high=1.2)\n"
    "%y = grid_sampler_2d(%x, %g, 0, 0, False)\nreturn %y\n",
    "%x = input(T([2, 3, 9, 70], f32))\n%g = input(T([2, 5, 83, 2], f32), low=-1.2, high=1.2)\n"
    "%s = grid_sampler_2d(%x, %g, 0, 0, False)\n%y = exp(%s)\nreturn %y\n",
    "%d = input(T([2, 3, 5, 83], f32))\n%x = input(T([2, 3, 9, 70], f32))\n%g = input(T([2, 5, 83, 2], f32), low=-1.2, high=1.2)\n"
    "%y, %z = grid_sampler_2d_backward(%d, %x, %g, 0, 1, True, [True, True])\nreturn %y, %z\n",
    "%x = input(T([2, 3, 11, 40], f32))\n%y = upsample_bilinear2d.vec(%x, [23, 81], True, None)\nreturn %y\n",
    "%x = input(T([2, 3, 11, 40], f16))\n%y = upsample_bicubic2d.vec(%x, [23, 81], False, None)\nreturn %y\n",
    "%d = input(T([2, 3, 23, 81], f32))\n%y = upsample_bilinear2d_backward.vec(%d, [23, 81], [2, 3, 11, 40], False, None)\nreturn %y\n",
    "%d = input(T([2, 3, 30, 120], f32))\n%y = upsample_bilinear2d_backward.vec(%d, [30, 120], [2, 3, 10, 40], False, None)\nreturn %y\n",
};

static void looked_up_values_agree(void **state) {
    (void)state;
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (int gathers = 0; gathers < 2; gathers++) {
        backend *b;
        assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
        ((compiled_backend *)b)->options.gathers = gathers != 0; /* whatever is faster on this machine */
        cases = (graph_cases){.table = table};
        for (size_t i = 0; i < countof(sources); i++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, "graph looks\n%s", sources[i]);
            cases_add(&cases, source);
        }
        cases_check(&cases, b);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looked_up_values_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
