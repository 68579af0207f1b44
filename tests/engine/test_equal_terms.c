/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of very many equal terms, each of which rounds the same way: by lanes that are results and by lanes of a row, in several loops, of
   halves, of products and squares, beside results of other phases. And short sums, of any lanes, in pieces as very long ones are. */
#include "engine/graph_ways.h"
#include "engine/table_kit.h"

#include <math.h>

#define EQUAL ", low=0.26, high=0.26)\n"

/* Each element of the first output comes of so many equal terms and is `factor` times 0.26, or its square, in f32. */
typedef struct long_sum {
    const char *source;
    double terms, factor;
    bool is_square;
} long_sum;

static const long_sum long_sums[] = {
    {"%x = input(T([2, 100003, 8], f32)" EQUAL "%y = sum.dim_IntList(%x, [1])\nreturn %y\n", 100003, 100003, false},
    {"%x = input(T([100003, 2, 17], f32, stride=(34, 1, 2))" EQUAL "%y = mean.dim(%x, [0])\nreturn %y\n", 100003, 1, false},
    {"%x = input(T([2, 4, 300, 400], f32, stride=(4, 1, 0, 0))" EQUAL "%y = mean.dim(%x, [2, 3])\nreturn %y\n", 120000, 1, false},
    {"%x = input(T([2, 100003, 64], f16)" EQUAL "%z = _to_copy(%x, dtype=f32)\n%y = sum.dim_IntList(%z, [1])\nreturn %y\n", 100003,
     100003 * (0.260009765625 / (double)0.26f), false},
    {"%x = input(T([9, 100000], f32, stride=(1, 0))" EQUAL "%y = sum.dim_IntList(%x, [1])\nreturn %y\n", 100000, 100000, false},
    {"%x = input(T([300, 3, 300, 8], f32)" EQUAL "%y = sum.dim_IntList(%x, [0, 2])\nreturn %y\n", 90000, 90000, false},
    {"%x = input(T([20000000], f32, stride=(0,))" EQUAL "%y = sum(%x)\nreturn %y\n", 20000000, 20000000, false},
    {"%x = input(T([20000000, 4], f32, stride=(0, 1))" EQUAL "%y = mean.dim(%x, [0])\nreturn %y\n", 20000000, 1, false},
    {"%x = input(T([2, 60000, 8], f32)" EQUAL "%z = input(T([2, 60000, 8], f32)" EQUAL
     "%p = mul.Tensor(%x, %z)\n%y = sum.dim_IntList(%p, [1])\n%n = sum.dim_IntList(%x, [1])\nreturn %y, %n\n", 60000, 60000, true},
    {"%x = input(T([2, 250000, 8], f32)" EQUAL "%y = norm.ScalarOpt_dim(%x, 2, [1])\nreturn %y\n", 250000, 500, false},
    {"%x = input(T([8, 100003, 16], f32)" EQUAL "%z = input(T([8, 100003, 16], f32), low=0.0, high=0.0)\n"
     "%s = sum.dim_IntList(%x, [1], True)\n%y = add.Tensor(%s, %z)\nreturn %y\n", 100003, 100003, false}, /* both by one task */
    {"%x = input(T([900027, 24], f32)" EQUAL "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\nreturn %s, %y\n", 900027, 900027, false}, /* 9 parts */
};

static const char *const short_sums[] = {
    "%x = input(T([40, 100], f32))\n%y = sum.dim_IntList(%x, [1])\nreturn %y\n",
    "%x = input(T([40, 777], f32))\n%y = sum.dim_IntList(%x, [1])\n%v = var.correction(%x, [1], correction=0)\nreturn %y, %v\n",
    "%x = input(T([40, 777], bf16))\n%y = _softmax(%x, 1, False)\nreturn %y\n",
    "%x = input(T([10, 77, 30], f32))\n%y = var.correction(%x, [1], correction=0)\nreturn %y\n",
    "%x = input(T([10, 77, 128], bf16))\n%y = var.correction(%x, [1], correction=0)\nreturn %y\n",
    "%x = input(T([10, 77, 128], f32))\n%y = _softmax(%x, 1, False)\nreturn %y\n",
    "%x = input(T([9, 20, 7, 65], f32))\n%y = sum.dim_IntList(%x, [0, 2])\n%p, %q = max.dim(%x, 0)\nreturn %y, %p, %q\n",
    "%x = input(T([9, 20, 7, 65], f16))\n%y = sum.dim_IntList(%x, [0, 3])\nreturn %y\n",
    ("%x = input(T([16, 12, 300], f32))\n%w = input(T([12], f32))\n"
     "%y, %m, %r = native_batch_norm(%x, %w, %w, None, None, True, 0.1, 1e-05)\nreturn %y, %m, %r\n"),
    "%x = input(T([50, 2048], f32))\n%y = sum.dim_IntList(%x, [0])\n%a, %b = max.dim(%x, 0)\nreturn %y, %a, %b\n",
    "%x = input(T([20, 6, 16], f32, stride=(6, 1, 120)))\n%y = sum.dim_IntList(%x, [0, 2])\nreturn %y\n",
};

static size_t short_source(size_t i, char *source) {
    if (i < countof(short_sums)) {
        snprintf(source, CASE_SOURCE_BYTES, "graph terms\n%s", short_sums[i]);
    }
    return countof(short_sums);
}

/* By the rule of docs/accuracy.md for a call; a graph's is wider. */
static void check_first_output(plan *p, const long_sum *s) {
    const double x = (double)0.26f, expected = s->factor * (s->is_square ? x * x : x);
    const double most = 8 * dtype_epsilon(ASSAY_F32) * (1 + sqrt(s->terms)) * expected;
    tensor t;
    assert_int_equal(p->run(p, NULL), ASSAY_OK);
    assert_int_equal(p->output(p, 0, &t, NULL), ASSAY_OK);
    assert_int_equal(t.dtype, ASSAY_F32);
    for (int64_t i = 0; i < tensor_numel(&t); i += tensor_numel(&t) / 8 + 1) {
        const double y = (double)((const float *)tensor_data(&t))[i]; /* all are alike, whatever their order */
        if (!(fabs(y - expected) <= most)) {
            print_error("%.9g, expected %.9g (tolerance %g), of\n%s", y, expected, most, s->source);
        }
        assert_true(fabs(y - expected) <= most);
    }
    tensor_clear(&t);
}

static void check_long_sums(backend *b) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(long_sums); i++) {
        plan *p;
        snprintf(source, CASE_SOURCE_BYTES, "graph terms\n%s", long_sums[i].source);
        assert_int_equal(b->prepare(b, cases_add(&cases, source), &p, NULL), ASSAY_OK);
        check_first_output(p, &long_sums[i]);
        p->release(p);
        cases_forget(&cases);
    }
}

static void long_sums_agree(void **state) {
    (void)state;
    cases_by_both(table, check_long_sums);
}

/* Sums that processors keep in registers where stores take long. */
static void held_sums_agree(void **state) {
    (void)state;
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    ((compiled_backend *)b)->options.few_stores = true;
    check_long_sums(b);
    b->close(b);
}

static void cut(compile_options *o) {
    o->cuts_sums = true;
}

static void pieces_agree(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        check_way_with(table, way, cut, short_source, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sums_agree), cmocka_unit_test(held_sums_agree), cmocka_unit_test(pieces_agree)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
