/* SPDX-License-Identifier: Apache-2.0 */
/* Records come out in order, stable, whether they fit in memory, were spilled, or were spilled so often that runs were
   joined. */
#include "base/rng.h"
#include "lab/trace/classify.h"
#include "lab/trace/order.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* last: its fail() is a macro */

static const uint64_t seed = 7;

static int by_start_then_place(const void *a, const void *b) {
    const trace_record *x = a, *y = b;
    if (x->start_us != y->start_us) {
        return x->start_us < y->start_us ? -1 : 1;
    }
    bool flow_x = x->kind == TRACE_KIND_FLOW_END, flow_y = y->kind == TRACE_KIND_FLOW_END;
    return flow_x != flow_y ? (flow_x ? -1 : 1) : (x->link < y->link ? -1 : 1);
}

typedef enum shape { RANDOM, SORTED, REVERSED, NEARLY, EQUAL } shape;

static double start_of(shape s, rng *r, size_t i, size_t n) {
    switch (s) {
    case SORTED:
        return (double)i;
    case REVERSED:
        return (double)(n - i);
    case NEARLY:
        return (double)i + (double)rng_range(r, 0, 40);
    case EQUAL:
        return 5;
    default:
        return (double)rng_range(r, 0, (int64_t)n / 3 + 1); /* with ties */
    }
}

static void check(shape s, size_t n, size_t capacity) {
    trace_order *order = NULL;
    error err = {0};
    rng r = rng_make_stream(seed, n * 31 + capacity + (size_t)s);
    trace_record *expected = calloc(n + 1, sizeof *expected);
    assert_non_null(expected);
    assert_int_equal(trace_order_new(capacity, &order, &err), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        expected[i] = (trace_record){.start_us = start_of(s, &r, i, n), .link = (uint32_t)i};
        expected[i].kind = rng_range(&r, 0, 10) == 0 ? TRACE_KIND_FLOW_END : TRACE_KIND_KERNEL;
        assert_int_equal(trace_order_add(order, &expected[i], &err), ASSAY_OK);
    }
    qsort(expected, n, sizeof *expected, by_start_then_place);
    assert_int_equal(trace_order_finish(order, &err), ASSAY_OK);
    assert_int_equal(trace_order_spilled_bytes(order) > 0, n > capacity);
    for (size_t i = 0; i < n; i++) {
        const trace_record *got = NULL;
        assert_int_equal(trace_order_next(order, &got, &err), ASSAY_OK);
        assert_non_null(got);
        assert_int_equal(got->link, expected[i].link);
    }
    for (int again = 0; again < 2; again++) {
        const trace_record *end = expected;
        assert_int_equal(trace_order_next(order, &end, &err), ASSAY_OK);
        assert_null(end);
    }
    trace_order_free(order);
    free(expected);
}

static void any_number_in_any_order(void **state) {
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    const size_t counts[] = {0, 1, 2, 23, 24, 25, 63, 64, 65, 128, 1000, 4096, 20000};
    for (shape s = RANDOM; s <= EQUAL; s++) {
        for (size_t i = 0; i < countof(counts); i++) {
            check(s, counts[i], 64); /* 20000 records are 313 runs: joined four times */
            check(s, counts[i], 1000);
            check(s, counts[i], 30000);
        }
    }
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
    (void)state;
    trace_order *order = NULL;
    error err = {0};
    char *kept = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nonexistent/folder", 1);
    assert_int_equal(trace_order_new(64, &order, &err), ASSAY_OK);
    status result = ASSAY_OK;
    for (int i = 0; result == ASSAY_OK && i < 100; i++) {
        result = trace_order_add(order, &(trace_record){.start_us = -i}, &err);
    }
    assert_int_equal(result, ASSAY_IO);
    assert_non_null(strstr(err.message, "/nonexistent/folder"));
    trace_order_free(order);
    if (kept != NULL) {
        setenv("TMPDIR", kept, 1);
    } else {
        unsetenv("TMPDIR");
    }
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_in_any_order),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
