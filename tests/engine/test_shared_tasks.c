/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels whose tasks all threads go through together, a part of the rows each: batch norm of channels that one core's cache does
   not hold, and its gradient, against the reference in double. Rows that fill blocks and rows that do not, as many threads as parts and
   fewer than were planned, channels whose first numbers lie far from their mean. Small channels are one thread's. */
#include "engine/graph_cases.h"

#include <omp.h>
#include <stdlib.h>

typedef struct shape {
    int n, c, height, width;
    const char *type;
    bool forward, backward; /* whether threads share its channels: rows begin with lines of memory, and more than 640 KiB are kept of one */
    int parts;              /* so many threads at most keep but a part of theirs, forward; twice as many backward, which keeps two tensors */
} shape;

static const shape shapes[] = {
    {64, 9, 56, 56, "f32", true, true, 0},   {131, 9, 28, 28, "f32", false, true, 0}, {150, 9, 40, 30, "f32", true, true, 0},
    {47, 11, 64, 64, "f64", false, true, 0}, {200, 9, 32, 32, "bf16", false, true, 0}, {40, 9, 16, 16, "f32", false, false, 0},
    {64, 9, 55, 57, "f32", false, false, 0}, {230, 9, 16, 263, "f32", true, true, 2},
};

static op_table *table;

static int open_table(void **state) {
    (void)state;
    return op_table_new(&table, NULL) == ASSAY_OK ? 0 : 1;
}

static int free_table(void **state) {
    (void)state;
    op_table_free(table);
    return 0;
}

static backend *open_backend(int threads) {
    backend *b;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    compile_options *o = &((compiled_backend *)b)->options;
    o->shares_tasks = o->streams_all = true; /* whatever is faster on this machine, and at sizes that go past the caches */
    o->asks_far = o->few_stores = false;
    omp_set_num_threads(threads);
    return b;
}

static void write_source(char *source, const shape *s, bool backward) {
    char x[64], image[128];
    snprintf(image, sizeof image, "T([%d, %d, %d, %d], %s)", s->n, s->c, s->height, s->width, s->type);
    snprintf(x, sizeof x, "T([%d], %s)", s->c, strcmp(s->type, "f64") == 0 ? "f64" : "f32");
    if (backward) {
        snprintf(source, CASE_SOURCE_BYTES,
                 "graph back\n%%g = input(%s)\n%%x = input(%s)\n%%w = input(%s)\n%%rm = input(%s)\n%%rv = input(%s)\n%%m = input(%s)\n%%r = input(%s)\n"
                 "%%gx, %%gw, %%gb = native_batch_norm_backward(%%g, %%x, %%w, %%rm, %%rv, %%m, %%r, True, 1e-05, [True, True, True])\n"
                 "return %%gx, %%gw, %%gb\n", image, image, x, x, x, x, x);
    } else {
        snprintf(source, CASE_SOURCE_BYTES,
                 "graph norm\n%%x = input(%s)\n%%w = input(%s)\n%%b = input(%s)\n%%rm = input(%s)\n%%rv = input(%s)\n"
                 "%%y, %%m, %%r = native_batch_norm(%%x, %%w, %%b, %%rm, %%rv, True, 0.1, 1e-05)\nreturn %%y, %%m, %%r\n", image, x, x, x, x);
    }
}

/* The first numbers of every second channel, by which the others are taken to lie near them. */
static void move_first_numbers(const shape *s, graph *g) {
    const tensor *x = graph_find_value(g, "x");
    const int64_t size = (int64_t)dtype_size(x->dtype), row = (int64_t)s->height * s->width;
    for (int64_t c = 1; c < s->c; c += 2) {
        for (int64_t i = c * row; i < c * row + 16; i++) {
            element_store(x->dtype, (char *)tensor_data(x) + i * size, 3000.0 + (double)(i % 5));
        }
    }
}

/* Whether a thread of so many keeps fewer rows than it has. */
static bool keeps_part(const plan *p, const shape *s, int threads) {
    const char *kept = strstr(((const compiled_plan *)p)->program.body, "kept_to = rows_from + ");
    return kept != NULL && atoi(kept + strlen("kept_to = rows_from + ")) < s->n / threads / 4 * 4;
}

/* What a thread keeps is no more than fits its core's cache, however large a channel is. */
static void check_rooms(const plan *p) {
    const compiled_program *program = &((const compiled_plan *)p)->program;
    for (int i = 0; i < program->n_steps; i++) {
        for (int v = 0; v < program->steps[i].n_variants; v++) {
            assert_true(program->steps[i].variants[v].room_bytes <= (7 << 18) + 4096);
        }
    }
}

static bool shares(const plan *p) {
    return strstr(((const compiled_plan *)p)->program.body, "meet(buffers[") != NULL;
}

static void check(const shape *s, bool backward) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    cases = (graph_cases){.table = table};
    write_source(source, s, backward);
    graph *g = cases_add(&cases, source);
    move_first_numbers(s, g);
    exact expected;
    assert_int_equal(exact_make(&cases.list[0].memory, g, NULL, 1, &expected, NULL), ASSAY_OK);
    static const int counts[] = {1, 2, 3, 5};
    for (size_t i = 0; i < countof(counts); i++) {
        backend *b = open_backend(counts[i]);
        plan *p;
        assert_int_equal(b->prepare(b, g, &p, NULL), ASSAY_OK);
        bool wanted = counts[i] > 1 && (backward ? s->backward : s->forward);
        if (shares(p) != wanted) {
            print_error("%s shared by %d threads:\n%s", wanted ? "not" : "unexpectedly", counts[i], source);
            assert_true(false);
        }
        check_rooms(p);
        assert_int_equal(keeps_part(p, s, counts[i]), counts[i] > 1 && counts[i] <= (backward ? 2 * s->parts : s->parts));
        case_compare_with(&cases.list[0], &expected, p);
        omp_set_num_threads(counts[i] > 2 ? counts[i] - 1 : 1);
        case_compare_with(&cases.list[0], &expected, p);
        p->release(p);
        b->close(b);
    }
    cases_forget(&cases);
}

static void norms_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(shapes); i++) {
        check(&shapes[i], false);
    }
}

static void gradients_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(shapes); i++) {
        check(&shapes[i], true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(gradients_agree),
    };
    return cmocka_run_group_tests(tests, open_table, free_table);
}
