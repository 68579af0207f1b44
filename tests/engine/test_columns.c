/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled reductions with columns for lanes, against the reference in double: variances in one reading, about a number that the first
   rows tell, in blocks that are full or not, one by one where registers keep no sums, of halves, of numbers of which that is far off, of
   NaN and infinities, which inputs as small as these have only here; and the places of extreme halves, also of rows. */
#include "engine/graph_cases.h"

#include <math.h>

typedef enum filling {
    AS_IT_IS,
    ALIKE,
    FAR_FROM_0,
    FAR_BEGINNINGS,
    FAR_STEPS,
    WITH_NAN,
    INFINITE_BEGINNINGS,
    WITH_INFINITY,
    LARGE_COLUMN,
    FILLINGS,
} filling;

/* Element i of a tensor of rows of n. */
static double fill_of(filling f, double x, int64_t i, int64_t n) {
    int64_t row = i / n, column = i % n;
    switch (f) {
    case ALIKE:
        return 3.3;
    case FAR_FROM_0:
        return x + 512;
    case FAR_BEGINNINGS:
        return row < 20 && column % 3 != 0 ? 50 : x;
    case FAR_STEPS:
        return x + (double)(row % 4 * 100);
    case WITH_NAN:
        return i % 1237 == 700 ? (double)NAN : x;
    case INFINITE_BEGINNINGS:
        return row < 3 && column % 2 == 0 ? (double)INFINITY : row < 20 ? 40 : x;
    case WITH_INFINITY:
        return i % 1237 == 700 ? (double)-INFINITY : x;
    case LARGE_COLUMN:
        return column == 5 ? 1e4 * x : x;
    default:
        return x;
    }
}

static void fill(graph *g, filling f) {
    const tensor *x = graph_find_value(g, "x");
    int64_t n = x->sizes[x->ndim - 1], size = (int64_t)dtype_size(x->dtype), all = tensor_numel(x);
    for (int64_t i = 0; i < all; i++) {
        char *at = (char *)tensor_data(x) + i * size;
        element_store(x->dtype, at, fill_of(f, element_load(x->dtype, at), i, n));
    }
}

typedef struct reduction_case {
    const char *sizes, *dims;
    bool once; /* or by keys */
} reduction_case;

static const reduction_case variances[] = {
    {"70, 128", "0", true},           {"3, 67, 64", "1", true},      {"2, 64, 200", "1", true}, {"1, 131, 1030", "1", true},
    {"2, 65, 3, 70", "1", true},      {"3, 2, 80, 64", "0, 2", true}, {"4, 300, 5", "1", true},  {"2, 70, 1", "1", false},
    {"3, 63, 64", "1", false},        {"1, 5", "0", false},          {"7, 33, 5", "1", false},  {"600, 17", "0", true},
};

static void check_variances(op_table *table, const char *type, bool few_stores) {
    static graph_cases cases;
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    compile_options *o = &((compiled_backend *)b)->options;
    o->streams_all = true;
    o->asks_far = o->few_stores = few_stores;
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(variances); i++) {
        for (int f = 0; f < FILLINGS; f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph columns\n%%x = input(T([%s], %s))\n%%v, %%m = var_mean.correction(%%x, [%s])\n%%s = std.correction(%%x, [%s])\n"
                     "return %%v, %%m, %%s\n", variances[i].sizes, type, variances[i].dims,
                     variances[i].dims);
            fill(cases_add(&cases, source), (filling)f);
        }
    }
    cases_check(&cases, b);
    cases_forget(&cases);
    b->close(b);
}

static void variances_by_columns_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "bf16", "f16", "f64"};
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < 2 * countof(types); i++) {
        check_variances(table, types[i / 2], i % 2 == 0);
    }
    op_table_free(table);
}

static bool is_in_text(op_table *table, const char *source, const char *word) {
    static graph_cases cases;
    backend *b;
    plan *p;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    ((compiled_backend *)b)->options.streams_all = ((compiled_backend *)b)->options.few_stores = true;
    cases = (graph_cases){.table = table};
    assert_int_equal(b->prepare(b, cases_add(&cases, source), &p, NULL), ASSAY_OK);
    bool is_there = strstr(((compiled_plan *)p)->program.body, word) != NULL;
    p->release(p);
    cases_forget(&cases);
    b->close(b);
    return is_there;
}

static void variances_are_read_once(void **state) {
    (void)state;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(variances); i++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph columns\n%%x = input(T([%s], f32))\n%%s = std.correction(%%x, [%s])\nreturn %%s\n",
                 variances[i].sizes, variances[i].dims);
        if (is_in_text(table, source, "near_mean_f32") != variances[i].once) {
            print_error("read %s:\n%s", variances[i].once ? "twice" : "once", source);
            assert_true(false);
        }
    }
    op_table_free(table);
}

