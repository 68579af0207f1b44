/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled running sums down narrow rows, whose tasks are parts of the rows, against the reference in double: as many parts as threads, rows
   that no part has as many of, rows that begin within lines of memory, infinities and NaN, whole numbers. Where rows are wide, and
   where there are few of them, columns are shared out. */
#include "engine/graph_cases.h"

#include <math.h>
#include <omp.h>

typedef struct shape {
    const char *sizes;
    int dim;
    bool in_parts;
} shape;

static const shape shapes[] = {
    {"512, 256", 0, true},     {"1031, 100", 0, true},   {"4099, 16", 0, true},    {"301, 901", 0, true},
    {"1, 640, 3, 50", 1, true}, {"64, 1024", 0, false},  {"8, 2000", 0, false},    {"3, 200, 100", 1, false},
    {"512, 256", 1, false},    {"100, 30", 0, false},    {"20000, 256", 0, false},
};
enum { COMPARED = countof(shapes) - 1 };

static backend *open_backend(op_table *table, int threads) {
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    compile_options *o = &((compiled_backend *)b)->options;
    o->scans_in_parts = true; /* whatever is faster on this machine */
    omp_set_num_threads(threads);
    return b;
}

static void write_source(char *source, const shape *s, const char *type) {
    snprintf(source, CASE_SOURCE_BYTES, "graph scan\n%%x = input(T([%s], %s))\n%%y = cumsum.default(%%x, %d)\nreturn %%y\n", s->sizes, type, s->dim);
}

static void fill(graph *g, int filling) {
    const tensor *x = graph_find_value(g, "x");
    const int64_t size = (int64_t)dtype_size(x->dtype), n = tensor_numel(x);
    for (int64_t i = 0; i < n && filling > 0; i++) {
        if (i % 12347 == 7000) {
            element_store(x->dtype, (char *)tensor_data(x) + i * size, filling == 1 ? (double)NAN : (double)INFINITY);
        }
    }
}

static void sums_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "bf16", "i64", "u8"};
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (int threads = 2; threads <= 3; threads++) {
        backend *b = open_backend(table, threads);
        cases = (graph_cases){.table = table};
        for (size_t i = 0; i < COMPARED * countof(types); i++) {
            size_t t = i / COMPARED;
            char source[CASE_SOURCE_BYTES];
            write_source(source, &shapes[i % COMPARED], types[t]);
            fill(cases_add(&cases, source), t < 3 ? (int)(i % 3) : 0);
        }
        cases_check(&cases, b);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

/* Sums that come to lie where what they are of was: by a copy behind them, as no running sum is stored over what it reads. */
static void sums_in_place_agree(void **state) {
    (void)state;
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    backend *b = open_backend(table, 2);
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < COMPARED; i++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph scan\n%%x = input(T([%s], f32))\n%%e = relu.default(%%x)\n%%s = cumsum.default(%%e, %d)\n"
                 "%%z = copy_.default(%%x, %%s)\nreturn %%z\n", shapes[i].sizes, shapes[i].dim);
        cases_add(&cases, source);
    }
    cases_check(&cases, b);
    cases_forget(&cases);
    b->close(b);
    op_table_free(table);
}

static void rows_are_shared(void **state) {
    (void)state;
    static graph_cases cases;
    op_table *table;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    for (size_t i = 0; i < countof(shapes) * 5; i++) {
        const shape *s = &shapes[i / 5];
        const int threads = (int)(i % 5) + 1;
        char source[CASE_SOURCE_BYTES];
        plan *p;
        backend *b = open_backend(table, threads);
        cases = (graph_cases){.table = table};
        write_source(source, s, "f32");
        assert_int_equal(b->prepare(b, cases_add(&cases, source), &p, NULL), ASSAY_OK);
        bool shared = strstr(((compiled_plan *)p)->program.body, "parts[task]") != NULL;
        if (shared != (s->in_parts && threads > 1 && threads < 5)) {
            print_error("%s in parts, %d threads:\n%s%s", shared ? "unexpectedly" : "not", threads, source, ((compiled_plan *)p)->program.body);
            assert_true(false);
        }
        p->release(p);
        cases_forget(&cases);
        b->close(b);
    }
    op_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree),
        cmocka_unit_test(sums_in_place_agree),
        cmocka_unit_test(rows_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
