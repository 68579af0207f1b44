/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled reductions of which each task has a row here and there, read in the order of memory, against the reference in double: sums and
   variances, of several groups of tasks and of less than one, rows that end with less than a block, halves, whole numbers,
   numbers far from what the first ones tell, NaN and infinities. */
#include "engine/graph_cases.h"

#include <math.h>

typedef struct shape {
    const char *sizes, *dims;
    bool ordered; /* or too few rows, too short ones, or such that are not neighbours */
} shape;

static const shape shapes[] = {
    {"3, 9, 16, 20", "0, 2, 3", true}, {"2, 131, 300", "0, 2", true},   {"4, 300, 17, 16", "0, 2, 3", true},
    {"5, 4, 1024", "0, 2", true},      {"2, 3, 5, 257", "0, 3", true},  {"2, 2, 7, 3, 256", "0, 1, 4", true},
    {"6, 2, 400", "0, 2", false},      {"6, 40, 60", "0, 2", false},    {"12, 1000", "1", false},
};

enum { FILLINGS = 6 };

/* Element i of all, of which the first rows are told from others by their places. */
static double fill_of(int filling, double x, int64_t i) {
    switch (filling) {
    case 1:
        return x + 512;
    case 2:
        return i % 256 < 16 ? 90 : x;
    case 3:
        return i % 1237 == 700 ? (double)NAN : x;
    case 4:
        return i % 1237 == 700 ? (double)INFINITY : x;
    case 5:
        return 3.25;
    default:
        return x;
    }
}

static void fill(graph *g, int filling) {
    const tensor *x = graph_find_value(g, "x");
    const int64_t size = (int64_t)dtype_size(x->dtype), n = tensor_numel(x);
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)tensor_data(x) + i * size;
        element_store(x->dtype, at, fill_of(filling, element_load(x->dtype, at), i));
    }
}

static backend *open_backend(op_table *table) {
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    compile_options *o = &((compiled_backend *)b)->options;
    o->streams_all = true;
    o->asks_far = o->few_stores = false; /* whatever is faster on this machine */
    return b;
}

static void write_source(char *source, const shape *s, const char *type, const char *line) {
    snprintf(source, CASE_SOURCE_BYTES, "graph rows\n%%x = input(T([%s], %s))\n", s->sizes, type);
    size_t n = strlen(source);
    snprintf(source + n, CASE_SOURCE_BYTES - n, line, s->dims);
}

static const char *const of_floats[] = {
    "%%v, %%m = var_mean.correction(%%x, [%s])\nreturn %%v, %%m\n",
    "%%s = sum.dim_IntList(%%x, [%s])\nreturn %%s\n",
    "%%e = sigmoid.default(%%x)\n%%s = mean.dim(%%e, [%s])\n%%y = relu.default(%%s)\nreturn %%y\n",
    "%%s = std.correction(%%x, [%s])\nreturn %%s\n",
};

static void floats_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "bf16", "f16", "f64"};
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t t = 0; t < countof(types); t++) {
        backend *b = open_backend(table);
        cases = (graph_cases){.table = table};
        for (size_t i = 0; i < countof(shapes) * countof(of_floats); i++) {
            for (int f = 0; f < FILLINGS; f++) {
                char source[CASE_SOURCE_BYTES];
                write_source(source, &shapes[i / countof(of_floats)], types[t], of_floats[i % countof(of_floats)]);
                fill(cases_add(&cases, source), f);
            }
        }
        cases_check(&cases, b);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

static void whole_numbers_agree(void **state) {
    (void)state;
    static const char *const types[] = {"i64", "i32", "u8", "b8"};
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    backend *b = open_backend(table);
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(shapes) * countof(types); i++) {
        char source[CASE_SOURCE_BYTES];
        write_source(source, &shapes[i / countof(types)], types[i % countof(types)], "%%s = sum.dim_IntList(%%x, [%s])\nreturn %%s\n");
        cases_add(&cases, source);
    }
    cases_check(&cases, b);
    cases_forget(&cases);
    b->close(b);
    op_table_free(table);
}