/* --- the largest and smallest halves, and their places ------------------------------------------------------------------- */

static const reduction_case extremes[] = {
    {"70, 128", "0", true},   {"3, 67, 64", "1", true}, {"2, 9, 200", "1", true}, {"1, 131, 1030", "1", true},
    {"4, 30, 5", "1", true},  {"37, 1024", "1", true},  {"23, 1027", "1", true},  {"9, 5", "1", true},
    {"5, 3, 64", "2", true},  {"2, 32767", "1", true},  {"2, 40000", "1", false}, {"2, 40, 3, 20", "1", true},
    {"33000, 5", "0", false},
};

typedef enum extreme_filling {
    AS_DRAWN,
    EQUALS,
    ZEROS,
    NEGATIVE,
    NANS,
    NEGATIVE_NANS,
    INFINITE,
    ONE_INFINITY,
    EXTREME_FILLINGS,
} extreme_filling;

static double extreme_of(extreme_filling f, double x, int64_t i) {
    switch (f) {
    case EQUALS:
        return (double)(i * 7 % 11 / 4) - 1;
    case ZEROS:
        return i % 3 == 0 ? -0.0 : 0.0;
    case NEGATIVE:
        return -fabs(x) - 1;
    case NANS:
        return i % 379 == 200 ? (double)NAN : x;
    case NEGATIVE_NANS:
        return i % 2 == 0 ? -(double)NAN : (double)INFINITY;
    case INFINITE:
        return i % 5 < 3 ? (i % 2 == 0 ? 1 : -1) * (double)INFINITY : x;
    case ONE_INFINITY:
        return i % 379 == 200 ? -(double)INFINITY : -65504;
    default:
        return x;
    }
}

static void check_extremes(op_table *table, const char *type, bool few_stores) {
    static graph_cases cases;
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    ((compiled_backend *)b)->options.few_stores = few_stores;
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(extremes); i++) {
        const reduction_case *c = &extremes[i];
        for (int f = 0; f < EXTREME_FILLINGS; f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source,
                     "graph places\n%%x = input(T([%s], %s))\n%%v, %%i = max.dim(%%x, %s)\n%%w, %%j = min.dim(%%x, %s)\n"
                     "return %%v, %%i, %%w, %%j\n",
                     c->sizes, type, c->dims, c->dims);
            const tensor *x = graph_find_value(cases_add(&cases, source), "x");
            for (int64_t e = 0; e < tensor_numel(x); e++) {
                char *at = (char *)tensor_data(x) + (int64_t)dtype_size(x->dtype) * e;
                element_store(x->dtype, at, extreme_of((extreme_filling)f, element_load(x->dtype, at), e));
            }
        }
    }
    cases_check(&cases, b);
    cases_forget(&cases);
    b->close(b);
}

static void extremes_are_compared_as_numbers(void **state) {
    (void)state;
    static const char *const types[] = {"bf16", "f16", "f32"};
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(types); i++) {
        check_extremes(table, types[i], true);
    }
    check_extremes(table, "f32", false);
    for (size_t i = 0; i < countof(extremes); i++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph places\n%%x = input(T([%s], bf16))\n%%v, %%i = max.dim(%%x, %s)\nreturn %%v, %%i\n",
                 extremes[i].sizes, extremes[i].dims);
        assert_int_equal(is_in_text(table, source, "key_of_half"), extremes[i].once);
    }
    op_table_free(table);
}

/* --- parts of sums over the first dimension ------------------------------------------------------------------------------ */

static void check_sum(op_table *table, const char *lines, const char *title) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    backend *b;
    snprintf(source, sizeof source, "graph sums\n%s", lines);
    assert_true(is_in_text(table, source, title));
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    cases = (graph_cases){.table = table};
    cases_add(&cases, source);
    cases_check(&cases, b);
    cases_forget(&cases);
    b->close(b);
}

/* Of what no cache holds and nobody else goes over there are few, of rows that are made just then as many as a cache holds. */
static void parts_of_sums_agree(void **state) {
    (void)state;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    check_sum(table, "%x = input(T([32776, 512], bf16))\n%y = sum.dim_IntList(%x, [0])\nreturn %y\n", "f32[8, 512]");
    check_sum(table, "%x = input(T([4096, 512], bf16))\n%y = sum.dim_IntList(%x, [0])\nreturn %y\n", "f32[32, 512]");
    check_sum(table, "%x = input(T([32768, 512], bf16))\n%z = relu(%x)\n%y = sum.dim_IntList(%z, [0])\nreturn %z, %y\n", "f32[256, 512]");
    op_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variances_are_read_once),
        cmocka_unit_test(variances_by_columns_agree),
        cmocka_unit_test(extremes_are_compared_as_numbers),
        cmocka_unit_test(parts_of_sums_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