static void rows_are_read_in_order(void **state) {
    (void)state;
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(shapes) * 2; i++) {
        const shape *s = &shapes[i / 2];
        char source[CASE_SOURCE_BYTES];
        plan *p;
        backend *b = open_backend(table);
        cases = (graph_cases){.table = table};
        write_source(source, s, "f32", of_floats[i % 2]);
        assert_int_equal(b->prepare(b, cases_add(&cases, source), &p, NULL), ASSAY_OK);
        if ((strstr(((compiled_plan *)p)->program.body, "[task - group]") != NULL) != s->ordered) {
            print_error("%s in order:\n%s%s", s->ordered ? "not" : "unexpectedly", source, ((compiled_plan *)p)->program.body);
            assert_true(false);
        }
        p->release(p);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

/* Sums and variances of what no cache holds, alone: in parts of the samples, if there are any that divide them. */
static void samples_are_summed_in_parts(void **state) {
    (void)state;
    static const struct {
        shape s;
        int parts;
    } large[] = {{{"32, 9, 128, 480", "0, 2, 3", true}, 16}, {{"4, 9, 512, 911", "0, 1, 3", true}, 12}, {{"31, 9, 128, 480", "0, 2, 3", true}, 1}};
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(large) * 4; i++) {
        const shape *s = &large[i / 4].s;
        const int parts = large[i / 4].parts;
        char source[CASE_SOURCE_BYTES], sums[32];
        plan *p;
        backend *b = open_backend(table);
        cases = (graph_cases){.table = table};
        write_source(source, s, i % 2 == 0 ? "f32" : "bf16", of_floats[i / 2 % 2]);
        graph *g = cases_add(&cases, source);
        fill(g, 1); /* far from 0 */
        assert_int_equal(b->prepare(b, g, &p, NULL), ASSAY_OK);
        snprintf(sums, sizeof sums, "= sum f32[%d, ", parts);
        assert_int_equal(strstr(((compiled_plan *)p)->program.body, sums) != NULL, parts > 1);
        case_compare(&cases.list[0], p);
        p->release(p);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

/* Variances down columns of what caches do not hold: of parts of the rows, and of a few that are left, each gone over once. Means are as near
   as sums of all rows one by one. */
static void columns_are_gone_over_once(void **state) {
    (void)state;
    static const struct {
        const char *sizes, *dims, *sums; /* which there are first */
    } large[] = {{"40960, 512", "0", "= sum f32[64, 512]"},
                 {"36007, 480", "0", "= sum f32[71, 480]"},
                 {"3, 2048, 1024", "1", "= sum f32[3, 4, 1024]"},
                 {"2, 1409, 1999", "1", "= sum f32[2, 3, 1999]"},
                 {"600, 31000", "0", "= sum f32[1, 31000]"}};
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(large) * 2; i++) {
        const shape s = {large[i / 2].sizes, large[i / 2].dims, false};
        char source[CASE_SOURCE_BYTES];
        plan *p;
        backend *b = open_backend(table);
        cases = (graph_cases){.table = table};
        write_source(source, &s, i % 2 == 0 ? "f32" : "bf16", of_floats[i % 2 == 0 ? 0 : 3]);
        graph *g = cases_add(&cases, source);
        fill(g, (int)(i % 2)); /* in bf16 far from 0 */
        assert_int_equal(b->prepare(b, g, &p, NULL), ASSAY_OK);
        if (i % 2 == 0) {
            assert_true(strstr(((compiled_plan *)p)->program.body, "again = 1") != NULL);
            assert_true(strstr(((compiled_plan *)p)->program.body, large[i / 2].sums) != NULL);
        }
        case_compare(&cases.list[0], p);
        p->release(p);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_agree),
        cmocka_unit_test(whole_numbers_agree),
        cmocka_unit_test(rows_are_read_in_order),
        cmocka_unit_test(samples_are_summed_in_parts),
        cmocka_unit_test(columns_are_gone_over_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
